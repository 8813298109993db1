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
    NormMode,
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
    from .ops.activation import activation_backward, activation_forward
    from .ops.attention.calls import (
        get_multi_head_attn_buffers,
        get_multi_head_attn_weights,
        multi_head_attn_backward_data,
        multi_head_attn_backward_weights,
        multi_head_attn_forward,
    )
    from .ops.attention.descriptor import AttnDescriptor
    from .ops.attention.layout import AttnQueryMap, MultiHeadAttnWeightKind
    from .ops.batch_norm import (
        BN_MIN_EPSILON,
        batch_normalization_backward,
        batch_normalization_forward_inference,
        batch_normalization_forward_training,
        derive_bn_tensor_descriptor,
    )
    from .ops.batch_norm_parts import (
        batch_normalization_apply,
        batch_normalization_backward_apply,
        batch_normalization_backward_statistics,
        batch_normalization_statistics,
    )
    from .ops.convolution.algorithms import (
        ConvolutionBwdDataAlgoPerf,
        ConvolutionBwdFilterAlgoPerf,
        ConvolutionFwdAlgoPerf,
    )
    from .ops.convolution.calls import (
        convolution_backward_bias,
        convolution_backward_data,
        convolution_backward_filter,
        convolution_forward,
    )
    from .ops.convolution.find import (
        find_convolution_backward_data_algorithm,
        find_convolution_backward_data_algorithm_ex,
        find_convolution_backward_filter_algorithm,
        find_convolution_backward_filter_algorithm_ex,
        find_convolution_forward_algorithm,
        find_convolution_forward_algorithm_ex,
        get_convolution_backward_data_algorithm,
        get_convolution_backward_data_algorithm_max_count,
        get_convolution_backward_data_algorithm_v7,
        get_convolution_backward_data_find_workspace_size,
        get_convolution_backward_filter_algorithm,
        get_convolution_backward_filter_algorithm_max_count,
        get_convolution_backward_filter_algorithm_v7,
        get_convolution_backward_filter_find_workspace_size,
        get_convolution_forward_algorithm,
        get_convolution_forward_algorithm_max_count,
        get_convolution_forward_algorithm_v7,
        get_convolution_forward_find_workspace_size,
    )
    from .ops.convolution.fused import (
        convolution_bias_activation_forward,
        get_convolution_bias_activation_forward_workspace_size,
    )
    from .ops.convolution.sizes import (
        get_convolution_2d_forward_output_dim,
        get_convolution_backward_data_workspace_size,
        get_convolution_backward_filter_workspace_size,
        get_convolution_forward_workspace_size,
        get_convolution_nd_forward_output_dim,
    )
    from .ops.ctc_loss import (
        CTCGradMode,
        CTCLossDescriptor,
        LossNormalizationMode,
        ctc_loss,
        get_ctc_loss_workspace_size,
    )
    from .ops.divisive_norm import divisive_normalization_backward, divisive_normalization_forward
    from .ops.dropout import (
        DropoutDescriptor,
        dropout_backward,
        dropout_forward,
        dropout_get_reserve_space_size,
        dropout_get_states_size,
        get_dropout_descriptor,
        restore_dropout_descriptor,
        set_dropout_descriptor,
    )
    from .ops.gates import glu_backward, glu_forward, prelu_backward, rope_backward, rope_forward
    from .ops.getitem import getitem_backward
    from .ops.indexing import cat_forward, kthvalue_forward
    from .ops.losses import (
        LossReduction,
        multi_margin_loss_forward,
        soft_margin_loss_backward,
        soft_margin_loss_forward,
    )
    from .ops.lrn import LRNDescriptor, lrn_cross_channel_backward, lrn_cross_channel_forward
    from .ops.normalization import normalization_backward, normalization_forward
    from .ops.optimizers import adam
    from .ops.pooling import (
        get_pooling_2d_forward_output_dim,
        get_pooling_nd_forward_output_dim,
        pooling_backward,
        pooling_forward,
    )
    from .ops.reduce import (
        ReduceTensorDescriptor,
        get_reduction_indices_size,
        get_reduction_workspace_size,
        reduce_tensor,
    )
    from .ops.rnn.calls import (
        rnn_backward_data,
        rnn_backward_weights,
        rnn_forward_inference,
        rnn_forward_training,
    )
    from .ops.rnn.descriptor import RNNDescriptor
    from .ops.rnn.layout import DirectionMode, RNNBiasMode, RNNInputMode, RNNMode
    from .ops.rnn.sizes import (
        get_rnn_lin_layer_bias_params,
        get_rnn_lin_layer_matrix_params,
        get_rnn_params_size,
        get_rnn_training_reserve_size,
        get_rnn_workspace_size,
    )
    from .ops.softmax import softmax_backward, softmax_forward
    from .ops.spatial_sampler import spatial_tf_sampler_backward, spatial_tf_sampler_forward
    from .ops.spatial_transformer import (
        SpatialTransformerDescriptor,
        spatial_tf_grid_generator_backward,
        spatial_tf_grid_generator_forward,
    )
    from .ops.tensor import add_tensor, op_tensor, scale_tensor, set_tensor, transform_tensor

