"""What a generated function does: one call, of an implementation or of portadnn's own function, with C's arguments.

What such a function takes is found by its parameters' names. `x` is memory read with the layout of ``xDesc``, or what
``xDesc`` was set to where C has no memory `x`; `raw_x` is the memory as it came. Memory without a descriptor comes with
its size checked, unless the size is taken, too. Only portadnn's own functions get enumerations' members. ``*rest`` and
``**rest`` are all parameters that were not given yet, as they came.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import portadnn

from ...mapping import Parameter, Row
from ..refused import reason
from .front_end import FrontEnd, Place, Signature
from .text import bracketed

_READERS = {
    "cudnnTensorDescriptor_t": "tensor",
    "cudnnFilterDescriptor_t": "filter_",
    "miopenTensorDescriptor_t": "tensor",
}
_ALIASES = {"algorithm": "algo", "requested": "requestedAlgoCount", "memory_limit": "memoryLimitInBytes"}


def _folded(name: str) -> str:
    return name.lower().replace("_", "")


def _base(parameter: Parameter) -> str:
    return parameter.type.replace("const ", "")


@dataclass
class Body:
    """The body of one function.

    Attributes
    ----------
    imports : set of (Place, str)
        Names of other modules, and what they are called here.
    more : list of str
        Parameters that C's first signature lacks, as they are defined.
    defaults : dict of str to str
        Of parameters that C demands.
    used : set of str
        Parameters that stand in the call.
    """

    front_end: FrontEnd
    signature: Signature
    row: Row
    imports: set[tuple[Place, str]] = field(default_factory=set)
    more: list[str] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def lines(self) -> list[str]:
        """Return the statements."""
        name = self.signature.function.name
        known = self.front_end.implementations.get(name)
        if known is not None:
            short = f"_{name.removeprefix(self.front_end.library)}"
            self._use(known[0], short)
            return self._call(short, known[1], own=False)
        described = self._described(name)
        if described is not None:
            return described
        target = self._unified()
        if target is not None:
            self._use((f"...{target.__module__.removeprefix('portadnn.')}", target.__name__))
            return self._call(target.__name__, target, own=True)
        return self._refused(name)

    def _use(self, place: Place, name: str = "") -> str:
        self.imports.add((place, name or place[1]))
        return name or place[1]

    def _described(self, name: str) -> list[str] | None:
        """Return what creates or destroys an opaque object."""
        bare = name.removeprefix(self.front_end.library)
        if bare.startswith("Create") and not self.signature.parameters and len(self.signature.results) == 1:
            place = self.front_end.classes.get(self.signature.results[0].type.removesuffix("*").strip())
            return place and [f"    return {self._use(place)}()"]
        if bare.startswith("Destroy") and len(self.signature.parameters) == 1:
            parameter = self.signature.parameters[0]
            place = self.front_end.classes.get(_base(parameter))
            if place is None:
                return None
            self._use(("..descriptors", "destroy"))
            return [f'    destroy({parameter.name}, {self._use(place)}, "{parameter.name}")']
        return None

    def _unified(self) -> Callable[..., Any] | None:
        """Return portadnn's function, where the row has one."""
        names = [name for name in self.row.portadnn if "." not in name]
        value = getattr(portadnn, names[0], None) if names else None
        return value if inspect.isfunction(value) else None

    def _refused(self, name: str) -> list[str]:
        self._use(("...errors", "NotSupported"))
        return bracketed(4, "raise NotSupported", [f'"{reason(name)}"'], "")

    def _call(self, called: str, target: Callable[..., Any], own: bool) -> list[str]:
        parameters = inspect.signature(target).parameters
        arguments = list(self._arguments(parameters, own))
        verb = "return " if self._returns() else ""
        return bracketed(4, f"{verb}{called}", arguments, "")

    def _returns(self) -> bool:
        return bool(self.signature.results) or self.signature.function.returns not in (None, "void")

    def _arguments(self, parameters: Mapping[str, inspect.Parameter], own: bool) -> Iterator[str]:
        taken = {_folded(name.removeprefix("raw_")) for name in parameters}
        for name, parameter in parameters.items():
            if name == "later":
                self.more.append("*later: Any")
                yield "*later"
            elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                rest = (p.name for p in self.signature.parameters if p.name not in self.used)
                yield from rest if parameter.kind is parameter.VAR_POSITIONAL else (f"{name}={name}" for name in rest)
            else:
                yield from self._one(name, parameter, taken, own)

    def _one(self, name: str, parameter: inspect.Parameter, taken: set[str], own: bool) -> Iterator[str]:
        given = self._argument(name, parameter, taken, own)
        if given is None and own and parameter.default is not parameter.empty:
            return
        if given is None:
            given = self._other(name, parameter)
        yield f"{name}={given}" if parameter.kind is parameter.KEYWORD_ONLY else given

    def _other(self, name: str, parameter: inspect.Parameter) -> str:
        """Take a parameter that C lacks, or that only later versions have."""
        if parameter.default is parameter.empty:
            raise ValueError(f"{self.signature.function.name}: nothing in C for the parameter {name!r}")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in self.more:
            self.more.append("*")
        self.more.append(f"{name}: {parameter.annotation} = {parameter.default!r}".replace("'", '"'))
        return name

    def _argument(self, name: str, parameter: inspect.Parameter, taken: set[str], own: bool) -> str | None:
        function = self.signature.function
        if name.startswith("raw_"):
            self.used.add(name.removeprefix("raw_"))
            return name.removeprefix("raw_")
        wanted = function.arguments.get(name, name)
        place = self._parameter(wanted) or self._parameter(_ALIASES.get(name, ""))
        if place is not None:
            if not own and parameter.default is not parameter.empty:
                self.defaults[place.name] = f" = {parameter.default!r}"
            return self._given(place, taken, own)
        descriptor = self._parameter(f"{wanted}Desc")
        if descriptor is None and own:
            kind = str(parameter.annotation).split(" | ", maxsplit=1)[0]
            known = (p for p in self.signature.parameters if self.front_end.classes.get(_base(p), ("", ""))[1] == kind)
            descriptor = next(known, None)
        if descriptor is None:
            return None
        self.used.add(descriptor.name)
        self._use(("..descriptors", "value_of"))
        kind = self._use(self.front_end.classes[_base(descriptor)])
        return f'value_of({descriptor.name}, {kind}, "{descriptor.name}")'

    def _parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.signature.parameters if name and _folded(p.name) == _folded(name)), None)

    def _given(self, place: Parameter, taken: set[str], own: bool) -> str:
        """Return the expression for a parameter of C."""
        self.used.add(place.name)
        if "void *" in place.type:
            return self._memory(place, taken)
        choice = self.front_end.choices.get(_base(place)) if own else None
        return f'{self._use(choice)}({place.name}, "{place.name}")' if choice else place.name

    def _memory(self, place: Parameter, taken: set[str]) -> str:
        function, name = self.signature.function, place.name
        names = [function.layouts.get(name, f"{name}Desc"), f"{name.removesuffix('Data')}Desc"]
        descriptor = next((p for n in names if (p := self._parameter(n))), None)
        reader = _READERS.get(_base(descriptor)) if descriptor else None
        if descriptor is not None and reader:
            self.used.add(descriptor.name)
            reader = "optional" if name in function.null else reader
            self._use(("..memory" if self.front_end.library == "cudnn" else "..descriptors", reader))
            told = "" if descriptor.name == f"{name}Desc" else f', "{descriptor.name}"'
            return f'{reader}(handle, {descriptor.name}, {name}, "{name}"{told})'
        size = self._parameter(f"{name}SizeInBytes") or self._parameter(f"{name}Size")
        if size is None or _folded(size.name) in taken or self.front_end.library == "miopen":
            return name
        if _folded(name) == "workspace":
            self._use(("..memory", "scratch"))
            return f"scratch(handle, {name}, {size.name})"
        self._use(("..memory", "raw"))
        told = "" if size.name == f"{name}SizeInBytes" else f', "{size.name}"'
        return f'raw(handle, {name}, {size.name}, "{name}"{told})'
