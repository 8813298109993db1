"""Recurrent networks of arrays: packed sequences, and padded ones (``_ex``)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from portadnn import cudnn

from .bindings import BINDINGS
from .descriptors import Descriptor, current_handle, get_data_type, get_handle, new_descriptor, tensor_descriptor
from .dropout import DropoutStates
from .errors import cudnn_errors
from .layers import like
from .memory import address, alloc, as_bytes, contiguous, library, native
from .objects import object_of
from .written import getRNNLinLayerBiasParams, getRNNLinLayerMatrixParams


def create_rnn_descriptor(
    hidden_size: int,
    num_layers: int,
    dropout_desc: Descriptor,
    input_mode: int,
    direction: int,
    mode: int,
    data_type: int,
    algo: int | None = None,
) -> Descriptor:
    """Return a descriptor of a network."""
    made, _ = new_descriptor("RNN")
    kind = cudnn.CUDNN_RNN_ALGO_STANDARD if algo is None else algo
    options = (hidden_size, num_layers, dropout_desc.value, input_mode, direction, mode, kind, data_type)
    BINDINGS["setRNNDescriptor_v6"](get_handle(), made.value, *options)
    return made


def _part(bias: bool, *given: Any) -> Any:
    """Return a matrix or a bias of a network's parameters as a view."""
    handle, rnn_desc, layer, x_desc, w_desc, w, lin_layer_id = given
    made, desc = new_descriptor("Filter")
    place = ctypes.c_size_t()
    find = getRNNLinLayerBiasParams if bias else getRNNLinLayerMatrixParams
    start, parameters = address(w), (rnn_desc.value, layer, x_desc.value, w_desc.value)
    find(handle, *parameters, start, lin_layer_id, made.value, ctypes.addressof(place))
    first = (place.value - start) // w.itemsize if place.value else 0
    return w[first : first + int(np.prod(desc.dims))]


def get_rnn_lin_layer_matrix_params(
    handle: int, rnn_desc: Descriptor, layer: int, x_desc: Descriptor, w_desc: Descriptor, w: Any, lin_layer_id: int
) -> Any:
    """Return a matrix of a network's parameters `w`, as a view."""
    return _part(False, handle, rnn_desc, layer, x_desc, w_desc, w, lin_layer_id)


def get_rnn_lin_layer_bias_params(
    handle: int, rnn_desc: Descriptor, layer: int, x_desc: Descriptor, w_desc: Descriptor, w: Any, lin_layer_id: int
) -> Any:
    """Return a bias of a network's parameters `w`, as a view."""
    return _part(True, handle, rnn_desc, layer, x_desc, w_desc, w, lin_layer_id)


class _Pair(NamedTuple):
    """A descriptor and its memory, as C's functions take them one after the other."""

    desc: Any
    memory: Any


class _Network:
    """What the passes of a network share: its descriptor, and descriptors of its arrays.

    Parameters
    ----------
    states, direction, mode
        Dropout, and cuDNN's numbers.
    hx
        The first hidden state, for the sizes.
    xs
        The input, for its type.
    lengths
        Numbers of sequences at each step; for padded sequences the length of each.
    padded
        Whether sequences are padded: (steps, batch, units).
    """

    def __init__(
        self, states: DropoutStates, direction: int, mode: int, hx: Any, xs: Any, lengths: Any, padded: bool
    ) -> None:
        both = direction == cudnn.CUDNN_BIDIRECTIONAL
        self._kept: list[Any] = []  # destroyed with this
        self.handle = current_handle()
        self.units = hx.shape[2] * (2 if both else 1)
        layers = hx.shape[0] // (2 if both else 1)
        made = create_rnn_descriptor(
            *(hx.shape[2], layers, states._desc, cudnn.CUDNN_LINEAR_INPUT, direction, mode, get_data_type(xs.dtype))
        )
        self._kept.append(made)
        self.rnn = object_of(made.value, "rnnDesc")
        self._lengths = [int(length) for length in lengths]
        self._padded = padded
        if padded:
            cudnn.cudnnSetRNNPaddingMode(self.rnn, cudnn.CUDNN_RNN_PADDED_IO_ENABLED)
        rows = [xs.shape[1]] * xs.shape[0] if padded else self._lengths
        self._x_steps = self._steps(rows, xs.shape[-1], xs.dtype)

    def _steps(self, rows: Sequence[int], features: int, dtype: Any) -> list[Any]:
        by_rows = {count: tensor_descriptor((count, features, 1), dtype) for count in set(rows)}
        self._kept.append(by_rows)
        return [by_rows[count][1] for count in rows]

    @property
    def head(self) -> tuple[Any, ...]:
        """The first arguments of a pass."""
        return (self.handle, self.rnn) if self._padded else (self.handle, self.rnn, len(self._lengths))

    def sequence(self, array: Any) -> _Pair:
        """Return sequences with their descriptors."""
        array = native(array)
        if not self._padded:
            return _Pair(self._steps(self._lengths, array.shape[-1], array.dtype), array)
        made, desc = new_descriptor("RNNData")
        self._kept.append(made)
        layout = cudnn.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
        cudnn.cudnnSetRNNDataDescriptor(desc, get_data_type(array.dtype), layout, *array.shape, self._lengths, None)
        return _Pair(desc, array)

    def state(self, array: Any) -> _Pair:
        """Return a state with its descriptor; NULL for None."""
        if array is None or array.size == 0:
            return _Pair(None, None)
        made, desc = tensor_descriptor(array.shape, array.dtype)
        self._kept.append(made)
        return _Pair(desc, native(array))

    def parameters(self, w: Any) -> _Pair:
        """Return parameters with their descriptor."""
        made, desc = new_descriptor("Filter")
        self._kept.append(made)
        dims = [w.size, 1, 1]
        cudnn.cudnnSetFilterNdDescriptor_v4(desc, get_data_type(w.dtype), cudnn.CUDNN_TENSOR_NCHW, 3, dims)
        return _Pair(desc, native(w).reshape(dims))

    def workspace(self) -> tuple[Any, int]:
        """Return scratch memory and its size."""
        return self._space(cudnn.cudnnGetRNNWorkspaceSize)

    def _space(self, size_of: Any) -> tuple[Any, int]:
        memory = alloc(int(size_of(self.handle, self.rnn, len(self._x_steps), self._x_steps)))
        return as_bytes(memory), memory.mem.size

    def reserve(self) -> Any:
        """Return memory for what the gradients need, as ``cupy.cuda.MemoryPointer``."""
        return alloc(int(cudnn.cudnnGetRNNTrainingReserveSize(*self.head[:2], len(self._x_steps), self._x_steps)))


