"""Pytest plugin that measures the CPU seconds of each test, those of its child processes included.

CPU seconds stay nearly the same when other programs share the machine; wall time does not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection

import pytest


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its finished children."""
    return sum(os.times()[:4])


def table(spent: dict[str, float], number: int, usual: Collection[str] = ()) -> list[str]:
    """Return lines of the largest sums by file and by test, and of the totals: of all, and of those in `make test`."""
    files: Counter[str] = Counter()
    for name, seconds in spent.items():
        files[name.partition("::")[0]] += seconds
    lines = [f"{sum(spent.values()):9.2f} s in {len(spent)} tests"]
    if len(usual) < len(spent):
        lines.append(f"{sum(spent[name] for name in usual):9.2f} s in {len(usual)} tests of `make test`")
    for sums in (files, Counter(spent)):
        lines += ["", *(f"{seconds:9.2f} s {name}" for name, seconds in sums.most_common(number))]
    return lines


class Durations:
    """Adds CPU seconds to every report, which pytest-xdist sends whole, and prints the largest sums at the end."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.before = 0.0

    @pytest.hookimpl
    def pytest_runtest_logstart(self):
        self.before = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = cpu_seconds()
        report.cpu_seconds, self.before = now - self.before, now
        return report

    def pytest_terminal_summary(self, terminalreporter):
        spent: Counter[str] = Counter()
        usual: set[str] = set()
        for reports in terminalreporter.stats.values():
            for report in reports:
                name = getattr(report, "nodeid", "")
                spent[name] += getattr(report, "cpu_seconds", 0.0)
                if not {"long", "packaging"} & getattr(report, "keywords", {}).keys():
                    usual.add(name)
        del spent[""]
        terminalreporter.section("CPU seconds")
        for line in table(spent, self.number, usual & spent.keys()):
            terminalreporter.write_line(line)
