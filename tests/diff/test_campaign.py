"""Campaigns: what becomes of cases whose process dies, and what is left when a campaign itself does."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import fragile
import numpy as np
import pytest
from fragile import waited_for

import portadnn as dnn
from portadnn.diff import Case, Verdict, examine
from portadnn.diff.campaign import Budget, Interrupted, Journal, LocalRunner, Setup, Worker, run_campaign
from portadnn.diff.campaign import cache as cache_module
from portadnn.diff.campaign.cache import ExactResults
from portadnn.diff.campaign.drawing import Wanted, draw
from portadnn.diff.campaign.pool import BATCH, Item, batches, geometry
from portadnn.diff.campaign.process import Died
from portadnn.diff.campaign.serving import Order
from portadnn.diff.inputs import make_buffers
from portadnn.diff.results import result_as_json
from portadnn.diff.verdict import expect

GOOD = [Case.parse(f"scale_tensor y=f32:1x2x3x{n}") for n in range(1, 7)]
BAD = Case.parse(f"{fragile.OP} x=f32:1x2x3x4 mode=relu")
SETTINGS = {"seed": 0}


def runner(*targets, jobs=1, timeout=30.0, **environment):
    """Return a runner that closes itself at the end of a with statement."""
    setup = Setup(targets, opener=fragile.opened)
    return closing(LocalRunner(setup, jobs=jobs, timeout=timeout, environment=environment))


def verdicts(report):
    return [result.verdict.value for result in report.results]


@pytest.fixture(scope="module")
def plain():
    """A runner of the reference alone."""
    with runner("reference") as local:
        yield local


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "campaign"


# processes


@pytest.mark.parametrize(
    ("target", "timeout", "why"),
    [
        ("exits", 30, "the process ended with 7"),
        ("crashes", 30, "the process was ended by SIGSEGV"),
        ("hangs", 5, "nothing for 5 s"),
    ],
)
def test_a_process_that_dies_costs_one_target_of_one_case(target, timeout, why):
    cases = [*GOOD[:2], BAD, *GOOD[2:]]
    with runner("reference", target, "reference:0" if target == "exits" else "lies", timeout=timeout) as local:
        report = run_campaign(cases, local)
    assert [result.case for result in report.results] == list(map(str, cases))
    assert verdicts(report) == ["PASSED"] * 2 + [report.results[2].verdict.value] + ["PASSED"] * 4
    by_target = {judgement.target: judgement for judgement in report.results[2].judgements}
    assert list(by_target) == list(local.setup.targets)
    assert by_target[target].verdict is Verdict.ERROR
    assert why in by_target[target].reason
    assert by_target["reference"].verdict is Verdict.PASSED
    assert target in report.results[2].blamed and "reference" not in report.results[2].blamed
    if "lies" in by_target:
        assert by_target["lies"].verdict is Verdict.FAILED


def test_a_case_that_no_target_survives():
    with runner("exits", "crashes", jobs=2) as local:
        report = run_campaign([BAD, *GOOD], local)
    assert verdicts(report) == ["ERROR"] + ["PASSED"] * len(GOOD)
    assert report.results[0].blamed == ("exits", "crashes")


def test_a_lost_device_costs_one_case():
    with runner("loses", "reference") as local:
        report = run_campaign([GOOD[0], BAD, *GOOD[1:]], local)
    assert report.results[1].blamed == ("loses",)
    assert "illegal address" in report.results[1].reason
    assert set(verdicts(report)[:1] + verdicts(report)[2:]) == {"PASSED"}


def test_targets_that_cannot_be_opened():
    with runner("reference", "abacus") as local, pytest.raises(dnn.BadParam, match="abacus"):
        run_campaign(GOOD, local)
    died = r"stillborn cannot be opened: .* ended with 9"
    with runner("reference", "stillborn") as local, pytest.raises(dnn.ExecutionFailed, match=died):
        run_campaign(GOOD, local)


def test_results_are_those_of_one_process(reference):
    lines = ["softmax_forward x=f16:2x3x5x5", "pooling_forward x=f32:1x2x5x5 mode=max window=2,2"]
    lines.append("pooling_forward x=f32:1x2x5x5 y=f32:1x2x9x9 mode=max window=2,2 ; expect=BAD_PARAM")
    cases = [Case.parse(line) for line in [*lines, str(BAD)]]
    with runner("reference", "lies", jobs=2) as local, fragile.opened("lies") as liar:
        report = run_campaign(cases, local)
        due = [examine(case, {"reference": reference, "lies": liar}) for case in cases]
    for result, expected in zip(report.results, due, strict=True):
        for judgement in expected.judgements:
            for name, found in judgement.differences.items():  # profiles of what is right are left out
                judgement.differences[name] = found if found.wrong else type(found)(**{**vars(found), "profile": ()})
        assert result_as_json(result) == result_as_json(expected)


def chatter(channel, folder):
    """Leave a trace, say something, and wait for the parent to go."""
    Path(folder, "pid").write_text(str(os.getpid()))
    channel.says("environment", os.environ.get("FRAGILE_WORD"))
    channel.receive()
    print("last words", file=sys.stderr, flush=True)
    os.abort()


def test_processes_have_their_own_environment_and_last_words(tmp_path):
    worker = Worker(chatter, tmp_path, environment={"FRAGILE_WORD": "here"})
    worker.start("a task")
    said = list(itertools.islice(filter(None, (worker.poll(30) for _ in itertools.count())), 2))
    assert said[0] == ("environment", "here")
    assert said[1] == Died("the process was ended by SIGABRT: last words", None)
    assert "FRAGILE_WORD" not in os.environ


def test_a_process_is_replaced_after_so_many_orders(monkeypatch):
    started = []
    launch = Worker._launch
    monkeypatch.setattr(Worker, "_launch", lambda self: (started.append(self), launch(self)))
    with closing(LocalRunner(Setup(("reference",)), alone=True, retiring=2)) as local:
        report = run_campaign(GOOD, local)
    assert verdicts(report) == ["PASSED"] * len(GOOD)
    assert len(started) == len(GOOD) / 2


# order


def test_cases_of_one_geometry_stay_together():
    cases = [Case.parse(f"scale_tensor y=f32:1x1x{n} alpha={a} ; seed={a}") for a in range(1, 6) for n in (4, 5, 6)]
    found = list(batches(Item(Order(number, case, ())) for number, case in enumerate(cases)))
    assert sorted(item.order.number for batch in found for item in batch) == list(range(len(cases)))
    assert all(len(batch) <= BATCH for batch in found)
    for n in (4, 5, 6):
        assert sum(any(f"1x1x{n}" in item.order.case.line for item in batch) for batch in found) == 1
    assert geometry(Case.parse("scale_tensor y=f32:1x1x4 alpha=3")) == "scale_tensor y=f32:1x1x4"


# the journal


def test_a_journal_is_gone_on_with(plain, folder):
    with Journal(folder) as journal:
        first = run_campaign(GOOD, plain, settings=SETTINGS, journal=journal, budget=Budget(failures=1))
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    assert len(lines) == 1 + len(GOOD)
    torn = "".join(lines[:3]) + lines[3][:40]
    (folder / "journal.jsonl").write_text(torn)
    ran = []
    with Journal(folder, resume=True) as journal:
        assert len(journal.results) == 2
        again = run_campaign(
            GOOD, plain, settings=SETTINGS, journal=journal, observe=lambda result, old: ran.append((result.case, old))
        )
    assert sorted(ran) == sorted((str(case), number < 2) for number, case in enumerate(GOOD))
    assert list(map(result_as_json, again.results)) == list(map(result_as_json, first.results))
    assert sorted((folder / "journal.jsonl").read_text().splitlines()[1:]) == sorted("".join(lines).splitlines()[1:])


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["no newline", "half a line"])
def test_a_torn_header_begins_anew(plain, folder, end):
    folder.mkdir()
    (folder / "journal.jsonl").write_bytes(b'{"format": 1, "kind": "porta' + end)
    with Journal(folder, resume=True) as journal:
        run_campaign(GOOD[:1], plain, settings=SETTINGS, journal=journal)
    with Journal(folder, resume=True) as journal:
        assert len(journal.results) == 1


def test_journals_of_something_else_are_refused(plain, folder):
    with Journal(folder) as journal:
        run_campaign(GOOD, plain, settings={"seed": 1, "ops": ["a"]}, journal=journal)
    with pytest.raises(dnn.BadParam, match="--resume"):
        Journal(folder)
    with runner("reference", "lies") as other:
        for settings, local, cases, message in (
            ({"seed": 2, "ops": ["a"]}, plain, GOOD, r"seed as in .*, 1, got 2"),
            ({"seed": 1, "ops": ["a"]}, other, GOOD, r"lies as in"),
            ({"seed": 1, "ops": ["a"]}, plain, GOOD[1:], r"case 0 as in the journal.*3x1, got .*3x2"),
            ({"seed": 1, "ops": ["a"]}, plain, GOOD[:3], r"case 3 as in the journal.*got fewer cases"),
        ):
            with Journal(folder, resume=True) as journal, pytest.raises(dnn.BadParam, match=message):
                run_campaign(cases, local, settings=settings, journal=journal)


def test_damage_before_the_last_line_is_refused(plain, folder):
    with Journal(folder) as journal:
        run_campaign(GOOD, plain, settings=SETTINGS, journal=journal)
    path = folder / "journal.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:50], *lines[2:]]) + "\n")
    with pytest.raises(dnn.BadParam, match="line 2"):
        Journal(folder, resume=True)
    path.write_text(json.dumps({"kind": "portadnn diff", "format": 99}) + "\n")
    with pytest.raises(dnn.BadParam, match="format 1, got 99"):
        Journal(folder, resume=True)
    path.write_text('{"seed": 1}\n')
    with pytest.raises(dnn.BadParam, match="a journal of portadnn diff"):
        Journal(folder, resume=True)


def test_two_campaigns_do_not_disturb_each_other(tmp_path):
    with Journal(tmp_path / "one"), pytest.raises(dnn.BadParam, match=f"process {os.getpid()}"):
        Journal(tmp_path / "one", resume=True)
    reports = {}

    def campaign(name):
        with runner("reference", "lies") as local, Journal(tmp_path / name) as journal:
            reports[name] = run_campaign([BAD, *GOOD], local, journal=journal)

    threads = [threading.Thread(target=campaign, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reports["one"].counts == reports["two"].counts
    assert (tmp_path / "two" / "journal.jsonl").read_text().count("\n") == len(GOOD) + 2


# its end

_KILLED = """
import sys
sys.path[:0] = {path!r}
import test_campaign as t
with t.runner("reference", "hangs", timeout=600) as local, t.Journal(t.Path({folder!r})) as journal:
    t.run_campaign([*t.GOOD[:2], t.BAD, *t.GOOD[2:]], local, settings=t.SETTINGS, journal=journal)
