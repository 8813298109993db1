"""PyTorch programs recorded as problems: which calls become which, their files, replays, and the modules' names."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from json_schema import faults
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.recording import Recording, read
from portadnn.recording.problems import posed
from portadnn.recording.replay import Replay

torch = pytest.importorskip("torch")
nn = torch.nn

from portadnn.examples import torch_models  # noqa: E402
from portadnn.torch import keys, record  # noqa: E402
from portadnn.torch.recording.comparing import Comparer  # noqa: E402

SMALL = {
    "resnet50": (lambda: torch_models.ResNet((1, 1, 1, 1), 8, 5), 32),
    "unet": (lambda: torch_models.UNet(8, 2), 16),
    "lstm": (lambda: torch_models.LanguageModel(1000, 12), 7),
    "transformer": (lambda: torch_models.Transformer(1000, 16, 2), 9),
}
CORE = ("convolution", "norm", "pooling", "rnn", "softmax", "attention", "product", "activation")


def recorded(tmp_path: Path, function: Any) -> tuple[Any, Recording]:
    with record(tmp_path / "run.jsonl") as recorder:
        function()
    return recorder, read(tmp_path / "run.jsonl")


@pytest.mark.parametrize("name", SMALL)
def test_models_become_problems_and_replay(name: str, tmp_path: Path) -> None:
    make, size = SMALL[name]
    torch.manual_seed(0)
    model = make()
    recorder, recording = recorded(tmp_path, lambda: torch_models.train(model, torch_models.inputs(name, 2, size), 1))
    assert recorder.counts == recorder.posed
    assert set(recorder.counts) <= set(CORE)
    assert not recorder.left
    run = Replay(recording, "reference")
    try:
        report = run.run()
    finally:
        run.close()
    assert report.same
    assert {outcome.kind for outcome in report.outcomes} == {"ok"}


def test_lines_have_the_schema(tmp_path: Path) -> None:
    make, size = SMALL["unet"]
    recorded(tmp_path, lambda: torch_models.train(make(), torch_models.inputs("unet", 1, size), 1))
    schema = json.loads((Path(dnn.__file__).parent / "recording" / "schema.json").read_text())
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    for line in lines:
        assert not faults(json.loads(line), schema, schema)
    assert json.loads(lines[-1])["end"] == sum("call" in json.loads(line) for line in lines)


def test_problems_have_the_layers_modules_forward_and_backward(tmp_path: Path) -> None:
    make, size = SMALL["resnet50"]
    _, recording = recorded(tmp_path, lambda: torch_models.train(make(), torch_models.inputs("resnet50", 2, size), 1))
    modules = {
        direction: {event.module for event in recording.events if direction in (event.problem or "")}
        for direction in ("convolution_forward", "convolution_backward_filter", "convolution_backward_data")
    }
    assert "layers.1.0.shortcut.0" in modules["convolution_forward"]
    assert modules["convolution_forward"] == modules["convolution_backward_filter"]
    assert modules["convolution_backward_data"] == modules["convolution_forward"] - {"conv1"}
    sites = {event.site[0] for event in recording.events}
    assert sites == {torch_models.__file__}


def lines_of(tmp_path: Path, function: Any) -> list[str]:
    return list(posed(recorded(tmp_path, function)[1]))


x4 = "x=f32:2x4x6x6"
CALLS: list[tuple[str, Any, list[str]]] = [
    (
        "conv1d",
        lambda: nn.functional.conv1d(torch.ones(2, 4, 9), torch.ones(6, 2, 3), None, 2, 1, 1, 2),
        ["convolution_forward x=f32:2x4x1x9 w=f32:6x2x1x3 y=f32:2x6x1x5 padding=0,1 stride=1,2 dilation=1,1 groups=2"],
    ),
    (
        "transposed",
        lambda: nn.functional.conv_transpose2d(torch.ones(2, 4, 5, 5), torch.ones(4, 3, 3, 3), None, 2, 1, 1),
        ["convolution_backward_data w=f32:4x3x3x3 dy=f32:2x4x5x5 dx=f32:2x3x10x10 padding=1,1 stride=2,2 dilation=1,1"],
    ),
    (
        "bias",
        lambda: nn.functional.conv2d(torch.ones(1, 2, 3, 3), torch.ones(2, 2, 1, 1), torch.ones(2)),
        [
            "convolution_forward x=f32:1x2x3x3 w=f32:2x2x1x1 y=f32:1x2x3x3 padding=0,0 stride=1,1 dilation=1,1",
            "add_tensor a=f32:1x2x1x1 c=f32:1x2x3x3",
        ],
    ),
    (
        "average",
        lambda: nn.functional.avg_pool2d(torch.ones(2, 4, 6, 6), 3, 3, 1, count_include_pad=False),
        [f"pooling_forward {x4} y=f32:2x4x2x2 mode=average_count_exclude_padding window=3,3 padding=1,1 stride=3,3"],
    ),
    (
        "ceil",
        lambda: nn.functional.max_pool2d(torch.ones(2, 4, 6, 6), 3, 2, ceil_mode=True),
        [
            "resample X=f32:2x4x6x6 Y=f32:2x4x3x3 mode=MAXPOOL padding_mode=NEG_INF_PAD window=3,3 pre_padding=0,0 "
            "post_padding=1,1 stride=2,2"
        ],
    ),
    (
        "adaptive",
        lambda: nn.functional.adaptive_avg_pool2d(torch.ones(2, 4, 6, 6), (3, 2)),
        [f"pooling_forward {x4} y=f32:2x4x3x2 mode=average_count_include_padding window=2,3 padding=0,0 stride=2,3"],
    ),
    (
        "global",
        lambda: nn.functional.adaptive_avg_pool2d(torch.ones(2, 4, 6, 6), 1),
        ["reduce_tensor a=f32:2x4x6x6 c=f32:2x4x1x1 operation=avg"],
    ),
    (
        "softmax",
        lambda: torch.softmax(torch.ones(2, 3, 5, 7), 1),
        ["softmax_forward x=f32:2x3x35 y=f32:2x3x35"],
    ),
    (
        "layer norm",
        lambda: nn.functional.layer_norm(torch.ones(5, 8), (8,), torch.ones(8)),
        [
            "normalization_forward x=f32:1x5x8 y=f32:1x5x8 scale=f32:1x1x8 saved_mean=f32:1x5x1 "
            "saved_inv_variance=f32:1x5x1 axis=2"
        ],
    ),
    (
        "rms norm",
        lambda: nn.functional.rms_norm(torch.ones(2, 5, 8), (8,), torch.ones(8), 1e-6),
        ["normalization_forward x=f32:2x5x8 y=f32:2x5x8 scale=f32:1x1x8 mode=rms_norm axis=2"],
    ),
    (
        "channels last",
        lambda: nn.functional.max_pool2d(torch.ones(2, 4, 6, 6).to(memory_format=torch.channels_last), 2),
        [
            "pooling_forward x=f32:2x4x6x6:nhwc y=f32:2x4x3x3:nhwc mode=max window=2,2 padding=0,0 stride=2,2 "
            "nan_propagation=propagate_nan"
        ],
    ),
    (
        "attention",
        lambda: nn.functional.scaled_dot_product_attention(*torch.ones(3, 1, 2, 4, 8), scale=0.25, is_causal=True),
        [
            "sdpa Q=f32:1x2x4x8 K=f32:1x2x4x8 V=f32:1x2x4x8 ATTN_SCALE=f32:1=0.25 O=f32:1x2x4x8 "
            "STATS=f32:1x2x4x1/8,1,2,1 right_bound=0 generate_stats=True"
        ],
    ),
    (
        "linear",
        lambda: nn.functional.linear(torch.ones(5, 8), torch.ones(3, 8), torch.ones(3)),
        [
            "matmul A=f32:1x5x8 B=f32:1x8x3/8,1,8 C=#1:~f32:1x5x3 ; "
            "pointwise IN_0=#1 IN_1=f32:1x1x3 OUT_0=f32:1x5x3 mode=ADD"
        ],
    ),
    (
        "lstm",
        lambda: nn.LSTM(4, 3)(torch.ones(5, 2, 4)),
        [
            "rnn_forward_training x=f32:5x2x4 w=f32:108x1x1 y=f32:5x2x3 reserve=u8:768 hidden_size=3 hx=f32:1x2x3 "
            "cx=f32:1x2x3 hy=f32:1x2x3 cy=f32:1x2x3"
        ],
    ),
    (
        "grid sample",
        lambda: nn.functional.grid_sample(torch.ones(1, 2, 4, 4), torch.zeros(1, 3, 3, 2), align_corners=True),
        ["spatial_tf_sampler_forward x=f32:1x2x4x4 grid=f32:1x3x3x2 y=f32:1x2x3x3"],
    ),
]


@pytest.mark.parametrize(("function", "lines"), [call[1:] for call in CALLS], ids=[call[0] for call in CALLS])
def test_calls_become_these_problems(function: Any, lines: list[str], tmp_path: Path) -> None:
    layouts = re.compile(r"@4|@8|(?<= O=f32:1x2x4x8)/\S+")  # PyTorch's versions differ in that of attention's result
    found = [layouts.sub("", line) for line in lines_of(tmp_path, function)]
    for line, wanted in zip(found, lines, strict=True):
        assert set(wanted.split()) <= set(line.split()), line


@pytest.mark.parametrize("under", [torch.no_grad, torch.inference_mode])
def test_inference_is_recorded(under: Any, tmp_path: Path) -> None:
    model = SMALL["resnet50"][0]().eval()
    with under():
        recorder, recording = recorded(tmp_path, lambda: model(torch.randn(1, 3, 32, 32)))
    assert recorder.counts["convolution"] == 17
    assert recorder.counts == recorder.posed
    assert any("batch_normalization_forward_inference" in (event.problem or "") for event in recording.events)


@pytest.mark.filterwarnings("ignore:Using `torch.compile")
def test_compiled_models_are_recorded(tmp_path: Path) -> None:
    model = torch.compile(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), backend="eager")
    recorder, _ = recorded(tmp_path, lambda: model(torch.randn(1, 3, 8, 8)).sum().backward())
    assert recorder.posed["convolution"] == 2


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda: nn.functional.max_pool2d(torch.ones(1, 1, 9, 9), 2, dilation=2), "dilated window"),
        (lambda: nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 7, 7), 3), "7x7 to 3x3"),
        (lambda: nn.LSTM(4, 6, proj_size=3)(torch.ones(2, 1, 4)), "projection"),
        (lambda: nn.functional.grid_sample(torch.ones(1, 1, 4, 4), torch.zeros(1, 3, 3, 2)), "align_corners"),
    ],
)
@pytest.mark.filterwarnings("ignore:Default grid_sample")
def test_what_is_left_out_is_named(function: Any, reason: str, tmp_path: Path) -> None:
    recorder, recording = recorded(tmp_path, function)
    (found,) = recorder.left
    assert reason in found[2]
    assert any(reason in event.why_not for event in recording.events)


def test_contents_that_others_wrote_are_filled_anew(tmp_path: Path) -> None:
    """Of c = relu(a) + 1 the sum is not recorded: a replay does not take relu's result for it."""
    a = torch.randn(1, 2, 4, 4)

    def program() -> None:
        b = torch.relu(a)
        nn.functional.max_pool2d(b, 2)
        b.add_(1)
        nn.functional.max_pool2d(b, 2)

    _, recording = recorded(tmp_path, program)
    reads = [event.tensors["x"]["at"] for event in recording.events]
    assert reads[1] == reads[2]
    fresh = [
        any(start <= at < start + size for start, size in event.fresh)
        for event, at in zip(recording.events, reads, strict=True)
    ]
    assert fresh == [True, False, True]


