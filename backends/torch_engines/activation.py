"""Activations and softmax, by PyTorch's functions and aten's gradients of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn.enums import ActivationMode, DataType, NanPropagation, SoftmaxAlgorithm, SoftmaxMode
from portadnn.ops.activation import ActivationBackward, ActivationForward
from portadnn.ops.softmax import SoftmaxBackward, SoftmaxForward

from ..base import DeviceInfo
from .way import CPU, GPU, Bound, Numbers, Tensors, Way, Ways, blended, every, gradient, rounded, wide


def _computed(torch: Any, p: Any) -> Any:
    """Return the type that PyTorch computes a problem's activation in, whatever it stores."""
    return torch.float64 if p.x.dtype is DataType.DOUBLE else torch.float32


def activation(torch: Any, mode: ActivationMode, p: Any) -> Callable[[Any], Any]:
    """Return the function of a mode, with the problem's ceiling, coefficient and care for NaN."""
    functional = torch.nn.functional
    keeps = p.nan_propagation is NanPropagation.PROPAGATE_NAN
    ceiling, coef = (rounded(torch, number, _computed(torch, p)) for number in (p.ceiling, p.coef))

    def elu(x: Any) -> Any:  # torch.nn's subtracts 1 from exp(x) in some releases
        return torch.where(x >= 0, x, coef * torch.expm1(wide(torch, x)))

    def swish(x: Any) -> Any:
        x = wide(torch, x)
        return x * torch.sigmoid(coef * x)

    def relu(x: Any) -> Any:
        return torch.relu(x) if keeps else torch.fmax(x, x.new_zeros(()))

    functions: dict[ActivationMode, Callable[[Any], Any]] = {
        ActivationMode.RELU: relu,
        ActivationMode.SIGMOID: torch.sigmoid,
        ActivationMode.TANH: torch.tanh,
        ActivationMode.CLIPPED_RELU: lambda x: functional.hardtanh(x if keeps else relu(x), 0.0, ceiling),
        ActivationMode.IDENTITY: lambda x: x,
        ActivationMode.ELU: elu,
        ActivationMode.SWISH: functional.silu if coef == 1 else swish,
    }
    return functions[mode]


def why_not_activation(problem: Any, info: DeviceInfo) -> str | None:
    """Refuse what hardtanh cannot say: a ceiling of 0 or less."""
    mode = problem.mode if isinstance(problem, (ActivationForward, ActivationBackward)) else problem.activation
    if mode is ActivationMode.CLIPPED_RELU and problem.ceiling <= 0:
        return "PyTorch's hardtanh wants a ceiling above 0"
    return None


def _why_not_gradient(problem: Any, info: DeviceInfo) -> str | None:
    if problem.mode is ActivationMode.CLIPPED_RELU:
        return "PyTorch's hardtanh has no gradient at the ceiling itself, where the guide's clipped relu has 1"
    if problem.mode is ActivationMode.ELU and problem.coef < 0:
        return "PyTorch's gradient of ELU from y wants a coefficient of at least 0"
    return None


def _forward(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    function = activation(torch, p.mode, p)
    x = t["x"]
    return lambda: {"y": function(x)}


def _backward(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    aten = torch.ops.aten
    x, y, dy = t["x"], t["y"], t["dy"]
    if p.mode is ActivationMode.SWISH and p.coef != 1:
        swish = gradient(torch, activation(torch, p.mode, p), (wide(torch, x),), wide(torch, dy))
        return lambda: {"dx": swish()[0]}

    def elu() -> Any:
        negative = wide(torch, y) + rounded(torch, p.coef, _computed(torch, p))
        return torch.where(y >= 0, dy, dy * negative)

    functions: dict[ActivationMode, Callable[[], Any]] = {
        ActivationMode.RELU: lambda: aten.threshold_backward(dy, x, 0),
        ActivationMode.SIGMOID: lambda: aten.sigmoid_backward(dy, y),
        ActivationMode.TANH: lambda: aten.tanh_backward(dy, y),
        ActivationMode.IDENTITY: lambda: dy,
        ActivationMode.ELU: elu,
        ActivationMode.SWISH: lambda: aten.silu_backward(dy, x),
    }
    function = functions[p.mode]
    return lambda: {"dx": function()}


def _rows(p: Any, tensor: Any) -> Any:
    """Return a tensor with what sums to one along axis 1."""
    return tensor.flatten(1) if p.mode is SoftmaxMode.INSTANCE else tensor


def _softmax(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, dims = _rows(p, t["x"]), p.y.dims
    if p.algorithm is SoftmaxAlgorithm.FAST:  # which subtracts no maximum

        def fast() -> Tensors:
            powers = torch.exp(x)
            return {"y": (powers / powers.sum(1, keepdim=True)).view(dims)}

        return fast
    function = torch.log_softmax if p.algorithm is SoftmaxAlgorithm.LOG else torch.softmax
    return lambda: {"y": function(x, 1).view(dims)}


def _softmax_gradient(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    aten = torch.ops.aten
    y, dy, dims = _rows(p, t["y"]), _rows(p, t["dy"]), p.dx.dims
    function = aten._log_softmax_backward_data if p.algorithm is SoftmaxAlgorithm.LOG else aten._softmax_backward_data
    return lambda: {"dx": function(dy, y, 1, y.dtype).view(dims)}


WAYS: Ways = {
    ActivationForward: Way(_forward, why_not_activation, every(GPU), blended("y")),
    ActivationBackward: Way(_backward, _why_not_gradient, frozenset({(CPU, DataType.BFLOAT16)}), blended("dx")),
    SoftmaxForward: Way(_softmax, blends=blended("y")),
    SoftmaxBackward: Way(_softmax_gradient, short=every(GPU), blends=blended("dx")),
}
