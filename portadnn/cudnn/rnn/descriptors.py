"""Descriptors of recurrent networks, of every version (guide sections 4.99 to 4.101)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ...arguments import as_integer
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.rnn.layout import DirectionMode, RNNInputMode, RNNMode
from ..calls import Choice, c_function, c_value
from ..convolution.descriptors import math_type
from ..descriptors import Descriptor, DropoutDescriptor, creator, destroy, made, value_of
from ..tensors import data_type, nan_option

rnn_mode = Choice("cudnnRNNMode_t", RNNMode)
direction_mode = Choice("cudnnDirectionMode_t", DirectionMode)
input_mode = Choice("cudnnRNNInputMode_t", RNNInputMode)
_DOUBLE_BIAS = 2


class RNNDescriptor(Descriptor):
    """A ``cudnnRNNDescriptor_t``: what every version's Set function may say.

    The dropout descriptor is looked at when the network is used, as in C: setting it again changes the network.
    """

    what = "RNN descriptor"
    made_by = "cudnnCreateRNNDescriptor"

    def __init__(self) -> None:
        self.network: dict[str, Any] | None = None  # arguments of portadnn's descriptor, but for the dropout
        self.dropout: DropoutDescriptor | None = None
        self.dtype = DataType.FLOAT
        self.algo = 0
        self.math = dnn.MathType.DEFAULT
        self.bias_mode, self.padding_mode = _DOUBLE_BIAS, 0
        self.input_size, self.aux_flags = 0, 0
        self.views: dict[Any, Any] = {}  # of weight spaces
        self._built: tuple[Any, Any] = (None, None)

    @property
    def value(self) -> Any:
        """The descriptor of portadnn; None before the object is set."""
        if self.network is None:
            return None
        dropout = None
        if self.dropout is not None:
            dropout = self.dropout.value or value_of(self.dropout, DropoutDescriptor, "dropoutDesc")
        if self._built[1] is None or self._built[0] is not dropout:
            self._built = dropout, dnn.RNNDescriptor(**self.network, dropout=dropout)
        return self._built[1]

    @value.setter
    def value(self, network: dict[str, Any] | None) -> None:
        self.network, self._built = network, (None, None)


cudnnCreateRNNDescriptor = creator("cudnnCreateRNNDescriptor", RNNDescriptor)


@c_function
def cudnnDestroyRNNDescriptor(rnnDesc: RNNDescriptor) -> None:
    destroy(rnnDesc, RNNDescriptor, "rnnDesc")


def rnn_value(descriptor: Any) -> dnn.RNNDescriptor:
    """Return portadnn's descriptor."""
    if type(descriptor) is RNNDescriptor:
        value = descriptor.value
        if value is not None:
            return value  # type: ignore[no-any-return]
    return value_of(descriptor, RNNDescriptor, "rnnDesc")  # type: ignore[no-any-return]


def _set(
    descriptor: Any,
    hidden: Any,
    layers: Any,
    dropout: Any,
    how_in: Any,
    direction: Any,
    mode: Any,
    algo: Any,
    precision: Any,
    dropout_may_be_null: bool = False,
) -> RNNDescriptor:
    made(descriptor, RNNDescriptor, "rnnDesc")
    if dropout is not None or not dropout_may_be_null:
        value_of(dropout, DropoutDescriptor, "dropoutDesc")
    network = {
        "hidden_size": as_integer(hidden, "hiddenSize", 1),
        "num_layers": as_integer(layers, "numLayers", 1),
        "input_mode": input_mode(how_in, "inputMode"),
        "direction": direction_mode(direction, "direction"),
        "mode": rnn_mode(mode, "mode"),
        "compute_type": data_type(precision, "dataType"),
    }
    c_value("cudnnRNNAlgo_t", algo, "algo")
    descriptor.value, descriptor.dropout, descriptor.algo = network, dropout, int(algo)
    descriptor.dtype = network["compute_type"]
    return descriptor  # type: ignore[no-any-return]


@c_function
def cudnnSetRNNDescriptor(
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor,
    inputMode: int,
    direction: int,
    mode: int,
    dataType: int,
    *later: Any,
) -> None:
    """The arguments of cuDNN 7, which begin with a handle and have an algorithm before the type, are taken as well."""
    if isinstance(rnnDesc, Handle):
        arguments = (hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, dataType, *later)
        if len(arguments) != 9:
            raise BadParam(
                argument="cudnnSetRNNDescriptor", expected="10 arguments with a handle", got=len(arguments) + 1
            )
        _set(*arguments)
        return
    if later:
        raise BadParam(argument="cudnnSetRNNDescriptor", expected="8 arguments without a handle", got=8 + len(later))
    _set(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, 0, dataType)


@c_function
def cudnnSetRNNDescriptor_v5(
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor,
    inputMode: int,
    direction: int,
    mode: int,
    dataType: int,
) -> None:
    _set(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, 0, dataType)


