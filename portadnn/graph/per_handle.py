"""What is found out about graphs once for each handle: choices and cuts."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ..handle import Handle

MOST_KNOWN = 64  # of a handle
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class PerHandle(Generic[K, V]):
    """Values by handle and key, kept as long as the handle is; a handle with too many starts again."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Handle, dict[K, V]] = weakref.WeakKeyDictionary()

    def get(self, handle: Handle, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, which `make` makes the first time."""
        known = self._known.setdefault(handle, {})
        if key not in known:
            if len(known) >= MOST_KNOWN:
                known.clear()
            known[key] = make()
        return known[key]
