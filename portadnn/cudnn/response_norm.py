"""Local response and divisive normalisation (guide sections 4.87 to 4.94)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..enums import DivNormMode, LRNMode
from ..errors import BadParam
from ..handle import Handle
from .calls import Choice, c_function
from .descriptors import LRNDescriptor, TensorDescriptor, creator, destroy, made, value_of
from .memory import tensor

lrn_mode = Choice("cudnnLRNMode_t", LRNMode)
divisive_mode = Choice("cudnnDivNormMode_t", DivNormMode)

cudnnCreateLRNDescriptor = creator("cudnnCreateLRNDescriptor", LRNDescriptor)


@c_function
def cudnnSetLRNDescriptor(normDesc: LRNDescriptor, lrnN: int, lrnAlpha: float, lrnBeta: float, lrnK: float) -> None:
    made(normDesc, LRNDescriptor, "normDesc")
    normDesc.value = dnn.LRNDescriptor(lrnN, lrnAlpha, lrnBeta, lrnK)


@c_function
def cudnnGetLRNDescriptor(normDesc: LRNDescriptor) -> tuple[int, float, float, float]:
    return value_of(normDesc, LRNDescriptor, "normDesc").get()  # type: ignore[no-any-return]


@c_function
def cudnnDestroyLRNDescriptor(lrnDesc: LRNDescriptor) -> None:
    destroy(lrnDesc, LRNDescriptor, "lrnDesc")


@c_function
def cudnnLRNCrossChannelForward(
    handle: Handle,
    normDesc: LRNDescriptor,
    lrnMode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    dnn.lrn_cross_channel_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, yDesc, y, "y"),
        mode=lrn_mode(lrnMode, "lrnMode"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnLRNCrossChannelBackward(
    handle: Handle,
    normDesc: LRNDescriptor,
    lrnMode: int,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    dnn.lrn_cross_channel_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        mode=lrn_mode(lrnMode, "lrnMode"),
        alpha=alpha,
        beta=beta,
    )


def _check_temporaries(temp: Any, temp2: Any) -> None:
    for name, memory in (("temp", temp), ("temp2", temp2)):
        if memory is None:
            raise BadParam(argument=name, expected="memory of xDesc's size", got="NULL")


@c_function
def cudnnDivisiveNormalizationForward(
    handle: Handle,
    normDesc: LRNDescriptor,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    means: Any,
    temp: Any,
    temp2: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """`temp` and `temp2` must be there and are not used. `means` has x's layout; NULL stands for zeros."""
    _check_temporaries(temp, temp2)
    dnn.divisive_normalization_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        None if means is None else tensor(handle, xDesc, means, "means", desc="xDesc"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, yDesc, y, "y"),
        mode=divisive_mode(mode, "mode"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnDivisiveNormalizationBackward(
    handle: Handle,
    normDesc: LRNDescriptor,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    means: Any,
    dy: Any,
    temp: Any,
    temp2: Any,
    beta: float,
    dXdMeansDesc: TensorDescriptor,
    dx: Any,
    dMeans: Any,
) -> None:
    """`temp` and `temp2` must be there and are not used. `means` and `dMeans` may be NULL."""
    _check_temporaries(temp, temp2)
    gradients = "dXdMeansDesc"
    dnn.divisive_normalization_backward(
        handle,
        tensor(handle, xDesc, x, "x"),
        None if means is None else tensor(handle, xDesc, means, "means", desc="xDesc"),
        tensor(handle, xDesc, dy, "dy", desc="xDesc"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, dXdMeansDesc, dx, "dx", desc=gradients),
        None if dMeans is None else tensor(handle, dXdMeansDesc, dMeans, "dMeans", desc=gradients),
        mode=divisive_mode(mode, "mode"),
        alpha=alpha,
        beta=beta,
    )
