"""hipDNN's graphs, as the tables of its schema, to and from the form of :mod:`portadnn.graph.files`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..enums import pointwise_mode
from ..pointwise_modes import MODES
from .hipdnn_schema import MEMBERS, TABLES, VALUES
from .nodes import SCALE, Operations, Row, is_usual, lacks, pairs, type_of

_VALUE_OF = {  # which union member holds a scalar of a type
    "FLOAT": "Float32Value",
    "HALF": "Float16Value",
    "BFLOAT16": "BFloat16Value",
    "DOUBLE": "Float64Value",
    "INT32": "Int32Value",
    "INT64": "Int64Value",
    "BOOLEAN": "BoolValue",
    "INT8": "Float8Value",
    "UINT8": "Float8Value",
}
_WINDOW = pairs("pre_padding post_padding stride window resample_mode=mode padding_mode")
_CONVOLUTION = pairs("pre_padding post_padding stride dilation conv_mode=convolution_mode")
_SDPA = pairs(
    "alibi_mask=use_alibi_mask padding_mask=use_padding_mask dropout_probability left_bound right_bound"
    " diagonal_alignment"
)
_SDPA_INPUTS = (
    "q k v attn_mask=BIAS scale=ATTN_SCALE seq_len_q seq_len_kv seed offset dropout_mask dropout_scale sink_token"
    " block_mask page_table_k page_table_v"
)
_FP8 = "descale_q descale_k descale_v descale_s scale_s scale_o"
_SDPA_FORWARD = {**_SDPA, **pairs("generate_stats max_seq_len_kv")}


def _row(kind: str, inputs: str, outputs: str, attributes: Mapping[str, str] | None = None) -> Row:
    return Row(kind, pairs(inputs, str.upper), pairs(outputs, str.upper), attributes or {})


ROWS: dict[str, list[Row]] = {  # of several the first one that takes the node's tensors
    "BatchnormInferenceAttributes": [_row("batchnorm_inference", "x mean inv_variance scale bias", "y")],
    "PointwiseAttributes": [
        _row(
            "pointwise",
            "in_0 in_1 in_2",
            "out_0",
            pairs(
                "operation=mode relu_lower_clip relu_upper_clip relu_lower_clip_slope axis_tensor_uid=axis swish_beta"
                " elu_alpha softplus_beta"
            ),
        )
    ],
    "BatchnormBackwardAttributes": [
        _row("batchnorm_backward", "dy x scale mean inv_variance peer_stats", "dx dscale dbias")
    ],
    "BatchnormAttributes": [
        _row(
            "batchnorm",
            "x scale bias prev_running_mean prev_running_variance=PREV_RUNNING_VAR epsilon momentum peer_stats",
            "y mean inv_variance next_running_mean next_running_variance=NEXT_RUNNING_VAR",
        )
    ],
    "ConvolutionFwdAttributes": [_row("conv_fprop", "x w", "y", _CONVOLUTION)],
    "ConvolutionBwdAttributes": [_row("conv_dgrad", "dy w", "dx", _CONVOLUTION)],
    "ConvolutionWrwAttributes": [_row("conv_wgrad", "x dy", "dw", _CONVOLUTION)],
    "MatmulAttributes": [_row("matmul", "a b", "c")],
    "RMSNormAttributes": [
        _row("rmsnorm", "x scale epsilon bias", "y inv_rms=INV_VARIANCE", pairs("forward_phase=phase"))
    ],
    "RMSNormBackwardAttributes": [
        _row("rmsnorm_backward", "dy x scale inv_rms=INV_VARIANCE", "dx dscale=Dscale dbias=Dbias")
    ],
    "LayernormAttributes": [
        _row("layernorm", "x scale bias epsilon", "y mean inv_variance", pairs("forward_phase=phase"))
    ],
    "LayernormBackwardAttributes": [_row("layernorm_backward", "dy x scale mean inv_variance", "dx dscale dbias")],
    "SdpaAttributes": [
        _row("sdpa", _SDPA_INPUTS, "o stats max sum_exp rng_dump", _SDPA_FORWARD),
        _row("sdpa_fp8", f"{_SDPA_INPUTS} {_FP8}", "o stats max sum_exp rng_dump amax_s amax_o", _SDPA_FORWARD),
    ],
    "SdpaBackwardAttributes": [
        _row(
            "sdpa_backward",
            "q k v o do stats scale=ATTN_SCALE attn_mask=BIAS seq_len_q seq_len_kv seed offset dropout_mask"
            " dropout_scale dropout_scale_inv",
            "dq dk dv dbias",
            _SDPA,
        )
    ],
    "ReductionAttributes": [_row("reduction", "in=X", "out=Y", pairs("mode"))],
    "ResampleFwdAttributes": [_row("resample", "x", "y index", {**_WINDOW, "generate_index": "generate_index"})],
    "ResampleBwdAttributes": [_row("resample_backward", "dy index", "dx", _WINDOW)],
    "MoeGroupedMatmulAttributes": [
        _row(
            "moe_grouped_matmul",
            "token weight first_token_offset token_index token_ks",
            "output",
            pairs("mode top_k"),
        )
    ],
    "BlockScaleQuantizeAttributes": [_row("block_scale_quantize", "x", "y scale", pairs("block_size axis transpose"))],
    "BlockScaleDequantizeAttributes": [
        _row("block_scale_dequantize", "x scale", "y", pairs("block_size is_negative_scale"))
    ],
    "MoeGroupedMatmulBwdAttributes": [_row("moe_grouped_matmul_bwd", "doutput token first_token_offset", "dweight")],
}
_KINDS = {row.kind: (table, row) for table, rows in ROWS.items() for row in rows}
_ADVICE = {
    "BatchnormInferenceAttributesVarianceExt": ": batchnorm_inference takes rsqrt(variance + epsilon) as INV_VARIANCE"
}


def read(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return a graph's table as plain data of :mod:`portadnn.graph.files`.

    Raises
    ------
    cudnnGraphNotSupportedError
        Nodes or types have no counterpart; all of them are listed (PG-FILE-003).
    ValueError, KeyError, TypeError
        The table makes no sense.
    """
    found = Operations()
    for one in graph["tensors"] or ():
        uid = one["uid"]
        if uid in found.tensors:
            raise ValueError(f"two tensors of uid {uid}")
        try:
            found.tensors[uid] = _tensor(one)
        except ValueError as error:
            found.lacking.append(f"tensor {uid} {one['name']!r:.40}: {error}")
            found.tensors[uid] = {"uid": uid, "dims": []}
    for number, node in enumerate(graph["nodes"] or ()):
        _read_node(found, number, node)
    types = ("io_data_type", "intermediate_data_type", "compute_data_type")
    return found.result(graph["name"], **{name: type_of(graph[name]) for name in types})


