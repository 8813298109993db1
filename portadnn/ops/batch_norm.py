"""Batch normalisation (guide sections 3.29 and 4.95 to 4.98)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import as_real
from ..descriptors import TensorDescriptor, data_type_of, logical_dims
from ..dispatch.execute import computes, execute
from ..enums import BatchNormMode
from ..errors import BadParam, NotSupported, public, shown
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same

__all__ = [
    "BN_MIN_EPSILON",
    "batch_normalization_backward",
    "batch_normalization_forward_inference",
    "batch_normalization_forward_training",
    "derive_bn_tensor_descriptor",
]

BN_MIN_EPSILON = 0.0  # CUDNN_BN_MIN_EPSILON of cuDNN 8 and 9; it was 1e-5 in 4 to 7
EPSILON = 1e-5  # where none is given


def parameter_dims(dims: tuple[int, ...], mode: BatchNormMode) -> tuple[int, ...]:
    """Return the dims of scale, bias, means and variances for x of `dims`."""
    return (1, *dims[1:]) if mode is BatchNormMode.PER_ACTIVATION else (1, dims[1], *(1,) * (len(dims) - 2))


def check_epsilon(epsilon: Any, least: float) -> None:
    """Demand an epsilon of at least `least`, with what float32 makes of both."""
    if type(epsilon) is float and least <= epsilon < math.inf:
        return  # as every call but a wrong one has it
    number = as_real(epsilon, "epsilon")
    if not min(float(np.float32(least)), least) <= number < math.inf:
        raise BadParam(argument="epsilon", expected=f"a finite number >= {least}", got=epsilon)


def check_parameter(
    spec: TensorSpec | None, name: str, x: TensorSpec, dims: tuple[int, ...], *, narrow: bool = False
) -> None:
    """Demand a parameter or statistic of `dims`: float64 for float64 data, else float32; or x's type, if `narrow`."""
    if spec is None:
        return
    if spec.dtype is not x.dtype.accumulator and not (narrow and spec.dtype is x.dtype):
        raise BadParam(
            argument=f"{name}.dtype", expected=f"{x.dtype.accumulator} because x is {x.dtype}", got=spec.dtype
        )
    if spec.dims != dims:
        raise BadParam(argument=f"{name}.dims", expected=str(dims), got=spec.dims)


def check_pair(problem: Problem, first: str, second: str) -> None:
    """Demand both tensors or none."""
    given = [name for name in (first, second) if getattr(problem, name) is not None]
    if len(given) == 1:
        missing = second if given == [first] else first
        raise BadParam(argument=missing, expected=f"a tensor, because {given[0]} is one", got=None)


class BatchNormalizationProblem(Problem):
    """What problems of batch normalisation share."""

    narrow: ClassVar[tuple[str, ...]] = ()  # parameters and statistics that may have x's type as well

    x: TensorSpec
    mode: BatchNormMode

    @functools.cached_property
    def count(self) -> int:
        """Elements that are normalised together."""
        return math.prod(self.x.dims) // max(1, math.prod(parameter_dims(self.x.dims, self.mode)))

    @classmethod
    def _complete(cls, values: dict[str, Any], like_x: tuple[str, ...], parameters: tuple[str, ...]) -> None:
        x = values.get("x")
        if x is None:
            return
        for name in like_x:
            values.setdefault(name, x.like(x.dims))
        if len(x.dims) in (4, 5) and x.dtype.is_float:
            dims = parameter_dims(x.dims, values.get("mode", BatchNormMode.SPATIAL))
            for name in parameters:
                values.setdefault(name, TensorSpec.packed(x.dtype.accumulator, dims))

    def _check(self, like_x: tuple[str, ...], pairs: tuple[tuple[str, str], ...], others: tuple[str, ...] = ()) -> None:
        """Check tensors and pairs of them; `others` are left to the caller."""
        x = self.x
        if len(x.dims) not in (4, 5):
            raise BadParam(argument="x.dims", expected="4 or 5 dims", got=x.dims)
        for name in like_x:
            check_same(x, "x", getattr(self, name), name)
        dims = parameter_dims(x.dims, self.mode)
        for name in self.tensor_names():
            if name != "x" and name not in like_x and name not in others:
                check_parameter(getattr(self, name), name, x, dims, narrow=name in self.narrow)
        for first, second in pairs:
            check_pair(self, first, second)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays.get(name) for name in self.tensor_names()], {"mode": self.mode}


