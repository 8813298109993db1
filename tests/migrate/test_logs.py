"""Reading logs: the forms that versions of cuDNN and MIOpen write, traces, and what is cut off or mixed in."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from portadnn.migrate import logs
from portadnn.migrate.events import Event
from portadnn.migrate.files.file_kinds import kind_of
from portadnn.migrate.model.state import Deed, State
from portadnn.migrate.values import UNKNOWN
from portadnn.migrate.versions import dotted, of_header

GENUINE = Path(__file__).parent.parent / "cudnn9_log.txt"


class Seen:
    """Keeps what a listener is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.fields: list[dict[str, dict[str, object]]] = []
        self.most = 0

    def call(self, event: Event, state: State, journal: dict[int, Deed]) -> None:
        self.events.append(event)
        things = {n: state.things[a.value.data] for n, a in event.by_name.items() if a.value.kind == "thing"}
        self.fields.append({n: {k: plain(v) for k, v in thing.fields.items()} for n, thing in things.items()})
        self.most = max(self.most, len(journal))

    def finish(self, state: State, journal: dict[int, Deed]) -> None:
        self.state = state

    @property
    def functions(self) -> list[str]:
        return [event.function for event in self.events]


def plain(value):
    return [plain(v) for v in value.data] if value.kind == "items" else value.data


def read(text: str) -> tuple[Seen, logs.Summary]:
    seen = Seen()
    return seen, logs.follow(text.splitlines(), "api.log", [seen])


def values(event: Event) -> dict[str, object]:
    return {name: plain(argument.value) for name, argument in event.by_name.items() if argument.value != UNKNOWN}


def test_a_genuine_log_of_one_training_step():
    """LeNet: two of three convolutions give a gradient to their input; what Find runs does not count."""
    with GENUINE.open(encoding="utf-8") as file:
        seen = Seen()
        summary = logs.follow(file, "api.log", [seen])
    count = Counter(seen.functions)
    assert summary.versions == {"9.19.0"}
    assert not any("Internal" in name or "Visualize" in name for name in count)
    for name, times in {
        "cudnnCreate": 1,
        "cudnnConvolutionForward": count["cudnnConvolutionBackwardFilter"],
        "cudnnConvolutionBackwardData": count["cudnnConvolutionForward"] - 1,
        "cudnnSetTensor4dDescriptorEx": 0,
        "cudnnSoftmaxForward": 1,
    }.items():
        assert count[name] == times, name
    forward = seen.functions.index("cudnnConvolutionForward")
    assert seen.fields[forward]["xDesc"]["dimA"][0] == 4
    assert seen.fields[forward]["xDesc"]["format"] == "CUDNN_TENSOR_NCHW"
    assert values(seen.events[forward])["beta"] == 0.0


V7 = """
I! CuDNN (v7501) function cudnnConvolutionForward() called:
i!     handle: type=cudnnHandle_t; streamId=0x7fa5880083d0;
i!     alpha: type=CUDNN_DATA_FLOAT; val=2.000000;
i!     srcDesc: type=cudnnTensorDescriptor_t:
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);
i!         nbDims: type=int; val=4;
i!         dimA: type=int; val=[1,3,224,224];
i!         strideA: type=int; val=[150528,1,672,3];
i!     srcData: location=dev; addr=0x7f0000000000;
i!     filterDesc: type=cudnnFilterDescriptor_t:
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);
i!         vect: type=int; val=0;
i!         nbDims: type=int; val=4;
i!         dimA: type=int; val=[64,3,7,7];
i!         format: type=cudnnTensorFormat_t; val=CUDNN_TENSOR_NCHW (0);
i!     filterData: location=dev; addr=0x7f0000001000;
i!     convDesc: type=cudnnConvolutionDescriptor_t:
i!         mode: type=cudnnConvolutionMode_t; val=CUDNN_CONVOLUTION (0);
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);
i!         arrayLength: type=int; val=2;
i!         padA: type=int; val=[3,3];
i!         strideA: type=int; val=[2,2];
i!         dilationA: type=int; val=[1,1];
i!         groupCount: type=int; val=1;
i!     algo: type=cudnnConvolutionFwdAlgo_t; val=CUDNN_CONVOLUTION_FWD_ALGO_GEMM (2);
i!     workSpace: location=dev; addr=NULL_PTR;
i!     workSpaceSizeInBytes: type=size_t; val=0;
i!     beta: type=CUDNN_DATA_FLOAT; val=0.000000;
i! Time: 2019-06-04T18:09:15.727680 (0d+0h+0m+5s since start)
i! Process=18690; Thread=18798; GPU=0; Handle=0x7fa5880ddba0; StreamId=0x7fa5880083d0.
"""


