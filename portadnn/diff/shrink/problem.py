"""Changing a problem: some of its sizes or parameters are replaced, and the rest follows.

Tensors that the others determine (a result's, most often) get the dims that they must have and keep their type and
layout. Which tensors these are, and which dims have to change together, is found by trying: what is not valid is not
what was meant.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from ...errors import DnnError
from ...ops.attention.problems import Attention
from ...ops.convolution.calls import Convolution
from ...ops.rnn.problems import RNN
from ...problem import Problem, TensorSpec
from .attention import attention_numbers, attention_sizes, attention_with
from .rnn import rnn_with, sizes

Place = tuple[str, int]  # a tensor and an axis of it, or a parameter and a place in its tuple (0 for a plain number)


def reshaped(spec: TensorSpec, dims: tuple[int, ...]) -> TensorSpec:
    """Return a tensor of other dims with the same type, alignment and layout; one with gaps keeps its strides."""
    if spec.format is None and len(dims) == len(spec.dims):
        return replace(spec, dims=dims)
    return replace(spec.like(dims), alignment=spec.alignment)


@functools.lru_cache(1024)
def derived(problem: Problem) -> tuple[str, ...]:
    """Return the tensors whose dims follow from the others and the parameters."""
    given = _given(problem)
    found: list[str] = []
    for name in reversed(problem.names):
        values = {key: value for key, value in given.items() if key not in (*found, name)}
        try:
            type(problem).complete(values)
        except DnnError:
            continue
        made = values.get(name)
        if made is not None and made.dims == getattr(problem, name).dims and all(key in values for key in found):
            found.append(name)
    return tuple(found)


def _given(problem: Problem) -> dict[str, Any]:
    values = {f.name: getattr(problem, f.name) for f in fields(problem)}
    return {name: value for name, value in values.items() if value is not None}


def changed(problem: Problem, changes: Mapping[str, Any]) -> Problem | None:
    """Return a problem with other fields, and with what follows from them; None where that is no valid problem.

    Parameters
    ----------
    changes
        By field. None leaves a tensor out.
    """
    try:
        if isinstance(problem, RNN):
            found: Problem = rnn_with(problem, changes)
        elif isinstance(problem, Attention):
            found = attention_with(problem, changes)
        else:
            values = {name: value for name, value in _given(problem).items() if name not in derived(problem)}
            values.update(changes)
            type(problem).complete(values)
            for name in problem.tensor_names():
                before = getattr(problem, name)
                if before is None and name not in changes:
                    values.pop(name, None)
                elif name in derived(problem) and name not in changes:
                    values[name] = reshaped(before, values[name].dims)
            found = type(problem)(**values)
        found.validate()
    except (DnnError, KeyError, IndexError):
        return None
    return found


def replaced(problem: Problem, changes: Mapping[str, Any], *, valid: bool) -> Problem | None:
    """Return a problem with other fields and nothing else changed; None where it is not valid but should be."""
    found = replace(problem, **changes)
    try:
        if valid:
            found.validate()
    except DnnError:
        return None
    return found


def places(problem: Problem, *, valid: bool = True) -> list[Place]:
    """Return where a problem has sizes that are nobody else's."""
    if isinstance(problem, RNN) and valid:
        return [(name, 0) for name in (*sizes(problem), "hidden_size", "num_layers")]
    if isinstance(problem, Attention) and valid:
        return [(name, 0) for name in (*attention_sizes(problem), *attention_numbers(problem))]
    follow = derived(problem) if valid else ()
    found: list[Place] = []
    for f in fields(problem):
        value = getattr(problem, f.name)
        if isinstance(value, TensorSpec):
            if f.name not in (*follow, *problem.raw):
                found += [(f.name, axis) for axis in range(len(value.dims))]
        elif isinstance(value, tuple) and value:
            found += [(f.name, index) for index in range(len(value))]
        elif type(value) is int and f.name != "axis":
            found.append((f.name, 0))
    return found


def size_at(problem: Problem, place: Place) -> int | None:
    """Return the size at a place; None where the problem has no such place any more."""
    name, index = place
    value = getattr(problem, name, None)
    if value is None and isinstance(problem, (RNN, Attention)):
        value = (sizes(problem) if isinstance(problem, RNN) else attention_sizes(problem)).get(name)
    if isinstance(value, TensorSpec):
        value = value.dims
    if isinstance(value, tuple):
        return int(value[index]) if index < len(value) else None
    return value if type(value) is int else None


