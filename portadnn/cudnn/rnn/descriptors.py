"""Descriptors of recurrent networks, of every version (guide sections 4.99 to 4.101)."""

from __future__ import annotations

from typing import Any

import numpy as np

import portadnn as dnn

from ...arguments import as_integer, as_real
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.rnn.layout import DirectionMode, RNNBiasMode, RNNInputMode, RNNMode
from ..calls import Choice, c_value
from ..convolution.descriptors import math_type
from ..descriptors import Descriptor, DropoutDescriptor, made, value_of
from ..tensors import data_type, nan_option

rnn_mode = Choice("cudnnRNNMode_t", RNNMode)
direction_mode = Choice("cudnnDirectionMode_t", DirectionMode)
input_mode = Choice("cudnnRNNInputMode_t", RNNInputMode)
bias_mode = Choice("cudnnRNNBiasMode_t", RNNBiasMode)
_MINMAX = 1  # CUDNN_RNN_CLIP_MINMAX
_NO_CLIP = (0, 0, 0.0, 0.0)  # CUDNN_RNN_CLIP_NONE
_STANDARD = 0  # CUDNN_RNN_ALGO_STANDARD


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
        self.precision = DataType.FLOAT  # as it was given
        self.bias_mode, self.padding_mode = RNNBiasMode.DOUBLE_BIAS, 0
        self.clip: tuple[int, Any, float, float] = _NO_CLIP  # mode, NaN option and limits
        self.input_size, self.aux_flags, self.projection = 0, 0, 0
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
            with np.errstate(over="ignore"):  # limits are rounded to FLOAT, for DOUBLE too, as in cuDNN 9.19
                limits = tuple(float(np.float32(v)) for v in self.clip[2:]) if self.clip[0] == _MINMAX else None
            more: dict[str, Any] = {"bias_mode": self.bias_mode, "clip": limits, "dropout": dropout}
            more["proj_size"] = self.projection
            self._built = dropout, dnn.RNNDescriptor(**self.network, **more)
        return self._built[1]

    @value.setter
    def value(self, network: dict[str, Any] | None) -> None:
        self.network, self._built = network, (None, None)

    def changed(self, **settings: Any) -> None:
        """Set what the network's own Set function does not say."""
        for name, value in settings.items():
            setattr(self, name, value)
        self._built = (None, None)


def rnn_value(descriptor: Any) -> dnn.RNNDescriptor:
    """Return portadnn's descriptor."""
    return value_of(descriptor, RNNDescriptor, "rnnDesc")


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
) -> None:
    made(descriptor, RNNDescriptor, "rnnDesc")
    if dropout is not None or not dropout_may_be_null:
        value_of(dropout, DropoutDescriptor, "dropoutDesc")
    given = data_type(precision, "dataType")
    network = {
        "hidden_size": as_integer(hidden, "hiddenSize", 1),
        "num_layers": as_integer(layers, "numLayers", 1),
        "input_mode": input_mode(how_in, "inputMode"),
        "direction": direction_mode(direction, "direction"),
        "mode": rnn_mode(mode, "mode"),
        "compute_type": given.accumulator,
    }
    c_value("cudnnRNNAlgo_t", algo, "algo")
    descriptor.value, descriptor.dropout, descriptor.algo, descriptor.projection = network, dropout, int(algo), 0
    descriptor.dtype = descriptor.precision = given


def cudnnSetRNNDescriptor(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, dataType, *later):
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


def cudnnSetRNNDescriptor_v5(*settings):
    _set(*(*settings[:-1], 0, settings[-1]))


def cudnnSetRNNDescriptor_v6(handle, *settings):
    check_handle(handle)
    _set(*settings)


