"""Checks of sources for hipDNN: its functions of 2019, its graphs, and its shim of cudnn_frontend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from .... import mapping
from ...frontend.methods import GRAPH_TYPE, makers
from ...program import Invocation, Member, Unit
from .. import notes
from ..registry import source_check
from ..situation import SourceHit
from ..walking import callee, invocations, plain

_FUNCTION = re.compile(r"hipdnn(?=[A-Z])")
_GRAPHS = re.compile(r"hipdnnBackend\w+|hipdnn\w+_ext")
_FUSION = re.compile("FusionPlan|OperatorArgs|OpArgs|CreateOp(?!Tensor)")  # MIOpen's, which no cuDNN has
_BOTH = {"Create", "Destroy", "SetStream", "GetStream", "GetErrorString", "GetLastErrorString"}
# What the shim does with calls of a graph's methods (rocm-libraries, projects/hipdnn/docs/KNOWN_DIVERGENCES.md).
_REFUSED = {
    "populate_cuda_graph": (re.compile(""), "returns GRAPH_NOT_SUPPORTED: there are no graphs of HIP"),
    "update_cuda_graph": (re.compile(""), "returns GRAPH_NOT_SUPPORTED: there are no graphs of HIP"),
    "deselect_shared_mem_greater_than": (
        re.compile(r"\((?!\s*0\s*\))"),
        "is GRAPH_NOT_SUPPORTED for other sizes than 0",
    ),
    "deselect_numeric_notes": (
        re.compile("NONDETERMINISTIC|REDUCED_PRECISION_REDUCTION"),
        "is an error: hipDNN does not know which plans are deterministic, or reduce in full precision",
    ),
    "select_behavior_notes": (
        re.compile("INT8x32_REORDER|CUDA_GRAPH_NATIVE_API|CUBLASLT_DEPENDENCY"),
        "is GRAPH_NOT_SUPPORTED: no engine of hipDNN has cuDNN's own notes",
    ),
}
_IGNORED = {
    "create_execution_plans": (
        re.compile(r"HeurMode_t::(?!FALLBACK)"),
        "takes hipDNN's own order of engines, whatever the mode",
    ),
    "build": (re.compile(r"HeurMode_t::(?!FALLBACK)"), "takes hipDNN's own order of engines, whatever the mode"),
    "select_numeric_notes": (re.compile(""), "has no effect: hipDNN has no numerical notes"),
    "deselect_numeric_notes": (
        re.compile("TENSOR_CORE|DOWN_CONVERT|FFT|WINOGRAD|NAN_PROP"),
        "has no effect for these notes",
    ),
}
_Table = Mapping[str, tuple[re.Pattern[str], str]]


def _calls(unit: Unit) -> Iterator[Invocation]:
    for function in unit.functions:
        yield from invocations(function.body)


def _first(unit: Unit, wanted: Callable[[str], bool]) -> Iterator[tuple[Invocation, str]]:
    """Yield the first call of each function of hipDNN that is wanted, with its name behind the prefix."""
    seen: set[str] = set()
    for node in _calls(unit):
        name = callee(node)
        if _FUNCTION.match(name) and name not in seen and wanted(name):
            seen.add(name)
            yield node, name.removeprefix("hipdnn")


def _is_old(name: str) -> bool:
    rest = name.removeprefix("hipdnn")
    twins = {f"cudnn{rest}", f"miopen{rest}"} & mapping.table().functions.keys()
    return bool(twins or _FUSION.search(rest)) and rest not in _BOTH and not _GRAPHS.fullmatch(name)


@source_check("name", "instead")
def old_hipdnn(unit: Unit) -> Iterator[SourceHit]:
    """Find functions of the hipDNN that was a layer over MIOpen and cuDNN."""
    for node, rest in _first(unit, _is_old):
        row = mapping.table().by_cudnn.get(f"cudnn{rest}")
        found = [f.name for f in row.miopen] if row is not None else [f"miopen{rest}"]
        instead = f"{' or '.join(found)}, as portadnn map cudnn{rest} compares them" if found else "MIOpen has none"
        yield SourceHit(node.span, words={"name": f"hipdnn{rest}", "instead": instead}, function=f"hipdnn{rest}")


@source_check("name")
def graphs_of_hipdnn(unit: Unit) -> Iterator[SourceHit]:
    """Find the first call of hipDNN's graph API."""
    for node, rest in list(_first(unit, lambda name: _GRAPHS.fullmatch(name) is not None))[:1]:
        yield SourceHit(node.span, words={"name": f"hipdnn{rest}"}, function=f"hipdnn{rest}")


def _of_frontend(unit: Unit) -> bool:
    """Return whether a source has graphs of cudnn_frontend, whose header a header of its own may include for it."""
    if unit.file in unit.around.frontend:
        return True
    graphs = _graphs(unit)
    return any(
        function.calls & makers()
        or any(GRAPH_TYPE.search(parameter.type) for parameter in function.parameters)
        or plain(function.owner) in graphs
        for function in unit.functions
    )


def _graphs(unit: Unit) -> set[str]:
    """Return the classes that are graphs: their methods call those of the graph without an object."""
    owners = {plain(function.owner) for function in unit.functions if function.owner}
    around = (unit.around.classes.get(owner) for owner in owners)
    classes = [class_ for class_ in (*unit.classes, *around) if class_ is not None]
    return {plain(class_.name) for class_ in classes if any(GRAPH_TYPE.search(base) for base in class_.bases)}


def _methods(unit: Unit, table: _Table) -> Iterator[SourceHit]:
    if not _of_frontend(unit):
        return
    graphs = _graphs(unit)
    for function in unit.functions:
        own = plain(function.owner) in graphs
        for node in invocations(function.body):
            method = node.callee.name if isinstance(node.callee, Member) else callee(node) if own else ""
            if method in table:
                pattern, does = table[method]
                if pattern.search(node.text) or pattern.search(notes.of_arguments(node, function, unit.around.notes)):
                    yield SourceHit(node.span, words={"method": method, "does": does})


@source_check("method", "does")
def refused_by_shim(unit: Unit) -> Iterator[SourceHit]:
    """Find what hipDNN's shim of cudnn_frontend answers with an error."""
    yield from _methods(unit, _REFUSED)
    if _of_frontend(unit):
        for node in _calls(unit):
            if isinstance(node.callee, Member) and node.callee.name == "execute" and len(node.arguments) == 4:
                does = "returns INVALID_VALUE with an array of pointers: give it a map of them"
                yield SourceHit(node.span, words={"method": "execute", "does": does})


@source_check("method", "does")
def ignored_by_shim(unit: Unit) -> Iterator[SourceHit]:
    """Find what hipDNN's shim of cudnn_frontend ignores."""
    yield from _methods(unit, _IGNORED)
