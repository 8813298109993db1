"""Attention's kernels as CUDA: compiled by NVRTC, which needs no GPU, with every feature."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import RAGGED, Built, Case
from graphs import D, new
from test_graph_attention import CASES, IN_PAGES, paged
from test_nvrtc import EACH, NEWEST, compile_recorded, recorder_of

from portadnn_backends.attention.engine import built
from portadnn_backends.attention.operands import Operands

LONG = Case(sizes=(1, 2, 1, 1, 300, 300, 128, 128), options={"use_causal_mask": True})
FEW = Case(sizes=(1, 8, 2, 2, 3, 9000, 128, 128), sink=True)  # in slices
UNPADDED = Case(sizes=(2, 2, 2, 2, 100, 90, 64, 64), lengths=([100, 3], [90, 40]), ragged=RAGGED)
TABLE = (
    (D.FLOAT, CASES["everything"]),
    (D.HALF, CASES["dropout with a mask"]),
    (D.BFLOAT16, LONG),
    (D.HALF, FEW),
    (D.HALF, UNPADDED),
)


def graphs(monkeypatch):
    """Yield frozen graphs of attention."""
    made = []

    def run(self, g, inputs, values, outs):
        for one in outs.values():
            one.set_output(True)
        g.validate()
        self.unpad(g, {**inputs, **outs})
        made.append((g, outs))

    monkeypatch.setattr(Built, "run", run)
    for kind, case in TABLE:
        one, values = Built(case, io=kind, intermediate=D.FLOAT, compute=D.FLOAT), case.values()
        one.forward(values)
        b, hq, _, _, sq, _, _, dv = case.sizes
        one.backward({**values, "O": np.zeros((b, hq, sq, dv)), "STATS": np.zeros((b, hq, sq, 1))})
    g = new()
    made.append((g, {"O": paged(g, IN_PAGES, IN_PAGES.values())[0]}))
    for g, outs in made:
        for one in outs.values():
            one.set_output(True)
        g.validate()
        g.build_operation_graph()
        yield g._graph_frozen()


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("arch", EACH)
def test_compiles(arch, monkeypatch):
    recorder = recorder_of(arch)
    for graph in graphs(monkeypatch):
        building = built(Operands(graph), recorder, {})
        recorder.bind(building.launches)
    compile_recorded(recorder, None if arch == NEWEST else 6)  # the text hardly depends on it
