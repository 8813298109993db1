"""The life cycle of graphs, handles and buffers of all origins, and the user guide's example."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import helper
import ml_dtypes
import numpy as np
import pytest
from graphs import D, given, new, numbers

import portadnn as dnn
import portadnn.graph as cudnn
from portadnn.graph.engine import GraphEngine, GraphPlan
from portadnn.graph.rules import fail
from portadnn.registry import backend_names, get_backend
from portadnn_backends.base import Run

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "graph.md").read_text(encoding="utf-8")
CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or backend_names()


@pytest.mark.parametrize("backend", CHOSEN)
def test_the_guides_example(backend, monkeypatch):
    torch = pytest.importorskip("torch")
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {backend}: {reason}")
    monkeypatch.setenv("PORTADNN_BACKEND", backend)
    names: dict = {}
    exec(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0], names)
    x, w, b, y = (torch.tensor(value) for value in names["buffers"].values())
    x, w, y = (one.permute(0, 3, 1, 2) for one in (x, w, y))
    want = torch.relu(torch.nn.functional.conv2d(x.double(), w.double(), b.double(), padding=1))
    torch.testing.assert_close(y.double(), want, rtol=1e-4, atol=1e-4)
    assert (y > 0).any()
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    exec(next(block for block in blocks if "set_io_tuples" in block), names)
    a, b = names["a"], names["b"]
    np.testing.assert_array_equal(names["graph"](a, b), np.maximum(a - b, 0))
    cudnn.destroy_handle(names["handle"])


@pytest.mark.parametrize("backend", ["reference", "opencl"])
def test_the_page_for_programs_of_cudnn_frontend(backend, monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    if get_backend(backend).why_unavailable() is not None:
        pytest.skip(f"no {backend}")
    monkeypatch.setenv("PORTADNN_BACKEND", backend)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    page = (ROOT / "docs" / "from-cudnn-frontend.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], names)  # has an assertion of its own
    assert (names["y"] > 0).any()
    assert f"on {backend}" in capsys.readouterr().out


def test_the_guides_message():
    g = new()
    g.matmul(given(g, (2, 3, 4), name="q"), given(g, (2, 5, 6), name="k"), name="qk").set_output(True)
    with pytest.raises(ValueError, match="PG-MATMUL-001") as caught:
        g.validate()
    message = str(caught.value).removeprefix("pygraph.validate: ")
    assert " ".join(message.split()) in " ".join(GUIDE.split())


def test_every_step_by_itself():
    g = new()
    x = given(g, (2, 3))
    y = g.exp(x).set_output(True)
    assert g.get_workspace_size() == g.get_execution_plan_count() == 0
    g.validate()
    g.build_operation_graph()
    g.create_execution_plans([cudnn.heur_mode.A])
    assert g.get_execution_plan_count() == 2
    g.check_support()
    g.build_plans(cudnn.build_plan_policy.ALL)
    assert g.get_plan_name_at_index(0) == "eng_definition"
    assert g.get_behavior_notes() == []
    assert g.get_engine_count() == 2
    assert g.get_knobs_for_engine(0) == []
    out = np.empty((2, 3), np.float32)
    g.execute_plan_at_index({x: np.zeros((2, 3), np.float32), y: out}, None, 0)
    assert (out == 1).all()


def test_filters_choose_the_other_engine():
    def build(**filters):
        g = new()
        g.relu(g.neg(given(g, (64, 64)))).set_output(True)
        for name, value in filters.items():
            getattr(g, name)(value)
        g.build()
        return g

    assert build().get_workspace_size() == 0
    assert build(deselect_engines=["definition"]).get_workspace_size() == 4 * 64 * 64
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="deselected"):
        build(deselect_engines=["eng_"])
    g = new()
    g.relu(g.neg(given(g, (64, 64)))).set_output(True)
    g.build_operation_graph()
    g.create_execution_plan(1, {})
    assert (g.get_execution_plan_count(), g.get_plan_name_at_index(0)) == (1, "eng_fallback")
    with pytest.raises(cudnn.InvalidValue, match="no knobs"):
        g.create_execution_plan(1, {cudnn.knob_type.STAGES: 3})
    only = build(select_numeric_notes=[cudnn.numerical_note.STRICT_NAN_PROP])
    assert only.get_workspace_size() == 0
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="at most 100 bytes"):
        build(deselect_engines=["definition"], deselect_workspace_greater_than=100)


def test_another_engine(monkeypatch):
    """A backend's engine comes first where its mode is asked for, gets arrays by uid, and says why not."""
    seen = []

    class Doubling(GraphEngine):
        name = "doubling"
        modes = frozenset({cudnn.heur_mode.B})
        behavior_notes = frozenset({cudnn.behavior_note.RUNTIME_COMPILATION})

        def reasons(self, graph, info):
            wrong = [operation for operation in graph.operations if operation.kind != "pointwise"]
            return [fail("PG-ENGINE-002", node=operation.label, argument=self.name) for operation in wrong]

        def tuned(self, graph, device, knobs):
            def run(arrays, numbers, workspace):
                seen.append((sorted(graph.keyed(arrays, numbers)), workspace.nbytes))
                x, y = arrays
                y[...] = 2 * x

            return GraphPlan(graph, self, 100, Run(run))

    backend = get_backend("reference")
    known = backend.graph_engines()
    monkeypatch.setattr(type(backend), "graph_engines", lambda self: (Doubling(), *known))
    g = new()
    x = given(g, (3,), uid=1)
    g.identity(x).set_output(True).set_uid(2)
    g.build([cudnn.heur_mode.B, cudnn.heur_mode.A])
    assert g.get_plan_name_at_index(0) == "eng_doubling"
    assert g.get_behavior_notes() == [cudnn.behavior_note.RUNTIME_COMPILATION]
    out = np.empty(3, np.float32)
    g.execute({1: np.float32([1, 2, 3]), 2: out})
    assert out.tolist() == [2, 4, 6]
    assert seen == [([1, 2], 100)]
    g.build([cudnn.heur_mode.A])
    assert g.get_plan_name_at_index(0) == "eng_definition"
    other = new()
    other.softmax(given(other, (3,)))[0].set_output(True)
    other.deselect_engines(["definition", "fallback"])
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="doubling"):
        other.build([cudnn.heur_mode.B])


