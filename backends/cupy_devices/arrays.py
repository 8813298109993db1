"""Arrays and memory of a GPU through CuPy."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from portadnn.bfloat16 import is_bfloat16
from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.errors import AllocFailed, BadParam, NotSupported, written
from portadnn.host_arrays import is_torch, span_bytes, torch_layout, type_name
from portadnn.problem import TensorSpec

from ..arrays import check_view, check_view_dtype, hint, inverse, storage_order
from ..base import Device, DeviceInfo
from ..guards import guard, holds_shape
from .library import cupy as _cupy
from .streams import TorchStream, usable_stream


def _storage(dtype: DataType) -> np.dtype[Any]:
    """Return the dtype of CuPy arrays of that type."""
    if dtype is DataType.BFLOAT16 and int(_cupy().__version__.split(".")[0]) < 14:
        raise NotSupported(argument="dtype", expected="CuPy 14 or newer for bfloat16", got=_cupy().__version__)
    return dtype.storage


def _retyped(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return the same memory as elements of another type of that size, whatever the strides."""
    return _cupy().ndarray(array.shape, dtype, array.data, strides=array.strides)


class _Place:
    """An address, as launches read an array's."""

    __slots__ = ("data", "ptr")

    def __init__(self, ptr: int) -> None:
        self.data, self.ptr = self, ptr


class _Places(dict[int, _Place]):
    """Addresses that launches have read: PyTorch's allocator gives out the same ones in every step."""

    def __missing__(self, ptr: int) -> _Place:
        if len(self) >= 1 << 16:
            self.clear()
        place = self[ptr] = _Place(ptr)
        return place


