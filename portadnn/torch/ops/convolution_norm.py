"""A convolution, the batch norm behind it in training mode and a ReLU: one call, one node of autograd's graph.

The launches are those of the layers by themselves. What is saved is the host's time between them.
"""

from __future__ import annotations

from typing import Any

import torch

import portadnn as dnn

from .activations import activation_backward
from .batch_norms import differentiable_gradients, update, update_gradients
from .convolution import convolution, convolution_bias, convolution_data, convolution_filter
from .handles import handle_for
from .layout import flat
from .repeat import repeated
from .replay import Repeating
from .updating import Maybe, Updating, changed

_RELU = ("relu", 0.0, 1.0)


def _update(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: Maybe,
    weight: Maybe,
    offset: Maybe,
    mean: torch.Tensor,
    variance: torch.Tensor,
    *numbers: Any,
) -> tuple[torch.Tensor, ...]:
    """Return the result, the convolution's, and the statistics (2, k) that the norm's gradients read."""
    *geometry, momentum, epsilon, rectified, backend = numbers
    c = convolution.kernel(x, w, bias, *geometry, backend)
    y, saved = update(c, weight, offset, mean, variance, momentum, epsilon, backend)
    if rectified:  # in place: nothing else reads the norm's result
        call = repeated(dnn.activation_forward)
        call(handle_for(y, backend), flat(y), dnn.ActivationDescriptor(_RELU[0], "propagate_nan"), flat(y))
    return y, c, saved


def _gradients(
    x: torch.Tensor,
    w: torch.Tensor,
    weight: Maybe,
    c: torch.Tensor,
    saved: torch.Tensor,
    y: Maybe,
    dy: torch.Tensor,
    *numbers: Any,
) -> tuple[torch.Tensor, ...]:
    """Return the norm's gradients, with those of c first and of c's activation last; then those that are wanted.

    Which of x, w and the convolution's bias want one is a tuple of flags; y is None without a ReLU.
    """
    *geometry, epsilon, kinds, wanted, backend = numbers
    between = dy if y is None else activation_backward.kernel(y, dy, y, *_RELU, backend)
    found = list(update_gradients(c, between, weight, saved, epsilon, kinds, backend))
    dc = found[0]
    if wanted[0]:
        found.append(convolution_data.kernel(w, dc, x.shape, *geometry, backend))
    if wanted[1]:
        found.append(convolution_filter.kernel(x, dc, w.shape, *geometry, backend))
    if wanted[2]:
        found.append(convolution_bias.kernel(dc, backend))
    return (*found, *(() if y is None else (between,)))


_known_gradients = Repeating(_gradients)


def _forward(ctx: Any, *args: Any) -> torch.Tensor:
    *tensors, call = args
    x, w, bias, weight, _, mean, variance = tensors
    changed(mean, variance)
    y, c, saved = call(tensors)
    ctx.call = call
    ctx.save_for_backward(x, w, bias, weight, c, saved, y if call.numbers[-2] else None)
    return y


def _backward(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    x, w, bias, weight, c, saved, y = ctx.saved_tensors
    call = ctx.call
    *geometry, _, epsilon, _, backend = call.numbers
    wanted = ctx.needs_input_grad[:3]
    known = None
    if not (torch.is_grad_enabled() or torch.compiler.is_compiling()):
        tensors = (x, w, weight, c, saved, y, dy)
        known = _known_gradients.at(call.backward, (*geometry, epsilon, call.kinds, wanted, backend), tensors)
    if known is not None:
        _, *found = known(tensors)
    else:
        found = _by_operators(tensors=(x, w, bias, weight, saved, y, dy), c=c, call=call, wanted=wanted)
    scale, offset = found[:2]
    last = 1
    gradients: list[Any] = [found[last := last + 1] if one else None for one in wanted]
    scale_kind, offset_kind = call.kinds
    return *gradients, scale if scale_kind else None, offset if offset_kind else None, None, None, None


def _by_operators(tensors: tuple[Any, ...], c: torch.Tensor, call: Any, wanted: tuple[bool, ...]) -> list[Any]:
    """Return the gradients but that of c, by operators: others see these, and they have gradients themselves."""
    x, w, bias, weight, saved, y, dy = tensors
    *geometry, _, epsilon, _, backend = call.numbers
    if torch.is_grad_enabled():  # what follows from x and w
        c = convolution(x, w, bias, *geometry, backend)
    if y is not None:
        y = y.detach()  # whose signs have no gradient
        dy = activation_backward(y, dy, y, *_RELU, backend)
    dc, *found = differentiable_gradients(c, dy, weight, saved, epsilon, call.kinds, backend)
    if wanted[0]:
        found.append(convolution_data(w, dc, x.shape, *geometry, backend))
    if wanted[1]:
        found.append(convolution_filter(x, dc, w.shape, *geometry, backend))
    if wanted[2]:
        found.append(convolution_bias(dc, backend))
    return found


# tensors: x, w and bias of the convolution; weight, bias and running statistics of the norm. Numbers: the convolution's
# stride, padding, dilation and groups, the norm's momentum and epsilon, whether there is a ReLU, and the backend
convolution_norm = Updating("convolution_batch_norm", _update, _forward, _backward)
