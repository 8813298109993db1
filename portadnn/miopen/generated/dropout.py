"""Dropout: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.dropout import dropout_get_states_size
from ..descriptors import destroy, miopenTensorDescriptor_t, tensor, value_of
from ..dropout import (
    miopenDropoutBackward as _DropoutBackward,
    miopenDropoutDescriptor_t,
    miopenDropoutForward as _DropoutForward,
    miopenDropoutGetReserveSpaceSize as _DropoutGetReserveSpaceSize,
    miopenGetDropoutDescriptor as _GetDropoutDescriptor,
    miopenRestoreDropoutDescriptor as _RestoreDropoutDescriptor,
    miopenSetDropoutDescriptor as _SetDropoutDescriptor,
)
from ..names import function
from .enums import miopenRNGType_t


@function
def miopenCreateDropoutDescriptor() -> miopenDropoutDescriptor_t:
    """Return dropoutDesc (since 2.1.0).

    C: ``miopenStatus_t miopenCreateDropoutDescriptor(miopenDropoutDescriptor_t *dropoutDesc)``

    In cuDNN: ``cudnnCreateDropoutDescriptor``; what a port changes: same arguments.

    In portadnn: ``DropoutDescriptor``.
    """
    return miopenDropoutDescriptor_t()


@function
def miopenDestroyDropoutDescriptor(dropoutDesc: miopenDropoutDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 2.1.0).

    C: ``miopenStatus_t miopenDestroyDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc)``

    In cuDNN: ``cudnnDestroyDropoutDescriptor``; what a port changes: same arguments.

    In portadnn: ``DropoutDescriptor``.
    """
    destroy(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")


@function
def miopenDropoutGetStatesSize(handle: Handle) -> int:
    """Return the bytes of the random states; the same on every device.

    Return stateSizeInBytes (since 2.1.0).

    C: ``miopenStatus_t miopenDropoutGetStatesSize(miopenHandle_t handle, size_t *stateSizeInBytes)``

    In cuDNN: ``cudnnDropoutGetStatesSize``; what a port changes: renames sizeInBytes -> stateSizeInBytes.

    In portadnn: ``dropout_get_states_size``.
    """
    return dropout_get_states_size(handle)


@function
def miopenDropoutGetReserveSpaceSize(xDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes of the mask: a bit for each element, in words of 32.

    Return reserveSpaceSizeInBytes (since 2.1.0).

    C: ``miopenStatus_t miopenDropoutGetReserveSpaceSize(const miopenTensorDescriptor_t xDesc, size_t *reserveSpaceSizeInBytes)``

    In cuDNN: ``cudnnDropoutGetReserveSpaceSize``; what a port changes: renames sizeInBytes -> reserveSpaceSizeInBytes.

    In portadnn: ``dropout_get_reserve_space_size``.
    """
    return _DropoutGetReserveSpaceSize(value_of(xDesc, miopenTensorDescriptor_t, "xDesc"))


@function
def miopenSetDropoutDescriptor(
    dropoutDesc: miopenDropoutDescriptor_t,
    handle: Handle,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
    use_mask: bool,
    state_evo: bool,
    rng_mode: int,
) -> None:
    """Choose the share of elements that become 0, and start the random numbers of `seed` in `states`.

    Return nothing (since 2.1.0).

    C: ``miopenStatus_t miopenSetDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc, miopenHandle_t handle, float dropout, void *states, size_t stateSizeInBytes, unsigned long long seed, bool use_mask, bool state_evo, miopenRNGType_t rng_mode)``

    In cuDNN: ``cudnnSetDropoutDescriptor``; what a port changes: adds use_mask, state_evo, rng_mode.

    In portadnn: ``set_dropout_descriptor``.

    The generator is portadnn's own (Philox) for every `rng_mode`. With `use_mask` forward calls draw nothing: they
    apply the mask in the reserve space.
    """
    _SetDropoutDescriptor(handle, dropoutDesc, dropout, states, stateSizeInBytes, seed, use_mask, state_evo, rng_mode)


@function
def miopenRestoreDropoutDescriptor(
    dropoutDesc: miopenDropoutDescriptor_t,
    handle: Handle,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
    use_mask: bool,
    state_evo: bool,
    rng_mode: int,
) -> None:
    """Go on with states that were saved.

    Return nothing (since 2.1.0).

    C: ``miopenStatus_t miopenRestoreDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc, miopenHandle_t handle, float dropout, void *states, size_t stateSizeInBytes, unsigned long long seed, bool use_mask, bool state_evo, miopenRNGType_t rng_mode)``

    In cuDNN: ``cudnnRestoreDropoutDescriptor``; what a port changes: adds use_mask, state_evo, rng_mode.

    In portadnn: ``restore_dropout_descriptor``.
    """
    _RestoreDropoutDescriptor(
        handle, dropoutDesc, dropout, states, stateSizeInBytes, seed, use_mask, state_evo, rng_mode
    )


@function
def miopenGetDropoutDescriptor(
    dropoutDesc: miopenDropoutDescriptor_t, handle: Handle
) -> tuple[float, Any, int, bool, bool, miopenRNGType_t]:
    """Return (dropout, states, seed, use_mask, state_evo, rng_mode).

    Return (dropout, states, seed, use_mask, state_evo, rng_mode) (since 2.1.0).

    C: ``miopenStatus_t miopenGetDropoutDescriptor(miopenDropoutDescriptor_t dropoutDesc, miopenHandle_t handle, float *dropout, void **states, unsigned long long *seed, bool *use_mask, bool *state_evo, miopenRNGType_t *rng_mode)``

    In cuDNN: ``cudnnGetDropoutDescriptor``; what a port changes: adds use_mask, state_evo, rng_mode.

    In portadnn: ``get_dropout_descriptor``.
    """
    return _GetDropoutDescriptor(handle, value_of(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc"))


@function
def miopenDropoutForward(
    handle: Handle,
    dropoutDesc: miopenDropoutDescriptor_t,
    noise_shape: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Drop elements at random and keep the mask, or apply the mask that there is (`use_mask` of the descriptor).

    Return nothing (since 2.1.0).

    C: ``miopenStatus_t miopenDropoutForward(miopenHandle_t handle, const miopenDropoutDescriptor_t dropoutDesc, const miopenTensorDescriptor_t noise_shape, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc, void *y, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    In cuDNN: ``cudnnDropoutForward``; what a port changes: adds noise_shape.

    In portadnn: ``dropout_forward``.
    """
    _DropoutForward(
        handle,
        value_of(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        noise_shape,
        xDesc,
        reserveSpace,
        reserveSpaceSizeInBytes,
    )


@function
def miopenDropoutBackward(
    handle: Handle,
    dropoutDesc: miopenDropoutDescriptor_t,
    noise_shape: miopenTensorDescriptor_t,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Apply the forward call's mask to the gradient.

    Return nothing (since 2.1.0).

    C: ``miopenStatus_t miopenDropoutBackward(miopenHandle_t handle, const miopenDropoutDescriptor_t dropoutDesc, const miopenTensorDescriptor_t noise_shape, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t dxDesc, void *dx, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    In cuDNN: ``cudnnDropoutBackward``; what a port changes: adds noise_shape.

    In portadnn: ``dropout_backward``.
    """
    _DropoutBackward(
        handle,
        value_of(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dxDesc, dx, "dx"),
        noise_shape,
        dyDesc,
        reserveSpace,
        reserveSpaceSizeInBytes,
    )
