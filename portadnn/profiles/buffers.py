"""Detection of reads of tensors that Find overwrote (rule S09)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from ..errors import BadParam
from ..handle import Handle
from ..hooks import Call
from ..problem import TensorSpec
from .checks import Check, Event, Recent, Watch, where


@dataclass(frozen=True)
class _Scrambled:
    """Tensor overwritten by Find: layout, digest of its contents, call site."""

    spec: TensorSpec
    digest: bytes
    where: str


class Buffers(Check):
    """Tensors overwritten by Find, until they are written again.

    A tensor is reported only where the very numbers that Find left are about to be read, so that what the program
    wrote itself in between counts. That costs a copy to the host, after each Find and before such a read.
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._scrambled: Recent[int, _Scrambled] = Recent()
        self._finds: dict[Call, Event] = {}

    def computing(self, event: Event) -> None:
        if not event.mine or not event.addresses:
            return
        if event.role == "find_ex":
            self._finds[event.call] = event
        elif event.scalars and self._scrambled:
            unread = event.problem.unread(event.scalars)
            for name, address in event.addresses.items():
                found = self._scrambled.get(address)
                if found is None:
                    continue
                if name not in unread and self._unchanged(event, name, found):
                    self.report("S09", event.call, tensor=name, where=found.where)
                if name in event.problem.outputs:
                    del self._scrambled[address]

    def after(self, call: Call) -> None:
        event = self._finds.pop(call, None)
        if event is not None and call.error is None:
            name = event.problem.outputs[0]
            digest = _digest(event.handle, call, name)
            if digest is not None:
                spec = getattr(event.problem, name)
                self._scrambled[event.addresses[name]] = _Scrambled(spec, digest, where(call))

    def _unchanged(self, event: Event, name: str, found: _Scrambled) -> bool:
        same = getattr(event.problem, name) == found.spec
        return same and _digest(event.handle, event.call, name) == found.digest


def _digest(handle: Handle, call: Call, name: str) -> bytes | None:
    """Return a digest of a tensor's contents; None if it is absent or cannot be copied."""
    array: Any = call.arguments.get(name)
    try:
        return None if array is None else hashlib.blake2b(handle.to_numpy(array).tobytes()).digest()
    except (BadParam, AttributeError, TypeError):  # raw memory, which one of the C names takes
        return None
