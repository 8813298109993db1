"""What objects show of themselves in notebooks."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

import portadnn as dnn
from portadnn import graph as pg
from portadnn._page.cells import table
from portadnn.diff import examine
from portadnn.diff.cases import Case
from portadnn.recording import read
from portadnn.recording.replay import Replay


def texts(page: str) -> list[str]:
    return [text for text in ElementTree.fromstring(page).itertext() if text]


def test_tables_escape_and_align() -> None:
    page = table("<b>", ("a", "b"), [("<script>", 1234), (None, 0.25)], note="&")
    assert texts(page) == ["<b>", "a", "b", "<script>", "1,234", "0.25", "&"]


def test_handles_and_finds(reference: dnn.Handle) -> None:
    assert "reference" in " ".join(texts(reference._repr_html_()))
    x, w = reference.asarray(np.ones((1, 2, 4, 4))), reference.asarray(np.ones((2, 2, 1, 1)))
    found = dnn.find_convolution_forward_algorithm(reference, x, w, dnn.ConvolutionDescriptor(padding=(0, 0)))
    assert "definition" in texts(found._repr_html_())  # type: ignore[attr-defined]
    closed = dnn.Handle("reference")
    closed.close()
    assert "closed" in closed._repr_html_()


def test_graphs_explanations_and_verdicts(reference: dnn.Handle) -> None:
    graph = pg.pygraph(io_data_type=pg.data_type.FLOAT, compute_data_type=pg.data_type.FLOAT, handle=reference)
    a, b = (graph.tensor(dim=[1, 4, 4], stride=[16, 4, 1]) for _ in "ab")
    graph.matmul(a, b).set_output(True)
    graph.validate()
    assert "matmul" in texts(graph._repr_html_())
    assert any("matmul" in text or "yes" in text for text in texts(graph.explain()._repr_html_()))
    result = examine(Case.parse("activation_forward x=f32:2x3x4x5 mode=relu"), {"reference": reference})
    assert "PASSED" in texts(result._repr_html_())


def test_replays(tmp_path: object) -> None:
    path = f"{tmp_path}/run.jsonl"
    with dnn.trace(path), dnn.Handle("reference") as handle:
        dnn.softmax_forward(handle, handle.asarray(np.ones((1, 3, 2))))
    run = Replay(read(path), "reference")
    report = run.run()
    run.close()
    assert "softmax_forward" in texts(report._repr_html_())
