"""Places in programs: what is the same call, and what is not."""

from __future__ import annotations

import copy
import pickle

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from portadnn.torch import substitute  # noqa: E402
from portadnn.torch.ops.places import Place  # noqa: E402
from portadnn.torch.ops.replay import layouts  # noqa: E402

x, w = torch.zeros(2, 4, 3, 3), torch.nn.Parameter(torch.zeros(4, 4, 1, 1))
OTHERS = {
    "another size": (torch.zeros(3, 4, 3, 3), w),
    "channels last": (x.to(memory_format=torch.channels_last), w),
    "another type": (x.double(), w),
    "requires a gradient": (x.clone().requires_grad_(), w),
    "begins elsewhere": (torch.zeros(x.numel() + 1)[1:].view(x.shape), w),
    "negated lazily": (torch._neg_view(x), w),
    "no memory": (x.to("meta"), w),
    "one more": (x, w, w),
    "one less": (x,),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_layouts(name):
    place, numbers = Place(), (1, "opencl")
    place.keep(numbers, (x, None, w), "the call", True)
    if place.find(numbers, (x, None, w)) is None:
        pytest.skip("this PyTorch compares tensors in another way")
    assert place.find(numbers, (x + 1, None, nn.Parameter(w + 1))) == "the call"
    assert place.find((2, "opencl"), (x, None, w)) is None
    assert place.find(numbers, OTHERS[name]) is None
    first = layouts(numbers, (x, w))
    if name != "requires a gradient":  # which changes who has to know of the call, not what it does
        assert first is not None and layouts(numbers, OTHERS[name]) != first


def test_watched():
    """Nobody is passed by who sees the calls of a mode, a transform, a profiler or autocast."""
    place = Place()
    place.keep((), (x, w), "the call", True)
    with torch.overrides.BaseTorchFunctionMode():
        assert place.find((), (x, w)) is None
    with torch.profiler.profile():
        assert place.find((), (x, w)) is None
    seen = []
    torch.func.vmap(lambda one: seen.append(place.find((), (one, w))) or one)(x)
    assert seen == [None]


def test_copies_are_empty():
    place = Place()
    place.keep((), (x, w), "the call", True)
    for made in (copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert made.call is None and made.find((), (x, w)) is None


def test_layouts_in_turn():
    """One module with many layouts, under grad mode and without, in training and evaluation."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 1, bias=False))
    ours = copy.deepcopy(model)
    substitute(ours, "opencl" if _has_opencl() else "reference")
    for turn in range(24):
        data = torch.randn(1 + turn % 2, 3, 3, 4)
        if turn % 4 == 1:
            data = data.to(memory_format=torch.channels_last)
        data.requires_grad_(turn % 5 == 0)
        results = []
        for one in (ours, model):
            one.train(turn % 7 != 0)
            if turn == 12:
                one[3].weight = nn.Parameter(one[3].weight.detach() * 2)
            if turn == 16:
                one[3].weight.data = one[3].weight.data.flip(0)
            with torch.set_grad_enabled(turn % 6 != 2):
                y = one(data)
            results.append([y])
            if y.requires_grad:
                wanted = [*one.parameters(), *([data] if data.requires_grad else [])]
                results[-1] += torch.autograd.grad(y.square().sum(), wanted)
        for a, b in zip(*results, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(ours.state_dict(), model.state_dict(), rtol=1e-4, atol=1e-5)


def _has_opencl():
    from where import BACKENDS

    return "opencl" in BACKENDS
