"""Tiles of the tensor-core convolutions, and what they are estimated to cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...base import LAUNCH_SECONDS, DeviceInfo
from .matrix_units import MFMA, MMA, WMMA, Unit

MOST_SPLITS = 256
_PANEL_ALIGN = 1024  # bytes, of what warpgroups read
_FILL = 0.7  # of the stages: slices that pass before the first is multiplied
_PARTS_COST, _PARTS_COST_OF_SYNC = 0.7, 3.0  # times a copy of their bytes: of warpgroups, and of mma.sync
_MOST_SINGLE = 1.1  # times as many slices may there be where each is of a single tap


@dataclass(frozen=True)
class Tile:
    """A work-group's tile (conv/mma.cu, conv/mma_filter.cu, conv/matrix.cl).

    Attributes
    ----------
    bm, bn : int
        Rows and columns.
    wm, wn : int
        Rows and columns of a wave.
    slice : int
        Bytes of K in a stage.
    stages : int
        Slices in local memory.
    share : float
        Of the tensor cores' rate that it reaches when its inputs come in time.
    wave : int
        Work-items that multiply together.
    warpgroups : bool
        Whether warpgroups multiply (conv/mma_warpgroups.h), of four waves each.
    wait : int
        Clocks that a slice takes a work-group at least, however few others run beside it; 0 where nothing is known.
    loaders : int
        Waves beside those that multiply, which load for them (conv/mma_planes_float.h); 0: all do both.
    """

    bm: int
    bn: int
    wm: int
    wn: int
    slice: int
    stages: int
    share: float
    wave: int = 32
    wait: int = 0
    warpgroups: bool = False
    loaders: int = 0

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return (self.bm // self.wm * (self.bn // self.wn) + self.loaders) * self.wave

    def depth(self, item_size: int) -> int:
        """Elements of K in a slice."""
        return self.slice // item_size

    def local_bytes(self, gap: int) -> int:
        """Bytes of local memory, with a gap of so many columns."""
        return self.stages * (self.bm + self.bn + gap) * self.slice + (_PANEL_ALIGN if self.warpgroups else 0)

    @property
    def side_by_side(self) -> int:
        """Work-groups that a multiprocessor of Hopper shall have at once: as its local memory and registers allow."""
        sums = self.wm * self.wn // self.wave
        return max(1, min((227 << 10) // (self.local_bytes(0) + 1024), 65536 // (self.items * (sums + 64))))

    @property
    def registers(self) -> int:
        """Registers of a work-item, about: its sums, and what else it needs."""
        return min(255, self.wm * self.wn // self.wave + 90)


# Shares and waits of IMAGE_TILES are fitted on 700 timings of 17 layers with all tiles and several splits on an H100,
# the others' shares as measured on an H200.
IMAGE_TILES = (
    Tile(128, 128, 64, 64, 64, 4, 0.54, wait=1060),
    Tile(128, 128, 64, 32, 128, 3, 0.56, wait=1500),
    Tile(128, 128, 32, 64, 128, 2, 0.54, wait=1540),
    Tile(128, 96, 64, 32, 64, 4, 0.49, wait=1000),
    Tile(256, 64, 64, 32, 64, 4, 0.46, wait=1070),
    Tile(128, 64, 64, 32, 128, 3, 0.5, wait=1280),
    Tile(128, 64, 64, 32, 64, 4, 0.45, wait=670),
    Tile(64, 128, 32, 64, 128, 3, 0.49, wait=1250),
    Tile(64, 64, 32, 32, 128, 3, 0.41, wait=840),
    Tile(64, 64, 32, 32, 64, 4, 0.35, wait=550),
    Tile(128, 32, 32, 32, 64, 4, 0.27, wait=620),
)
# Those of warpgroups on Hopper (sm_90a), fitted on 600 timings of 27 layers on an H100.
IMAGE_WARPGROUPS = (
    Tile(128, 128, 16, 128, 128, 3, 0.93, wait=380, warpgroups=True),
    Tile(128, 64, 16, 64, 128, 4, 0.69, wait=300, warpgroups=True),
    Tile(64, 128, 16, 128, 128, 4, 0.88, wait=840, warpgroups=True),
    Tile(64, 64, 16, 64, 128, 4, 0.88, wait=920, warpgroups=True),
    Tile(128, 256, 16, 256, 128, 4, 1.08, wait=300, warpgroups=True),
    Tile(256, 128, 16, 128, 128, 4, 0.99, wait=880, warpgroups=True),
    Tile(128, 192, 16, 192, 128, 4, 0.88, wait=420, warpgroups=True),
    Tile(128, 128, 16, 128, 128, 6, 0.9, wait=380, warpgroups=True),
    Tile(256, 128, 32, 128, 128, 4, 0.99, wait=800, warpgroups=True),
    Tile(128, 256, 32, 128, 128, 4, 1.14, wait=1300, warpgroups=True),
    Tile(128, 128, 32, 64, 128, 3, 0.93, wait=720, warpgroups=True),
)
FILTER_WARPGROUPS = (
    Tile(128, 128, 16, 128, 128, 3, 1.02, wait=720, warpgroups=True),
    Tile(128, 64, 16, 64, 128, 4, 0.71, wait=760, warpgroups=True),
    Tile(64, 128, 16, 128, 128, 4, 0.69, wait=620, warpgroups=True),
    Tile(64, 64, 16, 64, 128, 4, 0.49, wait=300, warpgroups=True),
    Tile(128, 256, 16, 256, 128, 4, 1.08, wait=360, warpgroups=True),
    Tile(256, 128, 16, 128, 128, 4, 1.11, wait=380, warpgroups=True),
    Tile(128, 128, 16, 128, 128, 6, 1.14, wait=690, warpgroups=True),
)
# Of warpgroups and floats in planes, by direction and products: fitted on 800 timings of 17 layers on an H100.
_ONE = ((128, 128, 3), (64, 128, 3), (128, 64, 3), (64, 64, 3), (128, 256, 3))
_THREE = ((64, 128, 2), (128, 128, 2), (64, 64, 2), (128, 64, 2), (128, 128, 3), (128, 128, 3, 8))


def _planes(sizes: Sequence[tuple[int, ...]], *figures: tuple[float, int]) -> tuple[Tile, ...]:
    """Return tiles of such rows, columns, stages and loaders, with their shares and waits."""
    return tuple(
        Tile(bm, bn, 16, bn, 128, stages, share, wait=wait, warpgroups=True, loaders=sum(loaders))
        for (bm, bn, stages, *loaders), (share, wait) in zip(sizes, figures, strict=True)
    )


PLANES = {
    ("forward", 1): _planes(_ONE, (0.56, 1500), (0.41, 1820), (0.37, 920), (0.29, 800), (0.61, 1650)),
    ("backward_data", 1): _planes(_ONE, (0.36, 3120), (0.34, 4390), (0.28, 2110), (0.3, 2970), (0.36, 3440)),
    ("backward_filter", 1): _planes(_ONE, (0.39, 2830), (0.33, 1920), (0.32, 1820), (0.25, 1300), (0.41, 2220)),
    ("forward", 3): _planes(_THREE, (0.6, 2970), (0.56, 1500), (0.47, 1180), (0.6, 1820), (0.65, 2110), (0.76, 2440)),
    ("backward_data", 3): _planes(
        _THREE, (0.47, 5340), (0.58, 2970), (0.49, 3980), (0.5, 2110), (0.9, 4390), (0.67, 3120)
    ),
    ("backward_filter", 3): _planes(
        _THREE, (0.53, 2830), (0.78, 3280), (0.44, 1300), (0.55, 2570), (0.65, 2010), (0.99, 2700)
    ),
}
FILTER_TILES = (
    Tile(128, 128, 64, 64, 128, 3, 0.49),
    Tile(64, 128, 32, 64, 128, 3, 0.45),
    Tile(128, 64, 64, 32, 128, 3, 0.46),
    Tile(128, 64, 64, 32, 64, 4, 0.4),
    Tile(64, 64, 32, 32, 128, 3, 0.42),
)
# Of AMD's: shares of NVIDIA's tiles of the same size, for want of measurements.
_MFMA_TILES = (
    Tile(128, 128, 64, 64, 64, 2, 0.65, 64),
    Tile(128, 64, 64, 32, 64, 2, 0.6, 64),
    Tile(64, 128, 32, 64, 64, 2, 0.6, 64),
    Tile(64, 64, 64, 32, 64, 2, 0.5, 64),
)
_WMMA_TILES = (
    Tile(128, 128, 64, 32, 64, 2, 0.65),
    Tile(128, 64, 32, 32, 64, 2, 0.6),
    Tile(64, 128, 32, 32, 64, 2, 0.6),
    Tile(64, 64, 32, 32, 64, 2, 0.5),
)
# Of NVIDIA's from OpenCL, whose work-groups have 48 KiB: by copies that go on meanwhile, and through registers.
_PTX_TILES = (
    Tile(128, 128, 64, 64, 64, 3, 0.6),
    Tile(128, 128, 64, 32, 64, 3, 0.55),
    Tile(128, 64, 64, 32, 64, 4, 0.5),
    Tile(64, 128, 32, 64, 64, 4, 0.5),
    Tile(64, 64, 32, 32, 64, 4, 0.4),
)
_PTX_REGISTER_TILES = (
    Tile(128, 128, 64, 32, 64, 2, 0.45),
    Tile(128, 64, 32, 32, 64, 2, 0.4),
    Tile(64, 128, 32, 32, 64, 2, 0.4),
    Tile(64, 64, 32, 32, 64, 2, 0.35),
)


@dataclass(frozen=True)
class Product:
    """A matrix product: `batches` times rows x columns, summed over `depth` elements of `item_size` bytes.

    `gap`: columns that lie unused in local memory where K runs across its rows and elements have four bytes;
    `across`: a filter gradient, whose parts are added by a launch of its own, single ones as well unless `stores`;
    `unit`: what multiplies;
    `copies`: slices are copied to local memory while others are multiplied; `taps`: of which K consists, with `run`
    elements each, where the kernel can take slices of single taps, and has to if `single`; `warpgroups`: the
    fewest rows that a sub-group of theirs has, 0 where there are none; `planes`: the direction, of floats that pass
    through registers (conv/mma_planes_float.h), each of whose products is `products` rounded ones.
    """

    rows: int
    columns: int
    depth: int
    batches: int
    item_size: int
    bytes: int
    gap: int
    across: bool = False
    unit: Unit = MMA
    copies: bool = False
    taps: int = 1
    run: int = 0
    single: bool = False
    stores: bool = False
    warpgroups: int = 0
    planes: str = ""
    products: int = 1

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles that there are kernels for."""
        if self.planes:
            return tuple(self._used(PLANES[self.planes, self.products]))
        if self.unit is MMA:
            return (*self._of_warpgroups(), *(FILTER_TILES if self.across else IMAGE_TILES))
        if self.copies:
            return _PTX_TILES
        tiles = _MFMA_TILES if self.unit is MFMA else _WMMA_TILES if self.unit is WMMA else _PTX_REGISTER_TILES
        return tiles[:1] if self.across else tiles  # in smaller ones, turning pixels over outweighs the products

    def _of_warpgroups(self) -> Iterator[Tile]:
        """Yield the tiles of warpgroups; of estimates alike the first is taken."""
        for tile in self._used(FILTER_WARPGROUPS if self.across else IMAGE_WARPGROUPS):
            if self.warpgroups and tile.wm >= self.warpgroups:
                yield tile

    def _used(self, tiles: Sequence[Tile]) -> Iterator[Tile]:
        """Yield those of which more than a half is used."""
        for tile in tiles:
            if (tile.bm == 64 or 2 * self.rows > tile.bm) and (tile.bn == 64 or 2 * self.columns > tile.bn):
                yield tile


