"""What cuDNN takes is taken, and where it is unusual, ``explain()`` has a note of it."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import types

import ml_dtypes
import numpy as np
import pytest
from graphs import D, given, new, numbers

import portadnn.graph as cudnn
from portadnn.graph.api import handles
from portadnn.graph.memory import host as memory
from portadnn.registry import get_backend

BACKENDS = ["reference", "opencl"]


@pytest.fixture(params=BACKENDS)
def handle(request):
    reason = get_backend(request.param).why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    number = cudnn.create_handle(request.param)
    yield number
    cudnn.destroy_handle(number)


def notes(g):
    return sorted(note.id for note in g.explain().notes)


def floats(*dims, seed=0):
    return numbers(dims, seed).astype(np.float32)


def test_equal_names_and_unused_tensors_are_notes(handle):
    g = new(handle)
    a, b, spare = given(g, (3, 4), name="x"), given(g, (3, 4), name="x"), given(g, (2,), name="spare")
    y = g.sub(a, b).set_output(True)
    g.build()
    values, others, out = floats(3, 4), floats(3, 4, seed=1), np.empty((3, 4), np.float32)
    g.execute({a: values, b: others, y: out, spare: None})
    np.testing.assert_array_equal(out, values - others)
    assert notes(g) == ["PG-GRAPH-006", "PG-TENSOR-020"]
    assert "note: [PG-GRAPH-006] tensor 'spare'" in str(g.explain())
    said = json.loads(str(g))
    assert {"x", "x#2", "spare"} <= set(said["tensors"])
    assert said["nodes"][0]["inputs"] == {"IN_0": "x", "IN_1": "x#2"}


@pytest.mark.parametrize("io", [D.FLOAT, D.HALF, D.DOUBLE])
def test_types_left_out_are_the_io_type(handle, io):
    kind = {D.FLOAT: np.float32, D.HALF: np.float16, D.DOUBLE: np.float64}[io]
    g = cudnn.pygraph(io_data_type=io, handle=handle)
    a, b = (g.tensor(dim=[2, 3, 3], stride=[9, 3, 1]) for _ in range(2))
    between = g.matmul(a, b)
    y = g.relu(between).set_output(True)
    g.build()
    assert between.get_data_type() == io
    values, others, made = floats(2, 3, 3).astype(kind), floats(2, 3, 3, seed=1).astype(kind), np.empty((2, 3, 3), kind)
    g.execute({a: values, b: others, y: made})
    wanted = np.maximum(values.astype(np.float64) @ others.astype(np.float64), 0)
    np.testing.assert_allclose(made, wanted, rtol={D.FLOAT: 1e-5, D.HALF: 2e-3, D.DOUBLE: 1e-13}[io], atol=1e-3)
    assert notes(g) == ["PG-TYPE-001", "PG-TYPE-002"]
    assert "no compute_data_type; " in str(g.explain())


def test_a_convolution_without_a_compute_type(handle):
    """Neither has the graph an io type; each tensor has its own."""
    g = cudnn.pygraph(handle=handle)
    image, weight = given(g, (1, 4, 5, 5), D.HALF), given(g, (2, 4, 3, 3), D.HALF)
    y = g.conv_fprop(image, weight, padding=[1, 1], stride=[1, 1], dilation=[1, 1]).set_output(True)
    y.set_data_type(D.HALF)
    g.build()
    found = np.empty((1, 5, 5, 2), np.float16)  # channels last
    ones = np.ones((1, 4, 5, 5), np.float16)
    g.execute({image: ones, weight: np.ones((2, 4, 3, 3), np.float16), y: found.transpose(0, 3, 1, 2)})
    taps = np.array([2, 3, 3, 3, 2])  # of three, within the image
    np.testing.assert_array_equal(found[0, :, :, 1], 4 * np.outer(taps, taps))
    assert notes(g) == ["PG-TYPE-002"]


def test_arrays_in_the_place_of_tensors(handle):
    """As in cudnn-frontend 1.32: the pack has the results, and what is to be read instead."""
    g = new(handle)
    a, b, other = floats(2, 3, 4), floats(2, 4, 5, seed=1), floats(2, 4, 5, seed=2)
    y = g.add(g.matmul(a, b), np.float32(0.5)).set_output(True)
    g.build()
    found = np.empty((2, 3, 5), np.float32)
    g.execute({y: found})
    np.testing.assert_allclose(found, a @ b + 0.5, rtol=1e-5, atol=1e-5)
    right = g.nodes[0].inputs["B"]
    for key in (right, right.get_uid(), right.get_name()):
        found[:] = np.nan
        g.execute({y: found, key: other})
        np.testing.assert_allclose(found, a @ other + 0.5, rtol=1e-5, atol=1e-5)
    g.bind({y: found})()
    np.testing.assert_allclose(found, a @ b + 0.5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dims", [(3,), (3, 1), (1, 3, 1, 1)])
def test_lengths_and_offsets_of_any_rank(handle, dims):
    """Sequences of 2 and 4 rows behind one another, and their offsets as one row of numbers."""
    g = new(handle)
    q, k, v = (g.tensor(dim=[2, 1, 4, 8], stride=[32, 8, 8, 1]) for _ in range(3))
    offsets = given(g, dims, D.INT32)
    lengths = given(g, tuple(2 if size == 3 else 1 for size in dims), D.INT32)
    for one in (q, k, v):
        one.set_ragged_offset(offsets)
    o, _ = g.sdpa(q, k, v, attn_scale=0.5, use_padding_mask=True, seq_len_q=lengths, seq_len_kv=lengths)
    o.set_output(True).set_dim([2, 1, 4, 8]).set_stride([32, 8, 8, 1]).set_ragged_offset(offsets)
    g.build()
    arrays, found = [floats(6, 8, seed=seed) for seed in range(3)], np.empty((6, 8), np.float32)
    pack = {**dict(zip((q, k, v), arrays, strict=True)), o: found}
    g.execute({**pack, offsets: np.int32([0, 16, 48]), lengths: np.int32([2, 4])})
    for rows in (slice(0, 2), slice(2, 6)):
        a, b, c = (one[rows] for one in arrays)
        p = np.exp(0.5 * a @ b.T)
        np.testing.assert_allclose(found[rows], p / p.sum(1, keepdims=True) @ c, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["sdpa", "sdpa_fp8", "sdpa_backward", "sdpa_fp8_backward", "sdpa_mxfp8"])
def test_hints_of_packed_layouts_are_taken(name):
    """They size cuDNN's workspaces."""
    parameters = inspect.signature(getattr(cudnn.pygraph, name)).parameters
    assert {"max_total_seq_len_q", "max_total_seq_len_kv"} <= set(parameters)


