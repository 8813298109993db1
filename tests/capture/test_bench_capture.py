"""``portadnn bench capture``: rows and records are whole; which figures come out is the machine's affair."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import numbers
from helper import targets
from typer.testing import CliRunner
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn.benchmarks import capture, cli

CONV = dnn.ConvolutionDescriptor(padding=(1, 1))


def tiny(handle: Any, images: int) -> Any:
    """Return a convolution and a ReLU."""
    x, w = handle.asarray(numbers(0, images, 3, 8, 8)), handle.asarray(numbers(1, 4, 3, 3, 3))
    relu = dnn.ActivationDescriptor("relu")
    return lambda: dnn.activation_forward(handle, dnn.convolution_forward(handle, x, w, CONV), relu)


@pytest.fixture(autouse=True)
def networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "NETWORKS", {"tiny": tiny})
    monkeypatch.setattr(capture, "IMAGES", {"cpu": {"tiny": (2, 3)}, "gpu": {"tiny": (2, 3)}})
    monkeypatch.setattr(capture, "_ROUND", 1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_record_says_how_steps_compare(backend: str, tmp_path: Path) -> None:
    open_handle(backend).close()
    arguments = ["capture", str(tmp_path), "--backend", backend, "--rounds", "3"]
    result = CliRunner().invoke(cli.app, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    (path,) = tmp_path.glob(f"capture-{backend}-*.json")
    record = json.loads(path.read_text())
    assert record["within"] == 1.2
    assert record["device"]["backend"] == backend
    assert [(row["network"], row["images"], row["calls"]) for row in record["rows"]] == [("tiny", 2, 2), ("tiny", 3, 2)]
    row = record["rows"][0]
    assert min(row[name] for name in ("called", "replayed", "called_host", "replayed_host")) > 0
    if backend == "reference":
        assert (row["mode"], row["kernels"], row["own"], row["ratio"]) == ("launches", [], None, None)
        return
    assert row["mode"] in {"cuda": ("cuda graph",), "opencl": ("launches", "command buffer")}[backend]
    assert (row["mode"] == "launches") == bool(row["reason"])
    assert (row["apart"] is not None) == ("early_launches" in record["device"]["features"])
    assert row["own"] == pytest.approx(sum(kernel["seconds"] for kernel in row["kernels"]))
    assert row["ratio"] == pytest.approx(row["replayed"] / row["own"])
    names = [name for kernel in row["kernels"] for name, _, _ in kernel["launches"]]
    assert "elementwise" in names[-1]


@pytest.mark.parametrize("handle", targets(), indirect=True, ids=lambda t: t.name)
def test_own_times_are_of_launches_and_on_cpus_of_calls(handle: Any) -> None:
    """There the first launch of a convolution resets the counter of the next, which without it does nothing."""
    if handle.backend == "reference":
        pytest.skip("the reference has no launches")
    call = tiny(handle, 2)
    with handle.capture() as step:
        call()
    launches = [len(one) for one, *_ in step.bound_launches()]
    found = [len(own.launches) for own in capture.own_times(handle, step, 1)]
    assert found == (launches if handle.info.kind == "cpu" else [1] * sum(launches))


def test_times_apart_are_without_early_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    with dnn.Handle("reference") as handle:
        early = replace(handle.info, features=frozenset({"early_launches", "mma"}))
        handle.device.info = early
        monkeypatch.setattr(capture, "_own_time", lambda *_: seen.append(handle.info.features) or 1.0)
        assert capture._time_apart(handle, (), (), 1) == 1.0
        assert handle.info is early
        handle.device.info = replace(early, features=frozenset({"mma"}))
        assert capture._time_apart(handle, (), (), 1) is None
    assert seen == [{"mma"}]


def test_networks_are_those_of_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    with dnn.Handle("reference") as handle:
        losses = [handle.to_numpy(capture.lenet(handle, 4)()).sum() for _ in range(2)]
        assert losses[0] == losses[1]  # seeded
        assert np.isfinite(losses[0])
        made: dict[str, Any] = {}
        monkeypatch.setattr(capture, "ResNet", lambda *args: made.update(args=args) or _Net())
        call = capture.resnet50(handle, 2)
        assert made["args"] == (handle, "float32", "nchw")
        assert call() == (2, 3, 224, 224)


class _Net:
    """Stands for a ResNet."""

    array = staticmethod(np.asarray)

    def forward(self, x: Any) -> Any:
        return x.shape
