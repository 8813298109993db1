"""Models whose layers portadnn computes: the same results, gradients, state dict and objects."""

from __future__ import annotations

import copy
import pickle

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from places import PLACES  # noqa: E402
from torch import fx, nn  # noqa: E402

from portadnn import NotSupported  # noqa: E402
from portadnn.torch import layers, ops, sequence_layers, substitute  # noqa: E402
from portadnn.torch.ops.handles import handle_for  # noqa: E402
from portadnn.torch.substitution import backend_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:RNN module weights are not part of single contiguous chunk")

# a model, and the shape of its input
MODELS = {
    "images": lambda: (
        nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding="same", padding_mode="circular", groups=2),
            nn.InstanceNorm2d(8, affine=True),
            nn.SiLU(),
            nn.MaxPool2d(3, 2, 1, ceil_mode=True),
            nn.ConvTranspose2d(8, 4, 3, 2, 1, 1),
            nn.LocalResponseNorm(3),
            nn.GroupNorm(2, 4),
            nn.ELU(0.5),
            nn.AvgPool2d(2, count_include_pad=False),
            nn.AdaptiveAvgPool2d((3, 2)),
            nn.Flatten(),
            nn.LayerNorm(24),
            nn.Linear(24, 5),
            nn.LogSoftmax(1),
        ),
        (4, 3, 17, 15),
    ),
    "volumes": lambda: (
        nn.Sequential(
            nn.Conv3d(2, 4, 2),
            nn.BatchNorm3d(4),
            nn.Tanh(),
            nn.MaxPool3d(2),
            nn.ConvTranspose3d(4, 2, 2, 2),
            nn.AdaptiveMaxPool3d(2),
        ),
        (2, 2, 5, 6, 5),
    ),
    "sequences": lambda: (
        nn.Sequential(
            nn.Conv1d(3, 6, 3, padding=1),
            nn.BatchNorm1d(6, momentum=None),
            nn.Sigmoid(),
            nn.AvgPool1d(2),
            nn.ConvTranspose1d(6, 4, 2),
            nn.InstanceNorm1d(4),
            nn.ReLU6(),
            nn.AdaptiveAvgPool1d(3),
            nn.Softmax(-1),
        ),
        (4, 3, 11),
    ),
}


def pair(name, device):
    torch.manual_seed(3)
    model, shape = MODELS[name]()
    model = model.to(device)
    return model, copy.deepcopy(model), torch.randn(shape, device=device)


@PLACES
@pytest.mark.parametrize("name", MODELS)
def test_models(name, backend, device):
    """A training step and an inference agree with PyTorch's; the model is its own again afterwards."""
    ours, theirs, x = pair(name, device)
    kinds = [type(module) for module in ours.modules()]
    substitution = substitute(ours, backend)
    assert set(substitution.left.values()) <= {"portadnn has no Linear", "portadnn has no Flatten"}
    assert len(substitution.replaced) + len(substitution.left) == len(ours)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for model in (ours, theirs):
        for _ in range(2):
            model(x).square().sum().backward()
        model.eval()
    largest = max(float(q.grad.abs().max()) for q in theirs.parameters())
    for (name_, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        scale = float(q.grad.abs().max()) + 1e-3 * largest  # a bias before a norm: rounding errors alone
        torch.testing.assert_close(
            p.grad / scale, q.grad / scale, rtol=2e-3, atol=2e-3, msg=lambda m, n=name_: f"{n}: {m}"
        )
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x), rtol=1e-3, atol=1e-4)
        assert substitution.restore() is ours
        assert [type(module) for module in ours.modules()] == kinds
        theirs.load_state_dict(ours.state_dict())
        torch.testing.assert_close(ours(x), theirs(x))


