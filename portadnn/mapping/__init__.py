"""The mapping table: cuDNN's functions, portadnn's and MIOpen's, side by side.

The files in ``portadnn/porting_guide/`` are data: signatures, rows that say which functions stand for each other, and
values of enumerations. What follows from two signatures (which arguments one lacks, has besides, or has elsewhere) is
computed in ``differences.py``. docs/porting-guide.md explains every field.
"""

from .differences import Differences, compare
from .reading import Table, table
from .records import Change, Enumeration, Function, Library, Note, Parameter, Row, Value, c_declaration

__all__ = [
    "Change",
    "Differences",
    "Enumeration",
    "Function",
    "Library",
    "Note",
    "Parameter",
    "Row",
    "Table",
    "Value",
    "c_declaration",
    "compare",
    "table",
]
