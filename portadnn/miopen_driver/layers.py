"""MIOpenDriver's lines of batch normalisation, dropout, CTC loss and fused convolutions, read as problem lines.

Options and defaults are those of driver/bn_driver.hpp, dropout_driver.hpp, ctc_driver.hpp and
CBAInferFusion_driver.hpp.
"""

from __future__ import annotations

from typing import Any

from ..errors import NotSupported
from .convolution import image_and_filter
from .form import (
    Driver,
    NoLine,
    Numbers,
    Options,
    directions,
    first_word,
    image_options,
    member,
    number,
    numbers_of,
    tensor_text,
    written,
)

LONG_OF_BATCH_NORM = {
    **{"batchsize": "n", "in_channels": "c", "in_d": "D", "in_h": "H", "in_w": "W", "layout": "L", "mode": "m"},
    **{"forw": "F", "back": "b", "save": "s", "run": "r"},
}
_CONVOLUTION_BIAS_ACTIVATION, _CONVOLUTION_BIAS = 4, 6  # fusion modes; others lack the bias, or normalise


def batch_norm(options: Options, t: str) -> list[str]:
    """Read bnorm: a training step (-F 1), an inference (-F 2) or gradients (-b 1)."""
    dims = tuple(int(options.get(*one)) for one in zip("ncDHW", ("32", "3", "0", "32", "32"), strict=True))
    dims = dims if dims[2] else (*dims[:2], *dims[3:])
    layout = options.get("L", "")
    spatial = int(options.get("m", "0")) == 1
    x = tensor_text(t, dims, layout)
    small = (1, dims[1], *(1,) * (len(dims) - 2)) if spatial else (1, *dims[1:])
    p = tensor_text("f64" if t == "f64" else "f32", small)
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


def dropout(options: Options, t: str) -> list[str]:
    """Read dropout; seeds are the data's."""
    dims = numbers_of(options.get("d", "4"))
    x, share = tensor_text(t, dims + (1,) * (3 - len(dims))), float(options.get("p", "0.5"))
    names = {"forward": "x", "backward": "dy"}
    ways = directions(options, {1: "forward", 2: "backward"})
    return [f"dropout_{way} {names[way]}={x} dropout={share}" for way in ways]


def read_ctc(options: Options, t: str) -> list[str]:
    """Read ctc: labels and lengths are data; the longest ones make the sizes."""
    batch, classes = int(options.get("n", "4")), int(options.get("c", "9")) + 1
    steps, longest = (max(numbers_of(options.get(*one))[:batch]) for one in (("k", "20"), ("l", "5")))
    probs, lengths = tensor_text("f32", (steps, batch, classes)), f"i32:{batch}"
    given = f"probs={probs} labels=i32:{batch}x{longest} label_lengths={lengths} input_lengths={lengths}"
    how = "softmax" if int(options.get("m", "1")) == 1 else "none"
    rest = f"normalization={how} blank={int(options.get('b', '0'))}"
    return [f"ctc_loss {given} costs=f32:{batch} gradients={probs} {rest}"]


def _write_ctc(problem: Any, numbers: Numbers) -> str:
    """Return the options of a CTC loss; of labels and lengths, which are data, the longest."""
    steps, batch, classes = problem.probs.dims
    if problem.gradients is None:
        raise NoLine("the driver computes gradients always")
    options = {"F": 1, "n": batch, "k": steps, "l": problem.longest, "c": classes - 1, "b": problem.blank}
    softmax = int(problem.normalization.name == "SOFTMAX")
    return f"{first_word('ctc', problem.probs, (problem.probs.dtype.FLOAT,))} {written(**options, m=softmax)}"


def read_fused(options: Options, t: str) -> list[str]:
    """Read CBAInfer: a convolution with bias and, in mode 4, an activation."""
    way = int(options.get("F", "0"))
    if way not in (_CONVOLUTION_BIAS_ACTIVATION, _CONVOLUTION_BIAS):
        expected = "4 (convolution, bias, activation) or 6 (convolution, bias)"
        raise NotSupported(argument="-F", expected=expected, got=way)
    image, filter, result, rest = image_and_filter({**options, "m": options.get("z", "conv")}, t)
    mode = int(options.get("m", "3")) if way == _CONVOLUTION_BIAS_ACTIVATION else 0
    name, alpha = member("ActivationMode", mode), float(options.get("A", "1"))
    coefficient = {"CLIPPED_RELU": f" ceiling={alpha}", "ELU": f" coef={alpha}"}.get(name, "")
    return [
        f"convolution_bias_activation_forward x={image} w={filter} y={result} {rest} "
        f"activation={name.lower()}{coefficient}"
    ]


def _write_fused(problem: Any, numbers: Numbers) -> str:
    if numbers.get("alpha2", 0.0):
        raise NoLine("the driver adds no z")
    if problem.mode.name == "CONVOLUTION":
        raise NoLine("MIOpen does not flip filters")
    options: dict[str, Any] = {**image_options(problem.x), "k": problem.w.dims[0], "g": problem.groups}
    for letters, values in (("yx", problem.w.dims[2:]), ("uv", problem.stride), ("pq", problem.padding)):
        options.update(zip(letters, values, strict=True))
    options.update(zip("lj", problem.dilation, strict=True))
    plain = problem.activation.name == "IDENTITY"
    if not plain:
        options["m"] = number(problem.activation)
        alpha = {"CLIPPED_RELU": problem.ceiling, "ELU": problem.coef}.get(problem.activation.name)
        options |= {} if alpha is None else {"A": float(alpha)}
    options["F"] = _CONVOLUTION_BIAS if plain else _CONVOLUTION_BIAS_ACTIVATION
    return f"{first_word('CBAInfer', problem.x)} {written(**options)}"


_LONG_OF_FUSED = {
    **{"batchsize": "n", "in_channels": "c", "in_h": "H", "in_w": "W", "out_channels": "k", "group_count": "g"},
    **{"fil_h": "y", "fil_w": "x", "conv_stride_h": "u", "conv_stride_w": "v", "pad_h": "p", "pad_w": "q"},
    **{"alpha": "A", "activMode": "m", "dilation_h": "l", "dilation_w": "j", "pad_mode": "z", "fusion_mode": "F"},
}
_LONG_OF_CTC = {
    **{"forw": "F", "apply_softmax_layer": "m", "blank_label_id": "b", "input_len": "k", "label_len": "l"},
    **{"num_class": "c", "batchsize": "n"},
}
CTC = Driver("ctc", _write_ctc, read_ctc, letters=_LONG_OF_CTC)
FUSED = Driver("CBAInfer", _write_fused, read_fused, letters=_LONG_OF_FUSED)
