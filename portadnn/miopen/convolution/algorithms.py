"""MIOpen's convolution algorithms and portadnn's, and which of them a Find call found for a problem and a handle."""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from ...c_names.enumerations import CEnum
from ...dispatch.problems import check_handle
from ...enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    DnnEnum,
    Status,
)
from ...errors import BadParam
from ...handle import Handle
from ...ops.convolution import algorithms as ours
from ...problem import TensorSpec
from ..generated.enums import (
    miopenConvAlgorithm_t,
    miopenConvBwdDataAlgorithm_t,
    miopenConvBwdWeightsAlgorithm_t,
    miopenConvFwdAlgorithm_t,
    miopenConvolutionFindMode_t,
)
from .descriptor import ConvolutionSettings
from .special import check, convolve, is_special, only

GEMM, DIRECT, FFT, WINOGRAD, IMPLICIT_GEMM = (
    miopenConvAlgorithm_t.miopenConvolutionAlgoGEMM,
    miopenConvAlgorithm_t.miopenConvolutionAlgoDirect,
    miopenConvAlgorithm_t.miopenConvolutionAlgoFFT,
    miopenConvAlgorithm_t.miopenConvolutionAlgoWinograd,
    miopenConvAlgorithm_t.miopenConvolutionAlgoImplicitGEMM,
)
Algorithms = Mapping[miopenConvAlgorithm_t, tuple[DnnEnum, ...]]

# Which of portadnn's algorithms an algorithm of MIOpen's stands for: Find takes the fastest.
_FWD, _DATA, _FILTER = ConvolutionFwdAlgo, ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo
FORWARD_ALGORITHMS: Algorithms = {
    GEMM: (_FWD.GEMM, _FWD.IMPLICIT_PRECOMP_GEMM),
    DIRECT: (_FWD.DIRECT,),
    FFT: (_FWD.FFT, _FWD.FFT_TILING),
    WINOGRAD: (_FWD.WINOGRAD, _FWD.WINOGRAD_NONFUSED),
    IMPLICIT_GEMM: (_FWD.IMPLICIT_GEMM,),
}
DATA_ALGORITHMS: Algorithms = {
    GEMM: (_DATA.ALGO_0,),
    DIRECT: (_DATA.ALGO_1,),
    FFT: (_DATA.FFT, _DATA.FFT_TILING),
    WINOGRAD: (_DATA.WINOGRAD, _DATA.WINOGRAD_NONFUSED),
}
WEIGHTS_ALGORITHMS: Algorithms = {
    GEMM: (_FILTER.ALGO_0,),
    DIRECT: (_FILTER.ALGO_1,),
    WINOGRAD: (_FILTER.WINOGRAD, _FILTER.WINOGRAD_NONFUSED),
    IMPLICIT_GEMM: (_FILTER.ALGO_3,),
}

_FIRST_SOLVERS: dict[type[DnnEnum], int] = {_FWD: 1, _DATA: 101, _FILTER: 201}


def solver_id(algo: DnnEnum) -> int:
    """Return the number of a solver: of one of portadnn's algorithms in one of its directions."""
    return _FIRST_SOLVERS[type(algo)] + int(algo)


