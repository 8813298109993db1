"""The engines of recurrent networks: forward passes, gradients of inputs and states, gradients of parameters."""

from __future__ import annotations

from portadnn.ops.rnn.problems import (
    RNN,
    RNNBackwardData,
    RNNBackwardWeights,
    RNNForwardInference,
    RNNForwardTraining,
)
from portadnn.problem import Problem

from ...base import Device, DeviceInfo, Engine, Plan, roofline
from .backward import Backward
from .forward import Forward
from .projected import ProjectedBackward, ProjectedForward
from .weights import Weights

Todo = Forward | Backward | Weights


class _Recurrent(Engine):
    """A pass over all layers: any cell, direction, length and projection."""

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        if info.schedule == "cpu" and info.backend != "opencl":
            return "its kernels for CPUs are written in OpenCL C"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, RNN)
        return roofline(problem, info, 0.4, launches=problem.num_layers * len(problem.sequence.batches))

    def todo(self, problem: Problem, info: DeviceInfo) -> Todo:
        """Return where everything of a pass lies, and its launches."""
        raise NotImplementedError

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, RNN)
        return self.todo(problem, info).workspace if problem.sequence.rows else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, RNN)
        if not problem.sequence.rows:
            return Plan(problem, self, 0, device.bind(()))
        todo = self.todo(problem, device.info)
        launches = tuple(todo.launches(device))
        return Plan(problem, self, todo.workspace, device.bind(launches), launches)


class RnnForward(_Recurrent):
    """Forward inference and training."""

    name = "rnn"
    problems = (RNNForwardInference, RNNForwardTraining)

    def todo(self, problem: Problem, info: DeviceInfo) -> Todo:
        assert isinstance(problem, (RNNForwardInference, RNNForwardTraining))
        return (ProjectedForward if problem.proj_size else Forward)(problem, info)


class RnnBackwardData(_Recurrent):
    """Backward data."""

    name = "rnn_backward_data"
    problems = (RNNBackwardData,)

    def todo(self, problem: Problem, info: DeviceInfo) -> Todo:
        assert isinstance(problem, RNNBackwardData)
        return (ProjectedBackward if problem.proj_size else Backward)(problem, info)


class RnnBackwardWeights(_Recurrent):
    """Backward weights."""

    name = "rnn_backward_weights"
    problems = (RNNBackwardWeights,)

    def todo(self, problem: Problem, info: DeviceInfo) -> Todo:
        assert isinstance(problem, RNNBackwardWeights)
        return Weights(problem, info)


ENGINES = (RnnForward(), RnnBackwardData(), RnnBackwardWeights())
