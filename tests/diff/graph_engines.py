"""Engines of graphs that are wrong, end their process or hang, and targets that have them, named by what they do."""

from __future__ import annotations

from dataclasses import replace

import fragile
import numpy as np

import portadnn as dnn
from portadnn.graph.engine import GraphEngine, GraphPlan
from portadnn.graph.rules import fail
from portadnn.registry import get_backend
from portadnn_backends.base import Run

(DEFINITION,) = get_backend("reference").graph_engines()


class Broken(GraphEngine):
    """By definition, but that a reduction's last number is 1 more than it should be."""

    name = "broken"

    def __init__(self, kind="reduction"):
        self.kind = kind
        self.handle = self.info = None  # the only one to work on, where there is one, and its device

    def reasons(self, graph, info):
        if self.info not in (None, info):
            return [fail("PG-ENGINE-006", argument="broken", expected="its own handle", got="another")]
        return DEFINITION.reasons(graph, info)

    def estimate(self, graph, info):
        return 0.0

    def tuned(self, graph, device, knobs):
        plan = DEFINITION.prepare(graph, device)
        wrong = [uid for each in graph.operations if each.kind == self.kind for _, uid in each.outputs]

        def run(given, numbers, workspace):
            plan.run(given, numbers, workspace)
            arrays = graph.keyed(given, numbers)
            for uid in wrong:
                if not graph.by_uid[uid].virtual:
                    info = graph.by_uid[uid]
                    last = (-1,) * len(info.dims)
                    arrays[uid][last] = info.data_type.stored(info.data_type.loaded(arrays[uid][last]) + 1)

        return GraphPlan(graph, self, 0, Run(run))


class Writer(Broken):
    """By definition, and then 0 between the elements of results."""

    def tuned(self, graph, device, knobs):
        plan = DEFINITION.prepare(graph, device)

        def run(given, numbers, workspace):
            plan.run(given, numbers, workspace)
            arrays = graph.keyed(given, numbers)
            for uid in graph.results:
                kept = arrays[uid].copy()
                span = (graph.by_uid[uid].span,)
                np.lib.stride_tricks.as_strided(arrays[uid], span, (kept.itemsize,))[:] = 0
                arrays[uid][...] = kept

        return GraphPlan(graph, self, 0, Run(run))


class Ending(Broken):
    """By definition, but what has a reduction ends its process, hangs, or loses its device."""

    name = "ending"

    def __init__(self, how):
        super().__init__()
        self.how = how

    def tuned(self, graph, device, knobs):
        if any(each.kind == self.kind for each in graph.operations):
            return GraphPlan(graph, self, 0, Run(lambda *given: fragile.ENDS[self.how](self.handle)))
        return DEFINITION.prepare(graph, device)


def opened(word):
    """Open the reference, with an engine of that name beside the definition."""
    if word not in ("broken", *fragile.ENDS):
        return fragile.opened(word)
    engine = Broken() if word == "broken" else Ending(word)
    engine.handle = dnn.Handle("reference", profile="")
    own = f"{word} {engine.handle.serial}"  # which tells its handle from others
    engine.info = engine.handle.device.info = replace(engine.handle.info, version=own)
    backend = type(get_backend("reference"))
    others = backend.graph_engines
    backend.graph_engines = lambda self: (*others(self), engine)
    return engine.handle
