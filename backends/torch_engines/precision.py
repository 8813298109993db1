"""PyTorch's global settings, as exact as they go while a problem is computed and then as they were."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

_LOCK = threading.RLock()  # the settings are the process's


def _exact(torch: Any) -> list[tuple[Any, str, Any]]:
    """Return what has to be set: (object, attribute, value)."""
    backends = torch.backends
    settings = [(backends.cudnn, "benchmark", False), (backends.cudnn, "deterministic", True)]
    if hasattr(backends.cudnn, "conv"):  # from torch 2.9 on; mixed with the older names it complains
        places = [backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn]
        places += [getattr(backends.mkldnn, n) for n in ("matmul", "conv", "rnn") if hasattr(backends.mkldnn, n)]
        return settings + [(place, "fp32_precision", "ieee") for place in places]
    return [*settings, (backends.cuda.matmul, "allow_tf32", False), (backends.cudnn, "allow_tf32", False)]


@contextlib.contextmanager
def exactly(torch: Any, kind: str) -> Iterator[None]:
    """Compute without TF32, autocast, gradients and kernels whose results vary.

    Parameters
    ----------
    kind
        torch's name of the device type, ``"cpu"`` or ``"cuda"``.
    """
    with _LOCK:
        settings = _exact(torch)
        before = [(place, name, getattr(place, name)) for place, name, _ in settings]
        try:
            for place, name, value in settings:
                setattr(place, name, value)
            with torch.inference_mode(False), torch.no_grad(), torch.autocast(kind, enabled=False):
                yield
        finally:
            for place, name, value in before:
                setattr(place, name, value)
