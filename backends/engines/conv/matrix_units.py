"""Matrix units of GPUs: what instructions for products of small matrices a device has, and how fast they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from portadnn.enums import DataType

from ...base import DeviceInfo


@dataclass(frozen=True)
class Unit:
    """Instructions that kernels of convolutions multiply by.

    Attributes
    ----------
    feature : str
        Of devices that have them.
    wave, fragment : int
        Work-items that share an instruction, and rows that its result has; 0 rows: kernels_cuda/conv/mma*.cu.
    types : tuple of DataType
    exact : bool
        Whether products of float32 are those of float32; else they are rounded to TF32 first.
    rates : mapping
        Operations of a compute unit per clock with 2-byte elements, by target; `rate` for others.
    float_rate : float
        The rate with float32, in that one's unit of 2-byte elements where `exact` is not set, else of itself.
    lanes : mapping
        float32 multiply-adds of a compute unit per clock, as in the estimate of DeviceInfo.flops; `lane` for others.
    registers, items : int
        Of a compute unit: what its work-groups share.
    rows : int
        Neighbouring rows of a result that a work-item has.
    ptx : bool
        Whether kernels reach it by inline PTX in OpenCL C (common/mma_ptx.h), with copies that go on meanwhile.
    """

    feature: str
    wave: int
    fragment: int
    types: tuple[DataType, ...]
    exact: bool
    rates: Mapping[str, int]
    rate: int
    float_rate: float
    lanes: Mapping[str, int]
    lane: int
    registers: int
    items: int
    rows: int = 8
    ptx: bool = False

    def defines(self) -> dict[str, int | float | str]:
        """Return what kernels of common/mma_tile.h know of it."""
        return {"WAVE": self.wave, "FRAG": self.fragment, **({"MMA_PTX": 1} if self.ptx else {})}

    def operations(self, info: DeviceInfo, item_size: int) -> float:
        """Return the operations of a compute unit per second."""
        clock = info.flops / (2 * self.lanes.get(info.arch, self.lane) * max(info.compute_units, 1))
        rate = self.rates.get(info.arch.partition(":")[0], self.rate)
        if item_size == 4:
            return (self.float_rate if self.exact else self.float_rate * rate) * clock
        return rate * clock


_ALL = (DataType.HALF, DataType.BFLOAT16, DataType.FLOAT)
MMA = Unit(
    "mma", 32, 0, _ALL, False, {"sm_80": 2048, "sm_90": 2700}, 1024, 0.5, {"sm_80": 64}, 128, 65536, 2048
)  # mma.sync
MMA_PTX = replace(MMA, feature="mma_ptx", fragment=16, rows=4, ptx=True)  # the same from OpenCL
# AMD's, from peaks: MI100 184.6, MI250X 383, MI300X 1307 TFLOP/s of half, 46, 96 and 163 of float32; RX 7900 XTX 123,
# RDNA 4 twice as much for each compute unit. https://www.amd.com/en/products/accelerators/instinct.html, https://gpuopen.com/learn/wmma_on_rdna3/
MFMA = Unit("mfma", 64, 32, _ALL, True, {"gfx942": 2048}, 1024, 256, {}, 64, 131072, 2048, 16)
WMMA = Unit("wmma", 32, 16, _ALL[:2], True, {"gfx1200": 1024, "gfx1201": 1024}, 512, 0, {}, 64, 98304, 1024)
UNITS = (MMA, MMA_PTX, MFMA, WMMA)
_ARCHITECTURES = (("gfx908", MFMA), ("gfx90a", MFMA), ("gfx942", MFMA), ("gfx11", WMMA), ("gfx12", WMMA))


def unit_of(info: DeviceInfo) -> Unit | None:
    """Return the matrix unit of a device whose kernels may use it."""
    return next((unit for unit in UNITS if unit.feature in info.features), None)


def unit_of_target(target: str) -> Unit | None:
    """Return the matrix unit that GPUs of a target such as ``"gfx90a"`` or ``"sm_90"`` have for OpenCL C."""
    if target.startswith("sm_"):
        return MMA_PTX if int(target[3:].rstrip("af")) >= 80 else None
    return next((unit for start, unit in _ARCHITECTURES if target.startswith(start)), None)


def features_of_target(target: str) -> frozenset[str]:
    """Return the feature of a GPU's matrix unit for OpenCL C, if it has one."""
    unit = unit_of_target(target)
    return frozenset({unit.feature} if unit else ())
