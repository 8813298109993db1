"""MIOpen's reductions along one dim, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from miopen_env import DTYPES, D, F, H, close, every_backend

import portadnn as dnn
from portadnn import miopen

PROD, SUM = miopen.MIOPEN_REDUCE_CALCULATION_PROD, miopen.MIOPEN_REDUCE_CALCULATION_SUM
SKIP, KEEP = miopen.MIOPEN_REDUCE_CALCULATION_NOT_PROPAGATE_NAN, miopen.MIOPEN_REDUCE_CALCULATION_PROPAGATE_NAN
EXTREMES = {"ARGMIN": np.argmin, "ARGMAX": np.argmax, "MIN": np.argmin, "MAX": np.argmax}
I32 = miopen.miopenInt32


@every_backend()
@pytest.mark.parametrize(
    ("dims", "dim"), [((4, 3, 2, 5), 1), ((6, 70), 1), ((300, 3), 0), ((17,), 0), ((2, 3, 2, 2, 4), 4)]
)
def test_sums_and_products(env, dims, dim):
    host = env.random(*dims) + 1
    host[(0,) * len(dims)] = np.nan
    left = dims[:dim] + dims[dim + 1 :] or (1,)
    for op, skipping, keeping in ((SUM, np.nansum, np.sum), (PROD, np.nanprod, np.prod)):
        for nan, reduce in ((SKIP, skipping), (KEEP, keeping)):
            (xd, x), (yd, y) = env.pair(host), env.out(*left)
            size = miopen.miopenGetReduceCalculationWorkspaceSize(env.h, xd, dim, op, yd)
            miopen.miopenReduceCalculationForward(env.h, nan, *env.bytes(size), xd, x, dim, op, yd, y)
            want = reduce(host.astype(float), dim).reshape(left)
            found = env.host(y)
            assert (np.isnan(found) == np.isnan(want)).all()
            close(np.nan_to_num(found), np.nan_to_num(want), 1e-4)


@every_backend()
@pytest.mark.parametrize(("dims", "dim"), [((4, 3, 2, 5), 2), ((6, 70), 1), ((300, 3), 0), ((17,), 0)])
@pytest.mark.parametrize("dtype", [F, H, D])
def test_extremes(env, dims, dim, dtype):
    host = env.rng.integers(-9, 9, dims).astype(DTYPES[dtype])  # equals among them: the first counts
    left = dims[:dim] + dims[dim + 1 :] or (1,)
    for name, places in EXTREMES.items():
        xd, x = env.pair(host)
        yd, y = (None, None) if name.startswith("ARG") else env.out(*left, dtype=dtype)
        found = env.pair(np.full(left, -7, np.int32))
        op = getattr(miopen, f"MIOPEN_REDUCE_EXTREME_{name}")
        miopen.miopenReduceExtremeForward(env.h, xd, x, dim, op, yd, y, *found)
        assert (env.host(found[1]) == places(host, dim).reshape(left)).all()
        if y is not None:
            wanted = (host.min if name == "MIN" else host.max)(dim).reshape(left)
            assert (env.host(y) == wanted).all()


@every_backend()
def test_extremes_of_gaps(env):
    host = env.random(3, 4, 5)
    spread = np.full((3, 4, 10), 99, np.float32)
    spread[..., ::2] = host
    xd, x = env.desc(3, 4, 5, strides=(40, 10, 2)), env.dev(spread)
    yd, y = env.desc(3, 5, strides=(11, 2)), env.dev(np.full(40, -3, np.float32))
    nd, n = env.pair(np.zeros((3, 5), np.int32))
    miopen.miopenReduceExtremeForward(env.h, xd, x, 1, miopen.MIOPEN_REDUCE_EXTREME_MAX, yd, y, nd, n)
    found = env.host(y)
    want = np.full(40, -3, np.float32)
    for i, row in enumerate(host.max(1)):
        want[11 * i : 11 * i + 9 : 2] = row
    assert (found == want).all()
    assert (env.host(n) == host.argmax(1)).all()


@every_backend()
def test_refusals(env):
    xd, x = env.pair(env.random(3, 4))
    yd, y = env.out(3)
    good = {"dim": 1, "op": SUM, "y": yd}
    for change, word in (
        ({"dim": 2}, "dim"),
        ({"dim": -1}, "dim"),
        ({"op": 3}, "Op"),
        ({"y": env.desc(4)}, "reduceDesc"),
    ):
        c = {**good, **change}
        with pytest.raises(dnn.BadParam, match=word) as caught:
            miopen.miopenReduceCalculationForward(env.h, KEEP, None, 0, xd, x, c["dim"], c["op"], c["y"], y)
        assert caught.value.status is miopen.miopenStatusBadParm
    with pytest.raises(dnn.BadParam, match="indice"):
        miopen.miopenReduceExtremeForward(env.h, xd, x, 1, 4, yd, y, yd, env.out(3)[1])
    assert np.isnan(env.host(y)).all()
