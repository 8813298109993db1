"""The whole check: find the files, read them, follow the program, judge its calls, and report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from . import interpret, streams
from .baseline import fingerprints
from .baseline import read as read_baseline
from .collect import Collector
from .config import Config
from .files import discover
from .files.copies import below, of_another_project
from .files.discover import Discovered, Found
from .files.file_kinds import HEAD, kind_of, mentions_a_library, names_a_function
from .files.reading import Look, looks, read_all
from .findings import Finding
from .frontend.found import FoundGraph
from .frontend.judge import judged
from .program import Skipped, Unit
from .report import Checked, Report, Silenced, sort_key
from .rules.engine import Judge
from .rules.judge_graphs import judge_graphs
from .rules.judge_sources import judge_sources
from .rules.table import rules
from .selection import Comments, chosen
from .streams import Judged, Progress

_MOST_OF_OTHERS = 1 << 20  # bytes of a source in a language that is not read


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


def check(
    paths: Iterable[str | Path],
    config: Config | None = None,
    *,
    jobs: int | None = None,
    progress: Progress = silent,
    stdin: BinaryIO | None = None,
    stdin_name: str = "<stdin>",
) -> Report:
    """Check sources, logs and recordings.

    Parameters
    ----------
    paths : iterable of str or Path
        Files, folders (searched for what can be checked, without what .gitignore names), ``compile_commands.json``,
        and ``"-"`` for the standard input. All sources together are one program; a log or recording is one by itself.
    config : Config, optional
        What to check for; nothing is read from files of settings here.
    jobs : int, optional
        How many processes read; by default as many as there are cores, one where there is little to read.
    progress : callable
        Told of the stages: ``progress("reading", 12, 100)``.
    stdin : binary file, optional
        What ``"-"`` reads.
    stdin_name : str
        What reports call it; what this ends with tells the language.

    Returns
    -------
    Report
        What was found out.

    Raises
    ------
    BadParam
        A path does not exist, a rule is not known, the baseline cannot be read.
    """
    run = _Run(config or Config(), progress)
    given = [os.fspath(path) for path in paths]
    found = discover.sources(given, exclude=run.config.exclude, stdin=stdin, stdin_name=stdin_name)
    run.given = given
    run.follow(found, jobs, whole=any(Path(path).is_dir() for path in given))
    return run.finish()


def check_text(text: str | bytes, file: str = "source.cpp", config: Config | None = None) -> Report:
    """Check a source that is given as text.

    Parameters
    ----------
    text : str or bytes
        The source.
    file : str
        The name that the report gives it; what it ends with tells the language.
    config : Config, optional
        What to check for.

    Returns
    -------
    Report
        What was found out.
    """
    run = _Run(config or Config(), silent)
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    kind = kind_of(file, data[:HEAD])
    source = Found(file, "python" if kind == "python" else "c++")
    run.program([run.text(source, data)], whole=False)
    return run.finish()


@dataclass
class _Run:
    """A check under way."""

    config: Config
    progress: Progress
    began: float = field(default_factory=time.perf_counter)
    findings: list[Finding] = field(default_factory=list)
    comments: dict[str, dict[int, frozenset[str]]] = field(default_factory=dict)
    given: Sequence[str] = ()

    def __post_init__(self) -> None:
        config = self.config
        wanted = chosen(config.select, config.ignore, rules())
        self.table = {name: rule for name, rule in rules().items() if name in wanted}
        self.known = frozenset[str]() if config.baseline is None else read_baseline(config.baseline)
        self.report = Report(config.target, config.cudnn_version, config.fail_on, root=config.root)

    def judge(self, whole: bool, mentioned: Iterable[str] = ()) -> Judge:
        """Return a judge for a program."""
        versions = {"cudnn": self.config.cudnn_version} if self.config.cudnn_version else {}
        return Judge(self.config.target, versions=versions, whole=whole, mentioned=mentioned, table=self.table)

    @property
    def version_read(self) -> str | None:
        """The version that the preprocessor's branches are chosen for: going to cuDNN 9, what it compiles counts."""
        return "9.0" if self.config.target == "cudnn-9" else self.config.cudnn_version

    def add(self, judged: Judged) -> None:
        """Add what a log or a recording gave."""
        self.report.files += 1
        self.findings += judged.findings
        self.report.repeats |= judged.repeats
        self.report.calls += judged.calls
        self.report.ported += judged.ported
        self.report.coverage += judged.coverage
        self.report.skipped += judged.skipped
        if judged.checked is not None:
            self.report.lines += judged.checked.lines
            self.report.checked.append(judged.checked)

    def follow(self, found: Discovered, jobs: int | None, *, whole: bool) -> None:
        """Check what was found: the sources as one program, each log and recording by itself."""
        self.report.skipped += found.skipped
        self.report.ignored = found.ignored
        files = [one for one in found.found if one.kind in ("c++", "python")]
        for one in found.found:
            if one.kind == "log":
                self.progress(f"reading {one.shown}", 0, 0)
                self.add(streams.judge_log(one, self.config.target, self.table, self.progress))
            elif one.kind == "recording":
                self.add(streams.judge_recording(one, self.config.target, self.table))
        count = 0

        def done(number: int) -> None:
            nonlocal count
            count += number
            self.progress("reading", count, len(files))

        looks = self.piped(files)
        looks += read_all([one for one in files if one.stream is None], self.version_read, jobs, done)
        self.program(looks, whole=whole)
        understood = {one.name for one in looks if one.unit is not None and one.unit.mentions}
        left = (path for path in found.others if path.suffix == ".go" or str(path) not in understood)
        self.report.others = sum(_holds(path, names_a_function) for path in left)
        if not (self.report.calls or self.report.ported):
            read = (one.path for one in files if one.path is not None)
            paths = (*found.others, *found.rest, *read)
            self.report.mentioning = [str(path) for path in paths if _holds(path, mentions_a_library)]

    def piped(self, files: Sequence[Found]) -> list[Look]:
        """Read the sources that come through pipes, of which excerpts need the text."""
        looks = []
        for one in files:
            if one.stream is not None:
                try:
                    looks.append(self.text(one, one.read()))
                except OSError as error:  # too large, or broken off
                    reason = Skipped(one.shown, error.strerror or str(error))
                    looks.append(Look(one.shown, one.kind, skipped=[reason]))
        return looks

    def text(self, source: Found, data: bytes) -> Look:
        """Read a source of which only the text is at hand."""
        self.report.sources.add(source.shown, data.decode("utf-8", "replace"))
        return next(looks([replace(source, stream=None, text=data)], self.version_read, 1))

    def program(self, found: Sequence[Look], *, whole: bool) -> None:
        """Follow a program of several sources, and judge it."""
        units: list[Unit] = []
        for one in sorted(found, key=lambda one: one.name):
            self.report.files += 1
            self.report.lines += one.lines
            self.report.skipped += one.skipped
            if one.unit is not None and one.copy_of:  # as the library's own header, which mostly is not there
                checked = Checked(one.name, one.kind, one.lines, one.touched, one.copy_of, len(one.unit.mentions))
                self.report.checked.append(checked)
            elif one.unit is not None:
                units.append(one.unit)
                apart = of_another_project(below(one.name, self.given))
                self.report.checked.append(Checked(one.name, one.kind, one.lines, one.touched, apart))
                if one.unit.suppressions:
                    self.comments[one.name] = one.unit.suppressions
        if not units:
            return
        mentioned = {name for unit in units for name, _, _ in unit.mentions}.union(*(unit.named for unit in units))
        judge = self.judge(whole or _has_main(units), mentioned)
        collector = Collector(
            self.config.target, own_names(units), lambda number: self.progress("following calls", number, 0)
        )
        self.progress("following calls", 0, 0)
        graphs: list[FoundGraph] = []
        try:
            interpret.follow(units, [judge, collector], graphs)
        except Exception as error:  # what was found until then is told
            self.report.skipped.append(
                Skipped("", f"the program was not followed to its end: {type(error).__name__}: {error}")
            )
        for unit in units:
            self.report.skipped += unit.skipped
        collector.mentions(units)
        said = judged(graphs)
        collector.graphs(said)
        self.findings += judge.findings
        self.findings += judge_sources(units, self.config.target, self.table)
        self.findings += judge_graphs(said, self.config.target, self.table)
        self.report.calls += collector.calls
        self.report.ported += collector.ported
        self.report.coverage += collector.coverage

    def finish(self) -> Report:
        """Sort out what is silenced, and return the report."""
        report = self.report
        comments = Comments(self.comments)
        self.findings.sort(key=sort_key)
        seen = set()
        for finding, print_ in fingerprints(self.findings, report.root):
            seen.add(print_)
            if comments.silences(finding):
                report.silenced.append(Silenced(finding, "comment"))
            elif print_ in self.known:
                report.silenced.append(Silenced(finding, "baseline"))
            else:
                report.findings.append(finding)
        report.unused = comments.unused()
        report.outdated = len(self.known - seen)
        report.seconds = time.perf_counter() - self.began
        return report


def _has_main(units: Sequence[Unit]) -> bool:
    return any(function.name == "main" and not function.owner for unit in units for function in unit.functions)


def own_names(units: Sequence[Unit]) -> frozenset[str]:
    """Return the names of a program's own functions, classes, types and macros."""
    return frozenset(
        name
        for unit in units
        for names in (
            (function.name for function in unit.functions),
            (one.name.rpartition("::")[2] for one in unit.classes),
            (variable.name for variable in unit.variables),
            unit.aliases,
        )
        for name in names
    )


def _holds(path: Path, what: Callable[[bytes], bool]) -> bool:
    """Tell whether the start of a file that is not read has something in it; not of links and devices."""
    try:
        if not path.is_file() or path.is_symlink():
            return False
        with path.open("rb") as stream:
            return what(stream.read(_MOST_OF_OTHERS))
    except OSError:
        return False
