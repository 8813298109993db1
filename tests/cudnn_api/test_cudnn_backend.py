"""The cudnn backend without cuDNN: each call has the declared arguments in their places, and refusals say why.

The declarations of the porting guide say what lies where; a library that takes notes stands for the real one. On
machines with the library, ``PORTADNN_TEST_BACKENDS=reference,cudnn`` runs the tables of cases on it.
"""

from __future__ import annotations

import ctypes
import re

import cases_rnn
import numpy as np
import pytest
import vendor
from fake_cudnn import SIZE, UNSUPPORTED, Device, FakeLibrary, connect, memory, parameters

import portadnn as dnn
from portadnn import advice
from portadnn.capability.features import features, line
from portadnn.operation import operations
from portadnn.ops.rnn.problems import RNNBackwardData, RNNBackwardWeights, RNNForwardInference, RNNForwardTraining
from portadnn.problem import parse_line
from portadnn.registry import backend_names, default_backend_names, get_backend
from portadnn_backends.base import DeviceInfo
from portadnn_backends.vendor_cudnn import engines, library
from portadnn_backends.vendor_cudnn.library import Library
from portadnn_backends.vendor_cudnn.rnn_weights import Piece, pieces
from portadnn_backends.vendor_cudnn.statuses import error_of

INFO = DeviceInfo("cudnn", "none that is here", "", "gpu", "", "", schedule="gpu")
# names of parameters in C that are not those of the problem's tensors, but for the case of their letters
NAMES = {
    "bnScale": "scale", "bnBias": "bias", "bnScaleBiasMeanVarDesc": "scaleDesc", "dBnScaleBiasDesc": "scaleDesc",
    "dBnScaleResult": "dscale", "dBnBiasResult": "dbias", "estimatedMean": "estimated_mean",
    "estimatedVariance": "estimated_variance", "resultRunningMean": "running_mean", "dXdMeansDesc": "dxDesc",
    "resultRunningVariance": "running_variance", "resultSaveMean": "saved_mean", "savedMean": "saved_mean",
    "resultSaveInvVariance": "saved_inv_variance", "savedInvVariance": "saved_inv_variance",
}  # fmt: skip
NUMBERS = {
    "valuePtr": "value",
    "alphaDataDiff": "alpha_data_diff",
    "betaDataDiff": "beta_data_diff",
    "alphaParamDiff": "alpha_param_diff",
    "betaParamDiff": "beta_param_diff",
    "alphaDgrid": "alpha_dgrid",
    "betaDgrid": "beta_dgrid",
    "exponentialAverageFactor": "exponential_average_factor",
}


def plain(value):
    return getattr(value, "value", value)


def possible():
    """Yield a problem of every feature that is one, and networks with states."""
    passes = (RNNForwardInference, RNNForwardTraining, RNNBackwardData, RNNBackwardWeights)
    lines = [feature.line for op in operations() for feature in features(op)]
    for text in (*lines, *(case.line for kind in passes for case in cases_rnn.cases(kind, 8))):
        try:
            problem, numbers = parse_line(text)
        except dnn.DnnError:
            pass
        else:
            yield problem, {name: n + 2.0 for n, name in enumerate(problem.scalars)} | numbers


def ways(problem):
    return [engine for engine in engines.cudnn_engines() if isinstance(problem, engine.problems)]


def described(notes):
    """Return how each descriptor was set: the words of its last set call, and its kind, by its number."""
    found = {}
    for name, args in notes:
        if (match := re.fullmatch(r"cudnnCreate(\w+)Descriptor", name)) is not None:
            found[args[0]._obj.value] = (match[1], ())
        elif name.startswith("cudnnSet") and "Descriptor" in name and plain(args[0]) in found:
            found[plain(args[0])] = (found[plain(args[0])][0], args)
    return found


