"""substitute(fuse="whole"): the traced code in one go, against PyTorch's modules."""

from __future__ import annotations

import copy
import gc
import inspect
import logging
import pickle
import weakref

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from places import PLACES, opencl_has_a_cpu  # noqa: E402
from torch import nn  # noqa: E402

from portadnn.torch import substitute  # noqa: E402
from portadnn.torch.whole import Whole  # noqa: E402

OPENCL = pytest.mark.skipif(not opencl_has_a_cpu(), reason="no OpenCL for CPUs")


class Block(nn.Module):
    """A residual block, with another branch where channels or sizes differ."""

    def __init__(self, c: int, k: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c, 6, 3, stride, padding=1, bias=False), nn.BatchNorm2d(6)
        self.conv2, self.bn2 = nn.Conv2d(6, k, 1, groups=groups), nn.BatchNorm2d(k)
        self.relu = nn.ReLU(inplace=True)
        self.down = nn.Sequential(nn.Conv2d(c, k, 1, stride), nn.BatchNorm2d(k)) if (c, stride) != (k, 1) else None
        self.scale = 1

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.down is None else self.down(x)
        return self.relu(y) * self.scale if self.scale != 1 else self.relu(y)


class Net(nn.Module):
    """Blocks, pooling, layers of PyTorch's between, two results."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, padding=1), nn.BatchNorm2d(8), nn.ReLU6(inplace=True))
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.one, self.two = Block(8, 8), Block(8, 12, 2, 3)
        self.gelu = nn.GELU()
        self.three, self.mean = Block(12, 12), nn.AdaptiveAvgPool2d(1)
        self.last = nn.Linear(12, 5)

    def forward(self, x):
        y = self.gelu(self.two(self.one(self.pool(self.stem(x)))))
        z = self.three(y)
        return {"scores": self.last(torch.flatten(self.mean(z), 1)), "features": [y, z]}


def model_of(kind=Net, dtype=torch.float32):
    torch.manual_seed(2)
    made = kind()
    for module in made.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            nn.init.normal_(module.weight)
            nn.init.normal_(module.bias)
    return made.to(dtype).eval()


def close(got, want, tolerance=1e-4):
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


def launched(model) -> bool:
    """Tell whether all segments of a model have launches of their own."""
    whole = vars(model)["forward"]
    arenas = [arena for runner in whole._segments.values() for arena in runner._arenas.values()]
    return bool(arenas) and all(arena is not None for arena in arenas)


@PLACES
@pytest.mark.parametrize(
    ("layout", "dtype"), [("nchw", torch.float32), ("nhwc", torch.float32), ("nchw", torch.float64)]
)
def test_inference(backend, device, layout, dtype):
    format = torch.channels_last if layout == "nhwc" else torch.contiguous_format
    model = model_of(dtype=dtype).to(device, memory_format=format)
    other = copy.deepcopy(model)
    exact = copy.deepcopy(model).double()
    done = substitute(model, backend, fuse="whole")
    assert "2 runs of layers in one go" in str(done)
    tolerance = 1e-10 if dtype is torch.float64 else 1e-4 if device == "cpu" else 3e-2  # where TF32 is permitted
    with torch.no_grad():
        for size in [(2, 3, 17, 13), (1, 3, 24, 24)]:
            x = torch.randn(size, dtype=dtype, device=device).to(memory_format=format)
            got, want = model(x), exact(x.double())
            close(got, torch.utils._pytree.tree_map(lambda t: t.to(dtype), want), tolerance)
            assert [t.stride() for t in got["features"]] == [t.stride() for t in other(x)["features"]]
            close(model(x), got, 0)
        if backend == "opencl" and device == "cpu":
            assert launched(model)
        x = torch.randn(3, 3, 17, 13, dtype=dtype, device=device)[1:]  # begins inside of its memory
        close(model(x), other(x), tolerance)
    close(model(x), other(x), tolerance)  # with gradients
    done.restore()
    assert "forward" not in vars(model)


class Functions(nn.Module):
    """Activations as functions and methods, some read twice or with an input that is."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(c, 6, 3, padding=1) for c in (3, 6, 6, 6, 6, 6, 12))
        self.norms = nn.ModuleList(nn.BatchNorm2d(6) for _ in range(4))

    def forward(self, x):
        f = nn.functional
        x = f.relu(self.norms[0](self.convs[0](x)), inplace=True)
        x = torch.sigmoid(self.norms[1](self.convs[1](x))) * 3 - 1
        y = f.relu_(self.convs[2](x) + x)
        z = f.relu6(self.norms[2](self.convs[3](y)))
        y = self.norms[3](self.convs[4](y))
        w = self.convs[5](f.silu(y)).tanh()
        return self.convs[6](torch.cat((y.relu(), z), 1)), torch.add(w, y)


