"""Activations: sigmoid, relu, tanh, clipped relu, elu, swish, identity (guide sections 4.77 and 4.78)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..descriptors import check_descriptor
from ..descriptors.layers import ActivationDescriptor, check_activation
from ..dispatch.execute import computes, execute
from ..enums import ActivationMode, NanPropagation
from ..errors import NotSupported
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same

__all__ = ["activation_backward", "activation_forward"]


class Activation(Problem):
    """What both directions share; each declares the fields in the order of its C function."""

    matrices = True

    mode: ActivationMode
    nan_propagation: NanPropagation
    ceiling: float
    coef: float

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        activation = ActivationDescriptor(self.mode, self.nan_propagation, self.ceiling, self.coef)
        *inputs, out = (arrays[name] for name in self.tensor_names())
        return [*inputs, activation, out], {}


@dataclass(frozen=True)
class ActivationForward(Activation):
    """y = alpha * f(x) + beta * y."""

    op: ClassVar[str] = "activation_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)

    x: TensorSpec
    y: TensorSpec
    mode: ActivationMode
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN
    ceiling: float = 0.0
    coef: float = 1.0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("y", values["x"].like(values["x"].dims))

    def validate(self) -> None:
        super().validate()
        check_activation(self.mode, self.ceiling, self.coef)
        check_same(self.x, "x", self.y, "y")


@dataclass(frozen=True)
class ActivationBackward(Activation):
    """dx = alpha * dy * f'(x) + beta * dx, with f' from y or x as the mode has it."""

    op: ClassVar[str] = "activation_backward"
    inputs: ClassVar[tuple[str, ...]] = ("y", "dy", "x")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("dx", "dy"),)

    y: TensorSpec
    dy: TensorSpec
    x: TensorSpec
    dx: TensorSpec
    mode: ActivationMode
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN
    ceiling: float = 0.0
    coef: float = 1.0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            for name in ("y", "dy"):
                values.setdefault(name, values["x"])
            values.setdefault("dx", values["x"])

    def validate(self) -> None:
        super().validate()
        check_activation(self.mode, self.ceiling, self.coef)
        check_same(self.x, "x", self.y, "y", error=NotSupported)
        check_same(self.y, "y", self.dy, "dy", strides=True, error=NotSupported)
        check_same(self.x, "x", self.dx, "dx", strides=True, error=NotSupported)

    def flops(self) -> int:
        return 2 * self.dx.size

    def bytes(self) -> int:
        return (2 if self.mode is ActivationMode.IDENTITY else 3) * self.dx.nbytes  # dy, dx and one of x and y


@computes
def activation_forward(
    handle: Handle,
    x: Any,
    activation: ActivationDescriptor,
    y: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Apply an activation: ``y = alpha * f(x) + beta * y`` (guide sections 4.77, 4.83 and 4.85).

    Parameters
    ----------
    handle
        Where to compute.
    x, y
        Tensors of 3 to 8 dims, float16, bfloat16, float32 or float64, of equal dims and type and any strides. `y` may
        be `x` itself, or left out.
    activation
        Which function.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims or types differ, or in place with other strides.
    """
    return execute(
        handle,
        ActivationForward,
        (x, y),
        check_descriptor(activation, ActivationDescriptor, "activation"),
        (alpha, beta),
    )


@computes
def activation_backward(
    handle: Handle,
    y: Any,
    dy: Any,
    x: Any,
    activation: ActivationDescriptor,
    dx: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Return the gradient ``dx = alpha * dy * f'(x) + beta * dx`` (guide sections 4.78, 4.84 and 4.86).

    Parameters
    ----------
    handle
        Where to compute.
    y, dy, x, dx
        Output, its gradient, input and the input's gradient: tensors of equal dims and type. y and dy have
        the same strides, and so have x and dx. `dx` may be `dy` itself, or left out.
    activation
        Which function.
    alpha, beta
        Blending factors; with ``beta == 0`` dx is not read.

    Returns
    -------
    array
        `dx`.

    Raises
    ------
    BadParam
        In place with other strides.
    NotSupported
        Dims, types or strides differ, as the guide lists.
    """
    return execute(
        handle,
        ActivationBackward,
        (y, dy, x, dx),
        check_descriptor(activation, ActivationDescriptor, "activation"),
        (alpha, beta),
    )
