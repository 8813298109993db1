"""Checks of sources about arguments, types and the status that calls return (:mod:`sources`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .... import mapping
from ...interpret.texts import split_arguments
from ...interpret.types import template_argument
from ...libraries import is_library
from ...names import shared_enumerations, values_of_cudnn
from ...program import (
    Block,
    Cast,
    Constant,
    Declare,
    Function,
    If,
    Invocation,
    Jump,
    Member,
    Name,
    Operation,
    Switch,
    Unit,
)
from ..hints import identifiers
from ..registry import source_check
from ..situation import SourceHit
from ..walking import callee, inside, invocations, plain, variable, walk

_INTEGER = re.compile(
    r"^(const |constexpr |static )*((un)?signed |u?int\d*_t|int|long|short|char|size_t|unsigned"
    r"|j(?:int|long|short|byte)\b|Py_ssize_t|c_u?int\b|[iu](?:8|16|32|64)\b|u?int\d*\b)[\w ]*$"
)


# A10 -------------------------------------------------------------------------------------------------------------

_PLAIN = "miopenSet4dTensorDescriptor"
_STRIDE = re.compile(r"stride", re.IGNORECASE)


@source_check("name", "parameters", "corrected")
def dropped_strides(unit: Unit) -> Iterator[SourceHit]:
    """Find a function that takes strides of a tensor, and describes it without them."""
    for function in unit.functions:
        strides = [p.name for p in function.parameters if _STRIDE.search(p.name)]
        calls = [call for call in invocations(function.body) if callee(call) == _PLAIN]
        used = {name for node in inside(function.body) if isinstance(node, Name) for name in identifiers(node.name)}
        if len(calls) != 1 or len(strides) < 3 or used & set(strides):
            continue
        arguments = split_arguments(calls[0].text)
        corrected = f"{_PLAIN}Ex({', '.join([*arguments, *strides])});" if arguments else f"{_PLAIN}Ex(...);"
        words = {"name": function.name, "parameters": ", ".join(strides), "corrected": corrected}
        yield SourceHit(calls[0].span, words=words, function=_PLAIN)


# A23 -------------------------------------------------------------------------------------------------------------

_NORMALISING = ("cudnnBatchNormalizationForwardTraining", "cudnnBatchNormalizationForwardInference")
_CONSTANT = ("bnScale", "bnBias", "estimatedMean", "estimatedVariance")


@source_check("pointers", "casts")
def constant_pointers(unit: Unit) -> Iterator[SourceHit]:
    """Find parameters of batch normalisation that are pointers to constants."""
    for function in unit.functions:
        nodes = inside(function.body)
        class_ = unit.around.classes.get(function.owner.rpartition("::")[2])
        types = {} if class_ is None else {member.name: member.type for member in class_.members}
        types |= {p.name: p.type for p in function.parameters}
        types |= {node.name: _declared_as(node) for node in nodes if isinstance(node, Declare)}
        for node in nodes:
            if not isinstance(node, Invocation) or callee(node) not in _NORMALISING:
                continue
            parameters = mapping.table().functions[callee(node)].latest
            given = zip((p.name for p in parameters), node.arguments, strict=False)
            said = [_pointer(unit, types, a) for p, a in given if p in _CONSTANT]
            constant = [(text, type_) for text, type_ in said if re.match(r"(const \w.*|\w+ const ?)\*$", type_)]
            if constant:
                casts = [f"const_cast<{type_.replace('const ', '', 1)}>({text})" for text, type_ in constant]
                words = {"pointers": " and ".join(text for text, _ in constant), "casts": ", ".join(casts)}
                yield SourceHit(node.span, words=words, function=callee(node))


def _declared_as(node: Declare) -> str:
    """Return a variable's type, that of ``auto p = reinterpret_cast<const void *>(x)``, too."""
    return node.value.type if re.match(r"(?:const )?auto\b", node.type) and isinstance(node.value, Cast) else node.type


