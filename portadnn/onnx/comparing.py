"""Comparing an ONNX model's nodes on a backend with their definitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadParam, DnnError
from ..handle import Handle
from ..tolerance import FEW, GROWTH
from .models import check_size, element_type, load
from .running import run
from .table import OPERATORS, Array, Node


@dataclass(frozen=True)
class NodeDifference:
    """A node whose result is off: its name, operator, output, and by how much."""

    node: str
    op: str
    output: int
    message: str

    def __str__(self) -> str:
        return f"node {self.node} ({self.op}), output {self.output}: {self.message}"


@dataclass
class Comparison:
    """What came of a model on a target.

    Attributes
    ----------
    differences : list of NodeDifference
        In the order of the nodes.
    compared : Counter of str
        Nodes by operator.
    """

    target: str
    differences: list[NodeDifference] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)

    def _repr_html_(self) -> str:
        """Show in notebooks how many nodes were compared, and which are off."""
        from .._page.cells import table

        off = Counter(difference.op for difference in self.differences)
        rows = [(op, count, off[op]) for op, count in sorted(self.compared.items())]
        return table(self.target, ("operator", "nodes", "off"), rows, note="; ".join(map(str, self.differences[:3])))


def random_inputs(model: Any, dims: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Return seeded numbers for a model's inputs; dims that it leaves open are those that are given by name, or 1.

    Raises
    ------
    BadParam
        No model, a dim that it does not have, a size that is no whole number from 0 on, or inputs that are no arrays
        of numbers or larger than the host's memory.
    """
    graph, rng = load(model).graph, np.random.default_rng(seed)
    there = {dim.dim_param for one in graph.input for dim in one.type.tensor_type.shape.dim} - {""}
    for name, size in dims.items():
        if name not in there:
            raise BadParam(argument="dims", expected=f"names of open dims: {', '.join(sorted(there))}", got=name)
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
            raise BadParam(argument=f"dims[{name!r}]", expected="a whole number from 0 on", got=size)
    known = {one.name for one in graph.initializer}
    found: dict[str, Array] = {}
    for one in graph.input:
        if one.name in known:
            continue
        kind = one.type.tensor_type
        shape = tuple(dim.dim_value or dims.get(dim.dim_param, 1) for dim in kind.shape.dim)
        check_size(shape, one.name)
        dtype = element_type(kind.elem_type, one.name)
        if dtype.kind == "f" or dtype.name == "bfloat16":
            found[one.name] = rng.standard_normal(shape).astype(dtype)
        elif dtype.kind in "iub":
            found[one.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            raise BadParam(argument=one.name, expected="an input of numbers", got=str(dtype))
    return found


def compare(model: Any, inputs: Mapping[str, Any], handle: Handle, name: str = "") -> Comparison:
    """Run a model on a handle and hold each node's result against the same node in float64 by portadnn's definitions.

    A result may be off by ``(4 + 2 * sqrt(terms)) * eps`` of its largest number, where `terms` is how many numbers are
    added up for each of it; means and sums of one input, by that of the largest sum of absolute numbers there may be.

    Raises
    ------
    DnnError, OSError
        As :func:`portadnn.onnx.run`.
    """
    if not isinstance(handle, Handle):
        raise BadParam(argument="handle", expected="a portadnn.Handle", got=type(handle).__name__)
    found = Comparison(name or handle.backend)
    with Handle("reference", profile="") as reference:

        def look(node: Node, label: str, given: Sequence[Any], outputs: Sequence[Array]) -> None:
            wide = [_wide(one) for one in given]
            exact = Node(reference, node.op, node.attributes, node.wanted, node.opset)
            try:
                wants = OPERATORS[node.op](exact, *wide)
            except DnnError:
                return
            found.compared[node.op] += 1
            for place, (got, want) in enumerate(
                zip(outputs, wants if isinstance(wants, tuple) else (wants,), strict=False)
            ):
                due = np.asarray(want)
                message = _off(got, due, *_summed(node.op, place, wide, due)) if _is_float(got) else _unlike(got, due)
                if message:
                    found.differences.append(NodeDifference(label, node.op, place, message))

        run(model, inputs, backend=handle, others="numpy", look=look)
    return found


def _wide(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, np.ndarray) and _is_float(value) else value


def _is_float(array: Array) -> bool:  # of one byte there are only copies
    return (array.dtype.kind == "f" and array.dtype.itemsize > 1) or array.dtype.name == "bfloat16"


def _unlike(got: Array, want: Array) -> str:
    """Return what is wrong with a result of no floating-point numbers; "" where nothing is."""
    if got.shape != want.shape:
        return f"dims {got.shape}, expected {want.shape}"
    wrong = int((got != want).sum())
    return f"{wrong} of {got.size} whole numbers differ" if wrong else ""


def _summed(op: str, place: int, given: Sequence[Any], want: Array) -> tuple[float, float]:
    """Return how many numbers are added up for each of a result, and the largest number that may be rounded."""
    arrays = [one for one in given if isinstance(one, np.ndarray)]
    count = max(max((one.size for one in arrays), default=1) / max(want.size, 1), 1.0)
    if op in ("Conv", "ConvTranspose"):
        count = arrays[1].size / max(arrays[1].shape[0 if op == "Conv" else 1], 1)
    elif op in ("MatMul", "Gemm"):
        count = arrays[0].size / max(want.shape[0], 1) if op == "Gemm" else arrays[0].shape[-1]
    means = op in ("ReduceMean", "AveragePool", "GlobalAveragePool") or (op == "LayerNormalization" and place == 1)
    if not means and op != "ReduceSum":
        return count, _largest(want)
    return count, _largest(arrays[0]) * (1.0 if means else count)


def _largest(array: Array) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def _off(got: Array, want: Array, count: float, size: float) -> str:
    """Return what is wrong with a result of sums of `count` numbers up to `size`; "" where nothing is."""
    if got.shape != want.shape or not got.size:
        return _unlike(got, want)
    eps = 2.0**-7 if got.dtype.name == "bfloat16" else float(np.finfo(got.dtype).eps)
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.float64) - want)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        bound = (FEW + GROWTH * math.sqrt(max(count, 1.0))) * eps * size
        wrong_places = ~same & ~(error <= bound)
    if not wrong_places.any():
        return ""
    worst = np.unravel_index(int(np.where(wrong_places, np.nan_to_num(error, nan=np.inf), -1).argmax()), got.shape)
    told = f"got {float(got[worst])!r}, expected {float(want[worst])!r} at {tuple(map(int, worst))}"
    return f"{int(wrong_places.sum())} of {got.size} numbers are off, worst: {told}; {bound:.3g} is allowed"