def test_the_fallback_takes_single_nodes_to_other_engines():
    """Types and modes that Problems do not have, between nodes that they have; all virtual tensors in the workspace."""
    g = new()
    x = given(g, (3, 4))
    whole = g.identity(g.mul(g.relu(x), 10.0)).set_data_type(D.INT8)
    y = g.exp(g.neg(g.identity(whole).set_data_type(D.FLOAT))).set_output(True)
    g.deselect_engines(["definition"])
    g.build()
    assert g.get_plan_name_at_index(1) == "eng_fallback"
    assert g.get_workspace_size() > 0
    values, out = numbers((3, 4)).astype(np.float32), np.empty((3, 4), np.float32)
    g.execute({x: values, y: out})
    np.testing.assert_allclose(out, np.exp(-np.rint(10 * np.maximum(values, 0))), rtol=1e-6)


def test_handles():
    handle = cudnn.create_handle("reference")
    assert isinstance(handle, int)
    cudnn.set_stream(handle, 0)
    assert cudnn.get_stream(handle) == 0
    g = new(handle)
    x = given(g, (3,))
    y = g.abs(x).set_output(True)
    g.build()
    with dnn.Handle("reference") as other:
        out = np.empty(3, np.float32)
        g.execute({x: np.float32([-1, 2, -3]), y: out}, handle=other)
        assert out.tolist() == [1, 2, 3]
    cudnn.destroy_handle(handle)
    with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-003"):
        cudnn.destroy_handle(handle)


