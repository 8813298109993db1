"""cudnn-frontend's JSON of graphs, to and from the form of :mod:`portadnn.graph.files`.

``pygraph.serialize()`` has it beside the plan, ``repr(graph)`` alone. From include/cudnn_frontend of
github.com/NVIDIA/cudnn-frontend, 3929da2: graph_interface.h (``serialize``), graph_properties.h, utils/serialize.h. A
float is the hexadecimal number of its bits, a double a number; a tensor without a uid of its own is known by its name.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from typing import Any

from ..node import KINDS
from .nodes import SCALE, Operations, Row, is_usual, lacks, pairs, shortest, type_of

_CONVOLUTION = pairs("pre_padding post_padding stride dilation math_mode=convolution_mode")
_PHASE = pairs("forward_phase=phase")
_BAND = pairs(
    "alibi_mask=use_alibi_mask padding_mask=use_padding_mask dropout_probability left_bound right_bound"
    " diagonal_alignment"
)
_SDPA = {**_BAND, **pairs("generate_stats max_seq_len_kv stats_use_log2")}
_WINDOW = pairs("resample_mode=mode padding_mode pre_padding post_padding stride window generate_index")
_POINTWISE = pairs("mode axis relu_lower_clip relu_upper_clip relu_lower_clip_slope swish_beta elu_alpha softplus_beta")
ROWS: dict[str, Row] = {
    tag: Row(kind, attributes=attributes)
    for tag, kind, attributes in (
        ("POINTWISE", "pointwise", _POINTWISE),
        ("REDUCTION", "reduction", pairs("mode")),
        ("MATMUL", "matmul", pairs("padding_value=padding")),
        ("CONV_FPROP", "conv_fprop", _CONVOLUTION),
        ("CONV_DGRAD", "conv_dgrad", _CONVOLUTION),
        ("CONV_WGRAD", "conv_wgrad", _CONVOLUTION),
        ("RESAMPLE", "resample", _WINDOW),
        ("RESHAPE", "reshape", pairs("reshape_mode")),
        ("TRANSPOSE", "transpose", pairs("permutation")),
        ("SLICE", "slice", {}),
        ("CONCATENATE", "concatenate", pairs("axis in_place_index")),
        ("RNG", "rng", pairs("distribution seed bernoulli_probability")),
        ("GENSTATS", "genstats", {}),
        ("BATCHNORM", "batchnorm", {}),
        ("BATCHNORM_INFERENCE", "batchnorm_inference", {}),
        ("DBN", "batchnorm_backward", {}),
        ("BN_FINALIZE", "bn_finalize", {}),
        ("DBN_WEIGHT", "dbn_weight", {}),
        ("LAYER_NORM", "layernorm", _PHASE),
        ("LAYER_NORM_BPROP", "layernorm_backward", {}),
        ("ADA_LAYER_NORM", "adalayernorm", _PHASE),
        ("ADA_LAYER_NORM_BPROP", "adalayernorm_backward", {}),
        ("INSTANCE_NORM", "instancenorm", _PHASE),
        ("INSTANCE_NORM_BPROP", "instancenorm_backward", {}),
        ("RMS_NORM", "rmsnorm", _PHASE),
        ("RMS_NORM_BPROP", "rmsnorm_backward", {}),
        ("MOE_GROUPED_MATMUL", "moe_grouped_matmul", pairs("mode top_k")),
        ("MOE_GROUPED_MATMUL_BWD", "moe_grouped_matmul_bwd", {}),
        ("BLOCK_SCALE_QUANTIZE", "block_scale_quantize", pairs("block_size axis")),
        ("BLOCK_SCALE_DEQUANTIZE", "block_scale_dequantize", pairs("block_size is_negative_scale")),
        ("SDPA", "sdpa", _SDPA),
        ("SDPA_FP8_FWD", "sdpa_fp8", _SDPA),
        ("SDPA_BWD", "sdpa_backward", _BAND),
        ("SDPA_FP8_BWD", "sdpa_fp8_backward", _BAND),
    )
}
_TAGS = {row.kind: tag for tag, row in ROWS.items()}
_FLOATS = pairs(
    "relu_lower_clip relu_upper_clip relu_lower_clip_slope swish_beta elu_alpha softplus_beta dropout_probability"
)
_BITS = re.compile(r"[0-9A-Fa-f]{8}")
_SPELLED = {  # ports that are not upper case, by what kinds begin with
    "sdpa": "Attn_scale Bias Seed Offset Dropout_mask Dropout_scale Dropout_scale_inv Page_table_K Page_table_V"
    " Block_mask Descale_Q Descale_K Descale_V Descale_S Descale_O Descale_dO Descale_dP Scale_S Scale_O"
    " Scale_dQ Scale_dK Scale_dV Scale_dP Stats Max Sum_exp Amax_S Amax_O Amax_dQ Amax_dK Amax_dV dO dQ dK dV"
    " dBias",
    "moe": "Token Weight FirstTokenOffset TokenIndex TokenKs Output DOutput DWeight",
    "block": "scale",
    "rng": "Seed Offset",
    "resample": "Index",
}
_AMAX_DP = "Amax_d"  # as cudnn-frontend has it
_IDLE: dict[str, dict[str, Any]] = {  # attributes without a counterpart, as they are by default
    "REDUCTION": {"is_deterministic": False},
    "SDPA_BWD": {"max_total_seq_len_q": None, "max_total_seq_len_kv": None, "is_deterministic_algorithm": False},
    "SDPA_FP8_BWD": {"is_deterministic_algorithm": False},
}


def is_graph(data: Mapping[str, Any]) -> bool:
    """Tell whether JSON has the form of cudnn-frontend's graphs."""
    return isinstance(data.get("nodes"), list) and isinstance(data.get("tensors"), dict)


