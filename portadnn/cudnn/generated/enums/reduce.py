"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnReduceTensorOp_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenReduceTensorOp_t."""

    CUDNN_REDUCE_TENSOR_ADD = 0
    CUDNN_REDUCE_TENSOR_MUL = 1
    CUDNN_REDUCE_TENSOR_MIN = 2
    CUDNN_REDUCE_TENSOR_MAX = 3
    CUDNN_REDUCE_TENSOR_AMAX = 4
    CUDNN_REDUCE_TENSOR_AVG = 5
    CUDNN_REDUCE_TENSOR_NORM1 = 6
    CUDNN_REDUCE_TENSOR_NORM2 = 7
    CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS = 8


CUDNN_REDUCE_TENSOR_ADD = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_ADD
CUDNN_REDUCE_TENSOR_MUL = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_MUL
CUDNN_REDUCE_TENSOR_MIN = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_MIN
CUDNN_REDUCE_TENSOR_MAX = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_MAX
CUDNN_REDUCE_TENSOR_AMAX = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_AMAX
CUDNN_REDUCE_TENSOR_AVG = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_AVG
CUDNN_REDUCE_TENSOR_NORM1 = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_NORM1
CUDNN_REDUCE_TENSOR_NORM2 = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_NORM2
CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS = cudnnReduceTensorOp_t.CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS


class cudnnReduceTensorIndices_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenReduceTensorIndices_t."""

    CUDNN_REDUCE_TENSOR_NO_INDICES = 0
    CUDNN_REDUCE_TENSOR_FLATTENED_INDICES = 1


CUDNN_REDUCE_TENSOR_NO_INDICES = cudnnReduceTensorIndices_t.CUDNN_REDUCE_TENSOR_NO_INDICES
CUDNN_REDUCE_TENSOR_FLATTENED_INDICES = cudnnReduceTensorIndices_t.CUDNN_REDUCE_TENSOR_FLATTENED_INDICES


class cudnnIndicesType_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenIndicesType_t."""

    CUDNN_32BIT_INDICES = 0
    CUDNN_64BIT_INDICES = 1
    CUDNN_16BIT_INDICES = 2
    CUDNN_8BIT_INDICES = 3


CUDNN_32BIT_INDICES = cudnnIndicesType_t.CUDNN_32BIT_INDICES
CUDNN_64BIT_INDICES = cudnnIndicesType_t.CUDNN_64BIT_INDICES
CUDNN_16BIT_INDICES = cudnnIndicesType_t.CUDNN_16BIT_INDICES
CUDNN_8BIT_INDICES = cudnnIndicesType_t.CUDNN_8BIT_INDICES
