"""MIOpen's enumerations, with MIOpen's numbers (`portadnn map miopenDataType_t` prints them beside cuDNN's).

Members compare equal to the integers of the C header. Each is also a name of :mod:`portadnn.miopen`.
"""

from __future__ import annotations

from enum import IntEnum


class MIOpenEnum(IntEnum):
    """Base of MIOpen's enumerations."""

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return self.name


class miopenStatus_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnStatus_t."""

    miopenStatusSuccess = 0
    miopenStatusNotInitialized = 1
    miopenStatusInvalidValue = 2
    miopenStatusBadParm = 3
    miopenStatusAllocFailed = 4
    miopenStatusInternalError = 5
    miopenStatusNotImplemented = 6
    miopenStatusUnknownError = 7
    miopenStatusUnsupportedOp = 8
    miopenStatusGpuOperationsSkipped = 9
    miopenStatusVersionMismatch = 10


class miopenTuningPolicy_t(MIOpenEnum):
    """MIOpen's enumeration."""

    miopenTuningPolicyNone = 1
    miopenTuningPolicyDbUpdate = 2
    miopenTuningPolicySearch = 3
    miopenTuningPolicySearchDbUpdate = 4
    miopenTuningPolicyDbClean = 5


class miopenDataType_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnDataType_t."""

    miopenHalf = 0
    miopenFloat = 1
    miopenInt32 = 2
    miopenInt8 = 3
    miopenInt8x4 = 4
    miopenBFloat16 = 5
    miopenDouble = 6
    miopenFloat8 = 7
    miopenFloat8_fnuz = 7
    miopenBFloat8 = 8
    miopenBFloat8_fnuz = 8
    miopenInt64 = 9


class miopenTensorLayout_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnTensorFormat_t."""

    miopenTensorNCHW = 0
    miopenTensorNHWC = 1
    miopenTensorCHWN = 2
    miopenTensorNCHWc4 = 3
    miopenTensorNCHWc8 = 4
    miopenTensorCHWNc4 = 5
    miopenTensorCHWNc8 = 6
    miopenTensorNCDHW = 7
    miopenTensorNDHWC = 8


class miopenNanPropagation_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnNanPropagation_t."""

    MIOPEN_NOT_PROPAGATE_NAN = 0
    MIOPEN_PROPAGATE_NAN = 1


class miopenTensorOp_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnOpTensorOp_t."""

    miopenTensorOpAdd = 0
    miopenTensorOpMul = 1
    miopenTensorOpMin = 2
    miopenTensorOpMax = 3


class miopenReduceTensorOp_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnReduceTensorOp_t."""

    MIOPEN_REDUCE_TENSOR_ADD = 0
    MIOPEN_REDUCE_TENSOR_MUL = 1
    MIOPEN_REDUCE_TENSOR_MIN = 2
    MIOPEN_REDUCE_TENSOR_MAX = 3
    MIOPEN_REDUCE_TENSOR_AMAX = 4
    MIOPEN_REDUCE_TENSOR_AVG = 5
    MIOPEN_REDUCE_TENSOR_NORM1 = 6
    MIOPEN_REDUCE_TENSOR_NORM2 = 7


class miopenReduceTensorIndices_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnReduceTensorIndices_t."""

    MIOPEN_REDUCE_TENSOR_NO_INDICES = 0
    MIOPEN_REDUCE_TENSOR_FLATTENED_INDICES = 1


class miopenIndicesType_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnIndicesType_t."""

    MIOPEN_32BIT_INDICES = 0
    MIOPEN_64BIT_INDICES = 1
    MIOPEN_16BIT_INDICES = 2
    MIOPEN_8BIT_INDICES = 3


class miopenConvolutionMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionMode_t."""

    miopenConvolution = 0
    miopenTranspose = 1
    miopenGroupConv = 2
    miopenDepthwise = 3


class miopenConvolutionFindMode_t(MIOpenEnum):
    """MIOpen's enumeration."""

    miopenConvolutionFindModeNormal = 1
    miopenConvolutionFindModeFast = 2
    miopenConvolutionFindModeHybrid = 3
    miopenConvolutionFindModeDynamicHybrid = 5
    miopenConvolutionFindModeDefault = 5
    miopenConvolutionFindModeTrustVerify = 6
    miopenConvolutionFindModeTrustVerifyFull = 7


