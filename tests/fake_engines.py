"""Engines that compute right, take the time they are told, and fail in the ways engines can; they run on reference.

That time is not spent but told by a clock of their own, which :func:`install` gives the device.
"""

from __future__ import annotations

from portadnn.errors import AllocFailed, ExecutionFailed
from portadnn.ops.convolution.calls import ConvolutionBackwardData, ConvolutionBackwardFilter, ConvolutionForward
from portadnn_backends.base import Engine, Plan, Run
from portadnn_backends.reference.outcomes import outcomes

ALL = (ConvolutionForward, ConvolutionBackwardData, ConvolutionBackwardFilter)


class FakeEngine(Engine):
    """Algorithm number `number` of every direction.

    `estimate` is what it says it takes, `takes` what it does take, both in seconds. `fails` is what running raises;
    `no` its reason not to.
    """

    problems = ALL
    clock = 0.0  # seconds that all of them took

    def __init__(
        self, name, number, takes=0.0, *, estimate=0.0, needs=0, factor=1.0, repeats=True, fails=None, no=None
    ):
        self.name, self.number, self.takes, self.estimate, self.needs = name, number, takes, estimate, needs
        self.factor, self.deterministic, self.fails, self.no = factor, repeats, fails, no
        self.prepared, self.runs, self.given = 0, 0, None

    def algo(self, problem):
        from portadnn.ops.convolution.algorithms import DATA, FILTER, FORWARD

        for direction in (FORWARD, DATA, FILTER):
            if isinstance(problem, direction.kind):
                return direction.algos(self.number)
        return None

    def error_factor(self, problem):
        return self.factor

    def seconds(self, problem, info):
        return self.estimate

    def why_not(self, problem, info):
        return self.no

    def workspace(self, problem, info):
        return self.needs

    def prepare(self, problem, device):
        self.prepared += 1
        if self.fails is AllocFailed:
            raise AllocFailed("no memory for tables")

        def run(arrays, scalars, workspace):
            self.runs += 1
            self.given = workspace
            if self.needs:
                assert device.workspace_size(workspace) >= self.needs
            if self.fails is not None:
                raise self.fails("it broke")
            FakeEngine.clock += self.takes
            arrays[-1][...] = outcomes(problem, arrays, scalars)[problem.outputs[-1]]

        return Plan(problem, self, self.needs, Run(run))


def crowd():
    """Return engines of every kind: the one thought fastest is not, and the fastest is not deterministic."""
    return {
        "slow": FakeEngine("slow", 0, 0.02, estimate=1e-4),
        "quick": FakeEngine("quick", 0, 0.004, estimate=2e-4, needs=1000),
        "atomic": FakeEngine("atomic", 1, 0.0005, estimate=3e-4, repeats=False),
        "rounding": FakeEngine("rounding", 2, 0.001, estimate=4e-4, needs=5000, factor=30.0),
        "broken": FakeEngine("broken", 3, estimate=5e-4, fails=ExecutionFailed),
    }


def install(handle):
    """Give a handle these engines and no others, and their clock; return them by name."""
    engines = crowd()

    def time(function):
        before = FakeEngine.clock
        function()
        return FakeEngine.clock - before

    handle.engines = tuple(engines.values())
    handle.device.time = time
    return engines
