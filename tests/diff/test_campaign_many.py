"""Campaigns on many machines: two workers of a local scheduler that have different targets."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, closing

import fragile
import pytest
from fragile import waited_for

import portadnn as dnn
from portadnn.diff import Case, examine
from portadnn.diff.campaign import DistributedRunner, Setup, many, run_campaign
from portadnn.diff.results import result_as_json

distributed = pytest.importorskip("distributed", reason="the extra distributed is not installed")
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

GOOD = [Case.parse(f"scale_tensor y=f32:1x2x3x{n}") for n in range(1, 25)]
BAD = Case.parse(f"{fragile.OP} x=f32:1x2x3x4 mode=relu")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0", protocol="tcp") as cluster:
        yield cluster


@pytest.fixture
def machines(cluster):
    """Return a function that starts a worker for each set of targets, and returns their processes."""
    with ExitStack() as stack:

        def start(*machines):
            command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
            command += ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            processes = []
            for targets in machines:
                environment = {**os.environ, fragile.HAS: targets, "PYTHONPATH": os.pathsep.join(sys.path)}
                processes.append(stack.enter_context(subprocess.Popen(command, env=environment, **quiet)))
                stack.callback(processes[-1].kill)
            waited_for(lambda: len(cluster.scheduler.workers) == len(machines))
            return processes

        yield start
    waited_for(lambda: not cluster.scheduler.workers)


def runner(cluster, *targets, **how):
    return closing(DistributedRunner(cluster.scheduler_address, Setup(targets, opener=fragile.opened), **how))


def test_each_target_runs_where_it_is(cluster, machines, reference):
    machines("reference", "lies crashes")
    absent = pytest.raises(dnn.BadParam, match="abacus is not on this machine")
    with runner(cluster, "reference", "lies", "crashes", "abacus") as there, absent:
        there.open()
    with runner(cluster, "lies", "reference", "abacus", choose=True) as there:
        report = run_campaign([*GOOD[:9], BAD], there)
        assert list(report.targets) == ["lies", "reference"]
    with fragile.opened("lies") as liar:
        due = [examine(case, {"lies": liar, "reference": reference}) for case in (*GOOD[:9], BAD)]
    assert [(r.case, r.verdict, r.blamed, r.reason) for r in report.results] == [
        (r.case, r.verdict, r.blamed, r.reason) for r in due
    ]
    assert report.results[-1].blamed == ("lies",) and result_as_json(report.results[-1])
    with runner(cluster, "crashes", "reference") as there:
        found = run_campaign([BAD, *GOOD[:2]], there).results
    assert [result.verdict.value for result in found] == ["ERROR", "PASSED", "PASSED"]
    assert "SIGSEGV" in found[0].reason and found[0].blamed == ("crashes",)


def test_what_a_lost_worker_had_goes_to_another(cluster, machines):
    first, _ = machines("hangs reference", "reference")
    seen = []

    def observe(result, old):
        seen.append(result)
        if len(seen) == 3:
            first.kill()

    with runner(cluster, "reference") as there:
        report = run_campaign(GOOD, there, observe=observe)
    assert report.complete and report.passed and len(report.results) == len(GOOD)
    assert first.wait(60) != 0


def test_targets_that_are_gone_for_good_are_told(cluster, machines):
    only, _ = machines("hangs", "reference")
    with runner(cluster, "reference", "hangs", patience=0.2) as there:
        there.open()
        only.kill()
        report = run_campaign([*GOOD[:3], BAD], there)
    assert {result.verdict.value for result in report.results} == {"ERROR"}
    assert {result.blamed for result in report.results} == {("hangs",)}
    assert "has disappeared" in report.results[0].reason


def test_without_a_scheduler(monkeypatch):
    monkeypatch.setattr(many, "CONNECTING", 0.5)
    with pytest.raises(dnn.NotSupported, match="no Dask scheduler answers at"):
        DistributedRunner("tcp://127.0.0.1:9", Setup(("reference",)))
