"""Arrays that calls refuse in every place: read-only outputs, masked arrays, tensors that require grad, host arrays."""

from __future__ import annotations

import numpy as np
import pytest
from host_arrays import CONV, DIMS, LIBRARIES, RELU, built, descriptor, host_handle, numbers
from where import BACKENDS, open_handle

import portadnn as dnn
import portadnn.graph as cudnn_graph
from portadnn import cudnn

handle = host_handle


@pytest.mark.parametrize("library", ["numpy", "dlpack", "interface"])
def test_read_only_arrays(handle, library):
    """They are inputs like others, and no outputs, workspaces or states."""
    make = LIBRARIES[library]
    x, y = numbers(), np.zeros(DIMS, np.float32)
    frozen, bytes_ = numbers(), np.zeros(4096, np.uint8)
    frozen.flags.writeable = bytes_.flags.writeable = False
    for _ in range(3):
        dnn.activation_forward(handle, make(frozen), RELU, y)
        np.testing.assert_array_equal(y, frozen)
    before = frozen.copy()
    for _ in range(3):
        with pytest.raises(dnn.BadParam, match=r"writable|read-?only"):
            dnn.activation_forward(handle, x, RELU, make(frozen))
    with pytest.raises(dnn.BadParam, match="workspace: expected a writable"):
        dnn.convolution_forward(handle, x, numbers((3, 3, 3, 3)), CONV, workspace=make(bytes_))
    with pytest.raises(dnn.BadParam, match="states: expected a writable"):
        dnn.set_dropout_descriptor(handle, 0.5, make(bytes_), 3)
    graph, tensors = built(handle)
    with pytest.raises(cudnn_graph.InvalidVariantPack, match="PG-PACK-007"):
        graph.execute(dict(zip(tensors, (x, numbers((3, 3, 3, 3)), y, make(frozen)), strict=True)))
    np.testing.assert_array_equal(frozen, before)
    assert not bytes_.any()


def test_an_output_that_became_read_only(handle):
    x, y = numbers(), np.zeros(DIMS, np.float32)
    for _ in range(3):
        dnn.activation_forward(handle, x, RELU, y)
    y[...] = 0
    y.flags.writeable = False
    with pytest.raises(dnn.BadParam, match="read-only"):
        dnn.activation_forward(handle, x, RELU, y)
    assert not y.any()


MASKED = np.ma.masked_array(np.ones(DIMS, np.float32), np.ones(DIMS, bool))


PLACES = ("input", "output", "view", "workspace", "states", "asarray", "to_numpy", "size query", "C name", "graph")


@pytest.mark.parametrize("place", [*PLACES, "workspace of a graph"])
def test_masked_arrays_are_refused_in_every_place(handle, place):
    x, w = numbers(), numbers((3, 3, 3, 3))
    desc = descriptor(x)
    relu = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(relu, 1, 0, 0.0)
    raw = np.ma.masked_array(np.zeros(8192, np.uint8), np.zeros(8192, bool))
    graph, tensors = built(handle)
    given = dict(zip(tensors, (x, w, numbers(), numbers()), strict=True))
    calls = {
        "input": lambda: dnn.activation_forward(handle, MASKED, RELU),
        "output": lambda: dnn.activation_forward(handle, x, RELU, MASKED),
        "view": lambda: dnn.activation_forward(handle, dnn.TensorDescriptor(DIMS).view(MASKED), RELU),
        "workspace": lambda: dnn.convolution_forward(handle, x, w, CONV, workspace=raw),
        "states": lambda: dnn.set_dropout_descriptor(handle, 0.5, raw, 1),
        "asarray": lambda: handle.asarray(MASKED),
        "to_numpy": lambda: handle.to_numpy(MASKED),
        "size query": lambda: dnn.get_convolution_forward_workspace_size(handle, MASKED, w, CONV),
        "C name": lambda: cudnn.cudnnActivationForward(handle, relu, 1.0, desc, MASKED, 0.0, desc, x),
        "graph": lambda: graph.execute({**given, tensors[0]: MASKED}),
        "workspace of a graph": lambda: graph.execute(given, raw if graph.get_workspace_size() else None),
    }
    if place == "workspace of a graph" and not graph.get_workspace_size():
        pytest.skip("this graph needs no workspace")
    for _ in range(3):
        with pytest.raises(dnn.DnnError, match=r"an array without a mask: pass array\.filled\(value\)"):
            calls[place]()
    assert (MASKED.data == 1).all() and not raw.data.any()


def test_tensors_that_require_grad(handle):
    """Graphs take them, as cudnn-frontend does (tests/graph/test_graph_lenient.py)."""
    torch = pytest.importorskip("torch")
    x = torch.ones(DIMS, requires_grad=True)
    y = np.zeros(DIMS, np.float32)
    desc = descriptor(y)
    relu = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(relu, 1, 0, 0.0)
    for call in (
        lambda: dnn.activation_forward(handle, x, RELU, y),
        lambda: dnn.activation_forward(handle, y, RELU, x),
        lambda: handle.asarray(x),
        lambda: handle.to_numpy(x),
        lambda: dnn.get_convolution_forward_workspace_size(handle, x, numbers((3, 3, 3, 3)), CONV),
        lambda: cudnn.cudnnActivationForward(handle, relu, 1.0, desc, x, 0.0, desc, y),
    ):
        with pytest.raises(dnn.DnnError, match=r"detach\(\)"):
            call()
    for _ in range(3):
        dnn.activation_forward(handle, x.detach(), RELU, y)
    assert (y == 1).all()


def test_a_tensor_that_requires_grad_since(handle):
    torch = pytest.importorskip("torch")
    x, y = torch.ones(DIMS), torch.zeros(DIMS)
    for _ in range(3):
        dnn.activation_forward(handle, x, RELU, y)
    y.requires_grad_()
    with pytest.raises(dnn.BadParam, match=r"detach\(\)"):
        dnn.activation_forward(handle, x, RELU, y)


def test_devices_alone_name_asarray(monkeypatch):
    """Where host memory will not do, as on GPUs, the message says what makes a device's array of it."""
    if "opencl" not in BACKENDS:
        pytest.skip("OpenCL is not among the backends")
    with open_handle("opencl") as handle:
        x, w = numbers(), handle.asarray(numbers((3, 3, 3, 3)))
        monkeypatch.setattr(handle.device, "_host", None)
        monkeypatch.setattr(handle.device, "host_memory", False)
        there = handle.asarray(x)
        workspace = np.zeros(1 << 16, np.uint8)
        for call in (
            lambda: dnn.activation_forward(handle, x, RELU),
            lambda: dnn.activation_forward(handle, there, RELU, x),
            lambda: dnn.convolution_forward(handle, there, w, CONV, workspace=workspace),
            lambda: dnn.set_dropout_descriptor(handle, 0.5, np.zeros(64, np.uint8), 1),
        ):
            with pytest.raises(dnn.BadParam, match=r"handle\.asarray"):
                call()


class Raising:
    """Says that it is an array, and raises what nobody expects."""

    @property
    def __array_interface__(self):
        raise OSError("no such array")


def test_what_is_no_memory_of_numbers(handle):
    objects = np.array([None] * 4096)
    x, w = numbers(), numbers((3, 3, 3, 3))
    for given in (objects, Raising()):
        with pytest.raises(dnn.BadParam, match="workspace"):
            dnn.convolution_forward(handle, x, w, CONV, workspace=given)
        with pytest.raises(dnn.BadParam, match="x"):
            dnn.softmax_forward(handle, dnn.TensorDescriptor(DIMS).view(given))
