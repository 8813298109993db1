"""Registration of operators with torch.library, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils import _pytree

from .replay import replayed
from .twice import refusal

LIBRARY = torch.library.Library("portadnn", "FRAGMENT")
NAMES: list[str] = []  # of what is defined here; the Graph API's operators for PyTorch are of the same namespace
_WITHOUT_GRAD, _WITH_GRAD = 1, 2
_PLAIN = {type(None), bool, int, float, str, list, tuple, torch.Size}
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)


class Operator:
    """An operator of torch.library, called so that gradients work in torch.func's transforms too.

    In plain eager calls PyTorch's dispatcher is left out, which takes longer than most kernels: the kernel is called
    from a function of autograd.

    Attributes
    ----------
    op
        ``torch.ops.portadnn.<name>.default``, as ``torch.library.opcheck`` takes it.
    """

    def __init__(self, op: Any, kernel: Callable[..., Any]) -> None:
        self.op = op
        self._kernel = kernel
        self._function: Any = None  # what torch.func's transforms take
        self._direct: Callable[..., Any] | None = None  # computes, and notes what the gradient needs

    def __call__(self, *args: Any) -> Any:
        if torch.compiler.is_compiling():
            return self.op(*args)
        how = plain(args)
        if how == _WITHOUT_GRAD or (how == _WITH_GRAD and not torch.is_grad_enabled()):
            return self._kernel(*args)
        if how == _WITH_GRAD and self._direct is not None:
            return self._direct(*args)
        if self._function is not None and torch._C._are_functorch_transforms_active():
            return self._function.apply(*args)
        return self.op(*args)


def plain(args: Sequence[Any], profiled: bool = False) -> int:
    """Tell whether nobody but autograd has to see a call: no mode, transform, subclass or trace.

    Parameters
    ----------
    args
        The call's.
    profiled
        Whether it shows itself to PyTorch's profiler.

    Returns
    -------
    int
        0 if somebody has, else whether no tensor requires a gradient or one does.
    """
    c = torch._C
    if (
        c._len_torch_dispatch_stack()
        or c._len_torch_function_stack()
        or c._are_functorch_transforms_active()
        or c._get_tracing_state() is not None
        or (not profiled and torch.autograd._profiler_enabled())
        or forward_ad._current_level >= 0
    ):
        return 0
    how = _WITHOUT_GRAD
    for arg in args:
        kind = type(arg)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            if not (arg.is_cpu or arg.is_cuda):
                return 0
            if arg.requires_grad:
                how = _WITH_GRAD
        elif kind not in _PLAIN:
            return 0
    return how


def operator(
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    setup: Callable[..., Any] | None = None,
    fold: Callable[..., Any] | None = None,
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
    """
    name = schema[: schema.index("(")]
    NAMES.append(name)
    LIBRARY.define(schema, tags=_TAGS)
    qualified = f"portadnn::{name}"

    without_grad = _without_grad(kernel)
    for key in ("CPU", "CUDA"):
        LIBRARY.impl(name, without_grad, key)
    torch.library.register_fake(qualified, fake, lib=LIBRARY)
    op = getattr(torch.ops.portadnn, name).default
    replaying = replayed(without_grad)
    made = Operator(op, replaying)
    mapped = fold or _one_by_one(made)
    if backward is None or setup is None:  # PyTorch would take the result for a constant
        setup, backward = refusal(name)
    torch.library.register_autograd(qualified, backward, setup_context=setup, lib=LIBRARY)
    made._function = _function(name, forward=op, setup_context=setup, backward=backward, vmap=mapped)
    made._direct = _direct(name, replaying, setup, backward)
    if hasattr(torch.library, "register_vmap"):  # from torch 2.5 on; 2.4 maps functions alone
        torch.library.register_vmap(qualified, mapped, lib=LIBRARY)
    return made


def _without_grad(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that detaches its tensors: portadnn's calls refuse those whose gradients somebody waits for."""

    def call(*args: Any) -> Any:
        return kernel(*[a.detach() if isinstance(a, torch.Tensor) and a.requires_grad else a for a in args])

    return call


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
        function = _function(name, forward=forward, backward=backward)
        self._call = super(torch.autograd.Function, function).apply

    def __call__(self, *args: Any) -> Any:
        """Return the result, or None, with nothing done, where somebody but autograd has to see the call."""
        if torch.compiler.is_compiling() or not plain(args, profiled=True):
            return None
        if torch.autograd._profiler_enabled():
            with torch.profiler.record_function(self._name):
                return self._call(*args)
        return self._call(*args)


def repeating(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that makes the launches of an earlier call with equal layouts again; without gradients."""
    return replayed(_without_grad(kernel))


def _function(name: str, **members: Callable[..., Any]) -> Any:
    return type(name, (torch.autograd.Function,), {key: staticmethod(value) for key, value in members.items()})


def _direct(name: str, kernel: Any, setup: Any, backward: Any) -> Callable[..., Any]:
    """Return a call of a kernel that autograd knows the gradient of, without what ``Function.apply`` does besides."""

    def forward(ctx: Any, *args: Any) -> Any:
        output = kernel(*args)
        setup(ctx, args, output)
        return output

    function = _function(f"{name}_direct", forward=forward, backward=backward)
    return super(torch.autograd.Function, function).apply


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
    kind = first.device.type
    if kind not in on or not torch.is_autocast_enabled(kind):
        return tensors
    wanted = to or torch.get_autocast_dtype(kind)
    return tuple(
        t if t is None or not t.is_floating_point() or t.dtype is torch.float64 else t.to(wanted) for t in tensors
    )
