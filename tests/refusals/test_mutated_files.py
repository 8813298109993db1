"""Thousands of damaged files and lines: readers refuse them with a DnnError, or take them; nothing else comes out."""

from __future__ import annotations

import json
import random
import sqlite3
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import peak_memory
import pytest
from mutations import mutated_bytes, mutated_json, mutated_lines, mutated_text
from recorded_programs import PROGRAMS
from small_problems import LINES
from typer.testing import CliRunner

import portadnn as dnn
from portadnn import graph
from portadnn.cli.main import app
from portadnn.diff import Case, examine, golden, sources
from portadnn.diff.campaign.cache import _read as read_exact
from portadnn.diff.campaign.journal import Journal
from portadnn.diff.golden.file import CASES, HEADER, OUTPUTS, digest_of
from portadnn.diff.programs.compare import compare as compare_runs
from portadnn.diff.programs.compare import read_run
from portadnn.diff.results import report_as_json, report_from_json
from portadnn.finding.database import FindDatabase, Place
from portadnn.migrate import baseline
from portadnn.migrate import config as configs
from portadnn.migrate.files import discover
from portadnn.recording import read
from portadnn.recording.cudnn_log import cudnn_log
from portadnn.recording.driver_lines import driver_lines
from portadnn.recording.replay import Replay

MOST_MEMORY = 700 << 20  # bytes by which the process may grow, all files together
COUNTS = Counter()  # what was tried, by reader

GOLDEN = (
    "activation_forward x=f16:2x3x5x7 mode=tanh ; data=nan seed=3",
    "reduce_tensor a=f32:3x4x5x6 c=f32:3x1x5x1 indices=i32:3x1x5x1 operation=max ; data=exact",
    "activation_forward x=f32:8x16x4x4 mode=sigmoid",
    "activation_forward x=f32:2x3x5x7 y=f32:2x3x5x8 mode=relu ; expect=BAD_PARAM",
)
DRIVER = (
    "./bin/MIOpenDriver conv -n 2 -c 3 -H 8 -W 8 -k 4 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1",
    "./bin/MIOpenDriver pool --input 2x3x8x8,NCHW --win_h 2 --win_w 2 --pool_stride_h 2 --pool_stride_w 2 -m max -F 1",
    "--conv --dir=FWD_D mb2_ic3oc4_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1",
    "mb1g1ic3ih8oc4oh6kh3ph0",
)
SETTINGS = """[check]
target = "miopen-3"
cudnn-version = "8.9"
fail-on = "W"
select = ["S", "V1*"]
ignore = ["S01"]
exclude = ["third_party/", "*.old.cu"]
baseline = "known.json"
"""


@pytest.fixture(autouse=True, scope="module")
def bounded_memory():
    peak_memory.forget()
    before = peak_memory.held()
    yield
    assert peak_memory.held() - before < MOST_MEMORY
    assert sum(COUNTS.values()) >= 4000 or len(COUNTS) < 15, COUNTS  # fewer where some were chosen


def tried(name, count, make, use, seed=1):
    """Make and use so many; only DnnErrors may come out, and they have something to say."""
    refused = 0
    for number in range(count):
        rng = random.Random(f"{seed} {name} {number}")
        thing = make(rng)
        try:
            use(thing)
        except dnn.DnnError as error:
            assert str(error), thing
            refused += 1
        except BaseException as error:
            raise AssertionError(f"{name} {number}: {type(error).__name__}: {error}: {str(thing)[:2000]}") from error
        COUNTS[name] += 1
    assert refused, f"none of {count} was refused"


