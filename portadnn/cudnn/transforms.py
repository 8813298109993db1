"""cudnnTransformTensor between all types that cuDNN stores, and to and from vectors of channels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import portadnn as dnn

from ..errors import BadParam
from ..handle import Handle
from .descriptors import TensorDescriptor, value_of
from .integer_graphs import Composed, composed, factor, memory_of
from .memory import tensor
from .storage import Stored, is_integer, stored

_WIDE = {"DOUBLE", "INT32", "INT64"}  # whose numbers FLOAT does not hold


def cudnnTransformTensor(handle, xDesc, raw_x, yDesc, raw_y, alpha, beta):
    x, y = (value_of(desc, TensorDescriptor, name) for desc, name in ((xDesc, "xDesc"), (yDesc, "yDesc")))
    if not is_integer(x, y) and x.dtype is y.dtype:
        given, out = tensor(handle, xDesc, raw_x, "x"), tensor(handle, yDesc, raw_y, "y")
        dnn.transform_tensor(handle, given, out, alpha=alpha, beta=beta)
        return
    if x.dims != y.dims:
        raise BadParam(argument="y.dims", expected=f"{x.dims} as x", got=y.dims)
    converted(handle, (stored(x), raw_x, "x"), (stored(y), raw_y, "y"), alpha, beta)


def converted(
    handle: Handle, source: tuple[Stored, Any, str], dest: tuple[Stored, Any, str], alpha: Any, beta: Any
) -> None:
    """Compute ``dest = alpha * source + beta * dest`` of equal dims, rounded to the type of `dest` and saturated.

    Parameters
    ----------
    source, dest
        A layout, memory, and its name in C.
    """
    (x, given, x_name), (y, out, y_name) = source, dest
    lanes = sorted({x.lanes, y.lanes} - {1})
    dims, (x_steps, y_steps) = split(x.dims, (x, y), lanes)
    placed(handle, (x.type, dims, x_steps, given, x_name), (y.type, dims, y_steps, out, y_name), alpha, beta)


Placed = tuple[str, tuple[int, ...], tuple[int, ...], Any, str]


def placed(handle: Handle, source: Placed, dest: Placed, alpha: Any, beta: Any) -> None:
    """Compute ``dest = alpha * source + beta * dest``, each a type, dims, strides, memory and its name in C."""
    (x_type, dims, x_steps, given, x_name), (y_type, _, y_steps, out, y_name) = source, dest
    alpha, beta = factor(alpha, "alpha"), factor(beta, "beta")
    memory = {
        "x": memory_of(handle, given, x_name, x_type),
        "y": memory_of(handle, out, y_name),
        "prior": out,
        "alpha": alpha,
        "beta": beta,
    }
    memory["prior"] = memory["y"]
    forms = (alpha == 1, beta == 0)
    key = ("transform", x_type, x_steps, y_type, y_steps, dims, *forms)

    def make() -> Composed:
        made = Composed(handle, "DOUBLE" if _WIDE & {x_type, y_type} else "FLOAT")
        total = made.laid_out("x", x_type, dims, x_steps)
        total = made.graph.identity(total) if forms[0] else made.scaled(total, "alpha", len(dims))
        if not forms[1]:
            prior = made.scaled(made.laid_out("prior", y_type, dims, y_steps), "beta", len(dims))
            total = made.graph.add(total, prior)
        made.stored("y", made.type(y_type), dims, y_steps, total)
        return made

    composed(handle, key, make).run(memory)


def split(
    dims: tuple[int, ...], places: Sequence[Stored], lanes: Sequence[int]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return dims whose channels are split at multiples of each number of `lanes`, and each layout's strides there."""
    n, c, *others = dims
    blocks = [1, *lanes]  # channels from one index to the next, from the innermost on
    sizes = [high // low for low, high in itertools.pairwise(blocks)] + [c // blocks[-1]]
    steps = []
    for place in places:
        block = place.steps[1]  # from one vector to the next
        inner = [low // place.lanes * block if low >= place.lanes else low for low in blocks]
        outer = place.steps[2:] if place.lanes == 1 else place.steps[3:]
        steps.append((place.steps[0], *reversed(inner), *outer))
    return (n, *reversed(sizes), *others), steps
