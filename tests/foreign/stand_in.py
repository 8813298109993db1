"""Puts `portadnn.graph` in the place of the module `cudnn`: a plugin of pytest, and an import for notebooks.

``FOREIGN_DEVICE`` says where tensors are that programs ask for on "cuda": "cuda", or "cpu" on machines without a GPU.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import portadnn.graph

END: Any = pytest.StashKey()

if os.environ.get("FOREIGN_DEVICE"):
    sys.modules["cudnn"] = portadnn.graph
    if os.environ["FOREIGN_DEVICE"] == "cpu":
        import on_the_cpu

        on_the_cpu.install()
    else:
        import torch

        torch.backends.cudnn.allow_tf32 = False  # the tests compare with torch's, and portadnn's products are exact


def pytest_addoption(parser: Any) -> None:
    """Add the options that sample tests, end them in time, and write down what became of each."""
    parser.addoption("--stride", type=int, default=1)
    parser.addoption("--first", type=int, default=0)
    parser.addoption("--seconds", type=float, default=float("inf"))
    parser.addoption("--each", type=float, help="seconds of one test; the process ends at more, and says where it was")
    parser.addoption("--journal", type=Path, help="a line of JSON at a test's begin and end; what is in it is not run")


def pytest_configure(config: Any) -> None:
    """Know the marks of the foreign suite, and when to end."""
    config.stash[END] = time.monotonic() + config.getoption("--seconds")
    for level in range(5):
        config.addinivalue_line("markers", f"L{level}: level {level} of the suite")
    if config.getoption("--journal"):
        config.pluginmanager.register(Journal(config.getoption("--journal"), config.getoption("--each")))


class Journal:
    """Writes down what became of each test, so that nothing is lost with a process that ends."""

    def __init__(self, path: Path, each: float | None) -> None:
        self.path, self.each = path, each
        self.known = {json.loads(line)["test"] for line in path.read_text().splitlines()} if path.exists() else set()
        self.stacks = path.with_suffix(".stacks").open("a")
        self.worst, self.seconds = "passed", 0.0

    def write(self, **said: Any) -> None:
        """Append a line."""
        with self.path.open("a") as journal:
            journal.write(json.dumps(said) + "\n")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say which test begins; a thread that needs no lock of Python's ends it where it takes too long."""
        self.write(test=nodeid)
        self.worst, self.seconds = "passed", 0.0
        if self.each:
            faulthandler.dump_traceback_later(self.each, exit=True, file=self.stacks)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the worst of a test's setup, call and end."""
        self.worst = max(self.worst, report.outcome, key=("passed", "skipped", "failed").index)
        self.seconds += report.duration

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Say what became of the test."""
        faulthandler.cancel_dump_traceback_later()
        self.write(test=nodeid, outcome=self.worst, seconds=round(self.seconds, 2))

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what another process has run."""
        items[:] = [item for item in items if item.nodeid not in self.known]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep one of so many tests of each function."""
    stride, first = config.getoption("--stride"), config.getoption("--first")
    counts: dict[str, int] = {}
    kept = []
    for item in items:
        number = counts[item.function.__qualname__] = counts.get(item.function.__qualname__, -1) + 1
        if number % stride == first % stride:
            kept.append(item)
    items[:] = kept


def pytest_runtest_teardown(item: Any) -> None:
    """End once the time is over; what ran is in the report."""
    if time.monotonic() > item.config.stash[END]:
        item.session.shouldstop = "the time is over"
