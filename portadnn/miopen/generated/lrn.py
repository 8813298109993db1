"""LRN and divisive normalisation: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import destroy, miopenTensorDescriptor_t, tensor, value_of
from ..lrn import (
    miopenGetLRNDescriptor as _GetLRNDescriptor,
    miopenLRNBackward as _LRNBackward,
    miopenLRNDescriptor_t,
    miopenLRNForward as _LRNForward,
    miopenLRNGetWorkSpaceSize as _LRNGetWorkSpaceSize,
    miopenSetLRNDescriptor as _SetLRNDescriptor,
)
from ..names import function
from .enums import miopenLRNMode_t


@function
def miopenCreateLRNDescriptor() -> miopenLRNDescriptor_t:
    """Return lrnDesc (since 1.0.0).

    C: ``miopenStatus_t miopenCreateLRNDescriptor(miopenLRNDescriptor_t *lrnDesc)``

    In cuDNN: ``cudnnCreateLRNDescriptor``; what a port changes: renames normDesc -> lrnDesc.

    In portadnn: ``LRNDescriptor``.
    """
    return miopenLRNDescriptor_t()


@function
def miopenSetLRNDescriptor(
    lrnDesc: miopenLRNDescriptor_t, mode: int, lrnN: int, lrnAlpha: float, lrnBeta: float, lrnK: float
) -> None:
    """Describe the normalisation ``x * (K + alpha / size * sum of squares) ** -beta``.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenSetLRNDescriptor(const miopenLRNDescriptor_t lrnDesc, miopenLRNMode_t mode, unsigned lrnN, double lrnAlpha, double lrnBeta, double lrnK)``

    In cuDNN: ``cudnnSetLRNDescriptor``; what a port changes: adds mode; renames normDesc -> lrnDesc.

    In portadnn: ``LRNDescriptor``.

    Its window has lrnN channels (size lrnN), or lrnN x lrnN cells of one channel (size lrnN ** 2), clipped at the
    borders.
    """
    _SetLRNDescriptor(lrnDesc, mode, lrnN, lrnAlpha, lrnBeta, lrnK)


@function
def miopenGetLRNDescriptor(lrnDesc: miopenLRNDescriptor_t) -> tuple[miopenLRNMode_t, int, float, float, float]:
    """Return (mode, lrnN, lrnAlpha, lrnBeta, lrnK).

    Return (mode, lrnN, lrnAlpha, lrnBeta, lrnK) (since 1.0.0).

    C: ``miopenStatus_t miopenGetLRNDescriptor(const miopenLRNDescriptor_t lrnDesc, miopenLRNMode_t *mode, unsigned *lrnN, double *lrnAlpha, double *lrnBeta, double *lrnK)``

    In cuDNN: ``cudnnGetLRNDescriptor``; what a port changes: adds mode; renames normDesc -> lrnDesc.

    In portadnn: ``LRNDescriptor.get``.
    """
    return _GetLRNDescriptor(value_of(lrnDesc, miopenLRNDescriptor_t, "lrnDesc"))


@function
def miopenDestroyLRNDescriptor(lrnDesc: miopenLRNDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenDestroyLRNDescriptor(miopenLRNDescriptor_t lrnDesc)``

    In cuDNN: ``cudnnDestroyLRNDescriptor``; what a port changes: same arguments.

    In portadnn: ``LRNDescriptor``.
    """
    destroy(lrnDesc, miopenLRNDescriptor_t, "lrnDesc")


@function
def miopenLRNForward(
    handle: Handle,
    lrnDesc: miopenLRNDescriptor_t,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    do_backward: bool,
    workspace: Any,
) -> None:
    """Normalise. As in MIOpen, alpha and beta have no effect: they count as 1 and 0, which is logged as a warning.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenLRNForward(miopenHandle_t handle, const miopenLRNDescriptor_t lrnDesc, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t yDesc, void *y, bool do_backward, void *workspace)``

    In cuDNN: ``cudnnLRNCrossChannelForward``; what a port changes: drops lrnMode; adds do_backward, workspace; renames normDesc -> lrnDesc.

    In portadnn: ``lrn_cross_channel_forward``.
    """
    _LRNForward(
        handle,
        value_of(lrnDesc, miopenLRNDescriptor_t, "lrnDesc"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        xDesc,
        yDesc,
        alpha,
        beta,
        do_backward,
        workspace,
    )


@function
def miopenLRNBackward(
    handle: Handle,
    lrnDesc: miopenLRNDescriptor_t,
    alpha: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    workspace: Any,
) -> None:
    """Compute the gradient. As in MIOpen, alpha and beta have no effect.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenLRNBackward(miopenHandle_t handle, const miopenLRNDescriptor_t lrnDesc, const void *alpha, const miopenTensorDescriptor_t yDesc, const void *y, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx, const void *workspace)``

    In cuDNN: ``cudnnLRNCrossChannelBackward``; what a port changes: drops lrnMode; adds workspace; renames normDesc -> lrnDesc.

    In portadnn: ``lrn_cross_channel_backward``.

    Raises
    ------
    BadParam
        The workspace is not the one that the forward call of this problem filled last.
    """
    _LRNBackward(
        handle,
        value_of(lrnDesc, miopenLRNDescriptor_t, "lrnDesc"),
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dxDesc, dx, "dx"),
        xDesc,
        yDesc,
        dyDesc,
        dxDesc,
        alpha,
        beta,
        workspace,
    )


@function
def miopenLRNGetWorkSpaceSize(yDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes of the workspace: a float for each element of y.

    Return workSpaceSize (since 1.0.0).

    C: ``miopenStatus_t miopenLRNGetWorkSpaceSize(const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize)``
    """
    return _LRNGetWorkSpaceSize(value_of(yDesc, miopenTensorDescriptor_t, "yDesc"))