class CupyArrays(Device):
    """The arrays, memory and stream of one GPU.

    Attributes
    ----------
    title : str
        What messages call the platform.
    dlpack_kinds : tuple of int
        DLPack's numbers of the memory that its kernels reach.
    """

    title: str
    dlpack_kinds: tuple[int, ...]

    def __init__(self, index: int, info: DeviceInfo, stream: Any = None) -> None:
        cupy = _cupy()
        self.info = info
        self._index = index
        self._stream = stream
        self._array = cupy.ndarray
        self._places = _Places()
        self._runtime = cupy.cuda.runtime

    def current(self) -> AbstractContextManager[Any]:
        """Return what makes the device CuPy's current one."""
        cupy = _cupy()
        if self._runtime.getDevice() != self._index:
            return cupy.cuda.Device(self._index)  # type: ignore[no-any-return]
        return nullcontext()

    def _on_stream(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._stream is None else self._cupy_stream()

    def stream_address(self) -> int:
        """Return the address of the stream that work goes to."""
        return (self._stream or _cupy().cuda.get_current_stream(self._index)).ptr  # type: ignore[no-any-return]

    def capturing(self) -> bool:
        stream = self._stream
        return isinstance(stream, TorchStream) and stream.capturing

    def _cupy_stream(self) -> Any:
        """Return the stream that work goes to as CuPy's."""
        if isinstance(self._stream, TorchStream):
            return self._stream.as_cupy()
        return self._stream or _cupy().cuda.get_current_stream()

    # arrays

    def owns(self, array: Any) -> bool:
        return isinstance(array, self._array)

    def wrap(self, value: Any, argument: str) -> Any:
        cupy = _cupy()
        if isinstance(value, self._array):
            return value
        if isinstance(value, TensorView):
            base = self.wrap(value.base, argument) if is_torch(value.base) else value.base
            if hasattr(base, "__cuda_array_interface__") and not isinstance(base, self._array):
                base = cupy.asarray(base)
            if isinstance(base, self._array):
                check_view_dtype(value, argument, base.dtype)
                available = span_bytes(base.shape, base.strides, base.dtype.itemsize)
                memory = base.data
            elif isinstance(base, cupy.cuda.MemoryPointer):
                available, memory = base.mem.size - (base.ptr - base.mem.ptr), base
            elif type(base) is int and base > 0:  # an address: who gives it knows how much memory is there
                available = (value.offset + value.spec.span) * value.spec.dtype.itemsize
                memory = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(base, available, None, self._index), 0)
            else:
                raise BadParam(
                    argument=argument,
                    expected="a view of a CuPy array, a MemoryPointer or a device address",
                    got=base if type(base) is int else type_name(base),
                )
            offset, strides = check_view(value, argument, available)
            return cupy.ndarray(value.spec.dims, _storage(value.spec.dtype), memory + offset, strides=strides)
        if is_torch(value):
            return self._of_torch(value, argument)
        try:
            if hasattr(value, "__cuda_array_interface__"):
                return cupy.asarray(value)
            if hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in self.dlpack_kinds:
                return cupy.from_dlpack(value)
        except Exception as error:  # a user's attributes may raise anything
            raise BadParam(f"it cannot be shared: {written(str, error)}", argument=argument) from None
        raise BadParam(
            argument=argument,
            expected=f"a CuPy array, a {self.title} tensor or descriptor.view(buffer){hint(value)}",
            got=type_name(value),
        )

    def _of_torch(self, tensor: Any, argument: str) -> Any:
        """Return a CuPy array on a torch tensor's memory, without the detour through the array interface."""
        cupy = _cupy()
        address, shape, strides, dtype, room = torch_layout(tensor, "cuda", argument)
        if tensor.device.index != self._index:
            raise BadParam(argument=argument, expected=f"a tensor on cuda:{self._index}", got=f"one on {tensor.device}")
        storage = _storage(DataType.BFLOAT16) if dtype is None else dtype
        memory = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(address, room, tensor, self._index), 0)
        return cupy.ndarray(shape, storage, memory, strides=strides)

    def launchable(self, tensors: Sequence[Any]) -> Sequence[Any] | None:
        places = self._places
        return [places[tensor.data_ptr()] for tensor in tensors]

    def as_bytes(self, array: Any) -> Any:
        cupy = _cupy()
        count = span_bytes(array.shape, array.strides, array.dtype.itemsize)
        return cupy.ndarray((count,), cupy.uint8, array.data)

    def look(self, arrays: Iterable[Any]) -> list[Any]:
        index = self._index
        signatures: list[Any] = []
        for array in arrays:
            if array is None:
                signatures.append(None)
                continue
            data = array.data
            if data.device_id != index:
                raise BadParam(
                    expected=f"an array of {self.title} device {index}", got=f"one of device {data.device_id}"
                )
            memory = data.mem
            if data.ptr + array.nbytes > memory.ptr + memory.size or not array.flags.c_contiguous:
                self._check_bounds(array)
            signatures.append((array.shape, array.strides, array.dtype, data.ptr & 15))
        return signatures

    def _check_bounds(self, array: Any) -> None:
        """Refuse an array that leaves its memory."""
        extent, room = span_bytes(array.shape, array.strides, array.dtype.itemsize), self.room(array)
        if extent > room:
            raise BadParam(
                expected=f"an array within its memory, of {room} bytes from its first element", got=f"{extent} bytes"
            )

    def guard(self, arrays: Sequence[weakref.ref[Any]]) -> Callable[[], bool] | None:
        return guard(arrays, self._array, holds_shape)

    def stream_key(self) -> int:
        return self.stream_address()

    def address(self, memory: Any) -> int:
        return getattr(memory, "data", memory).ptr  # type: ignore[no-any-return]  # an array or a MemoryPointer

    def room(self, memory: Any) -> int:
        pointer = getattr(memory, "data", memory)
        return pointer.mem.size - (pointer.ptr - pointer.mem.ptr)  # type: ignore[no-any-return]

    def empty(self, spec: TensorSpec) -> Any:
        size = spec.dtype.itemsize
        memory = self.workspace(spec.span * size)
        return self._array(spec.dims, _storage(spec.dtype), memory, strides=tuple(s * size for s in spec.strides))

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        cupy = _cupy()
        order = storage_order(array)
        self.host_access("copies an array from the host")
        with self.current(), self._on_stream():
            try:
                host = np.asarray(array.transpose(order), order="C")
                if is_bfloat16(array.dtype):  # as plain bytes: CuPy need not know the type
                    return _retyped(cupy.asarray(host.view(np.uint16)), _storage(DataType.BFLOAT16)).transpose(
                        inverse(order)
                    )
                return cupy.asarray(host).transpose(inverse(order))
            except cupy.cuda.memory.OutOfMemoryError as error:
                raise AllocFailed(f"{self.info.name}: {error}") from None

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        self.host_access("copies an array to the host")
        with self.current(), self._on_stream():
            if is_bfloat16(array.dtype):
                return _cupy().asnumpy(_retyped(array, np.dtype(np.uint16))).view(array.dtype)  # type: ignore[no-any-return]
            return _cupy().asnumpy(array)  # type: ignore[no-any-return]

    def read_bytes(self, array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        raw = np.empty(span_bytes(array.shape, array.strides, array.dtype.itemsize), np.uint8)
        self._copy(raw.ctypes.data, array.data.ptr, raw.size, self._runtime.memcpyDeviceToHost)
        return raw

    def write_bytes(self, array: Any, content: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        content = np.ascontiguousarray(content)
        self._copy(array.data.ptr, content.ctypes.data, content.size, self._runtime.memcpyHostToDevice)

    def _copy(self, target: int, source: int, nbytes: int, kind: int) -> None:
        self.host_access("copies bytes from or to the host")
        stream = self.stream_address()
        with self.current():
            self._runtime.memcpyAsync(target, source, nbytes, kind, stream)
            self._runtime.streamSynchronize(stream)

    def workspace(self, nbytes: int) -> Any:
        cupy = _cupy()
        if self.capturing():
            return self.allocated(self._stream.memory(nbytes))
        with self.current(), self._on_stream():
            try:
                return self.allocated(cupy.cuda.alloc(nbytes))
            except cupy.cuda.memory.OutOfMemoryError as error:
                raise AllocFailed(f"{self.info.name}: {error}") from None

    def native_workspace(self, workspace: Any) -> Any:
        return self.wrap(workspace, "workspace") if is_torch(workspace) else workspace

    def workspace_size(self, workspace: Any) -> int:
        cupy = _cupy()
        if isinstance(workspace, self._array):
            self.signature(workspace)
            if not workspace.flags.forc:
                raise BadParam(argument="workspace", expected="a contiguous array", got=f"strides {workspace.strides}")
            return min(int(workspace.nbytes), self.room(workspace))
        if isinstance(workspace, cupy.cuda.MemoryPointer):
            return int(workspace.mem.size - (workspace.ptr - workspace.mem.ptr))
        raise BadParam(argument="workspace", expected="a CuPy array or MemoryPointer", got=type_name(workspace))

    @property
    def stream(self) -> Any:
        return self._cupy_stream()

    def set_stream(self, stream: Any) -> None:
        self._stream = usable_stream(stream, self._index)
