"""The torch backend: PyTorch's own operators, on the CPU and on CUDA. It is there to be compared with.

Arrays are ``torch.Tensor``. It shares no arithmetic with portadnn's kernels and none with the reference: another voice
where results differ. ``Handle("auto")`` never takes it, and what PyTorch cannot say is refused.
"""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portadnn.errors import BadParam
from portadnn.problem import Problem

from .base import Backend, Device, DeviceInfo, Engine
from .torch_engines.device import TorchDevice
from .torch_engines.engine import WAYS, PyTorchEngine
from .torch_engines.way import torch_module


class TorchBackend(Backend):
    """PyTorch: device 0 is the CPU, the CUDA devices follow."""

    name = "torch"
    vendor = True
    install = "pip install torch"

    def why_unavailable(self) -> str | None:
        if importlib.util.find_spec("torch") is None:
            return "torch is not installed"
        try:
            torch_module()
        except ImportError as error:
            return f"torch cannot be imported: {error}"
        return None

    def devices(self) -> Sequence[DeviceInfo]:
        torch = torch_module()
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return [_host(torch), *(_cuda(torch, index) for index in range(count))]

    def open(self, index: int, stream: Any = None) -> Device:
        if stream is not None and hasattr(stream, "device"):
            index = 1 + (getattr(stream.device, "index", 0) or 0)
        devices = self.devices()
        if not 0 <= index < len(devices):
            raise BadParam(argument="device", expected=f"0 to {len(devices) - 1}", got=index, call="Handle")
        return TorchDevice(devices[index], "cpu" if index == 0 else f"cuda:{index - 1}", stream)

    def engines(self) -> Sequence[Engine]:
        return (PyTorchEngine(),)

    def operator(self, problem: Problem, numbers: Mapping[str, float], tensors: Mapping[str, Any]) -> Callable[[], Any]:
        """Return PyTorch's operator for a problem, bound to tensors by name: to time, without blending and storing.

        Raises
        ------
        NotSupported
            PyTorch has none.
        """
        return WAYS[type(problem)].bind(torch_module(), problem, numbers, tensors)

    def engines_version(self) -> str:
        return f"pytorch {torch_module().__version__}"


def _host(torch: Any) -> DeviceInfo:
    return DeviceInfo(
        backend="torch",
        name=f"PyTorch {torch.__version__}",
        vendor=platform.machine(),
        kind="cpu",
        driver=torch.__version__,
        version=torch.backends.cpu.get_cpu_capability(),
        platform=platform.system(),
        compute_units=os.cpu_count() or 1,
    )


def _cuda(torch: Any, index: int) -> DeviceInfo:
    found = torch.cuda.get_device_properties(index)
    return DeviceInfo(
        backend="torch",
        name=f"{found.name}, PyTorch {torch.__version__}",
        vendor="AMD" if torch.version.hip else "NVIDIA",
        kind="gpu",
        driver=torch.__version__,
        version=f"cuDNN {torch.backends.cudnn.version()}" if torch.backends.cudnn.is_available() else "no cuDNN",
        platform=f"HIP {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}",
        schedule="gpu",
        compute_units=found.multi_processor_count,
        global_memory=found.total_memory,
        max_allocation=found.total_memory,
        arch=f"sm_{found.major}{found.minor}",
    )


BACKEND = TorchBackend()
