"""Records of batch normalisation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...bfloat16 import as_float64
from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors, tensor
from ...drawing.sizes import IMAGE_RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import BatchNormMode, DataType
from ...errors import NotSupported
from ...miopen_driver import form
from ...operation import BAD, Before, CCall, Data, Features, Filling, Operation, Wrong, counterpart
from ..batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
    batch_normalization_backward,
    batch_normalization_forward_inference,
    batch_normalization_forward_training,
)

EPSILON = (1e-5, 1e-5, 1e-3, 0.25)
BLENDED_GRADIENTS: dict[str, tuple[Any, ...]] = {
    "saved": (False, True),
    "alpha_data_diff": (1, 2),
    "beta_data_diff": (0, 1),
    "alpha_param_diff": (1, 2),
    "beta_param_diff": (0, 1),
}
_OPTIONAL = (("running", "saved"), ("saved",), (), ("running",))
_WRONG = (
    "x={o}:2x3x4x5",
    "scale={p}:1x4x1x1",
    "scale={p}:1x2x1x1",
    "scale={p}:1x3x4x5",
    "scale={p}:1x3x1",
    "mode=per_activation",
    "scale={wrong}:1x3x1x1",
)


def images(tensors: Tensors, dims: tuple[int, ...], inputs: Iterable[str], outputs: Iterable[str]) -> str:
    """Return the words of tensors of the same dims."""
    words = [f"{name}={tensors.text(dims)}" for name in inputs]
    return " ".join(words + [f"{name}={tensors.text(dims, written=True)}" for name in outputs])


def enough(dims: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return dims with something to normalise along an axis: the statistics of one number say nothing."""
    return dims if dims[axis] > 2 else (*dims[:axis], dims[axis] + 3, *dims[axis + 1 :])


def _batch(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices)
    if dims[0]:
        dims = enough(dims, 0 if choices["mode"] is BatchNormMode.PER_ACTIVATION else len(dims) - 1)
    dtype, mode = choices["dtype"], choices["mode"]
    tensors = Tensors(draws, dtype, choices["layout"])
    shape = (1, *dims[1:]) if mode is BatchNormMode.PER_ACTIVATION else (1, dims[1], *(1 for _ in dims[2:]))
    parameter = tensor(dtype.accumulator, shape)
    if op == "batch_normalization_backward":
        names = ["scale", "dscale", "dbias"]
        tensor_words = images(tensors, dims, ("x", "dy"), ("dx",))
    elif op == "batch_normalization_forward_inference":
        names = ["scale", "bias", "estimated_mean", "estimated_variance"]
        tensor_words = images(tensors, dims, ("x",), ("y",))
    else:
        names = ["scale", "bias"]
        names += ["running_mean", "running_variance"] * ("running" in choices["optional"])
        tensor_words = images(tensors, dims, ("x",), ("y",))
    if "saved" in choices["optional"] and not op.endswith("inference"):
        names += ["saved_mean", "saved_inv_variance"]
    return f"{op} {tensor_words} {' '.join(f'{name}={parameter}' for name in names)} mode={mode.name.lower()}"


def _drawing(**numbers: tuple[float, ...]) -> Drawing:
    return Drawing(
        _batch,
        crossed={"dtype": TYPES, "layout": CLASSES, "mode": tuple(BatchNormMode)},
        turns={"size": SIZES, "rank": IMAGE_RANKS, "optional": _OPTIONAL},
        numbers={"epsilon": EPSILON, **numbers},
    )


def described(*, backward: bool, inference: bool = False) -> plain.Describe:
    """Describe a normalisation by its direction."""

    def tensors(c: Choices) -> dict[str, str]:
        layout_in, layout_out = plain.layouts_of(c)
        dims = plain.dims_of(c)
        found = {"x": plain.text(c["dtype"], dims, layout_in)}
        if backward:
            found |= {"dy": plain.text(c["dtype"], dims, layout_out), "dx": plain.text(c["dtype"], dims, layout_out)}
        else:
            found["y"] = plain.text(c["dtype"], dims, layout_out)
        first = 2 if c.get("mode", "spatial").startswith("spatial") else len(dims)
        p = plain.text(plain.parameter_type(c), (1, *dims[1:first], *(1,) * (len(dims) - first)))
        if c.get("saved") and not inference:
            found |= {"saved_mean": p, "saved_inv_variance": p}
        if c.get("running") and not backward and not inference:
            found |= {"running_mean": p, "running_variance": p}
        return found

    return tensors


