"""Checks of sources about the results of Find and the numbers of algorithms (:mod:`sources`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...findings import Certainty
from ...program import (
    Braces,
    Cast,
    Class,
    Constant,
    Declare,
    Expression,
    Function,
    Index,
    Invocation,
    Lambda,
    Loop,
    Member,
    Name,
    Operation,
    Unit,
)
from ..registry import source_check
from ..situation import SourceHit
from ..walking import inside, variable, walk

_RESULT = re.compile(r"\bcudnnConvolution(Fwd|BwdData|BwdFilter)AlgoPerf_t\b")
_ALGORITHM = re.compile(r"\b(?:cudnnConvolution(?:Fwd|BwdData|BwdFilter)Algo_t|miopenConv\w*Algorithm_t)\b")
_COUNT = re.compile(r"^CUDNN_CONVOLUTION_(FWD|BWD_DATA|BWD_FILTER)_ALGO_COUNT$")
_IN_MIOPEN = {"Fwd": "fwd_algo", "BwdData": "bwd_data_algo", "BwdFilter": "bwd_weights_algo"}
_LACKING = {
    "status": "an algorithm that does not work is not among the results, so the test can go",
    "determinism": "before Find, from MIOpen 2.16 on: "
    "miopenSetConvolutionAttribute(convDesc, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1)",
    "mathType": "MIOpen has no math types, so it can go",
}
_MOST_BASES = 8
_HIGHEST = 5  # MIOpen's ImplicitGEMM, after a gap


def _types(unit: Unit, function: Function) -> dict[str, str]:
    """Return the types of the variables that a function sees by their names; arrays end with brackets."""
    declared: list[Declare] = list(unit.variables)
    declared += [member for class_ in _owners(unit, function) for member in class_.members]
    types = {one.name: one.type + "[]" * len(one.array) for one in declared}
    types |= {parameter.name: parameter.type for parameter in function.parameters}
    for node in inside(function.body):
        if isinstance(node, Declare):
            types[node.name] = _type_of(unit, node) + "[]" * len(node.array)
        elif isinstance(node, Loop) and node.variable and node.values is not None:
            types[node.variable] = types.get(_variable(node.values), "")
    return types


def _type_of(unit: Unit, node: Declare) -> str:
    """Return a variable's type, of one that is ``auto`` what the function returns that gives it."""
    given = node.value
    if re.search(r"\bauto\b", node.type) and isinstance(given, Invocation) and isinstance(given.callee, Name):
        return next((f.returns for f in unit.functions if f.name == given.callee.name and f.returns), node.type)
    return node.type


def _returned(unit: Unit, base: Expression) -> str:
    """Return what ``layer.result()`` returns; "" of anything else."""
    if not isinstance(base, Invocation) or not isinstance(base.callee, Member | Name):
        return ""
    return unit.returned.get(base.callee.name.rpartition("::")[2], "")


def _owners(unit: Unit, function: Function) -> list[Class]:
    """Return the class of a method; of other functions all classes, whose members they may read."""
    mine = [class_ for class_ in unit.classes if class_.name == function.owner]
    waiting = [function.owner.rpartition("::")[2]] if function.owner and not mine else []
    while waiting and len(mine) < _MOST_BASES:  # in a header
        if (class_ := unit.around.get(waiting.pop())) is not None and class_ not in mine:
            mine.append(class_)
            waiting += [base.rpartition("::")[2] for base in class_.bases]
    return mine or list(unit.classes)


def _variable(node: Any) -> str:
    """Return the variable behind an expression such as ``perf[0]`` or ``this->perf``."""
    while isinstance(node, (Index, Cast, Invocation)):
        if isinstance(node, Invocation):  # perf.get()[0]
            if not isinstance(node.callee, Member):
                return ""
            node = node.callee.base
        else:
            node = node.base if isinstance(node, Index) else node.value
    return variable(node)


# S12 -------------------------------------------------------------------------------------------------------------


