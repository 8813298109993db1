"""The benchmark runner: what it measures is right, its records are whole."""

import json
import os
import re
import time
from dataclasses import replace
from unittest.mock import MagicMock

import numpy as np
import pytest
from typer.testing import CliRunner

import portadnn as dnn
import portadnn.graph as pg
from portadnn.benchmarks import attention, call, cli, graphs, processors, runner, scaling, sets, timing
from portadnn.benchmarks.call import portadnn_call
from portadnn.benchmarks.peers.backends import BackendPeer
from portadnn.benchmarks.peers.frontend import FrontendPeer
from portadnn.benchmarks.peers.peer import NoEquivalent
from portadnn.benchmarks.sets import layers
from portadnn.graph.data_types import data_type
from portadnn.problem import parse_line
from portadnn.registry import get_backend

ALL_LINES = sorted({line for lines in sets.SETS.values() for line in lines})


def test_set_lines_parse():
    for line in ALL_LINES:
        problem, _ = parse_line(line)
        assert problem.flops() >= 0, line
        assert problem.bytes() > 0, line


@pytest.mark.parametrize("network", layers.NETWORKS)
def test_layers_are_distinct_and_named_for_what_they_are(network):
    found = layers.NETWORKS[network]
    assert len({layer.name for layer in found}) == len({layer[1:] for layer in found}) == len(found)
    for direction in sets.DIRECTIONS:
        for layer in found:
            problem, _ = parse_line(layers.problem_line(layer, direction, 2, "f16", "nhwc"))
            assert problem.flops() == 4 * layer.k * np.prod(layer.output) * layer.c // layer.groups * layer.r * layer.s


def test_resnet50_has_its_layers():
    """He et al. 2015 count 3.8e9 multiply-adds in all layers; the 23 distinct ones have about half of them."""
    found = layers.NETWORKS["resnet50"]
    assert len(found) == 23
    assert sum(parse_line(layers.problem_line(layer, "forward", 1))[0].flops() for layer in found) == 3935404032
    assert len(layers.SEVEN) == 7


