"""``cudnn.pygraph``: a graph with the methods and the life cycle of cudnn-frontend's Python module.

validate, build_operation_graph, create_execution_plans, check_support, build_plans, then execute as often as wanted;
``build`` does all but the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..errors import public
from . import memory
from .builder import NOT_SET
from .core import Graph
from .data_types import data_type, of_dtype
from .engine import GraphPlan
from .enums import build_plan_policy, heur_mode, knob_type, scalar_type, tensor_reordering
from .errors import fail
from .handles import handle_of
from .methods import OperationMethods
from .methods_attention_fp8 import Fp8AttentionMethods
from .methods_norm import NormMethods
from .methods_plans import PlanMethods
from .methods_pointwise import PointwiseMethods
from .pack import bind, by_uid
from .plans import Plans
from .tensor import tensor

Tensor: TypeAlias = tensor  # where the class's method of that name hides it


class pygraph(PlanMethods, PointwiseMethods, NormMethods, Fp8AttentionMethods, OperationMethods):
    """A graph of operations.

    Parameters
    ----------
    name
        For messages.
    io_data_type, intermediate_data_type, compute_data_type
        Types of tensors in variant packs, of virtual tensors and of computations, where these have none of their own;
        members of :class:`data_type`, or torch or NumPy dtypes.
    handle
        What ``create_handle`` returned, or a :class:`portadnn.Handle`; None takes the best device.
    sm_count, sm_version, kernel_cache, device_property, is_dynamic_shape_enabled, is_override_shape_enabled
        Taken and without effect: kernels are chosen for the handle's device, and compiled ones are always cached.
    """

    @public
    def __init__(
        self,
        name: str = "test_graph",
        io_data_type: Any = NOT_SET,
        intermediate_data_type: Any = NOT_SET,
        compute_data_type: Any = NOT_SET,
        handle: Any = None,
        sm_count: int | None = None,
        sm_version: int | None = None,
        kernel_cache: Any = None,
        device_property: Any = None,
        is_dynamic_shape_enabled: bool = False,
        is_override_shape_enabled: bool = False,
    ) -> None:
        super().__init__(Graph(name, io_data_type, intermediate_data_type, compute_data_type), handle)
        self._scratch: dict[int, Any] = {}  # by the handle's serial

    # tensors

    @public
    def tensor(
        self,
        dim: Sequence[int],
        stride: Sequence[int] = (),
        data_type: Any = NOT_SET,
        is_virtual: bool = False,
        is_pass_by_value: bool = False,
        ragged_offset: Tensor | None = None,
        reordering_type: tensor_reordering = tensor_reordering.NONE,
        name: str = "",
        uid: int = -1,
    ) -> Tensor:
        """Make a tensor that comes from outside; dims and strides in logical order, strides in elements."""
        made = tensor(name).set_dim(dim).set_stride(stride).set_data_type(data_type).set_is_virtual(is_virtual)
        made.set_is_pass_by_value(is_pass_by_value).set_ragged_offset(ragged_offset).set_reordering_type(
            reordering_type
        )
        if uid != -1:
            made.set_uid(uid)
        return self._graph.declare(made)

    @public
    def tensor_like(self, tensor_or_array: Any, name: str = "") -> Tensor:
        """Make a tensor with the dims, strides and type of another one or of an array, of any library.

        An array of one element in host memory is passed by value.
        """
        if isinstance(tensor_or_array, tensor):
            other = tensor_or_array
            made = tensor(name).set_dim(other.get_dim()).set_stride(other.get_stride())
            return self._graph.declare(made.set_data_type(other.get_data_type()))
        dims, strides, kind = _look(tensor_or_array)
        made = tensor(name).set_dim(dims).set_stride(strides).set_data_type(kind)
        single = all(size == 1 for size in dims) and memory.is_host(tensor_or_array)
        return self._graph.declare(made.set_is_pass_by_value(single))

    @public
    def tensor_scalar(self, value: float | int, scalar_type: scalar_type = scalar_type.COMPILE_TIME_CONST) -> Tensor:
        """Make a number: a constant of the graph, or the value that holds unless a variant pack has another."""
        made = tensor().set_value(value, _parse_scalar(scalar_type)).set_dim([1]).set_stride([1])
        return self._graph.declare(made.set_data_type(data_type.INT32 if isinstance(value, int) else data_type.FLOAT))

    @public
    def query_tensor_attributes_of_uid(self, uid: int) -> Tensor:
        """Return the tensor of a uid."""
        found = self._known().get(uid)
        if found is None:
            raise fail("PG-TENSOR-022", argument="uid", expected=f"one of {sorted(self._known())}", got=uid)
        return found

    def _known(self) -> dict[int, Tensor]:
        return {one.get_uid(): one for one in self._graph.tensors() if one.has_uid()}

    # the life cycle

    @public
    def validate(self) -> None:
        """Check the graph and infer what was not set: dims, strides and types."""
        self._graph.validate()

    @public
    def build_operation_graph(self) -> None:
        """Give uids to the tensors that have none and freeze the graph; validates it first."""
        self._graph.validate()
        self._frozen = self._graph.freeze()
        self._plans.clear()
        self._chosen = None

    @public
    def create_execution_plans(self, modes: Sequence[heur_mode]) -> None:
        """Ask the heuristics for engines, in the order of the modes."""
        if isinstance(modes, (str, int)) or not isinstance(modes, Sequence):
            raise fail(
                "PG-PLAN-004",
                argument="modes",
                expected="a list",
                got=repr(modes),
                fix="[heur_mode.A, heur_mode.FALLBACK]",
            )
        self._modes, self._only = [heur_mode.parse(mode, "modes") for mode in modes], None
        self._plans.clear()
        self._plans_on(self._handle)

    @public
    def create_execution_plan(self, engine_id: int, knobs: Mapping[knob_type, int] | None = None) -> None:
        """Take one engine, and no other; knobs are for engines that have some."""
        engine = self._engine(engine_id)
        for kind in knobs or ():
            raise fail("PG-PLAN-006", argument="knobs", expected=f"none: {engine.name} has no knobs", got=str(kind))
        self._modes, self._only = list(heur_mode), engine.name
        self._plans.clear()
        self._plans_on(self._handle)

    @public
    def check_support(self) -> None:
        """Choose the first engine that the filters leave."""
        self._chosen = self._plans_on(self._handle).chosen(self._filters)[0]

    @public
    def build_plans(self, policy: build_plan_policy = build_plan_policy.HEURISTICS_CHOICE) -> None:
        """Build the first plan, or all of them."""
        plans = self._plans_on(self._handle)
        numbers = plans.chosen(self._filters)
        for number in numbers if build_plan_policy.parse(policy) is build_plan_policy.ALL else numbers[:1]:
            plans.plan(number)
        self._chosen = numbers[0]

    @public
    def build_plan_at_index(self, index: int) -> None:
        """Build one plan, which ``execute`` then takes."""
        self._plans_on(self._handle).plan(index)
        self._chosen = index

    @public
    def build(self, modes: Sequence[heur_mode] = (heur_mode.A, heur_mode.FALLBACK)) -> None:
        """Do everything from ``validate`` to ``build_plans``."""
        self.validate()
        self.build_operation_graph()
        self.create_execution_plans(modes)
        self.check_support()
        self.build_plans()

    @public
    def execute(
        self,
        tensor_to_device_buffer: Mapping[Any, Any],
        workspace: Any = None,
        handle: Any = None,
        override_uids: Any = None,
        override_shapes: Any = None,
        override_strides: Any = None,
    ) -> None:
        """Run the plan on a variant pack.

        Parameters
        ----------
        tensor_to_device_buffer
            Buffers by tensor or uid: arrays of the handle's backend, of any library in the same memory (DLPack), or in
            host memory. They are read with the graph's dims and strides. Host arrays are copied to other devices and
            results back to them.
        workspace
            At least ``get_workspace_size()`` bytes, as an array or buffer of the backend; None or anything of the
            host's lets the plan take its own.
        handle
            By default the graph's.
        """
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
        self._run(tensor_to_device_buffer, workspace, index, handle, override_uids)

    def _run(self, pack: Mapping[Any, Any], workspace: Any, index: int | None, handle: Any, overrides: Any) -> None:
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
        device = plans.handle.device
        with plans.handle.lock:
            bound = bind(self._frozen, device, values)
            plan.run(bound.arrays, self._workspace(plan, plans, workspace))
            bound.fetch(device)

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
        return self._scratch[serial]

    @public
    def key(self) -> int:
        """Return a number that graphs of one structure share, whatever their names and uids."""
        self._graph.validate()
        return self._graph.freeze().key()

    def __repr__(self) -> str:
        return repr(self._graph)


_parse_scalar = scalar_type.parse  # in the class the name is an argument as well


def _look(array: Any) -> tuple[list[int], list[int], data_type]:
    """Return dims, strides in elements, and type of an array of any library."""
    dtype = getattr(array, "dtype", None)
    if dtype is None or not hasattr(array, "shape"):
        raise fail("PG-TENSOR-019", argument="tensor_like", expected="an array or a tensor", got=type(array).__name__)
    dims = [int(size) for size in array.shape] or [1]
    if callable(getattr(array, "stride", None)):  # torch
        return dims, [int(step) for step in array.stride()] or [1], data_type.parse(dtype)
    kind = of_dtype(dtype, "tensor_like")
    strides = array.strides
    return dims, [int(step) // kind.itemsize for step in strides] or [1], kind
