"""Differentiable functions: forward and gradients against PyTorch's, gradcheck, opcheck and transforms."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import functions  # noqa: E402
from places import PLACES  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Using padding='same'"),  # it says that it copies
    pytest.mark.filterwarnings("ignore:RNN module weights are not part of single contiguous chunk"),
]
CASES = pytest.mark.parametrize("case", functions.CASES, ids=lambda case: case.name.replace(" ", "-"))


def results(outcome):
    return outcome if isinstance(outcome, tuple) else (outcome,)


def gradients(outcome, tensors):
    """Return the gradients of a sum of the results with weights of their own."""
    total = sum(
        (y * torch.linspace(0.5, 1.5, y.numel(), device=y.device).view(y.shape)).sum() for y in results(outcome)
    )
    return torch.autograd.grad(total, tensors)


# what differs in Python alone is left out with OpenCL, whose compiler would take most of the time
ALIKE = (
    "ceil",
    "no biases",
    "RNN_TANH",
    "GRU",
    "of 2 dims",
    "of 3 dims",
    "of 5 dims",
    "of a",
    "of one",
    "of shared",
    "mean",
    "sum",
)


def on_places():
    for place in PLACES.args[1]:
        for case in functions.CASES:
            if place.values[0] != "opencl" or not any(word in case.name for word in ALIKE):
                name = f"{case.name.replace(' ', '-')}-{place.id}"
                yield pytest.param(case, *place.values, id=name, marks=place.marks)


@pytest.mark.parametrize(("case", "backend", "device"), list(on_places()))
def test_function(case, backend, device):
    """Results have PyTorch's values, shapes and types; so have gradients."""
    tensors = case.tensors(torch.float32, device)
    exact = [t.detach().double().requires_grad_() for t in tensors]
    got, want = case.ours(*tensors, backend=backend), case.theirs(*exact)
    for ours, theirs in zip(results(got), results(want), strict=True):
        assert ours.dtype is torch.float32
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(gradients(got, tensors), gradients(want, exact), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=2e-4, atol=5e-5)


@CASES
def test_gradcheck(case):
    """Gradients in float64 on the reference are those of finite differences."""
    assert torch.autograd.gradcheck(
        lambda *t: case.ours(*t, backend="reference"), case.tensors(), fast_mode=True, atol=1e-6
    )


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d", "conv3d", "conv1d"])
def test_second_derivatives_of_convolutions(name):
    case = next(case for case in functions.CASES if case.name == name)
    assert torch.autograd.gradgradcheck(
        lambda *t: case.ours(*t, backend="reference"), case.tensors(), fast_mode=True, atol=1e-6
    )
