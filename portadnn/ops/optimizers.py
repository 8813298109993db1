"""Steps of Adam and its relatives, fused (MIOpen's)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import as_real
from ..dispatch.execute import computes, execute
from ..enums import DataType
from ..errors import BadParam, shown
from ..handle import Handle
from ..problem import FLOAT_TYPES, Problem, TensorSpec, check_same

__all__ = ["adam"]

_ONES = ("state_step", "grad_scale", "found_inf", "state_step_out")  # one number each
_TYPES = {
    "state_step": (DataType.INT32,),
    "state_step_out": (DataType.INT32,),
    "grad_scale": (DataType.INT32, DataType.FLOAT),
    "found_inf": (DataType.UINT8, DataType.INT32),
    "param_half": (DataType.HALF,),
}
_PAIRS = (
    ("param_out", "param"),
    ("exp_avg_out", "exp_avg"),
    ("exp_avg_sq_out", "exp_avg_sq"),
    ("max_exp_avg_sq_out", "max_exp_avg_sq"),
    ("state_step_out", "state_step"),
)


@dataclass(frozen=True)
class Adam(Problem):
    """One step of Adam, AdamW, or AdamW as in Transformers; nothing changes where found_inf is not 0."""

    op: ClassVar[str] = "adam"
    inputs: ClassVar[tuple[str, ...]] = (
        *("param", "grad", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
        *("state_step", "grad_scale", "found_inf"),
    )
    outputs: ClassVar[tuple[str, ...]] = (
        *("param_out", "exp_avg_out", "exp_avg_sq_out", "max_exp_avg_sq_out"),
        *("param_half", "state_step_out"),
    )
    scalars: ClassVar[dict[str, float]] = {
        "step": 1.0,
        "lr": 1e-3,
        "beta1": 0.875,
        "beta2": 0.9921875,
        "weight_decay": 0.0,
        "eps": 2.0**-26,
        "step_size": -1.0,
    }
    in_place: ClassVar[tuple[tuple[str, str], ...]] = _PAIRS
    absent: ClassVar[tuple[str, ...]] = (
        *("max_exp_avg_sq", "state_step", "grad_scale", "found_inf"),
        *("max_exp_avg_sq_out", "param_half", "state_step_out"),
    )
    ranks: ClassVar[dict[str, tuple[int, int]]] = dict.fromkeys(_ONES, (1, 8))

    param: TensorSpec
    grad: TensorSpec
    exp_avg: TensorSpec
    exp_avg_sq: TensorSpec
    param_out: TensorSpec
    exp_avg_out: TensorSpec
    exp_avg_sq_out: TensorSpec
    max_exp_avg_sq: TensorSpec | None = None
    state_step: TensorSpec | None = None
    grad_scale: TensorSpec | None = None
    found_inf: TensorSpec | None = None
    max_exp_avg_sq_out: TensorSpec | None = None
    param_half: TensorSpec | None = None
    state_step_out: TensorSpec | None = None
    amsgrad: bool = False
    maximize: bool = False
    adamw: bool = False
    transformers: bool = False
    correct_bias: bool = True

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        for out, source in _PAIRS:
            if values.get(source) is not None:
                spec = values[source]
                if values.get(out) is None:
                    values[out] = TensorSpec.packed(spec.dtype, spec.dims)

    def types(self, name: str) -> tuple[DataType, ...]:
        return _TYPES.get(name, FLOAT_TYPES)

    def validate(self) -> None:
        super().validate()
        for name in self.names:
            spec = getattr(self, name)
            if name in _ONES:
                if spec.size != 1:
                    raise BadParam(argument=f"{name}.dims", expected="one number", got=spec.dims)
            elif name in ("grad", "param_half"):
                if spec.dims != self.param.dims:
                    raise BadParam(argument=f"{name}.dims", expected=f"{self.param.dims} as param", got=spec.dims)
            else:
                check_same(self.param, "param", spec, name)
        for out, source in _PAIRS[3:]:
            if (getattr(self, out) is None) != (getattr(self, source) is None):
                raise BadParam(argument=out, expected=f"a tensor if {source} is one, None if not", got=None)
        if self.amsgrad != (self.max_exp_avg_sq is not None):
            expected = "a tensor with amsgrad, and None without"
            raise BadParam(argument="max_exp_avg_sq", expected=expected, got=shown(self.max_exp_avg_sq))
        if self.transformers and (self.amsgrad or self.maximize or self.adamw):
            raise BadParam(argument="transformers", expected="no amsgrad, maximize or adamw beside it", got="one")

    def flops(self) -> int:
        return 14 * self.param.size

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return set(self.written)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        names = self.tensor_names()
        flags = ("amsgrad", "maximize", "adamw", "transformers", "correct_bias")
        return [arrays[name] for name in names[:4]], {
            **{name: arrays.get(name) for name in names[4:]},
            **{name: getattr(self, name) for name in flags},
        }


def _rounded(value: Any, name: str) -> float:
    """Return a number as C's float has it."""
    return float(np.float32(as_real(value, name)))


