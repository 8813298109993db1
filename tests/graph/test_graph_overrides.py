"""Executing a graph with other dims and strides than it was built with, against NumPy."""

import numpy as np
import pytest
from helper import everywhere

import portadnn.graph as cudnn

A, B, BIAS, C, SUM = 1, 2, 3, 4, 5


def product(handle, **options):
    """Return relu(A @ B + bias), of 2 x 6 x 5 by 2 x 5 x 7, and its sums over rows, built."""
    types = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"), cudnn.data_type.FLOAT)
    g = cudnn.pygraph(handle=handle, **types, **options)
    a = g.tensor(dim=[2, 6, 5], stride=[30, 5, 1], name="a", uid=A)
    b = g.tensor(dim=[2, 5, 7], stride=[35, 7, 1], name="b", uid=B)
    bias = g.tensor(dim=[1, 1, 7], stride=[7, 7, 1], name="bias", uid=BIAS)
    c = g.relu(g.bias(g.matmul(a, b), bias))
    c.set_output(True).set_uid(C)
    total = g.reduction(c, mode=cudnn.reduction_mode.ADD)
    total.set_output(True).set_uid(SUM).set_dim([2, 6, 1]).set_stride([6, 1, 1])
    g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    return g


def layouts(*arrays):
    """Return the three arguments that lay tensors out as arrays do."""
    return {
        "override_uids": [A, B, BIAS, C, SUM],
        "override_shapes": [list(one.shape) for one in arrays],
        "override_strides": [[step // one.itemsize for step in one.strides] for one in arrays],
    }


def operands(batch, m, k, n, seed, turned=False):
    """Return A, B, bias and memory for both results; B lies transposed on request."""
    rng = np.random.default_rng(seed)
    b = rng.standard_normal((batch, n, k)).astype(np.float32).swapaxes(1, 2) if turned else None
    return (
        rng.standard_normal((batch, m, k)).astype(np.float32),
        rng.standard_normal((batch, k, n)).astype(np.float32) if b is None else b,
        rng.standard_normal((1, 1, n)).astype(np.float32),
        np.full((batch, m, n), np.nan, np.float32),
        np.full((batch, m, 1), np.nan, np.float32),
    )


def check(arrays):
    a, b, bias, c, total = (one.astype(np.float64) for one in arrays)
    np.testing.assert_allclose(c, np.maximum(a @ b + bias, 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(total, np.maximum(a @ b + bias, 0).sum(2, keepdims=True), rtol=1e-5, atol=1e-5)


@everywhere()
@pytest.mark.parametrize("enabled", ["is_override_shape_enabled", "is_dynamic_shape_enabled"])
def test_one_graph_runs_with_many_dims(handle, enabled):
    g = product(handle, **{enabled: True})
    for seed, (batch, m, k, n, turned) in enumerate([(2, 6, 5, 7, False), (1, 1, 5, 7, False), (3, 9, 4, 8, True)] * 2):
        arrays = operands(batch, m, k, n, seed, turned)
        needed = g.get_workspace_size(**layouts(*arrays)) if seed > 2 else g.get_workspace_size()
        workspace = np.empty(max(needed, 1), np.uint8)
        g.execute(dict(zip((A, B, BIAS, C, SUM), arrays, strict=True)), workspace, **layouts(*arrays))
        check(arrays)
    arrays = operands(2, 6, 5, 7, 9)
    g.execute(dict(zip((A, B, BIAS, C, SUM), arrays, strict=True)))  # without overrides the graph's own dims hold
    check(arrays)


@everywhere()
def test_a_plan_of_a_number_and_the_check_take_other_dims(handle):
    g = product(handle, is_override_shape_enabled=True)
    for number in range(g.get_execution_plan_count()):
        arrays = operands(2, 3, 5, 7, number)
        g.execute_plan_at_index(dict(zip((A, B, BIAS, C, SUM), arrays, strict=True)), None, number, **layouts(*arrays))
        check(arrays)
    arrays = operands(2, 4, 5, 7, 8)
    g.execute(dict(zip((A, B, BIAS, C, SUM), arrays, strict=True)), check="reference", **layouts(*arrays))
    check(arrays)


def test_equal_overrides_prepare_one_plan():
    g = product(cudnn.create_handle("reference"), is_override_shape_enabled=True)
    for seed in range(3):
        arrays = operands(1, 2, 5, 7, seed)
        g.execute(dict(zip((A, B, BIAS, C, SUM), arrays, strict=True)), None, **layouts(*arrays))
        assert len(g._variants) == 1


WRONG = {
    "not enabled": ({}, {}, "PG-PLAN-005"),
    "a list that is too short": ({"override_shapes": [[1, 6, 5]]}, {"is_override_shape_enabled": True}, "PG-PLAN-007"),
    "no strides": ({"override_strides": None}, {"is_override_shape_enabled": True}, "PG-PLAN-007"),
    "a uid twice": ({"override_uids": [A, A, BIAS, C, SUM]}, {"is_override_shape_enabled": True}, "PG-PLAN-007"),
    "no such uid": ({"override_uids": [A, 99, BIAS, C, SUM]}, {"is_override_shape_enabled": True}, "PG-PLAN-007"),
    "no integers": ({"override_shapes": ["x"] * 5}, {"is_override_shape_enabled": True}, "PG-PLAN-007"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_overrides_are_refused(case):
    changed, options, id = WRONG[case]
    g, arrays = product(cudnn.create_handle("reference"), **options), operands(2, 6, 5, 7, 0)
    with pytest.raises(cudnn.GraphError, match=id):
        g.execute(dict(zip((A, B, BIAS, C, SUM), arrays, strict=True)), None, **{**layouts(*arrays), **changed})
    assert np.isnan(arrays[3]).all()


def test_dims_that_do_not_fit_each_other_are_refused():
    g, arrays = product(cudnn.create_handle("reference"), is_override_shape_enabled=True), operands(2, 6, 5, 7, 0)
    wrong = layouts(*arrays)
    wrong["override_shapes"][1] = [2, 4, 7]
    with pytest.raises(cudnn.ShapeDeductionFailed, match="PG-MATMUL-001"):
        g.execute(dict(zip((A, B, BIAS, C, SUM), arrays, strict=True)), None, **wrong)