def test_calls_that_came_before_are_written_alike(tmp_path: Path) -> None:
    """A step is written as the one before it was; memory is each call's own, also of calls whose tensors were one."""
    make, size = SMALL["unet"]
    model, x = make(), torch_models.inputs("unet", 2, size)
    _, recording = recorded(tmp_path, lambda: torch_models.train(model, x, 2))
    lines = [(event.function, event.module, event.problem or event.graph) for event in recording.events]
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    a, b = torch.randn(3, 3), torch.randn(3, 3)

    def program() -> None:
        for one, other in ((a, a), (a, b), (b, b), (b, a)):
            one @ other
        torch.relu(a)
        torch.relu_(a)
        torch.relu_(b)

    _, recording = recorded(tmp_path, program)
    places = [list(dict(event.tensors).values()) for event in recording.events]
    found = [[tensor["at"] for tensor in tensors] for tensors in places]
    mine = {a.data_ptr(): "a", b.data_ptr(): "b"}
    assert [[mine.get(at) for at in row][:2] for row in found[:4]] == [["a", "a"], ["a", "b"], ["b", "b"], ["b", "a"]]
    assert [[mine.get(at) for at in row] for row in found[4:]] == [["a", None], ["a", "a"], ["b", "b"]]


@pytest.mark.filterwarnings("ignore:Sparse")
def test_reasons_are_told_each_time(tmp_path: Path) -> None:
    sparse, numbers = torch.eye(3).to_sparse(), torch.ones(1, 1, 4, 4, dtype=torch.int64)

    def program() -> None:
        for _ in range(2):
            sparse @ torch.ones(3, 2)
            nn.functional.max_pool2d(numbers, 2)

    recorder, recording = recorded(tmp_path, program)
    assert set(recorder.left.values()) == {2}
    reasons = [event.why_not for event in recording.events]
    assert reasons == ["a tensor of layout sparse_coo", "numbers of int64"] * 2


