"""What the checker found out about a program, whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from .._io.text import count
from .coverage import Coverage, Known
from .events import Place
from .findings import ANSWERS, SEVERITIES, Answer, Finding, Severity
from .program import Skipped
from .rules.table import Rule, rules
from .rules.targets import TARGETS
from .texts import Sources

RANKS: Mapping[Severity, int] = {severity: rank for rank, severity in enumerate(SEVERITIES)}  # 0 is the gravest


@dataclass(frozen=True)
class Call:
    """A call of the library at one place of the program, and what becomes of it.

    Attributes
    ----------
    function : str
        The name in C.
    place : Place
        Where it is written; of a log the first line that has such a call.
    text : str
        As it is written.
    within : str
        The program's function that holds it.
    answer : {"same", "moves", "recipe", "none"} or None
        What becomes of it; None where the tables do not know the function.
    becomes : str
        The call in the target's names with the user's own arguments, or the recipe; may have several lines.
    note : str
        What else is to know or to do.
    certain : bool
        Whether `becomes` is an expression that can replace the call as it stands.
    times : int
        How often it was made: more than once in logs, in loops, in helpers with several callers.
    known : {"fully", "partly", "by name"}
        How much of it was known when it was judged.
    """

    function: str
    place: Place
    text: str = ""
    within: str = ""
    answer: Answer | None = None
    becomes: str = ""
    note: str = ""
    certain: bool = False
    times: int = 1
    known: Known = "fully"


@dataclass(frozen=True)
class Checked:
    """A file that was read: its lines, and how many of them name the library.

    `apart` is what it is a copy of ("cudnn-frontend"), or the folder of other projects that it lies in: such files are
    no work of the program's port. Copies are not followed: `calls` tells how many calls they have.
    """

    file: str
    kind: str  # "c++", "python", "log", "recording"
    lines: int = 0
    touched: int = 0
    apart: str = ""
    calls: int = 0


@dataclass(frozen=True)
class Apart:
    """Files that are no work of the program's port: which, how many, their lines that name the library, the calls."""

    what: str
    files: int = 0
    lines: int = 0
    calls: int = 0


@dataclass(frozen=True)
class Silenced:
    """A finding that a comment or a baseline silences."""

    finding: Finding
    by: str  # "comment" or "baseline"


@dataclass(frozen=True)
class Effort:
    """How much work the port is.

    Attributes
    ----------
    answers : dict of str to int
        Calls by what becomes of them, in the order of ``findings.ANSWERS``.
    unrecognised : int
        Calls of functions that the tables do not know.
    calls, functions : int
        Calls in the program, and the different functions that they call.
    lines : int
        Lines that name the library.
    files : int
        Files that have such lines.
    """

    answers: Mapping[Answer, int]
    unrecognised: int
    calls: int
    functions: int
    lines: int
    files: int

    def share(self, number: int) -> float:
        """Return a number of calls as a share of all."""
        return number / self.calls if self.calls else 0.0


