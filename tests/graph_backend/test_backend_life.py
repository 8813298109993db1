"""Backend descriptors from creation to execution: results, engines and knobs, plans as text."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from descriptors import T, assign, close, created, data, get, graph_of, make, memory, numbers, plan_of, pointwise

from portadnn import cudnn
from portadnn.cudnn.backend.objects import BackendDescriptor
from portadnn.errors import BadParam, NotSupported
from portadnn.registry import backend_names, get_backend

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "graph.md").read_text(encoding="utf-8")
CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or backend_names()
DESCRIPTOR, INT64 = cudnn.CUDNN_TYPE_BACKEND_DESCRIPTOR, cudnn.CUDNN_TYPE_INT64


@pytest.fixture(params=CHOSEN)
def handle(request):
    reason = get_backend(request.param).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {request.param}: {reason}")
    if get_backend(request.param).vendor:
        pytest.skip("a vendor's library has no kernels of portadnn's")
    with cudnn.cudnnCreate(backend=request.param) as opened:
        yield opened


def test_the_guides_program(handle, monkeypatch):
    """The specification's example, convolution, bias and activation, against the definition in float64."""
    monkeypatch.setenv("PORTADNN_BACKEND", handle.backend)
    names: dict = {}
    exec(next(block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "Descriptor" in block), names)
    x, w, bias, y = (names["buffers"][uid].astype(np.float64) for uid in (1, 2, 3, 6))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [padded[:, r : r + 28, s : s + 28] @ w[:, r, s].T for r in range(3) for s in range(3)]
    want = np.maximum(sum(taps) + bias, 0)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)
    assert (y > 0).any()
    cudnn.cudnnDestroy(names["handle"])


def chain(kind="FLOAT", prec="FLOAT"):
    """Return tensors and operations of y = relu(a @ b * 0.5 + c) with two virtual tensors."""
    a, b, c = T((2, 3, 4), kind=kind), T((2, 4, 5), kind=kind), T((1, 1, 5), kind=kind)
    product, total, y = (T((2, 3, 5), kind=kind, virtual=virtual) for virtual in (True, True, None))
    operations = [
        pointwise("RELU_FWD", total, y, prec=prec),
        pointwise("ADD", product, total, c, prec=prec, alpha1=0.5),
        make("OPERATION_MATMUL", DESC=make("MATMUL", COMP_TYPE=data(prec)), ADESC=a, BDESC=b, CDESC=product),
    ]
    return (a, b, c, y), operations


def packed(plan, tensors, seed=0):
    """Return a pack of numbers for tensors, the last of which is written, what it should have, and a view of it."""
    dims = [one.value.info.dims for one in tensors]
    a, b, c = values = [
        numbers(each, seed + i).astype(np.float32).astype(np.float64) for i, each in enumerate(dims[:3])
    ]
    buffers = [memory(one, each)[0] for one, each in zip(tensors, values, strict=False)]
    flat, view = memory(tensors[3])
    workspace = np.empty(get(plan, "WORKSPACE_SIZE")[0], np.uint8)
    uids = [one.value.uid for one in tensors]
    pack = make("VARIANT_PACK", UNIQUE_IDS=uids, DATA_POINTERS=[*buffers, flat], WORKSPACE=workspace)
    return pack, np.maximum(0.5 * a @ b + c, 0), view


def test_a_plan_runs_on_packs_again_and_again(handle):
    tensors, operations = chain()
    plan = plan_of(handle, graph_of(handle, *operations))
    for seed in range(3):
        pack, want, view = packed(plan, tensors, seed)
        cudnn.cudnnBackendExecute(handle, plan, pack)
        close(view, want, 1e-5)


