"""``cudnn.pygraph``: a graph with the methods and the life cycle of cudnn-frontend's Python module.

validate, build_operation_graph, create_execution_plans, check_support, build_plans, then execute as often as wanted;
``build`` does all but the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...errors import public
from ..data_types import data_type, of_dtype
from ..enums import cuda_graph_retention, heur_mode, scalar_type, tensor_reordering
from ..errors import GraphError
from ..kernel_cache import DeviceProperties, KernelCache
from ..layout import row_major
from ..memory import host as memory
from ..rules import fail
from ..tensor import tensor
from . import answers, cuda_graphs, execution, files, introspection
from . import plans as plan_methods
from .arguments import also_named, truth, whole
from .attention import fp8 as attention_fp8
from .attention import mxfp8 as attention_mxfp8
from .attention import sdpa as attention
from .builder import NOT_SET
from .core import Graph
from .cute_dsl import CuteDslNodes
from .handles import handle_of
from .log import log
from .nodes import block_scale, norm, pointwise, rows
from .nodes import tensors as tensor_methods
from .planned import Planned

Tensor: TypeAlias = tensor  # where the class's method of that name hides it


class pygraph(CuteDslNodes, Planned):
    """A graph of operations.

    Parameters
    ----------
    name
        For messages.
    io_data_type, intermediate_data_type, compute_data_type
        Types of tensors in variant packs, of virtual tensors and of computations, where these have none of their own;
        members of :class:`data_type`, or torch or NumPy dtypes. Without an intermediate type virtual tensors have the
        io type, else FLOAT; without a compute type FLOAT is computed in, DOUBLE where it is the io type.
    handle
        What ``create_handle`` returned, or a :class:`portadnn.Handle`; None takes the best device.
    kernel_cache
        What ``create_kernel_cache`` returned: remembers which plans were built, and builds them again without asking.
    device_property
        What ``create_device_properties`` returned; the handle's device has to be that one.
    is_dynamic_shape_enabled, is_override_shape_enabled
        Lets ``execute`` give tensors other dims and strides.
    cuda_graph_retention
        What keeps alive what a CUDA graph needs: the process (PER_GRAPH), or this graph (NONE).
    sm_count, sm_version, is_cuda_graph_replay_expected
        Taken and without effect: kernels are chosen for the handle's device.
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
        cuda_graph_retention: Any = None,
        *,
        is_cuda_graph_replay_expected: bool = False,
    ) -> None:
        graph = Graph(name, io_data_type, intermediate_data_type, compute_data_type)
        graph.assume_types()
        graph.adopt = self._adopted
        super().__init__(graph, handle, _checked(kernel_cache, KernelCache, "kernel_cache"))
        dynamic = truth(is_dynamic_shape_enabled, "is_dynamic_shape_enabled")
        truth(is_cuda_graph_replay_expected, "is_cuda_graph_replay_expected")
        if cuda_graph_retention is not None:
            self._retention = _parse_retention(cuda_graph_retention, "cuda_graph_retention")
        self._flexible = truth(is_override_shape_enabled, "is_override_shape_enabled") or dynamic
        if _checked(device_property, DeviceProperties, "device_property") is not None:
            device_property.check(handle_of(handle))

    # tensors

    @public
    def tensor(
        self,
        dim: Sequence[int],
        stride: Sequence[int] | None = None,
        data_type: Any = NOT_SET,
        is_virtual: bool = False,
        is_pass_by_value: bool = False,
        ragged_offset: Tensor | None = None,
        reordering_type: tensor_reordering = tensor_reordering.NONE,
        name: str = "",
        uid: int | None = -1,
        ragged_offset_multiplier: int = 1,
        alignment_value: int = 1,
    ) -> Tensor:
        """Make a tensor that comes from outside; dims and strides in logical order, strides in elements.

        Without strides it is row-major, as in cudnn-frontend 1.32. `alignment_value` is a promise about its numbers,
        without effect here.
        """
        whole(1 if alignment_value is None else alignment_value, "alignment_value")
        made = tensor("" if name is None else name).set_dim(dim).set_data_type(data_type).set_is_virtual(is_virtual)
        made.set_stride(stride or ([] if is_virtual else row_major(made.get_dim())))
        made.set_is_pass_by_value(is_pass_by_value).set_ragged_offset(ragged_offset).set_reordering_type(
            tensor_reordering.NONE if reordering_type is None else reordering_type
        )
        if ragged_offset_multiplier not in (None, 1):
            made.set_ragged_offset_multiplier(ragged_offset_multiplier)
        if uid is not None and whole(uid, "uid") != -1:
            made.set_uid(uid)
        return self._graph.declare(made)

    @also_named(template="tensor_or_array", input="tensor_or_array")
    @public
    def tensor_like(self, tensor_or_array: Any, name: str = "", is_virtual: bool = False) -> Tensor:
        """Make a tensor with the dims, strides and type of another one or of an array, of any library.

        An array of one element in host memory is passed by value, unless an operation takes no number there.
        """
        if isinstance(tensor_or_array, tensor):
            other = tensor_or_array
            made = tensor(name).set_dim(other.get_dim()).set_stride(other.get_stride())
            made.set_data_type(other.get_data_type()).set_is_virtual(is_virtual)
            return self._graph.declare(made)
        try:
            dims, strides, kind = _look(tensor_or_array)
        except GraphError:
            raise
        except Exception:  # a user's attributes may raise anything
            got = type(tensor_or_array).__name__
            raise fail("PG-TENSOR-019", argument="tensor_like", expected="an array or a tensor", got=got) from None
        made = tensor(name).set_dim(dims).set_stride(strides).set_data_type(kind)
        single = all(size == 1 for size in dims) and memory.is_host(tensor_or_array)
        made.set_is_pass_by_value(single).set_is_virtual(is_virtual)
        made.by_value_assumed = single
        return self._graph.declare(made)

    def _adopted(self, array: Any, name: str) -> Tensor:
        """Return the tensor of an array that stands where an operation takes one; packs need not have it."""
        made = self.tensor_like(array, name)
        self._operands[made] = array
        return made

    @public
    def tensor_scalar(
        self, value: float | int, scalar_type: scalar_type = scalar_type.COMPILE_TIME_CONST, name: str = ""
    ) -> Tensor:
        """Make a number: a constant of the graph, or the value that holds unless a variant pack has another."""
        made = tensor(name).set_value(value, _parse_scalar(scalar_type)).set_dim([1]).set_stride([1])
        kind = data_type.INT32 if isinstance(made.value, int) else data_type.FLOAT
        return self._graph.declare(made.set_data_type(kind))

    @public
    def query_tensor_attributes_of_uid(self, uid: int) -> Tensor:
        """Return the tensor of a uid."""
        number = whole(uid, "uid", "PG-TENSOR-022")
        found = self._known().get(number)
        if found is None:
            raise fail("PG-TENSOR-022", argument="uid", expected=f"one of {sorted(self._known())}", got=number)
        return found

    # the life cycle

    @public
    def validate(self) -> None:
        """Check the graph and infer what was not set: dims, strides and types.

        What is right and not supported is refused by ``create_execution_plans``, where cuDNN's programs expect it.
        """
        self._validated()

    @public
    def build_operation_graph(self) -> None:
        """Give uids to the tensors that have none and freeze the graph; validates it first."""
        self._frozen = self._graph.freeze() if self._validated() else None
        log(self._graph)
        self._drop_plans()
        self._chosen = None

    @also_named(heuristics="modes")
    @public
    def build(self, modes: Sequence[heur_mode] = (heur_mode.A, heur_mode.FALLBACK)) -> None:
        """Do everything from ``validate`` to ``build_plans``."""
        self.validate()
        self.build_operation_graph()
        self.create_execution_plans(modes)
        self.check_support()
        self.build_plans()

    @public
    def key(self) -> int:
        """Return a number that graphs of one structure share, whatever their names and uids."""
        self._graph.validate()
        return self._graph.freeze().key()

    # operations: functions of the modules beside this one

    add = pointwise.add
    sub = pointwise.sub
    mul = pointwise.mul
    div = pointwise.div
    add_square = pointwise.add_square
    logical_and = pointwise.logical_and
    logical_or = pointwise.logical_or
    bias = pointwise.bias
    scale = pointwise.scale
    max = pointwise.max
    min = pointwise.min
    mod = pointwise.mod
    pow = pointwise.pow
    sqrt = pointwise.sqrt
    rsqrt = pointwise.rsqrt
    reciprocal = pointwise.reciprocal
    abs = pointwise.abs
    ceil = pointwise.ceil
    floor = pointwise.floor
    neg = pointwise.neg
    exp = pointwise.exp
    log = pointwise.log
    sin = pointwise.sin
    cos = pointwise.cos
    tan = pointwise.tan
    erf = pointwise.erf
    identity = pointwise.identity
    tanh = pointwise.tanh
    sigmoid = pointwise.sigmoid
    elu = pointwise.elu
    gelu = pointwise.gelu
    gelu_approx_tanh = pointwise.gelu_approx_tanh
    softplus = pointwise.softplus
    logical_not = pointwise.logical_not
    relu = pointwise.relu
    leaky_relu = pointwise.leaky_relu
    swish = pointwise.swish
    relu_backward = pointwise.relu_backward
    leaky_relu_backward = pointwise.leaky_relu_backward
    tanh_backward = pointwise.tanh_backward
    sigmoid_backward = pointwise.sigmoid_backward
    elu_backward = pointwise.elu_backward
    gelu_backward = pointwise.gelu_backward
    gelu_approx_tanh_backward = pointwise.gelu_approx_tanh_backward
    softplus_backward = pointwise.softplus_backward
    cmp_eq = pointwise.cmp_eq
    cmp_neq = pointwise.cmp_neq
    cmp_gt = pointwise.cmp_gt
    cmp_ge = pointwise.cmp_ge
    cmp_lt = pointwise.cmp_lt
    cmp_le = pointwise.cmp_le
    binary_select = pointwise.binary_select
    gen_index = pointwise.gen_index
    swish_backward = pointwise.swish_backward

    conv_fprop = tensor_methods.conv_fprop
    conv_dgrad = tensor_methods.conv_dgrad
    conv_wgrad = tensor_methods.conv_wgrad
    matmul = tensor_methods.matmul
    reduction = tensor_methods.reduction
    genstats = tensor_methods.genstats
    softmax = tensor_methods.softmax
    resample = tensor_methods.resample
    resample_backward = tensor_methods.resample_backward
    rng = tensor_methods.rng
    slice = tensor_methods.slice
    reshape = tensor_methods.reshape
    transpose = tensor_methods.transpose
    concatenate = tensor_methods.concatenate

    batchnorm = norm.batchnorm
    batchnorm_inference = norm.batchnorm_inference
    batchnorm_backward = norm.batchnorm_backward
    bn_finalize = norm.bn_finalize
    dbn_weight = norm.dbn_weight
    layernorm = norm.layernorm
    layernorm_backward = norm.layernorm_backward
    adalayernorm = norm.adalayernorm
    adalayernorm_backward = norm.adalayernorm_backward
    instancenorm = norm.instancenorm
    instancenorm_backward = norm.instancenorm_backward
    rmsnorm = norm.rmsnorm
    rmsnorm_backward = norm.rmsnorm_backward

    sdpa = attention.sdpa
    sdpa_backward = attention.sdpa_backward
    scaled_dot_product_flash_attention = attention.scaled_dot_product_flash_attention
    scaled_dot_product_flash_attention_backward = attention.scaled_dot_product_flash_attention_backward

    sdpa_fp8 = attention_fp8.sdpa_fp8
    sdpa_fp8_backward = attention_fp8.sdpa_fp8_backward
    sdpa_mxfp8 = attention_mxfp8.sdpa_mxfp8
    sdpa_mxfp8_backward = attention_mxfp8.sdpa_mxfp8_backward
    block_scale_quantize = block_scale.block_scale_quantize
    block_scale_dequantize = block_scale.block_scale_dequantize

    rope = rows.rope
    rope_backward = rows.rope_backward
    moe_grouped_matmul = rows.moe_grouped_matmul
    moe_grouped_matmul_bwd = rows.moe_grouped_matmul_bwd

    # what the graph consists of

    nodes = property(introspection.nodes)
    tensors = property(introspection.tensors)
    context = property(introspection.context)
    plans = property(introspection.plans)
    selected_engine = property(introspection.selected_engine)
    backend_plan_entries = introspection.backend_plan_entries
    select_plan = introspection.select_plan
    find_tensor = introspection.find_tensor
    get_node = introspection.get_node
    get_inputs = introspection.get_inputs
    get_outputs = introspection.get_outputs
    inspect = introspection.inspect

    # plans, execution, files and answers: functions of the modules beside this one

    create_execution_plans = plan_methods.create_execution_plans
    create_execution_plan = plan_methods.create_execution_plan
    check_support = plan_methods.check_support
    build_plans = plan_methods.build_plans
    build_plan_at_index = plan_methods.build_plan_at_index
    get_workspace_size = plan_methods.get_workspace_size
    get_workspace_size_plan_at_index = plan_methods.get_workspace_size_plan_at_index
    get_execution_plan_count = plan_methods.get_execution_plan_count
    get_plan_name = plan_methods.get_plan_name
    get_plan_name_at_index = plan_methods.get_plan_name_at_index
    get_plan_source = plan_methods.get_plan_source
    get_plan_source_at_index = plan_methods.get_plan_source_at_index
    get_engine_and_knobs_at_index = plan_methods.get_engine_and_knobs_at_index
    get_behavior_notes = plan_methods.get_behavior_notes
    get_behavior_notes_for_plan_at_index = plan_methods.get_behavior_notes_for_plan_at_index
    get_numeric_notes_for_plan_at_index = plan_methods.get_numeric_notes_for_plan_at_index
    get_engine_count = plan_methods.get_engine_count
    get_knobs_for_engine = plan_methods.get_knobs_for_engine
    select_numeric_notes = plan_methods.select_numeric_notes
    deselect_numeric_notes = plan_methods.deselect_numeric_notes
    select_behavior_notes = plan_methods.select_behavior_notes
    deselect_behavior_notes = plan_methods.deselect_behavior_notes
    deselect_engines = plan_methods.deselect_engines
    deselect_workspace_greater_than = plan_methods.deselect_workspace_greater_than

    execute = execution.execute
    execute_plan_at_index = execution.execute_plan_at_index
    bind = execution.bind
    populate_cuda_graph = cuda_graphs.populate_cuda_graph
    update_cuda_graph = cuda_graphs.update_cuda_graph
    get_cuda_graph_retention = cuda_graphs.get_cuda_graph_retention
    autotune = execution.autotune

    to_json = files.to_json
    serialize_as = files.serialize_as
    serialize = files.serialize
    deserialize = files.deserialize

    explain = answers.explain
    check_against = answers.check_against
    to_dot = answers.to_dot
    to_mermaid = answers.to_mermaid
    to_svg = answers.to_svg
    _repr_html_ = answers.nodes_as_html
    _repr_svg_ = answers.picture
    reproducer = answers.reproducer

    def __str__(self) -> str:
        return str(self._graph)

    def __repr__(self) -> str:
        return repr(self._graph)


_parse_retention = cuda_graph_retention.parse
_parse_scalar = scalar_type.parse  # in the class the name is an argument as well


def _checked(value: Any, kind: type[Any], argument: str) -> Any:
    """Demand an object of a class, or None."""
    if value is not None and not isinstance(value, kind):
        expected = f"what create_{argument.replace('property', 'properties')}() returns"
        raise fail("PG-NODE-004", argument=argument, expected=expected, got=type(value).__name__)
    return value


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
