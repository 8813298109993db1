"""Convolutions of bytes on tensor cores, on the host: the kernel's text with PTX's definitions."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

import integer_layouts as layouts
import numpy as np
import pytest
from graphs import D
from host_cuda_device import COMPILER, HostCuda
from test_nvrtc import EACH, compile_recorded, recorder_of

import portadnn as dnn
from portadnn import cudnn
from portadnn import graph as api
from portadnn.cudnn.convolution import integers
from portadnn.graph.fusion.engine import RegionsEngine
from portadnn_backends.engines.conv import tensor_core
from portadnn_backends.fusion.product import choice
from portadnn_backends.fusion.product.engine import ProductEngine
from portadnn_backends.fusion.product.texts import split_at_product

BYTES = tensor_core.ENGINES[-1]
RNG = np.random.default_rng(32)
CASES = {  # type of x, images, channels, filters, taps, stride, padding, type of the sums, type of y
    "bytes": (D.INT8, 2, 32, 24, (3, 3), 1, 1, D.FLOAT, D.INT8),
    "no sign": (D.UINT8, 1, 48, 40, (3, 2), 2, 1, D.FLOAT, D.FLOAT),
    "sums that FLOAT does not hold": (D.INT8, 1, 160, 72, (3, 3), 1, 1, D.INT32, D.INT8),
    "few channels": (D.UINT8, 3, 16, 8, (1, 1), 1, 0, D.FLOAT, D.INT8),
}


def strides(dims):
    _, c, h, w = dims
    return [h * w * c, 1, w * c, c]


def numbers(kind, dims):
    return RNG.integers(0, 256, dims).astype(np.uint8).view(np.int8 if kind is D.INT8 else np.uint8)


def sums(x, w, stride, padding):
    (h, width), (r, s) = x.shape[2:], w.shape[2:]
    p, q = (1 + (size + 2 * padding - tap) // stride for size, tap in ((h, r), (width, s)))
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    y = np.zeros((len(x), len(w), p, q), np.int64)
    for i, j in itertools.product(range(r), range(s)):
        part = x[:, :, i : i + p * stride : stride, j : j + q * stride : stride][:, :, :p, :q]
        y += np.einsum("nchw,kc->nkhw", part, w[:, :, i, j].astype(np.int64))
    return y


def rows(array):
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def graph_of(handle, x, w, y_dims, stride, padding, kinds, scale):
    """Return a convolution of bytes, times a number; `kinds` are the types of x, of the sums and of y."""
    kind, total, out = kinds
    g = api.pygraph(handle=handle, intermediate_data_type=D.FLOAT, compute_data_type=D.FLOAT)
    given = g.tensor(name="x", dim=list(x), stride=strides(x), data_type=kind)
    weight = g.tensor(name="w", dim=list(w), stride=strides(w), data_type=D.INT8)
    numbers = {"padding": [padding] * 2, "stride": [stride] * 2, "dilation": [1, 1]}
    conv = g.conv_fprop(given, weight, **numbers, compute_data_type=total).set_data_type(total)
    y = g.mul(g.identity(conv), scale)
    y.set_output(True).set_data_type(out).set_dim(list(y_dims)).set_stride(strides(y_dims))
    g.build_operation_graph()
    return g._graph_frozen()


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", CASES)
def test_sums_of_bytes_are_exact(name, tmp_path, reference):
    kind, images, c, k, taps, stride, padding, total, out = CASES[name]
    x, w = numbers(kind, (images, c, 5, 7)), numbers(D.INT8, (k, c, *taps))
    wanted, scale = sums(x, w, stride, padding), 2.0**-9 if out is D.INT8 else 1.0
    frozen = graph_of(reference, x.shape, w.shape, wanted.shape, stride, padding, (kind, total, out), scale)
    device = HostCuda(tmp_path)
    assert split_at_product(frozen) is not None
    chosen = choice.chosen_for(frozen, device.info)
    assert chosen.engine is BYTES
    plan = chosen.engine.prepare(chosen.problem, device)
    made, found = chosen.fused, np.zeros(wanted.size, np.int8 if out is D.INT8 else np.float32)
    assert len(made.memory) == 1
    values = [1.0, 0.0, *(float(scale) for _ in made.numbers)]
    workspace = np.zeros(plan.workspace_size, np.uint8)
    plan.run([rows(x), rows(w), found, found], values, workspace)
    got = np.moveaxis(found.reshape(rows(wanted).shape), -1, 1)
    exact = (wanted.astype(np.float32) * np.float32(scale)).astype(np.float64)
    due = np.clip(np.rint(exact), -128, 127) if out is D.INT8 else exact
    np.testing.assert_array_equal(got, due)


@pytest.mark.parametrize("arch", EACH)
@pytest.mark.parametrize("kind", [D.INT8, D.UINT8])
def test_kernels_compile(arch, kind, reference):
    recorder = recorder_of(arch)
    given = (4, 256, 14, 14), (256, 256, 3, 3), (4, 256, 14, 14)
    chosen = choice.chosen_for(graph_of(reference, *given, 1, 1, (kind, D.INT32, D.INT8), 0.5), recorder.info)
    assert chosen.engine is BYTES
    chosen.engine.prepare(chosen.problem, recorder)
    assert len(recorder.sources) == 1  # nothing is packed
    compile_recorded(recorder)


def test_others_compute_in_float(reference, tmp_path):
    """Where no unit multiplies bytes, INT32 is not FLOAT."""
    info = replace(HostCuda(tmp_path).info, features=frozenset())
    given = (1, 160, 4, 4), (8, 160, 3, 3), (1, 8, 4, 4)
    with pytest.raises(dnn.NotSupported, match="INT32"):
        choice.chosen_for(graph_of(reference, *given, 1, 1, (D.INT8, D.INT32, D.INT8), 0.5), info)
    graph = graph_of(reference, *given, 1, 1, (D.INT8, D.FLOAT, D.INT8), 0.5)
    assert choice.chosen_for(graph, info).engine is not BYTES


def test_bytes_at_odd_addresses_are_float(reference, tmp_path):
    """Chunks of 16 bytes cannot be read there."""
    device = HostCuda(tmp_path)
    graph = graph_of(reference, (1, 16, 4, 4), (8, 16, 1, 1), (1, 8, 4, 4), 1, 0, (D.INT8, D.FLOAT, D.INT8), 0.5)
    assert choice.chosen_for(graph, device.info).engine is BYTES
    assert choice.chosen_for(graph, device.info, aligned=False).engine is not BYTES


class Handle:
    """What plans of graphs ask a handle for."""

    backend = "cuda"

    def __init__(self, device):
        self.device, self.info, self.lock = device, device.info, threading.RLock()


@pytest.mark.parametrize("kind", ["INT8x4", "INT8x32"])
def test_vectors_of_bytes_are_multiplied_as_bytes(kind, reference):
    """Between passes that put their channels side by side, and back."""
    recorder = recorder_of(EACH[-1].values[0])
    recorder.owns = lambda memory: True
    x, w = (layouts.tensor_descriptor(kind, (8, 128, 14, 14)), layouts.filter_descriptor(kind, (64, 128, 3, 3)))
    conv = cudnn.cudnnCreateConvolutionDescriptor()
    cudnn.cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, 1, cudnn.CUDNN_DATA_INT32)
    y = layouts.tensor_descriptor(kind, (8, 64, 14, 14))
    call = integers.checked(x.value, w.value, conv.value, y.value, 0)
    graph = integers._graph(reference, call, False, None, dnn.ActivationDescriptor("relu")).graph
    graph.build_operation_graph()
    engine = RegionsEngine(Handle(recorder))
    frozen = graph._graph_frozen()
    assert engine.reasons(frozen, recorder.info) == []
    engine.tuned(frozen, recorder, {})
    names = [name for _, name, _ in recorder.sources.values()]
    assert names.count("conv_mma") == 1
    assert len(names) == 4
    assert "MMA_BYTES" in next(source for source, (_, name, _) in recorder.sources.items() if name == "conv_mma")


class Whole(HostCuda):
    """Has what graphs ask a device for, by NumPy."""

    def __init__(self, folder, like):
        super().__init__(folder)
        self.like = like

    def address(self, memory):
        return self.like.address(memory)

    def wrap(self, value, argument):
        return self.like.wrap(value, argument)


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("shift", [0, 1])
def test_a_graph_reads_bytes_where_they_lie(shift, reference, tmp_path):
    """Which are flat memory there; sums of INT32 are refused at odd addresses."""
    x, w = numbers(D.INT8, (1, 16, 4, 4)), numbers(D.INT8, (8, 16, 1, 1))
    wanted = sums(x, w, 1, 0)
    device = Whole(tmp_path, reference.device)
    graph = graph_of(reference, x.shape, w.shape, wanted.shape, 1, 0, (D.INT8, D.INT32, D.FLOAT), 1.0)
    plan = ProductEngine().tuned(graph, device, {})
    room = np.zeros(x.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 16 + shift
    room[start : start + x.nbytes] = rows(x).view(np.uint8).ravel()
    spread = np.zeros(w.nbytes + 64, np.uint8)
    first = -spread.ctypes.data % 16
    spread[first : first + w.nbytes] = rows(w).view(np.uint8).ravel()
    by_name = {"x": room[start : start + x.nbytes], "w": spread[first : first + w.nbytes]}
    out = np.zeros(rows(wanted).shape, np.float32).transpose(0, 3, 1, 2)
    arrays = [by_name.get(info.name, out) for info in graph.memory]
    arguments = arrays, [1.0 for _ in graph.numbers], np.zeros(plan.workspace_size, np.uint8)
    if shift:
        with pytest.raises(dnn.BadParam, match="multiples of 16"):
            plan.run(*arguments)
        return
    plan.run(*arguments)
    np.testing.assert_array_equal(out, wanted)
