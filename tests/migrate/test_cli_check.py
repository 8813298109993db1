"""`portadnn check` as a user meets it: what it prints, writes, and exits with."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from portadnn import migrate
from portadnn.cli.main import app
from portadnn.errors import BadParam
from portadnn.migrate import interpret

TANH = """#include <cudnn.h>
void f(cudnnActivationDescriptor_t act) {
  cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_TANH, CUDNN_NOT_PROPAGATE_NAN, 0.0);
}
"""
CLEAN = "#include <cudnn.h>\nvoid g(cudnnHandle_t handle) {\n  cudnnDestroy(handle);\n}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "act.cu").write_text(TANH)
    (tmp_path / "src" / "clean.cu").write_text(CLEAN)
    (tmp_path / "src" / "plain.cpp").write_text("int main() { return 0; }\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments, code=0, stdin=None):
    result = CliRunner().invoke(app, ["check", *map(str, arguments)], input=stdin, env={"COLUMNS": "120"})
    assert result.exit_code == code, result.output + result.stderr
    return result.stdout if code < 2 else result.stderr


def as_json(*arguments, code=0, stdin=None):
    return json.loads(check(*arguments, "--format", "json", code=code, stdin=stdin))


def rules(data, alarms=True):
    return {finding["rule"] for finding in data["findings"] if not (alarms and finding["rewrite"])}


# What is found --------------------------------------------------------------------------------------------------


def test_a_long_chain_of_classes_ends(project):
    chain = "".join(
        f"class C{i + 1} : public C{i} {{ void m{i}() {{ m(); cudnnDestroy(h); }} }};\n" for i in range(150)
    )
    (project / "chain.cu").write_text(f"class C0 {{ cudnnHandle_t h; void m() {{ cudnnCreate(&h); }} }};\n{chain}")
    functions = [call["function"] for call in as_json("chain.cu", "--fail-on", "never")["calls"]]
    assert functions.count("cudnnDestroy") == 150 and functions.count("cudnnCreate") == 1


def test_a_project_is_checked(project):
    text = check("src", "--fail-on", "W!", code=1)
    assert "W! V10" in text and "src/act.cu:3" in text
    assert "miopenSetActivationDescriptor(act, miopenActivationTANH, 1.0, 1.0, 0.0)" in text
    assert "2 calls of 2 functions" in text
    assert "3 files, 9 lines" in text


def test_the_collector_is_left_as_it_was(project):
    before = gc.get_threshold()
    check("src", "--fail-on", "W!", code=1)
    assert gc.get_threshold() == before and gc.isenabled()


def test_the_folder_at_hand_is_the_default(project):
    assert rules(as_json()) == rules(as_json(".")) == {"V10"}


def test_exit_codes(project):
    check("src")  # nothing breaks
    check("src", "--fail-on", "W!", code=1)
    check("src", "--fail-on", "I", code=1)
    check("src", "--fail-on", "never")
    check("src/clean.cu", "--fail-on", "I")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere"),
        (["--target", "miopen"], "miopen-1"),
        (["--fail-on", "F"], "E, W!, W, I or never"),
        (["--select", "V99"], "'V99'"),
        (["--format", "yaml"], "terminal, json"),
        (["-o", "report.txt"], "format:path"),
        (["-o", "json:nowhere/x.json"], "a folder"),
        (["--baseline", "nowhere.json"], "nowhere.json"),
        (["--cudnn-version", "x"], "such as 8.9"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--jobs", "0"], "--jobs"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_mistakes_exit_with_two_and_say_what_was_expected(project, arguments, said):
    assert said in check(*arguments, code=2)


def test_the_command_itself_exits_so(project):
    def run(*arguments):
        command = [sys.executable, "-m", "portadnn.cli.main", "check", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    found = run("src", "--fail-on", "W!")
    assert found.returncode == 1 and "V10" in found.stdout and "\x1b" not in found.stdout + found.stderr
    assert run("nowhere").returncode == 2


# Standard input -------------------------------------------------------------------------------------------------


def test_standard_input(project):
    data = as_json("-", "--stdin-name", "net.cu", stdin=TANH)
    assert rules(data) == {"V10"} and data["findings"][0]["place"]["file"] == "net.cu"
    text = check("-", "--stdin-name", "net.cu", stdin=TANH)
    assert "CUDNN_ACTIVATION_TANH" in text and "^^^^" in text  # the source is shown though there is no file


# Settings -------------------------------------------------------------------------------------------------------


def test_settings_come_from_the_nearest_file(project):
    (project / ".portadnn.toml").write_text("[check]\nfail-on = 'W!'\nexclude = ['clean.cu']\n")
    check("src", code=1)
    assert as_json("src", code=1)["files"]["looked_at"] == 2
    check("src", "--fail-on", "E")
    check("src", "--ignore", "V10")
    (project / "src" / "pyproject.toml").write_text("[tool.portadnn.check]\nselect = ['A']\n")
    check("src")
    check("src", "--select", "V10", "--fail-on", "W!", code=1)


def test_a_mistake_in_the_settings_is_told(project):
    (project / ".portadnn.toml").write_text("[check]\nfailon = 'W!'\n")
    assert "did you mean fail-on?" in check("src", code=2)


# Silencing ------------------------------------------------------------------------------------------------------


def test_comments_silence(project):
    line = TANH.splitlines()[2]
    silent = TANH.replace(line, line + "  // portadnn: ignore[V10]")
    (project / "src" / "act.cu").write_text(silent)
    data = as_json("src", "--fail-on", "W!")
    assert rules(data) == set()
    assert {(item["rule"], item["by"]) for item in data["silenced"]} == {("V10", "comment")}
    (project / "src" / "clean.cu").write_text(CLEAN.replace(";\n}", ";  // portadnn: ignore[S01]\n}"))
    (unused,) = as_json("src")["unused_comments"]
    assert (unused["file"], unused["line"], unused["rules"]) == ("src/clean.cu", 3, ["S01"])


def test_a_baseline_silences_what_was_known(project):
    assert check("src", "--write-baseline", "known.json", "--fail-on", "I") != ""
    check("src", "--baseline", "known.json", "--fail-on", "I")
    (project / "src" / "act.cu").write_text("\n\n" + TANH.replace("}", "  // moved\n}"))
    check("src", "--baseline", "known.json", "--fail-on", "I")
    (project / "src" / "act.cu").write_text(TANH.replace("void f", "void other"))
    data = as_json("src", "--baseline", "known.json", "--fail-on", "W!", code=1)
    assert rules(data) == {"V10"} and data["outdated_baseline_entries"] > 0


def test_a_baseline_of_the_settings_is_written_and_renewed(project):
    (project / "pyproject.toml").write_text("[tool.portadnn.check]\nbaseline = 'known.json'\nfail-on = 'I'\n")
    assert "known.json" in check("src", code=2)  # it is not there yet
    check("src", "--write-baseline", "known.json")
    check("src")
    text = TANH.replace("void f", "void other")
    (project / "src" / "act.cu").write_text(TANH + text)
    check("src", code=1)
    check("src", "--write-baseline", "known.json")
    check("src")


# Outputs --------------------------------------------------------------------------------------------------------


def test_several_files_at_once(project):
    text = check("src", "-o", "r.sarif", "-o", "junit:r", "-o", "r.html", "-o", "md:r.txt", "--output", "r.json")
    assert "V10" in text  # and the terminal's
    assert json.loads((project / "r.sarif").read_text())["version"] == "2.1.0"
    assert ET.fromstring((project / "r").read_text()).tag == "testsuites"
    assert (project / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert (project / "r.txt").read_text().startswith("# cuDNN to MIOpen")
    assert json.loads((project / "r.json").read_text())["target"] == "miopen-3"


def test_one_format_into_a_file(project):
    text = check("src", "--format", "json", "-o", "r")
    assert json.loads((project / "r").read_text())["portadnn-check"] == 1
    assert "V10" in text


@pytest.mark.parametrize("format", ["json", "sarif", "junit", "md", "html", "terminal"])
def test_each_format_goes_to_the_standard_output(project, format):
    text = check("src", "--format", format)
    assert "V10" in text and "src/act.cu" in text


def test_quiet_and_verbose(project):
    (line,) = check("src", "--quiet").splitlines()
    assert line.startswith("src/act.cu:3:") and " W! V10: " in line
    assert "Every call" in check("src", "-v")


# What goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.cpp": "using Status = cudnnStatus_t;\n"}, "1 file name cuDNN or MIOpen, and no call"),
        ({"a.cpp": "int main() {}\n"}, ""),
        ({"a.cpp": "void f() { cudnnCreate(&h); }\n"}, ""),
        ({"left_out/a.cpp": "void f() { cudnnCreate(&h); }\n"}, "everything was left out: 1 place"),
    ],
)
def test_what_may_have_been_missed_is_no_success(tmp_path, monkeypatch, files, said):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    text = " ".join(check(".", "--exclude", "left_out", code=2 if said else 0).split())
    assert said in text and ("may have been missed" in text) == bool(said)
    check(".", "--exclude", "left_out", "--incomplete", "pass")


def test_what_cannot_be_read_is_listed(project):
    (project / "src" / "binary.cu").write_bytes(bytes(range(256)) * 64)
    (project / "src" / "broken.cu").symlink_to("nowhere.cu")
    os.mkfifo(project / "src" / "pipe.cu")
    data = as_json("src", "--incomplete", "pass")
    assert rules(data) == {"V10"}
    assert "src/broken.cu" in {item["file"] for item in data["skipped"]}


def test_a_name_that_is_no_text(project):
    Path(os.fsdecode(b"src/caf\xe9\x1b[31m.cu")).write_text(TANH)
    for format in ("terminal", "json", "sarif", "junit", "md", "html"):
        text = check("src", "--format", format)
        text.encode("utf-8")
        assert "\x1b" not in text


def test_a_program_that_cannot_be_followed_still_has_its_calls(project, monkeypatch):
    def follow(units, listeners, graphs):
        raise RecursionError("too deep")

    monkeypatch.setattr(interpret, "follow", follow)
    data = as_json("src", "--incomplete", "pass")
    assert data["effort"]["calls"] == 2
    assert "not followed to its end: RecursionError" in data["skipped"][0]["reason"]


# From Python ----------------------------------------------------------------------------------------------------


def test_from_python(project):
    told = []
    report = migrate.check(["src"], migrate.Config(fail_on="W!"), progress=lambda *what: told.append(what))
    assert report.failed and [finding.rule for finding in report.alarms] == ["V10"]
    assert ("reading", 3, 3) in told
    assert [call.function for call in report.calls] == ["cudnnSetActivationDescriptor", "cudnnDestroy"]
    with pytest.raises(BadParam, match="nowhere"):
        migrate.check(["nowhere"])


def test_text_from_python():
    report = migrate.check_text(TANH, "x.cu")
    assert {finding.rule for finding in report.alarms} == {"V10"}
    assert migrate.check_text(b"\xff\xfe\x00", "x.cu").findings == []


def test_more_processes_find_the_same(project):
    for number in range(20):
        (project / "src" / f"more{number}.cu").write_text(TANH.replace("void f", f"void f{number}"))
    one, two = (as_json("src", "--jobs", jobs) for jobs in (1, 2))
    assert one["findings"] == two["findings"] and one["calls"] == two["calls"]
    assert len({finding["place"]["file"] for finding in one["findings"]}) == 21


def test_other_languages_that_name_a_library_do_not_end_in_green(tmp_path):
    (tmp_path / "conv.lua").write_text("errcheck('cudnnConvolutionForward', handle)\n")
    (tmp_path / "other.go").write_text("package other // uses cudnn\n")
    assert "1 file in languages that are not read names functions of cuDNN or MIOpen" in check(tmp_path, code=2)
    check(tmp_path, "--incomplete", "pass")
    (tmp_path / "clean.cu").write_text(CLEAN)
    check(tmp_path, code=2)
    (tmp_path / "conv.lua").unlink()
    check(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("binding.go", '/*\n#include <cudnn.h>\n*/\nimport "C"\nfunc f() { C.cudnnCreate(nil) }\n'),
        ("Native.cs", '[DllImport("cudnn64_7.dll")] static extern int cudnnCreate(ref IntPtr handle);\n'),
        ("ffi.rs", 'extern "C" { pub fn miopenCreate(handle: *mut miopenHandle_t) -> i32; }\n'),
        ("wrap.pyx", "cdef extern from *:\n    int cudnnCreate(void** handle)\n"),
        ("wrap.jl", "ccall((:cudnnCreate, libcudnn), Cint, (Ptr{Ptr{Cvoid}},), handle)\n"),
    ],
)
def test_bindings_do_not_end_in_green_beside_a_log(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    check(tmp_path, code=2)
    (tmp_path / "calls.log").write_text((Path(__file__).parents[1] / "cudnn9_log.txt").read_text())
    check(tmp_path, "--fail-on", "never", code=2)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Cargo.toml", '[dependencies]\nrust-cudnn = "1"\n'),
        ("main.rs", "use cudnn::Cudnn;\nfn main() { Cudnn::new(); }\n"),
        ("CMakeLists.txt", "find_package(CUDNN REQUIRED)\n"),
        ("train.py", "# on cuDNN this is faster\n"),
    ],
)
def test_a_tree_that_only_mentions_a_library_does_not_end_in_green(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0cudnn")
    said = check(tmp_path, code=2)
    assert f"{name} mentions cuDNN or MIOpen, and no call was found" in " ".join(said.split())
    check(tmp_path, "--incomplete", "pass")
    (tmp_path / name).unlink()
    check(tmp_path)
