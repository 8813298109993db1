"""A device of PyTorch's: its memory, streams and clock. Arrays are torch tensors."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from portadnn.bfloat16 import is_bfloat16
from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.errors import AllocFailed, BadParam, ExecutionFailed, written
from portadnn.host_arrays import span_bytes, type_name
from portadnn.problem import TensorSpec

from ..arrays import check_view, check_view_dtype
from ..base import Device, DeviceInfo
from .way import torch_module


class TorchDevice(Device):
    """The host or a CUDA device as PyTorch sees it.

    Parameters
    ----------
    place
        torch's name of the device, such as ``"cuda:0"``.
    stream
        A torch.cuda.Stream; None for the current one.
    """

    def __init__(self, info: DeviceInfo, place: str, stream: Any = None) -> None:
        self.info = info
        self.torch = torch_module()
        self.place = self.torch.device(place)
        self._stream: Any = None
        self.set_stream(stream)

    # arrays

    def owns(self, array: Any) -> bool:
        return isinstance(array, self.torch.Tensor)

    def wrap(self, value: Any, argument: str) -> Any:
        if isinstance(value, TensorView):
            return self._view(value, argument)
        return value if self.owns(value) else self._foreign(value, argument)

    def look(self, arrays: Iterable[Any]) -> list[Any]:
        return [None if array is None else self._signature(array) for array in arrays]

    def _signature(self, tensor: Any) -> tuple[Any, ...]:
        if tensor.device != self.place or tensor.layout is not self.torch.strided:
            raise BadParam(expected=f"a dense tensor on {self.place}", got=f"{tensor.layout} on {tensor.device}")
        size = tensor.element_size()
        dtype = _storage(str(tensor.dtype).removeprefix("torch."))
        address = tensor.data_ptr()
        return tuple(tensor.shape), tuple(stride * size for stride in tensor.stride()), dtype, address & 15

    def address(self, memory: Any) -> int:
        return int(memory.data_ptr())

    def room(self, memory: Any) -> int:
        return int(memory.untyped_storage().nbytes() - memory.storage_offset() * memory.element_size())

    def _type(self, dtype: DataType) -> Any:
        return getattr(self.torch, dtype.type_name)

    def empty(self, spec: TensorSpec) -> Any:
        return self._allocate(spec.span, spec.dtype).as_strided(spec.dims, spec.strides)

    def _allocate(self, count: int, dtype: DataType) -> Any:
        try:
            return self.torch.empty(count, dtype=self._type(dtype), device=self.place)
        except RuntimeError as error:
            raise AllocFailed(f"{self.info.name}: {error}") from None

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        self.host_access("copies an array from the host")
        try:
            return _from_numpy(self.torch, np.array(array, order="K")).to(self.place)
        except (MemoryError, self.torch.OutOfMemoryError) as error:
            raise AllocFailed(f"{self.info.name}: {error}") from None

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        self.host_access("copies an array to the host")
        with self.current():
            host = array.detach().to("cpu", copy=True)
        if host.dtype is self.torch.bfloat16:
            return host.view(self.torch.int16).numpy().view(DataType.BFLOAT16.storage)  # type: ignore[no-any-return]
        return host.numpy()  # type: ignore[no-any-return]

    def read_bytes(self, array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        self.host_access("copies bytes to the host")
        with self.current():
            return self._bytes(array).to("cpu", copy=True).numpy()  # type: ignore[no-any-return]

    def write_bytes(self, array: Any, content: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        self.host_access("copies bytes from the host")
        with self.current():
            self._bytes(array).copy_(self.torch.from_numpy(content))

    def _bytes(self, array: Any) -> Any:
        """Return the memory of a tensor from its first element to its last."""
        size = array.element_size()
        nbytes = span_bytes(tuple(array.shape), tuple(step * size for step in array.stride()), size)
        memory = self.torch.empty(0, dtype=self.torch.uint8, device=self.place)
        return memory.set_(array.untyped_storage(), array.storage_offset() * size, (nbytes,), (1,))

    def workspace(self, nbytes: int) -> Any:
        return self._allocate(nbytes, DataType.UINT8)

    def workspace_size(self, workspace: Any) -> int:
        if not self.owns(workspace) or workspace.device != self.place:
            raise BadParam(argument="workspace", expected=f"a tensor on {self.place}", got=type_name(workspace))
        return int(workspace.numel() * workspace.element_size())

    def _view(self, view: TensorView, argument: str) -> Any:
        """Return a view of a tensor or of other memory as a tensor on the same memory."""
        base = view.base if self.owns(view.base) else self._foreign(view.base, argument)
        shape, byte_strides, dtype, _ = self._signature(base)
        check_view_dtype(view, argument, dtype)
        offset, strides = check_view(view, argument, span_bytes(shape, byte_strides, base.element_size()))
        size = view.spec.dtype.itemsize
        first = base.storage_offset() * base.element_size() + offset
        if first % size:
            raise BadParam(argument=argument, expected=f"a place that is a multiple of {size} bytes", got=first)
        place = first // size, view.spec.dims, tuple(stride // size for stride in strides)
        memory = self.torch.empty(0, dtype=self._type(view.spec.dtype), device=self.place)
        return memory.set_(base.untyped_storage(), *place)

    def _foreign(self, value: Any, argument: str) -> Any:
        """Return another library's array on this device as a tensor, without a copy."""
        torch = self.torch
        try:
            if self.place.type == "cpu" and (isinstance(value, np.ndarray) or hasattr(value, "__array_interface__")):
                return self._host(np.asarray(value), argument)
            if self.place.type == "cpu" and not hasattr(value, "__dlpack__"):
                return self._host(np.frombuffer(value, np.uint8), argument)
            if hasattr(value, "__cuda_array_interface__"):
                return torch.as_tensor(value, device=self.place)
            if hasattr(value, "__dlpack__"):
                return torch.from_dlpack(value)
        except BadParam:
            raise
        except Exception as error:  # a user's attributes may raise anything
            raise BadParam(f"it cannot be shared: {written(str, error)}", argument=argument) from None
        expected = f"a torch.Tensor on {self.place}, an array there or descriptor.view(buffer)"
        raise BadParam(argument=argument, expected=expected, got=type_name(value))

    def _host(self, array: np.ndarray[Any, Any], argument: str) -> Any:
        if not array.flags.writeable:  # torch cannot say so, and whoever wrote to it would crash
            raise BadParam(
                argument=argument, expected="a writable array, as torch knows no others", got="a read-only one"
            )
        return _from_numpy(self.torch, array)

    # execution

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Make this device and its stream torch's current ones."""
        if self.place.type == "cpu":
            yield
            return
        with self.torch.cuda.device(self.place), self.torch.cuda.stream(self._stream):
            yield

    def synchronize(self) -> None:
        if self.place.type == "cpu":
            return
        try:
            self.stream.synchronize()
        except RuntimeError as error:
            raise ExecutionFailed(f"{self.info.name}: {error}") from None

    def time(self, function: Callable[[], None]) -> float:
        if self.place.type == "cpu":
            begin = time.perf_counter()
            function()
            return time.perf_counter() - begin
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record(self.stream)
        function()
        end.record(self.stream)
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    @property
    def stream(self) -> Any:
        """The torch.cuda.Stream in use; None on the CPU."""
        if self.place.type == "cpu":
            return None
        return self._stream or self.torch.cuda.current_stream(self.place)

    def set_stream(self, stream: Any) -> None:
        if stream is not None:
            fits = self.place.type != "cpu" and isinstance(stream, self.torch.cuda.Stream)
            if not fits or stream.device != self.place:
                expected = "None" if self.place.type == "cpu" else f"a torch.cuda.Stream of {self.place}"
                raise BadParam(argument="stream", expected=expected, got=type_name(stream))
        self._stream = stream

    def close(self) -> None:
        """Do nothing: tensors free themselves."""


@functools.cache
def _storage(name: str) -> np.dtype[Any]:
    """Return the dtype that portadnn knows a type of torch's by; some that NumPy lacks are of no use anyway."""
    if name == "bfloat16":
        return DataType.BFLOAT16.storage
    return np.dtype(name) if name in np.sctypeDict else np.dtype(np.void)


def _from_numpy(torch: Any, array: np.ndarray[Any, Any]) -> Any:
    """Return a tensor on a host array's memory."""
    if is_bfloat16(array.dtype):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