@pytest.mark.filterwarnings("ignore:Sparse")
def test_random_and_converted_numbers_are_none_of_cudnns(tmp_path: Path) -> None:
    """Names that have parts of others in them: log_normal_ is no norm, and _convert_indices_* no convolution."""
    x = torch.empty(4, 4)

    def program() -> None:
        x.log_normal_()
        x.normal_()
        torch.tensor([[0.0, 1.0], [1.0, 0.0]]).to_sparse_csr()
        torch.renorm(x, 2, 0, 1.0)

    recorder, _ = recorded(tmp_path, program)
    assert not recorder.counts


def test_other_threads_are_not_seen(tmp_path: Path) -> None:
    """Neither their calls nor their modules, though they compute between two calls of the thread that records."""
    other, turn = nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU()), threading.Barrier(2, timeout=60)

    def stay(*_: Any) -> None:  # inside of its module, meanwhile
        turn.wait()
        turn.wait()

    other[0].register_forward_pre_hook(stay)
    thread = threading.Thread(target=other, args=(torch.ones(1, 1, 2, 2),))
    x = torch.randn(1, 2, 4, 4, requires_grad=True)

    def program() -> None:
        thread.start()
        turn.wait()
        nn.functional.max_pool2d(x, 2).sum().backward()
        turn.wait()
        thread.join()
        nn.functional.max_pool2d(x, 2)

    recorder, recording = recorded(tmp_path, program)
    assert recorder.counts == {"pooling": 3}
    assert {event.module for event in recording.events} == {""}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_forked_processes_are_not_seen(tmp_path: Path) -> None:
    """They have no thread that writes; a DataLoader's workers are such."""
    x = torch.ones(1, 1, 4, 4)

    def program() -> None:
        nn.functional.max_pool2d(x, 2)
        child = os.fork()
        if child == 0:
            seen = keys.recorded()
            nn.functional.max_pool2d(x, 2)
            os._exit(1 if seen else 0)
        assert os.waitpid(child, 0)[1] == 0
        nn.functional.max_pool2d(x, 2)

    recorder, recording = recorded(tmp_path, program)
    assert recorder.counts == {"pooling": 2}
    assert len(recording.events) == 2


