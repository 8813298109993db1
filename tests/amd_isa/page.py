"""Write the tables of docs/amd.md: what every kernel needs on AMD GPUs, what main loops reach, and what was executed.

Usage: python tests/amd_isa/page.py [kernels] [loops]
       python tests/amd_isa/page.py cases REPORT.xml ...        (of pytest --junitxml)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS / name) for name in ("", "attention", "devices", "fusion", "graph", "tables")]

from source_recorder import differing  # noqa: E402

from amd_isa import clang  # noqa: E402
from amd_isa.cases_page import cases  # noqa: E402
from amd_isa.loops_page import loops  # noqa: E402
from amd_isa.resources import Resources, resources, waves  # noqa: E402
from amd_isa.sources import recorded  # noqa: E402

PAGE = _TESTS.parent / "docs" / "amd.md"
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")


def needs(target: str) -> Iterator[tuple[str, Resources]]:
    """Yield file and name of kernels with what each of their sources needs."""
    recorder = recorded(target)

    todo = list(differing(recorder, set()))
    made = clang.compile_objects([source for source, _, _ in todo], target)
    for (source, name, _), file in zip(todo, made, strict=True):
        if isinstance(file, clang.Refused):
            raise file
        yield f"{recorder.sources[source][0].removeprefix('shared/')} {name}", resources(file)[name]


def table(targets: Sequence[str]) -> str:
    """Return the table: a row for each kernel, with the variant that needs most registers, and most local memory."""
    registers: dict[str, dict[str, Resources]] = {}
    local: dict[str, int] = {}
    for target in targets:
        for kernel, found in needs(target):
            worst = registers.setdefault(kernel, {})
            worst[target] = max(worst.get(target, found), found, key=lambda one: one.vgprs)
            local[kernel] = max(local.get(kernel, 0), found.local_memory)
    lines = [f"| Kernel | {' | '.join(targets)} | Local memory |", "|---|" + "---:|" * (len(targets) + 1)]
    for kernel, worst in sorted(registers.items()):
        cells = [f"{worst[t].vgprs} / {waves(t, worst[t].vgprs)}" if t in worst else "" for t in targets]
        lines.append(f"| `{kernel}` | {' | '.join(cells)} | {local[kernel]} |")
    return "\n".join(lines)


SECTIONS = {"kernels": table, "loops": loops}


def main() -> None:
    """Write the sections, each between its marks."""
    if sys.argv[1:2] == ["cases"]:
        write("cases", cases(sys.argv[2:]))
        return
    for name in sys.argv[1:] or SECTIONS:
        write(name, SECTIONS[name](TARGETS))


def write(name: str, section: str) -> None:
    """Write a section between its marks."""
    begin, end = f"<!-- {name}: written by tests/amd_isa/page.py -->", f"<!-- end of {name} -->"
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(begin)[0], text.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{section}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