def test_both_paddings_by_position(handle):
    g = new(handle)
    image, weight = given(g, (1, 1, 4, 4)), given(g, (1, 1, 2, 2))
    y = g.conv_fprop(image, weight, [1, 0], [0, 2], [1, 2], [1, 1]).set_output(True)
    g.build()
    assert y.get_dim() == [1, 1, 4, 3]


@pytest.mark.parametrize("value", [None, False, np.False_])
def test_flags_that_are_none_are_false(value):
    g = new()
    q = given(g, (1, 2, 3, 8))
    o, stats = g.sdpa(q, q, q, is_inference=None, generate_stats=False, use_padding_mask=value, use_alibi_mask=value)
    o.set_output(True)
    g.validate()
    assert stats is None
    (node,) = g._graph.nodes
    assert (node["use_padding_mask"], node["use_alibi_mask"]) == (False, False)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int32, np.longdouble])
def test_numbers_of_numpy(handle, kind):
    g = new(handle)
    x = given(g, (5,))
    y = g.add(g.mul(x, kind(3)), g.tensor_scalar(kind(2))).set_output(True)
    g.build()
    out = np.empty(5, np.float32)
    g.execute({x: np.arange(5, dtype=np.float32), y: out})
    assert out.tolist() == [2, 5, 8, 11, 14]


