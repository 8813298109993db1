"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnNormMode_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_NORM_PER_ACTIVATION = 0
    CUDNN_NORM_PER_CHANNEL = 1


CUDNN_NORM_PER_ACTIVATION = cudnnNormMode_t.CUDNN_NORM_PER_ACTIVATION
CUDNN_NORM_PER_CHANNEL = cudnnNormMode_t.CUDNN_NORM_PER_CHANNEL


class cudnnNormOps_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_NORM_OPS_NORM = 0
    CUDNN_NORM_OPS_NORM_ACTIVATION = 1
    CUDNN_NORM_OPS_NORM_ADD_ACTIVATION = 2


CUDNN_NORM_OPS_NORM = cudnnNormOps_t.CUDNN_NORM_OPS_NORM
CUDNN_NORM_OPS_NORM_ACTIVATION = cudnnNormOps_t.CUDNN_NORM_OPS_NORM_ACTIVATION
CUDNN_NORM_OPS_NORM_ADD_ACTIVATION = cudnnNormOps_t.CUDNN_NORM_OPS_NORM_ADD_ACTIVATION


class cudnnNormAlgo_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_NORM_ALGO_STANDARD = 0
    CUDNN_NORM_ALGO_PERSIST = 1


CUDNN_NORM_ALGO_STANDARD = cudnnNormAlgo_t.CUDNN_NORM_ALGO_STANDARD
CUDNN_NORM_ALGO_PERSIST = cudnnNormAlgo_t.CUDNN_NORM_ALGO_PERSIST


class cudnnBackendNormMode_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_LAYER_NORM = 0
    CUDNN_INSTANCE_NORM = 1
    CUDNN_BATCH_NORM = 2
    CUDNN_GROUP_NORM = 3
    CUDNN_RMS_NORM = 4
    CUDNN_ADA_LAYER_NORM = 5


CUDNN_LAYER_NORM = cudnnBackendNormMode_t.CUDNN_LAYER_NORM
CUDNN_INSTANCE_NORM = cudnnBackendNormMode_t.CUDNN_INSTANCE_NORM
CUDNN_BATCH_NORM = cudnnBackendNormMode_t.CUDNN_BATCH_NORM
CUDNN_GROUP_NORM = cudnnBackendNormMode_t.CUDNN_GROUP_NORM
CUDNN_RMS_NORM = cudnnBackendNormMode_t.CUDNN_RMS_NORM
CUDNN_ADA_LAYER_NORM = cudnnBackendNormMode_t.CUDNN_ADA_LAYER_NORM