SMALL = [
    "activation_forward x=f32:2x3x4x5 mode=relu",
    "activation_backward x=f32:2x3x4x5 mode=tanh",
    "add_tensor a=f32:1x3x1x1 c=f32:2x3x4x5",
    "op_tensor a=f32:2x3x4x5 b=f32:2x3x4x5 operation=max",
    "scale_tensor y=f32:2x3x4x5",
    "set_tensor y=f32:2x3x4x5",
    "transform_tensor x=f32:2x3x4x5 y=f32:2x3x4x5:nhwc",
    "softmax_forward x=f32:2x3x4x5",
    "softmax_backward y=f32:2x3x4x5",
    "lrn_cross_channel_forward x=f32:2x3x4x5",
    "lrn_cross_channel_backward x=f32:2x3x4x5",
    "divisive_normalization_forward x=f32:2x3x4x5",
    "divisive_normalization_backward x=f32:2x3x4x5 means=f32:2x3x4x5 dmeans=f32:2x3x4x5",
    "reduce_tensor a=f32:2x3x4x5 c=f32:2x1x4x5 indices=i32:2x1x4x5 operation=max",
    "set_dropout_descriptor seed=3",
    "rnn_forward_inference x=f32:3x2x4 w=f32:220x1x1 hidden_size=5",
    "rnn_forward_training x=f32:3x2x4 w=f32:220x1x1 hidden_size=5",
    "rnn_backward_data y=f32:3x2x5 dx=f32:3x2x4 w=f32:220x1x1 hidden_size=5",
    "rnn_backward_weights x=f32:3x2x4 y=f32:3x2x5 dw=f32:220x1x1 hidden_size=5",
    "dropout_forward x=f32:2x3x4x5 dropout=0.5",
    "dropout_backward dy=f32:2x3x4x5 dropout=0.5",
    "batch_normalization_forward_training x=f32:2x3x4x5",
    "batch_normalization_forward_inference x=f32:2x3x4x5",
    "batch_normalization_backward x=f32:2x3x4x5 saved_mean=f32:1x3x1x1 saved_inv_variance=f32:1x3x1x1",
    "batch_normalization_statistics x=f32:2x3x4x5",
    "batch_normalization_apply x=f32:2x3x4x5 means=f32:2x3x1x1",
    "batch_normalization_backward_statistics x=f32:2x3x4x5",
    "batch_normalization_backward_apply x=f32:2x3x4x5 dscales=f32:2x3x1x1",
    "normalization_forward x=f32:2x3x4x5 scale=f32:1x3x4x5 bias=f32:1x3x4x5",
    "normalization_backward x=f32:2x4x4x5 scale=f32:1x4x1x1 mode=group_norm groups=2",
    "pooling_forward x=f32:2x3x4x6 mode=max window=2,2 stride=2,2",
    "pooling_backward x=f32:2x3x4x6 mode=max window=2,2 stride=2,2",
    "convolution_forward x=f32:2x3x4x5 w=f32:4x3x3x3 padding=1,1",
    "convolution_backward_data dx=f32:2x3x4x5 w=f32:4x3x3x3 dy=f32:2x4x4x5 padding=1,1",
    "convolution_backward_filter x=f32:2x3x4x5 dw=f32:4x3x3x3 dy=f32:2x4x4x5 padding=1,1",
    "convolution_backward_bias dy=f32:2x3x4x5",
    "ctc_loss probs=f32:5x2x4 labels=i32:2x3 label_lengths=i32:2 input_lengths=i32:2",
    "convolution_bias_activation_forward x=f32:2x3x4x5 w=f32:4x3x3x3 padding=1,1 activation=relu",
    "spatial_tf_grid_generator_forward theta=f32:2x2x3 dims=2,3,4,5",
    "spatial_tf_grid_generator_backward dgrid=f32:2x4x5x2",
    "spatial_tf_sampler_forward x=f32:2x3x4x5 dims=2,3,6,7",
    "spatial_tf_sampler_backward x=f32:2x3x4x5 dims=2,3,6,7",
    "multi_head_attn_forward q=f32:3x2x1x4 k=f32:5x2x1x4 v=f32:5x2x1x4 w=f32:64 heads=2 "
    "q_proj=2 k_proj=2 v_proj=2 o_proj=4",
    "multi_head_attn_backward_data q=f32:3x2x1x4 k=f32:5x2x1x4 v=f32:5x2x1x4 w=f32:64 heads=2 "
    "q_proj=2 k_proj=2 v_proj=2 o_proj=4",
    "multi_head_attn_backward_weights q=f32:3x2x1x4 k=f32:5x2x1x4 v=f32:5x2x1x4 dw=f32:64 heads=2 "
    "q_proj=2 k_proj=2 v_proj=2 o_proj=4",
    "adam param=f32:2x3x4 grad=f32:2x3x4 exp_avg=f32:2x3x4 exp_avg_sq=f32:2x3x4",
    "glu_forward x=f32:2x6x5 dim=1",
    "glu_backward x=f32:2x6x5 dy=f32:2x3x5 dim=1",
    "prelu_backward x=f32:2x3x4 weight=f32:1x3x1 dy=f32:2x3x4 dx=f32:2x3x4 dweight=f32:1x3x1",
    "rope_forward x=f32:2x3x4x6 cos=f32:1x1x4x6 sin=f32:1x1x4x6",
    "rope_backward dy=f32:2x3x4x6 cos=f32:1x1x4x6 sin=f32:1x1x4x6",
    "soft_margin_loss_forward x=f32:2x3x4 target=f32:2x3x4 reduction=mean",
    "soft_margin_loss_backward x=f32:2x3x4 target=f32:2x3x4 dloss=f32:2x3x4 reduction=sum",
    "multi_margin_loss_forward x=f32:7x5 target=i64:7 weight=f32:5 reduction=mean",
    "cat_forward x0=f32:2x3x4 x1=f32:2x1x4 dim=1",
    "kthvalue_forward x=f32:2x7x4 k=3 dim=1",
    "getitem_backward dy=f32:2x2x5 dx=f32:4x2x9 slices=2,0,9,2 offset=1",
]


def test_every_operation_has_a_small_line():
    assert {line.split()[0] for line in SMALL} == set(dnn.problem.every_problem())


@pytest.mark.parametrize("line", SMALL)
def test_every_operation_can_be_called(line):
    with dnn.Handle("reference") as handle:
        problem, scalars = parse_line(line)
        portadnn_call(handle, problem, scalars)()


def test_rounds_alternate_and_medians_are_per_call():
    calls = []
    sides = [timing.Side(name, lambda n=name: calls.append(n), lambda f: (f(), 1.0)[1]) for name in "ab"]
    result = timing.alternate(sides, rounds=5, target=3.0)
    assert [len(t.seconds) for t in result] == [5, 5]
    assert result[0].median == pytest.approx(1 / 3)
    warm_up = 2 * 3
    assert calls[warm_up : warm_up + 6] == ["a"] * 3 + ["b"] * 3


