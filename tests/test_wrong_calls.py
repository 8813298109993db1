"""Calls raise DnnErrors, or Python's own TypeError about their signature, and a failed call writes nothing.

Tens of thousands of generated wrong calls of all three vocabularies; tests/wrong_calls/ makes them, each by its number,
in processes of their own. ``python -m tests.wrong_calls --count N --seed S --backend B`` makes more.
"""

from __future__ import annotations

import logging
import warnings

import pytest
from where import BACKENDS
from wrong_calls import running
from wrong_calls.breaking import VOCABULARIES, directed
from wrong_calls.known import KNOWN
from wrong_calls.scene import Scene

COUNT = {"reference": 30_000, "opencl": 18_000}
RUN = [backend for backend in ("reference", "opencl") if backend in BACKENDS]


@pytest.fixture(scope="module")
def handles():
    opened: dict[str, dict] = {}

    def get(backend):
        if backend not in opened:
            opened[backend] = running.open_handles(backend)
        return opened[backend]

    yield get
    for each in opened.values():
        for handle in each.values():
            handle.close()


@pytest.fixture(scope="module")
def reports():
    """What came of all cases: one process for each backend."""
    return running.run([(backend, 0, 1) for backend in RUN], COUNT, seed=0)


@pytest.mark.parametrize("backend", RUN)
def test_nothing_but_errors_of_portadnn(reports, backend):
    report = reports[backend]
    new = [f for f in report.failures if not any(known.covers(f) for known in KNOWN)]
    lines = [f"{f.kind} at {f.where}: {f.call}: {f.message}\n  {running.command(f.number, backend, 0)}" for f in new]
    assert not new, f"{len(new)} wrong calls went wrong:\n" + "\n".join(lines[:20])
    assert sum(report.made.values()) == COUNT[backend]
    assert report.made.keys() == VOCABULARIES.keys()
    assert report.refused > 0.75 * COUNT[backend]  # most are wrong, and not about signatures


def test_there_are_enough(reports):
    if set(RUN) == set(COUNT):
        assert sum(report.refused for report in reports.values()) >= 20_000


@pytest.mark.parametrize(
    "known", [known for known in KNOWN if known.backend in RUN], ids=lambda k: f"{k.backend}-{k.where}"
)
def test_what_is_known_still_fails(handles, known):
    """Otherwise its entry in known.py has to go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = running.judge(directed(*known.call, handles(known.backend)), known.backend)
    assert isinstance(outcome, running.Failure), f"mended: {known.why}"
    assert known.covers(outcome), outcome


LARGE, LARGER = "an integer of 1329 bits", "an integer of 19932 bits"  # more than float64 holds; than str() prints
FOUND = (  # what the first run found, one of each kind
    ("ActivationDescriptor", "ceiling", LARGE),
    ("LRNDescriptor", "alpha", LARGE),
    ("batch_normalization_forward_inference", "epsilon", LARGE),
    ("FilterDescriptor", "dims", "range(0, 4611686018427387904)"),
    ("TensorDescriptor", "dims", "a failing generator"),
    ("TensorSpec.parse", "text", "3"),
    ("TensorView", "spec", "None"),
    ("TensorSpec", "dims", "None"),
    ("op_tensor", "op", "hostile index and repr"),
    ("get_rnn_params_size", "x", "an array of f8"),
    ("restore_dropout_descriptor", "seed", "hostile everything"),
    ("rnn_forward_training", "batch_sizes", "a tuple with an integer of 6000 digits"),
    ("Handle", "find_db", "a masked array"),
    ("cudnnGetProperty", "type", "a float array"),
    ("cudnnGetErrorString", "status", "a float array"),
    ("cudnnGetRNNLinLayerMatrixParams", "linLayerMatDesc", "a tuple with an integer of 6000 digits"),
    ("cudnnSetRNNDescriptor_v8", "hiddenSize", "an integer array"),
    ("cudnnSetRNNDataDescriptor", "batchSize", LARGER),
    ("cudnnSetRNNDescriptor_v8", "dataType", "hostile index and repr"),
    ("cudnnNormalizationForwardInference", "alpha", "an array of f8"),
    ("cudnnNormalizationBackward", "alphaDataDiff", "1j"),  # dz was written
    ("cudnnBatchNormalizationBackwardEx", "dxData", "an unaligned array"),  # the same
    ("cudnnRNNForward", "y", "an unaligned array"),  # hy and cy were written
    ("cudnnRNNBackwardData_v8", "dx", "an unaligned array"),  # the same
    ("cudnnBackendSetAttribute", "arrayOfElements", "hostile everything"),
    ("miopenBatchNormalizationForwardTraining_V3", "bnScale", "an array of f2"),  # running statistics were written
    ("miopenBatchNormForwardTrainingActivation_V2", "yDesc", "None"),  # the same
    ("miopenBatchNormBackwardActivation", "xDesc", "a cudnnTensorDescriptor_t:image"),
    ("miopenBatchNormalizationBackward", "betaParamDiff", "an array of f8"),
    ("miopenGetConvolutionForwardOutputDim", "filterDesc", "a deep list"),
    ("miopenSetRNNDescriptor", "direction", LARGER),
)


@pytest.mark.parametrize("backend", RUN)
@pytest.mark.parametrize("call", FOUND, ids=lambda call: f"{call[0]}-{call[1]}")
def test_what_was_found(handles, backend, call):
    made = directed(*call, handles(backend))
    assert running.judge(made, backend) == "refused"
    made.scene.close()


NEVER = {"cudnnBackendExecute", "miopenCTCLoss", "miopenGetCTCLossWorkspaceSize"}  # wrong, or refused, as they are made
REFUSED_VALUES = {"cudnnSetRNNBiasMode"}


@pytest.mark.parametrize("backend", RUN)
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_the_calls_that_are_broken_are_right(handles, backend, vocabulary):
    logging.disable(logging.CRITICAL)
    try:
        for name, make in VOCABULARIES[vocabulary].items():
            scene = Scene(handles(backend))
            call = make(scene)
            refused = "Not supported" in (call.function.__doc__ or "") or name in NEVER | REFUSED_VALUES
            if not refused:
                call()
            scene.close()
    finally:
        logging.disable(logging.NOTSET)
