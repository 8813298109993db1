"""Convolution, bias and activation in one call: kernel backends against the reference, the reference against torch."""

from __future__ import annotations

import numpy as np
import pytest
from cases import HALF
from cases_convolution_fused import FUSED_CASES, INTEGER, fused
from helper import Case, check, compare, everywhere, over
from where import scratch

import portadnn as dnn
from portadnn.problem import parse_line
from portadnn_backends.engines import kernel_engines
from portadnn_backends.engines.conv.cpu.gemm import ConvCpuGemm
from portadnn_backends.engines.conv.epilogue import ConvThenEpilogue
from portadnn_backends.engines.conv.gemm import ConvGemmForward

CONV = dnn.ConvolutionDescriptor((1, 1))
RELU = dnn.ActivationDescriptor("relu")
PLAIN = (ConvGemmForward(), ConvCpuGemm())

GEOMETRY = ((2, 6, 9, 8), 10, (3, 3), "padding=1,1 groups=2")
FALLBACK = (
    Case(fused(GEOMETRY, dnn.DataType.FLOAT, "nchw", "activation=clipped_relu ceiling=0.5 alpha2=1")),
    Case(
        fused(GEOMETRY, dnn.DataType.FLOAT, "nhwc", "activation=relu alpha1=2 alpha2=-1"), "integer", alias=("y", "z")
    ),
    Case(fused(GEOMETRY, HALF, "nchw", "activation=tanh alpha1=0.5 alpha2=0")),
    Case(fused(GEOMETRY, HALF, "nchw", "activation=relu alpha1=3 alpha2=1", "nhwc")),
    Case(fused(GEOMETRY, dnn.DataType.DOUBLE, "gaps", "activation=sigmoid alpha2=0.5"), alias=("y", "z")),
)


@over(FUSED_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)


@over(FALLBACK, kernels=True)
def test_convolution_and_then_the_rest(handle, case):
    plain = parse_line(case.line)[0].convolution
    engines = [ConvThenEpilogue(engine) for engine in PLAIN if engine.why_not(plain, handle.info) is None]
    assert engines
    for engine in engines:
        check(handle, case, engine=engine)


# stores of tensor cores: vectors of channels, vectors of pixels, one by one, and split sums; TF32 and bfloat16
NATIVE = (
    Case(fused(((2, 16, 7, 9), 24, (3, 3), "padding=1,1"), HALF, "nhwc", "activation=tanh alpha1=0.5 alpha2=1")),
    Case(fused(((2, 16, 8, 8), 24, (1, 1), ""), HALF, "nchw", INTEGER), "integer", alias=("y", "z")),
    Case(fused(((2, 16, 8, 8), 24, (3, 3), "groups=2"), HALF, "nchw", "activation=relu alpha2=-1", "nhwc")),
    Case(fused(((1, 512, 4, 4), 8, (3, 3), "padding=1,1"), dnn.DataType.BFLOAT16, "nhwc", "activation=sigmoid")),
    Case(fused(((2, 8, 8, 8), 24, (1, 1), "math=tf32"), dnn.DataType.FLOAT, "nchw", "activation=relu alpha2=1")),
)


@over(NATIVE, kernels=True)
def test_every_engine_that_finishes_in_its_stores(handle, case):
    problem = parse_line(case.line)[0]
    engines = [e for e in handle.engines_for(problem) if not isinstance(e, ConvThenEpilogue)]
    engines = [e for e in engines if e.why_not(problem, handle.info) is None]
    assert engines
    for engine in engines:
        check(handle, case, engine=engine)


def test_every_convolution_can_be_finished():
    """Each engine of forward convolution takes fused ones, or one that runs it first does."""
    plain = dnn.parse("convolution_forward x=f32:1x3x5x5 w=f32:4x3x3x3")
    both = dnn.parse("convolution_bias_activation_forward x=f32:1x3x5x5 w=f32:4x3x3x3 activation=relu")
    engines = kernel_engines()
    takers = {getattr(e, "engine", e).name for e in engines if isinstance(both, e.problems)}
    assert {e.name for e in engines if isinstance(plain, e.problems)} == takers
    algos = {e.algo(plain) for e in engines if isinstance(plain, e.problems)}
    assert {e.algo(both) for e in engines if isinstance(both, e.problems)} == algos


