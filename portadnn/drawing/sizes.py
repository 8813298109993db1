"""Dims of generated tensors: small, and of the kinds at which kernels leave something over."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .draws import Draws

SIZES = (
    "odd",
    "vector",
    "long",
    "odd",
    "channels",
    "batch 1",
    "odd",
    "channel 1",
    "tile",
    "point",
    "odd",
    "one",
    "many",
)
_MANY = ((17_000, 36_000), (17_000, 36_000), (66_000, 80_000))  # more than the grains of work-groups on CPUs
EMPTY_ONE_IN = 150  # outputs without elements prove little
NAN = ("", "", " nan_propagation=propagate_nan")
RANKS = (4, 4, 5, 4, 3, 4, 6)  # of operations that take any
IMAGE_RANKS = (4, 4, 5)  # of operations on images


def image_dims(draws: Draws, choices: Mapping[str, Any], *, empty: bool = True) -> tuple[int, ...]:
    """Return dims (n, c, ...) of a kind: odd in every dim, whole vectors, rows longer than a work-group ...

    Parameters
    ----------
    choices
        Among them ``"size"``, one of `SIZES`, and ``"rank"``. Where there is a ``"layout"``, dims are such as tell it
        from others.
    empty
        Whether now and then there may be no images at all.
    """
    size, axes = choices["size"], choices["rank"] - 2
    most = {1: 31, 2: 11, 3: 6}.get(axes, 4)
    n, c = draws.integers(2, 4), draws.integers(2, 8)
    spatial = [draws.integers(1, most + 1) for _ in range(axes)]
    if size == "vector":
        c, spatial[-1] = 8 * draws.integers(1, 4), 8
    elif size == "long":
        n, c, spatial = 1, draws.integers(1, 3), [1] * (axes - 1) + [draws.integers(257, 1100)]
    elif size == "channels":
        c = draws.integers(65, 300) if draws.integers(2) else draws.integers(257, 600)
        n, spatial = draws.integers(1, 3), [draws.integers(1, 3) for _ in spatial]
    elif size == "tile":
        c, spatial = draws.integers(15, 35), [min(s + 1, 4) for s in spatial]
        spatial[-1] = draws.integers(31, 36)
        n = 1
    elif size == "many":
        spatial[-1] = 1
        spatial[-1] = draws.integers(*draws.choice(_MANY)) // (n * c * math.prod(spatial))
    elif size == "batch 1":
        n = 1
    elif size == "channel 1":
        c = 1
    elif size == "point":
        c, spatial = draws.integers(1, 40), [1] * axes
    elif size == "one":
        n, c, spatial = 1, 1, [1] * axes
    if choices.get("layout") in ("nhwc", "strided"):
        c = max(c, 2)
        if max(spatial) == 1:
            spatial[-1] = draws.integers(2, 5)
    if empty and draws.one_in(EMPTY_ONE_IN):
        n = 0
    return (n, c, *spatial)
