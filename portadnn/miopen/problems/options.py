"""Options of Find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import BadParam
from ..descriptors import Opaque, made
from ..generated.enums import miopenFindResultsOrder_t, miopenTensorArgumentId_t
from ..names import integer, parse


@dataclass(frozen=True)
class Options:
    """What options were set to.

    Attributes
    ----------
    tuning, binaries
        Kept, without an effect here.
    order
        Of the solutions.
    limit
        Bytes of workspace that a solution may need; None for any.
    workspace, size
        Memory for Find, and its bytes.
    tensors
        Memory of the problem's tensors, by their ids.
    """

    tuning: bool = False
    binaries: bool = False
    order: miopenFindResultsOrder_t = miopenFindResultsOrder_t.miopenFindResultsOrderByTime
    limit: int | None = None
    workspace: Any = None
    size: int = 0
    tensors: Mapping[miopenTensorArgumentId_t, Any] = field(default_factory=dict)


class miopenFindOptions_t(Opaque):
    """Options of Find."""

    def __init__(self) -> None:
        self.value = Options()


def find_options(options: Any) -> Options:
    """Return what options were set to; those of None are the defaults."""
    if options is None:
        return Options()
    value: Options = made(options, miopenFindOptions_t, "options").value
    return value


def _change(options: Any, **changes: Any) -> None:
    desc = made(options, miopenFindOptions_t, "options")
    desc.value = replace(desc.value, **changes)


def miopenSetFindOptionTuning(options, value):
    _change(options, tuning=bool(integer(value, "value")))


def miopenSetFindOptionResultsOrder(options, value):
    _change(options, order=parse(miopenFindResultsOrder_t, value, "value"))


def miopenSetFindOptionWorkspaceLimit(options, value):
    _change(options, limit=integer(value, "value"))


def miopenSetFindOptionPreallocatedWorkspace(options, buffer, size):
    count = integer(size, "size")
    if buffer is None and count:
        raise BadParam(argument="buffer", expected=f"a buffer of {count} bytes", got="NULL")
    _change(options, workspace=buffer, size=count)


def miopenSetFindOptionPreallocatedTensor(options, id, buffer):
    place = parse(miopenTensorArgumentId_t, id, "id")
    if buffer is None:
        raise BadParam(argument="buffer", expected="memory", got="NULL")
    value = find_options(made(options, miopenFindOptions_t, "options"))
    _change(options, tensors={**value.tensors, place: buffer})


def miopenSetFindOptionAttachBinaries(options, attach):
    _change(options, binaries=integer(attach, "attach") == 1)
