"""portadnn_miopen.h, run against a MIOpen that only counts and computes on memory of the host."""

from __future__ import annotations

import subprocess
from pathlib import Path

import miopen_header
import pytest

import portadnn.migrate.port

HEADER = Path(portadnn.migrate.port.__file__).parent / "portadnn_miopen.h"


def headers(folder, major):
    """Write portadnn_miopen.h beside the headers that it includes."""
    for name in ("miopen", "hip"):
        (folder / name).mkdir()
    (folder / "miopen" / "miopen.h").write_text(miopen_header.header())
    (folder / "miopen" / "version.h").write_text(f"#define MIOPEN_VERSION_MAJOR {major}\n")
    (folder / "hip" / "hip_runtime_api.h").write_text(miopen_header.HIP)
    (folder / HEADER.name).write_bytes(HEADER.read_bytes())


def test_what_older_versions_compile(tmp_path):
    headers(tmp_path, major=1)
    flags = ["-std=c99", "-Wall", "-Wno-unused-function", "-Werror", "-fsyntax-only", f"-I{tmp_path}", "-x", "c"]
    subprocess.run(["gcc", *flags, str(tmp_path / HEADER.name)], check=True)


@pytest.mark.parametrize(("compiler", "standard"), [("gcc", "c99"), ("g++", "c++14")])
def test_the_header(compiler, standard, tmp_path):
    """Find once a problem, gradients that add up, one workspace for each output; also over several files."""
    headers(tmp_path, major=3)
    suffix = ".c" if compiler == "gcc" else ".cpp"
    first, other = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    for file, text in ((first, "main"), (other, "second")):
        file.write_bytes((Path(__file__).parent / f"port_header_{text}.txt").read_bytes())
    flags = [f"-std={standard}", "-Wall", "-Wno-unused-function", "-Wno-unused-variable", "-Werror", f"-I{tmp_path}"]
    # Optimized, so that what nobody calls is left out: the file lacks the rest of MIOpen.
    subprocess.run([compiler, *flags, "-O1", "-c", str(other), "-o", str(tmp_path / "second.o")], check=True)
    command = [compiler, *flags, "-O1", str(first), str(tmp_path / "second.o"), "-o", str(tmp_path / "run")]
    subprocess.run(command, check=True)
    said = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == [
        "y 15 finds 1",
        "y 30 finds 3",
        "dw 34 db 5 finds 4",
        "dx 15",
        "relu 0 identity -86 in place 1899",
        "da 11 db 22 more 0 index 1",
        "add 10 transforms 1 broadcast 10 transforms 1 sum 25",
        "NHWC 105 1 21 3 NCHW 105 35 7 1 other 1",
    ]
