"""``portadnn selftest``: what it finds on devices that are right, wrong and break; its file is whole at any time."""

from __future__ import annotations

import getpass
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import json_schema
import pytest

import portadnn
from portadnn.cli.selftest.report import PARTS, Cleaner, Report
from portadnn.cli.selftest.selection import GRAPHS, Selection
from portadnn.diff.graphs.cases import case_of_line
from portadnn.diff.targets import Target
from portadnn.operation import operations
from portadnn.registry import get_backend

SCHEMA = json.loads(
    (Path(portadnn.__file__).parent / "cli/selftest/schema.json").read_text(encoding="utf-8"),
)
BROKEN = '''
import os

from portadnn_backends.base import Plan, Run
from portadnn_backends.reference.backend import DefinitionEngine, ReferenceBackend


class Wrong(DefinitionEngine):
    """Adds to the result of one operation, and ends its process in another."""

    def prepare(self, problem, device):
        honest = super().prepare(problem, device)

        def run(arrays, scalars, workspace):
            honest.run(arrays, scalars, None)
            if problem.op == "softmax_forward":
                os._exit(7)
            if problem.op == "activation_forward":
                arrays[-1][...] += 1

        return Plan(problem, self, 0, Run(run))


class Broken(ReferenceBackend):
    name = "broken"

    def engines(self):
        return (Wrong(),)


BACKEND = Broken()
'''


@pytest.fixture
def site(tmp_path):
    """An environment in which another distribution brings the backend `broken`."""
    info = tmp_path / "site" / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[portadnn.backends]\nbroken = broken_device:BACKEND\n")
    (info.parent / "broken_device.py").write_text(BROKEN)
    return {**os.environ, "PYTHONPATH": str(info.parent), "PORTADNN_CACHE_DIR": str(tmp_path / "secret-folder")}


def started(tmp_path, *words, env=None):
    """Start a self-test in a folder of its own."""
    command = [sys.executable, "-m", "portadnn", "selftest", "--out", "found.json", "--jobs", "1", *words]
    return subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finished(process, tmp_path):
    """Return the exit code of a self-test, what it printed and its file, which has to conform to the schema."""
    printed, _ = process.communicate(timeout=240)
    return process.returncode, printed, checked(tmp_path)


def checked(tmp_path):
    """Return the file, which has to conform to the schema."""
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert json_schema.faults(found, SCHEMA, SCHEMA) == []
    assert [path.name for path in tmp_path.glob("*found*")] == ["found.json"]
    return found


def test_reference_is_right(tmp_path):
    code, printed, found = finished(
        started(tmp_path, "--backend", "reference", "--part", "operations,graphs,lenet"), tmp_path
    )
    assert code == 0, printed
    assert (found["verdict"], found["failures"], found["device"]["target"]) == ("right", [], "reference:0")
    assert set(found["parts"]["operations"]["operations"]) == set(operations())
    assert {"HALF", "BFLOAT16", "FLOAT", "DOUBLE"} <= set(found["parts"]["operations"]["types"])
    assert found["parts"]["graphs"]["graphs"] > len(GRAPHS)
    assert found["parts"]["lenet"]["losses"][-1] < 0.5 * found["parts"]["lenet"]["losses"][0]
    assert "found.json" in printed


@pytest.mark.long
def test_speed_is_measured(tmp_path):
    """Its problems are large for the reference."""
    backend = "reference" if get_backend("opencl").why_unavailable() else "opencl"
    code, printed, found = finished(started(tmp_path, "--backend", backend, "--part", "speed"), tmp_path)
    assert code == 0, printed
    assert len(found["parts"]["speed"]["rows"]) == 12


def test_wrong_numbers_and_crashes_are_found(tmp_path, site):
    code, printed, found = finished(
        started(tmp_path, "--backend", "broken", "--part", "operations,lenet", env=site), tmp_path
    )
    assert code == 1, printed
    assert found["verdict"] == "wrong"
    told = {}
    for failure in found["failures"]:
        told.setdefault(failure.get("case", failure["part"]).split()[0], failure)
    assert set(told) - {"graphs", "lenet"} == {"activation_forward", "softmax_forward"}
    assert "ended with 7" in told["softmax_forward"]["reason"]
    assert sum(found["parts"]["operations"]["verdicts"].values()) > 40, "what is right runs beside what crashes"
    again = told["activation_forward"]["rerun"]
    done = subprocess.run(f"{sys.executable} -m {again}", shell=True, env=site, cwd=tmp_path, capture_output=True)
    assert done.returncode == 1
    text = json.dumps(found)
    for name in ("secret-folder", str(tmp_path), str(Path.home()) + "/", f"/{getpass.getuser()}/"):
        assert name not in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_file_is_whole_after_an_interruption(tmp_path, number):
    process = started(tmp_path, "--backend", "reference", "--seconds", "600")  # ended by the signal
    while process.poll() is None:
        time.sleep(0.05)
        path = tmp_path / "found.json"
        if path.exists() and json.loads(path.read_text())["parts"]["operations"]["state"] == "done":
            break
    process.send_signal(number)
    process.communicate(timeout=60)
    found = json.loads((tmp_path / "found.json").read_text())
    assert json_schema.faults(found, SCHEMA, SCHEMA) == []
    assert found["parts"]["operations"]["verdicts"]["PASSED"] > 100
    if number == signal.SIGINT:
        assert (process.returncode, found["state"]) == (130, "interrupted")
    else:
        assert found["state"] == "running"


def test_what_cannot_run_says_why(tmp_path):
    code, printed, found = finished(started(tmp_path, "--backend", "reference", "--device", "7"), tmp_path)
    assert (code, found["verdict"], found["state"]) == (2, "could not run", "could not run")
    assert "7" in found["problem"] and found["problem"] in printed.replace("\n", " ")
    assert finished(started(tmp_path, "--backend", "nowhere"), tmp_path)[0] == 2
    process = started(tmp_path, "--out", "no/such/folder.json")
    assert "no/such" in process.communicate(timeout=60)[0]
    assert process.returncode == 2


def test_opencl_begins_with_all_operations():
    """A beginning of the selection has every operation in a type that the device takes, and graphs that are valid."""
    if get_backend("opencl").why_unavailable() is not None:
        pytest.skip("no OpenCL device")
    with Target.parse("opencl").open() as handle:
        cases = list(Selection().cases({"opencl": handle}))
    assert [case.problem.op for case in cases[: len(operations())]] == list(operations())
    engines = {(case.problem.op, case.engine) for case in cases if case.engine}
    assert len(engines) > 60
    kinds = {kind.split()[0] for line in GRAPHS for kind in case_of_line(line).kinds}
    assert {"sdpa", "sdpa_backward", "matmul", "conv_fprop", "conv_dgrad", "reduction", "softmax"} <= kinds


def test_texts_lose_names_and_folders():
    clean = Cleaner()
    home, host = Path.home(), socket.gethostname()
    for text in (
        f"{home}/x.py",
        f"on {host}: no",
        r"C:\Users\someone\x.dll",
        f"by {getpass.getuser()}, at /a/b/someone/c",
    ):
        found = clean(text)
        assert str(home) not in found.split(".../")[0]
        assert not {"someone", host, getpass.getuser()} & set(found.replace("/", " ").replace("\\", " ").split())
    kept = "convolution_forward x=f32:2x3x6x7/400,50,8,1 w=f32:4x3x3x3, 3 GB/s, sm_90 1/2"
    assert clean(kept) == kept
    report = Report({})
    assert tuple(report.parts) == PARTS