def test_rounds_are_as_long_as_asked_for_whatever_a_single_call_takes():
    made = []

    def timer(function):
        before = len(made)
        function()
        return 30.0 + len(made) - before  # thirty seconds until the end is noticed

    timing.alternate([timing.Side("", lambda: made.append(1), timer)], rounds=1, target=1000.0)
    first = len(made)
    timing.alternate([timing.Side("", lambda: made.append(1), timer)], rounds=2, target=1000.0)
    assert 400 < len(made) - 2 * first <= 1000


def test_ratio_is_the_median_of_the_rounds():
    ours, peer = timing.Timing("a", (1.0, 2.0, 4.0)), timing.Timing("b", (2.0, 2.0, 2.0))
    assert timing.ratio(ours, peer) == 1.0
    ours, peer = (timing.Timing("", (1.0,) * 3, busy) for busy in ((1.0, 2.0, 4.0), (3.0, 3.0, 3.0)))
    assert timing.processor_ratio(ours, peer) == 1.5
    assert runner.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)


def test_ratios_are_summed_up_by_operation():
    given = (("b", 1.0, 1.0), ("a", 3.0, 3.0), ("b", 4.0, 9.0))
    rows = [{"line": f"{op} x=1", "ratio": ratio, "device_ratio": alone} for op, ratio, alone in given]
    found = runner.by_operation(rows)
    assert list(found) == ["a", "b"]
    ratios = {"geometric_mean_ratio": pytest.approx(2.0), "lowest_ratio": 1.0}
    alone = {"geometric_mean_device_ratio": pytest.approx(3.0), "lowest_device_ratio": 1.0}
    assert found["b"] == {"calls": 2, **ratios, **alone}


class Queue:
    """A device as GPUs are: a call takes the host 5 s and the device 2, other work takes it 100."""

    def __init__(self):
        self.host = self.device = 0.0

    def enqueue(self, seconds):
        self.host += 5.0
        self.device = max(self.device, self.host) + seconds

    def time(self, function):
        self.host = self.device = 0.0
        function()
        return self.device


def test_queued_calls_do_not_wait_for_the_host():
    queue = Queue()
    side = timing.Side("", lambda: queue.enqueue(2.0), queue.time, lambda: queue.enqueue(100.0))
    assert queue.time(timing.repeated([side.call], 10)) == 52.0
    assert timing.queued(side, 10, rounds=3) == 2.0
    assert timing.queued(side, 4, 3, calls=[lambda: queue.enqueue(1.0), lambda: queue.enqueue(3.0)]) == 2.0


@pytest.mark.parametrize(("shortest", "alone"), [(10.0, True), (0.0, False)])
def test_short_calls_on_gpus_are_told_alone_and_beside_copies(monkeypatch, shortest, alone):
    monkeypatch.setattr(runner, "SHORT", shortest)
    with dnn.Handle("reference") as handle, dnn.Handle("reference") as other:
        monkeypatch.setattr(handle.device, "info", replace(handle.info, kind="gpu"))
        peer = BackendPeer(other)
        bench = runner.Bench(handle, peer, copy=1e9, rounds=3)
        bench._busy = peer.busy = timing.OtherWork(lambda: int, timing.wall)  # a GPU's is too much for NumPy
        (row,) = bench.measure("scale_tensor y=f32:2x3x4x5")  # reads and writes 960 bytes
    entry = runner.as_dict(row)
    assert (row.alone is not None) == ("queued" in entry) == ("device_ratio" in entry) == alone
    if alone:
        assert entry["device_ratio"] == entry["peer_queued"] / entry["queued"]
        assert entry["device_copy_fraction"] == pytest.approx(960 / entry["queued"] / 1e9)
        assert entry["same_size_copy_fraction"] > 0


def test_growth_is_relative_to_the_largest_tensors():
    rows = [
        scaling.ScalingRow("a x=1", 10, called=4.0, queued=2.0, graph=None, in_turn=3.0, sets=2),
        scaling.ScalingRow("a x=3", 100, called=20.0, queued=22.0, graph=None, in_turn=20.0, sets=1),
        scaling.ScalingRow("b x=3", 50, called=5.0, queued=5.0, graph=4.0, in_turn=5.0, sets=1),
    ]
    assert scaling.relative(rows)[0] == pytest.approx({"called": 2.0, "queued": 1.0, "graph": None, "in_turn": 1.5})
    found = scaling.slowest(rows)
    assert found["a"] == pytest.approx({"called": 2.0, "queued": 1.1, "graph": None, "in_turn": 1.5})
    assert found["b"] == pytest.approx({"called": 1.0, "queued": 1.0, "graph": 0.8, "in_turn": 1.0})
    fractions = [row["copy_fraction_queued"] for row in scaling.as_record(rows, copy=10.0)["rows"]]
    assert fractions == pytest.approx([0.5, 100 / 220, 1.0])


