"""What programs do wrong with backend descriptors: each mistake has the status that cuDNN documents, and says why."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from descriptors import T, assign, created, data, get, graph_of, make, plan_of, pointwise

from portadnn import DnnError, cudnn
from portadnn.c_names.graph_descriptors import kinds
from portadnn.graph.node import KINDS

NOT_INITIALIZED, BAD_PARAM, NOT_SUPPORTED = 1, 3, 9
MISTAKES: dict[str, tuple[int, tuple[str, ...], Callable[[], object]]] = {}


def wrong(status, *texts):
    def keep(function):
        MISTAKES[function.__name__] = (status, texts, function)
        return function

    return keep


def finalize(made):
    cudnn.cudnnBackendFinalize(made)


def handle():
    return cudnn.cudnnCreate(backend="reference")


def relu(x, y):
    return pointwise("RELU_FWD", x, y)


# setting attributes


@wrong(NOT_INITIALIZED, "not finalized", "CUDNN_BACKEND_TENSOR_DESCRIPTOR, finalized")
def set_after_finalize():
    assign(T([2]), "UNIQUE_ID", 3)


@wrong(BAD_PARAM, "an attribute of CUDNN_BACKEND_MATMUL_DESCRIPTOR", "CUDNN_ATTR_TENSOR_UNIQUE_ID")
def an_attribute_of_another_descriptor():
    name = cudnn.CUDNN_ATTR_TENSOR_UNIQUE_ID
    cudnn.cudnnBackendSetAttribute(created("MATMUL"), name, cudnn.CUDNN_TYPE_INT64, 1, [3])


@wrong(NOT_SUPPORTED, "CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC")
def an_attribute_that_graphs_lack():
    name = cudnn.CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC
    cudnn.cudnnBackendSetAttribute(created("OPERATION_MATMUL"), name, cudnn.CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, [T([1])])


@wrong(BAD_PARAM, "attributeName", "got 123456")
def no_attribute():
    cudnn.cudnnBackendSetAttribute(created("MATMUL"), 123456, cudnn.CUDNN_TYPE_INT64, 1, [3])


@wrong(BAD_PARAM, "CUDNN_ATTR_ENGINEHEUR_RESULTS, read only")
def a_result_that_is_set():
    assign(created("ENGINEHEUR"), "RESULTS", make("MATMUL", COMP_TYPE=data("FLOAT")))


@wrong(BAD_PARAM, "CUDNN_TYPE_INT64 for CUDNN_ATTR_TENSOR_UNIQUE_ID", "CUDNN_TYPE_DOUBLE")
def a_wrong_type():
    assign(created("TENSOR"), "UNIQUE_ID", 3, "DOUBLE")


@wrong(BAD_PARAM, "elementCount", "1 to 8", "got 9")
def too_many_elements():
    assign(created("TENSOR"), "DIMENSIONS", [1] * 9)


@wrong(BAD_PARAM, "elementCount", "expected 1 for CUDNN_ATTR_TENSOR_UNIQUE_ID", "got 2")
def two_elements_for_one():
    assign(created("TENSOR"), "UNIQUE_ID", [1, 2])


@wrong(BAD_PARAM, "elementCount = 3", "got 2")
def fewer_elements_than_said():
    name, kind = cudnn.CUDNN_ATTR_TENSOR_DIMENSIONS, cudnn.CUDNN_TYPE_INT64
    cudnn.cudnnBackendSetAttribute(created("TENSOR"), name, kind, 3, [1, 2])


@wrong(BAD_PARAM, "arrayOfElements[1]", "an integer", "2.5")
def a_dim_that_is_no_integer():
    assign(created("TENSOR"), "DIMENSIONS", [1, 2.5])


@wrong(BAD_PARAM, "True or False", "2")
def a_boolean_that_is_none():
    assign(created("TENSOR"), "IS_VIRTUAL", 2)


@wrong(BAD_PARAM, "cudnnDataType_t", "got 99")
def no_data_type():
    assign(created("TENSOR"), "DATA_TYPE", 99)


@wrong(NOT_SUPPORTED, "CUDNN_POINTWISE_ATAN2")
def a_mode_that_is_missing():
    assign(created("POINTWISE"), "MODE", cudnn.CUDNN_POINTWISE_ATAN2)


@wrong(BAD_PARAM, "a backend descriptor (cudnnBackendCreateDescriptor)", "NULL")
def no_descriptor():
    cudnn.cudnnBackendSetAttribute(None, cudnn.CUDNN_ATTR_MATMUL_COMP_TYPE, cudnn.CUDNN_TYPE_DATA_TYPE, 1, [0])


@wrong(BAD_PARAM, "destroyed")
def a_destroyed_descriptor():
    made = created("TENSOR")
    cudnn.cudnnBackendDestroyDescriptor(made)
    assign(made, "UNIQUE_ID", 3)


@wrong(BAD_PARAM, "a finalized descriptor", "CUDNN_BACKEND_TENSOR_DESCRIPTOR, not yet")
def a_tensor_that_is_not_finalized():
    assign(created("OPERATION_MATMUL"), "ADESC", created("TENSOR"))


@wrong(
    BAD_PARAM, "CUDNN_BACKEND_TENSOR_DESCRIPTOR for CUDNN_ATTR_OPERATION_MATMUL_ADESC", "MATMUL_DESCRIPTOR: finalized"
)
def a_descriptor_of_another_kind():
    assign(created("OPERATION_MATMUL"), "ADESC", make("MATMUL", COMP_TYPE=data("FLOAT")))


@wrong(BAD_PARAM, "a descriptor of an operation")
def a_graph_of_tensors():
    graph_of(handle(), T([2]))


@wrong(BAD_PARAM, "PG-PLAN-003", "handle")
def no_handle():
    assign(created("OPERATIONGRAPH"), "HANDLE", "handle")


# finalizing


@wrong(BAD_PARAM, "CUDNN_ATTR_TENSOR_UNIQUE_ID", "CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT", "CUDNN_ATTR_TENSOR_STRIDES")
def a_tensor_with_dims_alone():
    make("TENSOR", DIMENSIONS=[2, 3], DATA_TYPE=data("FLOAT"))


@wrong(BAD_PARAM, "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA")
def a_convolution_without_beta():
    make(
        "OPERATION_CONVOLUTION_FORWARD", CONV_DESC=how(), X=T([1, 1, 3, 3]), W=T([1, 1, 3, 3]), Y=T([1] * 4), ALPHA=1.0
    )


@wrong(BAD_PARAM, "one that is not finalized")
def finalized_twice():
    finalize(T([2]))


@wrong(BAD_PARAM, "PG-TENSOR-004", "[2, 0]")
def a_dim_of_zero():
    T([2, 0], strides=[1, 1])


@wrong(BAD_PARAM, "PG-TENSOR-010", "2 strides")
def three_strides_for_two_dims():
    T([2, 3], strides=[3, 1, 1])


@wrong(BAD_PARAM, "PG-TENSOR-016", "power of two")
def an_odd_alignment():
    make("TENSOR", UNIQUE_ID=1, DATA_TYPE=data("FLOAT"), DIMENSIONS=[2], STRIDES=[1], BYTE_ALIGNMENT=3)


@wrong(BAD_PARAM, "PG-TENSOR-008")
def a_number_of_two_elements():
    T([2], IS_BY_VALUE=True)


@wrong(NOT_SUPPORTED, "PG-TYPE-003", "INT8x4")
def a_packed_type():
    T([2], kind="INT8x4")


@wrong(NOT_SUPPORTED, "PG-TENSOR-018")
def vectors():
    T([2, 4], kind="INT8", VECTOR_COUNT=4, VECTORIZED_DIMENSION=1)


@wrong(NOT_SUPPORTED, "PG-TENSOR-018", "F16x16")
def another_order():
    T([2, 4], REORDERING_MODE=cudnn.CUDNN_TENSOR_REORDERING_F16x16)


def how(pre=(0, 0), spatial=2):
    return make(
        "CONVOLUTION",
        COMP_TYPE=data("DOUBLE"),
        CONV_MODE=cudnn.CUDNN_CROSS_CORRELATION,
        SPATIAL_DIMS=spatial,
        PRE_PADDINGS=list(pre),
        POST_PADDINGS=[0, 0],
        FILTER_STRIDES=[1, 1],
        DILATIONS=[1, 1],
    )


@wrong(BAD_PARAM, "CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS", "2 elements", "got 3")
def three_paddings_for_two_dims():
    how(pre=(0, 0, 0))


def forward(y=(1, 1, 1, 1), beta=0.0, w=(1, 1, 3, 3)):
    x, w, y = T([1, 1, 3, 3]), T(w), T(y)
    return make("OPERATION_CONVOLUTION_FORWARD", CONV_DESC=how(), X=x, W=w, Y=y, ALPHA=1.0, BETA=beta)


@wrong(BAD_PARAM, "PG-NODE-008", "convolution_forward", "[1, 1, 1, 1]", "[1, 1, 2, 2]")
def an_output_of_other_dims():
    forward(y=(1, 1, 2, 2))


@wrong(BAD_PARAM, "PG-CONV-006")
def a_filter_that_is_too_large():
    forward(w=(1, 1, 4, 4))


@wrong(NOT_SUPPORTED, "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA", "CUDNN_POINTWISE_ADD", "0.5")
def a_blended_output():
    forward(beta=0.5)


@wrong(BAD_PARAM, "XDESC, BDESC, YDESC for CUDNN_POINTWISE_ADD", "got XDESC, YDESC")
def one_operand_for_two():
    pointwise("ADD", T([2]), T([2]))


@wrong(BAD_PARAM, "DYDESC, XDESC, DXDESC for CUDNN_POINTWISE_RELU_BWD")
def a_gradient_without_a_loss():
    pointwise("RELU_BWD", T([2]), dx=T([2]))


@wrong(BAD_PARAM, "PG-POINTWISE-002")
def operands_that_do_not_broadcast():
    pointwise("ADD", T([2, 3]), T([2, 3]), T([2, 4]))


@wrong(BAD_PARAM, "PG-MATMUL-001", "matmul 'matmul'")
def inner_dims_that_differ():
    make(
        "OPERATION_MATMUL", DESC=make("MATMUL", COMP_TYPE=0), ADESC=T([1, 2, 3]), BDESC=T([1, 4, 5]), CDESC=T([1, 2, 5])
    )


@wrong(BAD_PARAM, "PG-REDUCE-002")
def a_dim_that_is_neither_kept_nor_reduced():
    how = make("REDUCTION", OPERATOR=cudnn.CUDNN_REDUCE_TENSOR_ADD, COMP_TYPE=0)
    make("OPERATION_REDUCTION", DESC=how, XDESC=T([4, 3]), YDESC=T([2, 3]))


def norm(mode="LAYER", phase="TRAINING", **more):
    mode, phase = getattr(cudnn, f"CUDNN_{mode}_NORM"), getattr(cudnn, f"CUDNN_NORM_FWD_{phase}")
    tensors = {"XDESC": T([2, 3]), "YDESC": T([2, 3]), "SCALE_DESC": T([1, 3]), "BIAS_DESC": T([1, 3])}
    epsilon = T([1, 1], IS_BY_VALUE=True)
    return make("OPERATION_NORM_FORWARD", MODE=mode, PHASE=phase, EPSILON_DESC=epsilon, **tensors, **more)


@wrong(BAD_PARAM, "CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC", "CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC")
def training_without_statistics():
    norm()


@wrong(NOT_SUPPORTED, "CUDNN_LAYER_NORM", "CUDNN_GROUP_NORM")
def group_norm():
    norm("GROUP")


@wrong(NOT_SUPPORTED, "PG-NORM-004")
def statistics_of_peers():
    norm("BATCH", PEER_STAT_DESCS=[T([2, 4])], MEAN_DESC=T([1, 3]), INV_VARIANCE_DESC=T([1, 3]))


@wrong(NOT_SUPPORTED, "CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE")
def statistics_of_inference():
    tensors = {f"{name}_DESC": T([1, 3]) for name in ("Y_SUM", "Y_SQ_SUM", "SCALE", "BIAS", "EQ_SCALE", "EQ_BIAS")}
    scalars = {f"{name}_DESC": T([1, 1], IS_BY_VALUE=True) for name in ("EPSILON", "ACCUM_COUNT")}
    mode = cudnn.CUDNN_BN_FINALIZE_STATISTICS_INFERENCE
    make("OPERATION_BN_FINALIZE_STATISTICS", STATS_MODE=mode, MATH_PREC=data("FLOAT"), **tensors, **scalars)


@wrong(BAD_PARAM, "read only")
def a_description_that_is_finalized():
    finalize(created("KNOB_INFO"))


# graphs, engines and plans


@wrong(BAD_PARAM, "PG-GRAPH-004")
def a_cycle():
    a, b = T([2], virtual=True), T([2], virtual=True)
    graph_of(handle(), relu(a, b), relu(b, a))


@wrong(BAD_PARAM, "PG-GRAPH-005")
def in_place_in_a_graph_of_two():
    a = T([2])
    graph_of(handle(), relu(a, a), relu(a, T([2])))


@wrong(BAD_PARAM, "one tensor with the uid 7", "dims (2,) and (3,)")
def two_tensors_of_one_uid():
    graph_of(handle(), relu(T([2], uid=7), T([2])), relu(T([3], uid=7), T([3])))


@wrong(BAD_PARAM, "PG-GRAPH-003")
def a_tensor_that_two_operations_write():
    y = T([2])
    graph_of(handle(), relu(T([2]), y), relu(T([2]), y))


@wrong(BAD_PARAM, "PG-TENSOR-007", "uid 8")
def a_virtual_tensor_that_nobody_writes():
    graph_of(handle(), relu(T([2], uid=8, virtual=True), T([2])))


@wrong(BAD_PARAM, "PG-GRAPH-007")
def a_result_that_goes_nowhere():
    graph_of(handle(), relu(T([2]), T([2], virtual=True)))


def small(on=None):
    on = on or handle()
    x, y = T([2, 3], uid=1, kind="FLOAT"), T([2, 3], uid=2, kind="FLOAT")
    return on, graph_of(on, pointwise("RELU_FWD", x, y, prec="FLOAT"))


@wrong(BAD_PARAM, "CUDNN_ATTR_ENGINE_GLOBAL_INDEX", "0 to 1", "got 5")
def an_engine_that_does_not_exist():
    make("ENGINE", OPERATION_GRAPH=small()[1], GLOBAL_INDEX=5)


def knob(kind="STAGES", value=1):
    return make("KNOB_CHOICE", KNOB_TYPE=getattr(cudnn, f"CUDNN_KNOB_TYPE_{kind}"), KNOB_VALUE=value)


@wrong(BAD_PARAM, "PG-PLAN-006", "STAGES")
def a_knob_that_the_engine_lacks():
    engine = make("ENGINE", OPERATION_GRAPH=small()[1], GLOBAL_INDEX=0)
    make("ENGINECFG", ENGINE=engine, KNOB_CHOICES=[knob()])


@wrong(BAD_PARAM, "each knob once")
def a_knob_twice():
    engine = make("ENGINE", OPERATION_GRAPH=small()[1], GLOBAL_INDEX=0)
    make("ENGINECFG", ENGINE=engine, KNOB_CHOICES=[knob(), knob(value=2)])


@wrong(NOT_SUPPORTED, "CUDNN_KNOB_TYPE_WINO_TILE")
def a_knob_that_graphs_lack():
    knob("WINO_TILE")


@wrong(BAD_PARAM, "CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG or CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION", "none")
def a_plan_of_nothing():
    make("EXECUTION_PLAN", HANDLE=handle())


@wrong(BAD_PARAM, "PG-FILE-001")
def a_plan_of_another_text():
    plan = created("EXECUTION_PLAN")
    assign(plan, "HANDLE", handle())
    name, kind = cudnn.CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, cudnn.CUDNN_TYPE_CHAR
    cudnn.cudnnBackendSetAttribute(plan, name, kind, 9, '{"no": 1}')
    finalize(plan)


# reading attributes


@wrong(NOT_INITIALIZED, "a finalized descriptor")
def get_before_finalize():
    get(created("TENSOR"), "UNIQUE_ID")


@wrong(BAD_PARAM, "an attribute of CUDNN_BACKEND_TENSOR_DESCRIPTOR")
def get_of_another_descriptor():
    name = cudnn.CUDNN_ATTR_MATMUL_COMP_TYPE
    cudnn.cudnnBackendGetAttribute(T([2]), name, cudnn.CUDNN_TYPE_DATA_TYPE, 1)


@wrong(BAD_PARAM, "CUDNN_TYPE_INT64 for CUDNN_ATTR_TENSOR_DIMENSIONS", "CUDNN_TYPE_INT32")
def get_of_another_type():
    cudnn.cudnnBackendGetAttribute(T([2]), cudnn.CUDNN_ATTR_TENSOR_DIMENSIONS, cudnn.CUDNN_TYPE_INT32, 1)


@wrong(BAD_PARAM, "requestedElementCount", "-1")
def a_negative_request():
    cudnn.cudnnBackendGetAttribute(T([2]), cudnn.CUDNN_ATTR_TENSOR_DIMENSIONS, cudnn.CUDNN_TYPE_INT64, -1)


def results(places):
    heuristics = make("ENGINEHEUR", OPERATION_GRAPH=small()[1], MODE=cudnn.CUDNN_HEUR_MODE_A)
    name, kind = cudnn.CUDNN_ATTR_ENGINEHEUR_RESULTS, cudnn.CUDNN_TYPE_BACKEND_DESCRIPTOR
    return cudnn.cudnnBackendGetAttribute(heuristics, name, kind, 2, arrayOfElements=places)


@wrong(BAD_PARAM, "a list of 2 or more")
def one_place_for_two_results():
    results([created("ENGINECFG")])


@wrong(BAD_PARAM, "arrayOfElements[1]", "CUDNN_BACKEND_ENGINECFG_DESCRIPTOR that is not finalized", "MATMUL")
def a_place_of_another_kind():
    results([created("ENGINECFG"), created("MATMUL")])


# execution


def pack(buffers, workspace=None):
    return make("VARIANT_PACK", UNIQUE_IDS=list(buffers), DATA_POINTERS=list(buffers.values()), WORKSPACE=workspace)


def execute(buffers, on=None):
    on, graph = small(on)
    cudnn.cudnnBackendExecute(on, plan_of(on, graph), pack(buffers))


def array(*dims, dtype=np.float32):
    return np.zeros(dims, dtype)


@wrong(BAD_PARAM, "2 pointers", "got 1")
def fewer_pointers_than_uids():
    make("VARIANT_PACK", UNIQUE_IDS=[1, 2], DATA_POINTERS=[array(2)])


@wrong(BAD_PARAM, "each uid once", "[1]")
def a_uid_twice():
    make("VARIANT_PACK", UNIQUE_IDS=[1, 1], DATA_POINTERS=[array(2), array(2)])


@wrong(BAD_PARAM, "PG-PACK-001", "uid 2")
def no_pointer_for_a_tensor():
    execute({1: array(2, 3)})


@wrong(BAD_PARAM, "PG-PACK-001", "uid 2")
def a_null_pointer():
    execute({1: array(2, 3), 2: None})


@wrong(BAD_PARAM, "PG-PACK-002", "3")
def a_pointer_for_another_uid():
    execute({1: array(2, 3), 2: array(2, 3), 3: array(2)})


@wrong(BAD_PARAM, "PG-PACK-004", "24 bytes")
def a_short_buffer():
    execute({1: array(2, 3), 2: array(2, 2)})


@wrong(BAD_PARAM, "PG-PACK-005", "float64")
def a_buffer_of_another_type():
    execute({1: array(2, 3), 2: array(2, 3, dtype=np.float64)})


@wrong(BAD_PARAM, "variantPack", "a finalized CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR", "not finalized")
def a_pack_that_is_not_finalized():
    on, graph = small()
    cudnn.cudnnBackendExecute(on, plan_of(on, graph), created("VARIANT_PACK"))


@wrong(BAD_PARAM, "executionPlan", "a finalized CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR", "OPERATIONGRAPH")
def a_graph_for_a_plan():
    on, graph = small()
    cudnn.cudnnBackendExecute(on, graph, pack({1: array(2, 3)}))


@wrong(BAD_PARAM, "handle", "None")
def execution_without_a_handle():
    on, graph = small()
    cudnn.cudnnBackendExecute("None", plan_of(on, graph), pack({1: array(2, 3), 2: array(2, 3)}))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name):
    status, texts, function = MISTAKES[name]
    with pytest.raises(DnnError) as caught:
        function()
    error = caught.value
    assert error.status == status, error
    assert error.call.startswith("cudnnBackend")
    for text in texts:
        assert text in str(error), error


def test_there_are_many_mistakes():
    assert len(MISTAKES) >= 60


def test_the_table_has_cudnns_names():
    for kind in kinds().values():
        assert kind.c_name in cudnn.cudnnBackendDescriptorType_t.__members__
        for attribute in kind.attributes.values():
            assert attribute.c_name in cudnn.cudnnBackendAttributeName_t.__members__
            assert {f"CUDNN_TYPE_{type}" for type in attribute.types} <= set(
                cudnn.cudnnBackendAttributeType_t.__members__
            )
            assert not attribute.of or attribute.of == "OPERATION" or attribute.of in kinds()


def test_operations_state_ports_that_their_nodes_have():
    for kind in kinds().values():
        node = KINDS.get(kind.node)
        for attribute in kind.attributes.values() if node else ():
            for name, output in ((attribute.input, False), (attribute.output, True)):
                asked = f"{name}_0" if attribute.most > 1 else name
                assert not name or node.port(asked, output=output), (kind.name, attribute.name)
            names = {each.name for each in node.attributes} | {"compute", ""}
            assert attribute.node in names, (kind.name, attribute.name)
