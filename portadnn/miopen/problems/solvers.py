"""Solvers: numbers and names of what solves a problem, as MIOpen has them of its own; and its debug flags.

A convolution's solver is an algorithm of portadnn's in one of its directions. Numbers stay what they are: they are in
saved solutions.
"""

from __future__ import annotations

from ...enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DnnEnum
from ...errors import BadParam
from ..convolution.algorithms import DATA_ALGORITHMS, FORWARD_ALGORITHMS, WEIGHTS_ALGORITHMS, Algorithms, solver_id
from ..generated.enums import miopenConvAlgorithm_t, miopenDebugFlag_t, miopenStatus_t
from ..names import boolean, integer, parse

SOFTMAX, SOFTMAX_BACKWARD, MHA, MHA_BACKWARD, FUSED = 301, 302, 311, 312, 321
_OTHERS = {
    SOFTMAX: "softmax_forward",
    SOFTMAX_BACKWARD: "softmax_backward",
    MHA: "mha_forward",
    MHA_BACKWARD: "mha_backward",
    FUSED: "fusion_plan",
}
_CONVOLUTIONS: tuple[tuple[str, type[DnnEnum], Algorithms], ...] = (
    ("convolution_forward", ConvolutionFwdAlgo, FORWARD_ALGORITHMS),
    ("convolution_backward_data", ConvolutionBwdDataAlgo, DATA_ALGORITHMS),
    ("convolution_backward_filter", ConvolutionBwdFilterAlgo, WEIGHTS_ALGORITHMS),
)
NAMES = {solver_id(algo): f"{name}.{algo.name}" for name, kind, _ in _CONVOLUTIONS for algo in kind} | _OTHERS
_IDS = {name: number for number, name in NAMES.items()}
_ALGORITHMS: dict[int, miopenConvAlgorithm_t] = {
    solver_id(algo): theirs
    for _, _, algorithms in _CONVOLUTIONS
    for theirs, algos in algorithms.items()
    for algo in algos
}
_FLAGS: dict[miopenDebugFlag_t, bool] = dict.fromkeys(miopenDebugFlag_t, False)


def miopenGetSolverIdConvAlgorithm(solverId):
    found = _ALGORITHMS.get(integer(solverId, "solverId"))
    if found is None:
        error = BadParam(argument="solverId", expected="the number of a convolution's solver", got=solverId)
        error.status = miopenStatus_t.miopenStatusInvalidValue
        raise error
    return found


def miopenGetSolverName(solverId, nameBufLen):
    name = NAMES.get(integer(solverId, "solverId"))
    if name is None:
        raise BadParam(argument="solverId", expected="the number of a solver", got=solverId)
    if integer(nameBufLen, "nameBufLen") <= len(name):
        raise BadParam(argument="nameBufLen", expected=f"more than the {len(name)} bytes of {name}", got=nameBufLen)
    return name


def miopenGetSolverIdByName(solverName):
    if not isinstance(solverName, (str, bytes)):
        raise BadParam(argument="solverName", expected="a name", got=solverName)
    return _IDS.get(solverName if isinstance(solverName, str) else solverName.decode("utf-8", "replace"), 0)


def miopenSetDebugFlag(flag, value):
    _FLAGS[parse(miopenDebugFlag_t, flag, "flag")] = boolean(value, "value")


def miopenGetDebugFlag(flag):
    return _FLAGS[parse(miopenDebugFlag_t, flag, "flag")]
