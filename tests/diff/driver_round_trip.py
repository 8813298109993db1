"""MIOpenDriver's lines, read and written again."""

from __future__ import annotations

from collections.abc import Sequence

from portadnn.diff.command_lines import from_driver_line
from portadnn.problem import parse
from portadnn.recording.driver_lines import driver_line


def comes_back(line: str, wanted: Sequence[str]) -> None:
    """Demand that a line means these problems, and that each of them is in the line written for it."""
    found = from_driver_line(f"./bin/MIOpenDriver {line} -i 1 -V 0")
    assert found == [str(parse(text)) for text in wanted]
    for text in found:
        problem = parse(text)
        written = driver_line(problem, dict(type(problem).scalars))
        assert text in from_driver_line(written), written
