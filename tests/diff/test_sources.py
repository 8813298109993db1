"""Cases from lines, files, named sets, recordings and logs, and as other programs' command lines."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import pytest

import portadnn as dnn
from portadnn.diff import Target, Verdict, examine
from portadnn.diff.command_lines import from_benchdnn_line, from_driver_line, is_benchdnn_line
from portadnn.diff.generate import Mix, cases
from portadnn.diff.sources import Imported, from_file, from_lines, from_log, from_recording, from_set, set_names
from portadnn.problem import parse
from portadnn.recording.driver_lines import driver_line

GENUINE = Path(__file__).parent.parent / "cudnn9_log.txt"  # of a program on cuDNN 9.19


def texts(found: Imported) -> dict[str, int]:
    return {str(case): count for case, count in found.counts.items()}


# lines


def test_lines_of_all_kinds():
    found = from_lines(
        [
            "# a comment",
            "",
            "activation_forward x=f32:2x3x4x5 mode=relu  # behind a line",
            "softmax_forward x=f16:2x3x4x5 beta=1 ; data=ties seed=4",
            "activation_forward x=f32:2x3x4x5 mode=relu",
            "MIOpenDriver conv -n 2 -c 3 -H 9 -W 8 -k 4 -y 3 -x 2 -p 1 -q 0 -u 2 -v 1 -F 1",
            'mb2ic3ih9iw8oc4kh3kw2ph1pw0sh2n"name"',
        ]
    )
    assert list(found.counts.values()) == [2, 1, 2]  # the driver's and benchdnn's convolution are the same
    convolution = parse(list(texts(found))[2])
    assert (convolution.x.dims, convolution.w.dims, convolution.y.dims) == ((2, 3, 9, 8), (4, 3, 3, 2), (2, 4, 5, 7))
    with_data = list(found.cases(["exact", "nan"], seed=9))
    assert [case.data for case in with_data] == ["exact", "nan", "ties", "exact", "nan"]
    assert [case.seed for case in with_data] == [9, 9, 4, 9, 9]


@pytest.mark.parametrize("line", ["convolve x=f32:1x1x1x1", "activation_forward x=f32:2x3 mode=relu", "--conv"])
def test_wrong_lines_are_named(line):
    with pytest.raises(dnn.BadParam, match=r"some\.txt, line 2"):
        from_lines(["# one", line], "some.txt")


def test_files_and_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "lines"
    path.write_text("set_tensor y=f32:1x2x3\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(path.read_text() * 3))
    assert texts(from_file(path)) == {"set_tensor y=f32:1x2x3": 1}
    assert texts(from_file("-")) == {"set_tensor y=f32:1x2x3": 3}
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(dnn.BadParam, match="UTF-8"):
        from_file(path)


# named sets


def test_networks():
    """The first layer of VGG-16 and of ResNet-50, from their papers."""
    vgg = from_set("vgg16", batch=3, dtype="f16", layout="nhwc", directions=["backward_data"])
    problems = [case.problem for case in vgg.counts]
    assert {(p.dx.dims, p.w.dims) for p in problems} >= {((3, 3, 224, 224), (64, 3, 3, 3))}
    assert all(p.op == "convolution_backward_data" and p.dtype is dnn.DataType.HALF for p in problems)
    stem = parse("convolution_forward x=f32:1x3x224x224 w=f32:64x3x7x7 padding=3,3 stride=2,2")
    assert stem in [case.problem for case in from_set("resnet50").counts]


def test_sets_are_limited_and_named():
    assert {"resnet50", "vgg16", "calls-tiny"} <= set(set_names())
    whole, part = from_set("calls-tiny"), from_set("calls-tiny", most_flops=1e6)
    assert 0 < len(part) < len(whole) and sum(part.left_out.values()) == len(whole) - len(part)
    assert all(case.problem.flops() <= 1e6 for case in part.counts)
    for wrong in ({"name": "alexnet9000"}, {"name": "resnet50", "directions": ["sideways"]}):
        with pytest.raises(dnn.BadParam):
            from_set(**wrong)


# recordings and logs


def test_recordings(tmp_path):
    path = tmp_path / "calls.jsonl"
    with dnn.Handle("reference") as handle:
        x = handle.asarray(np.ones((2, 3, 4, 5), np.float32))
        relu = dnn.ActivationDescriptor("relu")
        with dnn.trace(path):
            for _ in range(3):
                y = dnn.activation_forward(handle, x, relu)
            dnn.add_tensor(handle, handle.asarray(np.ones((1, 3, 1, 1), np.float32)), y, alpha=0.5)
            with pytest.raises(dnn.BadParam):
                dnn.activation_forward(handle, None, relu)
    found = texts(from_recording(path))
    expected = {
        "activation_forward x=f32:2x3x4x5 y=f32:2x3x4x5 mode=relu": 3,
        "add_tensor a=f32:1x3x1x1 c=f32:2x3x4x5 alpha=0.5": 1,
    }
    assert found == expected
    path.write_text("nothing\n")
    with pytest.raises(dnn.BadParam):
        from_recording(path)


def test_a_genuine_log_of_cudnn_9():
    """By hand: every call in the log that computes, with the dims that it shows."""
    found = from_log(GENUINE)
    problems = {case.problem.op: case for case in found.counts}
    assert set(problems) == {
        "convolution_backward_filter",
        "convolution_forward",
        "add_tensor",
        "pooling_forward",
        "softmax_forward",
        "activation_backward",
        "op_tensor",
    }
    assert not found.left_out and set(found.counts.values()) == {1}
    pooling = problems["pooling_forward"].problem
    assert (pooling.x.dims, pooling.y.dims, pooling.window) == ((4, 6, 28, 28), (4, 6, 14, 14), (2, 2))
    assert problems["op_tensor"].numbers == {"alpha1": 1.0, "alpha2": pytest.approx(-0.01), "beta": 0.0}
    assert problems["add_tensor"].problem.a.dims == (1, 6, 1, 1)
    handles = {"reference": Target.parse("reference").open()}
    for case in itertools.islice(found.cases(["exact", "random"]), 20):
        assert examine(case, handles).verdict is Verdict.PASSED


TRACE = """\
cudnnSetTensor4dDescriptor(tensorDesc: 0x55d0, format: CUDNN_TENSOR_NHWC, dataType: CUDNN_DATA_HALF, n: 8, c: 3, \
h: 5, w: 7) -> CUDNN_STATUS_SUCCESS
cudnnScaleTensor(handle: 0x1, yDesc: 0x55d0, y: 0x7f00, alpha: 0x7ffd) -> CUDNN_STATUS_SUCCESS
cudnnScaleTensor(handle: 0x1, yDesc: 0x55d0, y: 0x7f00, alpha: 0x7ffd) -> CUDNN_STATUS_SUCCESS
cudnnScaleTensor(handle: 0x1, yDesc: 0x66d0, y: 0x7f00, alpha: 0x7ffd) -> CUDNN_STATUS_SUCCESS
cudnnScaleTensor(handle: 0x1, yDesc: 0x55d0, y: 0x7f00, alpha: 0x7ffd) -> CUDNN_STATUS_BAD_PARAM
cudnnDropoutForward(handle: 0x1, dropoutDesc: 0x9) -> CUDNN_STATUS_SUCCESS
"""


def test_what_a_log_does_not_tell_is_said():
    found = from_log(TRACE.splitlines())
    assert texts(found) == {"scale_tensor y=f16:8x3x5x7:nhwc": 2}
    assert {name for name, _ in found.left_out} == {"cudnnScaleTensor", "cudnnDropoutForward"}
    reasons = [reason for name, reason in found.left_out if name == "cudnnScaleTensor"]
    assert sorted(reasons) == [
        "it failed: CUDNN_STATUS_BAD_PARAM",
        "the log does not tell all of its tensors and settings",
    ]


def test_a_log_of_miopen():
    log = (
        "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convfp16 -n 4 -c 6 -H 9 -W 8 -k 10 -y 3 -x 1 "
        "-p 1 -q 0 -u 2 -v 1 -l 1 -j 1 -m conv -g 2 -F 4 -t 1\n"
    )
    assert list(texts(from_log([log, log]))) == [
        "convolution_backward_filter x=f16:4x6x9x8 dy=f16:4x10x5x8 dw=f16:10x3x3x1 padding=1,0 stride=2,1 "
        "dilation=1,1 groups=2"
    ]


# other programs' lines


def test_driver_lines_come_back():
    """Dims, type and settings of generated problems are read back from their driver's lines."""
    ops = ["convolution_*ward*", "pooling_*", "activation_*", "softmax_*", "lrn_*", "reduce_*", "cat_*", "op_*"]
    seen = set()
    for case in cases(ops, seed=2, count=3000, data=["random"], mix=Mix(broken=False, algorithms=False)):
        problem = case.problem
        line = driver_line(problem, case.numbers)
        if line.startswith("#") or "without strides" in line:
            continue
        back = [parse(text) for text in from_driver_line(line)]
        back = [p for p in back if p.op == problem.op]
        assert len(back) == 1, line
        same = [(n, getattr(back[0], n).dims) for n in problem.names] == [
            (n, getattr(problem, n).dims) for n in problem.names
        ]
        assert same and back[0].dtype is problem.dtype, line
        for name in ("padding", "stride", "dilation", "groups", "mode", "window", "algorithm", "lrn_n"):
            assert getattr(back[0], name, None) == getattr(problem, name, None), (line, name)
        seen.add(problem.op)
    assert len(seen) == 15


