"""Ten models of torchvision, as they are: what they compute becomes problems, and one of them replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portadnn.recording import read
from portadnn.recording.replay import Replay

torch = pytest.importorskip("torch")
models = pytest.importorskip("torchvision", reason="torchvision is not installed").models

from portadnn.torch import record  # noqa: E402

KINDS = ("convolution", "norm", "pooling", "rnn", "softmax", "attention")
MODELS = {  # sizes of images
    "alexnet": 224,
    "convnext_tiny": 32,
    "densenet121": 32,
    "efficientnet_b0": 32,
    "googlenet": 64,
    "mobilenet_v3_small": 64,
    "r3d_18": 32,
    "regnet_y_400mf": 32,
    "shufflenet_v2_x0_5": 32,
    "squeezenet1_1": 64,
    "swin_t": 32,
}


def train(name: str, model: Any) -> None:
    size = MODELS[name]
    dims = (2, 3, 4, size, size) if name == "r3d_18" else (2, 3, size, size)
    found = model(torch.randn(dims))
    found = getattr(found, "logits", found)
    found.square().mean().backward()


@pytest.mark.filterwarnings("ignore::FutureWarning:torchvision")
@pytest.mark.parametrize("name", MODELS)
def test_calls_become_problems(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = models.get_model(name, weights=None)
    with record(tmp_path / "run.jsonl") as recorder:
        train(name, model)
    calls, posed = (sum(counts[kind] for kind in KINDS) for counts in (recorder.counts, recorder.posed))
    assert posed >= 0.99 * calls, recorder.left
    assert calls >= 18
    if name == "squeezenet1_1":
        run = Replay(read(tmp_path / "run.jsonl"), "reference")
        try:
            assert run.run().same
        finally:
            run.close()
