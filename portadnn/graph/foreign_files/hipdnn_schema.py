"""hipDNN's FlatBuffers schema as data: names, order and types of fields, as they are on the wire.

From the schemas and JSON headers of projects/hipdnn/flatbuffers_sdk in github.com/ROCm/rocm-libraries: graph.fbs
463c78a8, tensor_attributes.fbs 33f48644, node_operands_generated.h 79c051a5 (order of all fields), the headers of
84eed769 (field numbers, ConvMode, PointwiseMode), sdpa_attributes.fbs 01b4ecd0, serialized_graph_and_plan.fbs ecdeb08c.
BOOLEAN came before the FNUZ types (pull request 6958). MOD, POW and COS, and BILINEAR, NEAREST and EDGE_VAL_PAD, have
the numbers of the frontend's enumerations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The order is the value, which is stored in a byte.
ENUMS = {
    "DataType": "UNSET FLOAT HALF BFLOAT16 DOUBLE UINT8 INT32 INT8 FP8_E4M3 FP8_E5M2 FP8_E8M0 FP4_E2M1 FP6_E2M3"
    " FP6_E3M2 INT4 INT64 BOOLEAN FP8_E4M3_FNUZ FP8_E5M2_FNUZ",
    "ConvMode": "UNSET CONVOLUTION CROSS_CORRELATION",
    "PointwiseMode": "UNSET ABS ADD ADD_SQUARE BINARY_SELECT CEIL CMP_EQ CMP_GE CMP_GT CMP_LE CMP_LT CMP_NEQ DIV"
    " ELU_BWD ELU_FWD ERF EXP FLOOR GELU_APPROX_TANH_BWD GELU_APPROX_TANH_FWD GELU_BWD GELU_FWD GEN_INDEX IDENTITY LOG"
    " LOGICAL_AND LOGICAL_NOT LOGICAL_OR MAX_OP MIN_OP MUL NEG RECIPROCAL RELU_BWD RELU_FWD RSQRT SIGMOID_BWD"
    " SIGMOID_FWD SIN SOFTPLUS_BWD SOFTPLUS_FWD SQRT SUB SWISH_BWD SWISH_FWD TAN TANH_BWD TANH_FWD MOD POW COS",
    "ReductionMode": "NOT_SET ADD MUL MIN_OP MAX_OP AMAX AVG NORM1 NORM2 MUL_NO_ZEROS",
    "ResampleMode": "NOT_SET MAXPOOL AVGPOOL_EXCLUDE_PADDING AVGPOOL_INCLUDE_PADDING BILINEAR NEAREST",
    "PaddingMode": "PADDING_NOT_SET NEG_INF_PAD ZERO_PAD EDGE_VAL_PAD",
    "NormFwdPhase": "NOT_SET INFERENCE TRAINING",
    "DiagonalAlignment": "TOP_LEFT BOTTOM_RIGHT",
    "AttentionImplementation": "AUTO COMPOSITE UNIFIED",
    "MoeGroupedMatmulMode": "NONE GATHER SCATTER",
}
MEMBERS: dict[str, tuple[str, ...]] = {name: tuple(members.split()) for name, members in ENUMS.items()}

NODES = (
    "BatchnormInferenceAttributes PointwiseAttributes BatchnormBackwardAttributes BatchnormAttributes"
    " ConvolutionFwdAttributes ConvolutionBwdAttributes ConvolutionWrwAttributes"
    " BatchnormInferenceAttributesVarianceExt MatmulAttributes RMSNormAttributes LayernormAttributes SdpaAttributes"
    " BlockScaleDequantizeAttributes BlockScaleQuantizeAttributes SdpaBackwardAttributes CustomOpAttributes"
    " RMSNormBackwardAttributes ReductionAttributes ResampleFwdAttributes LayernormBackwardAttributes"
    " ResampleBwdAttributes MoeGroupedMatmulAttributes MoeGroupedMatmulBwdAttributes"
)
VALUES = {  # of scalars: structs of one number, with its type
    "Float32Value": "float",
    "Float16Value": "float",
    "BFloat16Value": "float",
    "Float8Value": "ubyte",
    "Int32Value": "int",
    "Float64Value": "double",
    "Int64Value": "long",
    "BoolValue": "bool",
}
# The order is the value of the union's type, after 0 for none.
UNIONS: dict[str, tuple[str, ...]] = {
    "NodeAttributes": ("NONE", *NODES.split()),
    "TensorValue": ("NONE", *VALUES),
}


@dataclass(frozen=True)
class Field:
    """A field of a table.

    Attributes
    ----------
    type : str
        A number's, ``string``, ``struct`` (which is not read), a table, an enumeration, a union, or one in ``[]``.
    slot : int
        Its number in the table; a union's is that of its type, and the content is the next one.
    default : object
        None where the field is optional.
    """

    name: str
    type: str
    slot: int
    default: Any

    @property
    def is_union(self) -> bool:
        """Whether it has a type and a content."""
        return self.type in UNIONS


_DEFAULTS: dict[str, Any] = {"bool": False, "string": "", "float": 0.0}


def _default(type: str) -> Any:
    if type in MEMBERS:
        return MEMBERS[type][0]
    return None if type in UNIONS or type[0] == "[" or type == "struct" else _DEFAULTS.get(type, 0)


def _table(text: str) -> tuple[Field, ...]:
    """Return a table's fields from ``name:type?``: without a type it is a tensor's uid, and ``?`` is for optional."""
    fields, slot = [], 0
    for word in text.split():
        name, _, type = word.rstrip("?").partition(":")
        type, _, default = type.partition("=")
        name, type = (name, type) if type else (f"{name}_tensor_uid", "long")
        usual = None if word[-1] == "?" else int(default) if default else _default(type)
        fields.append(Field(name, type, slot, usual))
        slot += 2 if type in UNIONS else 1
    return tuple(fields)


_WINDOWS = "pre_padding:[long] post_padding:[long] stride:[long]"
_CONVOLUTION = f"{_WINDOWS} dilation:[long] conv_mode:ConvMode umd_flops:string umd_bytes:string"
_MASKS = "alibi_mask:bool padding_mask:bool causal_mask:bool causal_mask_bottom_right:bool"
_BAND = "dropout_probability:float? attn_scale_value:float? left_bound:long? right_bound:long?"

TABLES: dict[str, tuple[Field, ...]] = {
    name: _table(text)
    for name, text in {
        "SerializedGraphAndPlan": "graph_blob:[ubyte] plan_blob:[ubyte]",
        "Graph": "name:string compute_data_type:DataType intermediate_data_type:DataType io_data_type:DataType"
        " tensors:[TensorAttributes] nodes:[Node] preferred_engine_id:long? is_override_shape_enabled:bool"
        " min_required_engine_api_version:struct id:struct",
        "Node": "name:string compute_data_type:DataType attributes:NodeAttributes",
        "TensorAttributes": "uid:long name:string data_type:DataType strides:[long] dims:[long] virtual:bool"
        " value:TensorValue is_runtime_pass_by_value:bool ragged_offset? alignment:long=16"
        " ragged_offset_multiplier:long=1",
        "BatchnormInferenceAttributes": "x mean inv_variance scale bias y",
        "PointwiseAttributes": "operation:PointwiseMode relu_lower_clip:float? relu_upper_clip:float?"
        " relu_lower_clip_slope:float? axis_tensor_uid:long? in_0 in_1? in_2? out_0 swish_beta:float? elu_alpha:float?"
        " softplus_beta:float?",
        "BatchnormBackwardAttributes": "dy x mean? inv_variance? scale peer_stats_tensor_uid:[long] dx dscale dbias",
        "BatchnormAttributes": "x scale bias epsilon peer_stats_tensor_uid:[long] prev_running_mean?"
        " prev_running_variance? momentum? y mean? inv_variance? next_running_mean? next_running_variance?",
        "ConvolutionFwdAttributes": f"x w y {_CONVOLUTION}",
        "ConvolutionBwdAttributes": f"dy w dx {_CONVOLUTION}",
        "ConvolutionWrwAttributes": f"x dy dw {_CONVOLUTION}",
        "BatchnormInferenceAttributesVarianceExt": "x mean variance scale bias y epsilon",
        "MatmulAttributes": "a b c umd_flops:string umd_bytes:string",
        "RMSNormAttributes": "x scale epsilon y bias? inv_rms? forward_phase:NormFwdPhase",
        "LayernormAttributes": "x scale bias epsilon y normalized_dim_count:long mean? inv_variance?"
        " forward_phase:NormFwdPhase",
        "SdpaAttributes": "q k v o attn_mask? scale? seq_len_q? seq_len_kv? seed? offset? dropout_mask? dropout_scale?"
        " page_table_k? page_table_v? block_mask? sink_token? descale_q? descale_k? descale_v? descale_s? scale_s?"
        f" scale_o? stats? max? sum_exp? rng_dump? amax_s? amax_o? generate_stats:bool? {_MASKS} {_BAND}"
        " max_seq_len_kv:int? diagonal_alignment:DiagonalAlignment mma_core_mode:DataType"
        " implementation:AttentionImplementation umd_flops:string umd_bytes:string",
        "BlockScaleDequantizeAttributes": "x scale y block_size:[int] is_negative_scale:bool",
        "BlockScaleQuantizeAttributes": "x y scale block_size:int axis:long? transpose:bool",
        "SdpaBackwardAttributes": "q k v o do stats dq dk dv scale? attn_mask? seq_len_q? seq_len_kv? seed? offset?"
        f" dropout_mask? dropout_scale? dropout_scale_inv? dbias? {_MASKS} {_BAND}"
        " diagonal_alignment:DiagonalAlignment",
        "CustomOpAttributes": "custom_op_id:string input_tensor_uids:[long] output_tensor_uids:[long] data:[ubyte]",
        "RMSNormBackwardAttributes": "dy x scale inv_rms dx dscale dbias?",
        "ReductionAttributes": "mode:ReductionMode in out is_deterministic:bool",
        "ResampleFwdAttributes": f"x y index? {_WINDOWS} window:[long] resample_mode:ResampleMode"
        " padding_mode:PaddingMode generate_index:bool?",
        "LayernormBackwardAttributes": "dy x scale mean? inv_variance? epsilon? dx dscale dbias"
        " normalized_dim_count:long",
        "ResampleBwdAttributes": f"dy dx index? {_WINDOWS} window:[long] resample_mode:ResampleMode"
        " padding_mode:PaddingMode",
        "MoeGroupedMatmulAttributes": "token weight first_token_offset token_index? token_ks? output"
        " mode:MoeGroupedMatmulMode top_k:int",
        "MoeGroupedMatmulBwdAttributes": "doutput token first_token_offset dweight",
    }.items()
}
