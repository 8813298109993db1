"""substitute(fuse=True): convolutions compute the norm and activation behind them, against PyTorch's modules."""

from __future__ import annotations

import copy
import logging
import pickle

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from places import PLACES  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from portadnn.torch import substitute  # noqa: E402
from portadnn.torch.ops.repeat import Recipe  # noqa: E402


class Block(nn.Module):
    """A residual block as torchvision writes it: one activation for all of its convolutions, in place."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, channels, 1)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x
        return self.relu(y)


def model_of():
    torch.manual_seed(2)
    made = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, padding=1),
        nn.BatchNorm2d(8, affine=False),
        nn.Tanh(),
        Block(8),
        nn.Conv2d(8, 8, 3, groups=2, padding="valid"),
        nn.Sigmoid(),
        nn.Conv2d(8, 4, 1, padding=(1, 0)),
        nn.BatchNorm2d(4),
        nn.Conv2d(4, 4, 3, padding="same"),
        nn.SiLU(),
    )
    for module in made.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            if module.affine:
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
    return made.eval(), torch.randn(2, 3, 13, 11)


def close(got, want, tolerance=1e-4):
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


def ran(model, x):
    """Return a model's result, and the kinds of its modules that computed: whose result is another tensor."""
    kinds: list[str] = []
    for module in model.modules():
        if not list(module.children()):

            def forward(given, module=module):
                y = type(module).forward(module, given)
                if y is not given:
                    kinds.append(type(module).__name__)
                return y

            module.__dict__["forward"] = forward
    try:
        return model(x), kinds
    finally:
        for module in model.modules():
            module.__dict__.pop("forward", None)


@PLACES
def test_inference(backend, device):
    model, x = model_of()
    model, x = model.to(device), x.to(device)
    other = copy.deepcopy(model)
    done = substitute(model, backend, fuse=True)
    assert done.fused == 5
    assert "5 convolutions compute the norms and activations behind them" in str(done)
    with torch.no_grad():
        want = other(x)
        got, kinds = ran(model, x)
        close(got, want)
        assert kinds == ["Conv2d"] * 5 + ["Conv2d", "SiLU"]  # what the last activation computed: padding is "same"
        assert not hasattr(got, "_portadnn_behind")
        for module in (*model.modules(), *other.modules()):  # filters are folded again
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.add_(0.5)
        close(model(x), other(x))
        done.restore()
        close(model(x), other(x))
    assert type(model[1]) is nn.BatchNorm2d
    assert "portadnn_chain" not in vars(model[0])


def test_what_is_not_fused():
    """A model traced in evaluation mode is not fused with gradients, hooks, autocast, or in training mode."""
    model, x = model_of()
    other = copy.deepcopy(model)
    substitute(model, "reference", fuse=True)
    got, kinds = ran(model, x)
    assert kinds.count("BatchNorm2d") == 4
    close(got, other(x))
    got.square().sum().backward()
    other(x).square().sum().backward()
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        close(p.grad, q.grad, 1e-3)
    with torch.no_grad():
        seen = []
        hook = model[1].register_forward_hook(lambda module, given, result: seen.append(result.clone()))
        model(x)
        hook.remove()
        close(seen[0], other[1](other[0](x)))
        model[1].train()
        other[1].train()
        assert "BatchNorm2d" in ran(model, x)[1]
        assert int(model[1].num_batches_tracked) == 1
        model[1].eval()
        with torch.autocast("cpu", torch.bfloat16):
            assert model(x).dtype is torch.bfloat16


def trained(model, x, g):
    """Return a step's result, the gradients of the input and the parameters, and the buffers after it."""
    model.zero_grad()
    x = x.clone().requires_grad_()
    y = model(x)
    y.backward(g.to(y.dtype))
    return [t.detach().clone() for t in (y, x.grad, *(p.grad for p in model.parameters()), *model.buffers())]


@PLACES
@pytest.mark.parametrize(
    ("dtype", "format"), [(torch.float32, torch.contiguous_format), (torch.float16, torch.channels_last)]
)
def test_training(backend, device, dtype, format):
    """Convolutions in front of a batch norm compute it and the ReLU behind it, forward and backward."""
    model, x = model_of()
    model, x = model.to(device, dtype, memory_format=format).train(), x.to(device, dtype, memory_format=format)
    other = copy.deepcopy(model)
    substitute(model, backend, fuse=True)
    wide = other.double()
    tolerance = 2e-3 if dtype is torch.float32 else 6e-2
    for _ in range(4):  # noted, repeated, found by its place
        g = torch.randn(2, 4, *model(x).shape[2:], device=device)
        wide.load_state_dict(model.state_dict())
        got, want = trained(model, x, g), trained(wide, x.double(), g)
        for one, due in zip(got, want, strict=True):
            scale = 1 + due.double().abs().max().item()
            torch.testing.assert_close(one.double(), due.double(), rtol=tolerance, atol=tolerance * scale)
    assert ran(model, x)[1].count("BatchNorm2d") == 1  # before the Tanh


