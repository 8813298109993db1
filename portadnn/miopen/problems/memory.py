"""Memory of a problem's tensors: what a call brings, and what Find allocates in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...enums import DataType
from ...errors import BadParam
from ...handle import Handle
from ...ops.tensor import set_tensor
from ...problem import TensorSpec
from ..descriptors import descriptor_of, miopenTensorDescriptor_t, of_any_layout, tensor, wide_of
from ..generated.enums import miopenStatus_t, miopenTensorArgumentId_t
from ..names import integer, number, parse

Id = miopenTensorArgumentId_t
SCALARS = {  # what Find takes where options bring none
    Id.miopenScalarBatchnormExpAvgFactor: 0.5,
    Id.miopenScalarBatchnormEpsilon: 1e-5,
    Id.miopenTensorMhaMask: 0.0,
}


class miopenTensorArgument_t(NamedTuple):
    """A tensor or a scalar of miopenRunSolution.

    Attributes
    ----------
    id
        A miopenTensorArgumentId_t.
    descriptor
        Its descriptor; None for that of the problem.
    buffer
        Its memory; of a scalar the number.
    """

    id: int
    descriptor: miopenTensorDescriptor_t | None
    buffer: Any


Given = Mapping[miopenTensorArgumentId_t, miopenTensorArgument_t]


def arguments(tensors: Any, count: Any) -> Given:
    """Return the arguments of a call by their ids."""
    wanted = integer(count, "nInputs")
    try:
        items = [miopenTensorArgument_t(*item) for item in tensors]
    except TypeError:
        expected = "a sequence of miopenTensorArgument_t(id, descriptor, buffer)"
        raise BadParam(argument="tensors", expected=expected, got=type(tensors).__name__) from None
    if len(items) < wanted:
        raise BadParam(argument="nInputs", expected=f"at most the {len(items)} tensors", got=wanted)
    return {parse(miopenTensorArgumentId_t, item.id, "tensors"): item for item in items[:wanted]}


def scalar(value: Any, id: miopenTensorArgumentId_t) -> float:
    """Return a scalar: a number, or memory of the host that holds one."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", 0) == 1:
        value = item()
    return number(value, id.name)


def read(handle: Handle, given: Given, id: miopenTensorArgumentId_t, spec: TensorSpec | None, fixed: bool) -> Any:
    """Return an argument as an array or as a number.

    Parameters
    ----------
    spec
        What the problem says of it; None of a scalar.
    fixed
        Whether another descriptor than the problem's is refused, as MIOpen does of fused problems.
    """
    argument = given.get(id)
    if argument is None:
        error = BadParam(argument="tensors", expected=f"an argument {id.name}", got="none")
        error.status = miopenStatus_t.miopenStatusInvalidValue
        raise error
    if spec is None:
        return scalar(argument.buffer, id)
    if argument.descriptor is None:
        return of_any_layout(handle, descriptor_of(spec), argument.buffer, id.name, id.name)
    own = wide_of(argument.descriptor, "tensors", True)
    if fixed and own != spec:
        raise BadParam(argument="tensors", expected=f"{id.name} as the problem has it, {spec}", got=own)
    return of_any_layout(handle, argument.descriptor, argument.buffer, id.name, "tensors")


def allocated(handle: Handle, known: Mapping[Any, Any], id: miopenTensorArgumentId_t, spec: TensorSpec | None) -> Any:
    """Return memory that options bring, or new memory full of zeros."""
    if spec is None:
        return scalar(known.get(id, SCALARS[id]), id)
    desc = descriptor_of(spec)
    if id in known:
        return of_any_layout(handle, desc, known[id], id.name, id.name)
    words = -(-spec.span * spec.dtype.itemsize // 4)
    memory = handle.empty_bytes(4 * words)
    zeros = descriptor_of(TensorSpec.packed(DataType.FLOAT, (words, 1, 1)))
    set_tensor(handle, tensor(handle, zeros, memory, id.name), 0.0)
    return of_any_layout(handle, desc, memory, id.name)
