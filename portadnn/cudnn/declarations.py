"""What the mapping table says of cuDNN's functions and enumerations.

``python -m portadnn.cudnn.declarations`` writes ``declarations.json`` anew. A test demands that it is up to date.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from ..c_names.declarations import CEnum, Declarations, returned

__all__ = [
    "FILE",
    "CEnum",
    "constants",
    "declarations",
    "docstring",
    "enumeration",
    "generate",
    "returned",
]


_OURS = Declarations("cudnn", Path(__file__).parent)
FILE = _OURS.file
generate = _OURS.generate
docstring = _OURS.docstring


def declarations() -> dict[str, Any]:
    """Return what the file says: ``functions`` and ``enumerations`` by their names in C."""
    return _OURS.content


@functools.cache
def constants() -> dict[str, str]:
    """Return the enumeration of each of its values."""
    return {value: name for name, values in declarations()["enumerations"].items() for value in values}


@functools.cache
def enumeration(name: str) -> type[CEnum]:
    """Return an enumeration of the C header, such as ``cudnnDataType_t``."""
    values = declarations()["enumerations"][name]
    base: Any = CEnum
    made = base(name, values, module="portadnn.cudnn")
    made.__doc__ = f"{name} of cuDNN's header, with its values."
    return made  # type: ignore[no-any-return]


if __name__ == "__main__":
    _OURS.write()
