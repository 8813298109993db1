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
    Function,
    Index,
    Invocation,
    Member,
    Name,
    Unit,
)
from ..registry import source_check
from ..situation import SourceHit
from ..walking import inside, variable, walk
from .results import Types

_ALGORITHM = re.compile(r"\b(?:cudnnConvolution(?:Fwd|BwdData|BwdFilter)Algo_t|miopenConv\w*Algorithm_t)\b")
_COUNT = re.compile(r"^CUDNN_CONVOLUTION_(FWD|BWD_DATA|BWD_FILTER)_ALGO_COUNT$")
_IN_MIOPEN = {"Fwd": "fwd_algo", "BwdData": "bwd_data_algo", "BwdFilter": "bwd_weights_algo"}
_LACKING = {
    "status": "an algorithm that does not work is not among the results, so the test can go",
    "determinism": "before Find, from MIOpen 2.16 on: "
    "miopenSetConvolutionAttribute(convDesc, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1)",
    "mathType": "MIOpen has no math types, so it can go",
}
_FIELDS = frozenset({*_LACKING, "algo"})
_NAMED = re.compile("perf(?!orm)", re.IGNORECASE)
_HIGHEST = 5  # MIOpen's ImplicitGEMM, after a gap


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
        nodes = [*walk(function.initializers), *inside(function.body)]
        if not any(isinstance(node, Member) and node.name in _FIELDS for node in nodes):
            continue
        types = Types(unit, function)
        told: set[tuple[str, str, int]] = set()
        for node in nodes:
            types.declare(node)
            if not isinstance(node, Member) or node.name not in _FIELDS:
                continue
            name = _variable(node.base)
            type_ = types.of(node.base)
            if types.has(type_, node.name):
                continue
            result = types.named(type_)
            if result is None and types.open(type_):
                result = types.named(types.element(name))
            instead = result and (_LACKING.get(node.name) or f"it is called {_IN_MIOPEN[result[1]]}")
            perhaps = not result and _NAMED.search(name) and types.open(type_)
            if perhaps and _has_results(unit):
                instead = _LACKING.get(node.name) or f"it is called {', '.join(_IN_MIOPEN.values())}"
            line = node.span.line if node.name in _LACKING else 0  # another name is told once
            if instead and (name, instead, line) not in told:
                told.add((name, instead, line))
                certainty: Certainty = "possible" if perhaps else "proven"
                yield SourceHit(node.span, certainty, {"text": node.name, "instead": instead})


def _has_results(unit: Unit) -> bool:
    """Whether a file has results of Find."""
    for function in unit.functions:
        known = Types(unit, function)
        types = [parameter.type for parameter in function.parameters]
        types += [node.type for node in inside(function.body) if isinstance(node, Declare)]
        if any(known.named(type_) for type_ in types):
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
        nodes = inside(function.body)
        if not any(isinstance(node, Index) for node in nodes):
            continue
        types = Types(unit, function)
        for node in nodes:
            types.declare(node)
            if not isinstance(node, Index) or isinstance(node.index, Constant):
                continue
            if not _is_algorithm(node.index, types) or not _is_array(types.of(node.base)):
                continue
            name = _variable(node.base)
            length = {**lengths, **_lengths(function.body)}.get(name)
            cudnn = not _is_miopen(node.index, types)
            if cudnn or (length is not None and length <= _HIGHEST):
                why = "MIOpen's numbers are others" if cudnn else f"it has {length} elements"
                yield SourceHit(node.span, words={"array": name, "why": why})


def _is_array(type_: str) -> bool:
    return type_.rstrip().endswith(("]", "*")) or re.search(r"\b(?:vector|array)\s*<", type_) is not None


def _is_algorithm(node: Any, types: Types) -> bool:
    while isinstance(node, Cast) or (isinstance(node, Invocation) and len(node.arguments) == 1 and _converts(node)):
        node = node.value if isinstance(node, Cast) else node.arguments[0]
    if isinstance(node, Member) and node.name in {"algo", *_IN_MIOPEN.values()}:
        return re.search(r"AlgoPerf(?:_t|Struct)\b", types.of(node.base)) is not None
    return isinstance(node, (Name, Member)) and _ALGORITHM.search(types.of(node)) is not None


def _converts(call: Invocation) -> bool:
    """Whether what looks like a call is a conversion to an integer, or of an enumerator to one."""
    name = variable(call.callee)
    return re.match(r"(?:std::)?(?:u?int|unsigned|long|size_t|to_underlying|static_cast)", name) is not None


def _is_miopen(node: Any, types: Types) -> bool:
    return any("miopen" in types.of(one) for one in walk(node) if isinstance(one, (Name, Member)))


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