@source_check("text", "instead")
def result_field(unit: Unit) -> Iterator[SourceHit]:
    """Find reads of fields that MIOpen's results do not have, and in each function one of what has another name."""
    for function in unit.functions:
        types: dict[str, str] | None = None
        nearest: dict[str, str] = {}  # the same name may be declared in several blocks
        elements: dict[str, str] = {}  # what an algorithm of the standard library calls an element of results
        told: set[tuple[str, str, int]] = set()
        for node in inside(function.body):
            if isinstance(node, Declare):
                nearest[node.name] = _type_of(unit, node)
                if re.search(r"\bauto\b", node.type) and isinstance(node.value, Index | Name | Member | Operation):
                    types = _types(unit, function) if types is None else types
                    over = _variable(node.value)
                    nearest[node.name] = nearest.get(over, "") or types.get(over, "") or node.type
                if "auto" in node.type and isinstance(node.value, Invocation):  # std::make_unique<...Perf_t[]>(n)
                    types = _types(unit, function) if types is None else types
                    nearest[node.name] = _made(unit, node.value, {**types, **nearest}) or nearest[node.name]
            for name, over in _elements(node):
                types = _types(unit, function) if types is None else types
                if _result(unit, nearest.get(over, "") or types.get(over, "")):
                    elements[name] = nearest.get(over, "") or types.get(over, "")
            if not isinstance(node, Member) or node.name not in {*_LACKING, "algo"}:
                continue
            types = _types(unit, function) if types is None else types
            name = _variable(node.base)
            result = _result(unit, nearest.get(name, "")) or _result(unit, types.get(name, ""))
            if result is None and _of_template(nearest.get(name, "")):
                result = _result(unit, elements.get(name, ""))
            if result is None and (returns := _returned(unit, node.base)):
                result = _result(unit, returns)
            instead = result and (_LACKING.get(node.name) or f"it is called {_IN_MIOPEN[result[1]]}")
            perhaps = not result and _NAMED.search(name) and _of_template(nearest.get(name) or types.get(name, ""))
            if perhaps and _has_results(unit):
                instead = _LACKING.get(node.name) or f"it is called {', '.join(_IN_MIOPEN.values())}"
            line = node.span.line if node.name in _LACKING else 0  # another name is told once
            if instead and (name, instead, line) not in told:
                told.add((name, instead, line))
                certainty: Certainty = "possible" if perhaps else "proven"
                yield SourceHit(node.span, certainty, {"text": node.name, "instead": instead})


def _made(unit: Unit, call: Invocation, types: dict[str, str]) -> str:
    """Return the type of results that a template makes, or takes and returns: ``pick(results, n)``; "" of others."""
    if made := _RESULT.search(call.text.partition("(")[0]):  # std::make_unique<...Perf_t[]>(n)
        return made[0]
    name = call.callee.name if isinstance(call.callee, Name) else ""
    for function in unit.functions:
        parameters = {text.split()[-1] for text in function.template}
        if function.name == name and parameters & set(re.findall(r"\w+", function.returns)):
            given = (types.get(_variable(argument), "") for argument in call.arguments)
            return next((type_ for type_ in given if _result(unit, type_)), "")
    return ""


