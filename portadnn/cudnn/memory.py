"""Memory as cuDNN's functions take it: read with the layout of a tensor descriptor or a filter descriptor."""

from __future__ import annotations

from typing import Any

from ..arguments import as_integer
from ..c_names.memory import raw, reader, view
from ..handle import Handle
from .descriptors import FilterDescriptor, TensorDescriptor, value_of

__all__ = [
    "filter_",
    "find_space",
    "optional",
    "raw",
    "scratch",
    "tensor",
    "view",
]


tensor = reader(TensorDescriptor)
filter_ = reader(FilterDescriptor)


def optional(handle: Handle, descriptor: Any, memory: Any, name: str, desc: str = "") -> Any:
    """Return memory with a descriptor's layout, or None for NULL: then the descriptor may be NULL as well."""
    if memory is None and descriptor is None:
        return None
    if memory is None:
        value_of(descriptor, TensorDescriptor, desc or f"{name}Desc")
        return None
    return tensor(handle, descriptor, memory, name, desc)


def find_space(handle: Handle, memory: Any, size: Any) -> tuple[Any, int]:
    """Return the workspace of a FindEx call and the bytes that algorithms may need; with NULL it is the handle's."""
    limit = as_integer(size, "workSpaceSizeInBytes", 0)
    return (scratch(handle, memory, limit) if limit else None), limit


def scratch(handle: Handle, memory: Any, size: Any) -> Any:
    """Return a workspace; NULL leaves it to the handle, whatever the size."""
    return None if memory is None else raw(handle, memory, size, "workSpace")
