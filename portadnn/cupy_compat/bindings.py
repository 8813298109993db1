"""The functions that are one C function each, made of the table in ``signatures.py``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from portadnn import cudnn

from .arguments import converted
from .errors import cudnn_errors
from .fused_packs import ATTRIBUTES
from .memory import as_number
from .objects import forget, plain
from .signatures import Parameter, functions


class CuDNNAlgoPerf:
    """Result of timing one algorithm of a convolution; determinism and mathType are -1 where C has none."""

    def __init__(self, algo: int, status: int, time: float, memory: int, determinism: int, mathType: int) -> None:
        self.algo, self.status, self.time, self.memory = algo, status, time, memory
        self.determinism, self.mathType = determinism, mathType


def _perfs(name: str, found: tuple[int, list[Any]]) -> list[Any]:
    """Return the results of Find and Get as CuPy does: dicts where C has no workspace, objects elsewhere."""
    rows: Any = [[int(p.algo), int(p.status), p.time, p.memory] for p in found[1]]
    if name.endswith("Algorithm"):
        return [dict(zip(("algo", "status", "time", "memory"), row, strict=True)) for row in rows]
    if name.endswith("Ex"):
        return [CuDNNAlgoPerf(*row, -1, -1) for row in rows]
    kinds: Any = [(int(p.determinism), int(p.mathType)) for p in found[1]]
    return [CuDNNAlgoPerf(*row, *kind) for row, kind in zip(rows, kinds, strict=True)]


def signature(names: list[str]) -> inspect.Signature:
    """Return the signature of a function with such parameters."""
    return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])


def _binding(name: str, c_name: str, parameters: tuple[Parameter, ...]) -> Callable[..., Any]:
    own = signature([parameter.name for parameter in parameters])

    @cudnn_errors
    def call(*args: Any, **kwargs: Any) -> Any:
        given = own.bind(*args, **kwargs).args if kwargs or len(args) != len(parameters) else args
        result = getattr(cudnn, c_name)(*converted(parameters, given))
        if name.startswith("destroy"):
            forget(as_number(given[0]))
        several = isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], list)
        return _perfs(name, result) if several else plain(result)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{c_name}, with integers for handles, descriptors and memory."
    call.__signature__ = own  # type: ignore[attr-defined]
    return call


BINDINGS = {name: _binding(name, *rest) for name, rest in functions().items()} | ATTRIBUTES
