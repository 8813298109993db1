"""The graph engine of random numbers: one node ``rng``, the same numbers on every device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from portadnn.enums import DataType
from portadnn.graph.data_types import data_type
from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.enums import rng_distribution
from portadnn.graph.errors import GraphError
from portadnn.graph.knobs import Knobs
from portadnn.graph.layout import row_major
from portadnn.graph.operation_graph import OperationGraph, TensorInfo
from portadnn.graph.rules import fail

from ..attention.operands import part_of
from ..base import Arg, ConstantArg, Device, DeviceInfo, Launch, ScalarArg, TensorArg
from ..graph_launches import Scalar, bound
from ..philox import keep_words

_TYPES = tuple(getattr(data_type, name) for name in ("FLOAT", "DOUBLE", "HALF", "BFLOAT16", "FP8_E4M3", "FP8_E5M2"))
_ITEMS = 64  # of a work-group
_BYTES_OF_8 = {data_type.INT64: DataType.DOUBLE}  # types that Problems do not know, by one as long


def _one_node(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    for operation in graph.operations:
        if operation.kind != "rng" or len(graph.operations) > 1:
            yield fail("PG-ENGINE-002", node=operation.label, argument="random", expected="one node, rng")


def _output(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if next(_one_node(graph, info), None) is not None:
        return
    operation = graph.operations[0]
    y = graph.at(operation, "Y")
    if y.data_type not in _TYPES or (y.data_type is data_type.DOUBLE and not info.fp64):
        names, place = ", ".join(kind.name for kind in _TYPES), f"Y = {y.describe()}"
        yield fail("PG-ENGINE-003", node=operation.label, tensor=place, expected=names, got=y.data_type)


class RandomEngine(GraphEngine):
    """Philox words, four a work-item: each a number, or two of them for a normal one."""

    name = "random"
    rules = (
        SupportRule("PG-ENGINE-002", "the graph is one node, rng", _one_node),
        SupportRule("PG-ENGINE-003", "the output is of a floating-point type", _output),
    )

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        launch, scalars = described(graph, device)
        return GraphPlan(graph, self, 0, bound(graph, device, [launch], scalars), (launch,))


def described(graph: OperationGraph, device: Device) -> tuple[Launch, list[Scalar]]:
    """Return the launch, and what computes its run-time numbers."""
    (operation,) = graph.operations
    y = graph.at(operation, "Y")
    scalars: list[Scalar] = []
    parameters, binds, body, words = _words(graph, scalars)
    wide = y.data_type is data_type.DOUBLE
    defines: dict[str, int | float | str] = {
        "DTYPE_DOUBLE" if wide else "DTYPE_FLOAT": 1,
        "OUT_T": y.data_type.name,
        "ITEMS": _ITEMS,
        "PLACE(i)": _place(y),
        "START_ARGUMENTS": parameters,
        "START_BIND": binds,
        "START_NUMBERS": body,
    }
    if operation["distribution"] is rng_distribution.BERNOULLI:
        kept = keep_words(operation["bernoulli_probability"])
        defines["BELOW"] = f"{kept - 1}u" if kept else "0u && false"
    elif operation["distribution"] is rng_distribution.NORMAL:
        defines["MEAN"] = repr(float(operation["mean"]))
        defines["DEVIATION"] = repr(float(operation["standard_deviation"]))
    else:
        defines["MINIMUM"] = repr(float(operation["minimum"]))
        defines["SPAN"] = repr(float(operation["maximum"]) - float(operation["minimum"]))
    kernel = device.compile("shared/tensor/random_numbers.cl", "random_numbers", defines)
    each = 2 if "DEVIATION" in defines else 4
    groups = max(-(-y.size // (each * _ITEMS)), 1)
    args = (TensorArg(graph.places[y.uid]), ConstantArg(np.int64(y.size)), *words)
    return Launch(kernel, (groups,), (_ITEMS,), args), scalars


def _place(y: TensorInfo) -> str:
    """Return C text of where element i of a tensor lies, counted in row-major order."""
    packed = zip(y.dims, y.strides, row_major(y.dims), strict=True)
    if all(size == 1 or step == below for size, step, below in packed):
        return "(i)"
    lies = zip(y.dims, y.strides, row_major(y.dims), strict=True)
    return " + ".join(f"((i) / {below} % {size} * {step})" for size, step, below in lies if size > 1)


def _words(graph: OperationGraph, scalars: list[Scalar]) -> tuple[str, str, str, list[Arg]]:
    """Return parameters, bindings and text of the kernel, and its arguments, for seed and offset."""
    (operation,) = graph.operations
    parameters, binds, body = "", "", ""
    args: list[Arg] = []
    for place, port in enumerate(("SEED", "OFFSET")):
        info = graph.by_uid.get(operation.uids.get(port, -1))
        if info is not None and not info.by_value:
            kind = info.data_type.name
            parameters += f", TENSOR(const ELEMENT({kind}), n{place})"
            binds += f"BIND(const ELEMENT({kind}), n{place});"
            body += f"WORDS({2 * place}, n{place}[0])"
            args.append(TensorArg(graph.places[info.uid], dtype=_BYTES_OF_8.get(info.data_type)))
            continue
        names = [f"n{place}_{part}" for part in range(4)]
        parameters += "".join(f", const float {name}" for name in names)
        body += f"PARTS({2 * place}, {', '.join(names)})"
        if info is not None and not info.constant:
            args += [ScalarArg(len(scalars) + part, DataType.FLOAT) for part in range(4)]
            scalars += [part_of(info, part) for part in range(4)]
            continue
        whole = int((info.value or 0) if info is not None else (operation["seed"] or 0) if port == "SEED" else 0)
        args += [ConstantArg(np.float32(whole >> 16 * part & 0xFFFF)) for part in range(4)]
    return parameters, binds, body, args
