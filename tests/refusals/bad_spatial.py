# ruff: noqa: E501 -- one row, one line
"""Wrong calls of the spatial transformer; see bad_calls."""

from __future__ import annotations

from typing import Any

from bad_calls import Env, Row, bad, unsupported

import portadnn as dnn

S = dnn.SpatialTransformerDescriptor
X, Y, GRID, THETA = (2, 3, 8, 8), (2, 3, 4, 5), (2, 4, 5, 2), (2, 2, 3)
ST = S(Y)
FORWARD, BACKWARD = "spatial_tf_sampler_forward", "spatial_tf_sampler_backward"
GENERATE, THETAS = "spatial_tf_grid_generator_forward", "spatial_tf_grid_generator_backward"


def generate(e: Env, **given: Any) -> Any:
    """Make the right call but for what is given."""
    return e._call(
        dnn.spatial_tf_grid_generator_forward, "theta st grid", {"theta": THETA, "st": ST, "grid": GRID}, given
    )


def thetas(e: Env, **given: Any) -> Any:
    """Make the right call but for what is given."""
    return e._call(
        dnn.spatial_tf_grid_generator_backward, "dgrid st dtheta", {"dgrid": GRID, "st": ST, "dtheta": THETA}, given
    )


def sample(e: Env, **given: Any) -> Any:
    """Make the right call but for what is given."""
    return e._call(dnn.spatial_tf_sampler_forward, "x grid st y", {"x": X, "grid": GRID, "st": ST, "y": Y}, given)


def back(e: Env, **given: Any) -> Any:
    """Make the right call but for what is given."""
    defaults = {"x": X, "dy": Y, "grid": GRID, "st": ST, "dx": X, "dgrid": GRID}
    return e._call(dnn.spatial_tf_sampler_backward, "x dy grid st dx dgrid", defaults, given)


CALLS = (generate, thetas, sample, back)


def _shared(e: Env) -> Any:
    x = e.t(X)
    return back(e, x=x, dx=x)


