"""Tensor descriptors, and the operations on whole tensors (guide sections 4.7 to 4.18)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..enums import DataType, NanPropagation, OpTensorOp, TensorFormat
from ..errors import BadParam
from ..handle import Handle
from .calls import Choice, c_function
from .descriptors import OpTensorDescriptor, TensorDescriptor, creator, destroy, integers, made, value_of
from .memory import tensor

data_type = Choice(
    "cudnnDataType_t",
    DataType,
    nearest="INT32 and UINT8 are types of indices and bytes, in which nothing is computed",
)
tensor_format = Choice("cudnnTensorFormat_t", TensorFormat, nearest="int8 vectors are not computed in")
nan_option = Choice("cudnnNanPropagation_t", NanPropagation)
op_tensor_op = Choice(
    "cudnnOpTensorOp_t", OpTensorOp, nearest="cudnnActivationForward has other functions of one tensor"
)

cudnnCreateTensorDescriptor = creator("cudnnCreateTensorDescriptor", TensorDescriptor)
cudnnCreateOpTensorDescriptor = creator("cudnnCreateOpTensorDescriptor", OpTensorDescriptor)


@c_function
def cudnnDestroyTensorDescriptor(tensorDesc: TensorDescriptor) -> None:
    destroy(tensorDesc, TensorDescriptor, "tensorDesc")


@c_function
def cudnnSetTensor4dDescriptor(
    tensorDesc: TensorDescriptor, format: int, dataType: int, n: int, c: int, h: int, w: int
) -> None:
    """Sizes of 0 are allowed: the tensor is empty."""
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    layout, dtype = tensor_format(format, "format"), data_type(dataType, "dataType")
    tensorDesc.set(dnn.TensorDescriptor((n, c, h, w), dtype, format=layout))


@c_function
def cudnnSetTensor4dDescriptorEx(
    tensorDesc: TensorDescriptor,
    dataType: int,
    n: int,
    c: int,
    h: int,
    w: int,
    nStride: int,
    cStride: int,
    hStride: int,
    wStride: int,
) -> None:
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    strides = (nStride, cStride, hStride, wStride)
    tensorDesc.set(dnn.TensorDescriptor((n, c, h, w), data_type(dataType, "dataType"), strides=strides))


@c_function
def cudnnGetTensor4dDescriptor(tensorDesc: TensorDescriptor) -> tuple[Any, ...]:
    """Of a descriptor that is not 4-D: BadParam."""
    dtype, *sizes = value_of(tensorDesc, TensorDescriptor, "tensorDesc").get_4d()
    return (data_type.c(dtype), *sizes)


@c_function
def cudnnSetTensorNdDescriptor(
    tensorDesc: TensorDescriptor, dataType: int, nbDims: int, dimA: Any, strideA: Any
) -> None:
    """`dimA` and `strideA` are sequences of at least `nbDims` integers. Sizes of 0 are refused, as the guide says."""
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    dims, strides = integers(dimA, nbDims, "dimA"), integers(strideA, nbDims, "strideA")
    tensorDesc.set(dnn.TensorDescriptor.set_nd(data_type(dataType, "dataType"), dims, strides))


@c_function
def cudnnSetTensorNdDescriptorEx(
    tensorDesc: TensorDescriptor, format: int, dataType: int, nbDims: int, dimA: Any
) -> None:
    made(tensorDesc, TensorDescriptor, "tensorDesc")
    layout, dtype = tensor_format(format, "format"), data_type(dataType, "dataType")
    tensorDesc.set(dnn.TensorDescriptor(integers(dimA, nbDims, "dimA"), dtype, format=layout))


@c_function
def cudnnGetTensorNdDescriptor(tensorDesc: TensorDescriptor, nbDimsRequested: int) -> tuple[Any, ...]:
    """`dimA` and `strideA` are tuples of at most `nbDimsRequested` values; `nbDims` is the descriptor's own number."""
    value = value_of(tensorDesc, TensorDescriptor, "tensorDesc")
    dtype, count, dims, strides = value.get_nd(as_integer(nbDimsRequested, "nbDimsRequested", 0))
    return data_type.c(dtype), count, dims, strides


