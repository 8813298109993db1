"""Faults that are known and not mended yet. An entry that is mended has to go: the test demands that it still fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .running import Failure


@dataclass(frozen=True)
class Known:
    """A class of failures, and one of them.

    Attributes
    ----------
    backend
        Where it fails.
    kind, where
        What is raised, and the innermost place of portadnn's in the traceback; `where` may be its beginning.
    call
        A right call with one argument replaced: the function, the parameter and the name of the wrong value.
    why
        The cause.
    """

    backend: str
    kind: str
    where: str
    call: tuple[str, str, str]
    why: str

    def covers(self, failure: Failure) -> bool:
        """Tell whether a failure is of this class; a class without a place is told by the wrong value."""
        same = (self.backend, self.kind) == (failure.backend, failure.kind) and failure.where.startswith(self.where)
        special = self.where == "" or self.where.endswith("_")
        return same and (not special or self.call[2] in failure.call)


_HOSTILE = "only some exceptions of objects that say that they are arrays are caught"
_BOUNDS = "an Array's offset and extent are not compared with the size of its buffer"
_NUMBER = "float() of a subclass of int or float may raise anything"
_SIZE = "the number of bytes is compared and passed on without a bound"
_STRING = "a subclass of str may raise anything when it is compared"
_MEMORY = "NumPy's MemoryError is not made AllocFailed"
_X = "softmax_forward", "x"
_ALPHA = "softmax_forward", "alpha"
KNOWN = (
    Known("reference", "Hostile", "backends/reference.py:_foreign", (*_X, "hostile dlpack that raises"), _HOSTILE),
    Known("reference", "AttributeError", "backends/reference.py:_foreign", (*_X, "hostile __dlpack__"), _HOSTILE),
    Known(
        "reference",
        "OverflowError",
        "backends/reference.py:_foreign",
        (*_X, "hostile interface of huge dims"),
        _HOSTILE,
    ),
    Known(
        "reference",
        "Hostile",
        "backends/reference.py:_address",
        (*_X, "hostile everything"),
        "look() catches too little",
    ),
    Known(
        "reference",
        "ValueError",
        "backends/reference.py:workspace_size",
        ("convolution_forward", "workspace", "an array of datetime64"),
        "memoryview() raises ValueError",
    ),
    Known(
        "reference",
        "ValueError",
        "backends/reference.py:empty",
        ("Handle.empty_bytes", "nbytes", "9223372036854775808"),
        _SIZE,
    ),
    Known(
        "reference",
        "ValueError",
        "backends/reference_",
        ("rnn_backward_data", "dcy", "a masked array"),
        "masked arrays are taken for arrays",
    ),
    Known("opencl", "Hostile", "backends/opencl.py:look", (*_X, "hostile everything"), _HOSTILE),
    Known(
        "opencl",
        "ValueError",
        "backends/opencl.py:_make",
        ("Handle.empty_bytes", "nbytes", "18446744073709551616"),
        _SIZE,
    ),
    Known(
        "opencl", "ValueError", "backends/opencl.py:asarray", ("Handle.asarray", "array", "0.5"), "arrays without dims"
    ),
    Known(
        "opencl",
        "RuntimeError",
        "backends/opencl.py:asarray",
        ("restore_dropout_descriptor", "states", "a buffer of objects"),
        "arrays of objects as states",
    ),
    Known(
        "opencl",
        "LogicError",
        "backends/opencl.py:read_bytes",
        ("Handle.to_numpy", "array", "an array beyond its buffer"),
        _BOUNDS,
    ),
    Known(
        "opencl",
        "ValueError",
        "backends/opencl.py:read_bytes",
        ("Handle.to_numpy", "array", "an array before its buffer"),
        _BOUNDS,
    ),
    Known("opencl", "wrote outside of its memory", "", ("softmax_forward", "y", "an array beyond its buffer"), _BOUNDS),
    Known(
        "opencl", "wrote outside of its memory", "", ("softmax_forward", "y", "an array far beyond its buffer"), _BOUNDS
    ),
    *(
        known
        for backend in ("reference", "opencl")
        for known in (
            Known(backend, "Hostile", "portadnn/plan.py:_number", (*_ALPHA, "hostile subclass of float"), _NUMBER),
            Known(
                backend,
                "Hostile",
                "portadnn/handle.py:empty_bytes",
                ("Handle.empty_bytes", "nbytes", "hostile int that compares"),
                _SIZE,
            ),
            Known(
                backend,
                "OverflowError",
                "portadnn/handle.py:_host_array",
                ("Handle.asarray", "array", "hostile interface of huge dims"),
                _HOSTILE,
            ),
            Known(
                backend,
                "Hostile",
                "portadnn/handle.py:_host_array",
                ("Handle.asarray", "array", "hostile subclass of float"),
                _HOSTILE,
            ),
            Known(
                backend,
                "Hostile",
                "portadnn/handle.py:_select",
                ("Handle", "backend", "hostile subclass of str"),
                _STRING,
            ),
            Known(backend, "MemoryError", "portadnn/handle.py:zeros", ("Handle.zeros", "dims", "memoryview"), _MEMORY),
        )
    ),
)