@dataclass(frozen=True)
class Computation:
    """One of portadnn's three directions: what it reads and writes, and its algorithms.

    Attributes
    ----------
    direction
        Problem class, algorithms and results.
    order
        Which of (image, filter, result) its call takes, in order.
    algorithms
        By MIOpen's.
    """

    direction: ours.Direction[Any, Any]
    order: tuple[int, int, int]
    algorithms: Algorithms

    def arranged(self, settings: ConvolutionSettings, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Return (image, filter, result) as MIOpen's direction calls them in the order of portadnn's call."""
        image, filter_, result = tensors
        if settings.transposed:
            image, result = result, image
        named = (image, filter_, result)
        return tuple(named[i] for i in self.order)


_FORWARD = Computation(ours.FORWARD, (0, 1, 2), FORWARD_ALGORITHMS)
_BACKWARD_DATA = Computation(ours.DATA, (1, 2, 0), DATA_ALGORITHMS)
_BACKWARD_FILTER = Computation(ours.FILTER, (0, 2, 1), WEIGHTS_ALGORITHMS)


@dataclass(frozen=True)
class Direction:
    """One of MIOpen's three directions.

    Attributes
    ----------
    name, find
        In words, and the Find call that belongs to it.
    algorithm
        Its enumeration.
    perf_field
        Which member of ``miopenConvAlgoPerf_t``'s union names its algorithm.
    memory
        What C calls image, filter and result.
    plain, transposed
        What computes it in the modes miopenConvolution and miopenTranspose.
    """

    name: str
    find: str
    algorithm: type[CEnum]
    perf_field: str
    memory: tuple[str, str, str]
    plain: Computation
    transposed: Computation

    def computation(self, settings: ConvolutionSettings) -> Computation:
        """Return what computes it."""
        return self.transposed if settings.transposed else self.plain


FORWARD = Direction(
    "forward",
    "miopenFindConvolutionForwardAlgorithm",
    miopenConvFwdAlgorithm_t,
    "fwd_algo",
    ("x", "w", "y"),
    _FORWARD,
    _BACKWARD_DATA,
)
DATA = Direction(
    "backward data",
    "miopenFindConvolutionBackwardDataAlgorithm",
    miopenConvBwdDataAlgorithm_t,
    "bwd_data_algo",
    ("dx", "w", "dy"),
    _BACKWARD_DATA,
    _FORWARD,
)
WEIGHTS = Direction(
    "backward weights",
    "miopenFindConvolutionBackwardWeightsAlgorithm",
    miopenConvBwdWeightsAlgorithm_t,
    "bwd_weights_algo",
    ("x", "dw", "dy"),
    _BACKWARD_FILTER,
    _BACKWARD_FILTER,
)


@dataclass(frozen=True)
class miopenConvAlgoPerf_t:
    """What Find says of an algorithm.

    Attributes
    ----------
    fwd_algo, bwd_weights_algo, bwd_data_algo
        The algorithm, in the attribute of the direction; the others are None. (C has a union.)
    time : float
        Milliseconds.
    memory : int
        Bytes of workspace.
    """

    fwd_algo: miopenConvFwdAlgorithm_t | None = None
    bwd_weights_algo: miopenConvBwdWeightsAlgorithm_t | None = None
    bwd_data_algo: miopenConvBwdDataAlgorithm_t | None = None
    time: float = 0.0
    memory: int = 0


@dataclass(frozen=True)
class miopenConvSolution_t:
    """What the immediate mode says of a solution.

    Attributes
    ----------
    time : float
        Milliseconds, estimated.
    workspace_size : int
        Bytes.
    solution_id : int
        What the other calls take: the number of a solver (miopenGetSolverName).
    algorithm : miopenConvAlgorithm_t
        The algorithm.
    """

    time: float
    workspace_size: int
    solution_id: int
    algorithm: miopenConvAlgorithm_t


@dataclass(frozen=True)
class Found:
    """One of portadnn's algorithms that takes a problem, and its workspace."""

    algo: DnnEnum
    time: float
    memory: int


Key = tuple[str, ConvolutionSettings, TensorSpec, TensorSpec, TensorSpec]


class _Known:
    """What Find found with a handle: by problem, and the last problem of each descriptor, found by identity."""

    def __init__(self) -> None:
        self.problems: dict[Key, dict[int, Found]] = {}
        self.recent: dict[tuple[str, int], tuple[Sequence[Any], dict[int, Found]]] = {}


_FOUND: WeakKeyDictionary[Handle, _Known] = WeakKeyDictionary()


def arranged(computation: Computation, settings: ConvolutionSettings, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Return (image, filter, result) as MIOpen's direction calls them in the order of portadnn's call."""
    return computation.arranged(settings, tensors)


def by_algorithm(
    direction: Direction, settings: ConvolutionSettings, perfs: Sequence[ours.AlgoPerf[Any]]
) -> list[tuple[miopenConvAlgorithm_t, Found]]:
    """Return MIOpen's algorithms with the fastest of portadnn's for each, the fastest first."""
    found: dict[miopenConvAlgorithm_t, Found] = {}
    computation = direction.computation(settings)
    named = {algo: theirs for theirs, algos in computation.algorithms.items() for algo in algos}
    known = {int(member) for member in direction.algorithm}
    for perf in perfs:  # the fastest first
        theirs = named.get(perf.algo)
        if perf.status is not Status.SUCCESS or theirs is None or theirs not in known:
            continue
        if settings.deterministic and not perf.deterministic:
            continue
        found.setdefault(theirs, Found(perf.algo, perf.time, perf.memory))
    return list(found.items())


def search(
    direction: Direction,
    handle: Handle,
    settings: ConvolutionSettings,
    specs: Sequence[TensorSpec],
    tensors: Sequence[Any],
    workspace: Any,
    size: int,
) -> list[tuple[miopenConvAlgorithm_t, Found]]:
    """Find algorithms that do with `size` bytes: measured on the caller's tensors, but estimated in the mode "fast".

    The handle then knows the problem.
    """
    computation = direction.computation(settings)
    if is_special(specs):
        convolved = estimates(direction, handle, settings, specs)
        perfs = [replace(convolved[0], time=_measured(direction, handle, settings, specs, tensors))]
    elif settings.find_mode is miopenConvolutionFindMode_t.miopenConvolutionFindModeFast:
        perfs = estimates(direction, handle, settings, specs)
    else:
        given = arranged(computation, settings, tensors)
        perfs = ours.find_ex(computation.direction, handle, given, settings.conv, None, workspace, size)
    found = by_algorithm(direction, settings, [perf for perf in perfs if perf.memory <= size])
    known = _FOUND.setdefault(check_handle(handle), _Known())
    known.recent.clear()
    image, filter_, result = specs
    known.problems[direction.name, settings, image, filter_, result] = {int(theirs): entry for theirs, entry in found}
    return found


def _measured(
    direction: Direction,
    handle: Handle,
    settings: ConvolutionSettings,
    specs: Sequence[TensorSpec],
    tensors: Sequence[Any],
) -> float:
    """Return the milliseconds of a convolution of several steps, once it was prepared."""
    convolve(direction, handle, settings, specs, tensors)
    handle.synchronize()
    start = time.perf_counter()
    convolve(direction, handle, settings, specs, tensors)
    handle.synchronize()
    return 1e3 * (time.perf_counter() - start)


def estimates(
    direction: Direction, handle: Handle, settings: ConvolutionSettings, specs: Sequence[TensorSpec]
) -> list[ours.AlgoPerf[Any]]:
    """Return portadnn's algorithms as they are thought to do."""
    if is_special(specs):
        check(direction, settings, specs)
        return [only(direction, settings, specs)]
    computation = direction.computation(settings)
    return ours.get_v7(computation.direction, handle, arranged(computation, settings, specs), settings.conv, None)


def found_algorithm(
    direction: Direction, handle: Handle, settings: ConvolutionSettings, specs: Sequence[TensorSpec], algo: CEnum
) -> Found:
    """Return what Find found for a problem and an algorithm.

    Raises
    ------
    BadParam
        Find was not called for this problem and handle, or did not find this algorithm.
    """
    known = _FOUND.get(check_handle(handle)) or _FOUND.setdefault(handle, _Known())
    place = (direction.name, id(settings))
    recent = known.recent.get(place)
    if recent is not None and all(map(operator.is_, recent[0], (settings, *specs))):
        found: dict[int, Found] | None = recent[1]
    else:
        found = known.problems.get((direction.name, settings, specs[0], specs[1], specs[2]))
        if found is not None:
            known.recent[place] = ((settings, *specs), found)
    if found is None:
        other = any(key[0] == direction.name for key in known.problems)
        seen = "it was called for other descriptors" if other else "it was not called with this handle"
        raise BadParam(
            f"call {direction.find} first, for each problem and handle",
            argument="convDesc",
            expected=f"a problem that {direction.find} was called for",
            got=f"{', '.join(map(str, specs))} ({seen})",
        )
    entry = found.get(int(algo))
    if entry is None:
        names = ", ".join(direction.algorithm(number).name for number in found) or "none"
        raise BadParam(argument="algo", expected=f"one that {direction.find} found: {names}", got=algo.name)
    return entry