@c_function
def cudnnSetRNNDescriptor_v6(
    handle: Handle,
    rnnDesc: RNNDescriptor,
    hiddenSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor,
    inputMode: int,
    direction: int,
    mode: int,
    algo: int,
    dataType: int,
) -> None:
    """`algo` is kept: all algorithms compute the same, and portadnn chooses by itself."""
    check_handle(handle)
    _set(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, dataType)


@c_function
def cudnnSetRNNDescriptor_v8(
    rnnDesc: RNNDescriptor,
    algo: int,
    cellMode: int,
    biasMode: int,
    dirMode: int,
    inputMode: int,
    dataType: int,
    mathPrec: int,
    mathType: int,
    inputSize: int,
    hiddenSize: int,
    projSize: int,
    numLayers: int,
    dropoutDesc: DropoutDescriptor | None,
    auxFlags: int,
) -> None:
    """Biases are double (CUDNN_RNN_DOUBLE_BIAS) and there is no projection: `projSize` is `hiddenSize`."""
    made(rnnDesc, RNNDescriptor, "rnnDesc")
    bias, math = _bias_mode(biasMode), math_type(mathType, "mathType")
    features, flags = as_integer(inputSize, "inputSize", 1), as_integer(auxFlags, "auxFlags", 0)
    _check_projection(as_integer(projSize, "projSize", 0), as_integer(hiddenSize, "hiddenSize", 1))
    dtype = data_type(dataType, "dataType")
    _set(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, dirMode, cellMode, algo, mathPrec, True)
    rnnDesc.dtype, rnnDesc.bias_mode, rnnDesc.math = dtype, bias, math
    rnnDesc.input_size, rnnDesc.aux_flags = features, flags


def _bias_mode(value: Any) -> int:
    mode = c_value("cudnnRNNBiasMode_t", value, "biasMode")
    if mode != _DOUBLE_BIAS:
        raise NotSupported(
            "set the biases that are not wanted to 0",
            argument="biasMode",
            expected="CUDNN_RNN_DOUBLE_BIAS",
            got=mode.name,
        )
    return _DOUBLE_BIAS


def _check_projection(size: int, hidden: Any, argument: str = "projSize") -> None:
    if size not in (0, hidden):
        raise NotSupported(
            "there is no recurrent projection", argument=argument, expected=f"{hidden}, the hidden size", got=size
        )


def _get(descriptor: Any) -> tuple[Any, ...]:
    value = rnn_value(descriptor)
    return (
        value.hidden_size,
        value.num_layers,
        descriptor.dropout,
        input_mode.c(value.input_mode),
        direction_mode.c(value.direction),
        rnn_mode.c(value.mode),
        c_value("cudnnRNNAlgo_t", descriptor.algo, "algo"),
        data_type.c(value.compute_type),
    )


@c_function
def cudnnGetRNNDescriptor(cudnnHandle: Handle, rnnDesc: RNNDescriptor) -> tuple[Any, ...]:
    check_handle(cudnnHandle)
    return _get(rnnDesc)


@c_function
def cudnnGetRNNDescriptor_v6(handle: Handle, rnnDesc: RNNDescriptor) -> tuple[Any, ...]:
    check_handle(handle)
    return _get(rnnDesc)


@c_function
def cudnnGetRNNDescriptor_v8(rnnDesc: RNNDescriptor) -> tuple[Any, ...]:
    hidden, layers, dropout, how_in, direction, mode, algo, precision = _get(rnnDesc)
    bias = c_value("cudnnRNNBiasMode_t", rnnDesc.bias_mode, "biasMode")
    types = (data_type.c(rnnDesc.dtype), precision, math_type.c(rnnDesc.math))
    sizes = (rnnDesc.input_size, hidden, hidden, layers)
    return (algo, mode, bias, direction, how_in, *types, *sizes, dropout, rnnDesc.aux_flags)


@c_function
def cudnnSetRNNMatrixMathType(desc: RNNDescriptor, math: int) -> None:
    """It is kept and has no effect: recurrent networks compute in float."""
    made(desc, RNNDescriptor, "desc").math = math_type(math, "math")


@c_function
def cudnnGetRNNMatrixMathType(rnnDesc: RNNDescriptor) -> Any:
    return math_type.c(made(rnnDesc, RNNDescriptor, "rnnDesc").math)


@c_function
def cudnnSetRNNBiasMode(rnnDesc: RNNDescriptor, biasMode: int) -> None:
    """CUDNN_RNN_DOUBLE_BIAS; a network with fewer biases is one whose others are 0."""
    made(rnnDesc, RNNDescriptor, "rnnDesc").bias_mode = _bias_mode(biasMode)


@c_function
def cudnnGetRNNBiasMode(rnnDesc: RNNDescriptor) -> Any:
    return c_value("cudnnRNNBiasMode_t", made(rnnDesc, RNNDescriptor, "rnnDesc").bias_mode, "biasMode")


