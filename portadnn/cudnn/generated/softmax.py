"""Softmax: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.softmax import softmax_backward, softmax_forward
from ..calls import c_function
from ..descriptors import TensorDescriptor
from ..memory import tensor
from ..softmax import softmax_algorithm, softmax_mode


@c_function
def cudnnSoftmaxForward(
    handle: Handle,
    algo: int,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.57, since 1.0).

    C: ``cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``softmax_forward``.
    """
    softmax_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        algorithm=softmax_algorithm(algo, "algo"),
        mode=softmax_mode(mode, "mode"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnSoftmaxBackward(
    handle: Handle,
    algo: int,
    mode: int,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """Return nothing (guide 4.58, since 1.0).

    C: ``cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``softmax_backward``.
    """
    softmax_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dxDesc, dx, "dx"),
        algorithm=softmax_algorithm(algo, "algo"),
        mode=softmax_mode(mode, "mode"),
        alpha=alpha,
        beta=beta,
    )
