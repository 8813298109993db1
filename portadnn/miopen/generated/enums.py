"""Enumerations of MIOpen, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ...c_names.enumerations import CEnum as _CEnum


class miopenStatus_t(_CEnum):
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


miopenStatusSuccess = miopenStatus_t.miopenStatusSuccess
miopenStatusNotInitialized = miopenStatus_t.miopenStatusNotInitialized
miopenStatusInvalidValue = miopenStatus_t.miopenStatusInvalidValue
miopenStatusBadParm = miopenStatus_t.miopenStatusBadParm
miopenStatusAllocFailed = miopenStatus_t.miopenStatusAllocFailed
miopenStatusInternalError = miopenStatus_t.miopenStatusInternalError
miopenStatusNotImplemented = miopenStatus_t.miopenStatusNotImplemented
miopenStatusUnknownError = miopenStatus_t.miopenStatusUnknownError
miopenStatusUnsupportedOp = miopenStatus_t.miopenStatusUnsupportedOp
miopenStatusGpuOperationsSkipped = miopenStatus_t.miopenStatusGpuOperationsSkipped
miopenStatusVersionMismatch = miopenStatus_t.miopenStatusVersionMismatch


class miopenTuningPolicy_t(_CEnum):
    """MIOpen's enumeration."""

    miopenTuningPolicyNone = 1
    miopenTuningPolicyDbUpdate = 2
    miopenTuningPolicySearch = 3
    miopenTuningPolicySearchDbUpdate = 4
    miopenTuningPolicyDbClean = 5


miopenTuningPolicyNone = miopenTuningPolicy_t.miopenTuningPolicyNone
miopenTuningPolicyDbUpdate = miopenTuningPolicy_t.miopenTuningPolicyDbUpdate
miopenTuningPolicySearch = miopenTuningPolicy_t.miopenTuningPolicySearch
miopenTuningPolicySearchDbUpdate = miopenTuningPolicy_t.miopenTuningPolicySearchDbUpdate
miopenTuningPolicyDbClean = miopenTuningPolicy_t.miopenTuningPolicyDbClean


class miopenDataType_t(_CEnum):
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


miopenHalf = miopenDataType_t.miopenHalf
miopenFloat = miopenDataType_t.miopenFloat
miopenInt32 = miopenDataType_t.miopenInt32
miopenInt8 = miopenDataType_t.miopenInt8
miopenInt8x4 = miopenDataType_t.miopenInt8x4
miopenBFloat16 = miopenDataType_t.miopenBFloat16
miopenDouble = miopenDataType_t.miopenDouble
miopenFloat8 = miopenDataType_t.miopenFloat8
miopenFloat8_fnuz = miopenDataType_t.miopenFloat8_fnuz
miopenBFloat8 = miopenDataType_t.miopenBFloat8
miopenBFloat8_fnuz = miopenDataType_t.miopenBFloat8_fnuz
miopenInt64 = miopenDataType_t.miopenInt64


class miopenTensorLayout_t(_CEnum):
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


miopenTensorNCHW = miopenTensorLayout_t.miopenTensorNCHW
miopenTensorNHWC = miopenTensorLayout_t.miopenTensorNHWC
miopenTensorCHWN = miopenTensorLayout_t.miopenTensorCHWN
miopenTensorNCHWc4 = miopenTensorLayout_t.miopenTensorNCHWc4
miopenTensorNCHWc8 = miopenTensorLayout_t.miopenTensorNCHWc8
miopenTensorCHWNc4 = miopenTensorLayout_t.miopenTensorCHWNc4
miopenTensorCHWNc8 = miopenTensorLayout_t.miopenTensorCHWNc8
miopenTensorNCDHW = miopenTensorLayout_t.miopenTensorNCDHW
miopenTensorNDHWC = miopenTensorLayout_t.miopenTensorNDHWC


class miopenNanPropagation_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnNanPropagation_t."""

    MIOPEN_NOT_PROPAGATE_NAN = 0
    MIOPEN_PROPAGATE_NAN = 1


MIOPEN_NOT_PROPAGATE_NAN = miopenNanPropagation_t.MIOPEN_NOT_PROPAGATE_NAN
MIOPEN_PROPAGATE_NAN = miopenNanPropagation_t.MIOPEN_PROPAGATE_NAN


class miopenTensorOp_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnOpTensorOp_t."""

    miopenTensorOpAdd = 0
    miopenTensorOpMul = 1
    miopenTensorOpMin = 2
    miopenTensorOpMax = 3


miopenTensorOpAdd = miopenTensorOp_t.miopenTensorOpAdd
miopenTensorOpMul = miopenTensorOp_t.miopenTensorOpMul
miopenTensorOpMin = miopenTensorOp_t.miopenTensorOpMin
miopenTensorOpMax = miopenTensorOp_t.miopenTensorOpMax


