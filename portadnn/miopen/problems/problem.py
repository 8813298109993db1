"""Problems: one operation with its direction and tensors, or several that are fused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import BadParam
from ...problem import TensorSpec
from ..activation import ActivationSettings, activation_settings
from ..convolution.descriptor import ConvolutionSettings, convolution_settings, output_dims
from ..descriptors import Opaque, made, value_of, wide_of
from ..generated.enums import (
    miopenBatchNormMode_t,
    miopenProblemDirection_t,
    miopenSoftmaxAlgorithm_t,
    miopenSoftmaxMode_t,
    miopenStatus_t,
    miopenTensorArgumentId_t,
)
from ..names import boolean, number, parse

Id = miopenTensorArgumentId_t
Direction = miopenProblemDirection_t
FORWARD, BACKWARD, WEIGHTS, INFERENCE = (
    Direction.miopenProblemDirectionForward,
    Direction.miopenProblemDirectionBackward,
    Direction.miopenProblemDirectionBackwardWeights,
    Direction.miopenProblemDirectionInference,
)
Tensors = Mapping[miopenTensorArgumentId_t, TensorSpec]


@dataclass(frozen=True)
class SoftmaxSettings:
    """What a softmax descriptor was set to."""

    alpha: float
    beta: float
    algorithm: miopenSoftmaxAlgorithm_t
    mode: miopenSoftmaxMode_t


@dataclass(frozen=True)
class MhaSettings:
    """What a descriptor of multi-head attention was set to: the factor of q @ k^T."""

    scale: float


@dataclass(frozen=True)
class BatchnormSettings:
    """What a normalisation's problem was created with."""

    mode: miopenBatchNormMode_t
    running: bool


@dataclass(frozen=True)
class BiasSettings:
    """Of a bias there is nothing to set."""


Settings = ConvolutionSettings | SoftmaxSettings | MhaSettings | ActivationSettings | BatchnormSettings | BiasSettings

# Input and output of each operation, by direction: src/problem.cpp, GetInputId and GetOutputId.
ENDS: dict[tuple[type[Any], Direction], tuple[miopenTensorArgumentId_t, miopenTensorArgumentId_t]] = {
    (ConvolutionSettings, FORWARD): (Id.miopenTensorConvolutionX, Id.miopenTensorConvolutionY),
    (ActivationSettings, FORWARD): (Id.miopenTensorActivationX, Id.miopenTensorActivationY),
    (ActivationSettings, BACKWARD): (Id.miopenTensorActivationDY, Id.miopenTensorActivationDX),
    (BiasSettings, FORWARD): (Id.miopenTensorBiasX, Id.miopenTensorBiasY),
    (BatchnormSettings, FORWARD): (Id.miopenTensorBatchnormX, Id.miopenTensorBatchnormY),
    (BatchnormSettings, INFERENCE): (Id.miopenTensorBatchnormX, Id.miopenTensorBatchnormY),
    (BatchnormSettings, BACKWARD): (Id.miopenTensorBatchnormDY, Id.miopenTensorBatchnormDX),
}


@dataclass(frozen=True)
class Single:
    """One operation.

    Attributes
    ----------
    settings
        What its descriptor said; its type tells the operation.
    direction
        Its direction.
    tensors
        Its tensors, by their ids.
    """

    settings: Settings
    direction: miopenProblemDirection_t
    tensors: Tensors

    def spec(self, id: miopenTensorArgumentId_t) -> TensorSpec:
        """Return a tensor that must have been stated."""
        if id not in self.tensors:
            expected = f"{id.name} to be stated (miopenSetProblemTensorDescriptor)"
            error = BadParam(argument="problem", expected=expected, got="a problem without it")
            error.status = miopenStatus_t.miopenStatusInvalidValue
            raise error
        return self.tensors[id]

    @property
    def ends(self) -> tuple[miopenTensorArgumentId_t, miopenTensorArgumentId_t]:
        """Ids of what a fused operation takes from the one before and gives to the next."""
        found = ENDS.get((type(self.settings), self.direction))
        if found is None:
            kind = type(self.settings).__name__.removesuffix("Settings").lower()
            expected = "an operation that MIOpen fuses: convolution, bias, activation or normalisation"
            raise BadParam(argument="problem", expected=expected, got=f"{kind}, {self.direction.name}")
        return found


@dataclass(frozen=True)
class Fused:
    """Operations in order."""

    problems: tuple[Single, ...]


class miopenProblem_t(Opaque):
    """A problem."""

    made_by = "miopenCreate...Problem"


class miopenMhaDescriptor_t(Opaque):
    """The factor of multi-head attention."""


class miopenSoftmaxDescriptor_t(Opaque):
    """Factors, algorithm and mode of softmax."""


