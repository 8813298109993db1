"""MIOpenDriver's lines of convolutions, plain and fused with bias and activation (driver/CBAInferFusion_driver.hpp)."""

from __future__ import annotations

from typing import Any

from ..errors import NotSupported
from ..shapes import window_output
from .form import (
    SHORT,
    Driver,
    NoLine,
    Numbers,
    Options,
    direction,
    directions,
    first_word,
    image_options,
    layouts,
    member,
    number,
    tensor_text,
    written,
)

_CONVOLUTION_BIAS_ACTIVATION, _CONVOLUTION_BIAS = 4, 6  # fusion modes; others lack the bias, or normalise


def _write(problem: Any, numbers: Numbers) -> str:
    if problem.mode.name == "CONVOLUTION":
        raise NoLine("MIOpen does not flip filters")
    x, w = problem.image, problem.filter
    base = first_word("conv", x, SHORT)
    (n, c), (k,) = x.dims[:2], w.dims[:1]
    deep = len(x.dims) == 5
    options: dict[str, Any] = {"n": n, "c": c}
    if deep:
        options["in_d"] = x.dims[2]
    options.update(zip("HW", x.dims[-2:], strict=True), k=k)
    if deep:
        options["fil_d"] = w.dims[2]
    options.update(zip("yx", w.dims[-2:], strict=True))
    for letters, long, values in (
        ("pq", "pad_d", problem.padding),
        ("uv", "conv_stride_d", problem.stride),
        ("lj", "dilation_d", problem.dilation),
    ):
        if deep:
            options[long] = values[0]
        options.update(zip(letters, values[-2:], strict=True))
    if deep:
        options["spatial_dim"] = 3
    options.update(layouts(in_layout=x, fil_layout=w, out_layout=problem.result))
    return f"{base} {written(**options, m='conv', g=problem.groups, F=direction(problem), t=1)}"


def _image_and_filter(options: Options, t: str) -> tuple[str, str, str, str]:
    """Return image, filter and result as problem lines have them, and the settings that follow."""
    deep = options.get("spatial_dim", options.get("_", "2")) == "3"

    def numbers(letters: str, long: str, default: str) -> tuple[int, ...]:
        first = (options.get(long, options.get("!", default)),) if deep else ()
        return tuple(int(n) for n in (*first, *(options.get(letter, default) for letter in letters)))

    if options.get("m", "conv") != "conv":
        raise NotSupported(argument="-m", expected="conv", got=options["m"])
    n, c, groups = (int(options.get(o, d)) for o, d in (("n", "100"), ("c", "3"), ("g", "1")))
    k = int(options.get("k", "32"))
    size, taps = numbers("HW", "in_d", "32"), numbers("yx", "fil_d", "3")
    pads, steps, holes = (
        numbers("pq", "pad_d", "0"),
        numbers("uv", "conv_stride_d", "1"),
        numbers("lj", "dilation_d", "1"),
    )
    out = tuple(window_output(*axis) for axis in zip(size, taps, pads, steps, holes, strict=True))
    image = tensor_text(t, (n, c, *size), options.get("in_layout", options.get("I", "")))
    filter = tensor_text(t, (k, c // max(groups, 1), *taps), options.get("fil_layout", ""))
    result = tensor_text(t, (n, k, *out), options.get("out_layout", ""))
    rest = " ".join(
        f"{name}={','.join(map(str, values))}"
        for name, values in (("padding", pads), ("stride", steps), ("dilation", holes))
    )
    return image, filter, result, f"{rest} groups={groups}"


def _read(options: Options, t: str) -> list[str]:
    image, filter, result, rest = _image_and_filter(options, t)
    lines = {
        "forward": f"x={image} w={filter} y={result}",
        "backward_data": f"w={filter} dy={result} dx={image}",
        "backward_filter": f"x={image} dy={result} dw={filter}",
    }
    names = directions(options, {1: "forward", 2: "backward_data", 4: "backward_filter"})
    return [f"convolution_{name} {lines[name]} {rest}" for name in names]


def _read_fused(options: Options, t: str) -> list[str]:
    """Read CBAInfer: a convolution with bias and, in mode 4, an activation."""
    way = int(options.get("F", "0"))
    if way not in (_CONVOLUTION_BIAS_ACTIVATION, _CONVOLUTION_BIAS):
        expected = "4 (convolution, bias, activation) or 6 (convolution, bias)"
        raise NotSupported(argument="-F", expected=expected, got=way)
    image, filter, result, rest = _image_and_filter({**options, "m": options.get("z", "conv")}, t)
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
CONVOLUTION = Driver("conv", _write, _read)
FUSED = Driver("CBAInfer", _write_fused, _read_fused, letters=_LONG_OF_FUSED)
