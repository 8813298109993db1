"""Recordings printed as cuDNN's log and as MIOpenDriver lines, held against a genuine log and the drivers' options."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_programs import PROGRAMS
from small_problems import LINES as LINES_OF_ALL
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.benchmarks.call import portadnn_call
from portadnn.cli.main import app
from portadnn.mapping import table
from portadnn.problem import every_problem, parse_line
from portadnn.recording import read
from portadnn.recording.c_calls import function_of, made_by
from portadnn.recording.cudnn_log import cudnn_log
from portadnn.recording.driver_lines import driver_line, driver_lines
from portadnn.recording.replay import Replay

GENUINE = (Path(__file__).parents[1] / "cudnn9_log.txt").read_text(
    encoding="utf-8"
)  # of cuDNN 9.19, an H200, one training step


# A reader of the log, written from genuine ones --------------------------------------------------

_HEAD = re.compile(r"([IWE])! CuDNN \(v(\d{4,6})(?: \d+)?\) function (cudnn\w+)\(\) called:")
_ARGUMENT = re.compile(
    r"(?P<name>\[?\w+\]?): (?:type=(?P<type>[\w ]+); val=(?P<value>.+);"
    r"|type=(?P<block>\w+): ?"
    r"|location=(?P<location>dev|host); addr=(?P<address>0x[0-9a-f]+|NULL_PTR);"
    r"|type=\w+; streamId=(?P<stream>\(nil\) \(defaultStream\)|0x[0-9a-f]+);)"
)
_VALUE = re.compile(r"-?\d+(?:\.\d+)?|nan|-?inf|\[-?\d+(?:,-?\d+)*\]|CUDNN_\w+ \(\d+\)|\".*\"")
_REASON = re.compile(r"Info: Traceback contains \d+ message\(s\)|(?:Warning|Error): CUDNN_STATUS_\w+; Reason: .+")
_TIME = re.compile(r"Time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} \(\d+d\+\d+h\+\d+m\+\d+s since start\)")
_PLACE = re.compile(
    r"Process=\d+; Thread=\d+; GPU=(?:NULL|\d+); Handle=(?:NULL|0x[0-9a-f]+); "
    r"StreamId=(?:NULL|\(nil\) \(defaultStream\)|0x[0-9a-f]+)\."
)


@dataclass
class Record:
    """One record: its level, function, and the arguments as (depth, name, type or place, value)."""

    level: str
    version: str
    function: str
    arguments: list[tuple[int, str, str, str]] = field(default_factory=list)

    def value(self, name: str) -> str:
        return next(value for _, known, _, value in self.arguments if known == name)

    @property
    def shape(self) -> list[tuple[int, str, str]]:
        """Depth, name and type of the arguments, without what describes the GPU."""
        device = {"deviceProp", "deviceName", "cudaDeviceId", "deviceVer", "multiProcessorCount", "driverVer"}
        device |= {"maxSharedMemoryPerBlockOptin", "totalGlobalMem"}
        return [argument[:3] for argument in self.arguments if argument[1] not in device]


def parse_log(text: str) -> list[Record]:
    """Read a log; every line has to be one that genuine logs have."""
    records: list[Record] = []
    places = 0
    for line in filter(None, text.split("\n")):
        head = _HEAD.fullmatch(line)
        if head:
            records.append(Record(*head.groups()))
            continue
        mark, rest = line[:3], line[3:]
        assert mark == records[-1].level.lower() + "! ", line
        indent = len(rest) - len(rest.lstrip())
        rest = rest.lstrip()
        if indent == 0:
            assert _TIME.fullmatch(rest) or _PLACE.fullmatch(rest), line
            places += rest.startswith("Process")
            continue
        assert indent % 4 == 0, line
        if records[-1].level != "I":
            assert _REASON.fullmatch(rest), line
            continue
        argument = _ARGUMENT.fullmatch(rest)
        assert argument, line
        found = argument.groupdict()
        if found["value"]:
            assert _VALUE.fullmatch(found["value"]), line
        kind = found["type"] or found["block"] or found["location"] or "stream"
        records[-1].arguments.append((indent // 4, found["name"], kind, found["value"] or found["address"] or ""))
    assert places == len(records)
    return records


def printed(tmp_path, program, version=9, backend="reference"):
    with dnn.trace(tmp_path / "run.jsonl"), dnn.Handle(backend) as handle:
        program(handle)
    return parse_log("\n".join(cudnn_log(read(tmp_path / "run.jsonl"), version)))


def lenet_step(handle: Any) -> None:
    """The calls of the genuine log, with its shapes."""
    conv = dnn.ConvolutionDescriptor(padding=(2, 2), math="fma")
    pool, relu = dnn.PoolingDescriptor("max", (2, 2), stride=(2, 2)), dnn.ActivationDescriptor("relu")
    x, w = handle.zeros((4, 1, 28, 28)), handle.zeros((6, 1, 5, 5))
    dnn.get_convolution_2d_forward_output_dim(conv, (4, 1, 28, 28), (6, 1, 5, 5))
    dnn.find_convolution_forward_algorithm(handle, x, w, conv, requested=8)
    dnn.get_convolution_forward_workspace_size(handle, x, w, conv)
    y = dnn.convolution_forward(handle, x, w, conv)
    dnn.add_tensor(handle, handle.zeros((1, 6, 1, 1)), y)
    z = dnn.pooling_forward(handle, y, pool)
    dnn.activation_backward(handle, z, z, z, relu)
    dnn.softmax_forward(handle, handle.zeros((4, 10, 1, 1)))
    b = handle.zeros((1, 6, 1, 1))
    dnn.op_tensor(handle, "add", b, handle.zeros((1, 6, 1, 1)), b, alpha2=-0.01)
    dnn.convolution_backward_filter(handle, x, y, conv, w)


def test_the_reader_reads_the_genuine_log():
    records = parse_log(GENUINE)
    assert len(records) > 15
    forward = next(r for r in records if r.function == "cudnnConvolutionForward")
    assert forward.value("padA") == "[2,2]"
    assert {r.level for r in records} == {"I", "W"}


def test_the_reader_refuses_other_lines():
    for wrong in (
        "i!     x: val=3;",
        "i!     x: type=int; val=three;",
        "i! Time: now",
        "i!   x: type=int; val=3;",
        "x",
    ):
        with pytest.raises(AssertionError):
            parse_log(f"I! CuDNN (v91900 56) function cudnnCreate() called:\n{wrong}\n")


# what versions of the log call the tensors; the header's names are those of the first
SPELLINGS = (
    {"xDesc": "srcDesc", "xData": "srcData", "yDesc": "destDesc", "yData": "destData", "wDesc": "filterDesc"},
    {"aDesc": "biasDesc", "aData": "biasData", "cDesc": "srcDestDesc", "cData": "srcDestData"},
    {"opTensorDesc": "opDesc", "bDesc": "biasDesc", "bData": "biasData", "cDesc": "destDesc", "cData": "destData"},
    {"algo": "algorithm", "dyDesc": "diffDesc", "dyData": "diffData", "dwDesc": "gradDesc", "dwData": "gradData"},
)


@pytest.mark.parametrize(
    "function",
    [
        "cudnnConvolutionForward",
        "cudnnFindConvolutionForwardAlgorithm",
        "cudnnGetConvolutionForwardWorkspaceSize",
        "cudnnConvolutionBackwardFilter",
        "cudnnAddTensor",
        "cudnnPoolingForward",
        "cudnnActivationBackward",
        "cudnnSoftmaxForward",
        "cudnnOpTensor",
        "cudnnSetActivationDescriptor",
        "cudnnSetPoolingNdDescriptor",
    ],
)
def test_arguments_are_those_of_the_genuine_log(tmp_path, function):
    ours = next(r for r in printed(tmp_path, lenet_step) if r.function == function)
    genuine = next(r for r in parse_log(GENUINE) if r.function == function)
    assert [(d, t) for d, _, t in ours.shape] == [(d, t) for d, _, t in genuine.shape]
    for (_, mine, _), (_, theirs, _) in zip(ours.shape, genuine.shape, strict=True):
        assert mine == theirs or any(s.get(mine) == theirs for s in SPELLINGS), f"{mine} is {theirs}"


def test_values_are_those_of_the_genuine_log(tmp_path):
    ours = {r.function: r for r in printed(tmp_path, lenet_step)}
    genuine = {r.function: r for r in parse_log(GENUINE) if r.level == "I"}
    for function in ("cudnnConvolutionForward", "cudnnPoolingForward", "cudnnOpTensor", "cudnnAddTensor"):
        known = [a for a in genuine[function].arguments if a[:3] in genuine[function].shape]
        pairs = zip(ours[function].arguments, known, strict=True)
        for mine, theirs in pairs:
            if mine[2] not in ("dev", "host") and mine[1] not in ("algo", "workSpaceSizeInBytes"):
                assert mine[3] == theirs[3], f"{function}: {mine}, {theirs}"


@pytest.mark.parametrize("version", [7, 8, 9])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_line_of_every_program_is_in_the_grammar(tmp_path, name, version):
    records = printed(tmp_path, PROGRAMS[name], version)
    assert {record.version for record in records} == {{7: "7605", 8: "8907", 9: "91900"}[version]}
    functions = {record.function for record in records}
    wanted = {
        "training": {"cudnnConvolutionForward", "cudnnSoftmaxBackward", "cudnnPoolingBackward", "cudnnAddTensor"},
        "normalising": {"cudnnBatchNormalizationForwardTraining", "cudnnSetTensor"},
        "recurrent": {"cudnnRNNForwardTraining", "cudnnRNNBackwardWeights", "cudnnDropoutForward"},
        "finding": {"cudnnFindConvolutionForwardAlgorithmEx", "cudnnReduceTensor"},
        "mistaken": {"cudnnConvolutionForward", "cudnnSetPoolingNdDescriptor"},
    }
    assert wanted[name] <= functions
    assert any(record.level == "E" for record in records) == (name == "mistaken" and version == 9)


def test_versions_differ_as_the_genuine_ones(tmp_path):
    def convolution(version):
        return next(r for r in printed(tmp_path, lenet_step, version) if r.function == "cudnnConvolutionForward")

    names = {version: [name for _, name, _ in convolution(version).shape] for version in (7, 8, 9)}
    assert {"srcDesc", "filterDesc", "destDesc"} <= set(names[7])
    assert {"xDesc", "wDesc", "yDesc"} <= set(names[8])
    assert ["reorderType" in names[v] for v in (7, 8, 9)] == [False, True, True]
    assert convolution(8).arguments[0][2] == "stream"
    assert convolution(9).arguments[0][2] == "cudnnHandle_t"


def test_numbers_are_in_the_log(tmp_path):
    def program(handle: Any) -> None:
        x = handle.zeros((2, 3, 4, 4), "float64")
        dnn.activation_forward(handle, x, dnn.ActivationDescriptor("elu", coef=0.25), alpha=3)
        lrn = dnn.LRNDescriptor(5, 1e-3, 0.75, 2.0)
        dnn.lrn_cross_channel_forward(handle, x, lrn)
        one = handle.asarray(np.ones((1, 3, 1, 1)), "float64")
        dnn.batch_normalization_forward_training(handle, x, one, one, exponential_average_factor=0.25, epsilon=0.5)

    records = {r.function: r for r in printed(tmp_path, program)}
    assert records["cudnnActivationForward"].value("coef") == "0.250000"
    assert records["cudnnActivationForward"].value("alpha") == "3.000000"
    assert (1, "alpha", "CUDNN_DATA_DOUBLE", "3.000000") in records["cudnnActivationForward"].arguments
    assert records["cudnnLRNCrossChannelForward"].value("lrnK") == "2.000000"
    assert records["cudnnLRNCrossChannelForward"].value("lrnMode") == "CUDNN_LRN_CROSS_CHANNEL_DIM1 (0)"
    norm = records["cudnnBatchNormalizationForwardTraining"]
    assert (norm.value("exponentialAverageFactor"), norm.value("epsilon")) == ("0.250000", "0.500000")
    assert norm.value("bnScale").startswith("0x")
    assert norm.value("resultRunningMean") == "NULL_PTR"


# MIOpenDriver ------------------------------------------------------------------------------------

# the options of each driver of MIOpen 3, as driver/*_driver.hpp declares them: those that lines may have
OPTIONS = {
    "conv": "-n -c -H -W -k -y -x -p -q -u -v -l -j -m -g -F -t --in_d --fil_d --pad_d --conv_stride_d --dilation_d "
    "--spatial_dim --in_layout --fil_layout --out_layout",
    "pool": "--input --win_d --win_h --win_w --pool_stride_d --pool_stride_h --pool_stride_w --pad_d "
    "--pad_h --pad_w -m -F",
    "bnorm": "-n -c -D -H -W -m --forw -b -s -r --layout",
    "activ": "-n -c -H -W -m --forw -A -B -G",
    "softmax": "-n -c -H -W -F -a -m -A -B",
    "lrn": "-n -c -H -W -m -N -A -B -K -F",
    "rnn": "-n -W -H -l -b -m -p -r -q -k -c -F -t -w -U -P",
    "dropout": "-F -d -p",
    "tensorop": "-n -c -H -W -A -B -G -o -v",
    "reduce": "-A -B -C -D -R -O -N -I",
}
LINES = [
    (
        "convolution_forward x=f32:128x3x32x32 w=f32:64x3x3x3 padding=1,1",
        "conv -n 128 -c 3 -H 32 -W 32 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1",
    ),
    (
        "convolution_backward_filter x=f16:2x4x8x8:nhwc dy=f16:2x6x8x8:nhwc dw=f16:6x2x1x1:nhwc groups=2",
        "convfp16 -n 2 -c 4 -H 8 -W 8 -k 6 -y 1 -x 1 -p 0 -q 0 -u 1 -v 1 -l 1 -j 1 "
        "--in_layout NHWC --fil_layout NHWC --out_layout NHWC -m conv -g 2 -F 4 -t 1",
    ),
    (
        "convolution_backward_data w=f32:6x4x3x2x1 dy=f32:1x6x2x5x5 dx=f32:1x4x4x6x5 ",
        "conv -n 1 -c 4 --in_d 4 -H 6 -W 5 -k 6 --fil_d 3 -y 2 -x 1 --pad_d 0 -p 0 -q 0 --conv_stride_d 1 -u 1 -v 1 "
        "--dilation_d 1 -l 1 -j 1 --spatial_dim 3 -m conv -g 1 -F 2 -t 1",
    ),
    (
        "pooling_forward x=f32:2x3x8x8 mode=average_count_exclude_padding window=3,2 padding=1,0 stride=2,1",
        "pool --input 2x3x8x8,NCHW --win_h 3 --win_w 2 --pool_stride_h 2 --pool_stride_w 1 "
        "--pad_h 1 --pad_w 0 -m avg -F 1",
    ),
    (
        "activation_forward x=f32:2x3x4x5 mode=clipped_relu ceiling=6.0",
        "activ -n 2 -c 3 -H 4 -W 5 -m 7 --forw 1 -A 6 -B 1 -G 1",
    ),
    (
        "softmax_forward x=f32:2x3x4x5 algorithm=log mode=instance",
        "softmax -n 2 -c 3 -H 4 -W 5 -F 1 -a 2 -m 0 -A 1 -B 0",
    ),
    (
        "lrn_cross_channel_forward x=f32:2x3x4x5 lrn_n=5 lrn_alpha=0.001 lrn_beta=0.75 lrn_k=2.0",
        "lrn -n 2 -c 3 -H 4 -W 5 -m cross -N 5 -A 0.001 -B 0.75 -K 2 -F 1",
    ),
    (
        "batch_normalization_forward_inference x=f32:2x3x4x5 scale=f32:1x3x1x1 bias=f32:1x3x1x1 mode=spatial",
        "bnorm -n 2 -c 3 -H 4 -W 5 -m 1 --forw 2 -b 0 -s 0 -r 1",
    ),
    (
        "op_tensor a=f32:2x3x4x5 b=f32:2x3x4x5 operation=max alpha2=0.5",
        "tensorop -n 2 -c 3 -H 4 -W 5 -A 1 -B 0.5 -G 0 -o 5",
    ),
    ("set_tensor y=f32:2x3x4x5 value=2.5", "tensorop -n 2 -c 3 -H 4 -W 5 -o 0 -v 2.5"),
    (
        "reduce_tensor a=f32:2x3x4x5 c=f32:1x3x1x5 operation=norm2",
        "reduce -A 1 -B 0 -C 1 -D 2,3,4,5 -R 0,2 -O 7 -N 0 -I 0",
    ),
    ("dropout_forward x=f32:2x3x4 dropout=0.25", "dropout -F 1 -d 2,3,4 -p 0.25"),
    (
        "adam param=f32:2x3x1 grad=f32:2x3x1 exp_avg=f32:2x3x1 exp_avg_sq=f32:2x3x1 grad_scale=i32:1 "
        "adamw=yes maximize=yes lr=0.5 beta1=0.25 beta2=0.75 eps=0.125 weight_decay=2",
        "ampadamw -F 1 -d 2x3x1 -l 0.5 -1 0.25 -2 0.75 -e 0.125 -W 2 -a 0 -m 1",
    ),
    ("glu_forward x=f16:2x6x5 dim=1", "glufp16 -D 2x6x5 -F 1 -R 1"),
    ("glu_backward x=f32:2x6x5 dy=f32:2x3x5 dim=1", "glu -D 2x6x5 -F 0 -R 1"),  # it has both directions, or forward
]
NONE = [
    ("convolution_forward x=f64:1x1x3x3 w=f64:1x1x3x3", "conv takes no float64"),
    ("convolution_forward x=f32:1x1x3x3 w=f32:1x1x3x3 mode=convolution", "MIOpen does not flip filters"),
    ("activation_forward x=f32:1x1x3x3 mode=swish", "MIOpen has no SWISH"),
    ("adam param=bf16:2x1x1 grad=bf16:2x1x1 exp_avg=bf16:2x1x1 exp_avg_sq=bf16:2x1x1", "adam takes no bfloat16"),
    ("add_tensor a=f32:1x1x1x1 c=f32:1x1x3x3", "the driver has no such operation"),
]


def line_of(text: str) -> str:
    problem, given = parse_line(text)
    return driver_line(problem, {**problem.scalars, **given})


@pytest.mark.parametrize(("problem", "line"), LINES)
def test_driver_lines(problem, line):
    assert line_of(problem) == f"./bin/MIOpenDriver {line}"


@pytest.mark.parametrize(("problem", "reason"), NONE)
def test_problems_without_a_line_say_why(problem, reason):
    assert line_of(problem).startswith("# ")
    assert line_of(problem).endswith(reason)


def test_what_a_line_cannot_say_follows_it():
    text = line_of("activation_forward x=f32:1x1x3x3/20,9,4,1 y=f32:1x1x3x3 mode=relu alpha=2.0")
    assert text.endswith("  # without strides of x, alpha=2")


@pytest.mark.parametrize("name", PROGRAMS)
def test_options_are_the_drivers(tmp_path, name):
    with dnn.trace(tmp_path / "run.jsonl"), dnn.Handle("reference") as handle:
        PROGRAMS[name](handle)
    result = CliRunner().invoke(app, ["replay", str(tmp_path / "run.jsonl"), "--as", "miopen-driver"])
    assert result.exit_code == 0, result.output
    lines = [line.partition("  #")[0].split() for line in result.output.splitlines() if not line.startswith("#")]
    assert lines or name == "mistaken"
    for program, base, *words in lines:
        assert program == "./bin/MIOpenDriver"
        known = OPTIONS[re.sub(r"(fp16|bfp16|fp64)+$", "", base)].split()
        assert [word for word in words[::2] if word not in known] == []
        assert len(words) % 2 == 0
    if name == "recurrent":
        assert any(" ".join(words).startswith("rnn -n 2 -W 4 -H 4 -l 2") for _, *words in lines)


def test_the_command_prints_the_log(tmp_path):
    with dnn.trace(tmp_path / "run.jsonl"):
        dnn.get_error_string(0)
    result = CliRunner().invoke(app, ["replay", str(tmp_path / "run.jsonl"), "--as", "cudnn-log", "--cudnn", "8"])
    (record,) = parse_log(result.output)
    assert record.function == "cudnnGetErrorString"
    assert CliRunner().invoke(app, ["replay", str(tmp_path / "run.jsonl"), "--as", "xml"]).exit_code == 2


# the first words that MIOpenDriver of MIOpen 3 knows (driver/dm_*.cpp), of those drivers
BETA = ["adam", "cat", "getitem", "glu", "kthvalue", "multimarginloss", "prelu", "rope", "softmarginloss"]
WORDS = (
    *(name + suffix for name in BETA for suffix in ("", "fp16", "bfp16") if name + suffix != "adambfp16"),
    *[
        "conv",
        "convfp16",
        "convbfp16",
        "pool",
        "poolfp16",
        "bnorm",
        "bnormfp16fp32",
        "bnormbfp16fp32",
        "activ",
        "activfp16",
        "softmax",
    ],
    *[
        "softmaxfp16",
        "lrn",
        "lrnfp16",
        "rnn",
        "rnnfp16",
        "dropout",
        "dropoutfp16",
        "tensorop",
        "tensoropfp16",
        "reduce",
        "reducefp16",
        "reducefp64",
    ],
    *["ampadam", "adamw", "adamwfp16", "ampadamw", "ctc", "CBAInfer", "CBAInferfp16"],
    *(name + suffix for name in ("layernorm", "groupnorm", "t5layernorm") for suffix in ("", "fp16", "bfp16")),
)


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("ConvolutionDescriptor", "cudnnCreateConvolutionDescriptor cudnnSetConvolutionNdDescriptor"),
        ("LRNDescriptor", "cudnnCreateLRNDescriptor cudnnSetLRNDescriptor"),
        ("CTCLossDescriptor", "cudnnCreateCTCLossDescriptor cudnnSetCTCLossDescriptor_v9"),
        ("DropoutDescriptor", "cudnnCreateDropoutDescriptor"),
        ("Handle", "cudnnCreate"),
        ("SetDropoutDescriptor", ""),
        ("activation_forward", ""),
    ],
)
def test_descriptors_are_made_by_the_functions_of_their_class(name, functions):
    assert made_by(name) == tuple(functions.split())


def test_every_operation_is_recorded_replayed_and_printed(tmp_path):
    """Two lines of each operation: strides, types and modes of all kinds."""
    lines: dict[str, list[str]] = {}
    for line in LINES_OF_ALL:
        lines.setdefault(line.split()[0], []).append(line)
    path = tmp_path / "run.jsonl"
    with dnn.trace(path), dnn.Handle("reference") as handle:
        for some in lines.values():
            for line in (some[0], some[-1]):
                problem, numbers = parse_line(line)
                portadnn_call(handle, problem, numbers)()
    recording = read(path)
    assert {event.function for event in recording.events} >= every_problem().keys()
    replay = Replay(recording, "reference")
    outcomes = replay.run().outcomes
    replay.close()
    assert [o for o in outcomes if o.kind != "ok"] == []
    logged = {record.function for record in parse_log("\n".join(cudnn_log(recording)))}
    assert {function_of(op).name for op in every_problem().keys() & table().of_cudnn} <= logged
    for line in driver_lines(recording):
        assert line.startswith("# ") or line.split()[1] in WORDS, line
