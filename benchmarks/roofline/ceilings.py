"""What a device can reach: bytes per second of a large copy, operations per second of multiply-adds and products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from portadnn.enums import DataType, MathType
from portadnn.errors import DnnError
from portadnn.handle import Handle
from portadnn.problem import TensorSpec, parse_line
from portadnn_backends.base import ConstantArg, Launch, TensorArg

from ..call import portadnn_call
from ..peers.peer import Peer
from ..runner import copy_rate

CHAINS, STEPS = 10, 16
LONG_ENOUGH = 0.02  # seconds of a measurement
TRIES = 10
PRODUCT_SIZE = {"gpu": 8192, "cpu": 2048}  # rows of the matrices
COPY_MEGABYTES = {"gpu": 256, "cpu": 32}


@dataclass(frozen=True)
class Ceilings:
    """The two limits of a roofline.

    Attributes
    ----------
    bandwidth : float
        Bytes per second, read and written, of a large copy.
    sources : dict of str to float
        Operations per second of chains of multiply-adds in the arithmetic type, and of large matrix products in the
        type and math in question, by the peer and as a convolution of ours.
    """

    bandwidth: float
    sources: dict[str, float]

    @property
    def flops(self) -> float:
        """Operations per second: the most of the sources."""
        return max(self.sources.values())

    def attainable(self, intensity: float) -> float:
        """Return the operations per second that a problem of that many operations per byte can reach."""
        return min(self.flops, intensity * self.bandwidth)


def measure(handle: Handle, peer: Peer | None, dtype: str, layout: str, math: MathType) -> Ceilings:
    """Measure a device's ceilings for a type (``"f32"``, ...), a layout and the math permitted."""
    kind = handle.info.kind
    size = PRODUCT_SIZE[kind]
    spec = TensorSpec.parse(f"{dtype}:1x1x{size}x{size}")
    sources = {}
    chain = fma_rate(handle, spec.dtype.accumulator)
    if chain is not None:
        sources["multiply-adds"] = chain
    if peer is not None:
        rate = _peer_product(peer, spec, math)
        if rate is not None:
            sources["matrix product, torch"] = rate
    sources["matrix product, portadnn"] = _product(handle, dtype, layout, math, size)
    return Ceilings(copy_rate(handle, peer, COPY_MEGABYTES[kind]), sources)


def best(first: Ceilings, second: Ceilings) -> Ceilings:
    """Return the higher ceilings of two measurements: other work on a machine only ever lowers them."""
    sources = {name: max(rate, second.sources.get(name, 0.0)) for name, rate in first.sources.items()}
    return Ceilings(max(first.bandwidth, second.bandwidth), sources)


def _best(time: Callable[[], float]) -> float:
    time()
    return min(time() for _ in range(TRIES))


def fma_rate(handle: Handle, dtype: DataType) -> float | None:
    """Return the operations per second of multiply-adds in registers; None where there are no kernels, or no type."""
    device, info = handle.device, handle.info
    if dtype is DataType.DOUBLE and not info.fp64:
        return None
    gpu = info.schedule == "gpu"
    lanes = 1 if gpu else max(1, min(16, info.simd_width) * 4 // dtype.itemsize)
    group = min(256, info.max_work_group) if gpu else 1
    groups = max(info.compute_units, 1) * (32 if gpu else 4)
    defines = {f"DTYPE_{dtype.name}": 1, "VW": lanes, "WG": group, "CHAINS": CHAINS, "STEPS": STEPS}
    try:
        kernel = device.compile("shared/common/fma_chain.cl", "fma_chain", defines)
    except DnnError:
        return None  # the reference runs no kernels
    out = device.empty(TensorSpec.packed(dtype, (1, 1, 1)))

    def seconds(rounds: int) -> float:
        constants = ConstantArg(dtype.numpy.type(0.5)), ConstantArg(np.int32(rounds))
        run = device.bind([Launch(kernel, (groups,), (group,), (TensorArg(0), *constants))])
        return device.time(lambda: run((out,), (), None))

    rounds = 1
    seconds(rounds)
    while seconds(rounds) < LONG_ENOUGH and rounds < 1 << 24:
        rounds *= 4
    return 2.0 * groups * group * lanes * CHAINS * STEPS * rounds / _best(lambda: seconds(rounds))


def _product(handle: Handle, dtype: str, layout: str, math: MathType, size: int) -> float:
    """Return the operations per second of a square matrix product: a convolution of one pixel's filters."""
    suffix = "" if layout == "nchw" else f":{layout}"
    height = 1 << (size.bit_length() // 2)
    line = (
        f"convolution_forward x={dtype}:1x{size}x{height}x{size // height}{suffix} w={dtype}:{size}x{size}x1x1{suffix}"
        f" math={math.name.lower()}"
    )
    problem, scalars = parse_line(line)
    call = portadnn_call(handle, problem, scalars)
    return problem.flops() / _best(lambda: handle.device.time(call))


def _peer_product(peer: Peer, spec: TensorSpec, math: MathType) -> float | None:
    side = peer.product(spec, math is MathType.TENSOR_OP_ALLOW_CONVERSION)
    if side is None:
        return None
    try:
        return 2.0 * spec.dims[-1] ** 3 / _best(lambda: side.timer(side.call))
    except RuntimeError:  # no product of that type on the device
        return None
