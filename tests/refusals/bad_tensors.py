# ruff: noqa: E501 -- one row, one line
"""Wrong descriptors, handles and tensor operations; see bad_calls."""

from __future__ import annotations

import numpy as np
from bad_calls import BIG, Env, Row, bad, unsupported

import portadnn as dnn

T, F, C, P, A = (
    dnn.TensorDescriptor,
    dnn.FilterDescriptor,
    dnn.ConvolutionDescriptor,
    dnn.PoolingDescriptor,
    dnn.ActivationDescriptor,
)
NAN = float("nan")

DESCRIPTORS: list[Row] = [
    bad("4.8", "TensorDescriptor", lambda e: T.set_4d("nchw", "float32", 1, -3, 8, 8), "dims[1]", ">= 0", "-3"),
    bad("4.8", "TensorDescriptor", lambda e: T.set_4d(2, "float32", 1, 3, 8, 8), "format", "NCHW, NHWC", "2"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), format="chwn"), "format", "NCHW", "'chwn'"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), format=True), "format", "TensorFormat", "True"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), format=1.0), "format", "TensorFormat", "1.0"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), format=dnn.DataType.FLOAT), "format", "Format", "FLOAT"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), "int32"), "dtype", "float16", "int32"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), 7), "dtype", "float16, bfloat16, float32 or float64", "7"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), dnn.DataType.UINT8), "dtype", "float32", "UINT8"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), None), "dtype", "float32", "None"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), np.complex64), "dtype", "float32", "complex64"),
    bad("4.8", "TensorDescriptor", lambda e: T((1, 3, 8, 8), ">f4"), "dtype", "float32", "'>f4'"),
    unsupported("4.8", "TensorDescriptor", lambda e: T((2, 1, 1, BIG)), "dims", "2**48", str(2 * BIG)),
    bad("4.9", "TensorDescriptor", lambda e: T((1, 3, 8, 8), strides=(192, -64, 8, 1)), "strides[1]", ">= 0", "-64"),
    bad("4.9", "TensorDescriptor", lambda e: T.set_4d_ex("half", 1, 3, -8, 8, 1, 1, 1, 1), "dims[2]", ">= 0", "-8"),
    bad(
        "4.9", "TensorDescriptor", lambda e: T((1, 3, 8, 8), strides=(64, 8, 1)), "strides", "4 integers", "(64, 8, 1)"
    ),
    bad("4.9", "TensorDescriptor", lambda e: T((1, 3, 8, 8), strides=(1.5, 1, 1, 1)), "strides[0]", "integer", "1.5"),
    unsupported(
        "4.9",
        "TensorDescriptor",
        lambda e: T((2, 1, 1, 1), strides=(2**48, 1, 1, 1)),
        "dims",
        "2**48",
        "281474976710657",
    ),
    bad("4.10", "TensorDescriptor.get_4d", lambda e: T((1, 3, 8)).get_4d(), "descriptor", "4 dims", "(1, 3, 8)"),
    bad("4.11", "TensorDescriptor.set_nd", lambda e: T.set_nd("float", (1, 0, 8), (8, 8, 1)), "dims[1]", ">= 1", "0"),
    bad("4.11", "TensorDescriptor.set_nd", lambda e: T.set_nd("float", (1, -2, 8), (8, 8, 1)), "dims[1]", ">= 1", "-2"),
    bad("4.11", "TensorDescriptor", lambda e: T.set_nd("int8", (1, 2, 8), (16, 8, 1)), "dtype", "float16", "int8"),
    bad("4.11", "TensorDescriptor", lambda e: T((3, 8)), "dims", "3 to 8 dims", "(3, 8)"),
    bad("4.11", "TensorDescriptor", lambda e: T(None), "dims", "sequence", "None"),
    bad("4.11", "TensorDescriptor", lambda e: T("1388"), "dims", "sequence", "1388"),
    bad("4.11", "TensorDescriptor", lambda e: T((1, 3, 8, True)), "dims[3]", "integer", "True"),
    unsupported("4.11", "TensorDescriptor", lambda e: T((1,) * 9), "dims", "at most 8", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"),
    bad("4.12", "TensorDescriptor.get_nd", lambda e: T((1, 3, 8)).get_nd(-1), "requested", ">= 0", "-1"),
    bad("4.20", "FilterDescriptor", lambda e: F.set_4d("float", "nchw", -4, 3, 3, 3), "dims[0]", ">= 0", "-4"),
    bad("4.20", "FilterDescriptor", lambda e: F.set_4d("bf8", "nchw", 4, 3, 3, 3), "dtype", "bfloat16", "bf8"),
    bad("4.20", "FilterDescriptor", lambda e: F.set_4d("float", 5, 4, 3, 3, 3), "format", "NHWC", "5"),
    bad("4.26", "FilterDescriptor", lambda e: F.set_nd("float", "nchw", (4, 3, -1)), "dims[2]", ">= 0", "-1"),
    bad("4.26", "FilterDescriptor", lambda e: F.set_nd("float", "krsc", (4, 3, 1)), "format", "NHWC", "'krsc'"),
    unsupported("4.26", "FilterDescriptor", lambda e: F.set_nd("float", 0, (1,) * 9), "dims", "at most 8", "(1, 1"),
    bad("4.27", "FilterDescriptor.get_nd", lambda e: F((4, 3, 3)).get_nd(-2), "requested", ">= 0", "-2"),
    bad("4.21", "FilterDescriptor.get_4d", lambda e: F((4, 3, 3)).get_4d(), "descriptor", "4 dims", "(4, 3, 3)"),
    bad("4.34", "ConvolutionDescriptor", lambda e: C((-1, 0)), "padding[0]", ">= 0", "-1"),
    bad("4.34", "ConvolutionDescriptor", lambda e: C((0, 0), stride=(1, -1)), "stride[1]", ">= 1", "-1"),
    bad("4.34", "ConvolutionDescriptor", lambda e: C((0, 0), mode=2), "mode", "CROSS_CORRELATION", "2"),
    bad("4.34", "ConvolutionDescriptor", lambda e: C((0, 0), mode="max"), "mode", "CROSS_CORRELATION", "'max'"),
    bad("4.34", "ConvolutionDescriptor", lambda e: C((0, 0), dilation=(1, 0)), "dilation[1]", ">= 1", "0"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C((0, 0), stride=(0, 1)), "stride[0]", ">= 1", "0"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C((0, 0), stride=(1, 1, 1)), "stride", "2 integers", "(1, 1, 1)"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C(1), "padding", "sequence", "1"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C(()), "padding", "at least one", "()"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C((0, 0), compute_type="int8"), "compute_type", "float32", "int8"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C((0, 0), groups=0), "groups", ">= 1", "0"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C((0, 0), groups=1.0), "groups", "integer", "1.0"),
    unsupported(
        "4.37", "ConvolutionDescriptor", lambda e: C((0,) * 7), "padding", "at most 6", "(0, 0, 0, 0, 0, 0, 0)"
    ),
    bad("4.60", "PoolingDescriptor", lambda e: P(3, (2, 2)), "mode", "MAX, AVERAGE", "3"),
    bad("4.60", "PoolingDescriptor", lambda e: P("op_tensor_max", (2, 2)), "mode", "MAX", "'op_tensor_max'"),
    bad("4.60", "PoolingDescriptor", lambda e: P("max", (2, -2)), "window[1]", ">= 1", "-2"),
    bad("4.60", "PoolingDescriptor", lambda e: P("max", (2, 2), stride=(-1, 1)), "stride[0]", ">= 1", "-1"),
    bad(
        "4.60", "PoolingDescriptor", lambda e: P("max", (2, 2), nan_propagation=2), "nan_propagation", "PROPAGATE", "2"
    ),
    bad("4.62", "PoolingDescriptor", lambda e: P("max", (2, 2), (0, -1)), "padding[1]", ">= 0", "-1"),
    bad("4.62", "PoolingDescriptor", lambda e: P("max", (2, 2), (0,)), "padding", "2 integers", "(0,)"),
    bad("4.62", "PoolingDescriptor", lambda e: P("max", (0, 2)), "window[0]", ">= 1", "0"),
    unsupported("4.62", "PoolingDescriptor", lambda e: P("max", (1,) * 7), "window", "at most 6", "(1, 1"),
    bad("4.80", "ActivationDescriptor", lambda e: A(7), "mode", "CLIPPED_RELU", "7"),
    bad("4.80", "ActivationDescriptor", lambda e: A(None), "mode", "SIGMOID", "None"),
    bad("4.80", "ActivationDescriptor", lambda e: A("relu", 7), "nan_propagation", "PROPAGATE_NAN", "7"),
    bad("4.80", "ActivationDescriptor", lambda e: A("clipped_relu", ceiling=NAN), "ceiling", "number", "nan"),
    bad("4.80", "ActivationDescriptor", lambda e: A("relu", ceiling=NAN), "ceiling", "number", "nan"),
    bad("4.80", "ActivationDescriptor", lambda e: A("clipped_relu", ceiling="6"), "ceiling", "a number", "'6'"),
    bad("4.80", "ActivationDescriptor", lambda e: A("elu", coef=None), "coef", "a number", "None"),
    bad("4.80", "ActivationDescriptor", lambda e: A("relu", coef=NAN), "coef", "number", "nan"),
    bad("4.80", "ActivationDescriptor", lambda e: A("swish", coef=NAN), "coef", "number", "nan"),
    bad("3.9", "OpTensorDescriptor", lambda e: dnn.OpTensorDescriptor("sub"), "op", "ADD, MUL, MIN, MAX", "'sub'"),
    bad("3.10", "OpTensorDescriptor", lambda e: dnn.OpTensorDescriptor("add", "i4"), "compute_type", "float32", "i4"),
    bad("3.10", "view", lambda e: T((1, 3, 8)).view(None), "buffer", "array", "None"),
    bad("3.10", "view", lambda e: T((1, 3, 8)).view(e.t((1, 3, 8)), -1), "offset", ">= 0", "-1"),
    bad("4.2", "get_error_string", lambda e: dnn.get_error_string(11), "status", "SUCCESS", "11"),
]

