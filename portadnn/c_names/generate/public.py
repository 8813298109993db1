"""The index of operations' public names, which ``import portadnn`` reads in place of their modules."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

from ... import ops

_PORTADNN = Path(__file__).parents[2]
PATH = _PORTADNN / "public_names.py"
_HEAD = '''"""The public names of operations, and the module that each is in."""

# Written by python -m portadnn.c_names.generate; changes belong in __all__ of the modules in portadnn/ops/.

from typing import TYPE_CHECKING

if TYPE_CHECKING:
'''


def public_names() -> str:
    """Return the index's text."""
    found: dict[str, list[str]] = {}
    for info in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        module = info.name.removeprefix(f"{_PORTADNN.name}.")
        if not info.ispkg and not module.startswith("ops.records."):
            found[module] = list(getattr(import_module(info.name), "__all__", ()))
    places = {name: module for module, names in sorted(found.items()) for name in names}
    stars = (f"    from .{module} import *\n" for module in sorted(set(places.values())))
    listed = "".join(f'    "{name}",\n' for name in sorted(places))
    modules = "".join(f'    "{name}": "{places[name]}",\n' for name in sorted(places))
    return f"{_HEAD}{''.join(stars)}\n__all__ = [\n{listed}]\nMODULES: dict[str, str] = {{\n{modules}}}\n"
