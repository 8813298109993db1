"""Faults in the styles in which programs are written: each is found in its line, and nothing is told where it is not.

``styles.txt`` holds small programs behind ``=== name``; ``//! V15 -V37`` behind a line says which rules are told of
it, and which (with a minus) are not. ``styles_files.txt`` holds programs of several files, each behind ``--- name``;
``styles_wrappers.txt`` has what classes, templates and records put around descriptors, ``styles_lists.txt`` lists of
macros, variables of other files and tables of modes, ``styles_scalars.txt`` scalars that reach calls through objects,
``styles_sources.txt`` loops around functions, classes that are graphs, and results of Find in Python,
``styles_choices.txt`` types and modes that a branch, a template's parameter or a table chooses,
``styles_records.txt`` constants that records, setters, headers and other files give,
``styles_graphs.txt`` graphs whose modes, heuristics and attributes come from elsewhere,
``styles_python.txt`` bindings of CuPy and others, ``styles_embedded.txt`` sources inside of templates, of Cython, Go
and notebooks, ``styles_rows.txt`` lists of macros' rows, also in files of their own, ``styles_overloads.txt``
overloads and other names by which a call or a result is known.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from portadnn import migrate

FOLDER = Path(__file__).parent
PROGRAMS = [
    tuple(part.split("\n", 1))
    for name in (
        "styles.txt",
        "styles_files.txt",
        "styles_wrappers.txt",
        "styles_lists.txt",
        "styles_scalars.txt",
        "styles_sources.txt",
        "styles_graphs.txt",
        "styles_python.txt",
        "styles_choices.txt",
        "styles_embedded.txt",
        "styles_records.txt",
        "styles_rows.txt",
        "styles_overloads.txt",
    )
    for part in re.split(r"^=== ", (FOLDER / name).read_text(), flags=re.MULTILINE)[1:]
]


def files_of(text):
    """Yield the files of a program with their names."""
    first, *others = re.split(r"^--- (\S+)\n", text, flags=re.MULTILINE)
    if first.strip():
        yield "net.cu", first
    yield from zip(others[::2], others[1::2], strict=True)


def asked_of(name, text):
    """Yield what a file's lines ask for: file, line, rule, whether it is told."""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(?://|#)! ([^\"]*)", line)
        for word in match[1].split() if match else ():
            yield name, number, word.lstrip("-"), not word.startswith("-")


@pytest.mark.parametrize(("name", "text"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_faults_are_told_in_every_style(name, text, tmp_path):
    asked = set()
    for file, content in files_of(text):
        (tmp_path / file).write_text(content)
        asked.update(asked_of(file, content))
    found = migrate.check([tmp_path], jobs=1).findings
    told = {(Path(finding.place.file).name, finding.place.line, finding.rule) for finding in found}
    assert asked
    assert {one for one in asked if (one[:3] in told) is not one[3]} == set()
