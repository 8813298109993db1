"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnRNNMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNMode_t."""

    CUDNN_RNN_RELU = 0
    CUDNN_RNN_TANH = 1
    CUDNN_LSTM = 2
    CUDNN_GRU = 3


CUDNN_RNN_RELU = cudnnRNNMode_t.CUDNN_RNN_RELU
CUDNN_RNN_TANH = cudnnRNNMode_t.CUDNN_RNN_TANH
CUDNN_LSTM = cudnnRNNMode_t.CUDNN_LSTM
CUDNN_GRU = cudnnRNNMode_t.CUDNN_GRU


class cudnnDirectionMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNDirectionMode_t."""

    CUDNN_UNIDIRECTIONAL = 0
    CUDNN_BIDIRECTIONAL = 1


CUDNN_UNIDIRECTIONAL = cudnnDirectionMode_t.CUDNN_UNIDIRECTIONAL
CUDNN_BIDIRECTIONAL = cudnnDirectionMode_t.CUDNN_BIDIRECTIONAL


class cudnnRNNInputMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNInputMode_t."""

    CUDNN_LINEAR_INPUT = 0
    CUDNN_SKIP_INPUT = 1


CUDNN_LINEAR_INPUT = cudnnRNNInputMode_t.CUDNN_LINEAR_INPUT
CUDNN_SKIP_INPUT = cudnnRNNInputMode_t.CUDNN_SKIP_INPUT


class cudnnRNNAlgo_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNAlgo_t."""

    CUDNN_RNN_ALGO_STANDARD = 0
    CUDNN_RNN_ALGO_PERSIST_STATIC = 1
    CUDNN_RNN_ALGO_PERSIST_DYNAMIC = 2
    CUDNN_RNN_ALGO_COUNT = 3
    CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H = 3


CUDNN_RNN_ALGO_STANDARD = cudnnRNNAlgo_t.CUDNN_RNN_ALGO_STANDARD
CUDNN_RNN_ALGO_PERSIST_STATIC = cudnnRNNAlgo_t.CUDNN_RNN_ALGO_PERSIST_STATIC
CUDNN_RNN_ALGO_PERSIST_DYNAMIC = cudnnRNNAlgo_t.CUDNN_RNN_ALGO_PERSIST_DYNAMIC
CUDNN_RNN_ALGO_COUNT = cudnnRNNAlgo_t.CUDNN_RNN_ALGO_COUNT
CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H = cudnnRNNAlgo_t.CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H


class cudnnRNNBiasMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNBiasMode_t."""

    CUDNN_RNN_NO_BIAS = 0
    CUDNN_RNN_SINGLE_INP_BIAS = 1
    CUDNN_RNN_DOUBLE_BIAS = 2
    CUDNN_RNN_SINGLE_REC_BIAS = 3


CUDNN_RNN_NO_BIAS = cudnnRNNBiasMode_t.CUDNN_RNN_NO_BIAS
CUDNN_RNN_SINGLE_INP_BIAS = cudnnRNNBiasMode_t.CUDNN_RNN_SINGLE_INP_BIAS
CUDNN_RNN_DOUBLE_BIAS = cudnnRNNBiasMode_t.CUDNN_RNN_DOUBLE_BIAS
CUDNN_RNN_SINGLE_REC_BIAS = cudnnRNNBiasMode_t.CUDNN_RNN_SINGLE_REC_BIAS


class cudnnRNNClipMode_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_RNN_CLIP_NONE = 0
    CUDNN_RNN_CLIP_MINMAX = 1


CUDNN_RNN_CLIP_NONE = cudnnRNNClipMode_t.CUDNN_RNN_CLIP_NONE
CUDNN_RNN_CLIP_MINMAX = cudnnRNNClipMode_t.CUDNN_RNN_CLIP_MINMAX


class cudnnRNNPaddingMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNPaddingMode_t."""

    CUDNN_RNN_PADDED_IO_DISABLED = 0
    CUDNN_RNN_PADDED_IO_ENABLED = 1


CUDNN_RNN_PADDED_IO_DISABLED = cudnnRNNPaddingMode_t.CUDNN_RNN_PADDED_IO_DISABLED
CUDNN_RNN_PADDED_IO_ENABLED = cudnnRNNPaddingMode_t.CUDNN_RNN_PADDED_IO_ENABLED
