"""Records of pooling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import IMAGE_RANKS, NAN, SIZES, image_dims
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import PoolingMode
from ...miopen_driver import form
from ...operation import BAD, CCall, Data, Features, Operation, Wrong, forward_call, output_of_forward
from ...shapes import pooling_output_dims, window_output
from ..pooling import PoolingBackward, PoolingForward, pooling_backward, pooling_forward

_WINDOWS = ("2/2", "3/2", "any", "3/1", "whole", "beyond", "large", "1/1", "any")


def _text(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


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


_DRAWING = Drawing(
    _pooling,
    crossed={"dtype": TYPES, "layout": CLASSES, "mode": tuple(PoolingMode)},
    turns={"size": SIZES, "rank": IMAGE_RANKS, "window": _WINDOWS, "nan": NAN},
)


def _plain(*names: str) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        window = c["window"]
        x = (1, 1, *(1,) * (len(window) - 1), 2**30 + 1) if c.get("size") == "wide" else plain.dims_of(c)
        if max(window) > 2:
            x = (1, 1, *window[:3], *(1,) * (len(window) - 3))
        steps, pads = (c.get(name, (value,) * len(window)) for name, value in (("stride", 1), ("padding", 0)))
        axes = zip(x[2:], window, pads, steps, strict=True)
        y = (*x[:2], *(max(window_output(*axis), 0) for axis in axes))
        layout_in, layout_out = plain.layouts_of(c)
        if "dx" in names:  # whose strides are those of x
            layout_in, layout_out = layout_out, layout_in
        sizes = {"x": (x, layout_in), "dx": (x, layout_in), "y": (y, layout_out), "dy": (y, layout_out)}
        return {name: plain.text(c["dtype"], *sizes[name]) for name in names}

    return tensors


def _default_window(c: Choices) -> Mapping[str, Any]:
    return {} if "window" in c else {"window": (1 if c.get("size") == "wide" else 2,) * (c.get("rank", 4) - 2)}


def _features(*names: str) -> Features:
    more = {"window": ("2", "4097"), "stride": ("1", str(2**30)), "padding": ("0", "1", "2"), **plain.BLENDED}
    return Features(
        _plain(*names),
        {"mode": "max"},
        plain.WINDOW_RANKS,
        sizes=(*plain.SIZES, "wide"),
        more=more,
        implied=_default_window,
    )


def _one_larger(*results: str) -> tuple[str, ...]:
    """Return changes by which a window is one larger than the padded image."""
    changes = (("2x3x0x3", "window=9,2"), ("2x3x4x0", "window=2,7"), ("2x3x0x3", "window=11,2 padding=1,0"))
    return tuple(" ".join((*(f"{y}={{t}}:{dims}" for y in results), rest)) for dims, rest in changes)


_WRONG = ("window=2", "window=0,2", "stride=0,2", "stride=2", "padding=1,1", "padding=0")


def _exact(problem: Any) -> bool:
    return problem.mode is PoolingMode.MAX


def _write(problem: Any, numbers: form.Numbers) -> str:
    x = problem.x
    mode = {"MAX": "max", "AVERAGE_COUNT_INCLUDE_PADDING": "avg_in", "AVERAGE_COUNT_EXCLUDE_PADDING": "avg"}
    layout = "NCDHW" if len(x.dims) == 5 else "NCHW"
    layout = next(iter(form.layouts(x=x).values()), layout)
    options: dict[str, Any] = {"input": f"{'x'.join(map(str, x.dims))},{layout}"}
    for long, values in (("win", problem.window), ("pool_stride", problem.stride), ("pad", problem.padding)):
        options.update(zip([f"{long}_{axis}" for axis in "dhw"[-len(values) :]], values, strict=True))
    forward = int(problem.op == "pooling_forward")  # -F 0 runs both directions: the driver has no backward alone
    return f"{form.first_word('pool', x)} {form.written(**options, m=mode[problem.mode.name], F=forward)}"


def _read(options: form.Options, t: str) -> list[str]:
    modes = {"max": "max", "avg": "average_count_exclude_padding", "avg_in": "average_count_include_padding"}
    dims, _, layout = options["input"].partition(",")
    sizes = tuple(map(int, dims.split("x")))
    axes = "dhw"[-(len(sizes) - 2) :]

    def numbers(long: str, default: str) -> str:
        return ",".join(str(int(options.get(f"{long}_{axis}", default))) for axis in axes)

    rest = f"window={numbers('win', '3')} stride={numbers('pool_stride', '1')} padding={numbers('pad', '0')}"
    x = form.tensor_text(t, sizes, layout if layout.endswith("C") else "")
    names = ["forward"] if options.get("F") == "1" else ["forward", "backward"]
    return [f"pooling_{name} x={x} mode={modes[options.get('m', 'max')]} {rest}" for name in names]


_DRIVER = form.Driver("pool", _write, _read, letters={})


_SETTINGS = {
    "mode": "poolingDesc.mode",
    "window": "poolingDesc.windowDimA",
    "padding": "poolingDesc.paddingA",
    "stride": "poolingDesc.strideA",
    "nan_propagation": "poolingDesc.maxpoolingNanOpt",
}


def _timed(tensors: str) -> tuple[str, ...]:
    modes = ("max", "average_count_include_padding")
    return tuple(f"{tensors} mode={mode} window=3,3 padding=1,1 stride=2,2" for mode in modes)


RECORDS = (
    Operation(
        PoolingForward,
        pooling_forward,
        _DRAWING,
        _features("x", "y"),
        Wrong(
            "4.78",
            "x={t}:2x3x8x6 y={t}:2x3x4x3 mode=max window=2,2 padding=0,0 stride=2,2",
            {BAD: (*_one_larger("y"), "y={t}:2x3x4x4", "y={t}:2x2x4x3", "y={o}:2x3x4x3", "y={t}:1x3x4x3", *_WRONG)},
        ),
        Data((("AVERAGE*", ("huge",), "sums overflow before they are divided"),), _exact),
        driver=_DRIVER,
        c_calls=(CCall("cudnnPoolingForward", "x y", _SETTINGS, ("mode", "window")),),
        benchmarks=_timed("x={t} y={pooled}"),
    ),
    Operation(
        PoolingBackward,
        pooling_backward,
        _DRAWING,
        _features("y", "dy", "x", "dx"),
        Wrong(
            "4.79",
            "y={t}:2x3x4x3 dy={t}:2x3x4x3 x={t}:2x3x8x6 dx={t}:2x3x8x6 mode=max window=2,2 padding=0,0 stride=2,2",
            {
                BAD: (
                    *_one_larger("y", "dy"),
                    "dy={t}:2x3x4x4",
                    "dx={t}:2x3x8x7",
                    "dx={o}:2x3x8x6",
                    "dx={t}:2x3x8x6:nhwc",
                    "dy={t}:2x3x4x3:nhwc",
                    "in_place=dx:x",
                    *_WRONG,
                )
            },
        ),
        Data(exact=_exact, fit=output_of_forward(PoolingForward)),
        driver=_DRIVER,
        c_calls=(CCall("cudnnPoolingBackward", "y dy x dx", _SETTINGS, ("mode", "window")),),
        benchmarks=_timed("y={pooled} dy={pooled} x={t} dx={t}"),
        before=forward_call(PoolingForward),
    ),
)
