"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnLRNMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenLRNMode_t."""

    CUDNN_LRN_CROSS_CHANNEL_DIM1 = 0


CUDNN_LRN_CROSS_CHANNEL_DIM1 = cudnnLRNMode_t.CUDNN_LRN_CROSS_CHANNEL_DIM1


class cudnnDivNormMode_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_DIVNORM_PRECOMPUTED_MEANS = 0


CUDNN_DIVNORM_PRECOMPUTED_MEANS = cudnnDivNormMode_t.CUDNN_DIVNORM_PRECOMPUTED_MEANS
