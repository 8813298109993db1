"""Products of recurrent networks on AMD's matrix cores: executed, they give the reference's numbers."""

from __future__ import annotations

import itertools

import cases_rnn
import pytest
from helper import check

from amd_isa import stand_in
from amd_isa.matrix_loops import gpu_of, reaches, recurrent
from portadnn.enums import DataType
from portadnn.ops.rnn.layout import RNNMode
from portadnn.ops.rnn.problems import RNNBackwardData, RNNBackwardWeights, RNNForwardInference, RNNForwardTraining
from portadnn.problem import parse

pytestmark = pytest.mark.amd

ALL = (RNNForwardTraining, RNNBackwardData, RNNBackwardWeights)
# steps and rows, features, hidden units, layers: chunks that lines fill or do not, several tiles, parts of a long sum
SHAPES = (((4, 9), 24, 20, 2), ([9, 9, 7, 3], 37, 35, 1), ((21, 10), 40, 72, 1), ((3, 16), 1100, 16, 1))
EXACT = itertools.product(("opencl", "hip"), ("gfx942",), ("FLOAT",), ALL, range(4))
SHORT = itertools.product(("opencl", "hip"), stand_in.WAVES, ("HALF", "BFLOAT16"), (RNNForwardInference,), range(4))
SAMPLE = (
    ("opencl", "gfx942", "FLOAT", RNNBackwardWeights, 1),
    ("hip", "gfx1100", "HALF", RNNForwardInference, 1),
)


@pytest.mark.parametrize(
    ("dialect", "target", "dtype", "kind", "shape"),
    [pytest.param(*case, marks=[] if case in SAMPLE else pytest.mark.long) for case in (*EXACT, *SHORT)],
)
def test_network(dialect, target, dtype, kind, shape):
    mode = RNNMode.LSTM if shape % 2 == 0 else RNNMode.GRU
    words = cases_rnn.words(mode, DataType[dtype], SHAPES[shape], both=shape == 0)
    line = cases_rnn.line(kind, words)
    with gpu_of(target, dialect) as handle:
        (engine,) = handle.engines_for(problem := parse(line))
        check(handle, line, engine=engine, oracle=cases_rnn.without_reserve)
        launches = engine.prepare(problem, handle.device).launches
        assert "gemm_matrix" in {launch.kernel.name for launch in launches}


@pytest.mark.parametrize(
    ("target", "dtype"),
    [("gfx942", "HALF"), *(pytest.param(t, "HALF", marks=pytest.mark.long) for t in ("gfx90a", "gfx1100", "gfx1201"))],
)
def test_main_loops_reach_their_share(target, dtype):
    reaches(recurrent(target, dtype), target, "gemm_matrix")
