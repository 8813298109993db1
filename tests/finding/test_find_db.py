"""The find database: a second program does not search; nothing that is wrong with the file stops anybody."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import fake_engines
import pytest
from test_find import ORDERS, call, descriptors
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn.enums import Status
from portadnn.finding import find, found
from portadnn.finding.database import FindDatabase, Place

PLACE = Place("device", "driver", "1.0", "engines")
LINE = "convolution_forward x=f32:1x1x3x3 w=f32:1x1x3x3"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "find.db"


def crowded(path, **info):
    """Return a new handle of reference with fake engines and a database, as another program would have it."""
    handle = open_handle("reference", find_db=path)
    fake_engines.install(handle)
    if info:
        handle.device.info = dataclasses.replace(handle.info, **info)
    return handle


def search(handle):
    """Find; return the results, and the names of the engines that were run for it."""
    before = {engine.name: engine.runs for engine in handle.engines}
    results = call("forward", "find_{}_algorithm", handle, descriptors("forward"))
    return results, {engine.name for engine in handle.engines if engine.runs > before[engine.name]}


def aside(path):
    return sorted(p.name for p in path.parent.glob(path.name + ".bad-*"))


TIMED = {"slow", "quick", "atomic", "rounding"}


def test_the_second_program_does_not_search(path):
    with crowded(path) as handle:
        first, ran = search(handle)
        assert ran == TIMED | {"broken"}
    with crowded(path) as handle:
        second, ran = search(handle)
        assert ran == {"broken"}, "failures are not stored"
        assert second == first
    with crowded(path) as handle:
        x, w = handle.zeros((2, 6, 9, 8)), handle.zeros((5, 6, 3, 3))
        dnn.convolution_forward(handle, x, w, dnn.ConvolutionDescriptor((1, 1)))
        assert {engine.name for engine in handle.engines if engine.runs} == {"quick"}, "known without any Find"
    with crowded("") as handle:
        assert search(handle)[1] == TIMED | {"broken"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_real_engines(path, backend, monkeypatch):
    monkeypatch.setenv("PORTADNN_FIND_DB", str(path))
    measured = []
    real = find.median_time
    monkeypatch.setattr(find, "median_time", lambda *args: measured.append(1) or real(*args))
    results = []
    for _ in range(2):
        with open_handle(backend) as handle:
            results += [call(way, "find_{}_algorithm", handle, descriptors(way)) for way in ORDERS]
        if len(results) == 3:
            count = len(measured)
            assert count >= 3
    assert len(measured) == count
    assert results[:3] == results[3:]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"},
        {"driver": "2"},
        {"version": "2"},
        {"schedule": "gpu"},
        {"compute_units": 1000},
        {"backend": "opencl"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_device_or_driver_searches_again(path, change):
    with crowded(path) as handle:
        search(handle)
    with crowded(path, **change) as handle:
        assert search(handle)[1] >= TIMED
    with crowded(path) as handle:
        assert not search(handle)[1] & TIMED, "and leaves the others' times alone"


def test_another_version_searches_again(path, monkeypatch):
    with crowded(path) as handle:
        search(handle)
    monkeypatch.setattr(found, "__version__", "99")
    with crowded(path) as handle:
        assert search(handle)[1] >= TIMED
    monkeypatch.undo()
    monkeypatch.setattr("portadnn_backends.base.Backend.engines_version", lambda self: "others")
    with crowded(path) as handle:
        assert search(handle)[1] >= TIMED


def test_only_what_is_missing_is_measured(path):
    with crowded(path) as handle:
        arrays = [handle.zeros(dims) for dims in ((2, 6, 9, 8), (5, 6, 3, 3), (2, 5, 9, 8))]
        small = handle.empty_bytes(1)  # two engines need more
        call("forward", "find_{}_algorithm_ex", handle, arrays, workspace=small)
    with crowded(path) as handle:
        assert search(handle)[1] == {"quick", "rounding", "broken"}
    with crowded(path) as handle:
        results = call("forward", "find_{}_algorithm_ex", handle, arrays, workspace=small)
        assert [perf.status for perf in results if perf.engine == "rounding"] == [Status.ALLOC_FAILED]


def test_searches_short_of_memory_do_not_mislead(path):
    """What was only timed because the best engine had no workspace is not taken for the best by other programs."""
    with crowded(path) as handle:
        handle.engines[0].needs = 10**6
        arrays = [handle.zeros(dims) for dims in ((2, 6, 9, 8), (5, 6, 3, 3), (2, 5, 9, 8))]
        workspace = handle.device.workspace(2000)
        call("forward", "find_{}_algorithm_ex", handle, arrays, workspace=workspace)
        call("forward", "{}", handle, arrays, workspace=workspace)
        assert handle.engines[1].runs and not handle.engines[0].runs, "this program has found what fits"
    with crowded(path) as handle:
        call("forward", "{}", handle, arrays)
        assert handle.engines[0].runs == 1


def test_threads_and_handles_share_it(path):
    errors = []

    def work(i):
        try:
            database = FindDatabase(path)
            for j in range(20):
                database.store(f"{LINE} {i}", PLACE, {f"engine{j}": float(j)})
                assert database.load(f"{LINE} {i}", PLACE)[f"engine{j}"] == j
        except Exception as error:  # reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    for i in range(4):
        assert len(FindDatabase(path).load(f"{LINE} {i}", PLACE)) == 20


WRITER = """
import sys, warnings
warnings.simplefilter("error")
from portadnn.finding.database import FindDatabase, Place
database = FindDatabase(sys.argv[1])
for j in range(30):
    database.store(sys.argv[2], Place("device", "driver", "1.0", "engines"), {f"engine{j}": float(j)})
