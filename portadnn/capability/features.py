"""The features that tables are asked about: each operation's choices, and a small problem line for each.

A feature is a choice along one axis (``dtype=f16``, ``layout=nhwc``, ``mode=max`` ...) with everything else as plain as
can be. :func:`line` combines choices freely, which the tests do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from ..enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    DnnEnum,
    TensorFormat,
)
from ..errors import BadParam, NotSupported, shown
from ..problem import FLOAT_TYPES, Problem, every_problem, packed_strides, read_line

DTYPES = tuple(dtype.code for dtype in FLOAT_TYPES)
RANKS = tuple(range(3, 10))
LAYOUTS = ("nchw", "nhwc", "strided", "mixed", "repeated", "overlapping")
ALGORITHMS: dict[str, type[DnnEnum]] = {
    "convolution_forward": ConvolutionFwdAlgo,
    "convolution_backward_data": ConvolutionBwdDataAlgo,
    "convolution_backward_filter": ConvolutionBwdFilterAlgo,
    "convolution_bias_activation_forward": ConvolutionFwdAlgo,
}
_AREAS = {"large": (65536, 4097), "wide": (1, 2**24 + 1), "vast": (65536, 32768)}
_SPATIAL = (5, 4, 3, 2, 1, 2, 1)
_FILTERS = {"3": (3, 3, 3, 3), "1": (1, 1, 1, 1), "5": (5, 5, 5, 5), "65": (65, 65, 1, 1)}

_SIZES = ("small", "empty", "large")

Choices = Mapping[str, Any]


@dataclass(frozen=True)
class Feature:
    """One choice of an operation, and a problem that makes it.

    Attributes
    ----------
    op, axis, value : str
        Such as ``"softmax_forward"``, ``"dtype"``, ``"f16"``; axis and value are empty for the plainest problem.
    line : str
        A problem line, which need not be valid: how many dims a convolution takes is a feature, too.
    algo : DnnEnum or None
        The algorithm that is asked for.
    """

    op: str
    axis: str
    value: str
    line: str
    algo: DnnEnum | None = None

    @property
    def name(self) -> str:
        """The choice in words."""
        return f"{self.axis}={self.value}" if self.axis else "plain"

    @functools.cached_property
    def problem(self) -> Problem:
        """The problem, which is not validated."""
        return read_line(self.line, valid=False)[0]

    @functools.cached_property
    def possible(self) -> bool:
        """Whether portadnn's operation takes such a problem, whatever computes it."""
        try:
            self.problem.validate()
        except NotSupported:
            return False
        return True

    @functools.cached_property
    def scalars(self) -> dict[str, float]:
        """The run-time numbers that the line gives."""
        return read_line(self.line, valid=False)[1]


def _text(dtype: str, dims: tuple[int, ...], layout: str = "nchw") -> str:
    """Return a tensor's text form; "strided" has gaps everywhere, "repeated" the same memory for each n."""
    word = f"{dtype}:{'x'.join(map(str, dims))}"
    if layout == "nhwc":
        return f"{word}:nhwc" if packed_strides(dims) != packed_strides(dims, TensorFormat.NHWC) else word
    if layout == "nchw":
        return word
    strides = [2 * s for s in packed_strides(tuple(d + 1 for d in dims))] if layout == "strided" else [0]
    if layout == "repeated":
        strides += packed_strides(dims)[1:]
    return f"{word}/{','.join(map(str, strides))}"


def _large(c: Choices) -> tuple[int, ...]:
    """Return the dims of an image of more than 2 Gi elements."""
    spatial = c.get("rank", 4) - 2
    return (1, 8, 2**29) if spatial == 1 else (1, 8, *_AREAS["large"], *(1,) * (spatial - 2))


def _dims(c: Choices, n: int = 2, channels: int = 8) -> tuple[int, ...]:
    """Return the dims of an image."""
    if c.get("size") == "large":
        return _large(c)
    return (0 if c.get("size") == "empty" else n, channels, *_SPATIAL[: c.get("rank", 4) - 2])


def _layouts(c: Choices) -> tuple[str, str]:
    """Return the layouts of the first input and of outputs."""
    layout = c.get("layout", "nchw")
    pairs = {"mixed": ("nhwc", "nchw"), "repeated": ("repeated", "nchw"), "overlapping": ("nchw", "repeated")}
    return pairs.get(layout, (layout, layout))