def _tensor(one: Mapping[str, Any]) -> dict[str, Any]:
    name, type = one["name"] or f"t{one['uid']}", type_of(one["data_type"])
    said = {key: one[key] for key in ("uid", "virtual", "alignment")}
    said |= {"name": name, "type": type, "dims": one["dims"] or [], "strides": one["strides"] or []}
    if one["ragged_offset_tensor_uid"] is not None:
        said["ragged_offset"] = one["ragged_offset_tensor_uid"]
        said["ragged_multiplier"] = one["ragged_offset_multiplier"]
    if one["value"] is not None:
        member, value = one["value"]
        number = float(value) if VALUES[member] in ("float", "double") else int(value)
        signed = number - 256 if type == "INT8" and number > 127 else number
        return {**said, "by_value": True, "value": signed, "constant": not one["is_runtime_pass_by_value"]}
    return {**said, "by_value": one["is_runtime_pass_by_value"]}


def _read_node(found: Operations, number: int, node: Mapping[str, Any]) -> None:
    table, fields = node["attributes"] or ("a node without attributes", dict[str, Any]())
    label = f"{table} {node['name'] or number!r}"
    rows = ROWS.get(table, [])
    used = {stem: value for stem, value in _uids(table, fields).items() if value not in (None, [])}
    row = next((row for row in rows if set(used) <= {*row.inputs, *row.outputs}), rows[0] if rows else None)
    if row is None:
        found.lacking.append(f"{label}{_ADVICE.get(table, '')}")
        return
    inputs, outputs = _ports(row.inputs, used), _ports(row.outputs, used)
    extra = set(used) - {*row.inputs, *row.outputs}
    if table == "LayernormBackwardAttributes" and "mean" in used:
        extra -= {"epsilon"}  # which is needed where statistics are not given
    found.lacking += [f"{stem} of {label}" for stem in sorted(extra)]
    for uid in {*inputs.values(), *outputs.values()} - set(found.tensors):
        raise ValueError(f"{label} has tensor {uid}, which the file does not describe")
    attributes = {here: _plain(fields[there]) for there, here in row.attributes.items()}
    if row.kind.startswith("sdpa"):
        _read_attention(found, label, fields, inputs, attributes)
    else:
        _settle(found, label, row.kind, fields, inputs, outputs, attributes)
    found.add(row.kind, node["name"] or "", type_of(node["compute_data_type"]), inputs, outputs, attributes)


