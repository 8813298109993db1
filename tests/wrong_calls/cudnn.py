"""The right calls of portadnn.cudnn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portadnn import cudnn
from portadnn.mapping import table

from . import attention, backend_descriptors
from .c_names import DIMS, Vocabulary, Word
from .scene import CHANNELS, IMAGE, WORKSPACE, Call, Scene

HANDLES = {"cudnnDestroy", "cudnnSetStream"}  # functions that change their handle


def _tensor(which: str) -> Word:
    def make(scene: Scene) -> Any:
        descriptor = cudnn.cudnnCreateTensorDescriptor()
        if which != "new":
            dims = DIMS[which]
            strides = [1] * len(dims)
            for i in range(len(dims) - 2, -1, -1):
                strides[i] = strides[i + 1] * dims[i + 1]
            cudnn.cudnnSetTensorNdDescriptor(descriptor, 0, len(dims), dims, strides)
        return descriptor

    return make


def _filter(which: str) -> Word:
    def make(scene: Scene) -> Any:
        descriptor = cudnn.cudnnCreateFilterDescriptor()
        if which != "new":
            cudnn.cudnnSetFilterNdDescriptor(descriptor, 0, 0, len(DIMS[which]), DIMS[which])
        return descriptor

    return make


def _made(kind: str, *arguments: Any, setter: str = "") -> Word:
    def make(scene: Scene) -> Any:
        descriptor = getattr(cudnn, f"cudnnCreate{kind}Descriptor")()
        getattr(cudnn, setter or f"cudnnSet{kind}Descriptor")(descriptor, *arguments)
        return descriptor

    return make


def _dropout(scene: Scene) -> Any:
    descriptor = cudnn.cudnnCreateDropoutDescriptor()
    cudnn.cudnnSetDropoutDescriptor(descriptor, scene.handle, 0.5, scene.buffer(64), 64, 1)
    return descriptor


def _rnn(scene: Scene) -> Any:
    rnn, dropout = cudnn.cudnnCreateRNNDescriptor(), cudnn.cudnnCreateDropoutDescriptor()
    cudnn.cudnnSetDropoutDescriptor(dropout, scene.handle, 0.0, None, 0, 0)
    cudnn.cudnnSetRNNDescriptor(rnn, 2, 1, dropout, 0, 0, 2, 0)
    return rnn


def _rnn_v8(scene: Scene) -> Any:
    rnn = cudnn.cudnnCreateRNNDescriptor()
    cudnn.cudnnSetRNNDescriptor_v8(rnn, 0, 2, 2, 0, 0, 0, 0, 0, 2, 2, 2, 1, None, 1)
    return rnn


def _rnn_data(scene: Scene) -> Any:
    data = cudnn.cudnnCreateRNNDataDescriptor()
    cudnn.cudnnSetRNNDataDescriptor(data, 0, 0, 2, 2, 2, (2, 1), None)
    return data


def _plan(scene: Scene) -> Any:
    return cudnn.cudnnCreatePersistentRNNPlan(_rnn(scene), 1, 0)


def _graph_part(kind: str) -> Word:
    return lambda s: cudnn.cudnnBackendCreateDescriptor(getattr(cudnn, f"CUDNN_BACKEND_{kind}_DESCRIPTOR"))


def _graph_tensor(scene: Scene) -> Any:
    """Return a finalised tensor of a graph."""
    tensor = _graph_part("TENSOR")(scene)
    attributes = (("UNIQUE_ID", "INT64", [7]), ("DATA_TYPE", "DATA_TYPE", [0]), ("BYTE_ALIGNMENT", "INT64", [16]))
    attributes += (("DIMENSIONS", "INT64", list(IMAGE)), ("STRIDES", "INT64", [32, 16, 4, 1]))
    for name, kind, values in attributes:
        what = getattr(cudnn, f"CUDNN_ATTR_TENSOR_{name}"), getattr(cudnn, f"CUDNN_TYPE_{kind}")
        cudnn.cudnnBackendSetAttribute(tensor, *what, len(values), values)
    return tensor


def _finalized(scene: Scene) -> Any:
    tensor = _graph_tensor(scene)
    cudnn.cudnnBackendFinalize(tensor)
    return tensor


def _fused(kind: str) -> Word:
    """Return what makes a pack or a plan of BN_FINALIZE_STATISTICS_INFERENCE."""

    def make(scene: Scene) -> Any:
        return getattr(cudnn, f"cudnnCreateFusedOps{kind}")(3)

    return make


def _algorithm(scene: Scene) -> Any:
    return _made("Algorithm", 1)(scene)


def _performance(scene: Scene) -> Any:
    (performance,) = cudnn.cudnnCreateAlgorithmPerformance(1)
    cudnn.cudnnSetAlgorithmPerformance(performance, _algorithm(scene), 0, 1.0, 64)
    return performance


def _saved(scene: Scene) -> bytearray:
    space = bytearray(16)
    cudnn.cudnnSaveAlgorithm(scene.handle, _algorithm(scene), space, 16)
    return space


def _vectors(scene: Scene) -> Any:
    descriptor = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilter4dDescriptor(descriptor, 8, 2, 32, 32, 1, 1)
    return descriptor


def _executable(scene: Scene) -> dict[str, Any]:
    """Return a pack, a plan made of it, and its variant pack, of numbers for each channel."""
    const, plan, variant = (_fused(kind)(scene) for kind in ("ConstParamPack", "Plan", "VariantParamPack"))
    for label in (3, 19):
        cudnn.cudnnSetFusedOpsConstParamPackAttribute(const, label, _tensor("channels")(scene))
    for label, pointer in ((4, 1), (5, 2), (20, 10), (21, 11), (24, 14), (25, 15)):
        cudnn.cudnnSetFusedOpsConstParamPackAttribute(const, label, 1)
        cudnn.cudnnSetFusedOpsVariantParamPackAttribute(variant, pointer, scene.array(CHANNELS))
    cudnn.cudnnSetFusedOpsVariantParamPackAttribute(variant, 103, 0.5)
    return {"constPack": const, "plan": plan, "varPack": variant}


def _made_plan(scene: Scene) -> Any:
    parts = _executable(scene)
    cudnn.cudnnMakeFusedOpsPlan(scene.handle, parts["plan"], parts["constPack"])
    return parts["plan"]


DESCRIPTORS: dict[str, Word] = {
    "cudnnTensorTransformDescriptor_t": _made("TensorTransform", 4, 0, (0,) * 4, (0,) * 4, None, 0),
    "cudnnFusedOpsConstParamPack_t": lambda s: _executable(s)["constPack"],
    "cudnnFusedOpsVariantParamPack_t": lambda s: _executable(s)["varPack"],
    "cudnnFusedOpsPlan_t": _made_plan,
    **{f"cudnnTensorDescriptor_t:{which}": _tensor(which) for which in (*(w for w in DIMS if len(DIMS[w]) > 2), "new")},
    **{f"cudnnFilterDescriptor_t:{which}": _filter(which) for which in (*(w for w in DIMS if len(DIMS[w]) > 2), "new")},
    "cudnnConvolutionDescriptor_t": _made("Convolution", 1, 1, 1, 1, 1, 1, 1, setter="cudnnSetConvolution2dDescriptor"),
    "cudnnPoolingDescriptor_t": _made("Pooling", 0, 0, 3, 3, 1, 1, 1, 1, setter="cudnnSetPooling2dDescriptor"),
    "cudnnActivationDescriptor_t": _made("Activation", 1, 0, 0.0),
    "cudnnLRNDescriptor_t": _made("LRN", 3, 1.0, 0.75, 2.0),
    "cudnnOpTensorDescriptor_t": _made("OpTensor", 0, 0, 0),
    "cudnnReduceTensorDescriptor_t": _made("ReduceTensor", 0, 0, 0, 0, 0),
    "cudnnSpatialTransformerDescriptor_t": _made(
        "SpatialTransformer", 0, 0, 4, IMAGE, setter="cudnnSetSpatialTransformerNdDescriptor"
    ),
    "cudnnCTCLossDescriptor_t": _made("CTCLoss", 0, 1, 0, 2, setter="cudnnSetCTCLossDescriptor_v9"),
    **attention.DESCRIPTORS,
    "cudnnAlgorithmDescriptor_t": _algorithm,
    "cudnnDropoutDescriptor_t": _dropout,
    "cudnnRNNDescriptor_t": _rnn,
    "cudnnRNNDescriptor_t:v8": _rnn_v8,
    "cudnnRNNDataDescriptor_t": _rnn_data,
    "cudnnPersistentRNNPlan_t": _plan,
    "cudnnBackendDescriptor_t": _graph_part("TENSOR"),
}
V8 = {"rnnDesc": _rnn_v8, "hDesc": _tensor("state"), "cDesc": _tensor("state")}


CTC: dict[str, Word] = {
    **dict.fromkeys(("probsDesc", "gradientsDesc"), _tensor("logits")),
    **dict.fromkeys(("probs", "gradients"), lambda s: s.array(DIMS["logits"])),
    "costs": lambda s: s.array((2,)),
}
HOST_LABELS: dict[str, Word] = {
    **CTC,
    "labels": lambda s: (1, 2, 3),
    "labelLengths": lambda s: (1, 2),
    "inputLengths": lambda s: (3, 3),
}
DEVICE_LABELS: dict[str, Word] = {
    **CTC,
    **dict.fromkeys(("labels", "labelLengths", "inputLengths"), lambda s: s.array((4,), np.int32)),
}


SPECIAL: dict[str, dict[str, Word]] = {
    "cudnnGetCTCLossWorkspaceSize": HOST_LABELS,
    "cudnnGetCTCLossWorkspaceSize_v8": DEVICE_LABELS,
    "cudnnCTCLoss": HOST_LABELS,
    "cudnnCTCLoss_v8": DEVICE_LABELS,
    **attention.CUDNN,
    "cudnnSetFusedOpsConstParamPackAttribute": {"paramLabel": lambda s: 2, "param": lambda s: 1},
    "cudnnGetFusedOpsConstParamPackAttribute": {"paramLabel": lambda s: 2},
    "cudnnSetFusedOpsVariantParamPackAttribute": {"paramLabel": lambda s: 103, "ptr": lambda s: 0.5},
    "cudnnGetFusedOpsVariantParamPackAttribute": {"paramLabel": lambda s: 103},
    "cudnnSetAlgorithmDescriptor": {"algorithm": lambda s: 2},
    "cudnnCreateAlgorithmPerformance": {"numberToCreate": lambda s: 2},
    "cudnnSetAlgorithmPerformance": {"algoPerf": _performance, "memory": lambda s: 64},
    "cudnnGetAlgorithmPerformance": {"algoPerf": _performance},
    "cudnnDestroyAlgorithmPerformance": {"algoPerf": lambda s: [_performance(s)], "numberToDestroy": lambda s: 1},
    "cudnnSaveAlgorithm": {"algoSpace": _saved, "algoSpaceSizeInBytes": lambda s: 16},
    "cudnnRestoreAlgorithm": {"algoSpace": _saved, "algoSpaceSizeInBytes": lambda s: 16},
    "cudnnSetCallback": {"mask": lambda s: 0, "udata": lambda s: None, "fptr": lambda s: None},
    "cudnnSetTensorTransformDescriptor": {
        **dict.fromkeys(("padBeforeA", "padAfterA"), lambda s: (0, 0, 0, 0)),
        "foldA": lambda s: (1, 1),
        "direction": lambda s: 0,
    },
    "cudnnTransformTensorEx": {
        **dict.fromkeys(("srcDesc", "destDesc"), _tensor("image")),
        **dict.fromkeys(("srcData", "destData"), lambda s: s.array(IMAGE)),
    },
    "cudnnTransformFilter": {
        **dict.fromkeys(("srcDesc", "destDesc"), _filter("image")),
        **dict.fromkeys(("srcData", "destData"), lambda s: s.array(IMAGE)),
    },
    "cudnnReorderFilterAndBias": {
        "filterDesc": _vectors,
        "reorderBias": lambda s: 0,
        **dict.fromkeys(("filterData", "reorderedFilterData"), lambda s: s.buffer(1024)),
        **dict.fromkeys(("biasData", "reorderedBiasData"), lambda s: s.buffer(128)),
    },
    "cudnnIm2Col": {"colBuffer": lambda s: s.buffer(1 << 16)},
    "cudnnQueryRuntimeError": {"mode": lambda s: 1},
    "cudnnDestroy": {"handle": lambda s: s.new_handle()},
    "cudnnSetStream": {"handle": lambda s: s.new_handle()},
    "cudnnSetRNNDescriptor": {"dropoutDesc": _dropout, "mode": lambda s: 2},
    "cudnnSetFilterNdDescriptor": {"filterDimA": lambda s: (2, 2, 3, 3)},
    "cudnnGetConvolutionNdDescriptor": {"arrayLengthRequested": lambda s: 2},
    "cudnnSetPoolingNdDescriptor": {"nbDims": lambda s: 2, "strideA": lambda s: (1, 1)},
    "cudnnSetPoolingNdDescriptor_v3": {"nbDims": lambda s: 2, "strideA": lambda s: (1, 1)},
    "cudnnSetPoolingNdDescriptor_v4": {"nbDims": lambda s: 2, "strideA": lambda s: (1, 1)},
    "cudnnAddTensor": {"aDesc": _tensor("channels"), "A": lambda s: s.array(CHANNELS)},
    "cudnnOpTensor": {"B": lambda s: s.array(CHANNELS)},
    "cudnnSetTensor": {"valuePtr": lambda s: 1.5},
    "cudnnScaleTensor": {"alpha": lambda s: 1.5},
    "cudnnReduceTensor": {"cDesc": _tensor("channels"), "C": lambda s: s.array(CHANNELS)},
    "cudnnGetReductionIndicesSize": {"cDesc": _tensor("channels")},
    "cudnnGetReductionWorkspaceSize": {"cDesc": _tensor("channels")},
    "cudnnSetRNNDescriptor_v8": {
        "biasMode": lambda s: 2,
        "cellMode": lambda s: 2,
        "dropoutDesc": lambda s: None,
        "auxFlags": lambda s: 1,
    },
    "cudnnGetRNNDescriptor_v8": {"rnnDesc": _rnn_v8},
    "cudnnGetRNNTempSpaceSizes": V8,
    "cudnnGetRNNWeightSpaceSize": V8,
    "cudnnGetRNNWeightParams": V8,
    "cudnnRNNForward": V8,
    "cudnnRNNBackwardData_v8": V8,
    "cudnnRNNBackwardWeights_v8": V8,
    "cudnnSetRNNPaddingMode": {"rnnDesc": _rnn},
    "cudnnBackendExecute": {
        "executionPlan": _graph_part("EXECUTION_PLAN"),
        "variantPack": _graph_part("VARIANT_PACK"),
    },
    "cudnnBackendFinalize": {"descriptor": _graph_tensor},
    "cudnnBackendSetAttribute": {
        "attributeName": lambda s: cudnn.CUDNN_ATTR_TENSOR_UNIQUE_ID,
        "attributeType": lambda s: cudnn.CUDNN_TYPE_INT64,
        "arrayOfElements": lambda s: [5],
    },
    "cudnnBackendGetAttribute": {
        "descriptor": _finalized,
        "attributeName": lambda s: cudnn.CUDNN_ATTR_TENSOR_UNIQUE_ID,
        "attributeType": lambda s: cudnn.CUDNN_TYPE_INT64,
    },
    "cudnnGetConvolutionForwardAlgorithm": {"preference": lambda s: 1},
    "cudnnSetConvolutionNdDescriptor": {"arrayLength": lambda s: 2},
    "cudnnConvolutionBiasActivationForward": {"zDesc": _tensor("image")},
    "cudnnGetRNNParamsSize": {"xDesc": _tensor("step")},
    "cudnnGetRNNLinLayerMatrixParams": {"xDesc": _tensor("step"), "linLayerMatDesc": _filter("new")},
    "cudnnGetRNNLinLayerBiasParams": {"xDesc": _tensor("step"), "linLayerBiasDesc": _filter("new")},
    "cudnnSetRNNDataDescriptor": {"seqLengthArray": lambda s: (2, 2)},
    "cudnnSpatialTfSamplerBackward": {"dgrid": lambda s: s.array((1, 4, 4, 2))},
}
ENUMERATIONS = {
    "cudnnBatchNormMode_t": 1,
    "cudnnBatchNormOps_t": 2,
    "cudnnNormOps_t": 2,
    "cudnnNormMode_t": 1,
    "cudnnConvolutionMode_t": 1,
    "cudnnActivationMode_t": 1,
    "cudnnSoftmaxAlgorithm_t": 1,
    "cudnnSoftmaxMode_t": 1,
    "cudnnRNNMode_t": 2,
    "cudnnReorderType_t": 0,
    "cudnnConvolutionBwdFilterAlgo_t": 1,
    "cudnnConvolutionBwdDataAlgo_t": 1,
}
FUNCTIONS = {name: f for name, f in table().functions.items() if f.library == "cudnn"}
VOCABULARY = Vocabulary(cudnn, FUNCTIONS, DESCRIPTORS, SPECIAL, ENUMERATIONS)


def calls() -> dict[str, Callable[[Scene], Call]]:
    """Return what makes the right call of each function, by name."""
    return VOCABULARY.calls() | backend_descriptors.CALLS


__all__ = ["DESCRIPTORS", "FUNCTIONS", "HANDLES", "WORKSPACE", "calls"]
