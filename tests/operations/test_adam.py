"""Adam and its relatives, against the formulas of their papers, step after step, in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from where import BACKENDS, open_handle

import portadnn as dnn
from portadnn.bfloat16 import as_float64

DIMS, STEPS = (3, 5, 7), 4
RATE = {"lr": 0.0625, "beta1": 0.875, "beta2": 0.984375, "eps": 2.0**-10}


def gradients(seed=1):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(DIMS).astype(np.float32) for _ in range(STEPS)]


def steps(start, grads, decay=0.0, variant="adam", maximize=False):
    """Return the parameters after all steps."""
    p, m, v, top = start.astype(float), 0.0, 0.0, 0.0
    lr, first, second, eps = RATE.values()
    for t, g in enumerate(grads, 1):
        g = -g.astype(float) if maximize else g.astype(float)
        if variant == "adamw":
            p = p * (1 - lr * decay)
        elif variant != "transformers":
            g = g + decay * p
        m, v = first * m + (1 - first) * g, second * v + (1 - second) * g**2
        if variant == "transformers":
            p = p - lr * np.sqrt(1 - second**t) / (1 - first**t) * m / (np.sqrt(v) + eps)
            p = p - lr * decay * p
            continue
        top = np.maximum(top, v)
        size = top if variant == "amsgrad" else v
        p = p - lr * (m / (1 - first**t)) / (np.sqrt(size / (1 - second**t)) + eps)
    return p


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("variant", ["adam", "amsgrad", "adamw", "transformers"])
@pytest.mark.parametrize("decay", [0.0, 0.125])
def test_steps_in_place(backend, variant, decay):
    start = np.random.default_rng(0).standard_normal(DIMS).astype(np.float32)
    flags = {} if variant == "adam" else {variant: True}
    with open_handle(backend) as h:
        p, m, v = h.asarray(start), *(h.asarray(np.zeros(DIMS, np.float32)) for _ in range(2))
        top = h.asarray(np.zeros(DIMS, np.float32)) if variant == "amsgrad" else None
        for t, g in enumerate(gradients(), 1):
            dnn.adam(h, p, h.asarray(g), m, v, max_exp_avg_sq=top, step=t, weight_decay=decay, **flags, **RATE)
        want = steps(start, gradients(), decay, variant)
        np.testing.assert_allclose(h.to_numpy(p), want, 2e-5, 2e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_mixed_precision(backend):
    """Scaled gradients of half precision, steps counted on the device, and one that is left out."""
    start = np.random.default_rng(0).standard_normal(DIMS).astype(np.float32)
    with open_handle(backend) as h:
        p, m, v = h.asarray(start), *(h.asarray(np.zeros(DIMS, np.float32)) for _ in range(2))
        count, scale = (h.device.asarray(np.int32([n])) for n in (0, 8))
        half = h.empty(DIMS, np.float16)
        grads = [g.astype(np.float16) for g in gradients()]
        for t, g in enumerate(grads):
            for bad in (1, 0) if t == 2 else (0,):
                found = h.device.asarray(np.uint8([bad]))
                given = {"grad_scale": scale, "found_inf": found, "state_step": count, "param_half": half}
                dnn.adam(h, p, h.asarray(g * np.float16(8)), m, v, **given, maximize=True, **RATE)
        want = steps(start, grads, maximize=True)
        assert h.to_numpy(count).tolist() == [STEPS]
        np.testing.assert_allclose(h.to_numpy(p), want, 2e-5, 2e-6)
        assert (h.to_numpy(half) == h.to_numpy(p).astype(np.float16)).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_half_copy_is_rounded_once(backend):
    """Of bfloat16 parameters the copy has all bits of a half: it is not the bfloat16 result converted."""
    bf16 = dnn.DataType.BFLOAT16
    start = as_float64(bf16.stored(np.random.default_rng(0).standard_normal(DIMS)))
    grad = as_float64(bf16.stored(gradients()[0]))
    with open_handle(backend) as h:
        p, g, m, v = (h.device.asarray(bf16.stored(values)) for values in (start, grad, 0 * grad, 0 * grad))
        half = h.empty(DIMS, np.float16)
        dnn.adam(h, p, g, m, v, param_half=half, **RATE)
        want = steps(start, [grad])
        np.testing.assert_allclose(h.to_numpy(half), want, 2**-10, 1e-6)
        np.testing.assert_allclose(as_float64(h.to_numpy(p)), want, 2**-7, 1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_of_their_own(backend):
    start = np.random.default_rng(0).standard_normal(DIMS).astype(np.float32)
    g = gradients()[0]
    with open_handle(backend) as h:
        p, m, v = h.asarray(start), *(h.asarray(np.zeros(DIMS, np.float32)) for _ in range(2))
        out = [h.empty(DIMS) for _ in range(3)]
        names = ("param_out", "exp_avg_out", "exp_avg_sq_out")
        dnn.adam(h, p, h.asarray(g), m, v, **dict(zip(names, out, strict=True)), **RATE)
        assert (h.to_numpy(p) == start).all() and not h.to_numpy(m).any()
        np.testing.assert_allclose(h.to_numpy(out[0]), steps(start, [g]), 2e-5, 2e-6)
        np.testing.assert_allclose(h.to_numpy(out[1]), 0.125 * g, 1e-6)
        np.testing.assert_allclose(h.to_numpy(out[2]), g**2 / 64, 1e-6)


def test_refusals():
    x = np.ones(DIMS, np.float32)
    with dnn.Handle("reference") as h:
        for change, word in (
            ({"amsgrad": True}, "max_exp_avg_sq"),
            ({"beta1": 1.0}, "beta1: expected at least 0"),
            ({"adamw": 1}, "adamw: expected True or False"),
            ({"transformers": True, "adamw": True}, "transformers"),
        ):
            with pytest.raises(dnn.BadParam, match=word):
                dnn.adam(h, x.copy(), x, x.copy(), x.copy(), **change)
