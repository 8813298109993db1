"""A model's layers replaced by portadnn's, in place, and back again."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any

import torch

from portadnn.dispatch.prepared import Prepared

from . import activation_layers, chains, layers, sequence_layers  # noqa: F401  # two add their layers to the table
from .ops.handles import check_backend
from .preparing import prepare
from .program import Program, Segment, program
from .state import State
from .whole import Whole

_log = logging.getLogger("portadnn")


class Substitution:
    """What :func:`substitute` did to a model; as a context manager it restores the model at its end.

    Attributes
    ----------
    model
        The model.
    replaced : dict of str to str
        The kind of each module that portadnn computes now, by the first name under which the model has it.
    left : dict of str to str
        Why each other module that computes something of its own was left to PyTorch.
    fused : int
        How many convolutions compute the modules behind them as well, with ``fuse=True``.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.replaced: dict[str, str] = {}
        self.left: dict[str, str] = {}
        self.fused = 0
        self._program: Program | None = None
        self._passing: set[torch.nn.Module] = set()
        self._before: list[tuple[torch.nn.Module, type[torch.nn.Module]]] = []

    def restore(self) -> torch.nn.Module:
        """Give all modules back to PyTorch; return the model. A second time does nothing."""
        for module, kind in self._before:
            given_back = _given_back(type(module), kind)
            if given_back is not None:
                module.__class__ = given_back
                for name in ("portadnn_backend", "portadnn_chain", "portadnn_place"):
                    module.__dict__.pop(name, None)
        self._before.clear()
        if isinstance(vars(self.model).get("forward"), Whole):
            del self.model.__dict__["forward"]
        return self.model

    def prepare(self, *inputs: Any, backward: bool | None = None, **options: Any) -> dict[str, Prepared]:
        """Build the kernels of a step ahead of it, side by side on all cores.

        The model is called once with these inputs while nothing of portadnn's is computed: what its layers return is
        not initialised, and what of the model depends on it may go another way. Buffers and random numbers are as
        before afterwards, gradients are untouched; hooks are called. Other threads' calls wait meanwhile.

        Parameters
        ----------
        *inputs, **options
            As the model takes them, with the shapes, types and layouts of the calls to come.
        backward
            Whether gradients are prepared, too; by default where the model is in training mode.

        Returns
        -------
        dict of str to Prepared
            For each backend how many problems there were, and which ones no engine takes.

        Raises
        ------
        Exception
            What the model itself raises.
        """
        return prepare(self.model, inputs, options, self.model.training if backward is None else backward)

    def __enter__(self) -> Substitution:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def __str__(self) -> str:
        lines = [f"{len(self.replaced)} modules are computed by portadnn, {len(self.left)} are left to PyTorch"]
        if self.fused:
            lines += [f"  {self.fused} convolutions compute the norms and activations behind them"]
        if self._program is not None:
            count = sum(isinstance(part, Segment) for part, _ in self._program.parts)
            lines += [f"  the traced code is run, with {count} runs of layers in one go, without gradients"]
        lines += [f"  {name or 'the model itself'}: {reason}" for name, reason in self.left.items()]
        return "\n".join(lines)

    def _fuse(self, whole: bool) -> None:
        """Find the chains of the model's modules, before these are replaced."""
        state = State(self.model)
        graph, reason = chains.trace(self.model)
        if graph is None:
            _log.warning("substitute fuses nothing: the model's code cannot be traced (%s)", reason)
            return
        found = chains.find(self.model, graph)
        for conv, chain in found:
            conv.__dict__["portadnn_chain"] = chain
            self._passing.update(chain.behind)
        self.fused = len(found)
        if not whole:
            return
        if not state.passive() or "forward" in vars(self.model):
            _log.warning("substitute goes by the model's own code: a module is in training mode or has hooks")
        elif not state.same():
            _log.warning("substitute goes by the model's own code: that sets attributes")
        else:
            self._program = program(self.model, graph)

    def _replace(self, name: str, module: torch.nn.Module, backend: str) -> None:
        kind = type(module)
        if kind in layers.REPLACED:
            self.left[name] = "was replaced before"
            return
        layer = layers.LAYERS.get(kind)
        reason = _why_unknown(module) if layer is None else layers.why_not(module)
        if module in self._passing:
            reason = None  # with inplace=True it passes what is computed, or is PyTorch's
        if reason is not None:
            self.left[name] = reason
            _log.info("substitute leaves %s to PyTorch: %s", name or "the model itself", reason)
        if layer is None or reason is not None:
            return
        self._before.append((module, kind))
        module.__class__ = layer
        module.portadnn_backend = backend
        self.replaced[name] = kind.__name__


