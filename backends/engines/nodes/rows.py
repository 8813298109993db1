"""The kernels of rotary embeddings and of products of mixtures of experts."""

from __future__ import annotations

from portadnn.graph.enums import moe_grouped_matmul_mode as moe_mode
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo
from portadnn.graph.ops.rope import rotated

from .kernel import Defines, NodeKernel, tensor

_INTEGERS = dict.fromkeys(("FIRST_TOKEN_OFFSET", "TOKEN_INDEX", "TOKEN_KS"), ("INT32",))


def _rope(graph: OperationGraph, op: Operation) -> Defines:
    (x, _), (y, _), table = op.inputs[0], op.outputs[0], graph.at(op, "FREQS")
    dims = graph.at(op, x).dims
    return {
        **{f"D{axis}": size for axis, size in enumerate(dims)},
        **{**tensor("X", graph.at(op, x)), **tensor("Y", graph.at(op, y)), **tensor("F", table)},
        "TURNED": rotated(dims, op["rope_dim"]),
        "SIGN": 1 if op.kind == "rope" else -1,
        "FACTOR": repr(float(op["output_scale"])),
    }


def _experts(rows: TensorInfo, matrices: TensorInfo, offset: TensorInfo) -> Defines:
    experts, width, out = matrices.dims
    sizes: Defines = {"ROWS": rows.dims[1], "EXPERTS": experts, "WIDTH": width, "OUT": out}
    return {**sizes, "O_0": offset.strides[0], **tensor("W", matrices)}


def _moe(graph: OperationGraph, op: Operation) -> Defines:
    x, w, y = (graph.at(op, port) for port in ("TOKEN", "WEIGHT", "OUTPUT"))
    found = _experts(y, w, graph.at(op, "FIRST_TOKEN_OFFSET"))
    found |= {"TOKENS": x.dims[1], **tensor("X", x), **tensor("Y", y)}
    names = {"TOKEN_INDEX": "index", "TOKEN_KS": "ks"}
    given = {names[port]: graph.at(op, port).strides[1] for port in names if port in op.uids}
    found["MORE_ARGUMENTS"] = "".join(f", TENSOR(const int, {name})" for name in given)
    found["MORE_BIND"] = " ".join(f"BIND(const int, {name});" for name in given)
    at = {name: f"(i64){name}[(row) * {step}]" for name, step in given.items()}
    found["FROM(row)"] = at["index"] if op["mode"] is moe_mode.GATHER else "(row)"
    if op["mode"] is moe_mode.SCATTER:
        place = f"({at['index']} * {op['top_k']} + {at['ks']})" if "ks" in at else at["index"]
        found |= {"SEARCHED": 1, "PLACED(row)": place}
    return found


def _moe_backward(graph: OperationGraph, op: Operation) -> Defines:
    x, w, y = (graph.at(op, port) for port in ("TOKEN", "DWEIGHT", "DOUTPUT"))
    return {**_experts(y, w, graph.at(op, "FIRST_TOKEN_OFFSET")), **tensor("X", x), **tensor("Y", y)}


def _pages(graph: OperationGraph, op: Operation) -> Defines:
    x, y = graph.at(op, "CONTAINER"), graph.at(op, "Y")
    steps = graph.at(op, "PAGE_TABLE").strides
    return {
        **{f"D{axis}": size for axis, size in enumerate(y.dims)},
        **{**tensor("X", x), **tensor("Y", y), "P_0": steps[0], "P_2": steps[2]},
        **{"SIZE": x.dims[2], "PAGES": x.dims[0]},
    }


KERNELS = {
    "paged_cache_load": NodeKernel(
        "shared/nodes/pages.cl", "load_pages", ("CONTAINER", "PAGE_TABLE", "Y"), _pages, {"PAGE_TABLE": ("INT32",)}
    ),
    "rope": NodeKernel("shared/nodes/rope.cl", "rope", ("X", "FREQS", "Y"), _rope),
    "rope_bwd": NodeKernel("shared/nodes/rope.cl", "rope", ("DY", "FREQS", "DX"), _rope),
    "moe_grouped_matmul": NodeKernel(
        "shared/nodes/moe.cl",
        "moe_forward",
        ("TOKEN", "WEIGHT", "FIRST_TOKEN_OFFSET", "OUTPUT", "TOKEN_INDEX", "TOKEN_KS"),
        _moe,
        _INTEGERS,
    ),
    "moe_grouped_matmul_bwd": NodeKernel(
        "shared/nodes/moe_backward.cl",
        "moe_backward",
        ("DOUTPUT", "TOKEN", "FIRST_TOKEN_OFFSET", "DWEIGHT"),
        _moe_backward,
        _INTEGERS,
    ),
}
