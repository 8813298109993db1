"""Writes the C functions of both front ends from the mapping table: ``python -m portadnn.c_names.generate``.

A front end's folder ``generated/`` has a file of functions for each topic of the table, and the enumerations.
CONTRIBUTING.md says how a function is added.
"""

from __future__ import annotations

from .files import FOLDERS, generate, write

__all__ = ["FOLDERS", "generate", "write"]
