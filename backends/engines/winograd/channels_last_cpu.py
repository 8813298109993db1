"""How Winograd's convolution of channels-last tensors on CPUs is cut into blocks; see winograd/channels_last_cpu.cl."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward

from ...base import LAUNCH_SECONDS, DeviceInfo
from ..conv.cpu.common import COUNTER_BYTES, WORK_GROUPS_PER_CORE, Defines, Tile
from ..rounding import ceil_div, round_up, split_evenly
from .cpu_blocks import Blocks, Variant, filter_defines
from .geometry import Direction

_BLOCK = 24 * 1024  # packed weights that a register tile meets per visit: they stay in the L2 cache
_SOURCE = 224 * 1024  # reals of the transformed inputs and the products of a work-group, most of the L2 cache
_PLANE, _FAR = 64 * 1024, 2 * 1024 * 1024  # where these lie beyond it: inputs of a plane, and all
_SUMS = {True: 28, False: 12}  # register tiles, by whether there are 32 registers
_FILTER = 1.5  # clocks of a weight that is transformed
_FETCH = 3.0  # clocks of a vector of weights from beyond the L2 cache


def takes(problem: Convolution) -> bool:
    """Tell whether this is a plain convolution between tensors whose channels lie side by side, and pixels do not."""
    d = Direction.of(problem)
    return type(problem) in (ConvolutionForward, ConvolutionBackwardData) and all(
        d.together(spec) and spec.strides[3] != 1 for spec in (d.wide, d.narrow)
    )


@dataclass(frozen=True)
class _Shape:
    """A block: `tiles`, `panels` of filters, and how many of these are multiplied together; and the register tile."""

    tile: Tile
    tiles: int
    panels: int
    chunk: int


def _shapes(d: Direction, variant: Variant, tile: Tile, wide: bool) -> Iterator[_Shape]:
    """Yield the shapes that caches hold: all planes of a panel, or a plane of all panels."""
    vectors, tiles = ceil_div(d.filters, tile.lanes), d.tiles(variant.out)[0]
    nv = split_evenly(vectors, 4 if wide else 2)
    panels = ceil_div(vectors, nv)
    most_mr = _SUMS[wide] // nv
    near = _SOURCE // (variant.planes * (d.channels + nv * tile.lanes))
    far = min(_PLANE // max(1, d.channels), _FAR // (variant.planes * (d.channels + d.filters)))
    for mr in {min(mr, 14, tiles) for mr in (most_mr, most_mr - 1, most_mr - 2) if mr > 0}:
        for some in {ceil_div(panels, parts) for parts in range(1, min(8, panels) + 1)}:
            for chunk, most in ((1, near), (some, far)):
                for count in range(1, max(1, min(most, tiles) // mr) + 1):
                    yield _Shape(replace(tile, vectors=nv, rows=mr), count * mr, some, chunk)


def _clocks(d: Direction, variant: Variant, shape: _Shape, units: int) -> float:
    """Return the clocks of the busiest core."""
    mr, nv, lanes = shape.tile.rows, shape.tile.vectors, shape.tile.lanes
    blocks = d.groups * ceil_div(d.tiles(variant.out)[0], shape.tiles)
    blocks *= ceil_div(ceil_div(d.filters, shape.tile.columns), shape.panels)
    step = variant.planes * (d.channels * (max(mr * nv, mr + nv) / 2 + 0.6) + 20)
    products = shape.panels * shape.tiles // mr * step
    weights = variant.planes * d.channels * shape.panels * nv
    inputs, outputs = ceil_div(d.channels, lanes), shape.panels * nv
    transforms = shape.tiles * (inputs * variant.input_cycles + outputs * variant.output_cycles)
    held = shape.tiles * variant.planes * (d.channels + shape.chunk * shape.tile.columns)
    moved = 3 * shape.tiles * variant.planes * (inputs + outputs) if held > _SOURCE else 0
    return ceil_div(blocks, units) * (products + transforms + _FETCH * (weights + moved))


def blocks_of(problem: Convolution, info: DeviceInfo, variant: Variant) -> Blocks:
    """Cut a convolution into blocks."""
    d = Direction.of(problem)
    shapes = _shapes(d, variant, Tile.of(problem.dtype, info, 1), info.simd_width >= 16)
    clocks, _, shape = min(
        ((_clocks(d, variant, shape, info.compute_units), -shape.tiles, shape) for shape in shapes),
        key=lambda one: one[:2],
    )
    tile, size, some = shape.tile, shape.tiles, shape.panels
    panels, tiles = ceil_div(d.filters, tile.columns), d.tiles(variant.out)[0]
    m_blocks, t_blocks = ceil_div(panels, some), ceil_div(tiles, size)
    blocks = d.groups * m_blocks * t_blocks
    work_groups = min(blocks, WORK_GROUPS_PER_CORE * info.compute_units)
    pitch = round_up(d.channels, tile.lanes) + 16  # + 16: tiles and planes fall into different sets of the cache
    chunk = shape.chunk * tile.columns
    v_plane, c_plane = size * pitch + 16, size * chunk + 16
    scratch_c = round_up(variant.planes * v_plane, 64)
    scratch = round_up(scratch_c + variant.planes * c_plane, 64)
    rest = tile.lanes
    defines: Defines = {
        **d.geometry(variant.out),
        **tile.defines(),
        f"DTYPE_{problem.dtype.name}": 1,
        "OUT": variant.out,
        "SIDE": variant.side,
        "CH": d.channels,
        "M": d.filters,
        "M_PADDED": panels * tile.columns,
        "PANEL_REST": rest,
        "SRC_SPAN": d.wide.span,
        "BLOCKS": blocks,
        "BLOCK_CH": max(1, _BLOCK // tile.columns),
        "TILE_M": some * tile.columns,
        "M_BLOCKS": m_blocks,
        "TILE_T": size,
        "T_BLOCKS": t_blocks,
        "CHUNK": chunk,
        "V_PITCH": pitch,
        "V_PLANE": v_plane,
        "C_PLANE": c_plane,
        "SCRATCH_C": scratch_c,
        "SCRATCH": scratch,
        **filter_defines(d),
    }
    bytes_each = problem.dtype.accumulator.itemsize
    packed = round_up(d.groups * variant.planes * panels * (d.channels * tile.columns + rest) * bytes_each, 256)
    start = COUNTER_BYTES + packed
    workspace = start + work_groups * scratch * bytes_each
    return Blocks(defines, tile.columns, (panels, d.groups), work_groups, start, workspace, clocks, packed)


def seconds(problem: Convolution, info: DeviceInfo, variant: Variant) -> float:
    """Estimate the time."""
    blocks = blocks_of(problem, info, variant)
    clocks = info.compute_units * blocks.cycles + _FILTER * problem.filter.size
    return 4 * max(info.simd_width, 1) * clocks / info.flops + 2 * LAUNCH_SECONDS