# Modules of operations are imported when first asked for: with all of them `import portadnn` took half as long again.
_LATER = {
    "activation": "activation_backward activation_forward",
    "batch_norm_parts": (
        "batch_normalization_apply batch_normalization_backward_apply batch_normalization_backward_statistics "
        "batch_normalization_statistics"
    ),
    "attention.calls": (
        "get_multi_head_attn_buffers get_multi_head_attn_weights multi_head_attn_backward_data "
        "multi_head_attn_backward_weights multi_head_attn_forward"
    ),
    "attention.descriptor": "AttnDescriptor",
    "attention.layout": "AttnQueryMap MultiHeadAttnWeightKind",
    "batch_norm": (
        "BN_MIN_EPSILON batch_normalization_backward batch_normalization_forward_inference "
        "batch_normalization_forward_training derive_bn_tensor_descriptor"
    ),
    "convolution.algorithms": "ConvolutionBwdDataAlgoPerf ConvolutionBwdFilterAlgoPerf ConvolutionFwdAlgoPerf",
    "convolution.calls": (
        "convolution_backward_bias convolution_backward_data convolution_backward_filter convolution_forward"
    ),
    "convolution.find": (
        "find_convolution_backward_data_algorithm find_convolution_backward_data_algorithm_ex "
        "find_convolution_backward_filter_algorithm find_convolution_backward_filter_algorithm_ex "
        "find_convolution_forward_algorithm find_convolution_forward_algorithm_ex "
        "get_convolution_backward_data_algorithm get_convolution_backward_data_algorithm_max_count "
        "get_convolution_backward_data_algorithm_v7 get_convolution_backward_data_find_workspace_size "
        "get_convolution_backward_filter_algorithm get_convolution_backward_filter_algorithm_max_count "
        "get_convolution_backward_filter_algorithm_v7 get_convolution_backward_filter_find_workspace_size "
        "get_convolution_forward_algorithm get_convolution_forward_algorithm_max_count "
        "get_convolution_forward_algorithm_v7 get_convolution_forward_find_workspace_size"
    ),
    "convolution.fused": "convolution_bias_activation_forward get_convolution_bias_activation_forward_workspace_size",
    "convolution.sizes": (
        "get_convolution_2d_forward_output_dim get_convolution_backward_data_workspace_size "
        "get_convolution_backward_filter_workspace_size get_convolution_forward_workspace_size "
        "get_convolution_nd_forward_output_dim"
    ),
    "ctc_loss": "CTCGradMode CTCLossDescriptor LossNormalizationMode ctc_loss get_ctc_loss_workspace_size",
    "divisive_norm": "divisive_normalization_backward divisive_normalization_forward",
    "dropout": (
        "DropoutDescriptor dropout_backward dropout_forward dropout_get_reserve_space_size dropout_get_states_size "
        "get_dropout_descriptor restore_dropout_descriptor set_dropout_descriptor"
    ),
    "gates": "glu_backward glu_forward prelu_backward rope_backward rope_forward",
    "getitem": "getitem_backward",
    "indexing": "cat_forward kthvalue_forward",
    "losses": "LossReduction multi_margin_loss_forward soft_margin_loss_backward soft_margin_loss_forward",
    "lrn": "LRNDescriptor lrn_cross_channel_backward lrn_cross_channel_forward",
    "normalization": "normalization_backward normalization_forward",
    "optimizers": "adam",
    "pooling": "get_pooling_2d_forward_output_dim get_pooling_nd_forward_output_dim pooling_backward pooling_forward",
    "reduce": "ReduceTensorDescriptor get_reduction_indices_size get_reduction_workspace_size reduce_tensor",
    "rnn.calls": "rnn_backward_data rnn_backward_weights rnn_forward_inference rnn_forward_training",
    "rnn.descriptor": "RNNDescriptor",
    "rnn.layout": "DirectionMode RNNBiasMode RNNInputMode RNNMode",
    "rnn.sizes": (
        "get_rnn_lin_layer_bias_params get_rnn_lin_layer_matrix_params get_rnn_params_size "
        "get_rnn_training_reserve_size get_rnn_workspace_size"
    ),
    "softmax": "softmax_backward softmax_forward",
    "spatial_sampler": "spatial_tf_sampler_backward spatial_tf_sampler_forward",
    "spatial_transformer": (
        "SpatialTransformerDescriptor spatial_tf_grid_generator_backward spatial_tf_grid_generator_forward"
    ),
    "tensor": "add_tensor op_tensor scale_tensor set_tensor transform_tensor",
}

