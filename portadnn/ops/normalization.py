"""Layer, instance, group and RMS normalisation, as the libraries after cuDNN v5 have them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arguments import as_integer
from ..dispatch.execute import computes, execute
from ..enums import DnnEnum
from ..errors import BadParam
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same
from .batch_norm import check_epsilon, check_pair, check_parameter

__all__ = ["NormMode", "normalization_backward", "normalization_forward"]


class NormMode(DnnEnum):
    """What a normalisation normalises together (cudnnBackendNormMode_t of cuDNN 8 and 9)."""

    LAYER_NORM = 0
    INSTANCE_NORM = 1
    GROUP_NORM = 3
    RMS_NORM = 4

    @classmethod
    def c_enumeration(cls) -> str:
        """Return the enumeration's name in cuDNN's header."""
        return "cudnnBackendNormMode_t"

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_{self.name}"


_FROM_AXIS = (NormMode.LAYER_NORM, NormMode.RMS_NORM)


class Normalization(Problem):
    """What both directions share: which numbers are normalised together, and by which parameters."""

    x: TensorSpec
    scale: TensorSpec | None
    mode: NormMode
    axis: int
    groups: int

    @functools.cached_property
    def parameter_dims(self) -> tuple[int, ...]:
        """Dims of scale and bias."""
        return _parameter_dims(self.x.dims, self.mode, self.axis)

    @functools.cached_property
    def statistics_dims(self) -> tuple[int, ...]:
        """Dims of means and inverse deviations."""
        dims = self.x.dims
        if self.mode in _FROM_AXIS:
            first = self.axis % len(dims)
            return (*dims[:first], *(1,) * (len(dims) - first))
        channels = dims[1] if self.mode is NormMode.INSTANCE_NORM else self.groups
        return (dims[0], channels, *(1,) * (len(dims) - 2))

    @functools.cached_property
    def count(self) -> int:
        """Elements that are normalised together."""
        return math.prod(self.x.dims) // max(1, math.prod(self.statistics_dims))

    @classmethod
    def _complete(cls, values: dict[str, Any], like_x: tuple[str, ...]) -> None:
        if "x" in values:
            for name in like_x:
                values.setdefault(name, values["x"].like(values["x"].dims))

    def _check(self, like_x: tuple[str, ...]) -> None:
        x, rank = self.x, len(self.x.dims)
        for name in like_x:
            check_same(x, "x", getattr(self, name), name)
        if self.mode in _FROM_AXIS:
            if not -rank <= self.axis < rank:
                raise BadParam(argument="axis", expected=f"an axis of x, which has {rank}", got=self.axis)
        elif self.axis != 1:
            raise BadParam(argument="axis", expected=f"1 for {self.mode}", got=self.axis)
        if self.mode is NormMode.GROUP_NORM:
            if self.groups < 1 or x.dims[1] < self.groups or x.dims[1] % self.groups:
                raise BadParam(argument="groups", expected=f"a divisor of x.dims[1] ({x.dims[1]})", got=self.groups)
        elif self.groups != 1:
            raise BadParam(argument="groups", expected=f"1 for {self.mode}", got=self.groups)
        for name in self.names:
            if name not in ("x", *like_x):
                statistic = name.startswith("saved")
                check_parameter(
                    getattr(self, name), name, x, self.statistics_dims if statistic else self.parameter_dims
                )
        if self.mode is not NormMode.RMS_NORM:
            check_pair(self, "saved_mean", "saved_inv_variance")
        elif getattr(self, "saved_mean", None) is not None:
            raise BadParam(argument="saved_mean", expected="None for RMS_NORM, which subtracts no mean", got="a tensor")
        for name in ("bias", "dscale", "dbias"):
            if getattr(self, name, None) is not None and self.scale is None:
                raise BadParam(argument="scale", expected=f"a tensor, because {name} is one", got=None)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        options = {"mode": self.mode, "axis": self.axis, "groups": self.groups}
        return [arrays.get(name) for name in self.tensor_names()], options


def _parameter_dims(dims: tuple[int, ...], mode: NormMode, axis: int) -> tuple[int, ...]:
    if mode in _FROM_AXIS:
        first = axis % len(dims)
        return (*(1,) * first, *dims[first:])
    return (1, dims[1], *(1,) * (len(dims) - 2))


@dataclass(frozen=True)
class NormalizationForward(Normalization):
    """y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y."""

    op: ClassVar[str] = "normalization_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "scale", "bias")
    outputs: ClassVar[tuple[str, ...]] = ("y", "saved_mean", "saved_inv_variance")
    scalars: ClassVar[dict[str, float]] = {"alpha": 1.0, "beta": 0.0, "epsilon": 1e-5}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)
    absent: ClassVar[tuple[str, ...]] = ("scale", "bias", "saved_mean", "saved_inv_variance")

    x: TensorSpec
    y: TensorSpec
    scale: TensorSpec | None = None
    bias: TensorSpec | None = None
    saved_mean: TensorSpec | None = None
    saved_inv_variance: TensorSpec | None = None
    mode: NormMode = NormMode.LAYER_NORM
    axis: int = 1
    groups: int = 1

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        cls._complete(values, ("y",))

    def validate(self) -> None:
        super().validate()
        self._check(("y",))

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"saved_mean", "saved_inv_variance"} | ({"y"} if numbers["beta"] == 0 else set())

    def flops(self) -> int:
        return 7 * self.x.size

    def reduction_length(self, output: str) -> int:
        return self.count


@dataclass(frozen=True)
class NormalizationBackward(Normalization):
    """The gradients to x, scale and bias, each blended with factors of its own."""

    op: ClassVar[str] = "normalization_backward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "dy", "scale", "saved_mean", "saved_inv_variance")
    outputs: ClassVar[tuple[str, ...]] = ("dx", "dscale", "dbias")
    scalars: ClassVar[dict[str, float]] = {
        "alpha_data_diff": 1.0,
        "beta_data_diff": 0.0,
        "alpha_param_diff": 1.0,
        "beta_param_diff": 0.0,
        "epsilon": 1e-5,
    }
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("dx", "dy"),)
    absent: ClassVar[tuple[str, ...]] = ("scale", "saved_mean", "saved_inv_variance", "dscale", "dbias")

    x: TensorSpec
    dy: TensorSpec
    dx: TensorSpec
    scale: TensorSpec | None = None
    saved_mean: TensorSpec | None = None
    saved_inv_variance: TensorSpec | None = None
    dscale: TensorSpec | None = None
    dbias: TensorSpec | None = None
    mode: NormMode = NormMode.LAYER_NORM
    axis: int = 1
    groups: int = 1

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        cls._complete(values, ("dy", "dx"))
        scale = values.get("scale")
        if scale is not None:
            packed = TensorSpec.packed(scale.dtype, scale.dims)
            values.setdefault("dscale", packed)
            if values.get("mode") is not NormMode.RMS_NORM:
                values.setdefault("dbias", packed)

    def validate(self) -> None:
        super().validate()
        self._check(("dy", "dx"))
        if self.dbias is not None and self.dscale is None:
            raise BadParam(argument="dscale", expected="a tensor, because dbias is one", got=None)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        names = {"dx"} if numbers["beta_data_diff"] == 0 else set()
        return names | ({"dscale", "dbias"} if numbers["beta_param_diff"] == 0 else set())

    def flops(self) -> int:
        return 11 * self.x.size

    def reduction_length(self, output: str) -> int:
        if output == "dx":
            return self.count
        return math.prod(self.x.dims) // max(1, math.prod(self.parameter_dims))


def _parameters(mode: Any, axis: Any, groups: Any) -> tuple[NormMode, int, int]:
    return NormMode.parse(mode, "mode"), as_integer(axis, "axis", -8), as_integer(groups, "groups", 1)


@computes
def normalization_forward(
    handle: Handle,
    x: Any,
    scale: Any = None,
    bias: Any = None,
    y: Any = None,
    saved_mean: Any = None,
    saved_inv_variance: Any = None,
    *,
    mode: NormMode | int | str = NormMode.LAYER_NORM,
    axis: int = 1,
    groups: int = 1,
    epsilon: float = 1e-5,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Normalise each sample, or parts of it, by its own statistics (NormalizationForward of cuDNN's graphs).

    ``y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y``, where mean and (biased) variance
    are those of

    - LAYER_NORM: all of x from `axis` on (ONNX's LayerNormalization; torch's layer_norm over the same dims);
    - RMS_NORM: the same, with no mean subtracted and the mean of squares for the variance;
    - INSTANCE_NORM: the spatial dims of each image's channel;
    - GROUP_NORM: the spatial dims of c / `groups` neighbouring channels of each image.

    Parameters
    ----------
    handle
        Where to compute.
    x, y
        Tensors of 3 to 8 dims, float16, bfloat16, float32 or float64, of equal dims and type and any strides. `y` may
        be `x` itself, or left out.
    scale, bias
        For LAYER_NORM and RMS_NORM the dims of x from `axis` on, after ones: (1, c, h, w) for ``axis=1``, (1, 1, 1, w)
        for ``axis=-1``. Otherwise (1, c, 1, ...). Float64 for float64 data, else float32. Without them nothing is
        scaled or added; a bias needs a scale.
    saved_mean, saved_inv_variance
        Take mean and ``1 / sqrt(variance + epsilon)`` for the backward call, both or none (RMS_NORM: the second only):
        the dims of x up to `axis` and then ones, (n, c, 1, ...) or (n, groups, 1, ...); types as `scale`.
    mode, axis, groups
        See above; `axis` may be negative, as in ONNX.
    epsilon
        Added to the variance; 0 or more.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims, types, axis or groups that do not fit, or one tensor of a pair.
    """
    check_epsilon(epsilon, 0.0)
    tensors = (x, scale, bias, y, saved_mean, saved_inv_variance)
    params = _parameters(mode, axis, groups)
    return execute(handle, NormalizationForward, tensors, params, (alpha, beta, epsilon))[0]