def read(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a graph as plain data of :mod:`portadnn.graph.files`.

    Raises
    ------
    cudnnGraphNotSupportedError
        Nodes or types have no counterpart; all of them are listed (PG-FILE-003).
    ValueError, KeyError, TypeError
        It makes no sense.
    """
    return _Reader(data).graph()


class _Reader(Operations):
    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self.data = data
        self.uids: dict[str, int] = {}  # by the key of a tensor in the file
        named = [(key, one) for key, one in data["tensors"].items() if isinstance(one, dict)]
        for key, one in sorted(named, key=lambda pair: not pair[1].get("uid_assigned")):
            self.uids[key] = self.tensor(one)
        for one in data["tensors"].values():
            self.offsets(one)

    def graph(self) -> dict[str, Any]:
        for number, node in enumerate(self.data["nodes"]):
            self.node(number, node)
        context = self.data.get("context", {})
        types = ("io_data_type", "intermediate_data_type", "compute_data_type")
        return self.result(context.get("name") or "", **{name: type_of(context.get(name)) for name in types})

    def tensor(self, one: Mapping[str, Any]) -> int:
        """Add a tensor; return its uid, which is its own if it has one."""
        said: dict[str, Any] = {"dims": one["dim"], "strides": one["stride"], "virtual": one["is_virtual"]}
        try:
            said["type"] = type_of(one["data_type"])
        except ValueError as error:
            self.lacking.append(f"tensor {one['name']!r:.40}: {error}")
        said |= {"by_value": one["is_pass_by_value"], "reordering": one.get("reordering_type") or "NONE"}
        value = one.get("pass_by_value")
        if one["is_pass_by_value"] and value is not None:
            said |= {"value": _number(value["value"] if isinstance(value, dict) else value), "constant": True}
        if not one.get("uid_assigned"):
            return self.new(one["name"], **said)
        uid = one["uid"]
        if uid in self.tensors:
            raise ValueError(f"two tensors of uid {uid}")
        self.tensors[uid] = {"uid": uid, "name": one["name"], **said}
        return int(uid)

    def offsets(self, one: Mapping[str, Any]) -> None:
        """Give a tensor its ragged offsets, which the file only names."""
        if one.get("ragged_offset_uid") is None:
            return
        mine = next(each for key, each in self.uids.items() if self.data["tensors"][key] is one)
        name, uid = one.get("ragged_offset_name") or "", one["ragged_offset_uid"]
        known = next((each for each in self.tensors.values() if uid in (each["uid"],) or each["name"] == name), None)
        if known is None:
            said = {"type": "INT32", "dims": [one["dim"][0] + 1, 1, 1, 1], "strides": [1] * 4, "virtual": False}
            known = self.tensors[self.new(name, **said)]
        self.tensors[mine] |= {"ragged_offset": known["uid"], "ragged_multiplier": 1}

    def node(self, number: int, node: Mapping[str, Any]) -> None:
        tag, name = node.get("tag", "a node without a tag"), node.get("name") or ""
        label = f"{tag} {name or str(number)!r}"
        row = ROWS.get(tag)
        if row is None:
            self.lacking.append(label)
            return
        ports = [self.ports(row.kind, node.get(way) or {}, label, way == "outputs") for way in ("inputs", "outputs")]
        for place, one in enumerate(node.get("peer_stats") or ()):
            ports[0][f"PEER_STATS_{place}"] = self.tensor(one)
        attributes = {here: _plain(node.get(there)) for there, here in row.attributes.items()}
        self.settle(row.kind, label, node, ports, attributes)
        self.add(row.kind, name, type_of(node.get("compute_data_type")), ports[0], ports[1], attributes)

    def ports(self, kind: str, given: Mapping[str, Any], label: str, output: bool) -> dict[str, int]:
        spelled = {_plainly(one.name): one.name for one in (KINDS[kind].outputs if output else KINDS[kind].inputs)}
        found = {}
        for there, key in given.items():
            place = "AMAX_DP" if there == _AMAX_DP else there
            port = f"IN_{there}" if kind == "concatenate" and not output else spelled.get(_plainly(place))
            if port is None:
                self.lacking.append(f"{there} of {label}")
            elif str(key) not in self.uids:
                raise ValueError(f"{label} has tensor {key!r:.40}, which the file does not describe")
            else:
                found[port] = self.uids[str(key)]
        return found

    def settle(self, kind: str, label: str, node: Any, ports: list[dict[str, int]], attributes: dict[str, Any]) -> None:
        """Settle what follows from a node's other fields."""
        scale = node.get("attn_scale_value")
        if kind.startswith("sdpa") and scale is not None and SCALE not in ports[0]:
            ports[0][SCALE] = self.constant(f"{label}::{SCALE}", _number(scale))
        if kind == "slice":
            steps = [*(node.get("slice_strides") or ()), *[1] * len(node["slices"])]
            parts = zip(node["slices"], steps, strict=False)
            attributes["slices"] = tuple((start, stop, step) for (start, stop), step in parts)
        if kind == "rmsnorm_backward":
            attributes["has_dbias"] = "Dbias" in ports[1]
        if kind == "sdpa_fp8_backward" and "AMAX_DP" not in ports[1]:
            ports[1]["AMAX_DP"] = self.new(f"{label}::AMAX_DP")
        if kind in ("rng", "reshape") and "Y" in ports[1] and not self.tensors[ports[1]["Y"]]["dims"]:
            self.tensors[ports[1]["Y"]] |= {"dims": node.get("dim") or [], "strides": node.get("stride") or []}


def _number(value: Any) -> float | int:
    """Return a number, also from the bits of a float."""
    if isinstance(value, str) and _BITS.fullmatch(value):
        return shortest(struct.unpack(">f", bytes.fromhex(value))[0])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r:.40}, which is no number")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return _number(value) if isinstance(value, str) and _BITS.fullmatch(value) else value


