"""The torch backend: tensors, settings, refusals; and that what docs/torch-differences.md says is so."""

from __future__ import annotations

import subprocess
import sys

import helper
import numpy as np
import pytest
import torch_differences
from helper import Case, check

import portadnn as dnn
from portadnn.registry import get_backend
from portadnn_backends.torch_engines import precision

MISSING = get_backend("torch").why_unavailable()
needs_torch = pytest.mark.skipif(MISSING is not None, reason=f"torch: {MISSING}")

LINES = (  # one of each family; the case tables run with PORTADNN_TEST_BACKENDS=torch
    "convolution_forward x=f32:2x4x7x6:nhwc w=f32:6x2x3x3 padding=1,1 groups=2 mode=convolution alpha=2 beta=0.5",
    "convolution_forward x=f16:2x4x7x6 w=f16:6x4x3x3",
    "convolution_backward_data dx=f64:2x3x4x5x4 w=f64:5x3x2x3x2 dy=f64:2x5x3x3x3",
    "convolution_backward_filter x=bf16:2x3x7x6 dw=bf16:4x3x3x3 dy=bf16:2x4x5x4 mode=convolution",
    "convolution_backward_bias dy=f16:2x3x4x5 alpha=2 beta=1",
    "convolution_bias_activation_forward x=f32:2x3x5x5 w=f32:4x3x3x3 activation=elu alpha1=2 alpha2=0.5",
    "pooling_forward x=f16:2x3x7x6 mode=max window=3,2 padding=1,1 stride=2,1",
    "pooling_backward x=f32:2x3x4x5x6 mode=average_count_exclude_padding window=2,3,2 padding=1,1,0 stride=1,2,2",
    "activation_forward x=bf16:2x3x4x5 mode=clipped_relu ceiling=0.7",
    "activation_backward x=f32:2x3x4x5 mode=swish coef=1.5 beta=1",
    "activation_backward x=bf16:2x8x5x4x3x2 mode=swish coef=1.75",
    "activation_backward x=bf16:2x8x5x4x3x2 mode=elu",
    "softmax_forward x=f32:2x7x4x5 algorithm=fast mode=instance",
    "softmax_backward y=f16:2x7x4x5 algorithm=log",
    "lrn_cross_channel_backward x=f64:2x9x4x5 dy=f64:2x9x4x5 y=f64:2x9x4x5 dx=f64:2x9x4x5 lrn_n=5 lrn_alpha=1.5",
    "batch_normalization_forward_training x=f32:4x3x4x5 running_mean=f32:1x3x1x1 running_variance=f32:1x3x1x1",
    "batch_normalization_backward x=f16:4x3x4x5 mode=per_activation beta_param_diff=1",
    "normalization_forward x=f32:3x6x4x5 mode=group_norm groups=3 scale=f32:1x6x1x1 bias=f32:1x6x1x1",
    "normalization_backward x=f32:3x6x4x5 mode=rms_norm axis=2 scale=f32:1x1x4x5",
    "spatial_tf_grid_generator_backward dgrid=f32:2x4x3x2",
    "spatial_tf_sampler_forward x=f16:2x3x6x5 grid=f16:2x4x3x2 alpha=2 beta=1",
    "reduce_tensor a=f32:3x4x5 c=f32:3x1x1 indices=i32:3x1x1 operation=amax",
    "reduce_tensor a=f16:3x4x5 c=f16:3x1x5 operation=mul_no_zeros alpha=2",
    "op_tensor a=f32:2x3x4x5 b=f32:1x3x1x1 operation=min alpha1=2 beta=-1",
    "dropout_backward dy=f32:2x3x5x7 dropout=0.4",
    "rnn_forward_inference x=f32:6x3x1 w=f32:552x1x1 y=f32:6x8x1 hidden_size=4 num_layers=2 mode=gru"
    " direction=bidirectional batch_sizes=3,2,1",
)


@pytest.fixture
def torch_handle():
    if MISSING is not None:
        pytest.skip(f"torch: {MISSING}")
    with dnn.Handle("torch") as handle:
        yield handle


@pytest.mark.parametrize("line", LINES)
def test_agrees_with_the_definition(torch_handle, line):
    check(torch_handle, Case(line))


@pytest.mark.parametrize("line", sorted(torch_differences.lines()))
def test_what_is_known_to_differ_does(torch_handle, line):
    with pytest.raises(pytest.fail.Exception, match="times the tolerance"):
        check(torch_handle, Case(line))


def test_gradients_of_maxima_that_differ(torch_handle):
    pool = dnn.PoolingDescriptor("max", (1, 2), (0, 0), (1, 2), nan_propagation="PROPAGATE_NAN")
    x = torch_handle.asarray(np.array([np.nan, np.nan], np.float32).reshape(1, 1, 1, 2))
    y = dnn.pooling_forward(torch_handle, x, pool)
    dx = dnn.pooling_backward(torch_handle, y, torch_handle.asarray(np.ones((1, 1, 1, 1), np.float32)), x, pool)
    assert torch_handle.to_numpy(dx).tolist() == [[[[0, 1]]]]


def test_maxima_start_from_the_lowest_number(torch_handle):
    x = torch_handle.asarray(np.array([np.nan, -np.inf, np.nan, -1], np.float16).reshape(1, 1, 1, 4))
    y = dnn.pooling_forward(torch_handle, x, dnn.PoolingDescriptor("max", (1, 2), (0, 0), (1, 2)))
    assert torch_handle.to_numpy(y).tolist() == [[[[-65504, -1]]]]


