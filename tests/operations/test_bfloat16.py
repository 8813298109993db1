"""bfloat16: the conversions exhaustively against ml_dtypes, and what arrays of the type may be."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import pytest
from helper import everywhere
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn import DataType, bfloat16
from portadnn.bfloat16 import as_float64

TYPE = np.dtype(ml_dtypes.bfloat16)
EVERY = np.arange(1 << 16, dtype=np.uint16)  # every bit pattern
DIMS = (1, 1, 1 << 8, 1 << 8)
LAYOUTS = {"vectors": (1 << 16, 1 << 16, 1 << 8, 1), "elements": (1 << 17, 1 << 17, 1 << 9, 2)}
RELU = dnn.ActivationDescriptor("relu")


def view(handle, layout, bits):
    """Return bit patterns as a bfloat16 tensor in a buffer of uint16, and the buffer."""
    step = LAYOUTS[layout][-1]
    buffer = handle.device.asarray(np.repeat(np.asarray(bits, np.uint16), step))
    return dnn.TensorDescriptor(DIMS, "bfloat16", strides=LAYOUTS[layout]).view(buffer), buffer


def assert_same(got, want):
    """Compare bit patterns; NaN may be any NaN, and zero have any sign (prior * 0 may be added to it)."""
    numbers = want.view(TYPE).astype(np.float32)
    nan, zero = np.isnan(numbers), numbers == 0
    np.testing.assert_array_equal(got[~nan & ~zero], want[~nan & ~zero])
    assert not (got[zero] & 0x7FFF).any()
    assert np.isnan(got[nan].view(TYPE).astype(np.float32)).all()


# exact in float32, so that every backend rounds once: ties, numbers beside ties, subnormals, overflow
FACTORS = (1.0, -1.0, 1 + 2**-8, 1 + 2**-10, 1 - 2**-9, 1.5, 2.0**-10, 2.0**-16, 3 * 2.0**-9, 2.0**60)


@everywhere()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_number_is_read_and_rounded(handle, layout):
    """alpha * x of every x there is: exact as float32, then rounded to nearest even by ml_dtypes."""
    x, _ = view(handle, layout, EVERY)
    y, memory = view(handle, layout, np.zeros_like(EVERY))
    for factor in FACTORS:
        dnn.transform_tensor(handle, x, y, alpha=factor)
        with np.errstate(all="ignore"):
            product = EVERY.view(TYPE).astype(np.float32) * np.float32(factor)
            want = product.astype(TYPE).view(np.uint16)
        assert_same(handle.to_numpy(memory)[:: LAYOUTS[layout][-1]], want)


@everywhere()
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_are_rounded_once(handle, layout):
    """A sum of two numbers up to 13 binades apart is any number of up to 22 digits."""
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        share = rng.choice([-1, 1], EVERY.size) * np.exp2(-rng.integers(6, 14, EVERY.size)) * rng.choice([1, 1.5, 1.75])
        a = EVERY.view(TYPE).astype(np.float32)
        b = (a * share.astype(np.float32)).astype(TYPE)
        want = (a + b.astype(np.float32)).astype(TYPE).view(np.uint16)
    x, _ = view(handle, layout, EVERY)
    z, _ = view(handle, layout, b.view(np.uint16))
    y, memory = view(handle, layout, np.zeros_like(EVERY))
    dnn.op_tensor(handle, "add", x, z, y)
    assert_same(handle.to_numpy(memory)[:: LAYOUTS[layout][-1]], want)


def test_float64_is_rounded_once():
    """By way of float32, 1 + 2^-8 + 2^-40 would first become a tie and then go the wrong way."""
    assert bfloat16.rounded(1 + 2**-8 + 2**-40) == 0x3F81 and bfloat16.rounded(1 + 2**-8) == 0x3F80
    assert bfloat16.rounded(-(1 + 2**-8 - 2**-40)) == 0xBF80 and bfloat16.rounded(1 + 3 * 2**-8) == 0x3F82
    largest = (2 - 2**-7) * 2.0**127
    assert bfloat16.rounded(largest + 0.499 * 2.0**120) == 0x7F7F and bfloat16.rounded(1e300) == 0x7F80
    assert bfloat16.rounded(-1e-300) == 0x8000 and bfloat16.rounded(2.0**-134 * (1 + 2**-50)) == 1


def test_host_conversions_agree_with_ml_dtypes():
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2**32, 300_000, dtype=np.uint64).astype(np.uint32)
    bits[::3] &= np.uint32(0xFFFF8000)  # ties
    bits[::7] &= np.uint32(0x807FFFFF)  # subnormals
    with np.errstate(invalid="ignore"):
        assert_same(bfloat16.rounded(bits.view(np.float32)), bits.view(np.float32).astype(TYPE).view(np.uint16))
        want = EVERY.view(TYPE).astype(np.float64)
    np.testing.assert_array_equal(bfloat16.widened(EVERY), want)
    limits, info = DataType.BFLOAT16.limits, ml_dtypes.finfo(TYPE)
    assert limits == tuple(map(float, (info.eps, info.min, info.smallest_normal, info.smallest_subnormal)))


@everywhere()
def test_arrays(handle):
    host = np.random.default_rng(5).standard_normal((2, 3, 4, 5))
    stored = host.astype(np.float32).astype(TYPE)
    for x in (handle.asarray(host, "bfloat16"), handle.asarray(stored), handle.asarray(host.astype(TYPE), TYPE)):
        assert x.dtype == TYPE and handle.to_numpy(x).dtype == TYPE
        np.testing.assert_array_equal(handle.to_numpy(x), stored)
    turned = handle.asarray(host.transpose(0, 2, 3, 1), "bfloat16", format="nhwc")
    np.testing.assert_array_equal(handle.to_numpy(turned), stored.transpose(0, 2, 3, 1))
    last = handle.asarray(stored, format="nhwc")
    assert tuple(last.strides) == (120, 2, 30, 6)
    assert handle.to_numpy(handle.asarray(stored, "float32")).dtype == np.float32
    y = dnn.activation_forward(handle, last, RELU)
    assert y.dtype == TYPE
    np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(stored, 0))
    assert not handle.to_numpy(handle.zeros((1, 2, 3), "bfloat16")).astype(float).any()
    assert handle.empty((1, 2, 3), DataType.BFLOAT16).dtype == TYPE


@pytest.fixture
def no_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    bfloat16._from_ml_dtypes.cache_clear()
    yield
    bfloat16._from_ml_dtypes.cache_clear()


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_need_no_ml_dtypes(backend, no_ml_dtypes):
    """Everything but arrays of NumPy's works; those say what to install."""
    assert DataType.of("bfloat16").itemsize == 2 and dnn.parse("set_tensor y=bf16:1x2x3").y.nbytes == 12
    with open_handle(backend) as handle:
        x, _ = view(handle, "elements", EVERY)
        y, memory = view(handle, "vectors", np.zeros_like(EVERY))
        dnn.activation_forward(handle, x, RELU, y)
        want = EVERY.copy()
        want[(EVERY > 0x7FFF) | ((EVERY & 0x7FFF) > 0x7F80)] = 0  # negative numbers and NaN
        np.testing.assert_array_equal(handle.to_numpy(memory), want)
        new = dnn.scale_tensor(handle, dnn.activation_forward(handle, y, RELU), 2.0)
        for call in (
            lambda: handle.to_numpy(new),
            lambda: handle.to_numpy(y),
            lambda: handle.asarray([[[1.0]]], "bfloat16"),
            lambda: handle.zeros((1, 1, 3), "bfloat16"),
            lambda: handle.empty((1, 1, 3), "bfloat16"),
            lambda: DataType.BFLOAT16.numpy,
        ):
            with pytest.raises(dnn.NotSupported, match=r'pip install "portadnn\[bfloat16\]"'):
                call()


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_of_other_types_are_refused(backend):
    with open_handle(backend) as handle:
        y = dnn.TensorDescriptor((1, 2, 3), "bfloat16").view(handle.zeros((1, 2, 3), "float16"))
        with pytest.raises(dnn.BadParam, match="y: expected an array of bfloat16, uint16 or uint8, got float16"):
            dnn.set_tensor(handle, y, 1.0)
        half = dnn.TensorDescriptor((1, 2, 3), "float16").view(handle.zeros((1, 2, 3), "bfloat16"))
        with pytest.raises(dnn.BadParam, match="y: expected an array of float16 or uint8, got bfloat16"):
            dnn.set_tensor(handle, half, 1.0)
        with pytest.raises(dnn.BadParam, match=r"y\.dtype: expected float16, bfloat16, .*uint16"):
            dnn.set_tensor(handle, handle.device.asarray(np.zeros((1, 2, 3), np.uint16)), 1.0)


