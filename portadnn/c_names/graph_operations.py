"""Operations of cuDNN's backend API as data: which kind of node each stands for, and at which ports its tensors are.

As in :mod:`portadnn.c_names.graph_attributes`, which explains the fields.
"""

from __future__ import annotations

from .graph_attributes import DIMS, MANY, NUMBER, Attribute, DescriptorKind, kind, may, need

_TENSOR = ("BACKEND_DESCRIPTOR",)


def _inputs(prefix: str, **ports: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(prefix + n, _TENSOR, required=True, of="TENSOR", input=p) for n, p in ports.items())


def _maybe_inputs(prefix: str, **ports: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(prefix + n, _TENSOR, of="TENSOR", input=p) for n, p in ports.items())


def _outputs(prefix: str, **ports: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(prefix + n, _TENSOR, required=True, of="TENSOR", output=p) for n, p in ports.items())


def _maybe_outputs(prefix: str, **ports: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(prefix + n, _TENSOR, of="TENSOR", output=p) for n, p in ports.items())


def _parameters(name: str, of: str) -> Attribute:
    """Return the attribute that refers to a descriptor of parameters."""
    return need(name, "BACKEND_DESCRIPTOR", of=of)


def _convolution(name: str, stem: str, node: str, inputs: dict[str, str], outputs: dict[str, str]) -> DescriptorKind:
    prefix = f"OPERATION_CONVOLUTION_{stem}_"
    return kind(
        f"OPERATION_CONVOLUTION_{name}",
        need(prefix + "ALPHA", *NUMBER),
        need(prefix + "BETA", *NUMBER),
        _parameters(prefix + "CONV_DESC", "CONVOLUTION"),
        *_inputs(prefix, **inputs),
        *_outputs(prefix, **outputs),
        node=node,
    )


_PW, _GS, _MM = "OPERATION_POINTWISE_", "OPERATION_GENSTATS_", "OPERATION_MATMUL_"
_FINAL, _WEIGHTS = "OPERATION_BN_FINALIZE_", "OPERATION_BN_BWD_WEIGHTS_"
_RF, _RB, _CAT = "OPERATION_RESAMPLE_FWD_", "OPERATION_RESAMPLE_BWD_", "OPERATION_CONCAT_"
_NF, _NB = "OPERATION_NORM_FWD_", "OPERATION_NORM_BWD_"
_SOFT, _SF, _SB = "OPERATION_SOFTMAX_", "OPERATION_SDPA_FWD_", "OPERATION_SDPA_BWD_"