@dataclass(frozen=True)
class BatchNormalizationForwardTraining(BatchNormalizationProblem):
    """y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y, statistics from x."""

    op: ClassVar[str] = "batch_normalization_forward_training"
    inputs: ClassVar[tuple[str, ...]] = ("x", "scale", "bias")
    outputs: ClassVar[tuple[str, ...]] = (
        "y",
        "running_mean",
        "running_variance",
        "saved_mean",
        "saved_inv_variance",
    )
    scalars: ClassVar[dict[str, float]] = {
        "alpha": 1.0,
        "beta": 0.0,
        "exponential_average_factor": 1.0,
        "epsilon": EPSILON,
    }
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)
    absent: ClassVar[tuple[str, ...]] = ("running_mean", "running_variance", "saved_mean", "saved_inv_variance")

    x: TensorSpec
    y: TensorSpec
    scale: TensorSpec
    bias: TensorSpec
    running_mean: TensorSpec | None = None
    running_variance: TensorSpec | None = None
    saved_mean: TensorSpec | None = None
    saved_inv_variance: TensorSpec | None = None
    mode: BatchNormMode = BatchNormMode.SPATIAL

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        cls._complete(values, ("y",), ("scale", "bias"))

    def validate(self) -> None:
        super().validate()
        self._check(("y",), (("running_mean", "running_variance"), ("saved_mean", "saved_inv_variance")))

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        names = {"saved_mean", "saved_inv_variance"}
        if numbers["beta"] == 0:
            names.add("y")
        if numbers["exponential_average_factor"] == 1:
            names.update(("running_mean", "running_variance"))
        return names

    def flops(self) -> int:
        return 7 * self.x.size

    def reduction_length(self, output: str) -> int:
        return self.count


@dataclass(frozen=True)
class BatchNormalizationForwardInference(BatchNormalizationProblem):
    """y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y, statistics given."""

    op: ClassVar[str] = "batch_normalization_forward_inference"
    inputs: ClassVar[tuple[str, ...]] = ("x", "scale", "bias", "estimated_mean", "estimated_variance")
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    scalars: ClassVar[dict[str, float]] = {"alpha": 1.0, "beta": 0.0, "epsilon": EPSILON}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)

    x: TensorSpec
    y: TensorSpec
    scale: TensorSpec
    bias: TensorSpec
    estimated_mean: TensorSpec
    estimated_variance: TensorSpec
    mode: BatchNormMode = BatchNormMode.SPATIAL

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        cls._complete(values, ("y",), ("scale", "bias", "estimated_mean", "estimated_variance"))

    def validate(self) -> None:
        super().validate()
        self._check(("y",), ())

    def flops(self) -> int:
        return 3 * self.x.size