def same_outcome(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, tuple):
            same_outcome(a, b)
        elif a is not None:
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@PLACES
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_networks(kind, backend, device):
    """Plain, unbatched and packed sequences, of any order, with and without initial states."""
    torch.manual_seed(5)
    ours = kind(3, 4, 2, bidirectional=True, batch_first=True).to(device)
    theirs = copy.deepcopy(ours)
    assert substitute(ours, backend).replaced == {"": kind.__name__}
    x = torch.randn(3, 6, 3, device=device)
    state = torch.randn(4, 3, 4, device=device)
    states = (state, state * 0.5) if kind is nn.LSTM else state
    pack = nn.utils.rnn.pack_padded_sequence
    packed = pack(x, [4, 6, 1], batch_first=True, enforce_sorted=False)
    for given in ((x,), (x, states), (x[0],), (packed,), (packed, states)):
        same_outcome(ours(*given), theirs(*given))
    for model in (ours, theirs):
        model(packed, states)[0].data.square().sum().backward()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_networks_with_other_parameters(kind):
    """torch.func.functional_call gives a network parameters for one call, whose gradients torch.func.grad returns."""
    torch.manual_seed(5)
    theirs = kind(3, 4, bidirectional=True)
    ours = copy.deepcopy(theirs)
    substitute(ours, "reference")
    x, given = torch.randn(5, 2, 3), {name: p.detach() * 0.5 for name, p in theirs.named_parameters()}
    found = []
    for model in (ours, theirs):

        def loss(parameters, model=model):
            return torch.func.functional_call(model, parameters, (x,))[0].square().sum()

        found.append(torch.func.grad(loss)(given))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_networks_under_autocast(kind):
    """On CPUs the types of results are PyTorch's: a GRU has its input's."""
    torch.manual_seed(5)
    theirs = kind(3, 4, 2)
    ours = copy.deepcopy(theirs)
    substitute(ours, "reference")
    x = torch.randn(5, 2, 3)
    with torch.autocast("cpu", torch.bfloat16):
        found, want = ours(x)[0], theirs(x)[0]
    assert found.dtype is want.dtype
    torch.testing.assert_close(found.float(), want.float(), rtol=2e-2, atol=2e-2)


def test_what_is_left():
    class Mine(nn.Conv2d):
        pass

    model = nn.ModuleDict(
        {
            "mine": Mine(1, 1, 1),
            "inplace": nn.ReLU(inplace=True),
            "indices": nn.MaxPool2d(2, return_indices=True),
            "dilated": nn.MaxPool2d(2, dilation=2),
            "lazy": nn.LazyConv2d(3, 1),
            "gelu": nn.GELU(),
            "clipped": nn.Hardtanh(),
            "weighted": nn.utils.parametrizations.weight_norm(nn.Conv2d(1, 1, 1)),
            "ours": nn.Conv2d(1, 1, 1),
        }
    )
    done = substitute(model, "reference")
    assert set(done.replaced) == {"ours"}
    assert {name for name in done.left if "." not in name} == set(model) - {"ours"}
    assert done.left["mine"] == "Mine is a subclass of Conv2d"
    assert "inplace=True" in done.left["inplace"] and "no GELU" in str(done)
    assert substitute(model, "reference").left["ours"] == "was replaced before"


def test_shared_modules_hooks_and_modes():
    shared, calls = nn.Conv1d(2, 2, 1), []
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.Dropout(0.5))
    shared.register_forward_hook(lambda *_: calls.append(1))
    x = torch.randn(1, 2, 3)
    want = model.eval()(x)
    with substitute(model, "reference") as done:
        assert list(done.replaced) == ["0", "1", "3"] and model[0] is model[2] is shared
        assert backend_of(shared) == "reference" and isinstance(shared, nn.Conv1d)
        torch.testing.assert_close(model(x), want)
        assert len(calls) == 4
        assert (model.train()(x) == 0).any() and "backend='reference'" in repr(model)
    assert type(shared) is nn.Conv1d and not hasattr(shared, "portadnn_backend")


@pytest.mark.parametrize("parametrized", [nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.orthogonal])
def test_parametrizations_since_then(parametrized):
    """They make subclasses of ours, which restore gives back as well; what they are taken off is PyTorch's."""
    layer, x = nn.Conv2d(2, 2, 1), torch.ones(1, 2, 3, 3)
    done = substitute(nn.Sequential(layer), "reference")
    parametrized(layer)
    other, want = copy.deepcopy(layer), layer(x)
    assert isinstance(layer, layers.Conv2d)
    done.restore()
    assert isinstance(layer, nn.Conv2d) and not isinstance(layer, layers.Layer)
    assert not hasattr(layer, "portadnn_backend") and isinstance(other, layers.Conv2d)
    for module in (layer, other):
        torch.testing.assert_close(module(x), want)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Conv2d
    torch.testing.assert_close(layer(x), want)


