"""PyTorch's convolutions on memory that portadnn's calls share, and the clocks that compare both."""

from __future__ import annotations

import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import portadnn as dnn
from portadnn.handle import Handle

Call = Callable[[], Any]
BUSY = 2e-3  # seconds of other work, in which the host enqueues what is timed
MEASURED = 1e-2  # seconds of processor time in a round


class Torch(ABC):
    """PyTorch on a device, and the memory of both sides."""

    device: str

    def __init__(self) -> None:
        import torch

        self.torch = torch
        torch.manual_seed(0)

    def tensor(self, spec: Any) -> Any:
        """Return random numbers in the spec's layout."""
        torch = self.torch
        dtype = {"HALF": torch.float16, "BFLOAT16": torch.bfloat16, "FLOAT": torch.float32}[spec.dtype.name]
        flat = torch.randn(spec.span, device=self.device, dtype=torch.float32).to(dtype)
        return flat.as_strided(spec.dims, spec.strides)

    def facts(self) -> dict[str, Any]:
        """Return what a record says of PyTorch: versions, and the vectors of a processor that it uses."""
        torch = self.torch
        vectors = torch.backends.cpu.get_cpu_capability() if self.device == "cpu" else None
        return {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "torch_vectors": vectors}

    @abstractmethod
    def memory(self, flat: Any) -> Any:
        """Return a flat tensor's memory as portadnn's device takes it."""

    def array(self, handle: Handle, spec: Any, tensor: Any) -> Any:
        """Return the same memory as portadnn's device takes it."""
        flat = tensor.as_strided((spec.span,), (1,))
        if spec.dtype.itemsize == 2:
            memory = self.memory(flat.view(self.torch.int16)).view(spec.dtype.numpy)
        else:
            memory = self.memory(flat)
        return handle.device.wrap(dnn.TensorView(spec, memory), "tensor")

    def call(self, problem: Any, tensors: Sequence[Any]) -> Call:
        """Return torch's operator; it makes its result anew."""
        torch, axes = self.torch, [list(problem.stride), list(problem.padding), list(problem.dilation)]
        rest = (None, *axes, False, [0, 0], problem.groups)
        named = dict(zip(problem.names, tensors, strict=True))
        if "y" in named:
            x, w = named["x"], named["w"]
            return lambda: torch.ops.aten.convolution(x, w, *rest)
        data = "dx" in named
        image, w = (named["dx"], named["w"]) if data else (named["x"], named["dw"])
        number, mask = (0, [True, False, False]) if data else (1, [False, True, False])
        backward = torch.ops.aten.convolution_backward
        return lambda: backward(named["dy"], image, w, *rest, mask)[number]

    def exact(self, problem: Any, tensors: Sequence[Any]) -> Any:
        """Return the result in float64."""
        torch = self.torch
        wide = [tensor.double().contiguous() for tensor in tensors]
        torch.backends.cudnn.benchmark = False
        true = self.call(problem, wide)()
        torch.backends.cudnn.benchmark = True
        return true

    def error(self, result: Any, true: Any) -> float:
        """Return the largest difference from the exact result over the root mean square of that."""
        return float((result.double() - true).abs().max() / true.pow(2).mean().sqrt())

    @abstractmethod
    def device_seconds(self, calls: Sequence[Call], rounds: int = 5) -> list[float]:
        """Return what each call takes, in turns; medians of rounds."""


class Gpu(Torch):
    """With CUDA: cuDNN with its benchmark mode. Times are of the device."""

    device = "cuda"

    def __init__(self) -> None:
        super().__init__()
        import cupy

        self.cupy = cupy
        self.torch.backends.cudnn.benchmark = True
        self._memory = self.torch.empty(1 << 27, device="cuda")
        once = self._seconds(lambda: self._memory.fill_(0.0), 4)
        self._fills = max(1, round(BUSY / once))

    def memory(self, flat: Any) -> Any:
        """Return it as an array of CuPy."""
        return self.cupy.asarray(flat)

    def _seconds(self, call: Call, count: int, before: int = 0) -> float:
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(before):
            self._memory.fill_(0.0)
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / count

    def device_seconds(self, calls: Sequence[Call], rounds: int = 5) -> list[float]:
        """Return what each call takes the device, in turns, enqueued while it is busy; medians of rounds."""
        counts = []
        for call in calls:
            call()
            once = min(self._seconds(call, 2, self._fills) for _ in range(2))
            counts.append(max(2, min(20, round(BUSY / 2 / max(once, 1e-6)))))
        found: list[list[float]] = [[] for _ in calls]
        for _ in range(rounds):
            for call, count, times in zip(calls, counts, found, strict=True):
                times.append(self._seconds(call, count, self._fills))
        return [statistics.median(times) for times in found]


class Cpu(Torch):
    """On the processor: oneDNN. Times are of the processor, of all threads: other programs disturb them least."""

    device = "cpu"

    def memory(self, flat: Any) -> Any:
        """Return it as an array of NumPy."""
        return flat.numpy()

    def device_seconds(self, calls: Sequence[Call], rounds: int = 5) -> list[float]:
        """Return the processor time of each call, in turns; medians of rounds."""

        def seconds(call: Call, count: int) -> float:
            start = time.process_time()
            for _ in range(count):
                call()
            return (time.process_time() - start) / count

        counts = []
        for call in calls:
            call()
            counts.append(max(1, min(20, round(MEASURED / max(seconds(call, 2), 1e-6)))))
        found: list[list[float]] = [[] for _ in calls]
        for _ in range(rounds):
            for call, count, times in zip(calls, counts, found, strict=True):
                times.append(seconds(call, count))
        return [statistics.median(times) for times in found]
