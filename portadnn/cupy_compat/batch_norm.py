"""Batch normalization of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn

from .descriptors import channels_first, current_handle, get_data_type
from .errors import cudnn_errors
from .layers import like
from .memory import address, contiguous, library, native


class _Layout:
    """How an array and its parameters are seen: the dims of both.

    Parameters
    ----------
    x
        The array.
    is_for_conv2d
        Whether its second dim has the channels; otherwise its last one has, and all others are the batch.
    mode, d_layout
        cuDNN's numbers of the mode and of the layout.
    """

    def __init__(self, x: Any, is_for_conv2d: bool, mode: int, d_layout: int) -> None:
        get_data_type(x.dtype)
        self.mode = dnn.BatchNormMode.PER_ACTIVATION if mode == 0 else dnn.BatchNormMode.SPATIAL
        self._last = is_for_conv2d and d_layout == cudnn.CUDNN_TENSOR_NHWC
        if is_for_conv2d:
            self._dims = tuple(x.shape)
            seen = channels_first(x.shape, d_layout)
        else:
            channels = x.shape[-1] if x.ndim else 1
            self._dims = seen = (x.size // max(channels, 1), channels, 1, 1)
        spatial = self.mode is dnn.BatchNormMode.SPATIAL
        self._parameters = (1, seen[1], *(1,) * (len(seen) - 2)) if spatial else (1, *seen[1:])
        self.dtype = np.dtype(np.float64 if x.dtype.char == "d" else np.float32)

    def tensor(self, array: Any) -> Any:
        """Return an array in C order with its channels in the second place."""
        seen = array.reshape(self._dims)
        return seen.transpose(0, seen.ndim - 1, *range(1, seen.ndim - 1)) if self._last else seen

    def parameter(self, array: Any) -> Any:
        """Return parameters with the dims and of the type that they are read with."""
        return native(contiguous(array).astype(self.dtype, copy=False)).reshape(self._parameters)

    def parameters(self, *arrays: Any) -> Any:
        """Return several parameters with the dims and of the type that they are read with."""
        return [self.parameter(array) for array in arrays]

    def new(self, gamma: Any) -> Any:
        """Return an array to be written to, with the shape of gamma."""
        return library().empty(gamma.shape, self.dtype)


def _training(
    x: Any,
    gamma: Any,
    beta: Any,
    running_mean: Any,
    running_var: Any,
    mean: Any,
    inv_std: Any,
    eps: float,
    decay: float,
    is_for_conv2d: bool,
    cudnn_mode: int,
    d_layout: int,
) -> tuple[Any, Any, Any]:
    """Return y and the saved statistics."""
    if (mean is None) != (inv_std is None):
        raise ValueError("Both mean and inv_std must be None if one is.")
    layout, y = _Layout(x, is_for_conv2d, cudnn_mode, d_layout), like(x)
    saved = [layout.new(gamma) if given is None else given for given in (mean, inv_std)]
    running = [] if decay == 1 else [running_mean, running_var]  # else they stay, and may be the memory of others
    written = [*running, *saved]
    views = layout.parameters(*written)
    dnn.batch_normalization_forward_training(
        current_handle(),
        layout.tensor(contiguous(x)),
        *layout.parameters(gamma, beta),
        layout.tensor(native(y)),
        *(views if running else (None, None, *views)),
        mode=layout.mode,
        exponential_average_factor=1.0 - decay,
        epsilon=float(eps),
    )
    for array, view in zip(written, views, strict=True):
        if address(array) != address(view):  # it was cast or copied
            array[...] = view.reshape(array.shape)
    return y, saved[0], saved[1]


@cudnn_errors
def batch_normalization_forward_training(
    x: Any,
    gamma: Any,
    beta: Any,
    running_mean: Any,
    running_var: Any,
    mean: Any,
    inv_std: Any,
    eps: float,
    decay: float,
    is_for_conv2d: bool,
    cudnn_mode: int,
    debug: bool,
    d_layout: int = cudnn.CUDNN_TENSOR_NCHW,
) -> Any:
    """Return y, and where `mean` is None the saved mean and inverse deviation; the running statistics are updated."""
    found = _training(
        *(x, gamma, beta, running_mean, running_var, mean, inv_std, eps, decay, is_for_conv2d, cudnn_mode, d_layout)
    )
    return found if mean is None else found[0]


@cudnn_errors
def batch_normalization_forward_training_ex(
    x: Any,
    gamma: Any,
    beta: Any,
    running_mean: Any,
    running_var: Any,
    mean: Any,
    inv_std: Any,
    eps: float,
    decay: float,
    is_for_conv2d: bool,
    cudnn_mode: int,
    debug: bool,
    d_layout: int = cudnn.CUDNN_TENSOR_NCHW,
) -> Any:
    """Return None, as no reserve space is needed, and what ``batch_normalization_forward_training`` returns."""
    found = _training(
        *(x, gamma, beta, running_mean, running_var, mean, inv_std, eps, decay, is_for_conv2d, cudnn_mode, d_layout)
    )
    return (None, *found) if mean is None else (None, found[0])


@cudnn_errors
def batch_normalization_forward_inference(
    x: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    var: Any,
    eps: float,
    is_for_conv2d: bool,
    cudnn_mode: int,
    d_layout: int = cudnn.CUDNN_TENSOR_NCHW,
) -> Any:
    """Return y by given statistics."""
    layout, y = _Layout(x, is_for_conv2d, cudnn_mode, d_layout), like(x)
    dnn.batch_normalization_forward_inference(
        current_handle(),
        layout.tensor(contiguous(x)),
        *layout.parameters(gamma, beta, mean, var),
        layout.tensor(native(y)),
        mode=layout.mode,
        epsilon=float(eps),
    )
    return y


@cudnn_errors
def batch_normalization_backward(
    x: Any,
    gamma: Any,
    gy: Any,
    mean: Any,
    inv_std: Any,
    eps: float,
    is_for_conv2d: bool,
    cudnn_mode: int,
    debug: bool,
    d_layout: int = cudnn.CUDNN_TENSOR_NCHW,
    *,
    reserve_space: Any = None,
) -> tuple[Any, Any, Any]:
    """Return the gradients with respect to x, gamma and beta; those of the parameters have the type of x or gamma."""
    layout, gx = _Layout(x, is_for_conv2d, cudnn_mode, d_layout), like(x)
    ggamma, gbeta = layout.new(gamma), layout.new(gamma)
    dnn.batch_normalization_backward(
        current_handle(),
        layout.tensor(contiguous(x)),
        layout.tensor(contiguous(gy)),
        *layout.parameters(gamma, mean, inv_std),
        layout.tensor(native(gx)),
        *layout.parameters(ggamma, gbeta),
        mode=layout.mode,
        epsilon=float(eps),
    )
    kind = layout.dtype if gamma.dtype == layout.dtype else x.dtype
    return gx, ggamma.astype(kind, copy=False), gbeta.astype(kind, copy=False)
