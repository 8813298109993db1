"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnPoolingMode_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenPoolingMode_t."""

    CUDNN_POOLING_MAX = 0
    CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1
    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2
    CUDNN_POOLING_AVERAGE = 1
    CUDNN_POOLING_MAX_DETERMINISTIC = 3


CUDNN_POOLING_MAX = cudnnPoolingMode_t.CUDNN_POOLING_MAX
CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = cudnnPoolingMode_t.CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = cudnnPoolingMode_t.CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
CUDNN_POOLING_AVERAGE = cudnnPoolingMode_t.CUDNN_POOLING_AVERAGE
CUDNN_POOLING_MAX_DETERMINISTIC = cudnnPoolingMode_t.CUDNN_POOLING_MAX_DETERMINISTIC