@c_function
def cudnnSetRNNPaddingMode(rnnDesc: RNNDescriptor, paddingMode: int) -> None:
    """It is kept: whether sequences are padded is told by the RNN data descriptors."""
    mode = c_value("cudnnRNNPaddingMode_t", paddingMode, "paddingMode")
    made(rnnDesc, RNNDescriptor, "rnnDesc").padding_mode = int(mode)


@c_function
def cudnnGetRNNPaddingMode(rnnDesc: RNNDescriptor) -> Any:
    mode = made(rnnDesc, RNNDescriptor, "rnnDesc").padding_mode
    return c_value("cudnnRNNPaddingMode_t", mode, "paddingMode")


def _clip(descriptor: Any, mode: Any) -> None:
    made(descriptor, RNNDescriptor, "rnnDesc")
    if c_value("cudnnRNNClipMode_t", mode, "clipMode") != 0:
        raise NotSupported("cells are not clipped", argument="clipMode", expected="CUDNN_RNN_CLIP_NONE", got=mode)


def _no_clip(descriptor: Any) -> Any:
    made(descriptor, RNNDescriptor, "rnnDesc")
    return c_value("cudnnRNNClipMode_t", 0, "clipMode")


@c_function
def cudnnRNNSetClip(
    handle: Handle, rnnDesc: RNNDescriptor, clipMode: int, clipNanOpt: int, lclip: float, rclip: float
) -> None:
    """CUDNN_RNN_CLIP_NONE only."""
    check_handle(handle)
    nan_option(clipNanOpt, "clipNanOpt")
    _clip(rnnDesc, clipMode)


@c_function
def cudnnRNNGetClip(handle: Handle, rnnDesc: RNNDescriptor) -> tuple[Any, Any, float, float]:
    check_handle(handle)
    return _no_clip(rnnDesc), nan_option.c(0), 0.0, 0.0


@c_function
def cudnnRNNSetClip_v8(rnnDesc: RNNDescriptor, clipMode: int, clipNanOpt: int, lclip: float, rclip: float) -> None:
    """CUDNN_RNN_CLIP_NONE only."""
    nan_option(clipNanOpt, "clipNanOpt")
    _clip(rnnDesc, clipMode)


@c_function
def cudnnRNNGetClip_v8(rnnDesc: RNNDescriptor) -> tuple[Any, Any, float, float]:
    return _no_clip(rnnDesc), nan_option.c(0), 0.0, 0.0


@c_function
def cudnnRNNSetClip_v9(rnnDesc: RNNDescriptor, clipMode: int, lclip: float, rclip: float) -> None:
    """CUDNN_RNN_CLIP_NONE only."""
    _clip(rnnDesc, clipMode)


@c_function
def cudnnRNNGetClip_v9(rnnDesc: RNNDescriptor) -> tuple[Any, float, float]:
    return _no_clip(rnnDesc), 0.0, 0.0


@c_function
def cudnnSetRNNProjectionLayers(handle: Handle, rnnDesc: RNNDescriptor, recProjSize: int, outProjSize: int) -> None:
    """Only what says that there is no projection: the hidden size, and 0."""
    check_handle(handle)
    _check_projection(as_integer(recProjSize, "recProjSize", 0), rnn_value(rnnDesc).hidden_size, "recProjSize")
    if as_integer(outProjSize, "outProjSize", 0):
        raise NotSupported("there is no output projection", argument="outProjSize", expected="0", got=outProjSize)


@c_function
def cudnnGetRNNProjectionLayers(handle: Handle, rnnDesc: RNNDescriptor) -> tuple[int, int]:
    check_handle(handle)
    return rnn_value(rnnDesc).hidden_size, 0


@c_function
def cudnnBuildRNNDynamic(handle: Handle, rnnDesc: RNNDescriptor, miniBatch: int) -> None:
    """Nothing is to be built: plans are made, and kept, when a network is first used."""
    check_handle(handle)
    rnn_value(rnnDesc)
    as_integer(miniBatch, "miniBatch", 1)


class PersistentRNNPlan(Descriptor):
    """A ``cudnnPersistentRNNPlan_t``: it holds nothing, because plans are made when a network is first used."""

    what = "persistent RNN plan"
    made_by = "cudnnCreatePersistentRNNPlan"


@c_function
def cudnnCreatePersistentRNNPlan(rnnDesc: RNNDescriptor, minibatch: int, dataType: int) -> PersistentRNNPlan:
    """Nothing is to be built: plans are made, and kept, when a network is first used."""
    rnn_value(rnnDesc)
    as_integer(minibatch, "minibatch", 1)
    data_type(dataType, "dataType")
    return PersistentRNNPlan()


@c_function
def cudnnSetPersistentRNNPlan(rnnDesc: RNNDescriptor, plan: PersistentRNNPlan) -> None:
    """It has no effect."""
    made(rnnDesc, RNNDescriptor, "rnnDesc")
    made(plan, PersistentRNNPlan, "plan")


@c_function
def cudnnDestroyPersistentRNNPlan(plan: PersistentRNNPlan) -> None:
    destroy(plan, PersistentRNNPlan, "plan")
