"""Attention of few queries on tensor cores, on the host and on devices: shared heads, slices and pages of keys."""

from __future__ import annotations

from dataclasses import replace

import helper
import pytest
from attention_cases import RAGGED, Built, Case, near, oracle
from attention_graphs import paged
from graphs import D, new, run
from host_cuda_device import COMPILER
from test_graph_attention_mma import ROUNDED, OnHost

from portadnn_backends.attention import gpu_few
from portadnn_backends.attention.gpu_few import FewTile, slices_of

pytest.importorskip("torch")

BOTTOM = {"diagonal_alignment": "BOTTOM_RIGHT", "right_bound": 0}
CASES = {
    "one query": (D.HALF, Case(sizes=(2, 8, 2, 2, 1, 300, 64, 64))),
    "one head": (D.BFLOAT16, Case(sizes=(1, 1, 1, 1, 1, 70, 24, 40))),
    "all heads": (D.HALF, Case(sizes=(1, 16, 1, 1, 1, 513, 40, 136), scale=-0.37)),
    "causal": (D.HALF, Case(sizes=(1, 6, 2, 2, 5, 260, 64, 48), bshd=True, options=BOTTOM)),
    "long rows": (D.HALF, Case(sizes=(1, 2, 1, 1, 3, 200, 256, 200), options={"use_causal_mask": True})),
    "two steps": (D.BFLOAT16, Case(sizes=(1, 8, 2, 2, 7, 150, 128, 72), bias=(1, 8, 7, 150))),
    "everything": (
        D.HALF,
        Case(
            sizes=(3, 6, 2, 2, 4, 180, 15, 17),
            sink=True,
            lengths=([4, 2, 0], [180, 41, 9]),
            dropout=0.25,
            options={**BOTTOM, "use_alibi_mask": True, "left_bound": 90, "right_bound": 1},
        ),
    ),
}
CASES["without padding"] = (D.HALF, replace(CASES["everything"][1], ragged=RAGGED))
LONG = {"a long cache": (D.HALF, Case(sizes=(1, 8, 2, 2, 1, 9000, 128, 128)))}  # in slices on GPUs
IN_SLICES = ("one query", "causal", "everything")
PAGES = {
    "chunks": Case(sizes=(2, 6, 2, 2, 1, 250, 64, 128), scale=0.25, lengths=([1, 1], [250, 130])),
    "odd": Case(sizes=(2, 3, 1, 1, 4, 150, 20, 36), scale=0.25, lengths=([4, 3], [150, 70]), options=BOTTOM),
}


def rounded(kind, case):
    return {key: kind.rounded(one) if key in ROUNDED else one for key, one in case.values().items()}


def compare(built, kind, case):
    values = rounded(kind, case)
    got = built.forward(values)
    want = oracle(case, values, got.get("kept"))
    near(got["O"], want["O"], kind, 4)
    near(got["STATS"], want["STATS"])


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("name", "slices"), [*((name, 1) for name in CASES), *((name, 3) for name in IN_SLICES)])
def test_text(name, slices, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_few, "slices_of", lambda groups, steps, slots: slices)
    kind, case = CASES[name]
    compare(OnHost(case, kind, 0, tmp_path, FewTile), kind, case)


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", PAGES)
def test_text_of_pages(name, tmp_path):
    case = PAGES[name]
    values = rounded(D.HALF, case)
    host = OnHost(case, D.HALF, 0, tmp_path, FewTile)
    g = new("reference", D.HALF, D.FLOAT)
    o, feeds = paged(g, case, values, (16, 12))
    got = host.run(g, {one: one for one in feeds}, feeds, {"O": o})["O"]
    near(got, oracle(case, values)["O"], D.HALF, 4)


@pytest.mark.parametrize("name", [*CASES, *LONG])
@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_devices(target, name):
    kind, case = {**CASES, **LONG}[name]
    compare(Built(case, helper.open_handle(target), io=kind, intermediate=D.FLOAT, compute=D.FLOAT), kind, case)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_pages(target, name):
    case = PAGES[name]
    values, g = rounded(D.HALF, case), new(helper.open_handle(target), D.HALF, D.FLOAT)
    o, feeds = paged(g, case, values, (16, 12))
    (got,) = run(g, feeds, [o])
    near(got, oracle(case, values)["O"], D.HALF, 4)


@pytest.mark.parametrize(
    ("groups", "steps", "least", "largest"),
    [
        (1, 1, 1, 1),
        (8, 0, 1, 1),
        (264, 128, 1, 1),
        (256, 128, 1, 1),
        (8, 128, 8, 33),
        (1, 4000, 32, 64),
        (300, 2, 1, 1),
    ],
)
def test_slices_fill_a_device(groups, steps, least, largest):
    """One for a device of 264 work-groups that are as many anyhow; more of them where these have little to do."""
    assert least <= slices_of(groups, steps, 264) <= largest
