"""Graphs of hipDNN and cudnn-frontend: read, run, written; malformed files; what has no counterpart."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import portadnn.graph as cudnn
from portadnn.cli.main import app
from portadnn.errors import DnnError
from portadnn.graph.api.core import Graph
from portadnn.graph.api.files import data_of, graph_and_frozen
from portadnn.graph.files import as_data
from portadnn.graph.foreign_files import FORMATS, flatbuffer, ubjson, write
from portadnn.graph.foreign_files.hipdnn_schema import ENUMS, TABLES, UNIONS, VALUES
from portadnn.graph.support.cases import cases

pytest.importorskip("flatbuffers", reason="hipDNN's binary files are written with it")

HIPDNN_HAS = {
    *("pointwise", "reduction", "matmul", "conv_fprop", "conv_dgrad", "conv_wgrad", "resample"),
    *("batchnorm", "batchnorm_inference", "batchnorm_backward", "layernorm", "layernorm_backward", "rmsnorm"),
    *("rmsnorm_backward", "sdpa", "sdpa_backward", "sdpa_fp8", "moe_grouped_matmul", "moe_grouped_matmul_bwd"),
    *("block_scale_quantize", "block_scale_dequantize"),
}
FRONTEND_HAS = HIPDNN_HAS | {
    *("genstats", "bn_finalize", "dbn_weight", "adalayernorm", "adalayernorm_backward", "instancenorm"),
    *("instancenorm_backward", "sdpa_fp8_backward", "slice", "transpose", "reshape", "concatenate", "rng"),
}
HAS = {"hipdnn": HIPDNN_HAS, "hipdnn-json": HIPDNN_HAS, "cudnn-frontend": FRONTEND_HAS}


def small_graphs():
    """Yield kinds and graphs of one operation each: all kinds, modes and options."""
    for case in cases():
        kind = "FP8_E4M3" if "fp8" in case.kind else "FLOAT"
        yield case.kind, case.graph(kind, "channels last", "FLOAT")


def wanted(graph):
    """Return a frozen graph without names, and with slices as their results alone."""
    return [
        (
            o.kind,
            {**dict(o.attributes), "slices": None},
            {port: str(graph.by_uid[uid]) for port, uid in o.inputs + o.outputs},
        )
        for o in graph.operations
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_every_operation_comes_back(format):
    """What a format has no words for is named; everything else is read as it was written."""
    came, lacking = set(), set()
    for kind, graph in small_graphs():
        try:
            content = write(as_data(Graph(), graph), format)
        except cudnn.cudnnGraphNotSupportedError as error:
            assert error.id == "PG-FILE-004"
            assert kind in str(error)
            lacking.add(kind)
            continue
        assert wanted(graph_and_frozen(data_of(content))[1]) == wanted(graph), (kind, content)
        came.add(kind)
    assert came == HAS[format]
    assert "softmax" in lacking


# hipDNN, by hand


def with_nulls(text, **given):
    return {f"{name}_tensor_uid": given.get(name) for name in text.split()}


def described(uid, dims, type="float", virtual=False, **more):
    strides = [int(np.prod(dims[i + 1 :], dtype=int)) for i in range(len(dims))]
    return {
        "uid": uid,
        "name": f"n{uid}",
        "dims": dims,
        "strides": strides,
        "data_type": type,
        "virtual": virtual,
        **more,
    }


def hipdnn(tensors, *nodes, **more):
    types = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"), "float")
    nodes = [{"name": f"node{i}", "compute_data_type": "float", **node} for i, node in enumerate(nodes)]
    return {"name": "logged", **types, "tensors": tensors, "nodes": nodes, **more}


def product():
    return hipdnn(
        [
            described(5, [1, 3, 4]),
            described(6, [1, 4, 2]),
            described(7, [1, 3, 2], virtual=True),
            described(8, [1, 3, 2]),
        ],
        {
            "type": "MatmulAttributes",
            "inputs": {"a_tensor_uid": 5, "b_tensor_uid": 6},
            "outputs": {"c_tensor_uid": 7},
        },
        {
            "type": "PointwiseAttributes",
            "inputs": {"operation": "max_op", "in_0_tensor_uid": 7, "in_1_tensor_uid": 9, "swish_beta": None},
            "outputs": {"out_0_tensor_uid": 8},
        },
    )


def scalar(uid, member, value, type="float"):
    return described(uid, [1], type, value_type=member, value=value, is_runtime_pass_by_value=False)


def test_a_graph_of_hipdnn_computes():
    written = product()
    written["tensors"].append(scalar(9, "Float32Value", 0.25))
    graph = cudnn.pygraph()
    graph.deserialize(json.dumps(written))
    graph.build()
    random = np.random.default_rng(1)
    a, b = random.integers(-3, 4, (1, 3, 4)).astype(np.float32), random.integers(-3, 4, (1, 4, 2)).astype(np.float32)
    y = np.zeros((1, 3, 2), np.float32)
    graph.execute({5: a, 6: b, 8: y})
    np.testing.assert_array_equal(y, np.maximum(a @ b, 0.25))
    assert graph.check_against("hipdnn").answer in ("yes", "no", "unknown")


SDPA = "attn_mask scale seq_len_q seq_len_kv seed offset dropout_mask dropout_scale page_table_k page_table_v descale_q"


def attention(tensors, attributes, **ports):
    plain = dict.fromkeys(("generate_stats", "dropout_probability", "attn_scale_value", "left_bound", "right_bound"))
    plain |= dict.fromkeys(("alibi_mask", "padding_mask", "causal_mask", "causal_mask_bottom_right"), False)
    plain |= {"mma_core_mode": "UNSET", "implementation": "AUTO", "diagonal_alignment": "TOP_LEFT"}
    node = {
        "type": "SdpaAttributes",
        "inputs": {"q_tensor_uid": 1, "k_tensor_uid": 2, "v_tensor_uid": 3, **with_nulls(SDPA, **ports)},
        "outputs": {"o_tensor_uid": 4, "stats_tensor_uid": None},
        "attributes": {**plain, **attributes},
    }
    return hipdnn([*(described(i, [2, 2, 3, 4]) for i in range(1, 5)), *tensors], node)


def line_of(content):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    return str(graph_and_frozen(data_of(content))[1])


def test_masks_and_lengths_of_attention():
    assert "right_bound=0" in line_of(attention([], {"causal_mask": True}))
    bottom = line_of(attention([], {"causal_mask_bottom_right": True, "attn_scale_value": 0.5}))
    assert "ATTN_SCALE=f32:1=0.5" in bottom
    assert "diagonal_alignment=BOTTOM_RIGHT" in bottom
    lengths = [described(7, [2], "int32"), described(8, [2], "int32")]
    padded = line_of(attention(lengths, {}, seq_len_q=7, seq_len_kv=8))
    assert "SEQ_LEN_Q=i32:2x1x1x1" in padded
    assert "use_padding_mask=True" in padded


def test_older_names_of_types():
    old = product()
    old["tensors"].append(scalar(9, "Float32Value", 1.0))
    new = line_of(old)
    for name in ("io", "compute", "intermediate"):
        old[f"{name}_type"] = old.pop(f"{name}_data_type")
    assert line_of(old) == new


def test_nodes_without_a_counterpart_are_listed():
    file = hipdnn(
        [described(1, [2, 2]), described(2, [2, 2], "fp6_e2m3")],
        {"type": "CustomOpAttributes", "custom_op_id": "a.b"},
        {"type": "BatchnormInferenceAttributesVarianceExt"},
        {"type": "OfNextYear"},
        {"type": "ReductionAttributes", "mode": "ADD", "in_tensor_uid": 1, "out_tensor_uid": 2},
    )
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="PG-FILE-003") as caught:
        data_of(json.dumps(file))
    for name in ("CustomOp", "VarianceExt 'node1': batchnorm_inference takes rsqrt", "OfNextYear 'node2'", "FP6_E2M3"):
        assert name in str(caught.value)
    assert "Reduction" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ({"tensors": 7}, "something else"),
        ({"tensors": [described(1, [2]), described(1, [2])]}, "two tensors of uid 1"),
        ({"tensors": []}, "does not describe"),
        ({"io_data_type": "float7"}, "float7"),
        ({"nodes": [{"name": "n", "type": "MatmulAttributes", "inputs": {"a_tensor_uid": "x"}}]}, "a_tensor_uid"),
        ({"name": 3}, "name"),
    ],
)
def test_json_that_makes_no_sense(change, got):
    with pytest.raises(cudnn.InvalidValue, match="PG-FILE-001") as caught:
        data_of(json.dumps(product() | change))
    assert got in str(caught.value)


# FlatBuffers


def by_hand():
    """Return a convolution as FlatBuffers, with field numbers as hipDNN's generated headers have them."""
    import flatbuffers

    b = flatbuffers.Builder(64)

    def longs(values):
        b.StartVector(8, len(values), 8)
        for value in reversed(values):
            b.PrependInt64(value)
        return b.EndVector()

    def table(fields, slots):
        b.StartObject(slots)
        for slot, (how, value) in fields.items():
            getattr(b, f"Prepend{how}")(value)
            b.Slot(slot)
        return b.EndObject()

    def tables(places):
        b.StartVector(4, len(places), 4)
        for place in reversed(places):
            b.PrependUOffsetTRelative(place)
        return b.EndVector()

    tensors = []
    for uid, dims in ((1, [1, 2, 4, 4]), (2, [3, 2, 3, 3]), (3, [1, 3, 4, 4])):
        name, numbers = b.CreateString(f"t{uid}"), longs(dims)
        strides = longs([int(np.prod(dims[i + 1 :], dtype=int)) for i in range(4)])
        parts = {0: ("Int64", uid), 1: ("UOffsetTRelative", name), 2: ("Int8", 2), 3: ("UOffsetTRelative", strides)}
        tensors.append(table({**parts, 4: ("UOffsetTRelative", numbers)}, 12))
    ones = longs([1, 1])
    windows = {3: ones, 4: ones, 5: ones, 6: ones}
    uids = {0: ("Int64", 1), 1: ("Int64", 2), 2: ("Int64", 3), 7: ("Int8", 2)}
    conv = table({**uids, **{slot: ("UOffsetTRelative", place) for slot, place in windows.items()}}, 8)
    name = b.CreateString("conv")
    fields = {0: ("UOffsetTRelative", name), 1: ("Int8", 1), 2: ("Uint8", 5), 3: ("UOffsetTRelative", conv)}
    nodes, all_tensors, name = tables([table(fields, 4)]), tables(tensors), b.CreateString("by hand")
    types = {1: ("Int8", 1), 2: ("Int8", 1), 3: ("Int8", 2)}
    parts = {4: ("UOffsetTRelative", all_tensors), 5: ("UOffsetTRelative", nodes)}
    b.Finish(table({0: ("UOffsetTRelative", name), **types, **parts}, 10))
    return bytes(b.Output())


