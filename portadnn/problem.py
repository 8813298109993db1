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
import itertools
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, TypeVar

from .enums import FLOATS, DataType, DnnEnum, TensorFormat
from .errors import BadParam, NotSupported, public, shown

ALIGNMENT = 16  # bytes: what vector loads need
MAX_DIMS = 8  # CUDNN_DIM_MAX
MAX_SPAN = 2**48  # elements of one tensor with its gaps: no address space holds more
MAX_WORD = 500  # characters of a value in a problem line

_DTYPE_CODES = {
    DataType.FLOAT: "f32",
    DataType.DOUBLE: "f64",
    DataType.HALF: "f16",
    DataType.BFLOAT16: "bf16",
    DataType.INT32: "i32",
    DataType.UINT8: "u8",
}
_DTYPE_OF_CODE = {code: dtype for dtype, code in _DTYPE_CODES.items()}
_TENSOR = re.compile(
    r"(?P<dtype>[a-z]+\d+):(?P<dims>\d+(?:x\d+)*)(?::(?P<format>nhwc)|/(?P<strides>\d+(?:,\d+)*))?(?:@(?P<alignment>\d+))?"
)


_INTEGERS = frozenset((int,))


@functools.lru_cache(4096)
def packed_strides(dims: tuple[int, ...], format: TensorFormat = TensorFormat.NCHW) -> tuple[int, ...]:
    """Return the strides, in elements, of a gapless tensor with `dims` in logical (n, c, ...) order."""
    order = list(range(len(dims)))
    if format is TensorFormat.NHWC and len(dims) > 2:
        order = [0, *range(2, len(dims)), 1]
    return strides_in(dims, order)


