"""Random numbers on devices are those of the definition, wherever seed and offset come from."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import D, buffer, given, new, scalar
from test_graph_fallback import over
from test_nvrtc import EACH, compile_recorded, recorder_of

import portadnn.graph as cudnn
from portadnn_backends.engines.random_numbers import RandomEngine, described
from portadnn_backends.philox import random_words

LAW = cudnn.rng_distribution
BIG = 0x1234_5678_9ABC_DEF
CASES = {
    "uniform": ((3, 7, 5), {"distribution": LAW.UNIFORM, "minimum": -2.0, "maximum": 3.5}, D.FLOAT),
    "uniform, double": ((2, 33), {"distribution": LAW.UNIFORM}, D.DOUBLE),
    "uniform, half": ((1, 9, 64), {"distribution": LAW.UNIFORM}, D.HALF),
    "normal": ((4, 2500), {"distribution": LAW.NORMAL, "mean": -2.0, "standard_deviation": 3.0}, D.FLOAT),
    "normal, double": ((1001,), {"distribution": LAW.NORMAL, "standard_deviation": 0.5}, D.DOUBLE),
    "normal, half": ((3, 5), {"distribution": LAW.NORMAL}, D.HALF),
    "bernoulli": ((5, 100), {"distribution": LAW.BERNOULLI, "bernoulli_probability": 0.3}, D.FLOAT),
    "bernoulli, bfloat16": ((1001,), {"distribution": LAW.BERNOULLI, "bernoulli_probability": 0.75}, D.BFLOAT16),
    "always": ((50,), {"distribution": LAW.BERNOULLI, "bernoulli_probability": 1.0}, D.FLOAT),
    "never": ((50,), {"distribution": LAW.BERNOULLI, "bernoulli_probability": 0.0}, D.FLOAT),
}


def drawn(handle, name, where="attribute", offset=0):
    """Return the numbers of a case with seed and offset in the graph, by value, or in memory."""
    dims, options, kind = CASES[name]
    g = new(handle, io=kind)
    pack = {}
    if where == "attribute":
        seed, draw = BIG, offset
    elif where == "by value":
        seed, draw = (scalar(g, 0).set_data_type(D.INT64) for _ in range(2))
        pack = {seed: BIG, draw: offset}
    else:
        seed, draw = given(g, (1,), D.INT64), given(g, (1,), D.INT32)
        pack = {seed: np.array([BIG], np.int64), draw: np.array([offset], np.int32)}
    y = g.rng(list(dims), seed=seed, offset=draw, **options).set_output(True)
    g.build([cudnn.heur_mode.A])
    flat, view = buffer(y)
    g.execute({**pack, y: flat})
    return g, kind.loaded(view)


@over(list(CASES))
def test_numbers(handle, name):
    g, got = drawn(handle, name)
    assert g.get_plan_name() in ("eng_random", "eng_fallback")
    assert not g.get_behavior_notes()
    want = drawn("reference", name)[1]
    if "bernoulli" in name:
        np.testing.assert_array_equal(got, want)
        assert 0.2 < got.mean() < 0.8
    else:
        np.testing.assert_allclose(got, want, rtol=1e-3 if "half" in name else 1e-6, atol=1e-6)


@over(["by value", "memory"])
def test_seeds_and_offsets(handle, name):
    """All 64 bits of both count."""
    for offset in (0, 7):
        _, got = drawn(handle, "bernoulli", name, offset)
        np.testing.assert_array_equal(got, drawn(handle, "bernoulli", offset=offset)[1])
        np.testing.assert_array_equal(got, drawn("reference", "bernoulli", name, offset)[1])
    assert (got != drawn(handle, "bernoulli")[1]).any()


def test_an_offset_of_more_than_32_bits():
    """As a number it is what it is as a tensor of INT64."""
    far = 2**40 + 3
    got = drawn("reference", "bernoulli", offset=far)[1]
    np.testing.assert_array_equal(got, drawn("reference", "bernoulli", "by value", far)[1])
    assert (got != drawn("reference", "bernoulli", offset=3)[1]).any()
    assert (got != drawn("reference", "bernoulli", offset=2**31 - 1)[1]).any()


@over(["uniform"])
def test_an_offset_of_more_than_32_bits_on_devices(handle, name):
    got, want = (drawn(where, name, offset=2**40 + 3)[1] for where in (handle, "reference"))
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@over(["normal", "normal, double"])
def test_normal_numbers(handle, name):
    """Of words that are drawn here: Box and Muller, in float64."""
    dims, options, kind = CASES[name]
    words = random_words(2 * int(np.prod(dims)), BIG, 3).astype(np.float64) / 2**32
    sizes = np.sqrt(-2 * np.log1p(-words[0::2])) * options["standard_deviation"]
    want = (options.get("mean", 0.0) + sizes * np.cos(2 * np.pi * words[1::2])).reshape(dims)
    got = drawn(handle, name, offset=3)[1]
    eps = 2.0**-23 if kind is D.FLOAT else 2.0**-46
    np.testing.assert_allclose(got, want, rtol=0, atol=12 * eps * options["standard_deviation"])


LAYOUTS = {"gaps": [80, 11, 2], "columns": [1, 3, 21], "channels last": [35, 1, 7]}


@over(list(LAYOUTS))
def test_layouts(handle, name):
    """The same numbers, counted in logical order."""
    results = []
    for where in (handle, "reference"):
        g = new(where)
        y = g.rng([3, 7, 5], LAW.UNIFORM, seed=BIG).set_output(True)
        y.set_stride(LAYOUTS[name] if where == handle else [35, 5, 1])
        g.build([cudnn.heur_mode.A])
        flat, view = buffer(y)
        g.execute({y: flat})
        results.append(np.array(view))
    np.testing.assert_allclose(*results, rtol=1e-6, atol=1e-6)


@over(["integers"])
def test_what_it_does_not_draw(handle, name):
    g = new(handle)
    y = g.rng([4, 4], LAW.UNIFORM, seed=1).set_output(True).set_data_type(D.INT64)
    g.validate()
    ids = [error.id for error in RandomEngine().reasons(g._graph.freeze(), handle.info)]
    assert ids == ["PG-ENGINE-003"]
    g.build()
    g.execute({y: buffer(y)[0]}, check="reference")


def graphs():
    """Yield the cases as frozen graphs."""
    for dims, options, kind in CASES.values():
        g = new(io=kind)
        g.rng(list(dims), seed=BIG, offset=given(g, (1,), D.INT64), **options).set_output(True)
        g.validate()
        yield g._graph.freeze()


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("arch", EACH)
def test_compiles_for_cuda(arch):
    recorder = recorder_of(arch)
    for graph in graphs():
        described(graph, recorder)
    compile_recorded(recorder)
