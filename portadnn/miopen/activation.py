"""Activations in all of MIOpen's modes.

Those that portadnn has are one call. The others are composed of its operations, exactly but for rounding: SOFTRELU is
a logarithmic softmax over pairs (x, 0), LEAKYRELU and ABS are maxima, POWER is a graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..descriptors import TensorView
from ..descriptors.layers import ActivationDescriptor
from ..enums import ActivationMode, NanPropagation, OpTensorOp, SoftmaxAlgorithm
from ..handle import Handle
from ..ops.activation import activation_backward, activation_forward
from ..ops.softmax import softmax_forward
from ..ops.tensor import op_tensor, set_tensor, transform_tensor
from ..problem import TensorSpec
from .composed_graphs import Describe, run_graph
from .descriptors import Opaque, made, value_of
from .generated.enums import miopenActivationMode_t as Mode
from .names import number, one_and_zero, parse

_PLAIN = {  # modes of portadnn; MIOpen's clipped ReLU swallows NaN, its ReLU multiplies and so keeps it
    Mode.miopenActivationPASTHRU: ActivationMode.IDENTITY,
    Mode.miopenActivationLOGISTIC: ActivationMode.SIGMOID,
    Mode.miopenActivationRELU: ActivationMode.RELU,
    Mode.miopenActivationCLIPPEDRELU: ActivationMode.CLIPPED_RELU,
    Mode.miopenActivationELU: ActivationMode.ELU,
}
_RELU = ActivationDescriptor(ActivationMode.RELU, NanPropagation.PROPAGATE_NAN)
_TANH = ActivationDescriptor(ActivationMode.TANH)
_SIGMOID = ActivationDescriptor(ActivationMode.SIGMOID)
_BOUND = 1e-6  # EPSILON of src/kernels/activation_functions.h, for float


@dataclass(frozen=True)
class ActivationSettings:
    """What an activation descriptor was set to."""

    mode: Mode
    alpha: float
    beta: float
    gamma: float

    @functools.cached_property
    def plain(self) -> ActivationDescriptor | None:
        """Portadnn's descriptor, or None where it has none."""
        if self.mode is Mode.miopenActivationTANH and self.alpha == self.beta == 1:
            return _TANH
        mode = _PLAIN.get(self.mode)
        if mode is None:
            return None
        nan = NanPropagation(int(mode is ActivationMode.RELU))
        if mode is ActivationMode.CLIPPED_RELU:
            return ActivationDescriptor(mode, nan, ceiling=self.alpha)
        if mode is ActivationMode.ELU:
            return ActivationDescriptor(mode, nan, coef=self.alpha)
        return ActivationDescriptor(mode, nan)


class miopenActivationDescriptor_t(Opaque):
    """Mode and numbers of an activation."""


def activation_settings(activDesc: Any, argument: str = "activDesc") -> ActivationSettings:
    """Return what an activation descriptor was set to."""
    return value_of(activDesc, miopenActivationDescriptor_t, argument)


def miopenSetActivationDescriptor(activDesc, mode, activAlpha, activBeta, activPower):
    desc = made(activDesc, miopenActivationDescriptor_t, "activDesc")
    numbers = number(activAlpha, "activAlpha"), number(activBeta, "activBeta"), number(activPower, "activPower")
    desc.value = ActivationSettings(parse(Mode, mode, "mode"), *numbers)


def miopenGetActivationDescriptor(activ):
    return activ.mode, activ.alpha, activ.beta, activ.gamma


def miopenActivationForward(handle, activ, x, y, alpha, beta, xDesc):
    one_and_zero(alpha, beta)
    forward(handle, activ, xDesc.wide, x, y)


def miopenActivationBackward(handle, activ, y, dy, x, dx, alpha, beta, xDesc):
    one_and_zero(alpha, beta)
    backward(handle, activ, xDesc.wide, y, dy, x, dx)


def forward(handle: Handle, settings: ActivationSettings, spec: TensorSpec, x: Any, y: Any) -> None:
    """Apply an activation to a tensor with that spec."""
    plain = settings.plain
    if plain is not None:
        activation_forward(handle, x, plain, y)
        return
    _FORWARD[settings.mode](handle, settings, spec, x, y)


def backward(handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any) -> None:
    """Compute an activation's gradient."""
    plain = settings.plain
    if plain is not None and settings.mode is not Mode.miopenActivationELU:
        activation_backward(handle, y, dy, x, plain, dx)
        return
    _BACKWARD[settings.mode](handle, settings, spec, y, dy, x, dx)


