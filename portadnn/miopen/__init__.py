"""MIOpen's own names, on every backend: ``import portadnn.miopen as miopen``.

Functions have the names and the order of arguments of C; what C returns through pointers is returned, several results
as a tuple in C's order. Handles and descriptors are opaque objects, ``alpha`` and ``beta`` are numbers, and a status
other than success is raised as a :class:`portadnn.DnnError` whose ``status`` is a ``miopenStatus_t``. Data are arrays
or buffers of the backend; the descriptor beside them says how they are read. docs/from-miopen.md has more, and a
program.

>>> import numpy as np
>>> import portadnn.miopen as miopen
>>> handle = miopen.miopenCreate(backend="reference")
>>> desc = miopen.miopenCreateTensorDescriptor()
>>> miopen.miopenSet4dTensorDescriptor(desc, miopen.miopenFloat, 1, 2, 1, 2)
>>> x, y = np.float32([1, 1, 0, 0]), np.empty(4, np.float32)
>>> miopen.miopenSoftmaxForward(handle, 1, desc, x, 0, desc, y)
>>> y.round(2).tolist()
[0.7300..., 0.7300..., 0.2700..., 0.2700...]
>>> miopen.miopenDestroy(handle)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .generated.enums import *  # noqa: F403
from .generated.index import MODULES, TYPES

if TYPE_CHECKING:
    from .generated.index import *  # noqa: F403

_PLACES = {**TYPES, **{name: f"generated.{module}" for name, module in MODULES.items()}}  # imported when asked for

__all__ = [*(name for name in globals() if name.startswith(("miopen", "MIOPEN"))), *_PLACES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
