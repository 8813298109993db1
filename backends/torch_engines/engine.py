"""The engine that runs PyTorch's operators: it widens what is stored in 16 bits, blends, and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from portadnn.enums import DnnEnum
from portadnn.errors import AllocFailed, ExecutionFailed, InternalError
from portadnn.ops.convolution.calls import Convolution
from portadnn.problem import Problem

from .. import algorithms
from ..base import Device, DeviceInfo, Engine, Plan, Run
from . import activation, convolution, norms, pooling, rnn, spatial, tensor
from .device import TorchDevice
from .precision import exactly
from .way import SHORT, Numbers, Tensors, Way, Ways, torch_module

WAYS: Ways = {
    **activation.WAYS,
    **convolution.WAYS,
    **norms.WAYS,
    **pooling.WAYS,
    **rnn.WAYS,
    **spatial.WAYS,
    **tensor.WAYS,
}


class PyTorchEngine(Engine):
    """PyTorch's own operator for each problem, or none where PyTorch has none."""

    name = "pytorch"
    problems = tuple(WAYS)

    def algo(self, problem: Problem) -> DnnEnum | None:
        """Name the algorithms without workspace, as PyTorch lets nobody choose one."""
        return algorithms.direct(problem)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return WAYS[type(problem)].why_not(problem, info)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Return a plan that computes, blends and stores."""
        if not isinstance(device, TorchDevice):
            raise InternalError(f"{device.info.backend} has no tensors of PyTorch's")
        way, torch = WAYS[type(problem)], torch_module()
        kind = "cpu" if device.info.kind == "cpu" else "cuda"

        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            tensors = dict(zip(problem.names, (array.detach() for array in arrays), strict=True))
            if all(tensors[name].numel() == 0 for name in problem.written):
                return
            numbers = dict(zip(problem.scalars, scalars, strict=True))
            try:
                with exactly(torch, kind), device.current():
                    _compute(torch, way, problem, device.info, numbers, tensors)
            except torch.OutOfMemoryError as error:
                raise AllocFailed(f"{device.info.name}: {error}") from None
            except RuntimeError as error:
                raise ExecutionFailed(f"PyTorch: {error}") from error

        return Plan(problem, self, 0, Run(run))


def _compute(torch: Any, way: Way, problem: Problem, info: DeviceInfo, numbers: Numbers, tensors: Tensors) -> None:
    """Compute all outputs, then store them: none is written before."""
    factors = {name: _factors(way, name, numbers) for name in problem.written}
    plain = all(pair == (1, 0) for pair in factors.values())
    short = plain and (info.kind, problem.dtype) in way.short
    values = way.bind(torch, problem, numbers, _inputs(torch, problem, tensors, short))()
    stored = {name: _blend(value, tensors[name], *factors[name]) for name, value in values.items()}
    for name, value in stored.items():
        tensors[name].copy_(value)


def _inputs(torch: Any, problem: Problem, tensors: Tensors, short: bool) -> Mapping[str, Any]:
    """Return the inputs as operators get them: 16 bits widened unless `short`, and without gaps or repetitions.

    Only convolutions see NHWC as such: other operators want all their tensors in one layout.

    Outputs go as they are, for their dims and for what a statistic held.
    """
    found = dict(tensors)
    for name in tensors.keys() & set(problem.inputs):
        value = tensors[name]
        wide = getattr(problem, name).dtype in SHORT and not short
        tensor = value.to(torch.float32) if wide else value
        layout = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
        last = isinstance(problem, Convolution) and tensor.dim() > 3 and tensor.is_contiguous(memory_format=layout)
        found[name] = tensor if last else tensor.contiguous()
    return found


def _factors(way: Way, name: str, numbers: Numbers) -> tuple[float, float]:
    """Return what an output and what it held before are multiplied by."""
    if name not in way.blends:
        return 1.0, 0.0
    alpha, beta = way.blends[name]
    return numbers[alpha] if alpha else 1.0, numbers[beta]


def _blend(value: Any, prior: Any, alpha: float, beta: float) -> Any:
    """Return ``alpha * value + beta * prior``, in the type of `value`; with a beta of 0 prior is not read."""
    scaled = value if alpha == 1 else value * alpha
    return scaled if beta == 0 else scaled.add(prior.to(scaled.dtype), alpha=beta)
