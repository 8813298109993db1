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

from ._version import __version__
from .descriptors import (
    ActivationDescriptor,
    ConvolutionDescriptor,
    FilterDescriptor,
    OpTensorDescriptor,
    PoolingDescriptor,
    TensorDescriptor,
    TensorView,
)
from .enums import (
    ActivationMode,
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DataType,
    NanPropagation,
    OpTensorOp,
    PoolingMode,
    SoftmaxAlgorithm,
    SoftmaxMode,
    Status,
    TensorFormat,
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
    get_error_string,
)
from .handle import Handle
from .ops.activation import activation_backward, activation_forward
from .ops.convolution import (
    convolution_backward_bias,
    convolution_backward_data,
    convolution_backward_filter,
    convolution_forward,
    get_convolution_2d_forward_output_dim,
    get_convolution_backward_data_workspace_size,
    get_convolution_backward_filter_workspace_size,
    get_convolution_forward_workspace_size,
    get_convolution_nd_forward_output_dim,
)
from .ops.pooling import (
    get_pooling_2d_forward_output_dim,
    get_pooling_nd_forward_output_dim,
    pooling_backward,
    pooling_forward,
)
from .ops.softmax import softmax_backward, softmax_forward
from .ops.tensor import add_tensor, op_tensor, scale_tensor, set_tensor, transform_tensor
from .problem import Problem, TensorSpec, parse, parse_line

__all__ = [
    "ActivationDescriptor",
    "ActivationMode",
    "AllocFailed",
    "ArchMismatch",
    "BadParam",
    "CompileError",
    "ConvolutionBwdDataAlgo",
    "ConvolutionBwdFilterAlgo",
    "ConvolutionDescriptor",
    "ConvolutionFwdAlgo",
    "ConvolutionMode",
    "DataType",
    "DnnError",
    "ExecutionFailed",
    "FilterDescriptor",
    "Handle",
    "InternalError",
    "NanPropagation",
    "NotInitialized",
    "NotSupported",
    "OpTensorDescriptor",
    "OpTensorOp",
    "PoolingDescriptor",
    "PoolingMode",
    "Problem",
    "SoftmaxAlgorithm",
    "SoftmaxMode",
    "Status",
    "TensorDescriptor",
    "TensorFormat",
    "TensorSpec",
    "TensorView",
    "__version__",
    "activation_backward",
    "activation_forward",
    "add_tensor",
    "convolution_backward_bias",
    "convolution_backward_data",
    "convolution_backward_filter",
    "convolution_forward",
    "get_convolution_2d_forward_output_dim",
    "get_convolution_backward_data_workspace_size",
    "get_convolution_backward_filter_workspace_size",
    "get_convolution_forward_workspace_size",
    "get_convolution_nd_forward_output_dim",
    "get_error_string",
    "get_pooling_2d_forward_output_dim",
    "get_pooling_nd_forward_output_dim",
    "op_tensor",
    "parse",
    "parse_line",
    "pooling_backward",
    "pooling_forward",
    "scale_tensor",
    "set_tensor",
    "softmax_backward",
    "softmax_forward",
    "transform_tensor",
]
