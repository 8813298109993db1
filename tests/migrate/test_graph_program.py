"""A whole program on backend descriptors, as people write them: nothing is wrong with it but what MIOpen lacks."""

from __future__ import annotations

from pathlib import Path

import checking
import pytest

PROGRAM = (Path(__file__).parent / "graph_program.cpp.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["cudnn-9", "portadnn-opencl", "portadnn-cuda"])
def test_nothing_is_wrong_with_it(target: str) -> None:
    assert [finding.message for finding in checking.find(PROGRAM, target=target)] == []


def test_what_miopen_lacks_is_told_where_it_is() -> None:
    lines = PROGRAM.split("\n")
    wanted = {
        (i, line.rpartition("// ")[2])
        for i, line in enumerate(lines, 1)
        if line.endswith(("// G07", "// G08", "// G09"))
    }
    found = {(f.place.line, f.rule) for f in checking.find(PROGRAM) if f.rule.startswith("G")}
    assert found == wanted