def test_field_numbers_are_those_of_the_schema():
    expected = "conv_fprop X=f16:1x2x4x4 W=f16:3x2x3x3 Y=f16:1x3x4x4 pre_padding=1,1 post_padding=1,1 stride=1,1"
    assert line_of(by_hand()) == f"{expected} dilation=1,1"


def test_a_graph_beside_its_plan():
    import flatbuffers

    b = flatbuffers.Builder(64)
    blob, plan = b.CreateByteVector(by_hand()), b.CreateByteVector(b"plan")
    b.StartObject(2)
    for slot, place in enumerate((blob, plan)):
        b.PrependUOffsetTRelative(place)
        b.Slot(slot)
    b.Finish(b.EndObject(), file_identifier=b"HDGP")
    assert line_of(bytes(b.Output())) == line_of(by_hand())


def schema_text(*, values=True):
    """Return the tables of the schema in the language of FlatBuffers' compiler, whose JSON has no unions of structs."""
    words = [f"enum {name}: byte {{ {', '.join(members.split())} }}" for name, members in ENUMS.items()]
    how = "struct" if values else "table"
    words += [f"{how} {name} {{ value: {type}; }}" for name, type in VALUES.items()]
    words += ["struct Version { a: uint; b: uint; c: uint; }", "struct Id { bytes: [ubyte:16]; }"]
    tables = []
    for name, fields in TABLES.items():
        parts = []
        for field in fields:
            type = {"struct": "Version" if field.name.startswith("min") else "Id"}.get(field.type, field.type)
            scalar = field.type in ("long", "int", "bool", "float")
            usual = " = null" if scalar and field.default is None else f" = {field.default}" if scalar else ""
            parts.append(f"{field.name}: {type}{usual.lower()};")
        tables.append(f"table {name} {{ {' '.join(parts)} }}")
    unions = [f"union {name} {{ {', '.join(members[1:])} }}" for name, members in UNIONS.items()]
    return "\n".join([*words, *unions, *tables, "root_type Graph;"])