class miopenReduceTensorOp_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnReduceTensorOp_t."""

    MIOPEN_REDUCE_TENSOR_ADD = 0
    MIOPEN_REDUCE_TENSOR_MUL = 1
    MIOPEN_REDUCE_TENSOR_MIN = 2
    MIOPEN_REDUCE_TENSOR_MAX = 3
    MIOPEN_REDUCE_TENSOR_AMAX = 4
    MIOPEN_REDUCE_TENSOR_AVG = 5
    MIOPEN_REDUCE_TENSOR_NORM1 = 6
    MIOPEN_REDUCE_TENSOR_NORM2 = 7


MIOPEN_REDUCE_TENSOR_ADD = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_ADD
MIOPEN_REDUCE_TENSOR_MUL = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_MUL
MIOPEN_REDUCE_TENSOR_MIN = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_MIN
MIOPEN_REDUCE_TENSOR_MAX = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_MAX
MIOPEN_REDUCE_TENSOR_AMAX = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_AMAX
MIOPEN_REDUCE_TENSOR_AVG = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_AVG
MIOPEN_REDUCE_TENSOR_NORM1 = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_NORM1
MIOPEN_REDUCE_TENSOR_NORM2 = miopenReduceTensorOp_t.MIOPEN_REDUCE_TENSOR_NORM2


class miopenReduceTensorIndices_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnReduceTensorIndices_t."""

    MIOPEN_REDUCE_TENSOR_NO_INDICES = 0
    MIOPEN_REDUCE_TENSOR_FLATTENED_INDICES = 1


MIOPEN_REDUCE_TENSOR_NO_INDICES = miopenReduceTensorIndices_t.MIOPEN_REDUCE_TENSOR_NO_INDICES
MIOPEN_REDUCE_TENSOR_FLATTENED_INDICES = miopenReduceTensorIndices_t.MIOPEN_REDUCE_TENSOR_FLATTENED_INDICES


class miopenIndicesType_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnIndicesType_t."""

    MIOPEN_32BIT_INDICES = 0
    MIOPEN_64BIT_INDICES = 1
    MIOPEN_16BIT_INDICES = 2
    MIOPEN_8BIT_INDICES = 3


MIOPEN_32BIT_INDICES = miopenIndicesType_t.MIOPEN_32BIT_INDICES
MIOPEN_64BIT_INDICES = miopenIndicesType_t.MIOPEN_64BIT_INDICES
MIOPEN_16BIT_INDICES = miopenIndicesType_t.MIOPEN_16BIT_INDICES
MIOPEN_8BIT_INDICES = miopenIndicesType_t.MIOPEN_8BIT_INDICES


class miopenReduceCalculationNanPropagation_t(_CEnum):
    """MIOpen's enumeration."""

    MIOPEN_REDUCE_CALCULATION_NOT_PROPAGATE_NAN = 0
    MIOPEN_REDUCE_CALCULATION_PROPAGATE_NAN = 1


MIOPEN_REDUCE_CALCULATION_NOT_PROPAGATE_NAN = miopenReduceCalculationNanPropagation_t.MIOPEN_REDUCE_CALCULATION_NOT_PROPAGATE_NAN
MIOPEN_REDUCE_CALCULATION_PROPAGATE_NAN = miopenReduceCalculationNanPropagation_t.MIOPEN_REDUCE_CALCULATION_PROPAGATE_NAN


class miopenReduceCalculationOp_t(_CEnum):
    """MIOpen's enumeration."""

    MIOPEN_REDUCE_CALCULATION_PROD = 1
    MIOPEN_REDUCE_CALCULATION_SUM = 2


MIOPEN_REDUCE_CALCULATION_PROD = miopenReduceCalculationOp_t.MIOPEN_REDUCE_CALCULATION_PROD
MIOPEN_REDUCE_CALCULATION_SUM = miopenReduceCalculationOp_t.MIOPEN_REDUCE_CALCULATION_SUM


class miopenReduceExtremeOp_t(_CEnum):
    """MIOpen's enumeration."""

    MIOPEN_REDUCE_EXTREME_ARGMIN = 1
    MIOPEN_REDUCE_EXTREME_ARGMAX = 2
    MIOPEN_REDUCE_EXTREME_MIN = 3
    MIOPEN_REDUCE_EXTREME_MAX = 4


MIOPEN_REDUCE_EXTREME_ARGMIN = miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_ARGMIN
MIOPEN_REDUCE_EXTREME_ARGMAX = miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_ARGMAX
MIOPEN_REDUCE_EXTREME_MIN = miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_MIN
MIOPEN_REDUCE_EXTREME_MAX = miopenReduceExtremeOp_t.MIOPEN_REDUCE_EXTREME_MAX


class miopenConvolutionMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionMode_t."""

    miopenConvolution = 0
    miopenTranspose = 1
    miopenGroupConv = 2
    miopenDepthwise = 3


miopenConvolution = miopenConvolutionMode_t.miopenConvolution
miopenTranspose = miopenConvolutionMode_t.miopenTranspose
miopenGroupConv = miopenConvolutionMode_t.miopenGroupConv
miopenDepthwise = miopenConvolutionMode_t.miopenDepthwise


class miopenConvolutionFindMode_t(_CEnum):
    """MIOpen's enumeration."""

    miopenConvolutionFindModeNormal = 1
    miopenConvolutionFindModeFast = 2
    miopenConvolutionFindModeHybrid = 3
    miopenConvolutionFindModeDynamicHybrid = 5
    miopenConvolutionFindModeDefault = 5
    miopenConvolutionFindModeTrustVerify = 6
    miopenConvolutionFindModeTrustVerifyFull = 7


