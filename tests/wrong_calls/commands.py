"""Wrong command lines: commands that read files, with damaged files, files of other kinds and wrong options.

``python -m tests.wrong_calls.commands --count 5000 --seed 3`` makes more than the tests do; ``--case N`` makes one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.diff import Case, golden
from portadnn.graph.api.core import Graph
from portadnn.graph.files import as_data
from portadnn.graph.foreign_files import write
from portadnn.graph.lines import read as read_graph

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]

from mutations import mutated_bytes, mutated_json, mutated_lines, mutated_text  # noqa: E402
from recorded_programs import PROGRAMS  # noqa: E402

STATUSES = {0, 1, 2}  # right, something found, refused
LINES = (
    "activation_forward x=f16:2x3x5x7 mode=tanh ; data=nan seed=3",
    "softmax_forward x=f32:1x2x4x4 alpha=2",
    "pooling_forward x=f32:2x3x8x8 mode=max window=2,2 stride=2,2",
)
SETTINGS = """[check]
target = "miopen-3"
cudnn-version = "8.9"
fail-on = "W"
select = ["S", "V1*"]
exclude = ["third_party/"]
baseline = "known.json"
"""
BASELINE = {"portadnn-baseline": 1, "findings": [{"fingerprint": "ab12", "rule": "S01", "file": "a.cu"}] * 3}
COMPILE = [{"directory": ".", "file": "a.cu", "command": "nvcc -DX=1 -I include a.cu", "arguments": ["cc", "a.cu"]}]
WORDS = ("", "x", "-1", "0", "nan", "1e400", "9" * 5000, "reference", "reference:9", "nobody", "miopen-3", "json", "E")
WORDS += (
    "\x00",
    "\ud800",
    "[z-a]",
    "../x",
    "/dev/null",
    "/nonexistent/x",
    "%p",
    "--help",
    "cudnn-9",
    "md,html",
    "a" * 300,
)


def _graphs() -> dict[str, bytes]:
    """Return a graph in other libraries' formats."""
    line = "matmul A=f16:2x3x4 B=f16:2x4x5 C=#1:~f32:2x3x5 ; pointwise IN_0=#1 IN_1=f32:1=0.5 OUT_0=f16:2x3x5 mode=MUL"
    data = as_data(Graph(), read_graph(line))
    files = {"hipdnn.json": "hipdnn-json", "hipdnn.bin": "hipdnn", "cudnn.json": "cudnn-frontend"}
    return {name: write(data, format) for name, format in files.items()}


