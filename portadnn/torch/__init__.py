"""PyTorch's way in: operations, models whose layers are replaced, recordings, and a backend of torch.compile.

torch is imported when one of the names below is first asked for (``pip install "portadnn[torch]"``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# the module that has each name
_LATER = {
    "ops": "ops",
    "substitute": "substitution",
    "Substitution": "substitution",
    "compile_backend": "compile_backend",
    "record": "recording",
}

__all__ = ["Substitution", "compile_backend", "ops", "record", "substitute"]


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = import_module(f".{module}", __name__)
    value = found if name == module and not hasattr(found, name) else getattr(found, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
