"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnConvolutionMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenConvolutionMode_t."""

    CUDNN_CONVOLUTION = 0
    CUDNN_CROSS_CORRELATION = 1


CUDNN_CONVOLUTION = cudnnConvolutionMode_t.CUDNN_CONVOLUTION
CUDNN_CROSS_CORRELATION = cudnnConvolutionMode_t.CUDNN_CROSS_CORRELATION


class cudnnDeterminism_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_NON_DETERMINISTIC = 0
    CUDNN_DETERMINISTIC = 1


CUDNN_NON_DETERMINISTIC = cudnnDeterminism_t.CUDNN_NON_DETERMINISTIC
CUDNN_DETERMINISTIC = cudnnDeterminism_t.CUDNN_DETERMINISTIC


class cudnnReorderType_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_DEFAULT_REORDER = 0
    CUDNN_NO_REORDER = 1


CUDNN_DEFAULT_REORDER = cudnnReorderType_t.CUDNN_DEFAULT_REORDER
CUDNN_NO_REORDER = cudnnReorderType_t.CUDNN_NO_REORDER