def cudnnSetRNNDescriptor_v8(
    rnnDesc,
    algo,
    cellMode,
    biasMode,
    dirMode,
    inputMode,
    dataType,
    mathPrec,
    mathType,
    inputSize,
    hiddenSize,
    projSize,
    numLayers,
    dropoutDesc,
    auxFlags,
):
    made(rnnDesc, RNNDescriptor, "rnnDesc")
    bias, math = bias_mode(biasMode, "biasMode"), math_type(mathType, "mathType")
    features, flags = as_integer(inputSize, "inputSize", 1), as_integer(auxFlags, "auxFlags", 0)
    standard = c_value("cudnnRNNAlgo_t", algo, "algo") == _STANDARD
    projection = _projection(projSize, "projSize", hiddenSize, rnn_mode(cellMode, "cellMode"), standard)
    dtype, precision = data_type(dataType, "dataType"), data_type(mathPrec, "mathPrec")
    if precision not in (dtype, dtype.accumulator):
        raise NotSupported(argument="mathPrec", expected=f"{dtype.accumulator} for {dtype}", got=precision)
    _set(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, dirMode, cellMode, algo, mathPrec, True)
    rnnDesc.dtype, rnnDesc.math = dtype, math
    rnnDesc.changed(bias_mode=bias, clip=_NO_CLIP, projection=projection)
    rnnDesc.input_size, rnnDesc.aux_flags = features, flags


def _projection(size: Any, argument: str, hidden: Any, mode: RNNMode, standard: bool) -> int:
    """Return the size of a recurrent projection; 0 for the hidden size, which is none."""
    number, all_units = as_integer(size, argument, 0), as_integer(hidden, "hiddenSize", 1)
    if number > all_units:
        raise BadParam(argument=argument, expected=f"at most {all_units}, the hidden size", got=number)
    if number in (0, all_units):
        return 0
    if mode is not RNNMode.LSTM or not standard:
        expected = f"{all_units}, the hidden size: CUDNN_LSTM projects, by CUDNN_RNN_ALGO_STANDARD"
        raise NotSupported(argument=argument, expected=expected, got=number)
    return number


def cudnnGetRNNDescriptor(cudnnHandle, rnn, rnnDesc):
    check_handle(cudnnHandle)
    return (
        rnn.hidden_size,
        rnn.num_layers,
        rnnDesc.dropout,
        input_mode.c(rnn.input_mode),
        direction_mode.c(rnn.direction),
        rnn_mode.c(rnn.mode),
        c_value("cudnnRNNAlgo_t", rnnDesc.algo, "algo"),
        data_type.c(rnnDesc.precision),
    )


def cudnnGetRNNDescriptor_v6(handle, rnn, rnnDesc):
    return cudnnGetRNNDescriptor(handle, rnn, rnnDesc)


def cudnnGetRNNDescriptor_v8(rnn, rnnDesc):
    return (
        c_value("cudnnRNNAlgo_t", rnnDesc.algo, "algo"),
        rnn_mode.c(rnn.mode),
        bias_mode.c(rnnDesc.bias_mode),
        direction_mode.c(rnn.direction),
        input_mode.c(rnn.input_mode),
        data_type.c(rnnDesc.dtype),
        data_type.c(rnnDesc.precision),
        math_type.c(rnnDesc.math),
        rnnDesc.input_size,
        rnn.hidden_size,
        rnn.proj_size or rnn.hidden_size,
        rnn.num_layers,
        rnnDesc.dropout,
        rnnDesc.aux_flags,
    )


def cudnnSetRNNMatrixMathType(desc, math):
    made(desc, RNNDescriptor, "desc").math = math_type(math, "math")


def cudnnGetRNNMatrixMathType(rnnDesc):
    return math_type.c(made(rnnDesc, RNNDescriptor, "rnnDesc").math)


def cudnnSetRNNBiasMode(rnnDesc, biasMode):
    made(rnnDesc, RNNDescriptor, "rnnDesc").changed(bias_mode=bias_mode(biasMode, "biasMode"))


def cudnnGetRNNBiasMode(rnnDesc):
    return bias_mode.c(made(rnnDesc, RNNDescriptor, "rnnDesc").bias_mode)


