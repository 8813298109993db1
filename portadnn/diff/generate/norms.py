"""Problems of batch normalisation and of layer, RMS, group and instance normalisation."""

from __future__ import annotations

from collections.abc import Iterable

from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.sizes import IMAGE_RANKS, RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices
from ...enums import BatchNormMode, NormMode
from .legacy import family

_STRATA = {"dtype": TYPES, "layout": CLASSES}
_OPTIONAL = (("running", "saved"), ("saved",), (), ("running",))


def _images(tensors: Tensors, dims: tuple[int, ...], inputs: Iterable[str], outputs: Iterable[str]) -> str:
    words = [f"{name}={tensors.text(dims)}" for name in inputs]
    return " ".join(words + [f"{name}={tensors.text(dims, written=True)}" for name in outputs])


def _enough(dims: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return dims with something to normalise along an axis: the statistics of one number say nothing."""
    return dims if dims[axis] > 2 else (*dims[:axis], dims[axis] + 3, *dims[axis + 1 :])


@family(
    "batch_normalization_forward_training",
    "batch_normalization_forward_inference",
    "batch_normalization_backward",
    crossed={**_STRATA, "mode": tuple(BatchNormMode)},
    turns={"size": SIZES, "rank": IMAGE_RANKS, "optional": _OPTIONAL},
)
def _batch(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    if dims[0]:
        dims = _enough(dims, 0 if choices["mode"] is BatchNormMode.PER_ACTIVATION else len(dims) - 1)
    dtype, mode = choices["dtype"], choices["mode"]
    tensors = Tensors(draws, dtype, choices["layout"])
    shape = (1, *dims[1:]) if mode is BatchNormMode.PER_ACTIVATION else (1, dims[1], *(1 for _ in dims[2:]))
    parameter = tensor(dtype.accumulator, shape)
    if op == "batch_normalization_backward":
        names = ["scale", "dscale", "dbias"]
        images = _images(tensors, dims, ("x", "dy"), ("dx",))
    elif op == "batch_normalization_forward_inference":
        names = ["scale", "bias", "estimated_mean", "estimated_variance"]
        images = _images(tensors, dims, ("x",), ("y",))
    else:
        names = ["scale", "bias"]
        names += ["running_mean", "running_variance"] * ("running" in choices["optional"])
        images = _images(tensors, dims, ("x",), ("y",))
    if "saved" in choices["optional"] and not op.endswith("inference"):
        names += ["saved_mean", "saved_inv_variance"]
    return f"{op} {images} {' '.join(f'{name}={parameter}' for name in names)} mode={mode.name.lower()}"


_PARAMETERS = ("both", "scale", "none", "both")


@family(
    "normalization_forward",
    "normalization_backward",
    crossed={**_STRATA, "mode": tuple(NormMode)},
    turns={"size": SIZES, "rank": RANKS, "parameters": _PARAMETERS, "saved": (True, False)},
)
def _sample(draws: Draws, choices: Choices, op: str) -> str:
    mode, dtype = choices["mode"], choices["dtype"]
    dims = image_dims(draws, choices)
    if dims[0]:
        dims = _enough(dims, len(dims) - 1)
    rank = len(dims)
    rest = f"mode={mode.name.lower()}"
    if mode in (NormMode.LAYER_NORM, NormMode.RMS_NORM):
        axis = draws.integers(1, rank)
        parameters, statistics = (*(1,) * axis, *dims[axis:]), (*dims[:axis], *(1,) * (rank - axis))
        rest += f" axis={axis - rank if draws.integers(2) else axis}"
    else:
        parameters, channels = (1, dims[1], *(1,) * (rank - 2)), dims[1]
        if mode is NormMode.GROUP_NORM:
            channels = draws.choice([g for g in range(1, dims[1] + 1) if dims[1] % g == 0])
            rest += f" groups={channels}"
        statistics = (dims[0], channels, *(1,) * (rank - 2))
    tensors = Tensors(draws, dtype, choices["layout"])
    forward = op.endswith("forward")
    words = [_images(tensors, dims, *((("x",), ("y",)) if forward else (("x", "dy"), ("dx",))))]
    names: list[str] = [] if choices["parameters"] == "none" else ["scale"]
    if choices["parameters"] == "both":
        names += ["bias"] if forward else ["dscale", "dbias"]
    elif names and not forward:
        names += ["dscale"]
    words += [f"{name}={tensor(dtype.accumulator, parameters)}" for name in names]
    if choices["saved"]:
        kept = ["saved_inv_variance"] if mode is NormMode.RMS_NORM else ["saved_mean", "saved_inv_variance"]
        words += [f"{name}={tensor(dtype.accumulator, statistics)}" for name in kept]
    return f"{op} {' '.join(words)} {rest}"
