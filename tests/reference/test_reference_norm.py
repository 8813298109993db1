"""The reference's normalisations against PyTorch, ONNX's reference evaluator and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from helper import compare
from test_gradients import agree

import portadnn as dnn

EXACT = 1e-11
EPSILON = 2.0**-10  # a float32, as which ONNX keeps it
SHAPES = [(4, 3, 5, 6), (2, 5, 2, 3, 4), (7, 2, 1, 1)]


def close(got, want):
    want = np.asarray(want.detach() if hasattr(want, "detach") else want)
    compare(np.asarray(got).reshape(want.shape), want, EXACT * (1 + np.abs(want)))


def normal(*dims, seed=3):
    return np.random.default_rng([seed, *dims]).standard_normal(dims)


def parameters(dims, count, positive=False):
    """Return that many tensors of some dims, the last one positive where asked for."""
    made = [normal(*dims, seed=k) for k in range(count)]
    if positive:
        made[-1] = np.abs(made[-1]) + 0.5
    return made


@pytest.mark.parametrize("dims", SHAPES)
@pytest.mark.parametrize("mode", ["SPATIAL", "PER_ACTIVATION"])
def test_batch_against_torch(reference, dims, mode):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    like = dnn.derive_bn_tensor_descriptor(dnn.TensorDescriptor(dims), mode).dims
    x, dy = normal(*dims), normal(*dims, seed=4)
    scale, bias, mean, variance = parameters(like, 4, positive=True)
    flat = dims if mode == "SPATIAL" else (dims[0], int(np.prod(dims[1:])))  # an activation is a channel
    tensors = [torch.tensor(x.reshape(flat), requires_grad=True)]
    tensors += [torch.tensor(p.ravel(), requires_grad=True) for p in (scale, bias)]
    running = [torch.tensor(p.ravel()) for p in (mean, variance)]
    function = torch.nn.functional.batch_norm
    y = function(tensors[0], *running, *tensors[1:], False, 0, 1e-3)
    close(
        dnn.batch_normalization_forward_inference(reference, x, scale, bias, mean, variance, mode=mode, epsilon=1e-3),
        y.reshape(dims),
    )
    y = function(tensors[0], *running, *tensors[1:], True, 0.3, 1e-3)
    options = {"mode": mode, "epsilon": 1e-3}
    saved = np.empty(like), np.empty(like)
    got = dnn.batch_normalization_forward_training(
        reference, x, scale, bias, None, mean, variance, *saved, exponential_average_factor=0.3, **options
    )
    close(got, y.reshape(dims))
    close(mean, running[0].reshape(like))
    close(variance, running[1].reshape(like))
    gradients = torch.autograd.grad(y, tensors, torch.tensor(dy.reshape(flat)))
    for statistics in (saved, (None, None)):
        found = dnn.batch_normalization_backward(reference, x, dy, scale, *statistics, **options)
        for one, other in zip(found, gradients, strict=True):
            close(one, other.reshape(one.shape))


@pytest.mark.parametrize("dims", SHAPES)
def test_batch_against_onnx(reference, dims):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from test_reference_onnx import evaluate

    like = (1, dims[1], *(1,) * (len(dims) - 2))
    x = normal(*dims)
    scale, bias, mean, variance = parameters(like, 4, positive=True)
    flat = [p.ravel() for p in (scale, bias, mean, variance)]
    want = evaluate("BatchNormalization", x, *flat, epsilon=EPSILON)
    close(dnn.batch_normalization_forward_inference(reference, x, scale, bias, mean, variance, epsilon=EPSILON), want)
    want = evaluate("BatchNormalization", x, *flat, outputs=3, epsilon=EPSILON, training_mode=1, momentum=0.75)
    close(dnn.batch_normalization_forward_training(reference, x, scale, bias, epsilon=EPSILON), want)


@pytest.mark.parametrize("dims", SHAPES)
@pytest.mark.parametrize("mode", ["SPATIAL", "PER_ACTIVATION"])
def test_batch_gradients(reference, dims, mode):
    """Each gradient is the slope of the forward pass, scaled and added to what was there as its own factors say."""
    rng = np.random.default_rng(2)
    like = dnn.derive_bn_tensor_descriptor(dnn.TensorDescriptor(dims), mode).dims
    x, g = normal(*dims), normal(*dims, seed=4)
    scale, bias, dscale, dbias = parameters(like, 4)
    options = {"mode": mode, "epsilon": 0.5}
    priors = normal(*dims, seed=5), dscale, dbias
    found = dnn.batch_normalization_backward(
        reference,
        x,
        g,
        scale,
        None,
        None,
        *(p.copy() for p in priors),
        alpha_data_diff=1.5,
        beta_data_diff=0.5,
        alpha_param_diff=-2,
        beta_param_diff=0.25,
        **options,
    )

    def loss(x, scale, bias):
        return (g * dnn.batch_normalization_forward_training(reference, x, scale, bias, **options)).sum()

    agree(lambda v: 1.5 * loss(v, scale, bias), found[0] - 0.5 * priors[0], x, rng)
    agree(lambda v: -2 * loss(x, v, bias), found[1] - 0.25 * priors[1], scale, rng)
    agree(lambda v: -2 * loss(x, scale, v), found[2] - 0.25 * priors[2], bias, rng)


SAMPLES = [  # dims, mode, options, dims of parameters
    ((3, 4, 5, 6), "LAYER_NORM", {}, (1, 4, 5, 6)),
    ((2, 4, 5, 6), "LAYER_NORM", {"axis": -1}, (1, 1, 1, 6)),
    ((3, 4, 6), "LAYER_NORM", {"axis": 2}, (1, 1, 6)),
    ((3, 4, 6), "RMS_NORM", {"axis": 2}, (1, 1, 6)),
    ((2, 4, 3, 2, 2), "INSTANCE_NORM", {}, (1, 4, 1, 1, 1)),
    ((2, 6, 3, 4), "GROUP_NORM", {"groups": 3}, (1, 6, 1, 1)),
]


def _torch(functional, x, mode, options, scale, bias):
    shape = scale.shape[options.get("axis", 1) :]
    if mode == "LAYER_NORM":
        return functional.layer_norm(x, shape, scale.reshape(shape), bias.reshape(shape), EPSILON)
    if mode == "RMS_NORM":
        return functional.rms_norm(x, shape, scale.reshape(shape), EPSILON) + bias
    if mode == "INSTANCE_NORM":
        return functional.instance_norm(x, None, None, scale.flatten(), bias.flatten(), eps=EPSILON)
    return functional.group_norm(x, options["groups"], scale.flatten(), bias.flatten(), EPSILON)


@pytest.mark.parametrize(("dims", "mode", "options", "like"), SAMPLES)
def test_samples_against_torch(reference, dims, mode, options, like):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, dy = normal(*dims), normal(*dims, seed=4)
    scale, bias = parameters(like, 2)
    tensors = [torch.tensor(a, requires_grad=True) for a in (x, scale, bias)]
    y = _torch(torch.nn.functional, tensors[0], mode, options, *tensors[1:])
    problem = dnn.parse(
        f"normalization_forward x=f64:{'x'.join(map(str, dims))} mode={mode.lower()} "
        + " ".join(f"{k}={v}" for k, v in options.items())
    )
    mean, inverse = (np.empty(problem.statistics_dims) for _ in range(2))
    saved = (None, inverse) if mode == "RMS_NORM" else (mean, inverse)
    kinds = {"mode": mode, "epsilon": EPSILON, **options}
    close(dnn.normalization_forward(reference, x, scale, bias, None, *saved, **kinds), y)
    gradients = torch.autograd.grad(y, tensors, torch.tensor(dy))
    for statistics in (saved, (None, None)):
        dbias = np.empty(like)
        found = dnn.normalization_backward(reference, x, dy, scale, *statistics, dbias=dbias, **kinds)
        for one, other in zip(found, gradients, strict=True):
            close(one, other)


@pytest.mark.parametrize(("dims", "mode", "options", "like"), SAMPLES)
def test_samples_against_onnx(reference, dims, mode, options, like):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from test_reference_onnx import evaluate

    x = normal(*dims)
    scale, bias = parameters(like, 2)
    shape = like[options.get("axis", 1) :]
    if mode == "LAYER_NORM":
        axis = options.get("axis", 1)
        want = evaluate("LayerNormalization", x, scale.reshape(shape), bias.reshape(shape), axis=axis, epsilon=EPSILON)
    elif mode == "INSTANCE_NORM":
        want = evaluate("InstanceNormalization", x, scale.ravel(), bias.ravel(), epsilon=EPSILON)
    else:
        pytest.skip(f"{mode} came with later operator sets than the evaluator's here; torch checks it")
    close(dnn.normalization_forward(reference, x, scale, bias, mode=mode, epsilon=EPSILON, **options), want)


@pytest.mark.parametrize(("dims", "mode", "options", "like"), SAMPLES)
def test_sample_gradients(reference, dims, mode, options, like):
    rng = np.random.default_rng(2)
    x, g, prior = normal(*dims), normal(*dims, seed=4), normal(*dims, seed=5)
    scale, bias, dscale, dbias = parameters(like, 4)
    kinds = {"mode": mode, "epsilon": 0.5, **options}
    blends = {"alpha_data_diff": 1.5, "beta_data_diff": 0.5, "alpha_param_diff": -2, "beta_param_diff": 0.25}
    outputs = [a.copy() for a in (prior, dscale, dbias)]
    found = dnn.normalization_backward(reference, x, g, scale, None, None, *outputs, **blends, **kinds)

    def loss(x, scale, bias):
        return (g * dnn.normalization_forward(reference, x, scale, bias, **kinds)).sum()

    agree(lambda v: 1.5 * loss(v, scale, bias), found[0] - 0.5 * prior, x, rng)
    agree(lambda v: -2 * loss(x, v, bias), found[1] - 0.25 * dscale, scale, rng)
    agree(lambda v: -2 * loss(x, scale, v), found[2] - 0.25 * dbias, bias, rng)
    plain = dnn.normalization_backward(reference, x, g, **kinds)[0]
    agree(lambda v: (g * dnn.normalization_forward(reference, v, **kinds)).sum(), plain, x, rng)
