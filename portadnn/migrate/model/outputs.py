"""The values that a library's functions give back, as far as they follow from what is known."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping

from ...mapping import Parameter
from ..events import Event
from ..values import UNKNOWN, Value, items, known, unknown
from . import symbols
from .fields import completed, element
from .kinds import kind_of
from .state import State, Thing

_PERF = re.compile(r"AlgoPerf(?:_t|Struct)|ConvSolution_t")
_PERF_FIELDS = {
    "cudnn": ("algo", "status", "time", "memory", "determinism", "mathType"),
    "miopen": ("fwd_algo", "bwd_data_algo", "bwd_weights_algo", "time", "memory"),
    "solution": ("time", "workspace_size", "solution_id", "algorithm"),
}
_ARRAY = re.compile(r"(A|Array|[dD]ims?A?|lens|strides?|arrayOfElements|\[\])$")
_DIMENSIONS = ("n", "c", "h", "w")
_FRESH = re.compile(r"Find|Algorithm")  # what these answer depends on measurements


def is_output(parameter: Parameter) -> bool:
    """Whether a function writes a value of the host through this pointer."""
    if parameter.name == "perfResults":
        return True
    if parameter.direction == "in" or not parameter.type.rstrip().endswith(("*", "[]")):
        return False
    return re.sub(r"\s", "", parameter.type).replace("const", "") != "void*"


def is_array(parameter: Parameter) -> bool:
    """Whether a pointer leads to several values."""
    return parameter.type.rstrip().endswith("]") or _ARRAY.search(parameter.name) is not None


def values_of(event: Event, state: State, parameter: Parameter) -> Iterator[tuple[str, Value]]:
    """Yield what is written behind an output pointer: what follows the pointer's path, and the value."""
    if _PERF.search(parameter.type):
        yield from _performance(event, parameter)
        return
    if event.function in ("cudnnGetStream", "miopenGetStream") or "Get" not in event.function:
        yield "", _answer(event, state, parameter)
        return
    told = _field(event, state, parameter)
    if told is None and "OutputDim" in event.function:
        told = _output_dimension(event, state, parameter)
    if told is None or (told.kind == "unknown" and told.data is None):
        told = _answer(event, state, parameter)
    yield "", told.from_call(event.number)


def _performance(event: Event, parameter: Parameter) -> Iterator[tuple[str, Value]]:
    which = "solution" if "Solution_t" in parameter.type else event.library
    for index in ("", "[*]", "[0]", "[1]"):  # a single result, or an array
        for name in _PERF_FIELDS[which]:
            key = f"{event.function}@{event.number}{index or '[0]'}.{name}"
            yield (
                f"{index}.{name}",
                unknown(key, "size_t" if name in ("memory", "workspace_size") else "", (event.number,)),
            )


def _answer(event: Event, state: State, parameter: Parameter) -> Value:
    """Return what is not known, but the same whenever the same is asked of the same."""
    type_ = parameter.type.replace("const", "").replace("[]", "").replace("*", "").strip()
    key: str | None = f"{event.function}.{parameter.name}@{event.number}"
    if not _FRESH.search(event.function) and event.function.find("Get") >= 0:
        asked = [
            _input_key(argument.value, state) for name, argument in event.by_name.items() if name in _inputs(event)
        ]
        if None not in asked:
            key = f"{event.function}.{parameter.name}({','.join(text for text in asked if text is not None)})"
    return unknown(key, type_, (event.number,))


def _inputs(event: Event) -> list[str]:
    return [p.name for p in event.parameters if p.direction == "in"]


def _input_key(value: Value, state: State) -> str | None:
    if value.kind == "thing" and value.data in state.things:
        return f"{value.data}.{state.things[value.data].version}"
    return symbols.key_of(value)


def _thing(event: Event, state: State, *names: str) -> Thing | None:
    argument = event.argument(*names)
    value = None if argument is None else argument.read
    return state.things.get(value.data) if value is not None and value.kind == "thing" else None


def _field(event: Event, state: State, parameter: Parameter) -> Value | None:
    """Return the field that a Get function tells, if the descriptor it is asked of has it."""
    if "WorkspaceSize" in event.function or "OutputDim" in event.function or "WorkSpaceSize" in event.function:
        return None
    for other in event.parameters:
        if kind_of(other.type) in ("", "handle") or other.direction == "out":
            continue
        described = _thing(event, state, other.name)
        if described is not None:
            fields = completed(described.kind, described.fields)
            if event.function in _BYTE_COUNTS:
                return _bytes(fields, described.kind)
            value = fields.get(_renamed(parameter.name, described.kind))
            if value is not None and described.certain:
                return value
    return None


def _renamed(name: str, kind: str) -> str:
    if kind == "convolution" and name == "strideA":
        return "filterStrideA"
    if kind == "convolution" and name == "pad_y":
        return "pad_w"
    if kind == "tensor" and name == "size":
        return "nbDims"
    return name


_BYTE_COUNTS = frozenset({"cudnnGetTensorSizeInBytes", "miopenGetTensorNumBytes", "cudnnGetFilterSizeInBytes"})
_BYTES = {"FLOAT": 4, "DOUBLE": 8, "HALF": 2, "BFLOAT16": 2, "INT8": 1, "INT32": 4, "INT64": 8, "UINT8": 1}


