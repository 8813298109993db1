"""``portadnn diff run --scheduler`` with a Dask cluster as an operator starts it: a scheduler and three workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, suppress

import pytest
from fragile import waited_for

distributed = pytest.importorskip("distributed", reason="the extra distributed is not installed")
pytestmark = pytest.mark.long

COUNT = 2000
OPS = ("set_tensor", "scale_tensor", "add_tensor", "transform_tensor", "softmax_forward")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def dask(module, *options):
    return [sys.executable, "-m", f"distributed.cli.{module}", *options, "--no-dashboard"]


def started(stack, command, folder, **streams):
    """Start a process of its own group, which is gone at the end."""
    process = stack.enter_context(subprocess.Popen(command, cwd=folder, start_new_session=True, **streams))

    def stop():
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    stack.callback(stop)
    return process


def lines_of(path):
    """Return what a journal has so far."""
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_a_worker_killed_with_9_costs_no_case(tmp_path):
    """Of 2,000 cases none is lost and none counted twice."""
    with ExitStack() as stack:
        where = tmp_path / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(where))
        started(stack, dask("dask_scheduler", *options), tmp_path, **QUIET)
        waited_for(lambda: where.exists() and where.stat().st_size > 0)
        address = json.loads(where.read_text())["address"]
        options = (address, "--no-nanny", "--nthreads", "1")
        workers = [started(stack, dask("dask_worker", *options), tmp_path, **QUIET) for _ in range(3)]
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        waited_for(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 3)
        ops = [word for op in OPS for word in ("--op", op)]
        run = [sys.executable, "-m", "portadnn", "diff", "run", "--scheduler", address, "--targets", "reference"]
        run += [*ops, "--count", str(COUNT), "--output", "found", "--no-progress", "--no-shrink", "--format", "json"]
        campaign = started(stack, run, tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        journal = tmp_path / "found" / "journal.jsonl"
        waited_for(lambda: len(lines_of(journal)) > COUNT // 10 or campaign.poll() is not None)
        assert campaign.poll() is None, "it ended before a worker could be killed"
        os.kill(workers[1].pid, signal.SIGKILL)
        assert workers[1].wait(60) == -signal.SIGKILL
        out, errors = campaign.communicate(timeout=300)
        assert campaign.returncode == 0, errors
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
    counts = json.loads(out)["counts"]
    assert sum(counts.values()) == COUNT and not counts["FAILED"] and not counts["ERROR"]
    times = Counter(json.loads(line)["number"] for line in lines_of(journal)[1:])
    assert times == Counter(range(COUNT))
    cases = [json.loads(line)["result"]["case"] for line in lines_of(journal)[1:]]
    assert len(set(cases)) > COUNT * 0.9  # a seed belongs to each: they are different cases