needs_flatc = pytest.mark.skipif(shutil.which("flatc") is None, reason="flatc, FlatBuffers' compiler, is not installed")


def flatc(folder, *words):
    subprocess.run(["flatc", *words], cwd=folder, check=True, capture_output=True, timeout=60)


@needs_flatc
def test_the_compiler_of_flatbuffers_agrees(tmp_path):
    """FlatBuffers' own program reads what is written here, and what it writes is read here."""
    (tmp_path / "g.fbs").write_text(schema_text(values=False))
    kinds = set()
    for kind, graph in small_graphs():
        if kind in kinds or kind not in HIPDNN_HAS or any(one.by_value for one in graph.infos):
            continue
        content = write(as_data(Graph(), graph), "hipdnn")
        (tmp_path / "g.bin").write_bytes(content)
        flatc(tmp_path, "--json", "--strict-json", "--raw-binary", "g.fbs", "--", "g.bin")
        flatc(tmp_path, "-b", "g.fbs", "g.json")
        back = (tmp_path / "g.bin").read_bytes()
        assert flatbuffer.read(back, "Graph") == flatbuffer.read(content, "Graph")
        assert wanted(graph_and_frozen(data_of(back))[1]) == wanted(graph)
        kinds.add(kind)
    assert len(kinds) > 8


