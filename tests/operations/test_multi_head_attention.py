"""Multi-head attention: the reference against loops, PyTorch and finite differences; kernels against the reference."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helper import Case, check, everywhere, over

import portadnn as dnn
from portadnn_backends.engines.multi_head.attend import Attended
from portadnn_backends.reference.outcomes import outcomes

RNG = np.random.default_rng(11)
TYPES = ("f32", "f16", "f64", "bf16")
PROJECTED = "heads=2 q_proj=3 k_proj=3 v_proj=4 o_proj=6"


def kept(heads, sizes, projections, steps, sequences, item):
    """Return the bytes of a reserve space by its documented sections."""
    rows = [sequences[side] * steps[side] for side in (0, 1, 1)]
    merged = heads * (projections[2] or sizes[2])
    vectors = [r * (heads * p or s) * item for r, p, s in zip(rows, projections[:3], sizes, strict=True)]
    statistics = rows[0] * heads * max(item, 4)
    sections = [*vectors, statistics, rows[0] * merged * item, *vectors, 32]
    return sum(-(-size // 256) * 256 for size in sections)


def line(
    op, dtype="f32", *, steps=(3, 5), batch=2, beams=1, own=False, lengths=True, windows=True, training=None, **rest
):
    """Return a line of vectors of 4, 5 and 6 numbers, projected to 2 heads of 3, 3 and 4 numbers and to 6."""
    key_beams = beams if own else 1
    shapes = {
        "q": (steps[0], batch, beams, 4),
        "k": (steps[1], batch, key_beams, 5),
        "v": (steps[1], batch, key_beams, 6),
    }
    out = (steps[0], batch, beams, 6)
    biases = rest.get("biases", 0)
    size = 2 * 3 * 4 + 2 * 3 * 5 + 2 * 4 * 6 + 6 * 8 + biases * (6 + 6 + 8 + 6)
    words = [f"{op} " + " ".join(f"{n}={dtype}:{'x'.join(map(str, s))}" for n, s in shapes.items())]
    dims = "x".join(map(str, out))
    if op.endswith("forward"):
        words.append(f"residuals={dtype}:{dims} w={dtype}:{size}")
        if training is not None:
            many = (batch * beams, batch * key_beams)
            item = {"f64": 8, "f32": 4}.get(dtype, 2)
            bytes_ = kept(2, (4, 5, 6), (3, 3, 4, 6), steps, many, item)
            words.append(f"reserve=u8:{bytes_}")
            words += [f"{n}_states=u8:32" for n in ("attn", "post") if f"{n}_dropout" in rest]
    else:
        words.append(f"dout={dtype}:{dims} {'dw' if op.endswith('weights') else 'w'}={dtype}:{size}")
    if lengths:
        words.append(f"lengths_q=i32:{batch * beams} lengths_kv=i32:{batch * key_beams}")
    if windows and not op.endswith("weights"):
        words.append(f"windows=i32:2x{steps[0]}")
    words.append(PROJECTED + (" query_map=one_to_one" if own else ""))
    return " ".join([*words, *(f"{name}={value}" for name, value in rest.items())])


OPS = ("multi_head_attn_forward", "multi_head_attn_backward_data", "multi_head_attn_backward_weights")


def without_reserve(problem, tensors, numbers):
    """Return what a pass computes, but for the reserve space, whose numbers are no more exact than they have to be."""
    return {name: values for name, values in outcomes(problem, tensors, numbers).items() if name != "reserve"}


def _large(op, dtype):
    """Return a line whose products are worth kernels of their own."""
    tensors = f"q={dtype}:260x2x1x272 k={dtype}:270x2x1x272 v={dtype}:270x2x1x272"
    size = 4 * 256 * 272 + 3 * 256 + 272
    given = f"dw={dtype}:{size}" if op.endswith("weights") else f"w={dtype}:{size}"
    if op.endswith("forward"):
        given += f" residuals={dtype}:260x2x1x272"
    else:
        given += f" dout={dtype}:260x2x1x272"
    return f"{op} {tensors} {given} heads=4 q_proj=64 k_proj=64 v_proj=64 o_proj=272 biases=1 scale=0.125"


def _cases():
    for op, dtype in itertools.product(OPS, TYPES):
        yield Case(line(op, dtype, biases=1, scale=0.5), long=dtype in ("f64", "bf16"))
    for op in OPS:
        yield Case(line(op, beams=3, own=True, biases=1), long=op != OPS[0])
        yield Case(line(op, beams=2, lengths=False, windows=False, attn_dropout=0.25, post_dropout=0.5, training=True))
        yield Case(line(op, steps=(33, 40), batch=3, beams=2, scale=0.3, attn_dropout=0.5), everywhere=False)
    for op, dtype in itertools.product(OPS, ("f32", "f16")):
        yield Case(_large(op, dtype), everywhere=False, long=(op, dtype) != (OPS[0], "f16"))
    same = "q=f32:4x2x1x8 k=f32:3x2x1x8 v=f32:3x2x1x5 heads=3"
    yield Case(f"multi_head_attn_forward {same}")
    yield Case(f"multi_head_attn_backward_data {same} scale=0.2")
    yield Case("multi_head_attn_forward q=f32:4x2x2x8/8,64,32,1 k=f32:3x2x1x8/16,8,8,1 v=f32:3x2x1x5/5,15,15,1 heads=1")
    yield Case("multi_head_attn_forward q=f16:1x1x1x64 k=f16:70x1x1x64 v=f16:70x1x1x64 heads=4", everywhere=False)


@over(tuple(_cases()))
def test_agrees_with_the_reference(handle, case):
    check(handle, case, oracle=without_reserve)


# the definition, in loops ---------------------------------------------------------------------------


def attention(q, k, v, weights, biases, scale, heads, inside_q, inside_k, windows, own, residuals):
    """Return the outputs of tensors [step][batch][beam][number] and matrices [head][projected][number], or None."""
    steps, batch, beams, _ = q.shape
    out_size = residuals.shape[3]
    out = np.zeros((steps, batch, beams, out_size))

    def project(which, head, vector):
        if weights[which] is None:
            return vector
        return weights[which][head] @ vector + biases[which][head]

    for t, n, b in itertools.product(range(steps), range(batch), range(beams)):
        if t >= inside_q[n][b]:
            continue
        beam = b if own else 0
        found = []
        for head in range(heads):
            query = project(0, head, q[t, n, b])
            places = list(range(windows[0][t], min(windows[1][t], inside_k[n][beam])))
            scores = [scale * float(query @ project(1, head, k[s, n, beam])) for s in places]
            powers = [math.exp(score) for score in scores]
            size = len(project(2, head, v[0, n, beam]))
            mixed = np.zeros(size)
            for power, s in zip(powers, places, strict=True):
                mixed += power / sum(powers) * project(2, head, v[s, n, beam])
            found.append(mixed)
        if weights[3] is None:
            value = np.concatenate(found)
        else:
            value = sum(weights[3][head] @ found[head] for head in range(heads)) + biases[3][0]
        out[t, n, b] = value + residuals[t, n, b]
    return out


def setting(own, projections, biases=True, heads=2, beams=2):
    """Return arrays, descriptor and the groups of parameters of a small case."""
    sizes = (4, 5, 6) if projections[0] else (5, 5, 6)
    attn = dnn.AttnDescriptor(
        heads, 0.7, *projections, biases, "one_to_one" if own else "all_to_one", compute_type="float64"
    )
    key_beams = beams if own else 1
    q = RNG.standard_normal((4, 3, beams, sizes[0]))
    k, v = (RNG.standard_normal((5, 3, key_beams, size)) for size in sizes[1:])
    count = dnn.get_multi_head_attn_buffers(HANDLE, attn, q, k, v)[0] // 8
    w = RNG.standard_normal(max(count, 1))
    groups = [None] * 8
    if count:
        groups = [dnn.get_multi_head_attn_weights(HANDLE, attn, sizes, w, kind) for kind in dnn.MultiHeadAttnWeightKind]
    lengths = tuple(RNG.integers(1, most, (3, many), np.int32) for most, many in ((5, beams), (6, key_beams)))
    first = np.array([0, 1, 2, 5])
    windows = np.stack([first, first + np.array([3, 4, 1, 0])]).astype(np.int32)
    return attn, (q, k, v, w if count else None), groups, lengths, windows


HANDLE = dnn.Handle("reference")
PROJECTIONS = [(3, 3, 2, 7), (0, 0, 0, 0), (0, 0, 3, 0), (3, 3, 0, 0), (0, 0, 0, 5)]


@pytest.mark.parametrize("projections", PROJECTIONS)
@pytest.mark.parametrize("own", [False, True])
def test_the_reference_is_the_definition(own, projections):
    attn, (q, k, v, w), groups, lengths, windows = setting(own, projections)
    weights = groups[:4]
    biases = [None if g is None else g[..., 0] for g in groups[4:]]
    width = projections[3] or 2 * (projections[2] or 6)
    residuals = RNG.standard_normal((*q.shape[:3], width))
    own_lengths = {"lengths_q": lengths[0].reshape(-1), "lengths_kv": lengths[1].reshape(-1)}
    found = dnn.multi_head_attn_forward(
        HANDLE, q, k, v, w, attn, residuals=residuals, windows=windows.tolist(), **own_lengths
    )
    want = attention(q, k, v, weights, biases, 0.7, 2, *lengths, windows, own, residuals)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("projections", PROJECTIONS)
@pytest.mark.parametrize("own", [False, True])
def test_gradients_are_the_derivatives(own, projections):
    attn, (q, k, v, w), _, lengths, windows = setting(own, projections)
    options = {"lengths_q": lengths[0].reshape(-1), "lengths_kv": lengths[1].reshape(-1)}
    reserve = np.zeros(dnn.get_multi_head_attn_buffers(HANDLE, attn, q, k, v)[2], np.uint8)

    def outputs(*tensors):
        return dnn.multi_head_attn_forward(HANDLE, *tensors, attn, windows=windows, reserve=reserve, **options)

    out = outputs(q, k, v, w)
    dout = RNG.standard_normal(out.shape)
    gradients = dnn.multi_head_attn_backward_data(
        HANDLE, dout, q, k, v, w, attn, windows=windows, reserve=reserve, **options
    )
    given = [q, k, v]
    if w is not None:
        dw = np.ones_like(w)
        dnn.multi_head_attn_backward_weights(HANDLE, q, k, v, dout, reserve, attn, dw, **options)
        given, gradients = [*given, w], (*gradients, dw - 1)
    for which, gradient in enumerate(gradients):
        flat = given[which].reshape(-1)
        for place in RNG.choice(flat.size, min(flat.size, 12), replace=False):
            kept_value, losses = flat[place], []
            for away in (1e-5, -1e-5):
                flat[place] = kept_value + away
                losses.append(float((outputs(q, k, v, w) * dout).sum()))
            flat[place] = kept_value
            slope = (losses[0] - losses[1]) / 2e-5
            assert abs(gradient.reshape(-1)[place] - slope) < 1e-7 * (1 + abs(slope)) + 1e-8


@everywhere()
def test_agrees_with_pytorch(handle):
    """One beam, all keys: torch.nn.functional.multi_head_attention_forward, outputs and gradients."""
    torch = pytest.importorskip("torch")
    heads, size, steps, keys, batch = 2, 6, 4, 5, 3
    shapes = ((steps, batch, size), (keys, batch, size), (keys, batch, size))
    tensors = [torch.randn(shape, dtype=torch.float32, requires_grad=True) for shape in shapes]
    layer = torch.nn.MultiheadAttention(size, heads)
    out, _ = layer(*tensors)
    dout = torch.randn_like(out)
    out.backward(dout)
    attn = dnn.AttnDescriptor(heads, (size // heads) ** -0.5, *(size // heads,) * 3, size, True)
    q, k, v = (handle.asarray(t.detach().numpy()[:, :, None]) for t in tensors)
    counts = dnn.get_multi_head_attn_buffers(handle, attn, q, k, v)
    parts = [layer.in_proj_weight, layer.out_proj.weight, layer.in_proj_bias, layer.out_proj.bias]
    w = handle.asarray(np.concatenate([p.detach().numpy().reshape(-1) for p in parts]))
    assert counts[0] == handle.to_numpy(w).nbytes
    reserve = handle.empty_bytes(counts[2])
    found = dnn.multi_head_attn_forward(handle, q, k, v, w, attn, reserve=reserve)
    np.testing.assert_allclose(handle.to_numpy(found)[:, :, 0], out.detach().numpy(), rtol=1e-5, atol=1e-5)
    above = handle.asarray(dout.numpy()[:, :, None])
    gradients = dnn.multi_head_attn_backward_data(handle, above, q, k, v, w, attn, reserve=reserve)
    for gradient, tensor in zip(gradients, tensors, strict=True):
        np.testing.assert_allclose(handle.to_numpy(gradient)[:, :, 0], tensor.grad.numpy(), rtol=1e-4, atol=1e-5)
    dw = handle.asarray(np.zeros(counts[0] // 4, np.float32))
    dnn.multi_head_attn_backward_weights(handle, q, k, v, above, reserve, attn, dw)
    want = np.concatenate([p.grad.numpy().reshape(-1) for p in parts])
    np.testing.assert_allclose(handle.to_numpy(dw), want, rtol=1e-4, atol=1e-4)


@everywhere()
def test_what_lies_behind_the_lengths_is_not_read(handle):
    """NaN there reaches neither outputs nor gradients, which are 0 there."""
    attn = dnn.AttnDescriptor(2, 1.0, 3, 3, 3, 4)
    arrays = [RNG.standard_normal((3, 2, 1, 4)).astype(np.float32) for _ in range(4)]
    for array in arrays:
        array[2:, 0] = np.nan
    q, k, v, dout = map(handle.asarray, arrays)
    sizes = dnn.get_multi_head_attn_buffers(handle, attn, q, k, v)
    w = handle.asarray(RNG.standard_normal(sizes[0] // 4).astype(np.float32))
    reserve, lengths = handle.empty_bytes(sizes[2]), {"lengths_q": [2, 3], "lengths_kv": [2, 3]}
    out = handle.to_numpy(dnn.multi_head_attn_forward(handle, q, k, v, w, attn, reserve=reserve, **lengths))
    assert np.isfinite(out).all()
    assert not out[2, 0].any()
    gradients = dnn.multi_head_attn_backward_data(handle, dout, q, k, v, w, attn, reserve=reserve, **lengths)
    for gradient in map(handle.to_numpy, gradients):
        assert np.isfinite(gradient).all()
        assert not gradient[2, 0].any()
    dw = handle.asarray(np.zeros(sizes[0] // 4, np.float32))
    dnn.multi_head_attn_backward_weights(handle, q, k, v, dout, reserve, attn, dw, **lengths)
    assert np.isfinite(handle.to_numpy(dw)).all()


@everywhere()
def test_dropout_is_the_states(handle):
    """Of equal weights, about the share that is asked for is dropped, and every call draws anew."""
    states = dnn.set_dropout_descriptor(handle, 0.25, seed=5)
    attn = dnn.AttnDescriptor(1, 0.0, attn_dropout=states)
    q, k = (handle.asarray(np.zeros((64, 1, 1, 4), np.float32)) for _ in range(2))
    v = handle.asarray(np.broadcast_to(np.eye(64, dtype=np.float32)[:, None, None], (64, 1, 1, 64)).copy())
    reserve = handle.empty_bytes(dnn.get_multi_head_attn_buffers(handle, attn, q, k, v)[2])
    first, second = (
        handle.to_numpy(dnn.multi_head_attn_forward(handle, q, k, v, None, attn, reserve=reserve)) for _ in range(2)
    )
    assert 0.2 < (first == 0).mean() < 0.3
    np.testing.assert_allclose(first[first != 0], 1 / 64 / 0.75, rtol=1e-6)
    assert (first != second).any()
    inference = handle.to_numpy(dnn.multi_head_attn_forward(handle, q, k, v, None, attn))
    np.testing.assert_allclose(inference, 1 / 64, rtol=1e-6)


@everywhere()
def test_scores_in_memory(handle, monkeypatch):
    """What heads too long for the kernels of attention take, with short ones."""
    monkeypatch.setattr(Attended, "takes", staticmethod(lambda todo: False))
    for op in OPS[:2]:
        check(handle, Case(line(op, biases=1, scale=0.15, beams=2)), oracle=without_reserve)
