"""Recurrent networks: the places of parameters.

The parameters lie as portadnn's do: for each pseudo-layer the matrices of the input, then those of the hidden state,
then all biases, with the gates of an LSTM in the order i, f, new memory, o and those of a GRU r, z, n. The calls here
number them as MIOpen does, LSTM i, f, o, new memory and GRU z, r, n, and offsets are of portadnn's places.
"""

from __future__ import annotations

from typing import Any

from ...dispatch.problems import check_handle
from ...errors import BadParam
from ...handle import Handle
from ...ops.tensor import transform_tensor
from ...problem import TensorSpec
from ..descriptors import DATA_TYPES, made, miopenTensorDescriptor_t, spec_of, view
from ..enums import miopenDataType_t
from ..names import function, integer, parse
from .descriptor import RNNSettings, miopenRNNDescriptor_t, rnn_settings

Desc = miopenTensorDescriptor_t
RNN = miopenRNNDescriptor_t


def features_of(settings: RNNSettings, xDesc: Any, argument: str = "xDesc") -> int:
    """Return the features of a step (n, features)."""
    spec = spec_of(xDesc, argument)
    if len(spec.dims) not in (2, 3) or spec.dims[2:] not in ((), (1,)):
        raise BadParam(argument=argument, expected="(n, features), the lengths of one step", got=spec.dims)
    if spec.dtype is not DATA_TYPES[settings.data_type]:
        raise BadParam(argument=argument, expected=f"{settings.data_type.name}, as the network", got=spec.dtype)
    return spec.dims[1]


def _place(settings: RNNSettings, layer: Any, xDesc: Any, number: Any, bias: bool) -> tuple[int, tuple[int, ...]]:
    """Return where a matrix or a bias lies, in elements, and its dims.

    Raises
    ------
    BadParam
        There is no such layer or number, or it is the input's of the first layer with miopenRNNskip.
    """
    network = settings.network(features_of(settings, xDesc))
    name = "biasID" if bias else "paramID"
    pseudo, which = integer(layer, "layer"), integer(number, name)
    for argument, value, count in (
        ("layer", pseudo, network.layers * network.directions),
        (name, which, 2 * network.mode.gates),
    ):
        if value >= count:
            raise BadParam(argument=argument, expected=f"0 to {count - 1}", got=value)
    own, direction = divmod(pseudo, network.directions)
    recurrent, gate = settings.gate(which)
    columns = 1 if bias else network.hidden if recurrent else network.inputs(own)
    if not columns:
        raise BadParam(
            "there is no parameter of the input with miopenRNNskip", argument=name, expected="another", got=which
        )
    start = network.bias if bias else network.matrix
    dims = (network.hidden,) if bias else (network.hidden, columns)
    return start(own, direction, recurrent) + gate * network.hidden * columns, dims


def _spec(settings: RNNSettings, dims: tuple[int, ...]) -> TensorSpec:
    return TensorSpec.packed(DATA_TYPES[settings.data_type], dims)


def _views(
    handle: Handle, settings: RNNSettings, wDesc: Any, w: Any, place: int, dims: tuple[int, ...], data: Any, name: str
) -> tuple[Any, Any]:
    """Return the place among the parameters, and the caller's memory for it."""
    spec_of(wDesc, "wDesc")
    wide = TensorSpec.packed(DATA_TYPES[settings.data_type], (*dims, 1, 1)[:3])
    return view(handle, wide, w, "w", place), view(handle, wide, data, name)


@function
def miopenGetRNNParamsSize(handle: Handle, rnnDesc: RNN, xDesc: Desc, dtype: Any) -> int:
    """Return the bytes of the parameters."""
    _ = check_handle(handle).device
    settings = rnn_settings(rnnDesc)
    if parse(miopenDataType_t, dtype, "dtype") is not settings.data_type:
        raise BadParam(argument="dtype", expected=settings.data_type.name, got=dtype)
    network = settings.network(features_of(settings, xDesc))
    return settings.count(network) * DATA_TYPES[settings.data_type].itemsize


