"""The README's example is examples/write_once.py, and runs on every backend."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import portadnn as dnn
from portadnn.c_names.generate import public
from portadnn.public_names import MODULES
from portadnn.registry import default_backend_names, get_backend

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHOSEN = tuple(filter(None, os.environ.get("PORTADNN_TEST_BACKENDS", "").split(","))) or default_backend_names()


def python_blocks():
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_example_is_the_file():
    assert (ROOT / "examples" / "write_once.py").read_text(encoding="utf-8") in python_blocks()


@pytest.mark.parametrize("backend", CHOSEN)
def test_the_example_runs(backend, tmp_path):
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {backend}: {reason}")
    printed = subprocess.run(
        [sys.executable, "-c", python_blocks()[0]],
        cwd=tmp_path,
        env={**os.environ, "PORTADNN_BACKEND": backend},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    assert get_backend(backend).devices()[0].name in printed
    assert "(8, 16, 16, 16)" in printed
    assert float(printed.rsplit("=", 1)[1]) == pytest.approx(-2735.4, abs=0.11)


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_first_commands():
    commands = re.findall(r"^make \w+", README, re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]


def test_pictures_are_small():
    for picture in (ROOT / "docs").glob("*.png"):
        assert picture.stat().st_size < 150_000


def test_the_api_page_has_every_name():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in dnn.__all__ if name not in page] == []


def test_every_public_name_comes_from_its_module() -> None:
    """Names that are imported when asked for are public, and are defined where the index says."""
    assert public.PATH.read_text("utf-8") == public.public_names(), "run python -m portadnn.c_names.generate"
    for name, module in MODULES.items():
        assert name in dnn.__all__
        assert getattr(dnn, name) is getattr(importlib.import_module(f"portadnn.{module}"), name)
    assert not [name for name in dnn.__all__ if not hasattr(dnn, name)]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dnn.nothing  # noqa: B018
