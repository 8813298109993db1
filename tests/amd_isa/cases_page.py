"""The section of docs/amd.md on what was executed, from pytest's reports (--junitxml)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable

_PLACE = re.compile(r"\[(opencl|hip)-(gfx\w+)-(.*)\]")
_DIALECTS = {"opencl": "OpenCL C", "hip": "HIP"}


def cases(reports: Iterable[str]) -> str:
    """Return a table of cases that passed, each counted once, and of those that did not.

    Raises
    ------
    ValueError
        A case has both passed and not passed.
    """
    passed: dict[tuple[str, str], set[str]] = defaultdict(set)
    engines: dict[tuple[str, str], set[str]] = defaultdict(set)
    graphs: dict[tuple[str, str], set[str]] = defaultdict(set)
    failed = set()
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            name = f"{case.get('classname')} {case.get('name')}"
            place = _PLACE.search(name)
            if place is None or case.find("skipped") is not None:
                continue
            if case.find("failure") is not None or case.find("error") is not None:
                failed.add(name)
                continue
            where, what = (place[1], place[2]), place[3]
            passed[where].add(name)
            if "test_small_problems" in name:
                engines[where].add(what.partition("-")[0])
            else:
                graphs[where].add(name)
    if both := failed & set.union(*passed.values()):
        raise ValueError(f"passed and failed: {sorted(both)[0]}")
    lines = [
        "| Texts | Target | Cases | of engines | Engines | of graphs, and on matrix cores |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for where in sorted(passed, reverse=True):
        ours = passed[where] - graphs[where]
        numbers = (len(passed[where]), len(ours), len(engines[where]), len(graphs[where]))
        lines.append(f"| {_DIALECTS[where[0]]} | {where[1]} | {' | '.join(map(str, numbers))} |")
    count = sum(map(len, passed.values()))
    return "\n".join([*lines, "", f"{count} cases passed, {len(failed)} failed."])
