"""Transforms between types, vectors of channels, padding and folding, against loops over elements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helper import everywhere
from integer_layouts import bits, filter_descriptor, logical, tensor_descriptor, upload

import portadnn as dnn
from portadnn import cudnn

RNG = np.random.default_rng(28)
TYPES = {
    "INT8": (np.int8, -128, 127),
    "UINT8": (np.uint8, 0, 255),
    "INT32": (np.int32, -(2**31), 2**31 - 1),
    "FLOAT": (np.float32, None, None),
    "HALF": (np.float16, None, None),
    "DOUBLE": (np.float64, None, None),
    "INT8x4": (np.int8, -128, 127),
    "UINT8x4": (np.uint8, 0, 255),
    "INT8x32": (np.int8, -128, 127),
}
DIMS = (2, 32, 2, 3)
PAIRS = [
    ("FLOAT", "INT8"),
    ("FLOAT", "INT8x32"),
    ("INT8x32", "INT8x4"),
    ("INT8x4", "FLOAT"),
    ("HALF", "UINT8x4"),
    ("DOUBLE", "INT32"),
    ("INT32", "UINT8"),
    ("INT8", "HALF"),
    ("FLOAT", "DOUBLE"),
]


def stored(values, name):
    """Round to the nearest, ties to even, and saturate."""
    dtype, low, high = TYPES[name]
    if low is None:
        return values.astype(dtype)
    return np.clip(np.rint(values), low, high).astype(dtype)


def numbers(name):
    dtype, low, _ = TYPES[name]
    if low is None:
        return np.concatenate([RNG.normal(0, 150, 380), [0.5, 1.5, -0.5, 2.5]]).reshape(DIMS).astype(dtype)
    return RNG.integers(max(low, -300), 120, DIMS).astype(dtype)


@everywhere()
@pytest.mark.parametrize(("source", "dest"), PAIRS)
def test_conversion_rounds_and_saturates(handle, source, dest):
    x, y = numbers(source), numbers(dest)
    given, out = upload(handle, bits(x, source)), upload(handle, bits(y, dest))
    descriptors = tensor_descriptor(source, DIMS), tensor_descriptor(dest, DIMS)
    cudnn.cudnnTransformTensor(handle, 1.0, descriptors[0], given, 0.0, descriptors[1], out)
    np.testing.assert_array_equal(logical(handle, out, dest, DIMS, y.dtype), stored(x.astype(np.float64), dest))
    cudnn.cudnnTransformTensor(handle, 0.5, descriptors[0], given, 2.0, descriptors[1], out)
    first = stored(x.astype(np.float64), dest).astype(np.float64)
    with np.errstate(over="ignore"):
        wanted = stored(0.5 * x.astype(np.float64) + 2 * first, dest)
    got = logical(handle, out, dest, DIMS, y.dtype)
    if np.issubdtype(y.dtype, np.floating):
        np.testing.assert_allclose(got, wanted, rtol=2e-3 if y.dtype == np.float16 else 1e-6)
    else:
        np.testing.assert_array_equal(got, wanted)


def transform(before, after, fold, direction=0, layout=0):
    desc = cudnn.cudnnCreateTensorTransformDescriptor()
    cudnn.cudnnSetTensorTransformDescriptor(desc, len(before), layout, before, after, fold, direction)
    return desc


def folded(x, before, after, fold):
    """Fold by the definition: element by element, into zeros."""
    c = x.shape[1]
    padded = [s + a + b for s, a, b in zip(x.shape, before, after, strict=True)]
    dims = [padded[0], padded[1] * int(np.prod(fold))]
    dims += [-(-s // f) for s, f in zip(padded[2:], fold, strict=True)]
    y = np.zeros(dims, x.dtype)
    for place in itertools.product(*map(range, x.shape)):
        at = [p + b for p, b in zip(place[2:], before[2:], strict=True)]
        if any(not 0 <= a < s for a, s in zip(at, padded[2:], strict=True)):
            continue
        block = 0
        for a, f in zip(at, fold, strict=True):
            block = block * f + a % f
        channel = before[1] + block * c + place[1]
        y[(place[0] + before[0], channel, *(a // f for a, f in zip(at, fold, strict=True)))] = x[place]
    return y


FOLDS = [
    ((1, 2, 5, 6), (0, 1, 1, 0), (0, 1, 0, 1), (2, 3)),
    ((2, 3, 4, 6), (0, 0, 0, 0), (0, 0, 0, 0), (2, 3)),
    ((1, 2, 6, 5), (1, 0, -1, 2), (0, 0, 1, -2), (1, 1)),
    ((1, 1, 3, 4, 5), (0, 0, 1, 0, 1), (0, 0, 0, 0, 1), (2, 1, 3)),
]


@everywhere()
@pytest.mark.parametrize("kind", ["FLOAT", "INT8"])
@pytest.mark.parametrize(("dims", "before", "after", "fold"), FOLDS)
def test_padding_and_folding(handle, dims, before, after, fold, kind):
    x = RNG.integers(1, 60, dims).astype(TYPES[kind][0])
    wanted = 2 * folded(x, before, after, fold)
    desc, source, dest = transform(before, after, fold), tensor_descriptor(kind, dims), None
    assert cudnn.cudnnGetTensorTransformDescriptor(desc, len(dims)) == (0, before, after, fold, 0)
    dest = cudnn.cudnnCreateTensorDescriptor()
    assert cudnn.cudnnInitTransformDest(desc, source, dest) == wanted.nbytes
    assert cudnn.cudnnGetTensorNdDescriptor(dest, 8)[2] == wanted.shape
    out = upload(handle, np.full(wanted.nbytes, 255, np.uint8))
    given = upload(handle, bits(x, kind))
    cudnn.cudnnTransformTensorEx(handle, desc, 2, source, given, 0, dest, out)
    np.testing.assert_array_equal(logical(handle, out, kind, wanted.shape, x.dtype), wanted)
    if any(fold) and max(fold) > 1:
        with pytest.raises(dnn.NotSupported, match="beta"):
            cudnn.cudnnTransformTensorEx(handle, desc, 2, source, given, 0.5, dest, out)


@everywhere()
def test_unfolding_is_the_way_back_and_blends(handle):
    dims, fold, none = (2, 3, 4, 6), (2, 3), (0, 0, 0, 0)
    x, prior = RNG.standard_normal((2, *dims)).astype(np.float32)
    there = folded(x, none, none, fold)
    back, source, dest = transform(none, none, fold, 1), tensor_descriptor("FLOAT", there.shape), None
    dest = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnInitTransformDest(back, source, dest)
    assert cudnn.cudnnGetTensorNdDescriptor(dest, 8)[2] == dims
    out = handle.asarray(prior)
    cudnn.cudnnTransformTensorEx(handle, back, 2, source, handle.asarray(there), 0.5, dest, out)
    np.testing.assert_allclose(handle.to_numpy(out), 2 * x + prior / 2, rtol=1e-6)


@everywhere()
def test_filters_fold_as_tensors_and_change_their_layout(handle):
    w = RNG.standard_normal((2, 3, 3, 3)).astype(np.float32)
    before, after, fold = (0, 0, 1, 1), (2, 1, 0, 0), (2, 2)
    wanted = folded(w, before, after, fold)
    source, dest = filter_descriptor("FLOAT", w.shape), filter_descriptor("FLOAT", wanted.shape)
    out = handle.empty(wanted.shape)
    cudnn.cudnnTransformFilter(handle, transform(before, after, fold), 1, source, handle.asarray(w), 0, dest, out)
    np.testing.assert_array_equal(handle.to_numpy(out), wanted)
    none, turned = (0, 0, 0, 0), filter_descriptor("FLOAT", w.shape, cudnn.CUDNN_TENSOR_NHWC)
    out = handle.empty((2, 3, 3, 3))
    desc = transform(none, none, None, 0, cudnn.CUDNN_TENSOR_NHWC)
    cudnn.cudnnTransformFilter(handle, desc, 1, source, handle.asarray(w), 0, turned, out)
    np.testing.assert_array_equal(handle.to_numpy(out).reshape(2, 3, 3, 3), w.transpose(0, 2, 3, 1))


def test_descriptors_of_vectors(reference):
    desc = tensor_descriptor("INT8x4", (2, 8, 3, 5))
    assert cudnn.cudnnGetTensor4dDescriptor(desc) == (5, 2, 8, 3, 5, 30, 15, 5, 1)
    assert cudnn.cudnnGetTensorSizeInBytes(desc) == 240
    cudnn.cudnnSetTensor4dDescriptor(desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_INT8x4, 2, 8, 3, 5)
    assert cudnn.cudnnGetTensorSizeInBytes(desc) == 960  # each element is a vector
    assert cudnn.cudnnGetFilterSizeInBytes(filter_descriptor("INT8x32", (32, 32, 3, 3))) == 9216
    for kind, channels in (("INT8x4", 6), ("INT8", 8), ("FLOAT", 8)):
        with pytest.raises(dnn.BadParam):
            number = getattr(cudnn, f"CUDNN_DATA_{kind}")
            cudnn.cudnnSetTensor4dDescriptor(desc, cudnn.CUDNN_TENSOR_NCHW_VECT_C, number, 2, channels, 3, 5)
    x, y = tensor_descriptor("INT8", (1, 4, 2, 2)), np.zeros(16, np.int8)
    with pytest.raises(dnn.NotSupported, match="CUDNN_DATA_INT8"):
        cudnn.cudnnAddTensor(reference, 1, x, y, 1, x, y)


def test_wrong_transforms_are_refused(reference):
    x, y = tensor_descriptor("FLOAT", (1, 4, 2, 2)), tensor_descriptor("INT8", (1, 4, 2, 3))
    with pytest.raises(dnn.BadParam, match="dims"):
        cudnn.cudnnTransformTensor(reference, 1, x, np.zeros(16, np.float32), 0, y, np.zeros(24, np.int8))
    small = tensor_descriptor("INT8", (1, 4, 2, 2))
    with pytest.raises(dnn.DnnError):
        cudnn.cudnnTransformTensor(reference, 1, x, np.zeros(15, np.float32), 0, small, np.zeros(16, np.int8))
    with pytest.raises(dnn.BadParam, match="NULL"):
        cudnn.cudnnTransformTensor(reference, 1, x, None, 0, small, np.zeros(16, np.int8))
    desc = cudnn.cudnnCreateTensorTransformDescriptor()
    with pytest.raises(dnn.BadParam):
        cudnn.cudnnSetTensorTransformDescriptor(desc, 2, 0, (0, 0), (0, 0), (), 0)
    with pytest.raises(dnn.BadParam, match="set"):
        cudnn.cudnnInitTransformDest(desc, x, cudnn.cudnnCreateTensorDescriptor())
    cudnn.cudnnDestroyTensorTransformDescriptor(desc)
