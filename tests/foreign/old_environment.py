"""What Chainer 7.8 expects of Python, NumPy and CuPy of its time, put beside those of today."""

from __future__ import annotations

import importlib.util
import sys
import unittest.mock
from types import ModuleType
from typing import Any

import numpy as np


class _Nothing(ModuleType):
    """A module that has every name: a class of errors that nobody raises, which does nothing when called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {"__init__": lambda *_, **__: None})


def _unchanged(*given: Any, **_: Any) -> Any:
    """Return a function as it is: what numba's decorators do here."""
    return given[0] if given and callable(given[0]) else lambda function: function


def lend() -> None:
    """Put something in the place of modules that SigPy and Chainer import and that convolutions do without."""
    for name in ("numba", "pywt", "tqdm", "tqdm.auto", "filelock", "typing_extensions"):
        package = name.partition(".")[0]
        lent = isinstance(sys.modules.get(package), _Nothing)
        if lent or (package not in sys.modules and importlib.util.find_spec(package) is None):
            sys.modules[name] = _Nothing(name)
    numba = sys.modules.get("numba")
    if isinstance(numba, _Nothing):
        vars(numba).update(jit=_unchanged, njit=_unchanged, vectorize=_unchanged, prange=range)
    if importlib.util.find_spec("mock") is None:
        sys.modules["mock"] = unittest.mock


def restore(stand_in: bool) -> None:
    """Put back what Chainer imports or calls: names of NumPy, CuPy's 7.8, and modules that are gone."""
    for name, value in {"bool": bool, "int": int, "float": float, "object": object, "complex": complex}.items():
        vars(np).setdefault(name, value)
    old: dict[str, Any] = {
        "product": np.prod,
        "alltrue": np.all,
        "sometrue": np.any,
        "cumproduct": np.cumprod,
        "in1d": np.isin,
    }
    old["sctypes"] = {"int": [np.int8, np.int16, np.int32, np.int64], "float": [np.float16, np.float32, np.float64]}
    for name, value in old.items():
        vars(np).setdefault(name, value)
    for name in ("pkg_resources", "numpy.distutils", "numpy.distutils.system_info"):
        sys.modules.setdefault(name, _Nothing(name))
    build: Any = ModuleType("chainerx._build_info")
    build.build_chainerx = False
    sys.modules["chainerx._build_info"] = build
    _parts_of_cupy()
    if stand_in:
        _names_of_cupy()


def _parts_of_cupy() -> None:
    """Put something in the place of CuPy's modules that Chainer imports and that cannot be: libraries are missing."""
    for name in ("cupy.cuda.cublas", "cupyx.scipy", "cupyx.scipy.linalg", "cupyx.scipy.special", "cupy._util"):
        parent, _, last = name.rpartition(".")
        try:
            found = getattr(importlib.import_module(parent), last, None) or importlib.import_module(name)
        except ImportError:
            found = _Nothing(name)
            vars(found)["__path__"] = []
            setattr(sys.modules[parent], last, found)
        sys.modules[name] = found


def _names_of_cupy() -> None:
    """Give the stand-in what only Chainer calls."""
    import cupy

    sys.modules["cupy._util"].PerformanceWarning = type("PerformanceWarning", (Warning,), {})
    pool = _Nothing("pool")
    vars(cupy).update(get_default_memory_pool=lambda: pool, get_default_pinned_memory_pool=lambda: pool)
    vars(cupy.cuda).update(set_allocator=lambda *_: None, set_pinned_memory_allocator=lambda *_: None)
