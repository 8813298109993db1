"""Finding backends: entry points of the group ``portadnn.backends``, loaded when first asked for."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .entry_points import BACKENDS, entry_points
from .errors import BadParam, shown

if TYPE_CHECKING:
    from portadnn_backends.base import Backend


@functools.cache
def backend_names() -> tuple[str, ...]:
    """Return the names of all registered backends, whether or not they work here."""
    return tuple(sorted({point.name for point in entry_points(BACKENDS)}))


def default_backend_names() -> tuple[str, ...]:
    """Return the names of the backends to go through where none is named: all but other vendors' libraries."""
    return tuple(name for name in backend_names() if not get_backend(name).vendor)


@functools.cache
def backend_packages() -> dict[str, str]:
    """Return the name of the package that holds each backend."""
    return {point.name: point.module.rpartition(".")[0] or point.module for point in entry_points(BACKENDS)}


@functools.cache
def package_folder(package: str) -> Path | None:
    """Return the folder of a package, found without importing it."""
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


@functools.cache
def get_backend(name: str) -> Backend:
    """Load the backend called `name`.

    Raises
    ------
    BadParam
        No backend of that name is installed.
    """
    for point in entry_points(BACKENDS):
        if point.name == name:
            return cast("Backend", point.load())
    raise BadParam(argument="backend", expected=f"auto or one of {', '.join(backend_names())}", got=shown(name))
