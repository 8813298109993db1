"""What following takes of very many things: work that grows with their number, not with its square."""

from dataclasses import replace

import pytest

from portadnn.migrate.checker import check_text
from portadnn.migrate.config import Config
from portadnn.migrate.interpret import entries, types
from portadnn.migrate.model.state import State, Thing, meet
from portadnn.migrate.program import Class, Span
from portadnn.migrate.rules.sources import hipdnn
from portadnn.migrate.values import known

MANY = 3_000


def test_methods_of_a_class_are_followed_some_at_a_time(monkeypatch):
    """Each call makes a handle: if all methods saw those of all earlier ones, 4.5 million would be copied."""
    copied = []
    copy = State.copy

    def counted(state):
        copied.append(len(state.things))
        return copy(state)

    monkeypatch.setattr(State, "copy", counted)
    methods = b"".join(b"void f%d() { cudnnCreate(&h%d); }\n" % (i, i) for i in range(MANY))
    report = check_text(b"struct A { A() { cudnnCreate(&h); }\n" + methods + b"};\n")
    assert report.coverage.by_name == 0
    assert len(report.calls) == MANY + 1
    assert sum(copied) < 300 * MANY


def test_a_class_without_other_methods_has_its_constructors_followed():
    report = check_text(b"struct A { A() { cudnnCreate(&h); } A(int x) { cudnnCreate(&h); } };\n")
    assert (len(report.calls), report.coverage.by_name) == (2, 0)


def test_the_classes_of_a_file_are_gone_through_once_for_graphs(monkeypatch):
    asked = []
    plain = hipdnn.plain

    def counted(name):
        asked.append(name)
        return plain(name)

    monkeypatch.setattr(hipdnn, "plain", counted)
    classes = b"".join(b"struct A%d { void f() { cudnnCreate(&h); } };\n" % i for i in range(MANY))
    check_text(classes, config=Config(target="hipdnn"))
    assert MANY <= len(asked) < 20 * MANY


class Fields(dict):
    """Fields of a descriptor, which count how often they are compared."""

    compared = 0

    def __eq__(self, other):
        Fields.compared += 1
        return dict.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None


@pytest.mark.parametrize("calls", [lambda i: (1,), lambda i: (1, i), lambda i: (i,), lambda i: tuple(range(i % 40))])
def test_where_many_paths_meet_descriptors_are_not_compared_each_with_each(monkeypatch, calls):
    monkeypatch.setattr(Fields, "compared", 0)
    form = Thing("d", "tensor", "d", "cudnn")
    paths = [
        State(
            things={"d": replace(form, fields=Fields(), set_by=calls(i), destroyed=i)},
            done={"f": {1: True, i: True}},
        )
        for i in range(1, MANY + 1)
    ]
    found = meet(paths)
    assert Fields.compared < 60 * MANY
    assert found.things["d"].certain
    assert (found.done["f"][1], found.done["f"][2], len(found.done["f"])) == (True, False, MANY)


def test_what_one_path_changes_is_not_certain():
    forms = [
        Thing("d", "tensor", "d", "cudnn", fields={"n": known(n)}, set_by=calls)
        for n, calls in ((1, (1,)), (2, (1, 2)), (3, (1, 3)))
    ]
    assert not meet([State(things={"d": form}) for form in forms]).things["d"].certain
    assert meet([State(things={"d": form}) for form in forms[1:]]).things["d"].certain


def test_members_of_a_name_that_many_classes_have_are_found_by_their_class(monkeypatch):
    asked = []
    owner_of = types.owner_of

    def counted(name):
        asked.append(name)
        return owner_of(name)

    monkeypatch.setattr(types, "owner_of", counted)
    classes = b"".join(b"struct A%d { static const int x = %d; };\n" % (i, i % 4) for i in range(MANY))
    calls = b"".join(b"cudnnSetStream(h, A%d::x);\n" % i for i in range(MANY))
    report = check_text(classes + b"void f() {\n" + calls + b"}\n")
    assert len(report.calls) == MANY
    assert len(asked) < 50 * MANY


def test_members_that_methods_set_are_looked_at_up_to_a_number(monkeypatch):
    monkeypatch.setattr(entries, "_MOST_MEMBERS", 10)
    asked = []
    path = entries.Walk._path_in_this

    def counted(walk, name):
        asked.append(name)
        return path(walk, name)

    monkeypatch.setattr(entries.Walk, "_path_in_this", counted)
    methods = b"".join(
        b"void f%d() { cudnnSetStream(h, m%d); m%d = %d; } int m%d;\n" % (i, i, i, i, i) for i in range(300)
    )
    report = check_text(b"struct A {\n" + methods + b"};\n")
    assert (len(report.calls), report.coverage.by_name) == (300, 0)
    assert len(asked) <= 2 * 10 * 300


def test_lines_between_others_are_found():
    lines = [2, 5, 5, 9]
    for first in range(1, 12):
        for last in range(first, 12):
            span = Span(0, 0, first, 1, last, 1)
            assert entries._between(lines, span) == any(first <= line <= last for line in lines)


def test_methods_that_a_class_calls_are_found_by_name(monkeypatch):
    asked = []
    simple = types.simple

    def counted(name):
        asked.append(name)
        return simple(name)

    monkeypatch.setattr(types, "simple", counted)
    many = 1_000
    methods = b"".join(b"void f%d() { cudnnCreate(&h); g%d(); } void g%d() {}\n" % (i, i, i) for i in range(many))
    assert len(check_text(b"struct A {\n" + methods + b"};\n").calls) == many
    assert len(asked) < 200 * many


def test_a_case_of_a_switch_knows_of_some_others(monkeypatch):
    held = []
    copy = State.copy

    def counted(state):
        held.append(len(state.facts))
        return copy(state)

    monkeypatch.setattr(State, "copy", counted)
    names = b", ".join(b"E%d" % i for i in range(1_000))
    cases = b"".join(b"case E%d: cudnnCreate(&h); break;\n" % i for i in range(1_000))
    report = check_text(b"enum E { " + names + b" }; void f(E e) { switch (e) {\n" + cases + b"} }\n")
    assert len(report.calls) == 1_000
    assert max(held) <= 65


def test_members_of_classes_are_not_compared_for_types(monkeypatch):
    compared = []

    def counted(one, other):
        compared.append(one)
        return one is other

    monkeypatch.setattr(Class, "__eq__", counted)
    classes = b"".join(
        b"struct A { int m; void f() { cudnnSetPooling2dDescriptor(d, m, n, 1, 1, 1, 1, 1, 1); } };\n"
        for _ in range(500)
    )
    assert len(check_text(classes).calls) == 500
    assert len(compared) < 20 * 500
