"""Kernels called with new tensors of known layouts: outputs are allocated, and the launches of an earlier call made.

PyTorch makes new tensors in every step. What a kernel does follows from its tensors' layouts and its other arguments,
its numbers, so that all between a call and its launches is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from portadnn.handle import Handle
from portadnn.hooks import CALL_HOOKS

from .handles import handle_for
from .places import Place
from .repeat import Recipe, Recorder, span
from .watching import watched

_MOST = 8192  # calls that are kept
_aten = torch.ops.aten
_ALLOCATING = (_aten.empty, _aten.empty_like, _aten.empty_strided, _aten.new_empty, _aten.new_empty_strided)
_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
Tensors = Sequence[Any]  # tensors and None


class _Watch(TorchDispatchMode):
    """Notes whether PyTorch computes something itself, beyond memory and views.

    What it allocates is kept meanwhile, so that no address stands for two tensors.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Spare the mode what keeps torch.compile out, which would import all of the compiler."""
        return False

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


def hashable(numbers: Sequence[Any]) -> tuple[Any, ...]:
    """Return a call's numbers with tuples in place of lists, as PyTorch's dispatcher passes them."""
    for number in numbers:
        if type(number) is list:
            return tuple(tuple(one) if type(one) is list else one for one in numbers)
    return tuple(numbers)


def layouts(numbers: Any, tensors: Tensors, profiled: bool = False) -> tuple[Hashable, bool] | None:
    """Return what a call follows from, and whether somebody may ask for its gradient.

    Parameters
    ----------
    numbers
        The call's other arguments.
    tensors
        Its tensors, and None.
    profiled
        Whether it shows itself to PyTorch's profiler.

    Returns
    -------
    (hashable, bool) or None
        The first is equal for calls that do the same with other memory; the second is whether autograd is to know.
        None where somebody but autograd has to see the call (:func:`watched`), and for subclasses of tensors, for
        those whose memory says something else (negated lazily), and for one memory seen as two types.
    """
    if watched(profiled):
        return None
    words: list[Any] = [numbers]
    places: list[int] = []
    grad, needs, where = torch.is_grad_enabled(), False, -1
    try:
        for tensor in tensors:
            if tensor is None:
                words.append(None)
                continue
            kind = type(tensor)
            if kind is not _PARAMETER and (kind is not _TENSOR or tensor.is_neg()):
                return None
            place, where = tensor.data_ptr(), tensor.get_device()
            if not place and not (tensor.is_cpu or tensor.is_cuda):  # on no device, as number -1, which CPUs have
                return None
            words += (tensor.shape, tensor.stride(), tensor.dtype, place & 15, where)
            places.append(place)
            if grad and tensor.requires_grad:
                needs = True
    except (RuntimeError, NotImplementedError):  # sparse tensors, which have no address
        return None
    if where >= 0:
        words += (torch._C._get_cudnn_benchmark(), torch._C._get_cudnn_allow_tf32())
    if len(set(places)) < len(places) and not _shared(tensors, places, words):
        return None
    return tuple(words), needs


def _shared(tensors: Tensors, places: list[int], words: list[Any]) -> bool:
    """Add which tensors have the same memory; False where one is seen as two types, and for tensors without any."""
    given = [t for t in tensors if t is not None]
    firsts = [places.index(place) for place in places]
    words += firsts
    return all(
        given[i].dtype is t.dtype and (place or t.is_cpu or t.is_cuda)
        for i, t, place in zip(firsts, given, places, strict=True)
    )


def _allocation(device: torch.device) -> Callable[[Any, Any, torch.dtype], torch.Tensor]:
    """Return what makes an uninitialised tensor of dims, strides and a type, on a device.

    PyTorch's compiler allocates past the dispatcher, on CUDA on the current device, in half the time. Where that none
    of its public functions is not as known, tensors are made as usual.
    """

    def usual(dims: Any, strides: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty_strided(dims, strides, dtype=dtype, device=device)

    try:
        from torch._C._dynamo import guards

        short: Any = getattr(guards, f"_empty_strided_{device.type}")
        one = short((2, 3), (1, 2), torch.float16)
        if (one.shape, one.stride(), one.dtype) != ((2, 3), (1, 2), torch.float16):
            return usual
    except Exception:  # another version of PyTorch
        return usual
    if device.type == "cpu" or torch.cuda.device_count() == 1:
        return short
    current: Any = torch._C._cuda_getDevice

    def on_device(*layout: Any) -> torch.Tensor:
        return short(*layout) if current() == device.index else usual(*layout)

    return on_device


class Full:
    """A call that is made in full each time.

    Attributes
    ----------
    backward : Place
        The call of its gradients.
    """

    __slots__ = ("backward", "kernel", "numbers")

    def __init__(self, kernel: Callable[..., Any], numbers: tuple[Any, ...]) -> None:
        self.kernel, self.numbers = kernel, numbers
        self.backward = Place()

    def __call__(self, tensors: Tensors) -> Any:
        return self.kernel(*tensors, *self.numbers)


class Known(Full):
    """What a call does: its outputs' layouts, and its launches."""

    __slots__ = ("_allocate", "handle", "outputs", "recipe", "single")

    def __init__(self, full: Full, handle: Handle, recipe: Recipe, outputs: Sequence[torch.Tensor], single: bool):
        super().__init__(full.kernel, full.numbers)
        self.handle, self.recipe, self.single = handle, recipe, single
        self.outputs = [(tuple(y.shape), y.stride(), y.dtype) for y in outputs]
        self._allocate = _allocation(outputs[0].device)

    def __call__(self, tensors: Tensors) -> Any:
        handle = self.handle
        device = handle._device
        if device is not None and not CALL_HOOKS:  # a forked child has lost it
            allocate = self._allocate
            made = [allocate(dims, strides, dtype) for dims, strides, dtype in self.outputs]
            with handle.lock:
                if device.recorder is None:
                    places = device.launchable([*[t for t in tensors if t is not None], *made])
                    if places is not None:
                        self.recipe.run(handle, places)
                        return made[0] if self.single else tuple(made)
        return self.kernel(*tensors, *self.numbers)


