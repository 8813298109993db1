"""What the tables of cases expect of another's library behind a backend: less than of portadnn's own kernels.

Such a library does not take all that portadnn's operations do, rounds in its own places, and may differ where its
capability table says so; everything else is compared as on any other backend.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import portadnn as dnn
from portadnn import capability
from portadnn.dispatch.choice import choose
from portadnn.dispatch.problems import with_room
from portadnn.mapping import table
from portadnn.problem import every_problem

BACKENDS = ("cudnn",)
# Operations that cuDNN's legacy interface lacks, and what the backend does not call.
NO_CALL = frozenset(every_problem()) - table().of_cudnn
NO_CALL |= {f"multi_head_attn_{way}" for way in ("forward", "backward_data", "backward_weights")}
FACTOR = 4.0  # numbers of 16 bits are rounded on the way, and exp(x) - 1 has few digits near 0
_KEPT = ("rnn_backward_data", "rnn_backward_weights")


def widened(limits):
    """Return the tolerance of every element: a few times that of the largest one."""
    return np.full_like(limits, FACTOR * np.max(limits, initial=0.0, where=np.isfinite(limits)))


class Case:
    """A problem on such a backend.

    Attributes
    ----------
    problem
        The problem, with byte buffers as large as the library wants them.
    engine
        The engine that takes it.
    differs : bool
        Whether the capability table says that the numbers are others.
    """

    def __init__(self, handle, problem, numbers, strict):
        self.strict = strict
        self.problem = with_room(handle, problem, set(problem.raw).intersection(problem.names))
        if problem.op in _KEPT:
            pytest.skip("it reads what the library's own forward pass keeps; test_rnn_steps.py makes whole steps")
        self.engine = None
        with self.refusals():
            self.engine = choose(handle, self.problem)
        verdict = capability.table(handle.backend).judge(problem, numbers)
        self.differs = any(rule.effect in ("random", "wrong") for rule in verdict.rules)

    @contextmanager
    def refusals(self):
        """Skip the test where the library refuses, unless its table is what is tested."""
        try:
            yield
        except (dnn.NotSupported, dnn.BadParam) as error:
            if self.strict or (isinstance(error, dnn.BadParam) and "cudnn" not in error.message):
                raise
            pytest.skip(str(error))