@c_function
def cudnnGetTensorSizeInBytes(tensorDesc: TensorDescriptor) -> int:
    """The bytes from the first to the last element, gaps included."""
    return value_of(tensorDesc, TensorDescriptor, "tensorDesc").size_in_bytes  # type: ignore[no-any-return]


@c_function
def cudnnTransformTensor(
    handle: Handle, alpha: float, xDesc: TensorDescriptor, x: Any, beta: float, yDesc: TensorDescriptor, y: Any
) -> None:
    dnn.transform_tensor(handle, tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y"), alpha=alpha, beta=beta)


@c_function
def cudnnAddTensor(
    handle: Handle, alpha: float, aDesc: TensorDescriptor, A: Any, beta: float, cDesc: TensorDescriptor, C: Any
) -> None:
    dnn.add_tensor(
        handle,
        tensor(handle, aDesc, A, "A", desc="aDesc"),
        tensor(handle, cDesc, C, "C", desc="cDesc"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnSetOpTensorDescriptor(
    opTensorDesc: OpTensorDescriptor, opTensorOp: int, opTensorCompType: int, opTensorNanOpt: int
) -> None:
    """A compute type of half is refused by the call: sums are float, or double for double tensors."""
    made(opTensorDesc, OpTensorDescriptor, "opTensorDesc")
    opTensorDesc.value = dnn.OpTensorDescriptor(
        op_tensor_op(opTensorOp, "opTensorOp"),
        data_type(opTensorCompType, "opTensorCompType"),
        nan_option(opTensorNanOpt, "opTensorNanOpt"),
    )


@c_function
def cudnnGetOpTensorDescriptor(opTensorDesc: OpTensorDescriptor) -> tuple[Any, ...]:
    op, dtype, nan = value_of(opTensorDesc, OpTensorDescriptor, "opTensorDesc").params
    return op_tensor_op.c(op), data_type.c(dtype), nan_option.c(nan)


@c_function
def cudnnDestroyOpTensorDescriptor(opTensorDesc: OpTensorDescriptor) -> None:
    destroy(opTensorDesc, OpTensorDescriptor, "opTensorDesc")


@c_function
def cudnnOpTensor(
    handle: Handle,
    opTensorDesc: OpTensorDescriptor,
    alpha1: float,
    aDesc: TensorDescriptor,
    A: Any,
    alpha2: float,
    bDesc: TensorDescriptor,
    B: Any,
    beta: float,
    cDesc: TensorDescriptor,
    C: Any,
) -> None:
    """SQRT and NOT look at neither `bDesc` nor `B`."""
    op = value_of(opTensorDesc, OpTensorDescriptor, "opTensorDesc")
    dnn.op_tensor(
        handle,
        op,
        tensor(handle, aDesc, A, "A", desc="aDesc"),
        None if op.op.unary else tensor(handle, bDesc, B, "B", desc="bDesc"),
        tensor(handle, cDesc, C, "C", desc="cDesc"),
        alpha1=alpha1,
        alpha2=alpha2,
        beta=beta,
    )


@c_function
def cudnnSetTensor(handle: Handle, yDesc: TensorDescriptor, y: Any, valuePtr: float) -> None:
    """`valuePtr` is the value itself."""
    dnn.set_tensor(handle, tensor(handle, yDesc, y, "y"), _number(valuePtr, "valuePtr"))


@c_function
def cudnnScaleTensor(handle: Handle, yDesc: TensorDescriptor, y: Any, alpha: float) -> None:
    dnn.scale_tensor(handle, tensor(handle, yDesc, y, "y"), alpha)


def _number(value: Any, name: str) -> Any:
    if value is None:
        raise BadParam(argument=name, expected="a number", got="NULL")
    return value
