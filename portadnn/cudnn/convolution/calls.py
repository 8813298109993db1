"""Convolutions and their workspaces (guide sections 4.44 to 4.46, 4.50, 4.51, 4.55 and 4.56)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ...enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo
from ...handle import Handle
from ..calls import Choice, c_function
from ..descriptors import (
    ActivationDescriptor,
    ConvolutionDescriptor,
    FilterDescriptor,
    TensorDescriptor,
    value_of,
)
from ..memory import filter_, optional, tensor, workspace

forward_algo = Choice("cudnnConvolutionFwdAlgo_t", ConvolutionFwdAlgo)
data_algo = Choice("cudnnConvolutionBwdDataAlgo_t", ConvolutionBwdDataAlgo)
filter_algo = Choice("cudnnConvolutionBwdFilterAlgo_t", ConvolutionBwdFilterAlgo)


@c_function
def cudnnConvolutionForward(
    handle: Handle,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    wDesc: FilterDescriptor,
    w: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """With NULL for the workspace the handle provides it, where C refuses algorithms that need one."""
    dnn.convolution_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        filter_(handle, wDesc, w, "w"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
        algo=forward_algo(algo, "algo"),
        workspace=workspace(handle, workSpace, workSpaceSizeInBytes),
    )


@c_function
def cudnnConvolutionBiasActivationForward(
    handle: Handle,
    alpha1: float,
    xDesc: TensorDescriptor,
    x: Any,
    wDesc: FilterDescriptor,
    w: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    alpha2: float,
    zDesc: TensorDescriptor,
    z: Any,
    biasDesc: TensorDescriptor,
    bias: Any,
    activationDesc: ActivationDescriptor,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """`z` may be NULL where `alpha2` is 0. Every activation is taken, where cuDNN takes RELU and IDENTITY."""
    dnn.convolution_bias_activation_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        filter_(handle, wDesc, w, "w"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        tensor(handle, biasDesc, bias, "bias"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, yDesc, y, "y"),
        z=optional(handle, zDesc, z, "z"),
        alpha1=alpha1,
        alpha2=alpha2,
        algo=forward_algo(algo, "algo"),
        workspace=workspace(handle, workSpace, workSpaceSizeInBytes),
    )


@c_function
def cudnnConvolutionBackwardBias(
    handle: Handle, alpha: float, dyDesc: TensorDescriptor, dy: Any, beta: float, dbDesc: TensorDescriptor, db: Any
) -> None:
    dnn.convolution_backward_bias(
        handle, tensor(handle, dyDesc, dy, "dy"), tensor(handle, dbDesc, db, "db"), alpha=alpha, beta=beta
    )


@c_function
def cudnnConvolutionBackwardFilter(
    handle: Handle,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    beta: float,
    dwDesc: FilterDescriptor,
    dw: Any,
) -> None:
    """With NULL for the workspace the handle provides it."""
    dnn.convolution_backward_filter(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, dy, "dy"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        filter_(handle, dwDesc, dw, "dw"),
        alpha=alpha,
        beta=beta,
        algo=filter_algo(algo, "algo"),
        workspace=workspace(handle, workSpace, workSpaceSizeInBytes),
    )


@c_function
def cudnnConvolutionBackwardData(
    handle: Handle,
    alpha: float,
    wDesc: FilterDescriptor,
    w: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """With NULL for the workspace the handle provides it."""
    dnn.convolution_backward_data(
        handle,
        filter_(handle, wDesc, w, "w"),
        tensor(handle, dyDesc, dy, "dy"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
        algo=data_algo(algo, "algo"),
        workspace=workspace(handle, workSpace, workSpaceSizeInBytes),
    )


@c_function
def cudnnGetConvolutionForwardWorkspaceSize(
    handle: Handle,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    yDesc: TensorDescriptor,
    algo: int,
) -> int:
    x, w, conv, y = forward_values(xDesc, wDesc, convDesc, yDesc)
    return dnn.get_convolution_forward_workspace_size(handle, x, w, conv, y, forward_algo(algo, "algo"))


@c_function
def cudnnGetConvolutionBackwardFilterWorkspaceSize(
    handle: Handle,
    xDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    gradDesc: FilterDescriptor,
    algo: int,
) -> int:
    x, dy, conv, dw = filter_values(xDesc, dyDesc, convDesc, gradDesc, ("xDesc", "dyDesc", "gradDesc"))
    return dnn.get_convolution_backward_filter_workspace_size(handle, x, dy, conv, dw, filter_algo(algo, "algo"))


@c_function
def cudnnGetConvolutionBackwardDataWorkspaceSize(
    handle: Handle,
    wDesc: FilterDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dxDesc: TensorDescriptor,
    algo: int,
) -> int:
    w, dy, conv, dx = data_values(wDesc, dyDesc, convDesc, dxDesc)
    return dnn.get_convolution_backward_data_workspace_size(handle, w, dy, conv, dx, data_algo(algo, "algo"))


def forward_values(
    x: Any, w: Any, conv: Any, y: Any, names: tuple[str, str, str] = ("xDesc", "wDesc", "yDesc")
) -> tuple[Any, Any, Any, Any]:
    """Return the four descriptors of a forward convolution."""
    return (
        value_of(x, TensorDescriptor, names[0]),
        value_of(w, FilterDescriptor, names[1]),
        value_of(conv, ConvolutionDescriptor, "convDesc"),
        value_of(y, TensorDescriptor, names[2]),
    )


def filter_values(
    x: Any, dy: Any, conv: Any, dw: Any, names: tuple[str, str, str] = ("xDesc", "dyDesc", "dwDesc")
) -> tuple[Any, Any, Any, Any]:
    """Return the four descriptors of the gradient by the filter."""
    return (
        value_of(x, TensorDescriptor, names[0]),
        value_of(dy, TensorDescriptor, names[1]),
        value_of(conv, ConvolutionDescriptor, "convDesc"),
        value_of(dw, FilterDescriptor, names[2]),
    )


def data_values(
    w: Any, dy: Any, conv: Any, dx: Any, names: tuple[str, str, str] = ("wDesc", "dyDesc", "dxDesc")
) -> tuple[Any, Any, Any, Any]:
    """Return the four descriptors of the gradient by the input."""
    return (
        value_of(w, FilterDescriptor, names[0]),
        value_of(dy, TensorDescriptor, names[1]),
        value_of(conv, ConvolutionDescriptor, "convDesc"),
        value_of(dx, TensorDescriptor, names[2]),
    )