miopenConvolutionFindModeNormal = miopenConvolutionFindMode_t.miopenConvolutionFindModeNormal
miopenConvolutionFindModeFast = miopenConvolutionFindMode_t.miopenConvolutionFindModeFast
miopenConvolutionFindModeHybrid = miopenConvolutionFindMode_t.miopenConvolutionFindModeHybrid
miopenConvolutionFindModeDynamicHybrid = miopenConvolutionFindMode_t.miopenConvolutionFindModeDynamicHybrid
miopenConvolutionFindModeDefault = miopenConvolutionFindMode_t.miopenConvolutionFindModeDefault
miopenConvolutionFindModeTrustVerify = miopenConvolutionFindMode_t.miopenConvolutionFindModeTrustVerify
miopenConvolutionFindModeTrustVerifyFull = miopenConvolutionFindMode_t.miopenConvolutionFindModeTrustVerifyFull


class miopenMathType_t(_CEnum):
    """MIOpen's enumeration."""

    miopenMathDefault = 0
    miopenMathPedantic = 1


miopenMathDefault = miopenMathType_t.miopenMathDefault
miopenMathPedantic = miopenMathType_t.miopenMathPedantic


class miopenConvolutionAttrib_t(_CEnum):
    """MIOpen's enumeration."""

    MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = 0
    MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = 1
    MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE = 2
    MIOPEN_CONVOLUTION_ATTRIB_MATH_TYPE = 3


MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL
MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC
MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE
MIOPEN_CONVOLUTION_ATTRIB_MATH_TYPE = miopenConvolutionAttrib_t.MIOPEN_CONVOLUTION_ATTRIB_MATH_TYPE


class miopenF8RoundingMode_t(_CEnum):
    """MIOpen's enumeration."""

    miopenF8RoundingModeStandard = 0
    miopenF8RoundingModeStochastic = 1


miopenF8RoundingModeStandard = miopenF8RoundingMode_t.miopenF8RoundingModeStandard
miopenF8RoundingModeStochastic = miopenF8RoundingMode_t.miopenF8RoundingModeStochastic


class miopenPaddingMode_t(_CEnum):
    """MIOpen's enumeration."""

    miopenPaddingDefault = 0
    miopenPaddingSame = 1
    miopenPaddingValid = 2


miopenPaddingDefault = miopenPaddingMode_t.miopenPaddingDefault
miopenPaddingSame = miopenPaddingMode_t.miopenPaddingSame
miopenPaddingValid = miopenPaddingMode_t.miopenPaddingValid


class miopenConvFwdAlgorithm_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionFwdAlgo_t."""

    miopenConvolutionFwdAlgoGEMM = 0
    miopenConvolutionFwdAlgoDirect = 1
    miopenConvolutionFwdAlgoFFT = 2
    miopenConvolutionFwdAlgoWinograd = 3
    miopenConvolutionFwdAlgoImplicitGEMM = 5
    miopenConvolutionFwdAlgoStaticCompiledGEMM = 6


miopenConvolutionFwdAlgoGEMM = miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoGEMM
miopenConvolutionFwdAlgoDirect = miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoDirect
miopenConvolutionFwdAlgoFFT = miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoFFT
miopenConvolutionFwdAlgoWinograd = miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoWinograd
miopenConvolutionFwdAlgoImplicitGEMM = miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoImplicitGEMM
miopenConvolutionFwdAlgoStaticCompiledGEMM = miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoStaticCompiledGEMM


class miopenConvAlgorithm_t(_CEnum):
    """MIOpen's enumeration."""

    miopenConvolutionAlgoGEMM = 0
    miopenConvolutionAlgoDirect = 1
    miopenConvolutionAlgoFFT = 2
    miopenConvolutionAlgoWinograd = 3
    miopenConvolutionAlgoImplicitGEMM = 5
    miopenConvolutionAlgoStaticCompiledGEMM = 6


miopenConvolutionAlgoGEMM = miopenConvAlgorithm_t.miopenConvolutionAlgoGEMM
miopenConvolutionAlgoDirect = miopenConvAlgorithm_t.miopenConvolutionAlgoDirect
miopenConvolutionAlgoFFT = miopenConvAlgorithm_t.miopenConvolutionAlgoFFT
miopenConvolutionAlgoWinograd = miopenConvAlgorithm_t.miopenConvolutionAlgoWinograd
miopenConvolutionAlgoImplicitGEMM = miopenConvAlgorithm_t.miopenConvolutionAlgoImplicitGEMM
miopenConvolutionAlgoStaticCompiledGEMM = miopenConvAlgorithm_t.miopenConvolutionAlgoStaticCompiledGEMM


