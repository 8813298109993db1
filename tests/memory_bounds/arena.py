"""Arenas: memory of known bytes on a device or the host, and random places in it for operands and workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import portadnn as dnn

if TYPE_CHECKING:
    from .operations import Operand

GUARD = 1024  # bytes at both ends of an arena; a multiple of what sub-buffers must be aligned to
SUB_BUFFER = 128  # bytes that sub-buffers of PoCL are aligned to


@dataclass(frozen=True)
class Place:
    """Where a tensor lies in an arena: byte offset of its first element, dims, byte strides and type."""

    offset: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def extent(self) -> tuple[int, int]:
        """The first byte and the end of what lies between its lowest and highest elements."""
        steps = [(d - 1) * s for d, s in zip(self.dims, self.strides, strict=True)]
        low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
        return self.offset + low, self.offset + high + self.dtype.itemsize

    def of(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the tensor in an arena's bytes."""
        return np.ndarray(self.dims, self.dtype, memory, self.offset, self.strides)

    def mask(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the bytes of its elements, as a view of an arena's bytes or of a mask of them."""
        return np.ndarray((*self.dims, self.dtype.itemsize), np.uint8, memory, self.offset, (*self.strides, 1))


class Arena:
    """Memory of known bytes. `kind` says what it is made of; `bytes` is what it holds after :meth:`reset`."""

    def __init__(self, handle: dnn.Handle, kind: str, content: np.ndarray[Any, Any]) -> None:
        self.handle, self.kind, self.bytes = handle, kind, content
        self.host: Any = None
        self.buffer: Any = None
        self._kept: Any = None
        self.first = 0
        if kind in ("numpy", "torch"):
            room = np.empty(content.size + 64, np.uint8)
            self.host = room[-room.ctypes.data % 64 :][: content.size]
        else:
            self._allocate(kind, content.size)
        self.reset()

    def _allocate(self, kind: str, nbytes: int) -> None:
        import pyopencl as cl
        from pyopencl.tools import ImmediateAllocator, MemoryPool

        queue = self.handle.get_stream()
        if kind == "pool":
            self._kept = MemoryPool(ImmediateAllocator(queue))
            self.whole = self.buffer = self._kept.allocate(nbytes)
        else:
            self.whole = self.buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, nbytes)
        if kind == "part":  # the guards are the parent's
            self.buffer, self.first = self.whole.get_sub_region(GUARD, nbytes - 2 * GUARD), GUARD

    def reset(self) -> None:
        """Write the known bytes."""
        if self.host is not None:
            self.host[...] = self.bytes
        else:
            import pyopencl as cl

            cl.enqueue_copy(self.handle.get_stream(), self.whole, self.bytes)

    def read(self) -> np.ndarray[Any, Any]:
        """Return the bytes that are there now."""
        self.handle.synchronize()
        if self.host is not None:
            return self.host.copy()  # type: ignore[no-any-return]
        import pyopencl as cl

        found = np.empty_like(self.bytes)
        cl.enqueue_copy(self.handle.get_stream(), found, self.whole)
        return found

    def tensor(self, place: Place) -> Any:
        """Return a tensor as an array of the arena's kind."""
        if self.kind == "numpy":
            low, high = place.extent
            if low < 0 or high > self.host.size:  # only tricks make such an array
                first = self.host[place.offset :][: place.dtype.itemsize].view(place.dtype)
                return np.lib.stride_tricks.as_strided(first, place.dims, place.strides)
            return place.of(self.host)
        if self.kind == "torch":
            import torch

            size = place.dtype.itemsize
            flat = torch.from_numpy(self.host[place.offset % size :][: self.host.size // size * size - size])
            flat = flat.view(getattr(torch, place.dtype.name))
            return flat.as_strided(place.dims, [s // size for s in place.strides], place.offset // size)
        import pyopencl.array as cl_array

        queue, offset = self.handle.get_stream(), place.offset - self.first
        return cl_array.Array(queue, place.dims, place.dtype, data=self.buffer, offset=offset, strides=place.strides)

    def flat(self, offset: int, nbytes: int, dtype: Any = np.uint8) -> Any:
        """Return `nbytes` from byte `offset` on as an array of one dim."""
        kind = np.dtype(dtype)
        return self.tensor(Place(offset, (nbytes // kind.itemsize,), (kind.itemsize,), kind))

    def region(self, offset: int, nbytes: int) -> Any:
        """Return such bytes as a raw buffer: a sub-buffer, or a memoryview."""
        if self.host is not None:
            return memoryview(self.host[offset : offset + nbytes])
        return self.whole.get_sub_region(offset, nbytes)

    def view(self, place: Place) -> dnn.TensorView:
        """Return a tensor as a view of the whole arena, as an array of bytes or as the raw buffer."""
        size = place.dtype.itemsize
        steps = tuple(s // size for s in place.strides)
        base = self.host if self.host is not None else self.buffer
        return dnn.TensorDescriptor(place.dims, place.dtype, strides=steps).view(
            base, (place.offset - self.first) // size
        )

    @property
    def slack(self) -> int:
        """Bytes behind the end that arrays could still have, because they are of the same allocation."""
        return 64 if self.host is not None else self.buffer.size - self.bytes.size if self.kind == "pool" else 0

    @property
    def end(self) -> int:
        """The end of the memory that its arrays may use."""
        return self.bytes.size - (GUARD if self.kind == "part" else 0)


class Layout:
    """Places for the operands of one call, drawn so that written ones share no byte with any other.

    Parameters
    ----------
    nbytes
        Of the arena.
    """

    def __init__(self, rng: np.random.Generator, nbytes: int) -> None:
        self.rng, self.nbytes = rng, nbytes
        self.taken = np.zeros(nbytes, np.uint8)
        self.places: list[Place] = []
        self.interleaved = 0

    def draw(self, operand: Operand, dtype: Any, strides: tuple[int, ...] | None = None) -> Place:
        """Return a new place for an operand, with these strides if there are some."""
        kind, dims = np.dtype(dtype), operand.dims
        if strides is None:
            strides = _packed(dims, kind.itemsize) if operand.packed else self._strides(operand, kind.itemsize)
        fits = [place for place in self._near(dims, strides, kind) if self._is_free(place)]
        if fits:
            self.interleaved += 1
            return self.take(fits[0])
        shift = int(self.rng.choice([0, 0, kind.itemsize, 3 * kind.itemsize]))
        used = max([GUARD, *(place.extent[1] for place in self.places)])
        return self.take(Place(-(-used // 16) * 16 + shift, dims, strides, kind))

    def take(self, place: Place) -> Place:
        """Mark a place as taken."""
        place.mask(self.taken)[...] = 1
        self.places.append(place)
        return place

    def _strides(self, operand: Operand, size: int) -> tuple[int, ...]:
        dims = operand.dims
        order = list(range(len(dims)))
        how = self.rng.integers(4)
        if how == 0:
            self.rng.shuffle(order)
        elif how == 1 and len(dims) > 2:  # channels last
            order = [0, *order[2:], 1]
        strides, step = [0] * len(dims), size * int(self.rng.choice([1, 1, 2, 3]))
        for axis in reversed(order):
            strides[axis] = step
            step = step * max(dims[axis], 1) + size * int(self.rng.choice([0, 0, 0, 1, 5]))
        if operand.broadcast and self.rng.integers(5) == 0:
            strides[int(self.rng.integers(len(dims)))] = 0
        return tuple(strides)

    def _near(self, dims: tuple[int, ...], strides: tuple[int, ...], kind: np.dtype[Any]) -> list[Place]:
        """Return places among the elements of those that there are."""
        if not self.places or self.rng.integers(3) == 0:
            return []
        other = self.places[int(self.rng.integers(len(self.places)))]
        start = -(-other.offset // kind.itemsize) * kind.itemsize
        found = [Place(start + k * kind.itemsize, dims, strides, kind) for k in range(1, 6)]
        return [place for place in found if place.extent[1] <= self.nbytes - GUARD]

    def _is_free(self, place: Place) -> bool:
        return not place.mask(self.taken).any()


def _packed(dims: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides = []
    for dim in reversed(dims):
        strides.append(size)
        size *= max(dim, 1)
    return tuple(reversed(strides))
