"""Gated linear units, the gradients of PReLU, and rotary embeddings of tables (MIOpen's; cuDNN has none of its own)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arguments import as_integer
from ..dispatch.execute import computes, execute
from ..errors import BadParam
from ..handle import Handle
from ..problem import Problem, TensorSpec, check_same

__all__ = ["glu_backward", "glu_forward", "prelu_backward", "rope_backward", "rope_forward"]


def check_dim(dim: int, spec: TensorSpec, name: str) -> None:
    """Demand a dim of a tensor."""
    if not 0 <= dim < len(spec.dims):
        raise BadParam(argument="dim", expected=f"0 to {len(spec.dims) - 1}, a dim of {name}", got=dim)


def _half_dims(dims: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*dims[:dim], dims[dim] // 2, *dims[dim + 1 :])


def _check_halves(x: TensorSpec, half: TensorSpec, name: str, dim: int) -> None:
    check_dim(dim, x, "x")
    if x.dims[dim] % 2:
        raise BadParam(argument=f"x.dims[{dim}]", expected="an even number: a unit and its gate", got=x.dims[dim])
    wanted = _half_dims(x.dims, dim)
    if half.dims != wanted:
        raise BadParam(argument=f"{name}.dims", expected=f"{wanted}: half of x along dim {dim}", got=half.dims)
    if half.dtype is not x.dtype:
        raise BadParam(argument=f"{name}.dtype", expected=f"{x.dtype} as x", got=half.dtype)


class _Halved(Problem):
    """What both directions of a gated linear unit share."""

    dim: int

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [arrays.get(name) for name in self.tensor_names()], {"dim": self.dim}


@dataclass(frozen=True)
class GLUForward(_Halved):
    """y = a * sigmoid(b), where a and b are the halves of x along a dim."""

    op: ClassVar[str] = "glu_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y",)
    scalars: ClassVar[dict[str, float]] = {}

    x: TensorSpec
    y: TensorSpec
    dim: int = 0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            x, dim = values["x"], values.get("dim", 0)
            if 0 <= dim < len(x.dims):
                values.setdefault("y", TensorSpec.packed(x.dtype, _half_dims(x.dims, dim)))

    def validate(self) -> None:
        super().validate()
        _check_halves(self.x, self.y, "y", self.dim)

    def flops(self) -> int:
        return 4 * self.y.size


@dataclass(frozen=True)
class GLUBackward(_Halved):
    """The gradient of GLUForward: sigmoid(b) * dy, and a * sigmoid(b) * (1 - sigmoid(b)) * dy."""

    op: ClassVar[str] = "glu_backward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "dy")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)
    scalars: ClassVar[dict[str, float]] = {}

    x: TensorSpec
    dy: TensorSpec
    dx: TensorSpec
    dim: int = 0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            x, dim = values["x"], values.get("dim", 0)
            values.setdefault("dx", TensorSpec.packed(x.dtype, x.dims))
            if 0 <= dim < len(x.dims):
                values.setdefault("dy", TensorSpec.packed(x.dtype, _half_dims(x.dims, dim)))

    def validate(self) -> None:
        super().validate()
        _check_halves(self.x, self.dy, "dy", self.dim)
        check_same(self.x, "x", self.dx, "dx")

    def flops(self) -> int:
        return 8 * self.dy.size


@dataclass(frozen=True)
class PReLUBackward(Problem):
    """Gradients of y = x > 0 ? x : weight * x, with one weight or one for each channel."""

    op: ClassVar[str] = "prelu_backward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "weight", "dy")
    outputs: ClassVar[tuple[str, ...]] = ("dx", "dweight")
    scalars: ClassVar[dict[str, float]] = {}
    absent: ClassVar[tuple[str, ...]] = ("dx", "dweight")

    x: TensorSpec
    weight: TensorSpec
    dy: TensorSpec
    dx: TensorSpec | None = None
    dweight: TensorSpec | None = None

    def validate(self) -> None:
        super().validate()
        x = self.x
        check_same(x, "x", self.dy, "dy")
        ones = (1,) * (len(x.dims) - 2)
        for name in ("weight", "dweight"):
            spec = getattr(self, name)
            if spec is None:
                continue
            if spec.dims not in ((1, 1, *ones), (1, x.dims[1], *ones)):
                expected = f"{(1, x.dims[1], *ones)}, or one number"
                raise BadParam(argument=f"{name}.dims", expected=expected, got=spec.dims)
            if spec.dtype is not x.dtype:
                raise BadParam(argument=f"{name}.dtype", expected=f"{x.dtype} as x", got=spec.dtype)
        if self.dx is not None:
            check_same(x, "x", self.dx, "dx")
        if self.dweight is not None and self.dweight.dims != self.weight.dims:
            raise BadParam(argument="dweight.dims", expected=f"{self.weight.dims} as weight", got=self.dweight.dims)
        if self.dx is None and self.dweight is None:
            raise BadParam(argument="dx", expected="a tensor, if dweight is None", got=None)

    @property
    def count(self) -> int:
        """Numbers behind each gradient of a weight."""
        return self.x.size // max(self.weight.size, 1)

    def flops(self) -> int:
        return 3 * self.x.size

    def reduction_length(self, output: str) -> int:
        return max(self.count, 1) if output == "dweight" else 1


class _RoPE(Problem):
    """What both directions share: pairs (2i, 2i + 1) of the last dim are turned by tables of cosines and sines."""

    scalars: ClassVar[dict[str, float]] = {}

    cos: TensorSpec
    sin: TensorSpec

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        given = values.get(cls.inputs[0])
        if given is not None:
            values.setdefault(cls.outputs[0], TensorSpec.packed(given.dtype, given.dims))

    def validate(self) -> None:
        super().validate()
        first, last = self.inputs[0], self.outputs[0]
        x = getattr(self, first)
        check_same(x, first, getattr(self, last), last)
        check_same(self.cos, "cos", self.sin, "sin")
        table = self.table
        if self.cos.dtype is not x.dtype:
            raise BadParam(argument="cos.dtype", expected=f"{x.dtype} as {first}", got=self.cos.dtype)
        if len(self.cos.dims) > len(x.dims) or not table or table != x.dims[len(x.dims) - len(table) :]:
            raise BadParam(argument="cos.dims", expected=f"the last of {first}'s dims {x.dims}", got=self.cos.dims)
        if x.dims[-1] % 2:
            raise BadParam(argument=f"{first}.dims[-1]", expected="an even number: pairs are turned", got=x.dims[-1])

    @property
    def table(self) -> tuple[int, ...]:
        """The dims of the tables without leading ones, which are repeated for all others."""
        dims = self.cos.dims
        while len(dims) > 1 and dims[0] == 1:
            dims = dims[1:]
        return dims

    def flops(self) -> int:
        return int(3 * self.tensors[0].size)


@dataclass(frozen=True)
class RoPEForward(_RoPE):
    """y[2i] = x[2i] cos[2i] - x[2i+1] sin[2i]; y[2i+1] = x[2i+1] cos[2i+1] + x[2i] sin[2i+1]."""

    op: ClassVar[str] = "rope_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x", "cos", "sin")
    outputs: ClassVar[tuple[str, ...]] = ("y",)

    x: TensorSpec
    cos: TensorSpec
    sin: TensorSpec
    y: TensorSpec


@dataclass(frozen=True)
class RoPEBackward(_RoPE):
    """dx[2i] = dy[2i] cos[2i] + dy[2i+1] sin[2i+1]; dx[2i+1] = dy[2i+1] cos[2i+1] - dy[2i] sin[2i]."""

    op: ClassVar[str] = "rope_backward"
    inputs: ClassVar[tuple[str, ...]] = ("dy", "cos", "sin")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)

    dy: TensorSpec
    cos: TensorSpec
    sin: TensorSpec
    dx: TensorSpec


@computes
def glu_forward(handle: Handle, x: Any, y: Any = None, *, dim: int = 0) -> Any:
    """Compute gated linear units: ``y = a * sigmoid(b)``, with a and b the halves of x along `dim` (miopenGLUForward).

    Parameters
    ----------
    handle
        Where to compute.
    x
        Tensor of 3 to 8 dims, float16, bfloat16, float32 or float64, any strides; `dim` has an even size.
    y
        As x, with half the size along `dim`; None allocates one.
    dim
        Where x is halved.

    Raises
    ------
    BadParam
        An odd size, or dims or types that do not match.
    """
    return execute(handle, GLUForward, (x, y), (as_integer(dim, "dim"),), ())


@computes
def glu_backward(handle: Handle, x: Any, dy: Any, dx: Any = None, *, dim: int = 0) -> Any:
    """Compute the gradient of :func:`glu_forward` (miopenGLUBackward).

    Parameters
    ----------
    handle, x, dim
        As in :func:`glu_forward`.
    dy
        Gradient of its result, of the type of x.
    dx
        As x; None allocates one.

    Raises
    ------
    BadParam
        An odd size, or dims or types that do not match.
    """
    return execute(handle, GLUBackward, (x, dy, dx), (as_integer(dim, "dim"),), ())


@computes
def prelu_backward(handle: Handle, x: Any, weight: Any, dy: Any, dx: Any = None, dweight: Any = None) -> Any:
    """Compute the gradients of ``y = x > 0 ? x : weight * x`` (miopenPReLUBackward).

    Parameters
    ----------
    handle
        Where to compute.
    x, dy
        Tensors of 3 to 8 dims (n, c, ...) and one type, any strides.
    weight
        Dims (1, c, 1, ...) or (1, 1, 1, ...), of the same type.
    dx, dweight
        As x and as weight. One of them may be None, and is not computed then.

    Returns
    -------
    (array, array)
        dx and dweight.

    Raises
    ------
    BadParam
        Dims or types that do not match, or no output at all.
    """
    return execute(handle, PReLUBackward, (x, weight, dy, dx, dweight), (), ())


@computes
def rope_forward(handle: Handle, x: Any, cos: Any, sin: Any, y: Any = None) -> Any:
    """Turn pairs of neighbours in the last dim by tables of cosines and sines (miopenRoPEForward).

    ``y[2i] = x[2i] cos[2i] - x[2i+1] sin[2i]`` and ``y[2i+1] = x[2i+1] cos[2i+1] + x[2i] sin[2i+1]``.

    Parameters
    ----------
    handle
        Where to compute.
    x
        Tensor of 3 to 8 dims, any strides; the last dim is even.
    cos, sin
        The last dims of x, behind any number of ones; they count for all of x's first dims. Types as x.
    y
        As x; None allocates one.

    Raises
    ------
    BadParam
        An odd last dim, or dims or types that do not match.
    """
    return execute(handle, RoPEForward, (x, cos, sin, y), (), ())


@computes
def rope_backward(handle: Handle, dy: Any, cos: Any, sin: Any, dx: Any = None) -> Any:
    """Compute the gradient of :func:`rope_forward` (miopenRoPEBackward).

    Parameters
    ----------
    handle, cos, sin
        As in :func:`rope_forward`.
    dy, dx
        Gradients of its result and of x; None allocates dx.

    Raises
    ------
    BadParam
        An odd last dim, or dims or types that do not match.
    """
    return execute(handle, RoPEBackward, (dy, cos, sin, dx), (), ())
