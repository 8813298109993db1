# ruff: noqa: E501 -- one row, one line
"""Wrong convolutions, poolings, activations, softmaxes and problem lines; see bad_calls."""

from __future__ import annotations

from bad_calls import Env, Row, bad, unsupported

import portadnn as dnn

T, F, C, P, A = (
    dnn.TensorDescriptor,
    dnn.FilterDescriptor,
    dnn.ConvolutionDescriptor,
    dnn.PoolingDescriptor,
    dnn.ActivationDescriptor,
)
C1, C3 = C((1, 1)), C((1, 1, 1))
X = (1, 3, 8, 8)

CONVOLUTION: list[Row] = [
    bad("4.36", "get_convolution_2d_forward_output_dim", lambda e: dnn.get_convolution_2d_forward_output_dim(None, X, (4, 3, 3, 3)), "conv", "ConvolutionDescriptor", "None"),
    bad("4.36", "get_convolution_2d_forward_output_dim", lambda e: dnn.get_convolution_2d_forward_output_dim(C1, X, (4, 2, 3, 3)), "x.dims[1]", "x has 3 channels", "w expects 2"),
    bad("4.36", "get_convolution_2d_forward_output_dim", lambda e: dnn.get_convolution_2d_forward_output_dim(C3, (1, 3, 8, 8, 8), (4, 3, 3, 3, 3)), "x.dims", "4 dims", "5"),
    bad("4.39", "get_convolution_nd_forward_output_dim", lambda e: dnn.get_convolution_nd_forward_output_dim(C1, None, (4, 3, 3, 3)), "x", "sequence", "None"),
    bad("4.39", "get_convolution_nd_forward_output_dim", lambda e: dnn.get_convolution_nd_forward_output_dim(C1, X, None), "w", "sequence", "None"),
    bad("4.39", "get_convolution_nd_forward_output_dim", lambda e: dnn.get_convolution_nd_forward_output_dim(C1, F(X), (4, 3, 3, 3)), "x", "TensorDescriptor", "FilterDescriptor"),
    bad("4.39", "get_convolution_nd_forward_output_dim", lambda e: dnn.get_convolution_nd_forward_output_dim(C1, X, (4, 3, 3)), "w.dims", "4 dims as x", "(4, 3, 3)"),
    bad("4.39", "get_convolution_nd_forward_output_dim", lambda e: dnn.get_convolution_nd_forward_output_dim(C3, X, (4, 3, 3, 3)), "conv.padding", "2 values", "(1, 1, 1)"),
    bad("4.39", "get_convolution_nd_forward_output_dim", lambda e: dnn.get_convolution_nd_forward_output_dim(C1, X, (4, 3, 11, 3)), "w.dims[2]", "padded input (10)", "11"),
    bad("4.39", "get_convolution_nd_forward_output_dim", lambda e: dnn.get_convolution_nd_forward_output_dim(C((0, 0), dilation=(4, 4)), X, (4, 3, 3, 3)), "w.dims[2]", "padded input (8)", "9"),
    bad("4.44", "get_convolution_forward_workspace_size", lambda e: dnn.get_convolution_forward_workspace_size(None, T(X), F((4, 3, 3, 3)), C1), "handle", "portadnn.Handle", "None"),
    bad("4.44", "get_convolution_forward_workspace_size", lambda e: dnn.get_convolution_forward_workspace_size(e.h, None, F((4, 3, 3, 3)), C1), "x", "a tensor", "None"),
    bad("4.44", "get_convolution_forward_workspace_size", lambda e: dnn.get_convolution_forward_workspace_size(e.h, T(X), F((4, 3, 3)), C1), "w.dims", "4 dims as x", "(4, 3, 3)"),
    bad("4.44", "get_convolution_forward_workspace_size", lambda e: dnn.get_convolution_forward_workspace_size(e.h, T(X), F((4, 3, 3, 3), "half"), C1), "w.dtype", "FLOAT as x", "HALF"),
    bad("4.44", "get_convolution_forward_workspace_size", lambda e: dnn.get_convolution_forward_workspace_size(e.h, T(X), F((4, 5, 3, 3)), C1), "x.dims[1]", "x has 3", "w expects 5"),
    bad("4.44", "get_convolution_forward_workspace_size", lambda e: dnn.get_convolution_forward_workspace_size(e.h, T(X), F((4, 3, 3, 3)), C1, T(X)), "y.dims", "(1, 4, 8, 8)", "(1, 3, 8, 8)"),
    bad("4.44", "get_convolution_forward_workspace_size", lambda e: dnn.get_convolution_forward_workspace_size(e.h, "x", F((4, 3, 3, 3)), C1), "x", "", "str"),
    bad("4.50", "get_convolution_backward_filter_workspace_size", lambda e: dnn.get_convolution_backward_filter_workspace_size(e.h, T(X), T((1, 5, 8, 8)), C1, F((4, 3, 3, 3))), "dy.dims", "(1, 4, 8, 8)", "(1, 5, 8, 8)"),
    bad("4.50", "get_convolution_backward_filter_workspace_size", lambda e: dnn.get_convolution_backward_filter_workspace_size(e.h, T(X), T((1, 4, 8, 8)), C1, F((4, 3, 3, 3), "double")), "dw.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.55", "get_convolution_backward_data_workspace_size", lambda e: dnn.get_convolution_backward_data_workspace_size(e.h, F((4, 3, 3, 3)), T((1, 4, 8, 8)), C1, T((1, 2, 8, 8))), "dx.dims[1]", "dx has 2", "w expects 3"),
    bad("4.55", "get_convolution_backward_data_workspace_size", lambda e: dnn.get_convolution_backward_data_workspace_size(e.h, F((4, 3, 3, 3)), T((1, 4, 8, 8)), C1, None), "dx", "does not follow", "None"),
    bad("4.45", "convolution_forward", lambda e: e.conv(h=None), "handle", "portadnn.Handle", "None"),
    bad("4.45", "convolution_forward", lambda e: e.conv(x=None), "x", "a tensor", "None"),
    bad("4.45", "convolution_forward", lambda e: e.conv(w=None), "w", "a tensor", "None"),
    bad("4.45", "convolution_forward", lambda e: e.conv(conv=None), "conv", "ConvolutionDescriptor", "None"),
    bad("4.45", "convolution_forward", lambda e: e.conv(conv=P("max", (3, 3))), "conv", "ConvolutionDescriptor", "PoolingDescriptor"),
    bad("4.45", "convolution_forward", lambda e: e.conv(alpha=None), "alpha", "a number", "None"),
    bad("4.45", "convolution_forward", lambda e: e.conv(beta="0"), "beta", "a number", "'0'"),
    bad("4.45", "convolution_forward", lambda e: e.conv(y=(4, 8, 8)), "y.dims", "4 dims as x", "(4, 8, 8)"),
    bad("4.45", "convolution_forward", lambda e: e.conv(w=(4, 3, 3)), "w.dims", "4 dims as x", "(4, 3, 3)"),
    bad("4.45", "convolution_forward", lambda e: e.conv(x=(3, 8), w=(4, 3), y=(4, 8)), "x.dims", "3 to 8 dims", "(3, 8)"),
    bad("4.45", "convolution_forward", lambda e: e.conv(conv=C3), "conv.padding", "2 values", "(1, 1, 1)"),
    bad("4.45", "convolution_forward", lambda e: e.conv(w=(4, 2, 3, 3)), "x.dims[1]", "x has 3 channels", "w expects 2"),
    bad("4.45", "convolution_forward", lambda e: e.conv(conv=C((1, 1), groups=3), w=(4, 1, 3, 3)), "w.dims[0]", "multiple of groups (3)", "4"),
    bad("4.45", "convolution_forward", lambda e: e.conv(conv=C((1, 1), groups=2)), "x.dims[1]", "x has 3 channels", "w expects 6"),
    bad("4.45", "convolution_forward", lambda e: e.conv(w=e.t((4, 3, 3, 3), "float64")), "w.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.45", "convolution_forward", lambda e: e.conv(y=e.t((1, 4, 8, 8), "float16")), "y.dtype", "FLOAT as x", "HALF"),
    bad("4.45", "convolution_forward", lambda e: e.conv(w=e.t((4, 3, 3, 3), "bfloat16")), "w.dtype", "FLOAT as x", "BFLOAT16"),
    bad("4.45", "convolution_forward", lambda e: e.conv(w=(4, 3, 3, 12)), "w.dims[3]", "padded input (10)", "12"),
    bad("4.45", "convolution_forward", lambda e: e.conv(w=(4, 3, 0, 3)), "w.dims[2]", ">= 1", "0"),
    bad("4.45", "convolution_forward", lambda e: e.conv(y=(1, 4, 8, 7)), "y.dims", "(1, 4, 8, 8)", "(1, 4, 8, 7)"),
    bad("4.45", "convolution_forward", lambda e: e.conv(y=(2, 4, 8, 8)), "y.dims", "(1, 4, 8, 8)", "(2, 4, 8, 8)"),
    bad("4.45", "convolution_forward", lambda e: e.conv(y=T((1, 4, 8, 8)).view(e.t((1, 1, 8, 8)))), "y", "1024 bytes", "256 bytes"),
    bad("4.45", "convolution_forward", lambda e: e.conv(x=e.raw("int32")), "x.dtype", "float32", "int32"),
    bad("4.45", "convolution_forward", lambda e: e.conv(x=e.foreign()), "x", "", "", backends=("opencl", "cuda")),
    bad("4.45", "convolution_forward", lambda e: e.conv(x=e.other_context()), "x", "context", "another", backends=("opencl",)),
    bad("4.45", "convolution_forward", lambda e: _in_place_conv(e), "y", "apart from x", "shared memory"),
    bad("4.45", "convolution_forward", lambda e: e.conv(algo=99), "algo", "IMPLICIT_GEMM", "99"),
    bad("4.45", "convolution_forward", lambda e: e.conv(algo="bogus"), "algo", "IMPLICIT_GEMM", "'bogus'"),
    bad("4.45", "convolution_forward", lambda e: e.conv(algo=dnn.ConvolutionBwdDataAlgo.ALGO_0), "algo", "ConvolutionFwdAlgo", "ALGO_0"),
    bad("4.45", "convolution_forward", lambda e: e.conv(workspace="none"), "workspace", "", "str"),
    bad("4.45", "convolution_forward", lambda e: e.conv(workspace=5), "workspace", "", "int"),
    unsupported("4.45", "convolution_forward", lambda e: e.conv(x=_negative(e)), "x.strides", ">= 0", "-1", backends=("reference", "cuda")),
    unsupported("4.45", "convolution_forward", lambda e: e.conv(x=(1, 3, 8), w=(4, 3, 3), y=(1, 4, 8), conv=C((1,))), "x.dims", "4 or 5 dims", "(1, 3, 8)"),
    unsupported("4.45", "convolution_forward", lambda e: e.conv(x=(1, 3, 3, 3, 3, 3), w=(4, 3, 1, 1, 1, 1), y=(1, 4, 3, 3, 3, 3), conv=C((0,) * 4)), "x.dims", "4 or 5 dims", "(1, 3, 3, 3, 3, 3)"),
    unsupported("4.45", "convolution_forward", lambda e: e.conv(conv=C((1, 1), compute_type="double")), "conv.compute_type", "FLOAT for FLOAT", "DOUBLE"),
    bad("4.37", "ConvolutionDescriptor", lambda e: C((1, 1), math="bf32"), "math", "TENSOR_OP_ALLOW_CONVERSION", "'bf32'"),
    unsupported("4.45", "convolution_forward", lambda e: e.conv(y=e.view((1, 4, 8, 8), (64, 64, 1, 1))), "y", "overlap", "64,64,1,1"),
    bad("4.46", "convolution_backward_bias", lambda e: e.bias(db=(2, 4, 1, 1)), "db.dims", "(1, 4, 1, 1)", "(2, 4, 1, 1)"),
    bad("4.46", "convolution_backward_bias", lambda e: e.bias(db=(1, 4, 8, 1)), "db.dims", "(1, 4, 1, 1)", "(1, 4, 8, 1)"),
    bad("4.46", "convolution_backward_bias", lambda e: e.bias(db=(1, 3, 1, 1)), "db.dims", "(1, 4, 1, 1)", "(1, 3, 1, 1)"),
    bad("4.46", "convolution_backward_bias", lambda e: e.bias(db=e.t((1, 4, 1, 1), "float64")), "db.dtype", "FLOAT as dy", "DOUBLE"),
    bad("4.46", "convolution_backward_bias", lambda e: e.bias(dy=None), "dy", "a tensor", "None"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(x=None), "x", "a tensor", "None"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(dy=None), "dy", "a tensor", "None"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(dw=None), "dw", "do not follow", "None"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(conv="same"), "conv", "ConvolutionDescriptor", "'same'"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(dy=(4, 8, 8)), "dy.dims", "4 dims as x", "(4, 8, 8)"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(dw=(4, 3, 3)), "dw.dims", "4 dims as x", "(4, 3, 3)"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(dw=(4, 2, 3, 3)), "x.dims[1]", "x has 3", "dw expects 2"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(dy=e.t((1, 4, 8, 8), "float64")), "dy.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(dw=e.t((4, 3, 3, 3), "float16")), "dw.dtype", "FLOAT as x", "HALF"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(algo=dnn.ConvolutionFwdAlgo.GEMM), "algo", "BwdFilterAlgo", "GEMM"),
    bad("4.51", "convolution_backward_filter", lambda e: e.conv_filter(x=(3, 8), dw=(4, 3), dy=(4, 8)), "x.dims", "3 to 8", "(3, 8)"),
    bad("4.51", "convolution_backward_filter", lambda e: dnn.convolution_backward_filter(None, e.t(X), e.t((1, 4, 8, 8)), C1, F((4, 3, 3, 3))), "handle", "Handle", "None"),
    unsupported("4.51", "convolution_backward_filter", lambda e: e.conv_filter(x=(1, 3, 8), dw=(4, 3, 3), dy=(1, 4, 8), conv=C((1,))), "x.dims", "4 or 5", "(1, 3, 8)"),
    unsupported("4.51", "convolution_backward_filter", lambda e: e.conv_filter(x=_negative(e)), "x.strides", ">= 0", "-1", backends=("reference", "cuda")),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(w=None), "w", "a tensor", "None"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(dy=None), "dy", "a tensor", "None"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(dx=None), "dx", "do not follow", "None"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(conv=None), "conv", "ConvolutionDescriptor", "None"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(alpha=None), "alpha", "a number", "None"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(dy=(4, 8, 8)), "dy.dims", "4 dims as dx", "(4, 8, 8)"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(w=(4, 3, 3)), "w.dims", "4 dims as dx", "(4, 3, 3)"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(w=(4, 3), dy=(4, 8), dx=(3, 8)), "w.dims", "3 to 8", "(4, 3)"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(w=e.t((4, 3, 3, 3), "float64")), "w.dtype", "FLOAT as dx", "DOUBLE"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(w=(4, 5, 3, 3)), "dx.dims[1]", "dx has 3", "w expects 5"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(dy=(1, 4, 7, 8)), "dy.dims", "(1, 4, 8, 8)", "(1, 4, 7, 8)"),
    bad("4.56", "convolution_backward_data", lambda e: e.conv_data(algo=99), "algo", "WINOGRAD", "99"),
    unsupported("4.56", "convolution_backward_data", lambda e: e.conv_data(dy=(1, 4, 8), w=(4, 3, 3), dx=(1, 3, 8), conv=C((1,))), "dx.dims", "4 or 5", "(1, 3, 8)"),
    unsupported("4.56", "convolution_backward_data", lambda e: e.conv_data(dy=_negative(e, 4)), "dy.strides", ">= 0", "-1", backends=("reference", "cuda")),
]  # fmt: skip