def test_copies_and_files():
    """A substituted model is copied and pickled as it is, and its state dict is PyTorch's."""
    model = nn.Sequential(nn.Conv1d(2, 2, 1), nn.LSTM(3, 3))
    substitute(model, "reference")
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert [type(module) for module in other] == [layers.Conv1d, sequence_layers.LSTM]
        same_outcome(other(torch.ones(1, 2, 3)), model(torch.ones(1, 2, 3)))
    fresh = nn.Sequential(nn.Conv1d(2, 2, 1), nn.LSTM(3, 3))
    fresh.load_state_dict(model.state_dict())
    same_outcome(fresh(torch.ones(1, 2, 3)), model(torch.ones(1, 2, 3)))


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"expected a torch.nn.Module, got int"):
        substitute(3)
    with pytest.raises(ValueError, match="backend: expected auto or one of"):
        substitute(nn.ReLU(), "opengl")


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's own question to inputs
@pytest.mark.parametrize("training", [True, False])
def test_compiled(training):
    """torch.compile takes a substituted model whole; results and gradients agree."""
    ours, theirs, x = pair("images", "cpu")
    substitute(ours, "reference")
    torch._dynamo.reset()
    compiled = torch.compile(ours.train(training), backend="aot_eager", fullgraph=True, dynamic=False)
    y, want = compiled(x), theirs.train(training)(x)
    torch.testing.assert_close(y, want, rtol=1e-3, atol=1e-4)
    for outcome in (y, want):
        outcome.square().sum().backward()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        scale = float(q.grad.abs().max()) + 1e-3
        torch.testing.assert_close(p.grad / scale, q.grad / scale, rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fuse", [False, True, "whole"])
@pytest.mark.parametrize("name", MODELS)
def test_symbolically_traced(name, fuse):
    """torch.fx sees the modules that it saw before, as tools that take models apart by their names ask for."""
    ours, theirs, x = pair(name, "cpu")
    names = [node.target for node in fx.symbolic_trace(theirs.eval()).graph.nodes]
    with substitute(ours.eval(), "reference", fuse=fuse):
        traced = fx.symbolic_trace(ours)
        assert [node.target for node in traced.graph.nodes] == names
        with torch.no_grad():
            torch.testing.assert_close(traced(x), theirs(x), rtol=1e-3, atol=1e-4)


class EveryModule(fx.Tracer):
    """A tracer that goes into each module."""

    def is_leaf_module(self, m, module_qualified_name):
        return False


@pytest.mark.parametrize("fuse", [False, True])
def test_traced_into(fuse):
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2)).eval()
    x = torch.randn(1, 2, 6, 6)
    with torch.no_grad():
        want = model(x)
        with substitute(model, "reference", fuse=fuse):
            graph = EveryModule().trace(model)
            calls = [node.target for node in graph.nodes if node.op == "call_function"]
            assert calls == [ops.conv2d, ops.relu, ops.max_pool2d]
            torch.testing.assert_close(fx.GraphModule(model, graph)(x), want)


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_scripted():
    model = nn.Sequential(nn.Flatten(), nn.Sequential(nn.LayerNorm(4)))
    with substitute(model, "reference"), pytest.raises(NotSupported, match=r"torch.jit.trace, .*got torch.jit.script"):
        torch.jit.script(model)
    torch.testing.assert_close(torch.jit.script(model)(torch.ones(2, 4)), torch.zeros(2, 4))


@PLACES
def test_prepare(backend, device):
    """A step finds all plans that were made ahead of it; the model is as before."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, groups=2)
    )
    model += nn.Sequential(nn.BatchNorm2d(4, eps=1e-7), nn.Dropout(0.3), nn.Flatten(), nn.Linear(4 * 4 * 4, 5))
    model, theirs = model.to(device), copy.deepcopy(model).to(device)
    x, state = torch.randn(2, 3, 14, 14, device=device), torch.get_rng_state()
    (prepared,) = substitute(model, backend).prepare(x).values()
    assert prepared.problems > 9 and not prepared.refused
    assert torch.equal(state, torch.get_rng_state()) and all(p.grad is None for p in model.parameters())
    torch.testing.assert_close(model.state_dict(), theirs.state_dict(), rtol=0, atol=0)
    plans = handle_for(x, backend).cache_info().plans
    for one in (model, theirs):
        one[6].p = 0.0
        one(x).square().sum().backward()
    assert handle_for(x, backend).cache_info().plans == plans
    for p, q in zip(model.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-3)
