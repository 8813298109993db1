"""What the parameters of a function, and of a template, are bound to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..program import Cast, Expression, Function, Invocation, Lambda, Member, Name
from ..values import UNKNOWN, Value, known, unknown
from . import types
from .constants import OTHERS
from .frame import Frame
from .index import Known
from .library_calls import LibraryCalls
from .memory import is_enumeration
from .texts import unparsed

Bound = Sequence[tuple[str | None, Value]]  # what a call gives: the caller's variable, and its value
_TYPES = ("typename", "class")


class Binding(LibraryCalls):
    """Binds parameters to what a call gives."""

    def given_anywhere(self, called: Known, place: int) -> Value | None:
        """Return the enumerators that calls anywhere in the program give a parameter, and its default argument.

        Of a scalar that are the numbers.
        """
        function = called.function
        type_ = function.parameters[place].type
        if not is_enumeration(type_):
            numbers = self.given.numbers_of_parameter(called, place) if self.is_scalar(type_) else ()
            return self.one_of_numbers(numbers, type_)
        names = self.given.names_of_parameter(called, place)
        return self.joined(UNKNOWN if name == OTHERS else known(name) for name in names) if names else None

    def forget_length(self, value: Value) -> None:
        """Note that a container was given to a function that is not followed: an empty one to be filled."""
        length = f"{value.data}.#length"
        if value.kind == "unknown" and self.state.variables.get(length) in (known(0), known(0, "size_t")):
            self.state.variables[length] = UNKNOWN

    def _deduced(self, function: Function, name: str, bound: Bound, arguments: Sequence[Expression]) -> str:
        """Return the type that a template's parameter has by the arguments of a call: variables, and what is cast."""
        for parameter, (path, value), argument in zip(function.parameters, bound, arguments, strict=False):
            if types.innermost(parameter.type) == name:
                type_ = self.types.get(path, "") if path is not None else value.type
                type_ = argument.type if isinstance(argument, Cast) else type_
                inner = types.innermost(self.index.concrete(type_))
                if inner and not self.index.is_parameter(inner) and not types.is_pair(inner):
                    return inner
        return ""

    def bind_template(
        self, frame: Frame, called: Known, this: str, bound: Bound, arguments: Sequence[Expression]
    ) -> None:
        """Bind what the parameters of a template stand for: of a function as it is called, of a class as it is made."""
        given, self.template_given = self.template_given, ""
        declared = list(called.function.template)
        pairs = list(zip(declared, types.template_arguments(given), strict=False)) if given else []
        owner = types.simple(called.function.owner)
        class_ = self.index.class_named(owner) if this or (owner and owner == types.simple(given)) else None
        if class_ is not None and class_.template:
            type_ = types.bare(self.types.get(this, "")) if this else given
            type_ = type_ if "<" in type_ else self.index.resolved(type_)
            pairs += zip(class_.template, types.template_arguments(type_), strict=False)
            declared += class_.template
        given_to = dict(pairs)
        for text in declared:
            kind, name = text.split()[0], text.split()[-1]
            said = given_to.get(text, "") or (
                self._deduced(called.function, name, bound, arguments) if kind in _TYPES else ""
            )
            argument = self.meant(said) or said
            value: Value | None = None
            if argument:
                frame.generic[name] = argument
            if argument.isdecimal():
                value = known(int(argument))
            elif types.simple(argument).isupper() or "::" in argument or self.frame.path_of(argument):
                value = self.evaluate(Name(argument, called.function.span))
            elif names := self.index.chosen(kind):
                value = self.joined([known(one, kind) for one in names])
            if value is not None:
                frame.scopes[0][name] = f"{name}#{self.turns}"
                self.state.variables[f"{name}#{self.turns}"] = value

    def bind_pack(
        self,
        frame: Frame,
        function: Function,
        arguments: Sequence[Expression],
        bound: Bound,
    ) -> None:
        """Bind what a template's last parameter, ``Args... args``, is given: each as a variable of its own."""
        if not function.parameters or not function.parameters[-1].type.endswith("..."):
            return
        first, name = len(function.parameters) - 1, function.parameters[-1].name
        frame.packs[name] = max(0, len(bound) - first)
        for i, (path, given) in enumerate(bound[first:]):
            self.bind(frame, f"{name}${i}", "", path, given, None)
            frame.pack_texts[f"{name}${i}"] = unparsed(arguments[first + i])

    def bind(self, frame: Frame, name: str, type_: str, reference: str | None, value: Value | None,
              default: Expression | None) -> None:  # fmt: skip
        """Bind a parameter to the caller's variable or to a value."""
        if reference is not None:
            frame.scopes[0][name] = reference
            self.types.setdefault(reference, type_)
            return
        path = f"{name}#{frame.turn}"
        frame.scopes[0][name] = path
        frame.declared.append(path)
        self.types[path] = type_
        if value is None and default is not None:
            value = self.evaluate(default)
        elif value is None and len(self.stack) == 0:
            value = self._shared_object(name, type_, frame)
        if value is not None:
            if value.kind == "items":
                self.assign(path, value)
            else:
                self.state.variables[path] = value if types.pointee(type_) else self.cast(value, type_)

    def _shared_object(self, name: str, type_: str, frame: Frame) -> Value | None:
        """Return what the functions of a group get for a parameter of a class: the same object, once."""
        class_ = self.index.class_of(type_)
        if class_ is None:
            return None
        short = types.simple(class_.name)
        path = self.shared.setdefault(short, f"{name}~{short}")
        if any(value.data == path for value in (self.peek(p) for p in frame.declared) if value is not None):
            return None
        self.types[path] = short
        return unknown(path, type_)

    def bound(self, reference: bool, argument: Expression) -> tuple[str | None, Value]:
        """Return the path of the variable that an argument names, if any, and its value."""
        path = (
            self.place(argument) if isinstance(argument, Name | Member) or (reference and _is_place(argument)) else None
        )
        if path is not None:
            return path, self.value_at(path)
        return None, self.evaluate(argument)


def paired(function: Function, arguments: Sequence[Expression]) -> Iterator[tuple[bool, Expression]]:
    """Yield arguments, each with whether the caller's variable is meant."""
    parameters = function.parameters
    is_pack = bool(parameters) and parameters[-1].type.endswith("...")
    for i, argument in enumerate(arguments):
        yield parameters[i].reference if i < len(parameters) else is_pack, argument


def _is_place(expression: Expression) -> bool:
    return not isinstance(expression, Invocation | Lambda)
