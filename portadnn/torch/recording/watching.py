"""Watches see what a PyTorch program computes, and pass it on as problems."""

from __future__ import annotations

import bisect
import contextlib
import functools
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from . import convolution, graphs, kernels, layers, norms, pooling, recurrent, wholes
from .computation import TABLE, Computation, Entry, LeftOut, Tensor, by_name, is_tensor
from .eager import eager
from .kernels import Span
from .names import Modules, Where, where

_FAMILIES = (convolution, graphs, layers, norms, pooling, recurrent)  # whose import fills the table
_KINDS = {  # words in names of operators that cuDNN's are likely to be
    "conv": "convolution",
    "convolution": "convolution",
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
_RELEVANT = re.compile(rf"(?<![a-z])({'|'.join(_KINDS)})(?![a-z])")
_NOT = ("linalg", "norm_except_dim", "weight_norm", "embedding", "aten.norm", "aten._foreach")
MOST_RANGES = 1 << 16


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
    """What is known of an operator: its name, kind and translation, and whether it changes an argument."""

    function: str
    kind: str
    entry: Entry | None
    in_place: bool


@functools.cache
def _known(func: Any) -> Known:
    """Return what is known of an operator that is watched."""
    full = f"{func._schema.name.partition('::')[2]}.{func._schema.overload_name or 'default'}"
    entry, name = TABLE.get(full), f"aten.{full}".removesuffix(".default")
    kind = entry.kind if entry else _kind(full)
    return Known(name, kind, entry, name.endswith("_"))


def _kind(full: str) -> str:
    """Return what an operator is counted as by its name; "" where it is none of cuDNN's."""
    name = f"aten.{full}"
    word = None if any(other in name for other in _NOT) else _RELEVANT.search(name)
    return _KINDS[word[1]] if word else ""


def _watched(full: str) -> bool:
    """Tell whether an operator is one of cuDNN's; what is made of others is seen in its parts."""
    if (full if "." in full else f"{full}.default") in TABLE:
        return True
    composite = torch._C._dispatch_has_kernel_for_dispatch_key
    return bool(_kind(full)) and not composite(f"aten::{full}", "CompositeImplicitAutograd")


class Watch:
    """Sees the calls of this thread, and of the backward passes that it starts, while it is entered.

    Subclasses say what becomes of them: `made` gets each. `compared` is passed to translations.
    """

    compared = False

    def __init__(self) -> None:
        self.modules = Modules()
        self._counts: Counter[str] = Counter()
        self._posed: Counter[str] = Counter()
        self._left: Counter[tuple[str, str, str]] = Counter()
        self._starts: list[int] = []  # autograd nodes of functions that are seen as a whole: ranges of numbers
        self._ends: list[int] = []
        self._leaving = contextlib.ExitStack()
        self._entered = False

    def made(self, call: Made) -> None:
        """Take a call."""
        raise NotImplementedError

    def settle(self) -> None:
        """Count the calls that have been taken and not been counted."""

    @property
    def counts(self) -> Counter[str]:
        """Calls by kind."""
        self.settle()
        return self._counts

    @property
    def posed(self) -> Counter[str]:
        """Those of them that became problems."""
        self.settle()
        return self._posed

    @property
    def left(self) -> Counter[tuple[str, str, str]]:
        """The others: kind, function and reason."""
        self.settle()
        return self._left

    def _repr_html_(self) -> str:
        """Show in notebooks how many calls became problems, and why others did not."""
        from ..._page.cells import table

        rows = [(kind, count, self.posed[kind], "") for kind, count in sorted(self.counts.items())]
        rows += [(kind, count, 0, f"{function}: {reason}") for (kind, function, reason), count in self.left.items()]
        posed, calls = self.posed.total(), self.counts.total()
        return table(f"{posed} of {calls} calls became problems", ("kind", "calls", "problems", "left out"), rows)

    # a context

    def __enter__(self) -> Any:
        kernels.install(_watched, wholes.OVERLOADS)
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # which computes whole layers in one call
        self._leaving.callback(torch.backends.mha.set_fastpath_enabled, fast)
        self._leaving.enter_context(eager())
        kernels.watch(self)
        self._leaving.callback(kernels.leave, self)
        if torch._C._len_torch_dispatch_stack():
            self._leaving.enter_context(kernels.Above())
        self._entered = True
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered = False
        self._leaving.close()

    # calls

    def saw(self, func: Any, args: Any, kwargs: Any, out: Any, place: Where, start: float, seconds: float) -> None:
        """Take a call of an operator that was made."""
        if self._starts and self._of_whole():
            return
        name = self.modules.name(place)
        self.modules.note(name)
        self.operator(func, args, kwargs, out, Call(name, place.site, start, seconds))

    def operator(self, func: Any, args: Any, kwargs: Any, out: Any, call: Call) -> None:
        """Translate a call of an operator, count it and pass it on."""
        if _unreal(args):
            return
        known = _known(func)
        made = Made(known.function, known.kind, *call, in_place=known.in_place)
        if known.entry is None:
            self._translated(made, _untranslated)
        else:
            translate = known.entry.translate
            self._translated(made, lambda: translate(by_name(func._schema, args, kwargs), out, self.compared))

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
        self._counts[kind] += 1
        if why_not:
            self._left[kind, function, why_not] += 1
        else:
            self._posed[kind] += 1

    def _of_whole(self) -> bool:
        """Tell whether the gradient that is being computed is part of a function that was seen as a whole."""
        node = torch._C._current_autograd_node()
        if node is None:
            return False
        number = node._sequence_nr()
        place = bisect.bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]

    def saw_whole(self, func: Any, args: Any, kwargs: Any, out: Any, place: Where, span: Span) -> None:
        """Take a call of a function that was made, without looking at its parts."""
        if span.last > span.first:
            if len(self._starts) >= MOST_RANGES:
                del self._starts[:-1], self._ends[:-1]
            self._starts.append(span.first)
            self._ends.append(span.last)
        y = out if is_tensor(out) else out[0]
        if _unreal((y,)):
            return
        name = func._schema.name.partition("::")[2]
        module = self.modules.name(place)
        whole = wholes.FUNCTIONS[name](func, args, kwargs, out, module)
        kind = wholes.KINDS[name]
        self._translated(
            Made(f"torch.{name}", kind, module, place.site, span.start, span.seconds),
            lambda: whole.forward(self.compared),
        )

        def gradients(dy: Tensor) -> None:
            if not self._entered:
                return
            with kernels.Unwatched():
                call = Made(f"torch.{name} backward", kind, module, where().site, time.perf_counter(), 0.0)
                self._translated(call, lambda: whole.backward(dy, self.compared))

        if y.requires_grad:
            y.register_hook(gradients)


def _untranslated() -> Sequence[Computation]:
    raise LeftOut("no translation")


def _unreal(args: Sequence[Any]) -> bool:
    """Tell whether tensors have no memory: fake ones of a compiler, or of the meta device."""
    for arg in args:
        if is_tensor(arg):
            return arg.device.type == "meta" or type(arg).__name__ == "FakeTensor"
    return False
