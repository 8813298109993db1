"""Recurrent networks on tensor cores, on the host: the kernels' text with PTX's definitions, beside the reference.

Which lane has what is checked without a GPU.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helper import Case, compare, diff_case, make_buffers
from host_cuda_device import COMPILER, HostCuda

import portadnn as dnn
from portadnn.bfloat16 import as_float64
from portadnn.diff.compare import bounds
from portadnn.ops.rnn.layout import Network, RNNMode
from portadnn_backends.base import TensorArg
from portadnn_backends.engines.gemm import by_convolution, by_graph
from portadnn_backends.engines.gemm import product as gemm
from portadnn_backends.engines.gemm.operands import Matrix
from portadnn_backends.engines.rnn import engines
from portadnn_backends.reference.outcomes import outcomes, terms

BATCHES, EQUAL = (21, 21, 18, 3), (19, 19, 19)
ENGINES = {kind.op: engine for engine in engines.ENGINES for kind in engine.problems}
CASES = {  # type, cell, units, features, layers, directions, states
    "odd sizes": ("bf16", "lstm", 37, 19, 1, 2, True),
    "gru": ("f16", "gru", 35, 32, 2, 2, True),
    "tanh": ("f16", "rnn_tanh", 24, 40, 2, 1, False),
}
AT_ONCE = {  # of one work-group, as these run one after the other
    "lstm": ("f16", "lstm", 13, 24, 2, 1, True),
    "gru": ("bf16", "gru", 16, 17, 1, 1, False),
    "tanh": ("f16", "rnn_tanh", 47, 32, 1, 1, True),
}


FEW = {("rnn_forward_training", "odd sizes"), ("rnn_backward_data", "odd sizes"), ("rnn_forward_training", "lstm")}


def few(ops, names):
    """Return all pairs, the others than a few marked as long: g++ takes seconds for each kernel."""
    pairs = [(op, name) for op in ops for name in names]
    return [pair if pair in FEW else pytest.param(*pair, marks=pytest.mark.long) for pair in pairs]


def line(op, batches, dtype, mode, hidden, features, layers, ways, states):
    """Return a problem line of packed sequences, with all states or none."""
    rows = sum(batches)
    size = Network(RNNMode.parse(mode), hidden, layers, ways, features, False).size
    x, y = (f"{dtype}:{rows}x{width}x1" for width in (features, hidden * ways))
    w, state = f"{dtype}:{size}x1x1", f"{dtype}:{layers * ways}x{batches[0]}x{hidden}"
    tensors = {
        "rnn_backward_data": f"y={y} dy={y} w={w} dx={x}",
        "rnn_backward_weights": f"x={x} y={y} dw={w}",
    }.get(op, f"x={x} w={w} y={y}")
    if states:
        names = {
            "rnn_backward_data": ("hx", "cx", "dhy", "dcy", "dhx", "dcx"),
            "rnn_backward_weights": ("hx",),
        }.get(op, ("hx", "cx", "hy", "cy"))
        tensors += "".join(f" {name}={state}" for name in names if mode == "lstm" or "c" not in name)
    direction = "bidirectional" if ways == 2 else "unidirectional"
    rest = f"hidden_size={hidden} num_layers={layers} mode={mode} direction={direction}"
    return f"{op} {tensors} {rest} batch_sizes={','.join(map(str, batches))}"


def run(op, batches, values, device):
    """Run a case, hold its outputs against the reference, and return the names of its kernels."""
    case = Case(line(op, batches, *values), "uniform")
    problem, numbers = diff_case(case).problem, diff_case(case).numbers
    plan = ENGINES[op].prepare(problem, device)
    buffers = make_buffers(case)
    arrays = [buffers[one].array for one in problem.names]
    given = [array.copy() for array in arrays]
    want, sums = (function(problem, given, tuple(numbers.values())) for function in (outcomes, terms))
    plan.run(arrays, list(numbers.values()), np.full(plan.workspace_size, 0xA5, np.uint8))
    for out in want.keys() & sums.keys():
        due, bound, _ = bounds(problem, out, want[out], sums[out])
        compare(as_float64(arrays[problem.index(out)]), due, bound, out)
    return {launch.kernel.name for launch in plan.launches}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("op", "name"), few(ENGINES, CASES))
def test_a_launch_for_each_step(op, name, tmp_path):
    steps = {"rnn_backward_data": "rnn_backward_step_mma", "rnn_backward_weights": "gemm_mma"}
    assert {steps.get(op, "rnn_forward_step_mma"), "gemm_mma"} <= run(op, BATCHES, CASES[name], HostCuda(tmp_path))


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("op", "name"), few([op for op in ENGINES if "weights" not in op], AT_ONCE))
def test_a_launch_of_all_steps(op, name, tmp_path):
    device = HostCuda(tmp_path)
    device.info = replace(device.info, features=device.info.features | {"cooperative"})
    step = "rnn_backward_steps_mma" if "backward" in op else "rnn_forward_steps_mma"
    assert step in run(op, EQUAL, AT_ONCE[name], device)


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("features", [(), ("wgmma",)])
@pytest.mark.parametrize("mode", ["lstm", pytest.param("gru", marks=pytest.mark.long)])
def test_biases_of_many_rows_are_summed_in_parts(mode, features, tmp_path, monkeypatch):
    """Where Hopper's products read halves, the same launch rounds for them."""
    monkeypatch.setattr(by_graph, "_FEWEST", 0)
    monkeypatch.setattr(by_convolution, "_FEWEST", 0)
    device = HostCuda(tmp_path, features)
    device.info = replace(device.info, compute_units=4, max_allocation=1 << 30)
    found = run("rnn_backward_weights", (90,) * 6 + (17,), ("f16", mode, 40, 24, 2, 1, True), device)
    assert {"rnn_bias_parts", "rnn_bias_gradient"} <= found
    assert ("conv_mma_filter" in found) == bool(features)


PRODUCTS = {  # m, n, k, a along k, b along k, a stored, b stored, c stored, added, parts
    "both along k": (130, 70, 96, True, True, True, True, False, False, 1),
    "turned": (72, 136, 40, False, False, False, True, True, True, 1),
    "odd": (67, 33, 51, True, False, False, False, False, True, 1),
    "odd and turned": (35, 41, 77, False, True, True, True, True, False, 1),
    "parts": (64, 64, 600, True, True, True, False, False, True, 3),
}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("tile", [2, *(pytest.param(tile, marks=pytest.mark.long) for tile in (0, 1))])
def test_product(name, tile, tmp_path, monkeypatch):
    m, n, k, a_along, b_along, a_stored, b_stored, c_stored, added, parts = PRODUCTS[name]
    monkeypatch.setattr(gemm, "MMA_TILES", (gemm.MMA_TILES[tile],))
    monkeypatch.setattr(gemm, "split_choices", lambda most: [parts])
    rng = np.random.default_rng(3)
    left, right, before = (rng.integers(-4, 5, size).astype(np.float64) for size in ((2, m, k), (2, k, n), (2, m, n)))

    def matrix(index, values, turned, stored):
        memory = values.transpose(0, 2, 1) if turned else values
        line = memory.shape[2]
        one = Matrix(TensorArg(index), 0, line, batch=memory[0].size, stored=stored)
        return (one.turned if turned else one), np.ascontiguousarray(memory, np.float16 if stored else np.float32)

    (a, a_array), (b, b_array), (c, c_array) = (
        matrix(0, left, not a_along, a_stored),
        matrix(1, right, b_along, b_stored),
        matrix(2, before, False, c_stored),
    )
    product = gemm.Gemm(dnn.DataType.HALF, m, n, k, a, b, c, batches=2, accumulate=added)
    device = HostCuda(tmp_path)
    launches = list(product.launches(device, 0))
    assert launches[0].kernel.name == "gemm_mma"
    room = np.full(max(product.workspace(device.info), 1), 0xA5, np.uint8)
    device.bind(launches)((a_array, b_array, c_array), (), room)
    want = left @ right + added * before
    np.testing.assert_array_equal(c_array.astype(np.float64), want.astype(c_array.dtype).astype(np.float64))
