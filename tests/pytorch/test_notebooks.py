"""The notebooks of the examples run, and what their cells end with shows itself as HTML."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch")

import portadnn.examples  # noqa: E402

FOLDER = Path(portadnn.examples.__file__).parent
SHOWN = {
    "compare_a_resnet": ["Handle(", "none off", "layers.0.0.conv2"],
    "a_unet_on_miopen": ["calls became", "replayed on"],
}


def run(cells: list[str]) -> list[Any]:
    """Run cells in one namespace; return what those end with that end with an expression."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for cell in cells:
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            found.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    return found


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    cells = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    shown = [value._repr_html_() for value in run(cells) if hasattr(value, "_repr_html_")]
    for page, wanted in zip(shown, SHOWN[name], strict=True):
        assert wanted in page
        ElementTree.fromstring(page)  # well formed
    if name == "a_unet_on_miopen":
        assert "convolution_forward x=f32:1x3x16x16" in capsys.readouterr().out