def test_driver_lines_that_cannot_be_read():
    for line in ("MIOpenDriver convint8 -n 1", "MIOpenDriver conv -m trans", "MIOpenDriver gemm -m 1"):
        with pytest.raises(dnn.NotSupported):
            from_driver_line(line)
    for line in ("MIOpenDriver", "conv -n 1", "MIOpenDriver conv -n many", "MIOpenDriver pool -m max"):
        with pytest.raises(dnn.BadParam):
            from_driver_line(line)


@pytest.mark.parametrize(
    ("line", "x", "w", "y", "rest"),
    [  # by benchdnn's rules for what is left out
        ('g32mb1ic64ih56oc64oh56kh3sh1ph1dh0n"name"', (1, 64, 56, 56), (64, 2, 3, 3), (1, 64, 56, 56), (1, 1)),
        ("mb2_ic3ih224oc64oh112kh7sh2", (2, 3, 224, 224), (64, 3, 7, 7), (2, 64, 112, 112), (3, 3)),
        ("ic4id5ih6oc8kd3kh3pd1", (2, 4, 5, 6, 6), (8, 4, 3, 3, 3), (2, 8, 5, 4, 4), (1, 0, 0)),
        ("--dt=bf16 mb1ic8ih9iw5oc8kh3kw1dh1ph2", (1, 8, 9, 5), (8, 8, 3, 1), (1, 8, 9, 5), (2, 0)),
    ],
)
def test_benchdnn_lines(line, x, w, y, rest):
    problem = parse(from_benchdnn_line(line))
    assert is_benchdnn_line(line)
    assert (problem.x.dims, problem.w.dims, problem.y.dims, problem.padding) == (x, w, y, rest)