"""
MENDER = WRITER.replace('"error"', '"ignore"')


@pytest.mark.parametrize("spoilt", [False, True])
def test_processes_share_it(path, spoilt):
    """Also when all of them find a bad file: it is set aside once, and what they store stays."""
    if spoilt:
        path.write_bytes(b"nonsense" * 1000)
    code = MENDER if spoilt else WRITER
    running = [subprocess.Popen([sys.executable, "-c", code, path, f"problem{i}"]) for i in range(4)]
    assert [process.wait(120) for process in running] == [0] * 4
    for i in range(4):
        assert len(FindDatabase(path).load(f"problem{i}", PLACE)) == 30
    assert aside(path) == ["find.db.bad-1"] * spoilt
    assert sorted(p.name for p in path.parent.iterdir()) == ["find.db", *aside(path)], "nothing else is left behind"


def test_a_writer_that_dies_leaves_nothing_half_written(path):
    database = FindDatabase(path)
    database.store(LINE, PLACE, {"engine": 1.0})
    code = (
        "import sqlite3, sys, os\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_spill = 1'); c.execute('PRAGMA cache_size = 1'); c.execute('BEGIN IMMEDIATE')\n"
        "c.execute('UPDATE timing SET seconds = 2.0')\n"
        "c.executemany('INSERT INTO timing VALUES (?, ?, ?, ?, ?, ?, ?)', "
        "[(str(i) * 100, 'd', 'd', 'l', 'e', 'e', 1.0) for i in range(2000)])\n"
        "os._exit(1)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 1
    assert FindDatabase(path).load(LINE, PLACE) == {"engine": 1.0}
    assert FindDatabase(path).load("0" * 100, PLACE) == {}


def other_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE poems (line TEXT)")
    connection.close()


def other_format(path):
    FindDatabase(path).store(LINE, PLACE, {"engine": 1.0})
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def damaged(path):
    FindDatabase(path).store(LINE, PLACE, {f"engine{i}": 1.0 for i in range(500)})
    data = bytearray(path.read_bytes())
    data[4096 : 3 * 4096] = os.urandom(2 * 4096)
    path.write_bytes(bytes(data))


def truncated(path):
    FindDatabase(path).store(LINE, PLACE, {f"engine{i}": 1.0 for i in range(500)})
    path.write_bytes(path.read_bytes()[:5000])


def unreadable(path):
    """A schema that is no UTF-8, which SQLite quotes."""
    FindDatabase(path).store(LINE, PLACE, {"engine": 1.0})
    path.write_bytes(path.read_bytes().replace(b"PRIMARY KEY", b"PRIMARY \x91\xff\x91"))


@pytest.mark.parametrize(
    "spoil",
    [other_database, other_format, damaged, truncated, unreadable, lambda path: path.write_bytes(b"ELF" * 5000)],
    ids=["other_database", "other_format", "damaged", "truncated", "unreadable", "garbage"],
)
@pytest.mark.parametrize("first", ["load", "store"])
def test_a_bad_file_is_set_aside_and_begun_anew(path, spoil, first):
    spoil(path)
    bytes_before = path.read_bytes()
    database = FindDatabase(path)
    with pytest.warns(RuntimeWarning, match=r"find\.db: .*; it is set aside as find\.db\.bad-1 and begun anew"):
        if first == "load":
            assert database.load(LINE, PLACE) == {}
        else:
            database.store(LINE, PLACE, {"other": 3.0})
    assert (path.parent / "find.db.bad-1").read_bytes() == bytes_before
    database.store(LINE, PLACE, {"engine": 2.0})
    assert FindDatabase(path).load(LINE, PLACE)["engine"] == 2.0
    path.write_bytes(b"again")
    with pytest.warns(RuntimeWarning, match="bad-2"):
        FindDatabase(path).load(LINE, PLACE)
    assert aside(path) == ["find.db.bad-1", "find.db.bad-2"]


def test_a_spoilt_database_does_not_stop_find(path):
    path.write_bytes(b"nonsense" * 1000)
    with crowded(path) as handle, pytest.warns(RuntimeWarning, match="set aside"):
        assert search(handle)[1] >= TIMED
    with crowded(path) as handle:
        assert not search(handle)[1] & TIMED


def test_an_empty_file_is_as_good_as_none(path):
    path.touch()
    assert FindDatabase(path).load(LINE, PLACE) == {}
    FindDatabase(path).store(LINE, PLACE, {"engine": 1.0})
    assert FindDatabase(path).load(LINE, PLACE) == {"engine": 1.0}


def test_numbers_that_are_none_are_not_believed(path):
    FindDatabase(path).store(LINE, PLACE, {"good": 1.0, "endless": float("inf"), "negative": -1.0})
    with sqlite3.connect(path) as connection:
        columns = "problem, device, driver, library, engines"
        connection.execute(f"INSERT INTO timing SELECT {columns}, 'text', 'x' FROM timing WHERE engine = 'good'")
    connection.close()
    assert FindDatabase(path).load(LINE, PLACE) == {"good": 1.0}


@pytest.mark.parametrize("place", ["missing/find.db", "file/find.db", "."])
def test_places_that_cannot_be(tmp_path, place):
    """A warning, once, and no crash."""
    (tmp_path / "file").write_text("in the way")
    with crowded(tmp_path / place) as handle:
        with pytest.warns(RuntimeWarning, match="find database") as caught:
            assert search(handle)[1] >= TIMED
        assert len(caught) == 1
        assert search(handle)[1] >= TIMED
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("protect", ["file", "folder"])
def test_read_only(path, protect):
    """What is there is read; what cannot be stored is warned of once."""
    with crowded(path) as handle:
        search(handle)
    protected = path if protect == "file" else path.parent
    protected.chmod(protected.stat().st_mode & ~0o222)
    try:
        check_read_only(path)
    finally:
        protected.chmod(0o755)


def test_read_only_for_sqlite(path, monkeypatch):
    """The same where the tests run as root."""
    with crowded(path) as handle:
        search(handle)
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda place, **more: real(place.split("?")[0] + "?mode=ro", **more))
    check_read_only(path)


def check_read_only(path):
    with crowded(path) as handle:
        assert not search(handle)[1] & TIMED
        x = dnn.TensorDescriptor((3, 6, 9, 8))
        with pytest.warns(RuntimeWarning, match="readonly database; nothing is stored in it") as caught:
            for n in (3, 4):
                x = dnn.TensorDescriptor((n, 6, 9, 8))
                w, conv = dnn.FilterDescriptor((5, 6, 3, 3)), dnn.ConvolutionDescriptor((1, 1))
                dnn.find_convolution_forward_algorithm(handle, x, w, conv)
        assert len(caught) == 1
        assert not search(handle)[1] & TIMED, "it is still read"


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with crowded("find.db") as handle:
        monkeypatch.chdir(Path(__file__).parent)
        search(handle)
    assert (tmp_path / "find.db").exists()


def test_wrong_paths():
    with pytest.raises(dnn.BadParam, match="Handle: find_db: expected a path, got 7"):
        dnn.Handle("reference", find_db=7)
