"""Problems and solutions (Find 2.0): the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..activation import miopenActivationDescriptor_t
from ..convolution.descriptor import miopenConvolutionDescriptor_t
from ..descriptors import destroy, miopenTensorDescriptor_t, value_of
from ..names import function
from ..problems.options import (
    miopenFindOptions_t,
    miopenSetFindOptionAttachBinaries as _SetFindOptionAttachBinaries,
    miopenSetFindOptionPreallocatedTensor as _SetFindOptionPreallocatedTensor,
    miopenSetFindOptionPreallocatedWorkspace as _SetFindOptionPreallocatedWorkspace,
    miopenSetFindOptionResultsOrder as _SetFindOptionResultsOrder,
    miopenSetFindOptionTuning as _SetFindOptionTuning,
    miopenSetFindOptionWorkspaceLimit as _SetFindOptionWorkspaceLimit,
)
from ..problems.problem import (
    miopenCreateActivationProblem as _CreateActivationProblem,
    miopenCreateBatchnormProblem as _CreateBatchnormProblem,
    miopenCreateBiasProblem as _CreateBiasProblem,
    miopenCreateConvProblem as _CreateConvProblem,
    miopenCreateMhaProblem as _CreateMhaProblem,
    miopenCreateSoftmaxProblem as _CreateSoftmaxProblem,
    miopenFuseProblems as _FuseProblems,
    miopenGetMhaDescriptor as _GetMhaDescriptor,
    miopenGetSoftmaxDescriptor as _GetSoftmaxDescriptor,
    miopenMhaDescriptor_t,
    miopenProblem_t,
    miopenSetMhaDescriptor as _SetMhaDescriptor,
    miopenSetProblemTensorDescriptor as _SetProblemTensorDescriptor,
    miopenSetSoftmaxDescriptor as _SetSoftmaxDescriptor,
    miopenSoftmaxDescriptor_t,
)
from ..problems.solution import (
    miopenFindSolutions as _FindSolutions,
    miopenGetSolutionSize as _GetSolutionSize,
    miopenGetSolutionSolverId as _GetSolutionSolverId,
    miopenGetSolutionTime as _GetSolutionTime,
    miopenGetSolutionWorkspaceSize as _GetSolutionWorkspaceSize,
    miopenLoadSolution as _LoadSolution,
    miopenRunSolution as _RunSolution,
    miopenSaveSolution as _SaveSolution,
    miopenSolution_t,
)
from ..problems.solvers import (
    miopenGetDebugFlag as _GetDebugFlag,
    miopenGetSolverIdByName as _GetSolverIdByName,
    miopenGetSolverIdConvAlgorithm as _GetSolverIdConvAlgorithm,
    miopenGetSolverName as _GetSolverName,
    miopenSetDebugFlag as _SetDebugFlag,
)
from .enums import miopenConvAlgorithm_t, miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t


@function
def miopenCreateConvProblem(operatorDesc: miopenConvolutionDescriptor_t, direction: int) -> miopenProblem_t:
    """Begin a convolution's problem.

    Return problem (since 2.19.0).

    C: ``miopenStatus_t miopenCreateConvProblem(miopenProblem_t *problem, miopenConvolutionDescriptor_t operatorDesc, miopenProblemDirection_t direction)``

    Its tensors are miopenTensorConvolutionX, W and Y in every direction, forward, backward and backward weights.
    """
    return _CreateConvProblem(operatorDesc, direction)


@function
def miopenCreateMhaProblem(operatorDesc: miopenMhaDescriptor_t, direction: int) -> miopenProblem_t:
    """Begin a problem of multi-head attention, in the direction forward or backward.

    Return problem (since 3.2.0).

    C: ``miopenStatus_t miopenCreateMhaProblem(miopenProblem_t *problem, miopenMhaDescriptor_t operatorDesc, miopenProblemDirection_t direction)``

    softmax(scale * q @ k^T + bias) @ v with descaled operands, as docs/from-miopen.md states it.
    """
    return _CreateMhaProblem(operatorDesc, direction)


@function
def miopenCreateMhaDescriptor() -> miopenMhaDescriptor_t:
    """Return mhaDesc (since 3.2.0).

    C: ``miopenStatus_t miopenCreateMhaDescriptor(miopenMhaDescriptor_t *mhaDesc)``
    """
    return miopenMhaDescriptor_t()


@function
def miopenSetMhaDescriptor(mhaDesc: miopenMhaDescriptor_t, scale: float) -> None:
    """Set the factor of q @ k^T.

    Return nothing (since 3.2.0).

    C: ``miopenStatus_t miopenSetMhaDescriptor(miopenMhaDescriptor_t mhaDesc, float scale)``
    """
    _SetMhaDescriptor(mhaDesc, scale)


@function
def miopenGetMhaDescriptor(mhaDesc: miopenMhaDescriptor_t) -> float:
    """Return the factor of q @ k^T.

    Return scale (since 3.2.0).

    C: ``miopenStatus_t miopenGetMhaDescriptor(miopenMhaDescriptor_t mhaDesc, float *scale)``
    """
    return _GetMhaDescriptor(value_of(mhaDesc, miopenMhaDescriptor_t, "mhaDesc"))


@function
def miopenCreateSoftmaxDescriptor() -> miopenSoftmaxDescriptor_t:
    """Return softmaxDesc (since 3.2.0).

    C: ``miopenStatus_t miopenCreateSoftmaxDescriptor(miopenSoftmaxDescriptor_t *softmaxDesc)``
    """
    return miopenSoftmaxDescriptor_t()


@function
def miopenSetSoftmaxDescriptor(
    softmaxDesc: miopenSoftmaxDescriptor_t, alpha: float, beta: float, algorithm: int, mode: int
) -> None:
    """Set what miopenSoftmaxForward_V2 takes.

    Return nothing (since 3.2.0).

    C: ``miopenStatus_t miopenSetSoftmaxDescriptor(miopenSoftmaxDescriptor_t softmaxDesc, float alpha, float beta, miopenSoftmaxAlgorithm_t algorithm, miopenSoftmaxMode_t mode)``
    """
    _SetSoftmaxDescriptor(softmaxDesc, alpha, beta, algorithm, mode)


@function
def miopenGetSoftmaxDescriptor(
    softmaxDesc: miopenSoftmaxDescriptor_t
) -> tuple[float, float, miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t]:
    """Return what a softmax descriptor was set to.

    Return (alpha, beta, algorithm, mode) (since 3.2.0).

    C: ``miopenStatus_t miopenGetSoftmaxDescriptor(const miopenSoftmaxDescriptor_t softmaxDesc, float *alpha, float *beta, miopenSoftmaxAlgorithm_t *algorithm, miopenSoftmaxMode_t *mode)``
    """
    return _GetSoftmaxDescriptor(value_of(softmaxDesc, miopenSoftmaxDescriptor_t, "softmaxDesc"))


@function
def miopenCreateSoftmaxProblem(operatorDesc: miopenSoftmaxDescriptor_t, direction: int) -> miopenProblem_t:
    """Begin a softmax's problem, in the direction forward or backward.

    Return problem (since 3.2.0).

    C: ``miopenStatus_t miopenCreateSoftmaxProblem(miopenProblem_t *problem, miopenSoftmaxDescriptor_t operatorDesc, miopenProblemDirection_t direction)``
    """
    return _CreateSoftmaxProblem(operatorDesc, direction)


@function
def miopenCreateActivationProblem(operatorDesc: miopenActivationDescriptor_t, direction: int) -> miopenProblem_t:
    """Begin an activation's problem, to be fused with others.

    Return problem (since 3.1.0).

    C: ``miopenStatus_t miopenCreateActivationProblem(miopenProblem_t *problem, miopenActivationDescriptor_t operatorDesc, miopenProblemDirection_t direction)``
    """
    return _CreateActivationProblem(operatorDesc, direction)


@function
def miopenCreateBatchnormProblem(mode: int, runningMeanVariance: bool, direction: int) -> miopenProblem_t:
    """Begin a normalisation's problem, to be fused with others.

    Return problem (since 3.2.0).

    C: ``miopenStatus_t miopenCreateBatchnormProblem(miopenProblem_t *problem, miopenBatchNormMode_t mode, bool runningMeanVariance, miopenProblemDirection_t direction)``

    The direction is forward (training), backward or inference. `runningMeanVariance` asks for running averages.
    """
    return _CreateBatchnormProblem(mode, runningMeanVariance, direction)


@function
def miopenCreateBiasProblem(direction: int) -> miopenProblem_t:
    """Begin a bias's problem, to be fused with others.

    Return problem (since 3.1.0).

    C: ``miopenStatus_t miopenCreateBiasProblem(miopenProblem_t *problem, miopenProblemDirection_t direction)``
    """
    return _CreateBiasProblem(direction)


@function
def miopenFuseProblems(problem1: miopenProblem_t, problem2: miopenProblem_t) -> None:
    """Append a problem, or the problems of a fused one, to the first, which becomes a fused problem.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenFuseProblems(miopenProblem_t problem1, miopenProblem_t problem2)``

    What an operation lacks as its input is what the one before returns; outputs follow from inputs.
    """
    _FuseProblems(problem1, problem2)


@function
def miopenDestroyProblem(problem: miopenProblem_t) -> None:
    """Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenDestroyProblem(miopenProblem_t problem)``
    """
    destroy(problem, miopenProblem_t, "problem")


@function
def miopenSetProblemTensorDescriptor(problem: miopenProblem_t, id: int, descriptor: miopenTensorDescriptor_t) -> None:
    """State a tensor of a problem.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenSetProblemTensorDescriptor(miopenProblem_t problem, miopenTensorArgumentId_t id, const miopenTensorDescriptor_t descriptor)``

    Of a fused problem raises BadParam: state its tensors before.
    """
    _SetProblemTensorDescriptor(problem, id, descriptor)


@function
def miopenCreateFindOptions() -> miopenFindOptions_t:
    """Return options (since 3.1.0).

    C: ``miopenStatus_t miopenCreateFindOptions(miopenFindOptions_t *options)``
    """
    return miopenFindOptions_t()


@function
def miopenDestroyFindOptions(options: miopenFindOptions_t) -> None:
    """Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenDestroyFindOptions(miopenFindOptions_t options)``
    """
    destroy(options, miopenFindOptions_t, "options")


@function
def miopenSetFindOptionTuning(options: miopenFindOptions_t, value: int) -> None:
    """Choose whether Find may tune; portadnn measures all the same.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenSetFindOptionTuning(miopenFindOptions_t options, int value)``
    """
    _SetFindOptionTuning(options, value)


@function
def miopenSetFindOptionResultsOrder(options: miopenFindOptions_t, value: int) -> None:
    """Choose the order of solutions: by time or by workspace.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenSetFindOptionResultsOrder(miopenFindOptions_t options, miopenFindResultsOrder_t value)``
    """
    _SetFindOptionResultsOrder(options, value)


@function
def miopenSetFindOptionWorkspaceLimit(options: miopenFindOptions_t, value: int) -> None:
    """Leave out solutions that need more workspace.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenSetFindOptionWorkspaceLimit(miopenFindOptions_t options, size_t value)``
    """
    _SetFindOptionWorkspaceLimit(options, value)


@function
def miopenSetFindOptionPreallocatedWorkspace(options: miopenFindOptions_t, buffer: Any, size: int) -> None:
    """Give Find a workspace; without one the handle provides it.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenSetFindOptionPreallocatedWorkspace(miopenFindOptions_t options, void *buffer, size_t size)``
    """
    _SetFindOptionPreallocatedWorkspace(options, buffer, size)


@function
def miopenSetFindOptionPreallocatedTensor(options: miopenFindOptions_t, id: int, buffer: Any) -> None:
    """Give Find the memory of a tensor; without it tensors are allocated.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenSetFindOptionPreallocatedTensor(miopenFindOptions_t options, miopenTensorArgumentId_t id, void *buffer)``
    """
    _SetFindOptionPreallocatedTensor(options, id, buffer)


@function
def miopenSetFindOptionAttachBinaries(options: miopenFindOptions_t, attach: int) -> None:
    """Ask for kernels in saved solutions; they are in the kernel cache here, and solutions stay small.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenSetFindOptionAttachBinaries(miopenFindOptions_t options, unsigned attach)``
    """
    _SetFindOptionAttachBinaries(options, attach)


@function
def miopenFindSolutions(
    handle: Handle, problem: miopenProblem_t, options: miopenFindOptions_t | None, maxSolutions: int
) -> tuple[tuple[Any, ...], int]:
    """Return the number of solutions and the solutions of a problem.

    Return (solutions, numSolutions) (since 3.1.0).

    C: ``miopenStatus_t miopenFindSolutions(miopenHandle_t handle, miopenProblem_t problem, miopenFindOptions_t options, miopenSolution_t solutions[], size_t *numSolutions, size_t maxSolutions)``

    They were run on the problem's tensors, or on zeros where options bring none. `options` may be None. Raises NotSupported with
    miopenStatusNotImplemented for an activation, a bias or a normalisation that was not fused, as MIOpen does.
    """
    return _FindSolutions(handle, problem, options, maxSolutions)


@function
def miopenRunSolution(
    handle: Handle, solution: miopenSolution_t, nInputs: int, tensors: Any, workspace: Any, workspaceSize: int
) -> None:
    """Run a solution on tensors.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenRunSolution(miopenHandle_t handle, miopenSolution_t solution, size_t nInputs, const miopenTensorArgument_t tensors[], void *workspace, size_t workspaceSize)``

    `tensors` are miopenTensorArgument_t(id, descriptor, buffer) or tuples like them; a descriptor of None is that of the problem.
    Scalars (miopenScalarBatchnormEpsilon, miopenTensorMhaMask) are numbers. The workspace is at least what the solution needs.
    """
    _RunSolution(handle, solution, nInputs, tensors, workspace, workspaceSize)


@function
def miopenDestroySolution(solution: miopenSolution_t) -> None:
    """Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenDestroySolution(miopenSolution_t solution)``
    """
    destroy(solution, miopenSolution_t, "solution")


@function
def miopenLoadSolution(data: Any, size: int) -> miopenSolution_t:
    """Return the solution that miopenSaveSolution returned as bytes.

    Return solution (since 3.1.0).

    C: ``miopenStatus_t miopenLoadSolution(miopenSolution_t *solution, const char *data, size_t size)``

    Raises BadParam for data that portadnn did not save, or another version of it did.
    """
    return _LoadSolution(data, size)


@function
def miopenSaveSolution(solution: miopenSolution_t) -> bytes:
    """Return a solution as bytes, which other processes and machines can load.

    Return data (since 3.1.0).

    C: ``miopenStatus_t miopenSaveSolution(miopenSolution_t solution, char data[])``
    """
    return _SaveSolution(solution)


@function
def miopenGetSolutionSize(solution: miopenSolution_t) -> int:
    """Return the number of bytes that miopenSaveSolution returns.

    Return size (since 3.1.0).

    C: ``miopenStatus_t miopenGetSolutionSize(miopenSolution_t solution, size_t *size)``
    """
    return _GetSolutionSize(solution)


@function
def miopenGetSolutionWorkspaceSize(solution: miopenSolution_t) -> int:
    """Return the bytes of workspace that a solution needs.

    Return workspaceSize (since 3.1.0).

    C: ``miopenStatus_t miopenGetSolutionWorkspaceSize(miopenSolution_t solution, size_t *workspaceSize)``
    """
    return _GetSolutionWorkspaceSize(solution)


@function
def miopenGetSolutionTime(solution: miopenSolution_t) -> float:
    """Return the milliseconds that a solution took when it was found.

    Return time (since 3.1.0).

    C: ``miopenStatus_t miopenGetSolutionTime(miopenSolution_t solution, float *time)``
    """
    return _GetSolutionTime(solution)


@function
def miopenGetSolutionSolverId(solution: miopenSolution_t) -> int:
    """Return the number of a solution's solver, which is portadnn's.

    Return solverId (since 3.1.0).

    C: ``miopenStatus_t miopenGetSolutionSolverId(miopenSolution_t solution, uint64_t *solverId)``
    """
    return _GetSolutionSolverId(solution)


@function
def miopenGetSolverIdConvAlgorithm(solverId: int) -> miopenConvAlgorithm_t:
    """Return the algorithm of a convolution's solver; other numbers raise BadParam with miopenStatusInvalidValue.

    Return result (since 3.1.0).

    C: ``miopenStatus_t miopenGetSolverIdConvAlgorithm(uint64_t solverId, miopenConvAlgorithm_t *result)``
    """
    return _GetSolverIdConvAlgorithm(solverId)


@function
def miopenGetSolverName(solverId: int, nameBufLen: int) -> str:
    """Return the name of a solver: portadnn's name of the algorithm. `nameBufLen` must hold it with its final zero.

    Return nameBuf (MIOpen).

    C: ``miopenStatus_t miopenGetSolverName(uint64_t solverId, char *nameBuf, size_t nameBufLen)``
    """
    return _GetSolverName(solverId, nameBufLen)


@function
def miopenGetSolverIdByName(solverName: Any) -> int:
    """Return the number of a solver, 0 for an unknown name.

    Return solverId (MIOpen).

    C: ``miopenStatus_t miopenGetSolverIdByName(const char *solverName, uint64_t *solverId)``
    """
    return _GetSolverIdByName(solverName)


@function
def miopenSetDebugFlag(flag: int, value: bool) -> None:
    """Set a flag of the process. None changes what portadnn computes.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenSetDebugFlag(miopenDebugFlag_t flag, bool value)``
    """
    _SetDebugFlag(flag, value)


@function
def miopenGetDebugFlag(flag: int) -> bool:
    """Return a flag of the process.

    Return value (MIOpen).

    C: ``miopenStatus_t miopenGetDebugFlag(miopenDebugFlag_t flag, bool *value)``
    """
    return _GetDebugFlag(flag)
