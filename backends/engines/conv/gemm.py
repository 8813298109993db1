"""Convolution as an implicit matrix product on GPUs: forward, data gradient and filter gradient."""

from __future__ import annotations

from collections.abc import Iterator

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DnnEnum
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem

from ...base import (
    Arg,
    CountersArg,
    Device,
    DeviceInfo,
    Launch,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from .by_choice import ByChoice
from .epilogue import (
    BackwardDataWithEpilogue,
    BackwardFilterWithEpilogue,
    ForwardWithEpilogue,
    epilogue_args,
    output,
    sums_of,
)
from .gemm_tiles import Choice, choices, of_short_numbers
from .geometry import Geometry, data_gradient, filter_gradient, forward
from .prologue import BackwardDataWithPrologue, BackwardFilterWithPrologue, ForwardWithPrologue, prologue_args
from .stand_in import StandIn
from .sums import Parts, after

FILE = "shared/conv/gemm.cl"


class ConvGemm(StandIn, ByChoice[Choice]):
    """One direction of convolution as an implicit matrix product.

    Attributes
    ----------
    plain : bool
        Without a workspace: the filter is gathered from where it lies, and no sum is split.
    """

    _algos: tuple[DnnEnum, DnnEnum]  # with a workspace, and without

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain
        if plain:
            self.name += "_plain"

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algos[self.plain]

    def geometry(self, problem: Convolution) -> Geometry:
        """Return the direction's matrix product."""
        raise NotImplementedError

    def choose(self, problem: Convolution, info: DeviceInfo) -> Choice | None:
        """Return the tile with the least estimated time; None where none fits the device."""
        options = choices(problem, self.geometry(problem), info, self.plain)
        if sums_of(problem) is not None:  # as a tile is stored: by the work-group that has all of its sums
            options = (choice for choice in options if choice.splits == 1 or choice.fused)
        return min(options, key=lambda choice: choice.seconds(info), default=None)

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        return super().seconds(problem, info) * of_short_numbers(problem)

    def computed_elements(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return the image's, for each tap and tile of rows, and the filter's, for each tile of columns or once."""
        assert isinstance(problem, Convolution)
        choice = self.choose(problem, info)
        assert choice is not None
        g = choice.geometry
        each = g.k * g.groups * g.phases
        filters = problem.filter.size if choice.packs else each * g.m * choice.tiles_n
        return {"image": float(each * g.n * choice.tiles_m), "filter": float(filters)}

    def parts(self, problem: Problem, info: DeviceInfo) -> Parts:
        """Return where the sums that text takes are left: a part of each tile."""
        assert isinstance(problem, Convolution)
        sums = sums_of(problem)
        assert sums is not None
        choice = self.choose(problem, info)
        assert choice is not None
        g = choice.geometry
        return Parts(sums.slices(g.groups, choice.tiles_m, choice.tiles_n * g.phases), after(choice.workspace))

    def declines(self, problem: Convolution, info: DeviceInfo) -> str | None:
        return None if info.schedule == "gpu" else "made for GPUs"

    def launches(self, problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
        return _launches(problem, choice, device)


def _launches(problem: Convolution, choice: Choice, device: Device) -> Iterator[Launch]:
    geometry, tile = choice.geometry, choice.tile
    real = problem.dtype.accumulator
    defines = choice.defines(problem)
    packed, parts = WorkspaceArg(0, real), WorkspaceArg(choice.packed_size, real)
    names = problem.tensor_names()
    image = TensorArg(names.index("dy" if isinstance(problem, ConvolutionBackwardData) else "x"))
    last: tuple[Arg, ...] = (
        output(problem),
        ScalarArg(0, real),
        ScalarArg(1, real),
        *epilogue_args(problem, choice.workspace),
    )
    filters = TensorArg(names.index("w" if geometry.packs else "dy"))
    rows = packed if choice.packs else filters
    if choice.packs and choice.max_k and not choice.packs_inside:
        kernel = device.compile(FILE, "pack_filter", defines)
        yield Launch(kernel, (choice.pieces,), (256,), (filters, packed, *prologue_args(problem, "filter")))
    kernel = device.compile(FILE, "conv_gemm", defines)
    args: tuple[Arg, ...] = (filters, rows, image) if choice.packs_inside else (rows, image)
    if choice.counters:
        args += (CountersArg(choice.counters),)
    if choice.splits > 1:
        args += (parts,)
    if choice.splits == 1 or choice.fused:
        args += last
    args += prologue_args(problem, "image", "filter")
    yield Launch(kernel, (choice.work_groups,), (tile.items,), args)
    if choice.splits > 1 and not choice.fused:
        elements = geometry.groups * geometry.phases * geometry.m * geometry.n
        kernel = device.compile(FILE, "reduce_splits", defines)
        yield Launch(kernel, (-(-elements // 256),), (256,), (parts, *last))


class ConvGemmForward(ConvGemm):
    """Forward."""

    name = "conv_gemm_forward"
    problems = (ConvolutionForward, ConvolutionBiasActivationForward, ForwardWithEpilogue, ForwardWithPrologue)
    _algos = (ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM, ConvolutionFwdAlgo.IMPLICIT_GEMM)

    def geometry(self, problem: Convolution) -> Geometry:
        return forward(problem)


class ConvGemmBackwardData(ConvGemm):
    """Data gradient, gathered: every element is written by one work-item."""

    name = "conv_gemm_backward_data"
    problems = (ConvolutionBackwardData, BackwardDataWithEpilogue, BackwardDataWithPrologue)
    _algos = (ConvolutionBwdDataAlgo.ALGO_1, ConvolutionBwdDataAlgo.ALGO_1)

    def geometry(self, problem: Convolution) -> Geometry:
        return data_gradient(problem)


class ConvGemmBackwardFilter(ConvGemm):
    """Filter gradient; the sum over pixels is split and added up in a fixed order."""

    name = "conv_gemm_backward_filter"
    problems = (ConvolutionBackwardFilter, BackwardFilterWithEpilogue, BackwardFilterWithPrologue)
    _algos = (ConvolutionBwdFilterAlgo.ALGO_1, ConvolutionBwdFilterAlgo.ALGO_1)

    def geometry(self, problem: Convolution) -> Geometry:
        return filter_gradient(problem)


_DIRECTIONS = (ConvGemmForward, ConvGemmBackwardData, ConvGemmBackwardFilter)
ENGINES = tuple(direction(plain) for plain in (False, True) for direction in _DIRECTIONS)