def write(data: Mapping[str, Any]) -> str:
    """Return plain data of :mod:`portadnn.graph.files` as JSON.

    Raises
    ------
    cudnnGraphNotSupportedError
        cudnn-frontend's JSON has no counterpart of something; everything is listed (PG-FILE-004).
    """
    lacking: list[str] = []
    uids = {one["uid"]: one for one in data["tensors"]}
    nodes = [_written(operation, uids, lacking) for operation in data["operations"]]
    peers = {uid for operation in data["operations"] for uid in _peers(operation)}
    if lacking:
        raise lacks("PG-FILE-004", "format", "nodes and attributes that cudnn-frontend writes", lacking)
    types = ("io_data_type", "intermediate_data_type", "compute_data_type")
    written = {
        "context": {
            "name": data["name"],
            **{name: _named(data[name]) for name in types},
            "sm_count": -1,
            "is_dynamic_shape_enabled": False,
            "is_override_shape_enabled": False,
        },
        "json_version": "1.0",
        "nodes": nodes,
        "tensors": {str(uid): _tensor(one, uids) for uid, one in uids.items() if uid not in peers},
    }
    return json.dumps(written, indent=1)


def _peers(operation: Mapping[str, Any]) -> list[int]:
    """Return the uids of a node's peer buffers in their order: the node has them whole, and no table does."""
    return [uid for port, uid in operation["inputs"].items() if port.startswith("PEER_STATS_")]


def _named(type: str) -> str | None:
    return None if type == "NOT_SET" else type


def _bits(value: float) -> str:
    return struct.pack(">f", value).hex().upper()


