"""Graphs whose kernels are generated are right on AMD's machine code: both targets, OpenCL C and the backend hip.

A sample: `PORTADNN_TEST_BACKENDS=amd_isa`, and `PORTADNN_HIP_STAND_IN=gfx942 PORTADNN_TEST_BACKENDS=hip`, have all
tests of tests/attention and tests/fusion run so.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import test_graph_block_scale
import test_graph_product
import test_graph_random
import test_graph_resample
import test_graph_rows
from attention_cases import Built, Case
from attention_graphs import CASES as ATTENTION
from graphs import D, demand_right, given, new, numbers, run

import portadnn as dnn
import portadnn.graph as cudnn
from amd_isa import clang, stand_in
from amd_isa.device import TARGETS, open_handle
from portadnn.diff.generate.graphs import JOINED

pytestmark = pytest.mark.amd

LARGER = Case(sizes=(1, 2, 1, 1, 66, 70, 24, 40), bias=(1, 1, 66, 70), options={"use_causal_mask": True})
POOL = cudnn.resample_mode
RESAMPLED = {  # what is made of an image
    "maxima": lambda g, x: g.resample(x, POOL.MAXPOOL, generate_index=True, **test_graph_resample.WINDOWS["uneven"]),
    "averages": lambda g, x: g.resample(x, POOL.AVGPOOL_EXCLUDE_PADDING, **test_graph_resample.WINDOWS["wide"])[:1],
}

NODES = {
    test_graph_rows.test_moe_grouped_matmul: "gathered",
    test_graph_rows.test_moe_grouped_matmul_bwd: "sorted",
    test_graph_block_scale.test_block_scale_dequantize: "few scales in a tile",
    test_graph_block_scale.test_block_scale_quantize: "NVFP4",
}


def attend(handle, case, kind=D.FLOAT):
    """Compare attention and its gradients with the definition in float64."""
    values = {name: kind.rounded(value) for name, value in case.values().items()}
    built, exact = Built(case, handle, io=kind, intermediate=D.FLOAT, compute=D.FLOAT), Built(case)
    want = exact.forward(values)
    forward = built.forward(values)
    feeds = {**values, "O": kind.rounded(want["O"]), "STATS": want["STATS"]}
    gradients, due = built.backward(feeds), exact.backward(feeds)
    assert built.plan == "eng_flash_attention"
    eps = 2.0 ** (-18 if kind is D.FLOAT else -7)
    for name, found in {**gradients, **forward}.items():
        exactly = {**due, **want}[name]
        largest = np.abs(exactly[np.isfinite(exactly)]).max(initial=0)
        np.testing.assert_allclose(found, exactly, rtol=eps, atol=eps * largest, err_msg=name)


def resample(handle, build):
    """Compare a resampled image of few different numbers with the definition's."""
    image = np.round(2 * numbers(test_graph_resample.DIMS[2], 3))
    found = []
    for one, modes in ((handle, [cudnn.heur_mode.A]), ("reference", [cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])):
        g = new(one)
        x = given(g, image.shape)
        found.append(run(g, {x: image}, list(build(g, x)), modes))
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def _cases():
    """Yield the family of kernels, what a case is called, and the function that runs it on a handle."""
    names = "everything", "band from the bottom", "sink, padding, causal", "without padding, an empty sequence"
    for name in names:
        yield "attention", name, functools.partial(attend, case=ATTENTION[name])
    yield "attention", "several tiles", functools.partial(attend, case=LARGER)
    yield "attention", "several tiles, half", functools.partial(attend, case=LARGER, kind=D.HALF)
    for number in (0, 2, 3, 5):
        yield (
            "fusion",
            f"random {number}",
            functools.partial(demand_right, number=number, engine="fusion", kinds=JOINED),
        )
    for number in (3, 11):
        yield "regions", f"random {number}", functools.partial(demand_right, number=number, engine="regions")
    for name in ("several with one matrix", "NCHW", "groups", "NHWC"):
        yield "product", name, functools.partial(test_graph_product.check, build=test_graph_product.GRAPHS[name])
    for name in ("uniform", "normal, double", "bernoulli, bfloat16"):
        yield "random numbers", name, functools.partial(test_graph_random.test_numbers, name=name)
    for name, backward in (("a part", False), ("scaled", True)):
        yield "nodes", f"rope, {name}", functools.partial(test_graph_rows.test_rope, case=name, backward=backward)
    for test, case in NODES.items():
        yield "nodes", test.__name__, functools.partial(test, case=case)
    for name, build in RESAMPLED.items():
        yield "resample", name, functools.partial(resample, build=build)


CASES = {f"{family}: {name}": check for family, name, check in _cases()}
PLACES = [(dialect, target) for dialect in ("opencl", "hip") for target in TARGETS]


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def handle(request):
    """Yield a handle of a dialect on a target."""
    dialect, target = request.param
    clang.require()
    if dialect == "opencl":
        with open_handle(target) as opened:
            yield opened
    else:
        with stand_in.installed(target), dnn.Handle("hip", profile=None) as opened:
            yield opened


@pytest.mark.parametrize("name", CASES)
def test_graph(handle, name):
    CASES[name](handle)
