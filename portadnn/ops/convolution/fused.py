"""Convolution, bias and activation in one call, as cuDNN has it since version 6."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from ...descriptors import FilterDescriptor, TensorDescriptor, check_descriptor
from ...descriptors.layers import ActivationDescriptor, ConvolutionDescriptor, check_activation
from ...dispatch.choice import workspace_size
from ...dispatch.execute import computes, execute
from ...dispatch.problems import check_handle, make_problem
from ...enums import (
    ActivationMode,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DataType,
    DnnEnum,
    MathType,
    NanPropagation,
)
from ...errors import BadParam, public
from ...handle import Handle
from ...problem import TensorSpec, check_same
from .calls import Convolution, ConvolutionForward

__all__ = ["convolution_bias_activation_forward", "get_convolution_bias_activation_forward_workspace_size"]


@dataclass(frozen=True)
class ConvolutionBiasActivationForward(Convolution):
    """y = activation(alpha1 * conv(x, w) + alpha2 * z + bias)."""

    op: ClassVar[str] = "convolution_bias_activation_forward"
    algorithms: ClassVar[type[DnnEnum]] = ConvolutionFwdAlgo
    inputs: ClassVar[tuple[str, ...]] = ("x", "w", "z", "bias")
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    scalars: ClassVar[dict[str, float]] = {"alpha1": 1.0, "alpha2": 0.0}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "z"),)
    optional: ClassVar[dict[str, str]] = {"z": "alpha2"}

    x: TensorSpec
    w: TensorSpec
    z: TensorSpec
    bias: TensorSpec
    y: TensorSpec
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    mode: ConvolutionMode = ConvolutionMode.CROSS_CORRELATION
    compute_type: DataType | None = None
    math: MathType = MathType.DEFAULT
    activation: ActivationMode = field(kw_only=True)
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN
    ceiling: float = 0.0
    coef: float = 1.0

    @functools.cached_property
    def convolution(self) -> ConvolutionForward:
        """The convolution alone, into y."""
        return ConvolutionForward(**{f.name: getattr(self, f.name) for f in fields(ConvolutionForward)})

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        super().complete(values)
        if "y" in values:
            y = values["y"]
            values.setdefault("z", y)
            values.setdefault("bias", TensorSpec.packed(y.dtype, _bias_dims(y)))

    def validate(self) -> None:
        super().validate()
        check_activation(self.activation, self.ceiling, self.coef)
        check_same(self.y, "y", self.z, "z")
        dims = _bias_dims(self.y)
        if self.bias.dims != dims:
            raise BadParam(argument="bias.dims", expected=f"{dims}", got=self.bias.dims)
        if self.bias.dtype is not self.x.dtype:
            raise BadParam(argument="bias.dtype", expected=f"{self.x.dtype} as x", got=self.bias.dtype)

    def flops(self) -> int:
        return super().flops() + 2 * self.y.size

    def reduction_length(self, output: str) -> int:
        return self.convolution.reduction_length(output)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        x, w, z, bias, y = (arrays[name] for name in self.tensor_names())
        activation = ActivationDescriptor(self.activation, self.nan_propagation, self.ceiling, self.coef)
        return [x, w, self.descriptor, bias, activation, y], {"z": z}

    def bytes(self) -> int:
        return super().bytes() - self.z.nbytes  # alpha2 is 0 unless stated


def _bias_dims(y: TensorSpec) -> tuple[int, ...]:
    return (1, *y.dims[1:2], *[1] * (len(y.dims) - 2))


@computes
def convolution_bias_activation_forward(
    handle: Handle,
    x: Any,
    w: Any,
    conv: ConvolutionDescriptor,
    bias: Any,
    activation: ActivationDescriptor,
    y: Any = None,
    *,
    z: Any = None,
    alpha1: float = 1.0,
    alpha2: float = 0.0,
    algo: ConvolutionFwdAlgo | int | str | None = None,
    workspace: Any = None,
) -> Any:
    """Convolve, add and activate: ``y = activation(alpha1 * conv(x, w) + alpha2 * z + bias)``.

    This is ``cudnnConvolutionBiasActivationForward``, which is newer than the guide.

    Parameters
    ----------
    handle
        Where to compute.
    x, w, conv
        As for :func:`~portadnn.convolution_forward`.
    bias
        (1, k, 1, 1[, 1]), same type.
    activation
        Which function; IDENTITY for none.
    y
        (n, k, [o,] p, q) as for :func:`~portadnn.convolution_forward`; may be left out.
    z
        Tensor of y's dims and type, any strides, such as the other branch of a residual block; may be `y` itself.
        May be left out where ``alpha2 == 0``, and is not read then.
    alpha1, alpha2
        Factors of the convolution and of z.
    algo
        The convolution's algorithm; None takes the best known.
    workspace
        Scratch memory of at least :func:`get_convolution_bias_activation_forward_workspace_size` bytes; None lets
        the handle provide it.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims, types or channels that do not fit, `alpha2` without z, or a workspace that is too small.
    NotSupported
        Other than 2 or 3 spatial dims, or an algorithm that cannot.

    Notes
    -----
    Sums are kept in float32 for float16 and float32 data, in float64 for float64 data, and rounded once, after the
    activation. With an `algo` whose kernels cannot finish the job, float16 is rounded after the convolution as well.
    """
    wanted = None if algo is None else ConvolutionFwdAlgo.parse(algo, "algo")
    return execute(
        handle,
        ConvolutionBiasActivationForward,
        (x, w, z, bias, y),
        _parameters(conv, activation),
        (alpha1, alpha2),
        algo=wanted,
        workspace=workspace,
    )


def _parameters(conv: Any, activation: Any) -> tuple[Any, ...]:
    return (
        check_descriptor(conv, ConvolutionDescriptor, "conv"),
        check_descriptor(activation, ActivationDescriptor, "activation"),
    )


@public
def get_convolution_bias_activation_forward_workspace_size(
    handle: Handle,
    x: Any,
    w: Any,
    conv: ConvolutionDescriptor,
    bias: Any,
    activation: ActivationDescriptor,
    y: Any = None,
    *,
    z: Any = None,
    algo: ConvolutionFwdAlgo | int | str | None = None,
) -> int:
    """Return the exact workspace bytes of :func:`convolution_bias_activation_forward`.

    Tensors are arrays or descriptors. cuDNN has no such query: there it is that of the convolution alone.
    """
    check_handle(handle)
    wanted = None if algo is None else ConvolutionFwdAlgo.parse(algo, "algo")
    given = {"x": x, "w": w, "z": z, "bias": bias, "y": y}
    kind = ConvolutionBiasActivationForward
    tensors = [given[name] for name in kind.tensor_names()]
    specs = [t.spec if isinstance(t, (TensorDescriptor, FilterDescriptor)) else t for t in tensors]
    return workspace_size(handle, make_problem(handle, kind, specs, _parameters(conv, activation)), wanted)
