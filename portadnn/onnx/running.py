"""Running ONNX models: a graph's nodes in order, each on the backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadParam, DnnError, NotSupported
from ..handle import Handle
from . import layers, recurrent, windows
from .evaluator import evaluator
from .models import element_type, library, load, tensor
from .table import OPERATORS, Array, Node

_FAMILIES = (layers, recurrent, windows)  # whose import fills the table

Look = Callable[[Node, str, Sequence[Any], Sequence[Array]], None]


def operators() -> tuple[str, ...]:
    """Return the names of the operators that portadnn computes."""
    return tuple(sorted(OPERATORS))


def lacking(model: Any) -> dict[str, int]:
    """Return the operators of a model that portadnn does not compute, with how often they occur.

    Parameters
    ----------
    model
        ``onnx.ModelProto``, or a file.

    Raises
    ------
    NotSupported
        onnx is not installed.
    BadParam, OSError
        As :func:`run`.
    """
    counts: dict[str, int] = {}
    for node in load(model).graph.node:
        if node.domain not in ("", "ai.onnx") or node.op_type not in OPERATORS:
            name = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else f"{node.op_type}"
            counts[name] = counts.get(name, 0) + 1
    return counts


def run(
    model: Any,
    inputs: Mapping[str, Any] | Sequence[Any],
    *,
    backend: str | Handle = "auto",
    others: str = "refuse",
    look: Look | None = None,
) -> list[Array]:
    """Run an ONNX model and return its outputs.

    Parameters
    ----------
    model
        ``onnx.ModelProto``, or a file.
    inputs
        Arrays by name, or in the order of the graph's inputs.
    backend
        As for :class:`portadnn.Handle`, or a handle.
    others
        What becomes of operators, and forms of them, that portadnn does not have: ``"refuse"``, or ``"numpy"``, which
        computes them by ONNX's reference evaluator on the host.
    look
        Called after each node that portadnn computed, with the node, its name, its inputs and its outputs.

    Raises
    ------
    NotSupported
        Operators or forms of them that portadnn does not have, by name; onnx is not installed.
    BadParam
        No model; nodes that cannot be computed, as they read what comes later or their inputs do not fit; another
        number of inputs, none of a name, or one of another type or of other dims.
    """
    if others not in ("refuse", "numpy"):
        raise BadParam(argument="others", expected="refuse or numpy", got=others)
    onnx, model = library(), load(model)
    missing = lacking(model)
    if missing and others == "refuse":
        raise NotSupported(
            f"operators that portadnn does not have: {', '.join(missing)} (others='numpy' computes them)"
        )
    values = _given(model.graph, inputs)
    opened = backend if isinstance(backend, Handle) else Handle(backend)
    opset = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 1)
    try:
        for number, node in enumerate(model.graph.node):
            name = node.name or f"{number}:{node.op_type}"
            if absent := [one for one in node.input if one not in values]:
                raise BadParam(argument=f"node {name}", expected="results of nodes before it", got=absent[0])
            if not _compute(onnx, opened, node, opset, values, look, name, others):
                _compute_by_numpy(onnx, model, node, values, name)
        if absent := [output.name for output in model.graph.output if output.name not in values]:
            raise BadParam(argument="model", expected="outputs that nodes compute", got=absent[0])
        return [values[output.name] for output in model.graph.output]
    finally:
        if not isinstance(backend, Handle):
            opened.close()


def _given(graph: Any, inputs: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    values = {one.name: tensor(one) for one in graph.initializer}
    names = [one.name for one in graph.input if one.name not in values]
    if isinstance(inputs, (str, bytes)) or not isinstance(inputs, (Mapping, Sequence)):
        raise BadParam(argument="inputs", expected="arrays by name, or in a list", got=type(inputs).__name__)
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(names):
            raise BadParam(argument="inputs", expected=f"{len(names)}: {', '.join(names)}", got=len(inputs))
        inputs = dict(zip(names, inputs, strict=True))
    if absent := [name for name in names if name not in inputs]:
        raise BadParam(argument="inputs", expected=f"an array for {absent[0]}", got=", ".join(inputs) or "none")
    if strange := [name for name in inputs if name not in values and name not in names]:
        raise BadParam(argument="inputs", expected=f"names of inputs: {', '.join(names)}", got=str(strange[0]))
    infos = {one.name: one.type for one in graph.input}
    sizes: dict[str, int] = {}
    given = {name: _checked(name, value, infos.get(name), sizes) for name, value in inputs.items()}
    return {**values, **given, "": None}


def _checked(name: str, value: Any, declared: Any, sizes: dict[str, int]) -> Array:
    """Return an input as an array of the declared type and dims; `sizes` are those of open dims, by name."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise BadParam(argument=f"inputs[{name!r}]", expected="an array", got=f"{error}") from None
    kind = None if declared is None or not declared.HasField("tensor_type") else declared.tensor_type
    if kind is None or not kind.elem_type:
        return array
    dtype = element_type(kind.elem_type, f"inputs[{name!r}]")
    if not isinstance(value, (np.ndarray, np.generic)) and array.dtype.kind in "biuf":
        array = array.astype(dtype)
    if array.dtype != dtype and dtype.name != "bfloat16":
        raise BadParam(argument=f"inputs[{name!r}].dtype", expected=str(dtype), got=str(array.dtype))
    if kind.HasField("shape"):
        dims = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in kind.shape.dim]
        fits = len(dims) == array.ndim
        for dim, size in zip(dims, array.shape, strict=False):
            wanted = sizes.setdefault(dim, size) if isinstance(dim, str) else dim
            fits = fits and wanted in (None, size)
        if not fits:
            shown = ", ".join("?" if d is None else f"{d}={sizes[d]}" if d in sizes else str(d) for d in dims)
            raise BadParam(argument=f"inputs[{name!r}]", expected=f"dims ({shown})", got=array.shape)
    return array