def test_growth_is_measured_on_as_many_arrays_as_no_cache_holds(monkeypatch):
    monkeypatch.setattr(scaling, "_CACHED", 2000)
    line = "scale_tensor y=f32:2x3x4x5"  # reads and writes 960 bytes
    with dnn.Handle("reference") as handle:
        (row,) = scaling.measure(handle, [line], rounds=3, most=2)
    assert (row.line, row.op, row.bytes, row.sets) == (line, "scale_tensor", 960, 3)
    assert row.called > 0 and row.graph is None


def test_growth_is_not_measured_on_cpus(tmp_path):
    result = CliRunner().invoke(cli.app, ["scaling", str(tmp_path), "--backend", "reference"])
    assert result.exit_code == 2 and "expected a GPU" in " ".join(result.output.split())


def test_record_is_written(tmp_path):
    path = tmp_path / "deep" / "record.json"
    result = CliRunner().invoke(
        cli.app,
        ["run", SMALL[0], "--backend", "reference", "--peer", "none", "--rounds", "3", "--json", str(path)],
    )
    assert result.exit_code == 0, result.output
    record = json.loads(path.read_text())
    row = record["groups"]["lines"]["rows"][0]
    assert row["bytes"] == 2 * 2 * 3 * 4 * 5 * 4
    assert row["seconds"] > 0
    assert row["gigabytes_per_second"] == pytest.approx(row["bytes"] / row["seconds"] / 1e9)
    assert record["device"]["backend"] == "reference"


@pytest.mark.parametrize("name", graphs.GRAPHS)
def test_graphs_of_networks_are_valid(name):
    """And differ from a single node, without which there would be nothing to fuse."""
    with dnn.Handle("reference") as handle:
        g = graphs.build(handle, name, 1, data_type.HALF)
        assert len(g._graph_frozen().operations) > 1


def test_graphs_are_recorded(tmp_path):
    backend = next((name for name in ("opencl", "cuda") if get_backend(name).why_unavailable() is None), None)
    if backend is None:
        pytest.skip("no backend with kernels")
    arguments = ["graphs", str(tmp_path), "--backend", backend, "--size", "1", "--rounds", "3"]
    result = CliRunner().invoke(cli.app, [*arguments, "--graph", "transformer: swiglu"])
    assert result.exit_code == 0, result.output
    (path,) = tmp_path.iterdir()
    record = json.loads(path.read_text())
    (row,) = record["graphs"]
    assert row["plan"] == "eng_fusion"
    assert row["ratio"] > 0 and row["host_seconds"] > 0 and row["host_processor_seconds"] > 0
    assert record["geometric_mean_ratio"] == pytest.approx(row["ratio"])
    assert record["device"]["backend"] == backend


class FakePeer:
    """Takes 3 ms for a graph with a product and fails as cuDNN does for others; counts what it is asked."""

    def __init__(self):
        self.busy_calls = 0

    def describe(self):
        return {"name": "fake", "version": 3}

    def busy(self):
        self.busy_calls += 1

    def synchronize(self):
        pass

    def call(self, name, size, dtype):
        if "swiglu" in name:
            raise graphs.Refused("no plan")
        if "gated" in name:
            raise ValueError("a mistake\nof the peer")
        return lambda: time.sleep(0.003) if size > 1 else None


@pytest.fixture
def kernels(monkeypatch):
    """A backend with kernels, beside a fake peer."""
    backend = next((name for name in ("opencl", "cuda") if get_backend(name).why_unavailable() is None), None)
    if backend is None:
        pytest.skip("no backend with kernels")
    peer = FakePeer()
    monkeypatch.setattr(cli, "frontend_peer", lambda console, handle, wanted: peer)
    return backend, peer


