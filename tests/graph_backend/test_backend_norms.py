"""Statistics and normalisations described by backend descriptors, compared with their definitions in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from descriptors import T, close, data, make, number, numbers, run

from portadnn import cudnn

DIMS = (2, 3, 4, 5)
PER_CHANNEL = (1, 3, 1, 1)
AXES = {"axis": (0, 2, 3), "keepdims": True}


def test_statistics_then_finalize():
    """genstats and bn_finalize joined by virtual tensors are a batch normalisation's scale and bias."""
    x, total, squares = T(DIMS), T(PER_CHANNEL, virtual=True), T(PER_CHANNEL, virtual=True)
    scale, bias, mean, var = (T(PER_CHANNEL) for _ in range(4))
    outs = {key: T(PER_CHANNEL) for key in ("EQ_SCALE", "EQ_BIAS", "SAVED_MEAN", "SAVED_INV_STD")}
    outs |= {key: T(PER_CHANNEL) for key in ("UPDATED_RUNNING_MEAN", "UPDATED_RUNNING_VAR")}
    epsilon, momentum, count = number(), number(), number()
    operations = [
        make(
            "OPERATION_BN_FINALIZE_STATISTICS",
            STATS_MODE=cudnn.CUDNN_BN_FINALIZE_STATISTICS_TRAINING,
            MATH_PREC=data("DOUBLE"),
            Y_SUM_DESC=total,
            Y_SQ_SUM_DESC=squares,
            SCALE_DESC=scale,
            BIAS_DESC=bias,
            EPSILON_DESC=epsilon,
            ACCUM_COUNT_DESC=count,
            PREV_RUNNING_MEAN_DESC=mean,
            PREV_RUNNING_VAR_DESC=var,
            EXP_AVERATE_FACTOR_DESC=momentum,
            **{f"{key}_DESC": one for key, one in outs.items()},
        ),
        make(
            "OPERATION_GEN_STATS",
            MODE=cudnn.CUDNN_GENSTATS_SUM_SQSUM,
            MATH_PREC=data("DOUBLE"),
            XDESC=x,
            SUMDESC=total,
            SQSUMDESC=squares,
        ),
    ]
    values = {x: numbers(DIMS), scale: numbers(PER_CHANNEL, 1), bias: numbers(PER_CHANNEL, 2)}
    values |= {mean: numbers(PER_CHANNEL, 3), var: numbers(PER_CHANNEL, 4, low=1)}
    feeds = {**values, epsilon: 0.01, momentum: 0.1, count: 40.0}
    got = dict(zip(outs, run(operations, feeds, list(outs.values())), strict=True))
    data_, gamma, beta, old_mean, old_var = values.values()
    m, v = data_.mean(**AXES), data_.var(**AXES)
    inverse = (v + 0.01) ** -0.5
    close(got["SAVED_MEAN"], m)
    close(got["SAVED_INV_STD"], inverse)
    close(got["EQ_SCALE"], gamma * inverse)
    close(got["EQ_BIAS"], beta - m * gamma * inverse)
    close(got["UPDATED_RUNNING_MEAN"], 0.9 * old_mean + 0.1 * m)
    close(got["UPDATED_RUNNING_VAR"], 0.9 * old_var + 0.1 * v * 40 / 39)


