"""Problems of pooling, of local response and divisive normalisation, and of bias gradients."""

from __future__ import annotations

from ...enums import PoolingMode
from ...shapes import pooling_output_dims
from .draws import Draws
from .layouts import CLASSES, Tensors
from .sizes import IMAGE_RANKS, NAN, RANKS, SIZES, image_dims
from .strata import TYPES, Choices, family

_STRATA = {"dtype": TYPES, "layout": CLASSES}


def _text(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


_WINDOWS = ("2/2", "3/2", "any", "3/1", "whole", "beyond", "large", "1/1", "any")


def _window(draws: Draws, kind: str, spatial: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return window, padding and stride of a kind over an image."""
    axes = len(spatial)
    if kind == "whole":
        return spatial, (0,) * axes, (1,) * axes
    if kind == "large":  # more cells than a byte counts, in several places
        return spatial, tuple(min(size // 2, 1) for size in spatial), (1,) * axes
    if kind == "beyond":  # windows that lie in the padding only, or reach over both borders
        window = tuple(min(s, 6) + draws.integers(0, 2) for s in spatial)
    elif kind == "any":
        window = tuple(draws.few(5) for _ in spatial)
    else:
        window = (int(kind[0]),) * axes
    padding = []
    for size, length in zip(spatial, window, strict=True):
        least = max(0, -(-(length - size) // 2))
        most = length if kind == "beyond" else length // 2
        padding.append(max(least, draws.integers(0, most + 1)))
    stride = tuple(draws.integers(1, 4) for _ in spatial) if kind in ("any", "beyond") else (int(kind[-1]),) * axes
    return window, tuple(padding), stride


@family(
    "pooling_forward",
    "pooling_backward",
    crossed={**_STRATA, "mode": tuple(PoolingMode)},
    turns={"size": SIZES, "rank": IMAGE_RANKS, "window": _WINDOWS, "nan": NAN},
)
def _pooling(draws: Draws, choices: Choices, op: str) -> str:
    x_dims = image_dims(draws, choices)
    if choices["size"] == "long":
        x_dims = (*x_dims[:-1], x_dims[-1] // 4)
    if choices["window"] == "large":
        rows = draws.integers(2, 25)
        x_dims = (draws.integers(1, 3), 3, *(1,) * (len(x_dims) - 4), rows, draws.integers(300, 600) // rows)
    window, padding, stride = _window(draws, choices["window"], x_dims[2:])
    y_dims = pooling_output_dims(x_dims, window, padding, stride)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    rest = f"mode={choices['mode'].name.lower()} window={_text(window)} padding={_text(padding)}"
    rest += f" stride={_text(stride)}{choices['nan']}"
    if op == "pooling_forward":
        return f"{op} x={tensors.text(x_dims)} y={tensors.text(y_dims, written=True)} {rest}"
    y, x = tensors.text(y_dims), tensors.text(x_dims, written=True)
    return f"{op} y={y} dy={y} x={x} dx={x} {rest}"


_LRN = {
    "n": (5, 4, 1, 2, 3, 16, 7),
    "numbers": (
        "",
        " lrn_alpha=1.0 lrn_beta=0.5 lrn_k=1.0",
        " lrn_alpha=0.5 lrn_beta=0.6",
        " lrn_alpha=2.0 lrn_beta=1.0 lrn_k=0.5",
        " lrn_alpha=0.1",
    ),
}


@family(
    "lrn_cross_channel_forward",
    "lrn_cross_channel_backward",
    crossed=_STRATA,
    turns={"size": SIZES, "rank": RANKS, **_LRN},
)
def _lrn(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    rest = f"lrn_n={choices['n']}{choices['numbers']}"
    if op.endswith("forward"):
        return f"{op} x={tensors.text(dims)} y={tensors.text(dims, written=True)} {rest}"
    inputs = " ".join(f"{name}={tensors.text(dims)}" for name in ("y", "dy", "x"))
    return f"{op} {inputs} dx={tensors.text(dims, written=True)} {rest}"


@family(
    "divisive_normalization_forward",
    "divisive_normalization_backward",
    crossed={**_STRATA, "means": (True, False)},
    turns={"size": SIZES, "rank": IMAGE_RANKS, **{**_LRN, "n": (3, 5, 2, 1, 4)}},
)
def _divisive(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    forward = op.endswith("forward")
    inputs = ["x", *(["means"] if choices["means"] else []), *([] if forward else ["dy"])]
    outputs = ["y"] if forward else ["dx", *(["dmeans"] if draws.integers(3) else [])]
    words = [f"{name}={tensors.text(dims)}" for name in inputs]
    words += [f"{name}={tensors.text(dims, written=True)}" for name in outputs]
    return f"{op} {' '.join(words)} lrn_n={choices['n']}{choices['numbers']}"


@family("convolution_backward_bias", crossed=_STRATA, turns={"size": SIZES, "rank": RANKS})
def _bias(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices, empty=False)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    db = (1, dims[1], *(1 for _ in dims[2:]))
    return f"{op} dy={tensors.text(dims)} db={tensors.text(db, written=True)}"