def test_graphs_beside_a_peer(tmp_path, kernels, monkeypatch):
    """A graph that the peer refuses, or that fails on either side, is named; the means are of the others."""
    backend, peer = kernels
    failing, build = "ResNet: convolution, bias, relu", graphs.build

    def broken(handle, name, *rest):
        if name == failing:
            raise ValueError("our mistake")
        return build(handle, name, *rest)

    monkeypatch.setattr(graphs, "build", broken)
    written = []
    monkeypatch.setattr(cli.record, "write", lambda path, facts: written.append(json.loads(json.dumps(facts))))
    names = [failing, "transformer: product, bias, gelu", "transformer: swiglu", "U-Net: gated skip"]
    arguments = ["graphs", str(tmp_path), "--backend", backend, "--size", "2", "--rounds", "3"]
    result = CliRunner().invoke(cli.app, [*arguments, *(word for name in names for word in ("--graph", name))])
    assert result.exit_code == 0, result.output
    assert [len(facts["graphs"]) for facts in written] == [1, 2, 3, 4]
    facts = written[-1]
    ours, product, refused, failed = facts["graphs"]
    assert (ours["error"], ours["seconds"]) == ("ValueError: our mistake", None)
    assert product["products"] and not refused["products"]
    assert product["peer_host_seconds"] > 0 and product["peer_note"] == product["error"] == ""
    assert (refused["peer_note"], failed["peer_note"]) == (
        "refused: no plan",
        "error: ValueError: a mistake: of the peer",
    )
    assert refused["peer_seconds"] is failed["peer_ratio"] is None and refused["ratio"] > 0
    mean = pytest.approx(product["peer_ratio"])
    assert facts["geometric_mean_peer_ratio"] == {"all": mean, "products": mean, "pointwise_and_norms": None}
    assert facts["peer"] == peer.describe() and peer.busy_calls > 0


def fake_tensor(**how):
    """Stands for a tensor of cudnn-frontend's."""
    made = MagicMock()
    made.how, made.set_output.return_value, made.set_data_type.return_value = how, made, made
    made.get_uid.return_value, made.get_data_type.return_value = id(made), how.get("data_type", data_type.HALF)
    return made


def fake_frontend():
    """Stands for cudnn-frontend's module, and for its one graph."""
    graph, frontend = MagicMock(), MagicMock(data_type=data_type, heur_mode=pg.heur_mode)
    frontend.cudnnGraphNotSupportedError = type("Refusal", (RuntimeError,), {})
    frontend.pygraph.return_value, graph.get_workspace_size.return_value = graph, 0
    graph.tensor.side_effect = fake_tensor
    graph.relu.side_effect = lambda _: fake_tensor()
    graph.batchnorm.side_effect = lambda *_: [fake_tensor() for _ in range(5)]
    return frontend, graph


def test_cudnn_frontend_gets_the_graph():
    """Batch norm has its parameters in single precision, and its two numbers by value."""
    frontend, graph = fake_frontend()
    call = FrontendPeer(frontend, MagicMock()).call("ResNet: batch norm (training), relu", 2, data_type.HALF)
    call()
    call()
    tensors = [how for _, how in graph.tensor.call_args_list]
    assert [how.get("is_pass_by_value", False) for how in tensors] == [False] * 5 + [True] * 2
    assert [how.get("data_type") for how in tensors] == [None] + [data_type.FLOAT] * 6
    assert tensors[0]["stride"] == [64 * 28 * 28, 1, 28 * 64, 64]
    packs = [len(given[0]) for given, _ in graph.execute.call_args_list]
    assert packs == [5 + 2 + 5] * 2  # inputs, numbers, outputs


def test_cudnn_frontend_refuses_a_graph():
    frontend, graph = fake_frontend()
    graph.build.side_effect = frontend.cudnnGraphNotSupportedError("no\nengine")
    with pytest.raises(graphs.Refused, match="no engine"):
        FrontendPeer(frontend, MagicMock()).call("U-Net: gated skip", 2, data_type.HALF)


def test_record_beside_another_backend(tmp_path):
    """The reference as the peer of itself would say nothing; another name than its own is needed."""
    other = next(name for name in ("opencl", "cuda", None) if name is None or not get_backend(name).why_unavailable())
    if other is None:
        pytest.skip("no second backend works here")
    path = tmp_path / "record.json"
    arguments = ["run", SMALL[0], "--backend", "reference", "--peer", other, "--rounds", "3", "--json", str(path)]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    record = json.loads(path.read_text())
    row = record["groups"]["lines"]["rows"][0]
    assert row["peer_call"] == record["peer"]["name"] == f"portadnn {other}"
    assert row["peer_seconds"] > 0


def test_unknown_peer_is_one_clear_message():
    result = CliRunner().invoke(cli.app, ["run", SMALL[0], "--backend", "reference", "--peer", "reference"])
    assert result.exit_code == 2
    assert "expected torch" in " ".join(result.output.split())