def benchdnn_line(problem):
    """Return benchdnn's line for a convolution; None where it has none: a flipped filter, strides that are no tag's."""
    tensors = (problem.image, problem.filter, problem.result)
    if problem.mode.name == "CONVOLUTION" or any(spec.format is None for spec in tensors):
        return None
    image, filter, result = tensors
    axes = "dhw"[-(len(image.dims) - 2) :]
    direction = {"forward": "FWD_D", "backward_data": "BWD_D", "backward_filter": "BWD_W"}
    sets = {"i": image.dims[2:], "o": result.dims[2:], "k": filter.dims[2:], "s": problem.stride, "p": problem.padding}
    sets["d"] = [hole - 1 for hole in problem.dilation]
    plain = "abcde"[: len(axes) + 2]
    tags = [f"a{plain[2:]}b" if spec.format.name == "NHWC" else plain for spec in tensors]
    return (
        f"--conv --dir={direction[problem.op.removeprefix('convolution_')]} --dt={problem.dtype.code} "
        f"--stag={tags[0]} --wtag={tags[1]} --dtag={tags[2]} "
        f"g{problem.groups}mb{image.dims[0]}ic{image.dims[1]}oc{result.dims[1]}"
        + "".join(f"{key}{axis}{sizes[i]}" for i, axis in enumerate(axes) for key, sizes in sets.items())
    )


def test_benchdnn_lines_come_back():
    found = 0
    convolutions = ["convolution_forward", "convolution_backward_data", "convolution_backward_filter"]
    for case in cases(convolutions, seed=5, count=600, data=["random"], mix=Mix(broken=False, algorithms=False)):
        line = benchdnn_line(case.problem)
        if line is not None:
            found += 1
            back, problem = parse(from_benchdnn_line(line)), case.problem
            names = ("padding", "stride", "dilation", "groups")
            assert [t.dims for t in back.tensors] == [t.dims for t in problem.tensors], line
            assert [getattr(back, n) for n in names] == [getattr(problem, n) for n in names], line
    assert found > 50
    with pytest.raises(dnn.NotSupported, match="padding"):
        from_benchdnn_line("mb1ic3ih8oc4oh8kh2")