HANDLES: list[Row] = [
    bad("4.3", "Handle", lambda e: dnn.Handle("vulkan"), "backend", "reference", "'vulkan'"),
    bad("4.3", "Handle", lambda e: dnn.Handle(3), "backend", "name", "3"),
    bad("4.3", "Handle", lambda e: dnn.Handle(e.backend, 99), "device", "0", "99"),
    bad("4.3", "Handle", lambda e: dnn.Handle(e.backend, -1), "device", "0", "-1"),
    bad("4.3", "Handle", lambda e: dnn.Handle(e.backend, "0"), "device", "number", "'0'"),
    bad("4.3", "Handle", lambda e: dnn.Handle(e.backend, stream="q"), "stream", "", "str"),
    bad("4.5", "Handle.set_stream", lambda e: e.h.set_stream(object()), "stream", "", "object"),
    Row("4.4", "Handle.synchronize", lambda e: e.closed().synchronize(), dnn.NotInitialized, "handle", ("closed",)),
    Row("4.4", "Handle.asarray", lambda e: e.closed().asarray([1.0]), dnn.NotInitialized, "handle", ("closed",)),
    Row("4.5", "Handle.set_stream", lambda e: e.closed().set_stream(None), dnn.NotInitialized, "handle", ("closed",)),
    Row("4.6", "Handle.get_stream", lambda e: e.closed().get_stream(), dnn.NotInitialized, "handle", ("closed",)),
    Row("4.17", "set_tensor", lambda e: e.set(h=e.closed()), dnn.NotInitialized, "handle", ("closed",)),
    Row("4.45", "convolution_forward", lambda e: e.conv(h=e.closed()), dnn.NotInitialized, "handle", ("closed",)),
    bad("2.1", "Handle.asarray", lambda e: e.h.asarray(np.zeros((1, 3, 8), np.complex64)), "array.dtype", "real", "complex64"),
    bad("2.1", "Handle.asarray", lambda e: e.h.asarray(["a"]), "array.dtype", "real", "U1"),
    bad("2.1", "Handle.asarray", lambda e: e.h.asarray([1.0, [2.0]]), "array", "NumPy", "inhomogeneous"),
    bad("2.1", "Handle.asarray", lambda e: e.h.asarray([1.0], "int32"), "dtype", "float16", "int32"),
    bad("2.1", "Handle.asarray", lambda e: e.h.asarray([1.0], format="x"), "format", "NCHW", "'x'"),
    bad("2.1", "Handle.empty", lambda e: e.h.empty((1, -1, 3)), "dims[1]", ">= 0", "-1"),
    bad("2.1", "Handle.zeros", lambda e: e.h.zeros((1, 1, 3), "int64"), "dtype", "float16", "int64"),
    bad("2.1", "Handle.to_numpy", lambda e: e.h.to_numpy(e.foreign()), "array", "array", "list", backends=("opencl", "cuda")),
    bad("2.1", "Handle.to_numpy", lambda e: e.h.to_numpy(None), "array", "array", "NoneType"),
]  # fmt: skip

