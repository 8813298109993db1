"""What a cached call costs the host, beside a bare launch through CuPy or PyOpenCL in the same rounds.

The same calls with other libraries' arrays stand beside it: torch tensors on CUDA, NumPy arrays on CPUs, which a call
waits for; so there the call with the backend's own arrays is timed with a wait, too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from portadnn.dispatch.choice import prepare
from portadnn.handle import Handle
from portadnn.problem import parse_line

from . import processors
from .call import portadnn_call
from .names import cudnn_call

BATCH = 100  # calls between two waits: fewer than a queue holds
_CUDA = 'extern "C" __global__ void bare(const float *x, float *y, float a) { y[threadIdx.x] = a * x[threadIdx.x]; }'
_OPENCL = "kernel void bare(global float *x, global float *y, float a) { y[get_local_id(0)] = a * x[get_local_id(0)]; }"


@dataclass(frozen=True)
class HostRow:
    """One measured call: median host seconds when it is only enqueued; `launches` is None for a bare launch."""

    call: str
    seconds: float
    launches: int | None = None


@dataclass(frozen=True)
class _Timed:
    name: str
    call: Callable[[], Any]
    wait: Callable[[], Any]
    launches: int | None = None

    def batch(self) -> float:
        self.wait()
        start = time.perf_counter()
        for _ in range(BATCH):
            self.call()
        return (time.perf_counter() - start) / BATCH


def _bare_cupy() -> _Timed | None:
    """Return CuPy's bare RawKernel launch, where there is an NVIDIA GPU."""
    try:
        import cupy

        x, y = cupy.ones(64, np.float32), cupy.empty(64, np.float32)
    except Exception:  # not installed, no driver, no device: as CuPy's version words it
        return None
    kernel, a = cupy.RawKernel(_CUDA, "bare"), np.float32(2)
    return _Timed("bare launch: cupy.RawKernel", lambda: kernel((1,), (64,), (x, y, a)), cupy.cuda.Device().synchronize)


def _bare_pyopencl(handle: Handle) -> _Timed | None:
    """Return PyOpenCL's bare kernel call on the handle's queue."""
    if handle.backend != "opencl":
        return None
    import pyopencl as cl

    queue = handle.get_stream()
    kernel = cl.Kernel(cl.Program(queue.context, _OPENCL).build(), "bare")
    kernel.set_scalar_arg_dtypes([None, None, np.float32])
    x, y = (cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 256) for _ in range(2))
    return _Timed("bare launch: pyopencl.Kernel", lambda: kernel(queue, (64,), (64,), x, y, 2.0), queue.finish)


def _call(handle: Handle, line: str) -> _Timed:
    problem, scalars = parse_line(line)
    launches = len(prepare(handle, problem).launches)
    return _Timed(line, portadnn_call(handle, problem, scalars), handle.synchronize, launches)


def _named(handle: Handle, line: str, flat: bool) -> _Timed | None:
    """Return the call of a line by cuDNN's name, with arrays as they are or with flat ones, which have to be viewed."""
    problem, _ = parse_line(line)
    found = cudnn_call(handle, problem, flat=flat)
    if found is None:
        return None
    name = f"{found[0]}{' (flat arrays)' if flat else ''}: {line}"
    return _Timed(name, found[1], handle.synchronize, len(prepare(handle, problem).launches))


def _torch_arrays(handle: Handle) -> Callable[[Any], Any] | None:
    """Return what turns an array of the handle into a torch tensor on the GPU; None where there is no torch."""
    if handle.backend != "cuda":
        return None
    try:
        import torch
    except ImportError:
        return None
    return lambda array: torch.from_dlpack(array).clone()


def _foreign(handle: Handle, line: str) -> list[_Timed]:
    """Return the call of a line with another library's arrays, and what it is to be compared with."""
    problem, scalars = parse_line(line)
    launches = len(prepare(handle, problem).launches)
    to_torch = _torch_arrays(handle)
    if to_torch is not None:
        call = portadnn_call(handle, problem, scalars, to_torch)
        return [_Timed(f"{line} (torch tensors)", call, handle.synchronize, launches)]
    if handle.info.kind != "cpu" or handle.backend == "torch":
        return []
    own, call = portadnn_call(handle, problem, scalars), portadnn_call(handle, problem, scalars, handle.to_numpy)

    def finished() -> None:
        own()
        handle.synchronize()

    return [
        _Timed(f"{line} (and a wait)", finished, handle.synchronize, launches),
        _Timed(f"{line} (NumPy arrays)", call, handle.synchronize, launches),
    ]


def _sides(handle: Handle, lines: tuple[str, ...]) -> list[_Timed]:
    """Return what is timed; calls by C's names beside those that they make, then calls with others' arrays."""
    timed = [_bare_cupy(), _bare_pyopencl(handle)]
    for line in lines:
        timed += [_call(handle, line), _named(handle, line, False), _named(handle, line, True)]
        timed += _foreign(handle, line)
    return [side for side in timed if side]


def measure(handle: Handle, lines: tuple[str, ...], rounds: int = 25) -> list[HostRow]:
    """Time bare launches and cached calls in turn, a batch of each a round; medians."""
    sides = _sides(handle, lines)
    for side in sides:  # plans, kernels, queues
        side.batch()
    seconds = []
    with processors.fastest(handle.info.kind == "gpu") as move:
        for _ in range(rounds):
            move()
            seconds.append([side.batch() for side in sides])
    for side in sides:
        side.wait()
    medians = [statistics.median(column) for column in zip(*seconds, strict=True)]
    return [HostRow(side.name, median, side.launches) for side, median in zip(sides, medians, strict=True)]


def as_dicts(rows: list[HostRow]) -> list[dict[str, Any]]:
    """Return the rows for a record."""
    return [asdict(row) for row in rows]
