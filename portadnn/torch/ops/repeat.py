"""Calls with new tensors of known layouts: the launches of an earlier call, with other addresses.

PyTorch makes new tensors in every step, so that calls are not found again by their arguments
(:mod:`portadnn.dispatch.call_cache`). What a call does follows from its tensors' layouts and its other arguments: the
launches are noted the first time.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch

from portadnn.descriptors import Parameters
from portadnn.errors import public
from portadnn.handle import Handle
from portadnn.hooks import CALL_HOOKS

_MOST = 8192  # calls that are kept
_KNOWN: dict[Hashable, Recipe | None] = {}
_NEW: Any = object()


class Recorder:
    """Notes the launches of one call, as a device's recorder."""

    def __init__(self, handle: Handle) -> None:
        self.thread = threading.get_ident()
        self._launches: list[tuple[Any, list[int], tuple[float, ...]]] = []  # with addresses
        self._possible = True
        self._handle = handle
        self._scratch: Any = None
        self._nbytes = 0

    def launch(self, run: Any, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        run.call(arrays, scalars, workspace)
        if workspace is not None and workspace is not self._scratch:
            self._possible = False
        addresses = [self._handle.device.address(array) for array in arrays]
        self._launches.append((run, addresses, tuple(scalars)))

    def opaque(self, run: Callable[..., None], *args: Any) -> None:
        self._possible = False
        run(*args)

    def allocated(self, memory: Any) -> None:
        """Nothing: launches that read such memory make no recipe."""

    def host_access(self, what: str) -> None:
        self._possible = False

    def scratch(self, handle: Handle, nbytes: int) -> Any:
        self._nbytes = max(self._nbytes, nbytes)
        self._scratch = handle.scratches.get(handle.device, nbytes).memory
        return self._scratch

    def planned(self, cached: Any) -> None:
        """Nothing: the launches keep what they run."""

    def operands(self, tensors: Sequence[Any]) -> None:
        """Nothing: tensors are known by their addresses."""

    def recipe(self, tensors: Sequence[torch.Tensor]) -> Recipe | None:
        """Return the launches by their places in these tensors; None where others, or the host, took part."""
        places: dict[int, tuple[int, int] | None] = {}
        places |= {t.data_ptr(): (i, 0) for i, t in reversed(list(enumerate(tensors)))}
        launches: list[Any] = []
        scalars: list[float] = []
        for run, addresses, numbers in self._launches:
            for at in addresses:
                if at not in places:
                    places[at] = _within(at, tensors)
            numbered = range(len(scalars), len(scalars) + len(numbers))
            within = [place for at in addresses if (place := places[at]) is not None]
            if len(within) < len(addresses):
                return None
            launches += [launch.moved(within, numbered) for launch in run.launches]
            scalars += numbers
        if not self._possible or not launches:
            return None
        return Recipe(self._handle.device.bind(launches), scalars, self._nbytes)


def _within(address: int, tensors: Sequence[torch.Tensor]) -> tuple[int, int] | None:
    """Return the tensor whose elements an address lies among, and the bytes before it; None for foreign memory."""
    for i, t in enumerate(tensors):
        before = address - t.data_ptr()
        if 0 <= before < span(t) * t.element_size():
            return i, before
    return None


def span(t: torch.Tensor) -> int:
    """Return how many elements lie from the first to the last one in memory."""
    return sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)) + 1 if t.numel() else 0


class Recipe:
    """The launches of a call, bound as one: what runs, its numbers and its workspace's size."""

    __slots__ = ("_call", "_nbytes", "_scalars")

    def __init__(self, run: Any, scalars: Sequence[float], nbytes: int) -> None:
        self._call, self._scalars, self._nbytes = run.call, scalars, nbytes

    def run(self, handle: Handle, arrays: Sequence[Any]) -> None:
        """Launch with other arrays in their places, under the handle's lock."""
        nbytes = self._nbytes
        self._call(arrays, self._scalars, handle.scratches.get(handle._device, nbytes).memory if nbytes else None)


def _key(name: str, handle: Handle, args: Sequence[Any], options: dict[str, Any]) -> tuple[Any, list[torch.Tensor]]:
    """Return what a call follows from, and its tensors; None for the key of one that depends on more."""
    words: list[Any] = [name, handle.serial]
    tensors: list[torch.Tensor] = []
    addresses: list[int] = []
    for value in (*args, *options.values()) if options else args:
        if isinstance(value, torch.Tensor):
            address = value.data_ptr()
            words += (value.shape, value.stride(), value.dtype, address & 15, value.get_device())
            tensors.append(value)
            addresses.append(address)
        elif isinstance(value, Parameters) and not value.by_value:
            return None, tensors
        else:
            words += (value, type(value))
    words += options
    if len(set(addresses)) < len(addresses):  # the same memory in several places
        words += [addresses.index(address) for address in addresses]
    return tuple(words), tensors


@functools.cache
def repeated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a public function that does not cache calls by their arguments, and repeats those with known layouts.

    All outputs have to be given; nothing is returned.
    """
    full = public(getattr(function, "__wrapped__"))  # noqa: B009  # mypy knows no such attribute
    name = function.__name__

    def call(handle: Handle, *args: Any, **options: Any) -> None:
        device = handle._device
        busy = CALL_HOOKS or handle.collector is not None
        if device is None or not device.binds or busy or device.recorder is not None:
            full(handle, *args, **options)
            return
        key, tensors = _key(name, handle, args, options)
        if key is None:
            full(handle, *args, **options)
            return
        recipe = _KNOWN.get(key, _NEW)
        if recipe is _NEW:
            _first(full, handle, (args, options), tensors, key)
            return
        with handle.lock:
            arrays = None if recipe is None or device.recorder is not None else device.launchable(tensors)
            if arrays is not None:
                recipe.run(handle, arrays)
                return
        full(handle, *args, **options)

    return call


def _first(full: Callable[..., Any], handle: Handle, given: Any, tensors: Sequence[torch.Tensor], key: Any) -> None:
    """Make a call in full, and note its launches."""
    args, options = given
    with handle.lock:
        device = handle.device
        if device.recorder is not None:
            full(handle, *args, **options)
            return
        device.recorder = recorder = Recorder(handle)
        try:
            full(handle, *args, **options)
        finally:
            device.recorder = None
        while len(_KNOWN) >= _MOST:
            _KNOWN.pop(next(iter(_KNOWN)), None)
        _KNOWN[key] = recorder.recipe(tensors)
