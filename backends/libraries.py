"""Imports of the libraries that backends are made of, which may be installed and still not work."""

from __future__ import annotations

import importlib
from typing import Any


def imported(name: str) -> Any:
    """Return a library's module.

    Raises
    ------
    ImportError
        It is missing, or is broken: an installation made for another NumPy raises AttributeError, one without its
        driver OSError or RuntimeError.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise
    except Exception as error:
        raise ImportError(f"{type(error).__name__}: {error}", name=name) from error
