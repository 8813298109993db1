"""Batch normalisation over several ranks: a rank's own statistics, and what follows from those of all.

Between the halves stands any communicator's all-gather: see docs/several-devices.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dispatch.execute import computes, execute
from ..enums import BatchNormMode
from ..errors import BadParam
from ..handle import Handle
from ..problem import TensorSpec
from .batch_norm import (
    BN_MIN_EPSILON,
    EPSILON,
    BatchNormalizationProblem,
    check_epsilon,
    check_parameter,
    parameter_dims,
)

__all__ = [
    "batch_normalization_apply",
    "batch_normalization_backward_apply",
    "batch_normalization_backward_statistics",
    "batch_normalization_statistics",
]


class _Half(BatchNormalizationProblem):
    """What the four problems share.

    Attributes
    ----------
    like_x : tuple of str
        Tensors of x's dims and type.
    pairs : tuple of (str, str)
        Tensors of which a problem has both or none.
    gathered : tuple of str
        Tensors of all ranks, one rank after another along the first dim.
    """

    like_x: ClassVar[tuple[str, ...]] = ()
    pairs: ClassVar[tuple[tuple[str, str], ...]] = ()
    gathered: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        left_out = {"x", *cls.like_x, *cls.gathered, *cls.absent}
        cls._complete(values, cls.like_x, tuple(name for name in cls.tensor_names() if name not in left_out))
        given = [values[name] for name in cls.gathered if name in values]
        of_images = given and all(len(spec.dims) in (4, 5) for spec in (values.get("x", given[0]), given[0]))
        if "x" in values and of_images and given[0].dtype.is_float:
            first = given[0]
            sizes = {
                name: parameter_dims(values["x"].dims, values.get("mode", BatchNormMode.SPATIAL))
                for name in cls.gathered
            }
            sizes["counts"] = (1,) * len(values["x"].dims)
            for name in cls.gathered:
                values.setdefault(name, TensorSpec.packed(first.dtype, (first.dims[0], *sizes[name][1:])))

    def validate(self) -> None:
        super().validate()
        x = self.x
        self._check(self.like_x, self.pairs, self.gathered)
        if not self.gathered:
            return
        ranks = getattr(self, self.gathered[0]).dims[0]
        if ranks < 1:
            raise BadParam(argument=f"{self.gathered[0]}.dims", expected="one rank at least", got=0)
        dims = parameter_dims(x.dims, self.mode)
        for name in self.gathered:
            sizes = (1,) * (len(dims) - 1) if name == "counts" else dims[1:]
            check_parameter(getattr(self, name), name, x, (ranks, *sizes))

    def reduction_length(self, output: str) -> int:
        return max(1, self.count)


@dataclass(frozen=True)
class BatchNormalizationStatistics(_Half):
    """The mean and the biased variance of x; zeros where it is empty."""

    op: ClassVar[str] = "batch_normalization_statistics"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("mean", "variance")
    scalars: ClassVar[dict[str, float]] = {}

    x: TensorSpec
    mean: TensorSpec
    variance: TensorSpec
    mode: BatchNormMode = BatchNormMode.SPATIAL

    def flops(self) -> int:
        return 4 * self.x.size


@dataclass(frozen=True)
class BatchNormalizationApply(_Half):
    """y = scale * (x - mean) / sqrt(variance + epsilon) + bias, statistics merged from those of all ranks."""

    op: ClassVar[str] = "batch_normalization_apply"
    inputs: ClassVar[tuple[str, ...]] = ("x", "scale", "bias", "means", "variances", "counts")
    outputs: ClassVar[tuple[str, ...]] = ("y", "running_mean", "running_variance", "saved_mean", "saved_inv_variance")
    scalars: ClassVar[dict[str, float]] = {"exponential_average_factor": 1.0, "epsilon": EPSILON}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)
    absent: ClassVar[tuple[str, ...]] = ("running_mean", "running_variance", "saved_mean", "saved_inv_variance")
    like_x: ClassVar[tuple[str, ...]] = ("y",)
    pairs: ClassVar[tuple[tuple[str, str], ...]] = (
        ("running_mean", "running_variance"),
        ("saved_mean", "saved_inv_variance"),
    )
    gathered: ClassVar[tuple[str, ...]] = ("means", "variances", "counts")

    x: TensorSpec
    y: TensorSpec
    scale: TensorSpec
    bias: TensorSpec
    means: TensorSpec
    variances: TensorSpec
    counts: TensorSpec
    running_mean: TensorSpec | None = None
    running_variance: TensorSpec | None = None
    saved_mean: TensorSpec | None = None
    saved_inv_variance: TensorSpec | None = None
    mode: BatchNormMode = BatchNormMode.SPATIAL

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        names = {"y", "saved_mean", "saved_inv_variance"}
        if numbers["exponential_average_factor"] == 1:
            names.update(("running_mean", "running_variance"))
        return names

    def flops(self) -> int:
        return 3 * self.x.size


@dataclass(frozen=True)
class BatchNormalizationBackwardStatistics(_Half):
    """A rank's share of the gradients to scale and bias."""

    op: ClassVar[str] = "batch_normalization_backward_statistics"
    inputs: ClassVar[tuple[str, ...]] = ("x", "dy", "saved_mean", "saved_inv_variance")
    outputs: ClassVar[tuple[str, ...]] = ("dscale", "dbias")
    scalars: ClassVar[dict[str, float]] = {}
    like_x: ClassVar[tuple[str, ...]] = ("dy",)

    x: TensorSpec
    dy: TensorSpec
    saved_mean: TensorSpec
    saved_inv_variance: TensorSpec
    dscale: TensorSpec
    dbias: TensorSpec
    mode: BatchNormMode = BatchNormMode.SPATIAL

    def flops(self) -> int:
        return 5 * self.x.size