TENSOR_OPS: list[Row] = [
    bad("4.14", "transform_tensor", lambda e: e.transform(x=(1, 3, 8, 9)), "y.dims", "(1, 3, 8, 9) as x", "(1, 3, 8, 8)"),
    bad("4.14", "transform_tensor", lambda e: e.transform(y=(3, 8, 8)), "y.dims", "as x", "(3, 8, 8)"),
    bad("4.14", "transform_tensor", lambda e: e.transform(y=e.t((1, 3, 8, 8), "float64")), "y.dtype", "FLOAT", "DOUBLE"),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=e.t((1, 3, 8, 8), "bfloat16"), y=e.t((1, 3, 8, 8), "float64")), "y.dtype", "BFLOAT16", "DOUBLE"),
    bad("4.14", "transform_tensor", lambda e: _same(e), "y", "apart from x", "shared memory"),
    bad("4.14", "transform_tensor", lambda e: _shifted(e, 1), "y", "apart from x", "shared memory"),
    bad("4.14", "transform_tensor", lambda e: _interleaved(e), "y", "apart from x", "shared memory"),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=None), "x", "a tensor", "None"),
    bad("4.14", "transform_tensor", lambda e: e.transform(h=None), "handle", "portadnn.Handle", "None"),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=e.raw("int32")), "x.dtype", "float32", "int32"),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=e.raw("complex64")), "x.dtype", "float32", "complex64"),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=e.raw("uint16")), "x.dtype", "float32", "uint16"),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=e.raw(">f4")), "x.dtype", "native", ">f4", backends=("reference", "opencl")),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=e.foreign()), "x", "", "", backends=("opencl", "cuda")),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=[1.0]), "x", "descriptor.view", "list"),
    bad("4.14", "transform_tensor", lambda e: e.transform(y=3), "y", "descriptor.view", "int"),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=e.other_context()), "x", "context", "another", backends=("opencl",)),
    bad("4.14", "transform_tensor", lambda e: e.transform(x=T((1, 3, 8, 8)).view(e.other_context())), "x", "context", "another", backends=("opencl",)),
    bad("4.14", "transform_tensor", lambda e: e.transform(alpha="1"), "alpha", "a number", "'1'"),
    bad("4.14", "transform_tensor", lambda e: e.transform(alpha=1j), "alpha", "a number", "1j"),
    bad("4.14", "transform_tensor", lambda e: e.transform(beta=True), "beta", "a number", "True"),
    bad("4.14", "transform_tensor", lambda e: e.transform(beta=None), "beta", "a number", "None"),
    bad("4.14", "transform_tensor", lambda e: e.transform(beta=np.ones(1)), "beta", "a number", "array"),
    bad("4.14", "transform_tensor", lambda e: e.transform(alpha=10**400), "alpha", "float64 can hold", "1000"),
    bad("2.6", "transform_tensor", lambda e: e.transform(alpha=1e39), "alpha", "float32", "1e+39"),
    unsupported("4.9", "transform_tensor", lambda e: e.transform(y=e.view((1, 3, 8, 8), (1, 64, 1, 1))), "y", "overlap", "f32:1x3x8x8/1,64,1,1"),
    unsupported("4.9", "transform_tensor", lambda e: e.transform(y=e.view((1, 3, 8, 8), (192, 64, 8, 0))), "y", "overlap", "192,64,8,0"),
    unsupported("4.9", "transform_tensor", lambda e: e.transform(x=_backwards(e)), "x.strides", "strides >= 0", "-1", backends=("reference", "cuda")),
    bad("4.8", "transform_tensor", lambda e: e.transform(x=e.view((1, 3, 8, 8), (4000, 64, 8, 1), 4000)), "x", "16768", "16384 bytes"),
    bad("4.8", "transform_tensor", lambda e: e.transform(x=e.view((1, 3, 8, 8), (192, 64, 8, 1), base=e.t((1, 3, 8, 8), "float64"))), "x", "float32 or uint8", "float64"),
    bad("4.8", "transform_tensor", lambda e: e.transform(x=_misaligned(e)), "x", "multiple of 4 bytes", "2 mod 16", backends=("opencl", "cuda")),
    bad("4.8", "transform_tensor", lambda e: e.transform(x=T((1, 3, 8, 8)).view("memory")), "x", "", "str"),
    bad("4.15", "add_tensor", lambda e: e.add(a=(1, 2, 1, 1)), "a.dims", "each dim 1 or as c (1, 3, 8, 8)", "(1, 2, 1, 1)"),
    bad("4.15", "add_tensor", lambda e: e.add(a=(3, 1, 1)), "a.dims", "(1, 3, 8, 8)", "(3, 1, 1)"),
    bad("4.15", "add_tensor", lambda e: e.add(a=e.t((1, 3, 1, 1), "float16")), "a.dtype", "FLOAT as c", "HALF"),
    bad("4.15", "add_tensor", lambda e: e.add(a=e.t((1, 3, 1, 1), "bfloat16")), "a.dtype", "FLOAT as c", "BFLOAT16"),
    unsupported("4.15", "add_tensor", lambda e: e.add(a=(1, 3, 1, 1, 1, 1), c=(1, 3, 2, 2, 2, 2)), "a.dims", "at most 5", "(1, 3, 1, 1, 1, 1)"),
    bad("4.15", "add_tensor", lambda e: e.add(c=None), "c", "a tensor", "None"),
    bad("4.15", "add_tensor", lambda e: e.add(a=None), "a", "a tensor", "None"),
    bad("4.15", "add_tensor", lambda e: _added_to_itself(e), "c", "apart from a", "shared memory"),
    bad("4.16", "op_tensor", lambda e: e.op(op="div"), "op", "ADD, MUL, MIN, MAX", "'div'"),
    bad("4.16", "op_tensor", lambda e: e.op(op=9), "op", "ADD, MUL, MIN, MAX", "9"),
    bad("4.16", "op_tensor", lambda e: e.op(op=A("relu")), "op", "OpTensorOp", "ActivationDescriptor"),
    bad("4.16", "op_tensor", lambda e: e.op(op=[1]), "op", "OpTensorOp", "[1]"),
    bad("4.16", "op_tensor", lambda e: e.op(a=(1, 3, 1, 8)), "a.dims", "(1, 3, 8, 8) as c", "(1, 3, 1, 8)"),
    bad("4.16", "op_tensor", lambda e: e.op(b=(2, 3, 1, 1)), "b.dims", "each dim 1", "(2, 3, 1, 1)"),
    bad("4.16", "op_tensor", lambda e: e.op(b=e.t((1, 3, 1, 1), "float64")), "b.dtype", "FLOAT as a", "DOUBLE"),
    bad("4.16", "op_tensor", lambda e: e.op(c=e.t((1, 3, 8, 8), "float64")), "a.dtype", "DOUBLE because c is", "FLOAT"),
    unsupported("4.16", "op_tensor", lambda e: e.op(c=e.t((1, 3, 8, 8), "float16")), "c.dtype", "FLOAT as a", "HALF"),
    unsupported("4.16", "op_tensor", lambda e: e.op(op=dnn.OpTensorDescriptor("add", "double")), "op.compute_type", "FLOAT for FLOAT", "DOUBLE"),
    unsupported("4.16", "op_tensor", lambda e: e.op(op=dnn.OpTensorDescriptor("add", "float"), dtype="float64"), "op.compute_type", "DOUBLE", "FLOAT"),
    unsupported("4.16", "op_tensor", lambda e: e.op(a=(1,) * 6, b=(1,) * 6, c=(1,) * 6), "b.dims", "at most 5", "(1, 1, 1, 1, 1, 1)"),
    bad("4.16", "op_tensor", lambda e: _b_is_c(e), "a", "c as well, because b is", "another tensor"),
    bad("4.16", "op_tensor", lambda e: _b_views_c(e), "a", "c as well, because b is", "another tensor"),
    bad("4.16", "op_tensor", lambda e: e.op(b=None), "b", "a tensor", "None"),
    bad("4.16", "op_tensor", lambda e: e.op(alpha2="x"), "alpha2", "a number", "'x'"),
    bad("4.17", "set_tensor", lambda e: e.set(y=None), "y", "a tensor", "None"),
    bad("4.17", "set_tensor", lambda e: e.set(value=None), "value", "a number", "None"),
    bad("4.17", "set_tensor", lambda e: e.set(value="0"), "value", "a number", "'0'"),
    bad("4.17", "set_tensor", lambda e: e.set(value=-1e200), "value", "float32", "-1e+200"),
    bad("4.17", "set_tensor", lambda e: e.set(y=(8,)), "y.dims", "3 to 8 dims", "(8,)"),
    unsupported("4.17", "set_tensor", lambda e: e.set(y=(1,) * 9), "y.dims", "at most 8", "(1, 1, 1"),
    bad("4.18", "scale_tensor", lambda e: e.scale(y=None), "y", "a tensor", "None"),
    bad("4.18", "scale_tensor", lambda e: e.scale(alpha=None), "alpha", "a number", "None"),
    bad("4.18", "scale_tensor", lambda e: e.scale(h=e), "handle", "portadnn.Handle", "Env"),
    bad("4.18", "scale_tensor", lambda e: dnn.scale_tensor(e.h, _read_only(), 2.0), "y", "writable", "read-only", backends=("reference",)),
]  # fmt: skip