@pytest.mark.parametrize(("stored", "passed"), [(D.HALF, ml_dtypes.bfloat16), (D.BFLOAT16, np.float16)])
def test_another_type_of_16_bits_is_taken_as_memory(handle, stored, passed):
    g = new(handle, io=stored)
    x = given(g, (4, 8))
    y = g.identity(x).set_output(True)
    g.build()
    values, out = floats(4, 8).astype(passed), np.zeros((4, 8), passed)
    g.execute({x: values, y: out})
    np.testing.assert_array_equal(out.view(np.uint16), values.view(np.uint16))
    assert notes(g) == ["PG-PACK-005", "PG-PACK-005"]


@pytest.mark.parametrize("scale", [(1, 6, 1), (6, 1, 1), (6,), (1, 6, 1, 1, 1)])
@pytest.mark.parametrize("kind", ["layernorm", "rmsnorm"])
def test_gradients_of_norms_take_scales_of_any_rank(handle, kind, scale):
    """cuDNN 9.19 reads as many numbers as there are in a row, whatever the dims are."""
    found = []
    for dims in (scale, (1, 6, 1, 1)):
        g = new(handle)
        rows = {"grad": given(g, (4, 6, 1, 1)), "input": given(g, (4, 6, 1, 1)), "scale": given(g, dims)}
        rows |= {"mean": given(g, (4, 1, 1, 1))} if kind == "layernorm" else {}
        rows["inv_variance"] = given(g, (4, 1, 1, 1))
        more = {"has_dbias": True} if kind == "rmsnorm" else {}
        outs = getattr(g, f"{kind}_backward")(**rows, **more)
        for one in outs:
            one.set_output(True)
        g.build()
        pack = {tensor: floats(*tensor.get_dim(), seed=i) for i, tensor in enumerate(rows.values())}
        pack |= {one: np.zeros(one.get_dim(), np.float32) for one in outs}
        g.execute(pack)
        found.append([pack[one].ravel() for one in outs])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_none_where_there_is_a_default(handle):
    """cudnn-frontend 1.32 leaves out what is None: types, modes, alignments, lists of tensors."""
    types_of = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"))
    g = cudnn.pygraph(handle=handle, name=None, **types_of)
    x = g.tensor(dim=(1, 2, 3, 3), stride=(18, 1, 6, 2), data_type=D.FLOAT, name=None, reordering_type=None)
    w = g.tensor(dim=(2, 2, 1, 1), stride=(2, 1, 2, 2), data_type=D.FLOAT, alignment_value=None)
    y = g.conv_fprop(x, w, convolution_mode=None, compute_data_type=None, name=None)
    g.relu(y, compute_data_type=None).set_output(True).set_data_type(D.FLOAT)
    rows = [g.tensor(dim=(1, 1, 2, 8), stride=(16, 16, 8, 1), data_type=D.FLOAT) for _ in range(3)]
    o, _ = g.sdpa(*rows, is_inference=True, diagonal_alignment=None, implementation=None)
    o.set_output(True).set_data_type(D.FLOAT)
    square = g.tensor(dim=(1, 2, 2), stride=(4, 2, 1), data_type=None)
    assert square.get_data_type() is D.NOT_SET
    g.matmul(square.set_data_type(D.FLOAT), square, padding=None).set_output(True).set_data_type(D.FLOAT)
    g.validate()


def test_objects_with_an_address_alone(handle):
    """What has torch's data_ptr() and no protocol of sharing is read as its address."""
    if handles.handle_of(handle).info.kind == "gpu":
        pytest.skip("addresses are of the device's memory there")
    values, out = floats(2, 3), np.zeros((2, 3), np.float32)
    pointers = [types.SimpleNamespace(data_ptr=functools.partial(int, one.ctypes.data)) for one in (values, out)]
    g = new(handle)
    x = given(g, (2, 3))
    y = g.neg(x).set_output(True)
    g.build()
    g.execute(dict(zip((x, y), pointers, strict=True)))
    np.testing.assert_array_equal(out, -values)