def test_version_7_calls_tensors_otherwise():
    seen, summary = read(V7)
    (event,), (fields,) = seen.events, seen.fields
    assert summary.versions == {"7.5.1"}
    given = values(event)
    assert given["x"] == "0x7f0000000000"
    assert (given["alpha"], given["beta"], given["workSpace"], given["algo"]) == (
        2.0,
        0.0,
        None,
        "CUDNN_CONVOLUTION_FWD_ALGO_GEMM",
    )
    assert fields["xDesc"]["format"] == "CUDNN_TENSOR_NHWC"
    assert fields["wDesc"]["k"] == 64
    assert fields["convDesc"]["mode"] == "CUDNN_CONVOLUTION"
    assert (fields["convDesc"]["pad_h"], fields["convDesc"]["u"]) == (3, 2)
    assert (event.thread, event.place.line) == ("18690.18798", 2)


DOCUMENTED = """
cuDNN (v90000) function cudnnSetActivationDescriptor() called:
    mode: type=cudnnActivationMode_t; val=CUDNN_ACTIVATION_TANH (2);
    reluNanOpt: type=cudnnNanPropagation_t; val=CUDNN_PROPAGATE_NAN (1);
    coef: type=double; val=1000.000000;
    Process: 21264, Thread: 21264, cudnn_handle: NULL, cudnn_stream: NULL.
"""
FRAMED = """
┌ Debug: CuDNN (v92400 43) function cudnnGetConvolutionNdDescriptor() called:
│ convDesc: type=cudnnConvolutionDescriptor_t:
│ mode: type=cudnnConvolutionMode_t; val=CUDNN_CONVOLUTION (0);
│ arrayLength: type=int; val=2;
│ padA: type=int; val=[0,0];
│ arrayLengthRequested: type=int; val=6;
│ mode: location=host; addr=0000015BC60EC7E0;
│ Process=34152; Thread=34384; GPU=NULL; Handle=NULL; StreamId=NULL.
└ @ cuDNN
"""


def test_the_form_of_the_documentation():
    seen, summary = read(DOCUMENTED)
    assert summary.versions == {"9.0.0"}
    assert values(seen.events[0]) == {
        "mode": "CUDNN_ACTIVATION_TANH",
        "reluNanOpt": "CUDNN_PROPAGATE_NAN",
        "coef": 1000.0,
    }
    assert [argument.text for argument in seen.events[0].arguments] == [
        "activationDesc",  # which the log does not tell
        "CUDNN_ACTIVATION_TANH",
        "CUDNN_PROPAGATE_NAN",
        "1000.000000",
    ]
    assert seen.events[0].thread == "21264.21264"


def test_a_frame_that_loses_the_indentation():
    seen, _ = read(FRAMED)
    assert seen.fields[0]["convDesc"]["mode"] == "CUDNN_CONVOLUTION"
    assert seen.events[0].argument("arrayLengthRequested").value.data == 6


@pytest.mark.parametrize(
    ("digits", "version"),
    [("7102", "7.1.2"), ("8204", "8.2.4"), ("90600", "9.6.0"), ("91200", "9.12.0"), ("92400", "9.24.0")],
)
def test_versions(digits, version):
    assert dotted(of_header(int(digits))) == version