class miopenMathType_t(MIOpenEnum):
    """MIOpen's enumeration."""

    miopenMathDefault = 0
    miopenMathPedantic = 1


class miopenConvolutionAttrib_t(MIOpenEnum):
    """MIOpen's enumeration."""

    MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0
    MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1
    MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE = 2
    MIOPEN_CONVOLUTION_ATTRIB_MATH_TYPE = 3


class miopenPaddingMode_t(MIOpenEnum):
    """MIOpen's enumeration."""

    miopenPaddingDefault = 0
    miopenPaddingSame = 1
    miopenPaddingValid = 2


class miopenConvFwdAlgorithm_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionFwdAlgo_t."""

    miopenConvolutionFwdAlgoGEMM = 0
    miopenConvolutionFwdAlgoDirect = 1
    miopenConvolutionFwdAlgoFFT = 2
    miopenConvolutionFwdAlgoWinograd = 3
    miopenConvolutionFwdAlgoImplicitGEMM = 5
    miopenConvolutionFwdAlgoStaticCompiledGEMM = 6


class miopenConvAlgorithm_t(MIOpenEnum):
    """MIOpen's enumeration."""

    miopenConvolutionAlgoGEMM = 0
    miopenConvolutionAlgoDirect = 1
    miopenConvolutionAlgoFFT = 2
    miopenConvolutionAlgoWinograd = 3
    miopenConvolutionAlgoImplicitGEMM = 5
    miopenConvolutionAlgoStaticCompiledGEMM = 6


class miopenConvBwdWeightsAlgorithm_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionBwdFilterAlgo_t."""

    miopenConvolutionBwdWeightsAlgoGEMM = 0
    miopenConvolutionBwdWeightsAlgoDirect = 1
    miopenConvolutionBwdWeightsAlgoWinograd = 3
    miopenConvolutionBwdWeightsAlgoImplicitGEMM = 5


class miopenConvBwdDataAlgorithm_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionBwdDataAlgo_t."""

    miopenConvolutionBwdDataAlgoGEMM = 0
    miopenConvolutionBwdDataAlgoDirect = 1
    miopenConvolutionBwdDataAlgoFFT = 2
    miopenConvolutionBwdDataAlgoWinograd = 3
    miopenTransposeBwdDataAlgoGEMM = 4
    miopenConvolutionBwdDataAlgoImplicitGEMM = 5


class miopenSoftmaxAlgorithm_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnSoftmaxAlgorithm_t."""

    MIOPEN_SOFTMAX_FAST = 0
    MIOPEN_SOFTMAX_ACCURATE = 1
    MIOPEN_SOFTMAX_LOG = 2


class miopenSoftmaxMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnSoftmaxMode_t."""

    MIOPEN_SOFTMAX_MODE_INSTANCE = 0
    MIOPEN_SOFTMAX_MODE_CHANNEL = 1


class miopenPoolingMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnPoolingMode_t."""

    miopenPoolingMax = 0
    miopenPoolingAverage = 1
    miopenPoolingAverageInclusive = 2


class miopenPoolingWorkspaceIndexMode_t(MIOpenEnum):
    """MIOpen's enumeration."""

    miopenPoolingWorkspaceIndexMask = 0
    miopenPoolingWorkspaceIndexImage = 1


class miopenIndexType_t(MIOpenEnum):
    """MIOpen's enumeration."""

    miopenIndexUint8 = 0
    miopenIndexUint16 = 1
    miopenIndexUint32 = 2
    miopenIndexUint64 = 3


class miopenActivationMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnActivationMode_t."""

    miopenActivationPASTHRU = 0
    miopenActivationPATHTRU = 0
    miopenActivationLOGISTIC = 1
    miopenActivationTANH = 2
    miopenActivationRELU = 3
    miopenActivationSOFTRELU = 4
    miopenActivationABS = 5
    miopenActivationPOWER = 6
    miopenActivationCLIPPEDRELU = 7
    miopenActivationLEAKYRELU = 8
    miopenActivationELU = 9
    miopenActivationCLAMP = 10


class miopenLRNMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnLRNMode_t."""

    miopenLRNWithinChannel = 0
    miopenLRNCrossChannel = 1


class miopenBatchNormMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnBatchNormMode_t."""

    miopenBNPerActivation = 0
    miopenBNSpatial = 1


class miopenNormMode_t(MIOpenEnum):
    """MIOpen's enumeration."""

    MIOPEN_ELEMENTWISE_AFFINE = 0
    MIOPEN_WEIGHT_BIAS = 1
    MIOPEN_ELEMENTWISE_AFFINE_FUSED_ADD = 2
    MIOPEN_WEIGHT_BIAS_FUSED_ADD = 3
    MIOPEN_ELEMENTWISE_AFFINE_T5 = 4
    MIOPEN_WEIGHT_BIAS_T5 = 5


class miopenRNNMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnRNNMode_t."""

    miopenRNNRELU = 0
    miopenRNNTANH = 1
    miopenLSTM = 2
    miopenGRU = 3


class miopenRNNDirectionMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnDirectionMode_t."""

    miopenRNNunidirection = 0
    miopenRNNbidirection = 1


class miopenRNNInputMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnRNNInputMode_t."""

    miopenRNNlinear = 0
    miopenRNNskip = 1


class miopenRNNAlgo_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnRNNAlgo_t."""

    miopenRNNdefault = 0
    miopenRNNfundamental = 1
    miopenRNNroundedDynamic = 2


class miopenRNNBiasMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnRNNBiasMode_t."""

    miopenRNNNoBias = 0
    miopenRNNwithBias = 1


class miopenRNNPaddingMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnRNNPaddingMode_t."""

    miopenRNNIONotPadded = 0
    miopenRNNIOWithPadding = 1


class miopenRNNBaseLayout_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnRNNDataLayout_t."""

    miopenRNNDataUnknownLayout = 0
    miopenRNNDataSeqMajorNotPadded = 1
    miopenRNNDataSeqMajorPadded = 2
    miopenRNNDataBatchMajorPadded = 3


class miopenRNNFWDMode_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnForwardMode_t."""

    miopenRNNTraining = 0
    miopenRNNInference = 1


class miopenRNGType_t(MIOpenEnum):
    """MIOpen's enumeration."""

    MIOPEN_RNG_PSEUDO_XORWOW = 0


class miopenCTCLossAlgo_t(MIOpenEnum):
    """MIOpen's enumeration, which stands for cudnnCTCLossAlgo_t."""

    MIOPEN_CTC_LOSS_ALGO_DETERMINISTIC = 0


__all__ = [
    "miopenActivationMode_t",
    "miopenBatchNormMode_t",
    "miopenCTCLossAlgo_t",
    "miopenConvAlgorithm_t",
    "miopenConvBwdDataAlgorithm_t",
    "miopenConvBwdWeightsAlgorithm_t",
    "miopenConvFwdAlgorithm_t",
    "miopenConvolutionAttrib_t",
    "miopenConvolutionFindMode_t",
    "miopenConvolutionMode_t",
    "miopenDataType_t",
    "miopenIndexType_t",
    "miopenIndicesType_t",
    "miopenLRNMode_t",
    "miopenMathType_t",
    "miopenNanPropagation_t",
    "miopenNormMode_t",
    "miopenPaddingMode_t",
    "miopenPoolingMode_t",
    "miopenPoolingWorkspaceIndexMode_t",
    "miopenRNGType_t",
    "miopenRNNAlgo_t",
    "miopenRNNBaseLayout_t",
    "miopenRNNBiasMode_t",
    "miopenRNNDirectionMode_t",
    "miopenRNNFWDMode_t",
    "miopenRNNInputMode_t",
    "miopenRNNMode_t",
    "miopenRNNPaddingMode_t",
    "miopenReduceTensorIndices_t",
    "miopenReduceTensorOp_t",
    "miopenSoftmaxAlgorithm_t",
    "miopenSoftmaxMode_t",
    "miopenStatus_t",
    "miopenTensorLayout_t",
    "miopenTensorOp_t",
    "miopenTuningPolicy_t",
]