def _pointer(unit: Unit, types: dict[str, str], argument: Any) -> tuple[str, str]:
    """Return a variable, or a call of a method of one of the program's objects, with its type."""
    if isinstance(argument, Name):
        return argument.name, types.get(argument.name, "")
    called = argument.callee if isinstance(argument, Invocation) else None
    base = called.base if isinstance(called, Member) else None
    if isinstance(base, Member) and isinstance(base.base, Name) and base.base.name == "this":
        base = Name(base.name, base.span)
    if not isinstance(called, Member) or not isinstance(base, Name):
        return "", ""
    holder = _held(types.get(base.name, ""))
    object_ = plain(re.sub(r"\bconst\b|[&*\s]", "", holder.partition("<")[0]))
    name = called.name.partition("<")[0] if object_ in unit.around.classes else ""
    type_, parameters = unit.around.returned.get(name, ""), unit.around.templates.get(name, frozenset())
    given = template_argument(holder)  # of a class template
    if not parameters and given and name:
        parameters = frozenset(text.split()[-1] for text in unit.around.classes[object_].template)
    if len(parameters) == 1 and isinstance(argument, Invocation):
        given = template_argument(argument.text.rpartition(name)[2]) or given
        type_ = re.sub(rf"\b{re.escape(next(iter(parameters)).split()[-1])}\b", given or "void", type_)
    return argument.text if name else "", type_


def _held(type_: str) -> str:
    """Return the class of an object, behind a smart pointer too."""
    return template_argument(type_) if re.match(r"(?:const )?(?:\w+::)*\w+_ptr\s*<", type_) else type_


# V41 -------------------------------------------------------------------------------------------------------------

_OF_DOUBLE = re.compile(r"<\s*(const\s+)?double\s*>")
_DOUBLE = re.compile(r"double|float64|f64", re.IGNORECASE)


@source_check("name")
def double_as_float(unit: Unit) -> Iterator[SourceHit]:
    """Find a table of types that says miopenFloat for double."""
    for one in unit.variables:
        if _OF_DOUBLE.search(one.name) and _says_float(one.value):
            yield SourceHit(one.span, words={"name": one.name})
    for function in unit.functions:
        yield from _returned(function)


def _returned(function: Function) -> Iterator[SourceHit]:
    special = _OF_DOUBLE.search(f"<{function.specialization}>")
    for node in inside(function.body):
        if special and isinstance(node, Jump) and _says_float(node.value):
            yield SourceHit(node.span, words={"name": function.name})
        if isinstance(node, Switch):
            for values, block in node.cases:
                named = any(isinstance(v, Name) and _DOUBLE.search(plain(v.name)) for v in values)
                if named and len(values) == 1:
                    yield from (
                        SourceHit(jump.span, words={"name": function.name})
                        for jump in walk(block)
                        if isinstance(jump, Jump) and jump.kind == "return" and _says_float(jump.value)
                    )


def _says_float(value: Any) -> bool:
    return isinstance(value, Name) and plain(value.name) == "miopenFloat"


# A24 -------------------------------------------------------------------------------------------------------------


@source_check("enumerator", "number", "counterpart", "other")
def enumerator_as_number(unit: Unit) -> Iterator[SourceHit]:
    """Find an enumerator of cuDNN that becomes an int."""
    for function in unit.functions:
        for node in inside(function.body):
            name = _as_integer(node)
            value = _renumbered(plain(name))
            if value is not None:
                words = {
                    "enumerator": str(value.cudnn),
                    "number": str(value.number),
                    "counterpart": str(value.miopen),
                    "other": str(value.miopen_number),
                }
                yield SourceHit(node.span, "possible", words)


def _renumbered(name: str) -> mapping.Value | None:
    """Return an enumerator of cuDNN, but for statuses, whose counterpart has another number; None of other names."""
    value = values_of_cudnn()[name][0] if name in values_of_cudnn() else None
    if value is None or "STATUS" in (value.cudnn or ""):
        return None
    return value if value.miopen and value.number != value.miopen_number else None


def _as_integer(node: Any) -> str:
    if isinstance(node, (Cast, Declare)) and isinstance(node.value, Name) and _INTEGER.match(node.type.strip()):
        return node.value.name
    return ""


@source_check("value", "enumeration")
def number_from_outside(unit: Unit) -> Iterator[SourceHit]:
    """Find an int that becomes an enumerator of cuDNN whose numbers are others in MIOpen."""
    for function in unit.functions:
        types: dict[str, str] | None = None
        calls = [n for n in inside(function.body) if isinstance(n, Invocation) and is_library(callee(n))]
        given_at_calls = {id(argument) for node in calls for argument in node.arguments}
        for argument, type_ in (pair for node in calls for pair in _unconverted(node)):
            if variable(argument) in values_of_cudnn():
                continue  # an enumerator: no need to look for its type
            types = _declared(unit, function) if types is None else types
            if _INTEGER.match(types.get(variable(argument), "").strip()):
                yield SourceHit(argument.span, "possible", {"value": variable(argument), "enumeration": type_})
        for node in inside(function.body):
            if isinstance(node, Cast) and id(node) not in given_at_calls and (hit := _literal(node)) is not None:
                yield hit
                continue
            outside = isinstance(node, Cast) and isinstance(node.value, Invocation) and _comes_in(node.value)
            if not isinstance(node, Cast) or not (outside or isinstance(node.value, Name | Member)):
                continue
            if plain(node.type) not in shared_enumerations() or not _differs(plain(node.type)):
                continue
            types = _declared(unit, function) if types is None else types
            if outside or _INTEGER.match(types.get(variable(node.value), "").strip()):
                given = f"{_called(node.value)}()" if isinstance(node.value, Invocation) else variable(node.value)
                words = {"value": given, "enumeration": plain(node.type)}
                yield SourceHit(node.span, "possible", words)