@pytest.mark.parametrize("mode", ["INSTANT", "A", "B", "FALLBACK"])
def test_every_mode_of_heuristics(mode, handle):
    tensors, operations = chain()
    graph = graph_of(handle, *operations)
    heuristics = make("ENGINEHEUR", OPERATION_GRAPH=graph, MODE=getattr(cudnn, f"CUDNN_HEUR_MODE_{mode}"))
    configs = get(heuristics, "RESULTS")
    assert configs
    for config in configs:
        plan = make("EXECUTION_PLAN", HANDLE=handle, ENGINE_CONFIG=config)
        assert get(config, "WORKSPACE_SIZE") == get(plan, "WORKSPACE_SIZE")
        pack, want, view = packed(plan, tensors)
        cudnn.cudnnBackendExecute(handle, plan, pack)
        close(view, want, 1e-5)


def test_engines_by_number_and_their_knobs(handle):
    tensors, operations = chain()
    graph = graph_of(handle, *operations)
    (count,) = get(graph, "ENGINE_GLOBAL_COUNT")
    assert count >= 1
    heuristics = make("ENGINEHEUR", OPERATION_GRAPH=graph, MODE=cudnn.CUDNN_HEUR_MODE_A)
    takers = {get(get(config, "ENGINE")[0], "GLOBAL_INDEX")[0] for config in get(heuristics, "RESULTS")}
    assert takers
    for number in range(count):
        if number not in takers:
            with pytest.raises(NotSupported, match="PG-ENGINE"):
                make("ENGINE", OPERATION_GRAPH=graph, GLOBAL_INDEX=number)
            continue
        engine = make("ENGINE", OPERATION_GRAPH=graph, GLOBAL_INDEX=number)
        assert get(engine, "LAYOUT_INFO") == []
        assert all(isinstance(note, cudnn.cudnnBackendNumericalNote_t) for note in get(engine, "NUMERICAL_NOTE"))
        choices = []
        for info in get(engine, "KNOB_INFO"):
            low, high = get(info, "MINIMUM_VALUE")[0], get(info, "MAXIMUM_VALUE")[0]
            assert low <= high
            assert get(info, "STRIDE")[0] >= 1
            choices.append(make("KNOB_CHOICE", KNOB_TYPE=get(info, "KNOB_INFO_TYPE"), KNOB_VALUE=high))
            with pytest.raises(BadParam, match="PG-PLAN-006"):
                beyond = make("KNOB_CHOICE", KNOB_TYPE=get(info, "KNOB_INFO_TYPE"), KNOB_VALUE=high + 1)
                make("ENGINECFG", ENGINE=engine, KNOB_CHOICES=[beyond])
        config = make("ENGINECFG", ENGINE=engine, KNOB_CHOICES=choices or None)
        assert get(config, "INTERMEDIATE_INFO") == []
        plan = make("EXECUTION_PLAN", HANDLE=handle, ENGINE_CONFIG=config)
        pack, want, view = packed(plan, tensors)
        cudnn.cudnnBackendExecute(handle, plan, pack)
        close(view, want, 1e-5)


def test_a_plan_as_text_makes_it_again(handle):
    tensors, operations = chain()
    plan = plan_of(handle, graph_of(handle, *operations))
    (text,) = get(plan, "JSON_REPRESENTATION")
    again = created("EXECUTION_PLAN")
    assign(again, "HANDLE", handle)
    name = cudnn.CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION
    cudnn.cudnnBackendSetAttribute(again, name, cudnn.CUDNN_TYPE_CHAR, len(text), text)
    cudnn.cudnnBackendFinalize(again)
    pack, want, view = packed(again, tensors)
    cudnn.cudnnBackendExecute(handle, again, pack)
    close(view, want, 1e-5)


def test_a_plan_runs_on_another_handle_of_its_backend(handle):
    tensors, operations = chain()
    plan = plan_of(handle, graph_of(handle, *operations))
    with cudnn.cudnnCreate(backend=handle.backend) as other:
        pack, want, view = packed(plan, tensors)
        cudnn.cudnnBackendExecute(other, plan, pack)
        close(view, want, 1e-5)


