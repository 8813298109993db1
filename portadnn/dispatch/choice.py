"""Choice of the engine for a Problem, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..enums import DataType, DnnEnum
from ..errors import ArchMismatch, NotSupported
from ..handle import Handle, log
from ..problem import Problem
from .problems import check_handle

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo, Engine, Plan

    PlanHook = Callable[[Handle, Plan], Plan]

PLAN_HOOKS: list[
    PlanHook
] = []  # functions that see every plan that calls make, and may return another one in its place


def check_type(problem: Problem, info: DeviceInfo) -> None:
    """Raise ArchMismatch where the device cannot compute in the problem's type."""
    if not info.fp64 and any(spec.dtype is DataType.DOUBLE for spec in problem.tensors):
        raise ArchMismatch(
            f"{info.name} has no float64", argument="dtype", expected="FLOAT, HALF or BFLOAT16", got="DOUBLE"
        )


def candidates(
    engines: Sequence[Engine], problem: Problem, info: DeviceInfo, algo: DnnEnum | None = None
) -> list[Engine]:
    """Return the engines that take the problem, the one with the least estimated time first.

    With an algorithm, all of its engines; without one, those that are deterministic and sum exact products.

    Raises
    ------
    ArchMismatch
        The device cannot compute in the problem's type.
    NotSupported
        The backend's capability table refuses it, or no engine takes it; the message gives every engine's reason.
    """
    from .. import capability  # read when the first plan is made

    check_type(problem, info)
    capability.check(engines, problem, info, algo)
    takers, reasons, offered = [], [], []
    for engine in engines:
        if algo is not None and not engine.implements(problem, algo):
            offered.append(str(engine.algo(problem)))
            continue
        reason = engine.refusal(problem, info)
        if reason is None and not engine.serves(problem, algo):
            reason = f"only when asked for as {engine.algo(problem)}"
        if reason is None:
            takers.append(engine)
        reasons.append(f"{engine.name}: {reason}")
    if takers:
        return sorted(takers, key=lambda engine: engine.seconds(problem, info)) if len(takers) > 1 else takers
    if algo is not None and not reasons:
        nearest = f"; available: {', '.join(dict.fromkeys(offered))}" if offered else ""
        raise NotSupported(f"no engine of {info.backend} implements {algo}{nearest}", argument="algo")
    raise NotSupported(f"no engine of {info.backend} takes it ({'; '.join(reasons) or 'none is registered'})")


def choose(handle: Handle, problem: Problem, algo: DnnEnum | None = None) -> Engine:
    """Return the candidate that Find measured as fastest, else the first one."""
    info = check_handle(handle).device.info
    return handle.found.best(candidates(handle.engines_for(problem), problem, info, algo), problem, info)


def prepare(handle: Handle, problem: Problem, algo: DnnEnum | None = None) -> Plan:
    """Make a new plan for a problem on a handle's device."""
    device = handle.device
    engine = choose(handle, problem, algo)
    log.debug("%s: %s on %s", problem, engine.name, device.info.name)
    plan = engine.prepare(problem, device)
    for hook in PLAN_HOOKS:
        plan = hook(handle, plan)
    return plan


def workspace_size(handle: Handle, problem: Problem, algo: DnnEnum | None = None) -> int:
    """Return the exact workspace bytes of the engine that would take the problem."""
    return choose(handle, problem, algo).workspace(problem, handle.device.info)
