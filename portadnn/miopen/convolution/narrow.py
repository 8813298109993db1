"""Convolutions of 8-bit floats, and of tensors that are rounded to them (miopenSetTensorCastType), in all directions.

Both operands are made floats, rounded as their descriptors and the convolution's rounding mode say; products and sums
are a convolution of floats, and the result is stored in its type, to the nearest (fp8_naive_conv.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import graph as graphs
from ...dispatch.execute import execute
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...problem import TensorSpec
from ..composed_graphs import run_graph
from ..generated.enums import miopenF8RoundingMode_t
from ..narrow import FORMATS, NARROW, NarrowSpec, decoded, doubled, drawn, encoded, near
from .descriptor import ROUNDING, ConvolutionSettings, output_dims

_STOCHASTIC = miopenF8RoundingMode_t.miopenF8RoundingModeStochastic
_OPERANDS = {"forward": (0, 1), "backward data": (1, 2), "backward weights": (0, 2)}
_NAMES = ("xDesc", "wDesc", "yDesc")
_FLOATS = (DataType.FLOAT, DataType.HALF, DataType.BFLOAT16)
_BYTES = graphs.data_type.INT8


def rounding_mode(settings: ConvolutionSettings) -> miopenF8RoundingMode_t:
    """Return how operands are rounded: by chance unless it was set, as in MIOpen."""
    return miopenF8RoundingMode_t(settings.attributes.get(ROUNDING, _STOCHASTIC))


def of_narrow(specs: Sequence[TensorSpec]) -> bool:
    """Tell whether a tensor of a convolution has 8-bit floats, or is rounded."""
    return any(isinstance(spec, NarrowSpec) for spec in specs)


def check(direction: str, settings: ConvolutionSettings, specs: Sequence[TensorSpec]) -> None:
    """Raise what is wrong with a convolution of 8-bit floats.

    Raises
    ------
    NotSupported
        An operand is neither of them nor rounded to them, is a double, or the result has another type.
    BadParam
        The result has other dims.
    """
    image, weights, result = specs
    dims = output_dims(settings, image, weights)
    if result.dims != dims:
        raise BadParam(argument="yDesc", expected=f"dims {dims}", got=result.dims)
    for place, spec in enumerate(specs):
        stored = isinstance(spec, NarrowSpec) and spec.stored
        if not stored and spec.dtype not in _FLOATS:
            expected = "miopenFloat, miopenHalf, miopenBFloat16 or 8-bit floats"
            raise NotSupported(argument=_NAMES[place], expected=expected, got=spec.dtype.name)
        cast = spec.cast if isinstance(spec, NarrowSpec) else None
        if place in _OPERANDS[direction] and not stored and cast not in NARROW:
            expected = "8-bit floats, or a tensor rounded to them (miopenSetTensorCastType), as the other operand is"
            got = spec.dtype.name if cast is None else f"one rounded to {cast.name}"
            raise NotSupported(argument=_NAMES[place], expected=expected, got=got)


def convolve(
    direction: Any, handle: Handle, settings: ConvolutionSettings, specs: Sequence[TensorSpec], arrays: Sequence[Any]
) -> None:
    """Convolve 8-bit floats; `direction` is one of :mod:`.algorithms`."""
    check(direction.name, settings, specs)
    device = check_handle(handle).device
    wide = [TensorSpec.packed(DataType.FLOAT, spec.dims) for spec in specs]
    memory = [device.empty(spec) for spec in wide]
    operands = _OPERANDS[direction.name]
    for place in operands:
        _widen(handle, settings, place, specs[place], arrays[place], wide[place], memory[place])
    computation = direction.computation(settings)
    given = computation.arranged(settings, memory)
    execute(handle, computation.direction.kind, given, settings.conv, (1.0, 0.0))
    (result,) = {0, 1, 2} - set(operands)
    _store(handle, wide[result], memory[result], specs[result], arrays[result])


def _widen(
    handle: Handle,
    settings: ConvolutionSettings,
    place: int,
    spec: TensorSpec,
    array: Any,
    wide: TensorSpec,
    out: Any,
) -> None:
    """Write an operand's numbers, rounded, as floats."""
    assert isinstance(spec, NarrowSpec)
    kind, cast, mode = spec.kind, spec.cast, rounding_mode(settings)
    inputs, memory, types = {"x": spec}, {"x": array, "y": out}, {}
    if spec.stored:
        inputs["byte"], memory["byte"] = spec, array
        types = {"x": FORMATS[kind].ocp, "byte": _BYTES}

    def describe(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        numbers = decoded(graph, t["x"], t["byte"], kind) if spec.stored else graph.identity(t["x"])
        numbers.set_dim(list(spec.dims))
        if cast is None or cast is kind:
            return {"y": numbers}
        return {"y": drawn(graph, numbers, cast, place + 1) if mode is _STOCHASTIC else near(graph, numbers, cast)}

    run_graph(handle, ("widen", place, mode), inputs, {"y": wide}, memory, describe, types=types)


def _store(handle: Handle, wide: TensorSpec, numbers: Any, spec: TensorSpec, out: Any) -> None:
    """Store a result of floats in its type."""
    given = {"x": wide}
    if not isinstance(spec, NarrowSpec) or not spec.stored:
        run_graph(handle, "store", given, {"y": spec}, {"x": numbers, "y": out}, lambda g, t: {"y": g.identity(t["x"])})
        return
    kind, bytes_ = spec.kind, TensorSpec.packed(DataType.UINT8, wide.dims)
    half = handle.device.empty(bytes_)

    def first(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        rounded = near(graph, t["x"], kind)
        return {"half": doubled(graph, rounded, kind), "rounded": rounded}

    def second(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        return {"y": encoded(graph, t["x"], t["byte"], kind)}

    rounded = handle.device.empty(wide)
    made = {"half": bytes_, "rounded": wide}
    memory = {"x": numbers, "half": half, "rounded": rounded}
    run_graph(handle, ("half", kind), given, made, memory, first, types={"half": FORMATS[kind].ocp})
    memory = {"x": rounded, "byte": half, "y": out}
    types = {"byte": _BYTES, "y": _BYTES}
    run_graph(handle, ("bytes", kind), {**given, "byte": bytes_}, {"y": spec}, memory, second, types=types)
