"""Sources in C, C++ and CUDA, by tree-sitter."""

from __future__ import annotations

from ..libraries import interesting
from .reader import STARVED, read

__all__ = ["STARVED", "interesting", "read"]
