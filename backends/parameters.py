"""The parameters of a kernel, stated once: its text declares them, its launches bind arguments in the same order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .base import Arg, ConstantArg

_NUMBERS = {"i4": "int", "u4": "u32", "u8": "u64"}


@dataclass(frozen=True)
class Parameter:
    """A parameter as the text declares it, how the text binds it to its name, and what a launch gives for it."""

    declaration: str
    binding: str
    arg: Arg | None = None


def tensor(type_: str, name: str, arg: Arg, restrict: bool = False) -> Parameter:
    """Return a pointer to elements of a type, such as ``"const T"``; `restrict` where nothing else reaches them."""
    suffix = "_RESTRICT" if restrict else ""
    return Parameter(f"TENSOR{suffix}({type_}, {name})", f"BIND{suffix}({type_}, {name})", arg)


def tensors(type_: str, names: Iterable[str], args: Iterable[Arg], restrict: bool = False) -> list[Parameter]:
    """Return pointers to elements of one type."""
    return [tensor(type_, name, arg, restrict) for name, arg in zip(names, args, strict=True)]


def number(type_: str, name: str, arg: Arg) -> Parameter:
    """Return a number that a launch brings."""
    return Parameter(f"const {type_} {name}", "", arg)


def numbers(type_: str, names: Iterable[str], args: Iterable[Arg]) -> list[Parameter]:
    """Return numbers of one type."""
    return [number(type_, name, arg) for name, arg in zip(names, args, strict=True)]


def constant(name: str, arg: ConstantArg) -> Parameter:
    """Return a number that is compiled in."""
    kind = _NUMBERS[arg.value.dtype.str[1:]]
    return Parameter("", f"const {kind} {name} = ({kind}){arg.value}")


def declare(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Return the defines of a kernel ``name(PARAMETER_LIST) { GRID_WAIT(); BIND_PARAMETERS; ... }``."""
    given = list(parameters)
    return {
        "PARAMETER_LIST": ", ".join(p.declaration for p in given if p.declaration),
        "BIND_PARAMETERS": "; ".join(p.binding for p in given if p.binding),
    }


def bind(parameters: Iterable[Parameter]) -> tuple[Arg, ...]:
    """Return the arguments of a launch."""
    return tuple(p.arg for p in parameters if p.arg is not None)
