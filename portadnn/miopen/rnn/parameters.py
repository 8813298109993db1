"""Recurrent networks: the places of parameters.

The parameters lie as MIOpen's do (places.py), and are numbered so.
"""

from __future__ import annotations

from typing import Any

from ...dispatch.problems import check_handle
from ...errors import BadParam
from ...handle import Handle
from ...ops.tensor import transform_tensor
from ...problem import TensorSpec
from ..descriptors import DATA_TYPES, made, miopenTensorDescriptor_t, spec_of, view
from ..generated.enums import miopenDataType_t
from ..names import integer, parse
from . import places
from .descriptor import RNNSettings


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
    recurrent, gate = divmod(which, network.mode.gates)
    columns = 1 if bias else network.hidden if recurrent else network.inputs(own)
    if not columns:
        raise BadParam(
            "there is no parameter of the input with miopenRNNskip", argument=name, expected="another", got=which
        )
    start = places.bias if bias else places.matrix
    dims = (network.hidden,) if bias else (network.hidden, columns)
    return start(network, own, direction, bool(recurrent)) + gate * network.hidden * columns, dims


def _spec(settings: RNNSettings, dims: tuple[int, ...]) -> TensorSpec:
    return TensorSpec.packed(DATA_TYPES[settings.data_type], dims)


def _views(
    handle: Handle, settings: RNNSettings, wDesc: Any, w: Any, place: int, dims: tuple[int, ...], data: Any, name: str
) -> tuple[Any, Any]:
    """Return the place among the parameters, and the caller's memory for it."""
    spec_of(wDesc, "wDesc")
    wide = TensorSpec.packed(DATA_TYPES[settings.data_type], (*dims, 1, 1)[:3])
    return view(handle, wide, w, "w", place), view(handle, wide, data, name)


def _counted(handle: Handle, settings: RNNSettings, dtype: Any) -> RNNSettings:
    """Demand a handle that is open, and the network's own type."""
    _ = check_handle(handle).device
    if parse(miopenDataType_t, dtype, "dtype") is not settings.data_type:
        raise BadParam(argument="dtype", expected=settings.data_type.name, got=dtype)
    return settings


def miopenGetRNNParamsSize(handle, rnn, dtype, xDesc):
    network = _counted(handle, rnn, dtype).network(features_of(rnn, xDesc))
    return network.size * DATA_TYPES[rnn.data_type].itemsize


def miopenGetRNNParamsDescriptor(handle, rnn, dtype, xDesc, wDesc):
    out = made(wDesc, miopenTensorDescriptor_t, "wDesc")
    network = _counted(handle, rnn, dtype).network(features_of(rnn, xDesc))
    columns = network.directions * network.hidden * network.mode.gates
    out.set(_spec(rnn, (network.size // columns, columns)))


def miopenGetRNNLayerParam(handle, rnn, layer, xDesc, wDesc, raw_w, paramID, paramDesc, layerParam):
    place, dims = _place(rnn, layer, xDesc, paramID, bias=False)
    made(paramDesc, miopenTensorDescriptor_t, "paramDesc").set(_spec(rnn, dims))
    if layerParam is not None:
        inside, out = _views(handle, rnn, wDesc, raw_w, place, dims, layerParam, "layerParam")
        transform_tensor(handle, inside, out)


def miopenSetRNNLayerParam(handle, rnn, layer, xDesc, wDesc, raw_w, paramID, paramDesc, layerParam):
    place, dims = _place(rnn, layer, xDesc, paramID, bias=False)
    _check_desc(rnn, paramDesc, dims, "paramDesc")
    inside, given = _views(handle, rnn, wDesc, raw_w, place, dims, layerParam, "layerParam")
    transform_tensor(handle, given, inside)


def _check_desc(settings: RNNSettings, desc: Any, dims: tuple[int, ...], argument: str) -> None:
    if spec_of(desc, argument) != _spec(settings, dims):
        raise BadParam(argument=argument, expected=str(_spec(settings, dims)), got=str(spec_of(desc, argument)))


def miopenGetRNNLayerParamOffset(rnn, layer, xDesc, paramID, paramDesc):
    place, dims = _place(rnn, layer, xDesc, paramID, bias=False)
    made(paramDesc, miopenTensorDescriptor_t, "paramDesc").set(_spec(rnn, dims))
    return place


def miopenGetRNNLayerParamSize(handle, rnn, layer, xDesc, paramID):
    _ = check_handle(handle).device
    return _spec(rnn, _place(rnn, layer, xDesc, paramID, bias=False)[1]).nbytes


def miopenGetRNNLayerBias(handle, rnn, layer, xDesc, wDesc, raw_w, biasID, biasDesc, layerBias):
    place, dims = _place(rnn, layer, xDesc, biasID, bias=True)
    out = made(biasDesc, miopenTensorDescriptor_t, "biasDesc")
    if not rnn.biased:
        return
    out.set(_spec(rnn, dims))
    if layerBias is not None:
        inside, memory = _views(handle, rnn, wDesc, raw_w, place, dims, layerBias, "layerBias")
        transform_tensor(handle, inside, memory)


def miopenSetRNNLayerBias(handle, rnn, layer, xDesc, wDesc, raw_w, biasID, biasDesc, layerBias):
    place, dims = _place(rnn, layer, xDesc, biasID, bias=True)
    if not rnn.biased:
        return
    _check_desc(rnn, biasDesc, dims, "biasDesc")
    inside, given = _views(handle, rnn, wDesc, raw_w, place, dims, layerBias, "layerBias")
    transform_tensor(handle, given, inside)


def miopenGetRNNLayerBiasOffset(rnn, layer, xDesc, biasID, biasDesc):
    place, dims = _place(rnn, layer, xDesc, biasID, bias=True)
    out = made(biasDesc, miopenTensorDescriptor_t, "biasDesc")
    if not rnn.biased:
        raise BadParam(argument="rnnDesc", expected="miopenRNNwithBias", got=rnn.bias.name)
    out.set(_spec(rnn, dims))
    return place


def miopenGetRNNLayerBiasSize(handle, rnn, layer, biasID):
    _ = check_handle(handle).device
    integer(layer, "layer")
    integer(biasID, "biasID")
    return rnn.hidden * DATA_TYPES[rnn.data_type].itemsize
