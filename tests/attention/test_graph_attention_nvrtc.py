"""Attention's kernels as CUDA: compiled by NVRTC, which needs no GPU, with every feature."""

from __future__ import annotations

import pytest
from attention_graphs import graphs
from test_nvrtc import EACH, NEWEST, compile_recorded, recorder_of

from portadnn_backends.attention.engine import built
from portadnn_backends.attention.operands import Operands


@pytest.mark.long
@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("arch", EACH)
def test_compiles(arch, monkeypatch):
    recorder = recorder_of(arch)
    for graph in graphs(monkeypatch):
        building = built(Operands(graph), recorder, {})
        recorder.bind(building.launches)
    compile_recorded(recorder, None if arch == NEWEST else 6)  # the text hardly depends on it
