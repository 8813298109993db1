"""The named patterns in float64, by torch and its autograd: nothing here knows of graphs.

Each takes inputs by name and returns outputs by name; where a half tensor of the pattern is read again, it is rounded.
"""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
functional = torch.nn.functional

EPSILON, MOMENTUM, DROPOUT = 1e-3, 0.1, 0.25


def half(t):
    return t.half().double()


def flat(t):
    """Return a number for each channel."""
    return t.reshape(-1)


def column(t):
    return t.reshape(1, -1, 1, 1)


def bn_add_relu(X, Z, scale, bias, running_mean, running_var):
    mean, var, size = X.mean((0, 2, 3)), X.var((0, 2, 3), correction=0), X[:, 0].numel()
    out = functional.batch_norm(X, None, None, flat(scale), flat(bias), training=True, eps=EPSILON)
    y = torch.relu(out + Z)
    return {
        "Y": y,
        "mask": (y > 0).double(),
        "mean": mean,
        "inv_variance": (var + EPSILON).rsqrt(),
        "next_running_mean": torch.lerp(flat(running_mean), mean, MOMENTUM),
        "next_running_var": torch.lerp(flat(running_var), var * size / (size - 1), MOMENTUM),
    }


def drelu_fork_dbn(dY, X, mask, scale, mean, inv_variance):
    """The statistics need not be those of X: the gradient is that of the formula in which they are functions of X."""
    dz = half(torch.where(mask != 0, dY, 0.0))
    centred = (X - column(mean)) * column(inv_variance)
    dscale, dbias = (dz * centred).sum((0, 2, 3)), dz.sum((0, 2, 3))
    size = X[:, 0].numel()
    dx = column(scale) * column(inv_variance) * (dz - (column(dbias) + centred * column(dscale)) / size)
    return {"dZ": dz, "dX": dx, "dScale": dscale, "dBias": dbias}


def dbn_apply(dY, X, A, B, C):
    return {"dX": A * dY + B * X + C}


def with_statistics(x, W, padding):
    y = half(functional.conv2d(x, W, padding=padding))
    return {"Y": y, "sum": y.sum((0, 2, 3)), "sq_sum": y.square().sum((0, 2, 3))}


def conv_bn_fprop(X, W, scale, bias):
    return with_statistics(torch.relu(X * scale + bias), W, 1)


def dbarcs(X, dual_X, W, scale, bias, dual_scale, dual_bias):
    relu = half(torch.relu(X * scale + bias + dual_X * dual_scale + dual_bias))
    return {"Relu_Y": relu, **with_statistics(relu, W, 0)}


def conv_bn_wgrad(X, dY, scale, bias):
    w = torch.zeros(dY.shape[1], X.shape[1], 3, 3, dtype=torch.float64, requires_grad=True)
    functional.conv2d(torch.relu(X * scale + bias), w, padding=1).backward(dY)
    return {"dW": w.grad}


def conv_bias_act(X, W, Z, bias):
    return {"Y": torch.relu(0.5 * functional.conv2d(X, W, padding=1) + 2 * Z + bias)}


def conv_scale_bias_act(X, W, Z, alpha1, alpha2, bias):
    total = alpha1 * functional.conv2d(X, W, padding=1) + alpha2 * Z + bias
    return {"Y": torch.relu(total).round().clamp(-128, 127)}


def dgrad_drelu_bn_bwd_weight(dY, W, X, mean, inv_std, scale, bias):
    """A, B and C follow from what they are for: A dy + B x + C is the gradient to X of its batchnorm."""
    x = torch.zeros_like(X, requires_grad=True)
    functional.conv2d(x, W, padding=1).backward(dY)
    y = (X - mean) * inv_std * scale + bias
    dy = half(torch.where(y > 0, x.grad, 0.0))
    found = drelu_fork_dbn(dy, X, torch.ones_like(X), scale, mean, inv_std)
    size = X[:, 0].numel()
    a, s = flat(scale * inv_std), flat(inv_std)
    b = -a * s * found["dScale"] / size
    c = -a * found["dBias"] / size - b * flat(mean)
    return {"dY_bn": dy, "dScale": found["dScale"], "dBias": found["dBias"], "A": a, "B": b, "C": c}