def _tensor(one: Mapping[str, Any], uids: Mapping[int, Any]) -> dict[str, Any]:
    places = {"INT64": 0, "INT32": 1, "HALF": 2, "FLOAT": 3, "DOUBLE": 4, "BFLOAT16": 5}  # in the variant of numbers
    value, place = one.get("value"), places.get(one["type"], 4)
    said = None if value is None else {"index": place, "value": _bits(value) if place == 3 else value}
    written = {"name": one["name"], "data_type": _named(one["type"]), "dim": one["dims"], "stride": one["strides"]}
    written |= {"is_virtual": one.get("virtual", False), "is_pass_by_value": one.get("by_value", False)}
    written |= {"pass_by_value": said, "reordering_type": one.get("reordering", "NONE")}
    written |= {"uid": one["uid"], "uid_assigned": True}
    if one.get("ragged_offset") is not None:
        written["ragged_offset_uid"] = one["ragged_offset"]
        written["ragged_offset_name"] = uids[one["ragged_offset"]]["name"]
    return written


def _written(operation: Mapping[str, Any], uids: Mapping[int, Any], lacking: list[str]) -> dict[str, Any]:
    """Return a node, with all attributes that cudnn-frontend's reader asks for."""
    kind, label = operation["kind"], f"{operation['kind']} {operation['name']!r}"
    tag = _TAGS.get(kind)
    if tag is None:
        lacking.append(label)
        return {}
    row, given = ROWS[tag], operation["attributes"]
    there = {here: name for name, here in row.attributes.items()}
    written: dict[str, Any] = {"tag": tag, "name": operation["name"], **_IDLE.get(tag, {})}
    written["compute_data_type"] = _named(operation.get("compute", "NOT_SET"))
    for way in ("inputs", "outputs"):
        named = {port: uid for port, uid in operation[way].items() if not port.startswith("PEER_STATS_")}
        written[way] = {_spelled(kind, port): uid for port, uid in named.items()}
    for here, name in there.items():
        value = given.get(here)
        is_float = name in _FLOATS and value is not None
        written[name] = _bits(value) if is_float else _whole(value) if name in _WINDOW and value else value
    for name, value in given.items():
        if name not in there and name not in ("slices", "has_dbias") and not is_usual(kind, name, value):
            lacking.append(f"{name} = {value} of {label}")
    _settle_written(kind, operation, uids, written)
    return written


def _whole(value: Any) -> Any:
    return [int(one) if str(one).isdecimal() else one for one in value] if isinstance(value, list) else value


def _spelled(kind: str, port: str) -> str:
    """Return a port as cudnn-frontend spells it."""
    if kind == "concatenate":
        return port.removeprefix("IN_")
    if port == "AMAX_DP":
        return _AMAX_DP
    names = next((names.split() for stem, names in _SPELLED.items() if kind.partition("_")[0] == stem), [])
    return next((name for name in names if _plainly(name) == _plainly(port)), port.upper())


def _plainly(name: str) -> str:
    """Return a port's name without what differs: ``Attn_scale`` and ``FirstTokenOffset``."""
    return name.upper().replace("_", "")


def _settle_written(kind: str, operation: Mapping[str, Any], uids: Mapping[int, Any], written: dict[str, Any]) -> None:
    """Add attributes that other fields have here."""
    y = uids.get(operation["outputs"].get("Y", -1), {})
    if kind in ("batchnorm", "batchnorm_backward"):
        written["peer_stats"] = [_tensor(uids[uid], uids) for uid in _peers(operation)]
    if kind in ("rng", "reshape"):
        written |= {"dim": y["dims"], "stride": y["strides"]}
    if kind == "slice":
        x = uids[operation["inputs"]["X"]]["dims"]
        parts = operation["attributes"]["slices"]
        ranges = [range(*slice(*part).indices(size)) for part, size in zip(parts, x, strict=False)]
        written["slices"] = [[one.start, one.stop] for one in ranges] + [[0, size] for size in x[len(ranges) :]]
        written["slice_strides"] = [one.step for one in ranges] + [1] * (len(x) - len(ranges))
    if kind.startswith("sdpa"):
        written["attn_scale_value"] = None
    if kind in ("sdpa", "sdpa_fp8"):
        core = uids[operation["inputs"]["Q"]]["type"] if kind == "sdpa_fp8" else None
        written |= {"mma_core_mode": core, "implementation": "COMPOSITE"}
