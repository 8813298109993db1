"""Convolutions of bytes, reordered filters and columns, against sums over integers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helper import everywhere
from integer_layouts import LANES, bits, filter_descriptor, logical, tensor_descriptor, upload

import portadnn as dnn
from portadnn import cudnn

RNG = np.random.default_rng(8)
PRECOMP, GEMM = cudnn.CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, cudnn.CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
# Types of x, w and y, the layout of y, channels, filters, stride, padding, mode, what is fused
CASES = [
    ("INT8", "INT8", "INT8", 1, 8, 12, 2, 1, 1, None),
    ("UINT8", "INT8", "INT8", 1, 8, 12, 1, 1, 1, "RELU"),
    ("INT8", "INT8", "FLOAT", 1, 8, 5, 1, 0, 0, "IDENTITY"),
    pytest.param("UINT8", "INT8", "FLOAT", 1, 4, 4, 2, 1, 1, None, marks=pytest.mark.long),
    ("INT8x4", "INT8x4", "INT8x4", 2, 8, 12, 1, 1, 1, "RELU"),
    pytest.param("INT8x4", "INT8x4", "FLOAT", 0, 8, 12, 2, 0, 1, None, marks=pytest.mark.long),
    ("UINT8x4", "INT8x4", "FLOAT", 1, 8, 12, 2, 1, 1, "RELU"),
    ("INT8x32", "INT8x32", "INT8x32", 2, 64, 32, 1, 1, 1, "RELU"),
    ("INT8x32", "INT8x32", "INT8x32", 2, 160, 32, 2, 1, 1, None),  # sums that FLOAT does not hold
]


def numbers(kind, dims):
    """Return all numbers that a type has, drawn."""
    if kind == "FLOAT":
        return RNG.integers(-99, 99, dims).astype(np.float32)
    return RNG.integers(0, 256, dims).astype(np.uint8).view(np.uint8 if kind[0] == "U" else np.int8)


def sums(x, w, stride, padding, flipped):
    """Return the convolution in integers: the sum over taps of shifted images."""
    if flipped:
        w = w[:, :, ::-1, ::-1]
    (h, width), (r, s) = x.shape[2:], w.shape[2:]
    p, q = (1 + (size + 2 * padding - tap) // stride for size, tap in ((h, r), (width, s)))
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    y = np.zeros((len(x), len(w), p, q), np.int64)
    for i, j in itertools.product(range(r), range(s)):
        part = x[:, :, i : i + p * stride : stride, j : j + q * stride : stride][:, :, :p, :q]
        y += np.einsum("nchw,kc->nkhw", part, w[:, :, i, j].astype(np.int64))
    return y


def convolution(stride=1, padding=0, mode=cudnn.CUDNN_CROSS_CORRELATION, compute=cudnn.CUDNN_DATA_INT32):
    conv = cudnn.cudnnCreateConvolutionDescriptor()
    cudnn.cudnnSetConvolution2dDescriptor(conv, padding, padding, stride, stride, 1, 1, mode, compute)
    return conv


def activation(name):
    desc = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(desc, getattr(cudnn, f"CUDNN_ACTIVATION_{name}"), 0, 0.0)
    return desc


def saturated(values, dtype):
    """Round to the nearest, ties to even, and saturate; FLOAT stays."""
    if dtype == np.float32:
        return values
    return np.clip(np.rint(values), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


@everywhere()
@pytest.mark.parametrize(
    ("x_kind", "w_kind", "y_kind", "y_layout", "c", "k", "stride", "padding", "mode", "fused"), CASES
)
def test_convolution_of_bytes(handle, x_kind, w_kind, y_kind, y_layout, c, k, stride, padding, mode, fused):
    layout = None if x_kind in LANES else 1
    x, w = numbers(x_kind, (2, c, 6, 5)), numbers(w_kind, (k, c, 3, 3))
    exact = sums(x, w, stride, padding, flipped=mode == 0)
    prior, dims = numbers(y_kind, exact.shape), exact.shape
    z, bias = numbers(y_kind, dims), (RNG.standard_normal((1, k, 1, 1)) * 20).astype(np.float32)
    alpha, beta = np.float32(3 / 1024), np.float32(0.75)
    descriptors = tensor_descriptor(x_kind, x.shape, layout), filter_descriptor(w_kind, w.shape, layout)
    y_desc, conv = tensor_descriptor(y_kind, dims, y_layout), convolution(stride, padding, mode)
    memory = [upload(handle, bits(a, kind, 1)) for a, kind in ((x, x_kind), (w, w_kind))]
    out = upload(handle, bits(prior, y_kind, y_layout))
    first = (handle, float(alpha), descriptors[0], memory[0], descriptors[1], memory[1], conv, PRECOMP, None, 0)
    wanted = exact.astype(np.float32) * alpha
    if fused is None:
        cudnn.cudnnConvolutionForward(*first, float(beta), y_desc, out)
        wanted = wanted + prior * beta
    else:
        given, b = upload(handle, bits(z, y_kind, y_layout)), upload(handle, bias)
        last = (tensor_descriptor("FLOAT", bias.shape), b, activation(fused), y_desc, out)
        cudnn.cudnnConvolutionBiasActivationForward(*first, float(beta), y_desc, given, *last)
        wanted = wanted + z * beta + bias
        wanted = np.maximum(wanted, 0) if fused == "RELU" else wanted
    got = logical(handle, out, y_kind, dims, prior.dtype, y_layout)
    if y_kind == "FLOAT":  # the sums of FLOAT may be fused
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-5)
    else:
        tie = np.abs(wanted - np.floor(wanted) - 0.5) < 1e-4  # where a fused sum may fall on the other side
        np.testing.assert_array_equal(np.where(tie, 0, got), np.where(tie, 0, saturated(wanted, prior.dtype)))
        assert tie.mean() < 0.01


@everywhere()
def test_output_is_rounded_to_even_and_saturated(handle):
    """A 1 x 1 filter of powers of 2: y = x / 2, x, 2 * x and 4 * x."""
    x = np.array([1, 3, 5, -1, -3, 127, -128, 2], np.int8).reshape(1, 1, 2, 4).repeat(4, 1)
    w = np.zeros((4, 4, 1, 1), np.int8)
    w[:, :, 0, 0] = np.diag([1, 2, 4, 8])
    descriptors = tensor_descriptor("INT8", x.shape, 1), filter_descriptor("INT8", w.shape, 1)
    memory = [upload(handle, bits(a, "INT8", 1)) for a in (x, w)]
    out = upload(handle, np.zeros(x.size, np.int8))
    desc = tensor_descriptor("INT8", x.shape, 1)
    arguments = (descriptors[0], memory[0], descriptors[1], memory[1], convolution(), PRECOMP, None, 0)
    cudnn.cudnnConvolutionForward(handle, 0.5, *arguments, 0, desc, out)
    got = logical(handle, out, "INT8", x.shape, np.int8, 1)[0].reshape(4, 8)
    assert got[0].tolist() == [0, 2, 2, 0, -2, 64, -64, 1]
    assert got[1].tolist() == [1, 3, 5, -1, -3, 127, -128, 2]
    assert got[2].tolist() == [2, 6, 10, -2, -6, 127, -128, 4]


def reordered_place(k, c, r, s, at):
    """Return where the filter element (o, i, y, x) goes: the order of tensor cores, as XLA's source has it."""
    o, i, y, x = at
    place = (((i // 32) * r + y) * s + x) * (k // 8) + o // 8
    for index, size in ((o % 2, 2), (i % 32 // 4, 8), (o % 8 // 2, 4), (i % 4, 4)):
        place = place * size + index
    return place


@everywhere()
def test_reordered_filter_and_bias(handle):
    k, c, r, s = dims = (64, 64, 2, 1)
    w, bias = numbers("INT8", dims), RNG.standard_normal(k).astype(np.float32)
    desc, stored = filter_descriptor("INT8x32", dims), bits(w, "INT8x32")
    given, out = upload(handle, stored), upload(handle, np.zeros(w.size, np.int8))
    b, b_out = upload(handle, bias), upload(handle, np.zeros(k, np.float32))
    cudnn.cudnnReorderFilterAndBias(handle, desc, cudnn.CUDNN_DEFAULT_REORDER, given, out, 1, b, b_out)
    wanted = np.zeros(w.size, np.int8)
    for at in itertools.product(*map(range, dims)):
        wanted[reordered_place(k, c, r, s, at)] = w[at]
    np.testing.assert_array_equal(handle.to_numpy(out).view(np.int8), wanted)
    places = [o // 32 * 32 + o % 8 // 4 * 16 + o % 32 // 8 * 4 + o % 4 for o in range(k)]
    moved = np.zeros(k, np.float32)
    moved[places] = bias
    np.testing.assert_array_equal(handle.to_numpy(b_out).view(np.float32), moved)
    cudnn.cudnnReorderFilterAndBias(handle, desc, cudnn.CUDNN_NO_REORDER, given, out, 0, None, None)
    np.testing.assert_array_equal(handle.to_numpy(out), stored)
    with pytest.raises(dnn.BadParam, match="biasData"):
        cudnn.cudnnReorderFilterAndBias(handle, desc, 0, given, out, 1, None, None)
    with pytest.raises(dnn.NotSupported, match="INT8x32"):
        cudnn.cudnnReorderFilterAndBias(handle, filter_descriptor("INT8x4", dims), 0, given, out, 0, None, None)


@everywhere()
def test_convolution_takes_reordered_filters(handle):
    """The same results as with the filter as it was."""
    x, w = numbers("INT8", (1, 64, 3, 3)), numbers("INT8", (32, 64, 2, 2))
    bias = (RNG.standard_normal(32) * 30).astype(np.float32)
    wanted = np.maximum(sums(x, w, 1, 0, False).astype(np.float32) / 1024 + bias.reshape(1, -1, 1, 1), 0)
    w_desc, conv = filter_descriptor("INT8x32", w.shape), convolution()
    cudnn.cudnnSetConvolutionReorderType(conv, cudnn.CUDNN_NO_REORDER)
    moved, b = upload(handle, np.zeros(w.size, np.int8)), upload(handle, np.zeros(32, np.float32))
    given = upload(handle, bits(w, "INT8x32"))
    cudnn.cudnnReorderFilterAndBias(handle, w_desc, 0, given, moved, 1, upload(handle, bias), b)
    y_desc, out = tensor_descriptor("INT8x32", wanted.shape), upload(handle, np.zeros(wanted.size, np.int8))
    first = (tensor_descriptor("INT8x32", x.shape), upload(handle, bits(x, "INT8x32")), w_desc, moved, conv)
    last = (tensor_descriptor("FLOAT", (1, 32, 1, 1)), b, activation("RELU"), y_desc, out)
    cudnn.cudnnConvolutionBiasActivationForward(handle, 1 / 1024, *first, GEMM, None, 0, 0, y_desc, None, *last)
    got = logical(handle, out, "INT8x32", wanted.shape, np.int8)
    np.testing.assert_array_equal(got, saturated(wanted, np.int8))


@everywhere()
def test_taps_of_vectors_may_be_apart(handle):
    """Those of INT8x32, as in cuDNN 9.19."""
    x, w = numbers("INT8", (1, 32, 5, 6)), numbers("INT8", (32, 32, 2, 2))
    spread = np.zeros((32, 32, 3, 4), np.int8)
    spread[:, :, ::2, ::3] = w
    wanted = saturated(sums(x, spread, 1, 0, False).astype(np.float32) / 512, np.int8)
    conv = cudnn.cudnnCreateConvolutionDescriptor()
    cudnn.cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 2, 3, cudnn.CUDNN_CROSS_CORRELATION, cudnn.CUDNN_DATA_INT32)
    given = upload(handle, bits(x, "INT8x32")), upload(handle, bits(w, "INT8x32"))
    out, y_desc = upload(handle, np.zeros(wanted.size, np.int8)), tensor_descriptor("INT8x32", wanted.shape)
    first = tensor_descriptor("INT8x32", x.shape), given[0], filter_descriptor("INT8x32", w.shape), given[1], conv
    cudnn.cudnnConvolutionForward(handle, 1 / 512, *first, PRECOMP, None, 0, 0, y_desc, out)
    np.testing.assert_array_equal(logical(handle, out, "INT8x32", wanted.shape, np.int8), wanted)


@everywhere()
@pytest.mark.parametrize("kind", ["FLOAT", "INT8x4"])
def test_filters_of_any_type_are_copied(handle, kind):
    """NO_REORDER has no demands, as in cuDNN 9.19."""
    w, bias = numbers(kind, (5, 8, 2, 3)), RNG.standard_normal(5).astype(np.float32)
    out, b_out = upload(handle, np.zeros(w.nbytes, np.uint8)), upload(handle, np.zeros(5, np.float32))
    given = filter_descriptor(kind, w.shape), cudnn.CUDNN_NO_REORDER, upload(handle, bits(w, kind)), out
    cudnn.cudnnReorderFilterAndBias(handle, *given, 1, upload(handle, bias), b_out)
    np.testing.assert_array_equal(handle.to_numpy(out), bits(w, kind))
    np.testing.assert_array_equal(handle.to_numpy(b_out).view(np.float32), bias)


@pytest.mark.parametrize("kind", ["FLOAT", "INT8"])
def test_dims_of_0_are_refused(reference, kind):
    """By cudnnSetTensorNdDescriptorEx, as in cuDNN 9.19."""
    with pytest.raises(dnn.BadParam, match="dimA"):
        tensor_descriptor(kind, (0, 4, 2, 2))


def test_halves_have_no_result_of_float(reference):
    """NOT_SUPPORTED, as in cuDNN 9.19."""
    x, w = tensor_descriptor("HALF", (1, 4, 4, 4), 1), filter_descriptor("HALF", (8, 4, 1, 1), 1)
    y, conv = tensor_descriptor("FLOAT", (1, 8, 4, 4), 1), convolution(compute=cudnn.CUDNN_DATA_FLOAT)
    with pytest.raises(dnn.NotSupported, match=r"y\.dtype"):
        cudnn.cudnnGetConvolutionForwardWorkspaceSize(reference, x, w, conv, y, PRECOMP)


REFUSED = [
    (dnn.NotSupported, "types", {"y": ("INT8", 0)}),
    (dnn.NotSupported, "compute_type", {"compute": cudnn.CUDNN_DATA_FLOAT}),
    (dnn.NotSupported, "dilation", {"dilation": 2}),
    (dnn.NotSupported, "algo", {"algo": cudnn.CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD}),
    (dnn.BadParam, "y.dims", {"dims": (1, 8, 3, 4)}),
    (dnn.BadParam, "NCHW_VECT_C", {"x_layout": 0}),
    (dnn.BadParam, "INT8x4 by FLOAT", {"w": ("FLOAT", 0)}),
    (dnn.BadParam, "NULL", {"out": None}),
]


@pytest.mark.parametrize(("error", "text", "change"), REFUSED)
def test_what_cudnn_refuses_of_bytes(reference, error, text, change):
    kind, layout = change.get("y", ("INT8x4", 2))
    y = tensor_descriptor(kind, change.get("dims", (1, 8, 4, 4)), layout)
    x = tensor_descriptor("INT8x4", (1, 8, 4, 4), change.get("x_layout"))
    w_kind, w_layout = change.get("w", ("INT8x4", 2))
    w = filter_descriptor(w_kind, (8, 8, 1, 1), w_layout)
    conv = cudnn.cudnnCreateConvolutionDescriptor()
    d = change.get("dilation", 1)
    compute = change.get("compute", cudnn.CUDNN_DATA_INT32)
    cudnn.cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, d, d, cudnn.CUDNN_CROSS_CORRELATION, compute)
    a, b = np.zeros(512, np.int8), np.zeros(128, np.int8)
    with pytest.raises(error, match=text):
        cudnn.cudnnConvolutionForward(
            reference, 1, x, a, w, a, conv, change.get("algo", PRECOMP), None, 0, 0, y, change.get("out", b)
        )


@pytest.mark.parametrize(("c", "k"), [(6, 8), (8, 6)])
def test_channels_come_in_fours(reference, c, k):
    x, w = tensor_descriptor("INT8", (1, c, 4, 4), 1), filter_descriptor("INT8", (k, c, 1, 1), 1)
    y, memory = tensor_descriptor("INT8", (1, k, 4, 4), 1), np.zeros(128, np.int8)
    with pytest.raises(dnn.NotSupported, match="multiple of 4"):
        cudnn.cudnnConvolutionForward(reference, 1, x, memory, w, memory, convolution(), PRECOMP, None, 0, 0, y, memory)


@pytest.mark.parametrize(
    ("kind", "layout", "able"), [("INT8x4", 0, [PRECOMP, GEMM]), ("INT8x4", 1, [PRECOMP]), ("INT8", 1, [PRECOMP, GEMM])]
)
def test_algorithms_of_bytes(reference, kind, layout, able):
    """The implicit products; only one of them writes channels last of vectors."""
    given = 1 if kind == "INT8" else None
    x, w = tensor_descriptor(kind, (1, 8, 4, 4), given), filter_descriptor(kind, (8, 8, 1, 1), given)
    y, conv = tensor_descriptor("FLOAT", (1, 8, 4, 4), layout), convolution()
    count, found = cudnn.cudnnGetConvolutionForwardAlgorithm_v7(reference, x, w, conv, y, 8)
    assert count == len(found) == 8
    assert [perf.algo for perf in found if perf.status == 0] == able
    assert cudnn.cudnnGetConvolutionForwardWorkspaceSize(reference, x, w, conv, y, PRECOMP) == 0
    count, found = cudnn.cudnnFindConvolutionForwardAlgorithm(reference, x, w, conv, y, 1)
    assert (count, found[0].algo) == (1, PRECOMP)
    assert found[0].time > 0
    assert cudnn.cudnnGetConvolutionForwardAlgorithm(reference, x, w, conv, y, 0, 0) == PRECOMP


@everywhere()
@pytest.mark.parametrize("kind", ["FLOAT", "INT8"])
@pytest.mark.parametrize("mode", [cudnn.CUDNN_CROSS_CORRELATION, cudnn.CUDNN_CONVOLUTION])
def test_columns(handle, kind, mode):
    """Rows are channels and taps, columns are pixels, as in cuDNN 9.19; filters times them are the convolution."""
    x = RNG.integers(-9, 9, (2, 3, 5, 4)).astype(np.float32 if kind == "FLOAT" else np.int8)
    w = RNG.integers(-9, 9, (2, 3, 3, 2))
    if kind == "FLOAT":
        x[0, 0, 0, 0] = np.nan
    conv = convolution(2, 1, mode, cudnn.CUDNN_DATA_FLOAT)
    x_desc, w_desc = tensor_descriptor(kind, x.shape, 1), filter_descriptor(kind, w.shape)
    out = upload(handle, np.full(2 * 3 * 3 * 18, 7, x.dtype))
    cudnn.cudnnIm2Col(handle, x_desc, upload(handle, bits(x, kind, 1)), w_desc, conv, out)
    columns = np.ascontiguousarray(handle.to_numpy(out)).view(x.dtype).reshape(18, 18)
    clean = np.nan_to_num(columns.astype(float), nan=99)
    y = (w.reshape(2, -1) @ clean).reshape(2, 2, 3, 3).transpose(1, 0, 2, 3)
    np.testing.assert_array_equal(y, sums(np.nan_to_num(x.astype(float), nan=99), w, 2, 1, mode == 0))
    assert np.isnan(columns.astype(float)).sum() == (1 if kind == "FLOAT" else 0)