def miopenSetMhaDescriptor(mhaDesc, scale):
    made(mhaDesc, miopenMhaDescriptor_t, "mhaDesc").value = MhaSettings(number(scale, "scale"))


def miopenGetMhaDescriptor(mha):
    return mha.scale


def miopenSetSoftmaxDescriptor(softmaxDesc, alpha, beta, algorithm, mode):
    desc = made(softmaxDesc, miopenSoftmaxDescriptor_t, "softmaxDesc")
    how = parse(miopenSoftmaxAlgorithm_t, algorithm, "algorithm")
    over = parse(miopenSoftmaxMode_t, mode, "mode")
    desc.value = SoftmaxSettings(number(alpha, "alpha"), number(beta, "beta"), how, over)


def miopenGetSoftmaxDescriptor(softmax):
    return softmax.alpha, softmax.beta, softmax.algorithm, softmax.mode


def _problem(settings: Settings, direction: Any, *allowed: miopenProblemDirection_t) -> miopenProblem_t:
    parsed = parse(miopenProblemDirection_t, direction, "direction")
    if parsed not in allowed:
        raise BadParam(argument="direction", expected=" or ".join(one.name for one in allowed), got=parsed.name)
    made_problem = miopenProblem_t()
    made_problem.value = Single(settings, parsed, {})
    return made_problem


def miopenCreateConvProblem(operatorDesc, direction):
    settings: ConvolutionSettings = convolution_settings(operatorDesc, "operatorDesc")
    return _problem(settings, direction, FORWARD, BACKWARD, WEIGHTS)


def miopenCreateMhaProblem(operatorDesc, direction):
    settings = value_of(operatorDesc, miopenMhaDescriptor_t, "operatorDesc")
    return _problem(settings, direction, FORWARD, BACKWARD)


def miopenCreateSoftmaxProblem(operatorDesc, direction):
    settings = value_of(operatorDesc, miopenSoftmaxDescriptor_t, "operatorDesc")
    return _problem(settings, direction, FORWARD, BACKWARD)


def miopenCreateActivationProblem(operatorDesc, direction):
    return _problem(activation_settings(operatorDesc, "operatorDesc"), direction, FORWARD, BACKWARD)


def miopenCreateBatchnormProblem(mode, runningMeanVariance, direction):
    parsed = parse(miopenBatchNormMode_t, mode, "mode")
    settings = BatchnormSettings(parsed, boolean(runningMeanVariance, "runningMeanVariance"))
    return _problem(settings, direction, FORWARD, BACKWARD, INFERENCE)


def miopenCreateBiasProblem(direction):
    return _problem(BiasSettings(), direction, FORWARD)


def miopenSetProblemTensorDescriptor(problem, id, descriptor):
    value = value_of(problem, miopenProblem_t, "problem")
    if isinstance(value, Fused):
        raise BadParam(argument="problem", expected="one that is not fused", got="a fused one")
    place = parse(miopenTensorArgumentId_t, id, "id")
    if place is Id.miopenTensorArgumentIdInvalid:
        raise BadParam(argument="id", expected="a tensor's id", got=place.name)
    if place in value.tensors:
        raise BadParam(argument="id", expected="a tensor that is not stated yet", got=place.name)
    spec = wide_of(descriptor, "descriptor", isinstance(value.settings, ConvolutionSettings))
    problem.value = replace(value, tensors={**value.tensors, place: spec})


def miopenFuseProblems(problem1, problem2):
    first = value_of(problem1, miopenProblem_t, "problem1")
    second = value_of(problem2, miopenProblem_t, "problem2")
    joined: list[Single] = []
    for problem in (*_parts(first), *_parts(second)):
        joined.append(_connected(joined[-1] if joined else None, problem))
    problem1.value = Fused(tuple(joined))


def _parts(value: Single | Fused) -> tuple[Single, ...]:
    return value.problems if isinstance(value, Fused) else (value,)


def _connected(before: Single | None, problem: Single) -> Single:
    """Return a problem whose input is what the one before returns, and whose output follows from it."""
    source, target = problem.ends
    tensors = dict(problem.tensors)
    if before is not None and source not in tensors and before.ends[1] in before.tensors:
        tensors[source] = before.tensors[before.ends[1]]
    if source in tensors and target not in tensors:
        tensors[target] = _output(problem, tensors)
    return replace(problem, tensors=tensors)


def _output(problem: Single, tensors: Tensors) -> TensorSpec:
    spec = tensors[problem.ends[0]]
    if not isinstance(problem.settings, ConvolutionSettings):
        return spec
    w = replace(problem, tensors=tensors).spec(Id.miopenTensorConvolutionW)
    dims = output_dims(problem.settings, spec, w)
    return TensorSpec.packed(spec.dtype, dims, *([spec.format] if spec.format else []))