@dataclass
class Report:
    """Everything that a check tells.

    Attributes
    ----------
    target : str
        Where the program is to go: ``"miopen-3"``.
    cudnn_version : str or None
        The version of cuDNN that the program is written for, where it was given.
    fail_on : str
        The least grave severity with which the check fails; ``"never"`` for none.
    findings : list of Finding
        By file and line, the gravest of a line first.
    silenced : list of Silenced
        Findings that comments and the baseline silence.
    calls : list of Call
        By file and line.
    ported : list of Call
        Calls of MIOpen, which stay as they are, by file and line.
    coverage : Coverage
        How many of all these calls were judged fully, partly, by name only.
    checked : list of Checked
        Files that name the library; of the others only the number.
    files, lines : int
        How many were looked through.
    skipped : list of Skipped
        What was not read, and why.
    ignored : list of Skipped
        What was left out as not the program's own, or as asked.
    others : int
        Sources in languages that are not read that name functions of the libraries.
    mentioning : list of str
        Files without a call that have a library's name in them; looked for where no call was found.
    unused : list of (str, int, tuple of str)
        Comments that silence nothing: file, line, rules.
    outdated : int
        Entries of the baseline that nothing fits any more.
    repeats : dict
        How often findings came again in logs, by :attr:`Finding.key`.
    sources : Sources
        The texts, for excerpts.
    root : Path or None
        The folder that fingerprints name files relative to.
    seconds : float
        How long it took.
    """

    target: str
    cudnn_version: str | None = None
    fail_on: str = "E"
    findings: list[Finding] = field(default_factory=list)
    silenced: list[Silenced] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ported: list[Call] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    checked: list[Checked] = field(default_factory=list)
    files: int = 0
    lines: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    ignored: list[Skipped] = field(default_factory=list)
    others: int = 0
    mentioning: list[str] = field(default_factory=list)
    unused: list[tuple[str, int, tuple[str, ...]]] = field(default_factory=list)
    outdated: int = 0
    repeats: dict[tuple[str, str, int, int, str], int] = field(default_factory=dict)
    sources: Sources = field(default_factory=Sources)
    root: Path | None = None
    seconds: float = 0.0

    @staticmethod
    def rule(name: str) -> Rule | None:
        """Return a rule by its id."""
        return rules().get(name)

    def title(self, name: str) -> str:
        """Return what a rule is about, in a few words."""
        rule = self.rule(name)
        return rule.title if rule else ""

    @property
    def every(self) -> list[Finding]:
        """All findings, silenced ones too, in order."""
        return sorted([*self.findings, *(item.finding for item in self.silenced)], key=sort_key)

    @property
    def rewritten(self) -> Iterator[Finding]:
        """Findings that only say that a call is written otherwise."""
        return (finding for finding in self.findings if finding.per_call)

    @property
    def goal(self) -> str:
        """The target's name as users see it."""
        return TARGETS[self.target].title

    @property
    def alarms(self) -> Iterator[Finding]:
        """Findings without those that only say that a call is written otherwise."""
        return (finding for finding in self.findings if not finding.per_call)

    @property
    def effort(self) -> Effort:
        """How much work the port is, without what is :attr:`apart`."""
        apart = {file.file for file in self.checked if file.apart}
        calls = [call for call in self.calls if call.place.file not in apart]
        said = Counter(call.answer for call in calls)
        named = [file for file in self.checked if file.touched and not file.apart]
        return Effort(
            {answer: said[answer] for answer in ANSWERS},
            said[None],
            len(calls),
            len({call.function for call in calls}),
            sum(file.touched for file in named),
            len(named),
        )

    @property
    def apart(self) -> list[Apart]:
        """Copies of the libraries' headers, and folders of other projects' code, by name."""
        calls = Counter(call.place.file for call in self.calls)
        found: dict[str, Apart] = {}
        for file in self.checked:
            if file.apart and file.touched:
                before = found.get(file.apart, Apart(file.apart))
                called = before.calls + file.calls + calls[file.file]
                found[file.apart] = Apart(file.apart, before.files + 1, before.lines + file.touched, called)
        return [found[what] for what in sorted(found)]

    def severities(self) -> dict[Severity, int]:
        """Return the number of alarms of each severity, the gravest first."""
        found = Counter(finding.severity for finding in self.alarms)
        return {severity: found[severity] for severity in SEVERITIES}

    def counts(self, finding: Finding) -> bool:
        """Tell whether a finding is an alarm as grave as :attr:`fail_on`."""
        limit = -1 if self.fail_on == "never" else list(RANKS).index(cast(Severity, self.fail_on))
        return RANKS[finding.severity] <= limit and not finding.per_call

    @property
    def failed(self) -> bool:
        """Whether some alarm is as grave as :attr:`fail_on`."""
        return any(map(self.counts, self.findings))

    @property
    def judged(self) -> int:
        """How many calls of MIOpen there are."""
        return len(self.ported)

    @property
    def missing(self) -> str:
        """Why calls may have been missed, where nothing that was found tells it; empty where none were."""
        named = sum(bool(file.touched) for file in self.checked)
        if named and not (self.calls or self.judged):
            return f"{count(named, 'file')} name cuDNN or MIOpen, and no call in them was understood"
        if self.others:
            files = f"{count(self.others, 'file')} in languages that are not read"
            return f"{files} {'names' if self.others == 1 else 'name'} functions of cuDNN or MIOpen"
        if self.mentioning and not (self.calls or self.judged):
            first = (
                f"{self.mentioning[0]} and others mention" if self.mentioning[1:] else f"{self.mentioning[0]} mentions"
            )
            return f"{first} cuDNN or MIOpen, and no call was found"
        if self.coverage and not (self.coverage.fully or self.coverage.partly):
            return f"{count(self.coverage.by_name, 'call')} known by name only, and none was followed"
        if self.skipped:
            return f"{count(len(self.skipped), 'place')} not read, or not to the end"
        if self.ignored and not self.files:
            return f"everything was left out: {count(len(self.ignored), 'place')}"
        return ""

    def call_at(self, place: Place) -> Call | None:
        """Return the call that is written at a place."""
        return self._places.get((place.file, place.line, place.column))

    @cached_property
    def _places(self) -> dict[tuple[str, int, int], Call]:
        return {(call.place.file, call.place.line, call.place.column): call for call in self.calls}

    def by_rule(self, findings: Iterable[Finding]) -> dict[str, list[Finding]]:
        """Return findings under their rules: the gravest rules first, then those with the most findings."""
        groups: dict[str, list[Finding]] = {}
        for finding in findings:
            groups.setdefault(finding.rule, []).append(finding)

        def order(rule: str) -> tuple[int, int, str]:
            return (min(RANKS[f.severity] for f in groups[rule]), -len(groups[rule]), rule)

        return {rule: groups[rule] for rule in sorted(groups, key=order)}

    @staticmethod
    def by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
        """Return findings under their files, in order."""
        groups: dict[str, list[Finding]] = {}
        for finding in findings:
            groups.setdefault(finding.place.file, []).append(finding)
        return groups


def sort_key(finding: Finding) -> tuple[str, int, int, int, str]:
    """Return what findings are sorted by: file, line, severity, column, rule."""
    place = finding.place
    return (place.file, place.line, RANKS[finding.severity], place.column, finding.rule)