def arrays(handle):
    rng = np.random.default_rng(5)
    shapes = (2, 3, 6, 7), (4, 3, 3, 3), (1, 4, 1, 1), (2, 4, 6, 7)
    return [handle.asarray(rng.standard_normal(shape), "float32") for shape in shapes]


@everywhere()
def test_is_the_three_calls_in_one(handle):
    x, w, bias, z = arrays(handle)
    want = dnn.convolution_forward(handle, x, w, CONV, handle.asarray(handle.to_numpy(z)), alpha=0.5, beta=2.0)
    want = handle.to_numpy(dnn.activation_forward(handle, dnn.add_tensor(handle, bias, want), RELU))
    got = dnn.convolution_bias_activation_forward(handle, x, w, CONV, bias, RELU, z=z, alpha1=0.5, alpha2=2.0)
    compare(handle.to_numpy(got), want, 1e-5)
    same = dnn.convolution_bias_activation_forward(handle, x, w, CONV, bias, RELU, z, z=z, alpha1=0.5, alpha2=2.0)
    assert same is z
    compare(handle.to_numpy(z), handle.to_numpy(got), 1e-5)  # in place z may be added at another point


@everywhere()
def test_z_may_be_left_out_and_is_not_read(handle):
    x, w, bias, z = arrays(handle)
    want = handle.to_numpy(dnn.convolution_bias_activation_forward(handle, x, w, CONV, bias, RELU))
    nan = handle.asarray(np.full(z.shape, np.nan, np.float32))
    for more in ({"y": z}, {"z": nan}, {"y": nan, "z": nan}, {"y": nan}):
        got = dnn.convolution_bias_activation_forward(handle, x, w, CONV, bias, RELU, **more)
        np.testing.assert_array_equal(handle.to_numpy(got), want)
    for alpha2 in (1.0, float("nan")):
        with pytest.raises(dnn.BadParam, match="z: expected a tensor, because alpha2 is not 0"):
            dnn.convolution_bias_activation_forward(handle, x, w, CONV, bias, RELU, alpha2=alpha2)


@everywhere()
def test_workspace_is_exact(handle):
    x, w, bias, _ = arrays(handle)
    needed = dnn.get_convolution_bias_activation_forward_workspace_size(handle, x, w, CONV, bias, RELU)
    if needed:
        with pytest.raises(dnn.BadParam, match=f"at least {needed} bytes, got {needed - 1} bytes"):
            workspace = scratch(handle, needed - 1)
            dnn.convolution_bias_activation_forward(handle, x, w, CONV, bias, RELU, workspace=workspace)
    workspace = scratch(handle, needed)
    dnn.convolution_bias_activation_forward(handle, x, w, CONV, bias, RELU, workspace=workspace)


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh", "clipped_relu", "identity", "elu", "swish"])
@pytest.mark.parametrize("rank", [2, 3])
def test_reference_agrees_with_torch(reference, rank, activation):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    functions = {
        "relu": torch.relu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "clipped_relu": lambda v: torch.nn.functional.hardtanh(v, 0.0, 0.5),
        "identity": lambda v: v,
        "elu": torch.nn.functional.elu,
        "swish": torch.nn.functional.silu,
    }
    rng = np.random.default_rng(rank)
    x, w = rng.standard_normal((2, 4, *[5] * rank)), rng.standard_normal((6, 2, *[3] * rank))
    z, bias = rng.standard_normal((2, 6, *[3] * rank)), rng.standard_normal((1, 6, *[1] * rank))
    function = torch.nn.functional.conv2d if rank == 2 else torch.nn.functional.conv3d
    tensors = [torch.from_numpy(t) for t in (x, w, z, bias)]
    total = function(tensors[0], tensors[1], None, 2, 1, 1, 2) * 0.5 - 2 * tensors[2] + tensors[3]
    conv = dnn.ConvolutionDescriptor([1] * rank, [2] * rank, groups=2)
    descriptor = dnn.ActivationDescriptor(activation, ceiling=0.5)
    got = dnn.convolution_bias_activation_forward(reference, x, w, conv, bias, descriptor, z=z, alpha1=0.5, alpha2=-2.0)
    compare(got, functions[activation](total).numpy(), 1e-12)
