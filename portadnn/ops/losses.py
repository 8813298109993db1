"""Losses of MIOpen: soft margin and multi margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arguments import as_integer
from ..dispatch.execute import computes, execute
from ..enums import DataType, DnnEnum
from ..errors import BadParam
from ..handle import Handle
from ..problem import FLOAT_TYPES, Problem, TensorSpec, check_same

__all__ = ["LossReduction", "multi_margin_loss_forward", "soft_margin_loss_backward", "soft_margin_loss_forward"]


class LossReduction(DnnEnum):
    """What becomes of the losses of a tensor's elements (miopenLossReductionMode_t)."""

    NONE = 0
    SUM = 1
    MEAN = 2

    @classmethod
    def c_enumeration(cls) -> str:
        """Return the enumeration's name in MIOpen's header."""
        return "miopenLossReductionMode_t"

    @property
    def c_name(self) -> str:
        """The name in MIOpen's header."""
        return f"MIOPEN_LOSS_REDUCTION_{self.name}"


@dataclass(frozen=True)
class SoftMarginLossForward(Problem):
    """loss = log(1 + exp(-x * target)), of each element, summed up, or averaged."""

    op: ClassVar[str] = "soft_margin_loss_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "target")
    outputs: ClassVar[tuple[str, ...]] = ("loss",)
    scalars: ClassVar[dict[str, float]] = {}

    x: TensorSpec
    target: TensorSpec
    loss: TensorSpec
    reduction: LossReduction = LossReduction.MEAN

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            x = values["x"]
            each = values.get("reduction", LossReduction.MEAN) is LossReduction.NONE
            values.setdefault("loss", TensorSpec.packed(x.dtype, x.dims if each else (1,) * len(x.dims)))

    def validate(self) -> None:
        super().validate()
        x = self.x
        check_same(x, "x", self.target, "target")
        wanted = x.dims if self.reduction is LossReduction.NONE else (1,) * len(x.dims)
        if self.loss.dims != wanted:
            raise BadParam(argument="loss.dims", expected=f"{wanted}", got=self.loss.dims)
        if self.loss.dtype is not x.dtype:
            raise BadParam(argument="loss.dtype", expected=f"{x.dtype} as x", got=self.loss.dtype)

    def flops(self) -> int:
        return 5 * self.x.size

    def reduction_length(self, output: str) -> int:
        return 1 if self.reduction is LossReduction.NONE else max(self.x.size, 1)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays.get(name) for name in self.tensor_names()], {"reduction": self.reduction}


@dataclass(frozen=True)
class SoftMarginLossBackward(Problem):
    """dx = -target / (1 + exp(x * target)) * dloss, divided by the number of elements for MEAN."""

    op: ClassVar[str] = "soft_margin_loss_backward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "target", "dloss")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)
    scalars: ClassVar[dict[str, float]] = {}

    x: TensorSpec
    target: TensorSpec
    dloss: TensorSpec
    dx: TensorSpec
    reduction: LossReduction = LossReduction.MEAN

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("dx", TensorSpec.packed(values["x"].dtype, values["x"].dims))

    def validate(self) -> None:
        super().validate()
        for name in ("target", "dloss", "dx"):
            check_same(self.x, "x", getattr(self, name), name)

    def flops(self) -> int:
        return 6 * self.x.size

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays.get(name) for name in self.tensor_names()], {"reduction": self.reduction}


