"""The CPU in the place of torch's device "cuda": tensors lie in host memory, streams and events do nothing."""

from __future__ import annotations

import sys
import time
import types
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from portadnn.graph import pygraph

CAPABILITY = (9, 0)  # of the GPU that the CPU stands for
GENERATOR, EXECUTE, CLOSE = torch.Generator, pygraph.execute, torch.testing.assert_close
HALVES = (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
# CUDA adds these up in float32 and rounds the result; a CPU may round what it adds up
SUMS = {functional.layer_norm, functional.batch_norm, functional.instance_norm, torch.matmul, torch.Tensor.matmul}
SUMS.add(functional.scaled_dot_product_attention)
CONVOLUTIONS = {functional.conv1d, functional.conv2d, functional.conv3d, functional.linear}


def here(device: Any) -> Any:
    """Return the CPU for a CUDA device, anything else as it is."""
    named = str(device) if isinstance(device, (str, torch.device)) else ""
    return "cpu" if named.split(":")[0] == "cuda" else device


class OnTheCPU(torch.overrides.TorchFunctionMode):
    """Makes tensors on the CPU that are asked for on CUDA, and computes as CUDA does."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch with the CPU in place of CUDA."""
        named = dict(kwargs or {})
        if "device" in named:
            named["device"] = here(named["device"])
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.to:
            args = tuple(map(here, args))
        if func is functional.batch_norm:  # takes statistics of one dim on the CPU
            args = (args[0], *map(_vector, args[1:]))
            named = {name: _vector(one) for name, one in named.items()}
        if func in CONVOLUTIONS and not args[0].is_floating_point():
            raise RuntimeError("CUDA has no convolution of integers")
        if func in SUMS or func in CONVOLUTIONS:
            return _in_float(func, args, named)
        try:
            return func(*args, **named)
        except NotImplementedError:  # CPUs lack functions of FP8
            return func(*map(_wide, args), **named)


def _in_float(func: Any, args: Any, named: dict[str, Any]) -> Any:
    """Compute on float32, and round to the type of the first argument, or to autocast's."""
    if len(args) == 0 or args[0].dtype not in HALVES:
        return func(*args, **named)
    wide = [_wide(one) for one in args]
    result = func(*wide, **{name: _wide(one) for name, one in named.items()})
    kind = Autocast.dtype if func in CONVOLUTIONS and Autocast.dtype is not None else args[0].dtype
    return result.to(kind)


def _wide(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in HALVES else value


def _vector(value: Any) -> Any:
    return value.flatten() if isinstance(value, torch.Tensor) else value


class Idle:
    """A stream, event, guard or profile of CUDA where there is none."""

    cuda_stream = 0

    def __init__(self, *given: Any, **named: Any) -> None:
        self.at = 0.0

    def record(self, *given: Any) -> None:
        """Note the time."""
        self.at = time.perf_counter()

    def elapsed_time(self, end: Idle) -> float:
        """Return the milliseconds up to another event."""
        return 1e3 * (end.at - self.at)

    def synchronize(self, *given: Any) -> None:
        """Do nothing: the CPU is never behind."""

    wait_stream = wait_event = synchronize

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *given: Any) -> None:
        """Do nothing."""


class Profile(Idle):
    """A profile without events."""

    def key_averages(self) -> Any:
        """Return averages, whose table is empty."""
        return types.SimpleNamespace(table=lambda **named: "")


class Autocast(Idle):
    """What ``torch.amp.autocast`` is on CUDA, for convolutions."""

    dtype: Any = None

    def __init__(self, device_type: str = "cuda", dtype: Any = None, **named: Any) -> None:
        self._dtype = dtype

    def __enter__(self) -> Any:
        self._before, Autocast.dtype = Autocast.dtype, self._dtype
        return self

    def __exit__(self, *given: Any) -> None:
        Autocast.dtype = self._before


class Captured(Idle):
    """A CUDA graph: the executions of graphs while it was captured."""

    current: list[Any] | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        self.calls: list[Any] = []

    def replay(self) -> None:
        """Execute again."""
        for args, named in self.calls:
            EXECUTE(*args, **named)


class Capture(Idle):
    """Captures executions in a CUDA graph."""

    def __init__(self, graph: Captured, *given: Any, **named: Any) -> None:
        self._graph = graph

    def __enter__(self) -> Any:
        Captured.current = self._graph.calls
        return self

    def __exit__(self, *given: Any) -> None:
        Captured.current = None


def _assert_close(actual: Any, expected: Any, **named: Any) -> None:
    CLOSE(*(torch.as_tensor(one) if isinstance(one, np.ndarray) else one for one in (actual, expected)), **named)


def _execute(*args: Any, **named: Any) -> None:
    if Captured.current is None:
        EXECUTE(*args, **named)
    else:
        Captured.current.append((args, named))


class Generator(torch.Generator):
    """Makes generators on the CPU."""

    def __new__(cls, device: Any = "cpu") -> torch.Generator:
        """Return a generator of torch's own class."""
        return GENERATOR(here(device))


def _of_cuda() -> dict[str, Any]:
    """Return what replaces functions of torch.cuda."""
    about = types.SimpleNamespace(
        name="CPU",
        multi_processor_count=132,
        total_memory=2**36,
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        gcnArchName="",
    )
    idle = ("synchronize", "empty_cache", "set_rng_state")
    return {
        "is_available": lambda: True,
        **{name: Idle().synchronize for name in idle},  # each its own: dynamo tells functions by identity
        "device_count": lambda: 0,
        "current_device": lambda: 0,
        "get_device_capability": lambda *device: CAPABILITY,
        "get_device_name": lambda *device: "CPU",
        "get_device_properties": lambda *device: about,
        "get_rng_state": lambda *device: torch.get_rng_state(),
        "mem_get_info": lambda *device: (2**36, 2**36),
        "current_stream": lambda *device: Idle(),
        **dict.fromkeys(("Stream", "Event", "stream", "device"), Idle),
        "CUDAGraph": Captured,
        "graph": Capture,
        "nvtx": types.SimpleNamespace(range_push=Idle().synchronize, range_pop=Idle().synchronize),
    }


def install() -> None:
    """Put the CPU in the place of CUDA in this process, and NumPy in that of CuPy."""
    for name, stand_in in _of_cuda().items():
        setattr(torch.cuda, name, stand_in)
    torch.backends.cudnn.version = lambda: 0
    torch.Generator = Generator
    torch.amp.autocast = Autocast
    torch.profiler.profile = Profile
    pygraph.execute = _execute
    torch.testing.assert_close = _assert_close
    sys.modules.setdefault("cupy", np)
    OnTheCPU().__enter__()
