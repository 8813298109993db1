"""Calls raise DnnErrors, or Python's own TypeError about their signature, and a failed call writes nothing.

Tens of thousands of generated wrong calls of all vocabularies (native, cuDNN's and MIOpen's names, graphs) and hundreds
of command lines; tests/wrong_calls/ makes them, each by its number, the calls in processes of their own.
``python -m tests.wrong_calls --count N --seed S --backend B`` and ``python -m tests.wrong_calls.commands`` make more.
"""

from __future__ import annotations

import itertools
import logging

import pytest
from where import BACKENDS, among
from wrong_calls import commands, running
from wrong_calls.breaking import VOCABULARIES, directed
from wrong_calls.scene import Scene

COUNT = {"reference": 6_000, "opencl": 4_500}
FIRST = 3  # a third of the calls is made by `make test`
COMMANDS = 200  # command lines
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


@pytest.fixture(scope="module", params=["a third", pytest.param("the rest", marks=pytest.mark.long)])
def reports(request):
    """Counts of cases by backend, and what came of them: one process for each backend."""
    first = {backend: count // FIRST for backend, count in COUNT.items()}
    start, end = (dict.fromkeys(COUNT, 0), first) if request.param == "a third" else (first, COUNT)
    made = running.run([(backend, start[backend], 1) for backend in RUN], end, seed=0)
    return {backend: (end[backend] - start[backend], report) for backend, report in made.items()}


@pytest.mark.xdist_group("wrong_calls")
@pytest.mark.parametrize("backend", among(*COUNT))
def test_nothing_but_errors_of_portadnn(reports, backend):
    count, report = reports[backend]
    lines = [
        f"{f.kind} at {f.where}: {f.call}: {f.message}\n  {running.command(f.number, backend, 0)}"
        for f in report.failures
    ]
    assert not lines, f"{len(lines)} wrong calls went wrong:\n" + "\n".join(lines[:20])
    assert sum(report.made.values()) == count
    assert report.made.keys() == VOCABULARIES.keys()
    assert report.refused > 0.75 * count  # most are wrong, and not about signatures


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
    ("softmax_forward", "x", "hostile dlpack that raises"),
    ("softmax_forward", "x", "hostile interface of huge dims"),
    ("softmax_forward", "x", "hostile everything"),
    ("softmax_forward", "alpha", "hostile subclass of float"),
    ("convolution_forward", "workspace", "hostile __getattr__"),
    ("Handle.asarray", "array", "hostile interface of huge dims"),
    ("Handle.empty_bytes", "nbytes", "18446744073709551616"),
    ("Handle.zeros", "dims", "memoryview"),  # 200 TiB
    ("Handle", "backend", "hostile subclass of str"),
    ("Handle.set_stream", "stream", "hostile subclass of str"),
    ("get_pooling_2d_forward_output_dim", "x", "hostile everything"),
    ("derive_bn_tensor_descriptor", "x", "native object 18"),
    ("backend_graph", "uid", LARGER),
    ("backend_graph", "dims", "hostile subclass of list"),
    ("pygraph.tan", "name", "1j"),
    ("pygraph.mul", "name", "an integer array"),
    ("pygraph.min", "input1", LARGE),
    ("pygraph.rng", "offset", "1e+308"),
    ("pygraph.concatenate", "inputs", "range(0, 4611686018427387904)"),
    ("pygraph.conv_fprop", "padding", "an array of objects"),
    ("pygraph.resample", "pre_padding", "a failing generator"),
    ("pygraph.batchnorm", "peer_stats", "an endless iterator"),
    ("pygraph.build_plan_at_index", "index", "hostile __hash__"),
    ("pygraph.get_plan_name_at_index", "index", LARGER),
    ("pygraph.create_execution_plan", "engine_id", "1j"),
    ("pygraph.deselect_engines", "names", "[1, 1]"),
    ("pygraph.deselect_workspace_greater_than", "workspace", "an integer array"),
    ("pygraph.check_against", "library", "[]"),
    ("pygraph.reproducer", "seed", "hostile __index__"),
    ("pygraph.execute", "tensor_to_device_buffer", "a mapping that raises"),
    ("pygraph.execute", "tensor_to_device_buffer", "a pack with hostile everything at 3"),
    ("pygraph.execute", "tensor_to_device_buffer", "a pack with a masked array at 0"),
    ("pygraph.deserialize", "data", "hostile subclass of list"),
    ("tensor.set_ragged_offset", "ragged_offset", "a 2-d buffer"),
    ("tensor.set_dim", "dim", "range(0, 4611686018427387904)"),
    ("graph_cache", "maxsize", "0"),
    ("jit", "heur_modes", "an endless iterator"),
    ("destroy_handle", "handle", "None"),
    ("Graph", "w", "a deep list"),
    ("Graph", "heuristics", "hostile subclass of tuple"),
)
FOUND_ON = {
    "reference": (("miopenLRNBackward", "workspace", "b''"),),
    "opencl": (
        ("Handle.to_numpy", "array", "an array beyond its buffer"),
        ("Handle.to_numpy", "array", "an array before its buffer"),
        ("softmax_forward", "y", "an array far beyond its buffer"),  # memory beside it was written
        ("restore_dropout_descriptor", "states", "a buffer of objects"),
        ("set_tensor", "y", "an array of objects"),
        ("miopenRNNForwardInference", "workSpace", "hostile everything"),
        ("pygraph.execute", "tensor_to_device_buffer", "a pack with an array far beyond its buffer at 3"),
        ("pygraph.execute", "tensor_to_device_buffer", "a pack with an unaligned buffer at 0"),  # wrong results
        ("cudnnBatchNormalizationBackwardEx", "dBnBiasData", "a read-only array"),  # dz was written
        ("miopenBatchNormalizationForwardTraining_V3", "nextResultRunningVariance", "memoryview"),
    ),
}


@pytest.mark.parametrize("backend", among(*COUNT))
@pytest.mark.parametrize("call", sorted({*FOUND, *itertools.chain(*FOUND_ON.values())}), ids=lambda c: f"{c[0]}-{c[1]}")
def test_what_was_found(handles, backend, call):
    if call not in (*FOUND, *FOUND_ON.get(backend, ())):
        pytest.skip(f"it was not found on {backend}")
    made = directed(*call, handles(backend))
    copied = backend == "reference" and call[2] == "an unaligned array"  # it computes on aligned copies
    assert running.judge(made, backend) == ("accepted" if copied else "refused")
    made.scene.close()


NEVER = {"cudnnBackendExecute"}  # wrong as it is made
NEVER |= {"cudnnBackendSetAttribute of any kind"}  # finalized without the other attributes
REFUSED_VALUES = {"cudnnSetRNNBiasMode"}


@pytest.mark.parametrize("backend", among(*COUNT))
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


def test_command_lines():
    wrong, statuses = commands.run(COMMANDS, seed=0)
    assert not wrong, f"{len(wrong)} commands went wrong:\n" + "\n\n".join(wrong[:10])
    assert statuses[2] > 0.3 * COMMANDS and statuses[0] > 0.1 * COMMANDS
