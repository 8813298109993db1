"""The examples of captures: LeNet learns the same by replays, and ResNet's forward pass is what NumPy computes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import convolved, expect, fill, numbers, relu, softmax
from helper import everywhere
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn.examples.lenet import LeNet
from portadnn.examples.lenet_captured import CapturedLeNet, compare
from portadnn.examples.resnet50 import EPSILON, ResNet

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "capture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_pages_example(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_handle(backend).close()
    monkeypatch.setenv("PORTADNN_BACKEND", backend)
    names: dict[str, Any] = {}
    first, second = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(first, names)
    w = np.random.default_rng(1).standard_normal((16, 3, 3, 3))
    expect(names["handle"], names["z"], relu(convolved(np.random.default_rng(0).standard_normal((8, 3, 32, 32)), w, 1)))
    exec(second, names)
    expect(names["handle"], names["z"], relu(convolved(np.ones((8, 3, 32, 32)), w, 1)))
    names["handle"].close()


class Digits:
    """Eight images whose brightest row is their label, and as many to test with."""

    train_labels = test_labels = np.arange(8)
    train_images = test_images = np.eye(8, dtype=np.float32)[:, None, :, None] * np.ones(8, np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lenet_learns_the_same_by_replays(backend: str) -> None:
    images, labels = numbers(0, 24, 1, 8, 8), np.arange(24) % 10
    curves, weights = [], []
    with open_handle(backend) as handle:
        for kind in (LeNet, CapturedLeNet):
            net = kind(handle, 8, 8, seed=1)
            curves.append([loss for losses in net.train(images, labels, 2, 6, seed=2) for loss in losses])
            weights.append(handle.to_numpy(net.layers[0].w))
    assert len(net.step) > 30
    np.testing.assert_allclose(*curves, rtol=1e-6)  # only the host's sums over classes are of other types
    np.testing.assert_array_equal(*weights)
    assert np.mean(curves[1][-4:]) < np.mean(curves[1][:4])


def test_lenets_comparison_is_printed(capsys: Any) -> None:
    with dnn.Handle("reference") as handle:
        compare(handle, Digits, epochs=2, batch=4)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["LeNet", "CapturedLeNet", "replays"]
    assert lines[0].split(" us ")[0].rsplit(",", 1)[0].split(": ")[1] == lines[1].rsplit(",", 1)[0].split(": ")[1]


class Recorded(ResNet):
    """A network that keeps its random numbers."""

    def random(self, *shape: int) -> tuple[Any, ...]:
        self.__dict__.setdefault("drawn", []).append(super().random(*shape))
        return self.drawn[-1]


def _convolved(x: Any, drawn: tuple[Any, ...], stride: int = 1) -> Any:
    """Return a convolution and its batch normalisation, one after the other."""
    w, *parameters = drawn
    scale, shift, mean, variance = (values.astype(np.float64)[:, None, None] for values in parameters)
    pad = w.shape[2] // 2
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    y = np.einsum("ncpqrs,kcrs->nkpq", windows, w, optimize=True)
    return scale * (y - mean) / np.sqrt(variance + EPSILON) + shift


def _resnet(x: Any, drawn: list[Any], blocks: tuple[int, ...]) -> Any:
    """Return the probabilities, by NumPy."""
    layers = iter(drawn)
    x = np.pad(relu(_convolved(x, next(layers), 2)), ((0, 0), (0, 0), (1, 1), (1, 1)))
    x = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2].max((4, 5))
    for stage, count in enumerate(blocks):
        for number in range(count):
            stride = 2 if stage and number == 0 else 1
            y = relu(_convolved(relu(_convolved(x, next(layers))), spatial := next(layers), stride))
            y = _convolved(y, next(layers))
            assert spatial[0].shape[2] == 3
            x = relu(y + (_convolved(x, next(layers), stride) if number == 0 else x))
    y = _convolved(x.mean((2, 3), keepdims=True), next(layers))
    assert next(layers, None) is None
    return softmax(y)


@everywhere()
def test_resnet_computes_what_numpy_does(handle: Any) -> None:
    blocks = (2, 1)
    net = Recorded(handle, blocks=blocks, width=8, classes=10)
    x = net.array(numbers(0, 2, 3, 32, 32))
    with handle.capture() as step:
        y = net.forward(x)
    expect(handle, y, _resnet(numbers(0, 2, 3, 32, 32), net.drawn, blocks), 1e-4)
    fill(handle, x, numbers(1, 2, 3, 32, 32))
    step.replay()
    expect(handle, y, _resnet(numbers(1, 2, 3, 32, 32), net.drawn, blocks), 1e-4)


def test_resnet50_has_its_layers_and_parameters() -> None:
    """25,557,032 parameters, as everybody counts them: filters, scales and shifts, and the last layer with a bias."""
    with dnn.Handle("reference") as handle:
        drawn = Recorded(handle).drawn
    assert len(drawn) == 54
    assert sum(w.size + scale.size + shift.size for w, scale, shift, *_ in drawn) - 1000 == 25557032
