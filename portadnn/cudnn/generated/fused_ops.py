"""Fused operations: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..descriptors import destroy
from ..fused_ops.packs import (
    FusedOpsConstParamPack,
    FusedOpsPlan,
    FusedOpsVariantParamPack,
    cudnnCreateFusedOpsConstParamPack as _CreateFusedOpsConstParamPack,
    cudnnCreateFusedOpsPlan as _CreateFusedOpsPlan,
    cudnnCreateFusedOpsVariantParamPack as _CreateFusedOpsVariantParamPack,
    cudnnFusedOpsExecute as _FusedOpsExecute,
    cudnnGetFusedOpsConstParamPackAttribute as _GetFusedOpsConstParamPackAttribute,
    cudnnGetFusedOpsVariantParamPackAttribute as _GetFusedOpsVariantParamPackAttribute,
    cudnnMakeFusedOpsPlan as _MakeFusedOpsPlan,
    cudnnSetFusedOpsConstParamPackAttribute as _SetFusedOpsConstParamPackAttribute,
    cudnnSetFusedOpsVariantParamPackAttribute as _SetFusedOpsVariantParamPackAttribute,
)


@c_function
def cudnnCreateFusedOpsConstParamPack(ops: int) -> FusedOpsConstParamPack:
    """Return constPack (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateFusedOpsConstParamPack(cudnnFusedOpsConstParamPack_t *constPack, cudnnFusedOps_t ops)``
    """
    return _CreateFusedOpsConstParamPack(ops)


@c_function
def cudnnDestroyFusedOpsConstParamPack(constPack: FusedOpsConstParamPack) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyFusedOpsConstParamPack(cudnnFusedOpsConstParamPack_t constPack)``
    """
    destroy(constPack, FusedOpsConstParamPack, "constPack")


@c_function
def cudnnSetFusedOpsConstParamPackAttribute(constPack: FusedOpsConstParamPack, paramLabel: int, param: Any) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetFusedOpsConstParamPackAttribute(cudnnFusedOpsConstParamPack_t constPack, cudnnFusedOpsConstParamLabel_t paramLabel, const void *param)``
    """
    _SetFusedOpsConstParamPackAttribute(constPack, paramLabel, param)


@c_function
def cudnnGetFusedOpsConstParamPackAttribute(constPack: FusedOpsConstParamPack, paramLabel: int) -> tuple[Any, int]:
    """Return (param, isNULL) (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetFusedOpsConstParamPackAttribute(const cudnnFusedOpsConstParamPack_t constPack, cudnnFusedOpsConstParamLabel_t paramLabel, void *param, int *isNULL)``
    """
    return _GetFusedOpsConstParamPackAttribute(constPack, paramLabel)


@c_function
def cudnnCreateFusedOpsVariantParamPack(ops: int) -> FusedOpsVariantParamPack:
    """Return varPack (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateFusedOpsVariantParamPack(cudnnFusedOpsVariantParamPack_t *varPack, cudnnFusedOps_t ops)``
    """
    return _CreateFusedOpsVariantParamPack(ops)


@c_function
def cudnnDestroyFusedOpsVariantParamPack(varPack: FusedOpsVariantParamPack) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyFusedOpsVariantParamPack(cudnnFusedOpsVariantParamPack_t varPack)``
    """
    destroy(varPack, FusedOpsVariantParamPack, "varPack")


@c_function
def cudnnSetFusedOpsVariantParamPackAttribute(varPack: FusedOpsVariantParamPack, paramLabel: int, ptr: Any) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetFusedOpsVariantParamPackAttribute(cudnnFusedOpsVariantParamPack_t varPack, cudnnFusedOpsVariantParamLabel_t paramLabel, void *ptr)``
    """
    _SetFusedOpsVariantParamPackAttribute(varPack, paramLabel, ptr)


@c_function
def cudnnGetFusedOpsVariantParamPackAttribute(varPack: FusedOpsVariantParamPack, paramLabel: int) -> Any:
    """Return ptr (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetFusedOpsVariantParamPackAttribute(const cudnnFusedOpsVariantParamPack_t varPack, cudnnFusedOpsVariantParamLabel_t paramLabel, void *ptr)``
    """
    return _GetFusedOpsVariantParamPackAttribute(varPack, paramLabel)


@c_function
def cudnnCreateFusedOpsPlan(ops: int) -> FusedOpsPlan:
    """Return plan (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateFusedOpsPlan(cudnnFusedOpsPlan_t *plan, cudnnFusedOps_t ops)``
    """
    return _CreateFusedOpsPlan(ops)


@c_function
def cudnnDestroyFusedOpsPlan(plan: FusedOpsPlan) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyFusedOpsPlan(cudnnFusedOpsPlan_t plan)``
    """
    destroy(plan, FusedOpsPlan, "plan")


@c_function
def cudnnMakeFusedOpsPlan(handle: Handle, plan: FusedOpsPlan, constPack: FusedOpsConstParamPack) -> int:
    """Return workspaceSizeInBytes (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnMakeFusedOpsPlan(cudnnHandle_t handle, cudnnFusedOpsPlan_t plan, const cudnnFusedOpsConstParamPack_t constPack, size_t *workspaceSizeInBytes)``
    """
    return _MakeFusedOpsPlan(handle, plan, constPack)


@c_function
def cudnnFusedOpsExecute(handle: Handle, plan: FusedOpsPlan, varPack: FusedOpsVariantParamPack) -> None:
    """Return nothing (since 7.6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnFusedOpsExecute(cudnnHandle_t handle, const cudnnFusedOpsPlan_t plan, cudnnFusedOpsVariantParamPack_t varPack)``
    """
    _FusedOpsExecute(handle, plan, varPack)
