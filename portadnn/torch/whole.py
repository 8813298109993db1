"""A model's traced code in place of its own, for inference on CPUs: runs of layers are one list of launches.

Between two layers nothing of Python runs then, what lies between them has memory that is used again at once, and a
kernel starts where the one before ends.
"""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import fx, nn

from portadnn.errors import DnnError
from portadnn.handle import Handle
from portadnn.hooks import CALL_HOOKS

from . import chains
from .arena import Arena, Declined, Posed, pose
from .ops.handles import handle_for
from .ops.replay import layouts
from .ops.watching import watched
from .program import Foreign, Fused, Pooled, Program, Segment, Value
from .state import State

_MOST = 4  # layouts of inputs for which a segment keeps its launches and memory
_DTYPES = (torch.float32, torch.float64)
_log = logging.getLogger("portadnn")
_Values = dict[int, Any]


class Whole:
    """What a model calls in place of its own ``forward``.

    It goes by the program where that says the same as the model's code: in evaluation mode, without gradients, hooks,
    autocast and whatever else has to see modules, with plain tensors in the host's memory, as long as modules and
    their attributes are those of the time of tracing.
    """

    def __init__(self, model: nn.Module, program: Program | None, state: State | None = None) -> None:
        self.model = model
        self._program = program
        self._state = state  # None until a copy is called first
        self._segments: dict[int, _Runner] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Whole:
        """Copy without launches and memory."""
        return Whole(copy.deepcopy(self.model, memo), self._program)

    def __reduce__(self) -> Any:
        """Pickle without the program: the copy goes by the model's code."""
        return Whole, (self.model, None)

    def __getattr__(self, name: str) -> Any:
        """Look like the model's ``forward`` to those who ask for its parameters, as torch.export does."""
        if name == "__signature__":
            return inspect.signature(type(self.model).forward.__get__(self.model))
        if name == "__code__":
            return type(self.model).forward.__code__
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        model = self.model
        if torch.compiler.is_compiling() or self._program is None or not self._takes(self._program, args, kwargs):
            return type(model).forward(model, *args, **kwargs)
        return self._run(self._program, args)

    def _takes(self, program: Program, args: Sequence[Any], kwargs: Any) -> bool:
        if kwargs or len(args) != program.inputs or torch.is_grad_enabled() or CALL_HOOKS:
            return False
        if watched() or torch._C._is_any_autocast_enabled():
            return False
        if not all(type(a) is torch.Tensor and a.is_cpu and a.dtype in _DTYPES and a.numel() for a in args):
            return False
        if self._state is None:
            self._state = State(self.model)
        return self._state.passive() and self._state.same()

    def _run(self, program: Program, args: Sequence[Any]) -> Any:
        values: _Values = dict(enumerate(args))
        for i, (part, done) in enumerate(program.parts):
            if isinstance(part, Foreign):
                values[part.out] = _foreign(self.model, part, values)
            else:
                runner = self._segments.get(i)
                if runner is None:
                    runner = self._segments[i] = _Runner(self.model, part)
                made = runner([values[j] for j in part.inputs])
                if made is None:
                    made = _traced(self.model, part, values)
                values.update(zip(part.outputs, made, strict=True))
            for j in done:
                del values[j]
        return _given(program.result, values)


def _given(found: Any, values: _Values) -> Any:
    return fx.node.map_aggregate(found, lambda one: values[one.index] if isinstance(one, Value) else one)


def _foreign(model: nn.Module, node: Foreign, values: _Values) -> Any:
    """Return what a node computes."""
    args, kwargs = _given(node.args, values), _given(node.kwargs, values)
    if node.op == "call_module":
        return model.get_submodule(node.target)(*args, **kwargs)
    if node.op == "call_method":
        return getattr(args[0], node.target)(*args[1:], **kwargs)
    if node.op == "get_attr":
        found: Any = model
        for name in node.target.split("."):
            found = getattr(found, name)
        return found
    return node.target(*args, **kwargs)


def _traced(model: nn.Module, segment: Segment, outside: _Values) -> list[Any]:
    """Compute a segment's nodes as they were traced, module by module."""
    values = {i: outside[i] for i in segment.inputs}
    for node in segment.nodes:
        values[node.out] = _foreign(model, node, values)
    return [values[i] for i in segment.outputs]


