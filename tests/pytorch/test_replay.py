"""Calls again with new tensors of layouts that are known: the same results as PyTorch's, whatever came before."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from places import PLACES  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from portadnn.torch import ops  # noqa: E402


@PLACES
def test_new_tensors(backend, device):
    """Three calls for each of two layouts, in turns: results and gradients are those of the tensors given."""
    for i in range(6):
        x = torch.randn(2, 3 + i % 2, 7, 6, device=device, requires_grad=True)
        w = torch.randn(4, 3 + i % 2, 3, 3, device=device, requires_grad=True)
        results = [ops.conv2d(x, w, stride=2, backend=backend), functional.conv2d(x, w, stride=2)]
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
        dy = torch.randn_like(results[0])
        ours, theirs = (torch.autograd.grad(y, (x, w), dy) for y in results)
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)
        assert not any(a.data_ptr() == b.data_ptr() for a in results for b in (x, w, *ours))


@PLACES
def test_one_tensor_twice(backend, device):
    """A call with one tensor in two places is no pattern for others, and others are none for it."""
    for same in (True, False, True, False):
        x = torch.randn(3, 3, 3, 3, device=device)
        w = x if same else torch.randn(3, 3, 3, 3, device=device)
        torch.testing.assert_close(ops.conv2d(x, w, backend=backend), functional.conv2d(x, w), rtol=1e-4, atol=1e-4)


@PLACES
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_batch_norms_of_other_parameters(backend, device, dtype):
    """Parameters of any type, which change from call to call; statistics that are kept follow."""
    ours, theirs = ([torch.zeros(3, device=device), torch.ones(3, device=device)] for _ in range(2))
    for i in range(3):
        x = (torch.randn(5, 3, 4, device=device) * (i + 1)).requires_grad_()
        scale, bias = (torch.randn(3, device=device).to(dtype).requires_grad_() for _ in range(2))
        y = ops.batch_norm(x, *ours, scale, bias, True, backend=backend)
        want = functional.batch_norm(x, *theirs, scale.float(), bias.float(), True)
        torch.testing.assert_close(y, want, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        dy = torch.randn_like(y)
        got, due = (torch.autograd.grad(one, (x, scale, bias), dy) for one in (y, want))
        assert got[1].dtype is dtype
        torch.testing.assert_close(got, due, rtol=1e-2 if dtype is torch.bfloat16 else 1e-3, atol=1e-3)


@PLACES
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("affine", [True, False])
def test_running_statistics_of_any_type(backend, device, dtype, affine):
    """A model.half() keeps its statistics and parameters in float16; what watches their versions sees the updates."""
    ours, theirs = (torch.nn.BatchNorm2d(4, momentum=0.25, affine=affine, device=device) for _ in range(2))
    ours.to(dtype)
    weights = [p for p in (ours.weight, ours.bias) if p is not None]
    for i in range(4):
        x = (torch.randn(3, 4, 5, 2, device=device) * (i + 1)).to(dtype).requires_grad_()
        version = ours.running_mean._version, ours.running_var._version
        parameters = (ours.running_mean, ours.running_var, ours.weight, ours.bias)
        y = ops.batch_norm(x, *parameters, True, 0.25, backend=backend)
        wide = x.detach().float().requires_grad_()
        want = theirs(wide)
        assert y.dtype is dtype and ours.running_mean.dtype is dtype
        assert ours.running_mean._version > version[0] and ours.running_var._version > version[1]
        torch.testing.assert_close(y.float(), want, rtol=1e-2, atol=1e-2)
        for name in ("running_mean", "running_var"):
            torch.testing.assert_close(getattr(ours, name).float(), getattr(theirs, name), rtol=5e-3, atol=5e-3)
        dy = torch.randn_like(y)
        got = torch.autograd.grad(y, (x, *weights), dy)
        due = torch.autograd.grad(want, (wide, *(p for p in theirs.parameters())), dy.float())
        assert all(g.dtype is dtype for g in got)
        torch.testing.assert_close([g.float() for g in got], list(due), rtol=2e-2, atol=2e-2)


@PLACES
@pytest.mark.parametrize("kinds", [(torch.float16, torch.float16), (torch.float32, torch.float16)])
def test_half_parameters_are_read_as_they_lie(backend, device, kinds):
    """No conversion is launched beside the layer, and statistics are rounded once."""
    own = dict(zip(("weight", "running"), kinds, strict=True))
    x = torch.randn(4, 8, 3, 3, device=device).half()
    weight, bias = (torch.randn(8, device=device).to(own["weight"]) for _ in range(2))
    mean, variance = (torch.rand(8, device=device).to(own["running"]) for _ in range(2))
    wanted = [s.double() for s in (mean, variance)]
    for _ in range(3):
        functional.batch_norm(x.double(), *wanted, weight.double(), bias.double(), True, 0.5)
        wanted = [s.to(own["running"]).double() for s in wanted]
        with torch.profiler.profile() as seen:
            ops.batch_norm(x, mean, variance, weight, bias, True, 0.5, backend=backend)
    assert not [event.key for event in seen.key_averages() if "copy" in event.key]
    torch.testing.assert_close([mean.double(), variance.double()], wanted, rtol=2e-3, atol=0)


@PLACES
@pytest.mark.parametrize("how", ["no_grad", "inference", "strided", "whole number", "profiled", "mean of all"])
def test_running_statistics_however_called(backend, device, how):
    """They follow without gradients, where they are no dense tensors, under the profiler, and by a mean of all."""
    modes = {"no_grad": torch.no_grad, "inference": torch.inference_mode, "profiled": torch.profiler.profile}
    with modes.get(how, torch.enable_grad)():
        ours, theirs = (
            [torch.zeros(3, 2, device=device)[:, 0], torch.ones(3, 2, device=device)[:, 0]] for _ in range(2)
        )
        if how != "strided":
            ours = [s.contiguous() for s in ours]
        for i in range(1, 21):
            x = torch.randn(4, 3, 5, device=device)
            momentum = {"whole number": 1, "mean of all": 1 / i}.get(how, 0.3)
            y = ops.batch_norm(x, *ours, training=True, momentum=momentum, backend=backend)
            want = functional.batch_norm(x, *theirs, training=True, momentum=float(momentum))
            torch.testing.assert_close(y, want, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@PLACES
def test_gradients_by_the_result(backend, device):
    """An activation's gradient reads the result in two places."""
    for _ in range(3):
        x = torch.randn(2, 3, 4, device=device, requires_grad=True)
        dy = torch.randn_like(x)
        ours, theirs = (torch.autograd.grad(y, x, dy) for y in (ops.relu(x, backend=backend), torch.relu(x)))
        torch.testing.assert_close(ours, theirs)


