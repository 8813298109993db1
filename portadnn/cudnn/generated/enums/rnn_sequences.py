"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnRNNDataLayout_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNBaseLayout_t."""

    CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED = 0
    CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED = 1
    CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED = 2


CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED = cudnnRNNDataLayout_t.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED = cudnnRNNDataLayout_t.CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED
CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED = cudnnRNNDataLayout_t.CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED


class cudnnWgradMode_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_WGRAD_MODE_ADD = 0
    CUDNN_WGRAD_MODE_SET = 1


CUDNN_WGRAD_MODE_ADD = cudnnWgradMode_t.CUDNN_WGRAD_MODE_ADD
CUDNN_WGRAD_MODE_SET = cudnnWgradMode_t.CUDNN_WGRAD_MODE_SET


class cudnnForwardMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenRNNFWDMode_t."""

    CUDNN_FWD_MODE_INFERENCE = 0
    CUDNN_FWD_MODE_TRAINING = 1


CUDNN_FWD_MODE_INFERENCE = cudnnForwardMode_t.CUDNN_FWD_MODE_INFERENCE
CUDNN_FWD_MODE_TRAINING = cudnnForwardMode_t.CUDNN_FWD_MODE_TRAINING
