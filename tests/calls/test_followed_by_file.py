"""Calls followed file by file, down to the launch: which files a way comes back to, each once (docs/internals.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from where import open_handle

import portadnn as dnn
import portadnn.cudnn as c
import portadnn.graph as cudnn
from portadnn import migrate
from portadnn.graph.api.handles import handle_of

FOLDERS = {
    Path(dnn.__file__).parent: "portadnn",
    Path(sys.modules["portadnn_backends.base"].__file__).parent: "backends",
}


def file_of(frame):
    """Return the file of a frame as the tree names it; "" for others' files."""
    path = Path(frame.f_code.co_filename)
    for folder, name in FOLDERS.items():
        if path.is_relative_to(folder):
            return f"{name}/{path.relative_to(folder).as_posix()}"
    return ""


def way(call, file, function):
    """Return the files on the call stack, from the outermost, where a function is entered for the first time."""
    found = []

    def profile(frame, event, arg):
        if event == "call" and not found and frame.f_code.co_name == function and file_of(frame) == file:
            while frame is not None:
                name = file_of(frame)
                if name and name != (found[-1] if found else ""):
                    found.append(name)
                frame = frame.f_back

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    assert found, f"{function} of {file} was not called"
    return found[::-1]


def returns(files):
    """Return the files that a way comes back to."""
    return [file for i, file in enumerate(files) if file in files[:i]]


def launched(call):
    """Return the way of a call to its first launch."""
    return way(call, "backends/opencl/device.py", "run")


@pytest.fixture
def arrays():
    with open_handle("opencl") as handle:
        draw = np.random.default_rng(1).standard_normal
        shapes = (2, 3, 5, 5), (4, 3, 3, 3), (2, 4, 5, 5)
        yield handle, *(handle.asarray(draw(shape).astype(np.float32)) for shape in shapes)


@pytest.mark.parametrize("times", [1, 2])
def test_a_unified_call_passes_each_file_once(arrays, times):
    handle, x, w, y = arrays
    conv = dnn.ConvolutionDescriptor(padding=(1, 1))
    ways = [launched(lambda: dnn.convolution_forward(handle, x, w, conv, y)) for _ in range(times)]
    assert returns(ways[-1]) == []
    assert ways[-1].index("portadnn/ops/convolution/calls.py") < ways[-1].index("portadnn/dispatch/execute.py")


@pytest.mark.parametrize("times", [1, 2])
def test_a_call_of_c_comes_back_to_what_both_names_have(arrays, times):
    """The call cache and the names of errors: once for C's function, once for the unified one that it makes."""
    handle, x, w, y = arrays
    x_desc, w_desc, y_desc = (
        c.cudnnCreateTensorDescriptor(),
        c.cudnnCreateFilterDescriptor(),
        c.cudnnCreateTensorDescriptor(),
    )
    c.cudnnSetTensor4dDescriptor(x_desc, 0, 0, 2, 3, 5, 5)
    c.cudnnSetFilter4dDescriptor(w_desc, 0, 0, 4, 3, 3, 3)
    c.cudnnSetTensor4dDescriptor(y_desc, 0, 0, 2, 4, 5, 5)
    conv = c.cudnnCreateConvolutionDescriptor()
    c.cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, 1, 0)
    words = (handle, 1.0, x_desc, x, w_desc, w, conv, 0, None, 0, 0.0, y_desc, y)
    ways = [launched(lambda: c.cudnnConvolutionForward(*words)) for _ in range(times)]
    assert returns(ways[-1]) == ["portadnn/dispatch/call_cache.py", "portadnn/errors.py"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_variant_pack_comes_back_to_the_methods_that_run_plans(times):
    open_handle("opencl").close()
    opened = cudnn.create_handle("opencl")
    handle = handle_of(opened)
    kind = cudnn.data_type.FLOAT
    graph = cudnn.pygraph(io_data_type=kind, compute_data_type=kind, intermediate_data_type=kind, handle=opened)
    x = graph.tensor(dim=[2, 8, 5, 5], stride=[200, 25, 5, 1])
    w = graph.tensor(dim=[4, 8, 3, 3], stride=[72, 9, 3, 1])
    y = graph.relu(graph.conv_fprop(x, w, padding=[1, 1], stride=[1, 1], dilation=[1, 1])).set_output(True)
    graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    shapes = {x: (2, 8, 5, 5), w: (4, 8, 3, 3), y: (2, 4, 5, 5)}
    pack = {tensor: handle.asarray(np.ones(shape, np.float32)) for tensor, shape in shapes.items()}
    workspace = handle.asarray(np.zeros(max(1, graph.get_workspace_size()), np.uint8))
    ways = [launched(lambda: graph.execute(pack, workspace, handle=opened)) for _ in range(times)]
    cudnn.destroy_handle(opened)
    assert returns(ways[-1]) == ["portadnn/graph/api/execution.py"]  # the call cache asks it for the whole call


def test_paths_of_a_check_come_back_for_a_call_inside_of_a_function(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text("#include <cudnn.h>\nvoid f(cudnnHandle_t *h) { cudnnCreate(h); }\n", encoding="utf-8")

    def check():
        migrate.check([source], jobs=1)

    calls = "portadnn/migrate/interpret/calls.py"  # enters f, whose statements call cuDNN
    for file, function, back in (
        ("portadnn/migrate/files/discover.py", "sources", []),
        ("portadnn/migrate/cpp/reader.py", "read", []),
        ("portadnn/migrate/rules/engine.py", "call", [calls]),
    ):
        files = way(check, file, function)
        assert files[0] == "portadnn/migrate/checker.py" and returns(files) == back


def test_a_return_is_seen():
    assert returns(["a.py", "b.py", "a.py", "c.py", "b.py"]) == ["a.py", "b.py"]
