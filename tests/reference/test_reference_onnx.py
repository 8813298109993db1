"""The reference backend against ONNX's reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from helper import compare

import portadnn as dnn

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto  # noqa: E402
from onnx import helper as make  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

EXACT = 1e-12  # both compute in float64


def evaluate(operator, *inputs, outputs=1, opset=17, **attributes):
    """Run one ONNX operator on float64 arrays."""
    names = [f"i{n}" for n in range(len(inputs))]
    results = [f"o{n}" for n in range(outputs)]
    graph = make.make_graph(
        [make.make_node(operator, names, results, **attributes)],
        "one",
        [make.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in names],
        [make.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in results],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", opset)])
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))[0]


def close(got, want):
    compare(got, want, EXACT * (1 + np.abs(want)))


def normal(*dims):
    return np.random.default_rng(11).standard_normal(dims)


CONVOLUTIONS = [
    ((2, 3, 6, 7), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 3, 9, 8), (5, 3, 3, 2), (0, 1), (2, 3), (1, 1), 1),
    ((1, 4, 9, 9), (6, 2, 3, 3), (2, 2), (1, 1), (2, 2), 2),
    ((2, 6, 7, 7), (6, 1, 3, 3), (1, 1), (2, 2), (1, 1), 6),
    ((1, 1, 1, 1), (1, 1, 1, 1), (0, 0), (1, 1), (1, 1), 1),
    ((3, 5, 4, 4), (7, 5, 4, 4), (0, 0), (1, 1), (1, 1), 1),
    ((1, 2, 8, 8), (3, 2, 5, 5), (4, 4), (1, 1), (1, 1), 1),
]
CONVOLUTIONS_3D = [
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), (1, 1, 0), (1, 1, 1), (1, 1, 1), 1),
    ((2, 4, 5, 4, 5), (6, 2, 3, 2, 2), (1, 0, 1), (2, 1, 2), (1, 2, 1), 2),
]


def _geometry(padding, stride, dilation, groups):
    conv = dnn.ConvolutionDescriptor(padding=padding, stride=stride, dilation=dilation, groups=groups)
    return conv, {"pads": [*padding, *padding], "strides": stride, "dilations": dilation, "group": groups}


@pytest.mark.parametrize(("x", "w", "padding", "stride", "dilation", "groups"), CONVOLUTIONS + CONVOLUTIONS_3D)
def test_convolution(reference, x, w, padding, stride, dilation, groups):
    conv, attributes = _geometry(padding, stride, dilation, groups)
    x, w = normal(*x), normal(*w)
    want = evaluate("Conv", x, w, **attributes)
    assert dnn.get_convolution_nd_forward_output_dim(conv, x.shape, w.shape) == want.shape
    close(dnn.convolution_forward(reference, x, w, conv), want)


# onnx's evaluator of ConvTranspose knows one group only
@pytest.mark.parametrize(
    ("x", "w", "padding", "stride", "dilation", "groups"), [case for case in CONVOLUTIONS if case[-1] == 1]
)
def test_convolution_backward_data_is_a_transposed_convolution(reference, x, w, padding, stride, dilation, groups):
    conv, attributes = _geometry(padding, stride, dilation, groups)
    out = dnn.get_convolution_nd_forward_output_dim(conv, x, w)
    dy, w = normal(*out), normal(*w)
    rest = [
        size - ((p - 1) * s - 2 * pad + (r - 1) * d + 1)
        for size, p, s, pad, r, d in zip(x[2:], out[2:], stride, padding, w.shape[2:], dilation, strict=True)
    ]
    want = evaluate("ConvTranspose", dy, w, output_padding=rest, **attributes)
    close(dnn.convolution_backward_data(reference, w, dy, conv, np.zeros(x)), want)


POOLINGS = [
    ((2, 3, 6, 8), (2, 2), (2, 2), (0, 0)),
    ((1, 2, 7, 7), (3, 3), (2, 2), (1, 1)),
    ((2, 1, 9, 5), (2, 3), (4, 2), (1, 1)),
    ((1, 3, 4, 4), (4, 4), (1, 1), (0, 0)),
    ((1, 2, 4, 5, 6), (2, 2, 3), (2, 1, 2), (1, 0, 1)),
]


@pytest.mark.parametrize("mode", ["MAX", "AVERAGE_COUNT_INCLUDE_PADDING", "AVERAGE_COUNT_EXCLUDE_PADDING"])
@pytest.mark.parametrize(("x", "window", "stride", "padding"), POOLINGS)
def test_pooling(reference, x, window, stride, padding, mode):
    x = normal(*x)
    attributes = {"kernel_shape": window, "strides": stride, "pads": [*padding, *padding]}
    if mode == "MAX":
        want = evaluate("MaxPool", x, **attributes)
    else:
        want = evaluate("AveragePool", x, count_include_pad=int("INCLUDE" in mode), **attributes)
    pooling = dnn.PoolingDescriptor(mode, window, padding=padding, stride=stride)
    assert dnn.get_pooling_nd_forward_output_dim(pooling, x.shape) == want.shape
    close(dnn.pooling_forward(reference, x, pooling), want)


@pytest.mark.parametrize(
    ("mode", "operator", "attributes"),
    [("SIGMOID", "Sigmoid", {}), ("RELU", "Relu", {}), ("TANH", "Tanh", {}), ("ELU", "Elu", {"alpha": 1.0})],
)
def test_activation(reference, mode, operator, attributes):
    x = 4 * normal(2, 3, 5, 7)
    want = evaluate(operator, x, **attributes)
    close(dnn.activation_forward(reference, x, dnn.ActivationDescriptor(mode)), want)


def test_clipped_relu(reference):
    x = 4 * normal(2, 3, 5, 7)
    want = evaluate("Clip", x, np.float64(0), np.float64(1.5))
    close(dnn.activation_forward(reference, x, dnn.ActivationDescriptor("CLIPPED_RELU", ceiling=1.5)), want)


@pytest.mark.parametrize(
    ("algorithm", "operator"), [("ACCURATE", "Softmax"), ("FAST", "Softmax"), ("LOG", "LogSoftmax")]
)
@pytest.mark.parametrize("dims", [(2, 7, 3, 4), (3, 10, 1, 1), (2, 3, 2, 2, 3)])
def test_softmax(reference, dims, algorithm, operator):
    x = 5 * normal(*dims)
    close(dnn.softmax_forward(reference, x, algorithm=algorithm), evaluate(operator, x, axis=1))
    flat = evaluate(operator, x.reshape(dims[0], -1), axis=1).reshape(dims)
    close(dnn.softmax_forward(reference, x, algorithm=algorithm, mode="INSTANCE"), flat)


@pytest.mark.parametrize(("operation", "operator"), [("ADD", "Add"), ("MUL", "Mul"), ("MIN", "Min"), ("MAX", "Max")])
def test_op_tensor(reference, operation, operator):
    a, b = normal(2, 3, 4, 5), normal(1, 3, 1, 5)
    want = evaluate(operator, 2 * a, -3 * b)
    close(dnn.op_tensor(reference, operation, a, b, alpha1=2, alpha2=-3), want)