def test_a_workspace_that_is_needed_is_demanded():
    if "opencl" not in CHOSEN or get_backend("opencl").why_unavailable():
        pytest.skip("OpenCL is not available, whose plans need workspaces")
    with cudnn.cudnnCreate(backend="opencl") as opened:
        tensors, operations = chain()
        plan = plan_of(opened, graph_of(opened, *operations))
        (size,) = get(plan, "WORKSPACE_SIZE")
        assert size > 0
        uids = [one.value.uid for one in tensors]
        pack = make("VARIANT_PACK", UNIQUE_IDS=uids, DATA_POINTERS=[memory(one)[0] for one in tensors])
        with pytest.raises(BadParam, match=rf"CUDNN_ATTR_VARIANT_PACK_WORKSPACE: expected {size} bytes.*got NULL"):
            cudnn.cudnnBackendExecute(opened, plan, pack)


def test_a_graph_that_no_engine_takes():
    """Kernels do not multiply integers of 64 bits; only FALLBACK does, on the host."""
    if "opencl" not in CHOSEN or get_backend("opencl").why_unavailable():
        pytest.skip("OpenCL is not available, whose engines refuse some graphs")
    with cudnn.cudnnCreate(backend="opencl") as opened:
        a, b, c = (T((1, *dims), kind="INT64") for dims in ((2, 3), (3, 4), (2, 4)))
        how = make("MATMUL", COMP_TYPE=data("INT64"))
        graph = graph_of(opened, make("OPERATION_MATMUL", DESC=how, ADESC=a, BDESC=b, CDESC=c))
        with pytest.raises(NotSupported, match=r"cudnnBackendFinalize: \[PG-ENGINE-001\]"):
            make("ENGINEHEUR", OPERATION_GRAPH=graph, MODE=cudnn.CUDNN_HEUR_MODE_A)
        with pytest.raises(NotSupported, match=r"\[PG-ENGINE-001\] engine 0"):
            make("ENGINE", OPERATION_GRAPH=graph, GLOBAL_INDEX=0)


# what is read back


def test_attributes_are_read_as_they_were_set():
    tensor = T((2, 3, 4), uid=70, kind="HALF", strides=(12, 1, 3), virtual=True)
    assert get(tensor, "UNIQUE_ID") == [70]
    assert get(tensor, "DIMENSIONS") == [2, 3, 4]
    assert get(tensor, "STRIDES") == [12, 1, 3]
    assert get(tensor, "DATA_TYPE") == [cudnn.CUDNN_DATA_HALF]
    assert get(tensor, "IS_VIRTUAL") == [True]
    assert get(tensor, "IS_BY_VALUE") == []  # not set
    operation = pointwise("ABS", tensor, T((2, 3, 4)), alpha1=2)
    assert get(operation, "XDESC") == [tensor]
    assert get(operation, "ALPHA1") == [2.0]


def test_fewer_elements_than_there_are():
    tensor = T((2, 3, 4))
    name = cudnn.CUDNN_ATTR_TENSOR_DIMENSIONS
    assert cudnn.cudnnBackendGetAttribute(tensor, name, INT64, 0) == (3, [])
    assert cudnn.cudnnBackendGetAttribute(tensor, name, INT64, 2) == (3, [2, 3])
    places = [0, 0, 0, -1]
    assert cudnn.cudnnBackendGetAttribute(tensor, name, INT64, 4, arrayOfElements=places) == (3, [2, 3, 4])
    assert places == [2, 3, 4, -1]


def test_descriptors_of_the_program_are_filled_as_in_c(handle):
    tensors, operations = chain()
    heuristics = make("ENGINEHEUR", OPERATION_GRAPH=graph_of(handle, *operations), MODE=cudnn.CUDNN_HEUR_MODE_A)
    config = created("ENGINECFG")
    name = cudnn.CUDNN_ATTR_ENGINEHEUR_RESULTS
    count, found = cudnn.cudnnBackendGetAttribute(heuristics, name, DESCRIPTOR, 1, arrayOfElements=[config])
    assert count >= 1
    assert found == [config]
    (engine,) = get(config, "ENGINE")
    assert isinstance(engine, BackendDescriptor)
    assert get(engine, "GLOBAL_INDEX")[0] >= 0
    plan = make("EXECUTION_PLAN", HANDLE=handle, ENGINE_CONFIG=config)
    pack, want, view = packed(plan, tensors)
    cudnn.cudnnBackendExecute(handle, plan, pack)
    close(view, want, 1e-5)


