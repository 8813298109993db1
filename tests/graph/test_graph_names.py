"""The names of cudnn-frontend 1.32, all there but for those that are told; and what a graph shows of itself."""

import inspect
import sys

import numpy as np
import pytest

import portadnn.graph as cudnn
from portadnn.graph.api import cute_dsl
from portadnn.graph.node import KINDS


def words(text):
    """Return the words of a text."""
    return set(text.split())


# of its module: what it imports at once
MODULE = words("""
backend_version backend_version_string get_last_error_string norm_forward_phase reduction_mode behavior_note
cuda_graph_retention knob_type FRONTEND_KNOB_TYPE_BASE is_frontend_knob_type create_kernel_cache
create_device_properties numerical_note build_plan_policy data_type tensor_reordering heur_mode tensor knob
cudnnGraphNotSupportedError diagonal_alignment attention_implementation moe_grouped_matmul_mode scalar_type
reshape_mode create_handle destroy_handle get_stream set_stream Handle DeviceInfo __version__ NodeType Tensor
pygraph GraphContext Node handle graph jit graph_cache sdpa_capabilities Graph wrapper ops experimental engines
""")
MODULE_MISSING = {"engines"}

# of its class pygraph, and of the class behind it
PYGRAPH = words("""
abs adalayernorm adalayernorm_backward add add_square backend_plan_entries batchnorm batchnorm_backward
batchnorm_inference bias binary_select block_scale_dequantize block_scale_quantize build build_operation_graph
build_plan_at_index build_plans ceil check_support cmp_eq cmp_ge cmp_gt cmp_le cmp_lt cmp_neq concatenate context
conv_dgrad conv_fprop conv_wgrad cos create_execution_plan create_execution_plans deselect_behavior_notes
deselect_engines deselect_numeric_notes deselect_workspace_greater_than deserialize div elu elu_backward erf execute
execute_plan_at_index exp find_tensor floor gelu gelu_approx_tanh gelu_approx_tanh_backward gelu_backward gen_index
genstats get_behavior_notes get_behavior_notes_for_plan_at_index get_cuda_graph_retention
get_engine_and_knobs_at_index get_engine_count get_execution_plan_count get_inputs get_knobs_for_engine get_node
get_outputs get_plan_name_at_index get_workspace_size get_workspace_size_plan_at_index identity inspect instancenorm
instancenorm_backward key layernorm layernorm_backward leaky_relu leaky_relu_backward log logical_and logical_not
logical_or matmul max min mod moe_grouped_matmul moe_grouped_matmul_bwd mul neg nodes plans populate_cuda_graph pow
query_tensor_attributes_of_uid reciprocal reduction relu relu_backward reshape rmsnorm rmsnorm_backward rope
rope_backward rsqrt scale scaled_dot_product_flash_attention scaled_dot_product_flash_attention_backward sdpa
sdpa_backward sdpa_fp8 sdpa_fp8_backward sdpa_mxfp8 sdpa_mxfp8_backward select_behavior_notes select_numeric_notes
select_plan selected_engine serialize sigmoid sigmoid_backward sin slice softplus softplus_backward sqrt sub swish
swish_backward tan tanh tanh_backward tensor tensor_like tensor_scalar tensors transpose update_cuda_graph validate
gdn gdn2 gdn2_bwd gdn2_summary gdn2_summary_bwd gdn_bwd gdn_summary gdn_summary_bwd gdp gdp_bwd gdp_summary
gdp_summary_bwd kda kda_bwd kda_summary kda_summary_bwd mamba2 mamba2_bwd mamba2_summary mamba2_summary_bwd
""")
LINEAR_ATTENTION = {name for name in PYGRAPH if name.partition("_")[0] in ("gdn", "gdn2", "gdp", "kda", "mamba2")}


def test_the_module_has_the_names():
    assert {name for name in MODULE if not hasattr(cudnn, name)} == MODULE_MISSING


def test_the_class_has_the_names():
    assert all(hasattr(cudnn.pygraph, name) for name in PYGRAPH)
    assert set(cute_dsl.NODES) == LINEAR_ATTENTION