@dataclass(frozen=True)
class Choice:
    """A tile and the number of parts of K."""

    product: Product
    tile: Tile
    splits: int

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles along rows and columns."""
        return -(-self.product.rows // self.tile.bm), -(-self.product.columns // self.tile.bn)

    @property
    def padded(self) -> tuple[int, int]:
        """Rows and columns of whole tiles."""
        return self.tiles[0] * self.tile.bm, self.tiles[1] * self.tile.bn

    @property
    def work_groups(self) -> int:
        """Work-groups of the product."""
        return self.tiles[0] * self.tiles[1] * self.product.batches * self.splits

    @property
    def taps_inner(self) -> bool:
        """Whether slices are of single taps, and all taps of some channels come before the next channels."""
        product, depth = self.product, self.tile.depth(self.product.item_size)
        single = product.taps * -(-product.run // depth)
        few = product.single or single <= _MOST_SINGLE * -(-product.depth // depth)
        return product.taps > 1 and product.run > 0 and few

    @property
    def slices(self) -> int:
        """Slices of K."""
        product, depth = self.product, self.tile.depth(self.product.item_size)
        return product.taps * -(-product.run // depth) if self.taps_inner else -(-product.depth // depth)

    @property
    def has_parts(self) -> bool:
        """Whether sums go through the workspace."""
        return self.splits > 1 or (self.product.across and not self.product.stores)

    @property
    def parts_size(self) -> int:
        """Bytes of the parts, float32."""
        return 4 * self.padded[0] * self.padded[1] * self.product.batches * self.splits if self.has_parts else 0

    @property
    def local_bytes(self) -> int:
        """Bytes of local memory of a work-group."""
        halves = 2 if self.product.products > 1 else 1
        return halves * self.tile.local_bytes(self.product.gap if self.product.item_size == 4 else 0)

    @property
    def resident(self) -> int:
        """Work-groups that pass floats through registers which a multiprocessor of Hopper shall have at once."""
        tile = self.tile
        if tile.loaders:
            return 1
        sums = tile.wm * tile.wn // tile.wave
        staged = (tile.bm + tile.bn) * tile.wave // tile.items
        registers = up(min(255, sums * (2 if self.product.products > 1 else 1) + staged + 32), 8)
        return max(1, min((227 << 10) // (self.local_bytes + 2048), 65536 // (tile.items * registers)))

    def seconds(self, info: DeviceInfo) -> float:
        """Estimate the time of the product and of adding its parts, without packing.

        Multiprocessors work through their share of tiles, several at a time as memory and registers allow; a rest takes
        longer than its share, because fewer tiles hide less latency. Each tile has a fixed cost of a few slices.
        """
        if self.tile.wait:
            return self._fitted(info)
        product, tile, units, unit = self.product, self.tile, max(info.compute_units, 1), self.product.unit
        slices = -(-self.slices // self.splits) + 2 * tile.stages
        limits = (dynamic_memory(info) // (self.local_bytes + 1024), unit.registers // (tile.items * tile.registers))
        resident = max(1, min(*limits, unit.items // tile.items))
        full, rest = divmod(-(-self.work_groups // units), resident)
        tiles = full * resident + (0.4 * resident + 0.6 * rest if rest else 0)
        operations = 2 * tile.bm * tile.bn * tile.depth(product.item_size) * slices * tiles
        rate = unit.operations(info, product.item_size)
        traffic = (product.bytes + 2 * self.parts_size) / (0.8 * info.bandwidth)
        return max(operations / (rate * tile.share), traffic) + (LAUNCH_SECONDS if self.has_parts else 0)

    def _fitted(self, info: DeviceInfo) -> float:
        """Estimate by what was fitted: work-groups side by side hide each other's waits, until they are busy.

        Parts are read again by a launch.
        """
        product, tile, units, unit = self.product, self.tile, max(info.compute_units, 1), self.product.unit
        operations = 2 * product.products * tile.bm * tile.bn * tile.depth(product.item_size)
        busy = operations / (unit.operations(info, product.item_size) * tile.share)
        wait = tile.wait * unit.rates.get(info.arch.partition(":")[0], unit.rate) / unit.operations(info, 2)
        registers = up(round(1.45 * tile.wm * tile.wn / tile.wave) + 34, 8)
        limits = (dynamic_memory(info) // (self.local_bytes + 1024), unit.registers // (tile.items * registers))
        resident = self.resident if product.planes else max(1, min(*limits, unit.items // tile.items))
        full, rest = divmod(self.work_groups, units * resident)
        slices = -(-self.slices // self.splits) + _FILL * tile.stages

        def wave(groups: int) -> float:
            return float((wait**4 + (groups * busy) ** 4) ** 0.25) * slices

        seconds = full * wave(resident) + (wave(-(-rest // units)) if rest else 0)
        traffic = product.bytes / (0.8 * info.bandwidth)
        copies = tile.warpgroups and not product.planes
        seconds = float((seconds**4 + traffic**4) ** 0.25) if copies else max(seconds, traffic)  # as they were fitted
        if self.has_parts:
            cost = _PARTS_COST if tile.warpgroups else _PARTS_COST_OF_SYNC
            seconds += cost * self.parts_size / info.bandwidth + LAUNCH_SECONDS
        return seconds


def up(a: int, b: int) -> int:
    """Return `a` rounded up to a multiple of `b`."""
    return -(-a // b) * b


def dynamic_memory(info: DeviceInfo) -> int:
    """Return the local memory that a launch may ask for."""
    return info.dynamic_memory or info.local_memory


def choices(product: Product, info: DeviceInfo) -> Iterator[Choice]:
    """Yield every tile that fits the device with every useful number of splits."""
    for tile in product.tiles:
        slices = -(-product.depth // tile.depth(product.item_size))
        splits = 1
        while splits <= min(MOST_SPLITS, max(slices // (2 * tile.stages), 1)):
            choice = Choice(product, tile, splits)
            if tile.items <= info.max_work_group and choice.local_bytes <= dynamic_memory(info):
                yield choice
            if choice.work_groups > 8 * info.compute_units:
                break
            splits += max(splits // 8, 1)
