"""ONNX models: the node tests that onnx ships, what is lacking by name, and models compared node by node."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helper import backends_in
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.dispatch.choice import PLAN_HOOKS
from portadnn.onnx import compare, lacking, operators, random_inputs, run

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto  # noqa: E402
from onnx import helper as make  # noqa: E402

REFUSED = re.compile(  # forms of operators that cuDNN does not have
    "training, whose random numbers|another sampling than bilinear|p=3; cuDNN"
)
LEAST = 321  # node tests that pass; onnx 1.23 ships 335 of these operators


def _arrays(values: Any) -> list[Any]:
    return [onnx.numpy_helper.to_array(one) if isinstance(one, TensorProto) else one for one in values]


def _node_tests() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        found = load_model_tests(kind="node")
    alone = [one for one in found if one.model is not None and "expanded" not in one.name]
    return [one for one in alone if not lacking(one.model) and not one.name.startswith("test_identity")]


def _check(handle: Any, test: Any) -> None:
    for given, due in test.data_sets:
        for got, want in zip(run(test.model, _arrays(given), backend=handle), _arrays(due), strict=False):
            assert got.shape == want.shape
            assert got.dtype == want.dtype
            rtol, atol = max(test.rtol, 1e-3), max(test.atol, 1e-6)
            np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol, atol, err_msg=test.name)


def _pass(backend: str, tests: list[Any]) -> tuple[int, Counter[str]]:
    passed, refused = 0, Counter[str]()
    with dnn.Handle(backend) as handle, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for test in tests:
            try:
                _check(handle, test)
                passed += 1
            except dnn.NotSupported as error:
                refused[str(error)] += 1
    return passed, refused


def test_node_tests_pass_or_are_refused_by_name() -> None:
    tests = _node_tests()
    passed, refused = _pass("reference", tests)
    assert passed >= min(LEAST, len(tests) - sum(refused.values()))
    assert passed + sum(refused.values()) == len(tests)
    assert [reason for reason in refused if not REFUSED.search(reason)] == []


@pytest.mark.long
@pytest.mark.skipif("opencl" not in (backends_in("PORTADNN_TEST_BACKENDS") or ["opencl"]), reason="not asked for")
def test_node_tests_pass_on_opencl() -> None:
    tests = _node_tests()
    passed, refused = _pass("opencl", tests)
    assert passed + sum(refused.values()) == len(tests)
    assert [reason for reason in refused if not REFUSED.search(reason)] == []


def _model(*nodes: Any, dims: tuple[Any, ...] = ("batch", 3, 8, 8)) -> Any:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    graph = make.make_graph(
        list(nodes),
        "small",
        [make.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [make.make_empty_tensor_value_info("out")],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 21)])


CONV = make.make_node("Conv", ["x", "w"], ["y"], "first", pads=[1, 1, 0, 0])
NODES = (CONV, make.make_node("Relu", ["y"], ["z"]), make.make_node("Softplus", ["z"], ["out"]))


def test_what_is_lacking_is_named() -> None:
    model = _model(*NODES)
    assert lacking(model) == {"Softplus": 1}
    x = random_inputs(model, {"batch": 2})
    assert x["x"].shape == (2, 3, 8, 8)
    with pytest.raises(dnn.NotSupported, match="does not have: Softplus"):
        run(model, x, backend="reference")
    (found,) = run(model, x, backend="reference", others="numpy")
    from onnx.reference import ReferenceEvaluator

    (want,) = ReferenceEvaluator(model).run(None, x)
    np.testing.assert_allclose(found, want, 1e-5, 1e-5)
    assert {"Conv", "LSTM", "MaxPool"} <= set(operators())


def test_wrong_inputs_are_refused() -> None:
    model = _model(*NODES)
    with pytest.raises(dnn.BadParam, match="an array for x"):
        run(model, {}, backend="reference", others="numpy")
    with pytest.raises(dnn.BadParam, match="expected 1: x"):
        run(model, [], backend="reference", others="numpy")
    with pytest.raises(dnn.BadParam, match="refuse or numpy"):
        run(model, [], others="gpu")


WRONG = (
    (lambda model, x: run(3, [x]), "model: expected an onnx.ModelProto or a file, got int"),
    (lambda model, x: lacking(None), "model: expected an onnx.ModelProto or a file, got NoneType"),
    (lambda model, x: run(model, None, others="numpy"), "inputs: expected arrays by name, or in a list"),
    (lambda model, x: run(model, {"x": x, "z": x}, others="numpy"), "inputs: expected names of inputs: x, got z"),
    (lambda model, x: run(model, [x[:, :2]], others="numpy"), r"inputs\['x'\]: expected dims \(batch=2, 3, 8, 8\)"),
    (lambda model, x: run(model, [x[0]], others="numpy"), r"inputs\['x'\]: expected dims"),
    (lambda model, x: run(model, [x.astype(np.int32)], others="numpy"), r"dtype: expected float32, got int32"),
    (lambda model, x: run(model, [np.array(["a"])], others="numpy"), "dtype: expected float32"),
    (lambda model, x: run(model, [x], others="numpy", backend="opengl"), "backend: expected auto or one of"),
    (lambda model, x: random_inputs(model, {"batch": -1}), r"dims\['batch'\]: expected a whole number from 0 on"),
    (lambda model, x: random_inputs(model, {"height": 2}), "dims: expected names of open dims: batch, got height"),
    (lambda model, x: compare(model, {"x": x}, "reference"), "handle: expected a portadnn.Handle, got str"),
)


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments(call: Any, message: str) -> None:
    with pytest.raises(dnn.BadParam, match=message):
        call(_model(*NODES), np.zeros((2, 3, 8, 8), np.float32))


def _of_whole_numbers(op: str, kind: Any, dims: tuple[int, ...] = (3,)) -> Any:
    code = make.np_dtype_to_tensor_dtype(np.dtype(kind))
    given = [make.make_tensor_value_info(name, code, dims) for name in "ab"]
    node = make.make_node(op, ["a", "b"], ["out"])
    return make.make_model(make.make_graph([node], "whole", given, [make.make_empty_tensor_value_info("out")]))


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Max", "Min"])
@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint32", "int64"])
def test_whole_numbers_are_exact_and_wrap_around(op: str, kind: str) -> None:
    highest = min(np.iinfo(kind).max, 2**26)
    a, b = np.array([1, highest, 3]).astype(kind), np.array([7, highest, highest]).astype(kind)
    call = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}[op]
    (found,) = run(_of_whole_numbers(op, kind), [a, b], backend="reference")
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found, call(a, b))


def test_whole_numbers_that_float64_does_not_hold_are_refused() -> None:
    large = np.array([2**53, 1, 1], np.int64)
    with pytest.raises(dnn.NotSupported, match="beyond 2\\*\\*53"):
        run(_of_whole_numbers("Add", "int64"), [large, large], backend="reference")


def test_what_is_refused_is_computed_by_numpy_if_asked() -> None:
    large = np.array([2**53, 1, 1], np.int64)
    (found,) = run(_of_whole_numbers("Add", "int64"), [large, large], backend="reference", others="numpy")
    np.testing.assert_array_equal(found, large + large)


@pytest.mark.parametrize(("axis", "dims"), [(-1, (2, 3, 2)), (1, (1, 5, 2)), (0, (2, 3, 4))])
def test_elements_are_gathered_along_any_axis_by_any_indices(axis: int, dims: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(0)
    x = numbers.standard_normal((2, 3, 4)).astype(np.float32)
    indices = numbers.integers(-x.shape[axis], x.shape[axis], dims)
    infos = [make.make_tensor_value_info("x", TensorProto.FLOAT, x.shape), make.make_tensor_value_info("i", 7, dims)]
    node = make.make_node("GatherElements", ["x", "i"], ["y"], axis=axis)
    (found,) = run(
        make.make_model(make.make_graph([node], "gather", infos, [_info("y")])),
        [x, indices],
        backend="reference",
        others="numpy",
    )
    for place in np.ndindex(*dims):
        source = list(place)
        source[axis] = indices[place]
        assert found[place] == x[tuple(source)]


def test_graphs_inside_of_nodes_read_values_from_outside() -> None:
    branch = [make.make_graph([make.make_node(op, ["y"], ["z"])], op, [], [_info("z")]) for op in ("Neg", "Abs")]
    decide = make.make_node("If", ["c"], ["out"], then_branch=branch[0], else_branch=branch[1])
    given = [make.make_tensor_value_info("x", TensorProto.FLOAT, (2,)), make.make_tensor_value_info("c", 9, ())]
    graph = make.make_graph([make.make_node("Relu", ["x"], ["y"]), decide], "nested", given, [_info("out")])
    x = np.array([-1, 2], np.float32)
    for chosen, want in ((True, [0, -2]), (False, [0, 2])):
        (found,) = run(make.make_model(graph), [x, np.array(chosen)], backend="reference", others="numpy")
        np.testing.assert_array_equal(found, want)


def test_what_the_evaluator_cannot_compute_is_named() -> None:
    node = make.make_node("Reshape", ["x", "shape"], ["out"], "bad")
    given = [make.make_tensor_value_info("x", TensorProto.FLOAT, (3,)), make.make_tensor_value_info("shape", 7, (1,))]
    model = make.make_model(make.make_graph([node], "one", given, [_info("out")]))
    with pytest.raises(dnn.NotSupported, match="node bad: ONNX's reference evaluator cannot compute Reshape"):
        run(model, [np.zeros(3, np.float32), np.array([2])], others="numpy", backend="reference")


def _info(name: str) -> Any:
    return make.make_empty_tensor_value_info(name)


def test_rounding_of_long_sums_and_of_means_is_right() -> None:
    """Sums are as long as filters and rows are, whatever the result's size; a mean near 0 has its numbers' rounding."""
    rng = np.random.default_rng(0)
    dims = {"w": (96, 96, 3, 3), "t": (8, 96), "r": (96, 400)}
    tensors = {name: rng.standard_normal(size).astype(np.float32) for name, size in dims.items()}
    tensors["g"] = np.ones(96, np.float32)
    nodes = (
        make.make_node("Conv", ["x", "w"], ["c"]),
        make.make_node("LayerNormalization", ["t", "g"], ["l", "mean", "deviation"]),
        make.make_node("MatMul", ["l", "r"], ["p"]),
        make.make_node("ReduceMean", ["l"], ["a"], keepdims=0),
        make.make_node("ReduceSum", ["l"], ["s"], keepdims=0),
    )
    given = [make.make_tensor_value_info("x", TensorProto.FLOAT, (1, 96, 24, 24))]
    held = [onnx.numpy_helper.from_array(array, name) for name, array in tensors.items()]
    graph = make.make_graph(nodes, "sums", given, [_info(name) for name in ("c", "mean", "p", "a", "s")], held)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 21)])
    x = rng.standard_normal((1, 96, 24, 24)).astype(np.float32)
    with dnn.Handle("opencl") as handle:
        found = compare(model, {"x": x}, handle)
    assert not found.differences
    assert found.compared.total() == 5


def test_a_node_that_is_off_is_named() -> None:
    from dataclasses import replace

    def wrong(handle: Any, plan: Any) -> Any:
        if plan.problem.op != "convolution_forward" or plan.problem.dtype is not dnn.DataType.FLOAT:
            return plan

        def computed(arrays: Any, scalars: Any, workspace: Any) -> None:
            plan.run(arrays, scalars, workspace)
            arrays[-1][0, 0, 0, 0] += 0.001

        return replace(plan, run=plan.run.instead(computed))

    model = _model(*NODES)
    inputs = random_inputs(model, {})
    with dnn.Handle("reference") as handle:
        assert not compare(model, inputs, handle).differences
    PLAN_HOOKS.append(wrong)
    try:
        with dnn.Handle("reference") as handle:
            (found,) = compare(model, inputs, handle).differences
    finally:
        PLAN_HOOKS.remove(wrong)
    assert (found.node, found.op) == ("first", "Conv")
    assert "(0, 0, 0, 0)" in found.message


def test_the_command(tmp_path: Path) -> None:
    onnx.save(_model(*NODES), tmp_path / "small.onnx")
    found = CliRunner().invoke(
        app, ["diff", "onnx", str(tmp_path / "small.onnx"), "-t", "reference", "--dim", "batch=2"]
    )
    assert found.exit_code == 0, found.output
    assert "not portadnn's: 1 x Softplus" in found.output
    assert "2 nodes compared (Conv 1, Relu 1)" in found.output
    (tmp_path / "wrong.onnx").write_bytes(b"no model at all")
    wrong = CliRunner().invoke(app, ["diff", "onnx", str(tmp_path / "wrong.onnx")])
    assert wrong.exit_code == 2
