"""Which of several definitions of a name a call means."""

from __future__ import annotations

import re

from ..names import type_of
from ..program import Expression, Index, Invocation, Member, Name
from . import types
from .binding import Binding
from .index import Known
from .memory import is_enumeration

_FEW_DEFINITIONS = 3
MOST_DEFINITIONS = 12  # that a call may mean
_RESULT = re.compile(r"(cudnnConvolution\w+Algo)Perf(?:_t|Struct)")
_ALGORITHM = re.compile(r"(?:cudnnConvolution\w+Algo|miopenConv\w+Algorithm)_t$")


class Overloads(Binding):
    """Chooses among definitions."""

    def suited(self, found: list[Known], call: Invocation) -> list[Known]:
        """Leave out overloads for other kinds of things, and those of one place in different files."""
        if len(found) == 1 or any(k.function.condition for k in found):
            return found[:_FEW_DEFINITIONS]
        owners = {types.simple(k.function.owner) for k in found}
        if len(owners) == len(found) and "" not in owners:  # a virtual method, of several classes
            return found[:MOST_DEFINITIONS]
        mine = (self.frame.function.of if self.frame.function is not None else "") or self.specialized
        if mine and any(k.function.of == mine for k in found):  # methods of the same specialization
            counts = {len(k.function.parameters) for k in found if k.function.of == mine}
            instead = [k for k in found if k.function.of == "" and len(k.function.parameters) not in counts]
            found = [k for k in found if k.function.of == mine] + instead
            if len(found) == 1:
                return found
        special = {k.function.specialization: k for k in found if k.function.specialization}
        if special:
            written = call.text.partition("(")[0].replace("->", ".").rpartition(".")[2]
            written = written if isinstance(call.callee, Name | Member) else ""
            wanted = types.template_argument(written) if "<" in written else ""
            wanted = self.meant(wanted) or wanted  # of the template that the call is in
            return [special[wanted]] if wanted in special else list(special.values())
        found = self._of_types(found, call) or found
        exact = [k for k in found if len(k.function.parameters) == len(call.arguments)]
        found = exact or found
        kinds = [self._kind_given(argument) for argument in call.arguments]
        same = [
            k
            for k in found
            if all(
                not kind or not wanted or kind == wanted
                for kind, wanted in zip(
                    kinds, (self.index.kind_of(p.type) for p in k.function.parameters), strict=False
                )
            )
        ]
        near = [k for k in same or found if k.unit is self.frame.unit or k.unit.file in self.preferred]
        left = near or same or found
        open_ = len({tuple(filter(_chooses, map(self._type_meant, _types(k)))) for k in left}) == len(left)
        return left[: _FEW_DEFINITIONS if open_ else 1]  # any of a library's enumerations

    def _of_types(self, found: list[Known], call: Invocation) -> list[Known]:
        """Return the overloads for the libraries' enumerations that a call gives."""
        if len(found) < 2:
            return found
        given = [self._type_given(argument) for argument in call.arguments]
        if not any(map(_chooses, given)):
            return found
        return [
            k
            for k in found
            if all(
                not _chooses(type_) or self._type_meant(parameter.type) in (type_, self.index.resolved(type_))
                for type_, parameter in zip(given, k.function.parameters, strict=False)
            )
        ]

    def _type_given(self, argument: Expression) -> str:
        """Return an argument's type: as it is declared, an enumerator's, what all functions of a name return."""
        if isinstance(argument, Index):  # an element's
            return self._type_in(self._type_given(argument.base))
        base = argument.base if isinstance(argument, Member) and argument.name == "algo" else None
        if base is not None and (found := _RESULT.search(self._type_given(base))):
            return f"{found[1]}_t"
        if isinstance(argument, Invocation) and isinstance(argument.callee, Name):
            called = self.index.functions.get(types.simple(argument.callee.name), ())
            returned = {self._type_meant(k.function.returns) for k in called}
            return returned.pop() if len(returned) == 1 else ""
        path = self.place(argument) if isinstance(argument, Name | Member) else None
        if path is None:
            return type_of().get(types.simple(argument.name), "") if isinstance(argument, Name) else ""
        return self._type_meant(self.types.get(path, ""))

    def _type_in(self, type_: str) -> str:
        return self._type_meant(types.pointee(type_) or type_)

    def _type_meant(self, type_: str) -> str:
        """Return what a type is called in the libraries, or in a template that is followed."""
        name = types.bare(type_)
        element = name.rstrip(" *")
        meant = self.meant(element) or element
        return self.index.resolved(meant) + name[len(element) :]

    def _kind_given(self, argument: Expression) -> str:
        if not isinstance(argument, Name | Member):
            return ""
        path = self.place(argument)
        return self.index.kind_of(self.types.get(path, "")) if path is not None else ""


def _types(known_: Known) -> list[str]:
    return [parameter.type for parameter in known_.function.parameters]


def _chooses(type_: str) -> bool:
    """Whether a type is one of a library's enumerations, by which overloads differ."""
    return is_enumeration(type_) or _ALGORITHM.match(type_) is not None
