"""The ``portadnn`` command: what it prints, what it refuses, and that it starts quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.advice import advice
from portadnn.cli.main import app
from portadnn.registry import backend_names, get_backend


def invoke(*arguments, code=0):
    """Run the command and return what it printed on both streams, unfolded."""
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def test_version():
    assert invoke("--version") == f"portadnn {dnn.__version__}"


def test_help_names_every_command():
    text = invoke("--help")
    assert all(name in text for name in ("info", "cache", "demo", "bench", "map", "record", "replay"))


def test_without_arguments_it_explains_itself():
    assert "Usage" in invoke(code=2)


def test_bench_has_its_own_help():
    assert "portadnn bench" in invoke("bench", "--help")


def test_info_lists_devices_and_what_is_missing():
    text = invoke("info")
    for name in backend_names():
        backend = get_backend(name)
        reason = backend.why_unavailable()
        if reason is None:
            assert all(device.name in text for device in backend.devices())
        else:
            assert f"{name} is not available" in text
            assert (backend.install in text) == (advice(backend) is not None)
    assert f"portadnn {dnn.__version__}" in text
    assert "Handle() takes" in text


@pytest.mark.parametrize(
    ("installed", "hint"),
    [
        ((), 'pip install "portadnn[cpu]" (PoCL for the CPU), or the OpenCL driver of your GPU'),
        (("pocl-binary-distribution",), None),
    ],
)
def test_what_is_installed_is_not_advised(monkeypatch, installed, hint):
    lines = ["numpy>=1.26", 'pocl-binary-distribution>=3.0; (sys_platform == "linux") and extra == "cpu"']
    monkeypatch.setattr("portadnn.advice.requires", lambda name: lines)

    def distribution(name):
        if name not in installed:
            raise PackageNotFoundError

    monkeypatch.setattr("portadnn.advice.distribution", distribution)
    assert advice(get_backend("opencl")) == hint
    assert advice(get_backend("torch")) == get_backend("torch").install


def test_info_as_json():
    facts = json.loads(CliRunner().invoke(app, ["info", "--json"]).stdout)
    assert [backend["name"] for backend in facts["backends"]] == list(backend_names())
    (reference,) = (b for b in facts["backends"] if b["name"] == "reference")
    assert reference["available"]
    assert reference["devices"][0]["backend"] == "reference"
    assert facts["packages"]["numpy"]


def test_info_says_which_variables_are_set(monkeypatch):
    monkeypatch.setenv("PORTADNN_BACKEND", "reference")
    text = invoke("info")
    assert "PORTADNN_BACKEND=reference" in text
    assert "Handle() takes reference" in text


def test_info_survives_a_handle_that_fails(monkeypatch):
    monkeypatch.setenv("PORTADNN_BACKEND", "abacus")
    assert "Handle() fails" in invoke("info")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--backend", "abacus"], 1, "'abacus'"),
        (["--backend", "reference", "--device", "7"], 1, "expected 0 to 0 for reference"),
        (["--backend", "reference", "--device", "gpu"], 2, "device numbers are expected"),
        (["--device", "99"], 1, "the number of a device"),
        (["--epochs", "0"], 2, "--epochs"),
        (["--backend", "reference", "--batch", "5000"], 1, "at most the 1442 images"),
        (["--output", "no/such/folder/x.png"], 2, "there is no folder no/such/folder"),
        (["--data", "no/such/folder"], 1, "no/such/folder is not a folder"),
    ],
)
def test_demo_refuses(arguments, code, message):
    assert message in invoke("demo", *arguments, code=code)


def test_demo_names_what_brings_a_missing_backend(monkeypatch):
    backend = get_backend("opencl")
    monkeypatch.setattr(type(backend), "why_unavailable", lambda self: "it is on holiday")
    text = invoke("demo", "--backend", "opencl", code=1)
    assert "it is on holiday" in text
    assert "pip install" in text


@pytest.mark.parametrize(("module", "text"), [("matplotlib", "matplotlib"), ("sklearn.datasets", "scikit-learn")])
def test_demo_names_what_brings_a_missing_package(monkeypatch, tmp_path, module, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    said = invoke("demo", "--backend", "reference", "--epochs", "1", code=1)
    assert text in said
    assert 'pip install "portadnn[demo]"' in said


def test_as_a_process(tmp_path):
    command = [sys.executable, "-m", "portadnn.cli.main", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == f"portadnn {dnn.__version__}"


def test_help_imports_nothing_heavy(tmp_path):
    code = (
        "import sys\n"
        "from portadnn.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = ('cupy', 'pyopencl', 'torch', 'sklearn', 'matplotlib', 'portadnn.examples.demo')\n"
        "print('heavy:', [name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "heavy: []"
