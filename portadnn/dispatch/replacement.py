"""Replacement of an array, and of its views, in recorded calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from ..descriptors import TensorView
from ..errors import BadParam, DnnError
from ..problem import TensorSpec
from .arrays import spec_of, wrapped_one
from .overlap import Extent, share_memory

if TYPE_CHECKING:
    from portadnn_backends.base import Device


class Part(Protocol):
    """Recorded part of a call."""

    @property
    def memory(self) -> list[Any]:
        """Its arrays and workspaces."""


class Replacement:
    """`new` in place of `old`.

    Raises
    ------
    BadParam
        No arrays of the device, another layout, or read-only memory in place of other.
    """

    def __init__(self, device: Device, old: Any, new: Any) -> None:
        self._device = device
        self._old, self._new = (wrapped_one(device, array, name) for array, name in ((old, "old"), (new, "new")))
        self._signature = device.signature(self._old)
        if self._signature != device.signature(self._new):
            expected = f"old's layout, {self._layout(self._old)}"
            raise BadParam(argument="new", expected=expected, got=self._layout(self._new))
        if device.host_memory and device.writable(self._old) and not device.writable(self._new):
            raise BadParam(argument="new", expected="a writable array, as old is", got="a read-only one")
        self._before, self._after = self._extent(self._old), self._extent(self._new)

    def check(self, parts: Iterable[Part]) -> None:
        """Refuse arrays whose replacement would be ambiguous.

        Raises
        ------
        BadParam
            No part uses the old array, one has memory that it shares in part, or the new one's memory is another
            tensor's of the same part.
        """
        used = False
        for part in parts:
            memory = [one for one in part.memory if self._is_memory(one)]
            others = [self._extent(one) for one in memory if not self.covers(one)]
            if any(share_memory(other, self._before) for other in others):
                raise BadParam(
                    argument="old",
                    expected="an array that holds all that the calls use of its memory",
                    got="one that shares memory with a larger array or an interleaved one",
                )
            if len(others) == len(memory):
                continue
            used = True
            if any(share_memory(other, self._after) for other in others):
                raise BadParam(argument="new", expected="memory of its own", got="memory of another tensor of a call")
        if not used:
            raise BadParam(argument="old", expected="an array of the recorded calls", got="one that none of them uses")

    def covers(self, memory: Any) -> bool:
        """Tell whether an array is the old one, or a view of it."""
        if not self._device.owns(memory):
            return False
        extent = self._extent(memory)
        if extent.address == self._before.address and self._device.signature(memory) == self._signature:
            return True
        inside = self._before.address <= extent.address < extent.end <= self._before.end
        return inside and self._before.gapless

    def keeps(self, owner: Any) -> bool:
        """Tell whether an object is still needed after the replacement."""
        try:
            return not self.covers(self._device.wrap(owner, "old"))
        except DnnError:  # a raw buffer
            return True

    def swapped(self, memory: Any) -> Any:
        """Return the replacement of an argument."""
        if not self.covers(memory):
            return memory
        device, signature = self._device, self._device.signature(memory)
        if signature == self._signature:
            return self._new
        spec = spec_of(signature, "old")
        offset = (device.address(memory) - self._before.address) // spec.dtype.itemsize
        view = TensorView(TensorSpec(spec.dtype, spec.dims, spec.strides), device.as_bytes(self._new), offset)
        return device.wrap(view, "new")

    @staticmethod
    def _is_memory(value: Any) -> bool:
        """Tell whether an argument of a call is memory."""
        return value is not None and not isinstance(value, (bool, int, float))

    def _extent(self, memory: Any) -> Extent:
        device = self._device
        if not device.owns(memory):
            return Extent(device.address(memory), (device.workspace_size(memory),), (1,), 1)
        shape, strides, dtype, _ = device.signature(memory)
        return Extent(device.address(memory), tuple(shape), tuple(strides), dtype.itemsize)

    def _layout(self, array: Any) -> str:
        shape, strides, dtype, misalignment = self._device.signature(array)
        place = f" at {misalignment} mod 16" if misalignment else ""
        return f"{dtype} {tuple(shape)} with strides {tuple(strides)}{place}"