def written(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    return path


def test_golden_files(tmp_path, reference):
    whole = tmp_path / "whole.pdg"
    golden.write(golden.record(reference, [Case.parse(line) for line in GOLDEN]), whole)
    data = whole.read_bytes()
    with zipfile.ZipFile(whole) as archive:
        members = {name: archive.read(name) for name in (HEADER, CASES, OUTPUTS)}

    def make(rng):
        if rng.randrange(3) == 0:
            return mutated_bytes(data, rng)
        changed = dict(members)
        header = json.loads(members[HEADER])
        if rng.randrange(3) == 0:
            header = mutated_json(header, rng)
        else:
            changed[CASES] = mutated_lines(members[CASES].decode(), rng).rstrip(b"\n")
        if isinstance(header, dict) and rng.randrange(8):  # its own digest is right
            header["digest"] = digest_of(header, changed)
        changed[HEADER] = json.dumps(header).encode()
        with zipfile.ZipFile(tmp_path / "made.pdg", "w", rng.choice((0, 8, 14))) as archive:
            for name, contents in changed.items():
                archive.writestr(name, contents)
        return (tmp_path / "made.pdg").read_bytes()

    def use(data):
        found = golden.read(written(tmp_path / "file.pdg", data))
        assert all(output.values.nbytes < 1 << 20 for entry in found.entries for output in entry.outputs.values())
        golden.check(found, {"reference": reference})

    tried("golden", 500, make, use)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder, texts = tmp_path_factory.mktemp("recordings"), []
    for name in ("training", "recurrent", "finding", "mistaken"):
        with dnn.trace(folder / name), dnn.Handle("reference") as handle:
            PROGRAMS[name](handle)
        texts.append((folder / name).read_text(encoding="utf-8"))
    with dnn.trace(folder / "graph"), dnn.Handle("reference") as handle:
        made, pack = a_graph(handle)
        made.execute(pack)
        made.explain()
    return [*texts, (folder / "graph").read_text(encoding="utf-8")]


def a_graph(handle):
    kind = graph.data_type.FLOAT
    made = graph.pygraph(io_data_type=kind, intermediate_data_type=kind, compute_data_type=kind, handle=handle)
    a, b = (made.tensor(name=name, dim=[2, 3, 3], stride=[9, 3, 1]) for name in "ab")
    c = made.relu(made.matmul(a, b))
    c.set_output(True)
    made.build([graph.heur_mode.A])
    return made, {one: np.ones((2, 3, 3), np.float32) for one in (a, b, c)}


def test_recordings(tmp_path, recordings):
    def use(data):
        recording = read(written(tmp_path / "run.jsonl", data))
        for _ in cudnn_log(recording):
            pass
        for _ in driver_lines(recording):
            pass
        list(sources.from_recording(tmp_path / "run.jsonl").cases())

    tried("recordings", 900, lambda rng: mutated_lines(rng.choice(recordings), rng), use)


def test_replays(tmp_path, recordings):
    def use(data):
        run = Replay(read(written(tmp_path / "run.jsonl", data)), "reference")
        try:
            run.run()
        finally:
            run.close()

    tried("replays", 250, lambda rng: mutated_lines(rng.choice(recordings), rng), use)


def test_the_commands_that_read_recordings(tmp_path, recordings):
    runner = CliRunner()

    def make(rng):
        path = written(tmp_path / "run.jsonl", mutated_lines(rng.choice(recordings), rng))
        return rng.choice(
            (
                ["replay", path, "--as", "cudnn-log"],
                ["replay", path, "--as", "miopen-driver"],
                ["replay", path, "--backend", "reference"],
                ["check", path, "--no-progress"],
                ["diff", "bisect", path, "-t", "reference,reference:0", "--no-isolate"],
            )
        )

    tried("commands", 90, make, lambda words: clean(runner, words))


def clean(runner, words):
    """Run a command; it ends with an exit status of its own, and raises what it refuses for `tried` to count."""
    result = runner.invoke(app, list(map(str, words)), env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback (most recent" not in result.output, result.output
    if result.exit_code == 2:
        raise dnn.BadParam(result.output)
    assert result.exit_code in (0, 1), result.output


def test_problem_lines():
    def use(line):
        case = Case.parse(line)
        problem = case.problem
        assert str(problem) and str(case)
        problem.flops(), problem.bytes(), case.numbers
        for tensor in problem.written:
            problem.reduction_length(tensor)

    lines = [
        *LINES,
        *GOLDEN,
        "activation_forward x=f32:2x3x5x5 mode=relu ; data=exact seed=7 in_place=y:x fill=x:nan@3",
    ]
    tried("lines", 1400, lambda rng: mutated_text(rng.choice(lines), rng), use)
    tried(
        "driver lines", 300, lambda rng: mutated_text(rng.choice(DRIVER), rng), lambda line: sources.from_lines([line])
    )


def test_commands_that_take_lines(tmp_path):
    runner = CliRunner()
    lines = [line for line in LINES if len(line) < 150]

    def make(rng):
        line = mutated_text(rng.choice(lines), rng).replace("\x00", "")
        line = line.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        path = written(tmp_path / "lines.txt", mutated_bytes("\n".join(lines[:5]).encode(), rng))
        return rng.choice(
            (
                ["caps", "--why", line, "--format", "json"],
                ["diff", "reproduce", line, "-t", rng.choice(("reference", "nobody", "reference:9")), "--no-isolate"],
                ["diff", "record", line, "-t", "reference", "-o", tmp_path / "made.pdg", "--no-progress"],
                [
                    "diff",
                    "shrink",
                    line,
                    "-t",
                    "reference",
                    "--no-isolate",
                    "--timeout",
                    rng.choice(("nan", "inf", "5")),
                ],
                ["diff", "run", "--lines", path, "-t", "nobody"],
                ["diff", "run", "-t", "nobody", "--time", line.split("=")[-1] or "x"],
            )
        )

    tried("line commands", 60, make, lambda words: clean(runner, words))


def test_settings(tmp_path):
    (tmp_path / "known.json").write_text('{"portadnn-baseline": 1, "findings": []}', encoding="utf-8")

    def make(rng):
        if rng.randrange(3) == 0:
            return mutated_bytes(SETTINGS.encode(), rng)
        lines = SETTINGS.splitlines()
        at = rng.randrange(len(lines))
        name = lines[at].partition("=")[0]
        values = ("12", "true", '""', '"[z-a]"', '["[z-a]"]', '["!"]', '[["x"]]', '"/dev/zero"', '"../x"', '"\\u0000"')
        values += ("[" * 2000, "1979-05-27", "nan", "{a = 1}", '["' + "x" * 9000 + '"]', '"9.9.9.9.9"', '["S99"]')
        lines[at] = rng.choice((f"{name} = {rng.choice(values)}", mutated_text(lines[at], rng)))
        return "\n".join(lines)

    def use(data):
        settings = configs.read(written(tmp_path / ".portadnn.toml", data))
        discover.sources([tmp_path], exclude=settings.exclude)
        if settings.baseline is not None:
            baseline.read(settings.baseline)

    tried("settings", 500, make, use)


def test_baselines_and_compile_commands(tmp_path):
    known = {"portadnn-baseline": 1, "findings": [{"fingerprint": "ab12", "rule": "S01", "file": "a.cu"}] * 3}
    entry = {"directory": ".", "file": "a.cu", "command": "nvcc -DX=1 -I include a.cu", "arguments": ["cc", "a.cu"]}
    (tmp_path / "a.cu").write_text('#include "b.h"\nint main() {}\n', encoding="utf-8")

    def changed(value):
        return lambda rng: (
            mutated_bytes(json.dumps(value).encode(), rng)
            if rng.randrange(3) == 0
            else json.dumps(mutated_json(value, rng))
        )

    path = tmp_path / "compile_commands.json"
    tried("baselines", 250, changed(known), lambda data: baseline.read(written(tmp_path / "known.json", data)))
    tried("compile_commands", 250, changed([entry] * 2), lambda data: discover.sources([written(path, data)]))


def test_journals_and_reports(tmp_path, reference):
    results = [examine(Case.parse(line), {"reference": reference}) for line in GOLDEN]
    with Journal(tmp_path / "whole") as journal:
        journal.begin({"seed": 1}, {"reference": {"backend": "reference"}})
        for number, result in enumerate(results):
            journal.add(number, result)
    text = (tmp_path / "whole" / "journal.jsonl").read_text(encoding="utf-8")
    folder = tmp_path / "made"
    folder.mkdir()

    def use(data):
        written(folder / "journal.jsonl", data)
        with Journal(folder, resume=True) as found:
            assert all(result.case.split() for result in found.results.values())
            if found.begun:
                found.begin({"seed": 1}, {"reference": {"backend": "reference"}})

    tried("journals", 350, lambda rng: mutated_lines(text, rng), use)
    report = dnn.diff.results.RunReport({"reference": {}}, {}, results, started="now")
    values = json.loads(json.dumps(report_as_json(report)))
    tried("reports", 150, lambda rng: mutated_json(values, rng), report_from_json)


def test_graphs(reference):
    made, _ = a_graph(reference)
    whole, cache = json.loads(made.to_json()), graph.create_kernel_cache()
    cache.add(made._frozen, reference, made._plans_on(reference).config(0))
    kept = json.loads(cache.serialize())

    def use(data):
        other = graph.pygraph(handle=reference)
        other.deserialize(data)

    def changed(value):
        return lambda rng: (
            mutated_bytes(json.dumps(value).encode(), rng)
            if rng.randrange(3) == 0
            else json.dumps(mutated_json(value, rng)).encode()
        )

    tried("graphs", 350, changed(whole), use)
    tried("kernel caches", 100, changed(kept), lambda data: graph.create_kernel_cache().deserialize(data))


@pytest.mark.filterwarnings("ignore:find database")
def test_find_databases(tmp_path):
    place = Place("device", "driver", "1", "1")
    whole = tmp_path / "whole.db"
    FindDatabase(whole).store("problem", place, {"engine": 0.5})
    data = whole.read_bytes()

    def use(data):
        for left in tmp_path.glob("made*"):
            left.unlink()
        database = FindDatabase(written(tmp_path / "made.db", data))
        found = database.load("problem", place)
        assert all(isinstance(seconds, float) for seconds in found.values())
        database.store("other", place, {"engine": 0.25})
        if found != {"engine": 0.5}:
            raise dnn.BadParam("not believed")

    tried("find databases", 80, lambda rng: mutated_bytes(data, rng), use)


def test_a_find_database_with_a_view_is_set_aside(tmp_path):
    with sqlite3.connect(tmp_path / "view.db") as connection:
        connection.execute(
            "CREATE VIEW timing AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT"
            " 'problem' problem, 'd' device, 'd' driver, '1' library, '1' engines, 'e' engine, x * 1.0 seconds FROM c"
        )
        connection.execute(f"PRAGMA application_id = {0x70646E6E}")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with pytest.warns(RuntimeWarning, match="other tables than a find database"):
        assert FindDatabase(tmp_path / "view.db").load("problem", Place("d", "d", "1", "1")) == {}


def test_notes_of_programs_and_exact_results(tmp_path):
    line = {
        "call": 1,
        "problem": "activation_forward x=f32:2x3x5x5 mode=relu",
        "numbers": {"alpha": 1.0, "beta": 0.0},
        "site": ["a.py", 3],
        "engine": "e",
        "target": "reference",
        "inputs": {"x": {"size": 2, "values": [1.0, "nan"]}},
        "outputs": {"y": {"size": 2, "values": [1.0, 2.0]}},
        "checked": {"y": {"wrong": 0, "said": "fine"}},
    }
    text = json.dumps(line) + "\n" + json.dumps({"function": "portadnn.f", "site": ["a.py", 4], "status": "BAD_PARAM"})
    whole, made = tmp_path / "whole", tmp_path / "made"
    for folder in (whole, made):
        folder.mkdir()
    written(whole / "a.jsonl", text)

    def use(data):
        written(made / "a.jsonl", data)
        runs = [read_run("a", whole, ""), read_run("b", made, "")]
        assert compare_runs(runs) is not None
        if runs[1].ended:
            raise dnn.BadParam(runs[1].ended)

    tried("notes", 200, lambda rng: mutated_lines(text, rng), use)
    np.savez(tmp_path / "exact.npz", about=np.array([1.0, True]), **{"want.y": np.ones(9)})  # type: ignore[arg-type]
    data = (tmp_path / "exact.npz").read_bytes()

    def load(data):
        if read_exact(written(tmp_path / "made.npz", data)) is None:
            raise dnn.BadParam("computed again")

    tried("exact results", 150, lambda rng: mutated_bytes(data, rng), load)


def test_logs(tmp_path):
    text = (Path(__file__).parents[1] / "cudnn9_log.txt").read_text(encoding="utf-8")[:6000]
    path = tmp_path / "cudnn.log"

    def use(data):
        if not len(sources.from_log(written(path, data))):
            raise dnn.BadParam("nothing in it")

    tried("logs", 150, lambda rng: mutated_bytes(text.encode(), rng), use)
