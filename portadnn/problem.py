"""Problems: what to compute, without data. Every layer of portadnn speaks about these.

A Problem is a frozen dataclass whose fields are :class:`TensorSpec` objects and the operation's parameters.
It validates itself, counts its work, and has a one-line text form::

    convolution_forward x=f32:8x64x56x56 w=f32:64x64x3x3 y=f32:8x64x56x56 padding=1,1 stride=1,1

which :func:`parse` reads back. Tensors print as ``dtype:dims``, then ``:nhwc`` or ``/strides`` when they are
not packed NCHW, then ``@bytes`` when the address is aligned to less than 16 bytes. Numbers that do not choose
a plan (alpha, beta, ...) may follow; :func:`parse_line` returns them apart.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, TypeVar

from .entry_points import foreign_records
from .enums import DataType, DnnEnum
from .errors import BadParam, public, shown
from .problem_line import field_types, parse_value, print_value
from .specs import (
    ALIGNMENT,
    FLOAT_TYPES,
    IMAGE_RANKS,
    MAX_DIMS,
    MAX_SPAN,
    TensorSpec,
    check_raw,
    check_same,
    check_spec,
    packed_strides,
    strides_in,
)

__all__ = [
    "ALIGNMENT",
    "FLOAT_TYPES",
    "MAX_DIMS",
    "MAX_SPAN",
    "PROBLEMS",
    "Problem",
    "TensorSpec",
    "check_raw",
    "check_same",
    "check_spec",
    "every_problem",
    "packed_strides",
    "parse",
    "parse_line",
    "read_line",
    "strides_in",
]


class _Kinds(dict[str, "type[Problem]"]):
    """Problem classes by operation, of the modules of operations imported so far; asking for another imports all."""

    def __missing__(self, op: str) -> type[Problem]:
        return dict(every_problem())[op]


PROBLEMS = _Kinds()


@functools.cache
def every_problem() -> dict[str, type[Problem]]:
    """Return all Problem classes by operation, those of other distributions included."""
    import pkgutil

    from . import ops

    for module in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        if ".records" not in module.name:
            importlib.import_module(module.name)
    foreign_records()
    return PROBLEMS


P = TypeVar("P", bound="Problem")


@dataclass(frozen=True)
class Problem:
    """Base of all problems. Subclasses declare their fields in the order of the C function.

    Attributes
    ----------
    op : str
        The public function and the first word of the text form.
    inputs, outputs : tuple of str
        Names of the tensor fields that are read and written, in the order in which plans take them
        (inputs first). An output is also read when its beta is not 0.
    scalars : dict
        Run-time numbers with their defaults, in the order in which plans take them.
    in_place : tuple of (str, str)
        Pairs (output, input) that may be the very same memory with the same layout.
    together : dict
        For such a pair, the other input that must then be the same memory as well.
    optional : dict
        Inputs that a call may leave out, with the run-time number that scales each. With that number 0 the input is
        not read, and the (last) output stands in for it; otherwise it has to be given.
    absent : tuple of str
        Tensors that a problem may do without: their fields may be None, and a call says so by passing None.
    rounds_between : bool
        Whether what passes from one product to the next may be rounded to the stored type (:func:`tolerance`).
    raw : tuple of str
        Byte buffers (reserve spaces, states): packed tensors of UINT8 with one dim, which may be longer than needed.
    matrices : bool
        Whether calls take 2-D arrays (n, c) for (n, c, 1): their meaning is plain.
    ranks : dict of str to (int, int)
        The least and the largest number of dims of tensors that are no images.
    letters : dict of str to sequence of str
        Names of tensors' dims where they are not "ncdhw"; of five, the third is that of images with depth.
    algorithms : type or None
        The guide's algorithms that a call may ask for.
    """

    op: ClassVar[str] = ""
    inputs: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ()
    scalars: ClassVar[dict[str, float]] = {"alpha": 1.0, "beta": 0.0}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = ()
    together: ClassVar[dict[tuple[str, str], str]] = {}
    optional: ClassVar[dict[str, str]] = {}
    absent: ClassVar[tuple[str, ...]] = ()
    rounds_between: ClassVar[bool] = False
    raw: ClassVar[tuple[str, ...]] = ()
    matrices: ClassVar[bool] = False
    ranks: ClassVar[dict[str, tuple[int, int]]] = {}
    letters: ClassVar[Mapping[str, Sequence[str]]] = {}
    algorithms: ClassVar[type[DnnEnum] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("op"):  # a kind of its own, not another form of one
            PROBLEMS[cls.op] = cls

    def validate(self) -> None:
        """Check everything that can be known without data.

        Raises
        ------
        BadParam, NotSupported
            As the guide lists for the call, naming the field at fault.
        """
        for name, spec in zip(self.names, self.tensors, strict=True):
            if name in self.raw:
                check_raw(spec, name)
            else:
                ranks = self.ranks.get(name, IMAGE_RANKS)
                check_spec(spec, name, output=name in self.outputs, types=self.types(name), ranks=ranks)

    def types(self, name: str) -> tuple[DataType, ...]:
        """Return the types that a tensor may have; by default those that operations compute in."""
        return FLOAT_TYPES

    @classmethod
    def tensor_names(cls) -> tuple[str, ...]:
        """Names of all tensor fields, inputs then outputs."""
        return cls.inputs + cls.outputs

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the tensors that this problem has, in the order in which plans take them."""
        return tuple(name for name in self.tensor_names() if getattr(self, name) is not None)

    @functools.cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """The tensor specs in the order in which plans take them."""
        return tuple(getattr(self, name) for name in self.names)

    def index(self, name: str) -> int:
        """Return a tensor's place in that order."""
        return self.names.index(name)

    @functools.cached_property
    def written(self) -> tuple[str, ...]:
        """Names of the outputs that this problem has."""
        return tuple(name for name in self.outputs if getattr(self, name) is not None)

    @property
    def dtype(self) -> DataType:
        """Storage type of the first tensor."""
        if not self.tensors:
            raise BadParam(argument="problem", expected="the Problem of an operation", got="one without tensors")
        return self.tensors[0].dtype

    def parse_algo(self, name: str) -> DnnEnum:
        """Return the guide's algorithm of that name.

        Raises
        ------
        BadParam
            The operation has no such algorithm.
        """
        if self.algorithms is None:
            raise BadParam(argument="algo", expected=f"none: {self.op} has no algorithms", got=shown(name))
        return self.algorithms.parse(name, "algo")

    def flops(self) -> int:
        """Return the floating-point operations that the definition needs."""
        return sum(getattr(self, name).size for name in self.written)

    def reduction_length(self, output: str) -> int:
        """Return how many terms the longest sum behind one element of an output has."""
        return 1

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return what the public function of this problem takes after the handle, positional and by keyword.

        Parameters
        ----------
        arrays
            The problem's tensors by name. Run-time numbers come as keywords besides.
        """
        return [arrays.get(name) for name in self.tensor_names()], {}

    def bytes(self) -> int:
        """Return the fewest bytes to move: every input read once, every output written once."""
        return sum(spec.nbytes for spec in self.tensors)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        """Return the names of the tensors that are not read with these run-time numbers."""
        names = {name for name, number in self.optional.items() if numbers[number] == 0}
        if numbers.get("beta", 0.0 if self.inputs else 1.0) == 0:
            names.update(self.outputs)
        return names

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        """Fill in tensors that follow from the others, in place. Used by :meth:`of` and :func:`parse`; optional."""

    @classmethod
    def of(cls: type[P], specs: Sequence[TensorSpec | None], params: Any) -> P:
        """Return the valid Problem of tensors and parameters.

        Parameters
        ----------
        specs
            In the order of ``tensor_names()``. None stands for an optional input or for an output that follows.
        params
            A descriptor with ``.params``, or a tuple of these and of values, in the order of the other fields.

        Raises
        ------
        BadParam
            A tensor is missing, or the parameters are of another kind of problem.
        """
        names = cls.tensor_names()
        values: dict[str, Any] = {}
        for name, spec in zip(names, specs, strict=True):
            if spec is not None:
                values[name] = spec
            elif name in cls.inputs and name not in cls.optional and name not in cls.absent:
                raise BadParam(argument=name, expected="a tensor", got=None)
        given = params if isinstance(params, tuple) else (params,)
        words = [word for param in given for word in getattr(param, "params", (param,))]
        others = [field.name for field in fields(cls) if field.name not in names]
        if len(words) != len(others):
            raise BadParam(argument="descriptor", expected=f"the descriptor of {cls.op}", got=shown(params))
        values.update(zip(others, words, strict=True))
        cls.complete(values)
        missing = [name for name in names if name not in values and name not in cls.absent]
        if missing:
            raise BadParam(argument=missing[0], expected="a tensor, because its shape does not follow", got=None)
        problem = cls(**values)
        problem.validate()
        return problem

    def __str__(self) -> str:
        words = [self.op]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is not MISSING and value == field.default:
                continue
            words.append(f"{field.name}={print_value(value)}")
        return " ".join(words)


def _graph_lines() -> Any:
    """Return the module that reads the problem lines of graphs."""
    return importlib.import_module(f"{__package__}.graph.lines")


@public
def parse_line(line: str) -> tuple[Problem, dict[str, float]]:
    """Read a problem line and the run-time numbers that follow it.

    Returns
    -------
    problem : Problem
        Validated.
    scalars : dict of str to float
        Those numbers of ``problem.scalars`` that the line gives.

    Raises
    ------
    BadParam, NotSupported
        The line is no problem line, or its problem is not valid.
    """
    return read_line(line)


def read_line(line: str, *, valid: bool = True) -> tuple[Problem, dict[str, float]]:
    """Read a problem line as :func:`parse_line` does; its problem need not be valid if `valid` is False."""
    words = line.split() if isinstance(line, str) else []
    kind = (PROBLEMS.get(words[0]) or every_problem().get(words[0])) if words else None
    if kind is None and words and _graph_lines().begins(words[0]):
        return _graph_lines().read(line), {}
    if kind is None:
        raise BadParam(
            argument="line", expected=f"an operation ({', '.join(sorted(every_problem()))})", got=shown(line)
        )
    kinds = field_types(kind)  # type: ignore[arg-type]  # a class is hashable
    values: dict[str, Any] = {}
    scalars: dict[str, float] = {}
    for word in words[1:]:
        name, equals, text = word.partition("=")
        if not equals or name not in kinds.keys() | kind.scalars.keys():
            known = ", ".join([*kinds, *kind.scalars])
            raise BadParam(argument=kind.op, expected=f"name=value with a name of {known}", got=shown(word[:60]))
        if name in values or name in scalars:
            raise BadParam(argument=kind.op, expected=f"{name} once", got="it twice")
        if name in kinds:
            values[name] = parse_value(kinds[name], text, name)
        else:
            scalars[name] = parse_value(float, text, name)
    kind.complete(values)
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in values]
    if missing:
        raise BadParam(argument=kind.op, expected=f"{', '.join(missing)} in the line", got=shown(line))
    problem = kind(**values)
    if valid:
        problem.validate()
    return problem, scalars


@public
def parse(line: str) -> Problem:
    """Read a problem line; see :func:`parse_line`."""
    return read_line(line)[0]
