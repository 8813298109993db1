"""cuDNN 9 through ctypes: find the library, declare the legacy calls, raise what they return.

The library is that of the wheels ``nvidia-cudnn-cu12`` and ``nvidia-cudnn-cu13``, or the system's. Numbers of
enumerations are those of ``portadnn.enums``, which has cuDNN's.
"""

from __future__ import annotations

import ctypes
import importlib.util
import weakref
from collections.abc import Callable, Sequence
from ctypes.util import find_library
from pathlib import Path
from typing import Any

# What calls take: p a pointer (descriptors, handles and device memory), i an int, u an unsigned, z a size_t, q an
# unsigned long long, d a double, f a float. From cuDNN's public headers.
SIGNATURES = {
    "cudnnCreate": "p",
    "cudnnSetStream": "pp",
    "cudnnSetTensorNdDescriptor": "piipp",
    "cudnnTransformTensor": "ppppppp",
    "cudnnAddTensor": "ppppppp",
    "cudnnSetOpTensorDescriptor": "piii",
    "cudnnOpTensor": "ppppppppppp",
    "cudnnSetReduceTensorDescriptor": "piiiii",
    "cudnnGetReductionIndicesSize": "ppppp",
    "cudnnGetReductionWorkspaceSize": "ppppp",
    "cudnnReduceTensor": "pppzpzpppppp",
    "cudnnSetTensor": "pppp",
    "cudnnScaleTensor": "pppp",
    "cudnnSoftmaxForward": "piipppppp",
    "cudnnSoftmaxBackward": "piipppppppp",
    "cudnnSetPoolingNdDescriptor": "piiippp",
    "cudnnPoolingForward": "pppppppp",
    "cudnnPoolingBackward": "pppppppppppp",
    "cudnnSetActivationDescriptor": "piid",
    "cudnnSetActivationDescriptorSwishBeta": "pd",
    "cudnnActivationForward": "pppppppp",
    "cudnnActivationBackward": "pppppppppppp",
    "cudnnSetLRNDescriptor": "puddd",
    "cudnnLRNCrossChannelForward": "ppipppppp",
    "cudnnLRNCrossChannelBackward": "ppipppppppppp",
    "cudnnDivisiveNormalizationForward": "ppippppppppp",
    "cudnnDivisiveNormalizationBackward": "ppippppppppppp",
    "cudnnDeriveBNTensorDescriptor": "ppi",
    "cudnnBatchNormalizationForwardInference": "pipppppppppppd",
    "cudnnBatchNormalizationForwardTraining": "pipppppppppdppdpp",
    "cudnnBatchNormalizationBackward": "pippppppppppppppdpp",
    "cudnnSetSpatialTransformerNdDescriptor": "piiip",
    "cudnnSpatialTfGridGeneratorForward": "pppp",
    "cudnnSpatialTfGridGeneratorBackward": "pppp",
    "cudnnSpatialTfSamplerForward": "ppppppppp",
    "cudnnSpatialTfSamplerBackward": "pppppppppppppp",
    "cudnnDropoutGetStatesSize": "pp",
    "cudnnDropoutGetReserveSpaceSize": "pp",
    "cudnnSetDropoutDescriptor": "ppfpzq",
    "cudnnDropoutForward": "pppppppz",
    "cudnnDropoutBackward": "pppppppz",
    "cudnnConvolutionBackwardBias": "ppppppp",
    "cudnnSetRNNDescriptor_v8": "piiiiiiiiiiiipu",
    "cudnnSetRNNDataDescriptor": "piiiiipp",
    "cudnnGetRNNTempSpaceSizes": "ppippp",
    "cudnnGetRNNWeightSpaceSize": "ppp",
    "cudnnRNNForward": "ppipppppppppppzpzpzp",
    "cudnnRNNBackwardData_v8": "ppppppppppppppppzpzpzp",
    "cudnnRNNBackwardWeights_v8": "ppipppppppzpzpzp",
}
_TYPES = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "z": ctypes.c_size_t,
    "q": ctypes.c_ulonglong,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
}
# descriptors that are created and destroyed: all take one pointer
DESCRIPTORS = ("Tensor", "OpTensor", "ReduceTensor", "Pooling", "Activation", "LRN", "SpatialTransformer", "Dropout")
RNN_DESCRIPTORS = ("RNN", "RNNData")