def _like(handle: Handle, spec: TensorSpec, dims: tuple[int, ...] | None = None) -> Any:
    return handle.device.empty(TensorSpec.packed(spec.dtype, dims or spec.dims))


def _constant(handle: Handle, spec: TensorSpec, value: float) -> Any:
    return set_tensor(handle, _like(handle, spec, (1,) * len(spec.dims)), value)


# forward


def _tanh(handle: Handle, settings: ActivationSettings, spec: TensorSpec, x: Any, y: Any) -> None:
    if settings.alpha != 1:
        x = transform_tensor(handle, x, _like(handle, spec), alpha=settings.alpha)
    activation_forward(handle, x, _TANH, y, alpha=settings.beta)


def _leaky(handle: Handle, settings: ActivationSettings, spec: TensorSpec, x: Any, y: Any) -> None:
    greater = OpTensorOp.MAX if settings.alpha <= 1 else OpTensorOp.MIN
    op_tensor(handle, greater, x, x, y, alpha2=settings.alpha)


def _abs(handle: Handle, settings: ActivationSettings, spec: TensorSpec, x: Any, y: Any) -> None:
    op_tensor(handle, OpTensorOp.MAX, x, x, y, alpha2=-1.0)


def _softrelu(handle: Handle, settings: ActivationSettings, spec: TensorSpec, x: Any, y: Any) -> None:
    """Take the logarithmic softmax of (x, 0): its second number is -log(1 + exp(x))."""
    pairs = TensorSpec.packed(spec.dtype, (2, spec.size))
    pairs = TensorSpec(spec.dtype, (1, 2, spec.size), (2 * spec.size, *pairs.strides))
    memory = handle.device.empty(pairs)
    first, second = (TensorView(TensorSpec.packed(spec.dtype, spec.dims), memory, offset) for offset in (0, spec.size))
    transform_tensor(handle, x, first)
    set_tensor(handle, second, 0.0)
    softmax_forward(handle, memory, memory, algorithm=SoftmaxAlgorithm.LOG)
    transform_tensor(handle, second, y, alpha=-1.0)


def _clamp(handle: Handle, settings: ActivationSettings, spec: TensorSpec, x: Any, y: Any) -> None:
    op_tensor(handle, OpTensorOp.MIN, x, _constant(handle, spec, settings.beta), y)
    op_tensor(handle, OpTensorOp.MAX, y, _constant(handle, spec, settings.alpha), y)


