"""Construction of Problems from call arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..descriptors import TensorView
from ..errors import BadParam, shown
from ..handle import Handle
from ..problem import Problem, TensorSpec
from .arrays import spec_of, wrap, wrapped_one

if TYPE_CHECKING:
    from portadnn_backends.base import Device


def check_handle(handle: Any) -> Handle:
    """Demand a handle; a closed one raises when its device is accessed."""
    if not isinstance(handle, Handle):
        raise BadParam(argument="handle", expected="a portadnn.Handle", got=shown(handle))
    return handle


def wrapped(device: Device, kind: type[Problem], tensors: Sequence[Any]) -> list[Any]:
    """Convert views and other libraries' tensors to native arrays; errors name the argument."""
    named = zip(tensors, kind.tensor_names(), strict=True)
    return [None if tensor is None else wrapped_one(device, tensor, name) for tensor, name in named]


def native(device: Device, kind: type[Problem], tensors: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return tensors as native arrays of a device, with their signatures."""
    arrays = tensors
    try:
        signatures = device.look(tensors)
    except Exception:  # not all are native arrays of this device
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


def make_problem(handle: Handle, kind: type[Problem], tensors: Sequence[Any], params: Any) -> Problem:
    """Build and validate the Problem of a call; specs of outputs that are None are inferred."""
    device = check_handle(handle).device
    specs: list[TensorSpec | None] = []
    for name, tensor in zip(kind.tensor_names(), tensors, strict=True):
        if tensor is None or isinstance(tensor, TensorSpec):
            specs.append(tensor)
        else:
            array = tensor if device.owns(tensor) else wrap(device, tensor, name)
            specs.append(spec_of(device.signature(array), name))
    problem = kind.of(specs, params)
    left_out = {name for name, spec in zip(kind.tensor_names(), specs, strict=True) if spec is None}
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
