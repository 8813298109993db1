"""Dropout: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.dropout import dropout_backward, dropout_forward, dropout_get_reserve_space_size, dropout_get_states_size
from ..calls import c_function
from ..descriptors import DropoutDescriptor, TensorDescriptor, destroy, value_of
from ..dropout import (
    cudnnGetDropoutDescriptor as _GetDropoutDescriptor,
    cudnnRestoreDropoutDescriptor as _RestoreDropoutDescriptor,
    cudnnSetDropoutDescriptor as _SetDropoutDescriptor,
)
from ..memory import raw, tensor


@c_function
def cudnnCreateDropoutDescriptor() -> DropoutDescriptor:
    """Return dropoutDesc (guide 4.111, since 5.0).

    C: ``cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *dropoutDesc)``

    In portadnn: ``DropoutDescriptor``.
    """
    return DropoutDescriptor()


@c_function
def cudnnDestroyDropoutDescriptor(dropoutDesc: DropoutDescriptor) -> None:
    """Return nothing (guide 4.112, since 5.0).

    C: ``cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc)``

    In portadnn: ``DropoutDescriptor``.
    """
    destroy(dropoutDesc, DropoutDescriptor, "dropoutDesc")


@c_function
def cudnnDropoutGetStatesSize(handle: Handle) -> int:
    """Return sizeInBytes (guide 4.113, since 5.0).

    C: ``cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *sizeInBytes)``

    In portadnn: ``dropout_get_states_size``.
    """
    return dropout_get_states_size(handle)


@c_function
def cudnnDropoutGetReserveSpaceSize(xdesc: TensorDescriptor) -> int:
    """Return sizeInBytes (guide 4.114, since 5.0).

    C: ``cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t xdesc, size_t *sizeInBytes)``

    In portadnn: ``dropout_get_reserve_space_size``.
    """
    return dropout_get_reserve_space_size(value_of(xdesc, TensorDescriptor, "xdesc"))


@c_function
def cudnnSetDropoutDescriptor(
    dropoutDesc: DropoutDescriptor, handle: Handle, dropout: float, states: Any, stateSizeInBytes: int, seed: int
) -> None:
    """Return nothing (guide 4.115, since 5.0).

    C: ``cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float dropout, void *states, size_t stateSizeInBytes, unsigned long long seed)``

    In portadnn: ``set_dropout_descriptor``.

    Random numbers are portadnn's own: one seed gives the same masks on every backend, and others than cuDNN's.

    With NULL for the states only the probability is set. Too small a size has the status CUDNN_STATUS_INVALID_VALUE.
    """
    _SetDropoutDescriptor(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed)


@c_function
def cudnnRestoreDropoutDescriptor(
    dropoutDesc: DropoutDescriptor, handle: Handle, dropout: float, states: Any, stateSizeInBytes: int, seed: int
) -> None:
    """Return nothing (since 7.0.5).

    C: ``cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float dropout, void *states, size_t stateSizeInBytes, unsigned long long seed)``

    In portadnn: ``restore_dropout_descriptor``.

    `states` hold what they held when they were saved; `seed` is what cudnnGetDropoutDescriptor is to return.
    """
    _RestoreDropoutDescriptor(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed)


@c_function
def cudnnGetDropoutDescriptor(dropoutDesc: DropoutDescriptor, handle: Handle) -> tuple[float, Any, int]:
    """Return (dropout, states, seed) (since 7.0.5).

    C: ``cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float *dropout, void **states, unsigned long long *seed)``

    In portadnn: ``get_dropout_descriptor``.
    """
    return _GetDropoutDescriptor(handle, dropoutDesc)


@c_function
def cudnnDropoutForward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    xdesc: TensorDescriptor,
    x: Any,
    ydesc: TensorDescriptor,
    y: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Return nothing (guide 4.116, since 5.0).

    C: ``cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc, const cudnnTensorDescriptor_t xdesc, const void *x, const cudnnTensorDescriptor_t ydesc, void *y, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    In portadnn: ``dropout_forward``.

    `y` may be `x`.
    """
    dropout_forward(
        handle,
        tensor(handle, xdesc, x, "x", "xdesc"),
        value_of(dropoutDesc, DropoutDescriptor, "dropoutDesc"),
        tensor(handle, ydesc, y, "y", "ydesc"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
    )


@c_function
def cudnnDropoutBackward(
    handle: Handle,
    dropoutDesc: DropoutDescriptor,
    dydesc: TensorDescriptor,
    dy: Any,
    dxdesc: TensorDescriptor,
    dx: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Return nothing (guide 4.117, since 5.0).

    C: ``cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc, const cudnnTensorDescriptor_t dydesc, const void *dy, const cudnnTensorDescriptor_t dxdesc, void *dx, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    In portadnn: ``dropout_backward``.

    `dx` may be `dy`.
    """
    dropout_backward(
        handle,
        tensor(handle, dydesc, dy, "dy", "dydesc"),
        value_of(dropoutDesc, DropoutDescriptor, "dropoutDesc"),
        raw(handle, reserveSpace, reserveSpaceSizeInBytes, "reserveSpace"),
        tensor(handle, dxdesc, dx, "dx", "dxdesc"),
    )