def _torch(handle):
    torch = pytest.importorskip("torch")
    if handle.backend == "cuda" and not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return torch, "cuda" if handle.backend == "cuda" else "cpu"


@pytest.mark.parametrize("backend", BACKENDS)
def test_torch_tensors_are_not_copied(backend):
    if backend == "opencl":
        pytest.skip("torch has no memory of OpenCL's")
    with open_handle(backend) as handle:
        torch, device = _torch(handle)
        x = torch.randn(2, 3, 4, 5, device=device).to(torch.bfloat16).transpose(1, 3)
        y = torch.zeros_like(x)
        stream = None if device == "cpu" else torch.cuda.current_stream().synchronize()
        assert stream is None and dnn.activation_forward(handle, x, RELU, y) is y
        handle.synchronize()
        assert torch.equal(y, x.relu())
        flat = torch.zeros(6, device=device, dtype=torch.bfloat16)
        dnn.set_tensor(handle, dnn.TensorDescriptor((1, 2, 2), "bfloat16").view(flat, 1), 3.0)
        handle.synchronize()
        assert flat.tolist() == [0, 3, 3, 3, 3, 0]


def test_the_oracle_reads_numbers():
    stored = np.array([1.5, -2.0], TYPE)
    np.testing.assert_array_equal(as_float64(stored), [1.5, -2.0])
    np.testing.assert_array_equal(as_float64(stored.view(bfloat16.BITS)), [1.5, -2.0])