def check_call(name, args, problem, numbers, setting, kinds):
    """Hold the arguments of one call against the names that the declaration gives them."""
    memories = {plain(slot): tensor for tensor, slot in setting.slots.items()}
    places = {tensor.replace("_", "").lower(): tensor for tensor in problem.names}
    seen = set()
    for (kind, called), word in zip(parameters(name), args, strict=True):
        called = NAMES.get(called, called)
        tensor = places.get(called.removesuffix("Desc").removesuffix("desc").replace("_", "").lower())
        if (match := re.search(r"cudnn(\w+)Descriptor_t", kind)) is not None:
            made, words = kinds[plain(word)]
            assert made == match[1], f"{name}: {called} is a descriptor of {made}"
            if made == "Tensor" and tensor and called.lower().endswith("desc") and not name.startswith("cudnnRNN"):
                spec = getattr(problem, tensor)
                assert [words[1], *words[3]][: 1 + len(spec.dims)] == [int(spec.dtype), *spec.dims], f"{name}: {called}"
        elif "*" in kind and tensor is not None and not tensor.startswith(("running", "labels")):  # see further down
            assert memories.get(plain(word)) == tensor, f"{name}: {called}"
            seen.add(tensor)
        elif NUMBERS.get(called, called) in numbers:
            number = numbers[NUMBERS.get(called, called)]
            assert (plain(word) if kind == "double" else at(word, problem)) == number, f"{name}: {called}"
        elif called == "algo" and name.startswith("cudnnConvolution"):
            seen.add("algo")
    return seen


def at(pointer, problem):
    real = ctypes.c_double if problem.dtype is dnn.DataType.DOUBLE else ctypes.c_float
    return ctypes.cast(pointer, ctypes.POINTER(real))[0]


# tensors whose bytes go through copies, or which the library does not see
APART = {"states", "w", "dw", "reserve", "reserve_space", "running_mean", "running_variance", "bias", "labels"}


def test_every_argument_is_what_the_declaration_calls_it():
    """Descriptors, memory and numbers, of every operation and engine."""
    called = set()
    for problem, numbers in possible():
        for engine in ways(problem):
            connection, loaded = connect()
            try:
                setting, calls = engine.setting(connection, problem)
            except dnn.NotSupported:
                continue
            addresses = [4096 * (n + 1) for n in range(len(problem.names))]
            setting.point(addresses, [numbers[name] for name in problem.scalars], 1 << 20)
            before = len(loaded.notes)
            for call in calls:
                call()
            assert len(loaded.notes) - before == len(calls) == (problem.op != "set_dropout_descriptor")
            for name, args in loaded.notes[before:]:
                assert plain(args[0]) == connection.handle
                seen = check_call(name, args, problem, numbers, setting, described(loaded.notes))
                assert seen >= set(problem.names) - APART - ({"z"} if "z" not in problem.names else set()), name
                called.add(problem.op)
    assert called == set(operations()) - vendor.NO_CALL - {"set_dropout_descriptor"}


def prepared(text, refused=(), answers=None, **options):
    """Return the run of a problem's plan on the fake library, its arrays by name, and the library."""
    connection, loaded = connect(refused, **options)
    loaded.answers.update(answers or {})
    problem, numbers = parse_line(text)
    device = Device(INFO)
    engines._connections[device] = connection
    plan = ways(problem)[0].prepare(problem, device)
    arrays = {n: memory(np.zeros(s.span, s.dtype.numpy)) for n, s in zip(problem.names, problem.tensors, strict=True)}
    workspace = memory(np.zeros(plan.workspace_size + 1, np.uint8))
    scalars = tuple({**problem.scalars, **numbers}.values())
    return (lambda: plan.run(list(arrays.values()), scalars, workspace)), arrays, loaded, device


