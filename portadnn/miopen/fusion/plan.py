"""Fusion plans: creating, adding operations, compiling and running."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from ...dispatch.problems import check_handle
from ...errors import BadParam, DnnError, shown
from ...handle import Handle
from ...ops.batch_norm import parameter_dims
from ...problem import TensorSpec
from ..batch_norm.passes import mode_of
from ..convolution.descriptor import convolution_settings
from ..descriptors import Opaque, descriptor_of, made, miopenTensorDescriptor_t, spec_of, value_of, wide_of
from ..generated.enums import (
    miopenActivationMode_t,
    miopenBatchNormMode_t,
    miopenConvFwdAlgorithm_t,
    miopenFusionDirection_t,
    miopenStatus_t,
)
from ..names import boolean, integer, parse, refuse
from ..workspaces import given_workspace
from .operations import (
    Activation,
    ActivationGradient,
    Bias,
    Convolution,
    Inference,
    NormalisationGradient,
    Operation,
    Training,
    miopenFusionOpDescriptor_t,
    miopenOperatorArgs_t,
)
from .run import Compiled, compile_sequence, run_sequence

# What a plan may be, by the letters of its operations: src/solver/conv_ocl_dir2Dfwd_fused.cpp and
# conv_asm_1x1u_bias_activ_fused.cpp for the first line, src/solver/batchnorm/*_fused.cpp for the others. The former
# lets C, A, N and the like through as well, whose kernel then applies them in another order: they are refused here.
SEQUENCES = (
    *("C", "CB", "CA", "CBA", "CN", "CNA", "CBN", "CBNA"),
    *("NA", "TA", "GD"),
)
_UNSUPPORTED = miopenStatus_t.miopenStatusUnsupportedOp
_ALGORITHMS = (
    miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoDirect,
    miopenConvFwdAlgorithm_t.miopenConvolutionFwdAlgoWinograd,
)


@dataclass(frozen=True)
class Plan:
    """What a fusion plan is.

    Attributes
    ----------
    input, output
        The tensors at both ends.
    operations
        In order.
    algo
        The convolution's algorithm, None for the best.
    compiled
        By handle.
    """

    input: TensorSpec
    output: TensorSpec
    operations: tuple[miopenFusionOpDescriptor_t, ...] = ()
    algo: miopenConvFwdAlgorithm_t | None = None
    compiled: WeakKeyDictionary[Handle, Compiled] = field(default_factory=WeakKeyDictionary)


class miopenFusionPlanDescriptor_t(Opaque):
    """A sequence of operations."""

    made_by = "miopenCreateFusionPlan"


def _plan(fusePlanDesc: Any) -> Plan:
    plan: Plan = value_of(fusePlanDesc, miopenFusionPlanDescriptor_t, "fusePlanDesc")
    return plan


def miopenCreateFusionPlan(fuseDirection, inputDesc):
    direction = parse(miopenFusionDirection_t, fuseDirection, "fuseDirection")
    if direction is not miopenFusionDirection_t.miopenVerticalFusion:
        refuse(
            argument="fuseDirection",
            expected="miopenVerticalFusion",
            got=direction.name,
            status=miopenStatus_t.miopenStatusNotImplemented,
        )
    spec = wide_of(inputDesc, "inputDesc")
    desc = miopenFusionPlanDescriptor_t()
    desc.value = Plan(spec, spec)
    return desc


def add(fusePlanDesc: Any, operation: Operation) -> miopenFusionOpDescriptor_t:
    """Add an operation to a plan, which has to be compiled again."""
    plan = _plan(fusePlanDesc)
    op = miopenFusionOpDescriptor_t()
    op.value, op.place = operation, len(plan.operations)
    output = operation.output(plan.output)
    fusePlanDesc.value = Plan(plan.input, output, (*plan.operations, op), plan.algo)
    return op


def _copy(desc: Any, argument: str) -> miopenTensorDescriptor_t:
    return descriptor_of(spec_of(desc, argument))


def miopenCreateOpConvForward(fusePlanDesc, convDesc, wDesc):
    return add(fusePlanDesc, Convolution(convolution_settings(convDesc), _copy(wDesc, "wDesc")))


def miopenCreateOpActivationForward(fusePlanDesc, mode):
    return add(fusePlanDesc, Activation(parse(miopenActivationMode_t, mode, "mode")))


def miopenCreateOpActivationBackward(fusePlanDesc, mode):
    return add(fusePlanDesc, ActivationGradient(parse(miopenActivationMode_t, mode, "mode")))


def miopenCreateOpBiasForward(fusePlanDesc, bDesc):
    return add(fusePlanDesc, Bias(_copy(bDesc, "bDesc")))


def miopenCreateOpBatchNormInference(fusePlanDesc, bn_mode, bnScaleBiasMeanVarDesc):
    mode = parse(miopenBatchNormMode_t, bn_mode, "bn_mode")
    return add(fusePlanDesc, Inference(mode, _copy(bnScaleBiasMeanVarDesc, "bnScaleBiasMeanVarDesc")))


def miopenCreateOpBatchNormForward(fusePlanDesc, bn_mode, runningMeanVariance):
    mode, running = (
        parse(miopenBatchNormMode_t, bn_mode, "bn_mode"),
        boolean(runningMeanVariance, "runningMeanVariance"),
    )
    return add(fusePlanDesc, Training(mode, _small(fusePlanDesc, mode), running))


def miopenCreateOpBatchNormBackward(fusePlanDesc, bn_mode):
    mode = parse(miopenBatchNormMode_t, bn_mode, "bn_mode")
    return add(fusePlanDesc, NormalisationGradient(mode, _small(fusePlanDesc, mode)))


def _small(fusePlanDesc: Any, mode: miopenBatchNormMode_t) -> miopenTensorDescriptor_t:
    """Return the descriptor that miopenDeriveBNTensorDescriptor derives."""
    spec = _plan(fusePlanDesc).output
    if len(spec.dims) not in (4, 5):
        raise BadParam(argument="fusePlanDesc", expected="a tensor of 4 or 5 dims", got=spec.dims)
    return descriptor_of(TensorSpec.packed(spec.dtype.accumulator, parameter_dims(spec.dims, mode_of(mode))))


def miopenFusionPlanGetOp(fusePlanDesc, op_idx):
    operations = _plan(fusePlanDesc).operations
    place = integer(op_idx, "op_idx")
    if place >= len(operations):
        raise BadParam(argument="op_idx", expected=f"a place below {len(operations)}", got=place)
    return operations[place]


def miopenFusionPlanGetWorkSpaceSize(handle, fusePlanDesc, algo):
    _ = check_handle(handle).device
    parse(miopenConvFwdAlgorithm_t, algo, "algo")
    _plan(fusePlanDesc)
    return 0


def miopenFusionPlanConvolutionGetAlgo(fusePlanDesc, requestAlgoCount):
    _plan(fusePlanDesc)
    algos = _ALGORITHMS[: integer(requestAlgoCount, "requestAlgoCount")]
    return len(algos), algos


def miopenFusionPlanConvolutionSetAlgo(fusePlanDesc, algo):
    plan = _plan(fusePlanDesc)
    named = parse(miopenConvFwdAlgorithm_t, algo, "algo")
    fusePlanDesc.value = Plan(plan.input, plan.output, plan.operations, named)


def miopenCompileFusionPlan(handle, fusePlanDesc):
    compile_plan(handle, _plan(fusePlanDesc))


def compile_plan(handle: Handle, plan: Plan) -> None:
    """Prepare a plan for a handle."""
    check_handle(handle)
    letters = "".join(op.value.letter for op in plan.operations)
    if letters not in SEQUENCES:
        called = ", ".join(op.value.called.removeprefix("miopenCreateOp") for op in plan.operations) or "none"
        refuse(
            "MIOpen has no kernel for these operations in this order",
            argument="fusePlanDesc",
            expected=f"one of {', '.join(SEQUENCES)} (C convolution, B bias, N inference, T training, A activation, "
            "G and D gradients of T and A)",
            got=called,
            status=_UNSUPPORTED,
        )
    operations = [op.value for op in plan.operations]
    try:
        plan.compiled[handle] = compile_sequence(handle, plan.input, plan.output, operations, plan.algo)
    except DnnError as error:
        error.status = _UNSUPPORTED
        raise


def miopenExecuteFusionPlan(handle, fusePlanDesc, inputDesc, input, outputDesc, output, args):
    plan = _plan(fusePlanDesc)
    given = made(args, miopenOperatorArgs_t, "args").value
    execute_plan(handle, plan, (inputDesc, input), (outputDesc, output), given)


def miopenExecuteFusionPlan_v2(
    handle, fusePlanDesc, inputDesc, input, outputDesc, output, args, workspace, workspaceSize
):
    given_workspace(handle, workspace, workspaceSize, 0, "workspace")
    miopenExecuteFusionPlan(handle, fusePlanDesc, inputDesc, input, outputDesc, output, args)


def execute_plan(
    handle: Handle, plan: Plan, source: tuple[Any, Any], target: tuple[Any, Any], given: dict[int, Any]
) -> None:
    """Run a compiled plan with arguments by their operations' places."""
    compiled = plan.compiled.get(check_handle(handle))
    if compiled is None:
        raise BadParam(
            argument="fusePlanDesc",
            expected="a plan that was compiled for this handle (miopenCompileFusionPlan)",
            got="one that was not, or was changed since",
        )
    ends = (("inputDesc", source[0], plan.input), ("outputDesc", target[0], plan.output))
    for name, desc, wanted in ends:
        found = wide_of(desc, name)
        if found != wanted:
            raise BadParam(argument=name, expected=f"the plan's {wanted}", got=found)
    arguments = []
    for op in plan.operations:
        kind, values = given.get(op.place, (None, None))
        if kind is not type(op.value):
            wanted_call = op.value.called.replace("CreateOp", "SetOpArgs")
            got = "none" if kind is None else f"those of {shown(kind.called)}"
            raise BadParam(argument="args", expected=f"arguments of {wanted_call} at place {op.place}", got=got)
        arguments.append((op.value, values))
    run_sequence(handle, compiled, source, target, arguments)