def _uids(table: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node's tensors by field, without ``_tensor_uid``."""
    names = (one.name for one in TABLES.get(table, ()) if one.name != "axis_tensor_uid")
    return {name.removesuffix("_tensor_uid"): fields[name] for name in names if name.endswith("_tensor_uid")}


def _ports(names: Mapping[str, str], used: Mapping[str, Any]) -> dict[str, int]:
    ports = {}
    for stem, port in names.items():
        if isinstance(used.get(stem), list):
            ports.update({f"{port}_{i}": uid for i, uid in enumerate(used[stem])})
        elif stem in used:
            ports[port] = used[stem]
    return ports


def _plain(value: Any) -> Any:
    """Return an attribute as it is here: of enumerations, MIN_OP is MIN."""
    if isinstance(value, list):
        return tuple(value)
    return value.removesuffix("_OP") if isinstance(value, str) else value


def _settle(
    found: Operations, label: str, kind: str, fields: Any, inputs: Any, outputs: Any, attributes: dict[str, Any]
) -> None:
    """Settle what follows from a node's other fields."""
    if "phase" in attributes and attributes["phase"] == "NOT_SET":
        attributes["phase"] = "TRAINING" if "INV_VARIANCE" in outputs else "INFERENCE"
    if kind == "pointwise":
        mode = pointwise_mode.__members__.get(attributes["mode"])
        heeded = () if mode not in MODES else MODES[mode].parameters
        attributes.update(dict.fromkeys(set(attributes) - {"mode", *heeded}))
    if kind == "rmsnorm_backward":
        attributes["has_dbias"] = "Dbias" in outputs
    if kind == "resample":
        attributes["generate_index"] = "INDEX" in outputs
    count = fields.get("normalized_dim_count", 0)
    if count and "SCALE" in inputs and "X" in inputs:
        scale, x = found.tensors[inputs["SCALE"]]["dims"], found.tensors[inputs["X"]]["dims"]
        if len(scale) == len(x) and _normalised(x, scale) not in (None, count):
            found.lacking.append(f"{label} normalises {count} dims of {x}, with a scale of dims {scale}")


def _normalised(x: list[int], scale: list[int]) -> int | None:
    """Return how many trailing dims a scale says are normalised; None where that is open."""
    kept = [i for i, (size, s) in enumerate(zip(x, scale, strict=True)) if size != 1 and s == 1]
    taken = [i for i, s in enumerate(scale) if s != 1]
    if not taken or (kept and kept[-1] > taken[0]):
        return None
    first = kept[-1] + 1 if kept else 0
    return len(x) - taken[0] if first <= taken[0] else None


def _read_attention(
    found: Operations, label: str, fields: Mapping[str, Any], inputs: dict[str, int], attributes: dict[str, Any]
) -> None:
    """Settle masks, the number that scores are multiplied by, and tensors with fewer dims than here."""
    if fields["attn_scale_value"] is not None and SCALE not in inputs:
        inputs[SCALE] = found.constant(f"{label}::{SCALE}", fields["attn_scale_value"])
    if fields["causal_mask"] or fields["causal_mask_bottom_right"]:
        bottom = fields["causal_mask_bottom_right"]
        attributes |= {"right_bound": 0, "diagonal_alignment": "BOTTOM_RIGHT" if bottom else "TOP_LEFT"}
    lengths = [port for port in ("SEQ_LEN_Q", "SEQ_LEN_KV") if port in inputs]
    attributes["use_padding_mask"] |= len(lengths) == 2  # else they would mean nothing
    for one in (found.tensors[inputs[port]] for port in lengths):
        if len(one["dims"]) == 1:
            one |= {"dims": [*one["dims"], 1, 1, 1], "strides": one["strides"] * 4}
    for one in (found.tensors[inputs[port]] for port in ("PAGE_TABLE_K", "PAGE_TABLE_V") if port in inputs):
        if len(one["dims"]) == 2:
            (b, pages), (row, step) = one["dims"], one["strides"]
            one |= {"dims": [b, 1, pages, 1], "strides": [row, row, step, 1]}


# writing


def write(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data of :mod:`portadnn.graph.files` as a graph's table.

    Raises
    ------
    cudnnGraphNotSupportedError
        hipDNN has no counterpart of something; everything is listed (PG-FILE-004).
    """
    writer = _Writer(data)
    nodes = [writer.node(operation) for operation in data["operations"]]
    kept = (one for one in data["tensors"] if one["uid"] not in writer.folded)
    tensors = [writer.tensor(one) for one in kept]
    if writer.lacking:
        raise lacks("PG-FILE-004", "format", "nodes, types and attributes that hipDNN has", writer.lacking)
    types = ("io_data_type", "intermediate_data_type", "compute_data_type")
    names = {name: writer.type(data[name], "the graph") for name in types}
    return {"name": data["name"], **names, "tensors": tensors, "nodes": nodes}


class _Writer:
    def __init__(self, data: Mapping[str, Any]) -> None:
        self.tensors = {one["uid"]: one for one in data["tensors"]}
        self.read = {uid for operation in data["operations"] for uid in operation["inputs"].values()}
        self.folded: set[int] = set()  # tensors that became attributes, or that hipDNN leaves out
        self.lacking: list[str] = []

    def type(self, name: str, place: str) -> str:
        """Return the name of a type in hipDNN."""
        if name == "NOT_SET":
            return "UNSET"
        if name not in MEMBERS["DataType"]:
            self.lacking.append(f"the type {name} of {place}")
        return name

    def tensor(self, one: Mapping[str, Any]) -> dict[str, Any]:
        """Return a tensor."""
        place = f"tensor {one['name']!r}"
        said = {name: one.get(name, usual) for name, usual in (("uid", 0), ("name", ""), ("dims", []))}
        said |= {"strides": one["strides"], "data_type": self.type(one["type"], place)}
        said |= {"virtual": one.get("virtual", False), "alignment": one.get("alignment", 16)}
        said |= {"ragged_offset_tensor_uid": one.get("ragged_offset")}
        said |= {"ragged_offset_multiplier": one.get("ragged_multiplier", 1)}
        if one.get("reordering", "NONE") != "NONE":
            self.lacking.append(f"{one['reordering']}, the order of elements of {place}")
        value = one.get("value")
        said["is_runtime_pass_by_value"] = one.get("by_value", False) and not one.get("constant", False)
        if value is not None and one["type"] in _VALUE_OF:
            member = _VALUE_OF[one["type"]]
            whole = VALUES[member] not in ("float", "double")
            byte = int(value) % 256 if member == "Float8Value" else value
            said["value"] = (member, int(byte) if whole else float(value))
        return said

    def node(self, operation: Mapping[str, Any]) -> dict[str, Any]:
        """Return a node."""
        kind, label = operation["kind"], f"{operation['kind']} {operation['name']!r}"
        if kind not in _KINDS:
            self.lacking.append(label)
            return {}
        table, row = _KINDS[kind]
        fields: dict[str, Any] = {}
        self._ports(fields, label, row.inputs, operation["inputs"])
        self._ports(fields, label, row.outputs, self._results(table, row, operation["outputs"]))
        self._attributes(fields, label, row, operation)
        compute = self.type(operation.get("compute", "NOT_SET"), label)
        return {"name": operation["name"], "compute_data_type": compute, "attributes": (table, fields)}

    def _results(self, table: str, row: Row, outputs: Mapping[str, int]) -> dict[str, int]:
        """Return outputs without those that nobody reads and that hipDNN's node can do without."""
        optional = {one.name for one in TABLES[table] if one.default is None}
        stems = {port: stem for stem, port in row.outputs.items()}
        idle = {
            port: uid
            for port, uid in outputs.items()
            if self.tensors[uid].get("virtual") and uid not in self.read and f"{stems.get(port)}_tensor_uid" in optional
        }
        self.folded.update(idle.values())
        return {port: uid for port, uid in outputs.items() if port not in idle}

    def _ports(self, fields: dict[str, Any], label: str, names: Mapping[str, str], ports: Mapping[str, int]) -> None:
        stems = {port: stem for stem, port in names.items()}
        for port, uid in ports.items():
            stem, place = stems.get(port), port.rpartition("_")[0]
            if stem is not None:
                fields[f"{stem}_tensor_uid"] = uid
            elif place in stems:
                fields.setdefault(f"{stems[place]}_tensor_uid", []).append(uid)
            else:
                self.lacking.append(f"{port} of {label}")

    def _attributes(self, fields: dict[str, Any], label: str, row: Row, operation: Mapping[str, Any]) -> None:
        there = {here: name for name, here in row.attributes.items()}
        types = {one.name: one.type for one in TABLES[_KINDS[row.kind][0]]}
        mode = operation["attributes"].get("mode")
        heeded = MODES[pointwise_mode[mode]].parameters if row.kind == "pointwise" else None
        for name, value in operation["attributes"].items():
            if value is None or (heeded is not None and name not in ("mode", *heeded)):
                continue
            if name in there:
                fields[there[name]] = self._value(types[there[name]], value, f"{name} of {label}")
            elif name != "has_dbias" and not is_usual(row.kind, name, value):
                self.lacking.append(f"{name} = {value} of {label}")
        scale = self.tensors.get(operation["inputs"].get(SCALE, -1), {})
        if row.kind.startswith("sdpa") and scale.get("constant"):
            self.folded.add(scale["uid"])
            fields |= {"attn_scale_value": float(scale["value"]), "scale_tensor_uid": None}
        if "layernorm" in row.kind:
            x, parameters = (self.tensors[operation["inputs"][port]]["dims"] for port in ("X", "SCALE"))
            count = _normalised(x, parameters)
            if count is None:
                self.lacking.append(f"{label}, which normalises other dims of {x} than the last ones")
            fields["normalized_dim_count"] = count

    def _value(self, type: str, value: Any, place: str) -> Any:
        if type in MEMBERS:
            found = next((one for one in _spellings(value) if one in MEMBERS[type]), None)
            if found is None:
                self.lacking.append(f"{place}, {value}")
            return found
        if type[0] == "[":
            if not all(str(one).lstrip("-").isdecimal() for one in value):
                self.lacking.append(f"{place}, {value}")
                return []
            return [int(one) for one in value]
        return float(value) if type == "float" else value


def _spellings(name: str) -> Iterable[str]:
    return name, f"{name}_OP", f"PADDING_{name}"
