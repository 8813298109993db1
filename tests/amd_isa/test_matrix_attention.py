"""Attention on AMD's matrix cores, in OpenCL C and in HIP: executed, it gives the definitions' numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from attention_cases import RAGGED, Built, Case, near
from graphs import D

from amd_isa import stand_in
from amd_isa.matrix_loops import attention, attention_gradients, gpu_of, reaches
from portadnn_backends.attention import gpu
from portadnn_backends.attention.gpu_matrix import MatrixTile
from portadnn_backends.attention.operands import Operands

pytestmark = pytest.mark.amd

CAUSAL = {"use_causal_mask": True}
CASES = {
    "causal, shared keys": Case(sizes=(1, 2, 1, 1, 150, 163, 64, 64), options=CAUSAL, bshd=True),
    "heads of 128, sequences": Case(sizes=(2, 1, 1, 1, 70, 130, 128, 128), lengths=([70, 33], [130, 41])),
    "a window, from the bottom": Case(
        sizes=(1, 2, 2, 2, 140, 230, 80, 96),
        options={"left_bound": 70, "right_bound": 3, "diagonal_alignment": "BOTTOM_RIGHT"},
    ),
    "negative scale": Case(sizes=(1, 2, 1, 1, 50, 100, 72, 24), scale=-0.37),
    "no scale": Case(sizes=(1, 1, 1, 1, 40, 70, 16, 16), scale=0.0, options=CAUSAL),
    "a bias": Case(sizes=(1, 2, 1, 1, 66, 70, 24, 40), bias=(1, 1, 66, 70), options=CAUSAL),
    "everything": Case(
        sizes=(2, 2, 1, 1, 33, 80, 15, 17),
        sink=True,
        lengths=([33, 20], [80, 41]),
        dropout=0.25,
        options={"use_alibi_mask": True, "diagonal_alignment": "BOTTOM_RIGHT", "left_bound": 40, "right_bound": 1},
    ),
    "one query": Case(sizes=(3, 4, 2, 2, 1, 300, 64, 64)),
}
CASES["without padding"] = replace(CASES["everything"], ragged=RAGGED)
CASES["heads that share"] = Case(sizes=(1, 4, 2, 2, 70, 90, 64, 40), options={"use_causal_mask_bottom_right": True})
SAMPLE = {
    ("opencl", "gfx942", D.HALF, "causal, shared keys"),
    ("opencl", "gfx1100", D.BFLOAT16, "heads of 128, sequences"),
    ("hip", "gfx942", D.BFLOAT16, "heads of 128, sequences"),
    ("hip", "gfx1100", D.HALF, "a bias"),
}
BACKWARD = {  # each gradient of short rows and of long ones, where registers are short
    ("opencl", "gfx942", D.HALF, "heads that share"),
    ("opencl", "gfx1100", D.BFLOAT16, "heads of 128, sequences"),
    ("hip", "gfx942", D.BFLOAT16, "heads of 128, sequences"),
    ("hip", "gfx1100", D.HALF, "heads that share"),
}
ALL = list(itertools.product(("opencl", "hip"), stand_in.WAVES, (D.HALF, D.BFLOAT16), CASES))


def _marked(sample):
    return [pytest.param(*case, marks=[] if case in sample else pytest.mark.long) for case in ALL]


def _values(case, kind):
    rounded = ("q", "k", "v", "dO", "bias")
    return {key: kind.rounded(one) if key in rounded else one for key, one in case.values().items()}


@pytest.mark.parametrize(("dialect", "target", "kind", "name"), _marked(SAMPLE))
def test_attention(dialect, target, kind, name):
    case = CASES[name]
    values = _values(case, kind)
    with gpu_of(target, dialect) as handle:
        built = OnMatrixCores(case, handle, io=kind, intermediate=D.FLOAT, compute=D.FLOAT)
        got = built.forward(values)
    want = Built(case, "reference", io=D.DOUBLE, intermediate=D.DOUBLE, compute=D.DOUBLE).forward(values)
    near(got["O"], want["O"], kind, 4)
    for output in ("STATS",) if case.scale == 0 else ("STATS", "MAX", "SUM_EXP"):  # scores are compared unscaled
        near(got[output], want[output], D.FLOAT, 200)


@pytest.mark.parametrize(("dialect", "target", "kind", "name"), _marked(BACKWARD))
def test_gradients(dialect, target, kind, name):
    case = CASES[name]
    values = _values(case, kind)
    exact = Built(case, "reference", io=D.DOUBLE, intermediate=D.DOUBLE, compute=D.DOUBLE)
    forward = exact.forward(values, extras=False)
    feeds = {**values, "O": kind.rounded(forward["O"]), "STATS": D.FLOAT.rounded(forward["STATS"])}
    want = exact.backward(feeds, of=("sink_token",))
    with gpu_of(target, dialect) as handle:
        built = OnMatrixCores(case, handle, io=kind, intermediate=D.FLOAT, compute=D.FLOAT)
        got = built.backward(feeds, of=("sink_token",))
    for name in ("dq", "dk", "dv", *(["dsink_token"] if case.sink else [])):
        near(got[name], want[name], kind, 8)


class OnMatrixCores(Built):
    """Demands that a graph's attention is taken by the kernel for matrix cores."""

    def execute(self, g, pack):
        operands = Operands(g._graph_frozen())
        assert isinstance(gpu.chosen(operands, self.handle.info, {}), MatrixTile)
        super().execute(g, pack)


LOOP_SAMPLE = (("gfx942", D.HALF, 64), ("gfx1100", D.HALF, 128))
LOOPS = [
    pytest.param(*case, marks=[] if case in LOOP_SAMPLE else pytest.mark.long)
    for case in itertools.product(("gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1201"), (D.HALF, D.BFLOAT16), (64, 128))
]


@pytest.mark.parametrize(("target", "kind", "length"), LOOPS)
def test_main_loops_reach_their_share(target, kind, length):
    reaches(attention(target, kind, length), target, "attention_forward_matrix")


@pytest.mark.parametrize(("target", "kind", "length"), LOOPS)
def test_gradients_reach_their_share(target, kind, length):
    texts = attention_gradients(target, kind, length)
    assert len(texts) >= 2
    for of, (text, kernel) in texts.items():
        # The sums of both leave a SIMD one wave; those of dk alone would, too, for a fourth more products
        reaches(text, target, kernel, 512 if of == "DK, DV" and length == 128 else 320)
