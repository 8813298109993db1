"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnCTCLossAlgo_t(_CEnum):
    """cuDNN's enumeration, which stands for miopenCTCLossAlgo_t."""

    CUDNN_CTC_LOSS_ALGO_DETERMINISTIC = 0
    CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC = 1


CUDNN_CTC_LOSS_ALGO_DETERMINISTIC = cudnnCTCLossAlgo_t.CUDNN_CTC_LOSS_ALGO_DETERMINISTIC
CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC = cudnnCTCLossAlgo_t.CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC


class cudnnLossNormalizationMode_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_LOSS_NORMALIZATION_NONE = 0
    CUDNN_LOSS_NORMALIZATION_SOFTMAX = 1


CUDNN_LOSS_NORMALIZATION_NONE = cudnnLossNormalizationMode_t.CUDNN_LOSS_NORMALIZATION_NONE
CUDNN_LOSS_NORMALIZATION_SOFTMAX = cudnnLossNormalizationMode_t.CUDNN_LOSS_NORMALIZATION_SOFTMAX


class cudnnCTCGradMode_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_CTC_ZERO_OOB_GRADIENTS = 0
    CUDNN_CTC_SKIP_OOB_GRADIENTS = 1


CUDNN_CTC_ZERO_OOB_GRADIENTS = cudnnCTCGradMode_t.CUDNN_CTC_ZERO_OOB_GRADIENTS
CUDNN_CTC_SKIP_OOB_GRADIENTS = cudnnCTCGradMode_t.CUDNN_CTC_SKIP_OOB_GRADIENTS