def test_a_plan_sets_descriptors_once_and_then_only_calls():
    run, arrays, loaded, device = prepared("softmax_forward x=f64:2x3x4x5 algorithm=log mode=channel alpha=2 beta=0.5")
    before = len(loaded.notes)
    run()
    run()
    assert [name for name, _ in loaded.notes[before:]] == ["cudnnSetStream", *["cudnnSoftmaxForward"] * 2]
    assert plain(loaded.notes[before][1][1]) == 7
    args = loaded.notes[-1][1]
    assert [plain(word) for word in args[1:3]] == [2, 1]
    assert (plain(args[5]), plain(args[8])) == (arrays["x"].data.ptr, arrays["y"].data.ptr)
    device.stream = 8
    run()
    assert [name for name, _ in loaded.notes[-2:]] == ["cudnnSetStream", "cudnnSoftmaxForward"]


def test_short_tensors_get_dims_of_one_and_keep_their_format():
    _, _, loaded, _ = prepared("scale_tensor y=f16:2x3x4:nhwc alpha=1")
    words = next(words for name, words in loaded.notes if name == "cudnnSetTensorNdDescriptor")
    assert (list(words[3]), list(words[4])) == ([2, 3, 4, 1], [12, 1, 3, 3])


@pytest.mark.parametrize(
    ("text", "math"),
    [("x=f32", "FMA"), ("x=f64", "FMA"), ("x=f16", "TENSOR_OP"), ("x=bf16", "TENSOR_OP")],
)
@pytest.mark.parametrize(("asked", "allowed"), [("default", False), ("tf32", True), ("fma", False)])
def test_tf32_is_for_those_who_ask(text, math, asked, allowed):
    kind = text[2:]
    line = f"convolution_forward x={kind}:1x2x4x4 w={kind}:3x2x3x3 math={asked}"
    _, _, loaded, _ = prepared(line)
    found = [words[1] for name, words in loaded.notes if name == "cudnnSetConvolutionMathType"]
    if kind == "f32" and allowed:
        math = "TENSOR_OP_ALLOW_CONVERSION"
    if kind in ("f16", "bf16") and asked == "fma":
        math = "FMA"
    assert found == [int(dnn.MathType[math])]


def test_each_algorithm_is_an_engine_with_its_workspace():
    problem, _ = parse_line("convolution_backward_filter x=f32:1x2x4x4 dw=f32:3x2x3x3 dy=f32:1x3x2x2")
    found = {engine.algo(problem): engine for engine in ways(problem)}
    assert set(found) == set(dnn.ConvolutionBwdFilterAlgo)
    differing = {algo for algo, engine in found.items() if not engine.deterministic}
    assert differing == {dnn.ConvolutionBwdFilterAlgo.ALGO_0, dnn.ConvolutionBwdFilterAlgo.ALGO_3}
    for algo, engine in found.items():
        connection, loaded = connect()
        setting, calls = engine.setting(connection, problem)
        assert setting.workspace >= SIZE
        setting.point((1, 2, 3), (1.0, 0.0), 1 << 20)
        calls[0]()
        name, args = loaded.notes[-1]
        assert (name, args[7].value, args[8].value, args[9].value) == (
            "cudnnConvolutionBackwardFilter", int(algo), 1 << 20, SIZE,
        )  # fmt: skip


def asked(monkeypatch, text, refused=()):
    """Return the engine that would take a problem, with the problem, where a library is there to ask."""
    monkeypatch.setitem(engines._probes, INFO.name, (Device(INFO), connect(refused)[0]))
    problem, _ = parse_line(text)
    return ways(problem)[0], problem


def test_the_library_is_asked_before_anything_runs(monkeypatch):
    line = "convolution_forward x=f32:1x2x4x4 w=f32:3x2x3x3"
    engine, problem = asked(monkeypatch, line)
    assert engine.why_not(problem, INFO) is None
    assert engine.workspace(problem, INFO) == engine.setting(connect()[0], problem)[0].workspace >= SIZE
    query = "cudnnGetConvolutionForwardWorkspaceSize"
    engine, problem = asked(monkeypatch, line, refused=(query,))
    assert engine.why_not(problem, INFO) == f"{query}: CUDNN_STATUS_NOT_SUPPORTED"


