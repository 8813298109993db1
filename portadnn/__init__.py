"""portadnn: cuDNN's operations on every GPU and CPU.

>>> import numpy as np
>>> import portadnn as dnn
>>> with dnn.Handle("reference") as handle:
...     x = handle.asarray(np.ones((1, 3, 8, 8), np.float32))
...     w = handle.asarray(np.ones((4, 3, 3, 3), np.float32))
...     y = dnn.convolution_forward(handle, x, w, dnn.ConvolutionDescriptor(padding=(1, 1)))
>>> y.shape
(1, 4, 8, 8)
"""

# isort: off
from ._io import safe_path as _safe_path  # noqa: F401  # before what the working directory could have as well

# isort: on
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import public_names as _operations
from ._version import __version__, get_version
from .ahead import prepare as _prepare  # noqa: F401  # handles prepare plans by it
from .descriptors import FilterDescriptor, TensorDescriptor, TensorView
from .descriptors.layers import ActivationDescriptor, ConvolutionDescriptor, OpTensorDescriptor, PoolingDescriptor
from .dispatch.prepared import Prepared
from .enums import (
    ActivationMode,
    BatchNormMode,
    ConvolutionBwdDataAlgo,
    ConvolutionBwdDataPreference,
    ConvolutionBwdFilterAlgo,
    ConvolutionBwdFilterPreference,
    ConvolutionFwdAlgo,
    ConvolutionFwdPreference,
    ConvolutionMode,
    DataType,
    DivNormMode,
    LRNMode,
    MathType,
    NanPropagation,
    OpTensorOp,
    PoolingMode,
    ReduceTensorIndices,
    ReduceTensorIndicesType,
    ReduceTensorOp,
    SamplerType,
    SoftmaxAlgorithm,
    SoftmaxMode,
    Status,
    TensorFormat,
    get_error_string,
)
from .errors import (
    AllocFailed,
    ArchMismatch,
    BadParam,
    CompileError,
    DnnError,
    ExecutionFailed,
    InternalError,
    NotInitialized,
    NotSupported,
)
from .handle import Handle
from .problem import Problem, TensorSpec, parse, parse_line
from .profiles import attach as _attach  # noqa: F401  # handles ask it for profiles
from .profiles.violations import ProfileWarning, Violation
from .tracing import trace, trace_as_asked

if TYPE_CHECKING:
    from .public_names import *  # noqa: F403

__all__ = [
    "ActivationDescriptor",
    "ActivationMode",
    "AllocFailed",
    "ArchMismatch",
    "BadParam",
    "BatchNormMode",
    "CompileError",
    "ConvolutionBwdDataAlgo",
    "ConvolutionBwdDataPreference",
    "ConvolutionBwdFilterAlgo",
    "ConvolutionBwdFilterPreference",
    "ConvolutionDescriptor",
    "ConvolutionFwdAlgo",
    "ConvolutionFwdPreference",
    "ConvolutionMode",
    "DataType",
    "DivNormMode",
    "DnnError",
    "ExecutionFailed",
    "FilterDescriptor",
    "Handle",
    "InternalError",
    "LRNMode",
    "MathType",
    "NanPropagation",
    "NotInitialized",
    "NotSupported",
    "OpTensorDescriptor",
    "OpTensorOp",
    "PoolingDescriptor",
    "PoolingMode",
    "Prepared",
    "Problem",
    "ProfileWarning",
    "ReduceTensorIndices",
    "ReduceTensorIndicesType",
    "ReduceTensorOp",
    "SamplerType",
    "SoftmaxAlgorithm",
    "SoftmaxMode",
    "Status",
    "TensorDescriptor",
    "TensorFormat",
    "TensorSpec",
    "TensorView",
    "Violation",
    "__version__",
    "get_error_string",
    "get_version",
    "parse",
    "parse_line",
    "trace",
]
__all__ += _operations.__all__


def __getattr__(name: str) -> Any:
    # Operations' modules are imported when first asked for: with all of them `import portadnn` took half as long again.
    if name not in _operations.MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_operations.MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


trace_as_asked()