def _same(e: Env) -> object:
    x = e.t((1, 3, 8, 8))
    return dnn.transform_tensor(e.h, x, x)


def _shifted(e: Env, by: int) -> object:
    base = e.t((1, 1, 64, 64))
    return e.transform(
        x=e.view((1, 3, 8, 8), (192, 64, 8, 1), 0, base), y=e.view((1, 3, 8, 8), (192, 64, 8, 1), by, base)
    )


def _interleaved(e: Env) -> object:
    """Two tensors that take every second, and every third element: some are shared."""
    base = e.t((1, 1, 64, 64))
    return e.transform(
        x=e.view((1, 3, 8, 8), (384, 128, 16, 2), 0, base), y=e.view((1, 3, 8, 8), (576, 192, 24, 3), 1, base)
    )


def _backwards(e: Env) -> object:
    return e.t((1, 3, 8, 8))[..., ::-1]


def _misaligned(e: Env) -> object:
    """Return a float32 view of raw bytes that begins at the third byte."""
    raw = e.raw("uint8").reshape(192)[2:] if e.backend != "opencl" else e.raw("uint8").reshape(-1)[2:]
    return dnn.TensorDescriptor((1, 1, 4, 4)).view(raw)


def _added_to_itself(e: Env) -> object:
    c = e.t((1, 3, 8, 8))
    return dnn.add_tensor(e.h, c, c)


def _b_is_c(e: Env) -> object:
    c = e.t((1, 3, 8, 8))
    return e.op(b=c, c=c)


def _b_views_c(e: Env) -> object:
    c = e.t((1, 3, 8, 8))
    return e.op(b=T((1, 3, 8, 8)).view(c), c=c)


def _read_only() -> np.ndarray:
    array = np.zeros((1, 3, 8, 8), np.float32)
    array.flags.writeable = False
    return array


ROWS = DESCRIPTORS + HANDLES + TENSOR_OPS
