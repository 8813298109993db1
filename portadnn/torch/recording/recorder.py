"""The recorder of PyTorch programs: what a :class:`~portadnn.torch.recording.watching.Watch` sees, in a file."""

from __future__ import annotations

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
from ...recording.encode import MOST_TEXT, spec_json
from ...recording.writer import Writer
from .computation import Apart, Computation, Operand, is_tensor
from .graphs import as_json
from .watching import Made, Watch

APART = 1 << 50  # where memory begins that the program does not have: above all addresses of processes
_ALIGNED = 256
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
        self.path = self._wanted = os.fspath(path)
        self._begin(Writer(self._wanted, self._failed))

    def _begin(self, writer: Writer) -> None:
        """Start a file, which knows nothing of what another has."""
        self._writer = writer
        self._forms: dict[Any, tuple[int, list[int]]] = {}
        self._graphs: dict[OperationGraph, int] = {}
        self._handles: dict[str, int] = {}
        self._apart: dict[Any, int] = {}
        self._next = APART
        self._form_count = 0
        self._storages: dict[int, tuple[Any, int]] = {}

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
        self._storages.clear()

    # lines

    def made(self, call: Made) -> None:
        """Write a call, as a line for each of its problems."""
        if call.why_not:
            form, _ = self._form(call, None)
            self._writer.queue.append((form, call.start, call.seconds, (), (), ""))
        for computation in call.computations:
            form, apart = self._form(call, computation)
            addresses, fresh = self._places(computation, apart, call.in_place)
            more = f',"fresh":[{",".join(map(str, fresh))}]' if fresh else ""
            seconds = call.seconds / len(call.computations)
            scalars = tuple(computation.numbers.values())
            self._writer.queue.append((form, call.start, seconds, addresses, scalars, more))

    def _form(self, call: Made, computation: Computation | None) -> tuple[int, list[int]]:
        """Return the form of a call, new where there is none, and the addresses of the memory that it has apart."""
        problem = None if computation is None else computation.problem
        device = "cpu" if computation is None else _device(computation.tensors.values())
        key = (call.function, call.module, call.site, problem or call.why_not, device, threading.get_ident())
        found = self._forms.get(key)
        if found is not None:
            return found
        facts: dict[str, Any] = {
            "library": "torch",
            "function": call.function,
            "arguments": {},
            "site": list(call.site),
            "thread": threading.get_native_id(),
            "handle": self._handle(device),
        }
        if call.module:
            facts["module"] = call.module
        if computation is None:
            facts["why_not"] = call.why_not[:MOST_TEXT]
            facts["arguments"] = {"kind": call.kind}
        else:
            facts["arguments"] = {"kind": call.kind}
            facts |= self._posed(computation)
        self._form_count += 1
        self._writer.line({"form": self._form_count, **facts})
        apart = [] if computation is None else [self._place_apart(one) for one in computation.tensors.values()]
        self._forms[key] = (self._form_count, apart)
        return self._forms[key]

    def _posed(self, computation: Computation) -> dict[str, Any]:
        problem = computation.problem
        pairs = zip(problem.names, problem.tensors, strict=True)
        facts: dict[str, Any] = {"tensors": {name: spec_json(spec) for name, spec in pairs}}
        if isinstance(problem, OperationGraph):
            if problem not in self._graphs:
                self._graphs[problem] = len(self._graphs) + 1
                self._writer.line({"graph": self._graphs[problem], "data": as_json(problem)})
            return {**facts, "graph": self._graphs[problem], "scalars": []}
        return {**facts, "problem": str(problem), "scalars": list(computation.numbers)}

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

    def _place_apart(self, operand: Operand) -> int:
        """Return an address for memory that the program does not have."""
        if not isinstance(operand, Apart):
            return 0
        if operand.key is not None and operand.key in self._apart:
            return self._apart[operand.key]
        address = self._next
        size = operand.spec.span * operand.spec.dtype.itemsize
        self._next += -(-max(size, 1) // _ALIGNED) * _ALIGNED
        if operand.key is not None:
            self._apart[operand.key] = address
        return address

    def _places(self, computation: Computation, apart: Sequence[int], in_place: bool) -> tuple[list[int], list[int]]:
        """Return the addresses of a problem's tensors, and ranges of memory whose contents come from elsewhere."""
        written = computation.problem.written
        addresses, fresh = [], []
        for (name, operand), given in zip(computation.tensors.items(), apart, strict=True):
            if isinstance(operand, Apart):
                addresses.append(given)
                if operand.make is not None and name not in written:
                    fresh += [given, operand.spec.span * operand.spec.dtype.itemsize]
                continue
            addresses.append(operand.data_ptr())
            storage = operand.untyped_storage()
            version = 0 if operand.is_inference() else operand._version
            if name in written:
                version += in_place
            known = self._storages.get(storage._cdata)
            if known is None or (known[1] != version and name not in written):
                fresh += [storage.data_ptr(), storage.nbytes()]
            if known is None or known[1] != version:
                self._remember(storage, version)
        return addresses, fresh

    def _remember(self, storage: Any, version: int) -> None:
        if len(self._storages) >= _STORAGES:
            self._storages = {key: known for key, known in self._storages.items() if not known[0].expired()}
        known = self._storages.get(storage._cdata)
        self._storages[storage._cdata] = (StorageWeakRef(storage) if known is None else known[0], version)


def _device(operands: Any) -> str:
    return next((str(one.device) for one in operands if is_tensor(one)), "cpu")


def shares(counts: Counter[str], posed: Counter[str]) -> dict[str, tuple[int, int]]:
    """Return calls and those that became problems by kind."""
    return {kind: (posed[kind], count) for kind, count in sorted(counts.items())}


__all__ = ["Recorder", "shares"]
