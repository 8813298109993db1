"""From the arguments of a call to its Problem: native arrays, their specs, and what follows from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..descriptors import TensorView
from ..enums import DataType
from ..errors import BadParam, shown
from ..handle import Handle
from ..problem import ALIGNMENT, Problem, TensorSpec

if TYPE_CHECKING:
    from portadnn_backends.base import Device


def check_handle(handle: Any) -> Handle:
    """Demand a handle; a closed one raises when its device is asked for."""
    if not isinstance(handle, Handle):
        raise BadParam(argument="handle", expected="a portadnn.Handle", got=shown(handle))
    return handle


def wrapped(device: Device, kind: type[Problem], tensors: Sequence[Any]) -> list[Any]:
    """Turn views and other libraries' tensors into native arrays; errors name the argument."""
    named = zip(tensors, kind.tensor_names(), strict=True)
    return [None if tensor is None else wrapped_one(device, tensor, name) for tensor, name in named]


def wrapped_one(device: Device, tensor: Any, name: str) -> Any:
    """Turn a view or another library's tensor into a native array."""
    array = tensor if device.owns(tensor) else device.wrap(tensor, name)
    try:
        device.signature(array)
    except BadParam as error:
        error.argument = name
        raise
    return array


def native(device: Device, kind: type[Problem], tensors: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return tensors as native arrays of a device, with their signatures."""
    arrays = tensors
    try:
        signatures = device.look(tensors)
    except (AttributeError, TypeError, BadParam):  # not all are native arrays of this device
        arrays = wrapped(device, kind, tensors)
        signatures = device.look(arrays)
    if kind.matrices and _matrices(signatures):
        arrays = [
            _with_a_third_dim(device, array, name) for name, array in zip(kind.tensor_names(), arrays, strict=True)
        ]
        signatures = device.look(arrays)
    return arrays, signatures


def _matrices(signatures: Sequence[Any]) -> bool:
    """Tell whether all tensors are 2-D, beside byte buffers."""
    for signature in signatures:
        if signature is not None and len(signature[0]) > 2:  # as nearly all are
            return False
    return any(signature is not None and len(signature[0]) == 2 for signature in signatures)


def _with_a_third_dim(device: Device, array: Any, name: str) -> Any:
    """Return a 2-D array (n, c) as (n, c, 1)."""
    if array is None:
        return None
    spec = spec_of(device.signature(array), name)
    if len(spec.dims) != 2:
        return array
    return device.wrap(TensorView(TensorSpec(spec.dtype, (*spec.dims, 1), (*spec.strides, 1)), array), name)


def spec_of(signature: tuple[Any, ...], name: str) -> TensorSpec:
    """Turn a device's signature (shape, byte strides, dtype, address mod 16) into a TensorSpec.

    Raises
    ------
    BadParam
        A dtype that portadnn does not store, or strides or an address that are no multiples of the element.
    """
    shape, byte_strides, dtype, misalignment = signature
    data_type = DataType.of_array(dtype, f"{name}.dtype") if dtype.isnative else None
    if data_type is None:
        raise BadParam(argument=f"{name}.dtype", expected="native byte order", got=dtype)
    size = data_type.itemsize
    if misalignment % size:
        raise BadParam(
            argument=name,
            expected=f"an address that is a multiple of {size} bytes",
            got=f"{misalignment} mod 16",
        )
    # the stride of a dimension of one says nothing, and NumPy lets it be anything
    strides = [0 if d == 1 and (s < 0 or s % size) else s for d, s in zip(shape, byte_strides, strict=True)]
    if any(stride % size for stride in strides):
        raise BadParam(argument=f"{name}.strides", expected=f"multiples of {size} bytes", got=byte_strides)
    alignment = ALIGNMENT if misalignment == 0 else size
    return TensorSpec(data_type, tuple(shape), tuple(s // size for s in strides), alignment)


def _words(params: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return parameters with each descriptor replaced by its values."""
    return tuple(word for param in params for word in getattr(param, "params", (param,)))


def _parameter_names(kind: Any) -> tuple[str, ...]:
    tensors = set(kind.tensor_names())
    return tuple(field.name for field in fields(kind) if field.name not in tensors)


def make_problem(handle: Handle, kind: type[Problem], tensors: Sequence[Any], params: Any) -> Problem:
    """Build and validate the Problem of a call; specs of outputs that are None are inferred."""
    device = check_handle(handle).device
    names = kind.tensor_names()
    values: dict[str, Any] = {}
    for name, tensor in zip(names, tensors, strict=True):
        if tensor is None:
            if name in kind.inputs and name not in kind.optional and name not in kind.absent:
                raise BadParam(argument=name, expected="a tensor", got=None)
        elif isinstance(tensor, TensorSpec):
            values[name] = tensor
        else:
            array = tensor if device.owns(tensor) else device.wrap(tensor, name)
            values[name] = spec_of(device.signature(array), name)
    words = _words(params if isinstance(params, tuple) else (params,))
    if len(words) != len(_parameter_names(kind)):
        raise BadParam(argument="descriptor", expected=f"the descriptor of {kind.op}", got=shown(params))
    values.update(zip(_parameter_names(kind), words, strict=True))
    kind.complete(values)
    missing = [name for name in names if name not in values and name not in kind.absent]
    if missing:
        raise BadParam(argument=missing[0], expected="a tensor, because its shape does not follow", got=None)
    problem = kind(**values)
    problem.validate()
    left_out = {name for name, tensor in zip(names, tensors, strict=True) if tensor is None}
    return with_room(handle, problem, left_out.intersection(kind.raw, problem.written))


def with_room(handle: Handle, problem: Problem, buffers: Collection[str]) -> Problem:
    """Return the problem with these byte buffers as large as the engines of the handle want them."""
    grown = {}
    for name in buffers:
        spec: TensorSpec = getattr(problem, name)
        size = raw_size(handle, problem, name)
        if size > spec.size:
            grown[name] = TensorSpec(spec.dtype, (size,), spec.strides, spec.alignment)
    return replace(problem, **grown) if grown else problem


def raw_size(handle: Handle, problem: Problem, name: str) -> int:
    """Return the bytes that the engines of a handle need of a byte buffer: those of the problem, or more."""
    info = handle.device.info
    return max((engine.raw_size(problem, name, info) for engine in handle.engines_for(problem)), default=0)