@source_check("value", "enumeration")
def number_compared(unit: Unit) -> Iterator[SourceHit]:
    """Find an int that is compared with an enumerator of cuDNN whose number is another in MIOpen, or switched over."""
    for function in unit.functions:
        types: dict[str, str] | None = None
        told: set[str] = set()
        for node in inside(function.body):
            for number, enumerator in _compared_with(node):
                name = variable(number) if isinstance(number, Name | Member) else ""
                value = (
                    values_of_cudnn()[plain(enumerator.name)][0]
                    if plain(enumerator.name) in values_of_cudnn()
                    else None
                )
                if value is None or not name or name in told or "STATUS" in (value.cudnn or ""):
                    continue
                if not value.miopen or value.number == value.miopen_number:
                    continue
                types = _declared(unit, function) if types is None else types
                if _INTEGER.match(types.get(name, "").strip()):
                    told.add(name)
                    yield SourceHit(enumerator.span, "possible", {"value": name, "enumeration": plain(enumerator.name)})


def _compared_with(node: Any) -> Iterator[tuple[Any, Name]]:
    """Yield what is compared with names, one by one or in the cases of a ``switch``."""
    if isinstance(node, Operation) and node.operator in ("==", "!=") and len(node.operands) == 2:
        for one, other in (node.operands, node.operands[::-1]):
            if isinstance(other, Name):
                yield one, other
    if isinstance(node, Switch):
        yield from ((node.value, value) for values, _ in node.cases for value in values if isinstance(value, Name))


def _unconverted(call: Invocation) -> Iterator[tuple[Name | Member, str]]:
    """Yield what a call gives parameters that are enumerations with other numbers, as C allows of an int."""
    declared = mapping.table().functions.get(callee(call))
    for parameters in [] if declared is None else [declared.latest]:
        for parameter, argument in zip(parameters, call.arguments, strict=False):
            if len(parameters) == len(call.arguments) and isinstance(argument, Name | Member):
                type_ = plain(parameter.type)
                if type_ in shared_enumerations() and _differs(type_):
                    yield argument, type_


def _differs(enumeration: str) -> bool:
    """Whether some of an enumeration's numbers are others in MIOpen."""
    values = shared_enumerations()[enumeration].values
    return any(v.number != v.miopen_number for v in values if v.cudnn and v.miopen)


def _literal(node: Cast) -> SourceHit | None:
    """Return what is to be said of ``(cudnnDataType_t)0``; None where MIOpen has the same under that number."""
    enumeration = shared_enumerations().get(plain(node.type))
    number = node.value.value if isinstance(node.value, Constant) else None
    if enumeration is None or not isinstance(number, int) or isinstance(number, bool):
        return None
    named = next((v for v in enumeration.values if v.cudnn and v.number == number), None)
    if named is None or named.number == named.miopen_number:
        return None
    return SourceHit(node.span, "possible", {"value": str(number), "enumeration": plain(node.type)})