def test_byte_buffers_are_as_large_as_the_library_wants_them(monkeypatch):
    line = "dropout_forward x=f32:2x3x4x5 dropout=0.5"
    engine, problem = asked(monkeypatch, line)
    assert engine.raw_size(problem, "reserve_space", INFO) == SIZE
    assert engine.why_not(problem, INFO) == f"reserve_space: expected at least {SIZE} bytes for cuDNN, got 16 bytes"


def test_what_the_library_refuses_in_the_call_is_not_supported():
    run, arrays, _, _ = prepared("activation_forward x=f32:2x3x4x5 mode=relu", refused=("cudnnActivationForward",))
    with pytest.raises(dnn.NotSupported, match="cudnnActivationForward: CUDNN_STATUS_NOT_SUPPORTED"):
        run()
    assert not arrays["y"].any()


def test_a_call_that_a_version_lacks_is_a_reason():
    with pytest.raises(dnn.NotSupported, match=r"cuDNN 9\.19\.0 has no cudnnSpatialTfSamplerForward"):
        prepared("spatial_tf_sampler_forward x=f32:1x1x2x2 grid=f32:1x2x2x2", lacks=("cudnnSpatialTfSamplerForward",))


@pytest.mark.parametrize(("number", "text"), [(91900, "9.19.0"), (90100, "9.1.0"), (8907, "8.9.7"), (8000, "8.0.0")])
def test_versions(number, text):
    assert Library(FakeLibrary(version=number)).version_text == text


def test_other_versions_are_refused():
    with pytest.raises(dnn.NotSupported, match=r"cuDNN 7\.6\.5; 8 and 9 are known"):
        Library(FakeLibrary(version=7605))


@pytest.mark.parametrize(
    ("error", "statuses"),
    [
        (dnn.NotInitialized, (1, 1001, 1002)),
        (dnn.AllocFailed, (2, 4003, 4004)),
        (dnn.BadParam, (3, 2000, 2002, 2007)),
        (dnn.InternalError, (4, 4000, 4001, 77)),
        (dnn.ArchMismatch, (6, 3007)),
        (dnn.ExecutionFailed, (8, 5000, 5003)),
        (dnn.NotSupported, (9, 3000, 3002, 3003)),
    ],
)
def test_statuses_of_both_versions(error, statuses):
    assert {error_of(status) for status in statuses} == {error}
    assert error_of(UNSUPPORTED) is dnn.NotSupported


# dropout, batch normalisation, parameters of networks


def states(seed, draw):
    return memory(np.array([seed, draw, 0, 0], "<u8").view(np.uint8))


def test_labels_in_rows_are_gathered_and_gradients_begin_at_zero():
    line = "ctc_loss probs=f32:4x3x5 labels=i32:3x4 label_lengths=i32:3 input_lengths=i32:3 costs=f32:3"
    problem = dnn.parse(f"{line} gradients=f32:4x3x5 normalization=none max_label_length=3")
    (engine,) = ways(problem)
    connection, loaded = connect()
    setting, (call,) = engine.setting(connection, problem)
    rows = memory(np.arange(12, dtype=np.int32).reshape(3, 4))
    arrays = [memory(np.zeros(60, np.float32)), rows, memory(np.int32([2, 0, 3])), memory(np.int32([4, 4, 4]))]
    arrays += [memory(np.zeros(3, np.float32)), memory(np.zeros(60, np.float32))]
    work = memory(np.zeros(setting.workspace, np.uint8))
    setting.point([array.data.ptr for array in arrays], [], work.data.ptr)
    device = HostMemory()
    for step in setting.before:
        step(device)
    call()
    assert [name for name, _ in loaded.notes[-2:]] == ["cudnnSetTensor", "cudnnCTCLoss_v8"]
    args = [plain(arg) for arg in loaded.notes[-1][1]]
    labels = (ctypes.c_int * 5).from_address(args[5])
    assert [*labels] == [0, 1, 8, 9, 10]
    assert args[11] == SIZE and args[6:9] == [arrays[i].data.ptr for i in (2, 3, 4)]
    words = [plain(arg) for arg in dict(loaded.notes)["cudnnSetCTCLossDescriptor_v9"][1:]]
    assert words == [0, 0, 0, 3]


