"""`portadnn port` on trees of several folders, compiled before and after.

The headers are made of facts (`miopen_header.txt`). With ``PORTADNN_MIOPEN_INCLUDE=DIR`` MIOpen's own
``DIR/miopen/miopen.h`` is taken as well, as a package or a checkout of github.com/ROCm/MIOpen has it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import miopen_header
import pytest
from typer.testing import CliRunner

from portadnn import mapping
from portadnn.cli.main import app

FOLDER = Path(__file__).parent
TREES = {path.stem: path.read_text() for path in sorted((FOLDER / "port_trees").glob("*.txt"))}
PROGRAMS = {path.stem: path.read_text() for path in sorted((FOLDER / "port_programs").glob("*.txt"))}
EVERY = {**TREES, **{name: f"=== {name}\n{text}" for name, text in PROGRAMS.items()}}
REAL = os.environ.get("PORTADNN_MIOPEN_INCLUDE", "")


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """Return a folder with headers of MIOpen and cuDNN made of facts, and what MIOpen's own header includes."""
    folder = tmp_path_factory.mktemp("include")
    for name in ("miopen", "hip", "real/miopen"):
        (folder / name).mkdir(parents=True)
    (folder / "miopen" / "miopen.h").write_text(miopen_header.header())
    (folder / "hip" / "hip_runtime_api.h").write_text(miopen_header.HIP)
    (folder / "cudnn.h").write_text(miopen_header.cudnn(mapping.table()))
    for place in (folder / "miopen", folder / "real" / "miopen"):
        (place / "version.h").write_text("#define MIOPEN_VERSION_MAJOR 3\n")
        (place / "export.h").write_text("#define MIOPEN_EXPORT\n")
        (place / "config.h").write_text("#define MIOPEN_BACKEND_HIP 1\n")
    return folder


def written(name, folder):
    """Write a tree, and return its sources."""
    for part in re.split(r"(?m)^=== ", EVERY[name])[1:]:
        path, _, text = part.partition("\n")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    suffixes = {".c", ".cc", ".cpp", ".cu"}
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes)


def complaints(sources, folder, includes, *, as_c=True):
    """Return what the compiler says of sources."""
    said = []
    for path in sources:
        c = path.suffix == ".c" and as_c
        command = ["gcc" if c else "g++", "-std=c99" if c else "-std=c++17", "-Wall", "-Wno-unused-variable"]
        command += [
            "-Wno-unused-function",
            "-Wno-unused-but-set-variable",
            "-Wno-switch",
            "-DWITH_LRN",
            "-fsyntax-only",
        ]
        command += [f"-I{place}" for place in (folder, folder / "include", *includes)]
        result = subprocess.run(
            [*command, "-x", "c" if c else "c++", str(path)], capture_output=True, text=True, check=False
        )
        said.append(result.stderr)
    return "".join(said)


@pytest.mark.parametrize("name", TREES)
def test_trees_compile_before_and_after(name, stubs, tmp_path):
    tree = tmp_path / name
    sources = written(name, tree)
    assert complaints(sources, tree, [stubs]) == ""
    result = CliRunner().invoke(app, ["port", "--in-place", str(tree)])
    assert result.exit_code == 0, result.output
    assert complaints(sources, tree, [stubs]) == "", result.output
    assert ", 0 places left to you" in result.output
    text = "".join(path.read_text() for path in tree.rglob("*") if path.is_file())
    left = set(re.findall(r"\bcudnn[A-Z]\w+|\bCUDNN_\w+", re.sub(r'"[^"\n]*"|//.*|/\*.*?\*/', "", text)))
    assert left <= {"cudnnGetErrorString"}  # the program's own
    again = CliRunner().invoke(app, ["port", "--in-place", str(tree)])
    assert "0 of" in again.output


@pytest.mark.parametrize("name", ["frame", "plain"])
def test_trees_for_cudnn_7_compile_with_cudnn_9(name, tmp_path):
    include, tree = tmp_path / "include", tmp_path / name
    include.mkdir()
    (include / "cudnn.h").write_text(miopen_header.cudnn(mapping.table(), nine=True))
    sources = written(name, tree)
    assert "cudnnGetConvolutionForwardAlgorithm" in complaints(sources, tree, [include])
    result = CliRunner().invoke(app, ["port", "--target", "cudnn-9", "--in-place", str(tree)])
    assert complaints(sources, tree, [include]) == ""
    assert ", 0 places left to you" in result.output
    assert "0 of" in CliRunner().invoke(app, ["port", "--target", "cudnn-9", "--in-place", str(tree)]).output


@pytest.mark.skipif(not REAL, reason="PORTADNN_MIOPEN_INCLUDE does not name a folder with MIOpen's header")
@pytest.mark.parametrize("name", EVERY)
def test_trees_compile_with_miopens_own_header(name, stubs, tmp_path):
    shutil.copy(Path(REAL) / "miopen" / "miopen.h", stubs / "real" / "miopen" / "miopen.h")
    tree = tmp_path / name
    sources = written(name, tree)
    result = CliRunner().invoke(app, ["port", "--in-place", str(tree)])
    assert result.exit_code == 0, result.output
    said = complaints(sources, tree, [stubs / "real", stubs], as_c=False)  # MIOpen 3.3's header is no C
    assert said == ""
