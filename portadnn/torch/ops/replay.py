"""Operators called with new tensors of known layouts: outputs are allocated, and the launches of an earlier call made.

PyTorch makes new tensors in every step. What an operator does follows from its tensors' layouts and its other
arguments, so that all between the operator's call and its launches is done once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from portadnn.handle import Handle
from portadnn.hooks import CALL_HOOKS

from .handles import handle_for
from .repeat import Recipe, Recorder

_MOST = 8192  # calls that are kept
_NEW: Any = object()
_aten = torch.ops.aten
_ALLOCATING = (_aten.empty, _aten.empty_like, _aten.empty_strided, _aten.new_empty, _aten.new_empty_strided)


class _Watch(TorchDispatchMode):
    """Notes whether PyTorch computes something itself, beyond memory and views.

    What it allocates is kept meanwhile, so that no address stands for two tensors.
    """

    def __init__(self) -> None:
        super().__init__()
        self.computes = False
        self._kept: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func.overloadpacket in _ALLOCATING:
            self._kept.append(found)
        elif not func.is_view:
            self.computes = True
        return found


class _Known:
    """What a call of an operator does: its outputs' layouts, and its launches."""

    __slots__ = ("handle", "outputs", "recipe", "single")

    def __init__(self, handle: Handle, recipe: Recipe, outputs: Sequence[torch.Tensor], single: bool) -> None:
        self.handle, self.recipe, self.single = handle, recipe, single
        self.outputs = [(tuple(y.shape), y.stride(), y.dtype) for y in outputs]

    def run(self, device: Any, tensors: list[torch.Tensor]) -> Any:
        """Return the outputs of a call with inputs of the known layouts, or None where it has to be made in full."""
        where = tensors[0].device
        made = [torch.empty_strided(shape, stride, dtype=d, device=where) for shape, stride, d in self.outputs]
        places = device.launchable(tensors + made)
        if places is None:
            return None
        self.recipe.run(self.handle, places)
        return made[0] if self.single else tuple(made)


def replayed(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator's kernel that replays calls with known layouts; the backend is its last argument.

    Calls in which PyTorch computes, which run on the host or need memory of their own are made in full each time.
    """
    known: dict[Hashable, _Known | None] = {}
    tuned: set[Hashable] = set()  # on GPUs with cudnn.benchmark, calls after which Find has been asked

    @functools.wraps(kernel)
    def call(*args: Any) -> Any:
        key, tensors = _key(args)
        found = known.get(key, _NEW)
        if found is None or key is None or CALL_HOOKS:
            return kernel(*args)
        if found is _NEW:
            if key not in tuned and tensors[0].is_cuda and torch._C._get_cudnn_benchmark():
                tuned.add(key)
                return kernel(*args)
            return _first(kernel, args, tensors, known, key)
        handle = found.handle
        device = handle._device
        if device is not None:  # a forked child has lost it
            with handle.lock:
                outputs = None if device.recorder is not None else found.run(device, tensors)
            if outputs is not None:
                return outputs
        else:
            known.pop(key, None)
        return kernel(*args)

    return call


def _key(args: Sequence[Any]) -> tuple[Hashable, list[torch.Tensor]]:
    """Return what a call follows from, and its tensors; None for the key where two types lie in the same place."""
    words: list[Any] = []
    tensors: list[torch.Tensor] = []
    places: list[int] = []
    for arg in args:
        if isinstance(arg, torch.Tensor):
            place = arg.data_ptr()
            words += (arg.shape, arg.stride(), arg.dtype, place & 15, arg.get_device())
            tensors.append(arg)
            places.append(place)
        else:
            words.append(tuple(arg) if type(arg) is list else arg)
    if tensors[0].is_cuda:
        words += (torch._C._get_cudnn_benchmark(), torch._C._get_cudnn_allow_tf32())
    if len(set(places)) < len(places):
        firsts = [places.index(place) for place in places]
        if any(tensors[i].dtype is not t.dtype for i, t in zip(firsts, tensors, strict=True)):
            return None, tensors
        words += firsts
    return tuple(words), tensors


def _first(kernel: Any, args: Any, tensors: Sequence[torch.Tensor], known: dict[Any, Any], key: Any) -> Any:
    """Make a call in full, and note what it does."""
    handle = handle_for(tensors[0], args[-1])
    with handle.lock:
        device = handle.device
        if not device.binds or device.recorder is not None:
            return kernel(*args)
        device.recorder = recorder = Recorder(handle)
        try:
            with _Watch() as watch:
                outputs = kernel(*args)
        finally:
            device.recorder = None
        made = list(outputs) if isinstance(outputs, tuple) else [outputs]
        recipe = recorder.recipe([*tensors, *made]) if not watch.computes and _apart(tensors, made) else None
        while len(known) >= _MOST:
            known.pop(next(iter(known)), None)
        known[key] = None if recipe is None else _Known(handle, recipe, made, not isinstance(outputs, tuple))
    return outputs


def _apart(tensors: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> bool:
    """Tell whether each output has memory of its own, and no more than it needs."""
    storages = [t.untyped_storage() for t in made]
    starts = {s.data_ptr() for s in storages} - {0}
    if len(starts) < sum(s.data_ptr() != 0 for s in storages):
        return False
    if any(t.untyped_storage().data_ptr() in starts for t in tensors):
        return False
    spans = (sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)) + 1 if t.numel() else 0 for t in made)
    return all(
        t.storage_offset() == 0 and s.nbytes() == span * t.element_size()
        for t, s, span in zip(made, storages, spans, strict=True)
    )
