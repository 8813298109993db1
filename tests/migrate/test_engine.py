"""The rule files' reader, conditions and the judge, on calls made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from checking import make

from portadnn.migrate.findings import Finding
from portadnn.migrate.model.state import Deed, State, Thing
from portadnn.migrate.rules import conditions, registry
from portadnn.migrate.rules.engine import Judge
from portadnn.migrate.rules.situation import Hit, Situation
from portadnn.migrate.rules.table import load
from portadnn.migrate.values import UNKNOWN, Value, items, join, known, unknown

RULE = """
[T01]
title = "t"
severity = "E"
source = "s"
why = "w"
functions = ["cudnnSetPooling2dDescriptor"]
message = "{mode} on {target}"
fix = "f"
"""
POOL = ("pool", "CUDNN_POOLING_MAX", "CUDNN_PROPAGATE_NAN", 16, 3, 0, 0, 1, 1)


def table(folder: Path, text: str) -> dict[str, object]:
    (folder / "test.toml").write_text(text, encoding="utf-8")
    return dict(load(folder))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("severity =", "colour ="), "unknown key colour"),
        (('"E"', '"X"'), "severity 'X'"),
        (("cudnnSetPooling2dDescriptor", "cudnnSetPooling9d*"), "no function of cudnn"),
        (("{mode}", "{modus}"), "no parameter modus"),
        (("{mode}", "{mode.colour}"), "no function sets colour"),
        (("fix", 'targets = ["cudnn-12"]\nfix'), "target 'cudnn-12'"),
        (("fix", 'library = "cublas"\nfix'), "library 'cublas'"),
        (("fix", 'code = "nothing_of_the_kind"\nfix'), "no check"),
        (("fix", 'at = "noon"\nfix'), "noon"),
        (("fix", 'when = { mode = "CUDNN_POOLING_MEDIAN" }\nfix'), "CUDNN_POOLING_MEDIAN"),
        (("fix", "when = { colour = 1 }\nfix"), "no parameter colour"),
        (("fix", "unless = [{ colour = 1 }]\nfix"), "no parameter colour"),
        (("fix", 'about = "colour"\nfix'), "no parameter colour"),
        (('fix = "f"', "[[T01.case]]\nfixes = 1"), "unknown key fixes"),
        (('fix = "f"', ""), "fix"),
        (('why = "w"', ""), "why"),
    ],
)
def test_mistakes_in_files(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    table(tmp_path, RULE)
    with pytest.raises(ValueError, match=rf"test.toml: T01: .*{said}"):
        table(tmp_path, RULE.replace(*change))


def test_one_rule_twice(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(RULE, encoding="utf-8")
    with pytest.raises(ValueError, match="T01 is there twice"):
        table(tmp_path, RULE)


@pytest.mark.parametrize(
    ("wanted", "value", "answer"),
    [
        ("CUDNN_POOLING_MAX", known("CUDNN_POOLING_MAX"), True),
        ("CUDNN_POOLING_MAX", known("ns::CUDNN_POOLING_MAX"), True),
        ("CUDNN_POOLING_MAX", known("CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING"), False),
        ("CUDNN_POOLING_MAX", known(0), True),  # its number
        ("CUDNN_POOLING_MAX", known(1), False),
        ("CUDNN_POOLING_MAX", known("miopenPoolingMax"), True),
        ("CUDNN_POOLING_MAX", UNKNOWN, False),
        ("!CUDNN_POOLING_MAX", UNKNOWN, False),
        ("!CUDNN_POOLING_MAX", known(1), True),
        ("CUDNN_POOLING_MAX", join([known(0), known(1)]), None),
        ("CUDNN_POOLING_MAX", join([known(0), UNKNOWN]), None),
        (["CUDNN_POOLING_MAX", 7], known(7), True),
        (["CUDNN_POOLING_MAX", 1], join([known(0), known(1)]), True),
        (["CUDNN_POOLING_MAX", 1], known(2), False),
        (["!CUDNN_POOLING_MAX", "!1"], known(1), False),
        (["!CUDNN_POOLING_MAX", "!1"], known(2), True),
        (1, known(1.0), True),
        (0, known(None), False),
        ("!0", known(0.5), True),
        ("!0", known(0), False),
        (">= 16", known(16), True),
        (">= 16", known(15), False),
        (">= 16", UNKNOWN, False),
        (">= 16", unknown("size"), False),
        (">= 16", join([known(3), known(30)]), None),
        ("< 1e-6", known(1e-7), True),
        ("NULL", known(None), True),
        ("NULL", known(0), True),
        ("NULL", Value("pointer", "x"), False),
        ("given", Value("pointer", "x"), True),
        ("given", known(None), False),
        ("given", UNKNOWN, False),
        ("type: double", known(1.0, "const double"), True),
        ("type: double", unknown("a", "double *"), True),
        ("type: double", known(1.0, "float"), False),
        ("type: double", known(1.0), False),
        ("any: >= 16", items([known(3), known(16)]), True),
        ("all: 1", items([known(1), known(2)]), False),
        ("all: 1", items([known(1), known(1)]), True),
        ("all: 1", items([known(1), UNKNOWN]), False),
        ("same: windowHeight", known(3), True),
        ("same: windowHeight", known(4), False),
        ("other: windowHeight", known(4), True),
        ("other: windowHeight", UNKNOWN, False),
    ],
)
def test_conditions(wanted: object, value: Value, answer: bool | None) -> None:
    event = make(1, "cudnnSetPooling2dDescriptor", "pool", value, None, 3, 3, 0, 0, 1, 1)
    parsed = conditions.parse({"mode": wanted})
    assert conditions.all_hold(parsed, Situation(event, State(), {}, "miopen-3")) is answer


def test_numbers_are_those_of_the_library_that_is_read() -> None:
    event = make(1, "miopenSet2dPoolingDescriptor", "pool", 1, 3, 3, 0, 0, 1, 1)
    situation = Situation(event, State(), {}, "miopen-3")
    for name, answer in (("miopenPoolingAverage", True), ("miopenPoolingAverageInclusive", False)):
        assert conditions.all_hold(conditions.parse({"mode": name}), situation) is answer


def test_fields_of_descriptors() -> None:
    event = make(3, "cudnnPoolingForward", "handle", "pool", 1.0, "x", "a", 0.0, "y", "b")
    pool = Thing("pool", "pooling", "pool", "cudnn", {"mode": known(0)}, created=1, set_by=(2,))

    def holds(wanted: dict[str, object], thing: Thing) -> bool | None:
        state = State(things={"pool": thing})
        return conditions.all_hold(conditions.parse(wanted), Situation(event, state, {}, "miopen-3"))

    assert holds({"poolDesc.mode|poolingDesc.mode": "CUDNN_POOLING_MAX"}, pool) is True
    assert holds({"poolingDesc.nbDims": "unset"}, pool) is True
    assert holds({"poolingDesc.nbDims": 2}, pool) is False
    assert holds({"poolingDesc.mode": "unset"}, pool) is False
    assert holds({"poolingDesc.nbDims": "unset"}, replace(pool, created=None)) is False
    assert holds({"xDesc.nbDims": "unset"}, pool) is False


@pytest.mark.parametrize(
    ("value", "answer"), [(known(1), True), (known(0), False), (UNKNOWN, False), (join([known(0), known(1)]), None)]
)
def test_unless(value: Value, answer: bool | None) -> None:
    event = make(1, "cudnnSetPooling2dDescriptor", "pool", value, None, 3, 3, 0, 0, 1, 1)
    cases = [conditions.parse({"mode": "CUDNN_POOLING_MAX", "windowHeight": ">= 3"}), conditions.parse({"mode": 7})]
    assert conditions.none_holds(cases, Situation(event, State(), {}, "miopen-3")) is answer


# The judge -------------------------------------------------------------------------------------------------------


def judged(folder: Path, text: str, *events: object, target: str = "miopen-3") -> list[Finding]:
    judge = Judge(target, table=load(folder) if not text else table(folder, text))  # type: ignore[arg-type]
    journal: dict[int, Deed] = {}
    for event in events:
        judge.call(event, State(), journal)  # type: ignore[arg-type]
        journal[event.number] = Deed(event, {})  # type: ignore[attr-defined]
    judge.finish(State(), journal)
    return judge.findings


def test_message_fix_and_place(tmp_path: Path) -> None:
    text = RULE.replace("{mode}", "{call}: {mode} {windowHeight.value} {poolingDesc.mode}") + 'about = "windowHeight"\n'
    (finding,) = judged(tmp_path, text, make(4, "cudnnSetPooling2dDescriptor", *POOL))
    called = f"cudnnSetPooling2dDescriptor({', '.join(map(str, POOL))})"
    assert finding.message == f"{called}: CUDNN_POOLING_MAX 16 ? on MIOpen 3.6"
    assert (finding.rule, finding.severity, finding.certainty, finding.fix) == ("T01", "E", "proven", "f")
    assert (finding.place.line, finding.place.column) == (4, 40)


def test_targets_and_versions(tmp_path: Path) -> None:
    def count(more: str, target: str = "miopen-3", version: str | None = None) -> int:
        event = make(1, "cudnnSetPooling2dDescriptor", *POOL, version=version)
        return len(judged(tmp_path, RULE + more, event, target=target))

    assert [count("", target) for target in ("miopen-1", "miopen-3", "cudnn-9")] == [1, 1, 0]
    assert [count('targets = ["cudnn-9"]', target) for target in ("miopen-3", "cudnn-9")] == [0, 1]
    assert [count('from = "8.0"', version=version) for version in ("7.6.5", "8.0.0", "8", None)] == [0, 1, 1, 1]
    assert [count('until = "8.0"', version=version) for version in ("7.6.5", "8.0", "9.1")] == [1, 0, 0]
    assert [count('target_from = "2.0"', target) for target in ("miopen-1", "miopen-3")] == [0, 1]
    assert [count('target_until = "2.0"', target) for target in ("miopen-1", "miopen-3")] == [1, 0]
    assert [count('target_from = "1.6"', target) for target in ("miopen-1", "miopen-3")] == [1, 1]


def test_proven_wins_over_possible_and_one_place_is_told_once(tmp_path: Path) -> None:
    text = RULE.replace("{mode}", "x") + 'when = { mode = "CUDNN_POOLING_MAX" }'
    either = join([known(0), known(1)])
    possible = make(4, "cudnnSetPooling2dDescriptor", POOL[0], either, *POOL[2:])
    proven = make(4, "cudnnSetPooling2dDescriptor", *POOL)
    assert [f.certainty for f in judged(tmp_path, text, possible)] == ["possible"]
    for events in ((possible, proven), (proven, possible)):
        assert [f.certainty for f in judged(tmp_path, text, *events)] == ["proven"]


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def add(name: str, *hits: Hit) -> None:
        def look(_: Situation) -> Iterator[Hit]:
            yield from hits

        monkeypatch.setitem(registry.check.all(), name, registry.Check(name, look, ("why",)))  # type: ignore[arg-type]

    return add


def test_code_fills_words_and_its_hits_can_wait(tmp_path: Path, checks: Callable[..., None]) -> None:
    event = make(4, "cudnnSetPooling2dDescriptor", *POOL)
    checks(
        "test_look",
        Hit("possible", "mode", {"why": "a"}),
        Hit(words={"why": "b"}, confirm=lambda journal: len(journal) > 1),
    )
    text = RULE.replace("{mode}", "{why}") + 'code = "test_look"'
    alone = judged(tmp_path, text, event)
    assert [(f.message, f.certainty, f.place.column) for f in alone] == [("a on MIOpen 3.6", "possible", 20)]
    followed = judged(tmp_path, text, event, make(5, "cudnnDestroyPoolingDescriptor", "pool"))
    assert [f.message[0] for f in followed] == ["b", "a"]


def test_at_the_end(tmp_path: Path) -> None:
    event = make(4, "cudnnSetPooling2dDescriptor", *POOL)
    assert len(judged(tmp_path, RULE + 'at = "end"', event)) == 1
