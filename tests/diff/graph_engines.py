"""Engines of graphs that are wrong, end their process or hang, and targets that have them, named by what they do."""

from __future__ import annotations

import fragile
import numpy as np

import portadnn as dnn
from portadnn.graph.engine import GraphEngine, GraphPlan
from portadnn.graph.errors import fail
from portadnn.registry import get_backend

(DEFINITION,) = get_backend("reference").graph_engines()


class Broken(GraphEngine):
    """By definition, but that a reduction's last number is 1 more than it should be."""

    name = "broken"

    def __init__(self, kind="reduction"):
        self.kind = kind
        self.handle = None  # the only one to work on, where there is one

    def why_not(self, graph, handle):
        if self.handle not in (None, handle):
            return [fail("PG-ENGINE-006", argument="broken", expected="its own handle", got="another")]
        return DEFINITION.why_not(graph, handle)

    def seconds(self, graph, handle):
        return 0.0

    def prepare(self, graph, handle):
        plan = DEFINITION.prepare(graph, handle)
        wrong = [uid for each in graph.operations if each.kind == self.kind for _, uid in each.outputs]

        def run(arrays, workspace):
            plan.run(arrays, workspace)
            for uid in wrong:
                if not graph.by_uid[uid].virtual:
                    info = graph.by_uid[uid]
                    last = (-1,) * len(info.dims)
                    arrays[uid][last] = info.data_type.stored(info.data_type.loaded(arrays[uid][last]) + 1)

        return GraphPlan(self, graph, 0, run)


class Writer(Broken):
    """By definition, and then 0 between the elements of results."""

    def prepare(self, graph, handle):
        plan = DEFINITION.prepare(graph, handle)

        def run(arrays, workspace):
            plan.run(arrays, workspace)
            for uid in graph.results:
                kept = arrays[uid].copy()
                span = (graph.by_uid[uid].span,)
                np.lib.stride_tricks.as_strided(arrays[uid], span, (kept.itemsize,))[:] = 0
                arrays[uid][...] = kept

        return GraphPlan(self, graph, 0, run)


class Ending(Broken):
    """By definition, but what has a reduction ends its process, hangs, or loses its device."""

    name = "ending"

    def __init__(self, how):
        super().__init__()
        self.how = how

    def prepare(self, graph, handle):
        if any(each.kind == self.kind for each in graph.operations):
            return GraphPlan(self, graph, 0, lambda arrays, workspace: fragile.ENDS[self.how](handle))
        return DEFINITION.prepare(graph, handle)


def opened(word):
    """Open the reference, with an engine of that name beside the definition."""
    if word not in ("broken", *fragile.ENDS):
        return fragile.opened(word)
    engine = Broken() if word == "broken" else Ending(word)
    engine.handle = dnn.Handle("reference", profile="")
    backend = type(get_backend("reference"))
    others = backend.graph_engines
    backend.graph_engines = lambda self: (*others(self), engine)
    return engine.handle
