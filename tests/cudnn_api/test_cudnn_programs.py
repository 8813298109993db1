"""Programs with cuDNN's names: that of docs/from-cudnn.md, and one written for another wrapper."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from where import BACKENDS

from portadnn.registry import get_backend

ROOT = Path(__file__).resolve().parents[2]

# Written after the documentation of the wrappers that call cuDNN through ctypes, for PyCUDA's arrays: enumerations are
# mappings, handles and descriptors what Create calls return, memory addresses, and statuses exceptions.
IMPORTS = """
import ctypes

import libcudnn
import pycuda.autoinit
from pycuda.gpuarray import empty, to_gpu


def pointer(array):
    return ctypes.c_void_p(int(array.gpudata))
"""
PROGRAM = """
layout = libcudnn.cudnnTensorFormat['CUDNN_TENSOR_NCHW']
real = libcudnn.cudnnDataType['CUDNN_DATA_FLOAT']
images, maps, size, filters, pad = 5, 3, 12, 4, 2

context = libcudnn.cudnnCreate()
in_desc = libcudnn.cudnnCreateTensorDescriptor()
libcudnn.cudnnSetTensor4dDescriptor(in_desc, layout, real, images, maps, size, size)
filter_desc = libcudnn.cudnnCreateFilterDescriptor()
libcudnn.cudnnSetFilter4dDescriptor(filter_desc, real, layout, filters, maps, 5, 5)
conv_desc = libcudnn.cudnnCreateConvolutionDescriptor()
mode = libcudnn.cudnnConvolutionMode['CUDNN_CROSS_CORRELATION']
libcudnn.cudnnSetConvolution2dDescriptor(conv_desc, pad, pad, 1, 1, 1, 1, mode)
n, c, h, w = libcudnn.cudnnGetConvolution2dForwardOutputDim(conv_desc, in_desc, filter_desc)
out_desc = libcudnn.cudnnCreateTensorDescriptor()
libcudnn.cudnnSetTensor4dDescriptor(out_desc, layout, real, n, c, h, w)
assert libcudnn.cudnnGetTensor4dDescriptor(out_desc)[1:5] == (images, filters, size, size)

data = to_gpu(numpy.ones((images, maps, size, size), numpy.float32))
weights = to_gpu(numpy.full((filters, maps, 5, 5), 0.5, numpy.float32))
result = empty((n, c, h, w), numpy.float32)
fastest = libcudnn.cudnnConvolutionFwdPreference['CUDNN_CONVOLUTION_FWD_PREFER_FASTEST']
algo = libcudnn.cudnnGetConvolutionForwardAlgorithm(
    context, in_desc, filter_desc, conv_desc, out_desc, fastest, 0)
bytes_needed = libcudnn.cudnnGetConvolutionForwardWorkspaceSize(
    context, in_desc, filter_desc, conv_desc, out_desc, algo)
scratch = empty((max(bytes_needed, 1),), numpy.uint8)
libcudnn.cudnnConvolutionForward(context, 1.0, in_desc, pointer(data), filter_desc, pointer(weights), conv_desc, algo,
                                 pointer(scratch), bytes_needed, 0.0, out_desc, pointer(result))
relu = libcudnn.cudnnCreateActivationDescriptor()
libcudnn.cudnnSetActivationDescriptor(relu, libcudnn.cudnnActivationMode['CUDNN_ACTIVATION_CLIPPED_RELU'],
                                      libcudnn.cudnnNanPropagation['CUDNN_PROPAGATE_NAN'], 30.0)
libcudnn.cudnnActivationForward(context, relu, 1.0, out_desc, pointer(result), 0.0, out_desc, pointer(result))
try:
    libcudnn.cudnnSetTensor4dDescriptor(out_desc, layout, real, -1, 1, 1, 1)
    raise SystemExit('a negative size was taken')
except libcudnn.cudnnStatusBadParam:
    pass
values = result.get()
for destroy, thing in ((libcudnn.cudnnDestroyTensorDescriptor, in_desc),
                       (libcudnn.cudnnDestroyTensorDescriptor, out_desc),
                       (libcudnn.cudnnDestroyFilterDescriptor, filter_desc),
                       (libcudnn.cudnnDestroyConvolutionDescriptor, conv_desc),
                       (libcudnn.cudnnDestroy, context)):
    destroy(thing)
"""


def working(backend: str) -> None:
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {backend}: {reason}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_for_another_wrapper_runs_with_other_imports_and_arrays(backend, monkeypatch):
    working(backend)
    monkeypatch.setenv("PORTADNN_BACKEND", backend)
    from portadnn import cudnn as libcudnn

    class Array:
        """An array module's array: memory on the handle's device."""

        def __init__(self, host):
            self.native = names["context"].device.asarray(host)

        def get(self):
            return names["context"].to_numpy(self.native)

    names = {
        "numpy": np,
        "libcudnn": libcudnn,
        "empty": lambda shape, dtype: Array(np.zeros(shape, dtype)),
        "to_gpu": Array,
        "pointer": lambda array: array.native,
    }
    assert "import libcudnn" in IMPORTS
    assert all(f"def {name}" in IMPORTS or name in IMPORTS for name in names.keys() - {"numpy"})
    exec(PROGRAM, names)
    line = np.convolve(np.ones(12), np.ones(5), "same")
    want = np.minimum(3 * 0.5 * np.outer(line, line), 30)
    np.testing.assert_allclose(names["values"], np.broadcast_to(want, (5, 4, 12, 12)), rtol=1e-4)


def test_the_page_has_the_program():
    page = (ROOT / "docs" / "from-cudnn.md").read_text(encoding="utf-8")
    program = (ROOT / "examples" / "from_cudnn.py").read_text(encoding="utf-8")
    assert program in re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_pages_program_runs(backend, tmp_path):
    working(backend)
    printed = subprocess.run(
        [sys.executable, ROOT / "examples" / "from_cudnn.py"],
        cwd=tmp_path,
        env={**os.environ, "PORTADNN_BACKEND": backend},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    first, second = printed.splitlines()
    assert get_backend(backend).devices()[0].name in first
    assert "y is (8, 16, 32, 32)" in first
    assert float(first.rsplit("=", 1)[1]) == pytest.approx(WANTED, rel=1e-3)
    assert second == ("CUDNN_STATUS_BAD_PARAM - cudnnSetTensor4dDescriptor: dims[1]: expected an integer >= 0, got -3")


def _wanted() -> float:
    """Return the gradient that the page's program prints: a sum of products, straight from the definition."""
    rng = np.random.default_rng(0)
    x = np.pad(rng.normal(size=(8, 3, 32, 32)).astype(np.float32).astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    w = rng.normal(size=(16, 3, 3, 3)).astype(np.float32).astype(float)
    y = sum(w[0, c, r, s] * x[:, c, r : r + 32, s : s + 32] for c in range(3) for r in range(3) for s in range(3))
    return float((x[:, 0, :32, :32] * y).sum())


WANTED = _wanted()