class miopenConvBwdWeightsAlgorithm_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionBwdFilterAlgo_t."""

    miopenConvolutionBwdWeightsAlgoGEMM = 0
    miopenConvolutionBwdWeightsAlgoDirect = 1
    miopenConvolutionBwdWeightsAlgoWinograd = 3
    miopenConvolutionBwdWeightsAlgoImplicitGEMM = 5


miopenConvolutionBwdWeightsAlgoGEMM = miopenConvBwdWeightsAlgorithm_t.miopenConvolutionBwdWeightsAlgoGEMM
miopenConvolutionBwdWeightsAlgoDirect = miopenConvBwdWeightsAlgorithm_t.miopenConvolutionBwdWeightsAlgoDirect
miopenConvolutionBwdWeightsAlgoWinograd = miopenConvBwdWeightsAlgorithm_t.miopenConvolutionBwdWeightsAlgoWinograd
miopenConvolutionBwdWeightsAlgoImplicitGEMM = miopenConvBwdWeightsAlgorithm_t.miopenConvolutionBwdWeightsAlgoImplicitGEMM


class miopenConvBwdDataAlgorithm_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnConvolutionBwdDataAlgo_t."""

    miopenConvolutionBwdDataAlgoGEMM = 0
    miopenConvolutionBwdDataAlgoDirect = 1
    miopenConvolutionBwdDataAlgoFFT = 2
    miopenConvolutionBwdDataAlgoWinograd = 3
    miopenTransposeBwdDataAlgoGEMM = 4
    miopenConvolutionBwdDataAlgoImplicitGEMM = 5


miopenConvolutionBwdDataAlgoGEMM = miopenConvBwdDataAlgorithm_t.miopenConvolutionBwdDataAlgoGEMM
miopenConvolutionBwdDataAlgoDirect = miopenConvBwdDataAlgorithm_t.miopenConvolutionBwdDataAlgoDirect
miopenConvolutionBwdDataAlgoFFT = miopenConvBwdDataAlgorithm_t.miopenConvolutionBwdDataAlgoFFT
miopenConvolutionBwdDataAlgoWinograd = miopenConvBwdDataAlgorithm_t.miopenConvolutionBwdDataAlgoWinograd
miopenTransposeBwdDataAlgoGEMM = miopenConvBwdDataAlgorithm_t.miopenTransposeBwdDataAlgoGEMM
miopenConvolutionBwdDataAlgoImplicitGEMM = miopenConvBwdDataAlgorithm_t.miopenConvolutionBwdDataAlgoImplicitGEMM


class miopenSoftmaxAlgorithm_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnSoftmaxAlgorithm_t."""

    MIOPEN_SOFTMAX_FAST = 0
    MIOPEN_SOFTMAX_ACCURATE = 1
    MIOPEN_SOFTMAX_LOG = 2


MIOPEN_SOFTMAX_FAST = miopenSoftmaxAlgorithm_t.MIOPEN_SOFTMAX_FAST
MIOPEN_SOFTMAX_ACCURATE = miopenSoftmaxAlgorithm_t.MIOPEN_SOFTMAX_ACCURATE
MIOPEN_SOFTMAX_LOG = miopenSoftmaxAlgorithm_t.MIOPEN_SOFTMAX_LOG


class miopenSoftmaxMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnSoftmaxMode_t."""

    MIOPEN_SOFTMAX_MODE_INSTANCE = 0
    MIOPEN_SOFTMAX_MODE_CHANNEL = 1


MIOPEN_SOFTMAX_MODE_INSTANCE = miopenSoftmaxMode_t.MIOPEN_SOFTMAX_MODE_INSTANCE
MIOPEN_SOFTMAX_MODE_CHANNEL = miopenSoftmaxMode_t.MIOPEN_SOFTMAX_MODE_CHANNEL


class miopenPoolingMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnPoolingMode_t."""

    miopenPoolingMax = 0
    miopenPoolingAverage = 1
    miopenPoolingAverageInclusive = 2


miopenPoolingMax = miopenPoolingMode_t.miopenPoolingMax
miopenPoolingAverage = miopenPoolingMode_t.miopenPoolingAverage
miopenPoolingAverageInclusive = miopenPoolingMode_t.miopenPoolingAverageInclusive


class miopenPoolingWorkspaceIndexMode_t(_CEnum):
    """MIOpen's enumeration."""

    miopenPoolingWorkspaceIndexMask = 0
    miopenPoolingWorkspaceIndexImage = 1


miopenPoolingWorkspaceIndexMask = miopenPoolingWorkspaceIndexMode_t.miopenPoolingWorkspaceIndexMask
miopenPoolingWorkspaceIndexImage = miopenPoolingWorkspaceIndexMode_t.miopenPoolingWorkspaceIndexImage


class miopenIndexType_t(_CEnum):
    """MIOpen's enumeration."""

    miopenIndexUint8 = 0
    miopenIndexUint16 = 1
    miopenIndexUint32 = 2
    miopenIndexUint64 = 3


miopenIndexUint8 = miopenIndexType_t.miopenIndexUint8
miopenIndexUint16 = miopenIndexType_t.miopenIndexUint16
miopenIndexUint32 = miopenIndexType_t.miopenIndexUint32
miopenIndexUint64 = miopenIndexType_t.miopenIndexUint64


class miopenActivationMode_t(_CEnum):
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


