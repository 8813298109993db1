"""The enumerations of cuDNN's header, each imported when it is asked for."""

from __future__ import annotations

import functools
from importlib import import_module

from ..c_names.enumerations import CEnum
from .generated.enums import TOPICS


@functools.cache
def enumeration(name: str) -> type[CEnum]:
    """Return an enumeration, such as ``cudnnDataType_t``."""
    module = import_module(f".generated.enums.{TOPICS[name]}", __package__)
    return getattr(module, name)
