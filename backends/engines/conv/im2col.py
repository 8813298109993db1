"""Forward convolution with an explicit matrix: im2col into the workspace, then a matrix product."""

from __future__ import annotations

import math
from dataclasses import replace

from portadnn.enums import ConvolutionFwdAlgo, DnnEnum
from portadnn.ops.convolution.calls import ConvolutionForward
from portadnn.problem import ALIGNMENT, Problem, TensorSpec

from ...base import (
    LAUNCH_SECONDS,
    Arg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    TensorArg,
    WorkspaceArg,
)
from .cpu.gemm import ConvCpuGemm
from .gemm import ConvGemmForward
from .geometry import forward

_FILE = "shared/conv/im2col.cl"
_PARTS = 256  # bytes, the alignment of the product's workspace behind the matrix
_CHUNKS_PER_CORE = 8
_PRODUCTS: tuple[Engine, ...] = (ConvGemmForward(), ConvCpuGemm())


def spelt_out(problem: ConvolutionForward) -> ConvolutionForward:
    """Return the convolution of the matrix: each tap meets a block of pixels of its own.

    Its image is (n, c, [t*o,] r*p, s*q), packed, without padding; its dilation is the size of the result.
    """
    pixels = problem.y.dims[2:]
    dims = (*problem.x.dims[:2], *(r * p for r, p in zip(problem.w.dims[2:], pixels, strict=True)))
    x = replace(TensorSpec.packed(problem.dtype, dims), alignment=ALIGNMENT)
    none, ones = (0,) * len(pixels), (1,) * len(pixels)
    return replace(problem, x=x, padding=none, stride=ones, dilation=pixels)


class ConvIm2col(Engine):
    """The guide's GEMM: the matrix takes the workspace of a whole batch, one tap after another."""

    name = "im2col_gemm"
    problems = (ConvolutionForward,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionFwdAlgo.GEMM

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, ConvolutionForward)
        if problem.y.size == 0:
            return None
        product = spelt_out(problem)
        if product.x.size >= 1 << 31:
            return f"the matrix has {product.x.size} elements, more than 32-bit indices reach"
        if self.workspace(problem, info) > info.max_allocation:
            needed = self.workspace(problem, info)
            return f"needs {needed} bytes of workspace, the device allocates {info.max_allocation}"
        return _product_engine(info).why_not(product, info)

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, ConvolutionForward)
        if problem.y.size == 0:
            return 0.0
        copied = problem.x.size * problem.dtype.itemsize + _matrix_bytes(problem)
        product = _product_engine(info).seconds(spelt_out(problem), info)
        return product + 2 * copied / info.bandwidth + LAUNCH_SECONDS

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, ConvolutionForward)
        if problem.y.size == 0:
            return 0
        return _matrix_bytes(problem) + _product_engine(info).workspace(spelt_out(problem), info)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, ConvolutionForward)
        if problem.y.size == 0:
            return Plan(problem, self, 0, device.bind(()))
        info = device.info
        product = _product_engine(info).prepare(spelt_out(problem), device)
        behind = _matrix_bytes(problem)
        matrix = WorkspaceArg(0, problem.dtype)

        def moved(arg: Arg) -> Arg:
            if isinstance(arg, WorkspaceArg):
                return replace(arg, offset=arg.offset + behind)
            return matrix if arg == TensorArg(0) else arg

        launches = [replace(launch, args=tuple(map(moved, launch.args))) for launch in product.launches]
        if problem.x.size:
            launches.insert(0, _spell_out(problem, device, matrix))
        return Plan(problem, self, self.workspace(problem, info), device.bind(launches), tuple(launches))


def _product_engine(info: DeviceInfo) -> Engine:
    """Return the engine that multiplies best on the schedule."""
    return _PRODUCTS[0 if info.schedule == "gpu" else 1]


def _matrix_bytes(problem: ConvolutionForward) -> int:
    nbytes = spelt_out(problem).x.size * problem.dtype.itemsize
    return -(-nbytes // _PARTS) * _PARTS


def _spell_out(problem: ConvolutionForward, device: Device, matrix: WorkspaceArg) -> Launch:
    info = device.info
    size = spelt_out(problem).x.size
    rows = size // problem.y.dims[-1]
    geometry = {**forward(problem).defines, "CHANNELS": problem.x.dims[1]}
    defines = {f"DTYPE_{problem.dtype.name}": 1, **geometry, "ROWS": rows}
    if info.schedule == "gpu":
        grid, block = -(-size // 256), 256
    else:
        chunk = -(-rows // (_CHUNKS_PER_CORE * info.compute_units))
        grid, block = -(-rows // chunk), 1
        defines["CHUNK"] = chunk
    kernel = device.compile(_FILE, "im2col", defines)
    assert math.prod((grid, block)) < 1 << 32
    return Launch(kernel, (grid,), (block,), (TensorArg(0), matrix))


ENGINES = (ConvIm2col(),)
