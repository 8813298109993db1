"""Attention on Hopper's tensor cores, on the host: the kernels' text with PTX's definitions for its instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from attention_cases import RAGGED, Built, Case, near, oracle
from graphs import D
from host_cuda_device import COMPILER, HostCuda
from test_graph_attention_mma import ROUNDED, OnHost
from test_nvrtc import recorder_of, reports_no_loss

from portadnn_backends.attention import gpu_wgmma
from portadnn_backends.attention.engine import built
from portadnn_backends.attention.gpu_wgmma import WgmmaTile
from portadnn_backends.attention.operands import Operands

pytest.importorskip("torch")

# tiles without keys among others, more than a work-group copies ahead: the host has one work-group for all of them
EMPTY = Case(sizes=(5, 1, 1, 1, 66, 66, 64, 64), lengths=([66, 66, 66, 0, 66], [66, 0, 66, 66, 5]))
CASES = {
    "causal": (D.BFLOAT16, Case(sizes=(1, 1, 1, 1, 140, 290, 64, 64), options={"use_causal_mask": True}, bshd=True)),
    "empty tiles": (D.HALF, EMPTY),
}
BAND = {"use_alibi_mask": True, "diagonal_alignment": "BOTTOM_RIGHT", "left_bound": 150, "right_bound": 1}
EVERYTHING = Case(
    sizes=(2, 2, 1, 1, 67, 290, 64, 64), sink=True, lengths=([67, 20], [290, 41]), dropout=0.25, options=BAND
)
# the first are as the device takes them; it leaves the others to other kernels until a GPU has run them
LONG = {
    "padding": (D.HALF, Case(sizes=(2, 1, 1, 1, 140, 200, 64, 64), lengths=([140, 20], [200, 0]))),
    "long rows": (D.HALF, Case(sizes=(1, 1, 1, 1, 70, 300, 128, 128))),
    "negative scale": (D.HALF, Case(sizes=(1, 2, 1, 1, 66, 290, 80, 96), scale=-0.37)),
    "everything": (D.HALF, EVERYTHING),
    "longer keys": (D.HALF, Case(sizes=(1, 1, 1, 1, 66, 290, 192, 128), options={"use_causal_mask": True})),
    "longest rows": (D.BFLOAT16, Case(sizes=(1, 1, 1, 1, 80, 200, 256, 256))),
    "tiles of longer keys": (D.HALF, replace(EMPTY, sizes=(5, 1, 1, 1, 66, 66, 192, 128))),
    "tiles of longest rows": (D.HALF, replace(EMPTY, sizes=(5, 1, 1, 1, 66, 66, 256, 256))),
    "empty tiles, long rows": (D.BFLOAT16, replace(EMPTY, sizes=(5, 1, 1, 1, 66, 66, 128, 128))),
    "longest rows in turn": (D.HALF, Case(sizes=(3, 1, 1, 1, 80, 70, 256, 256), lengths=([80, 80, 80], [70, 0, 64]))),
    "no scale": (D.HALF, Case(sizes=(1, 1, 1, 1, 70, 140, 64, 64), scale=0.0, options={"use_causal_mask": True})),
    "bias": (D.HALF, Case(sizes=(1, 2, 2, 2, 70, 140, 64, 64), bias=(1, 2, 70, 140), blocks=True)),
    "mask of dropout": (D.HALF, Case(sizes=(1, 2, 2, 2, 70, 140, 96, 80), dropout="mask")),
    "without padding": (D.HALF, replace(EVERYTHING, ragged=RAGGED)),
}


class OnHopper(OnHost):
    """Has Hopper's instructions."""

    def __init__(self, case, kind, tile, folder):
        super().__init__(case, kind, tile, folder, WgmmaTile)
        self.device = HostCuda(folder, ("wgmma",))


def parameters():
    yield from ((name, 0) for name in CASES)
    yield from (pytest.param(name, 0, marks=pytest.mark.long) for name in LONG)
    yield pytest.param("causal", 1, marks=pytest.mark.long)


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("name", "tile"), [*parameters()])
def test_forward(name, tile, tmp_path, monkeypatch):
    if name in LONG:
        monkeypatch.setattr(gpu_wgmma, "measured", lambda operands: True)
    kind, case = {**CASES, **LONG}[name]
    values = {key: kind.rounded(one) if key in ROUNDED else one for key, one in case.values().items()}
    got = OnHopper(case, kind, tile, tmp_path).forward(values)
    want = oracle(case, values, got.get("kept"))
    near(got["O"], want["O"], kind, 4)
    near(got["STATS"], want["STATS"])


SMALL = Case(sizes=(1, 1, 1, 1, 70, 130, 64, 64), options={"use_causal_mask": True}, bshd=True)
BACKWARD = {"small": (D.BFLOAT16, SMALL)}
BACKWARD_LONG = {
    "empty tiles": (D.HALF, EMPTY),
    "causal": (D.HALF, replace(SMALL, sizes=(1, 2, 1, 1, 140, 290, 64, 64))),
    "keys": (D.HALF, Case(sizes=(1, 2, 1, 1, 140, 100, 128, 128))),
    "negative scale": LONG["negative scale"],
    "everything": LONG["everything"],
    "bias": (D.HALF, Case(sizes=(1, 1, 1, 1, 70, 140, 64, 64), bias=(1, 1, 70, 140))),
    "without padding": LONG["without padding"],
}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", [*BACKWARD, *(pytest.param(name, marks=pytest.mark.long) for name in BACKWARD_LONG)])
def test_backward(name, tmp_path, monkeypatch):
    if name in BACKWARD_LONG:
        monkeypatch.setattr(gpu_wgmma, "measured", lambda operands: True)
    kind, case = {**BACKWARD, **BACKWARD_LONG}[name]
    values = {key: kind.rounded(one) if key in ROUNDED else one for key, one in case.values().items()}
    built = OnHopper(case, kind, 0, tmp_path)
    kept = None
    if case.dropout is not None:
        kept = built.forward(values)["kept"]
    want = oracle(case, values, kept)
    gradients = built.backward({**values, "O": want["O"], "STATS": want["STATS"]}, of=("sink_token",))
    for output, found in gradients.items():
        near(found, kept if output == "kept" else want[output], kind, 8)


class Compiled(Built):
    """Compiles what an H100 would run."""

    def __init__(self, length):
        case = Case(sizes=(1, 2, 1, 1, 300, 300, length, length), options={"use_causal_mask": True})
        super().__init__(case, io=D.HALF, intermediate=D.FLOAT, compute=D.FLOAT)

    def build(self, g):
        g.build_operation_graph()

    def execute(self, g, pack):
        recorder = recorder_of("sm_90")
        recorder.info = replace(recorder.info, dynamic_memory=227 << 10)
        recorder.bind(built(Operands(g._graph_frozen()), recorder, {}).launches)
        found = [source for source, (file, _, _) in recorder.sources.items() if "wgmma" in file]
        assert found
        for source in found:
            reports_no_loss(source)


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize(
    ("length", "backward"),
    [(128, False), *(pytest.param(*one, marks=pytest.mark.long) for one in ((64, False), (64, True), (128, True)))],
)
def test_products_run_side_by_side(length, backward):
    one = Compiled(length)
    values = one.case.values()
    if backward:
        rows = (1, 2, 300, 1)
        values |= {"O": values["dO"], "STATS": values["dO"][..., :1].reshape(rows)}
        one.backward(values)
    else:
        one.forward(values, extras=False)
