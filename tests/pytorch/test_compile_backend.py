"""torch.compile's backend portadnn: which regions become graphs, and that results and gradients agree."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from places import PLACES  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from portadnn.torch import compile_backend, substitute  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")  # on CUDA, PyTorch's own


class Residual(nn.Module):
    """Two convolutions with norms, beside a third, and a product with a bias."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.beside = nn.Conv2d(4, 8, 1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(3))
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        y = functional.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y)) + self.norms[2](self.beside(x))
        return torch.tanh(self.last(functional.silu(y).mean((2, 3)))) * 2


@pytest.fixture
def regions(monkeypatch):
    """All regions that are made."""
    made, rewrite = [], compile_backend_module().rewrite
    monkeypatch.setattr(compile_backend_module(), "rewrite", lambda *a: made.extend(found := rewrite(*a)) or found)
    torch._dynamo.reset()
    yield made
    torch._dynamo.reset()


def compile_backend_module():
    import importlib

    return importlib.import_module("portadnn.torch.compile_backend")


def steps(region):
    return [step.method for step in region._steps]


@PLACES
@pytest.mark.parametrize("substituted", [False, True])
def test_inference(regions, substituted, backend, device):
    """Norms, sums and activations go into the convolution's graph, those behind a product into its."""
    torch.manual_seed(1)
    model, x = Residual().to(device).eval(), torch.randn(2, 4, 9, 7, device=device)
    for norm in model.norms:
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
    want = model(x)
    if substituted:
        substitute(model, backend)
    compiled = torch.compile(model, backend="portadnn", options={"backend": backend})
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(x), want, rtol=1e-3, atol=1e-4)
        assert [steps(r) for r in regions] == [
            ["conv_fprop", "mul", "add", "relu"],
            ["conv_fprop", "bias", "mul", "add", "add", "swish"],
            ["conv_fprop", "bias", "mul", "add"],
            ["matmul", "add", "tanh", "mul"],
        ]
        assert not any(r.reason for r in regions)
        model.norms[0].weight.mul_(3)  # what is computed from it ahead is computed again
        changed = compiled(x)
        torch.testing.assert_close(changed, model(x), rtol=1e-3, atol=1e-4)
        assert not torch.allclose(changed, want)


@PLACES
def test_training(regions, backend, device):
    """Gradients agree with PyTorch's; so do channels-last tensors and their layouts."""
    torch.manual_seed(2)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Sigmoid(), nn.Flatten(), nn.Linear(100, 3)
    )
    model = model.to(device, memory_format=torch.channels_last)
    x = torch.randn(2, 3, 9, 9, device=device).to(memory_format=torch.channels_last)
    compiled = torch.compile(model, backend="portadnn", options={"backend": backend})
    found = []
    for call in (compiled, model):
        model.zero_grad()
        y = call(x)
        y.square().sum().backward()
        found.append([y.detach(), *(p.grad.clone() for p in model.parameters())])
    assert [steps(r) for r in regions][:2] == [["conv_fprop", "bias", "relu"], ["conv_fprop", "bias", "sigmoid"]]
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_what_stays_eager(regions):
    """A result that others read ends a region; other types, dilated sums and transposed convolutions are PyTorch's."""

    def program(x, w):
        y = functional.conv2d(x, w)
        z = functional.conv_transpose2d(torch.relu(y) + y, w).relu()
        return z + torch.arange(7)

    x, w = torch.randn(1, 3, 7, 7), torch.randn(3, 3, 3, 3)
    compiled = torch.compile(program, backend="portadnn", options={"backend": "reference"})
    torch.testing.assert_close(compiled(x, w), program(x, w), rtol=1e-4, atol=1e-4)
    assert regions == []


def test_layouts_without_a_graph(regions, monkeypatch):
    """What no graph takes is run by PyTorch, and the region says why."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.GELU())
    x = torch.randn(1, 2, 5, 5)
    made = torch.compile(model, backend="portadnn", options={"backend": "reference"})
    module = compile_backend_module()

    def refuse(*_, **__):
        raise module.DnnError("nobody takes it")

    monkeypatch.setattr(module.graphs, "pygraph", refuse)
    with torch.no_grad():
        torch.testing.assert_close(made(x), model(x))
    assert "nobody takes it" in regions[0].reason


@pytest.mark.parametrize("graph", [False, True])
def test_dynamic_shapes(regions, graph):
    model = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.GELU() if graph else nn.ReLU())
    compiled = torch.compile(model, backend="portadnn", options={"backend": "reference"}, dynamic=True)
    with torch.no_grad():
        for size in (5, 8):
            x = torch.randn(2, 2, size, size + 1)
            torch.testing.assert_close(compiled(x), model(x))
    assert len(regions) == 1 and len(regions[0]._graphs) == (2 if graph else 0)


def test_wrong_options():
    with pytest.raises(Exception, match="options: expected backend, got mode"):
        torch.compile(nn.ReLU(), backend="portadnn", options={"mode": 1})(torch.ones(2))
    assert compile_backend is not None


@pytest.mark.parametrize("before", ["", "import portadnn.torch.compile_backend"])
def test_found_by_name(before, tmp_path):
    """PyTorch registers the backend by its entry point; the backend does not do so itself then, once too often."""
    folder = tmp_path / "installed-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\nportadnn = portadnn.torch.compile_backend:portadnn\n"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    program = (
        f"{before}\nimport torch\nprint(torch.compile(torch.nn.ReLU(), backend='portadnn')(torch.ones(2)).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[1.0, 1.0]\n", done.stderr
