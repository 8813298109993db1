"""What PyTorch does for normalisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn.enums import BatchNormMode, NormMode

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


def sample_norm(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any] | None:
    """Return torch's layer, instance, group or RMS normalisation; backward through autograd's own functions."""
    if p.scale is None:
        return None
    shape = list(p.x.dims[p.axis % len(p.x.dims) :])
    scale = t["scale"].reshape(shape) if p.mode in (NormMode.LAYER_NORM, NormMode.RMS_NORM) else t["scale"].flatten()
    bias = torch.zeros_like(scale) if p.op.endswith("backward") else t["bias"].reshape(scale.shape) if p.bias else None
    functional = torch.nn.functional

    def forward(x: Any, scale: Any, bias: Any) -> Any:
        if p.mode is NormMode.LAYER_NORM:
            return functional.layer_norm(x, shape, scale, bias, EPSILON)
        if p.mode is NormMode.RMS_NORM:
            return functional.rms_norm(x, shape, scale, EPSILON)
        if p.mode is NormMode.INSTANCE_NORM:
            return functional.instance_norm(x, None, None, scale, bias, eps=EPSILON)
        return functional.group_norm(x, p.groups, scale, bias, EPSILON)

    if p.op == "normalization_forward":
        return lambda: forward(t["x"], scale, bias)
    inputs = [a.detach().requires_grad_(True) for a in (t["x"], scale, bias)]
    with torch.enable_grad():
        y = forward(*inputs)
    wanted = inputs[:2] if p.mode is NormMode.RMS_NORM else inputs
    return lambda: torch.autograd.grad(y, wanted, t["dy"], retain_graph=True)
