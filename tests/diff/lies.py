"""Engines that break one promise each, for the tests of what finds them."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

import portadnn as dnn
from portadnn_backends.base import Plan, Run
from portadnn_backends.reference.backend import DefinitionEngine


class Liar(DefinitionEngine):
    """The definition's engine, with a function (problem, tensors by name, workspace, run number) after each run."""

    def __init__(self, lie, *, workspace=0, deterministic=True, why=None, before=None, algos=None):
        super().__init__()
        self.algos = algos  # those it implements, of all
        self.lie, self.size, self.deterministic = lie, workspace, deterministic
        self.why, self.before = why, before
        self.runs = 0

    def why_not(self, problem, info):
        return self.why

    def implements(self, problem, algo):
        return self.algos is None or algo.name in self.algos

    def workspace(self, problem, info):
        return self.size

    def prepare(self, problem, device):
        honest = super().prepare(problem, device)

        def run(arrays, scalars, workspace):
            tensors = dict(zip(problem.names, arrays, strict=True))
            if self.before is not None:
                self.before(problem, tensors)
            honest.run(arrays, scalars, None)
            self.runs += 1
            self.lie(problem, tensors, workspace, self.runs)

        return Plan(problem, self, self.size, Run(run))


@contextmanager
def lying(lie, **how):
    """Open a reference handle whose only engine lies."""
    with dnn.Handle("reference", profile="") as handle:
        handle.engines = (Liar(lie, **how),)
        yield handle


def whole(array):
    """Return all the memory that an array lies in, as bytes."""
    while array.base is not None and isinstance(array.base, np.ndarray):
        array = array.base
    owner = array.base
    if owner is not None and hasattr(owner, "owner"):
        array = owner.owner
    return array.view(np.uint8).reshape(-1)