miopenActivationPASTHRU = miopenActivationMode_t.miopenActivationPASTHRU
miopenActivationPATHTRU = miopenActivationMode_t.miopenActivationPATHTRU
miopenActivationLOGISTIC = miopenActivationMode_t.miopenActivationLOGISTIC
miopenActivationTANH = miopenActivationMode_t.miopenActivationTANH
miopenActivationRELU = miopenActivationMode_t.miopenActivationRELU
miopenActivationSOFTRELU = miopenActivationMode_t.miopenActivationSOFTRELU
miopenActivationABS = miopenActivationMode_t.miopenActivationABS
miopenActivationPOWER = miopenActivationMode_t.miopenActivationPOWER
miopenActivationCLIPPEDRELU = miopenActivationMode_t.miopenActivationCLIPPEDRELU
miopenActivationLEAKYRELU = miopenActivationMode_t.miopenActivationLEAKYRELU
miopenActivationELU = miopenActivationMode_t.miopenActivationELU
miopenActivationCLAMP = miopenActivationMode_t.miopenActivationCLAMP


class miopenLRNMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnLRNMode_t."""

    miopenLRNWithinChannel = 0
    miopenLRNCrossChannel = 1


miopenLRNWithinChannel = miopenLRNMode_t.miopenLRNWithinChannel
miopenLRNCrossChannel = miopenLRNMode_t.miopenLRNCrossChannel


class miopenBatchNormMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnBatchNormMode_t."""

    miopenBNPerActivation = 0
    miopenBNSpatial = 1


miopenBNPerActivation = miopenBatchNormMode_t.miopenBNPerActivation
miopenBNSpatial = miopenBatchNormMode_t.miopenBNSpatial


class miopenNormMode_t(_CEnum):
    """MIOpen's enumeration."""

    MIOPEN_ELEMENTWISE_AFFINE = 0
    MIOPEN_WEIGHT_BIAS = 1
    MIOPEN_ELEMENTWISE_AFFINE_FUSED_ADD = 2
    MIOPEN_WEIGHT_BIAS_FUSED_ADD = 3
    MIOPEN_ELEMENTWISE_AFFINE_T5 = 4
    MIOPEN_WEIGHT_BIAS_T5 = 5


MIOPEN_ELEMENTWISE_AFFINE = miopenNormMode_t.MIOPEN_ELEMENTWISE_AFFINE
MIOPEN_WEIGHT_BIAS = miopenNormMode_t.MIOPEN_WEIGHT_BIAS
MIOPEN_ELEMENTWISE_AFFINE_FUSED_ADD = miopenNormMode_t.MIOPEN_ELEMENTWISE_AFFINE_FUSED_ADD
MIOPEN_WEIGHT_BIAS_FUSED_ADD = miopenNormMode_t.MIOPEN_WEIGHT_BIAS_FUSED_ADD
MIOPEN_ELEMENTWISE_AFFINE_T5 = miopenNormMode_t.MIOPEN_ELEMENTWISE_AFFINE_T5
MIOPEN_WEIGHT_BIAS_T5 = miopenNormMode_t.MIOPEN_WEIGHT_BIAS_T5


class miopenRNNGEMMalgoMode_t(_CEnum):
    """MIOpen's enumeration."""

    miopenRNNAlgoGEMM = 0


miopenRNNAlgoGEMM = miopenRNNGEMMalgoMode_t.miopenRNNAlgoGEMM


class miopenRNNMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnRNNMode_t."""

    miopenRNNRELU = 0
    miopenRNNTANH = 1
    miopenLSTM = 2
    miopenGRU = 3


miopenRNNRELU = miopenRNNMode_t.miopenRNNRELU
miopenRNNTANH = miopenRNNMode_t.miopenRNNTANH
miopenLSTM = miopenRNNMode_t.miopenLSTM
miopenGRU = miopenRNNMode_t.miopenGRU


class miopenRNNDirectionMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnDirectionMode_t."""

    miopenRNNunidirection = 0
    miopenRNNbidirection = 1


miopenRNNunidirection = miopenRNNDirectionMode_t.miopenRNNunidirection
miopenRNNbidirection = miopenRNNDirectionMode_t.miopenRNNbidirection


class miopenRNNInputMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnRNNInputMode_t."""

    miopenRNNlinear = 0
    miopenRNNskip = 1


miopenRNNlinear = miopenRNNInputMode_t.miopenRNNlinear
miopenRNNskip = miopenRNNInputMode_t.miopenRNNskip


class miopenRNNAlgo_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnRNNAlgo_t."""

    miopenRNNdefault = 0
    miopenRNNfundamental = 1
    miopenRNNroundedDynamic = 2


miopenRNNdefault = miopenRNNAlgo_t.miopenRNNdefault
miopenRNNfundamental = miopenRNNAlgo_t.miopenRNNfundamental
miopenRNNroundedDynamic = miopenRNNAlgo_t.miopenRNNroundedDynamic


class miopenRNNBiasMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnRNNBiasMode_t."""

    miopenRNNNoBias = 0
    miopenRNNwithBias = 1


miopenRNNNoBias = miopenRNNBiasMode_t.miopenRNNNoBias
miopenRNNwithBias = miopenRNNBiasMode_t.miopenRNNwithBias


class miopenRNNPaddingMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnRNNPaddingMode_t."""

    miopenRNNIONotPadded = 0
    miopenRNNIOWithPadding = 1