LAYERS: list[Row] = [
    bad("4.57", "softmax_forward", lambda e: e.soft(y=(1, 3, 8, 4)), "y.dims", "(1, 3, 8, 8) as x", "(1, 3, 8, 4)"),
    bad("4.57", "softmax_forward", lambda e: e.soft(y=e.t(X, "float16")), "y.dtype", "FLOAT as x", "HALF"),
    bad("4.57", "softmax_forward", lambda e: e.soft(algorithm=3), "algorithm", "FAST, ACCURATE, LOG", "3"),
    bad("4.57", "softmax_forward", lambda e: e.soft(mode="spatial"), "mode", "INSTANCE, CHANNEL", "'spatial'"),
    bad("4.57", "softmax_forward", lambda e: _in_place_strided(e, dnn.softmax_forward), "y.strides", "1x3x8x8", "f32:1x3x8x8:nhwc"),
    bad("4.57", "softmax_forward", lambda e: e.soft(x=None), "x", "a tensor", "None"),
    bad("4.58", "softmax_backward", lambda e: e.soft_back(dy=(1, 3, 4, 8)), "dy.dims", "as y", "(1, 3, 4, 8)"),
    bad("4.58", "softmax_backward", lambda e: e.soft_back(dx=(1, 3, 4, 8)), "dx.dims", "as y", "(1, 3, 4, 8)"),
    bad("4.58", "softmax_backward", lambda e: e.soft_back(dy=e.t(X, format="nhwc")), "dy.strides", "(192, 64, 8, 1) as y", "(192, 1, 24, 3)"),
    bad("4.58", "softmax_backward", lambda e: e.soft_back(dx=e.t(X, "float64")), "dx.dtype", "FLOAT as y", "DOUBLE"),
    bad("4.58", "softmax_backward", lambda e: e.soft_back(mode=2), "mode", "CHANNEL", "2"),
    bad("4.73", "get_pooling_2d_forward_output_dim", lambda e: dnn.get_pooling_2d_forward_output_dim(None, X), "pooling", "PoolingDescriptor", "None"),
    bad("4.73", "get_pooling_2d_forward_output_dim", lambda e: dnn.get_pooling_2d_forward_output_dim(P("max", (2, 2)), (1, 3, 8)), "pooling.window", "1 values", "(2, 2)"),
    bad("4.73", "get_pooling_2d_forward_output_dim", lambda e: dnn.get_pooling_2d_forward_output_dim(P("max", (2,) * 3), (1, 3, 8, 8, 8)), "x.dims", "4 dims", "5"),
    bad("4.74", "get_pooling_nd_forward_output_dim", lambda e: dnn.get_pooling_nd_forward_output_dim(A("relu"), X), "pooling", "PoolingDescriptor", "Activation"),
    bad("4.74", "get_pooling_nd_forward_output_dim", lambda e: dnn.get_pooling_nd_forward_output_dim(P("max", (2, 2, 2)), X), "pooling.window", "2 values", "(2, 2, 2)"),
    bad("4.74", "get_pooling_nd_forward_output_dim", lambda e: dnn.get_pooling_nd_forward_output_dim(P("max", (9, 2)), X), "pooling.window[0]", "padded input (8)", "9"),
    bad("4.75", "pooling_forward", lambda e: e.pool(y=(2, 3, 7, 7)), "y.dims", "(1, 3, 7, 7)", "(2, 3, 7, 7)"),
    bad("4.75", "pooling_forward", lambda e: e.pool(y=(1, 4, 7, 7)), "y.dims", "(1, 3, 7, 7)", "(1, 4, 7, 7)"),
    bad("4.75", "pooling_forward", lambda e: e.pool(y=e.t((1, 3, 7, 7), "float16")), "y.dtype", "FLOAT as x", "HALF"),
    bad("4.75", "pooling_forward", lambda e: e.pool(pooling=P("max", (9, 9))), "pooling.window[0]", "padded input (8)", "9"),
    bad("4.75", "pooling_forward", lambda e: e.pool(pooling=P("max", (2, 2, 2))), "pooling.window", "2 values", "(2, 2, 2)"),
    bad("4.75", "pooling_forward", lambda e: e.pool(pooling="max"), "pooling", "PoolingDescriptor", "'max'"),
    bad("4.75", "pooling_forward", lambda e: e.pool(pooling=(0, (2, 2), (0, 0), (1, 1), 0)), "pooling", "PoolingDescriptor", "(0, (2, 2)"),
    unsupported("4.75", "pooling_forward", lambda e: e.pool(x=(1, 3, 8), y=(1, 3, 7), pooling=P("max", (2,))), "x.dims", "2 or 3 spatial", "(1, 3, 8)"),
    unsupported("4.75", "pooling_forward", lambda e: e.pool(x=(1, 1, 2, 2, 2, 2), y=(1, 1, 1, 1, 1, 1), pooling=P("max", (2,) * 4)), "x.dims", "2 or 3 spatial", "(1, 1, 2, 2, 2, 2)"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(dy=(1, 3, 7, 6)), "dy.dims", "as y", "(1, 3, 7, 6)"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(dy=e.t((1, 3, 7, 7), format="nhwc")), "dy.strides", "as y", "(147, 1, 21, 3)"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(dx=(1, 3, 8, 9)), "dx.dims", "as x", "(1, 3, 8, 9)"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(dx=e.t(X, format="nhwc")), "dx.strides", "as x", "(192, 1, 24, 3)"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(dx=e.t(X, "float64")), "dx.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(y=e.t((1, 3, 7, 7), "float64"), dy=e.t((1, 3, 7, 7), "float64")), "y.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(y=(1, 3, 6, 7), dy=(1, 3, 6, 7)), "y.dims", "(1, 3, 7, 7)", "(1, 3, 6, 7)"),
    bad("4.76", "pooling_backward", lambda e: e.pool_back(y=None), "y", "a tensor", "None"),
    unsupported("4.76", "pooling_backward", lambda e: e.pool_back(x=(1, 3, 8), dx=(1, 3, 8), y=(1, 3, 7), dy=(1, 3, 7), pooling=P("max", (2,))), "x.dims", "2 or 3 spatial", "(1, 3, 8)"),
    bad("4.77", "activation_forward", lambda e: e.act(y=(1, 3, 8, 4)), "y.dims", "as x", "(1, 3, 8, 4)"),
    bad("4.77", "activation_forward", lambda e: e.act(y=e.t(X, "float64")), "y.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.77", "activation_forward", lambda e: e.act(activation="relu"), "activation", "ActivationDescriptor", "'relu'"),
    bad("4.77", "activation_forward", lambda e: e.act(activation=dnn.OpTensorDescriptor("add")), "activation", "ActivationDescriptor", "OpTensorDescriptor"),
    bad("4.77", "activation_forward", lambda e: e.act(activation=[]), "activation", "ActivationDescriptor", "[]"),
    bad("4.77", "activation_forward", lambda e: _in_place_strided(e, dnn.activation_forward, A("relu")), "y.strides", "1x3x8x8", "f32:1x3x8x8:nhwc"),
    bad("4.77", "activation_forward", lambda e: _half_in_place(e), "y", "apart from x", "shared memory"),
    bad("4.77", "activation_forward", lambda e: e.act(alpha=-1e300), "alpha", "float32", "-1e+300"),
    bad("4.78", "activation_backward", lambda e: _in_place_gradient(e), "dx.strides", "1x3x8x8", "nhwc"),
    unsupported("4.78", "activation_backward", lambda e: e.act_back(y=(1, 3, 8, 4), dy=(1, 3, 8, 4)), "y.dims", "as x", "(1, 3, 8, 4)"),
    unsupported("4.78", "activation_backward", lambda e: e.act_back(y=e.t(X, "float16"), dy=e.t(X, "float16")), "y.dtype", "FLOAT as x", "HALF"),
    unsupported("4.78", "activation_backward", lambda e: e.act_back(dy=e.t(X, format="nhwc")), "dy.strides", "as y", "(192, 1, 24, 3)"),
    unsupported("4.78", "activation_backward", lambda e: e.act_back(dx=e.t(X, format="nhwc")), "dx.strides", "as x", "(192, 1, 24, 3)"),
    bad("4.78", "activation_backward", lambda e: e.act_back(dy=None), "dy", "a tensor", "None"),
]  # fmt: skip

