"""Faults in the styles in which programs are written: each is found in its line, and nothing is told where it is not.

``styles.txt`` holds small programs behind ``=== name``; ``//! V15 -V37`` behind a line says which rules are told of
it, and which (with a minus) are not.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from portadnn import migrate

PROGRAMS = [
    tuple(part.split("\n", 1))
    for part in re.split(r"^=== ", Path(__file__).with_name("styles.txt").read_text(), flags=re.MULTILINE)[1:]
]


@pytest.mark.parametrize(("name", "text"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_faults_are_told_in_every_style(name, text, tmp_path):
    (tmp_path / "net.cu").write_text(text)
    told = {(finding.place.line, finding.rule) for finding in migrate.check([tmp_path], jobs=1).findings}
    asked = {
        (number, word.lstrip("-"), not word.startswith("-"))
        for number, line in enumerate(text.split("\n"), 1)
        if "//! " in line
        for word in line.partition("//! ")[2].split()
    }
    assert asked
    assert {one for one in asked if ((one[0], one[1]) in told) is not one[2]} == set()
