"""The recorder of PyTorch programs: what a :class:`~portadnn.torch.recording.watching.Watch` sees, in a file."""

from __future__ import annotations

import functools
import json
import os
import platform
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ...errors import BadParam
from ...graph.operation_graph import OperationGraph
from ...handle import log
from ...recording.encode import MOST_TEXT
from ...recording.writer import Writer
from .computation import Tensor
from .graphs import as_json
from .seen import MOST, NOTHING, Pattern, Placed, Posed, look_up, pattern_of, remember
from .watching import Call, Known, Made, Watch

APART = 1 << 50  # where memory begins that the program does not have: above all addresses of processes
_ALIGNED = 256
_thread = threading.get_ident
_STORAGES = 1 << 14  # storages whose contents are remembered, before those that are gone are looked for


class Recorder(Watch):
    """Writes the calls of a PyTorch program that cuDNN has operations for to a file, as problems.

    A context manager; made by :func:`portadnn.torch.record`.

    Attributes
    ----------
    path : str
        The file.
    counts, posed : Counter
        Calls by kind, and those of them that became problems.
    left : Counter of (str, str, str)
        The others: kind, function and reason.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._leaves: list[Tensor] = []  # of the operator that is being translated
        self._pattern: Pattern | None = None  # what it has become; None where that is of no use to others
        self.path = self._wanted = os.fspath(path)
        self._begin(Writer(self._wanted, self._failed))

    def _begin(self, writer: Writer) -> None:
        """Start a file, which knows nothing of what another has."""
        self._writer = writer
        self._forms: dict[Any, tuple[int, list[int]]] = {}
        self._known: dict[Any, list[tuple[int, list[int]]]] = {}
        self._graphs: dict[OperationGraph, int] = {}
        self._handles: dict[str, int] = {}
        self._apart: dict[Any, int] = {}
        self._next = APART
        self._form_count = 0
        self._storages: dict[int, list[Any]] = {}  # a weak reference, and the version that was written last

    def _failed(self, error: OSError) -> None:
        log.warning("the recording %s ends here: %s", self.path, error)

    def __enter__(self) -> Recorder:
        writer = Writer(self._wanted, self._failed)
        try:
            writer.open()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            wanted = "a file that can be written"
            raise BadParam(argument="path", expected=wanted, got=f"{self._wanted}: {why}") from error
        self._begin(writer)
        self.path = writer.path
        for counted in (self.counts, self.posed, self.left):
            counted.clear()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._writer.close()
        self._forms.clear()
        self._known.clear()
        self._storages.clear()

    # lines

    def operator(self, known: Known, func: Any, args: Any, kwargs: Any, out: Any, call: Call) -> None:
        """Write a call of an operator as the last of its kind was, or translate it."""
        told = look_up(func, args, kwargs, out)
        if told is None:
            super().operator(known, func, args, kwargs, out, call)
            return
        pattern = told.pattern
        if pattern is None:
            self._leaves, self._pattern = told.leaves, NOTHING
            super().operator(known, func, args, kwargs, out, call)
            self._leaves = []
            if self._pattern is not None:
                remember(told.key, self._pattern)
        elif pattern is not NOTHING:
            self.count(pattern.kind, pattern.function, pattern.why_not)
            self._write(call, pattern, told.leaves, told.addresses)

    def made(self, call: Made) -> None:
        """Write a call that was translated."""
        pattern, leaves = pattern_of(call, self._leaves)
        self._pattern = pattern if pattern.repeats(len(self._leaves)) else None
        place = Call(call.module, call.site, call.start, call.seconds)
        self._write(place, pattern, leaves, [leaf.data_ptr() for leaf in leaves] if pattern.problems else ())

    def _write(self, call: Call, pattern: Pattern, leaves: Sequence[Tensor], addresses: Sequence[int]) -> None:
        """Write a line for each of a call's problems, or one that says why there is none."""
        module, site, start, seconds = call
        key = (pattern, module, site, _thread())
        forms = self._known.get(key)
        if forms is None:
            forms = [self._form(call, pattern, posed) for posed in pattern.problems or (None,)]
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[key] = forms
        append = self._writer.queue.append
        if pattern.why_not:
            append((forms[0][0], start, seconds, (), (), ""))
            return
        seconds /= len(forms)
        for posed, (form, apart) in zip(pattern.problems, forms, strict=True):
            places, more = self._places(posed, apart, leaves, addresses, pattern.in_place)
            append((form, start, seconds, places, posed.numbers, more))

    def _form(self, call: Call, pattern: Pattern, posed: Posed | None) -> tuple[int, list[int]]:
        """Return the form of a call, new where there is none, and the addresses of the memory that it has apart."""
        # Texts tell problems apart as well, and know their hash; only graphs of the same tensors share one.
        what: Any = pattern.why_not
        if posed is not None:
            what = posed.problem if isinstance(posed.problem, OperationGraph) else posed.text
        key = (pattern.function, call.module, call.site, what, pattern.device, _thread())
        found = self._forms.get(key)
        if found is not None:
            return found
        self._form_count += 1
        handle = self._handle(pattern.device)
        file, line = call.site
        text = (
            f'"form": {self._form_count}, "library": "torch", "function": {_quoted(pattern.function)}, '
            f'"arguments": {{"kind": {_quoted(pattern.kind)}}}, "site": [{_quoted(file)}, {line}], '
            f'"thread": {threading.get_native_id()}, "handle": {handle}'
        )
        if call.module:
            text += f', "module": {_quoted(call.module)}'
        text += f', "why_not": {_quoted(pattern.why_not[:MOST_TEXT])}' if posed is None else f", {self._posed(posed)}"
        self._writer.queue.append(f"{{{text}}}\n")
        apart = [] if posed is None else [self._place_apart(one) for one in posed.operands]
        self._forms[key] = (self._form_count, apart)
        return self._forms[key]

    def _posed(self, posed: Posed) -> str:
        """Return what a form says of its problem; graphs are lines of their own before."""
        problem = posed.problem
        if not isinstance(problem, OperationGraph):
            return posed.text
        if problem not in self._graphs:
            self._graphs[problem] = len(self._graphs) + 1
            self._writer.line({"graph": self._graphs[problem], "data": as_json(problem)})
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
            self._writer.line(
                {"handle": self._handles[device], **facts, "driver": version, "version": torch.__version__}
            )
        return self._handles[device]

    # memory

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

    def _places(
        self, posed: Posed, apart: Sequence[int], leaves: Sequence[Tensor], addresses: Sequence[int], in_place: bool
    ) -> tuple[list[int], str]:
        """Return the addresses of a problem's tensors, and as text the memory whose contents come from elsewhere."""
        places, fresh = [], ""
        for (leaf, written, size, _, filled), given in zip(posed.operands, apart, strict=True):
            if leaf < 0:
                places.append(given)
                if filled:
                    fresh += f"{given},{size},"
                continue
            tensor = leaves[leaf]
            places.append(addresses[leaf])
            storage = tensor.untyped_storage()
            version = 0 if tensor.is_inference() else tensor._version
            if written:
                version += in_place
            known = self._storages.get(storage._cdata)
            if known is None:
                self._remember(storage, version)
            elif known[1] != version:
                known[1] = version
            else:
                continue
            if known is None or not written:
                fresh += f"{storage.data_ptr()},{storage.nbytes()},"
        return places, f',"fresh":[{fresh[:-1]}]' if fresh else ""

    def _remember(self, storage: Any, version: int) -> None:
        if len(self._storages) >= _STORAGES:
            self._storages = {key: known for key, known in self._storages.items() if not known[0].expired()}
        self._storages[storage._cdata] = [StorageWeakRef(storage), version]


@functools.lru_cache(4096)
def _quoted(text: str) -> str:
    return json.dumps(text)


def shares(counts: Counter[str], posed: Counter[str]) -> dict[str, tuple[int, int]]:
    """Return calls and those that became problems by kind."""
    return {kind: (posed[kind], count) for kind, count in sorted(counts.items())}


__all__ = ["Recorder", "shares"]
