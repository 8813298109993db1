"""The lines of a recorded PyTorch program: what its calls left in the queue becomes text when the file is written.

Between two large operators nothing of this would be in the processor's caches; many calls in a row share them.
"""

from __future__ import annotations

import functools
import json
import platform
from collections.abc import Callable
from typing import Any

import torch

from ...graph.operation_graph import OperationGraph
from ...recording.encode import MOST_TEXT
from ...recording.writer import Writer
from .graphs import as_json
from .seen import MOST, Kept, Placed, Posed

APART = 1 << 50  # where memory begins that the program does not have: above all addresses of processes
_ALIGNED = 256
Form = tuple[int, list[int]]  # its number, and the addresses of the memory that it has apart


class Lines(Writer):
    """Writes calls as forms, handles, graphs and calls.

    Parameters
    ----------
    path, failed
        As of ``Writer``.
    count : callable
        Told kind, function and reason of each call.
    """

    def __init__(self, path: str, failed: Callable[[OSError], None], count: Callable[[str, str, str], None]) -> None:
        super().__init__(path, failed)
        self._count = count
        self._forms: dict[Any, Form] = {}
        self._known: dict[Any, list[Form]] = {}
        self._graphs: dict[OperationGraph, int] = {}
        self._handles: dict[str, int] = {}
        self._apart: dict[Any, int] = {}
        self._next = APART
        self._before: list[str] = []  # lines that a call needs before its own

    def _text(self, kept: Any) -> str:
        """Return the lines of a call, one for each of its problems, or one that says why there is none."""
        call, pattern, addresses, fresh, thread = kept
        self._count(pattern.kind, pattern.function, pattern.why_not)
        key = (pattern, call.module, call.site, thread)
        forms = self._known.get(key)
        if forms is None:
            forms = [self._form(kept, posed) for posed in pattern.problems or (None,)]
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[key] = forms
        found = self._before
        if not pattern.problems:
            found.append(super()._text((forms[0][0], call.start, call.seconds, (), (), "")))
        for number, (posed, (form, apart)) in enumerate(zip(pattern.problems, forms, strict=False)):
            places, renewed = [], [(start, size) for place, start, size in fresh if place == number]
            for operand, given in zip(posed.operands, apart, strict=True):
                places.append(given if operand.leaf < 0 else addresses[operand.leaf])
                if operand.leaf < 0 and operand.filled:
                    renewed.append((given, operand.size))
            more = ",".join([f"{start},{size}" for start, size in renewed])
            seconds = call.seconds / len(forms)
            event = (form, call.start, seconds, places, posed.numbers, f',"fresh":[{more}]' if more else "")
            found.append(super()._text(event))
        text = "".join(found)
        found.clear()
        return text

    def _form(self, kept: Kept, posed: Posed | None) -> Form:
        """Return the form of a call, new where there is none."""
        call, pattern = kept.call, kept.pattern
        # Texts tell problems apart as well, and know their hash; only graphs of the same tensors share one.
        what: Any = pattern.why_not
        if posed is not None:
            what = posed.problem if isinstance(posed.problem, OperationGraph) else posed.text
        key = (pattern.function, call.module, call.site, what, pattern.device, kept.thread)
        found = self._forms.get(key)
        if found is not None:
            return found
        number, handle = len(self._forms) + 1, self._handle(pattern.device)
        file, line = call.site
        text = (
            f'"form": {number}, "library": "torch", "function": {_quoted(pattern.function)}, '
            f'"arguments": {{"kind": {_quoted(pattern.kind)}}}, "site": [{_quoted(file)}, {line}], '
            f'"thread": {kept.thread}, "handle": {handle}'
        )
        if call.module:
            text += f', "module": {_quoted(call.module)}'
        text += f', "why_not": {_quoted(pattern.why_not[:MOST_TEXT])}' if posed is None else f", {self._posed(posed)}"
        self._before.append(f"{{{text}}}\n")
        apart = [] if posed is None else [self._place_apart(one) for one in posed.operands]
        self._forms[key] = (number, apart)
        return self._forms[key]

    def _posed(self, posed: Posed) -> str:
        """Return what a form says of its problem; graphs are lines of their own before."""
        problem = posed.problem
        if not isinstance(problem, OperationGraph):
            return posed.text
        if problem not in self._graphs:
            self._graphs[problem] = len(self._graphs) + 1
            self._before.append(json.dumps({"graph": self._graphs[problem], "data": as_json(problem)}) + "\n")
        return f'{posed.text}, "graph": {self._graphs[problem]}'

    def _handle(self, device: str) -> int:
        """Return the number of a device's handle, which is written before the first form that has it."""
        if device not in self._handles:
            self._handles[device] = len(self._handles) + 1
            gpu = device.startswith("cuda")
            name = torch.cuda.get_device_name(device) if gpu else platform.processor() or platform.machine()
            facts = {
                "backend": "torch",
                "device": name,
                "kind": "gpu" if gpu else "cpu",
                "platform": f"PyTorch {device}",
            }
            version = str(torch.version.cuda or torch.version.hip) if gpu else ""
            line = {"handle": self._handles[device], **facts, "driver": version, "version": torch.__version__}
            self._before.append(json.dumps(line) + "\n")
        return self._handles[device]

    def _place_apart(self, operand: Placed) -> int:
        """Return an address for memory that the program does not have."""
        if operand.leaf >= 0:
            return 0
        if operand.key is not None and operand.key in self._apart:
            return self._apart[operand.key]
        address = self._next
        self._next += -(-max(operand.size, 1) // _ALIGNED) * _ALIGNED
        if operand.key is not None:
            self._apart[operand.key] = address
        return address


@functools.lru_cache(4096)
def _quoted(text: str) -> str:
    return json.dumps(text)
