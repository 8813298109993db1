"""The demo: digits are read as they should be, LeNet's gradients are right, and runs are judged honestly."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.registry import default_backend_names, get_backend

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

from portadnn.examples import digits, report
from portadnn.examples.lenet import LeNet

CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or default_backend_names()
BACKENDS = [name for name in default_backend_names() if name in CHOSEN and get_backend(name).why_unavailable() is None]
LENET = Path(__file__).resolve().parents[2] / "examples" / "lenet.py"
PNG = b"\x89PNG\r\n"


def demo(*arguments, code=0):
    result = CliRunner().invoke(app, ["demo", *map(str, arguments)], env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def write_idx(path, array):
    array = np.asarray(array, np.uint8)
    raw = struct.pack(f">BBBB{array.ndim}i", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


@pytest.fixture
def folder(tmp_path):
    """Four small IDX files: images of 12x12 pixels whose brightest row tells the label."""
    rng = np.random.default_rng(0)
    for stem, count in (("train", 200), ("t10k", 30)):
        labels = rng.integers(0, 10, count)
        images = rng.integers(0, 40, (count, 12, 12))
        images[np.arange(count), labels + 1] = 255
        write_idx(tmp_path / f"{stem}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / f"{stem}-labels-idx1-ubyte", labels)
    return tmp_path


# Digits -------------------------------------------------------------------------------------------


def test_uci_digits_are_split_by_class():
    data = digits.load()
    assert data.train_images.shape == (1442, 1, 8, 8)
    assert data.test_images.shape == (355, 1, 8, 8)
    assert data.train_images.dtype == np.float32
    assert data.train_images.min() == 0
    assert data.train_images.max() == 1
    held_out = np.bincount(data.test_labels) / (np.bincount(data.test_labels) + np.bincount(data.train_labels))
    assert np.all(np.abs(held_out - 0.2) < 0.01)
    seen = {image.tobytes() for image in data.train_images}
    assert not [image for image in data.test_images if image.tobytes() in seen]


def test_idx_files_plain_and_compressed(folder):
    data = digits.load(folder)
    assert data.train_images.shape == (200, 1, 12, 12)
    assert data.test_labels.shape == (30,)
    assert data.test_images.max() == 1
    assert np.array_equal(data.train_images[:, 0].sum(2).argmax(1) - 1, data.train_labels)


def test_idx_files_named_with_a_dot(folder):
    for path in list(folder.iterdir()):
        path.rename(folder / path.name.replace("-idx", ".idx"))
    assert digits.load(folder).test_images.shape == (30, 1, 12, 12)


@pytest.mark.parametrize("missing", ["train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"])
def test_a_missing_idx_file_is_named(folder, missing):
    next(folder.glob(f"{missing}*")).unlink()
    with pytest.raises(digits.DataError, match=missing):
        digits.load(folder)


def test_broken_idx_files_are_refused(folder):
    labels = folder / "train-labels-idx1-ubyte"
    good = labels.read_bytes()
    for raw, message in (
        (b"", "no IDX file"),
        (good[:-1], "header says"),
        (b"\0\0\x0d" + good[3:], "no IDX file"),
        (good[:4] + struct.pack(">i", 199) + good[8:-1], "199 labels for 200 images"),
        (good[:-1] + b"\x0b", "label 11"),
    ):
        labels.write_bytes(raw)
        with pytest.raises(digits.DataError, match=message):
            digits.load(folder)
    labels.write_bytes(good)
    (folder / "train-images-idx3-ubyte.gz").write_bytes(b"no gzip")
    with pytest.raises(digits.DataError, match="cannot be read"):
        digits.load(folder)


def test_idx_images_of_two_sizes_are_refused(folder):
    write_idx(folder / "t10k-images-idx3-ubyte.gz", np.zeros((30, 12, 10)))
    with pytest.raises(digits.DataError, match="one size"):
        digits.load(folder)


# The network --------------------------------------------------------------------------------------


def test_gradients_are_those_of_the_loss():
    """The first step moves each weight by the learning rate times the slope of the loss there."""
    from portadnn.examples import lenet

    rng = np.random.default_rng(0)
    with dnn.Handle("reference") as handle:
        x = handle.asarray(rng.random((4, 1, 8, 8)), "float32")
        target = handle.asarray(np.eye(10)[[3, 1, 4, 1]][:, :, None, None], "float32")
        net = LeNet(handle, 8, 8, seed=0)

        def loss():
            log_p = net.forward(x).astype(np.float64)
            return -(log_p * target).sum() / 4

        layers = [layer for layer in net.layers if isinstance(layer, lenet.Convolution)]
        before = [(layer.w.copy(), layer.bias.copy()) for layer in layers]
        slopes = []
        for layer in layers:
            for array in (layer.w, layer.bias):
                place = np.unravel_index(np.argmax(np.abs(array)), array.shape)
                value, step = array[place], 1e-3
                array[place] = value + step
                up = loss()
                array[place] = value - step
                slopes.append((up - loss()) / (2 * step))
                array[place] = value
        first = loss()
        told = net.learn(x, target).sum()
        assert told == pytest.approx(first, rel=1e-5)
        moved = []
        for (w, bias), layer in zip(before, layers, strict=True):
            for old, new in ((w, layer.w), (bias, layer.bias)):
                place = np.unravel_index(np.argmax(np.abs(old)), old.shape)
                moved.append((old[place] - new[place]) / lenet.LEARNING_RATE)
        np.testing.assert_allclose(moved, slopes, rtol=2e-2, atol=2e-4)


# The program --------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_epoch_on_each_backend(backend, tmp_path):
    picture, record = tmp_path / "a.png", tmp_path / "a.json"
    text = demo("--backend", f"{backend},reference", "--epochs", 1, "--output", picture, "--json", record)
    assert picture.read_bytes().startswith(PNG)
    content = json.loads(record.read_text())
    assert content["wrong"] == []
    assert {run["backend"] for run in content["runs"]} == {backend, "reference"}
    for run in content["runs"]:
        assert run["name"] in text
        assert run["accuracy"] > 0.5
        assert run["loss_difference"] <= report.TOLERANCE
        assert run["images_per_second"] > 0
        assert run["driver"] is not None
        assert run["version"]


def test_idx_digits_are_learned(folder):
    picture = folder / "b.png"
    text = demo(
        "--data", folder, "--backend", "reference", "--epochs", 12, "--batch", 20, "--output", picture, "--device", 0
    )
    assert "200 to learn from, 30 held out" in text
    assert picture.exists()


def test_the_script_is_the_command(tmp_path):
    command = [sys.executable, LENET, "--backend", "reference", "--epochs", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "reference" in done.stdout
    assert (tmp_path / "portadnn-demo.png").read_bytes().startswith(PNG)


# The verdict --------------------------------------------------------------------------------------


def run_of(backend, losses, accuracy=0.99, error=""):
    info = get_backend("reference").devices()[0]
    info = type(info)(**{**info.__dict__, "backend": backend})
    return report.Run(info, 0, losses=list(losses), accuracy=accuracy, error=error)


def test_equal_curves_are_right():
    runs = [run_of("cuda", [2.0, 1.0, 0.5]), run_of("reference", [2.0, 1.0, 0.5])]
    report.compare(runs)
    assert [run.difference for run in runs] == [0, 0]
    assert report.judge(runs, full=True) == []


def test_another_curve_is_wrong():
    curve = np.linspace(2, 0, 100)
    runs = [run_of("cuda", curve + np.where(np.arange(100) > 50, 0.02, 0)), run_of("reference", curve)]
    report.compare(runs)
    assert runs[0].difference == pytest.approx(0.02)
    (message,) = report.judge(runs, full=True)
    assert message.startswith("cuda")
    assert "0.02" in message


def test_low_accuracy_counts_in_full_runs_only():
    runs = [run_of("reference", [1.0], accuracy=0.9)]
    assert report.judge(runs, full=False) == []
    assert "90.0%" in report.judge(runs, full=True)[0]


def test_a_loss_that_is_no_number_is_wrong():
    runs = [run_of("opencl", [1.0, float("nan")]), run_of("reference", [1.0, 0.5])]
    report.compare(runs)
    assert "no finite number" in report.judge(runs, full=False)[0]


def test_without_the_reference_nothing_is_compared():
    runs = [run_of("cuda", [1.0]), run_of("reference", [], error="it broke")]
    report.compare(runs)
    assert runs[0].difference is None
    assert report.judge(runs, full=False) == ["reference stopped: it broke"]


def test_a_device_that_fails_does_not_stop_the_others(monkeypatch, tmp_path):
    real = LeNet.train

    def train(self, *arguments):
        if self.handle.backend != "reference":
            raise dnn.ExecutionFailed("the lights went out")
        return real(self, *arguments)

    if len(BACKENDS) < 2:
        pytest.skip("needs a second backend")
    monkeypatch.setattr(LeNet, "train", train)
    other = next(name for name in BACKENDS if name != "reference")
    text = demo("--backend", other, "--backend", "reference", "--epochs", 1, "--output", tmp_path / "c.png", code=1)
    assert "the lights went out" in text
    assert (tmp_path / "c.png").exists()
