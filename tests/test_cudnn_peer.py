"""The cuDNN peer: every call gets the right arguments.

A library and a CuPy that only take notes stand for the real ones.
"""

import ctypes
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from portadnn.benchmarks import cudnn_library, sets
from portadnn.benchmarks.cudnn_library import CudnnError, Library
from portadnn.benchmarks.cudnn_peer import CALLS, CudnnPeer
from portadnn.benchmarks.peer import NoEquivalent
from portadnn.problem import parse_line

SUCCESS, UNSUPPORTED = 0, 3000


class Function:
    """A C function: notes what it is called with."""

    def __init__(self, name, notes, refused):
        self.name, self.notes, self.refused = name, notes, refused
        self.argtypes = self.restype = None

    def __call__(self, *args):
        if self.name == "cudnnGetVersion":
            return 91900
        if self.name == "cudnnGetErrorString":
            return b"CUDNN_STATUS_NOT_SUPPORTED"
        assert len(args) == len(self.argtypes), self.name
        self.notes.append((self.name, args))
        if self.name.startswith("cudnnCreate"):
            args[0]._obj.value = len(self.notes)
        elif "Size" in self.name:
            args[-1]._obj.value = 64
        return UNSUPPORTED if self.name in self.refused else SUCCESS


class FakeLibrary:
    def __init__(self, refused=()):
        self.notes, self.refused, self.functions = [], refused, {}

    def __getattr__(self, name):
        return self.functions.setdefault(name, Function(name, self.notes, self.refused))


class Memory(np.ndarray):
    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


class Event:
    def record(self):
        pass

    synchronize = record


def fake_cupy():
    cuda = SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(ptr=7), Event=Event, get_elapsed_time=lambda start, end: 2.0
    )
    return SimpleNamespace(
        __version__="fake",
        cuda=cuda,
        asarray=lambda a: np.array(a).view(Memory),
        tile=lambda a, count: np.tile(a, count).view(Memory),
        zeros=lambda count, dtype: np.zeros(count, dtype).view(Memory),
        int32=np.int32,
    )


def fake_peer(refused=()):
    loaded = FakeLibrary(refused)
    return CudnnPeer(Library(loaded), fake_cupy()), loaded.notes


def plain(value):
    return getattr(value, "value", value)


def test_every_call_of_the_sets_has_a_peer():
    ops = {line.split()[0] for name in sets.SETS if name.startswith("calls") for line in sets.SETS[name]}
    assert ops <= CALLS.keys()


@pytest.mark.parametrize("line", (*sets.SETS["calls-tiny"], *sets.SETS["lstm-32"], *sets.SETS["spatial-small"]))
def test_calls_are_made(line):
    """One setup, then each use of a side is one call of the same function."""
    peer, notes = fake_peer()
    sides = peer.sides(*parse_line(line))
    for side in sides:
        before = len(notes)
        assert side.timer(side.call) == 0.002
        assert [name for name, _ in notes[before:]] == [side.name.partition(" ")[0]]


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
    assert [(plain(w[1]), w[2], list(w[3]), list(w[4])) for w in shapes] == [(1, 4, [2, 3, 4, 5], [60, 20, 5, 1])] * 2


def test_short_tensors_get_dims_of_one():
    peer, notes = fake_peer()
    peer.sides(*parse_line("scale_tensor y=f16:2x3x4"))
    words = next(words for name, words in notes if name == "cudnnSetTensorNdDescriptor")
    assert list(words[3]) == [2, 3, 4, 1]


def test_refusals_say_why():
    peer, _ = fake_peer(refused=("cudnnActivationForward",))
    with pytest.raises(NoEquivalent, match="cudnnActivationForward: CUDNN_STATUS_NOT_SUPPORTED"):
        peer.sides(*parse_line("activation_forward x=f32:2x3x4x5 mode=relu"))
    with pytest.raises(NoEquivalent, match="no legacy call for convolution_forward"):
        peer.sides(*parse_line("convolution_forward x=f32:1x1x3x3 w=f32:1x1x3x3"))


def test_without_the_library_one_line_says_so(monkeypatch):
    monkeypatch.setattr(cudnn_library, "library_path", lambda: None)
    with pytest.raises(CudnnError, match="pip install"):
        Library.load()
    monkeypatch.setattr(cudnn_library, "library_path", lambda: ctypes.util.find_library("c"))
    with pytest.raises(CudnnError, match="no cuDNN 9"):
        Library.load()


def headers():
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place, "cudnn", "include") for place in (spec.submodule_search_locations if spec else ())]
    return [path for folder in folders for path in folder.glob("cudnn_*.h") if not path.stem.endswith("_v9")]


def letter(argument):
    """The letter of cudnn_library.SIGNATURES for an argument as a header declares it."""
    if re.search(r"[*\[]|Descriptor_t|cudnnHandle_t|cudaStream_t", argument):
        return "p"
    for pattern, found in (
        ("size_t", "z"),
        ("long long", "q"),
        ("unsigned|uint32", "u"),
        ("double", "d"),
        ("float", "f"),
    ):
        if re.search(pattern, argument):
            return found
    return "i"


@pytest.mark.skipif(not headers(), reason="cuDNN's headers are not installed")
def test_signatures_are_the_headers():
    text = re.sub(r"/\*.*?\*/", "", "".join(path.read_text() for path in headers()), flags=re.DOTALL)
    declared = dict(re.findall(r"CUDNNWINAPI\s+(cudnn\w+)\(([^;]*?)\);", text))
    for name, letters in cudnn_library.SIGNATURES.items():
        assert "".join(map(letter, declared[name].split(","))) == letters, name
