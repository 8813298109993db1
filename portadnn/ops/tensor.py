"""Tensor operations: transform, add, op, set and scale (guide sections 4.14 to 4.18)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..descriptors.layers import OpTensorDescriptor
from ..dispatch.execute import computes, execute
from ..enums import DataType, NanPropagation, OpTensorOp
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same

__all__ = ["add_tensor", "op_tensor", "scale_tensor", "set_tensor", "transform_tensor"]

MAX_BROADCAST_DIMS = 5


def _check_broadcast(a: TensorSpec, name: str, c: TensorSpec) -> None:
    if len(a.dims) > MAX_BROADCAST_DIMS or len(c.dims) > MAX_BROADCAST_DIMS:
        raise NotSupported(argument=f"{name}.dims", expected=f"at most {MAX_BROADCAST_DIMS} dims", got=a.dims)
    if len(a.dims) != len(c.dims) or any(p not in (1, q) for p, q in zip(a.dims, c.dims, strict=True)):
        raise BadParam(argument=f"{name}.dims", expected=f"each dim 1 or as c {c.dims}", got=a.dims)


@dataclass(frozen=True)
class TransformTensor(Problem):
    """y = alpha * x + beta * y, where x and y may have different layouts."""

    matrices = True

    op: ClassVar[str] = "transform_tensor"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y",)

    x: TensorSpec
    y: TensorSpec

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            values.setdefault("y", TensorSpec.packed(values["x"].dtype, values["x"].dims))

    def validate(self) -> None:
        super().validate()
        check_same(self.x, "x", self.y, "y")


@dataclass(frozen=True)
class AddTensor(Problem):
    """c = alpha * a + beta * c, where dims of a may be 1."""

    matrices = True

    op: ClassVar[str] = "add_tensor"
    inputs: ClassVar[tuple[str, ...]] = ("a",)
    outputs: ClassVar[tuple[str, ...]] = ("c",)
    scalars: ClassVar[dict[str, float]] = {"alpha": 1.0, "beta": 1.0}

    a: TensorSpec
    c: TensorSpec

    def validate(self) -> None:
        super().validate()
        _check_broadcast(self.a, "a", self.c)
        if self.a.dtype is not self.c.dtype:
            raise BadParam(argument="a.dtype", expected=f"{self.c.dtype} as c", got=self.a.dtype)

    def flops(self) -> int:
        return 3 * self.c.size

    def bytes(self) -> int:
        return self.a.nbytes + 2 * self.c.nbytes  # c is read as well, because beta is 1 unless stated


@dataclass(frozen=True)
class OpTensor(Problem):
    """c = op(alpha1 * a, alpha2 * b) + beta * c, where dims of b may be 1; SQRT and NOT do not read b."""

    matrices = True

    op: ClassVar[str] = "op_tensor"
    inputs: ClassVar[tuple[str, ...]] = ("a", "b")
    outputs: ClassVar[tuple[str, ...]] = ("c",)
    scalars: ClassVar[dict[str, float]] = {"alpha1": 1.0, "alpha2": 1.0, "beta": 0.0}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("c", "a"), ("c", "b"))
    together: ClassVar[dict[tuple[str, str], str]] = {("c", "b"): "a"}

    a: TensorSpec
    b: TensorSpec
    c: TensorSpec
    operation: OpTensorOp
    compute_type: DataType | None = None
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "a" in values:
            values.setdefault("c", values["a"].like(values["a"].dims))

    def validate(self) -> None:
        super().validate()
        a, b, c = self.a, self.b, self.c
        _check_broadcast(b, "b", c)
        if a.dims != c.dims:
            raise BadParam(argument="a.dims", expected=f"{c.dims} as c", got=a.dims)
        if a.dtype is not b.dtype:
            raise BadParam(argument="b.dtype", expected=f"{a.dtype} as a", got=b.dtype)
        if c.dtype is DataType.DOUBLE and a.dtype is not DataType.DOUBLE:
            raise BadParam(argument="a.dtype", expected="DOUBLE because c is", got=a.dtype)
        wanted = DataType.DOUBLE if c.dtype is DataType.DOUBLE else DataType.FLOAT
        if self.compute_type not in (None, wanted):
            raise NotSupported(argument="op.compute_type", expected=f"{wanted} for {c.dtype} c", got=self.compute_type)
        if c.dtype is not a.dtype:
            raise NotSupported(
                "mixed types are not supported", argument="c.dtype", expected=f"{a.dtype} as a", got=c.dtype
            )

    def flops(self) -> int:
        return 4 * self.c.size

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return super().unread(numbers) | ({"b"} if self.operation.unary else set())

    def bytes(self) -> int:
        return super().bytes() - (self.b.nbytes if self.operation.unary else 0)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        op = OpTensorDescriptor(self.operation, self.compute_type, self.nan_propagation)
        return [op, *(arrays[name] for name in self.tensor_names())], {}


@dataclass(frozen=True)
class SetTensor(Problem):
    """Set every element of y to value."""

    matrices = True

    op: ClassVar[str] = "set_tensor"
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    scalars: ClassVar[dict[str, float]] = {"value": 0.0}

    y: TensorSpec

    def flops(self) -> int:
        return 0


@dataclass(frozen=True)
class ScaleTensor(Problem):
    """Multiply every element of y by alpha."""

    matrices = True

    op: ClassVar[str] = "scale_tensor"
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    scalars: ClassVar[dict[str, float]] = {"alpha": 1.0}

    y: TensorSpec

    def bytes(self) -> int:
        return 2 * self.y.nbytes


_DESCRIPTORS = {op: OpTensorDescriptor(op) for op in OpTensorOp}
_BY_NAME = {op.name.lower(): _DESCRIPTORS[op] for op in OpTensorOp}  # the common spelling, without a search


@computes
def transform_tensor(handle: Handle, x: Any, y: Any = None, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
    """Copy a tensor into another layout: ``y = alpha * x + beta * y`` (guide section 4.14).

    Parameters
    ----------
    handle
        Where to compute.
    x, y
        Tensors of 3 to 8 dims, float16, bfloat16, float32 or float64, of equal dims and type and any strides; `y` may
        be left out and is then packed NCHW. They must not share memory.
    alpha, beta
        Blending factors; with ``beta == 0`` y is not read.

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        Dims or types differ, or x and y share memory.
    NotSupported
        y overlaps itself, or a stride is negative.
    """
    return execute(handle, TransformTensor, (x, y), (), (alpha, beta))


@computes
def add_tensor(handle: Handle, a: Any, c: Any, *, alpha: float = 1.0, beta: float = 1.0) -> Any:
    """Add a bias: ``c = alpha * a + beta * c`` (guide section 4.15).

    Parameters
    ----------
    handle
        Where to compute.
    a
        Tensor of 3 to 5 dims whose dims are 1 or those of `c`.
    c
        Tensor of the same type and number of dims, updated in place.
    alpha, beta
        Blending factors; with ``beta == 0`` c is not read.

    Returns
    -------
    array
        `c`.

    Raises
    ------
    BadParam
        Dims that do not broadcast, other types, or shared memory.
    NotSupported
        More than 5 dims.
    """
    return execute(handle, AddTensor, (a, c), (), (alpha, beta))


@computes
def op_tensor(
    handle: Handle,
    op: OpTensorDescriptor | OpTensorOp | str,
    a: Any,
    b: Any = None,
    c: Any = None,
    *,
    alpha1: float = 1.0,
    alpha2: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Combine two tensors: ``c = op(alpha1 * a, alpha2 * b) + beta * c`` (guide section 4.16).

    Parameters
    ----------
    handle
        Where to compute.
    op
        ADD, MUL, MIN, MAX, SQRT (``sqrt(alpha1 * a)``) or NOT (``1 - alpha1 * a``), or a descriptor that also states
        NaN propagation and compute type.
    a, b, c
        Tensors of 3 to 5 dims and one type; `a` has the dims of `c`, those of `b` may be 1. `c` may be `a`
        itself, and `b` itself where a, b and c are all the same. SQRT and NOT do not read `b`, which may be left out.
    alpha1, alpha2, beta
        Factors; with ``beta == 0`` c is not read.

    Returns
    -------
    array
        `c`.

    Raises
    ------
    BadParam
        Dims or types that do not fit, or c shares memory with b but not with a.
    NotSupported
        More than 5 dims, mixed types, or a compute type that c does not allow.
    """
    descriptor = _BY_NAME.get(op) if type(op) is str else op
    if not isinstance(descriptor, OpTensorDescriptor):
        descriptor = _DESCRIPTORS[OpTensorOp.parse(op, "op")]
    if b is None and descriptor.op.unary:
        b = a
    return execute(handle, OpTensor, (a, b, c), descriptor, (alpha1, alpha2, beta))


@computes
def set_tensor(handle: Handle, y: Any, value: float) -> Any:
    """Set every element of `y` (any strides; gaps stay untouched) to `value` (guide section 4.17).

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        y is None or value is not a number.
    """
    return execute(handle, SetTensor, (_present(y),), (), (value,))


@computes
def scale_tensor(handle: Handle, y: Any, alpha: float) -> Any:
    """Multiply every element of `y` (any strides) by `alpha` in place (guide section 4.18).

    Returns
    -------
    array
        `y`.

    Raises
    ------
    BadParam
        y is None or alpha is not a number.
    """
    return execute(handle, ScaleTensor, (_present(y),), (), (alpha,))


def _present(y: Any) -> Any:
    if y is None:
        raise BadParam(argument="y", expected="a tensor", got=None)
    return y
