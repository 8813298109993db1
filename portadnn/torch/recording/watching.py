"""The modes that see what a PyTorch program computes."""

from __future__ import annotations

import bisect
import functools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import convolution, graphs, layers, norms, pooling, recurrent
from .computation import TABLE, Computation, Entry, LeftOut, Tensor, by_name, is_tensor
from .names import Modules, site

_FAMILIES = (convolution, graphs, layers, norms, pooling, recurrent)  # whose import fills the table
_RELEVANT = {  # words in names of operators that cuDNN's are likely to be
    "conv": "convolution",
    "norm": "norm",
    "pool": "pooling",
    "rnn": "rnn",
    "lstm": "rnn",
    "gru": "rnn",
    "softmax": "softmax",
    "attention": "attention",
    "ctc_loss": "ctc",
    "grid_sampler": "grid sample",
}
_NOT = ("linalg", "norm_except_dim", "weight_norm", "renorm", "embedding", "unpool", "aten.norm", "aten._foreach")
MOST_RANGES = 1 << 16
_clock = time.perf_counter


class Call(NamedTuple):
    """Where and when a program made a call: the module's name, file and line, and seconds."""

    module: str
    site: tuple[str, int]
    start: float
    seconds: float


@dataclass
class Made:
    """A call that a program made.

    Attributes
    ----------
    function : str
        ``"aten.convolution"``.
    kind : str
        What it is counted as: convolution, norm, pooling, rnn, softmax, attention, ...
    module : str
        Name of the module, "" outside of modules.
    why_not : str
        Why there is no problem; "" where there is.
    written : tuple of Tensor
        What it changed in place.
    """

    function: str
    kind: str
    module: str
    site: tuple[str, int]
    start: float
    seconds: float
    computations: Sequence[Computation] = ()
    why_not: str = ""
    in_place: bool = False


class Known(NamedTuple):
    """What is known of an operator: its name, kind and translation, and whether it is to be met in its parts."""

    function: str
    kind: str
    entry: Entry | None
    composite: bool
    in_place: bool


_KNOWN: dict[Any, Known | None] = {}


def _know(func: Any) -> Known | None:
    """Look at an operator that has not been called before; None of one that is none of cuDNN's."""
    found = None
    if isinstance(func, torch._ops.OpOverload) and func.namespace == "aten":
        full = f"{func._schema.name.partition('::')[2]}.{func._schema.overload_name or 'default'}"
        entry = TABLE.get(full)
        name = f"aten.{full}"
        kind = next((kind for word, kind in _RELEVANT.items() if word in name), "")
        if any(word in name for word in _NOT):
            kind = ""
        if entry is not None:
            kind = entry.kind
        composite = entry is None and torch._C._dispatch_has_kernel_for_dispatch_key(
            func.name(), "CompositeImplicitAutograd"
        )
        if kind or composite:
            in_place = name.partition(".default")[0].endswith("_")
            found = Known(name.removesuffix(".default"), kind, entry, composite, in_place)
    _KNOWN[func] = found
    return found


