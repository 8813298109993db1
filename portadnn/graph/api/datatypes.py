"""``cudnn.datatypes`` of cudnn-frontend, which programs call by these names: PyTorch's types and the graph's."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from ..data_types import data_type
from ..errors import GraphError


def is_torch_available() -> bool:
    """Tell whether PyTorch can be imported."""
    return importlib.util.find_spec("torch") is not None


def _torch_to_cudnn_data_type(torch_data_type: Any) -> data_type | None:
    """Return the type that a torch dtype means, None for anything else."""
    if not is_torch_available() or not isinstance(torch_data_type, importlib.import_module("torch").dtype):
        return None
    try:
        return data_type.parse(torch_data_type)
    except GraphError:
        return None


def _cudnn_to_torch_data_type(cudnn_data_type: Any) -> Any:
    """Return the torch dtype of a type, None where PyTorch has none."""
    if not is_torch_available():
        return None
    torch = importlib.import_module("torch")
    dtypes = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    return next((one for one in dtypes if _torch_to_cudnn_data_type(one) is cudnn_data_type), None)


def _library_type(input_type: Any) -> data_type:
    """Return the type that a member or a torch or NumPy dtype means.

    Raises
    ------
    InvalidValue
        It means none (PG-NODE-004).
    """
    return data_type.parse(input_type)


def _is_torch_tensor(input_tensor: Any) -> bool:
    """Tell whether an object is a tensor of PyTorch's."""
    return is_torch_available() and isinstance(input_tensor, importlib.import_module("torch").Tensor)