@dataclass(frozen=True)
class BatchNormalizationBackward(BatchNormalizationProblem):
    """The gradients to x, scale and bias, each blended with factors of its own."""

    op: ClassVar[str] = "batch_normalization_backward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "dy", "scale", "saved_mean", "saved_inv_variance")
    outputs: ClassVar[tuple[str, ...]] = ("dx", "dscale", "dbias")
    scalars: ClassVar[dict[str, float]] = {
        "alpha_data_diff": 1.0,
        "beta_data_diff": 0.0,
        "alpha_param_diff": 1.0,
        "beta_param_diff": 0.0,
        "epsilon": EPSILON,
    }
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("dx", "dy"),)
    absent: ClassVar[tuple[str, ...]] = ("saved_mean", "saved_inv_variance")

    x: TensorSpec
    dy: TensorSpec
    dx: TensorSpec
    scale: TensorSpec
    dscale: TensorSpec
    dbias: TensorSpec
    saved_mean: TensorSpec | None = None
    saved_inv_variance: TensorSpec | None = None
    mode: BatchNormMode = BatchNormMode.SPATIAL

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        cls._complete(values, ("dy", "dx"), ("scale", "dscale", "dbias"))

    def validate(self) -> None:
        super().validate()
        self._check(("dy", "dx"), (("saved_mean", "saved_inv_variance"),))

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        names = {"dx"} if numbers["beta_data_diff"] == 0 else set()
        return names | ({"dscale", "dbias"} if numbers["beta_param_diff"] == 0 else set())

    def flops(self) -> int:
        return 11 * self.x.size

    def reduction_length(self, output: str) -> int:
        return self.count


@public
def derive_bn_tensor_descriptor(x: Any, mode: BatchNormMode | int | str = BatchNormMode.SPATIAL) -> TensorDescriptor:
    """Return the descriptor of scale, bias, means and variances (guide section 4.98).

    Parameters
    ----------
    x
        The data, or its descriptor, of 4 or 5 dims.
    mode
        SPATIAL or PER_ACTIVATION.

    Returns
    -------
    TensorDescriptor
        Packed, (1, c, [1,] 1, 1) for SPATIAL and (1, c, [d,] h, w) for PER_ACTIVATION; float64 for float64 data,
        else float32.

    Raises
    ------
    BadParam
        No tensor and no descriptor, or an unknown mode.
    NotSupported
        Not 4 or 5 dims.
    """
    dtype = data_type_of(x, "x")
    if dtype is None:
        raise BadParam(argument="x", expected="a TensorDescriptor or a tensor", got=shown(x))
    dims = logical_dims(x, "x", TensorDescriptor)
    how = BatchNormMode.parse(mode, "mode")
    if len(dims) not in (4, 5):
        raise NotSupported(argument="x.dims", expected="4 or 5 dims", got=dims)
    return TensorDescriptor(parameter_dims(dims, how), dtype.accumulator)