class _Functions(TorchFunctionMode):
    """Sees functions of Python whose parts alone PyTorch's dispatcher has."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in recurrent.MODES and not kwargs:
            return self._watch._recurrent(name, func, args)
        if name == "rms_norm":
            return self._watch._rms_norm(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))


class Watch(TorchDispatchMode):
    """Sees the calls of this thread, and of the backward passes that it starts.

    Subclasses say what becomes of them: `made` gets each. `compared` is passed to translations.
    """

    compared = False
    supports_higher_order_operators = True  # which go on as without the mode

    def __init__(self) -> None:
        super().__init__()
        self.modules = Modules()
        self.counts: Counter[str] = Counter()
        self.posed: Counter[str] = Counter()
        self.left: Counter[tuple[str, str, str]] = Counter()
        self._functions = _Functions(self)
        self._starts: list[int] = []  # autograd nodes of functions that are seen as a whole: ranges of numbers
        self._ends: list[int] = []
        self._inside = 0
        self._fastpath = True
        self._open = False

    def made(self, call: Made) -> None:
        """Take a call."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Show in notebooks how many calls became problems, and why others did not."""
        from ..._page.cells import table

        rows = [(kind, count, self.posed[kind], "") for kind, count in sorted(self.counts.items())]
        rows += [(kind, count, 0, f"{function}: {reason}") for (kind, function, reason), count in self.left.items()]
        posed, calls = self.posed.total(), self.counts.total()
        return table(f"{posed} of {calls} calls became problems", ("kind", "calls", "problems", "left out"), rows)

    # a context

    def __enter__(self) -> Any:
        self._fastpath = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # which computes whole layers in one call
        self.modules.install()
        self._functions.__enter__()
        self._open = True
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._open = False
        self._functions.__exit__(*error)
        self.modules.remove()
        torch.backends.mha.set_fastpath_enabled(self._fastpath)

    # calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # Between two large operators nothing of this is in the processor's caches: each function counts.
        kwargs = kwargs or {}
        known = _KNOWN[func] if func in _KNOWN else _know(func)
        if known is None or self._inside:
            return func(*args, **kwargs)
        if known.composite:
            with _Again(self):
                return func.decompose(*args, **kwargs)
        if self._starts and self._of_whole():
            return func(*args, **kwargs)
        module = self.modules.current()
        start = _clock()
        out = func(*args, **kwargs)
        seconds = _clock() - start
        self.modules.note(module)
        self._inside += 1
        try:
            self.operator(known, func, args, kwargs, out, Call(module, site(), start, seconds))
        finally:
            self._inside -= 1
        return out

    def operator(self, known: Known, func: Any, args: Any, kwargs: Any, out: Any, call: Call) -> None:
        """Translate a call of an operator, count it and pass it on."""
        if _unreal(args):
            return
        made = Made(known.function, known.kind, *call, in_place=known.in_place)
        if known.entry is None:
            self._translated(made, _untranslated)
        else:
            translate = known.entry.translate
            self._translated(made, lambda: translate(by_name(func._schema, args, kwargs), out, self.compared))

    def _take(self, call: Made, translate: Callable[[], Sequence[Computation]]) -> None:
        """Do so with a call of a function, without looking at what that takes."""
        self._inside += 1
        try:
            self._translated(call, translate)
        finally:
            self._inside -= 1

    def _translated(self, call: Made, translate: Callable[[], Sequence[Computation]]) -> None:
        """Count a call and pass it on; what is none of cuDNN's is passed over."""
        try:
            call.computations = translate()
            if not call.computations:
                return
        except LeftOut as reason:
            call.why_not = str(reason)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            # a version of PyTorch that calls an operator otherwise: the program goes on
            call.why_not = f"{type(error).__name__} in its translation: {error}"
        self.count(call.kind, call.function, call.why_not)
        self.made(call)

    def count(self, kind: str, function: str, why_not: str) -> None:
        """Count a call."""
        self.counts[kind] += 1
        if why_not:
            self.left[kind, function, why_not] += 1
        else:
            self.posed[kind] += 1

    def _of_whole(self) -> bool:
        """Tell whether the gradient that is being computed is part of a function that was seen as a whole."""
        node = torch._C._current_autograd_node()
        if node is None:
            return False
        number = node._sequence_nr()
        place = bisect.bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]

    def _whole(self, function: Callable[[], Any]) -> tuple[Any, float, float]:
        """Make a call without looking at its parts; return its result, when it began, and how long it took."""
        first = torch.autograd._get_sequence_nr()
        self._inside += 1
        start = time.perf_counter()
        try:
            out = function()
        finally:
            self._inside -= 1
        last = torch.autograd._get_sequence_nr()
        if last > first:
            if len(self._starts) >= MOST_RANGES:
                del self._starts[:-1], self._ends[:-1]
            self._starts.append(first)
            self._ends.append(last)
        return out, start, time.perf_counter() - start

    def _recurrent(self, name: str, func: Any, args: tuple[Any, ...]) -> Any:
        module, place = self.modules.current(), site()
        out, start, seconds = self._whole(lambda: func(*args))
        if _unreal((out,)):
            return out
        trains = out[0].requires_grad
        held: dict[str, Any] = {}
        reserve = ("reserve", name, tuple(args[0].shape), module) if trains else None

        def translate() -> Sequence[Computation]:
            held["call"] = recurrent.recurrent(name, func, args, tuple(one.detach() for one in out))
            return recurrent.forward(held["call"], reserve, self.compared)

        self._take(Made(f"torch.{name}", "rnn", module, place, start, seconds), translate)

        def gradients(dy: Tensor) -> None:
            if not self._open:
                return
            call = Made(f"torch.{name} backward", "rnn", module, site(), time.perf_counter(), 0.0)
            self._take(call, lambda: recurrent.backward(held["call"], reserve, dy, self.compared))

        if trains and "call" in held:
            out[0].register_hook(gradients)
        return out

    def _rms_norm(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module, place = self.modules.current(), site()
        out, start, seconds = self._whole(lambda: func(*args, **kwargs))
        if _unreal((out,)):
            return out
        names = ("input", "normalized_shape", "weight", "eps")
        given = {**dict.fromkeys(names), **dict(zip(names, args, strict=False)), **kwargs}
        x, weight = given["input"], given["weight"]
        epsilon = torch.finfo(x.dtype).eps if given["eps"] is None else float(given["eps"])
        count, plain = len(given["normalized_shape"]), (None if weight is None else weight.detach())
        self._take(
            Made("torch.rms_norm", "norm", module, place, start, seconds),
            lambda: norms.rms_norm(x.detach(), count, plain, epsilon, out.detach()),
        )

        def own(dy: Tensor) -> tuple[Tensor, ...]:
            leaves = [one.detach().requires_grad_() for one in (x, weight) if one is not None]
            with torch.enable_grad():
                y = torch.nn.functional.rms_norm(leaves[0], given["normalized_shape"], *leaves[1:], eps=epsilon)
            return tuple(torch.autograd.grad(y, leaves, dy))

        def gradients(dy: Tensor) -> None:
            if self._open:
                call = Made("torch.rms_norm backward", "norm", module, site(), time.perf_counter(), 0.0)
                made = functools.lru_cache(None)(lambda: own(dy))
                self._take(call, lambda: norms.rms_norm_backward(x.detach(), dy, count, plain, epsilon, made))

        if out.requires_grad:
            out.register_hook(gradients)
        return out


class _Again:
    """The mode once more, inside of itself, for the parts of a call."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def __enter__(self) -> None:
        TorchDispatchMode.__enter__(self._watch)

    def __exit__(self, *error: Any) -> None:
        TorchDispatchMode.__exit__(self._watch, *error)


def _untranslated() -> Sequence[Computation]:
    raise LeftOut("no translation")


def _unreal(args: Sequence[Any]) -> bool:
    """Tell whether tensors have no memory: fake ones of a compiler, or of the meta device."""
    for arg in args:
        if is_tensor(arg):
            return arg.device.type == "meta" or type(arg).__name__ == "FakeTensor"
    return False