@dataclass(frozen=True)
class MultiMarginLossForward(Problem):
    """loss[n] = sum over c other than t of weight[t] * max(0, margin - x[n, t] + x[n, c]) ** p / C, t = target[n]."""

    op: ClassVar[str] = "multi_margin_loss_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "target", "weight")
    outputs: ClassVar[tuple[str, ...]] = ("loss",)
    scalars: ClassVar[dict[str, float]] = {"margin": 1.0}
    ranks: ClassVar[dict[str, tuple[int, int]]] = {"x": (2, 2), "target": (1, 1), "weight": (1, 1), "loss": (1, 1)}

    x: TensorSpec
    target: TensorSpec
    weight: TensorSpec
    loss: TensorSpec
    p: int = 1
    reduction: LossReduction = LossReduction.MEAN

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values and values["x"].dims:
            each = values.get("reduction", LossReduction.MEAN) is LossReduction.NONE
            values.setdefault("loss", TensorSpec.packed(values["x"].dtype, values["x"].dims[:1] if each else (1,)))

    def types(self, name: str) -> tuple[DataType, ...]:
        return (DataType.INT64, DataType.INT32) if name == "target" else FLOAT_TYPES

    def validate(self) -> None:
        super().validate()
        batch, classes = self.x.dims
        wanted = {"target": batch, "weight": classes, "loss": batch if self.reduction is LossReduction.NONE else 1}
        for name, size in wanted.items():
            if getattr(self, name).dims != (size,):
                raise BadParam(argument=f"{name}.dims", expected=f"({size},)", got=getattr(self, name).dims)
        for name in ("weight", "loss"):
            if getattr(self, name).dtype is not self.x.dtype:
                raise BadParam(argument=f"{name}.dtype", expected=f"{self.x.dtype} as x", got=getattr(self, name).dtype)
        if self.p not in (1, 2):
            raise BadParam(argument="p", expected="1 or 2", got=self.p)

    def flops(self) -> int:
        return 5 * self.x.size

    def reduction_length(self, output: str) -> int:
        return max(1, self.x.dims[1] if self.reduction is LossReduction.NONE else self.x.size)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays.get(name) for name in self.tensor_names()], {"p": self.p, "reduction": self.reduction}


@computes
def soft_margin_loss_forward(
    handle: Handle,
    x: Any,
    target: Any,
    loss: Any = None,
    *,
    reduction: LossReduction | int | str = LossReduction.MEAN,
    workspace: Any = None,
) -> Any:
    """Compute ``log(1 + exp(-x * target))``, without overflow (miopenSoftMarginLossForward).

    Parameters
    ----------
    handle
        Where to compute.
    x, target
        Tensors of 3 to 8 dims and one type, float16, bfloat16, float32 or float64, any strides.
    loss
        As x with NONE, else one number (dims of 1 only); None allocates it.
    reduction
        NONE, SUM or MEAN.
    workspace
        Scratch memory; None lets the handle provide it.

    Raises
    ------
    BadParam
        Dims or types that do not match.
    """
    how = LossReduction.parse(reduction, "reduction")
    return execute(handle, SoftMarginLossForward, (x, target, loss), (how,), (), workspace=workspace)


@computes
def soft_margin_loss_backward(
    handle: Handle,
    x: Any,
    target: Any,
    dloss: Any,
    dx: Any = None,
    *,
    reduction: LossReduction | int | str = LossReduction.MEAN,
) -> Any:
    """Compute the gradient of :func:`soft_margin_loss_forward` to x (miopenSoftMarginLossBackward).

    Parameters
    ----------
    handle, x, target, reduction
        As in :func:`soft_margin_loss_forward`.
    dloss
        A gradient for each element, with any reduction; dims and type as x.
    dx
        As x; None allocates one.

    Raises
    ------
    BadParam
        Dims or types that do not match.
    """
    how = LossReduction.parse(reduction, "reduction")
    return execute(handle, SoftMarginLossBackward, (x, target, dloss, dx), (how,), ())


@computes
def multi_margin_loss_forward(
    handle: Handle,
    x: Any,
    target: Any,
    weight: Any,
    loss: Any = None,
    *,
    p: int = 1,
    margin: float = 1.0,
    reduction: LossReduction | int | str = LossReduction.MEAN,
    workspace: Any = None,
) -> Any:
    """Compute ``sum of weight[t] * max(0, margin - x[n, t] + x[n, c]) ** p / C`` (miopenMultiMarginLossForward).

    Parameters
    ----------
    handle
        Where to compute.
    x
        (N, C), float16, bfloat16, float32 or float64, any strides.
    target
        (N,), int64 or int32: t = target[n], the right class. The loss of a number that is no class is NaN.
    weight
        (C,), of the type of x.
    loss
        (N,) with NONE, else (1,); None allocates it.
    p
        1 or 2.
    margin
        By how much the right class is to exceed the others.
    reduction
        NONE, SUM or MEAN over the rows.
    workspace
        Scratch memory; None lets the handle provide it.

    Raises
    ------
    BadParam
        Dims or types that do not match, or another p.
    """
    how = LossReduction.parse(reduction, "reduction")
    tensors = (x, target, weight, loss)
    return execute(handle, MultiMarginLossForward, tensors, (as_integer(p, "p"), how), (margin,), workspace=workspace)
