"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnActivationMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenActivationMode_t."""

    CUDNN_ACTIVATION_SIGMOID = 0
    CUDNN_ACTIVATION_RELU = 1
    CUDNN_ACTIVATION_TANH = 2
    CUDNN_ACTIVATION_CLIPPED_RELU = 3
    CUDNN_ACTIVATION_ELU = 4
    CUDNN_ACTIVATION_IDENTITY = 5
    CUDNN_ACTIVATION_SWISH = 6


CUDNN_ACTIVATION_SIGMOID = cudnnActivationMode_t.CUDNN_ACTIVATION_SIGMOID
CUDNN_ACTIVATION_RELU = cudnnActivationMode_t.CUDNN_ACTIVATION_RELU
CUDNN_ACTIVATION_TANH = cudnnActivationMode_t.CUDNN_ACTIVATION_TANH
CUDNN_ACTIVATION_CLIPPED_RELU = cudnnActivationMode_t.CUDNN_ACTIVATION_CLIPPED_RELU
CUDNN_ACTIVATION_ELU = cudnnActivationMode_t.CUDNN_ACTIVATION_ELU
CUDNN_ACTIVATION_IDENTITY = cudnnActivationMode_t.CUDNN_ACTIVATION_IDENTITY
CUDNN_ACTIVATION_SWISH = cudnnActivationMode_t.CUDNN_ACTIVATION_SWISH
