"""Records: what tools need to know of an operation beside its Problem.

A :class:`~portadnn.problem.Problem` says what is computed: tensors with their roles, parameters, cost. Its
:class:`Operation` says how random problems are drawn, which data has settled results, what a wrong call is, and more.
The records of a family stand in ``portadnn/ops/records/FAMILY.py`` as the tuple ``RECORDS``; tools load them, calls do
not. Another distribution names such a tuple as an entry point of the group ``portadnn.operations``.

Each thing that a record says is a facet: a field of `Operation`. To add one:

1. Write a frozen dataclass for it, here or, with helpers, in a package of the ground floor such as ``drawing/``. It
   imports no tool: neither ``diff`` nor ``migrate``, ``recording``, ``capability`` or a backend.
2. Add a field to `Operation`, without a default if every operation has to say it, and describe it under Attributes.
3. Set it in ``ops/records/``.
4. Let the tool loop over :func:`operations`, or ask ``operation(op).facet``. No tool keeps a table by operation.
5. Say in ``tests/test_operations.py`` which operations may do without.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatch
from typing import Any

from .drawing.plain import LAYOUTS, RANKS, SIZES, Describe
from .drawing.strata import Drawing
from .entry_points import foreign_records
from .enums import DnnEnum
from .errors import BadParam, shown
from .miopen_driver.form import Driver
from .problem import Problem, TensorSpec

BAD, UNSUPPORTED = "BAD_PARAM", "NOT_SUPPORTED"
Before = Iterator[tuple[Problem, Mapping[str, str]]]


@dataclass(frozen=True)
class Features:
    """The choices of an operation that capability tables are asked about, and small tensors for each.

    Modes, types and algorithms follow from the Problem and need no mention.

    Attributes
    ----------
    tensors : callable
        Choices by axis to tensors' texts by name; see :mod:`portadnn.drawing.plain`.
    given : dict
        Parameters and numbers that the plainest problem needs.
    ranks, layouts, sizes : tuple
        What the axes of these names offer, the plain one first.
    more : dict of str to tuple
        Other axes.
    implied : callable
        Choices to those that they bring with them.
    """

    tensors: Describe
    given: Mapping[str, Any] = field(default_factory=dict)
    ranks: tuple[int, ...] = RANKS
    layouts: tuple[str, ...] = LAYOUTS
    sizes: tuple[str, ...] = SIZES
    more: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    implied: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda choices: {}


@dataclass(frozen=True)
class Wrong:
    """What is forbidden to calls of an operation.

    In lines ``{t}`` is the type of the data, ``{o}`` another one, ``{p}`` that of parameters (float64 for float64 data,
    else float32) and ``{wrong}`` the other one of these. A change replaces words of the line by name; ``in_place=y:x``
    asks for shared memory, ``reserve=<`` for a byte less than is needed. Rules are broken by the least amount wherever
    there is one, so that checks that are off by one are seen, and with all else in order: a filter one larger than its
    image comes with the empty result that the formula gives.

    Attributes
    ----------
    section : str
        Where the guide says so; what is younger than version 5 follows the documentation of its version.
    right : str
        A right call's line without the operation.
    changes : dict of str to tuple of str
        By the status that is due, changes each of which makes it a wrong call.
    """

    section: str
    right: str
    changes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Filling:
    """The tensors of a case while they are made such as the operation may be given.

    Attributes
    ----------
    problem : Problem
    numbers : dict of str to float
        All its run-time numbers.
    arrays : dict of str to numpy.ndarray
        As stored, by name, filled by formula; those that are not read hold NaN.
    draw : callable
        (spec, name) to further numbers by formula.
    exact : callable
        (problem, arrays, numbers) to each output's exact numbers by name.
    """

    problem: Any
    numbers: Mapping[str, float]
    arrays: Mapping[str, Any]
    draw: Callable[[TensorSpec, str], Any]
    exact: Callable[[Problem, Sequence[Any], Mapping[str, float]], Mapping[str, Any]]

    def store(self, name: str, values: Any) -> None:
        """Replace a tensor's numbers, rounded to its type."""
        self.arrays[name][...] = getattr(self.problem, name).dtype.stored(values)


def output_of_forward(forward: type[Problem], output: str = "y") -> Callable[[Filling], None]:
    """Return what replaces a gradient's input by the output of its forward pass on x.

    Where there is no x, the numbers of the output itself stand for it.
    """

    def fit(filling: Filling) -> None:
        arrays, problem = filling.arrays, filling.problem
        x = "x" if "x" in arrays else output
        values = {f.name: getattr(problem, f.name) for f in fields(forward) if hasattr(problem, f.name)}
        known = forward(**{**values, "x": getattr(problem, x)})
        numbers = {"alpha": 1.0, "beta": 0.0}
        filling.store(output, filling.exact(known, [arrays[x].copy(), arrays[output]], numbers)[output])

    return fit


