"""What the texts of channels-last convolutions on CPUs have to know, and which sizes are an argument of the kernels."""

from __future__ import annotations

import math

from portadnn.enums import ConvolutionMode
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData

from ....base import ConstantArg
from ...rounding import ceil_div, round_up
from ..run_time_sizes import as_argument
from .channels_last_blocks import Blocks
from .common import AXES, Defines, per_axis

_FEW_CH = 8  # channels of the source whose loop is unrolled
_SHAPES = ("W", "SRC", "GRID", "TAPS", "PAD", "STRIDE", "DILATION", "PHASES", "TAP_STEP", "TAP_SHIFT", "SRC_STEP")
_OF_SUM = (
    *("M", "CH", "SRC_SPAN", "W_GROUP", "W_M", "W_CH"),
    *(f"S_{axis}" for axis in "NDHW"),
    *(f"{of}_{axis}" for of in _SHAPES for axis in AXES),
)
# Windows, and depth, which images seldom have: as arguments, they would take compilers three times as long
_IN_TEXT = (
    *("UNITS", "TILE_UNITS"),
    *(f"{of}_{axis}" for of in (*_SHAPES[3:9], "MAX_TAPS") for axis in AXES),
    *(f"{of}_D" for of in ("W", "SRC", "GRID", "DST", "S", "D")),
)


def texts(blocks: Blocks, problem: Convolution) -> tuple[Defines, Defines, tuple[ConstantArg, ...]]:
    """Return the defines of the main and of the packing kernel, and the sizes that are an argument of both.

    Small groups have short sums beside which sizes in memory would count: theirs stay in the text.
    """
    sizes = _sizes(blocks, problem)
    shared, argument = as_argument(sizes, [name for name in sizes if name not in _IN_TEXT and problem.groups == 1])
    total = blocks.total
    every = {
        f"DTYPE_{problem.dtype.name}": 1,
        **({"GROUP_CH": blocks.group_ch} if blocks.group_ch else {}),
        **({"BACKWARD_DATA": 1} if _backward(blocks, problem) else {}),
        **shared,
    }
    few = blocks.block == total.depth <= _FEW_CH
    pixel = total.source.strides[2] if blocks.in_place else blocks.x_ch
    main = {
        **blocks.tile.defines(),
        **({"FEW_CH": blocks.block} if few else {}),
        "IN_PLACE": int(blocks.in_place),
        "GATHERED": int(blocks.gathered),
        "SCATTERED": int(blocks.scattered),
        "PIXEL": (1 if blocks.gathered else total.source_step[2]) * pixel,
        "MAX_TAPS": total.max_taps,
    }
    pack = {
        **blocks.tile.defines(),
        "MR": 1,
        **({"FLIP": 1} if problem.mode is ConvolutionMode.CONVOLUTION else {}),
        **{f"{of}_IS_ONE": int(sizes[of] == 1) for of in ("W_M", "W_CH")},
        "TAPS_TOGETHER": int(blocks.taps_together),
        **({"ALL_TAPS": math.prod(total.geometry.taps)} if blocks.taps_together else {}),
        "MAX_TAPS": "(MAX_TAPS_D * MAX_TAPS_H * MAX_TAPS_W)",
    }
    return every | main, every | pack, argument


def _backward(blocks: Blocks, problem: Convolution) -> bool:
    """Tell whether it is a data gradient whose taps differ from those of a forward convolution."""
    return isinstance(problem, ConvolutionBackwardData) and not blocks.in_place


def _sizes(blocks: Blocks, problem: Convolution) -> Defines:
    """Return what no inner loop needs to know before."""
    total, target = blocks.total, blocks.target
    of_sum, of_target = total.defines(problem), target.defines("D")
    scratch, scratch_x = blocks.scratch
    return {
        **{name: of_sum[name] for name in _OF_SUM},
        **({} if _backward(blocks, problem) else per_axis("STRIDE", (1, 1, 1))),  # of use where taps are of phases
        **{name: of_target[name] for name in ("D_N", "D_D", "D_H", "D_W")},
        **per_axis("DST", target.size),
        **per_axis("MAX_TAPS", blocks.taps),
        "UNITS": blocks.units,
        "TILE_UNITS": blocks.tile_units,
        "M_PADDED": blocks.m_padded,
        "TILE_M": blocks.tile_m,
        "M_BLOCKS": blocks.m_blocks,
        "BLOCK_CH": blocks.block,
        "PACK_BLOCKS": blocks.pack_blocks,
        "W_SPAN": problem.filter.span,
        "X_CH": blocks.x_ch,
        "COPIED": blocks.copied(blocks.cols),
        "ROW_W": blocks.row,
        "TO_STEP": total.phases[2] * target.strides[2],
        "SUMS_COLS": round_up(blocks.cols, blocks.tile.rows),
        "TILES": blocks.tiles,
        "TILE_ROWS": blocks.rows,
        "TILE_COLS": blocks.cols,
        "GRID_ROWS": blocks.grid_rows,
        "ROW_BLOCKS": ceil_div(blocks.grid_rows, blocks.rows),
        "SEGMENTS": blocks.segments,
        "SCRATCH": scratch,
        "SCRATCH_X": scratch_x,
    }
