"""What the targets' capability tables claim: generated cases are to be such as somebody computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ... import capability
from ...enums import DnnEnum
from ...handle import Handle
from ...problem import Problem
from ...registry import default_backend_names

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo


class Claims:
    """The capability tables of some targets.

    Parameters
    ----------
    handles
        The targets; without any, the tables of portadnn's own backends are asked, whatever their devices.
    """

    def __init__(self, handles: Iterable[Handle] = ()) -> None:
        self.handles = tuple(handles)
        asked: list[tuple[str, DeviceInfo | None]] = [(handle.backend, handle.info) for handle in self.handles]
        if not asked:
            asked = [(name, None) for name in default_backend_names()]
        known = capability.table_names()
        self._tables = [(capability.table(name), info) for name, info in asked if name in known]
        self._unknown = any(name not in known for name, _ in asked)  # a backend without a table may do anything

    def answers(
        self, problem: Problem, numbers: Mapping[str, float], algo: DnnEnum | None = None
    ) -> tuple[capability.Answer, ...]:
        """Return what each table says of a problem."""
        return tuple(table.judge(problem, numbers, algo=algo, device=info).answer for table, info in self._tables)

    def taken(self, problem: Problem, numbers: Mapping[str, float], algo: DnnEnum | None = None) -> bool:
        """Tell whether a target claims to compute a problem, with limits or without."""
        return self._unknown or any(answer != "no" for answer in self.answers(problem, numbers, algo))

    def common(self, problem: Problem, numbers: Mapping[str, float]) -> bool:
        """Tell whether all targets claim to compute a problem without limits."""
        return all(answer == "yes" for answer in self.answers(problem, numbers))

    def engines(self, problem: Problem) -> tuple[str, ...]:
        """Return the names of the targets' engines that take a problem, each once."""
        found: dict[str, None] = {}
        for handle in self.handles:
            for engine in handle.engines_for(problem):
                if engine.refusal(problem, handle.info) is None:
                    found[engine.name] = None
        return tuple(found)