@dataclass(frozen=True)
class Data:
    """Which numbers an operation may be given, and what holds of its results then.

    Attributes
    ----------
    unsettled : tuple of (str, tuple of str, str)
        Data on which results are nobody's promise: the pattern of the operation's modes, the kinds of data, and why.
    exact : bool or callable
        Whether small whole numbers have whole results, of a problem where a callable says so.
    special : tuple of str or None
        The tensors that take NaN and infinities, if not all: others would meet padding, which engines multiply or
        leave out.
    moderate : tuple of str
        Tensors that stay of order one where others are large.
    opaque : tuple of str
        Byte buffers with gaps, which only another pass can judge.
    fit : callable or None
        Replaces values that cannot be any numbers: outputs of forward passes, variances.
    """

    unsettled: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    exact: bool | Callable[[Any], bool] = False
    special: tuple[str, ...] | None = None
    moderate: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    fit: Callable[[Filling], None] | None = None

    def unsettled_kinds(self, mode: str) -> set[str]:
        """Return the kinds of data on which the results of a mode are not settled."""
        return {kind for modes, kinds, _ in self.unsettled if fnmatch(mode, modes) for kind in kinds}

    def exact_for(self, problem: Any) -> bool:
        """Tell whether a problem has whole results of small whole numbers."""
        return self.exact(problem) if callable(self.exact) else self.exact


def counterpart(
    kind: type[Problem], problem: Problem, names: Mapping[str, str] | None = None, **more: Any
) -> tuple[Problem, Mapping[str, str]]:
    """Return a problem of another kind with the fields of this one, some under other names, and the names."""
    names = names or {}
    values = {f.name: getattr(problem, names.get(f.name, f.name), None) for f in fields(kind)} | more
    kind.complete({name: value for name, value in values.items() if value is not None})
    return kind(**values), names


def forward_call(forward: type[Problem]) -> Callable[[Any], Before]:
    """Return what yields a gradient's forward call."""

    def before(problem: Any) -> Before:
        yield counterpart(forward, problem)

    return before


@dataclass(frozen=True)
class CCall:
    """A C function that poses an operation's problems, as far as arguments and descriptors tell them.

    Attributes
    ----------
    function : str
        Of cuDNN or MIOpen.
    tensors : str
        The tensors of a problem line that cannot be derived from others. A descriptor is called NAMEDesc, or as what
        follows a slash.
    settings : dict of str to str
        The places of parameters: arguments, or fields of descriptors; the first that is known counts.
    needed : tuple of str
        Settings without which nothing is known of the problem.
    """

    function: str
    tensors: str
    settings: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """The record of one operation.

    Attributes
    ----------
    problem : type
        The class of its problems, which has its name.
    function : callable
        The public function that computes it.
    drawing : Drawing
        How random problems are drawn.
    features : Features
        What capability tables are asked about.
    wrong : Wrong
        What a wrong call is.
    data : Data
        Which data it may be given, and which has settled or exact results.
    driver : Driver or None
        How MIOpenDriver's command lines name it, where they can.
    c_calls : tuple of CCall
        The C functions that pose its problems.
    benchmarks : tuple of str
        Its lines in the benchmark sets ``calls``, without the operation. ``{t}`` is an image, ``{turned}`` the same in
        the other layout, ``{pooled}`` what windows of 3 with stride 2 make of it, ``{c}`` a number for each channel,
        ``{rows}`` a matrix.
    before : callable or None
        Problem to the calls whose results it reads, in order; each a problem, and the names that tensors have here.
    definition : Definition or None
        Of another distribution's operation: results and terms (:mod:`portadnn_backends.reference.definition`).
    rules : dict of str to sequence of dict
        Of another distribution's operation: by capability table the rules about it, as in the table's file, without
        ``op``.
    """

    problem: type[Problem]
    function: Callable[..., Any]
    drawing: Drawing
    features: Features
    wrong: Wrong
    data: Data = Data()
    driver: Driver | None = None
    c_calls: tuple[CCall, ...] = ()
    benchmarks: tuple[str, ...] = ()
    before: Callable[[Any], Before] | None = None
    definition: Any = None
    rules: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def op(self) -> str:
        """The operation's name."""
        return self.problem.op

    @property
    def algorithms(self) -> type[DnnEnum] | None:
        """The guide's algorithms of the operation, where it has some."""
        return self.problem.algorithms


@functools.cache
def operations() -> Mapping[str, Operation]:
    """Return all records by operation, sorted."""
    from .ops import records

    names = [f"{records.__name__}.{module.name}" for module in pkgutil.iter_modules(records.__path__)]
    known = [*(importlib.import_module(name).RECORDS for name in names), foreign_records()]
    return {record.op: record for record in sorted(itertools.chain(*known), key=lambda record: record.op)}


def operation(op: str) -> Operation:
    """Return an operation's record.

    Raises
    ------
    BadParam
        There is no such operation.
    """
    if op not in operations():
        raise BadParam(argument="op", expected=f"one of {', '.join(operations())}", got=shown(op))
    return operations()[op]