def test_whoever_watches_sees_the_operators():
    """Modes are given calls that were made before without them."""

    class Seen(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(func.name())
            return func(*args, **(kwargs or {}))

    x = torch.randn(1, 2, 5, 5, requires_grad=True)
    w = torch.randn(3, 2, 3, 3)
    for _ in range(2):
        ops.conv2d(x, w, backend="reference").sum().backward()
    with Seen() as seen:
        ops.conv2d(x, w, backend="reference").sum().backward()
    assert {"portadnn::convolution", "portadnn::convolution_data"} <= set(seen.names)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:`torch.jit.trace")
def test_traced():
    """torch.jit.trace keeps the operators, transposed convolutions among them, and not a replay."""
    x, w = torch.randn(1, 2, 5, 5), torch.randn(2, 3, 3, 3)
    call = lambda x, w: ops.conv_transpose2d(x, w, stride=2, backend="reference")  # noqa: E731
    call(x, w)
    traced = torch.jit.trace(call, (x, w), check_trace=False)
    other = torch.randn_like(x)
    torch.testing.assert_close(traced(other, w), functional.conv_transpose2d(other, w, stride=2), rtol=1e-4, atol=1e-4)


def test_substitute_is_the_function_in_any_order():
    """The module of the function does not hide it."""
    code = "import portadnn.torch.substitution; from portadnn.torch import substitute; assert callable(substitute)"
    subprocess.run([sys.executable, "-c", code], check=True)