def strides_in(dims: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a gapless tensor whose axes lie in `order`, the slowest first."""
    strides = [0] * len(dims)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(dims[axis], 1)
    return tuple(strides)


@dataclass(frozen=True)
class TensorSpec:
    """Type, dims and strides (in elements) of a tensor, and the alignment of its first element in bytes.

    Dims and strides are in logical order (n, c, [d,] h, w) whatever the layout; filters (k, c, [t,] r, s).
    """

    dtype: DataType
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int = ALIGNMENT

    def __post_init__(self) -> None:
        if type(self.dtype) is not DataType:
            raise BadParam(argument="dtype", expected="a DataType", got=shown(self.dtype), call="TensorSpec")
        for name, values in (("dims", self.dims), ("strides", self.strides), ("alignment", (self.alignment,))):
            if type(values) is not tuple or not _INTEGERS.issuperset(map(type, values)):
                raise BadParam(argument=name, expected="integers", got=shown(values), call="TensorSpec")

    @classmethod
    def packed(cls, dtype: DataType, dims: tuple[int, ...], format: TensorFormat = TensorFormat.NCHW) -> TensorSpec:
        """Return the gapless tensor of this type and shape."""
        return cls(dtype, dims, packed_strides(dims, format))

    @functools.cached_property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.dims)

    @functools.cached_property
    def span(self) -> int:
        """Elements from the first to the last one, gaps included; 0 for an empty tensor."""
        if self.size == 0:
            return 0
        return 1 + sum((d - 1) * s for d, s in zip(self.dims, self.strides, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take, without gaps."""
        return self.size * self.dtype.itemsize

    def same_strides(self, other: TensorSpec) -> bool:
        """Tell whether both lay their elements out alike; the stride of a dimension of one does not count."""
        return self.dims == other.dims and all(
            a == b or d <= 1 for d, a, b in zip(self.dims, self.strides, other.strides, strict=True)
        )

    def is_packed(self, format: TensorFormat = TensorFormat.NCHW) -> bool:
        """Tell whether the tensor is gapless in `format`."""
        return self.size == 0 or self.same_strides(TensorSpec(self.dtype, self.dims, packed_strides(self.dims, format)))

    @functools.cached_property
    def format(self) -> TensorFormat | None:
        """The packed format the tensor has (NCHW where both fit), or None for a strided one."""
        for format in TensorFormat:
            if self.is_packed(format):
                return format
        return None

    @functools.cached_property
    def overlapping(self) -> bool:
        """Tell whether two different indices share an address (guide section 2.3.7).

        Exact, where the guide's rule of sorted strides is not: interleaved dimensions may be free of overlap.
        """
        if self.size == 0:
            return False
        axes = sorted(((s, d - 1) for d, s in zip(self.dims, self.strides, strict=True) if d > 1), reverse=True)
        return _meets_itself(axes)

    def like(self, dims: tuple[int, ...]) -> TensorSpec:
        """Return the packed tensor of other `dims` with this one's type and, where it has one, format."""
        return TensorSpec.packed(self.dtype, dims, self.format or TensorFormat.NCHW)

    def __str__(self) -> str:
        text = f"{_DTYPE_CODES[self.dtype]}:{'x'.join(map(str, self.dims))}"
        if self.strides != packed_strides(self.dims):
            if self.strides == packed_strides(self.dims, TensorFormat.NHWC):
                text += ":nhwc"
            else:
                text += "/" + ",".join(map(str, self.strides))
        if self.alignment != ALIGNMENT:
            text += f"@{self.alignment}"
        return text

    @classmethod
    def parse(cls, text: str, argument: str = "tensor") -> TensorSpec:
        """Read the text form back.

        Raises
        ------
        BadParam
            `text` is not a tensor's text form.
        """
        match = _TENSOR.fullmatch(text) if isinstance(text, str) and len(text) < MAX_WORD else None
        dtype = _DTYPE_OF_CODE.get(match["dtype"]) if match else None
        if match is None or dtype is None:
            raise BadParam(argument=argument, expected="a tensor such as f32:8x64x56x56:nhwc", got=shown(text))
        dims = tuple(map(int, match["dims"].split("x")))
        alignment = int(match["alignment"] or ALIGNMENT)
        if alignment not in (1, 2, 4, 8, 16) or alignment < dtype.itemsize:
            raise BadParam(argument=argument, expected="an alignment of the element's bytes up to 16", got=shown(text))
        strides = packed_strides(dims, TensorFormat.NHWC if match["format"] else TensorFormat.NCHW)
        if match["strides"]:
            strides = tuple(map(int, match["strides"].split(",")))
            if len(strides) != len(dims):
                raise BadParam(argument=argument, expected=f"{len(dims)} strides", got=shown(text))
        return cls(dtype, dims, strides, alignment)


def _meets_itself(axes: list[tuple[int, int]]) -> bool:
    """Tell whether a combination of steps leads back to where it began.

    `axes` lists (stride, largest step), longest stride first. Two indices share an address when the steps
    between them, not all 0, add up to 0. Most layouts are settled without search: there each stride is longer
    than all steps along the shorter strides together.
    """
    reach = [0] * (len(axes) + 1)  # reach[k]: farthest that the axes from k on lead
    divisor = [0] * (len(axes) + 1)
    for k in range(len(axes) - 1, -1, -1):
        stride, most = axes[k]
        reach[k] = reach[k + 1] + stride * most
        divisor[k] = math.gcd(divisor[k + 1], stride)
    if all(stride > reach[k + 1] for k, (stride, _) in enumerate(axes)):
        return False
    budget = 10_000

    def search(k: int, rest: int, moved: bool) -> bool:
        """Tell whether the axes from k on can add up to -rest; `moved` when an earlier one took a step."""
        nonlocal budget
        budget -= 1
        if budget < 0:
            return True  # undecided: refused, as the guide's rule would
        if k == len(axes):
            return moved and rest == 0
        stride, most = axes[k]
        if abs(rest) > reach[k] or (rest % divisor[k] if divisor[k] else rest):
            return False
        if stride == 0:
            return rest == 0  # this axis moves without leading anywhere
        # by symmetry the first step taken is forward
        least = max(-most if moved else 0, -((rest + reach[k + 1]) // stride))
        greatest = min(most, (reach[k + 1] - rest) // stride)
        steps = itertools.chain(range(max(least, 0), greatest + 1), range(min(greatest, -1), least - 1, -1))
        return any(search(k + 1, rest + step * stride, moved or step != 0) for step in steps)

    return search(0, 0, False)


class _Kinds(dict[str, "type[Problem]"]):
    """Problem classes by operation, of the modules of operations imported so far; asking for another imports all."""

    def __missing__(self, op: str) -> type[Problem]:
        return dict(every_problem())[op]


PROBLEMS = _Kinds()


@functools.cache
def every_problem() -> dict[str, type[Problem]]:
    """Return all Problem classes by operation."""
    import importlib
    import pkgutil

    from . import ops

    for module in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        importlib.import_module(module.name)
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
    raw : tuple of str
        Byte buffers (reserve spaces, states): packed tensors of UINT8 with one dim, which may be longer than needed.
    matrices : bool
        Whether calls take 2-D arrays (n, c) for (n, c, 1): their meaning is plain.
    """

    op: ClassVar[str] = ""
    inputs: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ()
    scalars: ClassVar[dict[str, float]] = {"alpha": 1.0, "beta": 0.0}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = ()
    together: ClassVar[dict[tuple[str, str], str]] = {}
    optional: ClassVar[dict[str, str]] = {}
    absent: ClassVar[tuple[str, ...]] = ()
    raw: ClassVar[tuple[str, ...]] = ()
    matrices: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.op:
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
                check_spec(spec, name, output=name in self.outputs, types=self.types(name))

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
            words.append(f"{field.name}={_print_value(value)}")
        return " ".join(words)


def _print_value(value: Any) -> str:
    if isinstance(value, DataType):
        return _DTYPE_CODES[value]
    if isinstance(value, DnnEnum):
        return value.name.lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)


def _parse_value(kind: Any, text: str, name: str) -> Any:
    if isinstance(kind, types.UnionType):  # with None, which is not printed
        kind = next(option for option in kind.__args__ if option is not type(None))
    if kind is TensorSpec:
        return TensorSpec.parse(text, name)
    if kind is DataType:
        if text not in _DTYPE_OF_CODE:
            raise BadParam(argument=name, expected=f"one of {', '.join(_DTYPE_OF_CODE)}", got=shown(text))
        return _DTYPE_OF_CODE[text]
    if isinstance(kind, type) and issubclass(kind, DnnEnum):
        return kind.parse(text, name)
    try:
        if len(text) > MAX_WORD:
            raise ValueError
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
        return tuple(int(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise BadParam(argument=name, expected="numbers", got=shown(text[:60])) from None


@functools.cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


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
    return _parse_line(line)


def _parse_line(line: str, *, valid: bool = True) -> tuple[Problem, dict[str, float]]:
    words = line.split() if isinstance(line, str) else []
    kind = (PROBLEMS.get(words[0]) or every_problem().get(words[0])) if words else None
    if kind is None:
        raise BadParam(
            argument="line", expected=f"an operation ({', '.join(sorted(every_problem()))})", got=shown(line)
        )
    kinds = _field_types(kind)  # type: ignore[arg-type]  # a class is hashable
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
            values[name] = _parse_value(kinds[name], text, name)
        else:
            scalars[name] = _parse_value(float, text, name)
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
    return _parse_line(line)[0]


FLOAT_TYPES = tuple(dtype for dtype in DataType if dtype.is_float)


def check_spec(spec: TensorSpec, name: str, *, output: bool = False, types: tuple[DataType, ...] = FLOAT_TYPES) -> None:
    """Check what holds for every tensor.

    Raises
    ------
    BadParam
        A type other than `types`, wrong number of dims or strides, or a negative dim.
    NotSupported
        More than 8 dims, negative strides, more than 2**48 elements, or an output that overlaps itself.
    """
    if spec.dtype not in types:
        wanted = FLOATS if types == FLOAT_TYPES else " or ".join(dtype.type_name for dtype in types)
        raise BadParam(argument=f"{name}.dtype", expected=wanted, got=spec.dtype.type_name)
    if len(spec.dims) != len(spec.strides):
        raise BadParam(argument=f"{name}.strides", expected=f"{len(spec.dims)} strides", got=spec.strides)
    if len(spec.dims) < 3:
        raise BadParam(argument=f"{name}.dims", expected="3 to 8 dims", got=f"{len(spec.dims)}: {spec.dims}")
    if len(spec.dims) > MAX_DIMS:
        raise NotSupported(argument=f"{name}.dims", expected=f"at most {MAX_DIMS} dims", got=spec.dims)
    if min(spec.dims) < 0:
        raise BadParam(argument=f"{name}.dims", expected="dims >= 0", got=spec.dims)
    if min(spec.strides) < 0:
        raise NotSupported(
            "negative strides are not supported; copy the tensor first",
            argument=f"{name}.strides",
            expected="strides >= 0",
            got=spec.strides,
        )
    if spec.span > MAX_SPAN:
        raise NotSupported(argument=name, expected="at most 2**48 elements with gaps", got=spec.span)
    if output and spec.overlapping:
        raise NotSupported(
            "an output must not overlap itself", argument=name, expected="strides without overlap", got=spec
        )


def check_raw(spec: TensorSpec, name: str, least: int = 0) -> None:
    """Check a byte buffer, of which at least that many bytes are needed.

    Raises
    ------
    BadParam
        Not bytes, not packed in one dim, not aligned to 16 bytes, or too small.
    """
    if spec.dtype is not DataType.UINT8:
        raise BadParam(argument=f"{name}.dtype", expected="uint8", got=spec.dtype.type_name)
    if len(spec.dims) != 1 or (spec.dims[0] > 1 and spec.strides != (1,)):
        raise BadParam(
            argument=name, expected="packed bytes in one dim", got=f"{spec.dims} with strides {spec.strides}"
        )
    if spec.alignment != ALIGNMENT:
        raise BadParam(argument=name, expected=f"an address that is a multiple of {ALIGNMENT} bytes", got=spec)
    if spec.size < least:
        raise BadParam(argument=name, expected=f"at least {least} bytes", got=f"{spec.size} bytes")


def check_same(
    a: TensorSpec,
    name_a: str,
    b: TensorSpec,
    name_b: str,
    *,
    strides: bool = False,
    error: type[BadParam] | type[NotSupported] = BadParam,
) -> None:
    """Demand the same type and dims (and strides) of two tensors; raise `error` otherwise."""
    if a.dtype is not b.dtype:
        raise error(argument=f"{name_b}.dtype", expected=f"{a.dtype} as {name_a}", got=b.dtype)
    if a.dims != b.dims:
        raise error(argument=f"{name_b}.dims", expected=f"{a.dims} as {name_a}", got=b.dims)
    if strides and not a.same_strides(b):
        raise error(argument=f"{name_b}.strides", expected=f"{a.strides} as {name_a}", got=b.strides)