LINES: list[Row] = [
    bad("2.1", "parse", lambda e, line=line: dnn.parse(line), argument, *says)
    for line, argument, says in (
        (None, "line", ("an operation", "None")),
        ("", "line", ("an operation", "''")),
        ("convolve x=f32:1x1x1x1", "line", ("convolution_forward", "'convolve")),
        ("set_tensor", "set_tensor", ("y in the line", "'set_tensor'")),
        ("set_tensor y", "set_tensor", ("name=value", "'y'")),
        ("set_tensor y=f32:1x1x1 z=3", "set_tensor", ("name of y, value", "'z=3'")),
        ("set_tensor y=f32:1x1x1 y=f32:1x1x1", "set_tensor", ("y once", "twice")),
        ("set_tensor y=f32:1x1x1 value=one", "value", ("numbers", "'one'")),
        ("set_tensor y=i16:1x1x1", "y", ("f32:8x64x56x56", "'i16:1x1x1'")),
        ("set_tensor y=i32:1x1x1", "y.dtype", ("float16, bfloat16, float32 or float64", "int32")),
        ("set_tensor y=f32:1x-1x1", "y", ("f32:8x64x56x56", "'f32:1x-1x1'")),
        ("set_tensor y=f32:1x1x1/1,1", "y", ("3 strides", "'f32:1x1x1/1,1'")),
        ("set_tensor y=f32:1x1x1@3", "y", ("alignment", "@3")),
        ("set_tensor y=f64:1x1x1@4", "y", ("alignment", "@4")),
        ("set_tensor y=f32:1x1", "y.dims", ("3 to 8 dims", "(1, 1)")),
        ("set_tensor y=f32:" + "9" * 5000, "y", ("f32:8x64x56x56", "999")),
        ("softmax_forward x=f32:1x1x1 mode=all", "mode", ("INSTANCE", "'all'")),
        ("activation_forward x=f32:1x1x1 mode=clipped_relu ceiling=nan", "ceiling", ("number", "nan")),
        ("convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 stride=0,1", "conv.stride", (">= 1", "(0, 1)")),
        ("convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 padding=-1,0", "conv.padding", (">= 0", "(-1, 0)")),
        ("convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 stride=1", "conv.stride", ("2 values", "(1,)")),
        ("convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 groups=0", "conv.groups", (">= 1", "0")),
        ("convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 groups=a", "groups", ("numbers", "'a'")),
        ("convolution_forward x=f32:5 w=f32:4x3x3x3", "w.dims", ("1 dims as x", "(4, 3, 3, 3)")),
        ("convolution_forward x=f32:5 w=f32:4", "x.dims", ("3 to 8", "(5,)")),
        ("convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 compute_type=q8", "compute_type", ("f32", "'q8'")),
        ("convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 compute_type=i8", "compute_type", ("f32", "'i8'")),
        (
            "op_tensor a=f32:1x1x1 b=f32:1x1x1 c=f32:1x1x1 operation=add compute_type=i64",
            "compute_type",
            ("f32", "'i64'"),
        ),
        ("reduce_tensor a=f32:2x3x4 c=f32:1x1x1 compute_type=u8", "compute_type", ("f32", "'u8'")),
        ("pooling_forward x=f32:1x3x8x8 mode=max window=2,x", "window", ("numbers", "'2,x'")),
        ("pooling_forward x=f32:1x3x8x8 mode=max window=0,2", "pooling.window", (">= 1", "(0, 2)")),
    )
]


def _negative(e: Env, channels: int = 3) -> object:
    return e.t((1, channels, 8, 8))[..., ::-1]


def _in_place_conv(e: Env) -> object:
    x = e.t((1, 4, 8, 8))
    return e.conv(x=x, w=(4, 4, 3, 3), y=x)


def _in_place_strided(e: Env, function, *descriptor) -> object:
    x = e.t(X)
    return function(e.h, x, *descriptor, T(X, format="nhwc").view(x))


def _half_in_place(e: Env) -> object:
    base = e.t((1, 1, 64, 64))
    return e.act(x=T(X).view(base), y=T(X).view(base, 96))


def _in_place_gradient(e: Env) -> object:
    dy = e.t(X)
    view = T(X, format="nhwc").view(dy)
    return dnn.activation_backward(e.h, e.t(X), dy, e.t(X, format="nhwc"), A("relu"), view)


ROWS = CONVOLUTION + LAYERS + LINES
