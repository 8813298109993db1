"""Registration of operators with torch.library, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils import _pytree

from portadnn.errors import BadParam

from .places import Place
from .replay import Full, Repeating, hashable, layouts, without_grad
from .twice import forward_mode_refusal, refusal

LIBRARY = torch.library.Library("portadnn", "FRAGMENT")
NAMES: list[str] = []  # of what is defined here; the Graph API's operators for PyTorch are of the same namespace
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)


class Operator:
    """An operator of torch.library, called so that gradients work in torch.func's transforms too.

    In plain eager calls PyTorch's dispatcher is left out, which takes longer than most kernels: the kernel is called
    from a function of autograd.

    Attributes
    ----------
    op
        ``torch.ops.portadnn.<name>.default``, as ``torch.library.opcheck`` takes it.
    kernel
        Computes it, for kernels of more.
    """

    def __init__(self, op: Any, kernel: Callable[..., Any], setup: Any, backward: Any, kept: bool) -> None:
        self.op, self.kernel = op, kernel
        name = op._schema.name.partition("::")[2]
        self._count = sum("Tensor" in str(argument.type) for argument in op._schema.arguments)  # the first ones
        self._repeating = Repeating(kernel)
        self._direct = direct(name, setup, backward, kept)
        self.function: Any = None  # what torch.func's transforms take

    def __call__(self, *args: Any) -> Any:
        if torch.compiler.is_compiling():
            return self.op(*args)
        numbers, tensors = hashable(args[self._count :]), args[: self._count]
        found = layouts(numbers, tensors)
        if found is not None:
            return self._call(self._repeating.find(found[0], numbers), tensors, found[1])
        if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
            return self.function.apply(*args)
        return self.op(*args)

    def without_gradients(self, place: Place, numbers: tuple[Any, ...], tensors: tuple[Any, ...]) -> Any:
        """Return the result at a place in a program where no gradient is asked for."""
        call = None if torch.compiler.is_compiling() else self._repeating.at(place, numbers, tensors)
        return self(*tensors, *numbers) if call is None else call(tensors)

    def _call(self, call: Full, tensors: Any, needs: bool) -> Any:
        return self._direct(*tensors, call) if needs else call(tensors)

    def at(self, place: Place, given: tuple[Any, ...], tensors: tuple[Any, ...]) -> Any:
        """Return the result of the call that a place made last, as :meth:`again`; not while PyTorch compiles."""
        call = place.find(given, tensors)
        if call is None:
            return self.again(given, tensors, place)
        return self._direct(*tensors, call) if place.needs and torch.is_grad_enabled() else call(tensors)

    def again(self, given: tuple[Any, ...], tensors: tuple[Any, ...], place: Place | None = None) -> Any:
        """Return the result of a call that was noted, None for any other.

        Parameters
        ----------
        given
            A function's arguments beside its tensors, as somebody gave them.
        tensors
            Its tensors, and None.
        place
            The place in a program that makes the call, which is to find it from now on.
        """
        if torch.compiler.is_compiling():
            return None
        found = layouts(given, tensors)
        call = None if found is None else self._repeating.known(found[0])
        if call is None or found is None:
            return None
        if place is not None and torch.is_grad_enabled():  # only then it is known whether one is needed
            place.keep(given, tensors, call, found[1])
        return self._call(call, tensors, found[1])

    def note(self, given: tuple[Any, ...], tensors: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        """Note that a function given this makes the operator's call with the same tensors and these numbers."""
        if torch.compiler.is_compiling():
            return
        keys = [layouts(words, tensors) for words in (given, numbers)]
        call = None if keys[1] is None else self._repeating.known(keys[1][0])
        if call is not None and keys[0] is not None:
            try:
                self._repeating.keep(keys[0][0], call)
            except TypeError:  # lists
                return


def operator(
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    setup: Callable[..., Any] | None = None,
    fold: Callable[..., Any] | None = None,
    *,
    kept: bool = False,
) -> Operator:
    """Define an operator ``torch.ops.portadnn.<name>``.

    Parameters
    ----------
    schema
        Its name and signature, as PyTorch writes them.
    kernel
        Computes it, on CPU and CUDA tensors.
    fake
        Returns tensors with the outputs' shapes, strides and types.
    backward, setup
        As for ``torch.library.register_autograd``; outputs that have no gradient are marked in `setup`. Without them
        the gradient is refused.
    fold
        As for ``torch.library.register_vmap``, for an operator that takes the mapped dimension into its batch. The
        others compute one sample after another.
    kept
        Whether `backward` asks for the output by :func:`result` instead of having it saved.
    """
    name = schema[: schema.index("(")]
    NAMES.append(name)
    LIBRARY.define(schema, tags=_TAGS)
    qualified = f"portadnn::{name}"

    if backward is None or setup is None:  # PyTorch would take the result for a constant
        setup, backward = refusal(name)
    for key in ("CPU", "CUDA"):
        LIBRARY.impl(name, without_grad(kernel), key)
    torch.library.register_fake(qualified, fake, lib=LIBRARY)
    op = getattr(torch.ops.portadnn, name).default
    made = Operator(op, kernel, setup, backward, kept)
    mapped = fold or _one_by_one(made)
    torch.library.register_autograd(qualified, backward, setup_context=setup, lib=LIBRARY)
    made.function = function(
        name, forward=op, setup_context=setup, backward=backward, vmap=mapped, jvp=forward_mode_refusal(name)
    )
    if hasattr(torch.library, "register_vmap"):  # from torch 2.5 on; 2.4 maps functions alone
        torch.library.register_vmap(qualified, mapped, lib=LIBRARY)
    return made