def plausible(filling: Filling) -> None:
    """Make variances positive, and saved statistics those of x as a forward pass would have stored them."""
    problem, numbers, arrays = filling.problem, filling.numbers, filling.arrays
    for name in arrays.keys() - problem.unread(numbers):
        if "variance" in name:
            filling.store(name, np.abs(as_float64(arrays[name])) + 0.25)
    if "saved_mean" in arrays and "saved_mean" in problem.inputs and problem.x.size:
        dims, x = problem.saved_mean.dims, as_float64(arrays["x"])
        if getattr(problem, "groups", 1) > 1:
            x, dims = x.reshape(*dims[:2], -1), (*dims[:2], 1)
        axes = tuple(i for i, (a, b) in enumerate(zip(x.shape, dims, strict=True)) if b == 1 != a)
        with np.errstate(all="ignore"):
            filling.store("saved_mean", x.mean(axes).reshape(problem.saved_mean.dims))
            inverse = 1 / np.sqrt(x.var(axes) + numbers["epsilon"])
            filling.store("saved_inv_variance", inverse.reshape(problem.saved_mean.dims))


DATA = Data((("*", ("inf", "huge"), "statistics of infinite data, and squares that overflow"),), fit=plausible)


def _read_line(options: form.Options, t: str) -> list[str]:
    """Read the options of driver/bn_driver.hpp: a training step (-F 1), an inference (-F 2) or gradients (-b 1)."""
    dims = tuple(int(options.get(*one)) for one in zip("ncDHW", ("32", "3", "0", "32", "32"), strict=True))
    dims = dims if dims[2] else (*dims[:2], *dims[3:])
    layout = options.get("L", "")
    spatial = int(options.get("m", "0")) == 1
    x = form.tensor_text(t, dims, layout)
    small = (1, dims[1], *(1,) * (len(dims) - 2)) if spatial else (1, *dims[1:])
    p = form.tensor_text("f64" if t == "f64" else "f32", small)
    saved = f" saved_mean={p} saved_inv_variance={p}" if int(options.get("s", "0")) else ""
    running = f" running_mean={p} running_variance={p}" if int(options.get("r", "0")) else ""
    parameters, mode = f"scale={p} bias={p}", f"mode={'spatial' if spatial else 'per_activation'}"
    if int(options.get("b", "0")):
        return [f"batch_normalization_backward x={x} dy={x} scale={p} dscale={p} dbias={p}{saved} {mode}"]
    way = int(options.get("F", "0"))
    if way == 1:
        return [f"batch_normalization_forward_training x={x} {parameters}{running}{saved} {mode}"]
    if way == 2:
        given = f"estimated_mean={p} estimated_variance={p}"
        return [f"batch_normalization_forward_inference x={x} {parameters} {given} {mode}"]
    raise NotSupported(argument="-F", expected="1 for training, 2 for inference, or -b 1 for gradients", got=way)


def _write(problem: Any, numbers: form.Numbers) -> str:
    x = problem.x
    names = "ncDHW" if len(x.dims) == 5 else "ncHW"
    options: dict[str, Any] = dict(zip(names, x.dims, strict=True))
    options["m"] = int(problem.mode.name == "SPATIAL")
    backward, inference = problem.op.endswith("backward"), problem.op.endswith("inference")
    options |= {"forw": 0 if backward else 2 if inference else 1, "b": int(backward)}
    options["s"] = int(getattr(problem, "saved_mean", None) is not None)
    options["r"] = int(inference or getattr(problem, "running_mean", None) is not None)
    options |= form.layouts(layout=x)
    base = form.first_word("bnorm", x, form.SHORT)
    mixed = problem.scale.dtype is DataType.FLOAT and x.dtype is not DataType.FLOAT
    return f"{base}{'fp32' if mixed else ''} {form.written(**options)}"


