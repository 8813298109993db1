"""What ONNX models hold: read from files that may be damaged, and from models that are made by hand."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from .._io.outside import host_memory, open_regular
from ..errors import BadParam, NotSupported
from .table import Array


def library() -> Any:
    """Return the module onnx.

    Raises
    ------
    NotSupported
        It is not installed.
    """
    try:
        import onnx
        import onnx.numpy_helper
    except ModuleNotFoundError:
        raise NotSupported("onnx is not installed; try: pip install onnx") from None
    return onnx


def load(model: Any) -> Any:
    """Return a model: itself, or what a file holds.

    Raises
    ------
    BadParam
        It is no model, or the file is none.
    OSError
        It cannot be read.
    """
    onnx = library()
    if isinstance(model, onnx.ModelProto):
        return _with_graph(model, "a model without one")
    if not isinstance(model, (str, os.PathLike)):
        raise BadParam(argument="model", expected="an onnx.ModelProto or a file", got=type(model).__name__)
    open_regular(model, "model").close()
    try:
        found = onnx.load(os.fspath(model))
    except (OSError, MemoryError):
        raise
    except Exception as error:  # protobuf's own kinds
        raise BadParam(argument="model", expected="an ONNX model", got=f"{model}: {error}") from None
    return _with_graph(found, f"{model}, which has none")


def _with_graph(model: Any, got: str) -> Any:
    if not model.HasField("graph"):
        raise BadParam(argument="model", expected="an ONNX model with a graph", got=got)
    return model


def tensor(one: Any) -> Array:
    """Return a TensorProto as an array.

    Raises
    ------
    BadParam
        Its dims, its type and its numbers do not fit, or it lies in another file.
    """
    try:
        array: Array = library().numpy_helper.to_array(one)
    except MemoryError:
        raise
    except Exception as error:  # NumPy's kinds, and those of what lies in other files
        name = f"tensor {one.name}"
        raise BadParam(argument=name, expected="numbers of its type and dims", got=f"{error}") from error
    return array


def element_type(code: int, argument: str) -> np.dtype[Any]:
    """Return ONNX's type of elements as NumPy's.

    Raises
    ------
    BadParam
        There is no such type.
    """
    try:
        found: np.dtype[Any] = np.dtype(library().helper.tensor_dtype_to_np_dtype(code))
    except (KeyError, TypeError):
        raise BadParam(argument=argument, expected="an input of a type of ONNX", got=f"type {code}") from None
    return found


def check_size(dims: tuple[int, ...], argument: str) -> None:
    """Refuse dims of no array, and of one that the host has no memory for, as random numbers of float64.

    Raises
    ------
    BadParam
        It is neither.
    """
    if min(dims, default=0) < 0 or len(dims) > 32:
        raise BadParam(argument=argument, expected="dims of an array", got=dims)
    if 8 * math.prod(dims) > (host_memory() or 2**63):
        raise BadParam(argument=argument, expected="an array that the host's memory holds", got=dims)