def cudnnSetRNNPaddingMode(rnnDesc, paddingMode):
    mode = c_value("cudnnRNNPaddingMode_t", paddingMode, "paddingMode")
    made(rnnDesc, RNNDescriptor, "rnnDesc").padding_mode = int(mode)


def cudnnGetRNNPaddingMode(rnnDesc):
    mode = made(rnnDesc, RNNDescriptor, "rnnDesc").padding_mode
    return c_value("cudnnRNNPaddingMode_t", mode, "paddingMode")


def cudnnRNNSetClip_v9(rnnDesc, clipMode, lclip, rclip):
    _set_clip(rnnDesc, clipMode, 1, lclip, rclip)


def cudnnRNNSetClip_v8(rnnDesc, clipMode, clipNanOpt, lclip, rclip):
    _set_clip(rnnDesc, clipMode, clipNanOpt, lclip, rclip)


def cudnnRNNSetClip(handle, rnnDesc, clipMode, clipNanOpt, lclip, rclip):
    check_handle(handle)
    _set_clip(rnnDesc, clipMode, clipNanOpt, lclip, rclip)


def _set_clip(descriptor: Any, mode: Any, option: Any, low: Any, high: Any) -> None:
    """Set the limits of cells; NaN stays NaN with both options, as nothing tells what else it would become."""
    made(descriptor, RNNDescriptor, "rnnDesc")
    kept = nan_option(option, "clipNanOpt")
    number = int(c_value("cudnnRNNClipMode_t", mode, "clipMode"))
    limits = as_real(low, "lclip"), as_real(high, "rclip")
    if not limits[0] <= limits[1]:
        raise BadParam(argument="lclip", expected=f"at most rclip, {limits[1]}", got=low)
    descriptor.changed(clip=(number, kept, *limits))


def cudnnRNNGetClip_v9(rnnDesc):
    mode, _, *limits = cudnnRNNGetClip_v8(rnnDesc)
    return mode, *limits


def cudnnRNNGetClip_v8(rnnDesc):
    number, option, low, high = made(rnnDesc, RNNDescriptor, "rnnDesc").clip
    mode = c_value("cudnnRNNClipMode_t", number, "clipMode")
    return mode, nan_option.c(option), low, high


def cudnnRNNGetClip(handle, rnnDesc):
    check_handle(handle)
    return cudnnRNNGetClip_v8(rnnDesc)


def cudnnSetRNNProjectionLayers(handle, rnnDesc, recProjSize, outProjSize):
    check_handle(handle)
    rnn = rnn_value(rnnDesc)
    standard = rnnDesc.algo == _STANDARD
    projection = _projection(recProjSize, "recProjSize", rnn.hidden_size, rnn.mode, standard)
    if as_integer(outProjSize, "outProjSize", 0):
        raise NotSupported("there is no output projection", argument="outProjSize", expected="0", got=outProjSize)
    rnnDesc.changed(projection=projection)


def cudnnGetRNNProjectionLayers(handle, rnnDesc):
    check_handle(handle)
    rnn = rnn_value(rnnDesc)
    return rnn.proj_size or rnn.hidden_size, 0


def cudnnBuildRNNDynamic(handle, rnnDesc, miniBatch):
    check_handle(handle)
    rnn_value(rnnDesc)
    as_integer(miniBatch, "miniBatch", 1)


class PersistentRNNPlan(Descriptor):
    """A ``cudnnPersistentRNNPlan_t``: it holds nothing, because plans are made when a network is first used."""

    what = "persistent RNN plan"
    made_by = "cudnnCreatePersistentRNNPlan"


def cudnnCreatePersistentRNNPlan(rnnDesc, minibatch, dataType):
    rnn_value(rnnDesc)
    as_integer(minibatch, "minibatch", 1)
    data_type(dataType, "dataType")
    return PersistentRNNPlan()


def cudnnSetPersistentRNNPlan(rnnDesc, plan):
    made(rnnDesc, RNNDescriptor, "rnnDesc")
    made(plan, PersistentRNNPlan, "plan")
