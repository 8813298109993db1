"""The features that tables are asked about: each operation's choices, and a small problem line for each.

A feature is a choice along one axis (``dtype=f16``, ``layout=nhwc``, ``mode=max`` ...) with everything else as plain as
can be. :func:`line` combines choices freely, which the tests do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from ..drawing.plain import (
    AREAS,
    BLENDED,
    IMAGE_RANKS,
    LAYOUTS,
    NO_OUTPUT,
    SIZES,
    TYPES,
    WINDOW_RANKS,
    Choices,
    dims_of,
    images,
    large_dims,
    layouts_of,
    parameter_type,
    stored_type,
    text,
)
from ..enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    DnnEnum,
)
from ..errors import BadParam, NotSupported, shown
from ..operation import Features, operations
from ..problem import FLOAT_TYPES, Problem, every_problem, read_line

DTYPES = tuple(dtype.code for dtype in FLOAT_TYPES)
ALGORITHMS: dict[str, type[DnnEnum]] = {
    "convolution_forward": ConvolutionFwdAlgo,
    "convolution_backward_data": ConvolutionBwdDataAlgo,
    "convolution_backward_filter": ConvolutionBwdFilterAlgo,
    "convolution_bias_activation_forward": ConvolutionFwdAlgo,
}
_FILTERS = {"3": (3, 3, 3, 3), "1": (1, 1, 1, 1), "5": (5, 5, 5, 5), "65": (65, 65, 1, 1)}


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


def _convolution(c: Choices, output: str) -> dict[str, str]:
    layout_in, layout_out = layouts_of(c)
    rank = c.get("rank", 4)
    spatial = rank - 2
    image = large_dims(c) if c.get("size") == "large" else (dims_of(c)[0], 8, *(11, 9, 10, 8, 3, 3, 3)[:spatial])
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
    return {role: text(t, dims[role], layouts[role]) for role in dims}


def _roles(image: str, filter: str, result: str) -> Callable[[Choices], dict[str, str]]:
    """Describe a convolution by the names of its tensors, that of the output with a star."""
    names = {"image": image.strip("*"), "filter": filter.strip("*"), "result": result.strip("*")}
    stars = {"image": image, "filter": filter, "result": result}
    output = next(role for role, name in stars.items() if name.endswith("*"))
    return lambda c: {names[role]: text for role, text in _convolution(c, output).items()}


def _broadcast(c: Choices) -> dict[str, str]:
    layout_in, layout_out = layouts_of(c)
    dims = dims_of(c)
    small = (1, dims[1], *(1,) * (len(dims) - 2))
    return {"a": text(c["dtype"], small, layout_in), "c": text(c["dtype"], dims, layout_out)}


def _pairwise(c: Choices) -> dict[str, str]:
    layout_in, layout_out = layouts_of(c)
    dims = dims_of(c)
    small = dims if c.get("layout") in ("strided", "repeated") else (1, dims[1], *(1,) * (len(dims) - 2))
    return {
        "a": text(c["dtype"], dims, layout_in),
        "b": text(c["dtype"], small, layout_in),
        "c": text(stored_type(c), dims, layout_out),
    }


def _bias(c: Choices) -> dict[str, str]:
    return {"dy": text(c["dtype"], dims_of(c), layouts_of(c)[0])}


def _reduced(c: Choices) -> dict[str, str]:
    layout_in, layout_out = layouts_of(c)
    dims = dims_of(c)
    kept = (dims[0], 1, *(1 for _ in dims[2:]))
    found = {"a": text(c["dtype"], dims, layout_in), "c": text(stored_type(c), kept, layout_out)}
    return found | ({"indices": text("i32", kept)} if c.get("indices") else {})


def _batch_norm(*, backward: bool, inference: bool = False) -> Callable[[Choices], dict[str, str]]:
    def tensors(c: Choices) -> dict[str, str]:
        layout_in, layout_out = layouts_of(c)
        dims = dims_of(c)
        found = {"x": text(c["dtype"], dims, layout_in)}
        if backward:
            found |= {"dy": text(c["dtype"], dims, layout_out), "dx": text(c["dtype"], dims, layout_out)}
        else:
            found["y"] = text(c["dtype"], dims, layout_out)
        first = 2 if c.get("mode", "spatial").startswith("spatial") else len(dims)
        p = text(parameter_type(c), (1, *dims[1:first], *(1,) * (len(dims) - first)))
        if c.get("saved") and not inference:
            found |= {"saved_mean": p, "saved_inv_variance": p}
        if c.get("running") and not backward and not inference:
            found |= {"running_mean": p, "running_variance": p}
        return found

    return tensors


def _normalized(*, backward: bool) -> Callable[[Choices], dict[str, str]]:
    def tensors(c: Choices) -> dict[str, str]:
        found = _batch_norm(backward=backward)({**c, "saved": False})
        dims, mode = dims_of(c), c.get("mode", "layer_norm")
        from_axis = mode in ("layer_norm", "rms_norm")
        p = (1, *dims[1:]) if from_axis else (1, dims[1], *(1,) * (len(dims) - 2))
        found["scale"] = text(parameter_type(c), p)
        if not backward and mode != "rms_norm":
            found["bias"] = text(parameter_type(c), p)
        if c.get("saved"):
            s = (dims[0], {"instance_norm": 8, "group_norm": 4}.get(mode, 1), *(1,) * (len(dims) - 2))
            found |= {"saved_mean": text(parameter_type(c), s), "saved_inv_variance": text(parameter_type(c), s)}
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
        return {name: text(c["dtype"], sizes[name]) for name in names}

    return tensors


def _grid(c: Choices) -> dict[str, str]:
    n = 0 if c.get("size") == "empty" else 2
    h, w = AREAS.get(c.get("size", ""), (4, 3))
    if c["op"].endswith("grid_generator_forward"):
        return {"theta": text(c["dtype"], (n, 2, 3), layouts_of(c)[0]), "dims": f"{n},3,{h},{w}"}
    if c["op"].endswith("grid_generator_backward"):
        return {"dgrid": text(c["dtype"], (n, h, w, 2), layouts_of(c)[0])}
    layout_in, layout_out = layouts_of(c)
    x = (*dims_of(c)[:2], h, w) if c.get("size") in AREAS else dims_of(c)
    h, w = (65536, 32768) if c.get("size") == "vast_grid" else (4, 3)
    out = "y" if c["op"].endswith("forward") else "dy"
    return {
        "x": text(c["dtype"], x, layout_in),
        "grid": text(c["dtype"], (x[0], h, w, 2), "nchw" if c.get("layout") == "repeated" else layout_in),
        out: text(c["dtype"], (*x[:2], h, w), layout_out),
    }


_CONVOLVED: dict[str, tuple[Any, ...]] = {
    "stride": ("1", "2"),
    "dilation": ("1", "2"),
    "filter": ("3", "1", "5", "65"),
    "groups": (1, 2, 8),
    "image": ("small", "large"),
}
_NORMAL: dict[str, tuple[Any, ...]] = {"saved": (False, True), **BLENDED}
_AREA_SIZES = (*SIZES, "wide", "vast")
_RECURRENT: dict[str, Any] = {
    "ranks": (),
    "layouts": (),
    "sizes": ("small", "large", "long"),
    "more": {"num_layers": (1, 2), "batch_sizes": ((), (2, 1)), "dropout": (0.0, 0.5)},
}

OPERATIONS: dict[str, Features] = {
    "activation_backward": Features(images("y", "dy", "|", "x", "dx"), {"mode": "relu"}, more=BLENDED),
    "activation_forward": Features(images("x", "|", "y"), {"mode": "relu"}, more=BLENDED),
    "add_tensor": Features(_broadcast, layouts=(*LAYOUTS[:4], "overlapping"), more={"alpha": (1, 2), "beta": (1, 0)}),
    "batch_normalization_backward": Features(
        _batch_norm(backward=True),
        ranks=IMAGE_RANKS,
        more={
            "saved": (False, True),
            "alpha_data_diff": (1, 2),
            "beta_data_diff": (0, 1),
            "alpha_param_diff": (1, 2),
            "beta_param_diff": (0, 1),
        },
    ),
    "batch_normalization_forward_inference": Features(
        _batch_norm(backward=False, inference=True), ranks=IMAGE_RANKS, more=BLENDED
    ),
    "batch_normalization_forward_training": Features(
        _batch_norm(backward=False), ranks=IMAGE_RANKS, more={"running": (False, True), **_NORMAL}
    ),
    "convolution_backward_bias": Features(_bias, layouts=NO_OUTPUT, more=BLENDED),
    "convolution_backward_data": Features(_roles("dx*", "w", "dy"), ranks=WINDOW_RANKS, more={**_CONVOLVED, **BLENDED}),
    "convolution_backward_filter": Features(
        _roles("x", "dw*", "dy"), ranks=WINDOW_RANKS, more={**_CONVOLVED, **BLENDED}
    ),
    "convolution_bias_activation_forward": Features(
        _roles("x", "w", "y*"),
        {"activation": "relu"},
        ranks=WINDOW_RANKS,
        more={**_CONVOLVED, "alpha1": (1, 2), "alpha2": (0, 1)},
    ),
    "convolution_forward": Features(_roles("x", "w", "y*"), ranks=WINDOW_RANKS, more={**_CONVOLVED, **BLENDED}),
    "dropout_backward": Features(images("dy", "|", "dx"), {"dropout": 0.5}),
    "dropout_forward": Features(images("x", "|", "y"), {"dropout": 0.5}),
    "normalization_backward": Features(
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
    "normalization_forward": Features(_normalized(backward=False), {"mode": "layer_norm"}, more=_NORMAL),
    "op_tensor": Features(
        _pairwise, {"operation": "add"}, more={**TYPES, "alpha1": (1, 2), "alpha2": (1, 2), "beta": (0, 1)}
    ),
    "reduce_tensor": Features(_reduced, {"operation": "add"}, more={"indices": (False, True), **TYPES, **BLENDED}),
    "rnn_backward_data": Features(_recurrent("y", "dy", "w", "dx"), **_RECURRENT),
    "rnn_backward_weights": Features(_recurrent("x", "y", "dw"), **_RECURRENT),
    "rnn_forward_inference": Features(_recurrent("x", "w", "y"), **_RECURRENT),
    "rnn_forward_training": Features(_recurrent("x", "w", "y"), **_RECURRENT),
    "scale_tensor": Features(images("|", "y"), {"alpha": 2}, layouts=(*LAYOUTS[:3], "overlapping")),
    "set_dropout_descriptor": Features(lambda c: {}, {"seed": 5}, ranks=(), layouts=(), sizes=()),
    "set_tensor": Features(images("|", "y"), {"value": 2}, layouts=(*LAYOUTS[:3], "overlapping")),
    "softmax_backward": Features(
        images("y", "dy", "|", "dx"), {"algorithm": "accurate", "mode": "channel"}, more=BLENDED
    ),
    "softmax_forward": Features(images("x", "|", "y"), {"algorithm": "accurate", "mode": "channel"}, more=BLENDED),
    "spatial_tf_grid_generator_backward": Features(_grid, ranks=(), layouts=NO_OUTPUT, sizes=_AREA_SIZES),
    "spatial_tf_grid_generator_forward": Features(_grid, ranks=(), layouts=NO_OUTPUT, sizes=_AREA_SIZES),
    "spatial_tf_sampler_backward": Features(
        _grid,
        ranks=IMAGE_RANKS,
        sizes=(*_AREA_SIZES, "vast_grid"),
        more={**BLENDED, "alpha_dgrid": (1, 2), "beta_dgrid": (0, 1)},
    ),
    "spatial_tf_sampler_forward": Features(_grid, ranks=IMAGE_RANKS, sizes=(*_AREA_SIZES, "vast_grid"), more=BLENDED),
    "transform_tensor": Features(images("x", "|", "y"), more=BLENDED),
    **{op: record.features for op, record in operations().items()},
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
    if op.startswith("rnn"):
        c["hidden_size"] = 32768 if c.get("size") == "large" else 5
        if c.get("dropout"):
            c["num_layers"] = 2  # it lies between layers
    c.update(made.implied(c))
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