_LONG = {
    **{"batchsize": "n", "in_channels": "c", "in_d": "D", "in_h": "H", "in_w": "W", "layout": "L", "mode": "m"},
    **{"forw": "F", "back": "b", "save": "s", "run": "r"},
}
_DRIVER = form.Driver("bnorm", _write, _read_line, letters=_LONG)


def _before(problem: Any) -> Before:
    if problem.saved_mean is not None:
        yield counterpart(BatchNormalizationForwardTraining, problem, {"y": "dx", "bias": "dbias"})


RECORDS = (
    Operation(
        BatchNormalizationForwardTraining,
        batch_normalization_forward_training,
        _drawing(exponential_average_factor=(1.0, 0.5, 0.1, 1.0, 0.0)),
        Features(
            described(backward=False),
            ranks=plain.IMAGE_RANKS,
            more={"running": (False, True), "saved": (False, True), **plain.BLENDED},
        ),
        Wrong(
            "4.96",
            "x={t}:2x3x4x5 y={t}:2x3x4x5 scale={p}:1x3x1x1 bias={p}:1x3x1x1 running_mean={p}:1x3x1x1 "
            "running_variance={p}:1x3x1x1 saved_mean={p}:1x3x1x1 saved_inv_variance={p}:1x3x1x1 mode=spatial",
            {
                BAD: (
                    *_WRONG,
                    "y={t}:2x3x5x4",
                    "running_mean={p}:1x4x1x1",
                    "saved_mean=",
                    "running_variance=",
                    "bias={p}:1x3x1",
                )
            },
        ),
        DATA,
        driver=_DRIVER,
        c_calls=(CCall("cudnnBatchNormalizationForwardTraining", "x y", {"mode": "mode"}),),
        benchmarks=("x={t} running_mean={c} running_variance={c} saved_mean={c} saved_inv_variance={c}",),
    ),
    Operation(
        BatchNormalizationForwardInference,
        batch_normalization_forward_inference,
        _drawing(),
        Features(described(backward=False, inference=True), ranks=plain.IMAGE_RANKS, more=plain.BLENDED),
        Wrong(
            "4.95",
            "x={t}:2x3x4x5 y={t}:2x3x4x5 scale={p}:1x3x1x1 bias={p}:1x3x1x1 estimated_mean={p}:1x3x1x1 "
            "estimated_variance={p}:1x3x1x1 mode=spatial",
            {BAD: (*_WRONG, "y={t}:2x3x5x4", "estimated_mean={wrong}:1x3x1x1", "estimated_variance={p}:1x3x4x5")},
        ),
        DATA,
        driver=_DRIVER,
        c_calls=(CCall("cudnnBatchNormalizationForwardInference", "x y", {"mode": "mode"}),),
        benchmarks=("x={t}",),
    ),
    Operation(
        BatchNormalizationBackward,
        batch_normalization_backward,
        _drawing(),
        Features(described(backward=True), ranks=plain.IMAGE_RANKS, more=BLENDED_GRADIENTS),
        Wrong(
            "4.97",
            "x={t}:2x3x4x5 dy={t}:2x3x4x5 dx={t}:2x3x4x5 scale={p}:1x3x1x1 dscale={p}:1x3x1x1 dbias={p}:1x3x1x1 "
            "saved_mean={p}:1x3x1x1 saved_inv_variance={p}:1x3x1x1 mode=spatial",
            {
                BAD: (
                    *_WRONG,
                    "dy={t}:2x3x5x4",
                    "dx={o}:2x3x4x5",
                    "dbias={p}:1x4x1x1",
                    "saved_inv_variance=",
                    "in_place=dx:x",
                )
            },
        ),
        DATA,
        driver=_DRIVER,
        c_calls=(CCall("cudnnBatchNormalizationBackward", "x dy dx", {"mode": "mode"}),),
        benchmarks=("x={t} saved_mean={c} saved_inv_variance={c}",),
        before=_before,
    ),
)
