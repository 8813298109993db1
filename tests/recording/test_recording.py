"""Recordings: every call is there, as the schema says; nothing that happens to a file or a process harms a program."""

from __future__ import annotations

import inspect
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from json_schema import faults
from recorded_programs import PROGRAMS

import portadnn as dnn
from portadnn.hooks import CALL_HOOKS, watched
from portadnn.problem import every_problem
from portadnn.recording import SCHEMA_VERSION, read, recorder
from portadnn.recording.encode import encode

SCHEMA = json.loads((Path(recorder.__file__).parent / "schema.json").read_text(encoding="utf-8"))
RELU = dnn.ActivationDescriptor("relu")


def record(path, program):
    with dnn.trace(path), dnn.Handle("reference") as handle:
        program(handle)
    return read(path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_line_is_as_the_schema_says(tmp_path, name):
    recording = record(tmp_path / "run.jsonl", PROGRAMS[name])
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [fault for line in lines for fault in faults(line, SCHEMA, SCHEMA)] == []
    assert "portadnn_recording" in lines[0]
    assert lines[-1]["end"] == len(recording.events) > 5
    assert recording.complete
    assert recording.handles[recording.events[-1].handle]["backend"] == "reference"


def test_the_checker_of_schemas_finds_faults():
    line = {"call": 1, "start": 0.5, "seconds": 0.1}
    assert faults(line, SCHEMA, SCHEMA) == []
    for wrong in (
        {**line, "call": "1"},
        {"start": 1.0},
        {**line, "more": 1},
        {**line, "at": [-1]},
        {**line, "call": True},
    ):
        assert faults(wrong, SCHEMA, SCHEMA)


def test_a_call_has_everything(tmp_path):
    def program(handle: Any) -> None:
        x = handle.asarray(np.ones((1, 2, 3, 4), np.float32))
        for alpha in (1, 2.5):
            dnn.activation_forward(handle, x, RELU, x, alpha=alpha)
        dnn.set_tensor(handle, x, float("inf"))

    recording = record(tmp_path / "run.jsonl", program)
    made, upload, first, second, last = recording.events
    assert (made.function, upload.function) == ("Handle", "Handle.asarray")
    assert upload.arguments["array"] == {"host": {"dtype": "float32", "shape": [1, 2, 3, 4]}}
    assert first.library == "portadnn"
    assert first.problem == "activation_forward x=f32:1x2x3x4 y=f32:1x2x3x4 mode=relu"
    assert first.arguments["activation"]["values"]["mode"] == {"enum": "ActivationMode", "name": "RELU"}
    assert first.arguments["alpha"] == {"scalar": "alpha"}
    assert first.tensors["x"] == first.tensors["y"] == upload.result["tensor"]
    assert first.tensors["x"]["bytes"] == 96
    assert (first.scalars["alpha"], second.scalars["alpha"]) == (1.0, 2.5)
    assert last.scalars == {"value": float("inf")}
    assert first.site == (__file__, program.__code__.co_firstlineno + 3)
    assert first.thread == threading.get_native_id()
    assert 0 < made.start < upload.start < first.start < second.start
    assert 0 < first.seconds < 1
    assert recording.header["process"] == os.getpid()
    assert recording.header["portadnn"] == dnn.__version__


def test_errors_have_their_status_and_message(tmp_path):
    recording = record(tmp_path / "run.jsonl", PROGRAMS["mistaken"])
    failed = {event.function: event for event in recording.events if event.status != "SUCCESS"}
    assert failed["convolution_forward"].status == "BAD_PARAM"
    assert "workspace" in failed["convolution_forward"].message
    assert failed["reduce_tensor"].arguments["a"]["tensor"]["shape"] == [1, 2, 4, 4]
    assert sum(event.status == "TypeError" for event in recording.events) == 1


def test_forms_are_written_once(tmp_path):
    def program(handle: Any) -> None:
        x = handle.zeros((1, 1, 2, 2))
        for _ in range(50):
            dnn.activation_forward(handle, x, RELU, x)

    record(tmp_path / "run.jsonl", program)
    text = (tmp_path / "run.jsonl").read_text(encoding="utf-8")
    assert text.count('"function": "activation_forward"') == 1
    assert text.count('{"call":') == 52


def test_tensors_of_calls_are_named_as_those_of_their_problems():
    """A form says {"of": name}, and a replay passes outputs by name: parameters and tensors have to agree."""
    inside = {"states", "means"}  # of a descriptor; of divisive normalisation, which names it as the guide does
    inside |= {"attn_states", "post_states"}  # of a descriptor
    inside |= {f"x{i}" for i in range(8)} | {f"index{i}" for i in range(5)}  # in lists
    for op, kind in every_problem().items():
        function = getattr(dnn, op, None)
        if function is not None:
            unknown = set(kind.tensor_names()) - set(inspect.signature(function).parameters) - inside
            assert not unknown, f"{op}: {unknown}"


def test_calls_of_other_libraries_are_recorded_once_each(tmp_path):
    class Opaque:
        __module__ = "portadnn.cudnn"

        def __init__(self, value: Any) -> None:
            self.value = value

    def cudnnActivationForward(handle, activationDesc, alpha, xDesc, x, beta, yDesc, y):
        dnn.activation_forward(handle, x, activationDesc.value, y, alpha=alpha, beta=beta)
        if xDesc is None:
            dnn.scale_tensor(handle, y, 2.0)

    def call(handle, descriptor, alpha, x, shape=True):
        args = (handle, descriptor, alpha, shape or None, x, 0.0, shape, x)
        watched("cudnn", "cudnnActivationForward", cudnnActivationForward, args, {})

    with dnn.Handle("reference") as handle:
        x, descriptor = handle.zeros((1, 1, 2, 2)), Opaque(RELU)
        with dnn.trace(tmp_path / "run.jsonl"):
            for alpha in (1.0, 1.0, 2.0):
                call(handle, descriptor, alpha, x)
            descriptor.value = dnn.ActivationDescriptor("tanh")
            call(handle, descriptor, 2.0, x)
            call(handle, descriptor, 2.0, x, shape=False)
    first, _, third, other, last = [e for e in read(tmp_path / "run.jsonl").events if e.library == "cudnn"]
    assert first.arguments["x"] == {"of": "x"}
    assert (first.scalars["alpha"], third.arguments["alpha"]) == (1.0, 2.0)
    assert first.arguments["activationDesc"]["values"]["value"]["values"]["mode"]["name"] == "RELU"
    assert "tanh" in other.problem
    assert [step.problem.split()[0] for step in last.steps] == ["activation_forward", "scale_tensor"]


def test_nested_calls_on_request(tmp_path):
    with dnn.Handle("reference") as handle, dnn.trace(tmp_path / "run.jsonl", nested=True):
        handle.zeros((1, 1, 2, 2))
    inner, outer = read(tmp_path / "run.jsonl").events
    assert (inner.function, inner.inside) == ("Handle.asarray", "Handle.zeros")
    assert (outer.function, outer.inside) == ("Handle.zeros", None)


def test_threads(tmp_path):
    def program(handle: Any) -> None:
        together = threading.Barrier(4)

        def work() -> None:
            together.wait()
            x = handle.zeros((1, 1, 2, 2))
            for _ in range(100):
                dnn.activation_forward(handle, x, RELU, x)
            together.wait()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    events = [e for e in record(tmp_path / "run.jsonl", program).events if e.problem]
    assert len(events) == 400
    assert len({event.thread for event in events}) == 4
    assert all(a.start <= b.start for t in {e.thread for e in events} for a, b in _neighbours(events, t))


def _neighbours(events, thread):
    own = [event for event in events if event.thread == thread]
    return itertools.pairwise(own)


def test_a_full_disk_ends_the_recording_and_nothing_else(tmp_path, caplog, monkeypatch):
    with dnn.Handle("reference") as handle, dnn.trace(tmp_path / "run.jsonl") as recording:
        x = handle.zeros((1, 1, 2, 2))
        recording._writer.drain()
        monkeypatch.setattr(os, "write", _full)
        dnn.activation_forward(handle, x, RELU, x)
        recording._writer.drain()
        monkeypatch.undo()
        assert recording not in CALL_HOOKS
        dnn.activation_forward(handle, x, RELU, x)
    assert [r.getMessage() for r in caplog.records if "ends here" in r.getMessage()] == [
        f"the recording {tmp_path / 'run.jsonl'} ends here: OSError: [Errno 28] No space left on device"
    ]
    assert not read(tmp_path / "run.jsonl").complete


def _full(*_: Any) -> int:
    raise OSError(28, "No space left on device")


def test_a_fault_of_the_recorder_ends_the_recording_and_nothing_else(tmp_path, caplog, monkeypatch):
    with dnn.trace(tmp_path / "run.jsonl") as recording:
        monkeypatch.setattr(recording, "_facts", lambda *_: 1 // 0)
        assert dnn.get_error_string(0).startswith("SUCCESS")
        assert recording not in CALL_HOOKS
    assert "ZeroDivisionError" in caplog.text


def test_a_file_that_cannot_be_made_is_said_when_it_starts(tmp_path):
    with pytest.raises(dnn.BadParam, match="in a folder that is there"), dnn.trace(tmp_path / "no" / "run.jsonl"):
        pass
    assert not CALL_HOOKS


def test_more_calls_than_the_queue_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "BACKLOG", 10)
    with dnn.trace(tmp_path / "run.jsonl") as recording:
        for _ in range(100):
            dnn.get_error_string(0)
        assert len(recording._writer.queue) <= 11
    assert len(read(tmp_path / "run.jsonl").events) == 100


def test_a_recorder_that_begins_again(tmp_path):
    recording = dnn.trace(tmp_path / "run.jsonl")
    for count in (1, 3):
        with recording:
            assert recording.start() is recording  # it began already
            for _ in range(count):
                dnn.get_error_string(0)
        assert len(read(tmp_path / "run.jsonl").events) == count
        recording.stop()


def test_two_recorders(tmp_path):
    with dnn.trace(tmp_path / "a.jsonl"):
        dnn.get_error_string(0)
        with dnn.trace(tmp_path / "b.jsonl"):
            dnn.get_error_string(1)
    assert [len(read(tmp_path / name).events) for name in ("a.jsonl", "b.jsonl")] == [2, 1]


def test_arguments_that_cannot_be_keys(tmp_path):
    with dnn.trace(tmp_path / "run.jsonl"), pytest.raises(dnn.BadParam):
        dnn.TensorDescriptor([[1], [2]])
    assert read(tmp_path / "run.jsonl").events[0].status == "BAD_PARAM"
    assert encode([0] * 1000) == {"object": "list", "length": 1000}
    assert encode(object()) == {"object": "builtins.object"}


# Reading ------------------------------------------------------------------------------------------


def test_a_recording_that_was_cut_off_can_be_read(tmp_path):
    whole = record(tmp_path / "run.jsonl", PROGRAMS["training"])
    data = (tmp_path / "run.jsonl").read_bytes()
    for size in (len(data) // 2, len(data) - 3):
        (tmp_path / "cut.jsonl").write_bytes(data[:size])
        cut = read(tmp_path / "cut.jsonl")
        assert not cut.complete
        assert cut.events == whole.events[: len(cut.events)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a recording"),
        ("hello\n", "expected a recording"),
        ('{"a": 1}\n', "expected a recording"),
        (
            f'{{"portadnn_recording": {SCHEMA_VERSION + 1}, "portadnn": "9.9"}}\n',
            r"newer portadnn \(9.9\) .* please update",
        ),
        ('{"portadnn_recording": 1}\n{"call": 1}\n', ":2: call: expected the number of a form above"),
        ('{"portadnn_recording": 1}\nnonsense\n{"end": 0}\n', ":2: expected a JSON object"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(dnn.BadParam, match=message):
        read(tmp_path / "file")


# Processes ----------------------------------------------------------------------------------------

PROGRAM = "import portadnn as dnn\ndnn.get_error_string(0)\n"


def run(tmp_path, *command, code=0, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "portadnn.cli.main", *command] if command[0] == "record" else command,
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def functions(path):
    return [event.function for event in read(path).events]


def test_the_command_passes_arguments_and_exit_status_through(tmp_path):
    (tmp_path / "program.py").write_text(f"import sys\n{PROGRAM}print(sys.argv[1:])\nsys.exit(7)\n", encoding="utf-8")
    done = run(tmp_path, "record", "--", sys.executable, "program.py", "--epochs", "3", code=7)
    assert done.stdout == "['--epochs', '3']\n"
    assert functions(tmp_path / "portadnn-trace.jsonl") == ["get_error_string"]
    done = run(tmp_path, "record", "-o", "b.jsonl", "program.py", "-o", "x", code=7)
    assert done.stdout == "['-o', 'x']\n"
    assert functions(tmp_path / "b.jsonl") == ["get_error_string"]


def test_the_command_runs_modules_and_says_what_is_wrong(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    run(tmp_path, "record", "-m", "program")
    assert functions(tmp_path / "portadnn-trace.jsonl") == ["get_error_string"]
    assert "a program is expected" in run(tmp_path, "record", code=2).stderr
    assert "No such file" in run(tmp_path, "record", "no-such-program", code=127).stderr
    assert "No such file" in run(tmp_path, "record", "-o", "no/run.jsonl", "program.py", code=2).stderr


def test_a_killed_program_leaves_its_signal_and_its_calls(tmp_path):
    written = "'seconds' in open('portadnn-trace.jsonl').read()"
    waiting = f"while not {written}:\n    time.sleep(0.02)\n"
    code = f"import os, signal, time\n{PROGRAM}{waiting}os.kill(os.getpid(), signal.SIGKILL)\n"
    run(tmp_path, "record", "-c", code, code=-signal.SIGKILL)
    assert functions(tmp_path / "portadnn-trace.jsonl") == ["get_error_string"]


def test_processes_have_files_of_their_own(tmp_path):
    code = (
        f"import os, subprocess, sys\n{PROGRAM}"
        f"subprocess.run([sys.executable, '-c', {PROGRAM!r}], check=True)\n"
        "if os.fork() == 0:\n    dnn.get_version()\n    dnn.get_error_string(1)\n    sys.exit()\n"
        "os.wait()\ndnn.get_error_string(2)\n"
    )
    run(tmp_path, sys.executable, "-W", "ignore", "-c", code, PORTADNN_TRACE="run.jsonl")
    assert functions(tmp_path / "run.jsonl") == ["get_error_string"] * 2
    others = sorted(tmp_path.glob("run.*.jsonl"))
    assert [functions(path) for path in others] == [["get_error_string"]] * 2
    run(tmp_path, sys.executable, "-c", PROGRAM, PORTADNN_TRACE="%p.jsonl")
    assert any(path.stem.isdecimal() for path in tmp_path.glob("*.jsonl"))


def test_workers_of_multiprocessing_finish_their_files(tmp_path):
    code = (
        "import multiprocessing, portadnn as dnn\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('fork')\n"
        "    dnn.get_error_string(0)\n"
        "    worker = context.Process(target=dnn.get_error_string, args=(1,))\n"
        "    worker.start()\n    worker.join()\n"
    )
    run(tmp_path, sys.executable, "-W", "ignore", "-c", code, PORTADNN_TRACE="run.jsonl")
    (other,) = tmp_path.glob("run.*.jsonl")
    assert read(other).complete
    assert functions(other) == ["get_error_string"]


def test_a_variable_that_names_no_possible_file_is_reported(tmp_path):
    done = run(tmp_path, sys.executable, "-c", PROGRAM, PORTADNN_TRACE="no/run.jsonl")
    assert "nothing is recorded: PORTADNN_TRACE=no/run.jsonl" in done.stderr


def test_the_benchmark_runs(tmp_path, capsys):
    from portadnn.benchmarks import recording

    recording.main(["--backend", "reference", "--rounds", "2", "--output", str(tmp_path / "record.json")])
    assert "activation_forward" in capsys.readouterr().out
    facts = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert all(row["off"] > 0 for row in facts["seconds"].values())
    assert not CALL_HOOKS
