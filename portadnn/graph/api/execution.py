"""The methods of :class:`~portadnn.graph.api.pygraph` that run plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch.execute import run_recorded
from ...dispatch.overlap import check_workspace_alignment
from ...errors import shown
from ...finding.find import sample
from ...handle import Handle
from ...host_arrays import refuse_mask
from ..checks.checking import Check
from ..engine import GraphPlan
from ..errors import GraphError
from ..memory import host as memory
from ..operation_graph import TensorInfo
from ..pack import bind as bind_pack
from ..plans import Plans, Timing, engines_of
from ..rules import fail
from ..tensor import tensor
from .arguments import also_named, listed, pairs, whole
from .builder import method
from .handles import handle_of
from .overrides import Overrides, with_layouts
from .planned import Planned

if TYPE_CHECKING:
    from portadnn_backends.base import Device


@method
def execute(
    self: Planned,
    tensor_to_device_buffer: Mapping[Any, Any] | None = None,
    workspace: Any = None,
    handle: Any = None,
    override_uids: Any = None,
    override_shapes: Any = None,
    override_strides: Any = None,
    tensor_uids: Any = None,
    check: str | None = None,
    *,
    tensor_dict: Any = None,
) -> None:
    """Run the plan on a variant pack, which 1.32 names `tensor_dict`.

    Parameters
    ----------
    tensor_to_device_buffer
        Buffers by tensor, uid or name: arrays of the handle's backend, of any library in the same memory (DLPack), or
        in host memory. Arrays that operations took in the place of tensors need not be there. They are read with the
        graph's dims and strides. Host arrays are copied to other devices and results back to them. Packs of the
        device's own arrays that come again cost little more than their launches.
    workspace
        At least ``get_workspace_size()`` bytes, as an array or buffer of the backend; None, less, or anything of the
        host's lets the plan take its own.
    handle
        By default the graph's.
    override_uids, override_shapes, override_strides
        Tensors that have other dims and strides this time, of a graph made with ``is_override_shape_enabled`` or
        ``is_dynamic_shape_enabled``; tensors inside the graph follow. The plan is prepared for each of these layouts
        once, by the same engine where it takes them, and takes memory of its own if the workspace is too small for it.
    tensor_uids
        The uids of buffers that come as a list, in its order.
    check
        "reference" compares every node on the device, with all virtual tensors in memory, with its definition in
        float64 of the same inputs, and then the results; the first node that is off is named. It takes long.

    Raises
    ------
    GraphCheckFailed
        A node, or what nodes compute together, is off (PG-CHECK-001, 002). The results are in the pack.
    """
    if tensor_to_device_buffer is None:
        tensor_to_device_buffer = tensor_dict
    none = override_uids is override_shapes is override_strides is None
    overrides = None if none else Overrides(override_uids, override_shapes, override_strides)
    if tensor_uids is not None:
        tensor_to_device_buffer = _numbered(tensor_to_device_buffer, tensor_uids)
    if check is not None:
        _checked(self, tensor_to_device_buffer, workspace, handle, check, overrides)
        return
    _run(self, tensor_to_device_buffer, workspace, None, handle, overrides)


@also_named(tensor_dict="tensor_to_device_buffer")
@method
def execute_plan_at_index(
    self: Planned,
    tensor_to_device_buffer: Mapping[Any, Any],
    workspace: Any,
    index: int,
    handle: Any = None,
    override_uids: Any = None,
    override_shapes: Any = None,
    override_strides: Any = None,
    *,
    tensor_uids: Any = None,
) -> None:
    """Run one of the plans; see :meth:`execute`."""
    if tensor_uids is not None:
        tensor_to_device_buffer = _numbered(tensor_to_device_buffer, tensor_uids)
    number = index if type(index) is int else whole(index, "index", "PG-PLAN-002")
    none = override_uids is override_shapes is override_strides is None
    overrides = None if none else Overrides(override_uids, override_shapes, override_strides)
    _run(self, tensor_to_device_buffer, workspace, number, handle, overrides)


@method
def bind(
    self: Planned, tensor_to_device_buffer: Mapping[Any, Any], workspace: Any = None, handle: Any = None
) -> Callable[[], None]:
    """Return a function without arguments that runs the plan on these buffers, which it keeps, as often as called.

    Everything is checked once, now.
    """
    pack = _with_operands(self, _pack(tensor_to_device_buffer))
    _bound(self, pack, workspace, None, handle)
    calls, key, alive = self._opened(handle).calls, _key(self, pack, workspace, None), self._alive

    def call() -> None:
        bound = calls.get(key) if alive is self._alive else None
        if bound is None or not bound.again():
            execute(self, pack, workspace, handle)  # which those who watch are told of

    return call


@method
def autotune(
    self: Planned, tensor_to_device_buffer: Mapping[Any, Any] | None = None, workspace: Any = None, handle: Any = None
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
        pack = _with_operands(self, _pack(tensor_to_device_buffer))
        arrays = bind_pack(frozen, opened.device, pack, self._known(), exact=self._exact_packs).arrays
    rows = plans.autotune(self._filters, arrays, lambda plan: _workspace(self, plan, plans, workspace))
    self._drop_calls()
    self._choose(plans, 0)
    return rows


def _bound(
    self: Planned, pack: Mapping[Any, Any], workspace: Any, index: int | None, handle: Any
) -> tuple[Plans, GraphPlan, dict[int, Any], Any, Any]:
    """Return plans, plan, arrays, workspace and what has to be copied back for a pack, all checked."""
    if self._frozen is None or self._chosen is None:
        raise _not_built()
    plans = self._plans_on(self._handle if handle is None else handle)
    plan = plans.plan(self._index(plans) if index is None else index)
    with plans.handle.lock:
        bound = bind_pack(self._frozen, plans.handle.device, pack, self._known(), exact=self._exact_packs)
    self._notes.update({(note.id, note.tensor): note for note in bound.notes})
    return plans, plan, bound.arrays, _workspace(self, plan, plans, workspace), bound


def _not_built() -> GraphError:
    fix = "graph.build([heur_mode.A, heur_mode.FALLBACK])"
    return fail("PG-PLAN-001", expected="a built graph", got="no plan", fix=fix)


def _run(
    self: Planned, pack: Mapping[Any, Any], workspace: Any, index: int | None, handle: Any, overrides: Overrides | None
) -> None:
    if type(pack) is not dict:
        pack = _pack(pack)
    if self._operands:
        pack = _with_operands(self, pack)
    if overrides is not None:
        self, index = _laid_out(self, index, overrides), None
    opened = self._opened(handle)
    key = _key(self, pack, workspace, index)
    bound = opened.calls.get(key)
    if bound is not None and bound.again():
        return
    opened.calls.make(
        opened,
        key,
        lambda: _run_anew(self, pack, workspace, index, handle),
        (self._alive, *pack, *pack.values(), workspace),
    )


def _laid_out(self: Planned, index: int | None, overrides: Overrides) -> Planned:
    """Return the graph with other dims and strides, and the plan of a number, by default the chosen one."""
    number = self._chosen if index is None else index
    if self._frozen is None or number is None:
        raise _not_built()
    return with_layouts(self, overrides.layouts(), self._config(number))


def _key(self: Planned, pack: Mapping[Any, Any], workspace: Any, index: int | None) -> tuple[Any, ...]:
    """Return what tells a call from others: plan, tensors and the identities of what is passed."""
    tensors = [key if type(key) is int else id(key) for key in pack]
    number = self._chosen if index is None else index
    return ("graph", id(self._alive), number, *tensors, *map(id, pack.values()), id(workspace))


def _run_anew(self: Planned, pack: Mapping[Any, Any], workspace: Any, index: int | None, handle: Any) -> None:
    with self._opened(handle).lock:
        plans, plan, arrays, scratch, bound = _bound(self, pack, workspace, index, handle)
        device = plans.handle.device
        recorder: Any = device.recorder
        if recorder is not None:
            recorder.operands((*bound.operands, workspace))
        run_recorded(device, plan.run, plan.run.recordable, *plan.problem.arguments(arrays), scratch)
        bound.fetch(device)


def _checked(
    self: Planned, pack: Mapping[Any, Any], workspace: Any, handle: Any, check: str, overrides: Overrides | None
) -> None:
    pack = _with_operands(self, _pack(pack))
    if not isinstance(check, str) or str.__str__(check) != "reference":
        raise fail("PG-NODE-004", argument="check", expected="None or 'reference'", got=shown(check))
    if self._frozen is not None and self._frozen.peers:
        wanted = "None for a graph with peer_stats: one rank's inputs do not say what the others bring"
        raise fail("PG-NODE-004", argument="check", expected=wanted, got=shown(check))
    if overrides is not None:
        self = _laid_out(self, None, overrides)
    plans, plan, arrays, scratch, bound = _bound(self, pack, workspace, None, handle)
    with plans.handle.lock:
        checked = Check(plan, plans.handle, engines_of(plans.handle), arrays)
        plan.run(*plan.problem.arguments(arrays), scratch)
        bound.fetch(plans.handle.device)
        checked.judge()


def _workspace(self: Planned, plan: GraphPlan, plans: Plans, given: Any) -> Any:
    device, needed = plans.handle.device, plan.workspace_size
    if needed == 0:
        return None
    if given is not None and not isinstance(given, int):
        native = _native_workspace(device, given)
        if native is not None:
            size = device.workspace_size(native)
            if size >= needed:
                check_workspace_alignment(device, native)
                return native
            facts = {"expected": f"{needed} bytes", "got": f"{size} bytes", "fix": "get_workspace_size()"}
            self._notes["PG-PACK-011", None] = fail("PG-PACK-011", argument="workspace", **facts)
    with plans.handle.lock:
        place = (plans.handle.serial, device.stream_key())
        own = self._scratch.get(place)
        if own is None or device.workspace_size(own) < needed:
            own = self._scratch[place] = device.workspace(needed)
        if device.recorder is not None:
            device.recorder.allocated(own)  # a bound call keeps it
        return own


def _numbered(buffers: Any, uids: Any) -> dict[Any, Any]:
    """Return buffers that come as a list by their uids."""
    numbers = [whole(one, "tensor_uids", "PG-PACK-002") for one in listed(uids, "tensor_uids", "PG-PACK-006")]
    arrays = listed(buffers, "variant pack", "PG-PACK-006")
    if len(arrays) != len(numbers) or len(set(numbers)) != len(numbers):
        expected = "a buffer for each uid, which differ"
        got = f"{len(arrays)} buffers and the uids {numbers}"
        raise fail("PG-PACK-008", argument="tensor_uids", expected=expected, got=got, fix="pass as many of each")
    return dict(zip(numbers, arrays, strict=True))


def _with_operands(self: Planned, pack: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a pack with the arrays that operations were given, where it has no others for them."""
    there = {one: array for one, array in self._operands.items() if not _has(pack, one)}
    return {**there, **pack}


def _has(pack: Mapping[Any, Any], one: tensor) -> bool:
    return one in pack or one.get_uid() in pack or one.get_name() in pack


def _pack(given: Any) -> dict[Any, Any]:
    return pairs(given, "variant pack", "PG-PACK-006", "a dict of buffers by tensor or uid")


def _native_workspace(device: Device, given: Any) -> Any:
    """Return a workspace of the program's as the device's memory; None for host memory that the device cannot use."""
    if memory.is_host(given) and not device.host_memory:
        refuse_mask(given, "workspace")
        return None
    return device.native_workspace(given)


def _sample(info: TensorInfo, handle: Handle) -> Any:
    """Return memory for a tensor to be timed with: random floats, zeros of other types, which may be places."""
    if info.by_value:
        return 1.0 if info.value is None else info.value
    spec = info.spec
    if info.data_type.is_float and info.data_type.problem_type is not None:
        return sample(handle.device, spec)
    return handle.device.asarray(np.zeros(spec.dims, spec.dtype.storage))
