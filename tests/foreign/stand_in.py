"""Puts `portadnn.graph` in the place of the module `cudnn`: a plugin of pytest, and an import for notebooks.

``FOREIGN_DEVICE`` says where tensors are that programs ask for on "cuda": "cuda", or "cpu" on machines without a GPU.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import pytest

import portadnn.graph

END: Any = pytest.StashKey()

if os.environ.get("FOREIGN_DEVICE"):
    sys.modules["cudnn"] = portadnn.graph
    if os.environ["FOREIGN_DEVICE"] == "cpu":
        import on_the_cpu

        on_the_cpu.install()
    else:
        import torch

        torch.backends.cudnn.allow_tf32 = False  # the tests compare with torch's, and portadnn's products are exact


def pytest_addoption(parser: Any) -> None:
    """Add the options that sample tests, and end them in time."""
    parser.addoption("--stride", type=int, default=1)
    parser.addoption("--first", type=int, default=0)
    parser.addoption("--seconds", type=float, default=float("inf"))


def pytest_configure(config: Any) -> None:
    """Know the marks of the foreign suite, and when to end."""
    config.stash[END] = time.monotonic() + config.getoption("--seconds")
    for level in range(5):
        config.addinivalue_line("markers", f"L{level}: level {level} of the suite")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep one of so many tests of each function."""
    stride, first = config.getoption("--stride"), config.getoption("--first")
    counts: dict[str, int] = {}
    kept = []
    for item in items:
        number = counts[item.function.__qualname__] = counts.get(item.function.__qualname__, -1) + 1
        if number % stride == first % stride:
            kept.append(item)
    items[:] = kept


def pytest_runtest_teardown(item: Any) -> None:
    """End once the time is over; what ran is in the report."""
    if time.monotonic() > item.config.stash[END]:
        item.session.shouldstop = "the time is over"
