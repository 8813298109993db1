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
