"""Pictures of graphs, and scripts that reproduce them."""

from __future__ import annotations

import re
import runpy
import shutil
import sys

import pytest
from graphs import D, given, new
from test_graph_fallback import over

import portadnn.graph as cudnn
from portadnn.graph import pictures
from portadnn.graph.patterns import PATTERNS


def convolution(handle="reference"):
    g = new(handle, name='a "graph"')
    x = given(g, (2, 8, 6, 6), nhwc=True, name='<x> & "y"')
    w = given(g, (4, 8, 3, 3), nhwc=True, name="w")
    y = g.conv_fprop(x, w, padding=[1, 1], stride=[2, 2], name="conv")
    g.relu(g.mul(y, 0.5, name="half"), upper_clip=6.0, name="act").set_output(True).set_name("out")
    return g


def edges(text, arrow):
    return re.findall(rf"(\w+) {arrow} (\w+)", text)


def test_dot():
    text = convolution().to_dot()
    ends = set(re.findall(r"^ +(\w+) \[shape", text, re.M))
    found = edges(text, "->")
    assert {name for edge in found for name in edge} == ends
    assert sorted(found) == [("n0", "n1"), ("n1", "n2"), ("n2", "t6"), ("t1", "n0"), ("t2", "n0")]
    for words in (
        r'label="conv_fprop \'conv\'\npre_padding 1 x 1\npost_padding 1 x 1\nstride 2 x 2"',
        r'label="MUL \'half\'\nIN_1 = 0.5"',
        r"relu_upper_clip 6.0",
        r'label="<x> & \"y\"\nFLOAT 2 x 8 x 6 x 6 channels last"',
        r'label="IN_0: FLOAT 2 x 4 x 3 x 3 channels last"',
        'digraph "a \\"graph\\""',
    ):
        assert words.replace("\\'", "'") in text
    assert text.count("{") == text.count("}")
    assert re.sub(r"\\.", "", text).count('"') % 2 == 0
    assert 'style="filled, bold"' in next(line for line in text.splitlines() if line.startswith("  t6"))


def test_mermaid():
    text = convolution().to_mermaid()
    assert text.startswith("flowchart TD\n")
    found = [(a, b) for a, _, b in re.findall(r'(\w+) -->\|("[^"]*")\| (\w+)', text)]
    assert sorted(found) == [("n0", "n1"), ("n1", "n2"), ("n2", "t6"), ("t1", "n0"), ("t2", "n0")]
    assert "#lt;x#gt; #amp; #quot;y#quot;<br/>FLOAT" in text
    assert all(line.count('"') in (0, 2) for line in text.splitlines())


def test_what_is_computed_together_is_in_a_box():
    g = convolution()
    g.build_operation_graph()
    parts = (("conv", "half"), ("act",), ("act", "conv"))
    dot = pictures.to_dot(g._frozen, parts)
    (box,) = re.findall(r"subgraph cluster_0 \{(.*?)\n  \}", dot, re.S)
    assert re.findall(r"^    (n\d) \[", box, re.M) == ["n0", "n1"]
    assert len(re.findall(r"^  n\d \[", dot, re.M)) == 1
    mermaid = pictures.to_mermaid(g._frozen, parts)
    assert re.search(r'subgraph part0\["together"\]\n    n0\[.*\n    n1\[.*\n  end', mermaid)
    assert mermaid.count("subgraph") == 1


@over(["fused"])
def test_the_plan_says_what_is_together(handle, name):
    g = new(handle)
    PATTERNS["BnAddRelu"](g)
    g.build()
    parts = g._plans_on(g._handle).plan(g._chosen).parts
    assert ("subgraph" in g.to_mermaid()) == any(len(part) > 1 for part in parts)


def program(tmp_path, monkeypatch, text):
    path = tmp_path / "dot"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(path))


def test_svg_comes_from_graphviz(tmp_path, monkeypatch):
    program(tmp_path, monkeypatch, 'echo "<svg $1>"; cat')
    assert convolution().to_svg() == "<svg -Tsvg>\n" + convolution().to_dot()
    program(tmp_path, monkeypatch, "echo 'no such luck' >&2; exit 3")
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=r"PG-PICTURE-001.*no such luck"):
        convolution().to_svg()


def test_without_graphviz_the_error_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match=r"PG-PICTURE-001.*install graphviz.*to_mermaid"):
        convolution().to_svg()


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_graphviz_takes_it():
    assert "</svg>" in convolution().to_svg()


@over(["conv", "built", "types"])
def test_a_script_reproduces_a_graph(handle, name, tmp_path, monkeypatch, capsys):
    """The script runs by itself, on another backend as well, and says the same of the results."""
    g = convolution(handle)
    if name == "types":
        g = new(handle, io=D.HALF)
        PATTERNS["DReluForkDBn"](g)
    if name != "conv":
        g.build()
    path = tmp_path / "again.py"
    path.write_text(g.reproducer(seed=3))
    said = []
    for backend in (handle.backend, "reference"):
        monkeypatch.setattr(sys, "argv", [str(path), backend])
        runpy.run_path(str(path), run_name="__main__")
        text = capsys.readouterr().out
        said.append([line.split() for line in text.splitlines() if ": mean" in line])
        assert "takes it" in text
    assert len(said[0]) == (4 if name == "types" else 1)
    for one, other in zip(*said, strict=True):
        assert one[0] == other[0]
        assert float(one[4]) == pytest.approx(float(other[4]), rel=2e-3)
        assert float(one[4]) > 0
