"""PyTorch programs beside another backend: models agree, and a fault in one layer is named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import portadnn as dnn
from portadnn.dispatch.choice import PLAN_HOOKS

torch = pytest.importorskip("torch")
nn = torch.nn

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from portadnn.examples import torch_models  # noqa: E402
from portadnn.torch.recording.comparing import Comparer  # noqa: E402

SMALL = {
    "resnet50": (lambda: torch_models.ResNet((1, 1, 1, 1), 8, 5), 40),
    "resnet": (lambda: torch_models.ResNet((1, 1), 8, 5), 24),
    "unet": (lambda: torch_models.UNet(8, 2), 16),
    "lstm": (lambda: torch_models.LanguageModel(1000, 12), 7),
    "transformer": (lambda: torch_models.Transformer(1000, 16, 2), 9),
}


def compared(backend: str, name: str, outer: Any = None) -> Comparer:
    torch.manual_seed(0)
    make, size = SMALL[name]
    model, x = make(), torch_models.inputs(name, 2, size)
    with dnn.Handle(backend) as handle, outer or torch.no_grad(), torch.enable_grad():
        comparer = Comparer(handle, backend)
        with comparer:
            torch_models.train(model, x, 1)
    return comparer


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("resnet50", "reference"),
        ("unet", "reference"),
        ("resnet", "opencl"),
        ("lstm", "opencl"),
        ("transformer", "opencl"),
    ],
)
def test_models_agree(name: str, backend: str) -> None:
    comparer = compared(backend, name)
    assert not comparer.differences
    assert not comparer.refused
    assert comparer.counts == comparer.posed
    assert comparer.compared_calls.total() >= 0.9 * sum(comparer.posed.values())


def test_what_cannot_be_compared_is_no_difference() -> None:
    """Dropout is PyTorch's own, and statistics in bfloat16 are rounded more than problems have them."""

    def program() -> None:
        nn.LSTM(4, 3, 2, dropout=0.5)(torch.randn(5, 2, 4))[0].sum().backward()
        nn.GroupNorm(2, 4).bfloat16()(torch.randn(2, 4, 3, 3).bfloat16()).square().sum().backward()

    torch.manual_seed(0)
    with dnn.Handle("reference") as handle:
        comparer = Comparer(handle)
        with comparer:
            program()
    assert not comparer.differences
    assert comparer.compared_calls == {"norm": 2}


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_networks_without_biases_agree(kind: Any) -> None:
    """Problems have biases: their gradients are compared with PyTorch's by biases of zeros."""
    torch.manual_seed(0)
    x = nn.utils.rnn.pack_padded_sequence(torch.randn(6, 3, 5), [6, 4, 2])
    with dnn.Handle("reference") as handle:
        comparer = Comparer(handle)
        with comparer:
            kind(5, 4, 2, bias=False)(x)[0].data.square().sum().backward()
            kind(5, 4, bias=False, batch_first=True)(torch.randn(2, 3, 5))[0].square().sum().backward()
    assert not comparer.differences
    assert comparer.compared_calls == {"rnn": 6}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_of_overlapping_windows_in_16_bits(dtype: Any) -> None:
    """PyTorch on CPUs rounds after each window, which is no fault; what no rounding explains is one."""
    pools = [nn.MaxPool2d(3, 1, 1), nn.MaxPool2d(5, 2), nn.AvgPool2d(4, 1), nn.MaxPool2d((1, 3), 1)]
    x = torch.rand(2, 3, 12, 12).cumsum(3).cumsum(2).to(dtype).requires_grad_()  # no maximum in the first row

    def run() -> Any:
        with dnn.Handle("reference") as handle:
            comparer = Comparer(handle)
            with comparer:
                for pool in pools:
                    y = pool(x)
                    y.backward(torch.randn_like(y))
        return comparer

    torch.manual_seed(0)
    assert not run().differences
    with faulty("max_pool2d_with_indices_backward.default", lambda *_: True):
        assert "max_pool2d_with_indices_backward" in run().differences[0].function


