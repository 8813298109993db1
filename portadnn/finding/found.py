"""Known timings of engines: from a handle's own Finds and from the find database."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .._version import __version__

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo, Engine

    from ..problem import Problem
    from .database import FindDatabase, Place


class Found:
    """Measured seconds of engines, by problem or by the text of another computation.

    Parameters
    ----------
    path
        The find database; None or "" for none.
    engines_version
        Returns which engines and kernels are measured.
    """

    def __init__(self, path: str | os.PathLike[str] | None, engines_version: Callable[[], str]) -> None:
        self._mine: dict[Problem, dict[str, float]] = {}
        self._version = engines_version
        self._database: FindDatabase | None = None
        if path is not None and not (isinstance(path, str) and not path):
            from .database import FindDatabase  # SQLite is not always there, and seldom wanted

            self._database = FindDatabase(path)

    def place(self, info: DeviceInfo) -> Place:
        """Return the database key of a device."""
        from .database import Place

        device = (info.backend, info.platform, info.vendor, info.name, info.arch, info.schedule)
        sizes = (info.compute_units, info.simd_width)
        driver = f"{info.driver}; {info.version}"
        return Place("; ".join(map(str, (*device, *sizes))), driver, __version__, self._version())

    def stored(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return the database's seconds of engines for a problem on a device."""
        return {} if self._database is None else self._database.load(str(problem), self.place(info))

    def add(self, problem: Problem, info: DeviceInfo, seconds: Mapping[str, float], new: Mapping[str, float]) -> None:
        """Add the outcome of a search, and store new timings."""
        self._mine[problem] = dict(seconds)
        if self._database is not None:
            self._database.store(str(problem), self.place(info), new)

    def seconds(self, problem: Problem, info: DeviceInfo) -> Mapping[str, float]:
        """Return all known timings: this handle's, or else the database's."""
        return self._mine.get(problem) or self.stored(problem, info)

    def best(self, engines: Sequence[Engine], problem: Problem, info: DeviceInfo) -> Engine:
        """Return the fastest engine by known timings, or None.

        A search of this handle decides. Without one the database does, where it knows the engine that is thought
        fastest: if that one was left out, others may only have been timed because workspace was short.
        """
        if len(engines) == 1:
            return engines[0]
        seconds = self._mine.get(problem, {})
        timed = [engine for engine in engines if engine.name in seconds]
        if not timed:
            seconds = self.stored(problem, info)
            timed = [engine for engine in engines if engine.name in seconds]
            if engines[0] not in timed:
                return engines[0]
        return min(timed, key=lambda engine: seconds[engine.name])
