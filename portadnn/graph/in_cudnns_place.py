"""Finds modules such as ``cudnn.ops`` for programs that put this package in the place of cudnn-frontend's.

After ``sys.modules["cudnn"] = portadnn.graph`` a program's ``import cudnn.experimental.ops`` would load files of this
package a second time, under another name. The finder gives it the modules that exist.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

OWN = __package__ or ""
NAME = "cudnn"
_ELSEWHERE = {f"{NAME}.{name}": f"{OWN}.api.{name}" for name in ("datatypes", "wrapper")}


class Existing(Loader):
    """Hands out a module of this package under another name."""

    def __init__(self, own: str) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module under its own name."""
        module = importlib.import_module(self._own)
        self._spec = module.__spec__  # which the caller replaces
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is."""
        module.__spec__ = self._spec


class Finder(MetaPathFinder):
    """Finds modules below ``cudnn`` where that is this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what loads a module of this package, None for any other."""
        if not fullname.startswith(f"{NAME}.") or sys.modules.get(NAME) is not sys.modules.get(OWN):
            return None
        own = _ELSEWHERE.get(fullname) or OWN + fullname.removeprefix(NAME)
        if importlib.util.find_spec(own) is None:
            return None
        return ModuleSpec(fullname, Existing(own), is_package=True)


def install() -> None:
    """Have Python ask the finder, once."""
    if not any(isinstance(one, Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, Finder())
