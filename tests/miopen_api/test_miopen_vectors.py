"""Layouts of vectors of channels (miopenTensorNCHWc4 ...): what descriptors tell, and forward convolutions by loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helper import everywhere

import portadnn as dnn
import portadnn.miopen as miopen

RNG = np.random.default_rng(17)


def described(layout, lengths, kind="Half"):
    desc = miopen.miopenCreateTensorDescriptor()
    named = getattr(miopen, f"miopenTensor{layout}")
    miopen.miopenSetNdTensorDescriptorWithLayout(desc, getattr(miopen, f"miopen{kind}"), named, lengths, 4)
    return desc


def laid(values, vector, filters=False):
    """Return values (n, c, h, w) as memory n, c / v, h, w, v; or c / v, h, w, n, v."""
    n, c, h, w = values.shape
    cut = values.reshape(n, c // vector, vector, h, w)
    return np.ascontiguousarray(cut.transpose(1, 3, 4, 0, 2) if filters else cut.transpose(0, 1, 3, 4, 2))


def convolved(x, w, padding, stride, dilation, groups):
    """Return the convolution by loops, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    k, c, r, s = w.shape
    sizes = [
        (size - d * (f - 1) - 1) // step + 1
        for size, d, f, step in zip(x.shape[2:], dilation, (r, s), stride, strict=True)
    ]
    y = np.zeros((x.shape[0], k, *sizes))
    for o, i, j in itertools.product(range(k), range(r), range(s)):
        first = o // (k // groups) * c
        rows = slice(i * dilation[0], i * dilation[0] + stride[0] * (sizes[0] - 1) + 1, stride[0])
        columns = slice(j * dilation[1], j * dilation[1] + stride[1] * (sizes[1] - 1) + 1, stride[1])
        y[:, o] += np.einsum("nchw,c->nhw", x[:, first : first + c, rows, columns], w[o, :, i, j].astype(np.float64))
    return y


CASES = [  # vector, filters as CHWNc, x, filters, r, s, padding, stride, dilation, groups
    (4, False, (2, 8, 6, 5), 12, 3, 3, (1, 0), (1, 2), (1, 1), 1),
    (4, True, (1, 4, 5, 5), 8, 1, 3, (0, 1), (2, 1), (1, 1), 1),
    (8, False, (1, 16, 7, 6), 8, 3, 2, (2, 1), (1, 1), (2, 1), 1),
    (8, True, (2, 16, 4, 4), 16, 2, 2, (0, 0), (1, 1), (1, 1), 2),
]


