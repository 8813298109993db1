"""ONNX models that are damaged, or mean harm: each is refused by name, and what it reads stays in its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.onnx import random_inputs, run

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto  # noqa: E402
from onnx import helper as make  # noqa: E402


def _model(*nodes: Any, held: tuple[Any, ...] = (), dims: tuple[Any, ...] = (1, 3, 8, 8), type_: int = 1) -> Any:
    given = [make.make_tensor_value_info("x", type_, dims)]
    graph = make.make_graph(list(nodes), "broken", given, [make.make_empty_tensor_value_info("out")], list(held))
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 21)])


def _outside(location: str) -> Any:
    tensor = TensorProto(name="w", data_type=TensorProto.UINT8, dims=(16,), data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return _model(make.make_node("Identity", ["w"], ["out"]), held=(tensor,))


def _held(dims: tuple[int, ...], type_: int = TensorProto.FLOAT) -> Any:
    tensor = TensorProto(name="w", data_type=type_, dims=dims, raw_data=b"\0" * 16)
    return _model(make.make_node("Identity", ["w"], ["out"]), held=(tensor,))


def _of(op: str, inputs: tuple[str, ...] = ("x",), **attributes: Any) -> Any:
    return _model(make.make_node(op, list(inputs), ["out"], "n", **attributes))


A_CIRCLE = (make.make_node("Add", ["x", "b"], ["a"], "n"), make.make_node("Relu", ["a"], ["b"]))
REFUSED = {
    "a circle": (lambda: _model(*A_CIRCLE), "node n: expected results of nodes before it, got b"),
    "nothing computes it": (
        lambda: _model(make.make_node("Relu", ["x"], ["y"])),
        "outputs that nodes compute, got out",
    ),
    "no input": (lambda: _of("Relu", ()), "node n: expected what Relu takes, got TypeError"),
    "an empty input": (lambda: _of("Relu", ("",)), "node n: expected what Relu takes"),
    "an axis": (
        lambda: _of("LayerNormalization", ("x", "x"), axis=2**62),
        "ONNX LayerNormalization: axis: expected from -4 to 3",
    ),
    "a kind of attribute": (lambda: _of("Softmax", axis="x"), "node n: expected what Softmax takes"),
    "padding": (lambda: _of("MaxPool", kernel_shape=[2, 2], pads=[1]), "node n: expected what MaxPool takes"),
    "too few numbers": (lambda: _held((2**40, 2**20)), "tensor w: expected numbers of its type and dims"),
    "negative dims": (lambda: _held((-2, -2)), "tensor w: expected numbers of its type and dims"),
    "a type of tensors": (lambda: _held((4,), 99), "tensor w: expected numbers of its type and dims"),
    "a type of inputs": (lambda: _model(*A_CIRCLE, type_=99), "x: expected an input of a type of ONNX, got type 99"),
    "a large input": (lambda: _model(*A_CIRCLE, dims=(2**40, 2**10)), "x: expected an array that the host's memory"),
    "an input of nothing": (lambda: _model(*A_CIRCLE, dims=(-3,)), "x: expected dims of an array, got"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("others", ["refuse", "numpy"])
def test_what_is_broken_is_refused(name: str, others: str) -> None:
    make_it: Callable[[], Any]
    make_it, message = REFUSED[name]
    model = make_it()
    with pytest.raises(dnn.BadParam, match=message):
        run(model, random_inputs(model, {}), backend="reference", others=others)


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("where", ["../secret", "{above}/secret", "inside/../../secret", "inside/link", "nothing", ""])
def test_numbers_are_read_from_the_models_folder_alone(
    tmp_path: Path, monkeypatch: Any, where: str, saved: bool
) -> None:
    (tmp_path / "secret").write_bytes(b"x" * 16)
    folder = tmp_path / "model"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "link").symlink_to(tmp_path / "secret")
    monkeypatch.chdir(folder)
    model: Any = _outside(where.format(above=tmp_path))
    if saved:
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        model = folder / "m.onnx"
    with pytest.raises((dnn.BadParam, OSError)):
        run(model, {"x": np.zeros((1, 3, 8, 8), np.float32)}, backend="reference", others="numpy")


@pytest.mark.parametrize("value", [[[1, 2], [3]], [np.zeros(2), np.zeros(3)]])
def test_inputs_that_are_no_arrays_are_refused(value: Any) -> None:
    with pytest.raises(dnn.BadParam, match=r"inputs\['x'\]: expected an array"):
        run(_of("Relu"), {"x": value}, backend="reference")


def test_names_that_are_no_text_and_files_that_are_none_are_told_in_a_line(tmp_path: Path) -> None:
    text = _of("Gelu").SerializeToString().replace(b"Gelu", b"\xff\xfe\xfd\xfc")
    for name, data in (("name.onnx", text), ("half.onnx", text[: len(text) // 2]), ("empty.onnx", b"")):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "x.npz").write_bytes(b"PK\3\4 and nothing else")
    np.save(tmp_path / "x.npy", np.zeros(3))
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object))
    good = tmp_path / "good.onnx"
    onnx.save(_of("Relu"), good)
    inputs = [[str(good), "--inputs", str(tmp_path / name)] for name in ("x.npz", "x.npy", "objects.npz")]
    words = [[str(tmp_path / name)] for name in ("name.onnx", "half.onnx", "empty.onnx")]
    for given in (*words, ["/dev/zero"], [str(tmp_path)], *inputs):
        found = CliRunner().invoke(app, ["diff", "onnx", *given, "-t", "reference"])
        assert found.exit_code == 2, (given, found.output, found.exception)
        assert "portadnn: " in found.output