class HostMemory:
    """The host's memory, as the steps around a call see a device's."""

    def read(self, source, nbytes):
        return ctypes.string_at(source, nbytes)

    def write(self, target, data):
        ctypes.memmove(target, data, len(data))


def test_a_draw_takes_its_seed_from_the_states_and_moves_them_on():
    run, arrays, loaded, _ = prepared("dropout_forward x=f32:8x8x8x8 dropout=0.25")
    seeds = []
    for draw in (0, 1, 0):
        arrays["states"][:32] = states(5, draw)
        run()
        assert arrays["states"].view("<u8")[:2].tolist() == [5, draw + 1]
        args = [args for name, args in loaded.notes if name == "cudnnSetDropoutDescriptor"][-1]
        assert args[2].value == 0.25
        seeds.append(args[5].value)
    assert seeds[0] == seeds[2] != seeds[1]


def test_states_begin_as_on_every_backend(reference):
    run, arrays, _, _ = prepared("set_dropout_descriptor seed=77")
    arrays["states"][:] = 9
    run()
    want = dnn.set_dropout_descriptor(reference, 0.5, seed=77).states
    assert arrays["states"].tobytes() == want.tobytes()


@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_running_statistics_that_do_not_count_are_zeros_to_the_library(factor):
    line = "batch_normalization_forward_training x=f32:2x3x4x5 running_mean=f32:1x3x1x1 running_variance=f32:1x3x1x1"
    read = []

    def average(*args):
        mean = np.frombuffer((ctypes.c_float * 3).from_address(args[12].value), np.float32)
        read.append(mean.copy())
        mean += 1

    answers = {"cudnnBatchNormalizationForwardTraining": average}
    run, arrays, _, _ = prepared(f"{line} exponential_average_factor={factor}", answers=answers)
    arrays["running_mean"][:] = (1, 2, 3)
    run()
    assert read[0].tolist() == ([0, 0, 0] if factor == 1 else [1, 2, 3])
    assert arrays["running_mean"].tolist() == ([1, 1, 1] if factor == 1 else [2, 3, 4])


NETWORK = "rnn_forward_inference x=f32:2x3x4 w=f32:{size}x1x1 y=f32:2x3x5 hidden_size=5 mode=gru"


def network():
    problem, _ = parse_line(NETWORK.format(size=3 * 5 * (4 + 5) + 6 * 5))
    return problem.network


def placed(network, order):
    """Return what GetRNNWeightParams answers for a library with the gates of each matrix in that order."""

    def answer(handle, rnn, layer, size, base, lin, matrix, matrix_at, bias, bias_at):
        recurrent, gate = divmod(plain(lin), 3)
        columns, where = (5 if recurrent else 4), order[gate]
        matrix_at._obj.value = plain(base) + 4 * (network.matrix(0, 0, bool(recurrent)) + where * 5 * columns)
        bias_at._obj.value = plain(base) + 4 * (network.bias(0, 0, bool(recurrent)) + where * 5)

    return answer


def test_parameters_in_portadnns_order_are_not_copied():
    connection, loaded = connect()
    net = network()
    loaded.answers["cudnnGetRNNWeightParams"] = placed(net, (0, 1, 2))
    assert pieces(connection.library, connection.handle, 1, 4 * net.size, net, 4) == (Piece(0, 0, net.size),)


