"""Options of MIOpenDriver's command lines, written and read.

They are those of MIOpen 3 (driver/*_driver.hpp), in the order in which MIOpen's own log (MIOPEN_ENABLE_LOGGING_CMD)
prints them. A family's lines are a :class:`Driver` in its records.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..enums import DataType, TensorFormat
from ..errors import NotSupported
from ..mapping import table
from ..problem import Problem
from ..specs import TensorSpec

Numbers = Mapping[str, float]
Options = Mapping[str, str]
Read = Callable[[Options, str], list[str]]
SHORT = (DataType.FLOAT, DataType.HALF, DataType.BFLOAT16)
_FLAGS = {"forward": 1, "backward": 2, "backward_data": 2, "backward_filter": 4}
_SUFFIX = {DataType.FLOAT: "", DataType.HALF: "fp16", DataType.BFLOAT16: "bfp16"}
LETTERS = {
    "batchsize": "n",
    "in_channels": "c",
    "in_h": "H",
    "in_w": "W",
    "out_channels": "k",
    "fil_h": "y",
    "fil_w": "x",
    "pad_h": "p",
    "pad_w": "q",
    "conv_stride_h": "u",
    "conv_stride_w": "v",
    "dilation_h": "l",
    "dilation_w": "j",
    "forw": "F",
    "mode": "m",
    "group_count": "g",
}


class NoLine(Exception):
    """MIOpenDriver has no such problem; the text says what is missing."""


@dataclass(frozen=True)
class Driver:
    """The driver of an operation.

    Attributes
    ----------
    name : str
        The first word without data type.
    write : callable
        Problem and numbers to what follows the name of the program. Raises `NoLine`.
    read : callable or None
        Options by letter, or by long name, and a data type's code to problem lines, one for each direction. The first
        word without data type is the option without a name.
    blended : bool
        Whether it takes the run-time numbers, alpha and beta most often.
    letters : dict of str to str
        Letters of long options.
    also : tuple of str
        Other first words.
    """

    name: str
    write: Callable[[Any, Numbers], str]
    read: Read | None = None
    blended: bool = False
    letters: Mapping[str, str] = field(default_factory=lambda: LETTERS)
    also: tuple[str, ...] = ()


# writing


def first_word(name: str, spec: TensorSpec, types: Sequence[DataType] = (DataType.FLOAT, DataType.HALF)) -> str:
    """Return the first word, which has the data type in it."""
    if spec.dtype not in types:
        raise NoLine(f"{name} takes no {spec.dtype.type_name}")
    return name + ("fp64" if spec.dtype is DataType.DOUBLE else _SUFFIX[spec.dtype])


def written(**values: Any) -> str:
    """Return options, a letter each in one word, longer names with two dashes."""
    words = []
    for name, value in values.items():
        dashes = "-" if len(name) == 1 else "--"
        text = f"{value:g}" if isinstance(value, float) else str(value)
        words.append(f"{dashes}{name} {text}")
    return " ".join(words)


def image_options(spec: TensorSpec) -> dict[str, int]:
    """Return the options of an image's dims."""
    if len(spec.dims) != 4:
        raise NoLine(f"{len(spec.dims)} dims")
    return dict(zip("ncHW", spec.dims, strict=True))


def direction(problem: Problem) -> int:
    """Return the flag of the direction that an operation's name ends with."""
    return next(flag for word, flag in reversed(_FLAGS.items()) if problem.op.endswith(word))


def layouts(**specs: TensorSpec) -> dict[str, str]:
    """Return the layouts that are not the usual ones; where one is NHWC, so is what could be either."""
    if all(spec.format is not TensorFormat.NHWC for spec in specs.values()):
        return {}
    last = {name: spec for name, spec in specs.items() if spec.is_packed(TensorFormat.NHWC)}
    return {name: "NDHWC" if len(spec.dims) == 5 else "NHWC" for name, spec in last.items()}


@functools.cache
def _miopen_numbers(name: str) -> dict[str, int]:
    """Return MIOpen's numbers of the members of an enumeration of portadnn."""
    for enumeration in table().enumerations:
        if enumeration.portadnn == name:
            pairs = ((v.portadnn, v.miopen_number) for v in enumeration.values)
            return {ours: number for ours, number in pairs if ours and number is not None}
    return {}


def number(member: Any) -> int:
    """Return MIOpen's number of a member of an enumeration."""
    found = _miopen_numbers(type(member).__name__).get(member.name)
    if found is None:
        raise NoLine(f"MIOpen has no {member.name}")
    return found


# reading


def member(name: str, value: int) -> str:
    """Return the name that portadnn has for a number of MIOpen's in an enumeration of portadnn's."""
    for found, known in _miopen_numbers(name).items():
        if known == value:
            return found
    raise NotSupported(argument=name, expected=f"one of {sorted(_miopen_numbers(name).values())}", got=value)


def numbers_of(text: str) -> tuple[int, ...]:
    """Return the numbers of an option, between which commas, spaces or crosses stand."""
    return tuple(int(word) for word in re.split(r"[,x ]+", text.strip(", ")))


def directions(options: Options, names: Mapping[int, str]) -> list[str]:
    """Return the directions of the flag F, whose bits name them; 0 is all."""
    wanted = int(options.get("F", "0"))
    return [name for bit, name in names.items() if wanted == 0 or wanted & bit]


def ways(options: Options) -> list[str]:
    """Return the directions; without an option the forward one."""
    return directions({"F": options.get("F", "1")}, {1: "forward", 2: "backward"})


def wide(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return dims of any number, of which the driver takes all, as problems have them: ones follow up to 3."""
    return dims + (1,) * (3 - len(dims))


def image_dims(options: Options) -> tuple[int, ...]:
    """Return an image's dims, those of the driver where there is no option."""
    return tuple(
        int(options.get(name, default)) for name, default in zip("ncHW", ("100", "3", "32", "32"), strict=True)
    )


def tensor_text(dtype: str, dims: tuple[int, ...], layout: str = "") -> str:
    """Return a tensor as problem lines have it; layouts whose names end with C are NHWC."""
    return f"{dtype}:{'x'.join(map(str, dims))}{':nhwc' if layout.endswith('C') else ''}"


def driver(
    base: str, dims: str = "D", types: Sequence[DataType] = SHORT, read: Read | None = None, **options: Any
) -> Driver:
    """Return how MIOpenDriver names an operation: its dims, direction, and what `options` say of a problem."""

    def write(problem: Any, numbers: Numbers) -> str:
        first = problem.tensors[0]
        said = {
            dims: "x".join(map(str, first.dims)),
            "F": 2 if problem.op.endswith("backward") else 1,
            **{letter: said for letter, value in options.items() if (said := value(problem)) is not None},
        }
        return f"{first_word(base, first, types)} {written(**said)}"

    return Driver(base, write, read, letters={})
