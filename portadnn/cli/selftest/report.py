"""The file of a self-test: what was done so far, without the names of people, machines and folders."""

from __future__ import annotations

import contextlib
import getpass
import json
import re
import socket
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._io.files import write_whole
from ...diff.campaign.campaign import BROKEN
from ...diff.cases import Case
from ...diff.graphs.campaign import GraphReport
from ...diff.results import environment, now, plain, result_as_json
from ...diff.verdict import CaseResult
from ...errors import DnnError

FORMAT, VERSION = "portadnn.selftest", 1
PARTS = ("operations", "graphs", "lenet", "speed", "drawn")
MOST_FAILURES = 200  # that are told in full
LONGEST = 2000  # characters of a text that a driver or an exception gave
_PATH = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?(?:[/\\]+[^\s/\\'\":,;()<>|]+)+")
_EXACT = ("case", "line", "graph", "rerun", "format", "part", "target")  # what has to stay as it is, and names nobody


@dataclass
class Report:
    """A self-test.

    Attributes
    ----------
    settings : dict
        What was asked for.
    state : str
        "running", "complete", "out of time", "interrupted" or "could not run".
    problem : str
        Why it could not run.
    info, device : dict
        What ``portadnn info`` tells, and the device under test.
    parts : dict of str to dict
        By name; each has a "state" and "seconds".
    failures : list of dict
        What was wrong, each with its part and the command that runs it again.
    failed : int
        How many there are; the list may be shorter.
    """

    settings: dict[str, Any]
    state: str = "running"
    problem: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: {"state": "not run"} for name in PARTS})
    failures: list[dict[str, Any]] = field(default_factory=list)
    failed: int = 0
    started: str = field(default_factory=now)
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """Whether all that ran was "right", something was "wrong", or nothing "could not run"."""
        return "wrong" if self.failed else "could not run" if self.problem else "right"

    def fail(self, part: str, target: str, reason: str, rerun: str, **facts: Any) -> None:
        """Note something wrong."""
        self.failed += 1
        if len(self.failures) < MOST_FAILURES:
            self.failures.append({"part": part, "target": target, "reason": reason, "rerun": rerun, **facts})

    def add_cases(self, part: str, target: str, results: Iterable[CaseResult]) -> None:
        """Count the results of a part by verdict, operation and type, and note those that are wrong."""
        verdicts: Counter[str] = Counter()
        ops: dict[str, Counter[str]] = {}
        types: dict[str, Counter[str]] = {}
        for result in results:
            word, verdict = result.case.split(maxsplit=1)[0], result.verdict.value
            verdicts[verdict] += 1
            ops.setdefault(word, Counter())[verdict] += 1
            types.setdefault(_type(result.case), Counter())[verdict] += 1
            if result.verdict in BROKEN:
                rerun = f'portadnn diff "{result.case}" -t {target}'
                reason = result.reason or next((j.reason for j in result.judgements if j.reason), verdict)
                self.fail(part, target, reason, rerun, case=result.case, result=result_as_json(result))
        self.parts[part] |= {"verdicts": dict(verdicts), "operations": ops, "types": types}

    def add_graphs(self, target: str, report: GraphReport, line: str = "") -> None:
        """Count graphs by engine and verdict, and note those that are wrong.

        `line` is the graph's if it was not drawn.
        """
        part, options = self.parts["graphs"], report.settings["options"]
        part["graphs"] = part.get("graphs", 0) + report.graphs
        counts = part.setdefault("engines", {})
        for (_, engine, verdict), count in report.verdicts.items():
            row = counts.setdefault(engine, {})
            row[verdict] = row.get(verdict, 0) + count
        for failure in report.failures:
            seed, _, number = failure.graph.partition(":")
            which = f'--line "{line}"' if line else f"--first {number} --count 1 --nodes {options['most']}"
            facts = {name: getattr(failure, name) for name in ("graph", "engine", "verdict", "node")}
            rerun = f"portadnn diff graphs {which} --seed {seed} -t {target}"
            self.fail("graphs", target, failure.message, rerun, line=line, **facts)

    def as_json(self) -> dict[str, Any]:
        """Return what the file holds."""
        head = {"format": FORMAT, "version": VERSION, "verdict": self.verdict, "environment": environment()}
        return {**head, **cleaned(plain(vars(self)), Cleaner())}

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all.

        Raises
        ------
        OSError
            It cannot be written.
        """
        write_whole(path, f"{json.dumps(self.as_json(), indent=1)}\n".encode())


def _type(line: str) -> str:
    try:
        return Case.parse(line).problem.dtype.name
    except DnnError:
        return "none"


def _file(path: str) -> str:
    """Return the name of a path's file; nothing of a folder."""
    last = re.split(r"[/\\]", path)[-1]
    return last if "." in last else ""


class Cleaner:
    """Takes folders, and the names of the user and the machine, out of texts."""

    def __init__(self) -> None:
        names = {Path.home().name, socket.gethostname(), socket.gethostname().partition(".")[0]}
        with contextlib.suppress(OSError, KeyError, ImportError):  # nobody has this user's number
            names.add(getpass.getuser())
        words = sorted((re.escape(name) for name in names if len(name) > 1), key=len, reverse=True)
        self._names = re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])") if words else None

    def __call__(self, text: str) -> str:
        """Return a text in which paths are reduced to the name of their file, and other names are NAME."""
        found = _PATH.sub(lambda path: ".../" + _file(path[0]), text[:LONGEST])
        return self._names.sub("NAME", found) if self._names else found


def cleaned(value: Any, clean: Cleaner, name: str = "") -> Any:
    """Return a JSON value with all of its texts cleaned, but for case lines and commands."""
    if isinstance(value, str):
        return value if name in _EXACT else clean(value)
    if isinstance(value, dict):
        return {key: cleaned(item, clean, key) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned(item, clean, name) for item in value]
    return value