@everywhere()
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", ["find", "immediate", "problem"])
def test_convolutions_are_the_definition(handle, case, mode):
    vector, filters_first, dims, k, r, s, padding, stride, dilation, groups = case
    x = RNG.integers(-4, 5, dims).astype(np.float16)
    w = RNG.integers(-4, 5, (k, dims[1] // groups, r, s)).astype(np.float16)
    want = convolved(x, w, padding, stride, dilation, groups)
    conv = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, *padding, *stride, *dilation)
    miopen.miopenSetConvolutionGroupCount(conv, groups)
    layouts = [f"NCHWc{vector}", f"{'CHWN' if filters_first else 'NCHW'}c{vector}"]
    descs = [described(layouts[0], dims), described(layouts[1], w.shape)]
    found = miopen.miopenGetConvolutionForwardOutputDim(conv, *descs)
    assert found == (want.shape[0], k // vector, *want.shape[2:])
    descs.append(described(layouts[0], want.shape))
    memory = [
        handle.asarray(laid(x, vector).reshape(-1)),
        handle.asarray(laid(w, vector, filters_first).reshape(-1)),
        handle.asarray(np.full(want.size, np.nan, np.float16)),
    ]
    xs, ws, ys = zip(descs, memory, strict=True)
    if mode == "problem":
        problem = miopen.miopenCreateConvProblem(conv, miopen.miopenProblemDirectionForward)
        ids = [getattr(miopen, f"miopenTensorConvolution{name}") for name in "XWY"]
        for id, desc in zip(ids, descs, strict=True):
            miopen.miopenSetProblemTensorDescriptor(problem, id, desc)
        (solution,), _ = miopen.miopenFindSolutions(handle, problem, None, 1)
        data = miopen.miopenSaveSolution(solution)
        solution = miopen.miopenLoadSolution(data, len(data))
        given = [(id, None, one) for id, one in zip(ids, memory, strict=True)]
        miopen.miopenRunSolution(handle, solution, 3, given, None, 0)
    elif mode == "immediate":
        _, (one,) = miopen.miopenConvolutionForwardGetSolution(handle, descs[1], descs[0], conv, descs[2], 1)
        miopen.miopenConvolutionForwardImmediate(handle, *ws, *xs, conv, *ys, None, 0, one.solution_id)
    else:
        size = miopen.miopenConvolutionForwardGetWorkSpaceSize(handle, descs[1], descs[0], conv, descs[2])
        assert size == 0
        _, (perf,) = miopen.miopenFindConvolutionForwardAlgorithm(handle, *xs, *ws, conv, *ys, 1, None, 0, False)
        miopen.miopenConvolutionForward(handle, 1.0, *xs, *ws, conv, perf.fwd_algo, 0.0, *ys, None, 0)
    got = handle.to_numpy(memory[2]).reshape(laid(want, vector).shape)
    np.testing.assert_array_equal(got, laid(want, vector).astype(np.float16))


@pytest.mark.parametrize(
    ("layout", "lengths", "strides"),
    [
        ("NCHWc4", (2, 2, 3, 5), (120, 60, 20, 4)),
        ("NCHWc8", (2, 1, 3, 5), (120, 120, 40, 8)),
        ("CHWNc4", (2, 3, 5, 2), (120, 40, 8, 4)),
        ("CHWNc8", (1, 3, 5, 2), (240, 80, 16, 8)),
    ],
)
def test_descriptors_count_channels_in_vectors(layout, lengths, strides):
    desc = described(layout, (2, 8, 3, 5), "Float")
    assert miopen.miopenGetTensorLayout(desc) is getattr(miopen, f"miopenTensor{layout}")
    assert miopen.miopenGetTensorDescriptor(desc) == (miopen.miopenFloat, lengths, strides)
    assert miopen.miopenGet4dTensorDescriptor(desc) == (miopen.miopenFloat, *lengths, *strides)
    assert miopen.miopenGetTensorVectorLength(desc) == int(layout[-1])
    assert miopen.miopenGetTensorElementSpace(desc) == 240
    assert miopen.miopenGetTensorNumBytes(desc) == 960
    assert miopen.miopenIsTensorPacked(desc) is True
    miopen.miopenSetTensorCastType(desc, miopen.miopenFloat)
    assert miopen.miopenGetTensorVectorLength(desc) == int(layout[-1])
    miopen.miopenSet4dTensorDescriptor(desc, miopen.miopenFloat, 2, 8, 3, 5)
    assert miopen.miopenGetTensorVectorLength(desc) == 1


def test_what_has_no_vectors_says_so():
    desc = miopen.miopenCreateTensorDescriptor()
    with pytest.raises(dnn.BadParam, match="channels in multiples of 8"):
        miopen.miopenSetNdTensorDescriptorWithLayout(
            desc, miopen.miopenHalf, miopen.miopenTensorNCHWc8, (1, 12, 2, 2), 4
        )
    with pytest.raises(dnn.BadParam, match="4 for miopenTensorNCHWc4"):
        miopen.miopenSetNdTensorDescriptorWithLayout(desc, miopen.miopenHalf, miopen.miopenTensorNCHWc4, (1, 4, 2), 3)
    with pytest.raises(dnn.NotSupported, match="nor by MIOpen"):
        miopen.miopenSetNdTensorDescriptorWithLayout(desc, miopen.miopenHalf, miopen.miopenTensorCHWN, (1, 4, 2, 2), 4)
    with dnn.Handle("reference") as handle:
        conv = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 0, 0, 1, 1, 1, 1)
        x, w, y = (
            described("NCHWc4", (1, 8, 3, 3)),
            described("NCHWc4", (8, 8, 1, 1)),
            described("NCHWc4", (1, 8, 3, 3)),
        )
        plain, eight = described("NCHW", (8, 8, 1, 1)), described("NCHWc8", (8, 8, 1, 1))
        floats = described("NCHWc4", (8, 8, 1, 1), "Float")
        size = miopen.miopenConvolutionForwardGetWorkSpaceSize
        assert size(handle, w, x, conv, y) == 0
        for filters, error in ((plain, dnn.BadParam), (eight, dnn.BadParam), (floats, dnn.NotSupported)):
            with pytest.raises(error, match="wDesc"):
                size(handle, filters, x, conv, y)
        with pytest.raises(dnn.BadParam, match="yDesc"):
            size(handle, w, x, conv, described("NCHWc4", (1, 4, 3, 3)))
        with pytest.raises(dnn.NotSupported, match="vectors of channels"):
            miopen.miopenConvolutionBackwardDataGetWorkSpaceSize(handle, y, w, conv, x)
        memory = np.zeros(72, np.float16)
        act = miopen.miopenCreateActivationDescriptor()
        miopen.miopenSetActivationDescriptor(act, miopen.miopenActivationRELU, 0.0, 0.0, 0.0)
        with pytest.raises(dnn.NotSupported, match="vectors of channels are for forward convolutions"):
            miopen.miopenActivationForward(handle, act, 1.0, x, memory, 0.0, y, memory.copy())
