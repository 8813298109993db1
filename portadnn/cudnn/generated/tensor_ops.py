"""Tensor operations: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.tensor import add_tensor, scale_tensor
from ..calls import c_function
from ..descriptors import OpTensorDescriptor, TensorDescriptor, destroy, value_of
from ..folding import (
    TensorTransformDescriptor,
    cudnnGetTensorTransformDescriptor as _GetTensorTransformDescriptor,
    cudnnInitTransformDest as _InitTransformDest,
    cudnnSetTensorTransformDescriptor as _SetTensorTransformDescriptor,
    cudnnTransformTensorEx as _TransformTensorEx,
)
from ..memory import tensor
from ..tensors import (
    cudnnGetOpTensorDescriptor as _GetOpTensorDescriptor,
    cudnnOpTensor as _OpTensor,
    cudnnSetOpTensorDescriptor as _SetOpTensorDescriptor,
    cudnnSetTensor as _SetTensor,
)
from ..transforms import cudnnTransformTensor as _TransformTensor
from .enums.tensor import cudnnDataType_t, cudnnNanPropagation_t, cudnnTensorFormat_t
from .enums.tensor_ops import cudnnFoldingDirection_t, cudnnOpTensorOp_t


@c_function
def cudnnTransformTensor(
    handle: Handle, alpha: float, xDesc: TensorDescriptor, x: Any, beta: float, yDesc: TensorDescriptor, y: Any
) -> None:
    """Return nothing (guide 4.14, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``transform_tensor``.

    Types may differ: floats of 16 to 64 bits, INT8, UINT8 and INT32, and the vectors of channels INT8x4, UINT8x4 and
        INT8x32. Integers are rounded to the nearest, ties to even, and saturated.
    """
    _TransformTensor(handle, xDesc, x, yDesc, y, alpha, beta)


@c_function
def cudnnAddTensor(
    handle: Handle, alpha: float, aDesc: TensorDescriptor, A: Any, beta: float, cDesc: TensorDescriptor, C: Any
) -> None:
    """Return nothing (guide 4.15, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t aDesc, const void *A, const void *beta, const cudnnTensorDescriptor_t cDesc, void *C)``

    In portadnn: ``add_tensor``.
    """
    add_tensor(
        handle, tensor(handle, aDesc, A, "A", "aDesc"), tensor(handle, cDesc, C, "C", "cDesc"), alpha=alpha, beta=beta
    )


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
    """Return nothing (guide 4.16, since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t opTensorDesc, const void *alpha1, const cudnnTensorDescriptor_t aDesc, const void *A, const void *alpha2, const cudnnTensorDescriptor_t bDesc, const void *B, const void *beta, const cudnnTensorDescriptor_t cDesc, void *C)``

    In portadnn: ``op_tensor``.

    SQRT and NOT look at neither `bDesc` nor `B`.
    """
    _OpTensor(
        handle,
        value_of(opTensorDesc, OpTensorDescriptor, "opTensorDesc"),
        tensor(handle, aDesc, A, "A", "aDesc"),
        bDesc,
        B,
        tensor(handle, cDesc, C, "C", "cDesc"),
        alpha1,
        alpha2,
        beta,
    )


@c_function
def cudnnSetTensor(handle: Handle, yDesc: TensorDescriptor, y: Any, valuePtr: float) -> None:
    """Return nothing (guide 4.17, since 2.0).

    C: ``cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y, const void *valuePtr)``

    In portadnn: ``set_tensor``.

    `valuePtr` is the value itself.
    """
    _SetTensor(handle, tensor(handle, yDesc, y, "y"), valuePtr)


@c_function
def cudnnScaleTensor(handle: Handle, yDesc: TensorDescriptor, y: Any, alpha: float) -> None:
    """Return nothing (guide 4.18, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y, const void *alpha)``

    In portadnn: ``scale_tensor``.
    """
    scale_tensor(handle, tensor(handle, yDesc, y, "y"), alpha)


@c_function
def cudnnCreateOpTensorDescriptor() -> OpTensorDescriptor:
    """Return opTensorDesc (since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t *opTensorDesc)``

    In portadnn: ``OpTensorDescriptor``.
    """
    return OpTensorDescriptor()


@c_function
def cudnnSetOpTensorDescriptor(
    opTensorDesc: OpTensorDescriptor, opTensorOp: int, opTensorCompType: int, opTensorNanOpt: int
) -> None:
    """Return nothing (since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc, cudnnOpTensorOp_t opTensorOp, cudnnDataType_t opTensorCompType, cudnnNanPropagation_t opTensorNanOpt)``

    In portadnn: ``OpTensorDescriptor``.

    A compute type of half is refused by the call: sums are float, or double for double tensors.
    """
    _SetOpTensorDescriptor(opTensorDesc, opTensorOp, opTensorCompType, opTensorNanOpt)


@c_function
def cudnnGetOpTensorDescriptor(
    opTensorDesc: OpTensorDescriptor
) -> tuple[cudnnOpTensorOp_t, cudnnDataType_t, cudnnNanPropagation_t]:
    """Return (opTensorOp, opTensorCompType, opTensorNanOpt) (since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t opTensorDesc, cudnnOpTensorOp_t *opTensorOp, cudnnDataType_t *opTensorCompType, cudnnNanPropagation_t *opTensorNanOpt)``

    In portadnn: ``OpTensorDescriptor``.
    """
    return _GetOpTensorDescriptor(value_of(opTensorDesc, OpTensorDescriptor, "opTensorDesc"))


@c_function
def cudnnDestroyOpTensorDescriptor(opTensorDesc: OpTensorDescriptor) -> None:
    """Return nothing (since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc)``

    In portadnn: ``OpTensorDescriptor``.
    """
    destroy(opTensorDesc, OpTensorDescriptor, "opTensorDesc")


@c_function
def cudnnCreateTensorTransformDescriptor() -> TensorTransformDescriptor:
    """Return transformDesc (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateTensorTransformDescriptor(cudnnTensorTransformDescriptor_t *transformDesc)``
    """
    return TensorTransformDescriptor()


@c_function
def cudnnSetTensorTransformDescriptor(
    transformDesc: TensorTransformDescriptor,
    nbDims: int,
    destFormat: int,
    padBeforeA: Any,
    padAfterA: Any,
    foldA: Any,
    direction: int,
) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transformDesc, const uint32_t nbDims, const cudnnTensorFormat_t destFormat, const int32_t padBeforeA[], const int32_t padAfterA[], const uint32_t foldA[], const cudnnFoldingDirection_t direction)``
    """
    _SetTensorTransformDescriptor(transformDesc, nbDims, destFormat, padBeforeA, padAfterA, foldA, direction)


@c_function
def cudnnGetTensorTransformDescriptor(
    transformDesc: TensorTransformDescriptor, nbDimsRequested: int
) -> tuple[cudnnTensorFormat_t, tuple[int, ...], tuple[int, ...], tuple[int, ...], cudnnFoldingDirection_t]:
    """Return (destFormat, padBeforeA, padAfterA, foldA, direction) (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transformDesc, uint32_t nbDimsRequested, cudnnTensorFormat_t *destFormat, int32_t padBeforeA[], int32_t padAfterA[], uint32_t foldA[], cudnnFoldingDirection_t *direction)``
    """
    return _GetTensorTransformDescriptor(transformDesc, nbDimsRequested)


@c_function
def cudnnDestroyTensorTransformDescriptor(transformDesc: TensorTransformDescriptor) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transformDesc)``
    """
    destroy(transformDesc, TensorTransformDescriptor, "transformDesc")


@c_function
def cudnnInitTransformDest(
    transformDesc: TensorTransformDescriptor, srcDesc: TensorDescriptor, destDesc: TensorDescriptor
) -> int:
    """Return destSizeInBytes (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnInitTransformDest(const cudnnTensorTransformDescriptor_t transformDesc, const cudnnTensorDescriptor_t srcDesc, cudnnTensorDescriptor_t destDesc, size_t *destSizeInBytes)``
    """
    return _InitTransformDest(transformDesc, value_of(srcDesc, TensorDescriptor, "srcDesc"), destDesc)


@c_function
def cudnnTransformTensorEx(
    handle: Handle,
    transDesc: TensorTransformDescriptor,
    alpha: float,
    srcDesc: TensorDescriptor,
    srcData: Any,
    beta: float,
    destDesc: TensorDescriptor,
    destData: Any,
) -> None:
    """Return nothing (since 7.5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnTransformTensorEx(cudnnHandle_t handle, const cudnnTensorTransformDescriptor_t transDesc, const void *alpha, const cudnnTensorDescriptor_t srcDesc, const void *srcData, const void *beta, const cudnnTensorDescriptor_t destDesc, void *destData)``
    """
    _TransformTensorEx(handle, transDesc, alpha, srcDesc, srcData, beta, destDesc, destData)
