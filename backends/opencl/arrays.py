"""Arrays and memory of an OpenCL device through PyOpenCL."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from portadnn.descriptors import TensorView
from portadnn.errors import AllocFailed, BadParam
from portadnn.host_arrays import host_array, host_workspace, memory_at, span_bytes, type_name
from portadnn.problem import TensorSpec

from ..arrays import check_view, check_view_dtype, hint, host_view, inverse, storage_order
from ..base import Device, DeviceInfo
from ..guards import Guard, Refs, guard
from .devices import opencl
from .host import HostMemory
from .launch import Seen


class _Signature(tuple[Any, ...]):
    """An array's signature, one object for all equal ones: plan lookups hash and compare it by identity."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


_SERIAL = itertools.count(1)
_MOST_SIGNATURES = 1 << 16  # that a device knows
_MOST_MODELS = 1024  # of new arrays, that a device keeps


def _unchanged(arrays: Refs) -> Guard:
    """Return the guard of arrays that were looked at.

    It keeps no memory alive: an array's buffer is compared with what lies beside the array's record.
    """
    known = []
    for ref in arrays:
        seen = ref()._portadnn_seen
        known.append((ref, seen.serial, seen.offset, seen.shape, seen.strides))

    def holds() -> bool:
        for ref, serial, offset, shape, strides in known:
            array = ref()
            if (
                array._portadnn_serial is not serial
                or array.base_data is not array._portadnn_buffer
                or array.offset != offset
                or array.shape is not shape
                or array.strides is not strides
            ):
                return False
        return True

    return holds


class _HostPlace:
    """Memory of the host, as launches read an array's."""

    __slots__ = ("_portadnn_seen",)

    def __init__(self, seen: Seen) -> None:
        self._portadnn_seen = seen


def _left(array: Any, seen: Seen) -> Seen:
    """Leave with an array what was seen of it, and apart what every call looks at."""
    array._portadnn_seen, array._portadnn_serial, array._portadnn_buffer = seen, seen.serial, seen.buffer
    return seen


