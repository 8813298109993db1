"""The kernels of block scaling."""

from __future__ import annotations

import math

from portadnn.graph.data_types import data_type
from portadnn.graph.enums import tensor_reordering
from portadnn.graph.layout import Dims, row_major
from portadnn.graph.memory import blocks
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo
from portadnn.graph.ops.block_scale import QUANTISED, SCALES, blocks_of, scales_of

from .kernel import FLOATS, Defines, NodeKernel

_VALUES = {  # of a byte or of a nibble
    data_type.FP8_E4M3: "e4m3_value",
    data_type.FP8_E5M2: "e5m2_value",
    data_type.FP8_E8M0: "e8m0_value",
    data_type.FP4_E2M1: "e2m1_value",
}
_BITS = {data_type.FP8_E4M3: "e4m3_bits", data_type.FP8_E5M2: "e5m2_bits", data_type.FP4_E2M1: "e2m1_bits"}
_LARGEST = {data_type.FP8_E4M3: (448, 8), data_type.FP8_E5M2: (57344, 15), data_type.FP4_E2M1: (6, 2)}  # and exponent


def _unravel(dims: Dims) -> str:
    """Return C text that declares the indices of element i, counted in row-major order."""
    each = enumerate(zip(dims, row_major(dims), strict=True))
    return " ".join(f"const i64 i{axis} = (i) / {below} % {size};" for axis, (size, below) in each)


def _place(info: TensorInfo, index: list[str]) -> str:
    """Return C text of where the element of these indices lies."""
    if info.reordering is not tensor_reordering.F8_128x4:
        return " + ".join(f"({i}) * (i64){step}" for i, step in zip(index, info.strides, strict=True))
    rows, columns = blocks.padded(info.dims, info.strides)
    row, column = (f"({index[axis]})" for axis in blocks.axes(info.strides))
    entry = "0"
    for i, size in zip(index[:-2], info.dims[:-2], strict=True):
        entry = f"({entry}) * (i64){size} + ({i})"
    tile = f"({row} / {blocks.ROWS} * {columns // blocks.COLUMNS} + {column} / {blocks.COLUMNS})"
    within = f"{row} % 32 * 16 + {row} % {blocks.ROWS} / 32 * 4 + {column} % {blocks.COLUMNS}"
    return f"({entry}) * (i64){rows * columns} + {tile} * {blocks.ROWS * blocks.COLUMNS} + {within}"


def _value(name: str, info: TensorInfo, place: str) -> str:
    """Return C text of the number at a place."""
    if info.data_type.bits == 8:
        return f"{_VALUES[info.data_type]}({name}[{place}])"
    return f"{_VALUES[info.data_type]}((u32){name}[({place}) / 2] >> (int)(({place}) % 2 * 4))"


def _back(graph: OperationGraph, op: Operation) -> Defines:
    x, s, y = (graph.at(op, port) for port in ("X", "SCALE", "Y"))
    index = [f"i{axis}" for axis in range(len(x.dims))]
    sizes = blocks_of(op["block_size"], len(x.dims))
    return {
        "UNRAVEL(i)": _unravel(x.dims),
        "X_VALUE": _value("x", x, _place(x, index)),
        "S_VALUE": _value("s", s, _place(s, [f"{i} / {size}" for i, size in zip(index, sizes, strict=True)])),
        "Y_AT": _place(y, index),
        "Y_T": y.data_type.name,
    }


def _forth(graph: OperationGraph, op: Operation) -> Defines:
    x, y, s = (graph.at(op, port) for port in ("X", "Y", "SCALE"))
    axis, size = op["axis"], op["block_size"]
    there = scales_of(x.dims, tuple(size if n == axis else 1 for n in range(len(x.dims))))
    dims = list(s.dims)
    if s.reordering is tensor_reordering.F8_128x4:
        for n, count in zip(blocks.axes(s.strides), blocks.padded(s.dims, s.strides), strict=True):
            dims[n] = count
    index = [f"i{n}" for n in range(len(dims))]
    first = [f"{i} * {size}" if n == axis else i for n, i in enumerate(index)]
    largest, exponent = _LARGEST[y.data_type]
    mantissa = int(math.ldexp(largest / 2.0**exponent - 1, 23))
    powers = s.data_type is data_type.FP8_E8M0
    scale = f"e8m0_above(v, {mantissa}u, {exponent})" if powers else f"e4m3_bits((v) / {largest}.0f)"
    found: Defines = {
        "COUNT": math.prod(dims),
        "UNRAVEL(i)": _unravel(tuple(dims)),
        "INSIDE": " && ".join(f"{i} < {count}" for i, count in zip(index, there, strict=True)),
        **{"X_AT": _place(x, first), "Y_AT": _place(y, first), "S_AT": _place(s, index)},
        **{"X_STEP": x.strides[axis], "Y_STEP": y.strides[axis], "X_T": x.data_type.name, "SIZE": size},
        "SCALE_BITS(v)": scale,
        "SCALE_VALUE(b)": f"{_VALUES[s.data_type]}(b)",
        "Y_BITS(v)": f"{_BITS[y.data_type]}(v)",
    }
    return {**found, "NIBBLES": 1} if y.data_type.bits == 4 else found


def _halves(graph: OperationGraph, op: Operation) -> str | None:
    """Tell of bytes whose nibbles are of two blocks."""
    y, axis = graph.at(op, "Y"), op["axis"]
    others = [step for n, step in enumerate(y.strides) if n != axis and y.dims[n] > 1]
    if y.data_type.bits == 8 or (y.strides[axis] == 1 and not any(step % 2 for step in (op["block_size"], *others))):
        return None
    return "two elements of a byte in two blocks"


def _names(types: tuple[data_type, ...]) -> tuple[str, ...]:
    return tuple(kind.name for kind in types)


_TYPES = {"SCALE": _names(SCALES)}
_RESULTS = tuple(name for name in FLOATS if name != "DOUBLE")
KERNELS = {
    "block_scale_dequantize": NodeKernel(
        "shared/nodes/scale_back.cl", "scale_back", ("X", "SCALE", "Y"), _back, {**_TYPES, "X": _names(QUANTISED)}
    ),
    "block_scale_quantize": NodeKernel(
        "shared/nodes/scale.cl",
        "scale_blocks",
        ("X", "Y", "SCALE"),
        _forth,
        {**_TYPES, "Y": _names(QUANTISED), "X": _RESULTS},
        _halves,
    ),
}