# keywords that 1.32 names otherwise than 1.23, or has besides
KEYWORDS = {
    "sdpa": "cu_seq_len_q cu_seq_len_kv stats_use_log2 max_total_seq_len_q max_total_seq_len_kv unfuse_fma",
    "sdpa_fp8": "cu_seq_len_q cu_seq_len_kv stats_use_log2 max_total_seq_len_q max_total_seq_len_kv implementation",
    "sdpa_mxfp8": "cu_seq_len_q cu_seq_len_kv paged_attention_k_table paged_attention_v_table"
    " paged_attention_max_seq_len_kv",
    "reduction": "group_offset",
    "block_scale_quantize": "group_offset",
    "get_workspace_size_plan_at_index": "handle override_uids override_shapes override_strides",
    "deserialize": "enforce_precompiled",
    "execute": "tensor_dict tensor_uids",
}


def test_methods_have_the_keywords():
    for name, keywords in KEYWORDS.items():
        assert words(keywords) <= inspect.signature(getattr(cudnn.pygraph, name)).parameters.keys(), name


def test_keywords_of_both_versions():
    g, a, b, c = example()
    g.build(heuristics=[cudnn.heur_mode.A])
    written = g.serialize()
    g.deselect_engines(engine_names=["none"]).deselect_workspace_greater_than(workspace_limit=1 << 20)
    ones = {a: np.ones((1, 2, 3), np.float32), b: np.ones((1, 3, 4), np.float32), c: np.empty((1, 2, 4), np.float32)}
    g.execute(tensor_dict=ones)
    assert (ones[c] == 3).all()
    other = cudnn.pygraph(handle=cudnn.create_handle("reference"))
    other.deserialize(pyobj=written, enforce_precompiled=False)
    assert other.get_node("mm") is not None
    assert other.tensor_like(template=np.ones((2, 3), np.float32)).get_dim() == [2, 3]
    with pytest.raises(TypeError, match="tensor_or_array"):
        other.tensor_like(np.ones(3), template=np.ones(3))


def test_a_handle_is_a_number_and_an_object():
    opened = cudnn.create_handle("reference")
    assert isinstance(opened, cudnn.Handle)
    assert cudnn.handle is cudnn.Handle
    assert {int(opened): "found"}[opened] == "found"
    assert opened.backend_handle == opened
    assert opened.stream == cudnn.get_stream(opened)
    device = opened.device
    assert isinstance(device, cudnn.DeviceInfo)
    assert (device.ordinal, device.compute_capability, device.sm_version) == (0, (0, 0), 0)
    assert (device.sm_count >= 1, bool(device.device_name), device.device_name in repr(opened)) == (True,) * 3
    assert cudnn.Handle(int(opened)) == opened
    cudnn.destroy_handle(opened)
    assert (opened.backend_handle, opened.stream, "closed" in repr(opened)) == (None, None, True)
    for number in (opened, 10**9, "1", True):
        with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-003"):
            cudnn.Handle(number)
    with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-003"):
        _ = opened.device


def test_every_kind_of_node_has_a_type():
    for kind in KINDS:
        assert kind.upper().replace("BACKWARD", "BWD") in cudnn.NodeType.__members__


def example():
    """Return relu(A @ B), 2 x 3 by 3 x 4 in a batch of 1 and its tensors."""
    opened = cudnn.create_handle("reference")
    float_type = cudnn.data_type.FLOAT
    g = cudnn.pygraph("g", float_type, float_type, float_type, opened)
    a = g.tensor(dim=[1, 2, 3], stride=[6, 3, 1], name="a", uid=7)
    b = g.tensor(dim=[1, 3, 4], stride=[12, 4, 1], name="b")
    c = g.relu(g.matmul(a, b, name="mm"), name="act")
    return g, a, b, c.set_output(True).set_name("c")


