"""The host side of the backend hip, with a stand-in for CuPy; tests/amd_isa/test_execute_hip.py runs all kernels."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from amd_isa import stand_in

import portadnn as dnn
from portadnn.registry import get_backend
from portadnn_backends.base import ConstantArg, Kernel, Launch
from portadnn_backends.hip import compiler
from portadnn_backends.programs import Program

RELU = dnn.ActivationDescriptor("relu")
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(1, 2, 3, 4)


@pytest.fixture
def gpu():
    """Yield the stand-in for a GPU."""
    with stand_in.installed("gfx1100") as found:
        yield found


@pytest.fixture
def handle(gpu):
    """Yield a handle on it."""
    with dnn.Handle("hip", profile=None) as opened:
        yield opened


@pytest.mark.parametrize(("target", "wave"), [("gfx1100", 32), ("gfx942", 64)])
def test_the_device_is_described(target, wave):
    with stand_in.installed(target), dnn.Handle("hip", profile=None) as handle:
        info = handle.info
    assert (info.backend, info.vendor, info.platform, info.kind) == ("hip", "AMD", "ROCm", "gpu")
    assert info.arch == f"{target}:xnack-"
    assert info.simd_width == wave
    assert not info.features & {"inline_ptx", "mma", "clusters", "grid_fence", "early_launches"}


def test_a_device_that_is_not_there(gpu):
    with pytest.raises(dnn.BadParam, match="0 to 0"):
        dnn.Handle("hip", device=1)


def test_what_is_missing_is_said(gpu, monkeypatch):
    backend, runtime, nvrtc = get_backend("hip"), gpu.cupy.cuda.runtime, gpu.cupy.cuda.nvrtc
    assert backend.why_unavailable() is None
    with monkeypatch.context() as patch:
        patch.setattr(nvrtc, "getVersion", lambda: (_ for _ in ()).throw(RuntimeError("no libhiprtc.so")))
        compiler.hiprtc_version.cache_clear()
        assert backend.why_unavailable() == "ROCm's compiler library hiprtc cannot be used (no libhiprtc.so)"
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "getDeviceCount", lambda: 0)
        assert backend.why_unavailable() == "there is no AMD GPU"
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "getDeviceCount", lambda: (_ for _ in ()).throw(stand_in.RuntimeFailure("no device")))
        assert backend.why_unavailable() == "the HIP driver does not answer (no device)"
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "is_hip", False)
        assert backend.why_unavailable() == "CuPy is a build for CUDA"
    assert get_backend("cuda").why_unavailable() == "CuPy is a build for ROCm"


def test_a_missing_library_of_rocm_is_named(gpu, monkeypatch):
    """What an import of CuPy for ROCm says where ROCm is not installed."""

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "cupy":
                raise ImportError("libamdhip64.so.7: cannot open shared object file\nhow to install CuPy")

    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    stand_in.library.cupy.cache_clear()
    reason = get_backend("hip").why_unavailable()
    assert reason == "CuPy cannot be imported (libamdhip64.so.7: cannot open shared object file)"
    with pytest.raises(dnn.NotSupported, match=r"libamdhip64.*portadnn\[rocm7\]"):
        dnn.Handle("hip")


@pytest.mark.parametrize(
    ("there", "taken"), [(("cuda", "hip"), "cuda"), (("hip", "opencl"), "hip"), (("opencl",), "opencl")]
)
def test_auto_takes_cuda_then_hip_then_opencl(there, taken, monkeypatch):
    from portadnn import environment

    said = lambda name: types.SimpleNamespace(why_unavailable=lambda: None if name in there else "away")  # noqa: E731
    monkeypatch.delenv("PORTADNN_BACKEND", raising=False)
    monkeypatch.setattr(environment, "get_backend", said)
    assert environment.chosen_device("auto", 0) == (taken, 0)


def test_foreign_arrays_go_in_without_a_copy(gpu, handle):
    x, device = handle.asarray(X), handle.device
    whole = dnn.TensorDescriptor(X.shape).view(x)
    assert device.wrap(whole, "x").data.ptr == x.data.ptr
    assert device.wrap(dnn.TensorDescriptor((1, 2, 3)).view(x, 4), "x").data.ptr == x.data.ptr + 16
    assert device.wrap(dnn.TensorDescriptor(X.shape).view(x.data), "x").data.ptr == x.data.ptr
    gpu.cupy.from_dlpack = lambda value: ("shared", value)
    of_rocm = types.SimpleNamespace(__dlpack_device__=lambda: (10, 0))
    assert device.wrap(of_rocm, "x") == ("shared", of_rocm)
    of_cuda = types.SimpleNamespace(__dlpack_device__=lambda: (2, 0))
    with pytest.raises(dnn.BadParam, match="expected a CuPy array, a HIP tensor or"):
        device.wrap(of_cuda, "x")
    np.testing.assert_array_equal(handle.to_numpy(x), X)


def test_a_launch_has_fewer_than_2_32_items_along_an_axis(handle):
    kernel = Kernel("k", Program(types.SimpleNamespace(get_function=lambda name: types.SimpleNamespace(ptr=1)), str, 0))
    args = (ConstantArg(np.int32(1)),)
    handle.device.step(Launch(kernel, (2**24 - 1, 7), (256, 1), args))
    with pytest.raises(dnn.NotSupported, match="fewer than 2\\^32 work-items"):
        handle.device.step(Launch(kernel, (2**24, 1), (256, 1), args))


def test_code_and_refusals_of_the_compiler(gpu):
    code = compiler.compile_code(
        'extern "C" __attribute__((global)) void f(int *x) { *x = 1; }', f"{gpu.target}:xnack-"
    )
    assert code[:4] == b"\x7fELF"
    with pytest.raises(dnn.CompileError, match=f"hiprtc refused a kernel for {gpu.target}") as caught:
        compiler.compile_code('#line 7 "kernel.cl"\nnonsense', f"{gpu.target}:xnack-")
    assert "kernel.cl:7" in caught.value.log


def test_repeated_calls_and_captures_are_launches(gpu, handle):
    x, y = handle.asarray(X), handle.asarray(np.zeros_like(X))
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    assert gpu.launches == 4
    assert handle.cache_info().calls == 1
    np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(X, 0))
    with handle.capture() as step:
        dnn.scale_tensor(handle, y, 2.0)
    step.replay()
    assert (step.mode, gpu.launches) == ("launches", 6)
    assert "does not capture" in step.reason
    np.testing.assert_array_equal(handle.to_numpy(y), 4 * np.maximum(X, 0))


def test_kernels_are_kept_on_disk(gpu, handle, tmp_path, monkeypatch):
    monkeypatch.setenv("PORTADNN_CACHE_DIR", str(tmp_path / "kernels"))
    x = handle.asarray(X)
    dnn.activation_forward(handle, x, RELU)
    assert len(list((tmp_path / "kernels").glob("*.bin"))) == 1
    monkeypatch.setattr(gpu.cupy.cuda.nvrtc, "createProgram", None)  # the next handle does not compile
    with dnn.Handle("hip", profile=None) as again:
        np.testing.assert_array_equal(again.to_numpy(dnn.activation_forward(again, x, RELU)), np.maximum(X, 0))


def test_a_fault_of_the_device_is_an_error(gpu, handle):
    x = handle.asarray(X)
    gpu.blocks.clear()  # as if the memory were freed
    with pytest.raises(dnn.ExecutionFailed, match="address outside"):
        dnn.activation_forward(handle, x, RELU)
