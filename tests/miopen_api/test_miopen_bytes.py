"""Convolutions of miopenInt8 by Find, immediate mode and Find 2.0: every number is exact."""

from __future__ import annotations

import numpy as np
import pytest
from miopen_env import convolve, every_backend

import portadnn as dnn
from portadnn import miopen

TYPES = {"miopenInt8": np.int8, "miopenInt32": np.int32, "miopenFloat": np.float32}


class Layer:
    """A convolution of bytes whose sums leave a byte's range now and then."""

    def __init__(self, env, result="miopenFloat", groups=1, stride=1):
        rng = np.random.default_rng(5)
        self.x = rng.integers(-9, 9, (2, 4, 5, 6), dtype=np.int8)
        self.w = rng.integers(-9, 9, (6, 4 // groups, 3, 3), dtype=np.int8)
        self.conv = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(self.conv, miopen.miopenConvolution, 1, 1, stride, stride, 1, 1)
        miopen.miopenSetConvolutionGroupCount(self.conv, groups)
        self.want = convolve(self.x, self.w, (1, 1), (stride, stride), groups=groups)
        if result == "miopenInt8":
            self.want = np.clip(self.want, -128, 127)
            assert (np.abs(self.want) == 127).any() or (self.want == -128).any()
        self.xd, self.wd = (env.desc(*a.shape, dtype=miopen.miopenInt8) for a in (self.x, self.w))
        self.yd = env.desc(*self.want.shape, dtype=getattr(miopen, result))
        self.y = env.dev(np.full(self.want.shape, 77, TYPES[result]))
        self.data = (self.xd, env.dev(self.x), self.wd, env.dev(self.w))
        self.env = env

    def check(self):
        found = self.env.host(self.y)
        np.testing.assert_array_equal(found.astype(float), self.want)


@every_backend()
@pytest.mark.parametrize("result", TYPES)
def test_find_and_run(env, result):
    for options in ({}, {"groups": 2, "stride": 2}):
        layer = Layer(env, result, **options)
        where = (layer.wd, layer.xd, layer.conv, layer.yd)
        assert miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, *where) == 0
        count, perfs = miopen.miopenFindConvolutionForwardAlgorithm(
            env.h, *layer.data, layer.conv, layer.yd, layer.y, 4, None, 0, False
        )
        assert count == 1 and perfs[0].memory == 0 and perfs[0].time > 0
        layer.check()
        algo = perfs[0].fwd_algo
        miopen.miopenConvolutionForward(env.h, 1, *layer.data, layer.conv, algo, 0, layer.yd, layer.y, None, 0)
        layer.check()


@every_backend()
def test_solutions(env):
    layer = Layer(env)
    where = (layer.wd, layer.xd, layer.conv, layer.yd)
    assert miopen.miopenConvolutionForwardGetSolutionCount(env.h, *where) == 1
    _, (solution,) = miopen.miopenConvolutionForwardGetSolution(env.h, *where, 3)
    assert miopen.miopenConvolutionForwardGetSolutionWorkspaceSize(env.h, *where, solution.solution_id) == 0
    miopen.miopenConvolutionForwardCompileSolution(env.h, *where, solution.solution_id)
    data = (*layer.data[2:], *layer.data[:2], layer.conv, layer.yd, layer.y)
    miopen.miopenConvolutionForwardImmediate(env.h, *data, None, 0, solution.solution_id)
    layer.check()
    problem = miopen.miopenCreateConvProblem(layer.conv, miopen.miopenProblemDirectionForward)
    ids = (miopen.miopenTensorConvolutionX, miopen.miopenTensorConvolutionW, miopen.miopenTensorConvolutionY)
    for id, desc in zip(ids, (layer.xd, layer.wd, layer.yd), strict=True):
        miopen.miopenSetProblemTensorDescriptor(problem, id, desc)
    (found,), _ = miopen.miopenFindSolutions(env.h, problem, None, 3)
    layer.y = env.dev(np.full(layer.want.shape, 77, np.float32))
    arguments = [(id, None, a) for id, a in zip(ids, (layer.data[1], layer.data[3], layer.y), strict=True)]
    miopen.miopenRunSolution(env.h, found, 3, arguments, None, 0)
    layer.check()


def test_what_is_refused(env):
    layer = Layer(env)
    where = (layer.yd, layer.wd, layer.conv, layer.xd)
    with pytest.raises(dnn.NotSupported, match="gradients"):
        miopen.miopenConvolutionBackwardDataGetWorkSpaceSize(env.h, *where)
    with pytest.raises(dnn.BadParam, match="the type of x"):
        wide = env.desc(6, 4, 3, 3)
        miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, wide, layer.xd, layer.conv, layer.yd)
    with pytest.raises(dnn.NotSupported, match="miopenInt32 or miopenFloat"):
        half = env.desc(*layer.want.shape, dtype=miopen.miopenHalf)
        miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, layer.wd, layer.xd, layer.conv, half)
    with pytest.raises(dnn.BadParam, match="dims"):
        other = env.desc(2, 6, 5, 7)
        miopen.miopenConvolutionForwardGetWorkSpaceSize(env.h, layer.wd, layer.xd, layer.conv, other)
