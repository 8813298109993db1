"""The methods of :class:`~portadnn.graph.pygraph` that run plans, and calls that are made again just as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import public, shown
from ..find import sample
from ..handle import Handle
from ..recent import Remembered, identical, items
from ..watching import WATCHERS
from . import memory
from .checking import Check
from .engine import GraphPlan
from .errors import fail
from .handles import handle_of
from .methods_files import FileMethods
from .operation_graph import TensorInfo
from .pack import bind, by_uid, spec_of
from .plans import Plans, Timing, engines_of

MOST_PACKS = 1024  # of a graph that are known again, for each plan


class KnownPack:
    """A variant pack of arrays of the device, known again by identity; it keeps no memory alive."""

    def __init__(self, pack: Mapping[Any, Any], workspace: Any, plans: Plans) -> None:
        device = plans.handle.device
        self.size = len(pack)
        self.keys = [key for key, value in pack.items() if device.owns(value)]
        self.number_keys = [key for key, value in pack.items() if not device.owns(value)]
        numbers = [pack[key] for key in self.number_keys]
        arrays = [pack[key] for key in self.keys]
        self.known = all(type(value) in (int, float) for value in numbers)
        self.known &= workspace is None or device.owns(workspace)
        if self.known:
            arrays.append(workspace)
            self.same_arrays = device.same(arrays, items("arrays", len(arrays))).function("arrays")
            self.same_numbers = identical(numbers, items("numbers", len(numbers)), "number").function("numbers")
        self.again: Callable[[], bool] | None = None

    def same(self, pack: Mapping[Any, Any], workspace: Any) -> bool:
        """Tell whether a pack has the same arrays, as they were, and the same numbers."""
        if len(pack) != self.size:
            return False
        try:
            arrays = [pack[key] for key in self.keys]
            numbers = [pack[key] for key in self.number_keys]
        except KeyError:
            return False
        arrays.append(workspace)
        try:
            return self.same_arrays(arrays) and self.same_numbers(numbers)
        except (AttributeError, TypeError):  # not all are arrays of the device
            return False


class ExecuteMethods(FileMethods):
    """A graph that runs."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._scratch: dict[int, Any] = {}  # by the handle's serial
        self._recent: dict[Any, Remembered[Any, KnownPack]] = {}  # by handle and number of the plan

    def _drop_plans(self) -> None:
        super()._drop_plans()
        self._recent = {}

    @public
    def execute(
        self,
        tensor_to_device_buffer: Mapping[Any, Any],
        workspace: Any = None,
        handle: Any = None,
        override_uids: Any = None,
        override_shapes: Any = None,
        override_strides: Any = None,
        check: str | None = None,
    ) -> None:
        """Run the plan on a variant pack.

        Parameters
        ----------
        tensor_to_device_buffer
            Buffers by tensor or uid: arrays of the handle's backend, of any library in the same memory (DLPack), or in
            host memory. They are read with the graph's dims and strides. Host arrays are copied to other devices and
            results back to them. Packs of the device's own arrays that come again cost little more than their launches.
        workspace
            At least ``get_workspace_size()`` bytes, as an array or buffer of the backend; None or anything of the
            host's lets the plan take its own.
        handle
            By default the graph's.
        check
            "reference" compares every node on the device, with all virtual tensors in memory, with its definition in
            float64 of the same inputs, and then the results; the first node that is off is named. It takes long.

        Raises
        ------
        GraphCheckFailed
            A node, or what nodes compute together, is off (PG-CHECK-001, 002). The results are in the pack.
        """
        if check is not None:
            self._checked(tensor_to_device_buffer, workspace, handle, override_uids, check)
            return
        if override_uids is None and self._again(tensor_to_device_buffer, workspace, None, handle):
            return
        self._run(tensor_to_device_buffer, workspace, None, handle, override_uids)

    @public
    def execute_plan_at_index(
        self,
        tensor_to_device_buffer: Mapping[Any, Any],
        workspace: Any,
        index: int,
        handle: Any = None,
        override_uids: Any = None,
        override_shapes: Any = None,
        override_strides: Any = None,
    ) -> None:
        """Run one of the plans; see :meth:`execute`."""
        if override_uids is None and self._again(tensor_to_device_buffer, workspace, index, handle):
            return
        self._run(tensor_to_device_buffer, workspace, index, handle, override_uids)

    @public
    def bind(
        self, tensor_to_device_buffer: Mapping[Any, Any], workspace: Any = None, handle: Any = None
    ) -> Callable[[], None]:
        """Return a function without arguments that runs the plan on these buffers, which it keeps, as often as called.

        Everything is checked once, now.
        """
        plans, plan, arrays, scratch, bound = self._bound(tensor_to_device_buffer, workspace, None, handle, None)
        pack = dict(tensor_to_device_buffer)
        known = None if bound.returns or plan.bind is None else plan.bind(arrays, scratch)
        again = None if known is None else _locked(plans.handle, known)

        def call() -> None:
            if again is None or WATCHERS or not again():
                self._run(pack, workspace, None, handle, None)

        return call

    @public
    def autotune(
        self, tensor_to_device_buffer: Mapping[Any, Any] | None = None, workspace: Any = None, handle: Any = None
    ) -> list[Timing]:
        """Time every configuration that the filters leave, on a variant pack or on memory of its own; take the fastest.

        The candidates are these configurations then, the fastest first, whatever created the plans. Times are kept: by
        the handle, and for later processes where there is a Find database (``PORTADNN_FIND_DB``); ``heur_mode.B`` reads
        them. Outputs of the pack are overwritten.
        """
        frozen, opened = self._graph_frozen(), handle_of(self._handle if handle is None else handle)
        plans = self._plans_on(opened)
        if tensor_to_device_buffer is None:
            arrays = {info.uid: _sample(info, opened) for info in frozen.packed}
        else:
            values = by_uid(frozen, tensor_to_device_buffer, self._known())
            arrays = bind(frozen, opened.device, values).arrays
        rows = plans.autotune(self._filters, arrays, lambda plan: self._workspace(plan, plans, workspace))
        self._recent = {}
        self._choose(plans, 0)
        return rows

    def _again(self, pack: Any, workspace: Any, index: int | None, handle: Any) -> bool:
        """Run a pack that is known, if it is one."""
        if WATCHERS or not (handle is None or type(handle) is int):
            return False
        recent = self._recent.get((handle, index))
        if not recent or not isinstance(pack, Mapping):
            return False
        one = recent.get(_ids(pack, workspace))
        return one is not None and one.again is not None and one.same(pack, workspace) and one.again()

    def _bound(
        self, pack: Mapping[Any, Any], workspace: Any, index: int | None, handle: Any, overrides: Any
    ) -> tuple[Plans, GraphPlan, dict[int, Any], Any, Any]:
        """Return plans, plan, arrays, workspace and what has to be copied back for a pack, all checked."""
        if overrides is not None:
            raise fail("PG-PLAN-005", argument="override_uids", expected="None: shapes are the graph's", got=overrides)
        if self._frozen is None or self._chosen is None:
            raise fail(
                "PG-PLAN-001",
                expected="a built graph",
                got="no plan",
                fix="graph.build([heur_mode.A, heur_mode.FALLBACK])",
            )
        if not isinstance(pack, Mapping):
            raise fail(
                "PG-PACK-006",
                argument="variant pack",
                expected="a dict of buffers by tensor or uid",
                got=type(pack).__name__,
            )
        plans = self._plans_on(self._handle if handle is None else handle)
        plan = plans.plan(self._index(plans) if index is None else index)
        values = by_uid(self._frozen, pack, self._known())
        with plans.handle.lock:
            bound = bind(self._frozen, plans.handle.device, values)
        return plans, plan, bound.arrays, self._workspace(plan, plans, workspace), bound

    def _run(self, pack: Mapping[Any, Any], workspace: Any, index: int | None, handle: Any, overrides: Any) -> None:
        plans, plan, arrays, scratch, bound = self._bound(pack, workspace, index, handle, overrides)
        with plans.handle.lock:
            if not self._remembered(plans, plan, arrays, scratch, pack, workspace, (handle, index)):
                plan.run(arrays, scratch)
            bound.fetch(plans.handle.device)

    def _checked(self, pack: Mapping[Any, Any], workspace: Any, handle: Any, overrides: Any, check: str) -> None:
        if check != "reference":
            raise fail("PG-NODE-004", argument="check", expected="None or 'reference'", got=shown(check))
        plans, plan, arrays, scratch, bound = self._bound(pack, workspace, None, handle, overrides)
        with plans.handle.lock:
            checked = Check(plan, plans.handle, engines_of(plans.handle), arrays)
            plan.run(arrays, scratch)
            bound.fetch(plans.handle.device)
            checked.judge()

    def _remembered(
        self, plans: Plans, plan: GraphPlan, arrays: Any, scratch: Any, pack: Any, workspace: Any, key: Any
    ) -> bool:
        """Run a pack that came before with arguments that stay bound; take note of another."""
        if plan.bind is None or WATCHERS or not isinstance(key[0], (int, type(None))):
            return False
        recent = self._recent.setdefault(key, Remembered(MOST_PACKS))
        ids = _ids(pack, workspace)
        one = recent.get(ids)
        if (one is None or not one.same(pack, workspace)) and recent.due(ids):
            one = KnownPack(pack, workspace, plans)
            if one.known:
                recent.keep(ids, one)
        if one is None or not (one.known and one.same(pack, workspace)):
            return False
        call = plan.bind(arrays, scratch)
        if call is None or not call():
            return False
        one.again = _locked(plans.handle, call)
        return True

    def _index(self, plans: Plans) -> int:
        """Return the chosen plan's number; on another handle than the graph's that of its own first choice."""
        if self._chosen is not None and plans.handle is handle_of(self._handle):
            return self._chosen
        return plans.chosen(self._filters)[0]

    def _workspace(self, plan: GraphPlan, plans: Plans, given: Any) -> Any:
        device, needed = plans.handle.device, plan.workspace_size
        if needed == 0:
            return None
        if given is not None and not (memory.is_host(given) or isinstance(given, int)):
            size = device.workspace_size(given)
            if size < needed:
                raise fail(
                    "PG-PACK-011",
                    argument="workspace",
                    expected=f"{needed} bytes",
                    got=f"{size} bytes",
                    fix="get_workspace_size()",
                )
            return given
        serial = plans.handle.serial
        if serial not in self._scratch or device.workspace_size(self._scratch[serial]) < needed:
            self._scratch[serial] = device.workspace(needed)
            self._recent = {}
        return self._scratch[serial]


def _ids(pack: Mapping[Any, Any], workspace: Any) -> tuple[Any, ...]:
    """Return what a pack is looked up by; other arrays may have the same once these are gone."""
    return (*pack, *map(id, pack.values()), id(workspace))


def _locked(handle: Handle, call: Callable[[], bool]) -> Callable[[], bool]:
    """Return a call that is made under the handle's lock, and not once the handle is closed."""
    acquire, release = handle.lock.acquire, handle.lock.release  # half the time of a with statement

    def locked() -> bool:
        acquire()
        try:
            return handle._device is not None and call()
        finally:
            release()

    return locked


def _sample(info: TensorInfo, handle: Handle) -> Any:
    """Return memory for a tensor to be timed with: random floats, zeros of other types, which may be places."""
    if info.by_value:
        return 1.0 if info.value is None else info.value
    spec = spec_of(info)
    if info.data_type.is_float and info.data_type.problem_type is not None:
        return sample(handle.device, spec)
    return handle.device.asarray(np.zeros(spec.dims, spec.dtype.storage))
