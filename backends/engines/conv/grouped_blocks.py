"""How work-groups share grouped convolutions out (conv/grouped.py), and what they ask of layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from portadnn.problem import TensorSpec

from ..rounding import ceil_div
from .geometry import Geometry
from .tensor_core_choice import CHUNK

WAVES = 8  # sub-groups of a work-group
MOST_CHANNELS = 32  # of a group
BLOCK_CHANNELS = 64  # of the groups of a work-group
REGISTERS = 96  # of a work-item, for a filter's quads or a gradient's sums
_REGION_BYTES = 56 << 10  # of a stage at most
RESIDENT = 3  # work-groups of a compute unit, about


@dataclass(frozen=True)
class Blocks:
    """How work-groups share a grouped convolution out; the names are those of the kernels' defines, in lower case.

    Attributes
    ----------
    parts : int
        Units of a group (of `span` groups for a filter gradient).
    steps : int
        Products along K of a unit's tile; tiles of rows of a filter gradient.
    stage : int
        Bytes of a stage in local memory.
    phases : int
        Of a data gradient, each with tiles of its own; they are among the blocks.
    span : int
        Groups of a unit.
    """

    block_groups: int
    parts: int
    steps: int
    nt: int
    units_each: int
    sharers: int
    tile: tuple[int, int]
    halo: tuple[int, int]
    pitch: int
    gradient_pitch: int
    tiles: int
    slots: int
    blocks: int
    stage: int
    phases: int = 1
    span: int = 1

    @property
    def units(self) -> int:
        """Units of a work-group."""
        return self.block_groups // self.span * self.parts

    @property
    def resident(self) -> int:
        """Work-groups of a compute unit, as the registers of a work-item allow."""
        registers = 35 + 1.8 * self.steps * (2 * self.nt * self.units_each + 1)
        return max(1, min(RESIDENT, int(65536 / (32 * WAVES * registers))))

    @property
    def m_tiles(self) -> int:
        """Steps of 16 pixels of a tile."""
        return ceil_div(self.tile[0] * self.tile[1], 16)


def pitch_of(nbytes: int, modulus: int, rest: int) -> int:
    """Return the least multiple of a chunk from `nbytes` on that leaves a rest, so that rows meet every bank once."""
    nbytes = ceil_div(nbytes, CHUNK) * CHUNK
    while nbytes % modulus != rest:
        nbytes += CHUNK
    return nbytes


def even(size: int, most: int) -> int:
    """Return the length of the fewest equal pieces of at most that length."""
    return ceil_div(size, ceil_div(size, max(1, most)))


def chunked(spec: TensorSpec, lanes: int) -> bool:
    """Tell whether any `lanes` channels, from a multiple of them, are neighbours at an aligned place."""
    steps = [s for d, s in zip(spec.dims, spec.strides, strict=True) if d > 1 and s != 1]
    aligned = spec.alignment >= lanes * spec.dtype.itemsize
    return spec.dims[1] % lanes == 0 and spec.strides[1] == 1 and aligned and all(s % lanes == 0 for s in steps)


def tile_pixels(
    geometry: Geometry, image: TensorSpec, pitches: Sequence[int], work_groups: int
) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Return a tile, its region and its number that fit local memory and give work to that many work-groups."""
    known = geometry.defines
    sizes = known["PIXELS_H"], known["PIXELS_W"]
    most = 128
    while True:
        wide = even(sizes[1], min(16, most))
        high = even(sizes[0], most // wide)
        reach = [(ceil_div(known[f"SIZE_{x}"], known.get(f"HOP_{x}", 1)) - 1) * abs(known[f"TAP_{x}"]) for x in "HW"]
        halo = (
            (high - 1) * known["STEP_H"] + reach[0] + 1,
            (wide - 1) * known["STEP_W"] + reach[1] + 1,
        )
        tiles = image.dims[0] * ceil_div(sizes[0], high) * ceil_div(sizes[1], wide)
        stage = halo[0] * halo[1] * pitches[0] + ceil_div(high * wide, 16) * 16 * pitches[1]
        if most <= 16 or (stage <= _REGION_BYTES and tiles * work_groups >= most):
            return (high, wide), halo, tiles
        most //= 2
