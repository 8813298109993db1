"""The rows of cudnn_calls.txt: a call of every function of chapter 4 of the guide; the file says how to read them."""

from __future__ import annotations

from pathlib import Path

SCRIPTS: dict[str, str] = {}
PROBLEMS: dict[str, tuple[str, str]] = {}  # the problem line, and the arguments

for _line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
    if _line and not _line.startswith("#"):
        _name, _row = _line.split(": ", 1)
        _problem, _bar, _arguments = _row.partition(" | ")
        if _bar:
            PROBLEMS[_name] = _problem, _arguments
        else:
            SCRIPTS[_name] = _row

# The words of each function's own call, the first of its script.
ARGUMENTS = {name: script.split(";")[0].partition(" -> ")[0].split()[1:] for name, script in SCRIPTS.items()} | {
    name: arguments.split() for name, (_, arguments) in PROBLEMS.items()
}
