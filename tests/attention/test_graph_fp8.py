"""FP8 with scales: attention, products and convolutions, against torch's FP8 types."""

from __future__ import annotations

import functools

import helper
import numpy as np
import pytest
from graphs import D, close, given, new, numbers, run

import portadnn.graph as cudnn

torch = pytest.importorskip("torch")
TYPES = {D.FP8_E4M3: torch.float8_e4m3fn, D.FP8_E5M2: torch.float8_e5m2}


def stored(true, scale, kind=D.FP8_E4M3):
    """Return what FP8 keeps of numbers times a scale, as numbers; torch rounds from float32."""
    return (torch.as_tensor(true) * scale).float().to(TYPES[kind]).double()


def fp8_graph(handle="reference"):
    return new(handle, io=D.FP8_E4M3, intermediate=D.FLOAT, compute=D.FLOAT)


def everywhere():
    """Return the reference and every target, each as what opens a handle."""
    opened = [pytest.param(lambda: "reference", id="reference")]
    return opened + [
        pytest.param(functools.partial(helper.open_handle, target), id=target.name) for target in helper.targets()
    ]


def scalar(g, value):
    return g.tensor_scalar(value, cudnn.scalar_type.RUNTIME_PARAM)


def same(got, want, kind=D.FP8_E4M3):
    """Demand the same FP8 numbers but for those that lay between two, which are neighbours then; 2 % at most."""
    want = want.detach().numpy()
    apart = np.abs(got - want)
    step = 2.0 ** -(3 if kind is D.FP8_E4M3 else 2)
    assert (apart <= np.maximum(np.abs(want) * step, 2**-9)).all()
    assert (apart > 0).mean() <= 0.02


DIMS = {"q": (2, 4, 9, 16), "k": (2, 2, 11, 16), "v": (2, 2, 11, 8), "dO": (2, 4, 9, 8)}
DESCALES = {"q": 0.25, "k": 0.5, "v": 2.0, "o": 0.125, "dO": 0.5}


def inputs():
    """Return what is stored of all tensors."""
    return {name: stored(numbers(dims, i), 1 / DESCALES[name]) for i, (name, dims) in enumerate(DIMS.items())}


def true_scores(fp8):
    q, k = (fp8[name] * DESCALES[name] for name in "qk")
    s = 0.25 * q @ k.repeat_interleave(2, 1).mT
    return torch.where(torch.arange(11) <= torch.arange(9)[:, None], s, -torch.inf)


def forward(handle="reference"):
    """Run attention, and return its results by name."""
    g, fp8 = fp8_graph(handle), inputs()
    q, k, v = (given(g, DIMS[name]) for name in "qkv")
    factors = [scalar(g, DESCALES[name]) for name in "qkv"]
    o, stats, amax_s, amax_o = g.sdpa_fp8(
        q, k, v, *factors, 1 / 256, 256.0, 8.0, attn_scale=0.25, use_causal_mask=True, generate_stats=True
    )
    feeds = {q: fp8["q"], k: fp8["k"], v: fp8["v"], **dict(zip(factors, [DESCALES[n] for n in "qkv"], strict=True))}
    names = ("o", "stats", "amax_s", "amax_o")
    found = dict(zip(names, run(g, feeds, [o, stats, amax_s, amax_o]), strict=True))
    assert [one.get_data_type() for one in (stats, amax_s, amax_o)] == [D.FLOAT] * 3
    return found


@pytest.mark.parametrize("handle", everywhere())
def test_attention(handle):
    fp8, got = inputs(), forward(handle())
    s = true_scores(fp8)
    p = torch.softmax(s, 3)
    v = fp8["v"].repeat_interleave(2, 1) * DESCALES["v"]
    powers = torch.exp(s - s.max(3, keepdim=True).values)
    o = stored(powers, 256) / 256 @ v / powers.sum(3, keepdim=True)
    close(got["stats"], torch.logsumexp(s, 3), 1e-6)
    close(got["amax_s"], p.max(), 1e-6)
    close(got["amax_o"], o.abs().max(), 1e-6)
    same(got["o"], stored(o, 8))


@pytest.mark.parametrize("handle", everywhere())
def test_attention_backward(handle):
    first, fp8 = forward(), inputs()
    g = new(handle(), io=D.FP8_E5M2, intermediate=D.FLOAT, compute=D.FLOAT)
    q, k, v = (given(g, DIMS[name], D.FP8_E4M3) for name in "qkv")
    o, do = given(g, DIMS["dO"], D.FP8_E4M3), given(g, DIMS["dO"], D.FP8_E4M3)
    stats = given(g, (2, 4, 9, 1), D.FLOAT)
    descales = [DESCALES[name] for name in ("q", "k", "v", "o", "dO")]
    outs = g.sdpa_fp8_backward(
        *(q, k, v, o, do, stats),
        *(*descales, 1 / 256, 1 / 64, 256.0, 4.0, 8.0, 2.0, 64.0),
        attn_scale=0.25,
        use_causal_mask=True,
    )
    feeds = {q: fp8["q"], k: fp8["k"], v: fp8["v"], o: first["o"], do: fp8["dO"], stats: first["stats"]}
    got = run(g, feeds, outs)
    p = torch.exp(true_scores(fp8) - torch.tensor(first["stats"]))
    tq, tk, tv, tdo = (fp8[name] * DESCALES[name] for name in ("q", "k", "v", "dO"))
    dot = (tdo * torch.tensor(first["o"]) * DESCALES["o"]).sum(3, keepdim=True)
    ds = 0.25 * p * (tdo @ tv.repeat_interleave(2, 1).mT - dot)
    ds8, p8 = stored(ds, 64) / 64, stored(p, 256) / 256

    def of_keys(full):
        return full[:, 0::2] + full[:, 1::2]

    want = [ds8 @ tk.repeat_interleave(2, 1), of_keys(ds8.mT @ tq), of_keys(p8.mT @ tdo)]
    for i, scale in enumerate((4.0, 8.0, 2.0)):
        same(got[i], stored(want[i], scale, D.FP8_E5M2), D.FP8_E5M2)
        close(got[3 + i], want[i].abs().max(), 1e-6)
    close(got[6], ds.abs().max(), 1e-6)


def scaled(g, product, descales, scale):
    """Return the product in FP8 and its largest true number, by the nodes that cuDNN has for that."""
    for descale in descales:
        product = g.mul(product, descale)
    amax = g.reduction(product, cudnn.reduction_mode.AMAX).set_dim([1] * 4).set_data_type(D.FLOAT)
    return g.mul(product, scale), amax


@pytest.mark.parametrize("operation", ["matmul", "conv_fprop"])
def test_products(operation):
    """Descale both, note the largest, scale and store: nodes of their own, on the definitions."""
    g = fp8_graph()
    dims = {"matmul": ((1, 2, 6, 20), (1, 2, 20, 7)), "conv_fprop": ((2, 8, 6, 5), (4, 8, 3, 3))}[operation]
    a8, b8 = (stored(numbers(one, i), 16.0) for i, one in enumerate(dims))
    a, b = (given(g, one) for one in dims)
    factors = [scalar(g, value) for value in (1 / 16, 1 / 16, 4.0)]
    y, amax = scaled(g, getattr(g, operation)(a, b), factors[:2], factors[2])
    got, largest = run(g, {a: a8, b: b8, **dict(zip(factors, (1 / 16, 1 / 16, 4.0), strict=True))}, [y, amax])
    want = a8 @ b8 if operation == "matmul" else torch.nn.functional.conv2d(a8, b8)
    same(got, stored(want / 256, 4))
    close(largest, (want / 256).abs().max(), 1e-6)