miopenRNNIONotPadded = miopenRNNPaddingMode_t.miopenRNNIONotPadded
miopenRNNIOWithPadding = miopenRNNPaddingMode_t.miopenRNNIOWithPadding


class miopenRNNBaseLayout_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnRNNDataLayout_t."""

    miopenRNNDataUnknownLayout = 0
    miopenRNNDataSeqMajorNotPadded = 1
    miopenRNNDataSeqMajorPadded = 2
    miopenRNNDataBatchMajorPadded = 3


miopenRNNDataUnknownLayout = miopenRNNBaseLayout_t.miopenRNNDataUnknownLayout
miopenRNNDataSeqMajorNotPadded = miopenRNNBaseLayout_t.miopenRNNDataSeqMajorNotPadded
miopenRNNDataSeqMajorPadded = miopenRNNBaseLayout_t.miopenRNNDataSeqMajorPadded
miopenRNNDataBatchMajorPadded = miopenRNNBaseLayout_t.miopenRNNDataBatchMajorPadded


class miopenRNNFWDMode_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnForwardMode_t."""

    miopenRNNTraining = 0
    miopenRNNInference = 1


miopenRNNTraining = miopenRNNFWDMode_t.miopenRNNTraining
miopenRNNInference = miopenRNNFWDMode_t.miopenRNNInference


class miopenRNGType_t(_CEnum):
    """MIOpen's enumeration."""

    MIOPEN_RNG_PSEUDO_XORWOW = 0


MIOPEN_RNG_PSEUDO_XORWOW = miopenRNGType_t.MIOPEN_RNG_PSEUDO_XORWOW


class miopenCTCLossAlgo_t(_CEnum):
    """MIOpen's enumeration, which stands for cudnnCTCLossAlgo_t."""

    MIOPEN_CTC_LOSS_ALGO_DETERMINISTIC = 0


MIOPEN_CTC_LOSS_ALGO_DETERMINISTIC = miopenCTCLossAlgo_t.MIOPEN_CTC_LOSS_ALGO_DETERMINISTIC


class miopenFusionDirection_t(_CEnum):
    """MIOpen's enumeration."""

    miopenVerticalFusion = 0
    miopenHorizontalFusion = 1


miopenVerticalFusion = miopenFusionDirection_t.miopenVerticalFusion
miopenHorizontalFusion = miopenFusionDirection_t.miopenHorizontalFusion


class miopenLossReductionMode_t(_CEnum):
    """MIOpen's enumeration."""

    MIOPEN_LOSS_REDUCTION_NONE = 0
    MIOPEN_LOSS_REDUCTION_SUM = 1
    MIOPEN_LOSS_REDUCTION_MEAN = 2


MIOPEN_LOSS_REDUCTION_NONE = miopenLossReductionMode_t.MIOPEN_LOSS_REDUCTION_NONE
MIOPEN_LOSS_REDUCTION_SUM = miopenLossReductionMode_t.MIOPEN_LOSS_REDUCTION_SUM
MIOPEN_LOSS_REDUCTION_MEAN = miopenLossReductionMode_t.MIOPEN_LOSS_REDUCTION_MEAN


class miopenProblemDirection_t(_CEnum):
    """MIOpen's enumeration."""

    miopenProblemDirectionForward = 0
    miopenProblemDirectionBackward = 1
    miopenProblemDirectionBackwardWeights = 2
    miopenProblemDirectionInference = 4


miopenProblemDirectionForward = miopenProblemDirection_t.miopenProblemDirectionForward
miopenProblemDirectionBackward = miopenProblemDirection_t.miopenProblemDirectionBackward
miopenProblemDirectionBackwardWeights = miopenProblemDirection_t.miopenProblemDirectionBackwardWeights
miopenProblemDirectionInference = miopenProblemDirection_t.miopenProblemDirectionInference