MIOPEN = """
MIOpen(HIP): miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t, miopenDataType_t, int, const int *){
MIOpen(HIP): \ttensorDesc = {}, {}, packed,
MIOpen(HIP): \tdataType = 0
MIOpen(HIP): \tnbDims = 5
MIOpen(HIP): \tdim.values = { 12920 3 2 14 14 }
MIOpen(HIP): \tstride.values = { 1176 392 196 14 1 }
MIOpen(HIP): }
MIOpen(HIP)   0.014: miopenStatus_t miopenConvolutionForwardGetWorkSpaceSize(miopenHandle_t, size_t *){
MIOpen(HIP): \thandle = stream: 0xbde0b0, device_id: 0
MIOpen(HIP): \twDesc = {24, 24, 3, 3}, {216, 9, 3, 1}, packed,
MIOpen(HIP): \tconvDesc = conv2d, miopenConvolution, miopenPaddingDefault, {1, 1}, {2, 2}, {1, 1},
MIOpen(HIP): }
MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 128 -c 3 -H 32 -W 32 -k 64 -y 3 -x 3 -p 1 -q 1 \
-u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 4 -t 1
"""


def test_miopen_api_and_driver_lines():
    seen, _ = read(MIOPEN)
    assert seen.functions == [
        "miopenSetTensorDescriptor",
        "miopenConvolutionForwardGetWorkSpaceSize",
        "miopenConvolutionBackwardWeights",
    ]
    assert values(seen.events[0])["dataType"] == "miopenHalf"
    assert seen.fields[1]["wDesc"]["dimA"] == [24, 24, 3, 3]
    assert seen.fields[1]["convDesc"]["mode"] == "miopenConvolution"
    assert seen.fields[2]["dyDesc"]["dimA"] == [128, 64, 32, 32]
    assert seen.fields[2]["dwDesc"]["dimA"] == [64, 3, 3, 3]


TRACE = """
[ZLUDA_TRACE] cudnnCreate(handle: 0x7ffd0010) -> CUDNN_STATUS_SUCCESS
cudnnSetTensor4dDescriptor(tensorDesc: 0x55d0, format: CUDNN_TENSOR_NHWC, dataType: CUDNN_DATA_HALF, n: 8, c: 3, h: 5, \
w: 6)\
 -> CUDNN_STATUS_SUCCESS
    cudnnSetTensor4dDescriptorEx(tensorDesc: 0x55d0) -> CUDNN_STATUS_SUCCESS
cuMemAlloc_v2(dptr: 0x7ffd0020, bytesize: 4096) -> CUDA_SUCCESS
cudnnActivationForward(...) -> UNKNOWN
"""


def test_traces_with_a_call_a_line():
    seen, _ = read(TRACE)
    assert seen.functions == ["cudnnCreate", "cudnnSetTensor4dDescriptor"]
    assert seen.events[1].status == "CUDNN_STATUS_SUCCESS"
    assert plain(seen.state.things["0x55d0"].fields["format"]) == "CUDNN_TENSOR_NHWC"


def test_other_output_between_and_a_log_that_is_cut_off():
    half = V7.replace("i!     alpha", "epoch 3: loss 0.5\ni!     alpha")[:900]
    seen, summary = read("starting\n" + half)
    assert seen.functions == ["cudnnConvolutionForward"]
    assert summary.cut == [3]
    assert "starting" not in str(values(seen.events[0]))


@pytest.mark.parametrize("number", ["9" * 5000, "\u00b2", "1e999"])
def test_numbers_that_are_none_cost_no_call(number):
    """Longer than Python reads, digits to it that it does not read, and larger than any float."""
    for text in (re.sub(r"(?<==)\d+", number, V7), re.sub(r"(?<= = )\d+(?=\n)", number, MIOPEN)):
        assert number in text
        broken, whole = read(text)[0], read(V7 if "CuDNN" in text else MIOPEN)[0]
        assert broken.functions == whole.functions


