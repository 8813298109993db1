"""The roofline report: what it computes, what it writes, and the ceilings it measures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helper import open_handle, optimised, targets
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.benchmarks import cli, runner
from portadnn.benchmarks.roofline import ceilings
from portadnn.benchmarks.roofline import layers as roofline
from portadnn.benchmarks.roofline import plot as roofline_plot
from portadnn.benchmarks.roofline.ceilings import Ceilings
from portadnn.benchmarks.roofline.layers import Measured
from portadnn.benchmarks.sets.layers import NETWORKS, Layer
from portadnn_backends import kernel_text
from portadnn_backends.cuda import device as cuda
from portadnn_backends.reference.backend import DefinitionEngine

TINY = (Layer("3x3_3_4_6", 3, 6, 6, 4, 3, 3, 1, 1), Layer("1x1s2_4_5_7", 4, 7, 7, 5, 1, 1, 2))
ROOF = Ceilings(bandwidth=100.0, sources={"multiply-adds": 900.0, "matrix product": 1000.0})


def row(flops, nbytes, seconds, peer=None):
    return runner.Row("line", "engine", seconds, peer, peer and peer / seconds, flops, nbytes, None, 3)


@pytest.fixture
def tiny(monkeypatch):
    """Networks, products and copies that take no time."""
    monkeypatch.setitem(NETWORKS, "resnet50", TINY)
    monkeypatch.setattr(ceilings, "PRODUCT_SIZE", {"gpu": 64, "cpu": 64})
    monkeypatch.setattr(ceilings, "COPY_MEGABYTES", {"gpu": 1, "cpu": 1})
    monkeypatch.setattr(ceilings, "LONG_ENOUGH", 0.0)


def invoke(*words):
    return CliRunner().invoke(cli.app, ["conv", "--peer", "none", "--rounds", "3", *map(str, words)])


@pytest.mark.parametrize(("intensity", "want"), [(1.0, 100.0), (10.0, 1000.0), (50.0, 1000.0)])
def test_the_roof_is_the_lower_ceiling(intensity, want):
    assert ROOF.attainable(intensity) == want


def test_ceilings_are_the_best_of_two_measurements():
    other = Ceilings(bandwidth=120.0, sources={"multiply-adds": 950.0, "matrix product": 800.0})
    assert ceilings.best(ROOF, other) == Ceilings(120.0, {"multiply-adds": 950.0, "matrix product": 1000.0})


def test_shares_and_means():
    done = [
        Measured("net", "a", "forward", "line", row=row(200, 100, 2.0, peer=1.0)),  # 100 of 200 attainable
        Measured("net", "b", "forward", "line", row=row(4000, 100, 32.0, peer=128.0)),  # 125 of 1000
        Measured("net", "c", "data", "line", note="no"),
    ]
    assert done[0].plot(ROOF) == roofline.Plot(intensity=2.0, rate=100.0, attainable=200.0)
    means = roofline.summary(done, ROOF)
    assert means["forward"] == pytest.approx({"share_of_attainable": 0.25, "ratio_to_peer": np.sqrt(2)})
    assert means["data"] == {}
    record = roofline.as_record(done, ROOF)
    assert record["rows"][1]["share_of_attainable"] == pytest.approx(0.125)
    assert record["rows"][2] == {"network": "net", "layer": "c", "direction": "data", "line": "line", "note": "no"}
    assert record["ceilings"]["flops_per_second"] == 1000.0


def test_lines_are_problems_of_all_directions():
    todo = roofline.lines(["resnet50", "mobilenet"], "all", 2, "f16", "nhwc", dnn.MathType.TENSOR_OP_ALLOW_CONVERSION)
    assert len(todo) == 3 * (len(NETWORKS["resnet50"]) + len(NETWORKS["mobilenet"]))
    for layer in todo:
        problem = dnn.parse(layer.line)
        assert problem.math is dnn.MathType.TENSOR_OP_ALLOW_CONVERSION
        assert problem.dtype is dnn.DataType.HALF and problem.image.format in dnn.TensorFormat


def test_report_is_written(tiny, tmp_path):
    path = tmp_path / "deep" / "report.json"
    result = invoke(
        "--set", "resnet50", "--direction", "all", "--batch", "2", "--backend", "reference", "--output", path
    )
    assert result.exit_code == 0, result.output
    assert "of attainable" in result.output and "backward filter" in result.output
    record = json.loads(path.read_text())
    assert [r["layer"] for r in record["rows"]] == [layer.name for layer in TINY] * 3
    for entry in record["rows"]:
        problem = dnn.parse(entry["line"])
        assert entry["flops"] == problem.flops() and entry["flops_per_byte"] == problem.flops() / problem.bytes()
        assert entry["seconds"] > 0 and entry["peer_seconds"] is None
        assert entry["algo"] in ("IMPLICIT_GEMM", "ALGO_1")
    assert (record["batch"], record["device"]["backend"]) == (2, "reference")
    assert (tmp_path / "deep" / "report.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_beside_torch(tiny, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    path = tmp_path / "report.json"
    result = invoke("--set", "resnet50", "--backend", "reference", "--peer", "torch", "--no-plot", "--output", path)
    assert result.exit_code == 0, result.output
    record = json.loads(path.read_text())
    assert all(entry["ratio"] > 0 for entry in record["rows"])
    assert set(record["ceilings"]["flops_per_second_by_source"]) == {
        "matrix product, torch",
        "matrix product, portadnn",
    }
    assert not path.with_suffix(".png").exists()


def test_what_cannot_run_says_why(tiny, tmp_path, monkeypatch):
    """Here NumPy's engine answers to its own algorithm's name alone, as those of other backends do."""
    monkeypatch.delattr(DefinitionEngine, "implements")
    path = tmp_path / "report.json"
    words = ("--set", "resnet50", "--backend", "reference", "--no-plot", "--output", path)
    result = invoke(*words, "--algo", "winograd")
    assert result.exit_code == 0, result.output
    assert "could not run" in result.output
    assert all("WINOGRAD" in entry["note"] for entry in json.loads(path.read_text())["rows"])
    result = invoke(*words, "--algo", "fastest")
    assert result.exit_code == 2 and "--algo: expected a ConvolutionFwdAlgo" in result.output


@pytest.mark.parametrize(
    ("option", "value"), [("--set", "lenet"), ("--direction", "up"), ("--dtype", "i8"), ("--layout", "chwn")]
)
def test_unknown_words_are_refused(option, value):
    result = invoke(*(("--set", "resnet50") if option != "--set" else ()), option, value)
    assert result.exit_code == 2
    assert value in result.output


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(roofline_plot.importlib.util, "find_spec", lambda name: None)
    result = invoke("--set", "resnet50")
    assert result.exit_code == 2
    assert 'pip install "portadnn[demo]"' in result.output.replace("\n", " ")


def test_picture_of_many_directions_and_a_peer(tmp_path):
    done = [
        Measured("net", f"layer{i}", direction, "line", row=row(10.0**i, 100, 1.0, peer=2.0))
        for direction in roofline.TITLES
        for i in range(2, 5)
    ]
    path = tmp_path / "plot.png"
    roofline_plot.draw(path, [*done, Measured("net", "none", "data", "line", note="no")], ROOF, "title", "torch")
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("target", [*map(optimised, targets())], ids=lambda target: target.name)
@pytest.mark.parametrize("dtype", [dnn.DataType.FLOAT, dnn.DataType.DOUBLE])
def test_multiply_adds_are_counted(monkeypatch, target, dtype):
    """The rate is what a work-item does, times work-items, over the time; here a round takes half a second."""
    handle = open_handle(target)
    launched = []
    bind = handle.device.bind
    monkeypatch.setattr(handle.device, "bind", lambda launches: launched.extend(launches) or bind(launches))
    monkeypatch.setattr(handle.device, "time", lambda function: (function(), 0.5)[1])
    monkeypatch.setattr(ceilings, "TRIES", 1)
    rate = ceilings.fma_rate(handle, dtype)
    handle.synchronize()
    width = int(launched[-1].kernel.source.split("#define VW ")[1].split()[0])
    items = launched[-1].grid[0] * launched[-1].block[0]
    assert rate == 2 * items * width * ceilings.CHAINS * ceilings.STEPS / 0.5
    assert width * dtype.itemsize <= 64


def test_multiply_adds_compile_for_cuda():
    try:
        cuda.compile_cubin('extern "C" __global__ void f() {}', "sm_90")
    except (ImportError, OSError, RuntimeError) as error:
        pytest.skip(f"NVRTC: {type(error).__name__}")
    for dtype in ("FLOAT", "DOUBLE"):
        defines = {f"DTYPE_{dtype}": 1, "VW": 1, "WG": 256, "CHAINS": ceilings.CHAINS, "STEPS": ceilings.STEPS}
        cubin = cuda.compile_cubin(kernel_text.assemble("shared/common/fma_chain.cl", "cuda", defines), "sm_90")
        assert b"fma_chain" in cubin
