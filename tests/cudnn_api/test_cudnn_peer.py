"""The cuDNN peer: a side is one call of the library, on memory that the calls before it have filled.

A library and a CuPy that only take notes stand for the real ones; test_cudnn_backend.py looks at the arguments.
"""

import ctypes
import importlib.util
import re
from pathlib import Path

import pytest
from fake_cudnn import FakeLibrary, fake_cupy, letter

from portadnn.benchmarks import sets
from portadnn.benchmarks.peers.cudnn import CALLS, CudnnPeer
from portadnn.benchmarks.peers.peer import NoEquivalent
from portadnn.mapping import table
from portadnn.problem import parse_line
from portadnn_backends import vendor_cudnn
from portadnn_backends.vendor_cudnn.library import Library
from portadnn_backends.vendor_cudnn.signatures import argument_types

TYPES = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "z": ctypes.c_size_t,
    "q": ctypes.c_ulonglong,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
}


def fake_peer(refused=()):
    loaded = FakeLibrary(refused)
    return CudnnPeer(Library(loaded), fake_cupy()), loaded.notes


def plain(value):
    return getattr(value, "value", value)


def test_every_call_of_the_sets_has_a_peer():
    calls = [line for name in sets.SETS if name.startswith("calls") for line in sets.SETS[name]]
    ops = {line.split()[0] for line in sets.beside(calls, "cudnn")}
    assert {line.split()[0] for line in calls} - ops == {
        "batch_normalization_statistics",
        "batch_normalization_backward_statistics",
    }
    assert ops <= set(CALLS)


@pytest.mark.parametrize(
    "line", (*sets.beside(sets.SETS["calls-tiny"], "cudnn"), *sets.SETS["lstm-32"], *sets.SETS["spatial-small"])
)
def test_calls_are_made(line):
    """One setup, then each use of a side is one call of the same function."""
    peer, notes = fake_peer()
    sides = peer.sides(*parse_line(line))
    for side in sides:
        before = len(notes)
        assert side.timer(side.call) == 0.002
        assert [name for name, _ in notes[before:]] == [side.name.partition(" ")[0]]


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("pooling_backward x=f32:1x1x4x4 mode=max window=2,2", ["PoolingForward", "PoolingBackward"]),
        ("lrn_cross_channel_backward x=f32:1x4x2x2 lrn_n=3", ["LRNCrossChannelForward", "LRNCrossChannelBackward"]),
        ("dropout_backward dy=f32:8x8x8x8 dropout=0.5", ["DropoutForward", "DropoutBackward"]),
        (
            "batch_normalization_backward x=f32:2x3x2x2 saved_mean=f32:1x3x1x1 saved_inv_variance=f32:1x3x1x1",
            ["BatchNormalizationForwardTraining"] * 2 + ["BatchNormalizationBackward"] * 2,
        ),
        (
            "rnn_backward_weights x=f32:2x2x3 dw=f32:200x1x1 hidden_size=5",
            ["RNNForward", "RNNBackwardData_v8", "RNNBackwardWeights_v8"],
        ),
    ],
)
def test_backward_calls_read_what_the_calls_before_them_made(line, calls):
    peer, notes = fake_peer()
    peer.sides(*parse_line(line))
    pattern = r"cudnn((?:Pooling|LRN|Dropout|Batch|RNN)\w*(?:Forward|Backward)\w*)"
    made = [match[1] for name, _ in notes if (match := re.fullmatch(pattern, name))]
    assert made == calls


@pytest.mark.parametrize(
    ("mode", "name", "last"),
    [
        ("clipped_relu ceiling=6.0", "cudnnSetActivationDescriptor", 6.0),
        ("elu coef=0.5", "cudnnSetActivationDescriptor", 0.5),
        ("swish coef=1.5", "cudnnSetActivationDescriptorSwishBeta", 1.5),
    ],
)
def test_coefficients_of_activations(mode, name, last):
    peer, notes = fake_peer()
    peer.sides(*parse_line(f"activation_forward x=f32:2x3x4x5 mode={mode}"))
    assert [plain(words[-1]) for called, words in notes if called == name] == [last]


def test_arguments_of_a_blended_call():
    """C order, enumeration numbers, numbers in the arithmetic type, one address a tensor."""
    peer, notes = fake_peer()
    problem, numbers = parse_line("softmax_forward x=f64:2x3x4x5 mode=channel algorithm=log alpha=2 beta=0.5")
    sides = peer.sides(problem, numbers)
    assert len(sides) == 1
    args = notes[-1][1]
    assert notes[-1][0] == "cudnnSoftmaxForward"
    assert [plain(word) for word in args[1:3]] == [2, 1]
    alpha, beta = (ctypes.cast(word, ctypes.POINTER(ctypes.c_double))[0] for word in (args[3], args[6]))
    assert (alpha, beta) == (2.0, 0.5)
    assert plain(args[5]) != plain(args[8])
    shapes = [words for name, words in notes if name == "cudnnSetTensorNdDescriptor"]
    assert {(plain(w[1]), w[2], *w[3], *w[4]) for w in shapes} == {(1, 4, 2, 3, 4, 5, 60, 20, 5, 1)}


def test_refusals_say_why():
    peer, _ = fake_peer(refused=("cudnnActivationForward",))
    with pytest.raises(NoEquivalent, match="cudnnActivationForward: CUDNN_STATUS_NOT_SUPPORTED"):
        peer.sides(*parse_line("activation_forward x=f32:2x3x4x5 mode=relu"))
    with pytest.raises(NoEquivalent, match="no legacy call for convolution_forward"):
        peer.sides(*parse_line("convolution_forward x=f32:1x1x3x3 w=f32:1x1x3x3"))


def headers():
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place, "cudnn", "include") for place in (spec.submodule_search_locations if spec else ())]
    return [path for folder in folders for path in folder.glob("cudnn_*.h") if not path.stem.endswith("_v9")]


def called():
    """Return the functions of cuDNN that the backend calls."""
    sources = "".join(path.read_text() for path in Path(vendor_cudnn.__file__).parent.glob("*.py"))
    found = set(re.findall(r'"(cudnn[A-Z]\w+)"', sources))
    for kind, how in re.findall(r'descriptor\(\s*"(\w+)", "(\w*)"', sources):
        setter = f"{kind}Descriptor{how}" if how.startswith("_") else f"{kind}{how}Descriptor"
        found |= {f"cudnnCreate{kind}Descriptor", f"cudnnSet{setter}", f"cudnnDestroy{kind}Descriptor"}
    for way in ("Forward", "BackwardData", "BackwardFilter"):
        found |= {f"cudnnConvolution{way}", f"cudnnGetConvolution{way}WorkspaceSize"}
    return found


def test_every_called_function_is_declared():
    assert called() <= table().functions.keys()
    assert len(called()) > 70


@pytest.mark.skipif(not headers(), reason="cuDNN's headers are not installed")
def test_arguments_are_those_of_the_headers():
    text = re.sub(r"/\*.*?\*/", "", "".join(path.read_text() for path in headers()), flags=re.DOTALL)
    declared = dict(re.findall(r"CUDNNWINAPI\s+(cudnn\w+)\(([^;]*?)\);", text))
    for name in called() & declared.keys():
        kinds = [TYPES[letter(word.replace("[", "*"))] for word in declared[name].split(",")]
        assert argument_types(name) == kinds, name