def test_one_node_may_work_in_place():
    g = new()
    x = given(g, (4,), uid=1)
    g.relu(x).set_output(True).set_uid(1)
    g.build()
    values = np.float32([-1, 2, -3, 4])
    g.execute({1: values})
    assert values.tolist() == [0, 2, 0, 4]

    g = new()
    x = given(g, (4,))
    y = g.relu(x).set_output(True)
    g.build()
    values = np.float32([-1, 2, -3, 4])
    g.execute({x: values, y: values})
    assert values.tolist() == [0, 2, 0, 4]


def test_running_statistics_are_kept_in_place():
    g = new()
    x, ones = given(g, (6, 3, 1, 1)), given(g, (1, 3, 1, 1))
    mean, variance = given(g, (1, 3, 1, 1)), given(g, (1, 3, 1, 1))
    y, _, _, next_mean, next_variance = g.batchnorm(
        x, ones, ones, in_running_mean=mean, in_running_var=variance, epsilon=1e-5, momentum=0.25
    )
    y = g.relu(y).set_output(True)
    next_mean.set_output(True).set_stride([3, 1, 3, 3])
    next_variance.set_output(True)
    g.build()
    values, old, spread = numbers((6, 3, 1, 1)).astype(np.float32), np.float32([1, 2, 3]), np.float32([4, 5, 6])
    want = 0.75 * old + 0.25 * values.mean(0).ravel(), 0.75 * spread + 0.25 * values.var(0, ddof=1).ravel()
    pack = {x: values, ones: np.ones(3, np.float32), y: np.empty_like(values)}
    with pytest.raises(ValueError, match="PG-PACK-010"):
        g.execute({**pack, mean: old, variance: spread, next_mean: spread, next_variance: np.empty_like(old)})
    g.execute({**pack, mean: old, variance: spread, next_mean: old, next_variance: spread})
    np.testing.assert_allclose([old, spread], want, rtol=1e-6)


def test_a_matrix_is_not_turned_in_place():
    g = new()
    x = given(g, (3, 3))
    y = g.transpose(x, [1, 0]).set_output(True)
    y.set_stride([3, 1])
    g.build()
    values = np.arange(9, dtype=np.float32)
    with pytest.raises(ValueError, match="PG-PACK-010"):
        g.execute({x: values, y: values})
    assert (values == np.arange(9)).all()


def test_buffers_of_all_origins():
    torch = pytest.importorskip("torch")
    g = new()
    a, b = given(g, (2, 3)), given(g, (2, 3))
    y = g.add(a, b).set_output(True).set_stride([1, 2])
    g.build()
    values = numbers((2, 3)).astype(np.float32)
    ones, out = np.ones(6, np.float32), torch.full((10,), 7.0)
    g.execute({a: torch.tensor(values), b: ones.ctypes.data, y: out[2:]})  # an address, and other dims
    assert out[[0, 1, 8, 9]].tolist() == [7] * 4
    np.testing.assert_array_equal(out[2:8].numpy().reshape(3, 2).T, values + 1)


OF_TYPES = pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (D.FP8_E4M3, ml_dtypes.float8_e4m3fn),
        (D.FP8_E5M2, ml_dtypes.float8_e5m2),
        (D.BFLOAT16, ml_dtypes.bfloat16),
        (D.INT8, np.int8),
        (D.INT64, np.int64),
        (D.BOOLEAN, np.bool_),
    ],
)


def own_array(handle, host):
    """Return an array of the library that the handle's device goes by."""
    if handle.backend == "opencl":
        return importlib.import_module("pyopencl.array").to_device(handle.get_stream(), host)
    return importlib.import_module("cupy").asarray(host)


@OF_TYPES
@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_arrays_of_the_devices_library(target, kind, dtype):
    """Of their own types, where that library has them; its bytes stand for any."""
    handle = helper.open_handle(target)
    for kept in {np.dtype(dtype) if dtype in (np.int8, np.int64, np.bool_) else np.dtype(np.uint8), np.dtype(np.uint8)}:
        g = new(handle, kind, D.FLOAT)
        x = given(g, (2, 3))
        y = g.transpose(x, [1, 0]).set_output(True)
        y.set_stride([2, 1])
        g.build()
        host = np.array([[0, 1, 1], [1, 0, 1]], dtype)
        result = own_array(handle, np.zeros((3, 2), dtype).view(kept))
        g.execute({x: own_array(handle, host.view(kept)), y: result})
        np.testing.assert_array_equal(result.get().view(dtype).astype(float), host.T.astype(float))