def _compute(
    onnx: Any, handle: Handle, node: Any, opset: int, values: dict[str, Any], look: Look | None, name: str, others: str
) -> bool:
    """Compute a node, and put its outputs beside the other values; tell whether portadnn does."""
    implementation = OPERATORS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if implementation is None:
        return False
    given = [values[one] for one in node.input]
    try:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        asked = Node(handle, node.op_type, attributes, tuple(bool(one) for one in node.output), opset)
        outputs = implementation(asked, *given)
    except NotSupported:
        if others == "refuse":
            raise
        return False
    except (DnnError, MemoryError):
        raise
    except Exception as error:  # of inputs and attributes that do not fit, wherever that shows
        got = f"{type(error).__name__}: {error}"
        raise BadParam(argument=f"node {name}", expected=f"what {node.op_type} takes", got=got) from error
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if look is not None:
        look(asked, name, given, outputs)
    values.update({one: value for one, value in zip(node.output, outputs, strict=False) if one})
    return True


def _compute_by_numpy(onnx: Any, model: Any, node: Any, values: dict[str, Any], name: str) -> None:
    """Compute a node by ONNX's reference evaluator, and put its outputs beside the other values.

    Raises
    ------
    NotSupported
        The evaluator fails.
    """
    make = onnx.helper
    names = [one for one in node.output if one]
    try:
        there = {one: values[one] for one in (*node.input, *_read_inside(node)) if one and one in values}
        kinds = {one: make.np_dtype_to_tensor_dtype(value.dtype) for one, value in there.items()}
        infos = [make.make_tensor_value_info(one, kinds[one], value.shape) for one, value in there.items()]
        graph = make.make_graph([node], "one", infos, [make.make_empty_tensor_value_info(one) for one in names])
        alone = make.make_model(graph, opset_imports=model.opset_import, functions=model.functions)
        results = evaluator(alone).run(None, there)
        values.update(zip(names, results, strict=True))
    except Exception as error:  # whatever NumPy and the evaluator raise
        told = f"{type(error).__name__}: {error}"
        raise NotSupported(f"node {name}: ONNX's reference evaluator cannot compute {node.op_type}: {told}") from error


def _read_inside(node: Any) -> Iterator[str]:
    """Return the names that the graphs of a node's attributes mention: some are values from outside."""
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
            yield from (one.name for one in graph.output)
            for inner in graph.node:
                yield from inner.input
                yield from _read_inside(inner)
