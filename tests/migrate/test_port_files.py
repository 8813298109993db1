"""`portadnn port`: patches, files and the command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from portadnn.cli.main import app

PROGRAMS = Path(__file__).parent / "port_programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.txt"))


@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1", "-i"]])
def test_patches_apply(tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q", "."], check=True)
    folder = tmp_path / "src"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_bytes((PROGRAMS / f"{name}.txt").read_bytes())
    dos = (PROGRAMS / "net.cu.txt").read_bytes().replace(b"\n", b"\r\n").rstrip()
    (folder / "dos.cu").write_bytes(dos)
    result = CliRunner().invoke(app, ["port", "src", "-o", "port.patch"])
    assert result.exit_code == 0, result.output
    assert (folder / "dos.cu").read_bytes() == dos
    options = ["--binary"] if tool[0] == "patch" else []
    subprocess.run([*tool[:1], *tool[1:], "port.patch", *options], check=True, capture_output=True)
    patched = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in NAMES:
        (folder / name).write_bytes((PROGRAMS / f"{name}.txt").read_bytes())
    (folder / "dos.cu").write_bytes(dos)
    (folder / "portadnn_miopen.h").unlink()
    assert CliRunner().invoke(app, ["port", "src", "--in-place"]).exit_code == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == patched


def test_writing_keeps_modes_and_links(tmp_path):
    real = tmp_path / "real.cpp"
    real.write_text("cudnnCreate(&h);\n")
    real.chmod(0o600)
    link = tmp_path / "link.cpp"
    link.symlink_to(real)
    assert CliRunner().invoke(app, ["port", "--in-place", str(link)]).exit_code == 0
    assert link.is_symlink()
    assert real.read_text() == "miopenCreate(&h);\n"
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.cpp", "real.cpp"]


def test_a_file_that_cannot_be_written_stays_whole(tmp_path, monkeypatch):
    file = tmp_path / "a.cpp"
    file.write_text("cudnnCreate(&h);\n")

    def fail(*_):
        raise OSError("no space")

    monkeypatch.setattr(Path, "replace", fail)
    result = CliRunner().invoke(app, ["port", "--in-place", str(file)])
    assert result.exit_code == 2
    assert file.read_text() == "cudnnCreate(&h);\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.cpp"]


def test_a_header_that_is_there_is_the_users(tmp_path):
    file, header = tmp_path / "a.cpp", tmp_path / "portadnn_miopen.h"
    call = "cudnnConvolutionForward(h, &one, x, xp, w, wp, c, a, ws, size, &zero, y, yp);\n"
    file.write_text(call)
    header.write_text("// mine\n")
    assert CliRunner().invoke(app, ["port", "--in-place", str(file)]).exit_code == 0
    assert header.read_text() == "// mine\n"
    header.unlink()
    file.write_text(call)
    assert CliRunner().invoke(app, ["port", "--in-place", str(file)]).exit_code == 0
    assert "portadnn_convolution_forward" in header.read_text()


def test_the_command(tmp_path):
    file = tmp_path / "a.cpp"
    file.write_text("cudnnCreate(&h);\ncudnnIm2Col(h, x, xp, w, c, b);\n")
    run = CliRunner()
    shown = run.invoke(app, ["port", str(file)])
    assert shown.exit_code == 0
    assert "+miopenCreate(&h);" in shown.stdout
    assert "2: PD-V49: cudnnIm2Col" in shown.stderr
    assert "1 of 1 file changes: 1 call ported, 1 place left to you" in shown.stderr
    assert file.read_text().startswith("cudnnCreate")
    assert run.invoke(app, ["port", str(file), "--strict"]).exit_code == 1
    assert run.invoke(app, ["port", str(file), "--target", "hipdnn"]).exit_code == 2
    assert run.invoke(app, ["port", str(file), "--in-place", "--diff"]).exit_code == 2
    assert run.invoke(app, ["port", str(tmp_path / "none.cpp")]).exit_code == 2
    assert run.invoke(app, ["port", str(file), "-o", str(tmp_path / "none" / "a.patch")]).exit_code == 2
