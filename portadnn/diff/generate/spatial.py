"""Problems of spatial transformers."""

from __future__ import annotations

from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import EMPTY_ONE_IN
from ...drawing.strata import TYPES, Choices
from .legacy import family

_STRATA = {"dtype": TYPES, "layout": CLASSES}
_GRIDS = ("odd", "one", "long", "odd", "vector", "row", "many")
_IMAGES = ("odd", "vector", "channel 1", "odd", "channels", "one", "many")


def _places(draws: Draws, kind: str) -> tuple[int, int]:
    """Return height and width of a grid."""
    if kind == "one":
        return 1, 1
    if kind == "long":
        return draws.integers(11, 20), draws.integers(37, 70)
    if kind == "many":  # points of several slices
        return draws.integers(60, 70), draws.integers(70, 100)
    if kind == "row":
        return 1, draws.integers(2, 40)
    return (8, 4) if kind == "vector" else (draws.integers(1, 8), draws.integers(1, 8))


@family(
    "spatial_tf_grid_generator_forward", "spatial_tf_grid_generator_backward", crossed=_STRATA, turns={"grid": _GRIDS}
)
def _grids(draws: Draws, choices: Choices, op: str) -> str:
    n = 0 if draws.one_in(EMPTY_ONE_IN) else draws.integers(1, 4)
    places = _places(draws, choices["grid"])
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    theta, grid = (n, 2, 3), (n, *places, 2)
    if op.endswith("forward"):
        return f"{op} theta={tensors.text(theta)} grid={tensors.text(grid, written=True)}"
    return f"{op} dgrid={tensors.text(grid)} dtheta={tensors.text(theta, written=True)}"


def _image(draws: Draws, kind: str) -> tuple[int, int, int]:
    """Return channels, height and width of an image that is sampled."""
    h, w = draws.integers(1, 9), draws.integers(1, 9)
    return {
        "odd": (draws.integers(2, 8), h, w),
        "vector": (8 * draws.integers(1, 4), h, 8),
        "channel 1": (1, h, w),
        "channels": (draws.integers(33, 80), 2, draws.integers(1, 4)),
        "one": (draws.integers(1, 4), 1, 1),
        "many": (1, 1, draws.integers(4097, 4300)),  # more pixels than local memory has counters
    }[kind]


@family(
    "spatial_tf_sampler_forward",
    "spatial_tf_sampler_backward",
    crossed=_STRATA,
    turns={"grid": _GRIDS, "image": _IMAGES},
)
def _sampler(draws: Draws, choices: Choices, op: str) -> str:
    n = 0 if draws.one_in(EMPTY_ONE_IN) else draws.integers(1, 4)
    places = _places(draws, choices["grid"])
    c, h, w = _image(draws, choices["image"])
    if choices["grid"] in ("long", "many"):
        n, c = min(n, 1), min(c, 3)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    x, y, grid = (n, c, h, w), (n, c, *places), (n, *places, 2)
    if op.endswith("forward"):
        return f"{op} x={tensors.text(x)} grid={tensors.text(grid)} y={tensors.text(y, written=True)}"
    inputs = f"x={tensors.text(x)} dy={tensors.text(y)} grid={tensors.text(grid)}"
    return f"{op} {inputs} dx={tensors.text(x, written=True)} dgrid={tensors.text(grid, written=True)}"
