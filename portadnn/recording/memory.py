"""Memory for a replay: the same tensors at the same distances, filled with seeded numbers where nothing was written.

Addresses that overlap belong to one allocation: aliases, calls in place and views of a part stay what they were::

    recorded    |---- x ----|
                        |---- y ----|          |-- z --|
    allocated   [0        24        48]        [0     16]
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..descriptors import TensorView
from ..handle import Handle
from ..ops.tensor import set_tensor, transform_tensor
from ..problem import TensorSpec
from .decode import Undecodable, spec_of_json

BASE = 256  # bytes: allocations begin at multiples of it
PERIOD = 1_000_003  # seeded numbers repeat after so many: drawing more takes seconds


class Ranges:
    """Disjoint ranges of addresses, each from its start up to its end."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def _touching(self, start: int, end: int) -> tuple[int, int]:
        return bisect.bisect_left(self._ends, start), bisect.bisect_right(self._starts, end)

    def add(self, start: int, end: int) -> None:
        """Add a range."""
        if start >= end:
            return
        first, last = self._touching(start, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    def remove(self, start: int, end: int) -> None:
        """Take a range away."""
        first, last = self._touching(start, end)
        rest = [
            part
            for a, b in zip(self._starts[first:last], self._ends[first:last], strict=True)
            for part in ((a, min(b, start)), (max(a, end), b))
            if part[0] < part[1]
        ]
        self._starts[first:last], self._ends[first:last] = [a for a, _ in rest], [b for _, b in rest]

    def meets(self, start: int, end: int) -> bool:
        """Tell whether a range shares an address with these."""
        first = bisect.bisect_right(self._ends, start)
        return first < len(self._starts) and self._starts[first] < end

    def __iter__(self) -> Any:
        return iter(zip(self._starts, self._ends, strict=True))


class Memory:
    """The memory of one recorded device.

    Parameters
    ----------
    handle
        Where to allocate.
    ranges
        Start and end of all tensors that the recording has.
    seed
        Of the numbers.
    """

    def __init__(self, handle: Handle, ranges: Iterable[tuple[int, int]], seed: int) -> None:
        self.handle = handle
        self._seed = seed
        self._fills = 0
        whole = Ranges()
        for start, end in sorted(ranges):
            # neighbours that only touch stay apart: one byte less keeps them from joining
            whole.add(2 * start, 2 * end - 1)
        self._starts = [start // 2 for start, _ in whole]
        self._bases = [start // BASE * BASE for start in self._starts]
        self._sizes = [(end + 1) // 2 - base for (_, end), base in zip(whole, self._bases, strict=True)]
        self._buffers: list[Any] = [None] * len(self._starts)
        self._arrays: dict[Any, Any] = {}
        self._defined = Ranges()

    @property
    def nbytes(self) -> int:
        """Bytes of all allocations together."""
        return sum(self._sizes)

    def array(self, spec: TensorSpec, at: int) -> Any:
        """Return the native array at a recorded address."""
        key = (spec, at)
        found = self._arrays.get(key)
        if found is None:
            device = self.handle.device
            if spec.span == 0:
                found = device.empty(spec)
            else:
                i = bisect.bisect_right(self._starts, at) - 1
                if i < 0 or at - self._bases[i] + spec.span * spec.dtype.itemsize > self._sizes[i]:
                    raise Undecodable(f"memory at {at:#x}, of which the recording has less")
                if self._buffers[i] is None:
                    self._buffers[i] = device.asarray(np.zeros(self._sizes[i], np.uint8))
                offset, rest = divmod(at - self._bases[i], spec.dtype.itemsize)
                if rest:
                    raise Undecodable(f"a tensor at an address that is no multiple of {spec.dtype.itemsize} bytes")
                found = device.wrap(TensorView(spec, self._buffers[i], offset), "tensor")
            self._arrays[key] = found
        return found

    def tensor(self, facts: Mapping[str, Any]) -> Any:
        """Return the native array of a recorded tensor."""
        return self.array(spec_of_json(facts), facts["at"])

    @staticmethod
    def _end(spec: TensorSpec, at: int) -> int:
        return at + spec.span * spec.dtype.itemsize

    def read(self, spec: TensorSpec, at: int, name: str) -> None:
        """Fill a tensor that is about to be read, and of which nothing was ever written."""
        end = self._end(spec, at)
        if at < end and not self._defined.meets(at, end):
            self.fill(spec, at, name)

    def wrote(self, spec: TensorSpec, at: int) -> None:
        """Note that a tensor holds results."""
        self._defined.add(at, self._end(spec, at))

    def forget(self, spec: TensorSpec, at: int) -> None:
        """Note that memory was allocated anew."""
        self._defined.remove(at, self._end(spec, at))

    def renew(self, start: int, size: int) -> None:
        """Note that something wrote to memory that is not recorded: it is filled anew before it is read."""
        self._defined.remove(start, start + size)

    def load(self, spec: TensorSpec, at: int) -> np.ndarray[Any, Any]:
        """Return a tensor's numbers on the host, as stored."""
        return self.handle.device.to_numpy(self.array(spec, at)).reshape(spec.dims)

    def store(self, spec: TensorSpec, at: int, values: np.ndarray[Any, Any]) -> None:
        """Give a tensor of floating-point numbers other ones, as stored."""
        if spec.span:
            transform_tensor(self.handle, self.handle.device.asarray(values), self.array(spec, at))
        self.wrote(spec, at)

    def fill(self, spec: TensorSpec, at: int, name: str = "", value: float | None = None) -> None:
        """Fill a tensor with one number, or with seeded ones, positive for variances; bytes and indices stay."""
        self.wrote(spec, at)
        if not spec.span or not spec.dtype.is_float:
            return
        flat = self.array(TensorSpec(spec.dtype, (1, 1, spec.span), (spec.span, spec.span, 1), spec.alignment), at)
        if value is not None:
            set_tensor(self.handle, flat, value)
            return
        self._fills += 1
        rng = np.random.default_rng((self._seed, self._fills))
        values = 0.1 * rng.standard_normal(min(spec.span, PERIOD), np.float32)
        if "variance" in name:
            values = abs(values) + np.float32(0.5)
        row = spec.dtype.stored(np.resize(values, spec.span)).reshape(1, 1, -1)
        transform_tensor(self.handle, self.handle.device.asarray(row), flat)