def _elements(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the variables that ``std::find_if(v.begin(), v.end(), [](auto &one) ...)`` makes, each with `v`."""
    given = node.value if isinstance(node, Declare) else node
    if not isinstance(given, Invocation):
        return
    over = next((name for a in given.arguments[:2] if isinstance(a, Invocation) and (name := _variable(a))), "")
    if over and isinstance(node, Declare):
        yield node.name, over
    for argument in given.arguments if over else ():
        if isinstance(argument, Lambda):
            for parameter in argument.body.statements[: argument.parameters]:
                if isinstance(parameter, Declare):
                    yield parameter.name, over


_NAMED = re.compile("perf(?!orm)", re.IGNORECASE)
_PARAMETER = re.compile(
    r"\btypename\b|\bauto\b|(?:^|[<\s])T\w{0,5}(?:$|[>\s*&\[])|^(?:const\s+)?(?i:perf_?(?:t|type)?|\w*perf_t)\b"
)


def _result(unit: Unit, type_: str) -> re.Match[str] | None:
    """Return which results a type holds, also under another name that the file gives it."""
    found = _RESULT.search(type_)
    if found is None and type_:
        others = (unit.aliases.get(word, "") for word in re.findall(r"\w+", type_))
        found = next((match for other in others if (match := _RESULT.search(other))), None)
    return found


def _of_template(type_: str) -> bool:
    """Whether a type is, or depends on, a template's parameter, or is not known."""
    return not type_ or _PARAMETER.search(type_) is not None


def _has_results(unit: Unit) -> bool:
    """Whether a file has results of Find."""
    for function in unit.functions:
        types = [parameter.type for parameter in function.parameters]
        types += [node.type for node in inside(function.body) if isinstance(node, Declare)]
        if any(_RESULT.search(type_) for type_ in types):
            return True
    return False


# S13 -------------------------------------------------------------------------------------------------------------


@source_check("name")
def count_of_algorithms(unit: Unit) -> Iterator[SourceHit]:
    """Find uses of cuDNN's number of algorithms, the first of each in a function or among the file's variables."""
    for holder in (*unit.functions, *unit.variables, *unit.classes):
        body = holder.body if isinstance(holder, Function) else holder.members if isinstance(holder, Class) else holder
        told: set[str] = set()
        for node in walk(body):
            name = node.name.rpartition("::")[2] if isinstance(node, Name) else ""
            if _COUNT.match(name) and name not in told:
                told.add(name)
                yield SourceHit(node.span, words={"name": name})


@source_check("array", "why")
def indexed_by_algorithm(unit: Unit) -> Iterator[SourceHit]:
    """Find arrays that are indexed by an algorithm's number."""
    lengths = _lengths(unit)
    for function in unit.functions:
        types: dict[str, str] | None = None
        for node in inside(function.body):
            if not isinstance(node, Index) or isinstance(node.index, Constant):
                continue
            types = _types(unit, function) if types is None else types
            name = _variable(node.base)
            if not _is_algorithm(node.index, types) or not _is_array(types.get(name, "")):
                continue
            length = {**lengths, **_lengths(function.body)}.get(name)
            cudnn = not _is_miopen(node.index, types)
            if cudnn or (length is not None and length <= _HIGHEST):
                why = "MIOpen's numbers are others" if cudnn else f"it has {length} elements"
                yield SourceHit(node.span, words={"array": name, "why": why})


def _is_array(type_: str) -> bool:
    return type_.rstrip().endswith(("]", "*")) or re.search(r"\b(?:vector|array)\s*<", type_) is not None


def _is_algorithm(node: Any, types: dict[str, str]) -> bool:
    while isinstance(node, Cast) or (isinstance(node, Invocation) and len(node.arguments) == 1 and _converts(node)):
        node = node.value if isinstance(node, Cast) else node.arguments[0]
    if isinstance(node, Member) and node.name in {"algo", *_IN_MIOPEN.values()}:
        return re.search(r"AlgoPerf_t\b", types.get(_variable(node.base), "")) is not None
    return isinstance(node, (Name, Member)) and _ALGORITHM.search(types.get(_variable(node), "")) is not None


def _converts(call: Invocation) -> bool:
    """Whether what looks like a call is a conversion to an integer, or of an enumerator to one."""
    name = variable(call.callee)
    return re.match(r"(?:std::)?(?:u?int|unsigned|long|size_t|to_underlying|static_cast)", name) is not None


def _is_miopen(node: Any, types: dict[str, str]) -> bool:
    return any("miopen" in types.get(one.name, "") for one in walk(node) if isinstance(one, (Name, Member)))


def _lengths(node: Any) -> dict[str, int]:
    """Return the lengths of arrays that are declared somewhere, where the text says them."""
    found: dict[str, int] = {}
    for one in walk(tuple(node.variables) if isinstance(node, Unit) else node):
        if isinstance(one, Declare) and re.search(r"\bvector\s*<", one.type):
            values = one.value.values if isinstance(one.value, Braces) else one.arguments
            if len(values) > 1 or isinstance(one.value, Braces):
                found[one.name] = len(values)
        elif isinstance(one, Declare) and one.array:
            size = one.array[0]
            if isinstance(size, Constant) and isinstance(size.value, int):
                found[one.name] = size.value
            elif size is None and isinstance(one.value, Braces):
                found[one.name] = len(one.value.values)
    return found