@pytest.mark.parametrize("backend", ["reference", pytest.param("opencl", marks=OPENCL)])
def test_activations_as_functions(backend):
    model = model_of(Functions)
    exact = copy.deepcopy(model).double()
    substitute(model, backend, fuse="whole")
    x = torch.randn(2, 3, 9, 8)
    with torch.no_grad():
        close(model(x), tuple(t.float() for t in exact(x.double())))
    steps = [step for part, _ in vars(model)["forward"]._program.parts for step in getattr(part, "steps", ())]
    kinds = {step.conv: step.activation for step in steps}
    assert kinds == {
        "convs.0": ("relu", 0.0),
        "convs.1": ("sigmoid", 0.0),
        "convs.2": ("relu", 0.0),
        "convs.3": ("clipped_relu", 6.0),
        "convs.4": ("identity", 0.0),
    }


def changes():
    """What happens to a model between two calls."""

    def in_place(model):
        model.one.conv1.weight.mul_(1.5)
        model.two.bn2.running_var.add_(1)

    def loaded(model):
        torch.manual_seed(9)
        model.load_state_dict(
            {k: torch.rand_like(v) if v.is_floating_point() else v for k, v in model.state_dict().items()}
        )

    def data(model):
        model.three.conv2.weight.data = torch.ones_like(model.three.conv2.weight)

    def parameter(model):
        model.three.conv2.weight = nn.Parameter(torch.ones_like(model.three.conv2.weight))

    def module(model):
        model.one = nn.Identity()

    def attribute(model):
        model.one.scale = 2

    def stride(model):
        model.stem[0].stride = (1, 1)

    def new_attribute(model):
        model.two.more = True

    def hook(model):
        model.stem.register_forward_hook(lambda module, given, y: y + 1)

    def training(model):
        model.two.bn1.train()

    return [in_place, loaded, data, parameter, module, attribute, stride, new_attribute, hook, training]


@pytest.mark.parametrize("change", changes(), ids=lambda change: change.__name__)
def test_changes_are_noticed(change):
    model = model_of()
    other, x = copy.deepcopy(model), torch.randn(2, 3, 16, 16)
    substitute(model, "auto", fuse="whole")
    with torch.no_grad():
        close(model(x), other(x))
        for one in (model, other):
            change(one)
        close(model(x), other(x))
        close(model(x), other(x))


def test_copies_and_files():
    model = model_of()
    other, x = copy.deepcopy(model), torch.randn(2, 3, 16, 16)
    substitute(model, "auto", fuse="whole")
    with torch.no_grad():
        model(x)
        for one in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert vars(one)["forward"].model is one
            one.one.conv1.weight.mul_(2)
            changed = copy.deepcopy(other)
            changed.one.conv1.weight.mul_(2)
            close(one(x), changed(x))
        close(model(x), other(x))


