"""A model's kernels, built side by side ahead of its first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from portadnn.dispatch.prepared import Prepared

from .ops.handles import collecting


def prepare(
    model: torch.nn.Module, inputs: Sequence[Any], options: Mapping[str, Any], backward: bool
) -> dict[str, Prepared]:
    """Build what a model's call needs; see :meth:`portadnn.torch.Substitution.prepare`."""
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    devices = sorted({t.get_device() for t in (*model.parameters(), *model.buffers()) if t.is_cuda})
    with collecting() as found:
        try:
            with torch.random.fork_rng(devices), torch.set_grad_enabled(backward):
                _pass(model, inputs, options, backward)
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)
    return {handle.backend: handle.prepare(problems) for handle, problems in found.items() if problems}


def _pass(model: torch.nn.Module, inputs: Sequence[Any], options: Mapping[str, Any], backward: bool) -> None:
    """Go through the model, forward and backward, without computing; gradients are thrown away."""
    outputs = [y for y in _pytree.tree_leaves(model(*inputs, **options)) if isinstance(y, torch.Tensor)]
    outputs = [y for y in outputs if y.requires_grad]
    sources = [p for p in model.parameters() if p.requires_grad]
    sources += [t for t in _pytree.tree_leaves((inputs, options)) if isinstance(t, torch.Tensor) and t.requires_grad]
    if backward and outputs and sources:
        with torch.autograd.set_multithreading_enabled(False):  # in this thread, which holds the handles' locks
            torch.autograd.grad(outputs, sources, [torch.zeros_like(y) for y in outputs], allow_unused=True)
