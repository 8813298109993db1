"""Which of several definitions of a name a call means."""

from __future__ import annotations

from ..program import Expression, Invocation, Member, Name
from . import types
from .binding import Binding
from .index import Known
from .memory import is_enumeration

_FEW_DEFINITIONS = 3
MOST_DEFINITIONS = 12  # that a call may mean


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
        same = self._of_types(same or found, call) or same
        near = [k for k in same or found if k.unit is self.frame.unit or k.unit.file in self.preferred]
        return (near or same or found)[:1]

    def _of_types(self, found: list[Known], call: Invocation) -> list[Known]:
        """Return the overloads for the libraries' enumerations that a call gives."""
        given = [self._type_given(argument) for argument in call.arguments]
        if len(found) < 2 or not any(is_enumeration(type_) for type_ in given):
            return found
        return [
            k
            for k in found
            if all(
                not is_enumeration(type_) or types.bare(parameter.type) == type_
                for type_, parameter in zip(given, k.function.parameters, strict=False)
            )
        ]

    def _type_given(self, argument: Expression) -> str:
        path = self.place(argument) if isinstance(argument, Name | Member) else None
        return "" if path is None else types.bare(self.types.get(path, ""))

    def _kind_given(self, argument: Expression) -> str:
        if not isinstance(argument, Name | Member):
            return ""
        path = self.place(argument)
        return self.index.kind_of(self.types.get(path, "")) if path is not None else ""
