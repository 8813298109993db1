"""Convolutions of 8-bit floats with MIOpen's names: against ml_dtypes' rounding and NumPy's sums."""

from __future__ import annotations

import numpy as np
import pytest
from miopen_env import F, H, close, convolve, every_backend

import portadnn as dnn
from portadnn import miopen

ml_dtypes = pytest.importorskip("ml_dtypes")

FLOAT8, BFLOAT8 = miopen.miopenFloat8_fnuz, miopen.miopenBFloat8_fnuz
TYPES = {FLOAT8: (ml_dtypes.float8_e4m3fnuz, 240), BFLOAT8: (ml_dtypes.float8_e5m2fnuz, 57344)}
STANDARD, STOCHASTIC = miopen.miopenF8RoundingModeStandard, miopen.miopenF8RoundingModeStochastic
ROUNDING = miopen.MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE
KINDS = pytest.mark.parametrize("kind", TYPES, ids=["float8", "bfloat8"])


def rounded(x, kind):
    """Round to the nearest, ties to even, and saturate; infinity becomes NaN."""
    dtype, largest = TYPES[kind]
    x = np.asarray(x, np.float32)
    return np.where(np.isinf(x), np.nan, np.clip(x, -largest, largest)).astype(dtype).astype(np.float32)


def grid(kind):
    """Return all numbers of a type, from the smallest to the largest."""
    values = np.arange(256, dtype=np.uint8).view(TYPES[kind][0]).astype(np.float32)
    return np.sort(values[np.isfinite(values)])


def describe(mode=STANDARD, groups=1, transposed=False, pad=1):
    conv = miopen.miopenCreateConvolutionDescriptor()
    how = miopen.miopenTranspose if transposed else miopen.miopenConvolution
    miopen.miopenInitConvolutionDescriptor(conv, how, pad, pad, 1, 1, 1, 1)
    miopen.miopenSetConvolutionGroupCount(conv, groups)
    miopen.miopenSetConvolutionAttribute(conv, ROUNDING, mode)
    return conv


def cast(env, host, kind, dtype=F):
    """Return a tensor that convolutions round."""
    desc = env.desc(*host.shape, dtype=dtype)
    miopen.miopenSetTensorCastType(desc, kind)
    return desc, env.h.asarray(host, "float16" if dtype == H else "float32")


def copied(env, x, kind, mode=STANDARD):
    """Return numbers as a convolution by one weight of 1 rounds them."""
    host = np.asarray(x, np.float32).reshape(1, 1, 1, -1)
    (xd, xs), (wd, ws) = cast(env, host, kind), cast(env, np.ones((1, 1, 1, 1), np.float32), kind)
    yd, y = env.out(*host.shape)
    conv = describe(mode, pad=0)
    _, solutions = miopen.miopenConvolutionForwardGetSolution(env.h, wd, xd, conv, yd, 4)
    number = solutions[0].solution_id
    miopen.miopenConvolutionForwardCompileSolution(env.h, wd, xd, conv, yd, number)
    miopen.miopenConvolutionForwardImmediate(env.h, wd, ws, xd, xs, conv, yd, y, None, 0, number)
    return env.host(y).ravel()


@every_backend()
@KINDS
def test_numbers_are_rounded_to_the_nearest(env, kind):
    """Every number, what lies between two, its neighbours, numbers of all sizes, and what is not finite."""
    values = grid(kind)
    ties = (values[1:] + values[:-1]) / 2
    near = [np.nextafter(ties, np.float32(to)) for to in (np.inf, -np.inf)]
    many = env.rng.standard_normal(500) * np.exp2(env.rng.uniform(-20, 18, 500))
    x = np.concatenate([values, ties, *near, many, [1e30, -1e30, 0.0]]).astype(np.float32)
    np.testing.assert_array_equal(copied(env, x, kind), rounded(x, kind))
    assert np.isnan([copied(env, [one], kind)[0] for one in (np.inf, -np.inf, np.nan)]).all()


