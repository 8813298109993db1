"""Mistakes, each with the error's class, id and fix: wrong tensors, operations, graphs, variant packs and calls."""

from __future__ import annotations

import re

import mistakes_attention
import mistakes_graphs
import mistakes_operations
import numpy as np
import pytest
from graphs import new
from mistakes import CASES, NOT_SUPPORTED, PACK, VALUE, check, out, x

import portadnn.graph as cudnn
from portadnn.graph.lowering import LOWERINGS
from portadnn.graph.node import KINDS

_ = mistakes_attention, mistakes_graphs, mistakes_operations  # they fill the table


@pytest.mark.parametrize(("function", "id", "error", "words"), CASES)
def test_wrong_graphs(function, id, error, words):
    g = new()
    with pytest.raises(error) as caught:
        (function(g) or g).build()
    check(caught.value, id, error, words)


# variant packs and calls, on a graph that is right

PACKS = []


def wrong_pack(id, error, *words):
    def add(function):
        PACKS.append(pytest.param(function, id, error, words, id=f"{id}-{function.__name__}"))
        return function

    return add


@pytest.fixture(scope="module")
def built():
    """A graph with three tensors in its packs, a virtual and a constant one."""
    g = new()
    a, b = x(g, 2, 3, name="a"), x(g, 2, 3, name="b")
    total = g.add(a, b)
    half = g.tensor_scalar(0.5, cudnn.scalar_type.COMPILE_TIME_CONST).set_name("half")
    y = out(g.mul(total, half)).set_name("y")
    g.build()
    return g, a, b, y, total, half


def six():
    return np.ones((2, 3), np.float32)


@wrong_pack("PG-PACK-001", PACK, "'b'", "'y'", "add the keys")
def two_are_missing(g, a, b, y, total, half):
    g.execute({a: six()})


@wrong_pack("PG-PACK-001", PACK, "'b'")
def none_for_a_tensor(g, a, b, y, total, half):
    g.execute({a: six(), b: None, y: six(), None: six()})


@wrong_pack("PG-PACK-002", PACK, "'a'", "got 'c'")
def a_name_of_nothing(g, a, b, y, total, half):
    g.execute({"c": six(), b: six(), y: six()})


@wrong_pack("PG-PACK-004", PACK, "24 bytes", "20 bytes", "'b'")
def a_short_buffer(g, a, b, y, total, half):
    g.execute({a: six(), b: six().ravel()[:5], y: six()})


@wrong_pack("PG-PACK-005", PACK, "float32", "float64", "convert")
def another_type(g, a, b, y, total, half):
    g.execute({a: six(), b: six().astype(np.float64), y: six()})


@wrong_pack("PG-PACK-006", PACK, "builtins.list")
def a_list(g, a, b, y, total, half):
    g.execute({a: six(), b: [1.0] * 6, y: six()})


@wrong_pack("PG-PACK-006", PACK, "dict")
def no_dict(g, a, b, y, total, half):
    g.execute([six()] * 3)


@wrong_pack("PG-PACK-006", PACK, "negative strides")
def backwards(g, a, b, y, total, half):
    g.execute({a: six(), b: six()[::-1], y: six()})


@wrong_pack("PG-PACK-007", PACK, "writable", "'y'")
def a_read_only_output(g, a, b, y, total, half):
    fixed = six()
    fixed.flags.writeable = False
    g.execute({a: six(), b: six(), y: fixed})


@wrong_pack("PG-PACK-008", PACK, "pass it once")
def one_tensor_twice(g, a, b, y, total, half):
    g.execute({a: six(), a.get_uid(): six(), b: six(), y: six()})


@wrong_pack("PG-PACK-009", PACK, "RUNTIME_PARAM", "'half'")
def another_constant(g, a, b, y, total, half):
    g.execute({a: six(), b: six(), y: six(), half: 2.0})


@wrong_pack("PG-PACK-010", PACK, "'y'", "'b'")
def an_output_on_an_input(g, a, b, y, total, half):
    shared = np.ones(7, np.float32)
    g.execute({a: six(), b: shared[:6], y: shared[1:]})


