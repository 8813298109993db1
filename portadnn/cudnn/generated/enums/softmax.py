"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnSoftmaxAlgorithm_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenSoftmaxAlgorithm_t."""

    CUDNN_SOFTMAX_FAST = 0
    CUDNN_SOFTMAX_ACCURATE = 1
    CUDNN_SOFTMAX_LOG = 2


CUDNN_SOFTMAX_FAST = cudnnSoftmaxAlgorithm_t.CUDNN_SOFTMAX_FAST
CUDNN_SOFTMAX_ACCURATE = cudnnSoftmaxAlgorithm_t.CUDNN_SOFTMAX_ACCURATE
CUDNN_SOFTMAX_LOG = cudnnSoftmaxAlgorithm_t.CUDNN_SOFTMAX_LOG


class cudnnSoftmaxMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenSoftmaxMode_t."""

    CUDNN_SOFTMAX_MODE_INSTANCE = 0
    CUDNN_SOFTMAX_MODE_CHANNEL = 1


CUDNN_SOFTMAX_MODE_INSTANCE = cudnnSoftmaxMode_t.CUDNN_SOFTMAX_MODE_INSTANCE
CUDNN_SOFTMAX_MODE_CHANNEL = cudnnSoftmaxMode_t.CUDNN_SOFTMAX_MODE_CHANNEL
