"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnOpTensorOp_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenTensorOp_t."""

    CUDNN_OP_TENSOR_ADD = 0
    CUDNN_OP_TENSOR_MUL = 1
    CUDNN_OP_TENSOR_MIN = 2
    CUDNN_OP_TENSOR_MAX = 3
    CUDNN_OP_TENSOR_SQRT = 4
    CUDNN_OP_TENSOR_NOT = 5


CUDNN_OP_TENSOR_ADD = cudnnOpTensorOp_t.CUDNN_OP_TENSOR_ADD
CUDNN_OP_TENSOR_MUL = cudnnOpTensorOp_t.CUDNN_OP_TENSOR_MUL
CUDNN_OP_TENSOR_MIN = cudnnOpTensorOp_t.CUDNN_OP_TENSOR_MIN
CUDNN_OP_TENSOR_MAX = cudnnOpTensorOp_t.CUDNN_OP_TENSOR_MAX
CUDNN_OP_TENSOR_SQRT = cudnnOpTensorOp_t.CUDNN_OP_TENSOR_SQRT
CUDNN_OP_TENSOR_NOT = cudnnOpTensorOp_t.CUDNN_OP_TENSOR_NOT


class cudnnFoldingDirection_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_TRANSFORM_FOLD = 0
    CUDNN_TRANSFORM_UNFOLD = 1


CUDNN_TRANSFORM_FOLD = cudnnFoldingDirection_t.CUDNN_TRANSFORM_FOLD
CUDNN_TRANSFORM_UNFOLD = cudnnFoldingDirection_t.CUDNN_TRANSFORM_UNFOLD
