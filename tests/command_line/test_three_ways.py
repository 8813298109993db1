"""The three programs give the same bits with every library's names."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from where import BACKENDS

from portadnn.examples import three_ways
from portadnn.registry import get_backend

FOLDER = Path(three_ways.__file__).parent
PROGRAMS = ("lenet", "lstm", "residual")
FORMS = ("miopen", "cudnn", "unified")  # MIOpen's measures, and keeps what it found for the others


def forms(program: str) -> list[str]:
    return [form for form in FORMS if (FOLDER / f"{program}_{form}.py").is_file()]


def test_there_are_all_forms():
    assert all(forms(program) == list(FORMS) for program in PROGRAMS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program", ["lstm", *(pytest.param(name, marks=pytest.mark.long) for name in ("lenet", "residual"))]
)
def test_every_form_gives_the_same_bits(program: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {backend}: {reason}")
    monkeypatch.setenv(
        "PORTADNN_FIND_DB", str(tmp_path / "find")
    )  # an algorithm has several engines: one for all forms
    results = {}
    for form in forms(program):
        module = importlib.import_module(f"portadnn.examples.three_ways.{program}_{form}")
        results[form] = module.run(backend)
    want = results["unified"]
    assert all(np.isfinite(values).all() and values.any() for values in want.values())
    for form, found in results.items():
        assert found.keys() == want.keys(), form
        for name, values in found.items():
            assert values.shape == want[name].shape, f"{form}: {name}"
            assert values.tobytes() == want[name].tobytes(), f"{form}: {name}"