def _bytes(fields: Mapping[str, Value], kind: str) -> Value | None:
    dims, type_ = fields.get("filterDimA" if kind == "filter" else "dimA"), fields.get("dataType")
    if dims is None or dims.kind != "items" or type_ is None or type_.kind != "known":
        return None
    name = str(type_.data).upper().replace("CUDNN_DATA_", "").replace("MIOPEN", "")
    if name not in _BYTES:
        return None
    return functools.reduce(lambda a, b: symbols.operate("*", a, b), dims.data, known(_BYTES[name], "size_t"))


# Output dimensions ----------------------------------------------------------------------------------------------


def _output_dimension(event: Event, state: State, parameter: Parameter) -> Value | None:
    source = _thing(event, state, "inputTensorDesc", "tensorDesc")
    if source is None or not source.certain:
        return None
    dims = completed(source.kind, source.fields).get("dimA")
    window = _convolution_window(event, state) or _pooling_window(event, state)
    if dims is None or dims.kind != "items" or window is None:
        return None
    channels, size = window
    shape = [element(dims, 0), channels or element(dims, 1)]
    shape += [size(axis, element(dims, 2 + axis)) for axis in range(len(dims.data) - 2)]
    if parameter.name in _DIMENSIONS:
        return shape[_DIMENSIONS.index(parameter.name)] if len(shape) == len(_DIMENSIONS) else None
    return items(shape, "int") if parameter.name != "nDim" else known(len(shape), "int")


_Size = Callable[[int, Value], Value]


def _convolution_window(event: Event, state: State) -> tuple[Value, _Size] | None:
    conv, filter_ = _thing(event, state, "convDesc"), _thing(event, state, "filterDesc")
    if conv is None or filter_ is None or not (conv.certain and filter_.certain):
        return None
    fields, shape = completed("convolution", conv.fields), completed(filter_.kind, filter_.fields)
    dims = shape.get("filterDimA") or shape.get("dimA")
    pads, strides, dilations = fields.get("padA"), fields.get("filterStrideA"), fields.get("dilationA")

    def size(axis: int, extent: Value) -> Value:
        reach = _times(element(dilations, axis), _minus(element(dims, 2 + axis), 1))
        return _out(extent, element(pads, axis), _plus(reach, 1), element(strides, axis))

    return element(dims, 0), size


def _pooling_window(event: Event, state: State) -> tuple[None, _Size] | None:
    pooling = _thing(event, state, "poolingDesc", "poolDesc")
    if pooling is None or not pooling.certain:
        return None
    fields = completed("pooling", pooling.fields)
    window, pads, strides = fields.get("windowDimA"), fields.get("paddingA"), fields.get("strideA")

    def size(axis: int, extent: Value) -> Value:
        return _out(extent, element(pads, axis), element(window, axis), element(strides, axis))

    return None, size


def _out(extent: Value, pad: Value, window: Value, stride: Value) -> Value:
    padded = symbols.operate("+", extent, _times(known(2), pad))
    return _plus(symbols.operate("/", symbols.operate("-", padded, window), stride), 1)


def _times(a: Value, b: Value) -> Value:
    return symbols.operate("*", a, b)


def _plus(a: Value, number: int) -> Value:
    return symbols.operate("+", a, known(number, "int"))


def _minus(a: Value, number: int) -> Value:
    return symbols.operate("-", a, known(number, "int"))


# Descriptors that functions derive from others ------------------------------------------------------------------


def derived_fields(event: Event, state: State, target: Parameter) -> dict[str, Value] | None:
    """Return the fields that a function gives a descriptor by itself; None where its arguments are the fields."""
    if "Derive" in event.function:
        return _derived_norm(event, state)
    if event.function.endswith(("BackendFinalize", "BackendInitialize")):
        return {"finalized": known(event.function.endswith("Finalize"), "bool")}
    if "Set" in event.function or "Init" in event.function or "Restore" in event.function:
        return None if "TransformDest" not in event.function else {}
    return {}


def _derived_norm(event: Event, state: State) -> dict[str, Value]:
    source = _thing(event, state, "xDesc")
    fields = completed("tensor", source.fields) if source is not None and source.certain else {}
    dims, mode, type_ = fields.get("dimA"), event.argument("mode", "bn_mode"), fields.get("dataType", UNKNOWN)
    if event.library == "miopen":
        type_ = known("miopenFloat")
    elif type_.kind == "known" and type_.data in ("CUDNN_DATA_HALF", "CUDNN_DATA_BFLOAT16"):
        type_ = known("CUDNN_DATA_FLOAT")
    result = {"dataType": type_}
    name = str(mode.value.data) if mode is not None and mode.value.kind == "known" else ""
    if dims is not None and dims.kind == "items" and name:
        one = known(1, "int")
        spatial = "SPATIAL" in name.upper() or "PER_CHANNEL" in name
        kept = [one, *dims.data[1:2]] + ([one] * (len(dims.data) - 2) if spatial else list(dims.data[2:]))
        result["dimA"] = items(kept, "int")
    return result