__all__ = [
    "BN_MIN_EPSILON",
    "ActivationDescriptor",
    "ActivationMode",
    "AllocFailed",
    "ArchMismatch",
    "AttnDescriptor",
    "AttnQueryMap",
    "BadParam",
    "BatchNormMode",
    "CTCGradMode",
    "CTCLossDescriptor",
    "CompileError",
    "ConvolutionBwdDataAlgo",
    "ConvolutionBwdDataAlgoPerf",
    "ConvolutionBwdDataPreference",
    "ConvolutionBwdFilterAlgo",
    "ConvolutionBwdFilterAlgoPerf",
    "ConvolutionBwdFilterPreference",
    "ConvolutionDescriptor",
    "ConvolutionFwdAlgo",
    "ConvolutionFwdAlgoPerf",
    "ConvolutionFwdPreference",
    "ConvolutionMode",
    "DataType",
    "DirectionMode",
    "DivNormMode",
    "DnnError",
    "DropoutDescriptor",
    "ExecutionFailed",
    "FilterDescriptor",
    "Handle",
    "InternalError",
    "LRNDescriptor",
    "LRNMode",
    "LossNormalizationMode",
    "LossReduction",
    "MathType",
    "MultiHeadAttnWeightKind",
    "NanPropagation",
    "NormMode",
    "NotInitialized",
    "NotSupported",
    "OpTensorDescriptor",
    "OpTensorOp",
    "PoolingDescriptor",
    "PoolingMode",
    "Prepared",
    "Problem",
    "ProfileWarning",
    "RNNBiasMode",
    "RNNDescriptor",
    "RNNInputMode",
    "RNNMode",
    "ReduceTensorDescriptor",
    "ReduceTensorIndices",
    "ReduceTensorIndicesType",
    "ReduceTensorOp",
    "SamplerType",
    "SoftmaxAlgorithm",
    "SoftmaxMode",
    "SpatialTransformerDescriptor",
    "Status",
    "TensorDescriptor",
    "TensorFormat",
    "TensorSpec",
    "TensorView",
    "Violation",
    "__version__",
    "activation_backward",
    "activation_forward",
    "adam",
    "add_tensor",
    "batch_normalization_apply",
    "batch_normalization_backward",
    "batch_normalization_backward_apply",
    "batch_normalization_backward_statistics",
    "batch_normalization_forward_inference",
    "batch_normalization_forward_training",
    "batch_normalization_statistics",
    "cat_forward",
    "convolution_backward_bias",
    "convolution_backward_data",
    "convolution_backward_filter",
    "convolution_bias_activation_forward",
    "convolution_forward",
    "ctc_loss",
    "derive_bn_tensor_descriptor",
    "divisive_normalization_backward",
    "divisive_normalization_forward",
    "dropout_backward",
    "dropout_forward",
    "dropout_get_reserve_space_size",
    "dropout_get_states_size",
    "find_convolution_backward_data_algorithm",
    "find_convolution_backward_data_algorithm_ex",
    "find_convolution_backward_filter_algorithm",
    "find_convolution_backward_filter_algorithm_ex",
    "find_convolution_forward_algorithm",
    "find_convolution_forward_algorithm_ex",
    "get_convolution_2d_forward_output_dim",
    "get_convolution_backward_data_algorithm",
    "get_convolution_backward_data_algorithm_max_count",
    "get_convolution_backward_data_algorithm_v7",
    "get_convolution_backward_data_find_workspace_size",
    "get_convolution_backward_data_workspace_size",
    "get_convolution_backward_filter_algorithm",
    "get_convolution_backward_filter_algorithm_max_count",
    "get_convolution_backward_filter_algorithm_v7",
    "get_convolution_backward_filter_find_workspace_size",
    "get_convolution_backward_filter_workspace_size",
    "get_convolution_bias_activation_forward_workspace_size",
    "get_convolution_forward_algorithm",
    "get_convolution_forward_algorithm_max_count",
    "get_convolution_forward_algorithm_v7",
    "get_convolution_forward_find_workspace_size",
    "get_convolution_forward_workspace_size",
    "get_convolution_nd_forward_output_dim",
    "get_ctc_loss_workspace_size",
    "get_dropout_descriptor",
    "get_error_string",
    "get_multi_head_attn_buffers",
    "get_multi_head_attn_weights",
    "get_pooling_2d_forward_output_dim",
    "get_pooling_nd_forward_output_dim",
    "get_reduction_indices_size",
    "get_reduction_workspace_size",
    "get_rnn_lin_layer_bias_params",
    "get_rnn_lin_layer_matrix_params",
    "get_rnn_params_size",
    "get_rnn_training_reserve_size",
    "get_rnn_workspace_size",
    "get_version",
    "getitem_backward",
    "glu_backward",
    "glu_forward",
    "kthvalue_forward",
    "lrn_cross_channel_backward",
    "lrn_cross_channel_forward",
    "multi_head_attn_backward_data",
    "multi_head_attn_backward_weights",
    "multi_head_attn_forward",
    "multi_margin_loss_forward",
    "normalization_backward",
    "normalization_forward",
    "op_tensor",
    "parse",
    "parse_line",
    "pooling_backward",
    "pooling_forward",
    "prelu_backward",
    "reduce_tensor",
    "restore_dropout_descriptor",
    "rnn_backward_data",
    "rnn_backward_weights",
    "rnn_forward_inference",
    "rnn_forward_training",
    "rope_backward",
    "rope_forward",
    "scale_tensor",
    "set_dropout_descriptor",
    "set_tensor",
    "soft_margin_loss_backward",
    "soft_margin_loss_forward",
    "softmax_backward",
    "softmax_forward",
    "spatial_tf_grid_generator_backward",
    "spatial_tf_grid_generator_forward",
    "spatial_tf_sampler_backward",
    "spatial_tf_sampler_forward",
    "trace",
    "transform_tensor",
]


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _LATER.items() if name in names.split()), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".ops.{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


trace_as_asked()
