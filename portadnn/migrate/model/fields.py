"""A descriptor's fields under all the names that the libraries' functions have for them.

The 2-D and the N-D functions name the same settings differently; so do versions and the logs. What was set under one
name is readable under all names of its kind: a tensor set with ``n, c, h, w`` has ``dimA`` too.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..values import Value, items, known, unknown
from . import symbols

_SAME: dict[str, tuple[tuple[str, ...], ...]] = {
    "tensor": (("dimA", "dimsA", "lens"), ("strideA", "stridesA"), ("nbDims", "num_lens"), ("format", "tensorLayout")),
    "filter": (("filterDimA", "dimA"),),
    "convolution": (
        ("padA",),
        ("filterStrideA", "strideA"),
        ("dilationA", "upscaleA"),
        ("arrayLength", "spatialDim"),
        ("mode", "c_mode"),
        ("computeType", "dataType"),
    ),
    "pooling": (("windowDimA",), ("paddingA", "padA"), ("strideA", "stridesA")),
    "activation": (("coef", "reluCeiling"), ("activGamma", "activPower")),
    "rnn": (
        ("cellMode", "mode", "rnnMode"),
        ("mathPrec", "dataType"),
        ("dirMode", "direction"),
        ("inputMode", "inMode"),
        ("hiddenSize", "hsize"),
        ("numLayers", "nlayers", "layer"),
        ("algo", "algoMode"),
    ),
}
_PARTS: dict[str, tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]] = {
    "tensor": (("dimA", (("n", "c", "h", "w"),)), ("strideA", (("nStride", "cStride", "hStride", "wStride"),))),
    "filter": (("filterDimA", (("k", "c", "h", "w"),)),),
    "convolution": (
        ("padA", (("pad_h", "pad_w"),)),
        ("filterStrideA", (("u", "v"), ("stride_h", "stride_w"))),
        ("dilationA", (("dilation_h", "dilation_w"), ("upscalex", "upscaley"))),
    ),
    "pooling": (
        ("windowDimA", (("windowHeight", "windowWidth"),)),
        ("paddingA", (("verticalPadding", "horizontalPadding"), ("pad_h", "pad_w"))),
        ("strideA", (("verticalStride", "horizontalStride"), ("u", "v"), ("stride_h", "stride_w"))),
    ),
}
_COUNTS = {"tensor": ("nbDims", "dimA"), "filter": ("nbDims", "filterDimA"), "pooling": ("nbDims", "windowDimA"),
           "convolution": ("arrayLength", "padA")}  # fmt: skip
_ORDERS = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 2, 3, 1)}  # memory order, the slowest dimension first


def completed(kind: str, given: Mapping[str, Value]) -> dict[str, Value]:
    """Return a descriptor's fields with every other name that they have, and what follows from them."""
    fields = dict(given)
    _spread(kind, fields)
    for vector, groups in _PARTS.get(kind, ()):
        _parts(fields, vector, groups)
    count = _COUNTS.get(kind)
    if count and count[0] not in fields and (vector_ := fields.get(count[1])) and vector_.kind == "items":
        fields[count[0]] = known(len(vector_.data), "int")
    if kind == "tensor" and "strideA" not in fields and (strides := _packed(fields)) is not None:
        fields["strideA"] = strides
        _parts(fields, "strideA", _PARTS["tensor"][1][1])
    _spread(kind, fields)
    return fields


def _spread(kind: str, fields: dict[str, Value]) -> None:
    for names in _SAME.get(kind, ()):
        value = next((fields[name] for name in names if name in fields), None)
        if value is not None:
            for name in names:
                fields.setdefault(name, value)


def _parts(fields: dict[str, Value], vector: str, groups: tuple[tuple[str, ...], ...]) -> None:
    if vector not in fields:
        for names in groups:
            if all(name in fields for name in names):
                fields[vector] = items((fields[name] for name in names), "int")
                break
    whole = fields.get(vector)
    if whole is not None and whole.kind == "items":
        for names in groups:
            if len(names) == len(whole.data):
                for name, value in zip(names, whole.data, strict=True):
                    fields.setdefault(name, value)


def _packed(fields: Mapping[str, Value]) -> Value | None:
    """Return the strides of a tensor that was set by its format and dimensions."""
    dims, layout = fields.get("dimA"), fields.get("format")
    if dims is None or dims.kind != "items":
        return None
    name = str(layout.data) if layout is not None and layout.kind == "known" else "NCHW" if layout is None else ""
    order = tuple(range(len(dims.data)))
    if name.endswith("NHWC") and len(order) == len(_ORDERS["NHWC"]):
        order = _ORDERS["NHWC"]
    elif not name.endswith(("NCHW", "NCDHW")):
        return None
    strides: dict[int, Value] = {}
    step: Value = known(1, "int")
    for axis in reversed(order):
        strides[axis] = step
        step = symbols.operate("*", step, dims.data[axis])
    return items((strides[axis] for axis in range(len(dims.data))), "int")


def element(value: Value | None, index: int) -> Value:
    """Return an element of an array; of one whose elements are not known, an unknown value of its own."""
    if value is None:
        return Value("unknown")
    if value.kind == "items":
        return value.data[index] if index < len(value.data) else Value("unknown")
    return unknown(f"{value.data}[{index}]" if value.kind == "unknown" and value.data else None, "int", value.origins)
