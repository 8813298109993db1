"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnBatchNormMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenBatchNormMode_t."""

    CUDNN_BATCHNORM_PER_ACTIVATION = 0
    CUDNN_BATCHNORM_SPATIAL = 1
    CUDNN_BATCHNORM_SPATIAL_PERSISTENT = 2


CUDNN_BATCHNORM_PER_ACTIVATION = cudnnBatchNormMode_t.CUDNN_BATCHNORM_PER_ACTIVATION
CUDNN_BATCHNORM_SPATIAL = cudnnBatchNormMode_t.CUDNN_BATCHNORM_SPATIAL
CUDNN_BATCHNORM_SPATIAL_PERSISTENT = cudnnBatchNormMode_t.CUDNN_BATCHNORM_SPATIAL_PERSISTENT


class cudnnBatchNormOps_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_BATCHNORM_OPS_BN = 0
    CUDNN_BATCHNORM_OPS_BN_ACTIVATION = 1
    CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION = 2


CUDNN_BATCHNORM_OPS_BN = cudnnBatchNormOps_t.CUDNN_BATCHNORM_OPS_BN
CUDNN_BATCHNORM_OPS_BN_ACTIVATION = cudnnBatchNormOps_t.CUDNN_BATCHNORM_OPS_BN_ACTIVATION
CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION = cudnnBatchNormOps_t.CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION
