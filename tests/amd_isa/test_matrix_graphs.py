"""Products of graphs on AMD's matrix cores, in OpenCL C and in HIP: executed, they give the definitions' numbers."""

from __future__ import annotations

import itertools

import pytest
import test_graph_product as products
import test_graph_product_sums as sums
from graphs import D
from test_graph_product import _after, x

from amd_isa import stand_in
from amd_isa.matrix_loops import PRODUCTS, gpu_of, product, reaches
from portadnn_backends.engines.conv import tensor_core
from portadnn_backends.engines.conv.matrix_units import WMMA, unit_of_target
from portadnn_backends.fusion.product import choice

pytestmark = pytest.mark.amd


def _computed(g):
    """Build a product of two computed operands, with an activation."""
    inputs = [x(g, 70, 40), x(g, 40, 90), x(g, 70, 1), x(g, 1, 90)]
    a, b, rows, columns = inputs
    return inputs, [g.relu(g.matmul(g.mul(a, rows), g.add(b, columns)))]


GRAPHS = {
    "computed operands": _computed,
    "sums of rows": sums.GRAPHS["rows"],
    "sums of columns, NHWC": sums.GRAPHS["several tiles, NHWC"],
    "a data gradient with sums": sums.GRAPHS["a data gradient in steps"],
    "one for each": products.ROWS["rows of each"],
    "several with one": products.GRAPHS["several with one matrix"],
    "larger than a tile": products.GRAPHS["larger than a tile"],
    "a long sum": products.GRAPHS["a long sum"],
    "a mask": _after((20, 24, 18), products._selected, (1, 18)),
    "sums of all, groups": sums.GRAPHS["all of them, NHWC, groups"],
    "sums of pixels": sums.GRAPHS["pixels of hidden results"],
    "statistics with a beginning": sums.GRAPHS["with a beginning, NHWC"],
}
SAMPLE = {
    ("opencl", "gfx942", "computed operands", D.HALF),
    ("opencl", "gfx942", "sums of rows", D.FLOAT),
    ("opencl", "gfx1100", "sums of columns, NHWC", D.BFLOAT16),
    ("hip", "gfx1100", "computed operands", D.HALF),
    ("hip", "gfx942", "sums of rows", D.BFLOAT16),
}
KINDS = (D.HALF, D.BFLOAT16, D.FLOAT)
CASES = [
    pytest.param(*case, marks=[] if case in SAMPLE else pytest.mark.long)
    for case in itertools.product(("opencl", "hip"), stand_in.WAVES, GRAPHS, KINDS)
    if case[3] is not D.FLOAT or unit_of_target(case[1]) is not WMMA
]
TOLERANCES = {D.HALF: (1e-2, 2e-2), D.BFLOAT16: (4e-2, 2e-1), D.FLOAT: (2e-5, 2e-4)}


@pytest.fixture
def matrix_cores_only(monkeypatch):
    """Have graphs' products computed by matrix cores, however small they are."""
    monkeypatch.setattr(choice, "kernel_engines", lambda: tensor_core.ENGINES)
    choice.chosen_for.cache_clear()
    yield
    choice.chosen_for.cache_clear()


@pytest.mark.parametrize(("dialect", "target", "graph", "kind"), CASES)
def test_graph(matrix_cores_only, dialect, target, graph, kind):
    rtol, atol = TOLERANCES[kind]
    with gpu_of(target, dialect) as handle:
        g = products.check(handle, GRAPHS[graph], kind, kind, rtol=rtol, atol=atol)
        names = {launch.kernel.name for launch in launches_of(g, handle)}
        assert "conv_matrix" in names


def launches_of(g, handle):
    """Return the launches of the convolution that a graph's plan has chosen."""
    chosen = choice.chosen_for(g._graph_frozen(), handle.info)
    return chosen.engine.prepare(chosen.problem, handle.device).launches


LOOP_SAMPLE = (("gfx942", "bias and gelu", D.HALF), ("gfx1100", "sums of columns", D.BFLOAT16))
LOOPS = [
    pytest.param(*case, marks=[] if case in LOOP_SAMPLE else pytest.mark.long)
    for case in itertools.product(("gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1201"), PRODUCTS, KINDS)
    if case[2] is not D.FLOAT or unit_of_target(case[0]) is not WMMA
]


@pytest.mark.parametrize(("target", "name", "kind"), LOOPS)
def test_main_loops_reach_their_share(target, name, kind):
    reaches(product(target, name, kind), target, "conv_matrix")