class _Runner:
    """A segment of a model: its launches for some layouts of its inputs, made again when a weight changes."""

    def __init__(self, model: nn.Module, segment: Segment) -> None:
        self._segment = segment
        steps = [step for step in segment.steps if isinstance(step, Fused)]
        names = [(step.conv, step.norm) for step in steps]
        names += [(step.module, None) for step in segment.steps if isinstance(step, Pooled)]
        self._modules: dict[str, Any] = {
            name: model.get_submodule(name) for pair in names for name in pair if name is not None
        }
        self._chains = [(self._modules[step.conv], self._norm(step)) for step in steps]
        self._arenas: dict[Hashable, Arena | None] = {}
        self._weights: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._seen: list[tuple[Any, int, int]] = []

    def __call__(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor] | None:
        """Return the segment's outputs; None where it has to be computed module by module."""
        found = layouts((), inputs)
        if found is None or not self._counted():
            return None
        backend: str = self._chains[0][0].portadnn_backend
        handle = handle_for(inputs[0], backend)
        with handle.lock:
            device = handle.device
            if not device.binds or device.recorder is not None:
                return None
            if handle.collector is not None:
                return self._posed_only(inputs)
            key = (handle.serial, found[0])
            if key not in self._arenas:
                while len(self._arenas) >= _MOST:
                    self._arenas.pop(next(iter(self._arenas)), None)
                self._arenas[key] = self._arena(handle, inputs)
            arena = self._arenas[key]
            return None if arena is None else arena(inputs)

    def _norm(self, step: Fused) -> nn.Module | None:
        return None if step.norm is None else self._modules[step.norm]

    def _counted(self) -> bool:
        """Tell whether somebody counts the changes of the weights; forget what was made of others."""
        given = [t for chain in self._chains for t in chains.parameters(*chain) if t is not None]
        if len(given) == len(self._seen) and all(
            t is one and t.data_ptr() == place and t._version == version
            for t, (one, place, version) in zip(given, self._seen, strict=True)
        ):
            return True
        if any(t.is_inference() or type(t) not in (torch.Tensor, nn.Parameter) or not t.is_cpu for t in given):
            return False
        self._arenas, self._weights = {}, {}
        self._seen = [(t, t.data_ptr(), t._version) for t in given]
        return True

    def _step(self, step: Fused | Pooled, values: _Values) -> list[torch.Tensor]:
        """Make a step's call; return its tensors in the order of its Problem."""
        x = values[step.x]
        if isinstance(step, Pooled):
            return [x, self._modules[step.module](x)]
        conv, norm = self._modules[step.conv], self._norm(step)
        if x.dim() != conv.weight.dim() or x.dtype is not conv.weight.dtype:
            raise Declined("a layer's input has other dims or another type than its filter")
        if step.conv not in self._weights:
            w, bias = chains.fold(conv, norm)
            self._weights[step.conv] = (w.detach(), bias.detach())
        w, bias = self._weights[step.conv]
        z = None if step.z is None else values[step.z]
        y = chains.convolve(x, w, bias, *chains.geometry(conv), step.activation, conv.portadnn_backend, z=z)
        return [x, w, y if z is None else z, bias, y]

    def _posed_only(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
        """Have the calls noted by whoever collects them."""
        values = dict(zip(self._segment.inputs, inputs, strict=True))
        try:
            for step in self._segment.steps:
                values[step.out] = self._step(step, values)[-1]
        except (Declined, DnnError):
            return None
        return [values[i] for i in self._segment.outputs]

    def _arena(self, handle: Handle, inputs: Sequence[torch.Tensor]) -> Arena | None:
        """Return the launches for such inputs; None where a step is more than launches."""
        values = dict(zip(self._segment.inputs, inputs, strict=True))
        posed: list[Posed] = []
        try:
            for step in self._segment.steps:
                posed.append(pose(handle, lambda step=step: self._step(step, values)))
                values[step.out] = posed[-1].tensors[-1]
            return Arena(handle, posed, inputs, [values[i] for i in self._segment.outputs])
        except (Declined, DnnError) as reason:
            _log.info("substitute computes a part of a model layer by layer: %s", reason)
            return None