@needs_flatc
@pytest.mark.parametrize(
    ("member", "type", "written", "value"),
    [
        ("Float32Value", "FLOAT", 0.1, 0.1),
        ("Float16Value", "HALF", 0.5, 0.5),
        ("Float64Value", "DOUBLE", 0.1, 0.1),
        ("Int32Value", "INT32", -7, -7),
        ("Int64Value", "INT64", 2**40, 2**40),
        ("Float8Value", "INT8", 250, -6),
        ("BoolValue", "BOOLEAN", True, 1),
    ],
)
def test_scalars_by_the_compiler_of_flatbuffers(tmp_path, member, type, written, value):
    (tmp_path / "g.fbs").write_text(schema_text())
    one = {"uid": 3, "data_type": type, "dims": [1], "strides": [1], "value_type": member, "value": {"value": written}}
    (tmp_path / "g.json").write_text(json.dumps({"tensors": [one]}))
    flatc(tmp_path, "-b", "g.fbs", "g.json")
    (found,) = data_of((tmp_path / "g.bin").read_bytes())["tensors"]
    assert (found["type"], found["value"], found["constant"]) == (type, value, True)


def test_shared_parts_do_not_multiply():
    """A vector of tensors that are all one tensor, of a long vector of dims, is refused before it fills the memory."""
    import flatbuffers

    b = flatbuffers.Builder(64)
    b.StartVector(8, 20000, 8)
    for _ in range(20000):
        b.PrependInt64(1)
    dims = b.EndVector()
    b.StartObject(12)
    b.PrependUOffsetTRelative(dims)
    b.Slot(4)
    one = b.EndObject()
    b.StartVector(4, 20000, 4)
    for _ in range(20000):
        b.PrependUOffsetTRelative(one)
    many = b.EndVector()
    b.StartObject(10)
    b.PrependUOffsetTRelative(many)
    b.Slot(4)
    b.Finish(b.EndObject())
    began = time.process_time()
    with pytest.raises(cudnn.InvalidValue, match="over and over"):
        data_of(bytes(b.Output()))
    assert time.process_time() - began < 5


def test_without_the_package(monkeypatch):
    """Binary files are read, and JSON is read and written."""
    content = by_hand()
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    graph = cudnn.pygraph()
    graph.deserialize(content)
    assert line_of(graph.serialize_as("hipdnn-json")) == line_of(content)
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=r"PG-FILE-005.*portadnn\[hipdnn\]"):
        graph.serialize_as("hipdnn")
    with pytest.raises(cudnn.InvalidValue, match=r"PG-NODE-004.*hipdnn-json"):
        graph.serialize_as("onnx")
    with pytest.raises(cudnn.InvalidValue, match="PG-NODE-004"):
        graph.serialize_as(np.zeros(2))


