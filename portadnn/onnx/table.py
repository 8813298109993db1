"""Operators of ONNX by name, and what their implementations are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import BadParam, NotSupported
from ..handle import Handle

Array: TypeAlias = npt.NDArray[Any]


@dataclass
class Node:
    """A node that is being computed.

    Attributes
    ----------
    op : str
        The operator.
    attributes : dict
        Those that the model gives.
    outputs : int
        How many outputs it has, those without names included.
    wanted : tuple of bool
        Which of them have names.
    opset : int
        The version of the operator set.
    """

    handle: Handle
    op: str
    attributes: Mapping[str, Any]
    wanted: tuple[bool, ...]
    opset: int

    def get(self, name: str, usual: Any = None) -> Any:
        """Return an attribute."""
        found = self.attributes.get(name, usual)
        return found.decode() if isinstance(found, bytes) else found

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis as counted from the first one.

        Raises
        ------
        BadParam
            There is no such axis.
        """
        rank = max(rank, 1)
        if not -rank <= axis < rank:
            raise BadParam(argument=f"ONNX {self.op}: axis", expected=f"from {-rank} to {rank - 1}", got=axis)
        return axis % rank

    def put(self, array: Array) -> Any:
        """Return an array on the device."""
        return self.handle.asarray(np.ascontiguousarray(array))

    def take(self, array: Any) -> Array:
        """Return an array of the device on the host."""
        return self.handle.to_numpy(array)

    def call(self, function: Callable[..., Any], *tensors: Any, **options: Any) -> Array:
        """Return a call's result: arrays of the host go to the device, the result comes back."""
        given = [self.put(one) if isinstance(one, np.ndarray) else one for one in tensors]
        return self.take(function(self.handle, *given, **options))

    def refuse(self, what: str) -> NotSupported:
        """Return the error of something that is not there."""
        return NotSupported(f"ONNX {self.op}: {what}")


Implementation: TypeAlias = Callable[..., Any]
OPERATORS: dict[str, Implementation] = {}


def onnx_operator(*names: str) -> Callable[[Implementation], Implementation]:
    """Register what computes operators: a function of the node and its inputs, None where one is left out."""

    def register(function: Implementation) -> Implementation:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register


def floats(array: Array) -> Array:
    """Return an array of a type that portadnn computes in: small integers are float32, which holds them exactly."""
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        return array
    if array.dtype.itemsize > 2:
        return array.astype(np.float64)
    return array.astype(np.float32)


def ranked(array: Array, rank: int) -> Array:
    """Return an array of `rank` dims at least: dims of 1 are put behind."""
    return array.reshape(array.shape + (1,) * max(rank - array.ndim, 0))