@dataclass(frozen=True)
class BatchNormalizationBackwardApply(_Half):
    """dx, and the gradients to scale and bias of all ranks together."""

    op: ClassVar[str] = "batch_normalization_backward_apply"
    inputs: ClassVar[tuple[str, ...]] = (
        "x",
        "dy",
        "scale",
        "saved_mean",
        "saved_inv_variance",
        "dscales",
        "dbiases",
        "counts",
    )
    outputs: ClassVar[tuple[str, ...]] = ("dx", "dscale", "dbias")
    scalars: ClassVar[dict[str, float]] = {}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("dx", "dy"),)
    absent: ClassVar[tuple[str, ...]] = ("dscale", "dbias")
    like_x: ClassVar[tuple[str, ...]] = ("dy", "dx")
    pairs: ClassVar[tuple[tuple[str, str], ...]] = (("dscale", "dbias"),)
    gathered: ClassVar[tuple[str, ...]] = ("dscales", "dbiases", "counts")

    x: TensorSpec
    dy: TensorSpec
    dx: TensorSpec
    scale: TensorSpec
    saved_mean: TensorSpec
    saved_inv_variance: TensorSpec
    dscales: TensorSpec
    dbiases: TensorSpec
    counts: TensorSpec
    dscale: TensorSpec | None = None
    dbias: TensorSpec | None = None
    mode: BatchNormMode = BatchNormMode.SPATIAL

    def flops(self) -> int:
        return 6 * self.x.size


@computes
def batch_normalization_statistics(
    handle: Handle,
    x: Any,
    mean: Any = None,
    variance: Any = None,
    *,
    mode: BatchNormMode | int | str = BatchNormMode.SPATIAL,
) -> Any:
    """Return mean and biased variance of a rank's own batch: the first half of batch normalisation over several ranks.

    Parameters
    ----------
    handle
        Where to compute.
    x
        Tensor of 4 or 5 dims, float16, bfloat16, float32 or float64, of any strides. An empty one has zeros.
    mean, variance
        Outputs of dims (1, c, [1,] 1, 1), or (1, c, [d,] h, w) for PER_ACTIVATION; float64 for float64 data, else
        float32. May be left out.
    mode
        SPATIAL or PER_ACTIVATION.

    Returns
    -------
    tuple of arrays
        `mean` and `variance`, to be gathered from all ranks for :func:`batch_normalization_apply`.

    Raises
    ------
    BadParam
        Not 4 or 5 dims, or dims or types that do not fit.
    """
    params = (BatchNormMode.parse(mode, "mode"),)
    return execute(handle, BatchNormalizationStatistics, (x, mean, variance), params, ())