ROWS: list[Row] = [
    bad("4.120", "SpatialTransformerDescriptor", lambda e: S((3, 4)), "dims", "3 to 8 dims", "(3, 4)"),
    bad("4.120", "SpatialTransformerDescriptor", lambda e: S((1, 2, -3, 4)), "dims[2]", ">= 0", "-3"),
    bad("4.120", "SpatialTransformerDescriptor", lambda e: S(Y, "complex64"), "dtype", "float32", "complex64"),
    bad("4.120", "SpatialTransformerDescriptor", lambda e: S(Y, sampler="nearest"), "sampler", "BILINEAR", "'nearest'"),
    bad("4.120", "SpatialTransformerDescriptor.set_nd", lambda e: S.set_nd(1, "float32", Y), "sampler", "BILINEAR", "1"),
    unsupported("4.120", "SpatialTransformerDescriptor", lambda e: S((1,) * 9), "dims", "at most 8", "(1, 1, 1"),
    bad("4.121", GENERATE, lambda e: generate(e, theta=None), "theta", "a tensor", "None"),
    bad("4.121", GENERATE, lambda e: generate(e, h=None), "handle", "Handle", "None"),
    bad("4.121", GENERATE, lambda e: generate(e, st=dnn.PoolingDescriptor("max", (2, 2))), "transformer", "SpatialTransformerDescriptor", "Pooling"),
    bad("4.121", GENERATE, lambda e: generate(e, theta=(3, 2, 3)), "theta.dims", "(2, 2, 3)", "(3, 2, 3)"),
    bad("4.121", GENERATE, lambda e: generate(e, theta=(2, 3, 2)), "theta.dims", "(2, 2, 3)", "(2, 3, 2)"),
    bad("4.121", GENERATE, lambda e: generate(e, grid=(2, 5, 4, 2)), "grid.dims", "(2, 4, 5, 2)", "(2, 5, 4, 2)"),
    bad("4.121", GENERATE, lambda e: generate(e, grid=(2, 4, 5, 3)), "grid.dims", "(2, 4, 5, 2)", "(2, 4, 5, 3)"),
    bad("4.121", GENERATE, lambda e: generate(e, theta=e.t(THETA, "float64")), "theta.dtype", "FLOAT as transformer", "DOUBLE"),
    bad("4.121", GENERATE, lambda e: generate(e, grid=e.t(GRID, "float64")), "grid.dtype", "FLOAT as theta", "DOUBLE"),
    unsupported("4.121", GENERATE, lambda e: generate(e, st=S((2, 3, 4, 5, 6)), grid=None), "transformer.dims", "4 dims", "(2, 3, 4, 5, 6)"),
    unsupported("4.121", GENERATE, lambda e: generate(e, st=S((2, 3, 4))), "transformer.dims", "4 dims", "(2, 3, 4)"),
    bad("4.122", THETAS, lambda e: thetas(e, dgrid=None), "dgrid", "a tensor", "None"),
    bad("4.122", THETAS, lambda e: thetas(e, st=None), "transformer", "SpatialTransformerDescriptor", "None"),
    bad("4.122", THETAS, lambda e: thetas(e, dgrid=(2, 5, 4, 2)), "dgrid.dims", "(2, 4, 5, 2)", "(2, 5, 4, 2)"),
    bad("4.122", THETAS, lambda e: thetas(e, dtheta=(1, 2, 3)), "dtheta.dims", "(2, 2, 3)", "(1, 2, 3)"),
    bad("4.122", THETAS, lambda e: thetas(e, st=S(Y, "float64")), "dgrid.dtype", "DOUBLE as transformer", "FLOAT"),
    bad("4.122", THETAS, lambda e: thetas(e, dtheta=e.t(THETA, "float16")), "dtheta.dtype", "FLOAT as dgrid", "HALF"),
    unsupported("4.122", THETAS, lambda e: thetas(e, st=S((2, 3, 4, 5, 6))), "transformer.dims", "4 dims", "(2, 3, 4, 5, 6)"),
    bad("4.123", FORWARD, lambda e: sample(e, x=None), "x", "a tensor", "None"),
    bad("4.123", FORWARD, lambda e: sample(e, grid=None), "grid", "a tensor", "None"),
    bad("4.123", FORWARD, lambda e: sample(e, st="same"), "transformer", "SpatialTransformerDescriptor", "'same'"),
    bad("4.123", FORWARD, lambda e: sample(e, st=S((2, 3, 5, 5))), "grid.dims", "(2, 5, 5, 2)", "(2, 4, 5, 2)"),
    bad("4.123", FORWARD, lambda e: sample(e, st=S((2, 4, 4, 5))), "y.dims", "(2, 4, 4, 5) as transformer", "(2, 3, 4, 5)"),
    bad("4.123", FORWARD, lambda e: sample(e, y=None, grid=(2, 3, 5, 2)), "grid.dims", "(2, 4, 5, 2)", "(2, 3, 5, 2)"),
    bad("4.123", FORWARD, lambda e: sample(e, x=(2, 4, 8, 8)), "y.dims", "(2, 4, 4, 5)", "(2, 3, 4, 5)"),
    bad("4.123", FORWARD, lambda e: sample(e, x=(1, 3, 8, 8)), "y.dims", "(1, 3, 4, 5)", "(2, 3, 4, 5)"),
    bad("4.123", FORWARD, lambda e: sample(e, grid=e.t(GRID, "float16")), "grid.dtype", "FLOAT as x", "HALF"),
    bad("4.123", FORWARD, lambda e: sample(e, y=e.t(Y, "float64")), "y.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.123", FORWARD, lambda e: sample(e, x=e.t(X, "float16")), "x.dtype", "FLOAT as transformer", "HALF"),
    bad("4.123", FORWARD, lambda e: sample(e, alpha="1"), "alpha", "a number", "'1'"),
    bad("4.123", FORWARD, lambda e: sample(e, x=(2, 3, 8)), "x.dims", "(n, c, h, w)", "(2, 3, 8)"),
    unsupported("4.123", FORWARD, lambda e: sample(e, x=(2, 3, 4, 5, 6), y=(2, 3, 4, 5, 6), st=S((2, 3, 4, 5, 6))), "transformer.dims", "4 dims", "(2, 3, 4, 5, 6)"),
    unsupported("4.123", FORWARD, lambda e: sample(e, y=e.view(Y, (60, 20, 1, 1))), "y", "overlap", "60,20,1,1"),
    bad("4.124", BACKWARD, lambda e: back(e, x=None), "x", "a tensor", "None"),
    bad("4.124", BACKWARD, lambda e: back(e, dy=None), "dy", "a tensor", "None"),
    bad("4.124", BACKWARD, lambda e: back(e, grid=None), "grid", "a tensor", "None"),
    bad("4.124", BACKWARD, lambda e: back(e, dy=(2, 3, 5, 5)), "dy.dims", "(2, 3, 4, 5)", "(2, 3, 5, 5)"),
    bad("4.124", BACKWARD, lambda e: back(e, dx=(2, 3, 8, 7)), "dx.dims", "(2, 3, 8, 8) as x", "(2, 3, 8, 7)"),
    bad("4.124", BACKWARD, lambda e: back(e, dgrid=(2, 4, 4, 2)), "dgrid.dims", "(2, 4, 5, 2) as grid", "(2, 4, 4, 2)"),
    bad("4.124", BACKWARD, lambda e: back(e, dgrid=e.t(GRID, "float64")), "dgrid.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.124", BACKWARD, lambda e: back(e, beta_dgrid=None), "beta_dgrid", "a number", "None"),
    bad("4.124", BACKWARD, _shared, "dx", "apart from x", "shared memory"),
    unsupported("4.124", BACKWARD, lambda e: back(e, x=(2, 3, 4, 5, 6), dx=None), "x.dims", "4 dims", "(2, 3, 4, 5, 6)"),
]  # fmt: skip