def test_one_operation_works_in_place():
    with cudnn.cudnnCreate(backend="reference") as opened:
        x = T((2, 3))
        plan = plan_of(opened, graph_of(opened, pointwise("NEG", x, x)))
        flat, view = memory(x, [[1, 2, 3], [4, 5, 6]])
        cudnn.cudnnBackendExecute(opened, plan, make("VARIANT_PACK", UNIQUE_IDS=x.value.uid, DATA_POINTERS=[flat]))
        assert view.tolist() == [[-1, -2, -3], [-4, -5, -6]]


def test_a_constant_is_in_no_pack():
    with cudnn.cudnnCreate(backend="reference") as opened:
        x, y = T((2, 3)), T((2, 3))
        half = T((1, 1), CONSTANT_VALUE=0.5)
        plan = plan_of(opened, graph_of(opened, pointwise("MUL", x, y, half)))
        (flat, _), (out, view) = memory(x, np.arange(6)), memory(y)
        uids = [x.value.uid, y.value.uid]
        cudnn.cudnnBackendExecute(opened, plan, make("VARIANT_PACK", UNIQUE_IDS=uids, DATA_POINTERS=[flat, out]))
        assert view.ravel().tolist() == [0, 0.5, 1, 1.5, 2, 2.5]


def test_two_descriptors_of_one_uid_are_one_tensor():
    """Dataflow follows from uids, not from objects."""
    with cudnn.cudnnCreate(backend="reference") as opened:
        x, y = T((2, 3)), T((2, 3))
        operations = [
            pointwise("EXP", x, T((2, 3), uid=50, virtual=True)),
            pointwise("NEG", T((2, 3), uid=50, virtual=True), y),
        ]
        plan = plan_of(opened, graph_of(opened, *operations))
        values = numbers((2, 3))
        (flat, _), (out, view) = memory(x, values), memory(y)
        uids = [x.value.uid, y.value.uid]
        cudnn.cudnnBackendExecute(opened, plan, make("VARIANT_PACK", UNIQUE_IDS=uids, DATA_POINTERS=[flat, out]))
        close(view, -np.exp(values))


def test_initialize_begins_anew():
    tensor = T((2, 3), uid=9)
    cudnn.cudnnBackendInitialize(tensor)
    with pytest.raises(BadParam, match="CUDNN_ATTR_TENSOR_UNIQUE_ID"):
        cudnn.cudnnBackendFinalize(tensor)


def test_what_was_made_of_a_destroyed_descriptor_stays():
    x, y = T((2,)), T((2,))
    operation = pointwise("NEG", x, y)
    for one in (x, y):
        cudnn.cudnnBackendDestroyDescriptor(one)
    with cudnn.cudnnCreate(backend="reference") as opened:
        assert get(plan_of(opened, graph_of(opened, operation)), "WORKSPACE_SIZE") == [0]


def test_properties_of_a_device_are_text(handle):
    properties = make("DEVICEPROP", HANDLE=handle)
    name, kind = cudnn.CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, cudnn.CUDNN_TYPE_CHAR
    length, nothing = cudnn.cudnnBackendGetAttribute(properties, name, kind, 0)
    assert nothing == []
    told, (text,) = cudnn.cudnnBackendGetAttribute(properties, name, kind, length)
    assert told == len(text) == length
    assert cudnn.cudnnBackendGetAttribute(properties, name, kind, 5)[1] == [text[:5]]
    assert handle.info.name in text
    again = created("DEVICEPROP")
    cudnn.cudnnBackendSetAttribute(again, name, kind, len(text), text)
    cudnn.cudnnBackendFinalize(again)
    assert again.value.values == properties.value.values
