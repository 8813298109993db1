"""Matrix cores of AMD GPUs: which their OpenCL compiler has the instructions of."""

from __future__ import annotations

from typing import Any

from .. import kernel_cache, kernel_text
from ..engines.conv.matrix_units import Unit, unit_of_target

_YES, _NO = b"yes", b"no"


def probes(unit: Unit) -> list[str]:
    """Return texts that a compiler takes where it has a unit's instructions: one for each type."""
    sizes = dict.fromkeys(("BM", "BN", "WM", "WN", "FRAG"), unit.fragment)
    return [
        kernel_text.assemble(
            "shared/common/mma_probe.cl", "opencl", {**sizes, "WAVE": unit.wave, f"DTYPE_{kind.name}": 1}
        )
        for kind in unit.types
    ]


def features(cl: Any, device: Any, target: str, options: str) -> frozenset[str]:
    """Return the feature of a device's matrix unit, where its compiler takes the instructions.

    Drivers differ in that: it is tried once for each version, and kept beside the compiled kernels.
    """
    unit = unit_of_target(target)
    if unit is None:
        return frozenset()
    texts = probes(unit)
    key = ("matrix cores", *texts, options, device.name, device.driver_version, device.version)
    answer = kernel_cache.load(key)
    if answer is None:
        answer = _YES if all(_compiles(cl, device, text, options) for text in texts) else _NO
        kernel_cache.store(key, answer)
    return frozenset({unit.feature} if answer == _YES else ())


def _compiles(cl: Any, device: Any, text: str, options: str) -> bool:
    try:
        cl.Program(cl.Context([device]), text).build(options, devices=[device], cache_dir=False)
    except cl.Error:
        return False
    return True
