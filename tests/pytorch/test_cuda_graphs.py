"""PyTorch captures substituted models in CUDA graphs; what replays compute is compared with PyTorch's own layers."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from where import BACKENDS  # noqa: E402

from portadnn.torch import substitute  # noqa: E402

pytestmark = pytest.mark.skipif(
    "cuda" not in BACKENDS or not torch.cuda.is_available(), reason="cuda is not among the backends to be tested"
)
DIMS = (4, 16, 20, 20)


def model(dtype):
    """Return layers whose gradients need scratch memory and counters."""
    torch.manual_seed(3)
    layers = [nn.Conv2d(16, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(64, 256, 1), nn.BatchNorm2d(256), nn.ReLU(), nn.Conv2d(256, 64, 3, stride=2), nn.Flatten()]
    made = nn.Sequential(*layers, nn.Linear(64 * 16, 5)).cuda().to(dtype=dtype, memory_format=torch.channels_last)
    ours = copy.deepcopy(made)
    substitute(ours)
    return made, ours


def batch(dtype, seed):
    generator = torch.Generator("cuda").manual_seed(seed)
    x = torch.randn(DIMS, device="cuda", dtype=dtype, generator=generator).to(memory_format=torch.channels_last)
    return x, torch.randint(5, (DIMS[0],), device="cuda", generator=generator)


def step(layers, optimiser, x, labels):
    optimiser.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(layers(x).float(), labels)
    loss.backward()
    optimiser.step()
    return loss


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_training_step(dtype):
    """A whole step, with other work of the same layers between its replays."""
    theirs, ours = model(dtype)
    optimisers = [torch.optim.SGD(one.parameters(), lr=1e-2) for one in (theirs, ours)]
    x, labels = batch(dtype, 0)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for layers, optimiser in zip((theirs, ours), optimisers, strict=True):
            for _ in range(3):
                step(layers, optimiser, x, labels)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(ours, optimisers[1], x, labels)
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype is torch.float16 else {"rtol": 1e-3, "atol": 1e-4}
    for seed in range(1, 6):
        for place, new in zip((x, labels), batch(dtype, seed), strict=True):
            place.copy_(new)
        want = step(theirs, optimisers[0], x, labels)
        graph.replay()
        torch.testing.assert_close(loss, want, **tolerance)
        with torch.no_grad():
            for layers in (theirs, ours):
                layers(torch.cat([x, x, x]))  # larger: scratch memory of the stream grows
    state = ours.state_dict()
    for name, due in theirs.state_dict().items():
        torch.testing.assert_close(state[name], due, **tolerance)


@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream:UserWarning")  # PyTorch's, of its own capture
def test_graphed_callables():
    """`make_graphed_callables` warms up on a stream of its own and captures on another."""
    theirs, ours = model(torch.float32)
    x, _ = batch(torch.float32, 0)
    graphed = torch.cuda.make_graphed_callables(ours.eval(), (x.clone(),))
    for seed in range(1, 4):
        x, _ = batch(torch.float32, seed)
        y, want = graphed(x), theirs.eval()(x)
        torch.testing.assert_close(y, want, rtol=1e-3, atol=1e-4)
        for one in (theirs, ours):
            one.zero_grad(set_to_none=True)
        y.square().mean().backward()
        want.square().mean().backward()
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad, rtol=2e-3, atol=1e-4)