_ATTENTION = (None,) * 8  # keys, contexts, indices and queries, which no cuDNN has ever read


def _forward(padded: bool, training: bool, *given: Any) -> tuple[Any, ...]:
    """Return (reserve space if training,) hy, cy, ys."""
    states, direction_mode, rnn_mode, hx, cx, w, xs, lengths = given
    hx, w, xs = (contiguous(array) for array in (hx, w, xs))
    cx = None if cx is None else contiguous(cx)
    xp, net = library(), _Network(states, direction_mode, rnn_mode, hx, xs, lengths, padded)
    ys, hy = xp.empty((*xs.shape[:-1], net.units), xs.dtype), like(hx)
    cy = xp.empty((0,), xs.dtype) if cx is None else like(cx)
    pairs = (net.sequence(xs), net.state(hx), net.state(cx), net.parameters(w))
    outputs = (net.sequence(ys), net.state(hy), net.state(cy))
    arguments = [*net.head, *(item for pair in pairs + outputs for item in pair)]
    arguments += [*(_ATTENTION if padded else ()), *net.workspace()]
    ending = "Ex" if padded else ""
    if not training:
        getattr(cudnn, f"cudnnRNNForwardInference{ending}")(*arguments)
        return hy, cy, ys
    reserve = net.reserve()
    getattr(cudnn, f"cudnnRNNForwardTraining{ending}")(*arguments, as_bytes(reserve), reserve.mem.size)
    return reserve, hy, cy, ys


def _backward_data(padded: bool, *given: Any) -> tuple[Any, Any, Any]:
    """Return dhx, dcx, dxs."""
    states, direction_mode, rnn_mode, hx, cx, w, xs, ys, reserve_space, dhy, dcy, dys, lengths = given
    hx, w, xs, ys, dhy, dys = (contiguous(array) for array in (hx, w, xs, ys, dhy, dys))
    cx, dcy = (None if array is None or cx is None else contiguous(array) for array in (cx, dcy))
    net = _Network(states, direction_mode, rnn_mode, hx, xs, lengths, padded)
    dxs, dhx = like(xs), like(hx)
    dcx = library().empty((0,), xs.dtype) if cx is None else like(cx)
    attention = _Pair(None, None)
    pairs = [net.sequence(ys), net.sequence(dys), *([attention] if padded else [])]
    pairs += [net.state(dhy), net.state(dcy), net.parameters(w), net.state(hx), net.state(cx)]
    pairs += [net.sequence(dxs), net.state(dhx), net.state(dcx), *([attention] if padded else [])]
    function = cudnn.cudnnRNNBackwardDataEx if padded else cudnn.cudnnRNNBackwardData
    space = (*net.workspace(), as_bytes(reserve_space), reserve_space.mem.size)
    function(*net.head, *(item for pair in pairs for item in pair), *space)
    return dhx, dcx, dxs


