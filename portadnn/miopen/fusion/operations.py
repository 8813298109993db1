"""The operations of a fusion plan: what each was created with, and the arguments of its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import BadParam
from ...ops.batch_norm import parameter_dims
from ...problem import TensorSpec
from ..activation import ActivationSettings
from ..batch_norm.passes import check_epsilon, check_pair, mode_of
from ..convolution.descriptor import ConvolutionSettings, output_dims
from ..descriptors import Opaque, made, miopenTensorDescriptor_t, value_of
from ..generated.enums import miopenActivationMode_t, miopenBatchNormMode_t
from ..names import number

Desc = miopenTensorDescriptor_t


@dataclass(frozen=True)
class Operation:
    """One operation of a plan.

    Attributes
    ----------
    letter
        In the names of sequences: C convolution, B bias, N inference, T training, A activation; G and D are the
        gradients of T and A.
    called
        What creates it.
    """

    letter: ClassVar[str]
    called: ClassVar[str]

    def output(self, spec: TensorSpec) -> TensorSpec:
        """Return what it makes of a tensor."""
        return spec


@dataclass(frozen=True)
class Convolution(Operation):
    """A convolution with a filter of that descriptor."""

    letter = "C"
    called = "miopenCreateOpConvForward"

    settings: ConvolutionSettings
    wDesc: Desc

    def output(self, spec: TensorSpec) -> TensorSpec:
        """Return the convolution's output, in the layout of its input."""
        dims = output_dims(self.settings, spec, self.wDesc.wide)
        return TensorSpec.packed(spec.dtype, dims, *([spec.format] if spec.format else []))


@dataclass(frozen=True)
class Bias(Operation):
    """The sum with a bias of that descriptor."""

    letter = "B"
    called = "miopenCreateOpBiasForward"

    bDesc: Desc

    def output(self, spec: TensorSpec) -> TensorSpec:
        """Demand a bias of the tensor's channels."""
        dims = (1, spec.dims[1], *[1] * (len(spec.dims) - 2))
        if self.bDesc.wide.dims != dims:
            raise BadParam(argument="bDesc", expected=f"{dims}", got=self.bDesc.wide.dims)
        return spec


@dataclass(frozen=True)
class Activation(Operation):
    """An activation."""

    letter = "A"
    called = "miopenCreateOpActivationForward"

    mode: miopenActivationMode_t


@dataclass(frozen=True)
class ActivationGradient(Activation):
    """An activation's gradient."""

    letter = "D"
    called = "miopenCreateOpActivationBackward"


@dataclass(frozen=True)
class Normalisation(Operation):
    """Batch normalisation of some pass; ``small`` describes its small tensors."""

    mode: miopenBatchNormMode_t
    small: Desc

    def output(self, spec: TensorSpec) -> TensorSpec:
        """Demand small tensors of the mode's dims."""
        dims = parameter_dims(spec.dims, mode_of(self.mode))
        if self.small.wide.dims != dims:
            raise BadParam(argument="bnScaleBiasMeanVarDesc", expected=f"{dims}", got=self.small.wide.dims)
        return spec


@dataclass(frozen=True)
class Inference(Normalisation):
    """Normalisation by given statistics."""

    letter = "N"
    called = "miopenCreateOpBatchNormInference"


@dataclass(frozen=True)
class Training(Normalisation):
    """Normalisation by the batch's statistics."""

    letter = "T"
    called = "miopenCreateOpBatchNormForward"

    running: bool


@dataclass(frozen=True)
class NormalisationGradient(Normalisation):
    """The gradient of normalisation by the batch's statistics."""

    letter = "G"
    called = "miopenCreateOpBatchNormBackward"


class miopenFusionOpDescriptor_t(Opaque):
    """An operation of a plan, and its place there."""

    made_by = "miopenCreateOp..."
    place = 0


class miopenOperatorArgs_t(Opaque):
    """Arguments of a plan's operations, by their places."""

    def __init__(self) -> None:
        self.value = {}


def _give(args: Any, op: Any, argument: str, kind: type[Operation], given: Any) -> None:
    target = made(args, miopenOperatorArgs_t, "args")
    operation = value_of(op, miopenFusionOpDescriptor_t, argument)
    if type(operation) is not kind:
        raise BadParam(argument=argument, expected=f"an operation of {kind.called}", got=f"one of {operation.called}")
    target.value = {**target.value, op.place: (kind, given)}


def _demand(**memory: Any) -> dict[str, Any]:
    for name, given in memory.items():
        if given is None:
            raise BadParam(argument=name, expected="memory", got="NULL")
    return memory


def _numbers(alpha: Any, beta: Any, gamma: Any) -> tuple[float, float, float]:
    return number(alpha, "activAlpha"), number(beta, "activBeta"), number(gamma, "activGamma")


def miopenSetOpArgsConvForward(args, convOp, alpha, beta, w):
    _give(args, convOp, "convOp", Convolution, _demand(w=w))


def miopenSetOpArgsBiasForward(args, biasOp, alpha, beta, bias):
    _give(args, biasOp, "biasOp", Bias, _demand(bias=bias))


def miopenSetOpArgsActivForward(args, activFwdOp, alpha, beta, activAlpha, activBeta, activGamma):
    _give(args, activFwdOp, "activFwdOp", Activation, {"numbers": _numbers(activAlpha, activBeta, activGamma)})


def miopenSetOpArgsActivBackward(args, activBwdOp, alpha, beta, y, reserved, activAlpha, activBeta, activGamma):
    given = {**_demand(y=y), "numbers": _numbers(activAlpha, activBeta, activGamma)}
    _give(args, activBwdOp, "activBwdOp", ActivationGradient, given)


def miopenSetOpArgsBatchNormInference(args, bnOp, alpha, beta, epsilon, **memory):
    _give(args, bnOp, "bnOp", Inference, {**_demand(**memory), "epsilon": check_epsilon(epsilon)})


def miopenSetOpArgsBatchNormForward(
    args,
    bnOp,
    alpha,
    beta,
    bnScale,
    bnBias,
    savedMean,
    savedInvVariance,
    runningMean,
    runningVariance,
    expAvgFactor,
    epsilon,
):
    operation = value_of(bnOp, miopenFusionOpDescriptor_t, "bnOp")
    if isinstance(operation, Training) and operation.running:
        _demand(runningMean=runningMean, runningVariance=runningVariance)
    else:
        runningMean = runningVariance = None
    check_pair(savedMean, savedInvVariance, "savedInvVariance")
    given = {
        **_demand(bnScale=bnScale, bnBias=bnBias),
        "resultSaveMean": savedMean,
        "resultSaveInvVariance": savedInvVariance,
        "resultRunningMean": runningMean,
        "resultRunningVariance": runningVariance,
        "expAvgFactor": number(expAvgFactor, "expAvgFactor"),
        "epsilon": check_epsilon(epsilon),
    }
    _give(args, bnOp, "bnOp", Training, given)


def miopenSetOpArgsBatchNormBackward(args, bnOp, alpha, beta, **memory):
    _give(args, bnOp, "bnOp", NormalisationGradient, _demand(**memory))


def activation(operation: Activation, given: dict[str, Any]) -> ActivationSettings:
    """Return an activation with the numbers of its run."""
    return ActivationSettings(operation.mode, *given["numbers"])