class Eager:
    """A call for eager code alone, which may write into its arguments, as operators with gradients may not.

    Parameters
    ----------
    name
        Under which PyTorch's profiler shows it.
    forward, backward
        As for ``torch.autograd.Function``.
    """

    def __init__(self, name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        self._name = f"portadnn::{name}"
        self._call = _apply(name, forward, backward)

    def __call__(self, *args: Any) -> Any:
        if torch.autograd._profiler_enabled():
            with torch.profiler.record_function(self._name):
                return self._call(*args)
        return self._call(*args)


def function(name: str, **members: Callable[..., Any]) -> Any:
    """Return a function of autograd."""
    return type(name, (torch.autograd.Function,), {key: staticmethod(value) for key, value in members.items()})


def _apply(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call of a function of autograd, without what ``Function.apply`` does besides, there and back."""
    made = function(name, forward=forward, backward=backward)
    made._backward_cls.apply = backward
    return super(torch.autograd.Function, made).apply


def direct(name: str, setup: Any, backward: Any, kept: bool = False) -> Callable[..., Any]:
    """Return a call that autograd knows the gradient of; its last argument makes it of the others, the tensors."""

    def forward(ctx: Any, *args: Any) -> Any:
        *tensors, call = args
        output = call(tensors)
        setup(ctx, (*tensors, *call.numbers), output)
        ctx.call = call
        if kept and ctx.needs_input_grad[0]:
            ctx.kept = output.detach(), output._version
        return output

    return _apply(f"{name}_direct", forward, backward)


def result(ctx: Any, again: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Return the result of an operator with `kept` in its backward pass: computed again where a program wrote over it.

    PyTorch's own operators do not need it for their gradients, so that programs may.
    """
    y, version = getattr(ctx, "kept", (None, 0))
    if y is None or y._version != version:
        return again()
    found: torch.Tensor = y
    return found


def _one_by_one(operation: Any) -> Callable[..., Any]:
    """Return the mapping of an operator that calls it for each sample."""

    def mapped(info: Any, in_dims: Any, *args: Any) -> Any:
        flat, spec = _pytree.tree_flatten(args)
        dims = _flat_dims(args, in_dims)
        samples = []
        for i in range(info.batch_size):
            mine = [a if d is None else a.select(d, i) for a, d in zip(flat, dims, strict=True)]
            samples.append(operation(*_pytree.tree_unflatten(mine, spec)))
        if isinstance(samples[0], torch.Tensor):
            return torch.stack(samples), 0
        return tuple(torch.stack(parts) for parts in zip(*samples, strict=True)), (0,) * len(samples[0])

    return mapped


def _flat_dims(args: Sequence[Any], in_dims: Sequence[Any]) -> list[int | None]:
    """Return the mapped dimension of each leaf of the arguments."""
    dims: list[int | None] = []
    for arg, dim in zip(args, in_dims, strict=True):
        leaves = _pytree.tree_leaves(arg)
        if isinstance(dim, (list, tuple)):
            dims.extend(dim)
        else:
            dims.extend(dim if isinstance(leaf, torch.Tensor) else None for leaf in leaves)
    return dims


def autocast(
    *tensors: torch.Tensor | None, to: torch.dtype | None = None, on: Sequence[str] = ("cpu", "cuda")
) -> tuple[torch.Tensor | None, ...]:
    """Return floating-point tensors in the type that autocast asks for, as it casts those of PyTorch's own operators.

    Parameters
    ----------
    to
        The type to cast to where autocast is on, by default autocast's lower one.
    on
        Kinds of devices on which PyTorch casts for this operator.
    """
    first = next(t for t in tensors if t is not None)
    if not isinstance(first, torch.Tensor):
        raise BadParam(argument="x", expected="a torch.Tensor", got=type(first).__name__)
    kind = first.device.type
    if kind not in on or not torch.is_autocast_enabled(kind):
        return tensors
    wanted = to or torch.get_autocast_dtype(kind)
    return tuple(
        t if t is None or not t.is_floating_point() or t.dtype is torch.float64 else t.to(wanted) for t in tensors
    )
