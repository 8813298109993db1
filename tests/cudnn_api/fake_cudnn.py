"""A cuDNN and a CuPy that only take notes, for machines without a GPU and without the library."""

from __future__ import annotations

import ctypes
import re
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

from portadnn.mapping import table
from portadnn_backends.vendor_cudnn.connection import CupyConnection
from portadnn_backends.vendor_cudnn.library import Library

SUCCESS, UNSUPPORTED = 0, 3000
SIZE = 64  # what every query of a size answers


class Function:
    """A C function: notes what it is called with."""

    def __init__(self, name, library):
        self.name, self.library = name, library
        self.argtypes = self.restype = None

    def __call__(self, *args):
        library = self.library
        if self.name == "cudnnGetVersion":
            return library.version
        if self.name == "cudnnGetErrorString":
            return b"CUDNN_STATUS_NOT_SUPPORTED"
        assert len(args) == len(self.argtypes), self.name
        library.notes.append((self.name, args))
        if self.name in library.refused:
            return UNSUPPORTED
        if self.name.startswith("cudnnCreate"):
            args[0]._obj.value = len(library.notes)
        elif self.name in library.answers:
            library.answers[self.name](*args)
        elif "Size" in self.name:
            for size in args:
                if hasattr(size, "_obj"):
                    size._obj.value = SIZE
        return SUCCESS


class FakeLibrary:
    """Stands for what ctypes loads.

    Attributes
    ----------
    notes : list of (str, tuple)
        The calls so far.
    answers : dict
        By function, what is called with the arguments.
    """

    def __init__(self, refused=(), *, version=91900, lacks=()):
        self.notes, self.refused, self.functions, self.answers = [], refused, {}, {}
        self.version, self.lacks = version, lacks

    def __getattr__(self, name):
        if name == "cudnnGetLastErrorString" or name in self.lacks:
            raise AttributeError(f"undefined symbol: {name}")
        return self.functions.setdefault(name, Function(name, self))


class Memory(np.ndarray):
    """A NumPy array whose memory has an address as CuPy's has."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def memory(values):
    """Return a copy of some values in such an array."""
    return np.array(values).view(Memory)


class Event:
    def record(self):
        pass

    synchronize = record


def fake_cupy():
    """Return what is used of CuPy, on the host's memory."""

    def copy(target, source, nbytes, kind, stream):
        assert kind == 4
        ctypes.memmove(target, source, nbytes)

    runtime = SimpleNamespace(memcpyAsync=copy, streamSynchronize=lambda stream: None)
    cuda = SimpleNamespace(
        Event=Event,
        get_current_stream=lambda: SimpleNamespace(ptr=7),
        get_elapsed_time=lambda start, end: 2.0,
        runtime=runtime,
    )
    return SimpleNamespace(
        __version__="fake",
        cuda=cuda,
        asarray=memory,
        tile=lambda a, count: np.tile(a, count).view(Memory),
        zeros=lambda count, dtype: np.zeros(count, dtype).view(Memory),
        int32=np.int32,
    )


def connect(refused=(), **options):
    """Return a connection to a new library, and the library."""
    loaded = FakeLibrary(refused, **options)
    return CupyConnection(Library(loaded), fake_cupy()), loaded


class Device:
    """What engines use of a device of the CUDA backend."""

    def __init__(self, info, stream=7):
        self.info, self.stream = info, stream

    def current(self):
        return nullcontext()

    def stream_address(self):
        return self.stream

    def address(self, array):
        return array.data.ptr


def parameters(name):
    """Return types and names of a C function's parameters, as the porting guide's declarations have them."""
    text = table().functions[name].c
    inside = text[text.index("(") + 1 : -1]
    found = [re.fullmatch(r"(.*?)\s*(\w+)\s*(\[\])?", word.strip()) for word in inside.split(",")]
    return [(match[1] + (" *" if match[3] else ""), match[2]) for match in found]


def letter(kind):
    """Return a letter for a parameter of that type: p a pointer, i an int or an enumeration, and so on."""
    if "*" in kind or re.search(r"Descriptor_t|cudnnHandle_t|cudaStream_t", kind):
        return "p"
    words = (("size_t", "z"), ("long long", "q"), ("unsigned|uint32", "u"), ("double", "d"), ("float", "f"))
    return next((found for pattern, found in words if re.search(pattern, kind)), "i")
