"""Attention on tensor cores, on the host: the kernel's text with the definitions of PTX instead of its instructions."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import Built, Case, oracle
from graphs import D
from host_cuda_device import COMPILER, HostCuda
from test_graph_attention_devices import near

from portadnn.graph.enums import knob_type
from portadnn_backends.attention import gpu
from portadnn_backends.attention.gpu_mma import MmaTile
from portadnn_backends.attention.operands import Operands

pytest.importorskip("torch")

CASES = {
    "half": (D.HALF, Case(sizes=(1, 2, 1, 1, 70, 150, 24, 40))),
    "causal": (D.BFLOAT16, Case(sizes=(1, 2, 2, 1, 90, 133, 64, 64), options={"use_causal_mask": True}, bshd=True)),
    "everything": (
        D.HALF,
        Case(
            sizes=(2, 2, 1, 1, 33, 80, 15, 17),
            sink=True,
            lengths=([33, 20], [80, 41]),
            bias=(1, 2, 33, 80),
            dropout=0.25,
            options={"use_alibi_mask": True, "diagonal_alignment": "BOTTOM_RIGHT", "left_bound": 40, "right_bound": 1},
        ),
    ),
}


def frozen(case, kind, values, monkeypatch):
    """Return the graph of a case, and its tensors by uid."""
    made = []

    def keep(self, g, feeds, outs):
        for one in outs.values():
            one.set_output(True)
        g.validate()
        g.build_operation_graph()
        made.append((g._graph_frozen(), {one.get_uid(): value for one, value in feeds.items()}, outs))

    monkeypatch.setattr(Built, "run", keep)
    Built(case, io=kind, intermediate=D.FLOAT, compute=D.FLOAT).forward(values)
    return made[0]


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", CASES)
def test_forward(name, monkeypatch, tmp_path):
    kind, case = CASES[name]
    values = {key: kind.rounded(value) if np.ndim(value) == 4 else value for key, value in case.values().items()}
    if case.lengths:
        values.update({key: case.values()[key] for key in ("seq_len_q", "seq_len_kv")})
        values["sink_token"] = case.values()["sink_token"]
    graph, feeds, outs = frozen(case, kind, values, monkeypatch)
    arrays = {}
    for info in graph.packed:
        flat = np.full(info.extent, 0xA5, np.uint8).view(info.data_type.storage)
        strides = [s * flat.itemsize for s in info.strides]
        arrays[info.uid] = np.ndarray(info.dims, flat.dtype, flat, strides=strides)
        if info.uid in feeds:
            arrays[info.uid][...] = info.data_type.stored(np.asarray(feeds[info.uid]).reshape(info.dims))
    device, operands = HostCuda(tmp_path), Operands(graph)
    assert isinstance(gpu.tiles(operands, device.info)[1], MmaTile)
    building = gpu.built(operands, device, {knob_type.TILE_SIZE: 1})
    workspace = np.zeros(building.workspace.size + 256, np.uint8)
    device.bind(building.launches)(operands.arrays(arrays), operands.scalars(arrays), workspace)
    got = {key: one.get_data_type().loaded(arrays[one.get_uid()]) for key, one in outs.items()}
    want = oracle(case, values, got.get("kept"))
    near(got["O"], want["O"], kind, 4)
    near(got["STATS"], want["STATS"])
