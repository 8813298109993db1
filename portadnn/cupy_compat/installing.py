"""Installs the modules under CuPy's names."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec

from .memory import gpu_library

_MODULES = {
    "cupy.cuda.cudnn": "libcudnn",
    "cupy_backends.cuda.libs.cudnn": "libcudnn",
    "cupyx.cudnn": "cudnn",
    "cupy.cudnn": "cudnn",
}


def installable() -> bool:
    """Whether there is a CuPy to install the modules in, its stand-in included."""
    try:
        return "cupy" in sys.modules or find_spec("cupy") is not None
    except (ImportError, ValueError):
        return False


def _stand_in() -> None:
    """Put the stand-in in CuPy's place, unless CuPy sees a GPU."""
    if gpu_library() is not None or getattr(sys.modules.get("cupy"), "is_stand_in", False):
        return
    for name in list(sys.modules):
        if name.partition(".")[0] in ("cupy", "cupyx", "cupy_backends"):
            del sys.modules[name]
    from .numpy_cupy import stand_in

    sys.modules.update(stand_in())


def install(*, numpy: bool = False) -> None:
    """Put the modules in CuPy's packages, in place of CuPy's own where an older CuPy has them.

    Parameters
    ----------
    numpy
        Where CuPy is not installed or sees no GPU, have this process import a stand-in of NumPy's arrays as ``cupy``.

    Raises
    ------
    ImportError
        CuPy is not installed, or cannot be imported.
    """
    if numpy:
        _stand_in()
    for name, own in _MODULES.items():
        parent, _, last = name.rpartition(".")
        module = importlib.import_module(f"{__package__}.{own}")
        setattr(importlib.import_module(parent), last, module)
        sys.modules[name] = module
