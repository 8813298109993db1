"""Differentiable functions: forward and gradients against PyTorch's, gradcheck, opcheck and transforms."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import functions  # noqa: E402
from places import PLACES  # noqa: E402

from portadnn.errors import NotSupported  # noqa: E402
from portadnn.torch import substitute  # noqa: E402

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


REFUSED = ("RNN", "LSTM", "GRU", "scaled_dot", "attention", "ctc", "grid_sample")  # as are most of PyTorch's own


@CASES
def test_second_derivatives(case):
    """They are those of finite differences, or refused by name: never those of a constant."""
    call, tensors = (lambda *t: case.ours(*t, backend="reference")), case.tensors()
    if not case.name.startswith(REFUSED):
        assert torch.autograd.gradgradcheck(call, tensors, fast_mode=True, atol=1e-6)
        return
    first = torch.autograd.grad(results(call(*tensors))[0].square().sum(), tensors, create_graph=True)
    with pytest.raises(NotSupported, match="has no gradient of"):
        sum(one.square().sum() for one in first).backward()


@pytest.mark.parametrize("name", ["relu", "tanh", "silu", "softmax", "max_pool2d", "layer_norm"])
def test_second_derivatives_of_transforms(name):
    """torch.func.grad of torch.func.grad has PyTorch's own values."""
    case = next(case for case in functions.CASES if case.name == name)
    x, *rest = [t.detach() for t in case.tensors()]

    def twice(call):
        inner = torch.func.grad(lambda x: (call(x, *rest) ** 3).sum())
        return torch.func.grad(lambda x: inner(x).square().sum())(x)

    torch.testing.assert_close(twice(lambda *t: case.ours(*t, backend="reference")), twice(case.theirs))


def dual(call, x):
    with torch.autograd.forward_ad.dual_level():
        return call(torch.autograd.forward_ad.make_dual(x, x))


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # PyTorch's own forward mode calls it
@pytest.mark.parametrize("name", ["conv2d", "relu", "layer_norm", "max_pool2d"])
@pytest.mark.parametrize("mode", ["jvp", "jacfwd", "hessian", "dual"])
def test_forward_mode_is_refused(name, mode):
    """By name, in all of PyTorch's ways; what has no tangent is computed."""
    case = next(case for case in functions.CASES if case.name == name)
    x, *rest = [t.detach() for t in case.tensors()]

    def call(x):
        return case.ours(x, *rest, backend="reference").square().sum()

    run = {
        "jvp": lambda: torch.func.jvp(call, (x,), (x,)),
        "jacfwd": lambda: torch.func.jacfwd(call)(x),
        "hessian": lambda: torch.func.hessian(call)(x),
        "dual": lambda: dual(call, x),
    }
    with pytest.raises(NotSupported, match="no forward-mode derivative of"):
        run[mode]()
    with torch.autograd.forward_ad.dual_level():
        torch.testing.assert_close(call(x), case.theirs(x, *rest).square().sum())


@pytest.mark.parametrize("training", [True, False])
def test_gradient_penalty(training):
    """A critic's norm of its gradient, with batch norms of modules, which update running statistics, has gradients."""
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.SiLU(), torch.nn.AvgPool2d(2))
    theirs = torch.nn.Sequential(*layers).double().train(training)
    ours = copy.deepcopy(theirs)
    substitute(ours, "reference")
    x = torch.randn(3, 2, 6, 6, dtype=torch.float64, requires_grad=True)
    found = []
    for model in (ours, theirs):
        (slope,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
        (slope.square().sum() - 1).square().backward()
        found.append([p.grad for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(*found)