@computes
def batch_normalization_apply(
    handle: Handle,
    x: Any,
    scale: Any,
    bias: Any,
    means: Any,
    variances: Any,
    counts: Any,
    y: Any = None,
    running_mean: Any = None,
    running_variance: Any = None,
    saved_mean: Any = None,
    saved_inv_variance: Any = None,
    *,
    mode: BatchNormMode | int | str = BatchNormMode.SPATIAL,
    exponential_average_factor: float = 1.0,
    epsilon: float = EPSILON,
) -> Any:
    """Normalise a rank's batch by the statistics of all ranks' batches together: the second half of the forward pass.

    The ranks' statistics are merged in their order (T. F. Chan, G. H. Golub, R. J. LeVeque, 1979), so all ranks have
    the same bits.

    Parameters
    ----------
    handle
        Where to compute.
    x, scale, bias, y, running_mean, running_variance, saved_mean, saved_inv_variance, mode
        As for :func:`batch_normalization_forward_training`; running and saved ones are those of the whole batch.
    means, variances
        What :func:`batch_normalization_statistics` returned on each rank, in the order of the ranks along the first
        dim: (ranks, c, [1,] 1, 1), or (ranks, c, [d,] h, w) for PER_ACTIVATION.
    counts
        How many elements each rank normalised together, (ranks, 1, [1,] 1, 1), of the type of `means`:
        ``n * h * w`` for SPATIAL, n for PER_ACTIVATION. Ranks may differ; one with 0 does not matter.
    exponential_average_factor, epsilon
        As for :func:`batch_normalization_forward_training`.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims or types that do not fit, one tensor of a pair, or an epsilon below 0.
    """
    check_epsilon(epsilon, BN_MIN_EPSILON)
    tensors = (x, scale, bias, means, variances, counts, y, running_mean, running_variance, saved_mean)
    params = (BatchNormMode.parse(mode, "mode"),)
    numbers = (exponential_average_factor, epsilon)
    return execute(handle, BatchNormalizationApply, (*tensors, saved_inv_variance), params, numbers)[0]


@computes
def batch_normalization_backward_statistics(
    handle: Handle,
    x: Any,
    dy: Any,
    saved_mean: Any,
    saved_inv_variance: Any,
    dscale: Any = None,
    dbias: Any = None,
    *,
    mode: BatchNormMode | int | str = BatchNormMode.SPATIAL,
) -> Any:
    """Return a rank's share of the gradients to scale and bias: the first half of the backward pass.

    ``dbias = sum(dy)`` and ``dscale = sum(dy * (x - saved_mean) * saved_inv_variance)`` over the rank's own batch.

    Parameters
    ----------
    handle
        Where to compute.
    x, dy
        The forward call's input and the output's gradient: tensors of 4 or 5 dims, of equal dims and type and any
        strides. Empty ones have sums of zero.
    saved_mean, saved_inv_variance
        What :func:`batch_normalization_apply` saved.
    dscale, dbias
        Outputs of the dims and type of `saved_mean`; may be left out.
    mode
        As given to the forward call.

    Returns
    -------
    tuple of arrays
        `dscale` and `dbias`, to be gathered from all ranks for :func:`batch_normalization_backward_apply`.

    Raises
    ------
    BadParam
        Not 4 or 5 dims, or dims or types that do not fit.
    """
    tensors = (x, dy, saved_mean, saved_inv_variance, dscale, dbias)
    params = (BatchNormMode.parse(mode, "mode"),)
    return execute(handle, BatchNormalizationBackwardStatistics, tensors, params, ())


@computes
def batch_normalization_backward_apply(
    handle: Handle,
    x: Any,
    dy: Any,
    scale: Any,
    saved_mean: Any,
    saved_inv_variance: Any,
    dscales: Any,
    dbiases: Any,
    counts: Any,
    dx: Any = None,
    dscale: Any = None,
    dbias: Any = None,
    *,
    mode: BatchNormMode | int | str = BatchNormMode.SPATIAL,
) -> Any:
    """Return the gradients of batch normalisation over several ranks: the second half of the backward pass.

    With m elements of all ranks that are normalised together, and the sums of `dscales` and `dbiases` over the ranks::

        dx = scale * inv_variance * (dy - dbias / m - (x - mean) * inv_variance * dscale / m)

    Parameters
    ----------
    handle
        Where to compute.
    x, dy, scale, saved_mean, saved_inv_variance, dx, mode
        As for :func:`batch_normalization_backward`. `dx` may be `dy` itself, or left out.
    dscales, dbiases
        What :func:`batch_normalization_backward_statistics` returned on each rank, in the order of the ranks along
        the first dim; or their sums, as those of one rank.
    counts
        As for :func:`batch_normalization_apply`, or the sum of all, as that of one rank.
    dscale, dbias
        Take the sums over all ranks, added in their order; both or none.

    Returns
    -------
    tuple of arrays
        `dx`, `dscale`, `dbias`, with None for those not given.

    Raises
    ------
    BadParam
        Dims or types that do not fit, or one tensor of a pair.
    """
    tensors = (x, dy, scale, saved_mean, saved_inv_variance, dscales, dbiases, counts, dx, dscale, dbias)
    params = (BatchNormMode.parse(mode, "mode"),)
    return execute(handle, BatchNormalizationBackwardApply, tensors, params, ())
