"""Tensors put together and picked from: concatenation and the k-th smallest number (MIOpen's)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arguments import as_integer
from ..dispatch.execute import computes, execute
from ..enums import DataType
from ..errors import BadParam, NotSupported, shown
from ..handle import Handle
from ..problem import FLOAT_TYPES, Problem, TensorSpec
from .gates import check_dim

__all__ = ["cat_forward", "kthvalue_forward"]

MOST_PARTS = 8
_PARTS = tuple(f"x{i}" for i in range(MOST_PARTS))
INDEX_TYPES = (DataType.INT64, DataType.INT32)


@dataclass(frozen=True)
class CatForward(Problem):
    """y = x0, x1, ... one behind the other along a dim."""

    op: ClassVar[str] = "cat_forward"
    inputs: ClassVar[tuple[str, ...]] = _PARTS
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    scalars: ClassVar[dict[str, float]] = {}
    absent: ClassVar[tuple[str, ...]] = _PARTS[1:]

    x0: TensorSpec
    y: TensorSpec
    x1: TensorSpec | None = None
    x2: TensorSpec | None = None
    x3: TensorSpec | None = None
    x4: TensorSpec | None = None
    x5: TensorSpec | None = None
    x6: TensorSpec | None = None
    x7: TensorSpec | None = None
    dim: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the inputs that there are."""
        return tuple(name for name in _PARTS if getattr(self, name) is not None)

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        given = [values[name] for name in _PARTS if values.get(name) is not None]
        dim = values.get("dim", 0)
        if given and all(len(s.dims) == len(given[0].dims) > dim >= 0 for s in given):
            first = given[0].dims
            dims = (*first[:dim], sum(s.dims[dim] for s in given), *first[dim + 1 :])
            values.setdefault("y", TensorSpec.packed(given[0].dtype, dims))

    def validate(self) -> None:
        super().validate()
        y, dim = self.y, self.dim
        check_dim(dim, y, "y")
        for name in self.parts:
            spec = getattr(self, name)
            others = [i for i in range(len(y.dims)) if i != dim]
            if len(spec.dims) != len(y.dims) or any(spec.dims[i] != y.dims[i] for i in others):
                raise BadParam(argument=f"{name}.dims", expected=f"{y.dims} but for dim {dim}", got=spec.dims)
            if spec.dtype is not y.dtype:
                raise BadParam(argument=f"{name}.dtype", expected=f"{y.dtype} as y", got=spec.dtype)
        total = sum(getattr(self, name).dims[dim] for name in self.parts)
        if total != y.dims[dim]:
            raise BadParam(argument=f"y.dims[{dim}]", expected=f"{total}: the sum over the inputs", got=y.dims[dim])

    def flops(self) -> int:
        return 0

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [[arrays[name] for name in self.parts], arrays.get("y")], {"dim": self.dim}


@dataclass(frozen=True)
class KthvalueForward(Problem):
    """y and indices = the k-th smallest number along a dim and where the first of its equals is; NaN is the largest."""

    op: ClassVar[str] = "kthvalue_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y", "indices")
    scalars: ClassVar[dict[str, float]] = {}

    x: TensorSpec
    y: TensorSpec
    indices: TensorSpec
    k: int = 1
    dim: int = -1

    @property
    def axis(self) -> int:
        """The dim, counted from the first."""
        return self.dim % len(self.x.dims)

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            x, dim = values["x"], values.get("dim", -1)
            if -len(x.dims) <= dim < len(x.dims):
                axis = dim % len(x.dims)
                dims = (*x.dims[:axis], 1, *x.dims[axis + 1 :])
                values.setdefault("y", TensorSpec.packed(x.dtype, dims))
                values.setdefault("indices", TensorSpec.packed(DataType.INT64, dims))

    def types(self, name: str) -> tuple[DataType, ...]:
        return INDEX_TYPES if name == "indices" else FLOAT_TYPES

    def validate(self) -> None:
        super().validate()
        x = self.x
        if not -len(x.dims) <= self.dim < len(x.dims):
            raise BadParam(argument="dim", expected=f"a dim of x, {-len(x.dims)} to {len(x.dims) - 1}", got=self.dim)
        if not 1 <= self.k <= x.dims[self.axis]:
            raise BadParam(argument="k", expected=f"1 to {x.dims[self.axis]}, the numbers along the dim", got=self.k)
        if x.dims[self.axis] >= 1 << 31:
            raise NotSupported(argument="x.dims", expected="less than 2**31 numbers along the dim", got=x.dims)
        wanted = (*x.dims[: self.axis], 1, *x.dims[self.axis + 1 :])
        for name in ("y", "indices"):
            if getattr(self, name).dims != wanted:
                raise BadParam(argument=f"{name}.dims", expected=f"{wanted}", got=getattr(self, name).dims)
        if self.y.dtype is not x.dtype:
            raise BadParam(argument="y.dtype", expected=f"{x.dtype} as x", got=self.y.dtype)

    def flops(self) -> int:
        return 32 * self.x.size

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays.get(name) for name in self.tensor_names()], {"k": self.k, "dim": self.dim}


@computes
def kthvalue_forward(
    handle: Handle, x: Any, y: Any = None, indices: Any = None, *, k: int = 1, dim: int = -1
) -> tuple[Any, Any]:
    """Find the k-th smallest number along a dim, and where it is (miopenKthvalueForward).

    Parameters
    ----------
    handle
        Where to compute.
    x
        Tensor of 3 to 8 dims, float16, bfloat16, float32 or float64, any strides.
    y, indices
        Dims as x with 1 at `dim`; `indices` of int64 or int32. None allocates them (int64).
    k
        From 1, the smallest, to the size of the dim. NaN counts as larger than any number, and -0 as less than 0.
    dim
        Where to look, counted from the last if negative.

    Returns
    -------
    (array, array)
        y and indices; of equal numbers the first is meant.

    Raises
    ------
    BadParam
        k or dim out of range, or dims or types that do not match.
    """
    found: tuple[Any, Any] = execute(
        handle, KthvalueForward, (x, y, indices), (as_integer(k, "k"), as_integer(dim, "dim")), ()
    )
    return found


@computes
def cat_forward(handle: Handle, xs: Sequence[Any], y: Any = None, *, dim: int = 0) -> Any:
    """Put tensors one behind the other along a dim (miopenCatForward).

    Parameters
    ----------
    handle
        Where to compute.
    xs
        1 to 8 tensors of 3 to 8 dims and one type, float16, bfloat16, float32 or float64, any strides; all dims but
        `dim` are equal.
    y
        All of them; None allocates one.
    dim
        Along which they stand.

    Raises
    ------
    BadParam
        Dims or types that do not match.
    NotSupported
        More than 8 tensors.
    """
    if not isinstance(xs, (list, tuple)) or not xs:
        raise BadParam(argument="xs", expected="a list of tensors, one at least", got=shown(xs))
    if len(xs) > MOST_PARTS:
        raise NotSupported(argument="xs", expected=f"at most {MOST_PARTS} tensors", got=len(xs))
    parts = (*xs, *(None,) * (MOST_PARTS - len(xs)))
    return execute(handle, CatForward, (*parts, y), (as_integer(dim, "dim"),), ())
