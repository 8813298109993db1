"""Where tests of PyTorch's tensors compute: a backend and the device whose tensors it takes."""

from __future__ import annotations

import helper
import pytest
import torch

from portadnn.registry import backend_names, get_backend


def _places():
    wanted = helper.backends_in("PORTADNN_TEST_BACKENDS") or ("reference", "opencl", "cuda")
    for name in ("reference", "opencl", "cuda"):
        reason = None
        if name not in wanted:
            continue
        if name not in backend_names():
            reason = f"backend {name} is not installed"
        elif name == "opencl" and not opencl_has_a_cpu():
            reason = "no OpenCL for CPUs"
        elif name == "cuda" and not torch.cuda.is_available():
            reason = "torch finds no GPU"
        else:
            reason = get_backend(name).why_unavailable()
        device = "cuda" if name == "cuda" else "cpu"
        yield pytest.param(name, device, id=name, marks=[pytest.mark.skip(reason=reason)] if reason else [])


def opencl_has_a_cpu() -> bool:
    """Tell whether OpenCL has a device that computes in the host's memory."""
    chosen = get_backend("opencl")
    return chosen.why_unavailable() is None and any(d.kind == "cpu" for d in chosen.devices())


PLACES = pytest.mark.parametrize(("backend", "device"), list(_places()))
