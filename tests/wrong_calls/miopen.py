"""The right calls of portadnn.miopen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portadnn import miopen
from portadnn.mapping import table

from . import miopen_plans
from .c_names import DIMS, Vocabulary, Word
from .scene import CHANNELS, IMAGE, WORKSPACE, Call, Scene


def _tensor(which: str) -> Word:
    def make(scene: Scene) -> Any:
        descriptor = miopen.miopenCreateTensorDescriptor()
        if which != "new":
            miopen.miopenSetTensorDescriptor(descriptor, 1, len(DIMS[which]), DIMS[which], None)
        return descriptor

    return make


def _made(kind: str, setter: str, *arguments: Any) -> Word:
    def make(scene: Scene) -> Any:
        descriptor = getattr(miopen, f"miopenCreate{kind}Descriptor")()
        if setter:
            getattr(miopen, f"miopen{setter}Descriptor")(descriptor, *arguments)
        return descriptor

    return make


def _dropout(scene: Scene) -> Any:
    descriptor = miopen.miopenCreateDropoutDescriptor()
    states = scene.buffer(64), 64
    miopen.miopenSetDropoutDescriptor(descriptor, scene.handle, 0.5, *states, 1, False, False, 0)
    return descriptor


def _profiled(scene: Scene) -> Any:
    handle = scene.new_handle()
    miopen.miopenEnableProfiling(handle, True)
    return handle


FOUND: dict[tuple[int, str], Any] = {}


def _algo(kind: str, names: tuple[str, str, str], field: str) -> Word:
    """Return the word for what Find says of the convolution of all cases, as MIOpen demands."""

    def find(scene: Scene) -> Any:
        key = id(scene.handle), kind
        if key not in FOUND:
            side = Scene(scene.handles)
            dims = {"x": "image", "y": "image", "w": "filter"}
            pairs = [v for n in names for v in (_tensor(dims[n])(side), side.array(DIMS[dims[n]]))]
            conv = DESCRIPTORS["miopenConvolutionDescriptor_t"](side)
            call = getattr(miopen, f"miopenFindConvolution{kind}Algorithm")
            _, found = call(scene.handle, *pairs[:4], conv, *pairs[4:], 4, side.buffer(1 << 20), 1 << 20, False)
            FOUND[key] = min(getattr(perf, field) for perf in found if perf.memory <= WORKSPACE)
        return FOUND[key]

    return find


def _lrn_workspace(scene: Scene) -> Any:
    """Return a workspace that the right forward call has filled."""
    workspace, image = scene.buffer(WORKSPACE), _tensor("image")(scene)
    pair = image, scene.array(IMAGE)
    lrn = DESCRIPTORS["miopenLRNDescriptor_t"](scene)
    miopen.miopenLRNForward(scene.handle, lrn, 1, *pair, 0, image, scene.array(IMAGE), True, workspace)
    scene.forget()
    return workspace


def _parameter(scene: Scene) -> Any:
    return scene.array((2, 2, 1))


_RNN = _made("RNN", "SetRNN", 2, 1, 0, 0, 2, 1, 0, 1)
_AVERAGE = _made("Pooling", "Set2dPooling", 1, 3, 3, 1, 1, 1, 1)
DESCRIPTORS: dict[str, Word] = {
    **{f"miopenTensorDescriptor_t:{which}": _tensor(which) for which in (*DIMS, "new")},
    "miopenConvolutionDescriptor_t": _made("Convolution", "InitConvolution", 0, 1, 1, 1, 1, 1, 1),
    "miopenPoolingDescriptor_t": _AVERAGE,
    "miopenActivationDescriptor_t": _made("Activation", "SetActivation", 3, 1.0, 1.0, 1.0),
    "miopenLRNDescriptor_t": _made("LRN", "SetLRN", 1, 3, 1.0, 0.75, 2.0),
    "miopenReduceTensorDescriptor_t": _made("ReduceTensor", "SetReduceTensor", 0, 1, 0, 0, 0),
    "miopenDropoutDescriptor_t": _dropout,
    "miopenRNNDescriptor_t": _RNN,
    "miopenSeqTensorDescriptor_t": _made("SeqTensor", "SetRNNDataSeqTensor", 1, 1, 2, 2, 2, (2, 1), None),
    "miopenCTCLossDescriptor_t": _made("CTCLoss", "SetCTCLoss", 1, 0, True),
    "miopenFusionPlanDescriptor_t": miopen_plans.plan,
    "miopenSoftmaxDescriptor_t": miopen_plans.softmax,
    "miopenMhaDescriptor_t": miopen_plans.mha,
}
_T5: dict[str, Word] = {
    "mode": lambda s: 4,
    "rstdDesc": _tensor("rows"),
    "rstd": lambda s: s.array((1, 2, 4, 1)),
    "weightDesc": _tensor("row"),
    "weight": lambda s: s.array((1, 1, 1, 4)),
    "dwDesc": _tensor("row"),
    "dw": lambda s: s.array((1, 1, 1, 4)),
}
_CTC: dict[str, Word] = {
    **dict.fromkeys(("probsDesc", "gradientsDesc"), _tensor("logits")),
    **dict.fromkeys(("probs", "gradients"), lambda s: s.array((3, 2, 4))),
    "labels": lambda s: (1, 2, 3),
    "labelLengths": lambda s: (1, 2),
    "inputLengths": lambda s: (3, 3),
}


def _desc(*dims: int, dtype: int = 1) -> Word:
    def make(scene: Scene) -> Any:
        descriptor = miopen.miopenCreateTensorDescriptor()
        miopen.miopenSetTensorDescriptor(descriptor, dtype, len(dims), dims, None)
        return descriptor

    return make


def _pair(name: str, *dims: int, dtype: int = 1) -> dict[str, Word]:
    """Return the words for memory and its descriptor; 2 is miopenInt32, 9 miopenInt64."""
    kind = {1: np.float32, 2: np.int32, 9: np.int64}[dtype]
    return {name: lambda s: s.array(dims, kind), f"{name}Desc": _desc(*dims, dtype=dtype)}


_IMAGES: dict[str, Word] = {}
for _name in ["input", "inputGrad", "target", "doutput", "dinput", "x", "y", "dx", "dy"]:
    _IMAGES |= _pair(_name, *IMAGE)
_CHANNEL: dict[str, Word] = {**_IMAGES, "dim": lambda s: 1, "k": lambda s: 1, "p": lambda s: 2, "margin": lambda s: 0.5}
_LOSS: dict[str, Word] = {**_CHANNEL, "reduction": lambda s: 1, **_pair("output", 1)}
_ROWS: dict[str, Word] = {
    **_LOSS,
    **_pair("input", 3, 4),
    **_pair("target", 3, dtype=9),
    **_pair("weight", 4),
}
_PRELU: dict[str, Word] = {**_IMAGES, **_pair("weight", 2), **_pair("dweight", 2)}
_LEFT: dict[str, Word] = {**_CHANNEL, **_pair("y", 1, 4, 4), **_pair("indice", 1, 4, 4, dtype=2)}
_TABLES: dict[str, Word] = {**_IMAGES, **_pair("cos", 2, 4, 4), **_pair("sin", 2, 4, 4)}
_ALONG: dict[str, Word] = {
    **_LEFT,
    "reduceDesc": _desc(1, 4, 4),
    "reduceCalculationOp": lambda s: 2,
    "reduceExtremeOp": lambda s: 4,
    "nanPropagation": lambda s: 1,
}
_ADAM: dict[str, Word] = {
    **dict.fromkeys(("lr", "weight_decay", "eps", "beta1", "beta2"), lambda s: 0.5),
    **dict.fromkeys(("amsgrad", "maximize", "adamw"), lambda s: False),
    "correct_bias": lambda s: True,
    "state_step": lambda s: 1,
    "step_size": lambda s: -1.0,
}
for _name in ["param", "grad", "expAvg", "expAvgSq", "maxExpAvgSq"]:
    for _end in ("", "In", "Out"):
        _ADAM |= _pair(f"{_name}{_end}", *IMAGE)
for _name in ["stateStep", "stateStepIn", "stateStepOut", "gradScale", "foundInf", "paramOutFloat16"]:
    _ADAM |= {_name: lambda s: None, f"{_name}Desc": lambda s: None}
_GETITEM: dict[str, Word] = {
    **_IMAGES,
    **_pair("error", 1, dtype=2),
    "indexCount": lambda s: 1,
    "indexDescs": lambda s: [_desc(1, dtype=9)(s)],
    "indexs": lambda s: [s.array((1,), np.int64)],
    "dimCount": lambda s: 1,
    "dims": lambda s: [0],
    "sliceCount": lambda s: 1,
    "slices": lambda s: [2, 0, 4, 1],
    "offset": lambda s: 0,
}
_ALONE: dict[str, dict[str, Word]] = {
    "miopenReduceCalculationForward": _ALONG,
    "miopenGetReduceCalculationWorkspaceSize": _ALONG,
    "miopenReduceExtremeForward": _ALONG,
    "miopenGLUForward": {**_CHANNEL, **_pair("output", 1, 1, 4, 4)},
    "miopenGLUBackward": {**_CHANNEL, **_pair("outputGrad", 1, 1, 4, 4)},
    "miopenRoPEForward": _TABLES,
    "miopenRoPEBackward": _TABLES,
    "miopenPReLUBackward": _PRELU,
    "miopenGetPReLUBackwardWorkspaceSize": _PRELU,
    "miopenSoftMarginLossForward": _LOSS,
    "miopenGetSoftMarginLossForwardWorkspaceSize": _LOSS,
    "miopenSoftMarginLossBackward": {**_IMAGES, "reduction": lambda s: 2},
    "miopenMultiMarginLossForward": _ROWS,
    "miopenGetMultiMarginLossForwardWorkspaceSize": _ROWS,
    "miopenGetitemBackward": _GETITEM,
    "miopenGetGetitemWorkspaceSize": _GETITEM,
    "miopenKthvalueForward": {
        **_CHANNEL,
        **_pair("output", 1, 4, 4),
        **_pair("indices", 1, 4, 4, dtype=9),
        "keepDim": lambda s: False,
    },
    **dict.fromkeys(
        [
            "miopenFusedAdam",
            "miopenFusedAdamWithOutput",
            "miopenTransformersAdamW",
            "miopenTransformersAdamWWithOutput",
        ],
        _ADAM,
    ),
    "miopenCatForward": {
        **_CHANNEL,
        **_pair("y", 1, 4, 4, 4),
        "xCount": lambda s: 2,
        "xDescs": lambda s: [_desc(*IMAGE)(s), _desc(*IMAGE)(s)],
        "xs": lambda s: [s.array(IMAGE), s.array(IMAGE)],
    },
}
_CONV2: dict[str, Word] = {"spatialDim": lambda s: 2, "strideA": lambda s: (1, 1)}
_NEW: dict[str, Word] = {"handle": lambda s: s.new_handle()}
SPECIAL: dict[str, dict[str, Word]] = {
    **_ALONE,
    "miopenDestroy": _NEW,
    "miopenSetStream": _NEW,
    "miopenSetAllocator": _NEW,
    "miopenEnableProfiling": _NEW,
    "miopenSetTuningPolicy": _NEW,
    "miopenGetKernelTime": {"handle": _profiled},
    "miopenInitConvolutionNdDescriptor": _CONV2,
    "miopenSetNdPoolingDescriptor": {"nbDims": lambda s: 2, "stridesA": lambda s: (1, 1), "padA": lambda s: (1, 1)},
    "miopenOpTensor": {"B": lambda s: s.array(CHANNELS)},
    "miopenSetTensor": {"alpha": lambda s: 1.5},
    "miopenScaleTensor": {"alpha": lambda s: 1.5},
    "miopenReduceTensor": {"cDesc": _tensor("channels"), "C": lambda s: s.array(CHANNELS)},
    "miopenGetReductionIndicesSize": {"cDesc": _tensor("channels")},
    "miopenGetReductionWorkspaceSize": {"cDesc": _tensor("channels")},
    "miopenConvolutionForward": {"algo": _algo("Forward", ("x", "w", "y"), "fwd_algo")},
    "miopenConvolutionBackwardData": {"algo": _algo("BackwardData", ("y", "w", "x"), "bwd_data_algo")},
    "miopenConvolutionBackwardWeights": {"algo": _algo("BackwardWeights", ("y", "x", "w"), "bwd_weights_algo")},
    **{
        f"miopenConvolutionBackward{kind}{name}": {"solution_id": lambda s, number=number: number}
        for kind, number in (("Data", 102), ("Weights", 202))
        for name in ("GetSolutionWorkspaceSize", "CompileSolution", "Immediate")
    },
    "miopenLRNBackward": {"workspace": _lrn_workspace},
    "miopenAddLayerNormForward": {"mode": lambda s: 2},
    **{
        f"miopen{way}RNNLayer{kind}": {f"layer{kind}": _parameter}
        for way in ("Get", "Set")
        for kind in ("Param", "Bias")
    },
    "miopenGetCTCLossWorkspaceSize": _CTC,
    "miopenCTCLoss": {**_CTC, "losses": lambda s: s.array((2,))},
    "miopenT5LayerNormForward": _T5,
    "miopenT5LayerNormBackward": _T5,
    "miopenGetT5LayerNormBackwardWorkspaceSize": _T5,
    "miopenSetRNNLayerParam": {"paramDesc": _tensor("matrix"), "layerParam": _parameter},
    "miopenSetRNNLayerBias": {"biasDesc": _tensor("vector"), "layerBias": _parameter},
    **miopen_plans.SPECIAL,
}
ENUMERATIONS = {
    "miopenDataType_t": 1,
    "miopenBatchNormMode_t": 1,
    "miopenRNNMode_t": 2,
    "miopenRNNBiasMode_t": 1,
    "miopenActivationMode_t": 3,
    "miopenPoolingMode_t": 1,
    "miopenRNNBaseLayout_t": 1,
    "miopenSoftmaxAlgorithm_t": 1,
    "miopenSoftmaxMode_t": 1,
    "miopenLRNMode_t": 1,
    "miopenRNNFWDMode_t": 0,
    "miopenNormMode_t": 0,
    "miopenConvFwdAlgorithm_t": 5,
    "miopenConvolutionFindMode_t": 2,
}
FUNCTIONS = {name: f for name, f in table().functions.items() if f.library == "miopen"}
VOCABULARY = Vocabulary(miopen, FUNCTIONS, DESCRIPTORS, SPECIAL, ENUMERATIONS)


def calls() -> dict[str, Callable[[Scene], Call]]:
    """Return what makes the right call of each function, by name."""
    return VOCABULARY.calls()