@OPENCL
def test_memory_goes_with_the_model():
    model = model_of()
    substitute(model, "opencl", fuse="whole")
    with torch.no_grad():
        for n in range(6):  # images with gaps
            model(torch.randn(1, 3, 16, 16 + n)[..., :16])
    runners = vars(model)["forward"]._segments.values()
    assert all(len(runner._arenas) <= 4 for runner in runners)
    refs = [weakref.ref(arena) for runner in runners for arena in runner._arenas.values()]
    del runners, model
    gc.collect()
    assert refs and not any(ref() for ref in refs)


@OPENCL
def test_prepared():
    """What is prepared are the fused calls: the stem, two layers of pooling, and 2, 3 and 2 of the blocks."""
    model, x = model_of(), torch.randn(2, 3, 16, 16)
    other = copy.deepcopy(model)
    done = substitute(model, "opencl", fuse="whole")
    (found,) = done.prepare(x, backward=False).values()
    assert (found.problems, dict(found.refused)) == (10, {})
    with torch.no_grad():
        close(model(x), other(x))


def test_seen_from_outside():
    """Compilers see the model's own code, and functions of modules the tensors that they were given."""
    model = model_of()
    other, x = copy.deepcopy(model), torch.randn(2, 3, 16, 16)
    substitute(model, "auto", fuse="whole")
    assert list(inspect.signature(model.forward).parameters) == ["x"]
    assert model.forward.__code__ is Net.forward.__code__
    with torch.no_grad():
        close(torch.compile(model, backend="eager")(x), other(x))
        weights = {"one.conv1.weight": torch.randn_like(other.one.conv1.weight), "last.bias": torch.ones(5)}
        want = torch.func.functional_call(other, weights, (x,))
        close(torch.func.functional_call(model, weights, (x,)), want)
        close(model(x), other(x))
    with torch.inference_mode():
        close(model(x), other(x))


class Noise(nn.Module):
    """A number that is drawn at each call, and would be drawn once."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU())

    def forward(self, x):
        return self.body(x) + torch.rand(1)


class Counts(Noise):
    """An attribute that each call changes."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return self.body(x)


class Keyword(Noise):
    """An argument with a default."""

    def forward(self, x, twice=False):
        return self.body(x)


class OverInput(Noise):
    """Another branch is overwritten, and read afterwards."""

    def forward(self, x):
        y = self.body[1](self.body[0](x))
        y += self.body[2](nn.functional.pad(y, (1, 1, 1, 1)))
        return self.body[3](self.body[2](y)) + y.mean()


@pytest.mark.parametrize("kind", [Noise, Counts, Keyword])
def test_what_is_not_traced(kind, caplog):
    model = model_of(kind)
    with caplog.at_level(logging.WARNING, "portadnn"), torch.no_grad():
        substitute(model, "auto", fuse="whole")
        x = torch.randn(1, 3, 9, 9)
        assert not isinstance(vars(model).get("forward"), Whole)
        before, model.calls = model.body(x), 0
        got = [model(x), model(x)]
    if kind is Noise:
        assert not torch.equal(*got)
    else:
        close(got, [before, before])
    assert model.calls == (2 if kind is Counts else 0)
    assert ("sets attributes" in caplog.text) == (kind is not Keyword)  # tracing leaves what it computed with the model


def test_overwritten_branches():
    model = model_of(OverInput)
    other, x = copy.deepcopy(model), torch.randn(1, 3, 11, 9)
    substitute(model, "auto", fuse="whole")
    with torch.no_grad():
        close(model(x), other(x))
        close(model(x), other(x))


def test_training_mode_is_not_traced(caplog):
    with caplog.at_level(logging.WARNING, "portadnn"):
        done = substitute(model_of().train(), "auto", fuse="whole")
    assert "training mode" in caplog.text
    assert "in one go" not in str(done)


@pytest.mark.parametrize("size", [(0, 3, 16, 16), (3, 16, 16)])
def test_unusual_inputs(size):
    """Empty batches and images without a batch go layer by layer."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Tanh()).eval()
    other, x = copy.deepcopy(model), torch.randn(size)
    substitute(model, "auto", fuse="whole")
    with torch.no_grad():
        close(model(x), other(x))
