"""Problems of portadnn that calls of cuDNN pose, as far as descriptors and arguments are known."""

from __future__ import annotations

from collections.abc import Mapping

from ...enums import DataType, DnnEnum
from ...errors import BadParam, NotSupported
from ...problem import Problem, read_line
from ..names import values_of_both
from ..values import Value
from .shapes import Shape, enumerator, number, numbers, packed, shape
from .situation import Situation

_TYPES = {dtype.name: dtype.code for dtype in DataType}
_MIOPEN_TYPES = {"miopenFloat": "f32", "miopenDouble": "f64", "miopenHalf": "f16", "miopenBFloat16": "bf16"}
# What the library's own headers, and so its logs, call the descriptors of some functions
_ALIASES = {
    "add_tensor": {"a": "biasDesc", "c": "srcDestDesc"},
    "op_tensor": {"b": "biasDesc", "c": "destDesc"},
}
_POOLING = {
    "mode": "poolingDesc.mode",
    "window": "poolingDesc.windowDimA",
    "padding": "poolingDesc.paddingA",
    "stride": "poolingDesc.strideA",
    "nan_propagation": "poolingDesc.maxpoolingNanOpt",
}
_CONVOLUTION = {
    "padding": "convDesc.padA",
    "stride": "convDesc.filterStrideA",
    "dilation": "convDesc.dilationA",
    "groups": "convDesc.groupCount",
    "mode": "convDesc.mode",
    "math": "convDesc.mathType",
}
_ACTIVATION = {
    "mode": "activationDesc.mode",
    "nan_propagation": "activationDesc.reluNanOpt",
    "ceiling": "activationDesc.coef",
    "coef": "activationDesc.coef",
}
_LRN = {
    "lrn_n": "normDesc.lrnN",
    "lrn_alpha": "normDesc.lrnAlpha",
    "lrn_beta": "normDesc.lrnBeta",
    "lrn_k": "normDesc.lrnK",
}
_SOFTMAX = {"algorithm": "algo", "mode": "mode"}
_BATCH_NORM = {"mode": "mode"}
_DIVISIVE = {"lrn_n": "normDesc.lrnN"}

# By function: the operation, its tensors by descriptors, its settings by fields; of settings in capitals the problem
# cannot do without.
OPERATIONS: dict[str, tuple[str, str, Mapping[str, str]]] = {
    "cudnnConvolutionForward": ("convolution_forward", "x w y", _CONVOLUTION),
    "cudnnConvolutionBackwardData": ("convolution_backward_data", "w dy dx", _CONVOLUTION),
    "cudnnConvolutionBackwardFilter": ("convolution_backward_filter", "x dy dw", _CONVOLUTION),
    "cudnnConvolutionBackwardBias": ("convolution_backward_bias", "dy db", {}),
    "cudnnConvolutionBiasActivationForward": (
        "convolution_bias_activation_forward",
        "x w y",
        {**_CONVOLUTION, "activation": "activationDesc.mode"},
    ),
    "cudnnSoftmaxForward": ("softmax_forward", "x y", _SOFTMAX),
    "cudnnSoftmaxBackward": ("softmax_backward", "y dy dx", _SOFTMAX),
    "cudnnPoolingForward": ("pooling_forward", "x y", _POOLING),
    "cudnnPoolingBackward": ("pooling_backward", "y dy x dx", _POOLING),
    "cudnnActivationForward": ("activation_forward", "x y", _ACTIVATION),
    "cudnnActivationBackward": ("activation_backward", "y dy x dx", _ACTIVATION),
    "cudnnLRNCrossChannelForward": ("lrn_cross_channel_forward", "x y", _LRN),
    "cudnnLRNCrossChannelBackward": ("lrn_cross_channel_backward", "y dy x dx", _LRN),
    "cudnnDivisiveNormalizationForward": ("divisive_normalization_forward", "x y", _DIVISIVE),
    "cudnnBatchNormalizationForwardTraining": ("batch_normalization_forward_training", "x y", _BATCH_NORM),
    "cudnnBatchNormalizationForwardInference": ("batch_normalization_forward_inference", "x y", _BATCH_NORM),
    "cudnnBatchNormalizationBackward": ("batch_normalization_backward", "x dy dx", _BATCH_NORM),
    "cudnnAddTensor": ("add_tensor", "a c", {}),
    "cudnnOpTensor": (
        "op_tensor",
        "a b c",
        {
            "operation": "opTensorDesc.opTensorOp opTensorDesc.op opDesc.op",
            "nan_propagation": "opTensorDesc.opTensorNanOpt opTensorDesc.nanOpt opDesc.nanOpt",
        },
    ),
    "cudnnTransformTensor": ("transform_tensor", "x y", {}),
    "cudnnScaleTensor": ("scale_tensor", "y", {}),
    "cudnnSetTensor": ("set_tensor", "y", {}),
    "cudnnReduceTensor": ("reduce_tensor", "a c", {"operation": "reduceTensorDesc.reduceTensorOp"}),
}
_MIOPEN_CONVOLUTION = {
    "padding": "convDesc.padA",
    "stride": "convDesc.strideA",
    "dilation": "convDesc.dilationA",
    "groups": "convDesc.groupCount",
    "mode": "convDesc.mode",
}
MIOPEN_OPERATIONS: dict[str, tuple[str, str, Mapping[str, str]]] = {
    "miopenConvolutionForward": ("convolution_forward", "x w y", _MIOPEN_CONVOLUTION),
    "miopenConvolutionBackwardData": ("convolution_backward_data", "w dy dx", _MIOPEN_CONVOLUTION),
    "miopenConvolutionBackwardWeights": ("convolution_backward_filter", "x dy dw", _MIOPEN_CONVOLUTION),
    "miopenConvolutionBackwardBias": ("convolution_backward_bias", "dy db", {}),
    "miopenSoftmaxForward_V2": ("softmax_forward", "x y", _SOFTMAX),
    "miopenSoftmaxBackward_V2": ("softmax_backward", "y dy dx", _SOFTMAX),
}
_NEEDED = {"window", "algorithm", "operation", "activation"}
_ALWAYS_NEEDED = ("softmax", "pooling", "activation_f", "activation_b", "convolution_bias_activation", "op_", "reduce")


