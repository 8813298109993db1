"""The descriptor of a recurrent network (guide sections 4.99 to 4.101)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arguments import as_integer, as_real
from ...descriptors import Parameters, check_descriptor
from ...enums import DataType
from ...errors import BadParam, public, shown
from ..dropout import DropoutDescriptor
from .layout import DirectionMode, RNNBiasMode, RNNInputMode, RNNMode

__all__ = ["RNNDescriptor"]


@dataclass(frozen=True)
class RNNDescriptor(Parameters):
    """What a stack of recurrent layers computes (guide sections 4.99 to 4.101).

    Parameters
    ----------
    hidden_size
        Numbers of a layer's hidden state, in each direction.
    num_layers
        Layers on top of each other; each reads the outputs of the one below.
    mode
        RNN_RELU, RNN_TANH, LSTM or GRU (guide section 3.31).
    direction
        UNIDIRECTIONAL, or BIDIRECTIONAL: a second half of each layer reads the sequence from its end, and the layer's
        output is both halves' side by side.
    input_mode
        LINEAR_INPUT, or SKIP_INPUT: the first layer adds its input, of hidden_size features, to every gate.
    dropout
        A :class:`DropoutDescriptor` with states: training drops elements of what each layer passes on to the next.
        None, or a probability of 0, drops nothing.
    compute_type
        Type of the arithmetic; None takes the accumulator of the data type (float32 for float16 and bfloat16 data).
    bias_mode
        Which biases there are: DOUBLE_BIAS, SINGLE_INP_BIAS, SINGLE_REC_BIAS or NO_BIAS.
    clip
        An LSTM's cells are read within these two numbers (CUDNN_RNN_CLIP_MINMAX), by the next step and by the hidden
        state; `cy` is what it was before. None clips nothing. NaN stays NaN.
    proj_size
        An LSTM's hidden state is multiplied by a matrix with that many rows, fewer than hidden_size, and the next step
        and the next layer read the product (cuDNN 7.2); 0 projects nothing.

    Raises
    ------
    BadParam
        A size below 1, an unknown mode or type, or a projection that is none of an LSTM or does not shrink its state.
    """

    hidden_size: int
    num_layers: int = 1
    mode: RNNMode = RNNMode.LSTM
    direction: DirectionMode = DirectionMode.UNIDIRECTIONAL
    input_mode: RNNInputMode = RNNInputMode.LINEAR_INPUT
    dropout: DropoutDescriptor | None = None
    compute_type: DataType | None = None
    bias_mode: RNNBiasMode = RNNBiasMode.DOUBLE_BIAS
    clip: tuple[float, float] | None = None
    proj_size: int = 0

    @public
    def __post_init__(self) -> None:
        self._set(
            hidden_size=as_integer(self.hidden_size, "hidden_size", 1),
            num_layers=as_integer(self.num_layers, "num_layers", 1),
            mode=RNNMode.parse(self.mode, "mode"),
            direction=DirectionMode.parse(self.direction, "direction"),
            input_mode=RNNInputMode.parse(self.input_mode, "input_mode"),
            dropout=None if self.dropout is None else check_descriptor(self.dropout, DropoutDescriptor, "dropout"),
            compute_type=None if self.compute_type is None else DataType.of(self.compute_type, "compute_type"),
            bias_mode=RNNBiasMode.parse(self.bias_mode, "bias_mode"),
            clip=None if self.clip is None else _limits(self.clip),
            proj_size=as_integer(self.proj_size, "proj_size", 0),
        )
        check_projection(self.proj_size, self.hidden_size, self.mode, "")

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the Problems' fields."""
        return (
            self.hidden_size,
            self.num_layers,
            self.mode,
            self.direction,
            self.input_mode,
            0.0 if self.dropout is None else self.dropout.dropout,
            self.compute_type,
            self.bias_mode,
            *(self.clip or (None, None)),
            self.proj_size,
        )


def check_projection(size: int, hidden: int, mode: RNNMode, where: str) -> None:
    """Demand that a projection is an LSTM's and makes its hidden state smaller; `where` is set before the argument."""
    if not size:
        return
    if mode is not RNNMode.LSTM:
        raise BadParam(argument=f"{where}proj_size", expected="0: only an LSTM's hidden state is projected", got=size)
    if not 0 < size < hidden:
        raise BadParam(argument=f"{where}proj_size", expected=f"0 to {hidden - 1}, below hidden_size", got=size)


def _limits(clip: Any) -> tuple[float, float]:
    if not isinstance(clip, (tuple, list)) or len(clip) != 2:
        raise BadParam(argument="clip", expected="two numbers, or None", got=shown(clip))
    low, high = (as_real(limit, "clip") for limit in clip)
    if not low <= high:
        raise BadParam(argument="clip", expected="a least number and one that is no less", got=(low, high))
    return low, high
