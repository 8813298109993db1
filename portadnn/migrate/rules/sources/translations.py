"""Checks of functions that translate one library's enumerators into the other's (:mod:`sources`)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from ...names import shared_enumerations, values_of_cudnn
from ...program import If, Jump, Name, Operation, Span, Switch, Unit
from ..registry import source_check
from ..situation import SourceHit
from ..walking import inside, walk

_WORDS = ("given", "used", "right")


@functools.cache
def _offered(enumeration: str) -> frozenset[str]:
    return frozenset(value.miopen for value in shared_enumerations()[enumeration].values if value.miopen)


def _last(node: Any) -> str:
    return node.name.rpartition("::")[2] if isinstance(node, Name) else ""


def _enumerator(node: Any) -> str:
    """Return cuDNN's name for an enumerator; hipDNN's are called alike."""
    return re.sub("^HIPDNN_", "CUDNN_", _last(node))


def _chosen(node: Any, enumeration: str) -> list[str]:
    return [_last(inner) for inner in walk(node) if _last(inner) in _offered(enumeration)]


def _pairs(unit: Unit) -> Iterator[tuple[str, Any, Span]]:
    """Yield the enumerators of cuDNN that a program asks for, what it does then, and where it says so."""
    for function in unit.functions:
        for node in inside(function.body):
            if isinstance(node, Switch):
                yield from _cases(node)
            elif isinstance(node, If) and isinstance(node.condition, Operation) and node.condition.operator == "==":
                yield from ((_enumerator(side), node.then, node.then.span) for side in node.condition.operands)
            elif isinstance(node, Operation) and node.operator == "?:" and isinstance(node.operands[0], Operation):
                condition = node.operands[0]
                if condition.operator == "==":
                    yield from ((_enumerator(side), node.operands[1], node.span) for side in condition.operands)


def _cases(node: Switch) -> Iterator[tuple[str, Any, Span]]:
    waiting: list[Any] = []
    for values, block in node.cases:
        waiting += values
        if block.statements:
            yield from ((_enumerator(value), block, value.span) for value in waiting)
            waiting = []


def _mistranslated(unit: Unit, enumeration: str) -> Iterator[SourceHit]:
    for given, then, span in _pairs(unit):
        value, whose = values_of_cudnn().get(given, (None, None))
        if value is None or whose is not shared_enumerations()[enumeration]:
            continue
        chosen = _chosen(then, enumeration)
        refused = any(isinstance(inner, Jump) and inner.kind == "throw" for inner in walk(then))
        if len(set(chosen)) == 1 and chosen[0] != value.miopen and not refused:
            yield SourceHit(span, words={"given": given, "used": chosen[0], "right": value.miopen or "nothing"})


@source_check(*_WORDS)
def mistranslated_average(unit: Unit) -> Iterator[SourceHit]:
    """Find averages with padding that become averages without, and the like."""
    yield from _mistranslated(unit, "cudnnPoolingMode_t")
    for function in unit.functions:
        for node in inside(function.body):
            choice = isinstance(node, Operation) and node.operator == "?:" and _asks_for_padding(node.operands[0])
            if choice and _last(node.operands[1]) == "miopenPoolingAverage":
                words = {"given": "padding that counts", "used": "miopenPoolingAverage"}
                yield SourceHit(node.span, words={**words, "right": "miopenPoolingAverageInclusive"})


def _asks_for_padding(condition: Any) -> bool:
    """Tell whether a condition is a variable such as ``count_include_pad``."""
    name = condition.name if not isinstance(condition, Operation) and hasattr(condition, "name") else ""
    return re.search("inclu(de|sive)", name, re.IGNORECASE) is not None


@source_check(*_WORDS)
def mistranslated_convolution(unit: Unit) -> Iterator[SourceHit]:
    """Find convolutions that become cross-correlations."""
    yield from _mistranslated(unit, "cudnnConvolutionMode_t")


@source_check(*_WORDS)
def mistranslated_type(unit: Unit) -> Iterator[SourceHit]:
    """Find types that become others, such as double that becomes float."""
    yield from _mistranslated(unit, "cudnnDataType_t")
