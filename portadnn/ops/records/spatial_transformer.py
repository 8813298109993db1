"""Records of spatial transformers."""

from __future__ import annotations

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import EMPTY_ONE_IN
from ...drawing.strata import TYPES, Choices, Drawing
from ...operation import BAD, UNSUPPORTED, Data, Features, Operation, Wrong
from ..spatial_sampler import (
    SpatialTfSamplerBackward,
    SpatialTfSamplerForward,
    spatial_tf_sampler_backward,
    spatial_tf_sampler_forward,
)
from ..spatial_transformer import (
    SpatialTfGridGeneratorBackward,
    SpatialTfGridGeneratorForward,
    spatial_tf_grid_generator_backward,
    spatial_tf_grid_generator_forward,
)

_GRIDS = ("odd", "one", "long", "odd", "vector", "row", "many")

_IMAGES = ("odd", "vector", "channel 1", "odd", "channels", "one", "many")

_SIZES = (*plain.SIZES, "wide", "vast")


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


def _plain(c: Choices) -> dict[str, str]:
    n = 0 if c.get("size") == "empty" else 2
    h, w = plain.AREAS.get(c.get("size", ""), (4, 3))
    if c["op"].endswith("grid_generator_forward"):
        return {"theta": plain.text(c["dtype"], (n, 2, 3), plain.layouts_of(c)[0]), "dims": f"{n},3,{h},{w}"}
    if c["op"].endswith("grid_generator_backward"):
        return {"dgrid": plain.text(c["dtype"], (n, h, w, 2), plain.layouts_of(c)[0])}
    layout_in, layout_out = plain.layouts_of(c)
    x = (*plain.dims_of(c)[:2], h, w) if c.get("size") in plain.AREAS else plain.dims_of(c)
    h, w = (65536, 32768) if c.get("size") == "vast_grid" else (4, 3)
    out = "y" if c["op"].endswith("forward") else "dy"
    return {
        "x": plain.text(c["dtype"], x, layout_in),
        "grid": plain.text(c["dtype"], (x[0], h, w, 2), "nchw" if c.get("layout") == "repeated" else layout_in),
        out: plain.text(c["dtype"], (*x[:2], h, w), layout_out),
    }


_STRATA = {"dtype": TYPES, "layout": CLASSES}
_GRID = Drawing(_grids, _STRATA, {"grid": _GRIDS})
_SAMPLER = Drawing(_sampler, _STRATA, {"grid": _GRIDS, "image": _IMAGES})

RECORDS = (
    Operation(
        SpatialTfGridGeneratorForward,
        spatial_tf_grid_generator_forward,
        _GRID,
        Features(_plain, ranks=(), layouts=plain.NO_OUTPUT, sizes=_SIZES),
        Wrong(
            "4.121",
            "theta={t}:2x2x3 grid={t}:2x4x5x2",
            {
                BAD: ("theta={t}:3x2x3", "theta={t}:2x3x2", "grid={t}:2x4x5x3", "grid={o}:2x4x5x2", "dims=2,3,5,4"),
            },
        ),
    ),
    Operation(
        SpatialTfGridGeneratorBackward,
        spatial_tf_grid_generator_backward,
        _GRID,
        Features(_plain, ranks=(), layouts=plain.NO_OUTPUT, sizes=_SIZES),
        Wrong(
            "4.122",
            "dgrid={t}:2x4x5x2 dtheta={t}:2x2x3",
            {BAD: ("dtheta={t}:1x2x3", "dtheta={o}:2x2x3", "dgrid={t}:2x4x5x3", "dims=2,3,5,4", "dtheta={t}:2x3x2")},
        ),
    ),
    Operation(
        SpatialTfSamplerForward,
        spatial_tf_sampler_forward,
        _SAMPLER,
        Features(_plain, ranks=plain.IMAGE_RANKS, sizes=(*_SIZES, "vast_grid"), more=plain.BLENDED),
        Wrong(
            "4.123",
            "x={t}:2x3x8x8 grid={t}:2x4x5x2 y={t}:2x3x4x5",
            {
                BAD: (
                    "grid={t}:2x3x5x2",
                    "x={t}:2x4x8x8",
                    "x={t}:1x3x8x8",
                    "grid={o}:2x4x5x2",
                    "y={o}:2x3x4x5",
                    "dims=2,4,4,5",
                    "x={t}:2x3x8",
                ),
                UNSUPPORTED: ("x={t}:2x3x8x8x1",),
            },
        ),
        Data(moderate=("grid",)),
    ),
    Operation(
        SpatialTfSamplerBackward,
        spatial_tf_sampler_backward,
        _SAMPLER,
        Features(
            _plain,
            ranks=plain.IMAGE_RANKS,
            sizes=(*_SIZES, "vast_grid"),
            more={**plain.BLENDED, "alpha_dgrid": (1, 2), "beta_dgrid": (0, 1)},
        ),
        Wrong(
            "4.124",
            "x={t}:2x3x8x8 dy={t}:2x3x4x5 grid={t}:2x4x5x2 dx={t}:2x3x8x8 dgrid={t}:2x4x5x2",
            {
                BAD: ("dy={t}:2x3x5x5", "dx={t}:2x3x8x7", "dgrid={t}:2x4x4x2", "dgrid={o}:2x4x5x2", "in_place=dx:x"),
                UNSUPPORTED: ("x={t}:2x3x8x8x1 dx={t}:2x3x8x8x1",),
            },
        ),
        Data((("*", ("huge",), "differences of pixels overflow before weights multiply them"),), moderate=("grid",)),
    ),
)