class miopenTensorArgumentId_t(_CEnum):
    """MIOpen's enumeration."""

    miopenTensorArgumentIdInvalid = 0
    miopenTensorConvolutionX = 1
    miopenTensorConvolutionW = 2
    miopenTensorConvolutionY = 3
    miopenTensorMhaK = 4
    miopenTensorMhaQ = 5
    miopenTensorMhaV = 6
    miopenTensorMhaDescaleK = 7
    miopenTensorMhaDescaleQ = 8
    miopenTensorMhaDescaleV = 9
    miopenTensorMhaDescaleS = 10
    miopenTensorMhaScaleS = 11
    miopenTensorMhaScaleO = 12
    miopenTensorMhaDropoutProbability = 13
    miopenTensorMhaDropoutSeed = 14
    miopenTensorMhaDropoutOffset = 15
    miopenTensorMhaO = 16
    miopenTensorMhaAmaxO = 17
    miopenTensorMhaAmaxS = 18
    miopenTensorMhaM = 19
    miopenTensorMhaZInv = 20
    miopenTensorMhaDO = 21
    miopenTensorMhaDescaleO = 22
    miopenTensorMhaDescaleDO = 23
    miopenTensorMhaDescaleDS = 24
    miopenTensorMhaScaleDS = 25
    miopenTensorMhaScaleDQ = 26
    miopenTensorMhaScaleDK = 27
    miopenTensorMhaScaleDV = 28
    miopenTensorMhaDQ = 29
    miopenTensorMhaDK = 30
    miopenTensorMhaDV = 31
    miopenTensorMhaAmaxDQ = 32
    miopenTensorMhaAmaxDK = 33
    miopenTensorMhaAmaxDV = 34
    miopenTensorMhaAmaxDS = 35
    miopenTensorMhaBias = 36
    miopenTensorActivationX = 37
    miopenTensorActivationY = 38
    miopenTensorActivationDX = 39
    miopenTensorActivationDY = 40
    miopenTensorBiasX = 41
    miopenTensorBiasY = 42
    miopenTensorBias = 43
    miopenTensorSoftmaxX = 44
    miopenTensorSoftmaxY = 45
    miopenTensorSoftmaxDX = 46
    miopenTensorSoftmaxDY = 47
    miopenTensorBatchnormX = 48
    miopenTensorBatchnormY = 49
    miopenTensorBatchnormRunningMean = 50
    miopenTensorBatchnormRunningVariance = 51
    miopenTensorBatchnormSavedMean = 52
    miopenTensorBatchnormSavedVariance = 53
    miopenTensorBatchnormScale = 54
    miopenTensorBatchnormScaleDiff = 55
    miopenTensorBatchnormEstimatedMean = 56
    miopenTensorBatchnormEstimatedVariance = 57
    miopenTensorBatchnormBias = 58
    miopenTensorBatchnormBiasDiff = 59
    miopenTensorBatchnormDX = 60
    miopenTensorBatchnormDY = 61
    miopenTensorArgumentIsScalar = 2147483648
    miopenTensorMhaMask = 2147483649
    miopenScalarBatchnormExpAvgFactor = 2147483650
    miopenScalarBatchnormEpsilon = 2147483651


