# ruff: noqa: E501 -- one row, one line
"""Wrong calls of dropout; see bad_calls."""

from __future__ import annotations

import numpy as np
from bad_calls import Row, bad, unsupported

import portadnn as dnn

D = dnn.DropoutDescriptor
X = (1, 3, 8, 8)


def _bytes(env, count):
    return env.keep(env.h.device.asarray(np.zeros(count, np.uint8)))


def _forward(env, x=X, dropout=None, y=X, reserve=24, h="", **more):
    """Call with right arguments but for those given; tuples are dims, and a number is a size in bytes."""
    x, y = (env.t(v, **more) if isinstance(v, tuple) else v for v in (x, y))
    dropout = D(0.5, _bytes(env, 32)) if dropout is None else dropout
    return dnn.dropout_forward(
        env.h if h == "" else h, x, dropout, y, _bytes(env, reserve) if type(reserve) is int else reserve
    )


def _backward(env, dy=X, dropout=None, reserve=24, dx=X):
    dy, dx = (env.t(v) if isinstance(v, tuple) else v for v in (dy, dx))
    dropout = D(0.5, _bytes(env, 32)) if dropout is None else dropout
    return dnn.dropout_backward(env.h, dy, dropout, _bytes(env, reserve) if type(reserve) is int else reserve, dx)


def _in_place(env):
    x = env.t(X)
    other = dnn.TensorDescriptor(X, strides=(192, 1, 24, 3)).view(x)
    return _forward(env, x=x, y=other)


ROWS: list[Row] = [
    bad("4.113", "dropout_get_states_size", lambda e: dnn.dropout_get_states_size(None), "handle", "portadnn.Handle", "None"),
    bad("4.114", "dropout_get_reserve_space_size", lambda e: dnn.dropout_get_reserve_space_size(None), "x", "sequence", "None"),
    bad("4.114", "dropout_get_reserve_space_size", lambda e: dnn.dropout_get_reserve_space_size(dnn.FilterDescriptor(X)), "x", "TensorDescriptor", "FilterDescriptor"),
    bad("4.115", "DropoutDescriptor", lambda e: D(None), "dropout", "0 to 1", "None"),
    bad("4.115", "DropoutDescriptor", lambda e: D(True), "dropout", "0 to 1", "True"),
    bad("4.115", "DropoutDescriptor", lambda e: D(-0.1), "dropout", "0 to 1", "-0.1"),
    bad("4.115", "DropoutDescriptor", lambda e: D(1.5), "dropout", "0 to 1", "1.5"),
    bad("4.115", "DropoutDescriptor", lambda e: D(float("nan")), "dropout", "0 to 1", "nan"),
    bad("4.115", "DropoutDescriptor", lambda e: D(0.5, None, -1), "seed", "64 bits", "-1"),
    bad("4.115", "DropoutDescriptor", lambda e: D(0.5, None, 2**64), "seed", "64 bits", str(2**64)),
    bad("4.115", "DropoutDescriptor", lambda e: D(0.5, None, 1.5), "seed", "64 bits", "1.5"),
    bad("4.115", "set_dropout_descriptor", lambda e: dnn.set_dropout_descriptor(None, 0.5), "handle", "portadnn.Handle", "None"),
    bad("4.115", "set_dropout_descriptor", lambda e: dnn.set_dropout_descriptor(e.h, 0.5, _bytes(e, 31)), "states", "at least 32 bytes", "31 bytes"),
    bad("4.115", "set_dropout_descriptor", lambda e: dnn.set_dropout_descriptor(e.h, 0.5, e.t(X)), "states.dtype", "uint8", "float32"),
    bad("4.115", "restore_dropout_descriptor", lambda e: dnn.restore_dropout_descriptor(None, 0.5, None), "handle", "portadnn.Handle", "None"),
    bad("4.115", "restore_dropout_descriptor", lambda e: dnn.restore_dropout_descriptor(e.h, 0.5, None), "states", "saved states", "None"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, h=None), "handle", "portadnn.Handle", "None"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, x=None), "x", "a tensor", "None"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, dropout=0.5), "dropout", "DropoutDescriptor", "0.5"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, dropout=D(0.5)), "dropout.states", "set_dropout_descriptor", "None"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, dropout=D(0.5, _bytes(e, 16))), "states", "at least 32 bytes", "16 bytes"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, y=(1, 3, 8, 9)), "y.dims", "as x", "(1, 3, 8, 9)"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, y=e.t(X, "float16")), "y.dtype", "FLOAT as x", "HALF"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, reserve=20), "reserve_space", "at least 24 bytes", "20 bytes"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, reserve=e.t((1, 1, 24))), "reserve_space.dtype", "uint8", "float32"),
    bad("4.116", "dropout_forward", _in_place, "y.strides", "f32:1x3x8x8", "f32:1x3x8x8:nhwc"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, x=e.view((1, 1, 8, 8), (64, 64, 8, 1), 0, base := e.t((1, 1, 64, 64))), y=e.view((1, 1, 8, 8), (64, 64, 8, 1), 32, base)), "y", "apart from x", "shared"),
    bad("4.116", "dropout_forward", lambda e: _forward(e, dropout=D(0.5, (s := _bytes(e, 64))), reserve=s), "states", "apart from reserve_space", "shared"),
    unsupported("4.116", "dropout_forward", lambda e: _forward(e, y=e.view(X, (192, 0, 8, 1))), "y", "without overlap", "192,0,8,1"),
    bad("4.117", "dropout_backward", lambda e: _backward(e, dy=None), "dy", "a tensor", "None"),
    bad("4.117", "dropout_backward", lambda e: _backward(e, reserve=None), "reserve_space", "a tensor", "None"),
    bad("4.117", "dropout_backward", lambda e: _backward(e, reserve=8), "reserve_space", "at least 24 bytes", "8 bytes"),
    bad("4.117", "dropout_backward", lambda e: _backward(e, dropout=D(0.5)), "dropout.states", "set_dropout_descriptor", "None"),
    bad("4.117", "dropout_backward", lambda e: _backward(e, dx=(1, 3, 64)), "dx.dims", "as dy", "(1, 3, 64)"),
]  # fmt: skip