def resized(problem: Problem, place: Place, size: int, *, valid: bool = True) -> Iterator[Problem]:
    """Yield problems with another size at a place: with as little else changed as is valid, and otherwise the same.

    Parameters
    ----------
    valid
        False for a case that must fail: there every way to change the size is yielded.
    """
    old = size_at(problem, place)
    if old is None:
        return
    if isinstance(problem, (RNN, Attention)) and valid:
        found = changed(problem, {place[0]: size})
        yield from () if found is None else (found,)
        return
    if isinstance(problem, Convolution) and valid and problem.groups > 1:
        yield from _grouped(problem, place, size)
        return
    name, axis = place
    others = places(problem, valid=valid)
    same = {other for other in others if size_at(problem, other) == old}
    level = {other for other in same if other[1] == axis}
    beside = {other for other in level if _rank(problem, other[0]) == _rank(problem, name)}
    seen = []
    for together in ({place}, {place} | beside, {place} | level, {place} | same):
        if together in seen:
            continue
        seen.append(together)
        changes = _changes(problem, together, size)
        other = changed(problem, changes) if valid else replaced(problem, changes, valid=False)
        if other is not None:
            yield other
            if valid:
                break
    if valid and _rank(problem, name) == len(problem.tensors[0].dims) - 2:
        yield from _same_result(problem, place, size)


def _rank(problem: Problem, name: str) -> int:
    value = getattr(problem, name)
    return len(value.dims) if isinstance(value, TensorSpec) else len(value) if isinstance(value, tuple) else 0


def _changes(problem: Problem, where: set[Place], size: int) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, index in where:
        value = changes.get(name, getattr(problem, name))
        if isinstance(value, TensorSpec):
            changes[name] = reshaped(value, (*value.dims[:index], size, *value.dims[index + 1 :]))
        elif isinstance(value, tuple):
            changes[name] = (*value[:index], size, *value[index + 1 :])
        else:
            changes[name] = size
    return changes


def _grouped(problem: Convolution, place: Place, size: int) -> Iterator[Problem]:
    """Yield convolutions of several groups with another size: channels and filters are so many for each group."""
    name, axis = place
    groups = problem.groups
    image, filter = problem.image, problem.filter
    k, c = filter.dims[0] // groups, filter.dims[1]
    wanted: list[tuple[int, int, int]] = []  # groups, filters and channels of each
    if name == "groups":
        wanted = [(size, k, c)]
        if k * groups % size == 0 and c * groups % size == 0:
            wanted.append((size, k * groups // size, c * groups // size))
    elif name == problem.roles[1] and axis == 0:
        wanted = [(groups, size // groups, c)] if size % groups == 0 else []
    elif (name, axis) == (problem.roles[1], 1):
        wanted = [(groups, k, size)]
    elif (name, axis) == (problem.roles[0], 1):
        return
    else:
        found = changed(problem, _changes(problem, {place}, size))
        if found is not None:
            yield found
        return
    for g, filters, channels in wanted:
        changes = {
            "groups": g,
            problem.roles[0]: reshaped(image, (image.dims[0], g * channels, *image.dims[2:])),
            problem.roles[1]: reshaped(filter, (g * filters, channels, *filter.dims[2:])),
        }
        found = changed(problem, changes) if filters and channels else None
        if found is not None:
            yield found


def _same_result(problem: Any, place: Place, size: int) -> Iterator[Problem]:
    """Yield the problem with another parameter of a window, and a smaller image whose result has the same size."""
    image, result = getattr(problem, "roles", ("x", "", "y"))[::2]
    if result not in derived(problem) or image in derived(problem):
        return
    axis, dims = 2 + place[1], getattr(problem, image).dims
    for length in range(dims[axis] - 1, 0, -1):
        smaller = reshaped(getattr(problem, image), (*dims[:axis], length, *dims[axis + 1 :]))
        found = changed(problem, {**_changes(problem, {place}, size), image: smaller})
        if found is not None and getattr(found, result).dims == getattr(problem, result).dims:
            yield found
            return