@OF_TYPES
def test_buffers_of_all_types(kind, dtype):
    g = new(io=kind)
    x = given(g, (3,))
    assert g.tensor_like(np.ones((2, 2), dtype)).get_data_type() is kind
    g = new(io=kind)
    x = given(g, (3,))
    y = g.max(x, g.tensor_scalar(1)).set_output(True)
    g.build()
    out = np.zeros(3, dtype)
    g.execute({x: np.array([0, 1, 3], dtype), y: out})
    assert out.astype(float).tolist() == ([1, 1, 1] if kind is D.BOOLEAN else [1, 1, 3])
    raw = np.zeros(3 * kind.itemsize, np.uint8)
    g.execute({x: np.array([0, 1, 3], dtype).view(np.uint8), y: raw})
    assert raw.tobytes() == out.tobytes()


def test_scalars_by_value():
    g = new()
    x, s = given(g, (2,)), g.tensor(dim=[1, 1], stride=[1, 1], is_pass_by_value=True)
    default = g.tensor_scalar(10.0, cudnn.scalar_type.RUNTIME_PARAM)
    y = g.add(g.mul(x, s), default).set_output(True)
    g.build()
    out = np.empty((1, 2), np.float32)
    for value in (2.0, 2, np.float32(2), np.full((1, 1), 2, np.float32)):
        g.execute({x: np.float32([1, 2]), s: value, y: out})
        assert out.tolist() == [[12, 14]]
    g.execute({x: np.float32([1, 2]), s: 2, default: 20.0, y: out})
    assert out.tolist() == [[22, 24]]


def test_tensor_like():
    torch = pytest.importorskip("torch")
    g = new()
    nhwc = torch.empty(2, 3, 4, 5, dtype=torch.half).contiguous(memory_format=torch.channels_last)
    one = g.tensor_like(nhwc, name="x")
    assert (one.get_dim(), one.get_stride(), one.get_data_type()) == ([2, 3, 4, 5], [60, 1, 15, 3], D.HALF)
    assert g.tensor_like(one).get_stride() == [60, 1, 15, 3]
    assert g.tensor_like(np.ones((1, 1), np.float32)).get_is_pass_by_value()
    assert not g.tensor_like(np.ones((1, 2), np.float32)).get_is_pass_by_value()


def test_functions_beside_the_class():
    assert cudnn.backend_version_string() == "9.19.0"
    assert cudnn.backend_version() == 91900
    made = []

    @cudnn.jit(heur_modes=[cudnn.heur_mode.A])
    @cudnn.graph_cache(key_fn=lambda n: n)
    def doubled(n):
        with cudnn.graph(cudnn.create_handle("reference"), io_data_type=D.FLOAT) as (g, _):
            x = given(g, (n,))
            y = g.add(x, x).set_output(True)
            made.append(n)
            return g, [x, y]

    g, uids = doubled(3)
    assert doubled(3)[0] is g
    assert made == [3]
    out = np.empty(3, np.float32)
    g.execute(dict(zip(uids, (np.float32([1, 2, 3]), out), strict=True)))
    assert out.tolist() == [2, 4, 6]


def test_the_library_does_not_import_graphs():
    code = "import sys, portadnn; assert not any('graph' in name for name in sys.modules if 'portadnn' in name)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_infinity_is_right_beyond_what_the_type_holds():
    g = new("reference")
    x = given(g, (1, 2, 2))
    y = g.mul(x, 2.0).set_output(True)
    g.build()
    out = np.zeros((1, 2, 2), np.float32)
    g.execute({x: np.full((1, 2, 2), 1.8e38, np.float32), y: out}, check="reference")
    assert np.isinf(out).all()
