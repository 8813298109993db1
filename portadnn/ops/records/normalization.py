"""Records of layer, RMS, group and instance normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...miopen_driver import form
from ...operation import BAD, CCall, Features, Operation, Wrong
from ..normalization import (
    NormalizationBackward,
    NormalizationForward,
    NormMode,
    normalization_backward,
    normalization_forward,
)
from .batch_norm import BLENDED_GRADIENTS, DATA, EPSILON, described, enough, images

_PARAMETERS = ("both", "scale", "none", "both")


def _sample(draws: Draws, choices: Choices, op: str) -> str:
    mode, dtype = choices["mode"], choices["dtype"]
    dims = image_dims(draws, choices)
    if dims[0]:
        dims = enough(dims, len(dims) - 1)
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
    words = [images(tensors, dims, *((("x",), ("y",)) if forward else (("x", "dy"), ("dx",))))]
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


_DRAWING = Drawing(
    _sample,
    crossed={"dtype": TYPES, "layout": CLASSES, "mode": tuple(NormMode)},
    turns={"size": SIZES, "rank": RANKS, "parameters": _PARAMETERS, "saved": (True, False)},
    numbers={"epsilon": EPSILON},
)


def _described(*, backward: bool) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        found = described(backward=backward)({**c, "saved": False})
        dims, mode = plain.dims_of(c), c.get("mode", "layer_norm")
        from_axis = mode in ("layer_norm", "rms_norm")
        p = (1, *dims[1:]) if from_axis else (1, dims[1], *(1,) * (len(dims) - 2))
        found["scale"] = plain.text(plain.parameter_type(c), p)
        if not backward and mode != "rms_norm":
            found["bias"] = plain.text(plain.parameter_type(c), p)
        if c.get("saved"):
            s = (dims[0], {"instance_norm": 8, "group_norm": 4}.get(mode, 1), *(1,) * (len(dims) - 2))
            found |= {
                "saved_mean": plain.text(plain.parameter_type(c), s),
                "saved_inv_variance": plain.text(plain.parameter_type(c), s),
            }
        return found

    return tensors


def _line(problem: Any, numbers: form.Numbers) -> str:
    """Return the options of the drivers layernorm, groupnorm and t5layernorm, whose parameters are of the image's type.

    Their modes are miopenNormMode_t: 0 and 5 without parameters, 1 and 6 with them.
    """
    x, mode, forward = problem.x, problem.mode, problem.op.endswith("forward")
    parameters = problem.scale is not None
    full = parameters and (not forward or problem.bias is not None or mode is NormMode.RMS_NORM)
    if parameters is not full or (forward and not parameters and problem.bias is not None):
        raise form.NoLine("the driver has scale and bias, or none of them")
    if mode is NormMode.INSTANCE_NORM:
        raise form.NoLine("MIOpen has no instance normalisation")
    if not forward and mode is not NormMode.RMS_NORM:
        raise form.NoLine("MIOpen has gradients of T5's normalisation alone")
    said: dict[str, Any] = {"F": 1 if forward else 2}
    if mode is NormMode.GROUP_NORM:
        dims = dict(zip("nc", x.dims, strict=False)) | dict(zip("DHW", (0, 0, *x.dims[2:])[-3:], strict=True))
        said |= {**dims, "g": problem.groups, "m": int(parameters)}
        name = "groupnorm"
    else:
        said["X"] = "x".join(map(str, x.dims))
        last = mode is NormMode.RMS_NORM
        if last and problem.axis not in (-1, len(x.dims) - 1):
            raise form.NoLine("T5's normalisation is over the last dim")
        said |= {"m": 5 + int(parameters)} if last else {"o": problem.axis % len(x.dims), "m": int(parameters)}
        name = "t5layernorm" if last else "layernorm"
    return f"{form.first_word(name, x, form.SHORT)} {form.written(**said, e=numbers['epsilon'])}"


def _read_line(options: form.Options, t: str) -> list[str]:
    """Read layernorm, groupnorm and t5layernorm, whose name is the option without a name."""
    name, mode = options[""], int(options.get("m", "0"))
    if name == "groupnorm":
        dims = tuple(int(options.get(*one)) for one in zip("ncDHW", ("32", "32", "14", "14", "14"), strict=True))
        dims = tuple(size for size in dims if size)
        small, rest = (1, dims[1], *(1,) * (len(dims) - 2)), f"mode=group_norm groups={int(options.get('g', '4'))}"
    else:
        given = form.numbers_of(options.get("X", "100x3x32x32"))
        axis = len(given) - 1 if name == "t5layernorm" else int(options.get("o", "3"))
        dims = form.wide(given)
        small, rest = (*(1,) * axis, *dims[axis:]), f"mode=layer_norm axis={axis}"
    x, scale = form.tensor_text(t, dims), form.tensor_text("f64" if t == "f64" else "f32", small)
    if name != "t5layernorm":
        return [f"normalization_forward x={x} {f'scale={scale} bias={scale} ' if mode == 1 else ''}{rest}"]
    rest = rest.replace("layer_norm", "rms_norm")
    forward, backward = (f"scale={scale} ", f"scale={scale} dscale={scale} ") if mode == 6 else ("", "")
    found = {"forward": f"x={x} {forward}{rest}", "backward": f"x={x} dy={x} {backward}{rest}"}
    return [f"normalization_{way} {found[way]}" for way in form.ways({"F": options.get("F", "0")})]


_DRIVER = form.Driver("layernorm", _line, _read_line, letters={}, also=("groupnorm", "t5layernorm"))


def _implied(c: Choices) -> Mapping[str, Any]:
    return {"groups": 4} if c.get("mode") == "group_norm" else {}


RECORDS = (
    Operation(
        NormalizationForward,
        normalization_forward,
        _DRAWING,
        Features(
            _described(backward=False),
            {"mode": "layer_norm"},
            more={"saved": (False, True), **plain.BLENDED},
            implied=_implied,
        ),
        Wrong(
            "graph API, NormalizationForward",
            "x={t}:2x6x4x5 y={t}:2x6x4x5 scale={p}:1x6x1x1 bias={p}:1x6x1x1 mode=group_norm groups=3",
            {
                BAD: (
                    "groups=4",
                    "groups=0",
                    "groups=7",
                    "groups=12",
                    "axis=2",
                    "scale={p}:1x3x1x1",
                    "scale={wrong}:1x6x1x1",
                    "bias={p}:1x5x1x1",
                    "scale=",
                    "mode=instance_norm",
                    "y={t}:2x6x5x4",
                    "mode=layer_norm groups=1 axis=4",
                    "saved_mean={p}:2x3x1x1",
                )
            },
        ),
        DATA,
        driver=_DRIVER,
        c_calls=(CCall("miopenLayerNormForward", "x y", {"axis": "normalized_dim"}, ("axis",)),),
    ),
    Operation(
        NormalizationBackward,
        normalization_backward,
        _DRAWING,
        Features(_described(backward=True), {"mode": "layer_norm"}, more=BLENDED_GRADIENTS, implied=_implied),
        Wrong(
            "graph API, NormalizationBackward",
            "x={t}:2x6x4x5 dy={t}:2x6x4x5 dx={t}:2x6x4x5 scale={p}:1x6x1x1 dscale={p}:1x6x1x1 dbias={p}:1x6x1x1 "
            "mode=group_norm groups=2",
            {
                BAD: (
                    "groups=5",
                    "dy={t}:2x6x5x4",
                    "dx={o}:2x6x4x5",
                    "dscale={p}:1x5x1x1",
                    "dbias={wrong}:1x6x1x1",
                    "saved_inv_variance={p}:2x2x1x1",
                    "mode=rms_norm groups=1 axis=-5",
                    "in_place=dx:x",
                )
            },
        ),
        DATA,
        driver=_DRIVER,
    ),
)
