"""What PyTorch does for normalisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn.enums import BatchNormMode

EPSILON = 1e-5


def batch_norm(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any] | None:
    """Return torch's batch normalisation; an activation of PER_ACTIVATION is a channel."""
    aten = torch.ops.aten
    if p.mode is BatchNormMode.PER_ACTIVATION:
        t = {name: (v.flatten(1) if v.shape[0] == p.x.dims[0] else v) for name, v in t.items()}
    scale = t["scale"].flatten()
    mean, variance = torch.zeros_like(scale), torch.ones_like(scale)
    if p.op == "batch_normalization_forward_training":
        keeps = (mean, variance) if p.running_mean is not None else (None, None)
        return lambda: aten.native_batch_norm(t["x"], scale, t["bias"].flatten(), *keeps, True, 0.1, EPSILON)
    if p.op == "batch_normalization_forward_inference":
        function = torch.nn.functional.batch_norm
        return lambda: function(t["x"], mean, variance, scale, t["bias"].flatten(), False, 0.1, EPSILON)
    if p.saved_mean is None:
        return None  # torch always has what forward saved
    wanted = [True, True, True]
    return lambda: aten.native_batch_norm_backward(
        t["dy"], t["x"], scale, None, None, mean, variance, True, EPSILON, wanted
    )