@pytest.mark.parametrize("passed", [np.float32, np.float64, np.int32])
def test_numbers_of_another_type_are_read_as_what_they_are(handle, passed):
    """An epsilon has the io type where a program does not say its type, and is passed as float32."""
    g = new(handle, io=D.BFLOAT16)
    x, scale = given(g, (4, 8)), g.tensor(dim=(1, 1), stride=(1, 1), is_pass_by_value=True)
    y = g.mul(x, scale).set_output(True)
    g.build()
    values, out = floats(4, 8).astype(ml_dtypes.bfloat16), np.zeros((4, 8), ml_dtypes.bfloat16)
    g.execute({x: values, scale: np.full((1, 1), 2, passed), y: out})
    np.testing.assert_array_equal(out.astype(np.float32), 2 * values.astype(np.float32))
    assert notes(g) == ["PG-PACK-005"]


def test_addresses_of_host_memory(handle):
    if handles.handle_of(handle).info.kind == "gpu":
        pytest.skip("addresses are of the device's memory there")
    g = new(handle)
    a, b = given(g, (2, 3)), given(g, (2, 3))
    y = g.add(a, b).set_output(True)
    g.build()
    values, others, out = floats(2, 3), floats(2, 3, seed=1), np.empty((2, 3), np.float32)
    workspace = np.empty(g.get_workspace_size() + 16, np.uint8)
    for _ in range(3):  # bound from the third time on
        out[...] = 0
        g.execute({a: values.ctypes.data, b: others, y: out.ctypes.data}, workspace.ctypes.data)
        np.testing.assert_array_equal(out, values + others)


def test_halves_are_turned_in_place(handle):
    """As rotary embedding does: two results on two inputs, which both read."""
    g = new(handle)
    a, b = (given(g, (3, 4)).set_stride([8, 1]) for _ in range(2))
    first = g.sub(g.mul(a, 0.5), b).set_output(True)
    second = g.add(g.mul(b, 0.5), a).set_output(True)
    g.build()
    assert first.get_stride() == second.get_stride() == [8, 1]  # as the operands'
    values = np.arange(24, dtype=np.float32).reshape(3, 8)
    want = np.concatenate([values[:, :4] / 2 - values[:, 4:], values[:, 4:] / 2 + values[:, :4]], 1)
    for _ in range(3):
        work = values.copy()
        left, right = work[:, :4], work[:, 4:]
        g.execute({a: left, b: right, first: left, second: right})
        np.testing.assert_array_equal(work, want)


def test_a_residual_is_added_in_place(handle):
    g = new(handle)
    x, w, rest = given(g, (2, 3, 4)), given(g, (2, 4, 4)), given(g, (2, 3, 4))
    y = g.add(g.matmul(x, w), rest).set_output(True)
    g.build()
    values, filters, sums = floats(2, 3, 4), floats(2, 4, 4, seed=1), floats(2, 3, 4, seed=2)
    want = values.astype(float) @ filters + sums
    g.execute({x: values, w: filters, rest: sums, y: sums})
    np.testing.assert_allclose(sums, want, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="PG-PACK-010"):
        g.execute({x: values, w: filters, rest: sums, y: values})


def test_gradients_in_one_buffer(handle):
    """Rows of queries, keys and values side by side, in tensors that overlap but for their elements."""
    g = new(handle)
    q, k, v = (given(g, (2, 1, 3, 4)) for _ in "qkv")
    o, do, stats = given(g, (2, 1, 3, 4)), given(g, (2, 1, 3, 4)), given(g, (2, 1, 3, 1))
    gradients = g.sdpa_backward(q, k, v, o, do, stats)
    for one in gradients:
        one.set_output(True).set_stride([36, 12, 12, 1])
    g.build()
    values = [floats(2, 1, 3, 4, seed=seed) for seed in range(4)]
    scores = np.exp(values[0].astype(float) @ values[1].swapaxes(2, 3))
    share = scores / scores.sum(-1, keepdims=True)
    pack = {q: values[0], k: values[1], v: values[2], do: values[3]}
    pack |= {o: (share @ values[2]).astype(np.float32), stats: np.log(scores.sum(-1, keepdims=True)).astype(np.float32)}
    packed = np.zeros((2, 3, 3, 4), np.float32)
    g.execute({**pack, **{one: packed[:, :, place] for place, one in enumerate(gradients)}})
    np.testing.assert_allclose(packed[:, :, 2], (share.swapaxes(2, 3) @ values[3])[:, 0], rtol=1e-4, atol=1e-5)
    assert (packed[:, :, :2] != 0).all()
    with pytest.raises(ValueError, match="PG-PACK-010"):
        g.execute({**pack, **dict.fromkeys(gradients[:2], packed[:, :, 0]), gradients[2]: packed[:, :, 2]})


def test_ragged_results_have_any_stride_of_the_batch():
    g = new()
    offsets, lengths = given(g, (3, 1, 1, 1), D.INT32), given(g, (2, 1, 1, 1), D.INT32)
    q = given(g, (2, 1, 3, 4)).set_ragged_offset(offsets)
    o, _ = g.sdpa(q, q, q, generate_stats=False, use_padding_mask=True, seq_len_q=lengths, seq_len_kv=lengths)
    o.set_output(True).set_stride([4, 4, 4, 1]).set_ragged_offset(offsets)
    g.build()
    rows, out = floats(3, 4), np.zeros((3, 4), np.float32)
    counts = np.int32([3, 0])
    g.execute({q: rows, o: out, offsets: np.int32([0, 12, 0]), lengths: counts})  # none of the second, anywhere
    scores = np.exp(rows.astype(float) @ rows.T)
    np.testing.assert_allclose(out, scores / scores.sum(-1, keepdims=True) @ rows, rtol=1e-5)


def test_what_is_not_supported_is_refused_with_the_plans():
    """Programs validate a graph, and skip it where there are no plans."""
    g = new()
    g.relu(given(g, (2, 3)).set_reordering_type(cudnn.tensor_reordering.INT8x32)).set_output(True)
    g.validate()
    g.build_operation_graph()
    for _ in range(2):
        with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="PG-TENSOR-018"):
            g.create_execution_plans([cudnn.heur_mode.A])


def test_versions(monkeypatch):
    assert cudnn.__version__ == "1.32.0"
    assert cudnn.portadnn_version == __import__("portadnn").__version__
    monkeypatch.setenv("PORTADNN_CUDNN_VERSION", "9.21.1")
    assert (cudnn.backend_version(), cudnn.backend_version_string()) == (92101, "9.21.1")
    monkeypatch.setenv("PORTADNN_CUDNN_VERSION", "nine")
    with pytest.raises(ValueError, match="PORTADNN_CUDNN_VERSION"):
        cudnn.backend_version()


def test_the_default_stream_of_cuda(monkeypatch):
    """Programs pass 0 for it, and would race with work on it were it ignored."""
    streams: list = []
    fake = types.SimpleNamespace(Stream=types.SimpleNamespace(null="null"), ExternalStream=lambda address: address)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=fake))
    on_cuda = types.SimpleNamespace(backend="cuda", set_stream=streams.append)
    monkeypatch.setattr(handles, "handle_of", lambda handle: on_cuda)
    for address in (7, 0):
        cudnn.set_stream(1, address)
    assert streams == [7, "null"]


def test_the_log_of_graphs(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDNN_FRONTEND_LOG_INFO", "1")
    monkeypatch.setenv("CUDNN_FRONTEND_LOG_FILE", str(tmp_path / "log"))
    g = new()
    g.layernorm("INFERENCE", given(g, (2, 4)), given(g, (1, 4)), given(g, (1, 4)), 1e-5)[0].set_output(True)
    g.build()
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert json.loads(line)["nodes"][0]["tag"] == "LAYER_NORM"


def test_half_results_of_fp8_attention(handle):
    """O of 16 bits, as a forward pass may write it, in place of FP8: the same numbers, the same gradients."""
    found = []
    for kind in (D.FP8_E4M3, D.HALF):
        g = new(handle, io=D.FP8_E4M3)
        q, k, v, do = (given(g, (1, 2, 4, 16)) for _ in range(4))
        o, stats = given(g, (1, 2, 4, 16), kind), given(g, (1, 2, 4, 1), D.FLOAT)
        results = g.sdpa_fp8_backward(q, k, v, o, do, stats, *[1.0] * 12)
        for one in results:
            one.set_output(True)
        g.build()
        tensors = [D.FP8_E4M3.stored(floats(1, 2, 4, 16, seed=seed)) for seed in range(4)]
        out = kind.stored(D.FP8_E4M3.rounded(floats(1, 2, 4, 16, seed=4)))
        gradients = [np.zeros(one.get_dim(), one.get_data_type().storage) for one in results]
        pack = dict(zip((q, k, v, do), tensors, strict=True))
        pack |= {o: out, stats: floats(1, 2, 4, 1, seed=5), **dict(zip(results, gradients, strict=True))}
        g.execute(pack)
        found.append(np.concatenate([one.view(np.uint8).ravel() for one in gradients]))
    np.testing.assert_array_equal(*found)
    assert found[0].any()


def test_tensors_of_fp8_on_a_device_are_bytes():
    torch = pytest.importorskip("torch")
    g = new(io=D.FP8_E4M3)
    g.identity(given(g, (4, 3))).set_output(True)
    g.build()
    info = g._graph_frozen().packed[0]
    there = torch.empty(3, 4, dtype=torch.float8_e4m3fn, device="meta").T
    found = memory.plain_tensor(there, info, [])
    assert (found.dtype, found.stride()) == (torch.uint8, (1, 4))
    with pytest.raises(ValueError, match="PG-PACK-005"):
        memory.plain_tensor(there.view(torch.float8_e5m2), info, [])


def test_tensors_that_require_grad(handle):
    torch = pytest.importorskip("torch")
    g = new(handle)
    x = given(g, (2, 3))
    y = g.relu(x).set_output(True)
    g.build()
    values, out = torch.tensor([[-1.0, 2, -3], [4, -5, 6]], requires_grad=True), torch.zeros(2, 3)
    for _ in range(3):
        g.execute({x: values, y: out})
    assert out.tolist() == [[0, 2, 0], [4, 0, 6]]
    assert values.requires_grad
    assert notes(g) == ["PG-PACK-013"]


def test_strides_left_out_are_row_major():
    g = new("reference")
    made = [g.tensor(dim=[2, 3, 4]), g.tensor(dim=[2, 3, 4], stride=None), g.tensor([2, 3, 4], [])]
    assert [one.get_stride() for one in made] == [[12, 4, 1]] * 3
    assert g.tensor([2, 3, 4], is_virtual=True).get_stride() == []


def test_norms_compute_in_float_and_names_may_be_none():
    g = cudnn.pygraph(name=None, handle=cudnn.create_handle("reference"), io_data_type=cudnn.data_type.HALF)
    x, scale = (g.tensor(dim=[dim, 8, 1, 1], data_type=kind) for dim, kind in ((4, D.HALF), (1, D.FLOAT)))
    y, _ = g.rmsnorm(cudnn.norm_forward_phase.INFERENCE, x, scale, epsilon=g.tensor_scalar(1e-5), name=None)
    y.set_output(True)
    g.validate()
    assert next(iter(g._graph.nodes)).compute_type is cudnn.data_type.FLOAT


def test_packs_by_name_and_as_lists(handle):
    g = new(handle)
    x, y = given(g, (2, 3), name="x"), given(g, (2, 3), name="y")
    z = g.sub(x, y).set_output(True).set_name("z")
    g.build()
    values, others = floats(2, 3), floats(2, 3, seed=1)
    for number in range(3):
        out = np.empty((2, 3), np.float32)
        g.execute({"".join(["x", ""]): values, "y": others, f"{'z'}": out})
        np.testing.assert_array_equal(out, values - others)
        out = np.empty((2, 3), np.float32)
        uids = [one.get_uid() for one in (z, x, y)]
        g.execute([out, values, others], None, tensor_uids=uids)
        np.testing.assert_array_equal(out, values - others)
        g.execute_plan_at_index((out, others, values), None, 0, tensor_uids=tuple(uids))
        np.testing.assert_array_equal(out, others - values)
        values += number
    for pack, more in (
        ({"x": values, "w": others, "z": out}, {}),
        ([values, others], {"tensor_uids": uids}),
        ([values, others, out], {"tensor_uids": [1, 1, 2]}),
    ):
        with pytest.raises(cudnn.InvalidVariantPack, match=r"PG-PACK-00[28]"):
            g.execute(pack, **more)


def test_a_name_of_two_tensors_is_no_key():
    g = new("reference")
    x, y = given(g, (2,), name="x"), given(g, (2,), name="x")
    g.add(x, y).set_output(True).set_name("z")
    g.build()
    with pytest.raises(cudnn.InvalidVariantPack, match="PG-PACK-002"):
        g.execute(dict.fromkeys("xz", np.zeros(2, np.float32)))


def test_arguments_of_1_32():
    g = new("reference")
    a = g.tensor([2, 3], None, D.FLOAT, uid=None, ragged_offset_multiplier=4, alignment_value=16)
    assert (a.get_ragged_offset_multiplier(), a.get_stride()) == (4, [3, 1])
    assert g.tensor_like(np.zeros((2, 3), np.float32), "b", is_virtual=True).get_is_virtual()
    assert g.tensor_scalar(2.0, name="two").get_name() == "two"
    g = new("reference")
    g.relu(given(g, (2, 3))).set_output(True)
    g.build()
    assert g.serialize(as_bytes=True, include_kernels=False) == g.serialize()
    assert g.selected_engine is None


def test_a_band_that_cudnn_frontend_refuses_is_refused_by_validate():
    g = new("reference")
    q, k = given(g, (1, 2, 6, 8)), given(g, (1, 2, 4, 8))
    g.sdpa(q, k, k, use_causal_mask_bottom_right=True)[0].set_output(True)
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="PG-SDPA-015"):
        g.validate()


