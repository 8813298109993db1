"""Right arguments of MIOpen's fusion plans."""

from __future__ import annotations

from typing import Any

from portadnn import miopen

from .scene import CHANNELS, FILTER, IMAGE, Scene


def _tensor(dims: tuple[int, ...]) -> Any:
    desc = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSetTensorDescriptor(desc, 1, len(dims), dims, None)
    return desc


def _operations(scene: Scene, kind: str) -> tuple[Any, Any]:
    """Return a plan and its first operation: of a convolution, or of the named kind."""
    plan = miopen.miopenCreateFusionPlan(miopen.miopenVerticalFusion, _tensor(IMAGE))
    if kind == "Conv":
        conv = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(conv, 0, 1, 1, 1, 1, 1, 1)
        return plan, miopen.miopenCreateOpConvForward(plan, conv, _tensor(FILTER))
    makers = {
        "Bias": lambda: miopen.miopenCreateOpBiasForward(plan, _tensor(CHANNELS)),
        "Inference": lambda: miopen.miopenCreateOpBatchNormInference(plan, 1, _tensor(CHANNELS)),
        "Forward": lambda: miopen.miopenCreateOpBatchNormForward(plan, 1, True),
        "Backward": lambda: miopen.miopenCreateOpBatchNormBackward(plan, 1),
        "Activ": lambda: miopen.miopenCreateOpActivationForward(plan, 3),
        "ActivBackward": lambda: miopen.miopenCreateOpActivationBackward(plan, 3),
    }
    return plan, makers[kind]()


def plan(scene: Scene) -> Any:
    """Return a compiled plan of a convolution."""
    made, _ = _operations(scene, "Conv")
    miopen.miopenCompileFusionPlan(scene.handle, made)
    return made


def _args(scene: Scene) -> Any:
    return miopen.miopenCreateOperatorArgs()


def _full(scene: Scene) -> Any:
    args = miopen.miopenCreateOperatorArgs()
    _, op = _operations(scene, "Conv")
    miopen.miopenSetOpArgsConvForward(args, op, 1, 0, scene.array(FILTER))
    return args


def _op(kind: str) -> Any:
    return lambda scene: _operations(scene, kind)[1]


_EXECUTE: dict[str, Any] = {
    "args": _full,
    "input": lambda s: s.array(IMAGE),
    "output": lambda s: s.array(IMAGE),
    "workspace": lambda s: None,
    "workspaceSize": lambda s: 0,
}
SPECIAL: dict[str, dict[str, Any]] = {
    "miopenCreateOpBatchNormForward": {"runningMeanVariance": lambda s: True},
    "miopenFusionPlanGetOp": {"op_idx": lambda s: 0},
    "miopenDestroyOperatorArgs": {"args": _args},
    "miopenExecuteFusionPlan": _EXECUTE,
    "miopenExecuteFusionPlan_v2": _EXECUTE,
    "miopenSetOpArgsConvForward": {"args": _args, "convOp": _op("Conv")},
    "miopenSetOpArgsBiasForward": {"args": _args, "biasOp": _op("Bias")},
    "miopenSetOpArgsActivForward": {"args": _args, "activFwdOp": _op("Activ"), "activGamma": lambda s: 1.0},
    "miopenSetOpArgsActivBackward": {
        "args": _args,
        "activBwdOp": _op("ActivBackward"),
        "activGamma": lambda s: 1.0,
        "reserved": lambda s: None,
    },
    "miopenSetOpArgsBatchNormInference": {"args": _args, "bnOp": _op("Inference")},
    "miopenSetOpArgsBatchNormForward": {
        "args": _args,
        "bnOp": _op("Forward"),
        **dict.fromkeys(("runningMean", "runningVariance"), lambda s: s.array(CHANNELS)),
    },
    "miopenSetOpArgsBatchNormBackward": {"args": _args, "bnOp": _op("Backward")},
}