def _backward_weights(padded: bool, *given: Any) -> Any:
    """Return dw."""
    states, direction_mode, rnn_mode, xs, hx, ys, w, reserve_space, lengths = given
    xs, hx, ys = (contiguous(array) for array in (xs, hx, ys))
    net = _Network(states, direction_mode, rnn_mode, hx, xs, lengths, padded)
    dw = library().zeros(w.shape, w.dtype)
    pairs = (net.sequence(xs), net.state(hx), net.sequence(ys))
    function = cudnn.cudnnRNNBackwardWeightsEx if padded else cudnn.cudnnRNNBackwardWeights
    space = (*net.workspace(), *net.parameters(dw), as_bytes(reserve_space), reserve_space.mem.size)
    function(*net.head, *(item for pair in pairs for item in pair), *space)
    return dw


@cudnn_errors
def rnn_forward_inference(
    states: DropoutStates, direction_mode: int, rnn_mode: int, hx: Any, cx: Any, w: Any, xs: Any, lengths: Any
) -> tuple[Any, ...]:
    """Return hy, cy and ys; xs is (rows, units), and `lengths` has the rows of each step."""
    return _forward(False, False, states, direction_mode, rnn_mode, hx, cx, w, xs, lengths)


@cudnn_errors
def rnn_forward_training(
    states: DropoutStates, direction_mode: int, rnn_mode: int, hx: Any, cx: Any, w: Any, xs: Any, lengths: Any
) -> tuple[Any, ...]:
    """Return the reserve space, hy, cy and ys; xs is (rows, units), and `lengths` has the rows of each step."""
    return _forward(False, True, states, direction_mode, rnn_mode, hx, cx, w, xs, lengths)


@cudnn_errors
def rnn_forward_inference_ex(
    states: DropoutStates, direction_mode: int, rnn_mode: int, hx: Any, cx: Any, w: Any, xs: Any, lengths: Any
) -> tuple[Any, ...]:
    """Return hy, cy and ys; xs is (steps, batch, units), and `lengths` has the steps of each sequence."""
    return _forward(True, False, states, direction_mode, rnn_mode, hx, cx, w, xs, lengths)


@cudnn_errors
def rnn_forward_training_ex(
    states: DropoutStates, direction_mode: int, rnn_mode: int, hx: Any, cx: Any, w: Any, xs: Any, lengths: Any
) -> tuple[Any, ...]:
    """Return the reserve space, hy, cy and ys; xs is (steps, batch, units); `lengths` has each sequence's steps."""
    return _forward(True, True, states, direction_mode, rnn_mode, hx, cx, w, xs, lengths)


@cudnn_errors
def rnn_backward_data(
    states: DropoutStates,
    direction_mode: int,
    rnn_mode: int,
    hx: Any,
    cx: Any,
    w: Any,
    xs: Any,
    ys: Any,
    reserve_space: Any,
    dhy: Any,
    dcy: Any,
    dys: Any,
    lengths: Any,
) -> tuple[Any, Any, Any]:
    """Return the gradients with respect to hx, cx and xs, after ``rnn_forward_training``."""
    given = (states, direction_mode, rnn_mode, hx, cx, w, xs, ys, reserve_space, dhy, dcy, dys, lengths)
    return _backward_data(False, *given)


@cudnn_errors
def rnn_backward_data_ex(
    states: DropoutStates,
    direction_mode: int,
    rnn_mode: int,
    hx: Any,
    cx: Any,
    w: Any,
    xs: Any,
    ys: Any,
    reserve_space: Any,
    dhy: Any,
    dcy: Any,
    dys: Any,
    lengths: Any,
) -> tuple[Any, Any, Any]:
    """Return the gradients with respect to hx, cx and xs, after ``rnn_forward_training_ex``."""
    given = (states, direction_mode, rnn_mode, hx, cx, w, xs, ys, reserve_space, dhy, dcy, dys, lengths)
    return _backward_data(True, *given)


@cudnn_errors
def rnn_backward_weights(
    states: DropoutStates,
    direction_mode: int,
    rnn_mode: int,
    xs: Any,
    hx: Any,
    ys: Any,
    w: Any,
    reserve_space: Any,
    lengths: Any,
) -> Any:
    """Return the gradient with respect to the parameters, after ``rnn_backward_data``."""
    return _backward_weights(False, states, direction_mode, rnn_mode, xs, hx, ys, w, reserve_space, lengths)


@cudnn_errors
def rnn_backward_weights_ex(
    states: DropoutStates,
    direction_mode: int,
    rnn_mode: int,
    xs: Any,
    hx: Any,
    ys: Any,
    w: Any,
    reserve_space: Any,
    lengths: Any,
) -> Any:
    """Return the gradient with respect to the parameters, after ``rnn_backward_data_ex``."""
    return _backward_weights(True, states, direction_mode, rnn_mode, xs, hx, ys, w, reserve_space, lengths)
