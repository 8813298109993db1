"""The support table as Markdown, from what engines answer."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from ..data_types import data_type
from ..engine import GraphEngine
from ..enums import behavior_note, heur_mode
from ..errors import GraphError
from ..operation_graph import OperationGraph
from ..patterns import PATTERNS
from ..plans import engines_of
from .cases import Case, cases, computes
from .on_paper import DEVICES, PaperHandle

TYPES = tuple(kind.name for kind in data_type if kind.is_stored)
LAYOUTS = ("rows", "NHWC", "gaps")
_VARIED = ("FLOAT", "HALF", "INT8")  # types that are asked for in all layouts and compute types
_LETTERS = {"fallback": "k", "fallback_host": "h"}
_RATHER = {"resample": "S"}
_HEAD = """# What runs where

Every operation and named pattern of the [Graph API](graph.md), asked of the engines of every backend with small
tensors of a type; no device takes part. `python -m portadnn.graph.support > docs/graph-support.md` writes this page,
and a test says when it is out of date.

Backend `reference` takes everything, by definition. For the others a cell names who takes the graph: {letters}, `k`
the operations' own kernels, node by node (engine `fallback`), `h` the host alone (engine `fallback_host`, offered by
`heur_mode.FALLBACK`); `-` is no graph. Rows hold for rows, channels last and elements with gaps, and for the compute
type of the data (FLOAT, or DOUBLE for DOUBLE), where they do not name another answer in brackets. Devices are taken
to have float64. Parameters and statistics of normalisations are FLOAT, beside DOUBLE data DOUBLE. Further limits are
each engine's own: `graph.explain()` tells them.
"""


@functools.cache
def _handle(device: str) -> PaperHandle:
    return PaperHandle(device)


def _letter(engine: GraphEngine, used: dict[str, str]) -> str:
    """Return an engine's letter: the first of its name that is free, or one that says more."""
    if engine.name in _LETTERS:
        return _LETTERS[engine.name]
    taken = {*used.values(), *_LETTERS.values()}
    wanted = _RATHER.get(engine.name, "") + engine.name.upper()
    return used.setdefault(engine.name, next(c for c in wanted if c not in taken))


def answer(graph: OperationGraph, device: str, used: dict[str, str]) -> str:
    """Return the letters of the engines that take a graph; that of the host only where no other does."""
    letters = ""
    for engine in engines_of(_handle(device)):
        late = behavior_note.HOST_COMPUTATION in engine.behavior_notes or heur_mode.A not in engine.modes
        if (not late or not letters) and not engine.reasons(graph, _handle(device).info):
            letters += _letter(engine, used)
    return letters or "none"


def _asked(case: Case, kind: str, layout: str, compute: str) -> OperationGraph | None:
    try:
        return case.graph(kind, layout, compute)
    except GraphError:
        return None


def _variants(kind: str) -> Iterator[tuple[str, str]]:
    """Yield layouts and compute types to ask for, the usual ones first."""
    first, *others = computes(kind)
    yield "rows", first
    if kind in _VARIED:
        yield from (("rows", compute) for compute in others)
        yield from ((layout, first) for layout in LAYOUTS[1:])


def _cells(case: Case, used: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return, by device and type, the answer and in brackets what others there are for layouts and compute types."""
    found: dict[str, dict[str, str]] = {device: {} for device in DEVICES}
    for kind in TYPES:
        graphs = {variant: _asked(case, kind, *variant) for variant in _variants(kind)}
        for device in DEVICES:
            said = {v: "-" if graph is None else answer(graph, device, used) for v, graph in graphs.items()}
            usual, *others = said
            cell = said[usual]
            apart: dict[str, list[str]] = {}
            for variant in others:
                if said[variant] != cell:
                    name = variant[1] if variant[0] == "rows" else variant[0]
                    apart.setdefault(said[variant], []).append(name)
            notes = "; ".join(f"{' '.join(names)} {letters}" for letters, names in apart.items())
            found[device][kind] = f"{cell} ({notes})" if notes else cell
    return found


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _together(labels: Sequence[str]) -> str:
    """Return labels with what they begin with said once: "pointwise ADD, SUB"."""
    said: dict[str, list[str]] = {}
    for label in labels:
        kind, _, rest = label.partition(" ")
        said.setdefault(kind.rstrip(","), []).append(f"{kind} {rest}".strip() if "," in kind else rest)
    texts = []
    for kind, rests in said.items():
        words = [rest.removeprefix(f"{kind}, ") for rest in rests]
        texts.append(f"`{kind}` {', '.join(word for word in words if word)}".strip())
    return "; ".join(texts)


def _patterns(used: dict[str, str]) -> Iterator[list[str]]:
    from ..api.pygraph import pygraph  # the class asks nothing of this module, but its modules are many

    for name, build in PATTERNS.items():
        graph = pygraph(name, data_type.HALF, data_type.FLOAT, data_type.FLOAT, handle=_handle("opencl, CPU"))
        build(graph)
        graph.validate()
        frozen = graph._graph.freeze()
        yield [name, *(answer(frozen, device, used) for device in DEVICES)]


def table() -> str:
    """Return the page."""
    used: dict[str, str] = {}
    found = [(case.label, _cells(case, used)) for case in cases()]
    patterns = _table(["Pattern, in HALF", *DEVICES], list(_patterns(used)))
    letters = ", ".join(f"`{letter}` engine `{name}`" for name, letter in used.items())
    parts = [_HEAD.format(letters=letters), "## Named patterns\n", patterns]
    same: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for device in DEVICES:
        rows: dict[tuple[str, ...], list[str]] = {}
        for label, cells in found:
            rows.setdefault(tuple(cells[device].values()), []).append(label)
        body = _table(["Operation", *TYPES], [[_together(labels), *cells] for cells, labels in rows.items()])
        same.setdefault((tuple(body.splitlines()),), []).append(device)
    for (body_lines,), devices in same.items():
        parts += [f"## {' and '.join(devices)}\n", "\n".join(body_lines) + "\n"]
    return "\n".join(parts)