def test_what_pytorch_rounds_with_other_numbers_is_no_difference() -> None:
    """A transposed convolution's bias is taken off its result; batch norms in 16 bits round their slopes to these."""
    torch.manual_seed(0)
    wide = nn.ConvTranspose2d(4, 3, 3, 2, 1)
    nn.init.constant_(wide.bias, 20.0)
    negated = torch.randn(1, 2, 5, 5, dtype=torch.complex64).conj().imag  # which PyTorch does when it is read
    with dnn.Handle("reference") as handle:
        comparer = Comparer(handle)
        with comparer:
            nn.functional.conv2d(negated, torch.randn(2, 2, 3, 3))
            for dtype in (torch.float32, torch.bfloat16):
                wide.to(dtype)(torch.randn(2, 4, 9, 7).relu().to(dtype))
                nn.BatchNorm2d(3).to(dtype)(torch.randn(2, 3, 9, 8).to(dtype))
    assert not comparer.differences
    assert comparer.compared_calls == {"convolution": 3, "activation": 2, "norm": 2}


def test_what_lines_round_is_no_difference() -> None:
    """PyTorch's norms are lines: a result near 0 is as far off as the largest of its channel. A fault is more."""
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(8).eval()
    norm.running_mean.uniform_(-2, 2)
    norm.running_var.uniform_(0.5, 2)
    x = torch.randn(4, 8, 30, 30)

    def run() -> Any:
        with dnn.Handle("reference") as handle, Comparer(handle) as comparer:
            norm(x)
            for other in (nn.BatchNorm2d(8), nn.GroupNorm(2, 8), nn.LayerNorm(30), nn.InstanceNorm2d(8)):
                other(x + 1)
        return comparer

    fine = run()
    assert not fine.differences
    assert fine.compared_calls == {"norm": 5}
    with faulty("native_batch_norm.default", lambda *_: True):
        assert len(run().differences) == 3  # of batch and instance norms


def test_what_transforms_round_is_no_difference() -> None:
    """Where a tile's pixels are mostly 0, as behind a ReLU, all its results have the rounding of the largest."""
    torch.manual_seed(0)
    x, w = torch.zeros(64, 32, 26, 26), torch.randn(64, 32, 3, 3, requires_grad=True)
    x[:, :, ::5, ::5] = torch.randn(64, 32, 6, 6)
    with dnn.Handle("opencl") as handle, Comparer(handle) as comparer:
        y = nn.functional.conv2d(x.requires_grad_(), w)
        y.backward(torch.randn_like(y) * (torch.rand_like(y) > 0.95))
    assert not comparer.differences
    assert comparer.compared_calls == {"convolution": 3}


class Wrong:
    """PyTorch with an operator that computes something else: below autograd, and below where calls are seen.

    `instead` gets the operator and its arguments.
    """

    def __init__(self, operator: str, instead: Callable[..., Any]) -> None:
        self.operator, self.instead = operator, instead

    def __enter__(self) -> None:
        packet, _, overload = self.operator.partition(".")
        func = getattr(getattr(torch.ops.aten, packet), overload)
        behind = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)

        def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
            return self.instead(partial(func.redispatch, keys & behind), *args, **kwargs)

        self.library = torch.library.Library("aten", "IMPL")
        self.library.impl(func, kernel, "BackendSelect", with_keyset=True)

    def __exit__(self, *error: object) -> None:
        self.library._destroy()