def test_the_commands(tmp_path: Path) -> None:
    path = str(tmp_path / "run.jsonl")
    words = ["python", torch_models.__file__, "lstm", "--size", "3", "--batch", "1"]
    run = CliRunner().invoke(app, ["record", "--torch", "-o", path, "--", *words])
    assert run.exit_code == 0, run.output
    assert "rnn: 2 of 2" in run.output
    lines = CliRunner().invoke(app, ["replay", path, "--as", "lines"])
    assert "rnn_forward_training x=f32:3x1x128" in lines.output
    assert "# 1 times lstm" in lines.output
    judged = CliRunner().invoke(app, ["caps", "--recording", path, "--backend", "miopen-3,cudnn-9", "--format", "json"])
    facts = json.loads(judged.output)
    assert {opinion["name"] for one in facts for opinion in one["opinions"]} == {"miopen-3", "cudnn-9"}
    table = CliRunner().invoke(app, ["caps", "--recording", path])
    assert "miopen-3: " in table.output
    driver = CliRunner().invoke(app, ["replay", path, "--as", "miopen-driver"])
    assert "MIOpenDriver rnn" in driver.output


def test_wrong_programs_are_named(tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["record", "--torch", "-o", str(tmp_path / "r.jsonl"), "--", "nothing.py"])
    assert run.exit_code == 2
    assert "nothing.py" in run.output