@computes
def normalization_backward(
    handle: Handle,
    x: Any,
    dy: Any,
    scale: Any = None,
    saved_mean: Any = None,
    saved_inv_variance: Any = None,
    dx: Any = None,
    dscale: Any = None,
    dbias: Any = None,
    *,
    mode: NormMode | int | str = NormMode.LAYER_NORM,
    axis: int = 1,
    groups: int = 1,
    epsilon: float = 1e-5,
    alpha_data_diff: float = 1.0,
    beta_data_diff: float = 0.0,
    alpha_param_diff: float = 1.0,
    beta_param_diff: float = 0.0,
) -> Any:
    """Return the gradients of :func:`normalization_forward` (NormalizationBackward of cuDNN's graphs).

    With ``z = (x - mean) * inv_variance``, ``g = dy * scale`` and means over what is normalised together::

        dx = inv_variance * (g - mean(g) - z * mean(g * z))        dscale = sum(dy * z)        dbias = sum(dy)

    (RMS_NORM: without ``mean(g)``), each blended into its tensor.

    Parameters
    ----------
    handle
        Where to compute.
    x, dy, dx
        The forward call's input, the output's gradient and the input's; `dx` may be `dy` itself, or left out.
    scale
        As given to the forward call.
    saved_mean, saved_inv_variance
        What the forward call saved (RMS_NORM: the second only); without them they are computed again from x.
    dscale, dbias
        The parameters' gradients, like `scale`. With a scale both are computed, and returned if left out; without one
        neither. RMS_NORM computes dbias where it is given.
    mode, axis, groups, epsilon
        As given to the forward call.
    alpha_data_diff, beta_data_diff, alpha_param_diff, beta_param_diff
        Blending factors; what a beta of 0 belongs to is not read.

    Returns
    -------
    tuple of arrays
        `dx`, `dscale`, `dbias`, with None for those that there are not.

    Raises
    ------
    BadParam
        Dims, types, axis or groups that do not fit, or one tensor of a pair.
    """
    check_epsilon(epsilon, 0.0)
    tensors = (x, dy, scale, saved_mean, saved_inv_variance, dx, dscale, dbias)
    numbers = (alpha_data_diff, beta_data_diff, alpha_param_diff, beta_param_diff, epsilon)
    return execute(handle, NormalizationBackward, tensors, _parameters(mode, axis, groups), numbers)
