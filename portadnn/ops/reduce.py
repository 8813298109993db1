"""Reductions of a tensor (cudnnReduceTensor of cuDNN 6 and later, which the guide does not have yet)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..descriptors import Parameters, TensorDescriptor, TensorView, check_descriptor
from ..dispatch.arrays import dtype_of, wrapped_one
from ..dispatch.choice import workspace_size
from ..dispatch.execute import computes, execute
from ..dispatch.problems import check_handle, make_problem
from ..enums import DataType, NanPropagation, ReduceTensorIndices, ReduceTensorIndicesType, ReduceTensorOp
from ..errors import BadParam, NotSupported, public, shown
from ..handle import Handle
from ..problem import Problem, TensorSpec

__all__ = ["ReduceTensorDescriptor", "get_reduction_indices_size", "get_reduction_workspace_size", "reduce_tensor"]

EXTREMES = (ReduceTensorOp.MIN, ReduceTensorOp.MAX, ReduceTensorOp.AMAX)
NEUTRAL = (ReduceTensorOp.ADD, ReduceTensorOp.MUL)  # which can do without NaN: 0 or 1 stands for it


@dataclass(frozen=True)
class ReduceTensor(Problem):
    """c = alpha * reduce(a) + beta * c, over the dims that are 1 in c; indices say where extremes are."""

    op: ClassVar[str] = "reduce_tensor"
    inputs: ClassVar[tuple[str, ...]] = ("a",)
    outputs: ClassVar[tuple[str, ...]] = ("c", "indices")
    absent: ClassVar[tuple[str, ...]] = ("indices",)

    a: TensorSpec
    c: TensorSpec
    operation: ReduceTensorOp
    compute_type: DataType | None = None
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN
    indices: TensorSpec | None = None
    skip_nan: bool = False

    def types(self, name: str) -> tuple[DataType, ...]:
        return (DataType.INT32,) if name == "indices" else super().types(name)

    def validate(self) -> None:
        super().validate()
        a, c = self.a, self.c
        if len(a.dims) != len(c.dims):
            raise BadParam(argument="c.dims", expected=f"{len(a.dims)} dims as a", got=c.dims)
        for axis, (size, kept) in enumerate(zip(a.dims, c.dims, strict=True)):
            if kept not in (size, 1):
                raise BadParam(argument=f"c.dims[{axis}]", expected=f"{size} as a, or 1 to reduce it", got=kept)
        if c.dtype is not a.dtype:
            raise NotSupported(
                "mixed types are not supported", argument="c.dtype", expected=f"{a.dtype} as a", got=c.dtype
            )
        if self.compute_type not in (None, a.dtype.accumulator):
            raise NotSupported(
                argument="reduce.compute_type", expected=f"{a.dtype.accumulator} for {a.dtype}", got=self.compute_type
            )
        if self.operation in EXTREMES and a.size == 0 and c.size:
            raise BadParam(argument="a.dims", expected="numbers to take the extreme of", got=a.dims)
        if self.skip_nan and self.operation not in NEUTRAL:
            names = ", ".join(op.name for op in NEUTRAL)
            raise BadParam(argument="skip_nan", expected=f"False: only {names} leave NaN out", got=self.operation)
        if self.indices is not None:
            if self.operation not in EXTREMES:
                raise BadParam(argument="indices", expected="None: only MIN, MAX and AMAX have any", got=self.operation)
            if self.indices.dims != c.dims:
                raise BadParam(argument="indices.dims", expected=f"{c.dims} as c", got=self.indices.dims)

    @property
    def reduced(self) -> tuple[int, ...]:
        """The axes that are reduced; one of length 1 in both tensors does not matter and counts as kept."""
        return tuple(i for i, (a, c) in enumerate(zip(self.a.dims, self.c.dims, strict=True)) if a != c)

    @property
    def count(self) -> int:
        """Numbers behind each result."""
        return math.prod(self.a.dims[axis] for axis in self.reduced)

    def flops(self) -> int:
        return self.a.size

    def reduction_length(self, output: str) -> int:
        return 1 if self.operation in EXTREMES else max(self.count, 1)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return super().unread(numbers) | ({"indices"} if self.indices is not None else set())

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        kind = ReduceTensorIndices.NO_INDICES if self.indices is None else ReduceTensorIndices.FLATTENED_INDICES
        settings = (self.operation, self.compute_type, self.nan_propagation, kind)
        reduce = ReduceTensorDescriptor(*settings, skip_nan=self.skip_nan)
        return [reduce, arrays["a"], arrays["c"]], {"indices": arrays.get("indices")}


@dataclass(frozen=True)
class ReduceTensorDescriptor(Parameters):
    """Operation of :func:`reduce_tensor` (cudnnSetReduceTensorDescriptor).

    Parameters
    ----------
    op
        ADD, MUL, MIN, MAX, AMAX (of absolute values), AVG, NORM1 (sum of absolute values), NORM2 (root of the sum of
        squares) or MUL_NO_ZEROS (zeros count as 1).
    compute_type
        float32, or float64 for float64 tensors; None takes what the tensors need.
    nan_propagation
        Whether NaN wins in MIN, MAX and AMAX; otherwise it is passed over, and the result is NaN only where all are.
        The others always propagate it.
    indices
        FLATTENED_INDICES: MIN, MAX and AMAX also say where the extreme is.
    indices_type
        INDICES_32BIT; the others are refused.
    skip_nan
        Whether ADD and MUL leave NaN out (as MIOpen's miopenReduceCalculationForward can): a row of NaN alone has the
        sum 0 and the product 1. Other operations take False only.

    Raises
    ------
    BadParam
        Unknown operation, type or option.
    NotSupported
        Another type of indices.
    """

    op: ReduceTensorOp
    compute_type: DataType | None = None
    nan_propagation: NanPropagation = NanPropagation.NOT_PROPAGATE_NAN
    indices: ReduceTensorIndices = ReduceTensorIndices.NO_INDICES
    indices_type: ReduceTensorIndicesType = ReduceTensorIndicesType.INDICES_32BIT
    skip_nan: bool = False

    @public
    def __post_init__(self) -> None:
        self._set(
            op=ReduceTensorOp.parse(self.op, "op"),
            compute_type=None if self.compute_type is None else DataType.of(self.compute_type, "compute_type"),
            nan_propagation=NanPropagation.parse(self.nan_propagation, "nan_propagation"),
            indices=ReduceTensorIndices.parse(self.indices, "indices"),
            indices_type=ReduceTensorIndicesType.parse(self.indices_type, "indices_type"),
        )
        if type(self.skip_nan) is not bool:
            raise BadParam(argument="skip_nan", expected="True or False", got=shown(self.skip_nan))
        if self.indices_type is not ReduceTensorIndicesType.INDICES_32BIT:
            raise NotSupported(
                "32 bits count every tensor's elements, 8 and 16 do not; cuDNN takes no other type either",
                argument="indices_type",
                expected="INDICES_32BIT",
                got=self.indices_type,
            )

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the ReduceTensor Problem's fields."""
        return (self.op, self.compute_type, self.nan_propagation, self.skip_nan)

    @property
    def gives_indices(self) -> bool:
        """Whether there are indices: asked for, of an operation that has any (cuDNN ignores the wish otherwise)."""
        return self.indices is ReduceTensorIndices.FLATTENED_INDICES and self.op in EXTREMES


def _problem(handle: Handle, reduce: Any, a: Any, c: Any) -> ReduceTensor:
    descriptor = check_descriptor(reduce, ReduceTensorDescriptor, "reduce")
    tensors = [t.spec if isinstance(t, TensorDescriptor) else t for t in (a, c)]
    problem = make_problem(handle, ReduceTensor, (*tensors, None), descriptor)
    assert isinstance(problem, ReduceTensor)
    if descriptor.gives_indices:
        tensors = [problem.a, problem.c, TensorSpec.packed(DataType.INT32, problem.c.dims)]
        problem = make_problem(handle, ReduceTensor, tensors, descriptor)
        assert isinstance(problem, ReduceTensor)
    return problem


@public
def get_reduction_indices_size(handle: Handle, reduce: ReduceTensorDescriptor, a: Any, c: Any) -> int:
    """Return the bytes that packed indices take (cudnnGetReductionIndicesSize); 0 where there are none.

    Parameters
    ----------
    handle, reduce, a, c
        As :func:`reduce_tensor` takes them; the tensors may be :class:`TensorDescriptor` objects.
    """
    indices = _problem(handle, reduce, a, c).indices
    return 0 if indices is None else indices.nbytes


@public
def get_reduction_workspace_size(handle: Handle, reduce: ReduceTensorDescriptor, a: Any, c: Any) -> int:
    """Return the bytes of workspace that :func:`reduce_tensor` needs (cudnnGetReductionWorkspaceSize).

    Parameters
    ----------
    handle, reduce, a, c
        As :func:`reduce_tensor` takes them; the tensors may be :class:`TensorDescriptor` objects.
    """
    return workspace_size(handle, _problem(handle, reduce, a, c))


@computes
def reduce_tensor(
    handle: Handle,
    reduce: ReduceTensorDescriptor,
    a: Any,
    c: Any,
    *,
    indices: Any = None,
    workspace: Any = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """Reduce a tensor over some of its dims: ``c = alpha * reduce(a) + beta * c`` (cudnnReduceTensor).

    Parameters
    ----------
    handle
        Where to compute.
    reduce
        Which operation, and whether indices are wanted.
    a, c
        Tensors of 3 to 8 dims, float16, bfloat16, float32 or float64, of equal type and any strides. Each dim of c is
        that of a, or 1 to reduce it. `c` may be a :class:`TensorDescriptor`, and is then allocated.
    indices
        Where the descriptor asks for indices: an int32 tensor of c's dims, or a byte buffer of
        :func:`get_reduction_indices_size`; None allocates one. Each is the place, counted in logical order, among the
        numbers that were reduced, of the first of equal extremes.
    workspace
        Scratch memory of :func:`get_reduction_workspace_size` bytes; None lets the handle provide it.
    alpha, beta
        Blending factors; with ``beta == 0`` c is not read.

    Returns
    -------
    array, or (array, array)
        `c`; with indices `c` and the indices.

    Raises
    ------
    BadParam
        Dims that do not match, no numbers to take an extreme of, indices where there are none, a workspace that is too
        small, or c shares memory with a.
    NotSupported
        Types of a and c differ, or an output overlaps itself.
    """
    descriptor = check_descriptor(reduce, ReduceTensorDescriptor, "reduce")
    device = check_handle(handle).device
    if c is None:
        raise BadParam(argument="c", expected="a tensor or a descriptor (its dims do not follow)", got=None)
    if isinstance(c, TensorDescriptor):
        c = device.empty(c.spec)
    if descriptor.gives_indices:
        indices = _indices(handle, c, indices)
    elif indices is not None:
        raise BadParam(argument="indices", expected="None: the descriptor asks for none", got=shown(type(indices)))
    tensors = (a, c, indices)
    c, indices = execute(handle, ReduceTensor, tensors, descriptor, (alpha, beta), workspace=workspace)
    return (c, indices) if descriptor.gives_indices else c


def _indices(handle: Handle, c: Any, indices: Any) -> Any:
    """Return an int32 tensor of c's dims for the indices: new, as given, or on the bytes that were given."""
    device = handle.device
    spec = TensorSpec.packed(DataType.INT32, tuple(wrapped_one(device, c, "c").shape))
    if indices is None:
        return device.empty(spec)
    if isinstance(indices, TensorView):
        return indices
    dtype = device.signature(indices)[2] if device.owns(indices) else dtype_of(indices)
    raw = dtype is None or (isinstance(dtype, np.dtype) and dtype == np.uint8)
    return TensorView(spec, indices) if raw else indices
