"""What the support table asks of: one small graph for every operation, its modes and its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..api.core import Graph
from ..data_types import data_type
from ..enums import (
    moe_grouped_matmul_mode,
    norm_forward_phase,
    padding_mode,
    reduction_mode,
    resample_mode,
    reshape_mode,
    rng_distribution,
)
from ..layout import Dims, channels_last, row_major
from ..operation_graph import OperationGraph
from ..pointwise_modes import MODES
from ..tensor import tensor

FLOATS = ("FLOAT", "HALF", "BFLOAT16", "DOUBLE")
_PARAMETERS = {  # ports whose tensors are FLOAT beside narrower data, DOUBLE beside DOUBLE
    *("SCALE", "BIAS", "MEAN", "INV_VARIANCE", "PREV_RUNNING_MEAN", "PREV_RUNNING_VAR", "SUM", "SQ_SUM"),
    *("NEXT_RUNNING_MEAN", "NEXT_RUNNING_VAR", "DSCALE", "DBIAS", "Dscale", "Dbias", "EQ_SCALE", "EQ_BIAS"),
    *("EQ_SCALE_DY", "EQ_SCALE_X", "STATS", "AMAX_S", "AMAX_O", "AMAX_DQ", "AMAX_DK", "AMAX_DV", "AMAX_DP"),
}
_X, _C, _W = (2, 8, 6, 6), (1, 8, 1, 1), (8, 8, 3, 3)
_Q = (1, 2, 16, 16)


@dataclass(frozen=True)
class Case:
    """An operation with inputs of some dims.

    Attributes
    ----------
    label : str
        In the table; cases of one label and one answer are one row.
    inputs : dict
        Dims by port, or a number.
    outputs : dict
        Dims of outputs that do not follow.
    types : dict
        Types of ports that do not have the table's.
    """

    label: str
    kind: str
    inputs: Mapping[str, Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Dims] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def graph(self, kind: str, layout: str, compute: str) -> OperationGraph:
        """Return the graph of the operation alone.

        Raises
        ------
        GraphError
            It cannot be with this type.
        """
        made = Graph(self.label, kind, kind, compute)
        given = {port: self._input(port, dims, kind, layout) for port, dims in self.inputs.items()}
        node = made.add(self.kind, given, self.attributes)
        for port, out in node.outputs.items():
            out.set_is_virtual(False).set_data_type(self._type(port, kind))
            if port in self.outputs:
                out.set_dim(self.outputs[port])
        if self.kind == "block_scale_dequantize":  # its result stays inside
            result = made.add("pointwise", {"IN_0": node.outputs["Y"].set_is_virtual(True)}, {"mode": "IDENTITY"})
            result.outputs["OUT_0"].set_is_virtual(False)
        made.validate()
        return made.freeze()

    def _type(self, port: str, kind: str) -> str:
        if port in self.types:
            return self.types[port]
        if port in _PARAMETERS:
            return "DOUBLE" if kind == "DOUBLE" else "FLOAT"
        return kind

    def _input(self, port: str, dims: Any, kind: str, layout: str) -> Any:
        if not isinstance(dims, tuple):
            return dims
        made = tensor(port).set_dim(dims).set_data_type(self._type(port, kind))
        return made.set_stride(strides(dims, layout))


def strides(dims: Dims, layout: str) -> Dims:
    """Return strides of a layout: rows, channels last, or rows with gaps."""
    if layout == "NHWC":
        return channels_last(dims)
    if layout == "rows" or len(dims) < 2:
        return row_major(dims)
    return tuple(2 * step for step in row_major((*dims[:-1], dims[-1] + 1)))


def cases() -> Iterator[Case]:
    """Yield all operations."""
    yield from _products()
    yield from _pointwise()
    yield from _sums()
    yield from _norms()
    yield from _windows()
    yield from _moving()
    yield from _rows()
    yield from _attention()


def _products() -> Iterator[Case]:
    pads = {"pre_padding": [1, 1], "post_padding": [1, 1]}
    yield Case("conv_fprop", "conv_fprop", {"X": _X, "W": _W}, pads)
    yield Case("conv_fprop, groups", "conv_fprop", {"X": _X, "W": (8, 2, 3, 3)}, pads)
    yield Case("conv_fprop, uneven padding", "conv_fprop", {"X": _X, "W": _W}, {**pads, "post_padding": [0, 2]})
    yield Case("conv_dgrad", "conv_dgrad", {"DY": _X, "W": _W}, pads, {"DX": _X})
    yield Case("conv_wgrad", "conv_wgrad", {"X": _X, "DY": _X}, pads, {"DW": _W})
    yield Case("conv_fprop, 3 spatial dims", "conv_fprop", {"X": (1, 4, 4, 4, 4), "W": (4, 4, 2, 2, 2)})
    yield Case("matmul", "matmul", {"A": (2, 8, 16), "B": (2, 16, 4)})


def _pointwise() -> Iterator[Case]:
    for mode, facts in MODES.items():
        inputs: dict[str, Any] = {f"IN_{i}": (2, 8, 4, 4) for i in range(facts.operands)}
        if facts.operands == 2 and not facts.backward:
            inputs["IN_1"] = _C
        attributes = {"mode": mode, **({"axis": 1} if "axis" in facts.parameters else {})}
        types = {"IN_2": "BOOLEAN"} if facts.operands == 3 else {"OUT_0": "BOOLEAN"} if facts.logical else {}
        yield Case(f"pointwise {mode.name}", "pointwise", inputs, attributes, {}, types)


def _sums() -> Iterator[Case]:
    for mode in reduction_mode:
        if mode.value:
            out = {"Y": _C}
            yield Case(f"reduction {mode.name}", "reduction", {"X": _X}, {"mode": mode}, out)
    yield Case("genstats", "genstats", {"X": _X})
    yield Case("softmax", "softmax", {"P": (2, 8, 16)})
    yield Case("softmax with statistics", "softmax", {"P": (2, 8, 16)}, {"use_stats": True})


def _norms() -> Iterator[Case]:
    phases = {"training": norm_forward_phase.TRAINING, "inference": norm_forward_phase.INFERENCE}
    four = {"SCALE": _C, "BIAS": _C}
    running = {"PREV_RUNNING_MEAN": _C, "PREV_RUNNING_VAR": _C, "EPSILON": 1e-5, "MOMENTUM": 0.1}
    saved = {"MEAN": _C, "INV_VARIANCE": _C}
    yield Case("batchnorm", "batchnorm", {"X": _X, **four, **running})
    yield Case("batchnorm_inference", "batchnorm_inference", {"X": _X, **saved, **four})
    yield Case("batchnorm_backward", "batchnorm_backward", {"DY": _X, "X": _X, "SCALE": _C, **saved})
    count = {"EPSILON": 1e-5, "ACCUM_COUNT": 72, "MOMENTUM": 0.1}
    finalize = {"SUM": _C, "SQ_SUM": _C, **four, "PREV_RUNNING_MEAN": _C, "PREV_RUNNING_VAR": _C, **count}
    yield Case("bn_finalize", "bn_finalize", finalize)
    yield Case("dbn_weight", "dbn_weight", {"DY": _X, "X": _X, **saved, "SCALE": _C})
    rows = {"layernorm": (1, 1, 16), "rmsnorm": (1, 1, 16), "adalayernorm": (2, 1, 16)}
    for kind, scale in rows.items():
        x, statistics = (2, 8, 16), (2, 8, 1)
        bias = {} if kind == "rmsnorm" else {"BIAS": scale}
        for name, phase in phases.items():
            inputs = {"X": x, "SCALE": scale, **bias, "EPSILON": 1e-5}
            yield Case(f"{kind}, {name}", kind, inputs, {"phase": phase})
        both = {"MEAN": statistics, "INV_VARIANCE": statistics}
        both = {"INV_VARIANCE": statistics} if kind == "rmsnorm" else both
        more = {"has_dbias": False} if kind == "rmsnorm" else {}
        yield Case(f"{kind}_backward", f"{kind}_backward", {"DY": x, "X": x, "SCALE": scale, **both}, more)
    per = {"MEAN": (2, 8, 1, 1), "INV_VARIANCE": (2, 8, 1, 1)}
    for name, phase in phases.items():
        yield Case(f"instancenorm, {name}", "instancenorm", {"X": _X, **four, "EPSILON": 1e-5}, {"phase": phase})
    yield Case("instancenorm_backward", "instancenorm_backward", {"DY": _X, "X": _X, "SCALE": _C, **per})


def _windows() -> Iterator[Case]:
    pool = {"window": [2, 2], "stride": [2, 2], "pre_padding": [0, 0], "post_padding": [0, 0]}
    half = (2, 8, 3, 3)
    for mode in resample_mode:
        if not mode.value and mode.name == "NOT_SET":
            continue
        if "POOL" in mode.name:
            yield Case(f"resample {mode.name}", "resample", {"X": _X}, {"mode": mode, **pool})
            inputs = {"DY": half, "X": _X}
            yield Case(f"resample_backward {mode.name}", "resample_backward", inputs, {"mode": mode, **pool})
    indexed = {"mode": resample_mode.MAXPOOL, **pool, "generate_index": True}
    yield Case("resample MAXPOOL with indices", "resample", {"X": _X}, indexed, {}, {"INDEX": "INT8"})
    up = {"window": [2, 2], "stride": [0.5, 0.5], "pre_padding": [0.5, 0.5], "post_padding": [1, 1]}
    linear = {"mode": resample_mode.BILINEAR, **up, "padding_mode": padding_mode.EDGE_VAL_PAD}
    yield Case("resample BILINEAR", "resample", {"X": _X}, linear)
    near = {"mode": resample_mode.NEAREST, "window": [1, 1], "stride": [0.5, 0.5]}
    yield Case("resample NEAREST", "resample", {"X": _X}, near)


def _moving() -> Iterator[Case]:
    yield Case("slice", "slice", {"X": _X}, {"slices": (slice(0, 1), slice(1, 7, 2))})
    yield Case("transpose", "transpose", {"X": _X}, {"permutation": (0, 2, 3, 1)})
    for mode in (reshape_mode.VIEW_ONLY, reshape_mode.LOGICAL):
        yield Case(f"reshape {mode.name}", "reshape", {"X": _X}, {"reshape_mode": mode}, {"Y": (2, 8, 36)})
    yield Case("concatenate", "concatenate", {"IN_0": _X, "IN_1": _X}, {"axis": 1})
    for law in rng_distribution:
        if law.name != "NOT_SET":
            more = {"bernoulli_probability": 0.5} if law.name == "BERNOULLI" else {}
            yield Case(f"rng {law.name}", "rng", {}, {"distribution": law, "seed": 1, **more}, {"Y": _X})


def _rows() -> Iterator[Case]:
    table = {"FREQS": (16, 1, 1, 16)}
    yield Case("rope", "rope", {"X": _Q, **table})
    yield Case("rope_bwd", "rope_bwd", {"DY": _Q, **table})
    rows, matrices, offset = (1, 16, 8), (4, 8, 6), {"FIRST_TOKEN_OFFSET": (4, 1, 1)}
    indices = {"TOKEN_INDEX": (1, 16, 1), "TOKEN_KS": (1, 16, 1)}
    types = dict.fromkeys((*offset, *indices), "INT32")
    for mode, given in (("NONE", {}), ("GATHER", {"TOKEN_INDEX": (1, 16, 1)}), ("SCATTER", indices)):
        inputs, how = (
            {"TOKEN": rows, "WEIGHT": matrices, **offset, **given},
            {"mode": moe_grouped_matmul_mode[mode], "top_k": 2},
        )
        yield Case(f"moe_grouped_matmul {mode}", "moe_grouped_matmul", inputs, how, {}, types)
    pages = {"CONTAINER": (6, 2, 4, 8), "PAGE_TABLE": (2, 1, 3, 1)}
    yield Case("paged_cache_load", "paged_cache_load", pages, {"max_seq_len": 10}, {}, {"PAGE_TABLE": "INT32"})
    scaled = {"X": "FP8_E4M3", "Y": "FP8_E4M3", "SCALE": "FP8_E8M0"}
    back = {name: kind for name, kind in scaled.items() if name != "Y"}
    inputs = {"X": (2, 8, 64), "SCALE": (2, 8, 2)}
    yield Case("block_scale_dequantize", "block_scale_dequantize", inputs, {"block_size": [32]}, {}, back)
    nibbles = {"X": "FP4_E2M1", "SCALE": "FP8_E4M3"}
    inputs = {"X": (2, 8, 64), "SCALE": (2, 8, 4)}
    yield Case("block_scale_dequantize, FP4", "block_scale_dequantize", inputs, {"block_size": [16]}, {}, nibbles)
    forth = {name: kind for name, kind in scaled.items() if name != "X"}
    yield Case("block_scale_quantize", "block_scale_quantize", {"X": (2, 8, 64)}, {"block_size": 32}, {}, forth)
    inputs = {"DOUTPUT": (1, 16, 6), "TOKEN": rows, **offset}
    yield Case("moe_grouped_matmul_bwd", "moe_grouped_matmul_bwd", inputs, {}, {}, types)


def _attention() -> Iterator[Case]:
    qkv = {"Q": _Q, "K": _Q, "V": _Q}
    stats = {**qkv, "O": _Q, "DO": _Q, "STATS": (*_Q[:3], 1)}
    padded = {"SEQ_LEN_Q": (1, 1, 1, 1), "SEQ_LEN_KV": (1, 1, 1, 1)}
    lengths = dict.fromkeys(padded, "INT32")
    yield Case("sdpa", "sdpa", qkv, {"generate_stats": True})
    yield Case("sdpa, padding", "sdpa", {**qkv, **padded}, {"use_padding_mask": True}, {}, lengths)
    yield Case("sdpa, dropout", "sdpa", {**qkv, "SEED": 1, "OFFSET": 0}, {"dropout_probability": 0.1})
    yield Case("sdpa_backward", "sdpa_backward", stats)
    one = {f"{way}_{name}": 1.0 for way, names in (("DESCALE", "QKVS"), ("SCALE", "SO")) for name in names}
    yield Case("sdpa_fp8", "sdpa_fp8", {**qkv, **one})
    names = ("DESCALE_Q", "DESCALE_K", "DESCALE_V", "DESCALE_O", "DESCALE_DO", "DESCALE_S", "DESCALE_DP")
    more = dict.fromkeys((*names, *(f"SCALE_{name}" for name in ("S", "DQ", "DK", "DV", "DP"))), 1.0)
    yield Case("sdpa_fp8_backward", "sdpa_fp8_backward", {**stats, **more})


def computes(kind: str) -> tuple[str, ...]:
    """Return the compute types that are asked for with tensors of a type, the usual one first."""
    if kind == "DOUBLE":
        return ("DOUBLE",)
    return ("FLOAT", "DOUBLE") if data_type[kind].is_float else ("FLOAT", "DOUBLE", "INT32")
