"""Conformance: what backends' tables say yes to is computed and right, what they say no to is refused with the reason.

Nothing in a table may be left out: with any line gone, `faults` finds something.
"""

import functools

import brute
import cases_rnn
import numpy as np
import pytest
from capability_conformance import cells, faults
from helper import Case, check, every_target, open_handle, unoptimised

import portadnn as dnn
from portadnn import capability
from portadnn.capability import tables as capability_tables
from portadnn.capability.features import Feature, axes, line
from portadnn.dispatch.choice import candidates, prepare
from portadnn.dispatch.problems import with_room
from portadnn.operation import operation, operations
from portadnn.problem import parse
from portadnn_backends.reference.outcomes import outcomes

PARTS = {
    "reference": ("reference", "_library"),
    "opencl": ("opencl",),
    "cuda": ("cuda", "_kernels"),
    "hip": ("hip", "_kernels"),
    "torch": ("torch",),
}
SMALL = {  # what there is memory and time for
    "size": ("small", "empty"),
    "image": ("small",),
    "filter": ("3", "1", "5"),
    "window": ("2",),
}
EVERYWHERE = [target for target in every_target() if not target.slow]
WITH_RESERVE = {
    "multi_head_attn_backward_data",
    "multi_head_attn_forward",
    "rnn_backward_data",
    "rnn_forward_training",
}


@pytest.mark.parametrize("name", sorted(PARTS))
def test_tables_agree_with_problems_and_engines_and_no_line_is_idle(name, tmp_path):
    known = capability.table(name)
    assert list(faults(known, name)) == []
    for path in capability_tables.files()[name].parent.glob("*.toml"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    assert [line for part in PARTS[name] for line in idle_lines(known, tmp_path, part)] == []


def idle_lines(known, folder, part):
    """Yield the lines of a file without which nothing is found wrong with the table."""
    path = folder / f"{part}.toml"
    whole = path.read_text("utf-8").splitlines()
    for number, text in enumerate(whole):
        if text.strip() and not text.startswith("#"):
            path.write_text("\n".join(whole[:number] + whole[number + 1 :]), "utf-8")
            try:
                table = capability.read((folder / f"{known.name}.toml").read_text("utf-8"), known.name, folder)
            except dnn.BadParam:
                continue
            if next(faults(table, known.name, known), None) is None:
                yield f"{part}.toml:{number + 1}: {text}"
    path.write_text("\n".join(whole), "utf-8")


@functools.cache
def chosen(op, backend):
    """Return features that together make each choice of an operation that a table takes, as many at a time as fit."""
    table = capability.table(backend)
    algo_of = operation(op).algorithms.parse if operation(op).algorithms else None
    values = {axis: SMALL.get(axis, all_values) for axis, all_values in axes(op).items()}
    if op.startswith("pooling"):
        values.pop("stride")  # of which one is enormous
    open_choices = [(axis, value) for axis, all_values in values.items() for value in all_values]

    def feature(choices):
        rest = dict(choices)
        algo = rest.pop("algo", None)
        made = Feature(op, "", "", line(op, **rest), None if algo is None else algo_of(algo))
        try:
            made.problem.validate()
        except (dnn.BadParam, dnn.NotSupported):
            return None
        return made if table.judge(made.problem, made.scalars, algo=made.algo).answer != "no" else None

    found = []
    while open_choices:
        choices = {}
        for axis, value in list(open_choices):
            if axis not in choices and feature({**choices, axis: value}):
                choices[axis] = value
                open_choices.remove((axis, value))
        if not choices:
            break  # what is left is refused whatever else is chosen
        found.append(feature(choices))
    return found or list(filter(None, [feature({})]))


def definition(op):
    """Return the oracle of an operation; a reserve space need not have the reference's bytes."""
    return cases_rnn.without_reserve if op in WITH_RESERVE else outcomes


@pytest.mark.parametrize("op", operations())
@pytest.mark.parametrize("target", EVERYWHERE, ids=lambda target: target.name)
def test_what_a_table_takes_is_computed(target, op):
    handle = open_handle(unoptimised(target))
    features = chosen(op, handle.backend)
    if not features:
        pytest.skip(f"{handle.backend} takes no {op}")
    for feature in features:
        problem = parse(feature.line)
        if problem.dtype is dnn.DataType.DOUBLE and not handle.info.fp64:
            continue
        problem = with_room(handle, problem, set(problem.raw).intersection(problem.names))
        takers = candidates(handle.engines_for(problem), problem, handle.info, feature.algo)
        engine = None if feature.algo is None else takers[0]
        check(handle, Case(feature.line), engine=engine, oracle=definition(op), strict=True)


@pytest.mark.parametrize("op", operations())
def test_what_the_reference_takes_is_what_the_definition_says(reference, op):
    independent = hasattr(brute, op) or op in ("set_tensor", "scale_tensor")
    for feature in chosen(op, "reference"):
        check(reference, Case(feature.line), oracle=brute.evaluate if independent else definition(op))


@pytest.mark.parametrize("op", operations())
@pytest.mark.parametrize("target", [*EVERYWHERE, None], ids=lambda target: target.name if target else "reference")
def test_what_a_table_refuses_is_refused(target, op, reference):
    handle = open_handle(target) if target else reference
    table = capability.table(handle.backend)
    for cell in cells(op):
        verdict = table.judge(cell.problem, cell.scalars, algo=cell.algo, device=handle.info)
        if verdict.answer == "no":
            with pytest.raises(dnn.DnnError) as raised:
                prepare(handle, parse(cell.line), cell.algo)
            if isinstance(raised.value, dnn.BadParam):
                continue  # both choices together make no problem
            assert isinstance(raised.value, (dnn.NotSupported, dnn.ArchMismatch)), cell
            rules = verdict.rules or table.rules_of(op)  # what it lacks no rule decides
            told = [rule.message or rule.reason for rule in rules if rule.answer != "yes"]
            told += [] if verdict.rules else [verdict.reason]
            assert any(words in str(raised.value) for words in told), cell


def test_a_plan_that_exists_asks_no_table(monkeypatch):
    asked = []
    monkeypatch.setattr(capability, "check", lambda *args: asked.append(args))
    with dnn.Handle("reference") as handle:
        for _ in range(3):
            dnn.softmax_forward(handle, np.ones((1, 1, 2, 2), np.float32))
    assert len(asked) == 1


def test_find_and_the_call_itself_refuse_with_the_tables_reason(monkeypatch):
    text = (
        'title = "no softmax, no convolution"\nrunnable = true\n'
        '[[rule]]\nop = ["softmax_*", "convolution_*"]\nanswer = "no"\nreason = "out of order"\nsource = "a test"\n'
    )
    monkeypatch.setattr(capability_tables, "_table_of", lambda backend: capability.read(text, backend))
    x, w = np.ones((1, 2, 4, 4), np.float32), np.ones((3, 2, 3, 3), np.float32)
    conv = dnn.ConvolutionDescriptor((0, 0))
    with dnn.Handle("reference") as handle:
        for call in (
            lambda: dnn.softmax_forward(handle, x),
            lambda: dnn.convolution_forward(handle, x, w, conv),
            lambda: dnn.convolution_forward(handle, x, w, conv, algo="implicit_gemm"),
            lambda: dnn.find_convolution_forward_algorithm(handle, x, w, conv),
            lambda: dnn.get_convolution_forward_workspace_size(handle, x, w, conv),
        ):
            with pytest.raises(dnn.NotSupported, match="reference does not take it: out of order"):
                call()
        assert handle.cache_info().plans == 0