def test_importing_portadnn_and_asking_for_engines_imports_no_torch():
    program = (
        "import sys; import portadnn; from portadnn.problem import parse; from portadnn.registry import get_backend;"
        "problem = parse('softmax_forward x=f32:1x2x3');"
        "print(get_backend('torch').engines()[0].refusal(problem, get_backend('reference').devices()[0]));"
        "assert 'torch' not in sys.modules"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "None\n"
    )


def test_without_torch_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(dnn.NotSupported, match="torch is not installed; try: pip install torch"):
        dnn.Handle("torch")


@needs_torch
def test_auto_never_takes_it(monkeypatch):
    monkeypatch.setattr("portadnn.environment.backend_names", lambda: ("torch",))
    monkeypatch.delenv("PORTADNN_BACKEND", raising=False)
    with pytest.raises(dnn.NotSupported, match="no backend is available"):
        dnn.Handle()


def test_tensors_are_used_in_place_and_settings_come_back(torch_handle):
    torch = pytest.importorskip("torch")
    x = torch.arange(-12.0, 12, requires_grad=True).reshape(2, 3, 4)
    y = torch.full((4, 3, 2), torch.nan).permute(2, 1, 0)
    precisions = [
        place for place, name, _ in precision._exact(torch) if name == "fp32_precision"
    ]  # none before torch 2.9
    before = [place.fp32_precision for place in precisions]
    legacy = torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic, torch.backends.cuda.matmul.allow_tf32
    with torch.autocast("cpu", torch.bfloat16):
        out = dnn.activation_forward(torch_handle, x, dnn.ActivationDescriptor("RELU"), y)
    assert out is y and not y.requires_grad
    assert torch.equal(y, x.detach().clamp(min=0))
    assert before == [place.fp32_precision for place in precisions]
    after = torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic, torch.backends.cuda.matmul.allow_tf32
    assert legacy == after


def test_arrays_of_others_are_shared(torch_handle):
    x = np.arange(-3, 3, dtype=np.float32).reshape(1, 2, 3)
    y = np.full_like(x, np.nan)
    dnn.activation_forward(torch_handle, x, dnn.ActivationDescriptor("RELU"), y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    y.flags.writeable = False
    with pytest.raises(dnn.BadParam, match="y: expected a writable array"):
        dnn.activation_forward(torch_handle, x, dnn.ActivationDescriptor("RELU"), y)
    memory = bytearray(48)
    view = dnn.TensorDescriptor((1, 2, 3)).view(memory, 4)
    dnn.set_tensor(torch_handle, view, 2.0)
    assert np.frombuffer(memory, np.float32).tolist() == [0] * 4 + [2] * 6 + [0] * 2


def test_other_tensors_are_refused(torch_handle):
    torch = pytest.importorskip("torch")
    relu, x = dnn.ActivationDescriptor("RELU"), torch_handle.zeros((1, 2, 3))
    with pytest.raises(dnn.BadParam, match=r"expected a dense tensor on cpu, got .* on meta"):
        dnn.activation_forward(torch_handle, torch.empty(1, 2, 3, device="meta"), relu)
    with pytest.raises(dnn.BadParam, match="sparse"):
        dnn.activation_forward(torch_handle, torch.ones(1, 2, 3).to_sparse(), relu)
    with pytest.raises(dnn.BadParam, match=r"x\.dtype"):
        dnn.activation_forward(torch_handle, torch.ones(1, 2, 3, dtype=torch.int64), relu)
    with pytest.raises(dnn.BadParam, match="stream: expected None"):
        torch_handle.set_stream(object())
    with pytest.raises(dnn.BadParam, match="workspace"):
        total = torch_handle.zeros((1, 1, 1))
        dnn.reduce_tensor(torch_handle, dnn.ReduceTensorDescriptor("add"), x, total, workspace=b"")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("pooling_forward x=f32:1x1x4x4 mode=max window=2,2 padding=2,2", "half a window"),
        ("lrn_cross_channel_forward x=f32:1x4x2x2 lrn_n=4", "even n"),
        ("activation_forward x=f32:1x1x4 mode=clipped_relu ceiling=0.0", "ceiling above 0"),
        ("activation_backward x=f32:1x1x4 mode=elu coef=-1.0", "at least 0"),
        (
            "normalization_backward x=f32:2x3x1 mode=rms_norm scale=f32:1x3x1 saved_inv_variance=f32:2x1x1",
            "saved deviations",
        ),
        ("spatial_tf_grid_generator_forward theta=f32:1x2x3 grid=f32:1x1x4x2", "size of 1"),
        ("convolution_forward x=f32:1x0x4x4 w=f32:2x0x2x2", "without channels"),
    ],
)
def test_what_pytorch_cannot_say_is_refused(torch_handle, line, reason):
    with pytest.raises(dnn.NotSupported, match=reason):
        check(torch_handle, Case(line))


def test_the_helper_runs_it_only_where_it_is_asked_for(monkeypatch):
    monkeypatch.delenv("PORTADNN_TEST_BACKENDS", raising=False)
    assert "torch" not in {target.backend for target in helper.every_target.__wrapped__()}