@pytest.mark.parametrize(("fuse", "lists"), [(True, 2), (False, 4)])
def test_training_steps_are_repeated(monkeypatch, fuse, lists):
    """A convolution and its batch norm are one list of launches each, and one as a chain; forward and backward."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3)).half()
    x, g = torch.randn(2, 2, 5, 5).half(), torch.randn(2, 3, 3, 3).half()
    substitute(model, "opencl", fuse=fuse)
    for _ in range(4):
        trained(model, x, g)
    runs, run = [], Recipe.run
    monkeypatch.setattr(Recipe, "run", lambda self, *given: (runs.append(self), run(self, *given)))
    trained(model, x, g)
    assert len(runs) == lists


@pytest.mark.filterwarnings("ignore:.torch.cpu.amp.autocast:FutureWarning")  # PyTorch 2.4's checkpoints
def test_training_sees_who_looks():
    """Hooks of any kind, frozen parameters, evaluation mode, and gradients of gradients."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()).double()
    x, g = torch.randn(2, 2, 5, 5).double(), torch.randn(2, 3, 3, 3).double()
    other = copy.deepcopy(model)
    substitute(model, "reference", fuse=True)
    assert ran(model, x)[1] == ["Conv2d"]
    ran(other, x)
    for hook in ("register_full_backward_hook", "register_full_backward_pre_hook", "register_forward_hook"):
        seen = []
        handles = [getattr(m[1], hook)(lambda *given, seen=seen: seen.append(given)) for m in (model, other)]
        close(trained(model, x, g), trained(other, x, g), 1e-9)
        ours, theirs = seen
        close(ours[-1], theirs[-1], 1e-9)
        for one in handles:
            one.remove()
    for frozen in (lambda m: [m[0].weight, m[0].bias], lambda m: [m[1].weight]):
        for m in (model, other):
            for p in frozen(m):
                p.requires_grad_(False)
            m.zero_grad()
            m(x).backward(g)
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            assert (p.grad is None) == (q.grad is None)
            if p.grad is not None:
                close(p.grad, q.grad, 1e-9)
        for m in (model, other):
            m.requires_grad_(True)
    found = []
    for m in (model, other):
        given = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad((m(given) * g).sum(), given, create_graph=True)
        found.append(torch.autograd.grad(slope.square().sum(), [given, m[0].weight, m[1].weight]))
    close(*found, 1e-9)
    model.eval(), other.eval()
    close(trained(model, x, g), trained(other, x, g), 1e-9)
    model.train(), other.train()
    with torch.inference_mode():
        close(model(x), other(x), 1e-9)
    close(list(model.buffers()), list(other.buffers()), 1e-9)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y = model(x)
        y.mul_(2)
        y.sum().backward()
    other.load_state_dict(model.state_dict())
    for _ in range(2):
        for m in (model, other):
            checkpoint(m, x, use_reentrant=False).sum().backward()
    close(list(model.buffers()), list(other.buffers()), 1e-9)
    with torch.autocast("cpu", torch.bfloat16):
        assert ran(model.float(), x.float())[1].count("BatchNorm2d") == 1


def test_copies_and_files():
    model, x = model_of()
    other = copy.deepcopy(model)
    substitute(model, "reference", fuse=True)
    with torch.no_grad():
        want = other(x)
        model(x)
        for one in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            got, kinds = ran(one, x)
            close(got, want)
            assert "BatchNorm2d" not in kinds


class Twice(nn.Module):
    """A convolution's result is read twice, and another convolution is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.again = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        y = self.first(x)
        return self.relu(y) + y + self.relu(self.again(self.again(x)))


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.relu = nn.Conv2d(2, 2, 1), nn.ReLU()

    def forward(self, x):
        return self.relu(self.conv(x)) if x.sum() > 0 else self.conv(x)


@pytest.mark.parametrize("kind", [Twice, Branch])
def test_what_is_no_chain(kind, caplog):
    model, x = kind().eval(), torch.randn(1, 2, 3, 4)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "portadnn"):
        want = model(x)
        done = substitute(model, "reference", fuse=True)
        assert done.fused == 0
        close(model(x), want)
    assert ("cannot be traced" in caplog.text) == (kind is Branch)