@wrong_pack("PG-PLAN-001", VALUE, "graph.build(")
def before_it_is_built(g, a, b, y, total, half):
    new().execute({})


@wrong_pack("PG-PLAN-001", VALUE, "build_operation_graph()")
def plans_before_the_graph(g, a, b, y, total, half):
    new().create_execution_plans([cudnn.heur_mode.A])


@wrong_pack("PG-PLAN-002", VALUE, "got 9")
def a_plan_of_no_number(g, a, b, y, total, half):
    g.execute_plan_at_index({a: six(), b: six(), y: six()}, None, 9)


@wrong_pack("PG-PLAN-003", VALUE, "12345")
def no_handle(g, a, b, y, total, half):
    g.execute({a: six(), b: six(), y: six()}, handle=12345)


@wrong_pack("PG-PLAN-004", VALUE, "[heur_mode.A, heur_mode.FALLBACK]")
def one_mode_without_a_list(g, a, b, y, total, half):
    g.create_execution_plans(cudnn.heur_mode.A)


@wrong_pack("PG-PLAN-005", NOT_SUPPORTED, "override_uids")
def other_shapes(g, a, b, y, total, half):
    g.execute({}, None, override_uids=[1], override_shapes=[[1]], override_strides=[[1]])


@wrong_pack("PG-PLAN-006", VALUE, "engine_id")
def knobs_of_no_engine(g, a, b, y, total, half):
    g.get_knobs_for_engine(17)


@wrong_pack("PG-ENGINE-001", NOT_SUPPORTED, "TENSOR_CORE", "PG-ENGINE-006")
def notes_that_no_engine_has(g, a, b, y, total, half):
    other = new()
    out(other.relu(x(other, 3)))
    other.select_numeric_notes([cudnn.numerical_note.TENSOR_CORE])
    other.build()


@pytest.mark.parametrize(("function", "id", "error", "words"), PACKS)
def test_wrong_packs_and_calls(built, function, id, error, words):
    with pytest.raises(error) as caught:
        function(*built)
    check(caught.value, id, error, words)
    g, a, b, y, *_ = built
    result = np.empty((2, 3), np.float32)
    g.execute({a: six(), b: six(), y: result})  # the graph is none the worse
    assert (result == 1).all()


def test_a_failed_call_leaves_its_output_alone(built):
    g, a, _, y, *_ = built
    result = np.full((2, 3), 7, np.float32)
    with pytest.raises(PACK):
        g.execute({a: six(), y: result})
    assert (result == 7).all()


def test_the_table_of_rules():
    """Ids are well-formed and unique, each is raised somewhere in a test, but for those of devices and of notes."""
    tested = {case.values[1] for case in (*CASES, *PACKS)}
    assert all(re.fullmatch(r"PG-[A-Z]+-\d{3}", id) for id in cudnn.RULES)
    elsewhere = {f"PG-ENGINE-00{i}" for i in range(2, 9)} | {
        "PG-CHECK-001",
        "PG-CHECK-002",
        "PG-PICTURE-001",
        "PG-SURFACE-001",
        "PG-SURFACE-002",
        "PG-PACK-011",
        "PG-SHAPE-007",
        *(f"PG-FILE-00{i}" for i in range(1, 6)),
        *(f"PG-FUSION-00{i}" for i in range(1, 4)),
        *(f"PG-PRODUCT-00{i}" for i in range(1, 7)),
        "PG-REGION-001",
        *(f"PG-WRAP-00{i}" for i in range(1, 6)),
        "PG-PACK-003",
        "PG-PACK-012",
        "PG-PLAN-007",
        "PG-PACK-013",
        "PG-PACK-014",
        "PG-PLAN-008",
        "PG-PLAN-009",
        "PG-TENSOR-020",
        "PG-GRAPH-006",
    }
    assert set(cudnn.RULES) - tested == elsewhere
    assert len(CASES) + len(PACKS) >= 80


def test_every_kind_has_a_definition():
    from portadnn_backends.reference.graph_definitions.nodes import DEFINITIONS

    assert set(DEFINITIONS) == set(KINDS)
    assert set(LOWERINGS) <= set(KINDS)
