"""Tensor descriptors, and the operations on whole tensors (guide sections 4.7 to 4.18)."""

from __future__ import annotations

import portadnn as dnn

from ..arguments import as_integer
from ..enums import DataType, NanPropagation, OpTensorOp, TensorFormat
from ..errors import BadParam
from .calls import Choice
from .descriptors import OpTensorDescriptor, TensorDescriptor, fixed, integers, made
from .memory import tensor
from .storage import VECTORS, IntegerTensor, format_number, integer_type

data_type = Choice(
    "cudnnDataType_t",
    DataType,
    nearest="integers are computed by convolutions and transforms alone",
)
tensor_format = Choice("cudnnTensorFormat_t", TensorFormat, nearest="NCHW_VECT_C is for vectors of bytes")
nan_option = Choice("cudnnNanPropagation_t", NanPropagation)
op_tensor_op = Choice(
    "cudnnOpTensorOp_t", OpTensorOp, nearest="cudnnActivationForward has other functions of one tensor"
)


def cudnnSetTensor4dDescriptor(tensorDesc, format, dataType, *dims):
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    _set_packed(tensorDesc, format, dataType, dims)


def _set_packed(descriptor, format, dtype, dims):
    number = integer_type(dtype)
    if number is not None:
        descriptor.set_unread(IntegerTensor(number, dims, format_number(format)))
        return
    if format_number(format) == VECTORS:
        got = data_type.c(data_type(dtype, "dataType")).name
        raise BadParam(argument="format", expected=f"NCHW or NHWC for {got}", got="CUDNN_TENSOR_NCHW_VECT_C")
    layout = tensor_format(format, "format")
    descriptor.set(dnn.TensorDescriptor(dims, data_type(dtype, "dataType"), format=layout))


def cudnnSetTensor4dDescriptorEx(tensorDesc, dataType, *numbers):
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    number = integer_type(dataType)
    if number is not None:
        tensorDesc.set_unread(IntegerTensor(number, numbers[:4], strides=numbers[4:]))
        return
    tensorDesc.set(dnn.TensorDescriptor(numbers[:4], data_type(dataType, "dataType"), strides=numbers[4:]))


def cudnnGetTensor4dDescriptor(tensor):
    dtype, _, dims, strides = tensor.get_nd(4)
    return (data_type.c(dtype), *fixed(dims, 4), *fixed(strides, 4))


def cudnnSetTensorNdDescriptor(tensorDesc, dataType, nbDims, dimA, strideA):
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    dims, strides = integers(dimA, nbDims, "dimA"), integers(strideA, nbDims, "strideA")
    number = integer_type(dataType)
    if number is not None:
        tensorDesc.set_unread(IntegerTensor(number, dims, strides=strides))
        return
    tensorDesc.set(dnn.TensorDescriptor.set_nd(data_type(dataType, "dataType"), dims, strides))


def cudnnSetTensorNdDescriptorEx(tensorDesc, format, dataType, nbDims, dimA):
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    dims = integers(dimA, nbDims, "dimA")
    if min(dims, default=1) < 1:
        raise BadParam(argument="dimA", expected="dims of at least 1", got=dims)
    _set_packed(tensorDesc, format, dataType, dims)


def cudnnGetTensorNdDescriptor(tensor, nbDimsRequested):
    dtype, *rest = tensor.get_nd(as_integer(nbDimsRequested, "nbDimsRequested", 0))
    return (data_type.c(dtype), *rest)


def cudnnGetTensorSizeInBytes(tensor):
    return tensor.size_in_bytes


def cudnnSetOpTensorDescriptor(opTensorDesc, opTensorOp, opTensorCompType, opTensorNanOpt):
    made(opTensorDesc, OpTensorDescriptor, "opTensorDesc")
    opTensorDesc.value = dnn.OpTensorDescriptor(
        op_tensor_op(opTensorOp, "opTensorOp"),
        data_type(opTensorCompType, "opTensorCompType"),
        nan_option(opTensorNanOpt, "opTensorNanOpt"),
    )


def cudnnGetOpTensorDescriptor(opTensor):
    op, dtype, nan = opTensor.params
    return op_tensor_op.c(op), data_type.c(dtype), nan_option.c(nan)


def cudnnOpTensor(handle, opTensor, A, bDesc, raw_B, C, alpha1, alpha2, beta):
    b = None if opTensor.op.unary else tensor(handle, bDesc, raw_B, "B", "bDesc")
    dnn.op_tensor(handle, opTensor, A, b, C, alpha1=alpha1, alpha2=alpha2, beta=beta)


def cudnnSetTensor(handle, y, valuePtr):
    if valuePtr is None:
        raise BadParam(argument="valuePtr", expected="a number", got="NULL")
    dnn.set_tensor(handle, y, valuePtr)
