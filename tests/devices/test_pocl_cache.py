"""PoCL's compiled kernels: damage is harmless, no home folder is needed, nothing is left behind."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from where import open_handle

from portadnn._io import disk_cache
from portadnn_backends.opencl import pocl_cache

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PoCL comes with pip on Linux only")

# prints the backend and what the kernels computed, which NumPy checks
PROGRAM = """
import os, sys
import numpy as np, portadnn as dnn
with dnn.Handle() as handle:
    host = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4) - 12
    x = handle.asarray(host)
    tanh = dnn.activation_forward(handle, x, dnn.ActivationDescriptor("tanh"))
    assert np.allclose(handle.to_numpy(tanh), np.tanh(host), atol=1e-6)
    w = handle.asarray(np.ones((3, 2, 1, 1), np.float32))
    y = dnn.convolution_forward(handle, x, w, dnn.ConvolutionDescriptor())
    assert np.array_equal(handle.to_numpy(y), np.repeat(host.sum(1, keepdims=True), 3, 1))
    print(handle.backend)
"""
VARIABLES = ("HOME", "XDG_CACHE_HOME", "PORTADNN_CACHE_DIR", "POCL_CACHE_DIR", "POCL_KERNEL_CACHE", "PORTADNN_BACKEND")


@pytest.fixture(scope="module", autouse=True)
def pocl():
    with open_handle("opencl") as handle:
        if not pocl_cache.is_pocl(handle.info):
            pytest.skip(f"this OpenCL is {handle.info.platform}")


@pytest.fixture
def temporary(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def run(temporary, program=PROGRAM, *, prefix=(), arguments=(), **variables):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment |= {"TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    command = [*prefix, sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=150)


def programs_in(folder):
    """Return the kept programs with what is kept of them; what compilers answered about their device is kept, too."""
    found = {path: path.read_bytes() for path in folder.rglob("*.bin")}
    return {path: content for path, content in found.items() if not content.endswith((b"yes", b"no"))}


def check(done, backend="opencl"):
    assert (done.returncode, done.stdout.split()[-1:], done.stderr) == (0, [backend], "")


def empty(path, _):
    path.write_bytes(b"")


def truncate(path, draw):
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data))])


def flip(path, draw):
    data = bytearray(path.read_bytes())
    for _ in range(draw.randrange(1, 50)):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def replace_by_folder(path, _):
    path.unlink()
    path.mkdir()


def exchange(path, draw):
    """Put another file's content in its place."""
    other = draw.choice([found for found in path.parent.iterdir() if found.is_file()])
    shutil.copy(other, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Folders that a program has filled as the folder of a variable."""
    made = {}

    def get(variable):
        if variable not in made:
            place = tmp_path_factory.mktemp(variable)
            (place / "kept").mkdir(mode=0o700)
            (place / "temporary").mkdir()
            check(run(place / "temporary", **{variable: str(place / "kept")}))
            made[variable] = place / "kept"
        return made[variable]

    return get


DAMAGES = (empty, truncate, flip, replace_by_folder, exchange)


def files_in(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


@pytest.mark.parametrize("variable", [pytest.param("HOME", marks=pytest.mark.long), "POCL_CACHE_DIR"])
def test_a_damaged_cache_is_rebuilt(tmp_path, temporary, filled, variable):
    """A damaged PoCL cache ended in SIGABRT of LLVM, or SIGBUS."""
    folder = tmp_path / "kept"
    shutil.copytree(filled(variable), folder)
    variables = {variable: str(folder)}
    names = [path.relative_to(folder) for path in files_in(folder)]
    assert names
    for damage in DAMAGES if variable == "HOME" else (flip,):
        draw = random.Random(damage.__name__)
        for path in files_in(folder):
            damage(path, draw)
        check(run(temporary, **variables))
        assert {path.relative_to(folder) for path in files_in(folder)} >= {*names}, "it is kept again"
    check(run(temporary, **variables))
    assert not list(temporary.iterdir())


REUSED = f"""
from portadnn_backends.opencl import pocl_cache
def refuse(self):
    raise SystemExit("a program was compiled")
pocl_cache.Workplace._folders = refuse
{PROGRAM}"""


def test_kept_programs_are_taken(tmp_path, temporary):
    folder = tmp_path / "kept"
    assert run(temporary, REUSED, PORTADNN_CACHE_DIR=str(folder)).returncode == 1
    check(run(temporary, PORTADNN_CACHE_DIR=str(folder)))
    first = programs_in(folder)
    assert len(first) == 2
    assert all(b".so" in content for content in first.values()), "what launches compiled is kept, too"
    check(run(temporary, REUSED, PORTADNN_CACHE_DIR=str(folder)))
    assert programs_in(folder) == first


def test_processes_share_entries(tmp_path, temporary):
    environment = {**os.environ, "PORTADNN_CACHE_DIR": str(tmp_path / "kept"), "PORTADNN_BACKEND": "opencl"}
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stderr=subprocess.PIPE) for _ in range(3)
    ]
    for process in started:
        _, errors = process.communicate(timeout=150)
        assert (process.returncode, errors) == (0, b"")
    check(run(temporary, REUSED, PORTADNN_CACHE_DIR=str(tmp_path / "kept")))
    assert not list((tmp_path / "kept" / disk_cache.RUNNING).iterdir())


# no home folder


def unwritable(tmp_path):
    """Return a home folder without the right to write to it, and what takes the superuser's right away."""
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    drop = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
    return str(home), drop


@pytest.mark.parametrize("home", ["/proc/nonexistent", "/dev/null", "read-only"])
def test_no_writable_home(tmp_path, temporary, home):
    """PoCL had no devices, so that NumPy computed; CuPy and PyOpenCL could not be imported."""
    prefix = ()
    if home == "read-only":
        home, prefix = unwritable(tmp_path)
        if prefix and shutil.which(prefix[0]) is None:
            pytest.skip("the superuser may write anywhere, and there is no setpriv")
    check(run(temporary, prefix=prefix, HOME=home))
    assert not list(temporary.iterdir())


def test_nothing_is_taken_from_a_folder_that_anybody_may_make(tmp_path, temporary):
    """Without HOME, PoCL has its cache in /tmp/pocl."""
    names = "import os, tempfile; before = os.path.exists('/tmp/pocl')\n"
    program = f"{names}{PROGRAM}\nassert os.path.exists('/tmp/pocl') == before"
    check(run(temporary, program, XDG_CACHE_HOME=str(tmp_path / "kept")))
    assert list((tmp_path / "kept" / "portadnn" / "kernels").glob("*.bin"))
    assert not list(temporary.iterdir())


def test_a_folder_of_others_is_neither_read_nor_written(tmp_path, temporary):
    folder = tmp_path / "kept"
    check(run(temporary, PORTADNN_CACHE_DIR=str(folder)))
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.bin")}
    folder.chmod(0o777)
    done = run(temporary, PORTADNN_CACHE_DIR=str(folder))
    assert (done.returncode, done.stdout.split()) == (0, ["opencl"])
    assert done.stderr.count("other users may write to it") == 1
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.bin")} == before
    assert not list(temporary.iterdir())


def test_info_says_where_kernels_are(temporary):
    program = "from portadnn.cli.main import main; main(['info'])"
    done = run(temporary, program, HOME="/dev/null")
    text = " ".join(done.stdout.split())
    assert "Handle() takes opencl" in text
    assert "built in a temporary folder: /dev/null/.cache/portadnn/kernels is not used" in text
    assert "portadnn[cpu]" not in text


def test_info_says_why_pocl_has_no_devices(temporary):
    """It advised to install what is installed."""
    program = """
import tempfile
tempfile.mkdtemp = lambda *args, **kwargs: (_ for _ in ()).throw(OSError(28, "No space left on device"))
from portadnn.cli.main import main
main(["info"])
"""
    done = run(temporary, program, HOME="/dev/null")
    text = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert "opencl is not available: PoCL has no folder that it can write kernels to" in text
    assert "No space left on device" in text
    assert "portadnn[cpu]" not in text


# what stays


def test_the_environment_is_as_before(temporary, tmp_path):
    program = f"import os; before = dict(os.environ)\n{PROGRAM}\nassert dict(os.environ) == before"
    check(run(temporary, program, HOME=str(tmp_path), POCL_AFFINITY="0"))
    check(run(temporary, program, HOME=str(tmp_path), POCL_AFFINITY="0", POCL_CACHE_DIR=str(tmp_path / "kept")))


def test_a_killed_process_leaves_nothing_for_long(tmp_path, temporary):
    program = f"{PROGRAM}\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run(temporary, program, PORTADNN_CACHE_DIR=str(tmp_path)).returncode == -signal.SIGKILL
    running = tmp_path / disk_cache.RUNNING
    (left,) = running.iterdir()
    disk_cache.sweep(running)
    assert left.exists(), "it is young"
    old = time.time() - 100
    os.utime(left, (old, old))
    check(run(temporary, PORTADNN_CACHE_DIR=str(tmp_path)))
    assert not list(running.iterdir())


@pytest.mark.parametrize("variables", [{"PORTADNN_CACHE_DIR": ""}, {"POCL_KERNEL_CACHE": "0"}], ids=str)
def test_caches_that_are_off(tmp_path, temporary, variables):
    check(run(temporary, HOME=str(tmp_path / "home"), **variables))
    assert not programs_in(tmp_path)
    assert not list(temporary.iterdir())


def test_a_program_may_start_pocl_first(tmp_path, temporary):
    program = f"import pyopencl; pyopencl.get_platforms()[0].get_devices()\n{PROGRAM}"
    check(run(temporary, program, HOME=str(tmp_path)))


def test_a_workplace_that_was_removed_is_made_again(temporary, tmp_path):
    program = PROGRAM.replace(
        "    w = ", "    import shutil; shutil.rmtree(next(iter(pocl_cache._WORKPLACES.values())).path)\n    w = "
    )
    program = f"from portadnn_backends.opencl import pocl_cache{program}"
    check(run(temporary, program, PORTADNN_CACHE_DIR=str(tmp_path / "kept")))
    assert not list((tmp_path / "kept" / disk_cache.RUNNING).iterdir())


def test_a_workplace_that_is_lost_is_named(temporary, tmp_path):
    """Whatever becomes of the folder, PoCL must not end the process."""
    program = """
import os, shutil
import portadnn as dnn
from portadnn_backends.opencl import pocl_cache
with dnn.Handle("opencl") as handle:
    (place,) = pocl_cache._WORKPLACES.values()
    shutil.rmtree(place.path)
    place.path.write_text("in the way")
    try:
        dnn.activation_forward(handle, handle.zeros((1, 2, 3, 4)), dnn.ActivationDescriptor("tanh"))
    except dnn.CompileError as error:
        assert str(place.path) in str(error), error
        place.path.unlink()
        print("opencl")
"""
    check(run(temporary, program, PORTADNN_CACHE_DIR=str(tmp_path / "kept")))


def test_kernels_are_waited_for_before_the_folder_is_removed(temporary, tmp_path):
    """A program that ended without waiting for its results crashed where PoCL was still compiling."""
    program = """
import portadnn as dnn
from portadnn_backends.opencl import pocl_cache
dnn.Handle.settle = lambda self: print(*(place.path.is_dir() for place in pocl_cache._WORKPLACES.values()))
kept = dnn.Handle("opencl")
"""
    done = run(temporary, program, PORTADNN_CACHE_DIR=str(tmp_path / "kept"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_programs_that_came_are_found_among_many(tmp_path):
    def make(name, age):
        (tmp_path / "work" / name).mkdir(parents=True)
        then = time.time() - age
        os.utime(tmp_path / "work" / name[:2], (then, then))

    make("AA/OLD", 60)
    make("BB/NEW", 0)
    place = pocl_cache.Workplace(tmp_path / "work", None)
    try:
        assert place._folders() == {"AA/OLD", "BB/NEW"}
        assert place._folders() == {"BB/NEW"}, "what changed just now may change again within the same tick"
        make("AA/LATER", 30)
        make("CC/FIRST", 30)
        assert place._folders() >= {"AA/LATER", "CC/FIRST"}
        assert not place._folders() & {"AA/LATER", "CC/FIRST"}
    finally:
        atexit.unregister(place.close)
        place.close()


# room


FULL = """
import portadnn as dnn
from portadnn._io import disk_cache
from portadnn_backends.opencl import pocl_cache
with dnn.Handle("opencl") as handle:
    (place,) = pocl_cache._WORKPLACES.values()
    x = handle.zeros((1, 2, 3, 4))
    {before}
    try:
        dnn.activation_forward(handle, x, dnn.ActivationDescriptor("tanh"))
    except dnn.CompileError as error:
        assert f"PoCL cannot compile in {{place.path}} ({reason})" in str(error), error
        assert "TMPDIR" in str(error)
        print("opencl")
"""


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))", "File too large"),
        ("place._wrote = True; disk_cache.room = lambda folder: 1 << 16", "No space left on device"),
    ],
    ids=["limit", "full"],
)
def test_a_kernel_without_room_is_refused(temporary, tmp_path, before, reason):
    """LLVM ended the process."""
    program = FULL.format(before=before, reason=reason)
    check(run(temporary, program, PORTADNN_CACHE_DIR=str(tmp_path / "kept")))


def test_the_place_with_most_room_is_taken(temporary, tmp_path):
    program = f"""
from portadnn._io import disk_cache
disk_cache.room = lambda folder: 1 << (10 if "kept" in str(folder) else 30)
from portadnn_backends.opencl import pocl_cache
{PROGRAM}
(place,) = pocl_cache._WORKPLACES.values()
assert place.path.parent == disk_cache.Path({str(temporary)!r}), place.path
"""
    check(run(temporary, program, PORTADNN_CACHE_DIR=str(tmp_path / "kept")))
    assert not list(temporary.iterdir()) and not list((tmp_path / "kept" / disk_cache.RUNNING).iterdir())
    assert programs_in(tmp_path / "kept"), "kernels are kept where they were to be"