def test_large_values_repeat_on_the_device():
    """What GPUs repeat for themselves is what the host would have sent."""
    spec = dnn.problem.TensorSpec.packed(dnn.DataType.HALF, (3, 1, call.PERIOD // 2))
    with dnn.Handle("reference") as handle:
        handle.device.info = replace(handle.info, kind="gpu")
        values = handle.device.to_numpy(call.device_values(handle, spec, 5)).ravel()[: spec.span]
    np.testing.assert_array_equal(values, call.random_values(spec, 5))


def test_calls_cover_the_same_at_every_shape():
    shapes = [sets.SETS[name] for name in sets.SETS if name.startswith("calls")]
    assert len(shapes) == 5
    words = [[re.sub(r"f32:\S+", "", line) for line in lines] for lines in shapes]
    assert all(other == words[0] for other in words)


def test_bad_line_is_one_clear_message():
    result = CliRunner().invoke(cli.app, ["run", "convolve x=1", "--backend", "reference", "--peer", "none"])
    assert result.exit_code == 2
    assert "expected an operation" in result.output


@pytest.mark.parametrize("line", [line for line in SMALL if "descriptor" not in line])
def test_peer_computes_the_same_problem(line):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from portadnn.benchmarks.peers.backends import TorchPeer

    if line.startswith(("divisive", "ctc", "multi_head_attn", "adam", "rope", "getitem")):
        with pytest.raises(NoEquivalent, match="torch has no"):
            TorchPeer("cpu").sides(*parse_line(line))
        return
    (side,) = TorchPeer("cpu").sides(*parse_line(line))
    assert torch.get_num_threads() >= 1
    assert side.timer(side.call) > 0
    assert np.isfinite(side.timer(side.call))


def test_attention(tmp_path):
    """A row for each shape and direction; the peers' calls are the same attention."""
    pytest.importorskip("torch")
    file = tmp_path / "attention.json"
    words = ["--backend", "reference", "--types", "FLOAT", "--rounds", "1", "--output", str(file)]
    attention.main([*words, "--peers", "torch", "unfused", "--shapes", "1x2x2x5x7x4", "1x2x1x5x5x4 causal"])
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [(row["causal"], row["direction"], sorted(row["times_as_fast_as"])) for row in rows] == [
        (False, "forward", ["torch", "unfused"]),
        (False, "backward", ["torch"]),
        (True, "forward", ["torch"]),
        (True, "backward", ["torch"]),
    ]


def test_attention_goes_on_after_failures(tmp_path, monkeypatch):
    """What a peer or a shape meets is recorded, and the rest measured."""

    def broken(*_):
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr(attention, "torch_side", broken)
    file = tmp_path / "attention.json"
    words = ["--backend", "reference", "--types", "FLOAT", "--rounds", "1", "--output", str(file)]
    attention.main([*words, "--peers", "torch", "--shapes", "1x3x2x5x7x4", "1x2x2x5x7x4"])
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [sorted(row["failed"]) for row in rows] == [["portadnn"]] * 2 + [["torch"]] * 2
    assert rows[2]["failed"]["torch"] == "RuntimeError: out of: luck" and list(rows[2]["seconds"]) == ["portadnn"]


needs_affinity = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot choose processors")


@needs_affinity
def test_gpu_calls_come_from_the_fastest_processor(monkeypatch):
    speeds = {3: 2.0, 5: 1.0, 9: 3.0}
    affinity = [set(speeds)]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: affinity[-1])
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, processors: affinity.append(set(processors)))
    with processors.fastest(seconds=lambda: speeds[min(affinity[-1])]) as move:
        move()
        assert affinity[-1] == {5}
        speeds[3] = 0.5  # it is chosen anew
        move()
        assert affinity[-1] == {3}
    assert affinity[-1] == set(speeds)


@needs_affinity
@pytest.mark.parametrize("gpu", [True, False])
def test_rounds_move_only_beside_a_gpu(gpu):
    allowed, seen = os.sched_getaffinity(0), []
    side = timing.Side("", lambda: seen.append(os.sched_getaffinity(0)), timing.wall)
    timing.alternate([side], rounds=3, target=0.0, gpu=gpu)
    assert len(seen[-1]) == (1 if gpu else len(allowed))
    assert os.sched_getaffinity(0) == allowed


def test_processors_are_left_alone_where_threads_cannot_choose(monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with processors.fastest() as move:
        move()