OPERATIONS: tuple[DescriptorKind, ...] = (
    _convolution("FORWARD", "FORWARD", "conv_fprop", {"X": "X", "W": "W"}, {"Y": "Y"}),
    _convolution("BACKWARD_DATA", "BWD_DATA", "conv_dgrad", {"DY": "DY", "W": "W"}, {"DX": "DX"}),
    _convolution("BACKWARD_FILTER", "BWD_FILTER", "conv_wgrad", {"X": "X", "DY": "DY"}, {"DW": "DW"}),
    kind(
        "OPERATION_POINTWISE",
        _parameters(_PW + "PW_DESCRIPTOR", "POINTWISE"),
        *_inputs(_PW, XDESC="IN_0"),
        *_maybe_inputs(_PW, BDESC="IN_1", TDESC="IN_2", DYDESC="IN_0"),
        *_maybe_outputs(_PW, YDESC="OUT_0", DXDESC="OUT_0"),
        may(_PW + "ALPHA1", *NUMBER),
        may(_PW + "ALPHA2", *NUMBER),
        node="pointwise",
    ),
    kind(
        "OPERATION_GEN_STATS",
        need(_GS + "MODE", "GENSTATS_MODE"),
        need(_GS + "MATH_PREC", "DATA_TYPE", node="compute"),
        *_inputs(_GS, XDESC="X"),
        *_outputs(_GS, SUMDESC="SUM", SQSUMDESC="SQ_SUM"),
        node="genstats",
    ),
    kind(
        "OPERATION_MATMUL",
        _parameters(_MM + "DESC", "MATMUL"),
        *_inputs(_MM, ADESC="A", BDESC="B"),
        *_outputs(_MM, CDESC="C"),
        may(_MM + "IRREGULARLY_STRIDED_BATCH_COUNT", "INT64"),
        node="matmul",
    ),
    kind(
        "OPERATION_REDUCTION",
        _parameters("OPERATION_REDUCTION_DESC", "REDUCTION"),
        *_inputs("OPERATION_REDUCTION_", XDESC="X"),
        *_outputs("OPERATION_REDUCTION_", YDESC="Y"),
        node="reduction",
    ),
    kind(
        "OPERATION_BN_FINALIZE_STATISTICS",
        need(_FINAL + "STATS_MODE", "BN_FINALIZE_STATS_MODE"),
        need(_FINAL + "MATH_PREC", "DATA_TYPE", node="compute"),
        *_inputs(_FINAL, Y_SUM_DESC="SUM", Y_SQ_SUM_DESC="SQ_SUM", SCALE_DESC="SCALE", BIAS_DESC="BIAS"),
        *_inputs(_FINAL, EPSILON_DESC="EPSILON", ACCUM_COUNT_DESC="ACCUM_COUNT"),
        *_maybe_inputs(_FINAL, PREV_RUNNING_MEAN_DESC="PREV_RUNNING_MEAN", PREV_RUNNING_VAR_DESC="PREV_RUNNING_VAR"),
        *_maybe_inputs(_FINAL, EXP_AVERATE_FACTOR_DESC="MOMENTUM"),
        *_maybe_outputs(_FINAL, UPDATED_RUNNING_MEAN_DESC="NEXT_RUNNING_MEAN"),
        *_maybe_outputs(_FINAL, UPDATED_RUNNING_VAR_DESC="NEXT_RUNNING_VAR"),
        *_maybe_outputs(_FINAL, SAVED_MEAN_DESC="MEAN", SAVED_INV_STD_DESC="INV_VARIANCE"),
        *_outputs(_FINAL, EQ_SCALE_DESC="EQ_SCALE", EQ_BIAS_DESC="EQ_BIAS"),
        node="bn_finalize",
    ),
    kind(
        "OPERATION_BN_BWD_WEIGHTS",
        need(_WEIGHTS + "MATH_PREC", "DATA_TYPE", node="compute"),
        *_inputs(_WEIGHTS, MEAN_DESC="MEAN", INVSTD_DESC="INV_VARIANCE", BN_SCALE_DESC="SCALE"),
        *_inputs(_WEIGHTS, X_DESC="X", DY_DESC="DY"),
        *_outputs(_WEIGHTS, DBN_SCALE_DESC="DSCALE", DBN_BIAS_DESC="DBIAS", EQ_DY_SCALE_DESC="EQ_SCALE_DY"),
        *_outputs(_WEIGHTS, EQ_X_SCALE_DESC="EQ_SCALE_X", EQ_BIAS="EQ_BIAS"),
        node="dbn_weight",
    ),
    kind(
        "OPERATION_RESAMPLE_FWD",
        _parameters(_RF + "DESC", "RESAMPLE"),
        *_inputs(_RF, XDESC="X"),
        *_outputs(_RF, YDESC="Y"),
        *_maybe_outputs(_RF, IDXDESC="INDEX"),
        may(_RF + "ALPHA", *NUMBER),
        may(_RF + "BETA", *NUMBER),
        node="resample",
    ),
    kind(
        "OPERATION_RESAMPLE_BWD",
        _parameters(_RB + "DESC", "RESAMPLE"),
        *_inputs(_RB, DYDESC="DY"),
        *_maybe_inputs(_RB, IDXDESC="INDEX", XDESC="X", YDESC="Y"),
        *_outputs(_RB, DXDESC="DX"),
        may(_RB + "ALPHA", *NUMBER),
        may(_RB + "BETA", *NUMBER),
        node="resample_backward",
    ),
    kind(
        "OPERATION_CONCAT",
        need(_CAT + "AXIS", "INT64", node="axis"),
        Attribute(_CAT + "INPUT_DESCS", _TENSOR, MANY, required=True, of="TENSOR", input="IN"),
        may(_CAT + "INPLACE_INDEX", "INT64", node="in_place_index"),
        *_outputs(_CAT, OUTPUT_DESC="Y"),
        node="concatenate",
    ),
    kind(
        "OPERATION_NORM_FORWARD",
        need(_NF + "MODE", "NORM_MODE"),
        need(_NF + "PHASE", "NORM_FWD_PHASE"),
        *_inputs(_NF, XDESC="X", SCALE_DESC="SCALE"),
        *_maybe_inputs(_NF, BIAS_DESC="BIAS", EPSILON_DESC="EPSILON", EXP_AVG_FACTOR_DESC="MOMENTUM"),
        *_maybe_inputs(_NF, INPUT_RUNNING_MEAN_DESC="PREV_RUNNING_MEAN", INPUT_RUNNING_VAR_DESC="PREV_RUNNING_VAR"),
        *_outputs(_NF, YDESC="Y"),
        *_maybe_outputs(_NF, MEAN_DESC="MEAN", INV_VARIANCE_DESC="INV_VARIANCE"),
        *_maybe_outputs(_NF, OUTPUT_RUNNING_MEAN_DESC="NEXT_RUNNING_MEAN", OUTPUT_RUNNING_VAR_DESC="NEXT_RUNNING_VAR"),
        Attribute(_NF + "PEER_STAT_DESCS", _TENSOR, MANY, of="TENSOR", input="PEER_STATS"),
    ),
    kind(
        "OPERATION_NORM_BACKWARD",
        need(_NB + "MODE", "NORM_MODE"),
        *_inputs(_NB, XDESC="X", DYDESC="DY", SCALE_DESC="SCALE"),
        *_maybe_inputs(_NB, MEAN_DESC="MEAN", INV_VARIANCE_DESC="INV_VARIANCE"),
        may(_NB + "EPSILON_DESC", "BACKEND_DESCRIPTOR", of="TENSOR"),
        *_outputs(_NB, DXDESC="DX", DSCALE_DESC="DSCALE"),
        *_maybe_outputs(_NB, DBIAS_DESC="DBIAS"),
        Attribute(_NB + "PEER_STAT_DESCS", _TENSOR, MANY, of="TENSOR", input="PEER_STATS"),
    ),
    kind(
        "OPERATION_RESHAPE",
        *_inputs("OPERATION_RESHAPE_", XDESC="X"),
        *_outputs("OPERATION_RESHAPE_", YDESC="Y"),
        may("OPERATION_RESHAPE_MODE", "RESHAPE_MODE", node="reshape_mode"),
        node="reshape",
    ),
    kind(
        "OPERATION_TRANSPOSE",
        *_inputs("OPERATION_TRANSPOSE_", XDESC="X"),
        *_outputs("OPERATION_TRANSPOSE_", YDESC="Y"),
        need("OPERATION_TRANSPOSE_PERMUTATION", "INT64", most=DIMS, node="permutation"),
        node="transpose",
    ),
    kind(
        "OPERATION_SLICE",
        *_inputs("OPERATION_SLICE_", XDESC="X"),
        *_outputs("OPERATION_SLICE_", YDESC="Y"),
        need("OPERATION_SLICE_START_INDICES", "INT64", most=DIMS),
        need("OPERATION_SLICE_LIMIT_INDICES", "INT64", most=DIMS),
        may("OPERATION_SLICE_STRIDES", "INT64", most=DIMS),
        node="slice",
    ),
    kind(
        "OPERATION_RNG",
        _parameters("OPERATION_RNG_DESC", "RNG"),
        *_outputs("OPERATION_RNG_", YDESC="Y"),
        need("OPERATION_RNG_SEED", "INT64", "BACKEND_DESCRIPTOR", of="TENSOR"),
        *_maybe_inputs("OPERATION_RNG_", OFFSET_DESC="OFFSET"),
        node="rng",
    ),
    kind(
        "OPERATION_SOFTMAX",
        *_inputs(_SOFT, XDESC="P"),
        *_outputs(_SOFT, YDESC="S"),
        *_maybe_outputs(_SOFT, STATS_DESC="STATS"),
        node="softmax",
    ),
    kind(
        "OPERATION_SDPA_FWD",
        *_inputs(_SF, QDESC="Q", KDESC="K", VDESC="V"),
        *_outputs(_SF, ODESC="O"),
        *_maybe_outputs(_SF, STATSDESC="STATS"),
        *_maybe_inputs(_SF, SCALEDESC="ATTN_SCALE", BLOCK_MASK_DESC="BLOCK_MASK"),
        *_maybe_inputs(_SF, PAGE_TABLE_KDESC="PAGE_TABLE_K", PAGE_TABLE_VDESC="PAGE_TABLE_V"),
        *_maybe_inputs(_SF, SEQ_LEN_QDESC="SEQ_LEN_Q", SEQ_LEN_KVDESC="SEQ_LEN_KV"),
        *_maybe_inputs(_SF, DROPOUT_SEED_DESC="SEED", DROPOUT_OFFSET_DESC="OFFSET"),
        *_maybe_outputs(_SF, DROPOUT_RNG_DUMP_DESC="RNG_DUMP"),
        may(_SF + "DROPOUT_PROBABILITY", *NUMBER, node="dropout_probability"),
        node="sdpa",
    ),
    kind(
        "OPERATION_SDPA_BWD",
        *_inputs(_SB, QDESC="Q", KDESC="K", VDESC="V", ODESC="O", DODDESC="DO", STATSDESC="STATS"),
        *_maybe_inputs(_SB, SCALEDESC="ATTN_SCALE", SEQ_LEN_QDESC="SEQ_LEN_Q", SEQ_LEN_KVDESC="SEQ_LEN_KV"),
        *_maybe_inputs(_SB, SINK_DESC="SINK_TOKEN"),
        *_outputs(_SB, DQDESC="DQ", DKDESC="DK", DVDESC="DV"),
        *_maybe_outputs(_SB, DSINK_DESC="DSINK_TOKEN"),
        node="sdpa_backward",
    ),
)