def attend(q, k, v, causal=True):
    """Return scores and output, for heads of keys that divide those of queries."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[3])
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1) != 0, -math.inf)
    return scores, torch.softmax(scores, 3) @ v


def mha_fprop(Q, K, V, mask):
    """`mask` is what was drawn; a test of its own says that it was drawn well."""
    p = torch.softmax(attend(Q, K.mT, V)[0], 3)
    kept = half(p) * mask / (1 - DROPOUT)
    return {"P": p, "S": kept, "O": half(kept) @ V, "mask": mask}


def mha_bprop(Q, K, V, dO, P, mask):
    factor = mask / (1 - DROPOUT)
    dp = dO @ V * factor
    ds = P * (dp - (dp * P).sum(3, keepdim=True)) / math.sqrt(Q.shape[3])
    return {"dQ": ds @ K, "dK": ds.mT @ Q, "dV": (P * factor).mT @ dO}


def flash_fprop(Q, K, V):
    scores, o = attend(Q, K, V)
    return {"O": o, "stats": torch.logsumexp(scores, 3, keepdim=True)}


def flash_bprop(Q, K, V, O, dO, stats):  # noqa: E741
    leaves = [t.clone().requires_grad_() for t in (Q, K, V)]
    attend(*leaves)[1].backward(dO)
    return dict(zip(("dQ", "dK", "dV"), (leaf.grad for leaf in leaves), strict=True))


def e4m3(t):
    return t.clamp(-448, 448).to(torch.float32).to(torch.float8_e4m3fn).double()


def fp8_flash_fprop(Q, K, V):
    q, k, v = (t / 16 for t in (Q, K, V))
    scores = attend(q, k, v, causal=False)[0]
    powers = torch.exp(scores - scores.amax(3, keepdim=True))
    o = e4m3(256 * powers) / 256 @ v / powers.sum(3, keepdim=True)
    stats = torch.logsumexp(scores, 3, keepdim=True)
    return {"O": 16 * o, "stats": stats, "amax_S": torch.softmax(scores, 3).max(), "amax_O": o.abs().max()}


def fp8_flash_bprop(Q, K, V, O, dO, stats):  # noqa: E741
    q, k, v, o, do = (t / 16 for t in (Q, K, V, O, dO))
    p = torch.exp(attend(q, k, v, causal=False)[0] - stats)
    ds = p * (do @ v.mT - (do * o).sum(3, keepdim=True)) / math.sqrt(Q.shape[3])
    ds8, p8 = e4m3(64 * ds) / 64, e4m3(256 * p) / 256
    found = {"dQ": ds8 @ k, "dK": ds8.mT @ q, "dV": p8.mT @ do}
    amaxes = {f"amax_{name}": t.abs().max() for name, t in found.items()}
    return {**{name: 16 * t for name, t in found.items()}, **amaxes, "amax_dP": ds.abs().max()}


DEFINITIONS = {
    "BnAddRelu": bn_add_relu,
    "DReluForkDBn": drelu_fork_dbn,
    "dBNApply": dbn_apply,
    "ConvBNfprop": conv_bn_fprop,
    "DBARCS": dbarcs,
    "ConvBNwgrad": conv_bn_wgrad,
    "ConvBiasAct": conv_bias_act,
    "ConvScaleBiasAct": conv_scale_bias_act,
    "DgradDreluBNBwdWeight": dgrad_drelu_bn_bwd_weight,
    "MhaFprop": mha_fprop,
    "MhaBprop": mha_bprop,
    "flash attention fprop": flash_fprop,
    "flash attention bprop": flash_bprop,
    "FP8 flash attention fprop": fp8_flash_fprop,
    "FP8 flash attention bprop": fp8_flash_bprop,
}