@every_backend()
@KINDS
def test_numbers_are_rounded_by_chance(env, kind):
    """Numbers of the type stay, all others become one of their two neighbours, in the mean what they were."""
    values = grid(kind)
    np.testing.assert_array_equal(copied(env, values, kind, STOCHASTIC), values)
    x = np.concatenate(
        [env.rng.uniform(values[0], values[-1], 300), env.rng.uniform(-1, 1, 300) * values[values > 0][9]]
    )
    found = copied(env, x, kind, STOCHASTIC)
    place = np.searchsorted(values, x.astype(np.float32))
    assert ((found == values[place]) | (found == values[place - 1])).all()
    low, high = values[values > 0][20:22]
    share = (copied(env, np.full(4000, low + 0.25 * (high - low)), kind, STOCHASTIC) == high).mean()
    assert abs(share - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)


@every_backend()
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dtype", [F, H], ids=["float", "half"])
def test_all_directions_round_what_they_read(env, dtype, groups):
    """x is rounded to float8, w to float8, and dy to bfloat8, as in training; the results are not."""
    kinds = {"x": FLOAT8, "w": FLOAT8, "y": BFLOAT8}
    host = {"x": env.random(2, 4, 6, 5), "w": env.random(6, 4 // groups, 3, 3), "y": env.random(2, 6, 6, 5)}
    host = {name: a.astype(np.float16).astype(np.float32) for name, a in host.items()}
    wide = {name: rounded(a, kinds[name]).astype(float) for name, a in host.items()}
    conv, h = describe(groups=groups), env.h
    tensors = {name: cast(env, a, kinds[name], dtype) for name, a in host.items()}

    def result(name):
        return env.desc(*host[name].shape, dtype=dtype), env.h.asarray(
            np.zeros(host[name].shape), tensors["x"][1].dtype
        )

    rtol = 1e-3 if dtype == H else 2e-5
    (xd, x), (wd, w), (yd, y) = tensors["x"], tensors["w"], tensors["y"]
    od, out = result("y")
    assert miopen.miopenConvolutionForwardGetWorkSpaceSize(h, wd, xd, conv, od) == 0
    _, perfs = miopen.miopenFindConvolutionForwardAlgorithm(h, xd, x, wd, w, conv, od, out, 4, None, 0, False)
    miopen.miopenConvolutionForward(h, 1.0, xd, x, wd, w, conv, perfs[0].fwd_algo, 0.0, od, out, None, 0)
    want = convolve(wide["x"], wide["w"], (1, 1), groups=groups)
    close(env.host(out), want, rtol=rtol, atol=1e-3 if dtype == H else 2e-6)
    dxd, dx = result("x")
    _, perfs = miopen.miopenFindConvolutionBackwardDataAlgorithm(h, yd, y, wd, w, conv, dxd, dx, 4, None, 0, False)
    algo = perfs[0].bwd_data_algo
    miopen.miopenConvolutionBackwardData(h, 1.0, yd, y, wd, w, conv, algo, 0.0, dxd, dx, None, 0)
    dwd, dw = result("w")
    _, perfs = miopen.miopenFindConvolutionBackwardWeightsAlgorithm(h, yd, y, xd, x, conv, dwd, dw, 4, None, 0, False)
    algo = perfs[0].bwd_weights_algo
    miopen.miopenConvolutionBackwardWeights(h, 1.0, yd, y, xd, x, conv, algo, 0.0, dwd, dw, None, 0)
    slopes = {}  # of <dy, conv(x, w)>, which is linear in each: by one number after the other
    for name, found in (("x", dx), ("w", dw)):
        slopes[name] = np.zeros(host[name].shape)
        for place in np.ndindex(host[name].shape):
            unit = {**wide, name: np.zeros(host[name].shape)}
            unit[name][place] = 1
            slopes[name][place] = np.vdot(wide["y"], convolve(unit["x"], unit["w"], (1, 1), groups=groups))
        close(env.host(found), slopes[name], rtol=rtol, atol=1e-3 if dtype == H else 2e-6)


@every_backend()
@KINDS
def test_tensors_of_bytes(env, kind):
    """Operands and the result are 8-bit floats in memory, in NHWC; all bytes of the type are read and written."""
    dtype, _ = TYPES[kind]
    bits = np.arange(256, dtype=np.uint8)
    (xd, yd), wd = (miopen.miopenCreateTensorDescriptor() for _ in range(2)), miopen.miopenCreateTensorDescriptor()
    for desc in (xd, yd):
        miopen.miopenSetNdTensorDescriptorWithLayout(desc, kind, miopen.miopenTensorNHWC, (2, 4, 4, 8), 4)
    miopen.miopenSet4dTensorDescriptor(wd, kind, 4, 1, 1, 1)
    assert miopen.miopenGetTensorDescriptor(xd)[0] is kind
    assert miopen.miopenGetTensorNumBytes(xd) == 256
    signs = np.array([1, -1, 0.5, 1], np.float32)
    x, w, y = (env.h.device.asarray(a) for a in (bits, signs.astype(dtype).view(np.uint8), np.zeros(256, np.uint8)))
    conv = describe(groups=4, pad=0)
    problem = miopen.miopenCreateConvProblem(conv, miopen.miopenProblemDirectionForward)
    given = (("X", xd, x), ("W", wd, w), ("Y", yd, y))
    ids = {name: getattr(miopen, f"miopenTensorConvolution{name}") for name, _, _ in given}
    for name, desc, _ in given:
        miopen.miopenSetProblemTensorDescriptor(problem, ids[name], desc)
    (found,), _ = miopen.miopenFindSolutions(env.h, problem, None, 1)
    data = miopen.miopenSaveSolution(found)
    for solution in (found, miopen.miopenLoadSolution(data, len(data))):
        arguments = [miopen.miopenTensorArgument_t(ids[name], None, memory) for name, _, memory in given]
        miopen.miopenRunSolution(env.h, solution, 3, arguments, None, 0)
        want = bits.view(dtype).astype(np.float32).reshape(-1, 4) * signs
        np.testing.assert_array_equal(
            env.host(y).view(dtype).astype(np.float32).reshape(-1, 4), want.astype(dtype).astype(np.float32)
        )
        np.testing.assert_array_equal(env.host(y) == 0x80, np.isnan(want).ravel())


@every_backend()
def test_what_descriptors_say(env):
    conv = miopen.miopenCreateConvolutionDescriptor()
    miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 0, 0, 1, 1, 1, 1)
    assert miopen.miopenGetConvolutionAttribute(conv, ROUNDING) == STOCHASTIC  # as in MIOpen's convolution.hpp
    with pytest.raises(dnn.BadParam, match="0 or 1"):
        miopen.miopenSetConvolutionAttribute(conv, ROUNDING, 2)
    x, w, y = env.desc(1, 1, 2, 2), env.desc(1, 1, 1, 1), env.desc(1, 1, 2, 2)
    miopen.miopenSetTensorCastType(x, FLOAT8)
    with pytest.raises(dnn.NotSupported, match=r"wDesc: .*as the other operand is, got FLOAT"):
        miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, w, x, conv, y)
    miopen.miopenSetTensorCastType(w, H)
    with pytest.raises(dnn.NotSupported, match=r"wDesc: .*one rounded to miopenHalf"):
        miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, w, x, conv, y)
    miopen.miopenSetTensorCastType(w, BFLOAT8)
    with pytest.raises(dnn.BadParam, match=r"yDesc: .*\(1, 1, 2, 2\)"):
        miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, w, x, conv, env.desc(1, 1, 2, 1))
    assert miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, w, x, conv, y) == 0
    for desc in (x, w):
        miopen.miopenSetTensorDescriptor(desc, F, 4, miopen.miopenGetTensorDescriptor(desc)[1], None)  # forgets it
    miopen.miopenConvolutionForwardGetSolutionCount(env.h, w, x, conv, y)