def test_the_program_goes_on_as_without(tmp_path: Path) -> None:
    results = []
    for recording in (False, True):
        torch.manual_seed(3)
        model = SMALL["transformer"][0]()
        x = torch_models.inputs("transformer", 2, 5)
        if recording:
            recorded(tmp_path, lambda model=model, x=x: torch_models.train(model, x, 2))
        else:
            torch_models.train(model, x, 2)
        results.append([parameter.detach().numpy() for parameter in model.parameters()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_of_averages_replay(tmp_path: Path) -> None:
    """They read neither x nor y: what stands in for them shares no memory with the result."""
    x = torch.randn(1, 2, 6, 6, requires_grad=True)

    def program() -> None:
        y = nn.functional.avg_pool2d(x, 2) + nn.functional.adaptive_avg_pool2d(x, 3)
        y.square().sum().backward()

    _, recording = recorded(tmp_path, program)
    assert sum("pooling_backward" in (event.problem or "") for event in recording.events) == 2
    run = Replay(recording, "reference")
    try:
        assert run.run().same
    finally:
        run.close()


def test_recordings_inside_of_recordings(tmp_path: Path) -> None:
    """Both have the inner calls; nobody writes over a file that another recording has open."""
    layer, x = nn.Conv2d(2, 3, 3, bias=False), torch.randn(1, 2, 5, 5)
    outer = record(tmp_path / "outer.jsonl")
    with outer:
        layer(x)
        with record(tmp_path / "inner.jsonl") as inner:
            layer(x)
        for again in (outer, record(tmp_path / "outer.jsonl"), dnn.trace(tmp_path / "outer.jsonl")):
            with pytest.raises(dnn.BadParam, match="another recording of this process"), again:
                pass
        layer(x)
    assert (outer.counts["convolution"], inner.counts["convolution"]) == (3, 1)
    assert [len(read(tmp_path / f"{name}.jsonl").events) for name in ("outer", "inner")] == [3, 1]
    with outer:  # begins anew
        layer(x)
    again = read(tmp_path / "outer.jsonl")
    assert len(again.events) == outer.counts["convolution"] == 1
    assert again.events[0].handle is not None


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh", "silu"])
def test_gradients_of_other_layouts_are_recorded(name: str, tmp_path: Path) -> None:
    """Results in one layout and their gradients in another, as a transpose behind makes them; all are right, too."""
    torch.manual_seed(0)
    function = getattr(nn.functional, name)

    def program() -> None:
        rows = torch.randn(2, 3, 8, requires_grad=True)
        (function(rows).transpose(1, 2) @ torch.randn(3, 4)).square().sum().backward()
        pixels = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last).requires_grad_()
        function(pixels).backward(torch.randn(2, 3, 4, 5))
        function(pixels.detach().contiguous().requires_grad_()).backward(pixels)
        function(pixels).backward(pixels.detach())

    recorder, recording = recorded(tmp_path, program)
    assert not recorder.left
    assert recorder.posed["activation"] == 8
    run = Replay(recording, "reference")
    try:
        assert run.run().same
    finally:
        run.close()
    with dnn.Handle("reference") as handle:
        comparer = Comparer(handle, checks=4)
        with comparer:
            program()
    assert comparer.compared_calls["activation"] == 8
    assert not comparer.differences