class _First(Full):
    """A call with layouts that did not come before."""

    __slots__ = ("_key", "_of")

    def __init__(self, of: Repeating, key: Hashable, numbers: tuple[Any, ...]) -> None:
        super().__init__(of.kernel, numbers)
        self._of, self._key = of, key

    def __call__(self, tensors: Tensors) -> Any:
        return self._of.first(self._key, tensors, self)


class Repeating:
    """A kernel that repeats its calls with known layouts; without gradients.

    Calls in which PyTorch computes, which run on the host or need memory of their own are made in full each time.

    Parameters
    ----------
    kernel
        Takes tensors and None, then numbers, of which the backend is the last.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel = without_grad(kernel)
        self._known: dict[Hashable, Full] = {}
        self._tuned: set[Hashable] = set()  # on GPUs with cudnn.benchmark, calls after which Find has been asked

    def known(self, key: Hashable) -> Full | None:
        """Return the call with a key from :func:`layouts`; None for a new one, or one without a hash."""
        try:
            found = self._known.get(key)
        except TypeError:
            return None
        if type(found) is Known and found.handle._device is None:
            self._known.clear()
            return None
        return found

    def find(self, key: Hashable, numbers: tuple[Any, ...]) -> Full:
        """Return what makes the call, which takes its tensors."""
        return self.known(key) or _First(self, key, numbers)

    def at(self, place: Place, numbers: tuple[Any, ...], tensors: Tensors) -> Full | None:
        """Return what makes the call of a place in a program, without gradients; None where somebody has to see it."""
        call = place.find(numbers, tensors)
        if call is None:
            found = layouts(numbers, tensors)
            if found is None:
                return None
            call = self.find(found[0], numbers)
            if type(call) is Known:
                place.keep(numbers, tensors, call, found[1])
        return call

    def keep(self, key: Hashable, call: Full) -> None:
        """Keep a call under another key as well."""
        while len(self._known) >= _MOST:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = call

    def first(self, key: Hashable, tensors: Tensors, full: Full) -> Any:
        """Make a call in full, and note what it does."""
        given = [t for t in tensors if t is not None]
        if not all(t.is_cpu or t.is_cuda for t in given):
            return full.kernel(*tensors, *full.numbers)
        if key not in self._tuned and given[0].is_cuda and torch._C._get_cudnn_benchmark():
            self._tuned.add(key)
            return full.kernel(*tensors, *full.numbers)
        handle = handle_for(given[0], full.numbers[-1])
        with handle.lock:
            device = handle.device
            if not device.binds or device.recorder is not None or CALL_HOOKS or handle.collector is not None:
                return full.kernel(*tensors, *full.numbers)
            device.recorder = recorder = Recorder(handle)
            try:
                with _Watch() as watch:
                    outputs = full.kernel(*tensors, *full.numbers)
            finally:
                device.recorder = None
            made = list(outputs) if isinstance(outputs, tuple) else [outputs]
            possible = not watch.computes and _apart(given, made)
            recipe = recorder.recipe([*given, *made]) if possible else None
        call = Full(full.kernel, full.numbers)
        if recipe is not None:
            call = Known(call, handle, recipe, made, not isinstance(outputs, tuple))
        self.keep(key, call)
        return outputs


def without_grad(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that detaches its tensors: portadnn's calls refuse those whose gradients somebody waits for."""

    def call(*args: Any) -> Any:
        return kernel(*[a.detach() if isinstance(a, torch.Tensor) and a.requires_grad else a for a in args])

    return call


def _apart(tensors: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> bool:
    """Tell whether each output has memory of its own, and no more than it needs."""
    storages = [t.untyped_storage() for t in made]
    starts = {s.data_ptr() for s in storages} - {0}
    if len(starts) < sum(s.data_ptr() != 0 for s in storages):
        return False
    if any(t.untyped_storage().data_ptr() in starts for t in tensors):
        return False
    return all(
        t.storage_offset() == 0 and s.nbytes() == span(t) * t.element_size()
        for t, s in zip(made, storages, strict=True)
    )
