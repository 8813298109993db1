"""Forward convolutions: those of floats are portadnn's operations, those of bytes are graphs (:mod:`.integers`)."""

from __future__ import annotations

import portadnn as dnn

from ...enums import DataType
from ...errors import BadParam, NotSupported
from ..descriptors import ActivationDescriptor, ConvolutionDescriptor, FilterDescriptor, TensorDescriptor, value_of
from ..memory import filter_, optional, tensor
from ..storage import is_integer, stored, type_name
from . import integers
from .algorithms import forward_algo


def cudnnConvolutionForward(handle, xDesc, raw_x, wDesc, raw_w, convDesc, algo, workSpace, yDesc, raw_y, alpha, beta):
    x, w = value_of(xDesc, TensorDescriptor, "xDesc"), value_of(wDesc, FilterDescriptor, "wDesc")
    conv, y = value_of(convDesc, ConvolutionDescriptor, "convDesc"), value_of(yDesc, TensorDescriptor, "yDesc")
    how = forward_algo(algo, "algo")
    if is_integer(x, w, y):
        call = integers.checked(x, w, conv, y, int(convDesc.reorder))
        integers.check_algo(call, how)
        integers.run(handle, call, (raw_x, raw_w, raw_y), (alpha, beta))
        return
    _check_result(x, w, y)
    images = tensor(handle, xDesc, raw_x, "x"), filter_(handle, wDesc, raw_w, "w")
    out = tensor(handle, yDesc, raw_y, "y")
    dnn.convolution_forward(handle, *images, conv, out, alpha=alpha, beta=beta, algo=how, workspace=workSpace)


def cudnnConvolutionBiasActivationForward(
    handle,
    xDesc,
    raw_x,
    wDesc,
    raw_w,
    convDesc,
    algo,
    workSpace,
    zDesc,
    raw_z,
    biasDesc,
    raw_bias,
    activationDesc,
    yDesc,
    raw_y,
    alpha1,
    alpha2,
):
    x, w = value_of(xDesc, TensorDescriptor, "xDesc"), value_of(wDesc, FilterDescriptor, "wDesc")
    conv, y = value_of(convDesc, ConvolutionDescriptor, "convDesc"), value_of(yDesc, TensorDescriptor, "yDesc")
    how, activation = forward_algo(algo, "algo"), value_of(activationDesc, ActivationDescriptor, "activationDesc")
    if not is_integer(x, w, y):
        images = tensor(handle, xDesc, raw_x, "x"), filter_(handle, wDesc, raw_w, "w")
        bias, out = tensor(handle, biasDesc, raw_bias, "bias"), tensor(handle, yDesc, raw_y, "y")
        z = optional(handle, zDesc, raw_z, "z")
        numbers = {"alpha1": alpha1, "alpha2": alpha2, "algo": how, "workspace": workSpace}
        dnn.convolution_bias_activation_forward(handle, *images, conv, bias, activation, out, z=z, **numbers)
        return
    call = integers.checked(x, w, conv, y, int(convDesc.reorder))
    integers.check_algo(call, how)
    bias = value_of(biasDesc, TensorDescriptor, "biasDesc")
    if type_name(bias) != "FLOAT" or bias.dims != (1, y.dims[1], 1, 1) or bias.strides[1] != 1:
        wanted = f"a packed FLOAT tensor of {(1, y.dims[1], 1, 1)}"
        raise BadParam(argument="biasDesc", expected=wanted, got=bias)
    z, memory = call.y, None
    if alpha2 != 0:
        given, memory = value_of(zDesc, TensorDescriptor, "zDesc"), raw_z
        if given.dims != y.dims or type_name(given) != type_name(y):
            raise BadParam(argument="zDesc", expected=f"{type_name(y)} of {y.dims} as y", got=given)
        z = stored(given)
    integers.run(handle, call, (raw_x, raw_w, raw_y), (alpha1, alpha2), (z, memory, raw_bias, activation))


def cudnnGetConvolutionForwardWorkspaceSize(handle, xDesc, wDesc, convDesc, yDesc, algo):
    x, w = value_of(xDesc, TensorDescriptor, "xDesc"), value_of(wDesc, FilterDescriptor, "wDesc")
    conv, y = value_of(convDesc, ConvolutionDescriptor, "convDesc"), value_of(yDesc, TensorDescriptor, "yDesc")
    how = forward_algo(algo, "algo")
    if is_integer(x, w, y):
        integers.check_algo(integers.checked(x, w, conv, y, int(convDesc.reorder)), how)
        return 0
    _check_result(x, w, y)
    return dnn.get_convolution_forward_workspace_size(handle, x, w, conv, y, how)


def _check_result(x: dnn.TensorDescriptor, w: dnn.FilterDescriptor, y: dnn.TensorDescriptor) -> None:
    """Refuse FLOAT as the result of shorter types, which cuDNN 9.19 does not support; others are wrong."""
    if x.dtype is w.dtype and x.dtype.itemsize < y.dtype.itemsize and y.dtype is DataType.FLOAT:
        raise NotSupported(argument="y.dtype", expected=f"{x.dtype.name} as x", got=y.dtype.name)
