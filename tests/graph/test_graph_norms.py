"""The definitions of normalisations and their gradients, compared with torch and its automatic differentiation."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import close, double, given, numbers, run, scalar

import portadnn.graph as cudnn

torch = pytest.importorskip("torch")
F = torch.nn.functional
TRAINING, INFERENCE = cudnn.norm_forward_phase.TRAINING, cudnn.norm_forward_phase.INFERENCE


def t(values):
    return torch.tensor(np.asarray(values), dtype=torch.float64)


def test_batchnorm_all_three():
    dims, per = (3, 4, 5, 2), (1, 4, 1, 1)
    vx, vdy = t(numbers(dims)).requires_grad_(), t(numbers(dims, 1))
    scale, bias = t(numbers((4,), 2)).requires_grad_(), t(numbers((4,), 3)).requires_grad_()
    mean, var = t(numbers((4,), 4)), t(numbers((4,), 5, low=0.5))
    next_mean, next_var = mean.clone(), var.clone()
    want = F.batch_norm(vx, next_mean, next_var, scale, bias, True, 0.3, 1e-3)
    want.backward(vdy)
    g = double()
    x, dy = given(g, dims), given(g, dims)
    s, b, m, v = (given(g, per) for _ in range(4))
    y, saved, inverse, nm, nv = g.batchnorm(x, s, b, m, v, epsilon=scalar(g, 1e-3), momentum=scalar(g, 0.3))
    dx, ds, db = g.batchnorm_backward(dy, x, s, saved, inverse)
    again = g.batchnorm_inference(x, saved, inverse, s, b)
    feeds = {x: vx.detach(), dy: vdy, s: scale.detach(), b: bias.detach(), m: mean, v: var}
    got = run(g, feeds, [y, nm, nv, dx, ds, db, again])
    for one, other in zip(got, (want, next_mean, next_var, vx.grad, scale.grad, bias.grad, want), strict=True):
        close(one, other, 1e-7)  # epsilon and momentum are float32


def test_parts_of_batchnorm():
    """genstats and bn_finalize make a batch normalisation, dbn_weight and two products its gradient."""
    dims, per = (3, 4, 5, 2), (1, 4, 1, 1)
    vx, vdy = t(numbers(dims)).requires_grad_(), t(numbers(dims, 1))
    scale, bias = t(numbers((4,), 2)).requires_grad_(), t(numbers((4,), 3)).requires_grad_()
    mean, var = t(numbers((4,), 4)), t(numbers((4,), 5, low=0.5))
    next_mean, next_var = mean.clone(), var.clone()
    want = F.batch_norm(vx, next_mean, next_var, scale, bias, True, 0.25, 2.0**-10)
    want.backward(vdy)
    g = double()
    x, dy = given(g, dims), given(g, dims)
    s, b, m, v = (given(g, per) for _ in range(4))
    total, squares = g.genstats(x)
    eq_scale, eq_bias, saved, inverse, nm, nv = g.bn_finalize(total, squares, s, b, 2.0**-10, 30, m, v, 0.25)
    y = g.add(g.mul(x, eq_scale), eq_bias)
    ds, db, a, bx, c = g.dbn_weight(dy, x, saved, inverse, s)
    dx = g.add(g.add(g.mul(dy, a), g.mul(x, bx)), c)
    feeds = {x: vx.detach(), dy: vdy, s: scale.detach(), b: bias.detach(), m: mean, v: var}
    got = run(g, feeds, [y, nm, nv, dx, ds, db])
    for one, other in zip(got, (want, next_mean, next_var, vx.grad, scale.grad, bias.grad), strict=True):
        close(one, other, 1e-9)


def _normalised(kind, vx, scale, bias, epsilon):
    if kind == "instancenorm":
        return F.instance_norm(vx, weight=scale.reshape(-1), bias=bias.reshape(-1), eps=epsilon)
    axes = tuple(i for i, (s, d) in enumerate(zip(scale.shape, vx.shape, strict=True)) if s == d and i > 0)
    if kind == "rmsnorm":
        return vx * torch.rsqrt((vx**2).mean(axes, keepdim=True) + epsilon) * scale + bias
    centred = vx - vx.mean(axes, keepdim=True)
    return centred * torch.rsqrt((centred**2).mean(axes, keepdim=True) + epsilon) * scale + bias


NORMS = [
    ("layernorm", (3, 4, 5), (1, 1, 5)),
    ("layernorm", (3, 4, 5, 2), (1, 4, 5, 2)),
    ("rmsnorm", (6, 8), (1, 8)),
    ("adalayernorm", (3, 4, 5), (3, 1, 5)),
    ("instancenorm", (2, 4, 3, 5), (1, 4, 1, 1)),
]


@pytest.mark.parametrize(("kind", "dims", "parameters"), NORMS)
def test_norms_and_gradients(kind, dims, parameters):
    epsilon = 2.0**-12
    vx, vdy = t(numbers(dims)).requires_grad_(), t(numbers(dims, 1))
    scale, bias = t(numbers(parameters, 2)).requires_grad_(), t(numbers(parameters, 3)).requires_grad_()
    want = _normalised(kind, vx, scale, bias, epsilon)
    want.backward(vdy)
    g = double()
    x, dy, s, b = given(g, dims), given(g, dims), given(g, parameters), given(g, parameters)
    y, *statistics = getattr(g, kind)(TRAINING, x, s, b, epsilon)
    more = {"has_dbias": True} if kind == "rmsnorm" else {}
    gradients = getattr(g, f"{kind}_backward")(dy, x, s, *statistics, **more)
    got = run(g, {x: vx.detach(), dy: vdy, s: scale.detach(), b: bias.detach()}, [y, *gradients])
    for one, other in zip(got, (want, vx.grad, scale.grad, bias.grad), strict=True):
        close(one, other, 1e-10)


def test_norms_for_inference_have_no_statistics():
    g = double()
    x, s, b = given(g, (3, 8)), given(g, (1, 8)), given(g, (1, 8))
    y, mean, inverse = g.layernorm(INFERENCE, x, s, b, 1e-5)
    assert mean is None
    assert inverse is None
    z, nothing = g.rmsnorm(INFERENCE, x, s, epsilon=1e-5)
    assert nothing is None
    got = run(g, {x: numbers((3, 8)), s: np.ones(8), b: np.zeros(8)}, [y, z])
    close(got[0], F.layer_norm(t(numbers((3, 8))), (8,)), 1e-7)
    close(got[1], F.rms_norm(t(numbers((3, 8))), (8,), eps=1e-5), 1e-7)