def _images(*names: str) -> Callable[[Choices], dict[str, str]]:
    """Describe an operation whose tensors all have the same dims; those behind "|" share the outputs' layout."""
    bar = names.index("|")

    def tensors(c: Choices) -> dict[str, str]:
        layout_in, layout_out = _layouts(c)
        dims = _dims(c)
        inputs = {name: _text(c["dtype"], dims, layout_in) for name in names[:bar]}
        return inputs | {name: _text(c["dtype"], dims, layout_out) for name in names[bar + 1 :]}

    return tensors


def _convolution(c: Choices, output: str) -> dict[str, str]:
    layout_in, layout_out = _layouts(c)
    rank = c.get("rank", 4)
    spatial = rank - 2
    image = _large(c) if c.get("size") == "large" else (_dims(c)[0], 8, *(11, 9, 10, 8, 3, 3, 3)[:spatial])
    taps = _FILTERS[c.get("filter", "3")][:spatial]
    if c.get("filter") == "65":
        image = (1, 8, *(130, 129, 1, 1)[:spatial])
    if c.get("image") == "large":
        image = (*image[:2], *(300,) * min(spatial, 2), *(3,) * (spatial - 2))
    groups = c.get("groups", 1)
    filters = 16 if groups == 8 else 6
    pads, steps, holes = (tuple(c.get(k, (d,) * spatial)) for k, d in (("padding", 0), ("stride", 1), ("dilation", 1)))
    axes = zip(image[2:], taps, pads, steps, holes, strict=True)
    out = tuple(max(1 + (size + 2 * p - (t - 1) * h - 1) // s, 0) for size, t, p, s, h in axes)
    t = c["dtype"]
    dims = {"image": image, "filter": (filters, 8 // groups, *taps), "result": (image[0], filters, *out)}
    layouts = {role: layout_out if role == output else layout_in for role in dims}
    if c.get("layout") == "repeated":  # there is no n in a filter
        layouts["filter"] = "nchw"
    return {role: _text(t, dims[role], layouts[role]) for role in dims}


def _roles(image: str, filter: str, result: str) -> Callable[[Choices], dict[str, str]]:
    """Describe a convolution by the names of its tensors, that of the output with a star."""
    names = {"image": image.strip("*"), "filter": filter.strip("*"), "result": result.strip("*")}
    stars = {"image": image, "filter": filter, "result": result}
    output = next(role for role, name in stars.items() if name.endswith("*"))
    return lambda c: {names[role]: text for role, text in _convolution(c, output).items()}


def _pooled(*inputs: str) -> Callable[[Choices], dict[str, str]]:
    def tensors(c: Choices) -> dict[str, str]:
        window = c["window"]
        x = (1, 1, *(1,) * (len(window) - 1), 2**30 + 1) if c.get("size") == "wide" else _dims(c)
        if max(window) > 2:
            x = (1, 1, *window[:3], *(1,) * (len(window) - 3))
        steps, pads = (c.get(name, (plain,) * len(window)) for name, plain in (("stride", 1), ("padding", 0)))
        axes = zip(x[2:], window, pads, steps, strict=True)
        y = (*x[:2], *(max(1 + (size + 2 * p - w) // s, 0) for size, w, p, s in axes))
        layout_in, layout_out = _layouts(c)
        if "dx" in inputs:  # whose strides are those of x
            layout_in, layout_out = layout_out, layout_in
        sizes = {"x": (x, layout_in), "dx": (x, layout_in), "y": (y, layout_out), "dy": (y, layout_out)}
        return {name: _text(c["dtype"], *sizes[name]) for name in inputs}

    return tensors


def _broadcast(c: Choices) -> dict[str, str]:
    layout_in, layout_out = _layouts(c)
    dims = _dims(c)
    small = (1, dims[1], *(1,) * (len(dims) - 2))
    return {"a": _text(c["dtype"], small, layout_in), "c": _text(c["dtype"], dims, layout_out)}


def _stored(c: Choices) -> str:
    """Return the type of an output that need not have the inputs'."""
    return "f16" if c.get("types") == "mixed" else str(c["dtype"])


def _pairwise(c: Choices) -> dict[str, str]:
    layout_in, layout_out = _layouts(c)
    dims = _dims(c)
    small = dims if c.get("layout") in ("strided", "repeated") else (1, dims[1], *(1,) * (len(dims) - 2))
    return {
        "a": _text(c["dtype"], dims, layout_in),
        "b": _text(c["dtype"], small, layout_in),
        "c": _text(_stored(c), dims, layout_out),
    }


def _bias(c: Choices) -> dict[str, str]:
    return {"dy": _text(c["dtype"], _dims(c), _layouts(c)[0])}


def _reduced(c: Choices) -> dict[str, str]:
    layout_in, layout_out = _layouts(c)
    dims = _dims(c)
    kept = (dims[0], 1, *(1 for _ in dims[2:]))
    found = {"a": _text(c["dtype"], dims, layout_in), "c": _text(_stored(c), kept, layout_out)}
    return found | ({"indices": _text("i32", kept)} if c.get("indices") else {})


def _parameters(c: Choices) -> str:
    return "f64" if c["dtype"] == "f64" else "f32"


def _batch_norm(*, backward: bool, inference: bool = False) -> Callable[[Choices], dict[str, str]]:
    def tensors(c: Choices) -> dict[str, str]:
        layout_in, layout_out = _layouts(c)
        dims = _dims(c)
        found = {"x": _text(c["dtype"], dims, layout_in)}
        if backward:
            found |= {"dy": _text(c["dtype"], dims, layout_out), "dx": _text(c["dtype"], dims, layout_out)}
        else:
            found["y"] = _text(c["dtype"], dims, layout_out)
        first = 2 if c.get("mode", "spatial").startswith("spatial") else len(dims)
        p = _text(_parameters(c), (1, *dims[1:first], *(1,) * (len(dims) - first)))
        if c.get("saved") and not inference:
            found |= {"saved_mean": p, "saved_inv_variance": p}
        if c.get("running") and not backward and not inference:
            found |= {"running_mean": p, "running_variance": p}
        return found

    return tensors


def _normalized(*, backward: bool) -> Callable[[Choices], dict[str, str]]:
    def tensors(c: Choices) -> dict[str, str]:
        found = _batch_norm(backward=backward)({**c, "saved": False})
        dims, mode = _dims(c), c.get("mode", "layer_norm")
        from_axis = mode in ("layer_norm", "rms_norm")
        p = (1, *dims[1:]) if from_axis else (1, dims[1], *(1,) * (len(dims) - 2))
        found["scale"] = _text(_parameters(c), p)
        if not backward and mode != "rms_norm":
            found["bias"] = _text(_parameters(c), p)
        if c.get("saved"):
            s = (dims[0], {"instance_norm": 8, "group_norm": 4}.get(mode, 1), *(1,) * (len(dims) - 2))
            found |= {"saved_mean": _text(_parameters(c), s), "saved_inv_variance": _text(_parameters(c), s)}
        return found

    return tensors


def _recurrent(*names: str) -> Callable[[Choices], dict[str, str]]:
    def tensors(c: Choices) -> dict[str, str]:
        from ..ops.rnn.layout import Network, RNNMode

        mode, skip = RNNMode.parse(c.get("mode", "lstm")), c.get("input_mode") == "skip_input"
        ways = 2 if c.get("direction") == "bidirectional" else 1
        hidden = c["hidden_size"]
        features = hidden if skip else 3
        size = Network(mode, hidden, c.get("num_layers", 1), ways, features, skip).size
        batch = 2**27 if c.get("size") == "long" else 2
        narrow, wide = (((3, n, 1) if c.get("batch_sizes") else (2, batch, n)) for n in (features, hidden * ways))
        sizes = {"x": narrow, "dx": narrow, "y": wide, "dy": wide, "w": (size, 1, 1), "dw": (size, 1, 1)}
        return {name: _text(c["dtype"], sizes[name]) for name in names}

    return tensors


def _grid(c: Choices) -> dict[str, str]:
    n = 0 if c.get("size") == "empty" else 2
    h, w = _AREAS.get(c.get("size", ""), (4, 3))
    if c["op"].endswith("grid_generator_forward"):
        return {"theta": _text(c["dtype"], (n, 2, 3), _layouts(c)[0]), "dims": f"{n},3,{h},{w}"}
    if c["op"].endswith("grid_generator_backward"):
        return {"dgrid": _text(c["dtype"], (n, h, w, 2), _layouts(c)[0])}
    layout_in, layout_out = _layouts(c)
    x = (*_dims(c)[:2], h, w) if c.get("size") in _AREAS else _dims(c)
    h, w = (65536, 32768) if c.get("size") == "vast_grid" else (4, 3)
    out = "y" if c["op"].endswith("forward") else "dy"
    return {
        "x": _text(c["dtype"], x, layout_in),
        "grid": _text(c["dtype"], (x[0], h, w, 2), "nchw" if c.get("layout") == "repeated" else layout_in),
        out: _text(c["dtype"], (*x[:2], h, w), layout_out),
    }


@dataclass(frozen=True)
class Operation:
    """How an operation's problems are made: tensors from choices, what has to be given, and the axes of choice."""

    tensors: Callable[[Choices], dict[str, str]]
    given: Mapping[str, Any] = ()  # type: ignore[assignment]
    ranks: tuple[int, ...] = RANKS
    layouts: tuple[str, ...] = LAYOUTS
    sizes: tuple[str, ...] = _SIZES
    more: Mapping[str, tuple[Any, ...]] = ()  # type: ignore[assignment]


_CONVOLVED: dict[str, tuple[Any, ...]] = {
    "stride": ("1", "2"),
    "dilation": ("1", "2"),
    "filter": ("3", "1", "5", "65"),
    "groups": (1, 2, 8),
    "image": ("small", "large"),
}
_BLENDED: dict[str, tuple[Any, ...]] = {"alpha": (1, 2), "beta": (0, 1)}
_TYPES: dict[str, tuple[Any, ...]] = {"types": ("same", "mixed")}
_NORMAL: dict[str, tuple[Any, ...]] = {"saved": (False, True), **_BLENDED}
_RANKS_CONVOLUTION = (3, 4, 5, 6)
_POOLED: dict[str, tuple[Any, ...]] = {
    "window": ("2", "4097"),
    "stride": ("1", str(2**30)),
    "padding": ("0", "1", "2"),
    **_BLENDED,
}
_FEW_RANKS = (4, 5)
_NO_OUTPUT = ("nchw", "nhwc", "strided", "repeated")  # one tensor alone has a layout
_AREA_SIZES = (*_SIZES, "wide", "vast")
_RECURRENT: dict[str, Any] = {
    "ranks": (),
    "layouts": (),
    "sizes": ("small", "large", "long"),
    "more": {"num_layers": (1, 2), "batch_sizes": ((), (2, 1)), "dropout": (0.0, 0.5)},
}

OPERATIONS: dict[str, Operation] = {
    "activation_backward": Operation(_images("y", "dy", "|", "x", "dx"), {"mode": "relu"}, more=_BLENDED),
    "activation_forward": Operation(_images("x", "|", "y"), {"mode": "relu"}, more=_BLENDED),
    "add_tensor": Operation(_broadcast, layouts=(*LAYOUTS[:4], "overlapping"), more={"alpha": (1, 2), "beta": (1, 0)}),
    "batch_normalization_backward": Operation(
        _batch_norm(backward=True),
        ranks=_FEW_RANKS,
        more={
            "saved": (False, True),
            "alpha_data_diff": (1, 2),
            "beta_data_diff": (0, 1),
            "alpha_param_diff": (1, 2),
            "beta_param_diff": (0, 1),
        },
    ),
    "batch_normalization_forward_inference": Operation(
        _batch_norm(backward=False, inference=True), ranks=_FEW_RANKS, more=_BLENDED
    ),
    "batch_normalization_forward_training": Operation(
        _batch_norm(backward=False), ranks=_FEW_RANKS, more={"running": (False, True), **_NORMAL}
    ),
    "convolution_backward_bias": Operation(_bias, layouts=_NO_OUTPUT, more=_BLENDED),
    "convolution_backward_data": Operation(
        _roles("dx*", "w", "dy"), ranks=_RANKS_CONVOLUTION, more={**_CONVOLVED, **_BLENDED}
    ),
    "convolution_backward_filter": Operation(
        _roles("x", "dw*", "dy"), ranks=_RANKS_CONVOLUTION, more={**_CONVOLVED, **_BLENDED}
    ),
    "convolution_bias_activation_forward": Operation(
        _roles("x", "w", "y*"),
        {"activation": "relu"},
        ranks=_RANKS_CONVOLUTION,
        more={**_CONVOLVED, "alpha1": (1, 2), "alpha2": (0, 1)},
    ),
    "convolution_forward": Operation(_roles("x", "w", "y*"), ranks=_RANKS_CONVOLUTION, more={**_CONVOLVED, **_BLENDED}),
    "divisive_normalization_backward": Operation(
        _images("x", "dy", "|", "dx"), {"lrn_n": 5}, ranks=_FEW_RANKS, more={"lrn_n": (5, 4), **_BLENDED}
    ),
    "divisive_normalization_forward": Operation(
        _images("x", "|", "y"), {"lrn_n": 5}, ranks=_FEW_RANKS, more={"lrn_n": (5, 4), **_BLENDED}
    ),
    "dropout_backward": Operation(_images("dy", "|", "dx"), {"dropout": 0.5}),
    "dropout_forward": Operation(_images("x", "|", "y"), {"dropout": 0.5}),
    "lrn_cross_channel_backward": Operation(
        _images("y", "dy", "|", "x", "dx"), {"lrn_n": 5}, more={"lrn_n": (5, 4), **_BLENDED}
    ),
    "lrn_cross_channel_forward": Operation(_images("x", "|", "y"), {"lrn_n": 5}, more={"lrn_n": (5, 4), **_BLENDED}),
    "normalization_backward": Operation(
        _normalized(backward=True),
        {"mode": "layer_norm"},
        more={
            "saved": (False, True),
            "alpha_data_diff": (1, 2),
            "beta_data_diff": (0, 1),
            "alpha_param_diff": (1, 2),
            "beta_param_diff": (0, 1),
        },
    ),
    "normalization_forward": Operation(_normalized(backward=False), {"mode": "layer_norm"}, more=_NORMAL),
    "op_tensor": Operation(
        _pairwise, {"operation": "add"}, more={**_TYPES, "alpha1": (1, 2), "alpha2": (1, 2), "beta": (0, 1)}
    ),
    "pooling_backward": Operation(
        _pooled("y", "dy", "x", "dx"), {"mode": "max"}, _RANKS_CONVOLUTION, sizes=(*_SIZES, "wide"), more=_POOLED
    ),
    "pooling_forward": Operation(
        _pooled("x", "y"), {"mode": "max"}, _RANKS_CONVOLUTION, sizes=(*_SIZES, "wide"), more=_POOLED
    ),
    "reduce_tensor": Operation(_reduced, {"operation": "add"}, more={"indices": (False, True), **_TYPES, **_BLENDED}),
    "rnn_backward_data": Operation(_recurrent("y", "dy", "w", "dx"), **_RECURRENT),
    "rnn_backward_weights": Operation(_recurrent("x", "y", "dw"), **_RECURRENT),
    "rnn_forward_inference": Operation(_recurrent("x", "w", "y"), **_RECURRENT),
    "rnn_forward_training": Operation(_recurrent("x", "w", "y"), **_RECURRENT),
    "scale_tensor": Operation(_images("|", "y"), {"alpha": 2}, layouts=(*LAYOUTS[:3], "overlapping")),
    "set_dropout_descriptor": Operation(lambda c: {}, {"seed": 5}, ranks=(), layouts=(), sizes=()),
    "set_tensor": Operation(_images("|", "y"), {"value": 2}, layouts=(*LAYOUTS[:3], "overlapping")),
    "softmax_backward": Operation(
        _images("y", "dy", "|", "dx"), {"algorithm": "accurate", "mode": "channel"}, more=_BLENDED
    ),
    "softmax_forward": Operation(_images("x", "|", "y"), {"algorithm": "accurate", "mode": "channel"}, more=_BLENDED),
    "spatial_tf_grid_generator_backward": Operation(_grid, ranks=(), layouts=_NO_OUTPUT, sizes=_AREA_SIZES),
    "spatial_tf_grid_generator_forward": Operation(_grid, ranks=(), layouts=_NO_OUTPUT, sizes=_AREA_SIZES),
    "spatial_tf_sampler_backward": Operation(
        _grid,
        ranks=_FEW_RANKS,
        sizes=(*_AREA_SIZES, "vast_grid"),
        more={**_BLENDED, "alpha_dgrid": (1, 2), "beta_dgrid": (0, 1)},
    ),
    "spatial_tf_sampler_forward": Operation(_grid, ranks=_FEW_RANKS, sizes=(*_AREA_SIZES, "vast_grid"), more=_BLENDED),
    "transform_tensor": Operation(_images("x", "|", "y"), more=_BLENDED),
}


@functools.cache
def _enums(op: str) -> dict[str, type[DnnEnum]]:
    """Return the fields of an operation that are enumerations."""
    kind = every_problem()[op]
    hints = get_type_hints(kind)
    return {
        f.name: hints[f.name]
        for f in fields(kind)
        if isinstance(hints[f.name], type) and issubclass(hints[f.name], DnnEnum)
    }


@functools.cache
def axes(op: str) -> dict[str, tuple[Any, ...]]:
    """Return the axes of choice of an operation, each with its values, the plain one first where there is one.

    Raises
    ------
    BadParam
        There is no such operation.
    """
    if op not in OPERATIONS:
        raise BadParam(argument="op", expected=f"one of {', '.join(OPERATIONS)}", got=shown(op))
    made = OPERATIONS[op]
    found: dict[str, tuple[Any, ...]] = {}
    if every_problem()[op].tensor_names() != ("states",):
        found["dtype"] = DTYPES
    found |= {"rank": made.ranks, "layout": made.layouts, "size": made.sizes}
    found |= {name: tuple(m.name.lower() for m in kind) for name, kind in _enums(op).items()}
    if "compute_type" in {f.name for f in fields(every_problem()[op])}:
        found["compute_type"] = ("none", "f32", "f64")
    found |= dict(made.more)
    if op in ALGORITHMS:
        found["algo"] = tuple(member.name.lower() for member in ALGORITHMS[op])
    return {axis: values for axis, values in found.items() if len(values) > 1}


def line(op: str, **choices: Any) -> str:
    """Return the line of a small problem with these choices, which may be one that no backend takes."""
    made = OPERATIONS[op]
    c: dict[str, Any] = {"op": op, "dtype": "f32", **dict(made.given), **choices}
    spatial = c.get("rank", 4) - 2
    for name in ("stride", "dilation", "padding", "window"):
        if name in c:
            c[name] = (int(c[name]),) * spatial if not isinstance(c[name], tuple) else c[name]
    if c.get("mode") == "group_norm":
        c["groups"] = 4
    if c.get("indices"):
        c["operation"] = "max"
    if "clipped_relu" in (c.get("mode"), c.get("activation")):
        c["ceiling"] = 0.5
    if op.startswith("pooling"):
        c.setdefault("window", (1 if c.get("size") == "wide" else 2,) * spatial)
    if op.startswith("rnn"):
        c["hidden_size"] = 32768 if c.get("size") == "large" else 5
        if c.get("dropout"):
            c["num_layers"] = 2  # it lies between layers
    kind = every_problem()[op]
    tensors = made.tensors(c)
    known = {f.name for f in fields(kind)} - set(kind.tensor_names()) | set(kind.scalars)
    words = [op, *(f"{name}={text}" for name, text in tensors.items())]
    words += [
        f"{name}={_word(value)}"
        for name, value in c.items()
        if name in known - set(tensors) and value not in ("none", ())
    ]
    return " ".join(words)


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@functools.cache
def features(op: str) -> tuple[Feature, ...]:
    """Return the plainest problem of an operation, and one for each choice.

    Raises
    ------
    BadParam
        There is no such operation.
    """
    found = [Feature(op, "", "", line(op))]
    for axis, values in axes(op).items():
        for value in values:
            if axis == "algo":
                found.append(Feature(op, axis, value, line(op), ALGORITHMS[op].parse(value)))
            else:
                found.append(Feature(op, axis, _word(value) or "none", line(op, **{axis: value})))
    return tuple(found)
