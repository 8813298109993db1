"""Fused problems as fusion plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import BadParam
from ...handle import Handle
from ...ops.batch_norm import parameter_dims
from ...problem import TensorSpec
from ..activation import ActivationSettings
from ..batch_norm.passes import mode_of
from ..convolution.descriptor import ConvolutionSettings
from ..descriptors import descriptor_of
from ..fusion.operations import (
    Activation,
    ActivationGradient,
    Bias,
    Convolution,
    Inference,
    NormalisationGradient,
    Operation,
    Training,
)
from ..fusion.plan import Plan, add, compile_plan, execute_plan, miopenFusionPlanDescriptor_t
from ..generated.enums import miopenTensorArgumentId_t
from .problem import BACKWARD, FORWARD, BatchnormSettings, BiasSettings, Fused, Id, Single

# What each operation's arguments are called in a plan, and as a problem's tensors.
_INFERENCE = {
    "bnScale": Id.miopenTensorBatchnormScale,
    "bnBias": Id.miopenTensorBatchnormBias,
    "estimatedMean": Id.miopenTensorBatchnormEstimatedMean,
    "estimatedVariance": Id.miopenTensorBatchnormEstimatedVariance,
    "epsilon": Id.miopenScalarBatchnormEpsilon,
}
_TRAINING = {
    "bnScale": Id.miopenTensorBatchnormScale,
    "bnBias": Id.miopenTensorBatchnormBias,
    "resultSaveMean": Id.miopenTensorBatchnormSavedMean,
    "resultSaveInvVariance": Id.miopenTensorBatchnormSavedVariance,
    "resultRunningMean": Id.miopenTensorBatchnormRunningMean,
    "resultRunningVariance": Id.miopenTensorBatchnormRunningVariance,
    "expAvgFactor": Id.miopenScalarBatchnormExpAvgFactor,
    "epsilon": Id.miopenScalarBatchnormEpsilon,
}
_GRADIENT = {
    "x": Id.miopenTensorBatchnormX,
    "bnScale": Id.miopenTensorBatchnormScale,
    "bnBias": Id.miopenTensorBatchnormBias,
    "resultBnScaleDiff": Id.miopenTensorBatchnormScaleDiff,
    "resultBnBiasDiff": Id.miopenTensorBatchnormBiasDiff,
    "savedMean": Id.miopenTensorBatchnormSavedMean,
    "savedInvVariance": Id.miopenTensorBatchnormSavedVariance,
}
_RUNNING = ("resultRunningMean", "resultRunningVariance")


def ends(fused: Fused) -> tuple[miopenTensorArgumentId_t, miopenTensorArgumentId_t]:
    """Return the ids of a fused problem's input and output."""
    return fused.problems[0].ends[0], fused.problems[-1].ends[1]


def plan_of(fused: Fused) -> Plan:
    """Return the plan that computes a fused problem."""
    spec = fused.problems[0].spec(ends(fused)[0])
    desc = miopenFusionPlanDescriptor_t()
    desc.value = Plan(spec, spec)
    for problem in fused.problems:
        add(desc, _operation(problem))
    plan: Plan = desc.value
    last = fused.problems[-1]
    stated = last.tensors.get(last.ends[1])
    if stated is not None and stated != plan.output:
        raise BadParam(argument="problem", expected=f"{last.ends[1].name} as it follows, {plan.output}", got=stated)
    return plan


def _operation(problem: Single) -> Operation:
    settings = problem.settings
    if isinstance(settings, ConvolutionSettings):
        return Convolution(settings, descriptor_of(problem.spec(Id.miopenTensorConvolutionW)))
    if isinstance(settings, BiasSettings):
        return Bias(descriptor_of(problem.spec(Id.miopenTensorBias)))
    if isinstance(settings, ActivationSettings):
        return (Activation if problem.direction is FORWARD else ActivationGradient)(settings.mode)
    assert isinstance(settings, BatchnormSettings)
    small = descriptor_of(_small(problem, settings))
    if problem.direction is FORWARD:
        return Training(settings.mode, small, settings.running)
    return (NormalisationGradient if problem.direction is BACKWARD else Inference)(settings.mode, small)


def _small(problem: Single, settings: BatchnormSettings) -> TensorSpec:
    stated = problem.tensors.get(Id.miopenTensorBatchnormEstimatedMean)
    if stated is not None:
        return stated
    spec = problem.spec(problem.ends[0])
    return TensorSpec.packed(spec.dtype.accumulator, parameter_dims(spec.dims, mode_of(settings.mode)))


def _named(problem: Single) -> dict[str, miopenTensorArgumentId_t]:
    """Return the ids of an operation's arguments, by their names in a plan."""
    settings = problem.settings
    if isinstance(settings, ConvolutionSettings):
        return {"w": Id.miopenTensorConvolutionW}
    if isinstance(settings, BiasSettings):
        return {"bias": Id.miopenTensorBias}
    if isinstance(settings, ActivationSettings):
        return {} if problem.direction is FORWARD else {"y": Id.miopenTensorActivationY}
    assert isinstance(settings, BatchnormSettings)
    if problem.direction is BACKWARD:
        return _GRADIENT
    if problem.direction is not FORWARD:
        return _INFERENCE
    return {name: id for name, id in _TRAINING.items() if settings.running or name not in _RUNNING}


def specs(fused: Fused) -> dict[miopenTensorArgumentId_t, TensorSpec | None]:
    """Return all tensors that running takes; None for scalars."""
    source, target = ends(fused)
    plan = plan_of(fused)
    found: dict[miopenTensorArgumentId_t, TensorSpec | None] = {source: plan.input, target: plan.output}
    for problem in fused.problems:
        for name, id in _named(problem).items():
            if "Scalar" in id.name:
                found[id] = None
            elif isinstance(problem.settings, BatchnormSettings) and name != "x":
                found[id] = _small(problem, problem.settings)
            elif name in ("x", "y"):
                found[id] = problem.tensors.get(id, plan.input)
            else:
                found[id] = problem.spec(id)
    return found


def run(handle: Handle, fused: Fused, plan: Plan, values: Mapping[miopenTensorArgumentId_t, Any]) -> None:
    """Run a fused problem on its tensors."""
    if plan.compiled.get(handle) is None:
        compile_plan(handle, plan)
    given = {}
    for place, (problem, op) in enumerate(zip(fused.problems, plan.operations, strict=True)):
        named: dict[str, Any] = {name: values[id] for name, id in _named(problem).items()}
        if isinstance(problem.settings, BatchnormSettings) and problem.direction is FORWARD:
            named = dict.fromkeys(_RUNNING) | named
        if isinstance(problem.settings, ActivationSettings):
            named["numbers"] = (problem.settings.alpha, problem.settings.beta, problem.settings.gamma)
        given[place] = (type(op.value), named)
    source, target = ends(fused)
    first = (descriptor_of(plan.input), values[source])
    execute_plan(handle, plan, first, (descriptor_of(plan.output), values[target]), given)