_READS = re.compile(
    r"(?:std::)?(?:sto(?:i|l|ul|ll|ull)|ato[il]|strtou?ll?)$|(?:get|as|value|read)(?:_?(?:u?int\w*|long))?$",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(r"<\s*(?:std::)?(?:unsigned|int|long|short|size_t|u?int\d+_t)\b")


_FROM_SCRIPTS = re.compile(
    r"\w*2U?(?:INT|LONG|LL)$|\w*TO_(?:INT|LONG)$|Py(?:Long|Int)_As\w+$|lua\w*_(?:to|check|opt)(?:int\w*|number)$"
)


def _called(call: Invocation) -> str:
    return call.callee.name.partition("<")[0] if isinstance(call.callee, Name | Member) else ""


def _comes_in(call: Invocation) -> bool:
    """Tell whether a call reads a number: ``std::stoi(text)``, ``json["x"].get<int>()``, ``json.value("x", 0)``."""
    name = callee(call)
    if not isinstance(call.callee, Member):
        if _FROM_SCRIPTS.match(name):
            return True
        return re.match(r"(?:std::)?(?:sto|ato|strto)", name) is not None and _READS.match(name) is not None
    said = call.callee.name
    if not _READS.match(said.partition("<")[0]):
        return False
    numbers = any(
        (isinstance(a, Cast) and _INTEGER.match(a.type.strip())) or (isinstance(a, Constant) and a.type == "int")
        for a in call.arguments
    )
    return numbers or _WHOLE_NUMBER.search(call.text) is not None or "int" in said.lower()


def _declared(unit: Unit, function: Function) -> dict[str, str]:
    """Return the types of a function's parameters and variables, and of its class's members, by their names."""
    mine = [class_ for class_ in unit.classes if class_.name == function.owner]
    said: dict[str, set[str]] = {}
    for member in (member for class_ in (*unit.around.classes.values(), *unit.classes) for member in class_.members):
        said.setdefault(member.name, set()).add(member.type)
    types = {name: next(iter(found)) for name, found in said.items() if len(found) == 1}  # bases', other objects'
    types |= {member.name: member.type for class_ in mine for member in class_.members}
    types |= {parameter.name: parameter.type for parameter in function.parameters}
    types |= {node.name: node.type for node in inside(function.body) if isinstance(node, Declare)}
    return {name: unit.aliases.get(type_, type_) for name, type_ in types.items()}


# A25 -------------------------------------------------------------------------------------------------------------

_STATUS = "CUDNN_STATUS_NOT_SUPPORTED"


@source_check("what", "status")
def fallback_on_status(unit: Unit) -> Iterator[SourceHit]:
    """Find code that runs when a status says that something is not supported."""
    for function in unit.functions:
        for node in inside(function.body):
            if isinstance(node, If) and (status := _compared(node.condition)) is not None and _acts(node):
                words = {"what": f"the branch in line {node.then.span.line}", "status": status}
                yield SourceHit(node.condition.span, "possible", words)
            if isinstance(node, Switch):
                for values, block in node.cases:
                    if any(isinstance(v, Name) and plain(v.name) == _STATUS for v in values) and _falls_back(block):
                        status = node.value.name if isinstance(node.value, Name) else "status"
                        words = {"what": f"the case in line {values[0].span.line}", "status": status}
                        yield SourceHit(values[0].span, "possible", words)


def _compared(condition: Any) -> str | None:
    """Return what is compared with the status in a condition; None where nothing is."""
    for node in walk(condition):
        if isinstance(node, Operation) and node.operator in ("==", "!=") and len(node.operands) == 2:
            names = [plain(x.name) if isinstance(x, Name) else "" for x in node.operands]
            if _STATUS in names:
                other = node.operands[1 - names.index(_STATUS)]
                return other.name if isinstance(other, Name) else "status"
    return None


def _falls_back(block: Block) -> bool:
    """Tell whether a case assigns something: those that name a status, print it or throw do not."""
    return any(isinstance(n, Operation) and n.operator in ("=", "+=", "-=", "|=", "&=", "^=") for n in walk(block))


def _acts(node: If) -> bool:
    """Tell whether a branch does more than name the status."""
    nodes = list(walk(node.then))
    texts = all(not isinstance(n, Jump) or n.value is None or isinstance(n.value, Constant) for n in nodes) and not any(
        isinstance(n, (Invocation, Operation)) for n in nodes
    )
    return not (texts and isinstance(node.then, Block) and len(node.then.statements) <= 1) or any(
        isinstance(n, Jump) and n.kind in ("continue", "break") for n in nodes
    )


# V29 -------------------------------------------------------------------------------------------------------------

_LEAST = "CUDNN_BN_MIN_EPSILON"


@source_check()
def least_epsilon(unit: Unit) -> Iterator[SourceHit]:
    """Find cuDNN's least epsilon, once in a function, unless the file defines it itself."""
    if _LEAST in unit.aliases or any(plain(variable.name) == _LEAST for variable in unit.variables):
        return
    holders: list[Any] = [*(inside(function.body) for function in unit.functions), *map(walk, unit.variables)]
    holders += [walk(class_.members) for class_ in unit.classes]
    for nodes in holders:
        node = next((one for one in nodes if isinstance(one, Name) and plain(one.name) == _LEAST), None)
        if node is not None:
            yield SourceHit(node.span)
