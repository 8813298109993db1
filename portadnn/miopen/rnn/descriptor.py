"""Descriptors of recurrent networks."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from ...errors import BadParam
from ...ops.dropout import DropoutDescriptor
from ...ops.rnn.descriptor import RNNDescriptor
from ...ops.rnn.layout import DirectionMode, Network, RNNBiasMode, RNNInputMode, RNNMode
from ...ops.rnn.problems import network_of
from ...problem import TensorSpec
from ..descriptors import DATA_TYPES, Opaque, made, value_of
from ..dropout import miopenDropoutDescriptor_t
from ..generated.enums import (
    miopenDataType_t,
    miopenRNNAlgo_t,
    miopenRNNBiasMode_t,
    miopenRNNDirectionMode_t,
    miopenRNNInputMode_t,
    miopenRNNMode_t,
    miopenRNNPaddingMode_t,
)
from ..names import integer, parse, unified


@dataclass(frozen=True)
class RNNSettings:
    """What an RNN descriptor was set to."""

    hidden: int
    layers: int
    dropout: miopenDropoutDescriptor_t | None
    input_mode: miopenRNNInputMode_t
    direction: miopenRNNDirectionMode_t
    mode: miopenRNNMode_t
    bias: miopenRNNBiasMode_t
    algo: miopenRNNAlgo_t
    data_type: miopenDataType_t
    padding: miopenRNNPaddingMode_t = miopenRNNPaddingMode_t.miopenRNNIONotPadded

    @property
    def rnn(self) -> RNNDescriptor:
        """Portadnn's descriptor."""
        dropout = None
        if self.dropout is not None:
            dropout = value_of(self.dropout, miopenDropoutDescriptor_t, "dropoutDesc").descriptor
        modes = int(self.mode), int(self.direction), int(self.input_mode)
        return _unified(self.hidden, self.layers, *modes, dropout, self.biased)

    @functools.cached_property
    def views(self) -> dict[Any, Any]:
        """Arrays made of memory that the network was used with; see ``c_names/memory.py``."""
        return {}

    @property
    def biased(self) -> bool:
        """Whether there are biases."""
        return self.bias is miopenRNNBiasMode_t.miopenRNNwithBias

    def network(self, features: int) -> Network:
        """Return the layers and where their parameters lie.

        Raises
        ------
        BadParam
            The first layer has no matrices (miopenRNNskip) and the input another size than the hidden state.
        """
        network = _network(self.rnn, features)
        if network.skip and features != self.hidden:
            raise BadParam(argument="xDesc", expected=f"{self.hidden} features, because of miopenRNNskip", got=features)
        return network


@functools.lru_cache(256)
def _network(rnn: RNNDescriptor, features: int) -> Network:
    return network_of(rnn, features)


@functools.lru_cache(256)
def _unified(
    hidden: int,
    layers: int,
    mode: int,
    direction: int,
    input_mode: int,
    dropout: DropoutDescriptor | None,
    biased: bool,
) -> RNNDescriptor:
    """Return portadnn's descriptor; all its numbers are MIOpen's."""
    modes = RNNMode(mode), DirectionMode(direction), RNNInputMode(input_mode)
    biases = RNNBiasMode.DOUBLE_BIAS if biased else RNNBiasMode.NO_BIAS
    return RNNDescriptor(hidden, layers, *modes, dropout, bias_mode=biases)


class miopenRNNDescriptor_t(Opaque):
    """Sizes and modes of a recurrent network."""


def rnn_settings(rnnDesc: Any) -> RNNSettings:
    """Return what an RNN descriptor was set to."""
    return value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc")


def _set(rnnDesc: Any, hsize: Any, nlayers: Any, dropoutDesc: Any, *modes: Any) -> None:
    desc = made(rnnDesc, miopenRNNDescriptor_t, "rnnDesc")
    hidden, layers = integer(hsize, "hsize", 1), integer(nlayers, "nlayers", 1)
    if dropoutDesc is not None:
        value_of(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")
    kinds = (
        (miopenRNNInputMode_t, "inMode"),
        (miopenRNNDirectionMode_t, "direction"),
        (miopenRNNMode_t, "rnnMode"),
        (miopenRNNBiasMode_t, "biasMode"),
        (miopenRNNAlgo_t, "algo"),
        (miopenDataType_t, "dataType"),
    )
    parsed = [parse(kind, mode, name) for (kind, name), mode in zip(kinds, modes, strict=True)]
    unified(DATA_TYPES, parsed[-1], "dataType")  # type: ignore[misc]
    desc.value = RNNSettings(hidden, layers, dropoutDesc, *parsed)  # type: ignore[arg-type]


def miopenSetRNNDescriptor(rnnDesc, hsize, nlayers, *modes):
    _set(rnnDesc, hsize, nlayers, None, *modes)


def miopenSetRNNDescriptor_V2(*settings):
    _set(*settings)


def miopenGetRNNDescriptor(rnn):
    return rnn.mode, rnn.algo, rnn.input_mode, rnn.direction, rnn.bias, rnn.hidden, rnn.layers


def miopenGetRNNDescriptor_V2(rnn):
    sizes, modes = (rnn.hidden, rnn.layers), (rnn.input_mode, rnn.direction, rnn.mode, rnn.bias, rnn.algo)
    return *sizes, rnn.dropout, *modes, rnn.data_type


def miopenSetRNNPaddingMode(rnn, rnnDesc, paddingMode):
    rnnDesc.value = replace(rnn, padding=parse(miopenRNNPaddingMode_t, paddingMode, "paddingMode"))


def miopenGetRNNPaddingMode(rnn):
    return rnn.padding


@functools.lru_cache(256)
def packed_parameters(dtype: Any, count: int) -> TensorSpec:
    """Return the spec of parameters as a network's calls take them."""
    return TensorSpec.packed(dtype, (count, 1, 1))
