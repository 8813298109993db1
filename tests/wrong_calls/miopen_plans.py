"""Right arguments of MIOpen's fusion plans, problems and solutions."""

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


def softmax(scene: Scene) -> Any:
    """Return a softmax descriptor."""
    desc = miopen.miopenCreateSoftmaxDescriptor()
    miopen.miopenSetSoftmaxDescriptor(desc, 1.0, 0.0, 1, 1)
    return desc


def mha(scene: Scene) -> Any:
    """Return a descriptor of attention."""
    desc = miopen.miopenCreateMhaDescriptor()
    miopen.miopenSetMhaDescriptor(desc, 1.0)
    return desc


def _problem(scene: Scene) -> Any:
    problem = miopen.miopenCreateSoftmaxProblem(softmax(scene), 0)
    for id in (44, 45):
        miopen.miopenSetProblemTensorDescriptor(problem, id, _tensor(IMAGE))
    return problem


def _unstated(scene: Scene) -> Any:
    return miopen.miopenCreateSoftmaxProblem(softmax(scene), 0)


def _bias(scene: Scene) -> Any:
    problem = miopen.miopenCreateBiasProblem(0)
    miopen.miopenSetProblemTensorDescriptor(problem, 43, _tensor(CHANNELS))
    return problem


def _options(scene: Scene) -> Any:
    return miopen.miopenCreateFindOptions()


_SOLUTIONS: dict[int, bytes] = {}


def _saved(scene: Scene) -> bytes:
    """Return a saved solution; finding it takes two runs."""
    key = id(scene.handle)
    if key not in _SOLUTIONS:
        found, _ = miopen.miopenFindSolutions(scene.handle, _problem(scene), None, 1)
        _SOLUTIONS[key] = miopen.miopenSaveSolution(found[0])
    return _SOLUTIONS[key]


def _solution(scene: Scene) -> Any:
    data = _saved(scene)
    return miopen.miopenLoadSolution(data, len(data))


def _tensors(scene: Scene) -> Any:
    return [(44, None, scene.array(IMAGE)), (45, None, scene.array(IMAGE))]


_SOFTMAX_ID: dict[str, Any] = {"id": lambda s: 44}
_PROBLEMS: dict[str, dict[str, Any]] = {
    **{
        name: {"options": _options, "value": lambda s: 1, "attach": lambda s: 1, "size": lambda s: 0}
        for name in (
            "miopenDestroyFindOptions",
            "miopenSetFindOptionTuning",
            "miopenSetFindOptionResultsOrder",
            "miopenSetFindOptionWorkspaceLimit",
            "miopenSetFindOptionAttachBinaries",
        )
    },
    "miopenSetFindOptionPreallocatedWorkspace": {
        "options": _options,
        "buffer": lambda s: s.buffer(64),
        "size": lambda s: 64,
    },
    "miopenSetFindOptionPreallocatedTensor": {
        **_SOFTMAX_ID,
        "options": _options,
        "buffer": lambda s: s.array(IMAGE),
    },
    "miopenCreateConvProblem": {"direction": lambda s: 0},
    "miopenCreateBatchnormProblem": {"runningMeanVariance": lambda s: True},
    "miopenSetMhaDescriptor": {"scale": lambda s: 1.0},
    "miopenSetSoftmaxDescriptor": {"alpha": lambda s: 1.0, "beta": lambda s: 0.0},
    "miopenFuseProblems": {"problem1": _bias, "problem2": _bias},
    "miopenDestroyProblem": {"problem": _problem},
    "miopenSetProblemTensorDescriptor": {**_SOFTMAX_ID, "problem": _unstated, "descriptor": lambda s: _tensor(IMAGE)},
    "miopenFindSolutions": {"problem": _problem, "options": _options, "maxSolutions": lambda s: 1},
    "miopenRunSolution": {
        "solution": _solution,
        "nInputs": lambda s: 2,
        "tensors": _tensors,
        "workspace": lambda s: None,
        "workspaceSize": lambda s: 0,
    },
    **{
        name: {"solution": _solution}
        for name in (
            "miopenDestroySolution",
            "miopenSaveSolution",
            "miopenGetSolutionSize",
            "miopenGetSolutionWorkspaceSize",
            "miopenGetSolutionTime",
            "miopenGetSolutionSolverId",
        )
    },
    "miopenLoadSolution": {"data": _saved, "size": lambda s: len(_saved(s))},
    "miopenGetSolverIdConvAlgorithm": {"solverId": lambda s: 1},
    "miopenGetSolverName": {"solverId": lambda s: 1, "nameBufLen": lambda s: 80},
    "miopenGetSolverIdByName": {"solverName": lambda s: "softmax_forward"},
    "miopenSetDebugFlag": {"value": lambda s: False},
}
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
    **_PROBLEMS,
}
