"""What all tests of PyTorch's tensors share."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def without_tf32() -> Iterator[None]:
    """PyTorch lets convolutions of floats round to TF32 on GPUs; results are compared as floats here."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield
