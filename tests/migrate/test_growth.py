"""What following takes of very many things: work that grows with their number, not with its square."""

from portadnn.migrate.checker import check_text
from portadnn.migrate.config import Config
from portadnn.migrate.model.state import State
from portadnn.migrate.rules.sources import hipdnn

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
