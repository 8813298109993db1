"""Fused operations: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...errors import NotSupported
from ...handle import Handle
from ..calls import c_function


@c_function
def cudnnCreateFusedOpsConstParamPack(ops: Any) -> Any:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnCreateFusedOpsConstParamPack(cudnnFusedOpsConstParamPack_t *constPack, cudnnFusedOps_t ops)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnDestroyFusedOpsConstParamPack(constPack: Any) -> None:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnDestroyFusedOpsConstParamPack(cudnnFusedOpsConstParamPack_t constPack)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnSetFusedOpsConstParamPackAttribute(constPack: Any, paramLabel: Any, param: Any) -> None:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnSetFusedOpsConstParamPackAttribute(cudnnFusedOpsConstParamPack_t constPack, cudnnFusedOpsConstParamLabel_t paramLabel, const void *param)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnGetFusedOpsConstParamPackAttribute(constPack: Any, paramLabel: Any, param: Any) -> int:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnGetFusedOpsConstParamPackAttribute(const cudnnFusedOpsConstParamPack_t constPack, cudnnFusedOpsConstParamLabel_t paramLabel, void *param, int *isNULL)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnCreateFusedOpsVariantParamPack(ops: Any) -> Any:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnCreateFusedOpsVariantParamPack(cudnnFusedOpsVariantParamPack_t *varPack, cudnnFusedOps_t ops)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnDestroyFusedOpsVariantParamPack(varPack: Any) -> None:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnDestroyFusedOpsVariantParamPack(cudnnFusedOpsVariantParamPack_t varPack)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnSetFusedOpsVariantParamPackAttribute(varPack: Any, paramLabel: Any, ptr: Any) -> None:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnSetFusedOpsVariantParamPackAttribute(cudnnFusedOpsVariantParamPack_t varPack, cudnnFusedOpsVariantParamLabel_t paramLabel, void *ptr)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnGetFusedOpsVariantParamPackAttribute(varPack: Any, paramLabel: Any, ptr: Any) -> None:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnGetFusedOpsVariantParamPackAttribute(const cudnnFusedOpsVariantParamPack_t varPack, cudnnFusedOpsVariantParamLabel_t paramLabel, void *ptr)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnCreateFusedOpsPlan(ops: Any) -> Any:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnCreateFusedOpsPlan(cudnnFusedOpsPlan_t *plan, cudnnFusedOps_t ops)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnDestroyFusedOpsPlan(plan: Any) -> None:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnDestroyFusedOpsPlan(cudnnFusedOpsPlan_t plan)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnMakeFusedOpsPlan(handle: Handle, plan: Any, constPack: Any) -> int:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnMakeFusedOpsPlan(cudnnHandle_t handle, cudnnFusedOpsPlan_t plan, const cudnnFusedOpsConstParamPack_t constPack, size_t *workspaceSizeInBytes)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")


@c_function
def cudnnFusedOpsExecute(handle: Handle, plan: Any, varPack: Any) -> None:
    """Not supported: fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution.

    C: ``cudnnStatus_t cudnnFusedOpsExecute(cudnnHandle_t handle, const cudnnFusedOpsPlan_t plan, cudnnFusedOpsVariantParamPack_t varPack)``
    """
    raise NotSupported("fusions are not composed; cudnnConvolutionBiasActivationForward is a fused convolution")