class Louder(TorchDispatchMode):
    """A program's own mode: results of one operator are a little too large."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        return out * 1.01 if func is torch.ops.aten.convolution.default else out


def test_what_a_programs_mode_makes_of_results_counts() -> None:
    layer, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), torch.randn(2, 3, 8, 8)
    with Louder(), Comparer(dnn.Handle("reference")) as outer, Comparer(dnn.Handle("reference")) as inner:
        layer(x)
    for comparer in (outer, inner):
        assert comparer.compared_calls == {"convolution": 1, "activation": 1}
        (found,) = comparer.differences
        assert (found.module, found.function) == ("0", "aten.convolution")


def faulty(operator: str, chosen: Callable[..., bool]) -> Wrong:
    """PyTorch with a fault in one operator, for tensors that a function chooses."""

    def instead(func: Any, *args: Any, **kwargs: Any) -> Any:
        out = func(*args, **kwargs)
        if chosen(*args):
            first = out[0] if isinstance(out, (tuple, list)) else out
            first.view(-1)[7] += 0.01
        return out

    return Wrong(operator, instead)


FAULTS = [
    ("resnet50", "convolution.default", lambda x, w, *_: tuple(w.shape) == (64, 64, 3, 3), "layers.3.0.conv2"),
    ("unet", "native_group_norm.default", lambda x, *_: x.shape[1] == 32, "middle.1"),
    ("transformer", "native_layer_norm_backward.default", lambda *_: True, "norm"),
]


@pytest.mark.parametrize(("name", "operator", "chosen", "module"), FAULTS)
def test_a_fault_of_pytorch_is_named(name: str, operator: str, chosen: Any, module: str) -> None:
    comparer = compared("reference", name, faulty(operator, chosen))
    first = comparer.differences[0]
    assert (first.target, first.module, first.function) == (
        "torch",
        module,
        f"aten.{operator.removesuffix('.default')}",
    )
    assert "times the tolerance" in first.message
    assert {difference.target for difference in comparer.differences} == {"torch"}


def shifted(func: Any, x: Any, w: Any, *rest: Any) -> Any:
    if tuple(w.shape[:2]) != (8, 16):
        return func(x, w, *rest)
    bias, stride, _, *others = rest
    return func(nn.functional.pad(x, (2, 0, 1, 1)), w, bias, stride, [0, 0], *others)  # two columns before, none behind


def turned(func: Any, bias: Any, x: Any, w: Any) -> Any:
    return func(bias, x, w.t() if tuple(w.shape) == (16, 16) else w)


def scaled(func: Any, dy: Any, x: Any, w: Any, *rest: Any) -> Any:
    dx, dw, db = func(dy, x, w, *rest)
    return dx, dw * 1.001 if tuple(w.shape) == (32, 32, 3, 3) else dw, db


def unbiased(func: Any, x: Any, w: Any, bias: Any, *rest: Any) -> Any:
    return func(x, w, None if tuple(w.shape[2:]) == (1, 1) else bias, *rest)


SEEDED = [
    ("unet", "native_group_norm.default", lambda f, *a: f(*a[:7], 1e-2 if a[0].shape[1] == 32 else a[7]), "middle.1"),
    ("transformer", "addmm.default", turned, "layers.0.out"),
    ("unet", "convolution.default", shifted, "up.0.0"),
    ("resnet50", "convolution_backward.default", scaled, "layers.2.0.conv2"),
    ("unet", "convolution.default", unbiased, "head"),
]


@pytest.mark.parametrize(("name", "operator", "instead", "module"), SEEDED)
def test_wrong_layers_are_named(name: str, operator: str, instead: Any, module: str) -> None:
    """An epsilon, a transposed weight, a padding, the scale of a gradient, and a bias that is left out."""
    comparer = compared("reference", name, Wrong(operator, instead))
    first = comparer.differences[0]
    assert (first.target, first.module, first.function) == (
        "torch",
        module,
        f"aten.{operator.removesuffix('.default')}",
    )
    assert {difference.target for difference in comparer.differences} == {"torch"}


def test_a_fault_of_the_target_is_named() -> None:
    def wrong(handle: Any, plan: Any) -> Any:
        problem = plan.problem
        if problem.op != "convolution_backward_filter" or problem.dw.dims != (32, 32, 3, 3):
            return plan

        def run(arrays: Any, scalars: Any, workspace: Any) -> None:
            plan.run(arrays, scalars, workspace)
            arrays[-1][0, 0, 0, 0] += 0.01

        return replace(plan, run=plan.run.instead(run))

    PLAN_HOOKS.append(wrong)
    try:
        comparer = compared("reference", "resnet50")
    finally:
        PLAN_HOOKS.remove(wrong)
    (first,) = comparer.differences
    assert (first.target, first.module) == ("reference", "layers.2.0.conv2")
    assert first.problem.startswith("convolution_backward_filter x=f32:2x32x")


PROGRAM = """
import torch
from torch import nn

library = torch.library.Library("aten", "IMPL")

def convolution(x, w, *more):
    y = torch.ops.aten._convolution(x, w, *more, False, False, True, True)
    return y * 1.001 if len(w) == 6 else y

library.impl("convolution", convolution, "CPU")
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 6, 3), nn.Conv2d(6, 2, 3))
model(torch.randn(1, 3, 9, 9))
"""


def test_the_command_names_the_layer(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["diff", "torch", "-t", "reference", "--", "python", str(tmp_path / "program.py")]
    run = subprocess.run([sys.executable, "-m", "portadnn", *words], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    first = run.stdout[run.stdout.index("FIRST OFF") :]
    assert "program.py:14: module 2, aten.convolution" in first
    assert "convolution_bias_activation_forward x=f32:1x4x7x7" in first
    assert "torch: y: " in first


def test_a_comparer_takes_a_handle() -> None:
    with pytest.raises(dnn.BadParam, match=r"handle: expected a portadnn.Handle, got str"):
        Comparer("reference")
