"""What a case can be made simpler in: each step is one thing about it, with what it could be instead.

A step is a function from a case to cases that are simpler in that one thing, plainest first. No step makes anything
more complicated that an earlier one in the order of this module makes simpler, so that shrinking comes to an end.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np

from ...bfloat16 import as_float64
from ...enums import ActivationMode, DataType, DnnEnum
from ...errors import DnnError
from ...ops.attention.problems import Attention
from ...ops.rnn.problems import RNN
from ...problem import ALIGNMENT, Problem, TensorSpec
from ..cases import Case, one_memory, problem_line
from ..data import DATA_MODES, Fill, kind_of
from ..inputs import make_buffers
from .problem import Place, changed, places, replaced, resized, size_at

Step = Callable[[Case], Iterator[Case]]

SMALL = 8  # sizes up to it are tried one by one
PLACES = 12  # of a tensor's numbers are tried alone
_PLAINEST: dict[type[DnnEnum], tuple[DnnEnum, ...]] = {ActivationMode: (ActivationMode.RELU, ActivationMode.IDENTITY)}
_NUMBERS = (1.0, 0.0, 2.0, 0.5)  # after a default


def rewritten(case: Case, problem: Problem | None, numbers: dict[str, float] | None = None) -> Iterator[Case]:
    """Yield a case with another problem, where there is one that is another, without what it cannot have any more."""
    numbers = case.numbers if numbers is None else numbers
    if problem is None or (problem == case.problem and numbers == case.numbers):
        return
    if case.alias and not (set(case.alias) <= set(problem.names) and one_memory(problem, case.alias)):
        return
    fills = {
        name: fill if fill.place is None else Fill(fill.value, min(fill.place, max(spec.size - 1, 0)))
        for name, spec in zip(problem.names, problem.tensors, strict=True)
        if (fill := case.fills.get(name)) is not None
    }
    yield replace(case, line=problem_line(problem, numbers), fill=_text(fills))


def shortened(case: Case) -> Case:
    """Return the same case without the words of its line that follow from the others."""
    if _must_fail(case):
        return case
    op, *words = case.line.split()
    for word in reversed(words):
        fewer = replace(case, line=" ".join([op, *(other for other in words if other != word)]))
        try:
            same = fewer.problem == case.problem and fewer.numbers == case.numbers
        except DnnError:
            continue
        if same:
            words.remove(word)
    return replace(case, line=" ".join([op, *words]))


def _text(fills: dict[str, Fill]) -> str:
    return ",".join(f"{name}:{fill}" for name, fill in fills.items())


def _must_fail(case: Case) -> bool:
    return case.expect != "SUCCESS"


def _with(case: Case, changes: dict[str, Any]) -> Iterator[Case]:
    """Yield the case with other fields of its problem, where that is valid."""
    yield from rewritten(
        case, replaced(case.problem, changes, valid=False) if _must_fail(case) else changed(case.problem, changes)
    )


# what is not a size


def _word(name: str, case: Case) -> Iterator[Case]:
    """Leave a word of the case out."""
    if getattr(case, name):
        yield replace(case, **{name: ""})  # type: ignore[arg-type]  # a word's name


def _dtype(case: Case) -> Iterator[Case]:
    """Make all numbers float32."""
    specs = {n: s for n, s in zip(case.problem.names, case.problem.tensors, strict=True) if s.dtype.is_float}
    changes: dict[str, Any] = {
        name: replace(spec, dtype=DataType.FLOAT, alignment=max(spec.alignment, 4)) for name, spec in specs.items()
    }
    if getattr(case.problem, "compute_type", None) is not None:
        changes["compute_type"] = None
    if isinstance(case.problem, (RNN, Attention)):
        yield from _with(case, changes)
    else:
        yield from rewritten(case, replaced(case.problem, changes, valid=not _must_fail(case)))


def _absent(case: Case) -> Iterator[Case]:
    """Leave out tensors that a call may do without: all, or two that belong together, or one."""
    present = [name for name in case.problem.absent if name in case.problem.names]
    for count in sorted({len(present), 2, 1} - {0}, reverse=True):
        for names in itertools.combinations(present, count):
            yield from _with(case, dict.fromkeys(names))


def _value(name: str, case: Case) -> Iterator[Case]:
    """Take a plainer name or fraction for a parameter."""
    field = next(f for f in fields(case.problem) if f.name == name)
    value = getattr(case.problem, name)
    order: list[Any] = [] if field.default is MISSING else [field.default]
    if isinstance(value, DnnEnum) and not isinstance(value, DataType):
        order += [*_PLAINEST.get(type(value), ()), *type(value)]
    elif isinstance(value, float):
        order += _NUMBERS
    for plainer in itertools.takewhile(lambda other: other != value, order):
        yield from _with(case, {name: plainer})


def _number(name: str, case: Case) -> Iterator[Case]:
    """Take a plainer run-time number."""
    order = (case.problem.scalars[name], *_NUMBERS)
    for plainer in itertools.takewhile(lambda other: other != case.numbers[name], order):
        yield from rewritten(case, case.problem, {**case.numbers, name: plainer})


def _layout(names: tuple[str, ...], case: Case) -> Iterator[Case]:
    """Lay tensors out without gaps, in the usual order, and at aligned addresses."""
    found = {name: getattr(case.problem, name) for name in names}
    packed = {n: TensorSpec.packed(s.dtype, s.dims) for n, s in found.items() if s is not None}
    aligned = {n: replace(s, alignment=ALIGNMENT) for n, s in found.items() if s is not None}
    for changes in (packed, aligned):
        if any(getattr(case.problem, name) != spec for name, spec in changes.items()):
            yield from rewritten(case, replaced(case.problem, changes, valid=not _must_fail(case)))


def plain_steps(case: Case) -> list[tuple[str, Step]]:
    """Return, by name, what can be plainer about a case besides its sizes and its data."""
    problem = case.problem
    named: list[tuple[str, Step]] = [
        ("in_place", functools.partial(_word, "in_place")),
        ("algo", functools.partial(_word, "algo")),
        ("dtype", _dtype),
        ("absent", _absent),
        ("layouts", functools.partial(_layout, problem.names)),
    ]
    named += [(f"layout {name}", functools.partial(_layout, (name,))) for name in problem.names]
    tensors = problem.tensor_names()
    others = [f.name for f in fields(problem) if f.name not in tensors]
    single = [name for name in others if not isinstance(getattr(problem, name), tuple)]
    named += [(name, functools.partial(_value, name)) for name in single]
    if getattr(problem, "batch_sizes", ()):
        named.append(("batch_sizes", lambda case: _with(case, {"batch_sizes": ()})))
    named += [(name, functools.partial(_number, name)) for name in problem.scalars]
    return named


# sizes


def smaller(size: int, least: int) -> Iterator[int]:
    """Yield sizes below one: in large steps first, then small sizes and those with the same remainders."""
    powers = [2**k for k in range(size.bit_length(), -1, -1)]
    ways: Iterable[Iterable[int]] = (
        (least,),
        (size - size // p for p in powers[::-1] if p > 1),
        (size - p for p in powers),
        range(least, SMALL + 1),
        (size // p for p in (2, 3, 5, 7) if size % p == 0),
    )
    seen = set()
    for other in itertools.chain.from_iterable(ways):
        if least <= other < size and other not in seen:
            seen.add(other)
            yield other


def _least(problem: Problem, place: Place) -> int:
    """Return the smallest size there can be; whether it is valid is another matter."""
    value = getattr(problem, place[0], None)
    return 0 if place[0] in ("padding", "seed") or (value == 0 and type(value) is int) else 1


def _size(place: Place, case: Case) -> Iterator[Case]:
    problem = case.problem
    size = size_at(problem, place)
    if size is None:
        return
    for other in smaller(size, _least(problem, place)):
        for found in resized(problem, place, other, valid=not _must_fail(case)):
            yield from rewritten(case, found)


def _rank(case: Case) -> Iterator[Case]:
    """Leave a spatial axis out, along which all tensors are 1 long."""
    problem = case.problem
    rank = max(len(spec.dims) for spec in problem.tensors)
    if rank <= 4 or _must_fail(case):
        return
    for axis in range(2, rank):
        changes: dict[str, Any] = {}
        for f in fields(problem):
            value = getattr(problem, f.name)
            if isinstance(value, TensorSpec) and len(value.dims) == rank:
                if value.dims[axis] != 1:
                    break
                cut = [(d, s) for i, (d, s) in enumerate(zip(value.dims, value.strides, strict=True)) if i != axis]
                changes[f.name] = replace(value, dims=tuple(d for d, _ in cut), strides=tuple(s for _, s in cut))
            elif isinstance(value, tuple) and len(value) in (rank, rank - 2):
                place = axis - (rank - len(value))
                changes[f.name] = value[:place] + value[place + 1 :]
        else:
            yield from rewritten(case, replaced(problem, changes, valid=True))


def size_steps(case: Case) -> list[tuple[str, Step]]:
    """Return, by name, the sizes that a case could have less of."""
    found = places(case.problem, valid=not _must_fail(case))
    order = sorted(found, key=lambda place: place[0] != "groups")
    steps: list[tuple[str, Step]] = [(f"{name}[{i}]", functools.partial(_size, (name, i))) for name, i in order]
    return [*steps, ("rank", _rank)]


def capped(case: Case, most: int) -> Case:
    """Return the case with all sizes that allow it at `most` or less; what must be even is 2 at least."""
    for _ in range(2):  # a filter has to be smaller before its image can be
        for name, index in places(case.problem, valid=not _must_fail(case)):
            size = size_at(case.problem, (name, index))
            if size is not None and size > most:
                sizes = [most, most - 1 if most > 1 else 2]  # one of them is even
                ways = (resized(case.problem, (name, index), n, valid=not _must_fail(case)) for n in sizes if n < size)
                found = next(itertools.chain.from_iterable(ways), None)
                case = next(rewritten(case, found), case)
    return case


# data


def _mode(case: Case) -> Iterator[Case]:
    for mode in itertools.takewhile(lambda other: other != case.data, DATA_MODES):
        yield replace(case, data=mode)


def _seed(case: Case) -> Iterator[Case]:
    for seed in range(min(case.seed, 3)):
        yield replace(case, seed=seed)


def _fill(name: str, case: Case) -> Iterator[Case]:
    """Fill a tensor with zeros, with ones, or with zeros and one number."""
    problem = case.problem
    if name not in problem.names or name in problem.unread(case.numbers):
        return
    spec = problem.tensors[problem.index(name)]
    buffers = make_buffers(case)
    held = as_float64(buffers[name].array)
    before = case.fills.get(name)
    order = [Fill(0.0), Fill(1.0)]
    for place in np.flatnonzero(held != 0)[:PLACES]:
        order.append(Fill(1.0, int(place)))
        number = float(held.flat[place]) if spec.dtype.is_float else 0.0
        if kind_of(problem.op, name, case.data) not in ("exact", "random") and number not in (0.0, 1.0):
            order.append(Fill(number, int(place)))
    for fill in itertools.takewhile(lambda other: other != before, order):
        candidate = replace(case, fill=_text({**case.fills, name: fill}))
        try:
            after = make_buffers(candidate)
        except DnnError:
            continue
        if before is not None or any(after[n].memory.tobytes() != b.memory.tobytes() for n, b in buffers.items()):
            yield candidate


def data_steps(case: Case) -> list[tuple[str, Step]]:
    """Return, by name, what can be plainer about a case's numbers."""
    steps: list[tuple[str, Step]] = [("data", _mode), ("seed", _seed)]
    if not _must_fail(case):
        steps += [(f"fill {name}", functools.partial(_fill, name)) for name in case.problem.names]
    return steps
