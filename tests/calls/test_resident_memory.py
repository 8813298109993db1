"""What a process keeps of its calls; `portadnn bench memory` is the long look, at 10,000 shapes."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys

import pytest
import where
from typer.testing import CliRunner

from portadnn.benchmarks import cli, memory

PROGRAM = """
import ctypes, gc, json, sys
import where
import portadnn as dnn
from portadnn.benchmarks import cli, memory

class Heap(ctypes.Structure):  # glibc's struct mallinfo2
    words = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in words.split()]

where.leave_optimiser_out()
heap = ctypes.CDLL(None).mallinfo2
heap.restype = Heap

def kept():  # bytes that C holds, and objects that Python holds
    gc.collect()
    facts = heap()
    return facts.uordblks + facts.hblkhd, sys.getallocatedblocks()

with dnn.Handle(sys.argv[1]) as handle:
    memory.new_shapes(handle, 10)
    room = handle.cache_info().nbytes  # of ten plans
with dnn.Handle(sys.argv[1], cache_bytes=room) as handle:
    memory.few_shapes(handle, 20_000, kinds=5)  # fills what is kept of calls that come again
    before = kept()
    memory.few_shapes(handle, 6_000, kinds=5)
    few = [(after - first) / 6_000 for first, after in zip(before, kept())]
    new = memory.new_shapes(handle, 90)
    info = handle.cache_info()
    print(json.dumps({"few": few, "new": new.growth, "plans": info.plans, "evicted": info.evicted}))
"""
GLIBC = sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallinfo2")


@pytest.fixture(params=[name for name in where.BACKENDS if name in ("opencl", "cuda")])
def backend(request):
    where.open_handle(request.param).close()
    return request.param


@pytest.mark.long
@pytest.mark.skipif(not GLIBC, reason="glibc says what C holds, since 2.33")
def test_memory_does_not_grow_with_calls_or_shapes(backend):
    """Each new convolution took 410 to 620 KB on PoCL, for good; the compiler's own memory grows for a while.

    What few shapes keep is counted, as resident memory grows by whole arenas of 1 MB, or into holes that a leak fills.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, backend],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["plans"] <= 20
    assert facts["evicted"] >= 70
    assert facts["new"] < 150_000
    in_c, in_python = facts["few"]
    assert in_c < 40
    assert in_python < 0.2


def test_shapes_are_different_and_the_same_each_time():
    found = memory.shapes(10_000)
    assert len(set(found)) == 10_000
    assert found == memory.shapes(10_000)


def test_what_a_run_says_of_itself():
    samples = [memory.Sample(calls, resident, 0.0) for calls, resident in ((0, 100), (5, 900), (10, 950), (20, 1000))]
    run = memory.Run("run", 1, 20, tuple(samples))
    assert run.peak == 1000
    assert run.growth == 5.0
    (record,) = memory.as_record([run])
    assert record["samples"][1] == [5, 900, 0.0]
    assert record["peak"] == 1000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how much memory is resident")
def test_the_command_writes_a_record(tmp_path):
    path = tmp_path / "memory.json"
    words = ["memory", "--backend", "reference", "--shapes", "3", "--calls", "200", "--json", str(path)]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    assert result.output.count("MB at most") == 2
    few, new = json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert (few["shapes"], few["calls"], new["shapes"], new["calls"]) == (100, 200, 3, 3)
    assert [calls for calls, *_ in new["samples"]] == [0, 1, 2, 3]
    assert min(resident for _, resident, _ in few["samples"]) > 10 << 20
