"""Convolutions of bytes: miopenInt8 with miopenInt8, forward, to miopenInt8, miopenInt32 or miopenFloat.

They are graphs. Sums are kept in 32 bits; a miopenInt8 of the result is saturated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...enums import ConvolutionFwdAlgo, ConvolutionMode, DataType, Status
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.convolution.algorithms import AlgoPerf
from ...problem import TensorSpec
from ..composed_graphs import run_graph
from .descriptor import ConvolutionSettings, output_dims

RESULTS = (DataType.INT8, DataType.INT32, DataType.FLOAT)


def of_bytes(specs: Sequence[TensorSpec]) -> bool:
    """Tell whether image, filter and result are those of a convolution of bytes."""
    return specs[0].dtype is DataType.INT8 or specs[1].dtype is DataType.INT8


def check(settings: ConvolutionSettings, specs: Sequence[TensorSpec], forward: bool) -> None:
    """Raise what is wrong with a convolution of bytes.

    Raises
    ------
    NotSupported
        Gradients, transposed convolutions, or a result of another type: MIOpen has none of them either.
    BadParam
        One of image and filter is not of bytes, or the result has other dims.
    """
    image, weights, result = specs
    if not forward or settings.transposed:
        expected = "miopenHalf, miopenFloat, miopenBFloat16 or miopenDouble in gradients and transposed convolutions"
        raise NotSupported(argument="xDesc", expected=expected, got="miopenInt8")
    if image.dtype is not weights.dtype:
        raise BadParam(argument="wDesc", expected=f"the type of x, {image.dtype.name}", got=weights.dtype.name)
    if result.dtype not in RESULTS:
        expected = "miopenInt8, miopenInt32 or miopenFloat"
        raise NotSupported(argument="yDesc", expected=expected, got=result.dtype.name)
    dims = output_dims(settings, image, weights)
    if result.dims != dims:
        raise BadParam(argument="yDesc", expected=f"dims {dims}", got=result.dims)


def perf() -> AlgoPerf[Any]:
    """Return what Find and immediate mode say of the one algorithm."""
    return AlgoPerf(ConvolutionFwdAlgo.IMPLICIT_GEMM, Status.SUCCESS, 0.0, 0, True)


def convolve(handle: Handle, settings: ConvolutionSettings, specs: Sequence[TensorSpec], arrays: Sequence[Any]) -> None:
    """Convolve bytes."""
    check(settings, specs, True)
    conv = settings.conv

    def describe(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        from ... import graph as graphs

        result = graph.conv_fprop(
            t["x"],
            t["w"],
            padding=list(conv.padding),
            stride=list(conv.stride or ()),
            dilation=list(conv.dilation or ()),
            convolution_mode=graphs.convolution_mode[conv.mode.name],
            compute_data_type=graphs.data_type.INT32,
        ).set_data_type(graphs.data_type.INT32)
        if specs[2].dtype is DataType.INT32:
            return {"y": result}
        return {"y": graph.identity(result)}

    names = dict(zip("xwy", specs, strict=True))
    inputs = {name: names[name] for name in "xw"}
    assert isinstance(conv.mode, ConvolutionMode)
    key = ("bytes", conv)
    run_graph(handle, key, inputs, {"y": names["y"]}, dict(zip("xwy", arrays, strict=True)), describe)
