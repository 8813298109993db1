"""CUDA graphs that a program fills with a plan: refused where there are none; on CUDA, launched and updated."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from graphs import given, new, numbers

import portadnn.graph as cudnn
from portadnn.registry import get_backend
from portadnn_backends.base import Device


def doubled(handle, name="x"):
    g = new(handle)
    x = given(g, (3, 4), name=name)
    y = g.relu(g.add(x, x)).set_output(True)
    g.build()
    return g, x, y


@pytest.mark.parametrize("backend", ["reference", "opencl"])
@pytest.mark.parametrize("method", ["populate_cuda_graph", "update_cuda_graph"])
def test_other_devices_have_none(backend, method):
    if get_backend(backend).why_unavailable() is not None:
        pytest.skip(get_backend(backend).why_unavailable())
    g, x, y = doubled(backend)
    pack = {x: np.zeros((3, 4), np.float32), y: np.zeros((3, 4), np.float32)}
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=rf"PG-PLAN-008.*{backend}.*execute\(\)"):
        getattr(g, method)(None, pack, None, 4096)
    with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-009"):
        getattr(g, method)(None, pack, None, 0)
    with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-001"):
        getattr(new(backend), method)(None, {}, None, 4096)


def test_launches_are_noted_and_not_made(monkeypatch):
    """Against a device whose driver's graph is a list: it gets every launch of the plan, and nothing runs."""
    if get_backend("opencl").why_unavailable() is not None:
        pytest.skip(get_backend("opencl").why_unavailable())
    g, x, y = doubled("opencl")
    made = {}

    def populate(self, graph, calls, *, update):
        if (graph in made) is not update:
            raise ValueError("other nodes")
        made[graph] = calls
        return "kept"

    kind = type(cudnn.api.handles.handle_of(g._handle).device)
    monkeypatch.setattr(kind, "populates", True)
    monkeypatch.setattr(kind, "populate", populate)
    handle = cudnn.api.handles.handle_of(g._handle)
    arrays = [handle.asarray(np.full((3, 4), number, np.float32)) for number in (1, 2, 3, 4)]
    g.populate_cuda_graph(None, {x: arrays[0], y.get_uid(): arrays[1]}, None, 4096)
    assert arrays[1].get().tolist() == [[2] * 4] * 3
    (first,) = made[4096]
    assert first[0]
    with pytest.raises(cudnn.InvalidValue, match=r"PG-PLAN-009.*without nodes"):
        g.populate_cuda_graph(None, {x: arrays[0], y: arrays[1]}, None, 4096)
    g.update_cuda_graph(None, {x: arrays[2], y: arrays[3]}, None, 4096)
    assert arrays[2] in [one for one in made[4096][0][1] if one is arrays[2]]
    with pytest.raises(cudnn.InvalidValue, match=r"PG-PLAN-009.*populate_cuda_graph"):
        g.update_cuda_graph(None, {x: arrays[0], y: arrays[1]}, None, 8192)
    g.execute({x: arrays[0], y: arrays[1]})  # the device records no longer
    assert arrays[1].get().tolist() == [[2] * 4] * 3


def test_who_keeps_what_a_cuda_graph_needs(monkeypatch):
    kinds = cudnn.cuda_graph_retention
    monkeypatch.delenv("CUDNN_CUDA_GRAPH_RETENTION", raising=False)
    assert cudnn.pygraph().get_cuda_graph_retention() is kinds.PER_GRAPH
    assert cudnn.pygraph(cuda_graph_retention=kinds.NONE).get_cuda_graph_retention() is kinds.NONE
    monkeypatch.setenv("CUDNN_CUDA_GRAPH_RETENTION", "none")
    assert cudnn.pygraph(is_cuda_graph_replay_expected=True).get_cuda_graph_retention() is kinds.NONE


def test_devices_without_graphs_of_a_driver_refuse():
    with pytest.raises(NotImplementedError, match="no graphs of a driver's"):
        Device.populate(cudnn.api.handles.handle_of(cudnn.create_handle("reference")).device, 1, [], update=False)


def driver(name, *args):
    assert getattr(ctypes.CDLL("libcuda.so.1"), name)(*args) == 0, name


@pytest.mark.skipif(get_backend("cuda").why_unavailable() is not None, reason="no CUDA")
def test_on_cuda():
    """Launched as often as wanted, with the buffers that it was filled with, and with others after an update."""
    import cupy

    handle = cudnn.create_handle("cuda")
    g, x, y = doubled(handle)
    values = [cupy.asarray(numbers((3, 4), seed).astype(np.float32)) for seed in range(2)]
    outs = [cupy.zeros((3, 4), np.float32) for _ in range(2)]
    graph, runnable = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuGraphCreate", ctypes.byref(graph), 0)
    workspace = cupy.empty(max(1, g.get_workspace_size()), np.uint8)
    g.populate_cuda_graph(handle, {x: values[0], y: outs[0]}, workspace, graph.value)
    cupy.cuda.Device().synchronize()
    assert not outs[0].any()
    with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-009"):
        g.populate_cuda_graph(handle, {x: values[0], y: outs[0]}, workspace, graph.value)
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="PG-PLAN-008"):
        g.update_cuda_graph(handle, {x: np.zeros((3, 4), np.float32), y: outs[0]}, workspace, graph.value)
    stream = cupy.cuda.Stream(non_blocking=True)
    driver("cuGraphInstantiateWithFlags", ctypes.byref(runnable), graph, ctypes.c_uint64(0))
    for _ in range(2):
        outs[0].fill(0)
        cupy.cuda.Device().synchronize()
        driver("cuGraphLaunch", runnable, ctypes.c_void_p(stream.ptr))
        stream.synchronize()
        cupy.testing.assert_array_equal(outs[0], cupy.maximum(2 * values[0], 0))
    g.update_cuda_graph(handle, {x: values[1].data.ptr, y: outs[1].data.ptr}, workspace, graph.value)
    info = ctypes.create_string_buffer(64)
    driver("cuGraphExecUpdate_v2", runnable, graph, info)
    del g
    driver("cuGraphLaunch", runnable, ctypes.c_void_p(stream.ptr))
    stream.synchronize()
    cupy.testing.assert_array_equal(outs[1], cupy.maximum(2 * values[1], 0))
    driver("cuGraphExecDestroy", runnable)
    driver("cuGraphDestroy", graph)
