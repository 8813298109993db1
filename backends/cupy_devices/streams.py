"""The streams that a handle may be given."""

from __future__ import annotations

from typing import Any

from portadnn.errors import BadParam, NotSupported
from portadnn.host_arrays import type_name

from ..arrays import is_word
from .library import cupy


class TorchStream:
    """PyTorch's current stream of a device, whichever that is when it is asked for."""

    def __init__(self, index: int) -> None:
        import torch

        self._index = index
        self._empty, self._bytes = torch.empty, torch.uint8
        self._capturing = torch._C._cuda_isCurrentStreamCapturing
        self._current = torch._C._cuda_getCurrentRawStream  # what torch's own compilers ask

    @property
    def ptr(self) -> int:
        """Address of the CUDA or HIP stream."""
        return self._current(self._index)  # type: ignore[no-any-return]

    @property
    def capturing(self) -> bool:
        """Whether PyTorch captures a graph of it."""
        return self._capturing()  # type: ignore[no-any-return]

    def memory(self, nbytes: int) -> Any:
        """Return memory from PyTorch's pool; while PyTorch captures, from the graph's."""
        tensor = self._empty(nbytes, dtype=self._bytes, device=f"cuda:{self._index}")
        memory = cupy().cuda.UnownedMemory(tensor.data_ptr(), nbytes, tensor, self._index)
        return cupy().cuda.MemoryPointer(memory, 0)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr  # version of the protocol

    def as_cupy(self) -> Any:
        """Return it as CuPy's, whatever torch's current one will be then."""
        cuda = cupy().cuda
        if hasattr(cuda.Stream, "from_external"):  # from CuPy 14 on, where the other way warns
            return cuda.Stream.from_external(self)
        return cuda.ExternalStream(self.ptr, self._index)


def usable_stream(stream: Any, index: int) -> Any:
    """Return a CuPy stream of device `index`, PyTorch's current one for "torch", or None for CuPy's current one."""
    cuda = cupy().cuda
    if stream is None:
        return None
    if is_word(stream, "torch"):
        try:
            return TorchStream(index)
        except (AttributeError, ImportError) as error:
            raise NotSupported(f"torch with CUDA or ROCm is not installed: {error}", argument="stream") from None
    if not isinstance(stream, (cuda.Stream, cuda.ExternalStream)):
        raise BadParam(argument="stream", expected="a CuPy stream or 'torch'", got=type_name(stream))
    if getattr(stream, "device_id", -1) not in (-1, index):
        raise BadParam(argument="stream", expected=f"a stream of device {index}", got=f"device {stream.device_id}")
    return stream
