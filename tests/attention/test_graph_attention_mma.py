"""Attention on tensor cores, on the host: the kernel's text with the definitions of PTX instead of its instructions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from attention_cases import RAGGED, Built, Case, near, oracle
from graphs import D
from host_cuda_device import COMPILER, HostCuda

from portadnn.graph.enums import knob_type
from portadnn_backends.attention import gpu
from portadnn_backends.attention.gpu_mma import MmaTile
from portadnn_backends.attention.operands import Operands
from portadnn_backends.graph_launches import bound

pytest.importorskip("torch")

CASES = {
    "half": (D.HALF, Case(sizes=(1, 2, 1, 1, 70, 150, 24, 40))),
    "causal": (D.BFLOAT16, Case(sizes=(1, 2, 1, 1, 90, 133, 64, 64), options={"use_causal_mask": True}, bshd=True)),
    "negative scale": (D.HALF, Case(sizes=(1, 2, 1, 1, 50, 100, 72, 24), scale=-0.37)),
    "no scale": (D.HALF, Case(sizes=(1, 1, 1, 1, 40, 70, 16, 16), scale=0.0, options={"use_causal_mask": True})),
    "everything": (
        D.HALF,
        Case(
            sizes=(2, 2, 1, 1, 33, 80, 15, 17),
            sink=True,
            lengths=([33, 20], [80, 41]),
            dropout=0.25,
            options={"use_alibi_mask": True, "diagonal_alignment": "BOTTOM_RIGHT", "left_bound": 40, "right_bound": 1},
        ),
    ),
}
CASES["without padding"] = (D.HALF, replace(CASES["everything"][1], ragged=RAGGED))
OF_TWO_STEPS = ("causal", "negative scale", "everything", "without padding")


class OnHost(Built):
    """Runs on the host's emulation of tensor cores."""

    def __init__(self, case, kind, tile, folder, of=MmaTile):
        super().__init__(case, io=kind, intermediate=D.FLOAT, compute=D.FLOAT)
        self.device, self.tile, self.of = HostCuda(folder), tile, of

    def build(self, g):
        g.build_operation_graph()

    def execute(self, g, pack):
        arrays = {one.get_uid(): flat for one, flat in pack.items()}
        graph = g._graph_frozen()
        operands = Operands(graph)
        assert isinstance(gpu.tiles(operands, self.device.info)[self.tile], self.of)
        building = gpu.built(operands, self.device, {knob_type.TILE_SIZE: self.tile})
        workspace = np.full(building.workspace.size, 0xA5, np.uint8)
        run = bound(graph, self.device, building.launches, operands.scalars)
        run(*graph.arguments(arrays), workspace)


ROUNDED = ("q", "k", "v", "dO", "bias")


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("name", "tile"), [*((name, 1) for name in CASES), *((name, 0) for name in OF_TWO_STEPS)])
def test_attention(name, tile, tmp_path):
    kind, case = CASES[name]
    values = {key: kind.rounded(one) if key in ROUNDED else one for key, one in case.values().items()}
    built = OnHost(case, kind, tile, tmp_path)
    got = built.forward(values)
    want = oracle(case, values, got.get("kept"))
    near(got["O"], want["O"], kind, 4)
    near(got["STATS"], want["STATS"])
    gradients = built.backward({**values, "O": want["O"], "STATS": want["STATS"]})
    for output, found in gradients.items():
        near(found, got["kept"] if output == "kept" else want[output], kind, 8)
