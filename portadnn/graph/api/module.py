"""Functions of cudnn-frontend's Python module that stand beside the graph class."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar

from ...errors import shown
from ..data_types import data_type
from ..enums import heur_mode
from ..rules import fail
from ..tensor import tensor
from .arguments import listed, whole
from .pygraph import pygraph

P = ParamSpec("P")
R = TypeVar("R")


def get_last_error_string() -> str:
    """Return "": errors are exceptions, which say everything."""
    return ""


def sdpa_capabilities() -> frozenset[str]:
    """Return no names: packed layouts of attention need no binder of their own here."""
    return frozenset()


@contextlib.contextmanager
def graph(
    handle: Any,
    name: str = "cudnn_graph",
    io_data_type: Any = data_type.HALF,
    intermediate_data_type: Any = data_type.FLOAT,
    compute_data_type: Any = data_type.FLOAT,
) -> Iterator[tuple[pygraph, list[tensor]]]:
    """Yield a new graph and an empty list for its tensors."""
    yield pygraph(name, io_data_type, intermediate_data_type, compute_data_type, handle), []


def jit(
    heur_modes: heur_mode | Sequence[heur_mode] = heur_mode.A, **unused: Any
) -> Callable[[Callable[P, tuple[pygraph, Sequence[tensor]]]], Callable[P, tuple[pygraph, list[int]]]]:
    """Make of a function that returns a graph and its tensors one that returns it built, and the tensors' uids."""
    given = [heur_modes] if isinstance(heur_modes, heur_mode) else listed(heur_modes, "heur_modes", "PG-PLAN-004")
    modes = [heur_mode.parse(mode, "heur_modes") for mode in given]

    def decorate(function: Callable[P, tuple[pygraph, Sequence[tensor]]]) -> Callable[P, tuple[pygraph, list[int]]]:
        @functools.wraps(function)
        def built(*args: P.args, **kwargs: P.kwargs) -> tuple[pygraph, list[int]]:
            made, tensors = function(*args, **kwargs)
            if made.get_execution_plan_count() <= 0:
                made.build(modes)
            return made, [one.get_uid() for one in tensors]

        return built

    return decorate


def graph_cache(key_fn: Callable[..., Hashable], maxsize: int = 256) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember what a function returned for each key of its arguments, for at most `maxsize` keys.

    Raises
    ------
    InvalidValue
        `key_fn` is no function, or `maxsize` no integer of at least 1 (PG-NODE-004).
    """
    if not callable(key_fn):
        raise fail("PG-NODE-004", argument="key_fn", expected="a function", got=shown(key_fn))
    most = whole(maxsize, "maxsize")
    if most < 1:
        raise fail("PG-NODE-004", argument="maxsize", expected="at least 1", got=most)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        known: dict[Hashable, R] = {}

        @functools.wraps(function)
        def remembered(*args: P.args, **kwargs: P.kwargs) -> R:
            key = key_fn(*args, **kwargs)
            if key not in known:
                if len(known) >= most:
                    del known[next(iter(known))]
                known[key] = function(*args, **kwargs)
            return known[key]

        return remembered

    return decorate