def problem_of(
    situation: Situation, operations: Mapping[str, tuple[str, str, Mapping[str, str]]] = OPERATIONS
) -> tuple[Problem, dict[str, float], DnnEnum | None] | None:
    """Return the problem that a call poses, with its run-time numbers and algorithm; None where too little is known."""
    if situation.event.function not in operations:
        return None
    op, tensors, settings = operations[situation.event.function]
    words = [op]
    for name in tensors.split():
        descriptors = (f"{name}Desc", *_ALIASES.get(op, {}).get(name, "").split())
        text = next(filter(None, (_text(shape(situation, descriptor)) for descriptor in descriptors)), None)
        if text is None:
            return None
        words.append(f"{name}={text}")
    for name, places in settings.items():
        told = next(filter(None, (_setting(situation.field(where)) for where in places.split())), None)
        if told is not None:
            words.append(f"{name}={told}")
        elif name in _NEEDED or (name == "mode" and op.startswith(_ALWAYS_NEEDED)):
            return None
    try:
        problem = read_line(" ".join(words), valid=False)[0]
    except (BadParam, NotSupported, ValueError, IndexError, KeyError):
        return None
    return problem, _scalars(situation, problem), _algo(situation, problem)


def _text(found: Shape) -> str | None:
    """Return a tensor as problem lines have it; without strides, as MIOpen's logs may be, it is packed."""
    dtype = found.dtype or ""
    code = _TYPES.get(dtype.removeprefix("CUDNN_DATA_")) or _MIOPEN_TYPES.get(dtype)
    strides = found.strides
    if found.dims is not None and strides is None and dtype in _MIOPEN_TYPES:
        strides = packed(found.dims, "nchw")
    if code is None or found.dims is None or strides is None:
        return None
    text = f"{code}:{'x'.join(map(str, found.dims))}"
    return text if strides == packed(found.dims, "nchw") else f"{text}/{','.join(map(str, strides))}"


def _in_portadnn(name: str | None) -> str | None:
    """Return portadnn's name of an enumerator of a library's."""
    known = [value.portadnn for value in values_of_both().get(name or "", ()) if value.portadnn]
    return known[0].lower() if known else None


def _setting(value: Value) -> str | None:
    name = enumerator(value)
    if name is not None:
        return _in_portadnn(name)
    several = numbers(value)
    if several is not None:
        return ",".join(map(str, several))
    single = number(value)
    return None if single is None else f"{single:g}"


_SPELLED = {"alpha_data_diff": "alphaDataDiff", "beta_data_diff": "betaDataDiff"}
_SPELLED |= {"alpha_param_diff": "alphaParamDiff", "beta_param_diff": "betaParamDiff"}


def _scalars(situation: Situation, problem: Problem) -> dict[str, float]:
    known = {name: number(situation.value(_SPELLED.get(name, name))) for name in problem.scalars}
    return {name: value for name, value in known.items() if value is not None}


def _algo(situation: Situation, problem: Problem) -> DnnEnum | None:
    name = _in_portadnn(enumerator(situation.value("algo")))
    kind = problem.algorithms
    if name is None or kind is None:
        return None
    try:
        return kind.parse(name)
    except BadParam:
        return None
