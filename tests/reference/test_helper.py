"""The test helper itself: every kind of mistake that it is there to find, made on purpose."""

from __future__ import annotations

import numpy as np
import pytest
from cases_convolution import CONVOLUTION_CASES
from cases_elementwise import TENSOR_CASES
from helper import Case, backends_in, check, compare, every_target, targets

import portadnn_backends.reference.backend
from portadnn.problem import parse
from portadnn.tolerance import tolerance
from portadnn_backends.reference.outcomes import outcomes

FORWARD = "convolution_forward x=f32:2x3x5x5 w=f32:4x3x3x3 y=f32:2x4x3x3/80,20,6,2"
FAILED = pytest.fail.Exception


def evaluate(problem, tensors, scalars):
    """Return a problem's last output."""
    return outcomes(problem, tensors, scalars)[problem.outputs[-1]]


@pytest.fixture
def tampered(reference, monkeypatch):
    """Return a function that checks a case on a reference backend whose results a function has changed."""

    def run(case, change):
        changed = lambda problem, *rest: {problem.outputs[-1]: change(problem, *rest)}  # noqa: E731
        monkeypatch.setattr(portadnn_backends.reference.backend, "outcomes", changed)
        reference.clear_cache()
        check(reference, case)

    yield run
    reference.clear_cache()


def test_the_right_result_passes(tampered):
    tampered(FORWARD, evaluate)
    tampered(Case(FORWARD, "integer"), evaluate)


def test_one_wrong_element_is_found(tampered):
    def change(problem, tensors, scalars):
        result = evaluate(problem, tensors, scalars).copy()
        result[1, 2, 0, 1] += 0.001
        return result

    with pytest.raises(FAILED, match=r"1 of 72 elements are wrong.*\(1, 2, 0, 1\)"):
        tampered(FORWARD, change)
    with pytest.raises(FAILED, match="1 of 72"):
        tampered(Case(FORWARD, "integer"), change)


def test_a_missing_term_is_found_in_every_convolution(tampered):
    """The tolerance is tight enough to notice that one filter tap of many is left out."""
    for line in (case.line for case in CONVOLUTION_CASES if case.line.startswith("convolution_forward x=f32")):
        problem = parse(line.partition(" alpha")[0])
        if problem.w.size < 2 or problem.y.size == 0:
            continue

        def change(problem, tensors, scalars):
            x, w, y = tensors
            w = w.copy()
            w[0, 0].flat[0] = 0  # the first tap of the first filter
            return evaluate(problem, (x, w, y), scalars)

        unseen = min(problem.padding) > 0 and max(problem.padding) >= min(problem.x.dims[2:])
        if not unseen:
            with pytest.raises(FAILED):
                tampered(line, change)


def test_reading_the_output_in_spite_of_beta_is_found(tampered):
    def change(problem, tensors, scalars):
        return evaluate(problem, tensors, scalars) + 0 * tensors[-1]

    with pytest.raises(FAILED, match="got nan"):
        tampered(FORWARD, change)


def test_not_reading_the_output_is_found(tampered):
    with pytest.raises(FAILED):
        tampered(FORWARD + " beta=1", lambda problem, tensors, scalars: evaluate(problem, tensors, (1.0, 0.0)))


def test_runs_that_differ_are_found(tampered):
    noise = iter([0.0, 1e-7])

    def change(problem, tensors, scalars):
        return evaluate(problem, tensors, scalars) + next(noise)

    with pytest.raises(FAILED, match="not repeatable: y"):
        tampered(FORWARD, change)


def test_a_changed_input_is_found(tampered):
    def change(problem, tensors, scalars):
        result = evaluate(problem, tensors, scalars)
        tensors[0][0, 0, 0, 0] += 1
        return result

    with pytest.raises(FAILED, match="input written: x"):
        tampered(FORWARD, change)


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_write_beside_the_tensor_is_found(tampered, offset):
    """Before the first element lies the guard, after it one of the gaps."""

    def change(problem, tensors, scalars):
        y = tensors[-1]
        interface = dict(y.__array_interface__)
        interface["data"] = (interface["data"][0] + offset * y.itemsize, False)
        beside = np.asarray(type("Memory", (), {"__array_interface__": interface, "owner": y})())
        beside[0, 0, 0, 0] = 7
        return evaluate(problem, tensors, scalars)

    with pytest.raises(FAILED, match="outside written: y"):
        tampered(FORWARD, change)


def test_compare_looks_at_nan_and_infinity():
    inf, nan = np.inf, np.nan
    compare([nan, inf, 1.0], [nan, inf, 1.0], 0.0)
    for got, want in (([nan], [1.0]), ([1.0], [nan]), ([inf], [-inf]), ([inf], [1.0]), ([1.0], [inf]), ([1.1], [1.0])):
        with pytest.raises(FAILED):
            compare(got, want, 0.01)
    with pytest.raises(FAILED):
        compare([1.0], [2.0], nan)
    with pytest.raises(AssertionError, match="shape"):
        compare(np.zeros(3), np.zeros((1, 3)), 1.0)


def test_tolerance_follows_type_length_and_condition():
    def bound(line, want=1.0, terms=1.0):
        return float(tolerance(parse(line), np.array([want]), np.array([terms]))[0])

    short, long = (f"convolution_forward x=f32:1x{c}x8x8 w=f32:4x{c}x3x3" for c in (1, 64))
    assert parse(short).reduction_length("y") == 9 and parse(long).reduction_length("y") == 576
    assert bound(short) < bound(long) < bound(long, terms=10.0)
    assert (
        bound(long.replace("f32", "f64"))
        < 1e-12
        < bound(long)
        < 1e-5
        < bound(long.replace("f32", "f16"))
        < 2e-3
        < bound(long.replace("f32", "bf16"))
        < 8e-3
    )
    line = "convolution_backward_filter x=f32:5x2x9x9 dy=f32:5x4x7x7 dw=f32:4x2x3x3"
    assert parse(line).reduction_length("dw") == 5 * 49
    assert parse("softmax_forward x=f32:2x7x3x3 mode=instance").reduction_length("y") == 63


def test_the_tables_meet_every_type_and_layout():
    """Each operation of the tables has all types, both formats, gaps and shifted starts."""
    wanted = {"=f16:", "=bf16:", "=f32:", "=f64:", ":nhwc", "/", "@"}
    seen = {}
    for case in (*CONVOLUTION_CASES, *TENSOR_CASES):
        op = case.line.split()[0]
        kinds = seen.setdefault(op, set())
        kinds.update(kind for kind in wanted if kind in case.line)
    for op, kinds in seen.items():
        assert kinds == wanted, op


def test_backends_are_chosen_by_the_environment(monkeypatch):
    monkeypatch.setenv("PORTADNN_TEST_BACKENDS", "reference, opencl")
    assert backends_in("PORTADNN_TEST_BACKENDS") == ["reference", "opencl"]
    every_target.cache_clear()
    assert {target.backend for target in targets()} <= {"opencl"}
    every_target.cache_clear()
    monkeypatch.setenv("PORTADNN_TEST_BACKENDS", "opencl,nonsense")
    with pytest.raises(pytest.UsageError, match="nonsense"):
        backends_in("PORTADNN_TEST_BACKENDS")
    monkeypatch.delenv("PORTADNN_TEST_BACKENDS")
    assert backends_in("PORTADNN_TEST_BACKENDS") is None