class Files:
    """Right files of every kind, from which damaged ones are made.

    Parameters
    ----------
    folder
        Where all are written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with dnn.Handle("reference") as handle:
            golden.write(golden.record(handle, [Case.parse(line) for line in LINES]), folder / "whole.pdg")
            with dnn.trace(folder / "whole.jsonl"):
                PROGRAMS["training"](handle)
        program = (TESTS / "migrate" / "port_programs" / "net.cu.txt").read_bytes()
        log = (TESTS / "cudnn9_log.txt").read_bytes()[:6000]
        self.whole: dict[str, bytes] = {
            "golden.pdg": (folder / "whole.pdg").read_bytes(),
            "run.jsonl": (folder / "whole.jsonl").read_bytes(),
            "lines.txt": "\n".join(LINES).encode(),
            "settings.toml": SETTINGS.encode(),
            "known.json": json.dumps(BASELINE).encode(),
            "compile_commands.json": json.dumps(COMPILE).encode(),
            "net.cu": program,
            "cudnn.log": log,
            **_graphs(),
        }

    def damaged(self, kind: str, draw: random.Random) -> bytes:
        """Return the bytes of a file with something changed."""
        data = self.whole[kind]
        if kind == "run.jsonl" and draw.random() < 0.8:
            return mutated_lines(data.decode(), draw)
        if kind.endswith(".json") and draw.random() < 0.7:
            return json.dumps(mutated_json(json.loads(data), draw)).encode("utf-8", "surrogatepass")
        if kind in ("lines.txt", "settings.toml") and draw.random() < 0.7:
            lines = data.decode().splitlines()
            at = draw.randrange(len(lines))
            lines[at] = mutated_text(lines[at], draw)
            return "\n".join(lines).encode("utf-8", "surrogatepass")
        return mutated_bytes(data, draw)

    def place(self, kind: str, draw: random.Random) -> Path:
        """Write a file for a place where one of a kind belongs; return its path."""
        chance = draw.random()
        if chance < 0.05:
            return draw.choice(
                (self.folder, self.folder / "nothing" / kind, Path("/dev/null"), Path(draw.choice(WORDS)))
            )
        other = draw.choice(sorted(self.whole)) if chance < 0.15 else kind
        path = self.folder / "made" / kind
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"" if chance > 0.98 else self.whole[kind] if chance > 0.85 else self.damaged(other, draw))
        return path


# "kind" of a file in brackets; options that are drawn from WORDS now and then
COMMANDS: tuple[str, ...] = (
    "check [net.cu] --no-progress --target miopen-3 --format json",
    "check [run.jsonl] --no-progress --fail-on W --verbose",
    "check [cudnn.log] --no-progress --cudnn-version 8.9 --format sarif",
    "check [compile_commands.json] --no-progress --select S01 --quiet",
    "check [net.cu] --no-progress --config [settings.toml] --ignore V1*",
    "check [net.cu] --no-progress --baseline [known.json] --exclude third_party/",
    "port [net.cu] --target miopen-3 --strict",
    "replay [run.jsonl] --backend reference --seed 0 --format json",
    "replay [run.jsonl] --as cudnn-log --cudnn 9",
    "replay [run.jsonl] --as miopen-driver",
    "diff check [golden.pdg] --target reference --no-progress",
    "diff bisect [run.jsonl] --target reference,reference:0 --no-isolate",
    "diff run --lines [lines.txt] --target reference --no-isolate --no-progress",
    "diff reproduce [line] --target reference --no-isolate",
    "diff shrink [line] --target reference --no-isolate --timeout 5",
    "caps --why [line] --format json",
    "graph [hipdnn.json] --backend reference --json",
    "graph [hipdnn.bin] --to cudnn-frontend",
    "graph [cudnn.json] --to line",
    "caps --op softmax_* --backend reference --format md",
    "explain S01 --format md",
    "map cudnnCreate --format json",
)


def case(number: int, seed: int, files: Files) -> list[str]:
    """Return the words of the command line of a number."""
    draw = random.Random(f"{seed} {number}")
    words = COMMANDS[number % len(COMMANDS)].split()
    made = []
    for at, word in enumerate(words):
        if word == "[line]":
            line = mutated_text(draw.choice(LINES), draw).replace("\x00", "")
            made.append(line.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
        elif word.startswith("["):
            made.append(str(files.place(word[1:-1], draw)))
        elif at > 1 and not word.startswith("--") and draw.random() < 0.1:
            made.append(draw.choice(WORDS))
        elif at > 1 and draw.random() < 0.02:
            made += [draw.choice(WORDS), word]
        else:
            made.append(word)
    return made


def judge(words: list[str], runner: CliRunner) -> tuple[str, int | None]:
    """Run a command line; return what is wrong with its end, or "", and its exit status."""
    result = runner.invoke(app, words, env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "".join(traceback.format_exception(result.exception)), None
    if "Traceback (most recent" in result.output:
        return result.output, result.exit_code
    if result.exit_code not in STATUSES:
        return f"exit status {result.exit_code}: {result.output[-500:]}", result.exit_code
    if result.exit_code == 2 and not result.output.strip():
        return "refused without a word", 2
    return "", result.exit_code


def run(count: int, seed: int, first: int = 0) -> tuple[list[str], Counter[int | None]]:
    """Run so many command lines in a folder of their own; return what went wrong, and the exit statuses."""
    wrong, statuses = [], Counter[int | None]()
    runner, here = CliRunner(), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="wrong-commands-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = Files(Path(folder))
        os.chdir(folder)
        try:
            for number in range(first, first + count):
                words = case(number, seed, files)
                said, status = judge(words, runner)
                statuses[status] += 1
                if said:
                    shown: list[Any] = [word[:200] for word in words]
                    wrong.append(f"{shown}\n{said[-3000:]}\n  --seed {seed} --case {number}")
        finally:
            os.chdir(here)
    return wrong, statuses


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int)
    given = parser.parse_args()
    wrong, statuses = run(*((given.count, given.seed) if given.case is None else (1, given.seed, given.case)))
    print("\n\n".join(wrong[:20]))
    print(f"{len(wrong)} went wrong; exit statuses: {dict(statuses)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
