"""The command: options, what is drawn while the self-test runs, and what it tells at its end."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .report import Report
from .run import Asked, Selftest

TITLES = {
    "info": "Devices, drivers and packages",
    "operations": "Operations, on every engine that takes them",
    "graphs": "Attention and fused graphs",
    "lenet": "LeNet learns, beside the reference",
    "speed": "Speed of a dozen calls",
    "drawn": "Random cases, for the time that is left",
}
SHOWN = 10  # failures


class Progress:
    """A line for each part; on terminals it counts while the part runs."""

    def __init__(self, console: Console, wanted: bool) -> None:
        self._console, self._draws = console, wanted and console.is_terminal
        self._began, self._title, self._drawn = time.monotonic(), "", 0.0

    def part(self, name: str) -> None:
        """Begin a part's line."""
        self._end_line()
        self._title = TITLES[name]
        self._console.print(f"{time.monotonic() - self._began:4.0f} s  {self._title}", highlight=False)

    def step(self, done: int, total: int | None, failed: int) -> None:
        """Count what is done, ten times a second at most."""
        if self._draws and time.monotonic() - self._drawn > 0.1:
            self._drawn = time.monotonic()
            of = f" of {total}" if total else ""
            text = f"{self._drawn - self._began:4.0f} s    {done}{of} done, {failed} wrong"
            self._console.file.write(f"\r{text:60}")
            self._console.file.flush()

    def _end_line(self) -> None:
        if self._drawn:
            self._console.file.write(f"\r{'':60}\r")
            self._drawn = 0.0

    def close(self) -> None:
        """Leave the terminal to what follows."""
        self._end_line()


def selftest(asked: Asked, wanted: bool = True) -> int:
    """Run the self-test, print what came of it, and return the exit code.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    progress = Progress(Console(stderr=True), wanted)
    test = Selftest(asked, progress)
    try:
        code = test.run()
    finally:
        progress.close()
    tell(test.report, asked.out, Console(file=sys.stdout))
    return code


def tell(report: Report, path: Path, console: Console) -> None:
    """Print the parts, the times, the failures, and what to do with the file."""

    def say(text: str, style: str | None = None) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True, style=style)

    if report.device:
        say(
            f"{report.device['target']}: {report.device['name']}, {report.device['platform']} {report.device['driver']}"
        )
    if report.problem:
        say(f"It could not run: {report.problem}", "red")
    table = Table()
    for heading in ("part", "state", "seconds", "what came of it"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "seconds" else "left")
    for name, part in report.parts.items():
        table.add_row(TITLES[name], part["state"], f"{part.get('seconds', 0):.0f}", _outcome(part))
    console.print(table)
    for row in report.parts["speed"].get("rows", ()):
        rates = (
            f"{row['median_seconds'] * 1e6:10.0f} us {row['gigabytes_per_second']:8.1f} GB/s" if "engine" in row else ""
        )
        say(
            f"{rates} {row.get('teraflops_per_second', 0):8.3f} TFLOP/s  {row['line']}"
            if rates
            else f"{row['error']}: {row['line']}"
        )
    for failure in report.failures[:SHOWN]:
        say(f"{failure['part']}: {failure['reason'].strip()}", "red")
        say(f"  {failure['rerun']}")
    if report.failed > SHOWN:
        say(f"{report.failed} are wrong; all are in the file")
    say(f"The results are {report.verdict} ({report.state}). Please send {path}: docs/selftest.md says how.")


def _outcome(part: dict[str, object]) -> str:
    """Return a part's counts in a few words."""
    if "verdicts" in part and isinstance(part["verdicts"], dict):
        return ", ".join(f"{count} {verdict}" for verdict, count in part["verdicts"].items())
    if "graphs" in part:
        return f"{part['graphs']} graphs"
    if "difference" in part:
        return f"the loss is {part['difference']:.1e} off the reference's; {part['allowed']:g} is allowed"
    return ""
