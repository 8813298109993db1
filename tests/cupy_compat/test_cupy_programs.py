"""Programs written for CuPy 13, run as they are, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = """
import sys
import cupy
import cupy.cuda.cudnn as libcudnn
from cupy import cudnn
import cupyx.cudnn
from importlib import util

assert cupyx.cudnn is cudnn and libcudnn.available and util.find_spec("cupy.cuda.cudnn") is not None
x = cupy.arange(-2, 2, dtype=cupy.float32).reshape(1, 1, 2, 2)
y = cudnn.activation_forward(x, libcudnn.CUDNN_ACTIVATION_RELU)
assert type(y) is cupy.ndarray and cupy.get_array_module(y) is cupy, type(y)
assert y.get().tolist() == [[[[0, 0], [0, 1]]]] and x.device == y.device

desc, one = cudnn.create_tensor_descriptor(y), __import__("numpy").full(1, 3, "f")
libcudnn.scaleTensor(cudnn.get_handle(), desc.value, y.data.ptr, one.ctypes.data)
assert cupy.asnumpy(y).sum() == 3
space = cupy.cuda.alloc(64)
assert space.mem.size == 64 and space.ptr
print("done", *sys.argv[1:])
"""


SURROUNDINGS = """
import cupy
import cupy.cuda.stream
from cupy import prof
from cupy.cuda.memory import MemoryPool
from cupyx.profiler import time_range

pool = MemoryPool()
cupy.cuda.set_allocator(pool.malloc)
begin, end = cupy.cuda.Event(), cupy.cuda.stream.Event()
begin.record()
with cupy.cuda.stream.Stream(), time_range("name", color_id=1, sync=True):
    y = cupy.cudnn.activation_forward(cupy.array([-1.0, 2.0, 3.0]), cupy.cuda.cudnn.CUDNN_ACTIVATION_RELU)
end.record()
end.synchronize()

@prof.TimeRangeDecorator()
def total(x):
    return float(x.sum())

assert total(y) == 5 and 0 <= cupy.cuda.get_elapsed_time(begin, end) < 1e5
cupy.get_default_memory_pool().free_all_blocks()
print("done", pool.used_bytes())
"""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PORTADNN_BACKEND": "reference", "CUDA_VISIBLE_DEVICES": ""},  # CuPy sees no GPU
    )


def test_program_on_the_stand_in(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    made = _run("-m", "portadnn.cupy_compat", "--numpy", str(program), "one", "-two")
    assert (made.stdout, made.stderr) == ("done one -two\n", "")


def test_streams_pools_and_profiles_of_the_stand_in(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(SURROUNDINGS)
    made = _run("-m", "portadnn.cupy_compat", "--numpy", str(program))
    assert (made.stdout, made.stderr) == ("done 0\n", "")


def test_program_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "from-cupy.md").read_text()
    program = tmp_path / "edges.py"
    program.write_text(page.partition("```python\n")[2].partition("```")[0])
    made = _run("-m", "portadnn.cupy_compat", "--numpy", str(program))
    square = np.zeros((8, 8), int)
    square[2:6, 2:6] = 1
    square[3:5, 3:5] = 0
    square[2:6:3, 2:6:3] = 2
    assert made.stdout == f"{square}\n"


def test_handles_are_no_gpus_of_the_stand_in() -> None:
    code = "import portadnn.cupy_compat as c; c.install(numpy=True); import cupy, portadnn as dnn\n"
    code += "print(cupy.is_stand_in, dnn.Handle('cuda'))"
    made = _run("-c", code)
    assert "stand-in" in made.stderr
    assert "NotSupported" in made.stderr


@pytest.mark.parametrize("arguments", [(), ("--numpy",), ("--other", "program.py")])
def test_wrong_command_tells_the_right_one(arguments: tuple[str, ...]) -> None:
    made = _run("-m", "portadnn.cupy_compat", *arguments)
    assert made.returncode == 2
    assert made.stderr.startswith("usage: ")


def _first(folder: Path) -> dict[str, str]:
    """Return an environment in which modules of a folder come first."""
    return {"PYTHONPATH": os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))}


def test_without_cupy_the_command_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("raise ImportError('no libcuda')")
    made = subprocess.run(
        [sys.executable, "-m", "portadnn.cupy_compat", "program.py"],
        capture_output=True,
        text=True,
        check=False,
        env=_first(tmp_path),
    )
    assert made.returncode == 1
    assert "CuPy cannot be imported: no libcuda; with --numpy" in made.stderr


def test_import_installs_in_cupy_that_is_there(tmp_path: Path) -> None:
    for package in ("cupy/cuda", "cupyx", "cupy_backends/cuda/libs"):
        (tmp_path / package).mkdir(parents=True)
        for folder in (tmp_path / package).relative_to(tmp_path).parents:
            (tmp_path / folder / "__init__.py").touch()
        (tmp_path / package / "__init__.py").touch()
    code = "import portadnn.cupy_compat, cupy.cudnn, cupy.cuda.cudnn as lib, cupy_backends.cuda.libs.cudnn as libs\n"
    code += "print(cupy.cudnn.__name__, lib.__name__, libs is lib)"
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_first(tmp_path)
    )
    assert made.stdout.split() == ["portadnn.cupy_compat.cudnn", "portadnn.cupy_compat.libcudnn", "True"]
