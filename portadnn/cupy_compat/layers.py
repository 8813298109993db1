"""Activations, softmax, pooling and CTC loss of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn

from .descriptors import current_handle, get_data_type, new_descriptor, tensor_descriptor
from .errors import cudnn_errors
from .memory import contiguous, library, native


def like(array: Any) -> Any:
    """Return a new array in C order, of another's shape and type."""
    return library().empty(array.shape, array.dtype)


def _rows(array: Any) -> Any:
    """Return an array as 4 dims, of which the last two are 1."""
    first = array.shape[0] if array.ndim else 1
    return array.reshape(first, -1, 1, 1)


def _activation(mode: int, coef: float) -> dnn.ActivationDescriptor:
    elu = mode == cudnn.CUDNN_ACTIVATION_ELU
    return dnn.ActivationDescriptor(
        dnn.ActivationMode(mode), ceiling=0.0 if elu else float(coef), coef=float(coef) if elu else 1.0
    )


@cudnn_errors
def activation_forward(x: Any, mode: int, coef: float = 0.0) -> Any:
    """Return an activation of an array; `coef` is the ceiling of CLIPPED_RELU and the alpha of ELU."""
    get_data_type(x.dtype)
    y = like(x)
    dnn.activation_forward(current_handle(), _rows(contiguous(x)), _activation(mode, coef), _rows(native(y)))
    return y


@cudnn_errors
def activation_backward(x: Any, y: Any, gy: Any, mode: int, coef: float = 0.0) -> Any:
    """Return the gradient of an activation with respect to its input."""
    get_data_type(x.dtype)
    gx = like(x)
    output, gradient, given = (_rows(contiguous(array)) for array in (y, gy, x))
    dnn.activation_backward(current_handle(), output, gradient, given, _activation(mode, coef), _rows(native(gx)))
    return gx


def _sections(array: Any, axis: int) -> Any:
    """Return an array as 4 dims, of which the second is `axis`."""
    axis %= array.ndim
    before, after = np.prod(array.shape[:axis], dtype=int), np.prod(array.shape[axis + 1 :], dtype=int)
    return array.reshape(int(before), array.shape[axis], int(after), 1)


@cudnn_errors
def softmax_forward(x: Any, axis: int, algorithm: int) -> Any:
    """Return the softmax along an axis."""
    get_data_type(x.dtype)
    y = like(x)
    given = (_sections(contiguous(x), axis), _sections(native(y), axis))
    dnn.softmax_forward(current_handle(), *given, algorithm=dnn.SoftmaxAlgorithm(algorithm))
    return y


@cudnn_errors
def softmax_backward(y: Any, gy: Any, axis: int, algorithm: int) -> Any:
    """Return the gradient of a softmax along an axis with respect to its input."""
    get_data_type(y.dtype)
    gx = like(y)
    given = [_sections(array, axis) for array in (contiguous(y), contiguous(gy), native(gx))]
    dnn.softmax_backward(current_handle(), *given, algorithm=dnn.SoftmaxAlgorithm(algorithm))
    return gx


def _pooling(ksize: Sequence[int], stride: Sequence[int], pad: Sequence[int], mode: int) -> dnn.PoolingDescriptor:
    if len(ksize) != len(stride) or len(ksize) != len(pad):
        raise ValueError("ksize, stride, and pad must be of same length")
    sizes: Any = (tuple(map(int, values)) for values in (ksize, pad, stride))
    return dnn.PoolingDescriptor(dnn.PoolingMode(mode), *sizes)


def _sized(x: Any, y: Any, pooling: dnn.PoolingDescriptor) -> Any:
    """Return x with the sizes that give y its own: cuDNN takes outputs whose last windows reach beyond the input.

    Numbers that are added win no maximum and change no sum.
    """
    counts = pooling.mode is dnn.PoolingMode.AVERAGE_COUNT_EXCLUDE_PADDING  # it would count what is added
    if counts or not len(pooling.window) == x.ndim - 2 == y.ndim - 2:
        return x
    sizes = list(x.shape[2:])
    strides, padding = pooling.stride or pooling.window, pooling.padding or (0,) * len(sizes)
    for axis, (out, stride) in enumerate(zip(y.shape[2:], strides, strict=True)):
        least = (out - 1) * stride + pooling.window[axis] - 2 * padding[axis]
        if not least <= sizes[axis] < least + stride:
            sizes[axis] = least
    if sizes == list(x.shape[2:]):
        return x
    lowest = 0.0 if pooling.mode is dnn.PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING else -np.inf
    made = native(library().full((*x.shape[:2], *sizes), lowest, x.dtype))
    common = tuple(slice(min(sizes)) for sizes in zip(x.shape, made.shape, strict=True))
    made[common] = x[common]
    return made


@cudnn_errors
def pooling_forward(x: Any, y: Any, ksize: Sequence[int], stride: Sequence[int], pad: Sequence[int], mode: int) -> Any:
    """Pool an array into `y`, which is in C order, and return that."""
    if not y.flags.c_contiguous:
        raise ValueError("pooling_forward supports c-contiguous y only")
    pooling = _pooling(ksize, stride, pad, mode)
    dnn.pooling_forward(current_handle(), _sized(contiguous(x), y, pooling), pooling, native(y))
    return y


@cudnn_errors
def pooling_backward(
    x: Any, y: Any, gy: Any, ksize: Sequence[int], stride: Sequence[int], pad: Sequence[int], mode: int
) -> Any:
    """Return the gradient of a pooling with respect to its input."""
    gx, pooling = like(x), _pooling(ksize, stride, pad, mode)
    given = contiguous(x)
    sized = _sized(given, y, pooling)
    gradient = native(gx) if sized is given else native(like(sized))
    dnn.pooling_backward(current_handle(), contiguous(y), contiguous(gy), sized, pooling, gradient)
    if gradient.shape != gx.shape:
        common = tuple(slice(min(sizes)) for sizes in zip(gx.shape, gradient.shape, strict=True))
        gx.fill(0)
        gx[common] = gradient[common]
    return gx


@cudnn_errors
def ctc_loss(probs: Any, labels: Any, label_length: Any, input_length: Any, algo: int) -> tuple[Any, Any]:
    """Return the CTC losses of probabilities (steps, batch, classes), and their gradients; labels are NumPy's."""
    xp, handle = library(), current_handle()
    probs = contiguous(probs)
    gradients, loss = like(probs), xp.empty((probs.shape[1],), np.float32)
    _, probs_desc = made = tensor_descriptor(probs.shape, probs.dtype)
    of_ctc, ctc_desc = new_descriptor("CTCLoss")
    cudnn.cudnnSetCTCLossDescriptor(ctc_desc, get_data_type(probs.dtype))
    integers: Any = [np.asarray(given).ravel().tolist() for given in (labels, label_length, input_length)]
    cudnn.cudnnCTCLoss(
        *(handle, probs_desc, probs, *integers, native(loss), probs_desc, native(gradients), algo, ctc_desc),
        *_ctc_space(handle, probs_desc, integers, algo, ctc_desc),
    )
    del made, of_ctc
    return loss, gradients


def _ctc_space(handle: Any, probs: Any, integers: Any, algo: int, ctc: Any) -> tuple[Any, int]:
    size = int(cudnn.cudnnGetCTCLossWorkspaceSize(handle, probs, probs, *integers, algo, ctc))
    return (native(library().empty((size,), np.uint8)) if size else None), size