@computes
def adam(
    handle: Handle,
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    *,
    max_exp_avg_sq: Any = None,
    state_step: Any = None,
    grad_scale: Any = None,
    found_inf: Any = None,
    param_out: Any = None,
    exp_avg_out: Any = None,
    exp_avg_sq_out: Any = None,
    max_exp_avg_sq_out: Any = None,
    param_half: Any = None,
    state_step_out: Any = None,
    step: int = 1,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    weight_decay: float = 0.0,
    eps: float = 1e-8,
    step_size: float = -1.0,
    amsgrad: bool = False,
    maximize: bool = False,
    adamw: bool = False,
    transformers: bool = False,
    correct_bias: bool = True,
) -> tuple[Any, ...]:
    """Make one step of Adam in one launch (miopenFusedAdam, miopenTransformersAdamW).

    Parameters
    ----------
    handle
        Where to compute.
    param, exp_avg, exp_avg_sq
        Tensors of 3 to 8 dims and one type, float16, bfloat16, float32 or float64, any strides.
    grad
        The same dims, of any of these types.
    max_exp_avg_sq
        As exp_avg_sq; with `amsgrad` only, which keeps the largest of the averages of squares.
    state_step
        One int32: the steps made before this one. It counts instead of `step`, and its output is one more.
    grad_scale
        One int32 or float32, by which the gradient is divided.
    found_inf
        One uint8 or int32. Where it is not 0, all is copied as it is, and no step is counted.
    param_out, exp_avg_out, exp_avg_sq_out, max_exp_avg_sq_out, state_step_out
        Where the results go: other memory, or that of the inputs; None stands for the input itself.
    param_half
        float16, dims as param: takes the new parameters as well.
    step
        From 1: the number of this step.
    lr, beta1, beta2, weight_decay, eps
        Rounded to float32, as C passes them.
    step_size
        With `transformers`: what the average is multiplied by, if it is not negative.
    amsgrad, maximize, adamw
        Variants: see above; the gradient counts with the other sign; weight decay is taken off the parameters.
    transformers, correct_bias
        AdamW as the library Transformers has it: eps is added to the root of the plain average, weights decay after the
        step; without `correct_bias` the averages are taken as they are.

    Returns
    -------
    tuple
        param, exp_avg, exp_avg_sq, max_exp_avg_sq, param_half and state_step as they are now; None for what is absent.

    Raises
    ------
    BadParam
        Dims or types that do not match, or amsgrad without max_exp_avg_sq.
    """
    for name, flag in (("amsgrad", amsgrad), ("maximize", maximize), ("adamw", adamw)):
        _check_flag(flag, name)
    _check_flag(transformers, "transformers")
    _check_flag(correct_bias, "correct_bias")
    inputs = (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, state_step, grad_scale, found_inf)
    outputs = (
        param if param_out is None else param_out,
        exp_avg if exp_avg_out is None else exp_avg_out,
        exp_avg_sq if exp_avg_sq_out is None else exp_avg_sq_out,
        max_exp_avg_sq if max_exp_avg_sq_out is None else max_exp_avg_sq_out,
        param_half,
        state_step if state_step_out is None else state_step_out,
    )
    given = {"lr": lr, "beta1": beta1, "beta2": beta2, "weight_decay": weight_decay, "eps": eps, "step_size": step_size}
    numbers = (as_real(step, "step"), *(_rounded(value, name) for name, value in given.items()))
    for name, number in zip(("beta1", "beta2"), numbers[2:4], strict=True):
        if not 0 <= number < 1:
            raise BadParam(argument=name, expected="at least 0 and less than 1", got=number)
    params = (amsgrad, maximize, adamw, transformers, correct_bias)
    found: tuple[Any, ...] = execute(handle, Adam, (*inputs, *outputs), params, numbers)
    return found


def _check_flag(value: Any, name: str) -> None:
    if type(value) is not bool:
        raise BadParam(argument=name, expected="True or False", got=shown(value))
