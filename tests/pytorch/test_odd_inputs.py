"""Inputs of substituted modules that are of other types, or that PyTorch refuses: both do the same."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from portadnn import BadParam  # noqa: E402
from portadnn.torch import substitute  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values to real")


def complex_numbers(*shape):
    return torch.complex(torch.randn(shape), torch.randn(shape))


def integers(*shape, dtype=torch.int64):
    return torch.randint(0, 5, shape).to(dtype)


OTHERS = {
    "complex convolution": (lambda: nn.Conv2d(2, 3, 3, dtype=torch.complex64), lambda: complex_numbers(1, 2, 5, 6)),
    "circular": (
        lambda: nn.Conv1d(2, 2, 3, padding=1, padding_mode="circular", dtype=torch.complex64),
        lambda: complex_numbers(1, 2, 5),
    ),
    "transposed": (lambda: nn.ConvTranspose1d(2, 3, 3, dtype=torch.complex64), lambda: complex_numbers(1, 2, 5)),
    "complex tanh": (nn.Tanh, lambda: complex_numbers(2, 3)),
    "complex sigmoid": (nn.Sigmoid, lambda: complex_numbers(2, 3)),
    "sigmoid of integers": (nn.Sigmoid, lambda: integers(2, 3)),
    "relu": (nn.ReLU, lambda: integers(2, 3) - 2),
    "relu of bytes": (nn.ReLU, lambda: integers(2, 3, dtype=torch.int8) - 2),
    "relu6": (nn.ReLU6, lambda: integers(2, 3) * 2),
    "max": (lambda: nn.MaxPool2d(2), lambda: integers(1, 2, 4, 4, dtype=torch.uint8)),
    "average": (lambda: nn.AvgPool2d(2), lambda: integers(1, 2, 4, 4)),
}


@pytest.mark.parametrize("fuse", [False, True, "whole"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_types_are_pytorchs(name, fuse):
    module, values = OTHERS[name]
    model = nn.Sequential(module()).eval()
    x = values()
    want = model(x)
    with substitute(model, fuse=fuse) as substitution:
        assert substitution.replaced
        with torch.set_grad_enabled(not fuse):
            got = model(x)
    assert got.dtype == want.dtype
    torch.testing.assert_close(got, want)


REFUSED = {
    "one value in each group": (
        lambda: nn.GroupNorm(4, 4),
        (torch.zeros(1, 4, 1, 1),),
        "x: expected more than 1 value",
    ),
    "no channels": (lambda: nn.GroupNorm(4, 4), (torch.zeros(4),), "x: expected at least 2 dims"),
    "features": (lambda: nn.LSTM(6, 4), (torch.zeros(5, 2, 7),), r"x: expected 6 features, .* got \(5, 2, 7\)"),
    "features of layers": (lambda: nn.GRU(6, 4, 2, bidirectional=True), (torch.zeros(5, 7),), "x: expected 6 features"),
    "one dim": (lambda: nn.RNN(6, 4, batch_first=True), (torch.zeros(6),), "x: expected 2 or 3 dims"),
    "four dims": (lambda: nn.GRU(6, 4), (torch.zeros(1, 5, 2, 6),), "x: expected 2 or 3 dims"),
    "no cells": (lambda: nn.LSTM(6, 4), (torch.zeros(5, 2, 6), torch.zeros(1, 2, 4)), r"expected \(h_0, c_0\)"),
    "one of two": (
        lambda: nn.LSTM(6, 4),
        (torch.zeros(5, 2, 6), (torch.zeros(1, 2, 4),)),
        r"expected \(h_0, c_0\)",
    ),
    "cells": (lambda: nn.GRU(6, 4), (torch.zeros(5, 2, 6), (torch.zeros(1, 2, 4),) * 2), "hx: expected a tensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses(name):
    make, inputs, message = REFUSED[name]
    model = make()
    with pytest.raises(Exception):  # noqa: B017 - PyTorch has errors of five kinds here
        model(*inputs)
    substitute(model)
    with pytest.raises(BadParam, match=message):
        model(*inputs)


@pytest.mark.parametrize("shape", [(2, 4, 1, 1), (1, 4, 2, 1), (0, 4, 1, 1), (1, 8)])
def test_group_norms_that_pytorch_takes(shape):
    model = nn.GroupNorm(4, shape[1])
    x = torch.randn(shape)
    want = model(x)
    substitute(model)
    torch.testing.assert_close(model(x), want, atol=1e-4, rtol=1e-5)


def test_states_in_a_list():
    model = nn.LSTM(6, 4)
    x, states = torch.randn(5, 2, 6), [torch.randn(1, 2, 4), torch.randn(1, 2, 4)]
    want = copy.deepcopy(model)(x, states)[0]
    substitute(model)
    torch.testing.assert_close(model(x, states)[0], want)
