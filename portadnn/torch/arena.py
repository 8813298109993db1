"""Segments of a model as one list of launches, with memory of their own for what lies between."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from portadnn.dispatch.choice import prepare
from portadnn.dispatch.execute import run_recorded
from portadnn.handle import Handle
from portadnn.problem import Problem
from portadnn_backends.base import Launch, LaunchRun

_ALIGNED = 256  # bytes


class Declined(Exception):
    """Why a segment cannot be a list of launches."""


@dataclass
class Posed:
    """A step as a Problem, with its tensors in the order of ``problem.names``, the last one its result."""

    problem: Problem
    tensors: list[torch.Tensor]


class _Notes:
    """Notes what a plan would launch, as a device's recorder."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.launches: list[tuple[Sequence[Launch], Sequence[Any], Sequence[float], Any]] = []

    def launch(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        self.launches.append((run.launches, arrays, scalars, workspace))

    def opaque(self, run: Callable[..., None], *args: Any) -> None:
        raise Declined("a plan does more than launch")

    def allocated(self, memory: Any) -> None:
        raise Declined("a plan allocates memory")

    def host_access(self, what: str) -> None:
        raise Declined("a plan reads memory on the host")


def pose(handle: Handle, step: Callable[[], list[torch.Tensor]]) -> Posed:
    """Return the one Problem that a step asks for, with the step's tensors; nothing is computed."""
    handle.collector = []
    try:
        tensors = step()
        found = handle.collector
    finally:
        handle.collector = None
    if len(found) != 1:
        raise Declined(f"a layer is {len(found)} calls")
    problem: Problem = found[0]
    if len(problem.tensors) != len(tensors) or tensors[-1].storage_offset():
        raise Declined("a layer's call has other tensors")
    for spec, t in zip(problem.tensors, tensors, strict=True):
        if spec.dims != tuple(t.shape) or (spec.size > 1 and spec.strides != t.stride()):
            raise Declined("a layer's call has tensors laid out in another way")
    return Posed(problem, tensors)


class Arena:
    """A segment's launches, for inputs with certain layouts.

    Parameters
    ----------
    posed
        Its steps.
    inputs, outputs
        Tensors among those of the steps that are others at each call.
    """

    def __init__(
        self, handle: Handle, posed: Sequence[Posed], inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
    ) -> None:
        device = handle.device
        self.handle = handle
        self._outputs = [(y.shape, y.stride(), y.dtype) for y in outputs]
        places, self._fixed, self.nbytes = _places(posed, inputs, outputs)
        self._scalars: list[float] = []
        self._scratch = 0
        launches: list[Launch] = []
        for one in posed:
            make = functools.partial(prepare, handle, one.problem)
            plan = handle.plans.plan(one.problem, None, make).plan
            workspace = handle.scratches.get(device, plan.workspace_size).memory if plan.workspace_size else None
            self._scratch = max(self._scratch, plan.workspace_size)
            arrays = device.launchable(one.tensors)
            if arrays is None:
                raise Declined("launches need more than tensors")
            numbers = list(one.problem.scalars.values())
            if "alpha2" in one.problem.scalars and one.tensors[2] is not one.tensors[-1]:
                numbers[list(one.problem.scalars).index("alpha2")] = 1.0
            notes: Any = _Notes()
            device.recorder = notes
            try:
                run_recorded(device, plan.run, plan.run.recordable, arrays, numbers, workspace)
            finally:
                device.recorder = None
            where = {device.address(a): places[t.data_ptr()] for a, t in zip(arrays, one.tensors, strict=True)}
            for found, given, scalars, scratch in notes.launches:
                if scratch is not None and scratch is not workspace:
                    raise Declined("a plan divides its workspace")
                at = [where[device.address(array)] for array in given]
                numbered = [self._number(number) for number in scalars]
                launches += [launch.moved(at, numbered) for launch in found]
        self._run = device.bind(launches)
        self._kept = device.launchable(self._fixed)
        if self._kept is None:
            raise Declined("launches need more than tensors")

    def _number(self, value: float) -> int:
        if value not in self._scalars:
            self._scalars.append(value)
        return self._scalars.index(value)

    def __call__(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Compute with inputs of the same layouts, under the handle's lock."""
        device = self.handle.device
        made = [inputs[0].new_empty_strided(shape, stride, dtype=dtype) for shape, stride, dtype in self._outputs]
        arrays = device.launchable([*inputs, *made])
        assert arrays is not None and self._kept is not None
        scratch = self.handle.scratch(self._scratch) if self._scratch else None
        self._run.call([*arrays, *self._kept], self._scalars, scratch)
        return made


_Place = tuple[int, int]  # number of the tensor, bytes from its first element on


def _places(
    posed: Sequence[Posed], inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> tuple[dict[int, _Place], list[torch.Tensor], int]:
    """Return where each tensor is found, by its address; the tensors behind inputs and outputs; the arena's bytes.

    Results that nothing outside reads share memory where they are not needed at the same time.
    """
    places = {t.data_ptr(): (i, 0) for i, t in enumerate((*inputs, *outputs))}
    made = {one.tensors[-1].data_ptr() for one in posed}
    last = {t.data_ptr(): i for i, one in enumerate(posed) for t in one.tensors}
    weights: list[torch.Tensor] = []
    arena = len(inputs) + len(outputs)
    free: list[tuple[int, int]] = []  # begin, bytes
    held: dict[int, tuple[int, int]] = {}
    end = 0
    for i, one in enumerate(posed):
        for t in one.tensors:
            at = t.data_ptr()
            if at in places:
                continue
            if at not in made:
                weights.append(t)
                places[at] = (arena + len(weights), 0)
                continue
            size = -(-t.untyped_storage().nbytes() // _ALIGNED) * _ALIGNED
            fits = [block for block in free if block[1] >= size]
            if fits:
                begin, room = min(fits, key=lambda block: block[1])
                free.remove((begin, room))
                if room > size:
                    free.append((begin + size, room - size))
            else:
                begin, end = end, end + size
            held[at] = (begin, size)
            places[at] = (arena, begin)
        for at in [at for at in held if last[at] == i]:
            free.append(held.pop(at))
            free = _joined(free)
    memory = torch.empty(end // posed[0].tensors[-1].element_size(), dtype=posed[0].tensors[-1].dtype)
    return places, [memory, *weights], end


def _joined(blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return free blocks with neighbours as one."""
    joined: list[tuple[int, int]] = []
    for begin, size in sorted(blocks):
        if joined and joined[-1][0] + joined[-1][1] == begin:
            joined[-1] = (joined[-1][0], joined[-1][1] + size)
        else:
            joined.append((begin, size))
    return joined