def test_a_graph_shows_its_nodes_and_tensors():
    g, a, b, c = example()
    assert [(node.name, node.node_type) for node in g.nodes] == [
        ("mm", cudnn.NodeType.MATMUL),
        ("act", cudnn.NodeType.POINTWISE),
    ]
    assert g.nodes[0].inputs == {"A": a, "B": b}
    assert g.nodes[0].params == {"padding": 0.0}
    assert g.get_node("act").outputs == {"OUT_0": c}
    assert g.get_node("other") is None
    assert (g.tensors["a"], g.find_tensor("c"), g.find_tensor(7), g.find_tensor(99)) == (a, c, a, None)
    assert (g.get_inputs(), g.get_outputs()) == ([a, b], [c])
    assert g.context.io_data_type is cudnn.data_type.FLOAT
    assert (a.dim, a.stride, a.name, a.uid, a.is_virtual) == ([1, 2, 3], [6, 3, 1], "a", 7, False)
    assert (a.uid_assigned, b.uid_assigned, a.pass_by_value, a.scalar_type) == (True, False, None, None)
    g.validate()
    told = g.inspect()
    assert told["tensors"]["c"] == {
        "dim": [1, 2, 4],
        "stride": [8, 4, 1],
        "dtype": "FLOAT",
        "is_virtual": False,
        "uid": 0,
    }
    assert [(n["name"], n["type"], n["outputs"]) for n in told["nodes"]] == [
        ("mm", "MATMUL", {"C": "mm::C"}),
        ("act", "POINTWISE", {"OUT_0": "c"}),
    ]


def test_a_name_of_two_tensors_names_none():
    g, a, _, _ = example()
    a.set_name("b")
    with pytest.raises(cudnn.InvalidTensorName):
        g.find_tensor("b")


def test_a_plan_is_selected_by_its_number():
    g, a, b, c = example()
    assert g.plans == []
    g.validate()
    g.build_operation_graph()
    g.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    assert [plan.cpp_index for plan in g.plans] == list(range(g.get_execution_plan_count()))
    assert g.backend_plan_entries() == g.plans
    last = len(g.plans) - 1
    assert g.get_engine_and_knobs_at_index(last) == (g.plans[last].engine_id, g.plans[last].knobs)
    assert g.select_plan(last) is g
    g.check_support()
    g.build_plans()
    assert g.get_plan_name() == g.get_plan_name_at_index(last)
    out, ones = np.empty((1, 2, 4), np.float32), np.ones((1, 3, 4), np.float32)
    g.execute({a: np.ones((1, 2, 3), np.float32), b: ones, c: out})
    assert (out == 3).all()
    with pytest.raises(cudnn.InvalidValue, match="PG-PLAN-002"):
        g.select_plan(last + 1)


def test_kernels_in_cute_dsl_are_an_import_error():
    with pytest.raises(ImportError, match=r"GemmSwigluSm100.*CuTe DSL.*pygraph"):
        getattr(cudnn, "GemmSwigluSm100")  # noqa: B009
    with pytest.raises(ImportError, match="grouped_gemm"):
        from portadnn.graph import grouped_gemm  # noqa: F401
    with pytest.raises(AttributeError, match="no attribute"):
        getattr(cudnn, "no_such_name")  # noqa: B009
    assert not hasattr(cudnn, "no_such_name")


def test_modules_that_are_not_here_are_no_attributes():
    """Who looks through all modules for a name, as pickle does for PyTorch's compiler, meets AttributeError alone."""
    for name in cute_dsl.MODULES:
        assert not hasattr(cudnn, name)
        assert not hasattr(cudnn.ops, name)
    ours = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "portadnn"]
    assert cudnn in ours
    assert not any(hasattr(getattr(module, "torch", None), "nothing") for module in ours)
    with pytest.raises(ImportError, match="CuTe DSL"):
        from portadnn.graph import torch  # noqa: F401
    with pytest.raises(ImportError, match="CuTe DSL"):
        from portadnn.graph.ops import fla  # noqa: F401


def test_values_are_those_of_1_32():
    """As its compiled module has them: no integers, but with numbers."""
    assert (int(cudnn.moe_grouped_matmul_mode.COMBINE), int(cudnn.cuda_graph_retention.NONE)) == (4, 1)
    assert cudnn.data_type.HALF != 3
    assert not isinstance(cudnn.data_type.HALF, int)
    assert cudnn.data_type(3) is cudnn.data_type["HALF"]
    assert [cudnn.is_frontend_knob_type(kind) for kind in ("TILE_CGA", "SCHED_POLICY")] == [False, True]
    assert int(cudnn.knob_type.WARPS_N) == cudnn.FRONTEND_KNOB_TYPE_BASE + 9
