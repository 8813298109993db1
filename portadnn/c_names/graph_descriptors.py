"""Backend descriptors of cuDNN's graph API as data: their attributes, the types and numbers of elements of these.

The names are those of C without ``CUDNN_BACKEND_`` and ``_DESCRIPTOR``, ``CUDNN_ATTR_`` and ``CUDNN_TYPE_``.
Operations, which stand for nodes of graphs, are in :mod:`portadnn.c_names.graph_operations`.
"""

from __future__ import annotations

import functools

from .graph_attributes import DIMS, MANY, NUMBER, DescriptorKind, kind, may, need, result
from .graph_operations import OPERATIONS

TENSOR = kind(
    "TENSOR",
    need("TENSOR_UNIQUE_ID", "INT64"),
    need("TENSOR_DATA_TYPE", "DATA_TYPE"),
    need("TENSOR_BYTE_ALIGNMENT", "INT64"),
    need("TENSOR_DIMENSIONS", "INT64", most=DIMS),
    need("TENSOR_STRIDES", "INT64", most=DIMS),
    may("TENSOR_VECTOR_COUNT", "INT64"),
    may("TENSOR_VECTORIZED_DIMENSION", "INT64"),
    may("TENSOR_IS_VIRTUAL", "BOOLEAN"),
    may("TENSOR_IS_BY_VALUE", "BOOLEAN"),
    may("TENSOR_CONSTANT_VALUE", *NUMBER, "INT64", "INT32"),
    may("TENSOR_REORDERING_MODE", "TENSOR_REORDERING_MODE"),
    may("TENSOR_RAGGED_OFFSET_DESC", "BACKEND_DESCRIPTOR", of="TENSOR"),
)

# What operations refer to for their parameters.
PARAMETERS = (
    kind(
        "POINTWISE",
        need("POINTWISE_MODE", "POINTWISE_MODE", node="mode"),
        need("POINTWISE_MATH_PREC", "DATA_TYPE", node="compute"),
        may("POINTWISE_NAN_PROPAGATION", "NAN_PROPOGATION"),
        may("POINTWISE_RELU_LOWER_CLIP", *NUMBER, node="relu_lower_clip"),
        may("POINTWISE_RELU_UPPER_CLIP", *NUMBER, node="relu_upper_clip"),
        may("POINTWISE_RELU_LOWER_CLIP_SLOPE", *NUMBER, node="relu_lower_clip_slope"),
        may("POINTWISE_ELU_ALPHA", *NUMBER, node="elu_alpha"),
        may("POINTWISE_SOFTPLUS_BETA", *NUMBER, node="softplus_beta"),
        may("POINTWISE_SWISH_BETA", *NUMBER, node="swish_beta"),
        may("POINTWISE_AXIS", "INT64", node="axis"),
    ),
    kind(
        "CONVOLUTION",
        need("CONVOLUTION_COMP_TYPE", "DATA_TYPE", node="compute"),
        need("CONVOLUTION_CONV_MODE", "CONVOLUTION_MODE", node="convolution_mode"),
        need("CONVOLUTION_DILATIONS", "INT64", most=DIMS, node="dilation"),
        need("CONVOLUTION_FILTER_STRIDES", "INT64", most=DIMS, node="stride"),
        need("CONVOLUTION_PRE_PADDINGS", "INT64", most=DIMS, node="pre_padding"),
        need("CONVOLUTION_POST_PADDINGS", "INT64", most=DIMS, node="post_padding"),
        need("CONVOLUTION_SPATIAL_DIMS", "INT64"),
    ),
    kind(
        "MATMUL",
        need("MATMUL_COMP_TYPE", "DATA_TYPE", node="compute"),
        may("MATMUL_PADDING_VALUE", *NUMBER, node="padding"),
    ),
    kind(
        "REDUCTION",
        need("REDUCTION_OPERATOR", "REDUCTION_OPERATOR_TYPE", node="mode"),
        need("REDUCTION_COMP_TYPE", "DATA_TYPE", node="compute"),
        may("REDUCTION_IS_DETERMINISTIC", "BOOLEAN"),
    ),
    kind(
        "RESAMPLE",
        need("RESAMPLE_MODE", "RESAMPLE_MODE", node="mode"),
        need("RESAMPLE_COMP_TYPE", "DATA_TYPE", node="compute"),
        need("RESAMPLE_SPATIAL_DIMS", "INT64"),
        need("RESAMPLE_WINDOW_DIMS", "INT64", "FRACTION", most=DIMS, node="window"),
        need("RESAMPLE_PRE_PADDINGS", "INT64", "FRACTION", most=DIMS, node="pre_padding"),
        need("RESAMPLE_POST_PADDINGS", "INT64", "FRACTION", most=DIMS, node="post_padding"),
        need("RESAMPLE_STRIDES", "INT64", "FRACTION", most=DIMS, node="stride"),
        may("RESAMPLE_NAN_PROPAGATION", "NAN_PROPOGATION"),
        may("RESAMPLE_PADDING_MODE", "PADDING_MODE", node="padding_mode"),
    ),
    kind(
        "RNG",
        need("RNG_DISTRIBUTION", "RNG_DISTRIBUTION", node="distribution"),
        may("RNG_NORMAL_DIST_MEAN", *NUMBER, node="mean"),
        may("RNG_NORMAL_DIST_STANDARD_DEVIATION", *NUMBER, node="standard_deviation"),
        may("RNG_UNIFORM_DIST_MAXIMUM", *NUMBER, node="maximum"),
        may("RNG_UNIFORM_DIST_MINIMUM", *NUMBER, node="minimum"),
        may("RNG_BERNOULLI_DIST_PROBABILITY", *NUMBER, node="bernoulli_probability"),
    ),
)

