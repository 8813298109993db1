# ruff: noqa: E501 -- one row, one line
"""Wrong calls of reduce_tensor; see bad_calls."""

from __future__ import annotations

import numpy as np
from bad_calls import Row, bad, unsupported

import portadnn as dnn

R, T = dnn.ReduceTensorDescriptor, dnn.TensorDescriptor
A, C = (2, 3, 4, 5), (2, 1, 4, 1)
MAX = R("max", indices="flattened_indices")


def _reduce(env, reduce=None, a=A, c=C, h="", dtype="float32", **options):
    a, c = (env.t(v, dtype) if isinstance(v, tuple) else v for v in (a, c))
    return dnn.reduce_tensor(env.h if h == "" else h, R("add") if reduce is None else reduce, a, c, **options)


def _int32(env, dims):
    return env.keep(env.h.device.asarray(np.zeros(dims, np.int32)))


ROWS: list[Row] = [
    bad("reduce", "ReduceTensorDescriptor", lambda e: R(None), "op", "MUL_NO_ZEROS", "None"),
    bad("reduce", "ReduceTensorDescriptor", lambda e: R(9), "op", "ADD", "9"),
    bad("reduce", "ReduceTensorDescriptor", lambda e: R("add", "int8"), "compute_type", "float32", "int8"),
    bad("reduce", "ReduceTensorDescriptor", lambda e: R("max", None, 2), "nan_propagation", "PROPAGATE_NAN", "2"),
    bad("reduce", "ReduceTensorDescriptor", lambda e: R("max", indices="some"), "indices", "FLATTENED_INDICES", "some"),
    unsupported("reduce", "ReduceTensorDescriptor", lambda e: R("max", indices_type="INDICES_64BIT"), "indices_type", "INDICES_32BIT", "64BIT"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, h=None), "handle", "portadnn.Handle", "None"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, reduce="add"), "reduce", "ReduceTensorDescriptor", "add"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, a=None), "a", "a tensor", "None"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, c=None), "c", "a descriptor", "None"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, c=(2, 1, 4)), "c.dims", "4 dims as a", "(2, 1, 4)"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, c=(2, 3, 2, 5)), "c.dims[2]", "4 as a, or 1", "2"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, a=(3, 5), c=(3, 1)), "a.dims", "3 to 8 dims", "(3, 5)"),
    unsupported("reduce", "reduce_tensor", lambda e: _reduce(e, c=e.t(C, "float16")), "c.dtype", "FLOAT as a", "HALF"),
    unsupported("reduce", "reduce_tensor", lambda e: _reduce(e, R("add", "float64")), "reduce.compute_type", "FLOAT for FLOAT", "DOUBLE"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, MAX, a=(0, 3, 4), c=(1, 3, 4)), "a.dims", "take the extreme of", "(0, 3, 4)"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, MAX, indices=_int32(e, A)), "indices.dims", "(2, 1, 4, 1) as c", "(2, 3, 4, 5)"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, MAX, indices=e.t(C)), "indices.dtype", "int32", "float32"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, indices=_int32(e, C)), "indices", "asks for none", "Array"[1:]),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, alpha=None), "alpha", "a number", "None"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, beta=1e39), "beta", "float32", "1e+39"),
    bad("reduce", "reduce_tensor", lambda e: _reduce(e, a=(x := e.t((1, 1, 64))), c=T((1, 1, 1)).view(x, 5)), "c", "apart from a", "shared"),
    unsupported("reduce", "reduce_tensor", lambda e: _reduce(e, c=e.view(C, (4, 4, 0, 1))), "c", "without overlap", "4,4,0,1"),
    bad("reduce", "get_reduction_workspace_size", lambda e: dnn.get_reduction_workspace_size(None, R("add"), T(A), T(C)), "handle", "portadnn.Handle", "None"),
    bad("reduce", "get_reduction_workspace_size", lambda e: dnn.get_reduction_workspace_size(e.h, R("add"), T(A), T((2, 2, 4, 1))), "c.dims[1]", "3 as a", "2"),
    bad("reduce", "get_reduction_indices_size", lambda e: dnn.get_reduction_indices_size(e.h, None, T(A), T(C)), "reduce", "ReduceTensorDescriptor", "None"),
]  # fmt: skip