def test_rubbish_is_no_log():
    for text in ("", "\0\1\2" * 50, "x" * 100_000, "I! CuDNN (v) function () called:", "}" * 99 + "\n{"):
        seen, summary = read(text)
        assert not seen.events and not summary.calls
        assert kind_of("text", text.encode()) != "log"
    for text in (V7, DOCUMENTED, FRAMED, MIOPEN, TRACE):
        assert kind_of("text", text.encode()) == "log"


def test_memory_does_not_grow_with_the_log():
    seen, summary = read("".join(V7.replace("[1,3,224", f"[{n % 7 + 1},3,224") for n in range(300)))
    assert summary.calls == 300
    assert seen.most <= 8


MATH = """
I! CuDNN (v8004) function cudnnSetConvolutionMathType() called:
i!     convDesc: location=host; addr={};
i!     mathType: type=cudnnMathType_t; val=CUDNN_TENSOR_OP_MATH (1);
"""


def test_descriptors_that_are_never_destroyed_are_forgotten_when_long_unused(monkeypatch):
    monkeypatch.setattr(importlib.import_module("portadnn.migrate.logs.follow"), "_THINGS", 50)
    seen, summary = read("".join(MATH.format(f"0x{n:x}") + MATH.format("0x40") for n in range(0x1000, 0x1100)))
    assert summary.calls == 512
    assert set(seen.state.things) == {"0x40", *(f"0x{n:x}" for n in range(0x1100 - 49, 0x1100))}


YOUNGER = {  # as MIOpen's LogCmd functions print them, or as a driver is called
    "[LogCmdGroupNorm] ./bin/MIOpenDriver groupnormfp16 -n 2 -c 6 -H 4 -W 5 -g 3 -m 0 -F 1": (
        "miopenGroupNormForward",
        {"xDesc": [2, 6, 4, 5]},
    ),
    "[LogCmdLayerNorm] ./bin/MIOpenDriver layernormfp32 -n 2 -c 3 -W 5 -F 1 -m 0": (
        "miopenLayerNormForward",
        {"xDesc": [2, 3, 5]},
    ),
    "[LogCmdT5LayerNorm] ./bin/MIOpenDriver t5layernormbfp16 -n 2 -c 3 -D 1 -H 4 -W 5 -F 2 -m 5": (
        "miopenT5LayerNormBackward",
        {"xDesc": [2, 3, 1, 4, 5]},
    ),
    "[LogCmdKthvalue] ./bin/MIOpenDriver kthvaluefp32 -n 5 -T 5, 6, 7 -Si 42, 7, 1 -F 1": ("miopenKthvalueForward", {}),
    "[LogCmdRoPE] ./bin/MIOpenDriver ropefp32 -input 2x3x4x6 -F 2": ("miopenRoPEBackward", {}),
    "[LogCmdCat] ./bin/MIOpenDriver catfp32 -dims 2x3 -F 1": ("miopenCatForward", {}),
    "[LogCmdAdam] ./bin/MIOpenDriver ampadamw -d 2x3 -l 0.1 -F 1": ("miopenFusedAdam", {}),
    "./bin/MIOpenDriver glu -D 4x6 -R 1 -F 1": ("miopenGLUForward", {"inputDesc": [4, 6]}),
    "./bin/MIOpenDriver reducecalculation -X 2x3x4 -R 1 -F 1": ("miopenReduceCalculationForward", {"xDesc": [2, 3, 4]}),
    "./bin/MIOpenDriver softmarginloss -D 4x25 -F 2": ("miopenSoftMarginLossBackward", {"inputDesc": [4, 25]}),
}


@pytest.mark.parametrize("line", YOUNGER)
def test_driver_lines_of_younger_operations(line):
    function, dims = YOUNGER[line]
    seen, _ = read(f"MIOpen(HIP): Command {line}\n" if line.startswith("[") else f"{line}\n")
    assert seen.functions == [function]
    for name, wanted in dims.items():
        assert seen.fields[0][name]["dimA"] == wanted
