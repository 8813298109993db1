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
    from .activations import *  # noqa: F403
    from .backend import *  # noqa: F403
    from .batch_norm.calls import *  # noqa: F403
    from .batch_norm.fused import *  # noqa: F403
    from .convolution.algorithms import *  # noqa: F403
    from .convolution.calls import *  # noqa: F403
    from .convolution.descriptors import *  # noqa: F403
    from .dropout import *  # noqa: F403
    from .filters import *  # noqa: F403
    from .handles import *  # noqa: F403
    from .layers import *  # noqa: F403
    from .normalization import *  # noqa: F403
    from .reductions import *  # noqa: F403
    from .response_norm import *  # noqa: F403
    from .rnn.calls import *  # noqa: F403
    from .rnn.data import *  # noqa: F403
    from .rnn.descriptors import *  # noqa: F403
    from .rnn.ex import *  # noqa: F403
    from .rnn.v8 import *  # noqa: F403
    from .spatial import *  # noqa: F403
    from .tensors import *  # noqa: F403

# Names that other wrappers give to errors; they also leave out the _t of enumerations.
cudnnError = DnnError
cudnnStatusNotInitialized, cudnnStatusAllocFailed, cudnnStatusBadParam = NotInitialized, AllocFailed, BadParam
cudnnStatusInternalError, cudnnStatusArchMismatch = InternalError, ArchMismatch
cudnnStatusExecutionFailed, cudnnStatusNotSupported = ExecutionFailed, NotSupported

CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL = 5, 0, 5  # of the guide
CUDNN_VERSION = 1000 * CUDNN_MAJOR + 100 * CUDNN_MINOR + CUDNN_PATCHLEVEL
CUDNN_DIM_MAX = 8
CUDNN_BN_MIN_EPSILON = 1e-5
CUDNN_LRN_MIN_N, CUDNN_LRN_MAX_N = 1, 16
CUDNN_LRN_MIN_K, CUDNN_LRN_MIN_BETA = 1e-5, 0.01

# Where the functions of each topic of the mapping table are. Modules are imported when first asked for.
_MODULES = {
    "activation": ("activations",),
    "batch_norm": ("batch_norm.calls", "batch_norm.fused"),
    "convolution_backward_data": ("convolution.calls", "convolution.algorithms"),
    "convolution_backward_filter": ("convolution.calls", "convolution.algorithms"),
    "convolution_descriptor": ("convolution.descriptors",),
    "convolution_forward": ("convolution.calls", "convolution.algorithms"),
    "dropout": ("dropout",),
    "filter": ("filters",),
    "graph": ("backend",),
    "handle": ("handles",),
    "lrn": ("response_norm",),
    "normalization": ("normalization",),
    "pooling": ("layers",),
    "reduce": ("reductions",),
    "rnn": ("rnn.calls",),
    "rnn_descriptor": ("rnn.descriptors",),
    "rnn_sequences": ("rnn.data", "rnn.v8", "rnn.ex"),
    "softmax": ("layers",),
    "spatial_transformer": ("spatial",),
    "tensor": ("tensors",),
    "tensor_ops": ("tensors",),
}
_STRUCTURES = {
    f"cudnnConvolution{direction}AlgoPerf_t": "convolution.algorithms" for direction in ("Fwd", "BwdFilter", "BwdData")
}
_STATIC = tuple(name for name in globals() if name.startswith(("CUDNN_", "cudnn")))


def _function(name: str, topic: str) -> Any:
    for module in _MODULES.get(topic, ()):
        found = vars(import_module(f".{module}", __name__)).get(name)
        if found is not None:
            return found
    from .refused import refused

    return refused(name)


def _find(name: str) -> Any:
    """Return a function, an enumeration, a value of one or a structure; None for other names."""
    from .declarations import constants, declarations, enumeration

    known = declarations()
    if name in known["functions"]:
        return _function(name, known["functions"][name]["topic"])
    for enum in (name, f"{name}_t"):
        if enum in known["enumerations"]:
            return enumeration(enum)
    if name in constants():
        return enumeration(constants()[name])[name]
    if name in _STRUCTURES:
        return getattr(import_module(f".{_STRUCTURES[name]}", __name__), name)
    return None


def _names() -> list[str]:
    from .declarations import constants, declarations

    known = declarations()
    return sorted({*_STATIC, *known["functions"], *known["enumerations"], *constants(), *_STRUCTURES})


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