class OpenCLArrays(Device):
    """The arrays and memory of one OpenCL device with an in-order queue."""

    def __init__(self, device: Any, info: DeviceInfo, queue: Any = None) -> None:
        cl = opencl()
        self.info = info
        self._device = device
        self._own_queue: Any = None
        self._signatures: dict[tuple[Any, ...], _Signature] = {}
        self._models: dict[TensorSpec, Any] = {}  # an array for each spec that one was made of
        self._scratch = _scratch_type()
        self._array = cl.array.Array
        self._cl = cl
        if queue is None:
            self._context = cl.Context([device])
            self._own_queue = queue = cl.CommandQueue(self._context, device)
        else:
            self._context = queue.context
        self._queue = queue
        self._host = HostMemory(self._context) if info.kind == "cpu" else None
        self.host_memory = self._host is not None

    def owns(self, array: Any) -> bool:
        return isinstance(array, self._array)

    def wrap(self, value: Any, argument: str) -> Any:
        if isinstance(value, self._array):
            return value
        if not isinstance(value, TensorView):
            if self._host is None:
                expected = f"a pyopencl.array.Array or descriptor.view(buffer){hint(value)}"
                raise BadParam(argument=argument, expected=expected, got=type_name(value))
            expected = "a pyopencl.array.Array, an array in host memory or descriptor.view(buffer)"
            return self._on_host(host_array(value, argument, expected), argument)
        base = value.base
        if not isinstance(base, self._array) and not _is_buffer(base) and self._host is not None:
            expected = "a view of a pyopencl Array or Buffer, or of host memory"
            return self._on_host(host_view(value, argument, expected), argument)
        if isinstance(base, self._array):
            check_view_dtype(value, argument, base.dtype)
            available = min(span_bytes(base.shape, base.strides, base.dtype.itemsize), self.room(base))
            buffer, start = base.base_data, base.offset
        elif _is_buffer(base):
            available, buffer, start = base.size, base, 0
        else:
            raise BadParam(argument=argument, expected="a view of a pyopencl Array or Buffer", got=type_name(base))
        if buffer is not None and buffer.context != self._context:
            raise BadParam(
                argument=argument,
                expected=f"a buffer of {self.info.name}'s context",
                got="one of another context",
            )
        offset, strides = check_view(value, argument, available)
        return self._make(value.spec.dims, value.spec.dtype.storage, strides, buffer, start + offset)

    def _on_host(self, host: np.ndarray[Any, Any], argument: str) -> Any:
        """Return an array on the memory of a NumPy array, which whoever calls keeps alive; calls with it wait."""
        assert self._host is not None
        if host.dtype.hasobject:
            raise BadParam(argument=f"{argument}.dtype", expected="numbers", got=host.dtype)
        buffer, offset = self._host.buffer(host, argument)
        return self._make(host.shape, host.dtype, host.strides, buffer, offset)

    def launchable(self, tensors: Sequence[Any]) -> Sequence[Any] | None:
        return None if self._host is None else [self._host_place(tensor) for tensor in tensors]

    def _host_place(self, tensor: Any) -> _HostPlace:
        """Return the memory of a torch tensor in host memory as launches read it."""
        assert self._host is not None
        size, address = tensor.element_size(), tensor.data_ptr()
        buffer, offset = self._host.at(address, tensor.untyped_storage().nbytes() - tensor.storage_offset() * size)
        host = getattr(buffer, "portadnn_host", None)
        return _HostPlace(Seen(next(_SERIAL), (), buffer, offset, (), (), self._context, address, size, host))

    def host_view(self, array: Any) -> np.ndarray[Any, Any] | None:
        place = getattr(array.base_data, "portadnn_host", None)
        if place is None:
            return None
        address = place.address + int(array.offset)
        return memory_at(array, address, array.shape, array.strides, array.dtype, place.writable)

    def as_bytes(self, array: Any) -> Any:
        count = span_bytes(array.shape, array.strides, array.dtype.itemsize)
        return self._make((count,), np.uint8, (1,), array.base_data, int(array.offset))

    def _make(self, shape: Any, dtype: Any, strides: Any, buffer: Any, offset: int) -> Any:
        return self._array(self._queue, shape, dtype, data=buffer, offset=offset, strides=strides)

    def look(self, arrays: Iterable[Any]) -> list[Any]:
        context = self._context
        signatures: list[Any] = []
        for array in arrays:
            if array is None:
                signatures.append(None)
                continue
            try:
                _, signature, buffer, offset, shape, strides, where, _, _, _ = array._portadnn_seen
                if (
                    buffer is array.base_data
                    and offset == array.offset
                    and shape is array.shape
                    and strides is array.strides
                    and where is context
                ):
                    signatures.append(signature)
                    continue
            except AttributeError:
                pass
            signatures.append(self._examine(array).signature)
        return signatures

    def guard(self, arrays: Refs) -> Guard | None:
        try:
            self.look([array for array in (ref() for ref in arrays) if type(array) is self._array])
        except BadParam:  # the call itself says which argument it is
            return None
        return guard(arrays, self._array, _unchanged)

    def address(self, memory: Any) -> int:
        try:
            return memory._portadnn_seen.address  # type: ignore[no-any-return]
        except AttributeError:
            return self._examine(memory).address if self.owns(memory) else self._address(memory, 0)

    def writable(self, array: Any) -> bool:
        seen = getattr(array, "_portadnn_seen", None) or self._examine(array)
        return seen.host is None or seen.host.writable

    def room(self, memory: Any) -> int:
        if self.owns(memory):
            return 0 if memory.base_data is None else self._room(memory.base_data) - int(memory.offset)
        return self._room(memory)

    @staticmethod
    def _room(buffer: Any) -> int:
        return int(buffer.size)

    def _examine(self, array: Any) -> Seen:
        """Ask everything that calls need to know of an array, and leave it with the array for the next call."""
        if not isinstance(array, self._array):
            raise TypeError(f"{type_name(array)} is no pyopencl.array.Array")
        if array.context != self._context:
            raise BadParam(expected=f"an array of {self.info.name}'s context", got="an array of another context")
        steps = [(dim - 1) * step for dim, step in zip(array.shape, array.strides, strict=True)]
        offset, room = int(array.offset), self.room(array)
        first = offset + sum(step for step in steps if step < 0)
        end = offset + sum(step for step in steps if step > 0) + array.dtype.itemsize
        if 0 not in array.shape and (first < 0 or end > offset + room):
            expected = f"an array within its buffer of {room + offset} bytes"
            raise BadParam(expected=expected, got=f"bytes {first} to {end}")
        return self._record(array)

    def _record(self, array: Any) -> Seen:
        buffer, offset = array.base_data, int(array.offset)
        signature = (array.shape, array.strides, array.dtype, offset & 15)
        seen = Seen(
            serial=next(_SERIAL),
            buffer=buffer,
            item_size=array.dtype.itemsize,
            offset=offset,
            address=self._address(buffer, offset),
            shape=array.shape,
            strides=array.strides,
            context=self._context,
            signature=self._interned(signature),
            host=getattr(buffer, "portadnn_host", None),
        )
        return _left(array, seen)

    def _interned(self, signature: tuple[Any, ...]) -> _Signature:
        if len(self._signatures) >= _MOST_SIGNATURES:
            self._signatures.clear()  # calls with new arrays find their plans by the problem then
        return self._signatures.setdefault(signature, _Signature(signature))

    def _address(self, buffer: Any, offset: int) -> int:
        cl = self._cl
        if buffer is None:
            return 0
        host = getattr(buffer, "portadnn_host", None)
        if host is not None:  # two buffers may share it
            return host.address + offset  # type: ignore[no-any-return]
        try:
            parent = buffer.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)
            if parent is not None:  # a sub-buffer shares its parent's memory
                offset += buffer.get_info(cl.mem_info.OFFSET)
                buffer = parent
            return (buffer.int_ptr << 40) + offset  # type: ignore[no-any-return]
        except (AttributeError, cl.Error) as error:
            raise BadParam(expected="memory in an OpenCL buffer", got=f"{type_name(buffer)} ({error})") from None

    def empty(self, spec: TensorSpec) -> Any:
        size = spec.dtype.itemsize
        model = self._models.get(spec)
        if model is None:
            buffer = self.workspace(1)
            made = self._make(spec.dims, spec.dtype.storage, tuple(s * size for s in spec.strides), buffer, 0)
            self._record(made)
            if len(self._models) >= _MOST_MODELS:
                self._models.clear()
            model = self._models[spec] = made
        # PyOpenCL's constructor takes ten times as long as a copy of what it makes
        made = self._array.__new__(self._array)
        made.__dict__.update(model.__dict__)
        made.queue, made.events, made._flags = self._queue, [], None
        made.base_data = buffer = self._allocate(self._cl.Buffer, spec.span * size) if spec.span else None
        address = 0 if buffer is None else buffer.int_ptr << 40
        _, signature, _, offset, shape, strides, context, _, _, _ = model._portadnn_seen
        _left(made, Seen(next(_SERIAL), signature, buffer, offset, shape, strides, context, address, size, None))
        return self.allocated(made)

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        cl = opencl()
        self.host_access("copies an array from the host")
        order = storage_order(array)
        host = np.asarray(array.transpose(order), order="C")
        try:
            return cl.array.to_device(self._queue, host).transpose(inverse(order))
        except cl.MemoryError as error:
            raise AllocFailed(f"{self.info.name}: {error}") from None

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        raw = self.read_bytes(array)
        strided = np.ndarray(array.shape, array.dtype, raw.data if raw.size else None, strides=array.strides)
        copy: np.ndarray[Any, Any] = strided.copy()
        return copy

    def read_bytes(self, array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        self.host_access("copies an array to the host")
        if any(step < 0 for step in self.signature(array)[1]):
            raise BadParam(expected="an array without negative strides", got=array.strides)
        raw = np.empty(span_bytes(array.shape, array.strides, array.dtype.itemsize), np.uint8)
        if raw.size:
            if self._host is not None and hasattr(array.base_data, "portadnn_host"):
                self._host.written(self._queue, [array.base_data])
            opencl().enqueue_copy(self._queue, raw, array.base_data, src_offset=array.offset)
        return raw

    def write_bytes(self, array: Any, content: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        self.host_access("copies bytes from the host")
        if content.size:
            opencl().enqueue_copy(self._queue, array.base_data, content, dst_offset=array.offset)
            if self._host is not None and hasattr(array.base_data, "portadnn_host"):
                self._host.wait(self._queue, [array.base_data])

    def workspace(self, nbytes: int) -> Any:
        return self.allocated(self._allocate(self._scratch, max(nbytes, 1)))

    def _allocate(self, kind: Any, nbytes: int) -> Any:
        cl = self._cl
        if nbytes > self.info.global_memory > 0:  # NVIDIA's driver would say so at the first launch
            raise AllocFailed(f"{self.info.name}: {nbytes} bytes, and it has {self.info.global_memory}")
        try:
            return kind(self._context, cl.mem_flags.READ_WRITE, nbytes)
        except (cl.MemoryError, cl.LogicError, cl.RuntimeError) as error:
            raise AllocFailed(f"{self.info.name}: {nbytes} bytes: {error}") from None

    def native_workspace(self, workspace: Any) -> Any:
        if self.owns(workspace) or _is_buffer(workspace) or self._host is None:
            return workspace
        return self.wrap(host_workspace(workspace), "workspace")

    def workspace_size(self, workspace: Any) -> int:
        array = workspace
        if self.owns(array):
            self.signature(array)
            if not array.flags.forc:
                raise BadParam(argument="workspace", expected="a contiguous array", got=f"strides {array.strides}")
            return int(array.nbytes)
        if not _is_buffer(array):
            expected = f"a pyopencl Buffer or Array{hint(workspace)}"
            raise BadParam(argument="workspace", expected=expected, got=type_name(workspace))
        if array.context != self._context:
            raise BadParam(
                argument="workspace",
                expected=f"memory of {self.info.name}'s context",
                got="another context's",
            )
        return int(array.size)


def _is_buffer(value: Any) -> bool:
    """Tell whether `value` is a plain buffer, pooled or not; images are memory objects too."""
    cl = opencl()
    try:
        return isinstance(value, cl.MemoryObjectHolder) and value.type == cl.mem_object_type.BUFFER
    except cl.Error:  # released
        return False


@functools.cache
def _scratch_type() -> Any:
    class Scratch(opencl().Buffer):  # type: ignore[misc]
        """A buffer of the library's own, with a number by which kernels know it again."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.serial = next(_SERIAL)

    return Scratch
