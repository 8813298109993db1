"""Which algorithm is best for a recurrent network (cuDNN 7.1 to 8).

Every algorithm of ``cudnnRNNAlgo_t`` runs the engine that the backend chooses for the network. So the pass runs once,
on the caller's memory, and what it took holds for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import portadnn as dnn

from ...arguments import as_integer, as_real
from ...dispatch.problems import check_handle
from ...errors import BadParam
from ...handle import Handle
from ..algorithms import AlgorithmDescriptor, AlgorithmPerformance
from ..calls import c_value
from ..descriptors import made, value_of
from . import calls
from .descriptors import RNNDescriptor

_ALGOS = 4  # STANDARD, PERSIST_STATIC, PERSIST_DYNAMIC, PERSIST_STATIC_SMALL_H


def cudnnSetRNNAlgorithmDescriptor(handle, rnnDesc, algoDesc):
    check_handle(handle)
    made(rnnDesc, RNNDescriptor, "rnnDesc")
    number = value_of(algoDesc, AlgorithmDescriptor, "algoDesc")
    if number >= _ALGOS:
        raise BadParam(argument="algoDesc", expected="an algorithm of cudnnRNNAlgo_t", got=number)
    rnnDesc.algo = number


def _count(handle: Handle) -> int:
    check_handle(handle)
    return _ALGOS


def cudnnGetRNNForwardInferenceAlgorithmMaxCount(handle, rnn):
    return _count(handle)


def cudnnGetRNNForwardTrainingAlgorithmMaxCount(handle, rnn):
    return _count(handle)


def cudnnGetRNNBackwardDataAlgorithmMaxCount(handle, rnn):
    return _count(handle)


def cudnnGetRNNBackwardWeightsAlgorithmMaxCount(handle, rnn):
    return _count(handle)


def _found(
    handle: Handle, network: tuple[Any, RNNDescriptor], steps: Any, wanted: tuple[Any, Any], run: Callable[[], None]
) -> tuple[int, list[AlgorithmPerformance]]:
    """Run a pass, and return what it took for as many algorithms as are wanted, the network's own first."""
    (rnn, described), (intensity, requested) = network, wanted
    as_real(intensity, "findIntensity")
    count = min(as_integer(requested, "requestedAlgoCount", 1), _ALGOS)
    memory = dnn.get_rnn_workspace_size(handle, rnn, steps)
    handle.synchronize()
    start = time.perf_counter()
    run()
    handle.synchronize()
    milliseconds = (time.perf_counter() - start) * 1e3
    others = [number for number in range(_ALGOS) if number != described.algo]
    results = []
    for number in (described.algo, *others)[:count]:
        algo, performance = AlgorithmDescriptor(), AlgorithmPerformance()
        algo.value = number
        performance.value = algo, c_value("cudnnStatus_t", 0, "status"), milliseconds, memory
        results.append(performance)
    return count, results


def cudnnFindRNNForwardInferenceAlgorithmEx(
    handle,
    rnn,
    rnnDesc,
    seqLength,
    xDesc,
    x,
    hx,
    cx,
    w,
    yDesc,
    y,
    hy,
    cy,
    findIntensity,
    requestedAlgoCount,
    workspace,
):
    def run() -> None:
        calls.cudnnRNNForwardInference(handle, rnn, seqLength, xDesc, x, yDesc, y, hx, cx, w, hy, cy, workspace)

    steps, wanted = calls.steps(xDesc, seqLength, "xDesc"), (findIntensity, requestedAlgoCount)
    return _found(handle, (rnn, rnnDesc), steps, wanted, run)


def cudnnFindRNNForwardTrainingAlgorithmEx(
    handle,
    rnn,
    rnnDesc,
    seqLength,
    xDesc,
    x,
    hx,
    cx,
    w,
    yDesc,
    y,
    hy,
    cy,
    findIntensity,
    requestedAlgoCount,
    workspace,
    reserveSpace,
):
    def run() -> None:
        states = (hx, cx, w, hy, cy, reserveSpace, workspace)
        calls.cudnnRNNForwardTraining(handle, rnn, seqLength, xDesc, x, yDesc, y, *states)

    steps, wanted = calls.steps(xDesc, seqLength, "xDesc"), (findIntensity, requestedAlgoCount)
    return _found(handle, (rnn, rnnDesc), steps, wanted, run)


def cudnnFindRNNBackwardDataAlgorithmEx(
    handle,
    rnn,
    rnnDesc,
    seqLength,
    yDesc,
    y,
    dyDesc,
    dy,
    dhy,
    dcy,
    w,
    hx,
    cx,
    dxDesc,
    dx,
    dhx,
    dcx,
    findIntensity,
    requestedAlgoCount,
    workspace,
    reserveSpace,
):
    def run() -> None:
        sequences = (seqLength, yDesc, y, dyDesc, dy, dxDesc, dx)
        calls.cudnnRNNBackwardData(handle, rnn, *sequences, dhy, dcy, w, hx, cx, dhx, dcx, reserveSpace, workspace)

    steps, wanted = calls.steps(dxDesc, seqLength, "dxDesc"), (findIntensity, requestedAlgoCount)
    return _found(handle, (rnn, rnnDesc), steps, wanted, run)


def cudnnFindRNNBackwardWeightsAlgorithmEx(
    handle,
    rnn,
    rnnDesc,
    seqLength,
    xDesc,
    x,
    hx,
    yDesc,
    y,
    findIntensity,
    requestedAlgoCount,
    workspace,
    dw,
    reserveSpace,
):
    def run() -> None:
        calls.cudnnRNNBackwardWeights(handle, rnn, seqLength, xDesc, x, hx, yDesc, y, reserveSpace, dw, workspace)

    steps, wanted = calls.steps(xDesc, seqLength, "xDesc"), (findIntensity, requestedAlgoCount)
    return _found(handle, (rnn, rnnDesc), steps, wanted, run)