@computes
def batch_normalization_forward_training(
    handle: Handle,
    x: Any,
    scale: Any,
    bias: Any,
    y: Any = None,
    running_mean: Any = None,
    running_variance: Any = None,
    saved_mean: Any = None,
    saved_inv_variance: Any = None,
    *,
    mode: BatchNormMode | int | str = BatchNormMode.SPATIAL,
    exponential_average_factor: float = 1.0,
    epsilon: float = EPSILON,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Normalise by the batch's own mean and variance (guide section 4.96).

    ``y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y``, with the biased variance.

    Parameters
    ----------
    handle
        Where to compute.
    x, y
        Tensors of 4 or 5 dims, float16, bfloat16, float32 or float64, of equal dims and type and any strides. `y` may
        be `x` itself, or left out.
    scale, bias
        Tensors of dims (1, c, [1,] 1, 1), or (1, c, [d,] h, w) for PER_ACTIVATION; float64 for float64 data, else
        float32; see :func:`derive_bn_tensor_descriptor`. So are all tensors below.
    running_mean, running_variance
        Updated in place where given (both or none): ``running = factor * new + (1 - factor) * running``, where the new
        variance is the unbiased one, NaN if it is that of a single element. With a factor of 1 they are not read.
    saved_mean, saved_inv_variance
        Take the mean and ``1 / sqrt(variance + epsilon)``, for the backward call; both or none.
    mode
        SPATIAL normalises each channel over n and the spatial dims, PER_ACTIVATION each activation over n.
    exponential_average_factor
        Share of the new statistics in the running ones; 1 / (1 + k) at call k for the mean over all calls.
    epsilon
        Added to the variance; at least 0 (CUDNN_BN_MIN_EPSILON).
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Not 4 or 5 dims, dims or types that do not fit, one tensor of a pair, or a smaller epsilon.
    """
    check_epsilon(epsilon, BN_MIN_EPSILON)
    tensors = (x, scale, bias, y, running_mean, running_variance, saved_mean, saved_inv_variance)
    params = (BatchNormMode.parse(mode, "mode"),)
    numbers = (alpha, beta, exponential_average_factor, epsilon)
    return execute(handle, BatchNormalizationForwardTraining, tensors, params, numbers)[0]


@computes
def batch_normalization_forward_inference(
    handle: Handle,
    x: Any,
    scale: Any,
    bias: Any,
    estimated_mean: Any,
    estimated_variance: Any,
    y: Any = None,
    *,
    mode: BatchNormMode | int | str = BatchNormMode.SPATIAL,
    epsilon: float = EPSILON,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Normalise by given means and variances (guide section 4.95).

    ``y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y``.

    Parameters
    ----------
    handle, x, y, scale, bias, mode, epsilon, alpha, beta
        As for :func:`batch_normalization_forward_training`.
    estimated_mean, estimated_variance
        Tensors like `scale`; the running ones of the training calls.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Not 4 or 5 dims, dims or types that do not fit, or an epsilon below 0.
    """
    check_epsilon(epsilon, BN_MIN_EPSILON)
    tensors = (x, scale, bias, estimated_mean, estimated_variance, y)
    params = (BatchNormMode.parse(mode, "mode"),)
    return execute(handle, BatchNormalizationForwardInference, tensors, params, (alpha, beta, epsilon))


@computes
def batch_normalization_backward(
    handle: Handle,
    x: Any,
    dy: Any,
    scale: Any,
    saved_mean: Any = None,
    saved_inv_variance: Any = None,
    dx: Any = None,
    dscale: Any = None,
    dbias: Any = None,
    *,
    mode: BatchNormMode | int | str = BatchNormMode.SPATIAL,
    epsilon: float = EPSILON,
    alpha_data_diff: float = 1.0,
    beta_data_diff: float = 0.0,
    alpha_param_diff: float = 1.0,
    beta_param_diff: float = 0.0,
) -> Any:
    """Return the gradients of training to x, scale and bias (guide section 4.97).

    With ``z = (x - mean) * inv_variance`` and sums over what is normalised together (m elements)::

        dbias = sum(dy)        dscale = sum(dy * z)        dx = scale * inv_variance * (dy - dbias / m - z * dscale / m)

    each blended into its tensor: ``dx = alpha_data_diff * dx + beta_data_diff * (prior dx)``, the other two with
    `alpha_param_diff` and `beta_param_diff`.

    Parameters
    ----------
    handle
        Where to compute.
    x, dy, dx
        The forward call's input, the output's gradient and the input's: tensors of 4 or 5 dims, of equal dims and type
        and any strides. `dx` may be `dy` itself, or left out.
    scale, dscale, dbias
        The scale and the parameters' gradients, as the forward call has them; the gradients may be left out.
    saved_mean, saved_inv_variance
        What the forward call saved, both or none: without them they are computed again from x.
    mode, epsilon
        As given to the forward call; with saved statistics epsilon plays no part.
    alpha_data_diff, beta_data_diff, alpha_param_diff, beta_param_diff
        Blending factors; what a beta of 0 belongs to is not read.

    Returns
    -------
    tuple of arrays
        `dx`, `dscale`, `dbias`.

    Raises
    ------
    BadParam
        Not 4 or 5 dims, dims or types that do not fit, one saved tensor only, or an epsilon below 0.
    """
    check_epsilon(epsilon, BN_MIN_EPSILON)
    tensors = (x, dy, scale, saved_mean, saved_inv_variance, dx, dscale, dbias)
    params = (BatchNormMode.parse(mode, "mode"),)
    numbers = (alpha_data_diff, beta_data_diff, alpha_param_diff, beta_param_diff, epsilon)
    return execute(handle, BatchNormalizationBackward, tensors, params, numbers)
