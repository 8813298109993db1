"""The parameters of a kernel, stated once: its text declares them, its launches bind arguments in the same order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .launch import Arg, ConstantArg

_NUMBERS = {"i4": "int", "u4": "u32", "u8": "u64"}


@dataclass(frozen=True)
class Parameter:
    """What the text calls a parameter, its type there, what a launch binds, and the macros of its kind.

    Attributes
    ----------
    kind : str
        ``""`` for numbers, ``"TENSOR"`` or ``"TENSOR_RESTRICT"`` for pointers to elements, ``"CONSTANT"`` for
        numbers that are compiled in.
    """

    type: str
    name: str
    arg: Arg
    kind: str = ""

    @property
    def declaration(self) -> str:
        """What stands in the parameter list."""
        if self.kind == "CONSTANT":
            return ""
        return f"{self.kind}({self.type}, {self.name})" if self.kind else f"const {self.type} {self.name}"

    @property
    def binding(self) -> str:
        """What stands at the top of the kernel."""
        if self.kind == "CONSTANT":
            assert isinstance(self.arg, ConstantArg)
            kind = _NUMBERS[self.arg.value.dtype.str[1:]]
            return f"const {kind} {self.name} = ({kind}){self.arg.value}"
        return f"{self.kind.replace('TENSOR', 'BIND')}({self.type}, {self.name})" if self.kind else ""


def tensor(type_: str, name: str, arg: Arg, restrict: bool = False) -> Parameter:
    """Return a pointer to elements of a type, such as ``"const T"``; `restrict` where nothing else reaches them."""
    return Parameter(type_, name, arg, "TENSOR_RESTRICT" if restrict else "TENSOR")


def tensors(type_: str, names: Iterable[str], args: Iterable[Arg], restrict: bool = False) -> list[Parameter]:
    """Return pointers to elements of one type."""
    return [tensor(type_, name, arg, restrict) for name, arg in zip(names, args, strict=True)]


def number(type_: str, name: str, arg: Arg) -> Parameter:
    """Return a number that a launch brings."""
    return Parameter(type_, name, arg)


def numbers(type_: str, names: Iterable[str], args: Iterable[Arg]) -> list[Parameter]:
    """Return numbers of one type."""
    return [number(type_, name, arg) for name, arg in zip(names, args, strict=True)]


def compiled_in(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Return the parameters with those numbers compiled in that are the same for every launch."""
    return [replace(p, kind="CONSTANT") if isinstance(p.arg, ConstantArg) else p for p in parameters]


def declare(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Return the defines of a kernel ``name(PARAMETER_LIST) { GRID_WAIT(); BIND_PARAMETERS; ... }``."""
    given = list(parameters)
    return {
        "PARAMETER_LIST": ", ".join(filter(None, (p.declaration for p in given))),
        "BIND_PARAMETERS": "; ".join(filter(None, (p.binding for p in given))),
    }


def bind(parameters: Iterable[Parameter]) -> tuple[Arg, ...]:
    """Return the arguments of a launch."""
    return tuple(p.arg for p in parameters if p.kind != "CONSTANT")
