"""Sources in C, C++ and CUDA, by tree-sitter."""

from __future__ import annotations

from ..libraries import interesting
from .reader import read

__all__ = ["interesting", "read"]