def test_parameters_in_another_order_are_packed():
    net = network()
    answers = {
        "cudnnGetRNNWeightParams": placed(net, (2, 0, 1)),
        "cudnnGetRNNWeightSpaceSize": lambda handle, rnn, size: setattr(size._obj, "value", 4 * net.size),
    }
    run, arrays, loaded, _ = prepared(NETWORK.format(size=net.size), answers=answers)
    arrays["w"][:] = np.arange(net.size)
    packed = []
    loaded.answers["cudnnRNNForward"] = lambda *args: packed.append(
        np.frombuffer((ctypes.c_float * net.size).from_address(args[15].value), np.float32).copy()
    )
    run()
    parts = np.arange(net.size, dtype=np.float32)
    first = parts[: 3 * 5 * 4].reshape(3, 20)
    assert packed[0][: 3 * 5 * 4].tolist() == first[[1, 2, 0]].ravel().tolist()
    lengths = next(args[3].value for name, args in loaded.notes if name == "cudnnRNNForward")
    assert (ctypes.c_int32 * 3).from_address(lengths)[:] == [2, 2, 2]


# the backend


def test_the_backend_is_used_where_it_is_named_only(monkeypatch):
    backend = get_backend("cudnn")
    assert "cudnn" in backend_names()
    assert "cudnn" not in default_backend_names()
    monkeypatch.setattr(type(backend), "why_unavailable", lambda self: None)
    with dnn.Handle() as handle:
        assert handle.backend != "cudnn"


def test_what_is_missing_is_said(monkeypatch):
    library.load.cache_clear()
    monkeypatch.setattr(library, "library_paths", list)
    monkeypatch.setattr(advice, "_is_here", lambda package: False)
    reason = get_backend("cudnn").why_unavailable()
    assert "there is no libcudnn" in reason
    with pytest.raises(dnn.NotSupported, match="pip install nvidia-cudnn-cu13"):
        dnn.Handle("cudnn")
    monkeypatch.setattr(library, "library_paths", lambda: [ctypes.util.find_library("c")])
    with pytest.raises(dnn.NotSupported, match="it is no cuDNN"):
        library.load()


def test_what_no_legacy_call_does_is_refused_by_the_table():
    problem, _ = parse_line(line("normalization_forward"))
    with pytest.raises(dnn.NotSupported, match="no legacy call: the graph API has normalizations"):
        dnn.capability.check(ways(problem), problem, INFO)


def test_cuda_offers_the_engines_last(monkeypatch):
    backend = get_backend("cuda")
    own = tuple(backend.engines())
    monkeypatch.setenv("PORTADNN_VENDOR", "1")
    monkeypatch.setattr(library, "load", lambda: Library(FakeLibrary()))
    offered = backend.engines()[len(own) :]
    assert backend.engines()[: len(own)] == own
    assert backend.engines_version().endswith("; cuDNN 9.19.0")
    problem, _ = parse_line("convolution_forward x=f32:64x256x56x56 w=f32:256x256x3x3")
    assert any(isinstance(problem, engine.problems) for engine in offered)
    assert all(engine.seconds(problem, INFO) >= engines.LAST for engine in offered)
    kept = {kind.op for engine in offered for kind in engine.problems}
    assert not kept & {"dropout_forward", "rnn_forward_training", "rnn_backward_data", "spatial_tf_sampler_backward"}


def test_without_the_library_cuda_warns(monkeypatch):
    library.load.cache_clear()
    monkeypatch.setenv("PORTADNN_VENDOR", "1")
    monkeypatch.setattr(library, "library_paths", list)
    with pytest.warns(RuntimeWarning, match="PORTADNN_VENDOR=1: there is no libcudnn"):
        assert get_backend("cuda").engines()


def test_a_reserve_space_that_is_left_out_serves_the_engines(monkeypatch, reference):
    """An engine may want more bytes than portadnn's layout takes."""
    rnn = dnn.RNNDescriptor(3)
    x, w = np.ones((2, 1, 3), np.float32), np.ones((4 * 3 * (3 + 3) + 24, 1, 1), np.float32)
    least = dnn.get_rnn_training_reserve_size(reference, rnn, x)
    for engine in reference.engines:
        monkeypatch.setattr(engine, "raw_size", lambda *args: least + 100, raising=False)
    assert dnn.get_rnn_training_reserve_size(reference, rnn, x) == least + 100
    assert dnn.rnn_forward_training(reference, x, None, None, w, rnn)[3].nbytes == least + 100