# cudnn-frontend


def frontend():
    """Return layer normalisation and a clipped RELU as cudnn-frontend 1.23 writes them; two tensors have names only."""

    def one(name, dims, uid=None, virtual=False, value=None):
        strides = [int(np.prod(dims[i + 1 :], dtype=int)) for i in range(len(dims))]
        said = {"name": name, "data_type": "FLOAT", "dim": dims, "stride": strides, "is_virtual": virtual}
        said |= {"pass_by_value": value, "is_pass_by_value": value is not None, "reordering_type": "NONE"}
        return said | {"uid": uid or 0, "uid_assigned": uid is not None}

    nodes = [
        {
            "tag": "LAYER_NORM",
            "name": "ln",
            "compute_data_type": "FLOAT",
            "inputs": {"X": 1, "SCALE": 2, "BIAS": 3, "EPSILON": "epsilon"},
            "outputs": {"Y": "ln::Y", "MEAN": 5, "INV_VARIANCE": 6},
            "forward_phase": "TRAINING",
        },
        {
            "tag": "POINTWISE",
            "name": "relu",
            "compute_data_type": None,
            "inputs": {"IN_0": "ln::Y"},
            "outputs": {"OUT_0": 4},
            "mode": "RELU_FWD",
            "axis": None,
            "relu_upper_clip": "3F000000",
            "relu_lower_clip": None,
            "relu_lower_clip_slope": None,
        },
    ]
    tensors = {str(uid): one(f"t{uid}", [2, 1, 4] if uid in (1, 4) else [1, 1, 4], uid) for uid in (1, 2, 3, 4)}
    tensors |= {str(uid): one(f"s{uid}", [2, 1, 1], uid) for uid in (5, 6)}
    tensors |= {"epsilon": one("epsilon", [1, 1, 1], value={"index": 3, "value": "3727C5AC"})}
    tensors |= {"ln::Y": one("ln::Y", [2, 1, 4], virtual=True)}
    context = {"name": "logged", "compute_data_type": "FLOAT", "io_data_type": None, "intermediate_data_type": "FLOAT"}
    return {"context": context, "json_version": "1.0", "nodes": nodes, "tensors": tensors}


def as_ubjson(value):
    """Return a value as nlohmann's library writes it."""
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, int):
        return next(
            mark + struct.pack(form, value)
            for mark, form, most in (
                (b"i", ">b", 127),
                (b"U", ">B", 255),
                (b"I", ">h", 2**15 - 1),
                (b"l", ">i", 2**31 - 1),
            )
            if value <= most
        )
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"S" + as_ubjson(len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"[" + b"".join(map(as_ubjson, value)) + b"]"
    return b"{" + b"".join(as_ubjson(key)[1:] + as_ubjson(one) for key, one in value.items()) + b"}"


def test_a_graph_of_cudnn_frontend_computes():
    graph = cudnn.pygraph()
    graph.deserialize(json.dumps(frontend()))
    graph.build()
    x = np.random.default_rng(2).standard_normal((2, 1, 4)).astype(np.float32)
    scale, bias = np.full((1, 1, 4), 2, np.float32), np.full((1, 1, 4), 0.125, np.float32)
    y, mean, inverse = (np.zeros(dims, np.float32) for dims in ((2, 1, 4), (2, 1, 1), (2, 1, 1)))
    graph.execute({1: x, 2: scale, 3: bias, 4: y, 5: mean, 6: inverse})
    normal = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, np.clip(2 * normal + 0.125, 0, 0.5), atol=1e-6)
    np.testing.assert_allclose(mean, x.mean(2, keepdims=True), atol=1e-6)


def test_a_serialized_plan_has_the_graph():
    """It is UBJSON, which cudnn-frontend returns as a list of numbers."""
    plan = frontend() | {"cudnn_backend_data": "x" * 300, "variant_pack_uids": [1, 2], "fe_workspace_size": 70000}
    graph = cudnn.pygraph()
    graph.deserialize(list(as_ubjson(plan | {"factor": 0.5})))
    assert line_of(graph.to_json().encode()) == line_of(frontend())