miopenTensorArgumentIdInvalid = miopenTensorArgumentId_t.miopenTensorArgumentIdInvalid
miopenTensorConvolutionX = miopenTensorArgumentId_t.miopenTensorConvolutionX
miopenTensorConvolutionW = miopenTensorArgumentId_t.miopenTensorConvolutionW
miopenTensorConvolutionY = miopenTensorArgumentId_t.miopenTensorConvolutionY
miopenTensorMhaK = miopenTensorArgumentId_t.miopenTensorMhaK
miopenTensorMhaQ = miopenTensorArgumentId_t.miopenTensorMhaQ
miopenTensorMhaV = miopenTensorArgumentId_t.miopenTensorMhaV
miopenTensorMhaDescaleK = miopenTensorArgumentId_t.miopenTensorMhaDescaleK
miopenTensorMhaDescaleQ = miopenTensorArgumentId_t.miopenTensorMhaDescaleQ
miopenTensorMhaDescaleV = miopenTensorArgumentId_t.miopenTensorMhaDescaleV
miopenTensorMhaDescaleS = miopenTensorArgumentId_t.miopenTensorMhaDescaleS
miopenTensorMhaScaleS = miopenTensorArgumentId_t.miopenTensorMhaScaleS
miopenTensorMhaScaleO = miopenTensorArgumentId_t.miopenTensorMhaScaleO
miopenTensorMhaDropoutProbability = miopenTensorArgumentId_t.miopenTensorMhaDropoutProbability
miopenTensorMhaDropoutSeed = miopenTensorArgumentId_t.miopenTensorMhaDropoutSeed
miopenTensorMhaDropoutOffset = miopenTensorArgumentId_t.miopenTensorMhaDropoutOffset
miopenTensorMhaO = miopenTensorArgumentId_t.miopenTensorMhaO
miopenTensorMhaAmaxO = miopenTensorArgumentId_t.miopenTensorMhaAmaxO
miopenTensorMhaAmaxS = miopenTensorArgumentId_t.miopenTensorMhaAmaxS
miopenTensorMhaM = miopenTensorArgumentId_t.miopenTensorMhaM
miopenTensorMhaZInv = miopenTensorArgumentId_t.miopenTensorMhaZInv
miopenTensorMhaDO = miopenTensorArgumentId_t.miopenTensorMhaDO
miopenTensorMhaDescaleO = miopenTensorArgumentId_t.miopenTensorMhaDescaleO
miopenTensorMhaDescaleDO = miopenTensorArgumentId_t.miopenTensorMhaDescaleDO
miopenTensorMhaDescaleDS = miopenTensorArgumentId_t.miopenTensorMhaDescaleDS
miopenTensorMhaScaleDS = miopenTensorArgumentId_t.miopenTensorMhaScaleDS
miopenTensorMhaScaleDQ = miopenTensorArgumentId_t.miopenTensorMhaScaleDQ
miopenTensorMhaScaleDK = miopenTensorArgumentId_t.miopenTensorMhaScaleDK
miopenTensorMhaScaleDV = miopenTensorArgumentId_t.miopenTensorMhaScaleDV
miopenTensorMhaDQ = miopenTensorArgumentId_t.miopenTensorMhaDQ
miopenTensorMhaDK = miopenTensorArgumentId_t.miopenTensorMhaDK
miopenTensorMhaDV = miopenTensorArgumentId_t.miopenTensorMhaDV
miopenTensorMhaAmaxDQ = miopenTensorArgumentId_t.miopenTensorMhaAmaxDQ
miopenTensorMhaAmaxDK = miopenTensorArgumentId_t.miopenTensorMhaAmaxDK
miopenTensorMhaAmaxDV = miopenTensorArgumentId_t.miopenTensorMhaAmaxDV
miopenTensorMhaAmaxDS = miopenTensorArgumentId_t.miopenTensorMhaAmaxDS
miopenTensorMhaBias = miopenTensorArgumentId_t.miopenTensorMhaBias
miopenTensorActivationX = miopenTensorArgumentId_t.miopenTensorActivationX
miopenTensorActivationY = miopenTensorArgumentId_t.miopenTensorActivationY
miopenTensorActivationDX = miopenTensorArgumentId_t.miopenTensorActivationDX
miopenTensorActivationDY = miopenTensorArgumentId_t.miopenTensorActivationDY
miopenTensorBiasX = miopenTensorArgumentId_t.miopenTensorBiasX
miopenTensorBiasY = miopenTensorArgumentId_t.miopenTensorBiasY
miopenTensorBias = miopenTensorArgumentId_t.miopenTensorBias
miopenTensorSoftmaxX = miopenTensorArgumentId_t.miopenTensorSoftmaxX
miopenTensorSoftmaxY = miopenTensorArgumentId_t.miopenTensorSoftmaxY
miopenTensorSoftmaxDX = miopenTensorArgumentId_t.miopenTensorSoftmaxDX
miopenTensorSoftmaxDY = miopenTensorArgumentId_t.miopenTensorSoftmaxDY
miopenTensorBatchnormX = miopenTensorArgumentId_t.miopenTensorBatchnormX
miopenTensorBatchnormY = miopenTensorArgumentId_t.miopenTensorBatchnormY
miopenTensorBatchnormRunningMean = miopenTensorArgumentId_t.miopenTensorBatchnormRunningMean
miopenTensorBatchnormRunningVariance = miopenTensorArgumentId_t.miopenTensorBatchnormRunningVariance
miopenTensorBatchnormSavedMean = miopenTensorArgumentId_t.miopenTensorBatchnormSavedMean
miopenTensorBatchnormSavedVariance = miopenTensorArgumentId_t.miopenTensorBatchnormSavedVariance
miopenTensorBatchnormScale = miopenTensorArgumentId_t.miopenTensorBatchnormScale
miopenTensorBatchnormScaleDiff = miopenTensorArgumentId_t.miopenTensorBatchnormScaleDiff
miopenTensorBatchnormEstimatedMean = miopenTensorArgumentId_t.miopenTensorBatchnormEstimatedMean
miopenTensorBatchnormEstimatedVariance = miopenTensorArgumentId_t.miopenTensorBatchnormEstimatedVariance
miopenTensorBatchnormBias = miopenTensorArgumentId_t.miopenTensorBatchnormBias
miopenTensorBatchnormBiasDiff = miopenTensorArgumentId_t.miopenTensorBatchnormBiasDiff
miopenTensorBatchnormDX = miopenTensorArgumentId_t.miopenTensorBatchnormDX
miopenTensorBatchnormDY = miopenTensorArgumentId_t.miopenTensorBatchnormDY
miopenTensorArgumentIsScalar = miopenTensorArgumentId_t.miopenTensorArgumentIsScalar
miopenTensorMhaMask = miopenTensorArgumentId_t.miopenTensorMhaMask
miopenScalarBatchnormExpAvgFactor = miopenTensorArgumentId_t.miopenScalarBatchnormExpAvgFactor
miopenScalarBatchnormEpsilon = miopenTensorArgumentId_t.miopenScalarBatchnormEpsilon


class miopenFindResultsOrder_t(_CEnum):
    """MIOpen's enumeration."""

    miopenFindResultsOrderByTime = 0
    miopenFindResultsOrderByWorkspaceSize = 1


miopenFindResultsOrderByTime = miopenFindResultsOrder_t.miopenFindResultsOrderByTime
miopenFindResultsOrderByWorkspaceSize = miopenFindResultsOrder_t.miopenFindResultsOrderByWorkspaceSize


class miopenMhaMask_t(_CEnum):
    """MIOpen's enumeration."""

    miopenMhaMaskNone = 0
    miopenMhaMaskCausal = 1


miopenMhaMaskNone = miopenMhaMask_t.miopenMhaMaskNone
miopenMhaMaskCausal = miopenMhaMask_t.miopenMhaMaskCausal


class miopenDebugFlag_t(_CEnum):
    """MIOpen's enumeration."""

    miopenDebugLoggingQuiet = 0
    miopenDebugFindEnforceDisable = 1
    miopenDebugIsWarmupOngoing = 2
    miopenDebugAlwaysEnableConvDirectNaive = 3


miopenDebugLoggingQuiet = miopenDebugFlag_t.miopenDebugLoggingQuiet
miopenDebugFindEnforceDisable = miopenDebugFlag_t.miopenDebugFindEnforceDisable
miopenDebugIsWarmupOngoing = miopenDebugFlag_t.miopenDebugIsWarmupOngoing
miopenDebugAlwaysEnableConvDirectNaive = miopenDebugFlag_t.miopenDebugAlwaysEnableConvDirectNaive