@function
def miopenGetRNNParamsDescriptor(handle: Handle, rnnDesc: RNN, xDesc: Desc, wDesc: Desc, dtype: Any) -> None:
    """Fill the descriptor of the parameters, of two dims as MIOpen has it."""
    _ = check_handle(handle).device
    settings = rnn_settings(rnnDesc)
    out = made(wDesc, miopenTensorDescriptor_t, "wDesc")
    if parse(miopenDataType_t, dtype, "dtype") is not settings.data_type:
        raise BadParam(argument="dtype", expected=settings.data_type.name, got=dtype)
    network = settings.network(features_of(settings, xDesc))
    columns = network.directions * network.hidden * network.mode.gates
    out.set(_spec(settings, (settings.count(network) // columns, columns)))


@function
def miopenGetRNNLayerParam(
    handle: Handle,
    rnnDesc: RNN,
    layer: int,
    xDesc: Desc,
    wDesc: Desc,
    w: Any,
    paramID: int,
    paramDesc: Desc,
    layerParam: Any,
) -> None:
    """Fill the descriptor of a matrix, (hidden, columns), and copy it to `layerParam` unless that is None.

    paramID: RNN 0 multiplies the input, 1 the hidden state. LSTM 0 and 4 input gate, 1 and 5 forget gate, 2 and 6
    output gate, 3 and 7 new memory. GRU 0 and 3 update gate, 1 and 4 reset gate, 2 and 5 new memory. layer: 2 * layer +
    direction of bidirectional networks.
    """
    settings = rnn_settings(rnnDesc)
    place, dims = _place(settings, layer, xDesc, paramID, bias=False)
    made(paramDesc, miopenTensorDescriptor_t, "paramDesc").set(_spec(settings, dims))
    if layerParam is not None:
        inside, out = _views(handle, settings, wDesc, w, place, dims, layerParam, "layerParam")
        transform_tensor(handle, inside, out)


@function
def miopenSetRNNLayerParam(
    handle: Handle,
    rnnDesc: RNN,
    layer: int,
    xDesc: Desc,
    wDesc: Desc,
    w: Any,
    paramID: int,
    paramDesc: Desc,
    layerParam: Any,
) -> None:
    """Copy a matrix to its place; miopenGetRNNLayerParam tells the numbers."""
    settings = rnn_settings(rnnDesc)
    place, dims = _place(settings, layer, xDesc, paramID, bias=False)
    _check_desc(settings, paramDesc, dims, "paramDesc")
    inside, given = _views(handle, settings, wDesc, w, place, dims, layerParam, "layerParam")
    transform_tensor(handle, given, inside)


def _check_desc(settings: RNNSettings, desc: Any, dims: tuple[int, ...], argument: str) -> None:
    if spec_of(desc, argument) != _spec(settings, dims):
        raise BadParam(argument=argument, expected=str(_spec(settings, dims)), got=str(spec_of(desc, argument)))


@function
def miopenGetRNNLayerParamOffset(rnnDesc: RNN, layer: int, xDesc: Desc, paramID: int, paramDesc: Desc) -> int:
    """Fill the descriptor of a matrix, and return where it lies among the parameters, in elements."""
    settings = rnn_settings(rnnDesc)
    place, dims = _place(settings, layer, xDesc, paramID, bias=False)
    made(paramDesc, miopenTensorDescriptor_t, "paramDesc").set(_spec(settings, dims))
    return place


@function
def miopenGetRNNLayerParamSize(handle: Handle, rnnDesc: RNN, layer: int, xDesc: Desc, paramID: int) -> int:
    """Return the bytes of a matrix."""
    _ = check_handle(handle).device
    settings = rnn_settings(rnnDesc)
    spec = _spec(settings, _place(settings, layer, xDesc, paramID, bias=False)[1])
    return spec.nbytes


@function
def miopenGetRNNLayerBias(
    handle: Handle,
    rnnDesc: RNN,
    layer: int,
    xDesc: Desc,
    wDesc: Desc,
    w: Any,
    biasID: int,
    biasDesc: Desc,
    layerBias: Any,
) -> None:
    """Fill the descriptor of a bias, (hidden,), and copy it; nothing happens with miopenRNNNoBias."""
    settings = rnn_settings(rnnDesc)
    place, dims = _place(settings, layer, xDesc, biasID, bias=True)
    out = made(biasDesc, miopenTensorDescriptor_t, "biasDesc")
    if not settings.biased:
        return
    out.set(_spec(settings, dims))
    if layerBias is not None:
        inside, memory = _views(handle, settings, wDesc, w, place, dims, layerBias, "layerBias")
        transform_tensor(handle, inside, memory)


@function
def miopenSetRNNLayerBias(
    handle: Handle,
    rnnDesc: RNN,
    layer: int,
    xDesc: Desc,
    wDesc: Desc,
    w: Any,
    biasID: int,
    biasDesc: Desc,
    layerBias: Any,
) -> None:
    """Copy a bias to its place; nothing happens with miopenRNNNoBias."""
    settings = rnn_settings(rnnDesc)
    place, dims = _place(settings, layer, xDesc, biasID, bias=True)
    if not settings.biased:
        return
    _check_desc(settings, biasDesc, dims, "biasDesc")
    inside, given = _views(handle, settings, wDesc, w, place, dims, layerBias, "layerBias")
    transform_tensor(handle, given, inside)


@function
def miopenGetRNNLayerBiasOffset(rnnDesc: RNN, layer: int, xDesc: Desc, biasID: int, biasDesc: Desc) -> int:
    """Fill the descriptor of a bias, and return where it lies among the parameters, in elements."""
    settings = rnn_settings(rnnDesc)
    place, dims = _place(settings, layer, xDesc, biasID, bias=True)
    out = made(biasDesc, miopenTensorDescriptor_t, "biasDesc")
    if not settings.biased:
        raise BadParam(argument="rnnDesc", expected="miopenRNNwithBias", got=settings.bias.name)
    out.set(_spec(settings, dims))
    return place


@function
def miopenGetRNNLayerBiasSize(handle: Handle, rnnDesc: RNN, layer: int, biasID: int) -> int:
    """Return the bytes of a bias."""
    _ = check_handle(handle).device
    settings = rnn_settings(rnnDesc)
    integer(layer, "layer")
    integer(biasID, "biasID")
    return settings.hidden * DATA_TYPES[settings.data_type].itemsize