def test_ragged_offsets_are_only_named():
    written = frontend()
    written["tensors"]["1"] |= {"ragged_offset_uid": 77, "ragged_offset_name": "offsets"}
    found = data_of(json.dumps(written))
    offsets = next(one for one in found["tensors"] if one["name"] == "offsets")
    assert (offsets["dims"], offsets["type"]) == ([3, 1, 1, 1], "INT32")
    assert next(one for one in found["tensors"] if one["uid"] == 1)["ragged_offset"] == offsets["uid"]


def test_tags_without_a_counterpart_are_listed():
    written = frontend()
    written["nodes"][0]["tag"] = "MATMUL_FP8"
    written["nodes"][1]["inputs"]["M_override"] = 1
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=r"MATMUL_FP8 .ln.; M_override of POINTWISE .relu."):
        data_of(json.dumps(written))


# malformed files


def attempt(content):
    """Read a file and freeze its graph; a file that is wrong gives an error of the library."""
    try:
        graph_and_frozen(data_of(content))
    except DnnError:
        return False
    return True


def mutated(content, chance):
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(changed))
        changed[place] = chance.choice((0, 1, 4, 127, 128, 255, changed[place] ^ (1 << chance.randrange(8))))
    return bytes(changed[: chance.randrange(len(changed))] if chance.random() < 0.1 else changed)


@pytest.mark.parametrize("format", ["hipdnn", "hipdnn-json", "cudnn-frontend", "ubjson"])
def test_mutated_files(format):
    graph = cudnn.pygraph()
    graph.deserialize(json.dumps(frontend()))
    content = as_ubjson(frontend()) if format == "ubjson" else graph.serialize_as(format)
    chance = random.Random(format)
    assert attempt(content)
    outcomes = [attempt(mutated(content, chance)) for _ in range(400)]
    assert 0 < sum(outcomes) < 400


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{i", b"\0" * 3, b"\xff" * 64, b"[" * 4000, b"{i\x01a" * 4000, b"HDGP" * 4]
)
def test_files_of_other_kinds(content):
    with pytest.raises(cudnn.InvalidValue, match="PG-FILE-001"):
        data_of(content)


def test_ubjson_ends_where_it_ends():
    assert ubjson.read(as_ubjson({"a": [1, -5, 300, 70000, None, True, "ä", 0.5]})) == {
        "a": [1, -5, 300, 70000, None, True, "ä", 0.5]
    }
    with pytest.raises(ValueError, match="5 bytes"):
        ubjson.read(b"Si\x05abc")


# the command


@pytest.fixture
def files(tmp_path):
    (tmp_path / "cudnn.json").write_text(json.dumps(frontend()))
    (tmp_path / "hipdnn.bin").write_bytes(by_hand())
    return tmp_path


def command(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_judges_and_converts(files):
    said = command("graph", files / "hipdnn.bin", "--backend", "hipdnn,reference")
    assert "hipdnn: yes" in said
    assert "definition: takes it" in said
    command("graph", files / "cudnn.json", "--to", "hipdnn", "-o", files / "ln.bin")
    lines = [command("graph", files / name, "--to", "line") for name in ("cudnn.json", "ln.bin")]
    assert lines[0] == lines[1]
    assert "flowchart" in command("graph", files / "ln.bin", "--to", "mermaid")
    assert json.loads(command("graph", files / "ln.bin", "--to", "portadnn"))["format"] == "portadnn.graph"
    assert (
        json.loads(command("graph", files / "ln.bin", "--json", "--backend", "reference"))["problem"]
        == lines[0].strip()
    )


def test_the_command_compares(files):
    words = ["--no-progress", "--targets", "reference", "--jobs", "1"]
    assert "PASSED" in command("diff", "graphs", "--file", files / "hipdnn.bin", *words)
    assert "exclude" in command("diff", "graphs", "--file", files / "hipdnn.bin", "--line", "x", *words, code=2)


def test_wrong_calls_of_the_command(files):
    assert "PG-FILE-001" in command("graph", __file__, code=1)
    assert "No such file" in command("graph", files / "nothing", code=1)
    assert "cudnn-frontend" in command("graph", files / "cudnn.json", "--to", "onnx", code=2)
    assert "--to" in command("graph", files / "cudnn.json", "-o", files / "x", code=2)
