"""The shared matrix product, by itself: every way operands can lie, odd sizes, sums over launches and parts of K."""

from __future__ import annotations

import itertools
from dataclasses import replace

import helper
import numpy as np
import pytest
from host_cuda_device import COMPILER, HostCuda

from portadnn.enums import DataType
from portadnn_backends.base import TensorArg
from portadnn_backends.engines import kernel_engines
from portadnn_backends.engines.gemm import by_convolution, by_graph
from portadnn_backends.engines.gemm.operands import Matrix
from portadnn_backends.engines.gemm.product import Gemm
from portadnn_backends.fusion.product import choice

SIZES = ((1, 1, 1), (7, 5, 3), (65, 130, 17), (33, 70, 64), (6, 64, 600), (3, 257, 0), (128, 64, 32))
GAP = 3  # elements between rows, and before a matrix


def place(index, rows, columns, turned, batches, stored, gap):
    """Return where an operand lies, and how many elements its memory has."""
    lines, length = (columns, rows) if turned else (rows, columns)
    pitch = length + gap
    batch = lines * pitch + gap
    matrix = Matrix(TensorArg(index), gap, 1 if turned else pitch, pitch if turned else 1, batch, stored)
    return matrix, gap + batches * batch


def view(memory, matrix, rows, columns, batches):
    """Return an operand's elements in its memory as (batch, row, column)."""
    size = memory.itemsize
    strides = (matrix.batch * size, matrix.rows * size, matrix.columns * size)
    return np.lib.stride_tricks.as_strided(memory[matrix.first :], (batches, rows, columns), strides)


def cases():
    for i, (size, a_turned, b_turned) in enumerate(itertools.product(SIZES, (False, True), (False, True))):
        if (i + i // 4) % 2:
            continue
        yield size, a_turned, b_turned, i % 2 == 0, 1 + i % 3, (DataType.FLOAT, DataType.HALF, DataType.DOUBLE)[i % 3]


@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_against_numpy(target, case):
    (m, n, k), a_turned, b_turned, accumulate, batches, dtype = case
    handle = helper.open_handle(target)
    gap = 0 if accumulate and not batches % 2 else GAP
    stored = (True, batches > 1, batches == 2)
    a, a_size = place(0, m, k, a_turned, batches, stored[0], gap)
    b, b_size = place(1, k, n, b_turned, batches, stored[1], gap)
    c, c_size = place(2, m, n, False, batches, stored[2], gap)
    rng = np.random.default_rng(m + n + k)
    types = [dtype.numpy if s else dtype.accumulator.numpy for s in stored]
    hosts = [rng.integers(-3, 4, size).astype(t) for size, t in zip((a_size, b_size, c_size), types, strict=True)]
    before = hosts[2].copy()
    arrays = [handle.device.asarray(np.append(host, host[:1])) for host in hosts]
    gemm = Gemm(dtype, m, n, k, a, b, c, batches, accumulate)
    launches = list(gemm.launches(handle.device, 256))
    nbytes = 256 + gemm.workspace(handle.device.info)
    workspace = handle.device.asarray(np.full(nbytes + 64, 0xFF, np.uint8))
    handle.device.bind(launches)(arrays, (), workspace)
    want = view(before, c, m, n, batches)
    product = view(hosts[0], a, m, k, batches).astype(float) @ view(hosts[1], b, k, n, batches).astype(float)
    want[...] = product + want if accumulate else product
    np.testing.assert_array_equal(handle.to_numpy(arrays[2])[:-1], before)  # what lies between the rows as well
    assert (handle.to_numpy(workspace)[nbytes:] == 0xFF).all()


def test_splits_of_k(monkeypatch):
    """A long sum of few results is split, in an order that does not vary."""
    target = next(t for t in helper.targets() if t.slow or ":" in t.name)
    handle = helper.open_handle(target)
    rng = np.random.default_rng(1)
    hosts = [rng.standard_normal(s).astype(np.float32) for s in ((20, 900), (900, 30), (20, 30))]
    arrays = [handle.device.asarray(host) for host in hosts]
    places = [Matrix(TensorArg(i), 0, host.shape[1]) for i, host in enumerate(hosts)]
    gemm = Gemm(DataType.FLOAT, 20, 30, 900, *places, accumulate=True)
    launches = list(gemm.launches(handle.device, 0))
    assert len(launches) == 2
    run = handle.device.bind(launches)
    run(arrays, (), handle.device.workspace(gemm.workspace(handle.device.info)))
    want = hosts[2] + hosts[0].astype(float) @ hosts[1]
    np.testing.assert_allclose(handle.to_numpy(arrays[2]), want, atol=1e-4)


WAYS = {  # sizes, whether A and B are turned, whether sums are added, and products
    "along": ((70, 90, 37), False, True, True, 2),
    "along, odd": ((129, 66, 70), False, True, False, 1),
    "filters along": ((90, 130, 65), False, False, True, 1),
    "filters across": ((66, 140, 100), True, False, True, 2),
}
HALVES = (72, 136, 96)


def on_host(folder, dtype, way, gaps, c_stored=True):
    """Run a product on the host with whole numbers where halves are multiplied; return it and the kernels' names."""
    (m, n, k), a_turned, b_turned, accumulate, batches = way
    device = HostCuda(folder, ("wgmma",))
    device.info = replace(device.info, max_allocation=1 << 30)
    a, a_size = place(0, m, k, a_turned, batches, True, gaps[0])
    b, b_size = place(1, k, n, b_turned, batches, True, gaps[0])
    c, c_size = place(2, m, n, False, batches, c_stored, gaps[1])
    rng = np.random.default_rng(m)
    types = dtype.numpy, dtype.numpy, dtype.numpy if c_stored else np.float32
    hosts = [rng.integers(-3, 4, size).astype(t) for size, t in zip((a_size, b_size, c_size), types, strict=True)]
    if dtype is DataType.FLOAT:
        hosts = [rng.standard_normal(host.size).astype(np.float32) for host in hosts]
    want = hosts[2].astype(float)
    gemm = Gemm(dtype, m, n, k, a, b, c, batches, accumulate)
    launches = list(gemm.launches(device, 256))
    workspace = np.full(256 + gemm.workspace(device.info), 0xFF, np.uint8)
    device.bind(launches)(hosts, (), workspace)
    sums = view(want, c, m, n, batches)
    product = view(hosts[0], a, m, k, batches).astype(float) @ view(hosts[1], b, k, n, batches).astype(float)
    sums[...] = product + sums if accumulate else product
    # what lies between the rows as well
    unit = 2e-5 if dtype is DataType.FLOAT else 0  # sums of a hundred products
    np.testing.assert_allclose(hosts[2], want, rtol=unit, atol=unit)
    return {launch.kernel.name for launch in launches}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", WAYS)
def test_by_three_products(name, tmp_path, monkeypatch):
    """Hopper's warpgroups, on the host: as exact as float32."""
    monkeypatch.setattr(by_convolution, "_FEWEST", 0)
    monkeypatch.setattr(by_convolution.OnConvolution, "seconds", lambda self, info: 0.0)
    kernels = on_host(tmp_path, DataType.FLOAT, WAYS[name], (4, 4))
    assert kernels & {"conv_mma_image_planes", "conv_mma_filter_planes"}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("turned", [(False, True), (False, False), (True, False)], ids=str)
def test_halves_by_graphs(turned, tmp_path, monkeypatch):
    """By the kernels of graphs: sums of either type."""
    monkeypatch.setattr(by_graph, "_FEWEST", 0)
    engines = [engine for engine in kernel_engines() if engine.name.startswith("tensor_core")]
    monkeypatch.setattr(choice, "kernel_engines", lambda: engines)
    way = HALVES, *turned, turned[0], 1 + turned[1]
    assert "conv_mma" in on_host(tmp_path, DataType.HALF, way, (8, 8), c_stored=not turned[0])


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("batches", "accumulate"), [(1, True), (2, False)])
def test_halves_across_sums(batches, accumulate, tmp_path, monkeypatch):
    """Both operands lie across K: by the kernels of filter gradients."""
    monkeypatch.setattr(by_convolution, "_FEWEST", 0)
    way = HALVES, True, False, accumulate, batches
    assert "conv_mma_filter" in on_host(tmp_path, DataType.HALF, way, (0, 8))
