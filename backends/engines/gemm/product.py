"""The choice of a way to compute a matrix product on a device."""

from __future__ import annotations

from collections.abc import Iterator

from portadnn.enums import DataType

from ...base import Device, DeviceInfo, Launch
from ..conv.gemm_tiles import TILES
from ..conv.matrix_units import MMA, Unit, unit_of
from ..conv.tensor_core_tiles import Product, choices
from .by_convolution import OnConvolution
from .by_graph import OnWarpgroups
from .cpu import OnCpu
from .gpu import OnGpu, local_bytes
from .matrix_cores import OnMatrixCores
from .tensor_cores import BK_MMA, MMA_TILES, OnTensorCores
from .terms import Terms, split_choices

_LEAST = 16  # rows and columns of a product on matrix cores


class Gemm(Terms):
    """A matrix product and its launches on a device."""

    def workspace(self, info: DeviceInfo) -> int:
        """Return the bytes of scratch memory that the launches need."""
        if not self._work:
            return 0
        return OnCpu.of(self, info).workspace if info.schedule == "cpu" else self._gpu(info).workspace

    def launches(self, device: Device, scratch: int) -> Iterator[Launch]:
        """Return the launches; their scratch memory begins at byte `scratch` of the workspace, a multiple of 256."""
        if not self._work:
            return iter(())
        plan = OnCpu.of(self, device.info) if device.info.schedule == "cpu" else self._gpu(device.info)
        return plan.launches(device, scratch)

    @property
    def _work(self) -> bool:
        return self.m * self.n * self.batches > 0 and not (self.k == 0 and self.accumulate)

    def _gpu(self, info: DeviceInfo) -> OnConvolution | OnGpu | OnMatrixCores | OnTensorCores | OnWarpgroups:
        halves = OnConvolution.of_halves(self, info) or OnWarpgroups.of(self, info)
        if halves is not None:
            return halves
        unit = unit_of(info)
        if unit is MMA and self.dtype in (DataType.HALF, DataType.BFLOAT16) and min(self.m, self.n) >= _LEAST:
            found_here = (OnTensorCores(self, tile, s) for tile in MMA_TILES for s in split_choices(self.k // BK_MMA))
            return min(found_here, key=lambda option: option.clocks(info))
        if unit is not None and self._multiplies_as_stored(unit):
            product = Product(self.m, self.n, self.k, self.batches, self.dtype.itemsize, 0, 0, unit=unit)
            found = min(choices(product, info), key=lambda choice: choice.seconds(info), default=None)
            if found is not None:
                return OnMatrixCores(self, found)
        plain, floats = self._plain(info), OnConvolution.of_floats(self, info)
        return floats if floats is not None and floats.seconds(info) < plain.seconds(info) else plain

    def _multiplies_as_stored(self, unit: Unit) -> bool:
        """Tell whether matrix cores take both operands as they are; NVIDIA's would round float32."""
        stored = unit.exact if self.dtype is DataType.FLOAT else self.a.stored and self.b.stored
        return unit is not MMA and self.dtype in unit.types and stored and min(self.m, self.n) >= _LEAST

    def _plain(self, info: DeviceInfo) -> OnGpu:
        options = [
            OnGpu(self, tile, splits)
            for tile in TILES[self.dtype.accumulator]
            for splits in split_choices(self.k // tile.bk)
            if tile.items <= info.max_work_group and local_bytes(self, tile) <= info.local_memory
        ]
        return min(options, key=lambda option: option.clocks(info))
