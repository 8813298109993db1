"""cuDNN's own names, on every backend: ``import portadnn.cudnn as cudnn``.

Functions have the names and the order of arguments of C, as cuDNN v5's user guide has them; what C returns through
pointers is returned, several results as a tuple in C's order. Handles and descriptors are opaque objects, ``alpha`` and
``beta`` are numbers, and a status other than success is raised as a :class:`portadnn.DnnError` with that ``status``.
Device memory is an array or a buffer of the backend (on CUDA also an address); the descriptor beside it says how it is
read. docs/from-cudnn.md has more, and a program.

>>> import numpy as np
>>> import portadnn.cudnn as cudnn
>>> handle = cudnn.cudnnCreate(backend="reference")
>>> desc = cudnn.cudnnCreateTensorDescriptor()
>>> cudnn.cudnnSetTensor4dDescriptor(desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, 1, 2, 1, 2)
>>> x = np.float32([1, 1, 0, 0])
>>> y = np.empty_like(x)
>>> mode = cudnn.CUDNN_SOFTMAX_MODE_INSTANCE
>>> cudnn.cudnnSoftmaxForward(handle, cudnn.CUDNN_SOFTMAX_ACCURATE, mode, 1, desc, x, 0, desc, y)
>>> [f"{value:.3f}" for value in y]
['0.366', '0.366', '0.134', '0.134']
>>> cudnn.cudnnDestroy(handle)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import (
    AllocFailed,
    ArchMismatch,
    BadParam,
    DnnError,
    ExecutionFailed,
    InternalError,
    NotInitialized,
    NotSupported,
)

if TYPE_CHECKING:
    from .generated.index import *  # noqa: F403

# Names that other wrappers give to errors; they also leave out the _t of enumerations.
cudnnError = DnnError
cudnnStatusNotInitialized, cudnnStatusAllocFailed, cudnnStatusBadParam = NotInitialized, AllocFailed, BadParam
cudnnStatusInternalError, cudnnStatusArchMismatch = InternalError, ArchMismatch
cudnnStatusExecutionFailed, cudnnStatusNotSupported = ExecutionFailed, NotSupported

CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL = 5, 0, 5  # of the guide
CUDNN_VERSION = 1000 * CUDNN_MAJOR + 100 * CUDNN_MINOR + CUDNN_PATCHLEVEL
CUDNN_DIM_MAX = 8
CUDNN_SEQDATA_DIM_COUNT, CUDNN_ATTN_WKIND_COUNT = 4, 8
CUDNN_ATTN_DISABLE_PROJ_BIASES, CUDNN_ATTN_ENABLE_PROJ_BIASES = 0, 2
CUDNN_BN_MIN_EPSILON = 0.0
CUDNN_LRN_MIN_N, CUDNN_LRN_MAX_N = 1, 16
CUDNN_LRN_MIN_K, CUDNN_LRN_MIN_BETA = 1e-5, 0.01

_STATIC = tuple(name for name in globals() if name.startswith(("CUDNN_", "cudnn")))


def _find(name: str) -> Any:
    """Return a function, an enumeration, a value of one or a structure; None for other names."""
    from .enumerations import enumeration
    from .generated.enums import CONSTANTS, TOPICS
    from .generated.index import MODULES, TYPES

    if name in MODULES:
        return getattr(import_module(f".generated.{MODULES[name]}", __name__), name)
    for enum in (name, f"{name}_t"):
        if enum in TOPICS:
            return enumeration(enum)
    if name in CONSTANTS:
        return enumeration(CONSTANTS[name])[name]
    if name in TYPES:
        return getattr(import_module(f".{TYPES[name]}", __name__), name)
    return None


def _names() -> list[str]:
    from .generated.enums import CONSTANTS, TOPICS
    from .generated.index import MODULES, TYPES

    return sorted({*_STATIC, *MODULES, *TOPICS, *CONSTANTS, *TYPES})


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _names()
    if name.startswith(("cudnn", "CUDNN_")):
        value = _find(name)
        if value is not None:
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    kept = (
        name for name in globals() if not name.startswith("cudnn")
    )  # other spellings that were asked for are not listed
    return sorted({*kept, *_names()})