# From a graph to its execution.
EXECUTION = (
    kind(
        "OPERATIONGRAPH",
        need("OPERATIONGRAPH_HANDLE", "HANDLE"),
        need("OPERATIONGRAPH_OPS", "BACKEND_DESCRIPTOR", most=MANY, of="OPERATION"),
        may("OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED", "BOOLEAN"),
        may("OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED", "BOOLEAN"),
        result("OPERATIONGRAPH_ENGINE_GLOBAL_COUNT", "INT64"),
    ),
    kind(
        "ENGINE",
        need("ENGINE_OPERATION_GRAPH", "BACKEND_DESCRIPTOR", of="OPERATIONGRAPH"),
        need("ENGINE_GLOBAL_INDEX", "INT64"),
        may("ENGINE_SM_COUNT_TARGET", "INT32"),
        result("ENGINE_KNOB_INFO", "BACKEND_DESCRIPTOR", most=MANY, of="KNOB_INFO"),
        result("ENGINE_NUMERICAL_NOTE", "NUMERICAL_NOTE", most=MANY),
        result("ENGINE_BEHAVIOR_NOTE", "BEHAVIOR_NOTE", most=MANY),
        result("ENGINE_LAYOUT_INFO", "BACKEND_DESCRIPTOR", most=MANY, of="LAYOUT_INFO"),
    ),
    kind(
        "ENGINECFG",
        need("ENGINECFG_ENGINE", "BACKEND_DESCRIPTOR", of="ENGINE"),
        may("ENGINECFG_KNOB_CHOICES", "BACKEND_DESCRIPTOR", most=MANY, of="KNOB_CHOICE"),
        result("ENGINECFG_INTERMEDIATE_INFO", "BACKEND_DESCRIPTOR", most=MANY, of="INTERMEDIATE_INFO"),
        result("ENGINECFG_WORKSPACE_SIZE", "INT64"),
    ),
    kind(
        "ENGINEHEUR",
        need("ENGINEHEUR_OPERATION_GRAPH", "BACKEND_DESCRIPTOR", of="OPERATIONGRAPH"),
        need("ENGINEHEUR_MODE", "HEUR_MODE"),
        may("ENGINEHEUR_SM_COUNT_TARGET", "INT32"),
        result("ENGINEHEUR_RESULTS", "BACKEND_DESCRIPTOR", most=MANY, of="ENGINECFG"),
    ),
    kind(
        "EXECUTION_PLAN",
        need("EXECUTION_PLAN_HANDLE", "HANDLE"),
        may("EXECUTION_PLAN_ENGINE_CONFIG", "BACKEND_DESCRIPTOR", of="ENGINECFG"),
        may("EXECUTION_PLAN_JSON_REPRESENTATION", "CHAR", most=1 << 30),
        result("EXECUTION_PLAN_WORKSPACE_SIZE", "INT64"),
        result("EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS", "INT64", most=MANY),
        result("EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS", "INT64", most=MANY),
    ),
    kind(
        "VARIANT_PACK",
        need("VARIANT_PACK_UNIQUE_IDS", "INT64", most=MANY),
        need("VARIANT_PACK_DATA_POINTERS", "VOID_PTR", most=MANY),
        may("VARIANT_PACK_WORKSPACE", "VOID_PTR"),
    ),
    kind(
        "KNOB_CHOICE",
        need("KNOB_CHOICE_KNOB_TYPE", "KNOB_TYPE"),
        need("KNOB_CHOICE_KNOB_VALUE", "INT64"),
    ),
    kind(
        "KNOB_INFO",
        result("KNOB_INFO_TYPE", "KNOB_TYPE"),
        result("KNOB_INFO_MAXIMUM_VALUE", "INT64"),
        result("KNOB_INFO_MINIMUM_VALUE", "INT64"),
        result("KNOB_INFO_STRIDE", "INT64"),
    ),
    kind("LAYOUT_INFO", result("LAYOUT_INFO_TENSOR_UID", "INT64"), result("LAYOUT_INFO_TYPES", "LAYOUT_TYPE")),
    kind(
        "INTERMEDIATE_INFO",
        result("INTERMEDIATE_INFO_UNIQUE_ID", "INT64"),
        result("INTERMEDIATE_INFO_SIZE", "INT64"),
        result("INTERMEDIATE_INFO_DEPENDENT_DATA_UIDS", "INT64"),
        result("INTERMEDIATE_INFO_DEPENDENT_ATTRIBUTES", "ATTRIB_NAME"),
    ),
    kind(
        "DEVICEPROP",
        may("DEVICEPROP_DEVICE_ID", "INT32"),
        may("DEVICEPROP_HANDLE", "HANDLE"),
        may("DEVICEPROP_JSON_REPRESENTATION", "CHAR", most=1 << 30),
    ),
)

# Kinds that programs cannot fill: what describes is got of another descriptor.
DESCRIBING = ("KNOB_INFO", "LAYOUT_INFO", "INTERMEDIATE_INFO")


@functools.cache
def kinds() -> dict[str, DescriptorKind]:
    """Return all kinds by name, operations too."""
    return {each.name: each for each in (TENSOR, *PARAMETERS, *EXECUTION, *OPERATIONS)}