def _given_back(now: type[torch.nn.Module], kind: type[torch.nn.Module]) -> type[torch.nn.Module] | None:
    """Return the class of a module that is no longer ours; None where it is another's by now.

    Parametrizations that were registered since make a subclass with their properties.
    """
    layer = layers.LAYERS.get(kind)
    if now is layer:
        return kind
    if now.__bases__ != (layer,) or not now.__name__.startswith("Parametrized"):
        return None
    own = {name: value for name, value in vars(now).items() if name not in ("__dict__", "__weakref__")}
    return type(now.__name__, (kind,), own)


def _why_unknown(module: torch.nn.Module) -> str | None:
    """Return why a module of a class without a layer is left; None for one that only holds others."""
    kind = type(module)
    base = next((k for k in kind.__mro__ if k in layers.LAYERS), None)
    if base is not None:
        return f"{kind.__name__} is a subclass of {base.__name__}"
    if kind.__module__.startswith("torch.nn.modules") and not any(True for _ in module.children()):
        return f"portadnn has no {kind.__name__}"
    return None


def substitute(model: torch.nn.Module, backend: str = "auto", *, fuse: bool | str = False) -> Substitution:
    """Let portadnn compute a model's layers: convolutions, pooling, norms, activations, networks and losses.

    Modules stay the same objects, with the same parameters, buffers, state dict, hooks and mode; only their class is
    another, a subclass of their own. A module that the model has twice is replaced once. Left alone are subclasses
    (they may compute anything), modules whose options portadnn lacks, and functions that a model calls without a
    module: ``print(substitution)`` tells of the modules.

    Parameters
    ----------
    model
        Any module, which is changed.
    backend
        What computes; see :func:`portadnn.torch.ops.conv2d`.
    fuse
        True: let a 2-D or 3-D convolution compute the batch norm and the ReLU, ReLU6, Sigmoid, Tanh or SiLU behind it
        in one call, where no gradient is wanted and these modules are in evaluation mode, have no hooks and float32 or
        float64 data: such a module then returns what the last of them would. In a model in training mode, let it
        compute the batch norm by the batch's statistics and a ReLU behind it, with gradients, in any type. The model's
        code is traced by torch.fx for that; the model is not to be rebuilt afterwards.
        ``"whole"``: besides, in evaluation mode on a CPU without gradients, run the traced code in place of the model's
        own. Convolutions add the other branch of a residual block as well, runs of layers are launched in one go, and
        what lies between them has memory that is kept. Hooks, other modules, other values of attributes and changed
        weights are noticed (not through ``.data``); what the code reads or changes elsewhere (globals, lists,
        printing) is not: that happened once, while it was traced.

    Returns
    -------
    Substitution
        With ``.restore()``, ``.replaced`` and ``.left``.

    Raises
    ------
    TypeError
        `model` is no module.
    BadParam
        An unknown backend.

    Examples
    --------
    >>> import torch
    >>> from portadnn.torch import substitute
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GELU())
    >>> substitution = substitute(model, backend="reference")
    >>> print(substitution)
    2 modules are computed by portadnn, 1 are left to PyTorch
      2: portadnn has no GELU
    >>> substitution.restore() is model
    True
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"expected a torch.nn.Module, got {type(model).__name__}")
    check_backend(backend)
    made = Substitution(model)
    if fuse:
        made._fuse(fuse == "whole")
    for name, module in model.named_modules():  # each module once
        made._replace(name, module, backend)
    if made._program is not None:
        model.__dict__["forward"] = Whole(model, made._program, State(model))
    return made


def backend_of(module: torch.nn.Module) -> Any:
    """Return the backend that computes a replaced module; None for any other."""
    return getattr(module, "portadnn_backend", None) if type(module) in layers.REPLACED else None
