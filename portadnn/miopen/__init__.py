"""MIOpen's own names, on every backend: ``import portadnn.miopen as miopen``.

Functions have the names and the order of arguments of C; what C returns through pointers is returned, several results
as a tuple in C's order. Handles and descriptors are opaque objects, ``alpha`` and ``beta`` are numbers, and a status
other than success is raised as a :class:`portadnn.DnnError` whose ``status`` is a ``miopenStatus_t``. Data are arrays
or buffers of the backend; the descriptor beside them says how they are read. docs/from-miopen.md has more, and a
program.

>>> import numpy as np
>>> import portadnn.miopen as miopen
>>> handle = miopen.miopenCreate(backend="reference")
>>> desc = miopen.miopenCreateTensorDescriptor()
>>> miopen.miopenSet4dTensorDescriptor(desc, miopen.miopenFloat, 1, 2, 1, 2)
>>> x, y = np.float32([1, 1, 0, 0]), np.empty(4, np.float32)
>>> miopen.miopenSoftmaxForward(handle, 1, desc, x, 0, desc, y)
>>> y.round(2).tolist()
[0.7300..., 0.7300..., 0.2700..., 0.2700...]
>>> miopen.miopenDestroy(handle)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import enums
from .descriptors import miopenTensorDescriptor_t
from .enums import *  # noqa: F403

if TYPE_CHECKING:
    from .activation import *  # noqa: F403
    from .batch_norm.activation import *  # noqa: F403
    from .batch_norm.calls import *  # noqa: F403
    from .convolution.algorithms import *  # noqa: F403
    from .convolution.calls import *  # noqa: F403
    from .convolution.descriptor import *  # noqa: F403
    from .convolution.immediate import *  # noqa: F403
    from .ctc_loss import *  # noqa: F403
    from .dropout import *  # noqa: F403
    from .handle import *  # noqa: F403
    from .lrn import *  # noqa: F403
    from .normalization import *  # noqa: F403
    from .pooling import *  # noqa: F403
    from .reduce import *  # noqa: F403
    from .rnn.calls import *  # noqa: F403
    from .rnn.descriptor import *  # noqa: F403
    from .rnn.parameters import *  # noqa: F403
    from .rnn.sequences import *  # noqa: F403
    from .softmax import *  # noqa: F403
    from .tensor import *  # noqa: F403
    from .tensor_ops import *  # noqa: F403

# Where the other names are. Modules are imported when they are first asked for.
_MODULES = {
    "activation": """
        miopenActivationBackward miopenActivationDescriptor_t miopenActivationForward
        miopenCreateActivationDescriptor miopenDestroyActivationDescriptor miopenGetActivationDescriptor
        miopenSetActivationDescriptor
    """,
    "batch_norm.calls": """
        miopenBatchNormalizationBackward miopenBatchNormalizationBackward_V2
        miopenBatchNormalizationForwardInference miopenBatchNormalizationForwardInferenceInvVariance
        miopenBatchNormalizationForwardInference_V2 miopenBatchNormalizationForwardTraining
        miopenBatchNormalizationForwardTraining_V2 miopenBatchNormalizationForwardTraining_V3
        miopenDeriveBNTensorDescriptor
    """,
    "batch_norm.activation": """
        miopenBatchNormBackwardActivation miopenBatchNormForwardInferenceActivation
        miopenBatchNormForwardInferenceActivationInvVariance miopenBatchNormForwardTrainingActivation
        miopenBatchNormForwardTrainingActivation_V2
    """,
    "convolution.calls": """
        miopenConvolutionBackwardBias miopenConvolutionBackwardData miopenConvolutionBackwardDataGetWorkSpaceSize
        miopenConvolutionBackwardWeights miopenConvolutionBackwardWeightsGetWorkSpaceSize
        miopenConvolutionBiasActivationForward miopenConvolutionForward miopenConvolutionForwardGetWorkSpaceSize
        miopenFindConvolutionBackwardDataAlgorithm miopenFindConvolutionBackwardWeightsAlgorithm
        miopenFindConvolutionForwardAlgorithm
    """,
    "convolution.algorithms": """
        miopenConvAlgoPerf_t miopenConvSolution_t
    """,
    "convolution.descriptor": """
        miopenConvolutionDescriptor_t miopenCreateConvolutionDescriptor miopenDestroyConvolutionDescriptor
        miopenGetConvolutionAttribute miopenGetConvolutionDescriptor miopenGetConvolutionFindMode
        miopenGetConvolutionForwardOutputDim miopenGetConvolutionGroupCount miopenGetConvolutionNdDescriptor
        miopenGetConvolutionNdForwardOutputDim miopenGetConvolutionSpatialDim miopenInitConvolutionDescriptor
        miopenInitConvolutionNdDescriptor miopenSetConvolutionAttribute miopenSetConvolutionFindMode
        miopenSetConvolutionGroupCount miopenSetTransposeConvNdOutputPadding miopenSetTransposeConvOutputPadding
    """,
    "ctc_loss": """
        miopenCTCLoss miopenCTCLossDescriptor_t miopenCreateCTCLossDescriptor miopenDestroyCTCLossDescriptor
        miopenGetCTCLossDescriptor miopenGetCTCLossWorkspaceSize miopenSetCTCLossDescriptor
    """,
    "dropout": """
        miopenCreateDropoutDescriptor miopenDestroyDropoutDescriptor miopenDropoutBackward miopenDropoutDescriptor_t
        miopenDropoutForward miopenDropoutGetReserveSpaceSize miopenDropoutGetStatesSize miopenGetDropoutDescriptor
        miopenRestoreDropoutDescriptor miopenSetDropoutDescriptor
    """,
    "handle": """
        miopenCreate miopenCreateWithStream miopenDestroy miopenEnableProfiling miopenGetErrorString
        miopenGetKernelTime miopenGetStream miopenGetTuningPolicy miopenGetVersion miopenSetAllocator
        miopenSetStream miopenSetTuningPolicy
    """,
    "convolution.immediate": """
        miopenConvolutionBackwardDataCompileSolution miopenConvolutionBackwardDataGetSolution
        miopenConvolutionBackwardDataGetSolutionCount miopenConvolutionBackwardDataGetSolutionWorkspaceSize
        miopenConvolutionBackwardDataImmediate miopenConvolutionBackwardWeightsCompileSolution
        miopenConvolutionBackwardWeightsGetSolution miopenConvolutionBackwardWeightsGetSolutionCount
        miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize miopenConvolutionBackwardWeightsImmediate
        miopenConvolutionForwardCompileSolution miopenConvolutionForwardGetSolution
        miopenConvolutionForwardGetSolutionCount miopenConvolutionForwardGetSolutionWorkspaceSize
        miopenConvolutionForwardImmediate
    """,
    "lrn": """
        miopenCreateLRNDescriptor miopenDestroyLRNDescriptor miopenGetLRNDescriptor miopenLRNBackward
        miopenLRNDescriptor_t miopenLRNForward miopenLRNGetWorkSpaceSize miopenSetLRNDescriptor
    """,
    "normalization": """
        miopenAddLayerNormForward miopenGetT5LayerNormBackwardWorkspaceSize miopenGroupNormForward
        miopenLayerNormForward miopenT5LayerNormBackward miopenT5LayerNormForward
    """,
    "pooling": """
        miopenCreatePoolingDescriptor miopenDestroyPoolingDescriptor miopenGet2dPoolingDescriptor
        miopenGetNdPoolingDescriptor miopenGetPoolingForwardOutputDim miopenGetPoolingIndexType
        miopenGetPoolingNdForwardOutputDim miopenGetPoolingWorkSpaceIndexMode miopenPoolingBackward
        miopenPoolingDescriptor_t miopenPoolingForward miopenPoolingGetWorkSpaceSize miopenPoolingGetWorkSpaceSizeV2
        miopenSet2dPoolingDescriptor miopenSetNdPoolingDescriptor miopenSetPoolingIndexType
        miopenSetPoolingWorkSpaceIndexMode
    """,
    "reduce": """
        miopenCreateReduceTensorDescriptor miopenDestroyReduceTensorDescriptor miopenGetReduceTensorDescriptor
        miopenGetReductionIndicesSize miopenGetReductionWorkspaceSize miopenReduceTensor
        miopenReduceTensorDescriptor_t miopenSetReduceTensorDescriptor
    """,
    "rnn.calls": """
        miopenGetRNNHiddenTensorSize miopenGetRNNInputTensorSize miopenGetRNNTrainingReserveSize
        miopenGetRNNWorkspaceSize miopenRNNBackwardData miopenRNNBackwardWeights miopenRNNForwardInference
        miopenRNNForwardTraining
    """,
    "rnn.descriptor": """
        miopenCreateRNNDescriptor miopenDestroyRNNDescriptor miopenGetRNNDescriptor miopenGetRNNDescriptor_V2
        miopenGetRNNPaddingMode miopenRNNDescriptor_t miopenSetRNNDescriptor miopenSetRNNDescriptor_V2
        miopenSetRNNPaddingMode
    """,
    "rnn.parameters": """
        miopenGetRNNLayerBias miopenGetRNNLayerBiasOffset miopenGetRNNLayerBiasSize miopenGetRNNLayerParam
        miopenGetRNNLayerParamOffset miopenGetRNNLayerParamSize miopenGetRNNParamsDescriptor miopenGetRNNParamsSize
        miopenSetRNNLayerBias miopenSetRNNLayerParam
    """,
    "rnn.sequences": """
        miopenCreateSeqTensorDescriptor miopenDestroySeqTensorDescriptor miopenGetRNNDataSeqTensorDescriptor
        miopenGetRNNTempSpaceSizes miopenRNNBackwardSeqData miopenRNNBackwardWeightsSeqTensor miopenRNNForward
        miopenSeqTensorDescriptor_t miopenSetRNNDataSeqTensorDescriptor
    """,
    "softmax": """
        miopenSoftmaxBackward miopenSoftmaxBackward_V2 miopenSoftmaxForward miopenSoftmaxForward_V2
    """,
    "tensor": """
        miopenCreateTensorDescriptor miopenDestroyTensorDescriptor miopenGet4dTensorDescriptor
        miopenGetTensorDescriptor miopenGetTensorDescriptorSize miopenGetTensorNumBytes miopenSet4dTensorDescriptor
        miopenSet4dTensorDescriptorEx miopenSetNdTensorDescriptorWithLayout miopenSetTensorCastType
        miopenSetTensorDescriptor miopenSetTensorDescriptorV2
    """,
    "tensor_ops": """
        miopenConvolutionForwardBias miopenOpTensor miopenScaleTensor miopenSetTensor miopenTransformTensor
    """,
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}
_VALUES = {
    name: value
    for kind in vars(enums).values()
    if isinstance(kind, type) and issubclass(kind, enums.MIOpenEnum)
    for name, value in kind.__members__.items()
}
globals().update(_VALUES)  # miopenFloat and the like

__all__ = [*enums.__all__, *_VALUES, *_WHERE, "miopenTensorDescriptor_t"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