def normalised(x, axes, epsilon, *, centred=True):
    mean = x.mean(axis=axes, keepdims=True) if centred else 0.0
    inverse = (((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon) ** -0.5
    return (x - mean) * inverse, mean, inverse


def norm_gradient(g, normal, inverse, axes, *, centred=True):
    """Return dx of the gradient g = dy * scale of a normalisation over the axes."""
    g_mean = g.mean(axis=axes, keepdims=True) if centred else 0.0
    return inverse * (g - g_mean - normal * (g * normal).mean(axis=axes, keepdims=True))


def test_batch_norm_weights_give_the_gradient():
    x, dy = T(DIMS), T(DIMS)
    mean, inverse, scale = (T(PER_CHANNEL) for _ in range(3))
    outs = [T(PER_CHANNEL) for _ in range(5)]
    names = ("DBN_SCALE_DESC", "DBN_BIAS_DESC", "EQ_DY_SCALE_DESC", "EQ_X_SCALE_DESC", "EQ_BIAS")
    operation = make(
        "OPERATION_BN_BWD_WEIGHTS",
        MATH_PREC=data("DOUBLE"),
        MEAN_DESC=mean,
        INVSTD_DESC=inverse,
        BN_SCALE_DESC=scale,
        X_DESC=x,
        DY_DESC=dy,
        **dict(zip(names, outs, strict=True)),
    )
    values, loss, gamma = numbers(DIMS), numbers(DIMS, 1), numbers(PER_CHANNEL, 2)
    normal, m, inv = normalised(values, (0, 2, 3), 0.01)
    feeds = {x: values, dy: loss, mean: m, inverse: inv, scale: gamma}
    dscale, dbias, a, b, c = run([operation], feeds, outs)
    close(dscale, (loss * normal).sum(**AXES))
    close(dbias, loss.sum(**AXES))
    close(a * loss + b * values + c, norm_gradient(loss * gamma, normal, inv, (0, 2, 3)))


NORMS = {  # axes that are normalised together, dims of the scale
    "LAYER": ((1, 2, 3), (1, 3, 4, 5)),
    "INSTANCE": ((2, 3), PER_CHANNEL),
    "BATCH": ((0, 2, 3), PER_CHANNEL),
    "RMS": ((1, 2, 3), (1, 3, 4, 5)),
    "ADA_LAYER": ((1, 2, 3), (2, 3, 4, 5)),
}


def statistics_of(axes):
    return tuple(1 if i in axes else size for i, size in enumerate(DIMS))


@pytest.mark.parametrize("mode", NORMS)
@pytest.mark.parametrize("phase", ["TRAINING", "INFERENCE"])
def test_norm_forward(mode, phase):
    axes, dims = NORMS[mode]
    x, y, scale, bias, epsilon = T(DIMS), T(DIMS), T(dims), T(dims), number()
    mean, inverse = T(statistics_of(axes)), T(statistics_of(axes))
    centred = mode != "RMS"
    values, gamma, beta = numbers(DIMS), numbers(dims, 1), numbers(dims, 2)
    normal, m, inv = normalised(values, axes, 0.01, centred=centred)
    trains = phase == "TRAINING"
    kept = mean if centred else None
    of_running = mode == "BATCH" and not trains
    operation = make(
        "OPERATION_NORM_FORWARD",
        MODE=getattr(cudnn, f"CUDNN_{mode}_NORM"),
        PHASE=getattr(cudnn, f"CUDNN_NORM_FWD_{phase}"),
        XDESC=x,
        YDESC=y,
        SCALE_DESC=scale,
        BIAS_DESC=bias,
        EPSILON_DESC=epsilon,
        MEAN_DESC=kept if trains or of_running else None,
        INV_VARIANCE_DESC=inverse if trains or of_running else None,
    )
    feeds = {x: values, scale: gamma, bias: beta} | ({mean: m, inverse: inv} if of_running else {epsilon: 0.01})
    outputs = [y, *([one for one in (kept, inverse) if one] if trains else [])]
    got = run([operation], feeds, outputs)
    close(got[0], normal * gamma + beta)
    if trains:
        close(got[-1], inv)
        assert not centred or np.allclose(got[1], m)


@pytest.mark.parametrize("mode", NORMS)
def test_norm_backward(mode):
    axes, dims = NORMS[mode]
    centred = mode != "RMS"
    x, dy, dx, scale, dscale, dbias = T(DIMS), T(DIMS), T(DIMS), T(dims), T(dims), T(dims)
    mean, inverse = T(statistics_of(axes)), T(statistics_of(axes))
    operation = make(
        "OPERATION_NORM_BACKWARD",
        MODE=getattr(cudnn, f"CUDNN_{mode}_NORM"),
        XDESC=x,
        DYDESC=dy,
        SCALE_DESC=scale,
        MEAN_DESC=mean if centred else None,
        INV_VARIANCE_DESC=inverse,
        DXDESC=dx,
        DSCALE_DESC=dscale,
        DBIAS_DESC=dbias,
    )
    values, loss, gamma = numbers(DIMS), numbers(DIMS, 1), numbers(dims, 2)
    normal, m, inv = normalised(values, axes, 0.01, centred=centred)
    feeds = {x: values, dy: loss, scale: gamma, inverse: inv} | ({mean: m} if centred else {})
    got = run([operation], feeds, [dx, dscale, dbias])
    close(got[0], norm_gradient(loss * gamma, normal, inv, axes, centred=centred))
    summed = tuple(i for i, size in enumerate(dims) if size == 1)
    close(got[1], (loss * normal).sum(axis=summed, keepdims=True))
    close(got[2], loss.sum(axis=summed, keepdims=True))


def test_running_statistics():
    x, y, scale, bias, mean, inverse = T(DIMS), T(DIMS), *(T(PER_CHANNEL) for _ in range(4))
    old, new = [T(PER_CHANNEL) for _ in range(2)], [T(PER_CHANNEL) for _ in range(2)]
    epsilon, momentum = number(), number()
    operation = make(
        "OPERATION_NORM_FORWARD",
        MODE=cudnn.CUDNN_BATCH_NORM,
        PHASE=cudnn.CUDNN_NORM_FWD_TRAINING,
        XDESC=x,
        YDESC=y,
        SCALE_DESC=scale,
        BIAS_DESC=bias,
        EPSILON_DESC=epsilon,
        EXP_AVG_FACTOR_DESC=momentum,
        MEAN_DESC=mean,
        INV_VARIANCE_DESC=inverse,
        INPUT_RUNNING_MEAN_DESC=old[0],
        INPUT_RUNNING_VAR_DESC=old[1],
        OUTPUT_RUNNING_MEAN_DESC=new[0],
        OUTPUT_RUNNING_VAR_DESC=new[1],
    )
    values, before = numbers(DIMS), [numbers(PER_CHANNEL, 1), numbers(PER_CHANNEL, 2, low=1)]
    feeds = {x: values, scale: np.ones(PER_CHANNEL), bias: np.zeros(PER_CHANNEL), epsilon: 0.01, momentum: 0.25}
    got = run([operation], feeds | dict(zip(old, before, strict=True)), [*new, y, mean, inverse])
    close(got[0], 0.75 * before[0] + 0.25 * values.mean(**AXES))
    close(got[1], 0.75 * before[1] + 0.25 * values.var(**AXES, ddof=1))