def test_arrays_of_one_number_are_memory_where_operations_read_memory():
    """On a CPU nothing else tells them from numbers: lengths of one sequence, an image of one pixel."""
    handle = cudnn.create_handle("reference")
    g = cudnn.pygraph("g", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    numbers = {name: np.full((1, 1, 1, 1), value, np.float32) for name, value in (("x", 3), ("w", 5), ("bias", 7))}
    x, w, bias = (g.tensor_like(one) for one in numbers.values())
    assert x.get_is_pass_by_value()
    y = g.add(g.conv_fprop(x, w, padding=[0, 0], stride=[1, 1], dilation=[1, 1]), bias).set_output(True)
    assert [one.get_is_pass_by_value() for one in (x, w, bias)] == [False, False, True]
    out = np.empty((1, 1, 1, 1), np.float32)
    g.build()
    g.execute({x: numbers["x"], w: numbers["w"], bias: numbers["bias"], y: out})
    assert out == 22

    g = cudnn.pygraph("g", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    q = np.ones((1, 1, 4, 8), np.float32)
    rows, columns = (np.full((1, 1, 1, 1), count, np.int32) for count in (4, 3))
    of_q, of_rows, of_columns = (g.tensor_like(one) for one in (q, rows, columns))
    o, _ = g.sdpa(of_q, of_q, of_q, use_padding_mask=True, seq_len_q=of_rows, seq_len_kv=of_columns)
    out = np.empty_like(q)
    o.set_output(True)
    g.build()
    g.execute({of_q: q, of_rows: rows, of_columns: columns, o: out})
    assert (out == 1).all()


def test_buffers_that_nothing_reads_are_ignored_with_a_note():
    """Those of virtual tensors, and of uids that the graph does not have, as cuDNN ignores them."""
    g = new("reference")
    x = given(g, (2, 3), name="x")
    inner = g.exp(x, name="e")
    y = g.neg(inner).set_output(True)
    g.build()
    numbers, out, other = np.ones((2, 3), np.float32), np.empty((2, 3), np.float32), np.full((2, 3), 7, np.float32)
    g.execute({x: numbers, y: out, inner: other, 99: other})
    np.testing.assert_allclose(out, -np.e, rtol=1e-6)
    assert (other == 7).all()
    told = str(g.explain())
    assert "PG-PACK-002" in told
    assert "PG-PACK-003" in told