def _power(handle: Handle, settings: ActivationSettings, spec: TensorSpec, x: Any, y: Any) -> None:
    """Compute ``(alpha + beta * x) ** gamma``, 0 where the base is not above MIOpen's bound."""

    def describe(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        base, above = _base(graph, settings, t["x"])
        return {"y": graph.binary_select(graph.pow(base, settings.gamma), 0.0, above)}

    _pointwise(handle, ("power", settings), spec, {"x": x}, y, describe)


def _base(graph: Any, settings: ActivationSettings, x: Any) -> tuple[Any, Any]:
    """Return the base of a power where it is above MIOpen's bound, else 1, and where that is."""
    base = graph.add(graph.mul(x, settings.beta), settings.alpha)
    above = graph.cmp_gt(base, _BOUND)
    return graph.binary_select(base, 1.0, above), above


def _pointwise(handle: Handle, key: Any, spec: TensorSpec, given: dict[str, Any], out: Any, describe: Describe) -> None:
    """Run a graph of tensors with one layout; the output may be one of them."""
    packed = _like(handle, spec)
    outputs = {"y": TensorSpec.packed(spec.dtype, spec.dims)}
    run_graph(handle, key, dict.fromkeys(given, spec), outputs, {**given, "y": packed}, describe)
    transform_tensor(handle, packed, out)


# backward


def _tanh_gradient(
    handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any
) -> None:
    """Compute ``dy * alpha * (beta - y ** 2 / beta)``, as dy * alpha * beta * (1 - t ** 2) with t = y / beta."""
    if abs(settings.beta) <= 1e-6:  # as MIOpen does
        set_tensor(handle, dx, 0.0)
        return
    t = transform_tensor(handle, y, _like(handle, spec), alpha=1 / settings.beta)
    gradient = transform_tensor(handle, dy, _like(handle, spec))
    out = _like(handle, spec)
    activation_backward(handle, t, gradient, t, _TANH, out, alpha=settings.alpha * settings.beta)
    transform_tensor(handle, out, dx)


def _leaky_gradient(
    handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any
) -> None:
    """Compute dy where x > 0, else alpha * dy: ``alpha * dy + (1 - alpha) * relu'(x) * dy``."""
    kept = _gate(handle, spec, dy, x)
    op_tensor(handle, OpTensorOp.ADD, dy, kept, dx, alpha1=settings.alpha, alpha2=1 - settings.alpha)


def _gate(handle: Handle, spec: TensorSpec, dy: Any, x: Any) -> Any:
    """Return dy where x > 0, else 0, packed."""
    packed, gradient = (transform_tensor(handle, a, _like(handle, spec)) for a in (x, dy))
    return activation_backward(handle, packed, gradient, packed, _RELU, gradient)


def _softrelu_gradient(
    handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any
) -> None:
    share = activation_forward(handle, x, _SIGMOID, _like(handle, spec))
    op_tensor(handle, OpTensorOp.MUL, dy, share, dx)


def _abs_gradient(
    handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any
) -> None:
    """Compute dy where x > 0, else -dy, as MIOpen does: exact, because one of the terms is 0 or the sum is dy."""
    kept = _gate(handle, spec, dy, x)
    op_tensor(handle, OpTensorOp.ADD, dy, kept, dx, alpha1=-1.0, alpha2=2.0)


def _clamp_gradient(
    handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any
) -> None:
    """Compute dy where alpha < x <= beta, else 0."""
    low = _constant(handle, spec, settings.alpha)
    over = op_tensor(handle, OpTensorOp.ADD, x, low, _like(handle, spec), alpha2=-1.0)
    gradient = transform_tensor(handle, dy, _like(handle, spec))
    clip = ActivationDescriptor(ActivationMode.CLIPPED_RELU, ceiling=max(settings.beta - settings.alpha, 0.0))
    transform_tensor(handle, activation_backward(handle, over, gradient, over, clip, gradient), dx)


def _power_gradient(
    handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any
) -> None:
    """Compute ``beta * gamma * y / (alpha + beta * x)``, without dy: MIOpen's kernel leaves it out."""
    given = {
        "x": transform_tensor(handle, x, _like(handle, spec)),
        "z": transform_tensor(handle, y, _like(handle, spec)),
    }

    def describe(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        base, above = _base(graph, settings, t["x"])
        slope = graph.div(graph.mul(t["z"], settings.beta * settings.gamma), base)
        return {"y": graph.binary_select(slope, 0.0, above)}

    _pointwise(handle, ("power gradient", settings), TensorSpec.packed(spec.dtype, spec.dims), given, dx, describe)


def _elu_gradient(
    handle: Handle, settings: ActivationSettings, spec: TensorSpec, y: Any, dy: Any, x: Any, dx: Any
) -> None:
    """Compute dy where x > 0, else ``dy * (y + alpha)``: MIOpen looks at x, cuDNN at the sign of y."""
    named = {"x": x, "z": y, "change": dy}
    given = {name: transform_tensor(handle, one, _like(handle, spec)) for name, one in named.items()}

    def describe(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        below = graph.mul(t["change"], graph.add(t["z"], settings.alpha))
        return {"y": graph.binary_select(t["change"], below, graph.cmp_gt(t["x"], 0.0))}

    _pointwise(handle, ("elu gradient", settings), TensorSpec.packed(spec.dtype, spec.dims), given, dx, describe)


_Forward = Callable[[Handle, ActivationSettings, TensorSpec, Any, Any], None]
_Backward = Callable[[Handle, ActivationSettings, TensorSpec, Any, Any, Any, Any], None]
_FORWARD: dict[Mode, _Forward] = {
    Mode.miopenActivationTANH: _tanh,
    Mode.miopenActivationSOFTRELU: _softrelu,
    Mode.miopenActivationABS: _abs,
    Mode.miopenActivationLEAKYRELU: _leaky,
    Mode.miopenActivationCLAMP: _clamp,
    Mode.miopenActivationPOWER: _power,
}
_BACKWARD: dict[Mode, _Backward] = {
    Mode.miopenActivationTANH: _tanh_gradient,
    Mode.miopenActivationSOFTRELU: _softrelu_gradient,
    Mode.miopenActivationABS: _abs_gradient,
    Mode.miopenActivationLEAKYRELU: _leaky_gradient,
    Mode.miopenActivationCLAMP: _clamp_gradient,
    Mode.miopenActivationPOWER: _power_gradient,
    Mode.miopenActivationELU: _elu_gradient,
}