class CudnnError(Exception):
    """A call that did not succeed, with the name of its status."""


def library_path() -> str | None:
    """Return where cuDNN 9 lies: in a wheel, or where the system's loader finds it."""
    try:
        spec = importlib.util.find_spec("nvidia.cudnn")
    except ModuleNotFoundError:
        spec = None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder, "lib").glob("libcudnn.so.9*")):
            return str(path)
    return find_library("cudnn")


class Descriptor:
    """A cuDNN descriptor, destroyed with this object. `pointer` is what calls take."""

    def __init__(self, library: Library, kind: str) -> None:
        pointer = ctypes.c_void_p()
        library.call(f"cudnnCreate{kind}Descriptor", ctypes.byref(pointer))
        self.pointer = pointer.value
        weakref.finalize(self, library.function(f"cudnnDestroy{kind}Descriptor"), pointer)


class Library:
    """The loaded library.

    Parameters
    ----------
    loaded
        A ctypes library; tests give their own.
    """

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded
        for name, letters in SIGNATURES.items():
            self._declare(name, letters)
        for kind in (*DESCRIPTORS, *RNN_DESCRIPTORS):
            self._declare(f"cudnnCreate{kind}Descriptor", "p")
            self._declare(f"cudnnDestroy{kind}Descriptor", "p")
        loaded.cudnnGetErrorString.restype = ctypes.c_char_p
        loaded.cudnnGetVersion.restype = ctypes.c_size_t

    @classmethod
    def load(cls) -> Library:
        """Load cuDNN 9.

        Raises
        ------
        CudnnError
            There is none, or it is another version.
        """
        path = library_path()
        if path is None:
            raise CudnnError("there is no libcudnn (pip install nvidia-cudnn-cu13)")
        try:
            loaded = ctypes.CDLL(path)
            library = cls(loaded)
        except (OSError, AttributeError) as error:
            raise CudnnError(f"{path} is no cuDNN 9 with the legacy calls: {error}") from None
        if not 90000 <= library.version < 100000:
            raise CudnnError(f"{path} is cuDNN {library.version}, not 9")
        return library

    @property
    def version(self) -> int:
        """Such as 91900."""
        return int(self._loaded.cudnnGetVersion())

    def _declare(self, name: str, letters: str) -> None:
        function = getattr(self._loaded, name)
        function.argtypes = [_TYPES[letter] for letter in letters]
        function.restype = ctypes.c_int

    def function(self, name: str) -> Any:
        """Return the ctypes function."""
        return getattr(self._loaded, name)

    def check(self, name: str, status: int) -> None:
        """Raise what a call returned, if it is not success."""
        if status:
            text = self._loaded.cudnnGetErrorString(status)
            raise CudnnError(f"{name}: {text.decode() if isinstance(text, bytes) else status}")

    def call(self, name: str, *args: Any) -> None:
        """Make a call.

        Raises
        ------
        CudnnError
            It did not succeed.
        """
        self.check(name, self.function(name)(*args))

    def bound(self, name: str, *args: Any) -> Callable[[], None]:
        """Return a call with its arguments converted once, as cheap to make as it can be."""
        function = self.function(name)
        kinds = function.argtypes
        if len(kinds) != len(args):
            raise TypeError(f"{name} takes {len(kinds)} arguments, not {len(args)}")
        words = tuple(
            value if isinstance(value, (ctypes._SimpleCData, ctypes.Array)) or value is None else kind(value)
            for kind, value in zip(kinds, args, strict=True)
        )

        def run() -> None:
            status = function(*words)
            if status:
                self.check(name, status)

        return run

    def size(self, name: str, *args: Any) -> int:
        """Return the size_t that a call writes to its last argument."""
        return self.sizes(name, 1, *args)[0]

    def sizes(self, name: str, count: int, *args: Any) -> tuple[int, ...]:
        """Return the size_t's that a call writes to its last arguments."""
        found = [ctypes.c_size_t() for _ in range(count)]
        self.call(name, *args, *map(ctypes.byref, found))
        return tuple(size.value for size in found)


def ints(values: Sequence[int]) -> Any:
    """Return a C array of ints."""
    return (ctypes.c_int * len(values))(*values)
