"""Baselines: files of known findings, so that a check tells of new ones only (docs/check.md).

A finding is known by its fingerprint, which says nothing of lines: rule, file, the program's function, the text of the
call without white space, and a number where all of that is equal.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .._io.files import write_whole
from .._io.outside import parse_json, read_text
from ..errors import BadParam
from .findings import Finding

VERSION = 1


def fingerprints(findings: Iterable[Finding], root: Path | None = None) -> Iterator[tuple[Finding, str]]:
    """Yield findings with their fingerprints.

    Parameters
    ----------
    findings : iterable of Finding
        All of a check, in order.
    root : Path, optional
        Files below it are named relative to it, so that a checkout may lie anywhere.
    """
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}
    for finding in findings:
        file = finding.place.file
        if file not in names:
            names[file] = relative(file, root)
        event = finding.event
        told = "" if event is None else event.text or event.function
        within = "" if event is None else event.within
        facts = (finding.rule, names[file], within, finding.function, "".join(told.split()))
        key = hashlib.sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        seen[key] += 1
        yield finding, key if seen[key] == 1 else f"{key}-{seen[key]}"


def relative(file: str, root: Path | None) -> str:
    """Return a file's name below `root`, with slashes; as it is where it lies elsewhere."""
    if root is None:
        return file
    try:
        return Path(file).absolute().relative_to(root.absolute()).as_posix()
    except ValueError:
        return file


def write(
    path: Path,
    findings: Iterable[Finding],
    root: Path | None = None,
    keep: Callable[[Finding], bool] = lambda finding: True,
) -> int:
    """Write a baseline, and return how many findings it has.

    Parameters
    ----------
    path : Path
        The file.
    findings : iterable of Finding
        All of a check, in order.
    root : Path, optional
        The folder that names of files are relative to.
    keep : callable
        Tells which findings are written.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    entries = [
        {"fingerprint": print_, "rule": finding.rule, "file": relative(finding.place.file, root)}
        for finding, print_ in fingerprints(findings, root)
        if keep(finding)
    ]
    text = json.dumps({"portadnn-baseline": VERSION, "findings": entries}, indent=1)
    write_whole(path, (text + "\n").encode("utf-8", "surrogateescape"))
    return len(entries)


def read(path: Path) -> frozenset[str]:
    """Return the fingerprints of a baseline.

    Raises
    ------
    BadParam
        The file cannot be read, or is no baseline.
    """
    try:
        data = parse_json(read_text(path, "baseline"), "baseline")
    except OSError as error:
        raise BadParam(argument="baseline", expected="a file", got=f"{path}: {error.strerror}") from None
    except BadParam as error:
        raise BadParam(argument="baseline", expected=error.expected, got=f"{path}: {error.got}") from None
    if not isinstance(data, dict) or data.get("portadnn-baseline") != VERSION:
        raise BadParam(argument="baseline", expected="what --write-baseline writes", got=str(path))
    try:
        return frozenset(str(entry["fingerprint"]) for entry in data["findings"])
    except (KeyError, TypeError):
        raise BadParam(argument="baseline", expected="findings with fingerprints", got=str(path)) from None