"""


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_sigkill_loses_what_was_under_way_and_nothing_else(folder):
    program = _KILLED.format(path=sys.path[:], folder=str(folder))
    path = folder / "journal.jsonl"
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        waited_for(lambda: path.exists() and path.read_text().count("\n") == 3)
        (worker,) = children(process.pid)
        process.kill()
    waited_for(lambda: not alive(worker))
    cases = [*GOOD[:2], BAD, *GOOD[2:]]
    with runner("reference", "hangs", **{fragile.QUIET: "1"}) as local, Journal(folder, resume=True) as journal:
        assert sorted(journal.results) == [0, 1]
        report = run_campaign(cases, local, settings=SETTINGS, journal=journal)
    assert report.complete and report.passed
    assert [result.case for result in report.results] == list(map(str, cases))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_it_in_order(plain, folder, number):
    seen = []

    def observe(result, old):
        seen.append(result)
        if len(seen) == 2:
            signal.raise_signal(number)

    with Journal(folder) as journal, pytest.raises(Interrupted) as caught:
        run_campaign(GOOD, plain, settings=SETTINGS, journal=journal, observe=observe)
    assert caught.value.report.results == seen and not caught.value.report.complete
    with Journal(folder, resume=True) as journal:
        assert sorted(journal.results) == [0, 1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_budgets(plain):
    fine = run_campaign(GOOD, plain, budget=Budget(seconds=600, failures=1))
    late = run_campaign(itertools.cycle(GOOD), plain, budget=Budget(seconds=0.3))
    with runner("lies") as local:
        failing = run_campaign([GOOD[0], BAD, *GOOD[1:]], local, budget=Budget(failures=1))
    assert verdicts(failing) == ["PASSED", "FAILED"] and not failing.complete
    assert not late.complete and set(verdicts(late)) <= {"PASSED"}
    assert fine.complete and verdicts(fine) == ["PASSED"] * len(GOOD)


# cases


def test_cases_are_drawn_as_asked():
    line = "convolution_forward x=f32:1x2x5x5 w=f32:3x2x3x3"
    given = (Case.parse(line), GOOD[0])
    setup = Setup(("reference",), opener=fragile.opened)
    assert list(draw(Wanted(given), setup)) == list(given)
    assert list(draw(Wanted(given, ops=("scale*",)), setup)) == [GOOD[0]]
    assert list(draw(Wanted(given, count=1), setup)) == [given[0]]
    assert [case.algo for case in draw(Wanted(given, algo="gemm"), setup)] == ["gemm", ""]
    with dnn.Handle("reference", profile="") as handle:
        names = [engine.name for engine in handle.engines_for(given[0].problem)]
    drawn = list(draw(Wanted(given[:1], engines=True), setup))
    assert [case.engine for case in drawn] == names and len(names) > 0
    with pytest.raises(dnn.BadParam, match="abacus"):
        list(draw(Wanted(given, engines=True), Setup(("abacus",))))


# exact results on disk


def kept(folder, case, **how):
    return ExactResults(folder, **how).expect(case, make_buffers(case))


def same(one, other):
    assert one.product == other.product
    assert (one.sums is None) == (other.sums is None)
    for found, due in ((one.want, other.want), (one.sums or {}, other.sums or {})):
        assert found.keys() == due.keys()
        for name in due:
            np.testing.assert_array_equal(found[name], due[name], strict=True)


@pytest.mark.parametrize("line", [f"{BAD}", f"{BAD} ; data=exact", "softmax_forward x=f16:2x3x4x4 ; data=nan"])
def test_exact_results_come_back(tmp_path, monkeypatch, line):
    case = Case.parse(line)
    due = expect(case, make_buffers(case))
    kept(tmp_path, case)
    assert not list(tmp_path.iterdir())  # it was cheap
    same(kept(tmp_path, case, expensive=0), due)
    (entry,) = tmp_path.iterdir()
    monkeypatch.setattr(cache_module, "expect", None)
    same(kept(tmp_path, case), due)
    with pytest.raises(TypeError):
        kept(tmp_path, Case(case.line, data=case.data, seed=8))
    monkeypatch.undo()
    whole = entry.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:200] + b"????" + whole[204:], b"text"):
        entry.write_bytes(damaged)
        same(kept(tmp_path, case, expensive=0), due)
        assert entry.read_bytes() == whole or cache_module._read(entry) is not None


def test_the_folder_is_bounded(tmp_path):
    for number in range(3):
        kept(tmp_path, Case(BAD.line, seed=number), expensive=0)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    for age, path in enumerate(sorted(tmp_path.iterdir())):
        os.utime(path, (age, age))
    oldest, newest = min(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime), sorted(tmp_path.iterdir())[-1]
    kept(tmp_path, Case(BAD.line, seed=9), expensive=0, largest=2 * max(sizes))
    left = list(tmp_path.iterdir())
    assert oldest not in left and newest in left and len(left) == 2


def test_an_unwritable_folder_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    same(kept(tmp_path / "file", BAD, expensive=0), expect(BAD, make_buffers(BAD)))
