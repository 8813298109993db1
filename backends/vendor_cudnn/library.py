"""cuDNN 8 and 9 through ctypes: find the library, declare calls when they are first made, raise what they return.

The library is that of the wheels ``nvidia-cudnn-cu12`` and ``nvidia-cudnn-cu13``, or the system's. Numbers of
enumerations are those of ``portadnn.enums``, which has cuDNN's.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import weakref
from collections.abc import Callable, Iterator, Sequence
from ctypes.util import find_library
from pathlib import Path
from typing import Any

from portadnn.errors import NotSupported

from .signatures import argument_types
from .statuses import error_of

VERSIONS = (9, 8)  # the newest first
MOST_WORDS = 200  # characters of what the library says of its last error


def _wheels() -> Iterator[str]:
    """Yield the libraries of the wheels, which share a package."""
    try:
        spec = importlib.util.find_spec("nvidia.cudnn")
    except ModuleNotFoundError:
        return
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for version in VERSIONS:
            yield from map(str, sorted(Path(folder, "lib").glob(f"libcudnn.so.{version}*")))


def library_paths() -> list[str]:
    """Return where cuDNN may lie, best first: in a wheel, or where the system's loader finds it."""
    found = find_library("cudnn")
    return [*_wheels(), *([found] if found else []), *(f"libcudnn.so.{version}" for version in VERSIONS)]


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

    Raises
    ------
    NotSupported
        It is no cuDNN, or a version that is not known here.
    """

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded
        self._functions: dict[str, Any] = {}
        try:
            loaded.cudnnGetErrorString.restype = ctypes.c_char_p
            loaded.cudnnGetVersion.restype = ctypes.c_size_t
        except AttributeError as error:
            raise NotSupported(f"it is no cuDNN: {error}") from None
        self.version = int(loaded.cudnnGetVersion())
        if self._numbers[0] not in VERSIONS:
            raise NotSupported(f"it is cuDNN {self.version_text}; 8 and 9 are known")

    @property
    def _numbers(self) -> tuple[int, int, int]:
        thousand = 10000 if self.version >= 90000 else 1000
        return self.version // thousand, self.version % thousand // 100, self.version % 100

    @property
    def version_text(self) -> str:
        """Such as "9.19.0"."""
        return ".".join(map(str, self._numbers))

    def function(self, name: str) -> Any:
        """Return the ctypes function.

        Raises
        ------
        NotSupported
            This version has none of that name.
        """
        found = self._functions.get(name)
        if found is None:
            try:
                found = getattr(self._loaded, name)
            except AttributeError:
                raise NotSupported(f"cuDNN {self.version_text} has no {name}") from None
            found.argtypes = argument_types(name)
            found.restype = ctypes.c_int
            self._functions[name] = found
        return found

    def _words(self, status: int) -> str:
        """Return a status's name, and what cuDNN 9 says of the last error besides."""
        text = self._loaded.cudnnGetErrorString(status)
        name = text.decode() if isinstance(text, bytes) else str(status)
        last = getattr(self._loaded, "cudnnGetLastErrorString", None) if self.version >= 90000 else None
        if last is None:
            return name
        last.argtypes, last.restype = [ctypes.c_char_p, ctypes.c_size_t], None
        buffer = ctypes.create_string_buffer(MOST_WORDS)
        last(buffer, MOST_WORDS)
        detail = " ".join(buffer.value.decode(errors="replace").split())
        return f"{name} ({detail})" if detail else name

    def check(self, name: str, status: int) -> None:
        """Raise what a call returned, if it is not success; see :mod:`.statuses`."""
        if status:
            raise error_of(status)(f"{name}: {self._words(status)}")

    def call(self, name: str, *args: Any) -> None:
        """Make a call.

        Raises
        ------
        DnnError
            It did not succeed.
        NotSupported
            This version has no such call.
        """
        self.check(name, self.function(name)(*args))

    def bound(self, name: str, *args: Any) -> Callable[[], None]:
        """Return a call with its arguments converted once, as cheap to make as it can be.

        ctypes objects stay what they are: who changes their values changes the arguments of the next call.
        """
        function = self.function(name)
        kinds = function.argtypes
        if len(kinds) != len(args):
            raise TypeError(f"{name} takes {len(kinds)} arguments, not {len(args)}")
        words = tuple(
            value if isinstance(value, (ctypes._SimpleCData, ctypes.Array)) or value is None else kind(value)
            for kind, value in zip(kinds, args, strict=True)
        )
        check = self.check

        def run() -> None:
            status = function(*words)
            if status:
                check(name, status)

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


@functools.cache
def load() -> Library:
    """Load cuDNN.

    Raises
    ------
    NotSupported
        There is none that can be loaded; the message says what was tried.
    """
    reasons = []
    for path in library_paths():
        try:
            return Library(ctypes.CDLL(path))
        except OSError as error:
            if Path(path).exists():  # what is missing altogether is told below
                reasons.append(f"{path} cannot be loaded ({error})")
        except NotSupported as error:
            reasons.append(f"{path} does not serve: {error}")
    raise NotSupported("; ".join(reasons) or "there is no libcudnn, neither in NVIDIA's wheels nor in the system")
