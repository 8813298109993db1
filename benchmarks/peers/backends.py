"""The peer: what PyTorch does for the same problem, on the CPU (oneDNN) or on CUDA (cuDNN).

TF32 is allowed where a problem permits it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from portadnn.enums import DataType, MathType, NanPropagation, OpTensorOp, SoftmaxAlgorithm
from portadnn.errors import NotSupported
from portadnn.handle import Handle
from portadnn.problem import Problem, TensorSpec
from portadnn.registry import get_backend

from ..call import other_work, portadnn_call, random_values, tensor_values
from ..timing import Side, wall
from .peer import NoEquivalent
from .torch_rnn import rnn


def torch_module() -> Any | None:
    """Return torch, or None where it is not installed.

    Its OpenMP threads are told to sleep while they wait: spinning, they would take the cores of the other side's turn.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import torch
    except ImportError:
        return None
    return torch


class TorchPeer:
    """PyTorch on one device.

    Parameters
    ----------
    device
        ``"cpu"`` or ``"cuda"``.
    """

    def __init__(self, device: str) -> None:
        self.torch = torch_module()
        self.device = device
        if device == "cpu":
            self.torch.set_num_threads(len(os.sched_getaffinity(0)))
        else:
            self.torch.backends.cuda.matmul.allow_tf32 = False
            self.torch.backends.cudnn.benchmark = True

    @property
    def title(self) -> str:
        """What tables and plots call it."""
        version = self.torch.__version__.partition("+")[0]
        return f"torch {version}, {'cuDNN' if self.device == 'cuda' else 'CPU'}"

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""
        torch = self.torch
        facts = {"name": "torch", "version": torch.__version__, "device": self.device, "tf32": "where permitted"}
        if self.device == "cpu":
            facts["threads"] = torch.get_num_threads()
            facts["omp_wait_policy"] = os.environ["OMP_WAIT_POLICY"]
        else:
            facts["cudnn"] = torch.backends.cudnn.version()
            facts["cudnn_benchmark"] = True
        return facts

    def tensor(self, spec: TensorSpec, values: np.ndarray[Any, Any]) -> Any:
        """Return a torch tensor with the spec's layout and those values."""
        if spec.dtype is DataType.BFLOAT16:  # which NumPy and torch do not share
            flat = self.torch.from_numpy(values.view(np.int16)).view(self.torch.bfloat16).to(self.device)
        else:
            flat = self.torch.from_numpy(values).to(self.device)
        return flat.as_strided(spec.dims, spec.strides)

    def timer(self, function: Callable[[], None]) -> float:
        """Return the seconds of what `function` runs on the device."""
        if self.device == "cpu":
            return wall(function)
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def product(self, spec: TensorSpec, tf32: bool) -> Side:
        """Return the side of a product of two square matrices, the last two dims of `spec`."""
        a, b = (self.tensor(spec, random_values(spec, seed))[0, 0] for seed in range(2))
        settings = self.torch.backends.cuda.matmul

        def run() -> None:
            settings.allow_tf32 = tf32
            self.torch.mm(a, b)
            settings.allow_tf32 = False

        return Side(f"torch {self.device}", run, self.timer)

    def sides(self, problem: Problem, numbers: Mapping[str, float]) -> Sequence[Side]:
        """Return torch's one way; run-time numbers have no equivalent and are left out."""
        specs = zip(problem.names, problem.tensors, strict=True)
        tensors = {name: self.tensor(spec, tensor_values(problem, name)) for name, spec in specs}
        call = _call(self.torch, problem, tensors)
        if call is None:
            raise NoEquivalent(f"torch has no {problem.op} of this kind")

        cudnn = self.torch.backends.cudnn
        tf32 = getattr(problem, "math", None) is MathType.TENSOR_OP_ALLOW_CONVERSION

        def run() -> None:
            cudnn.allow_tf32 = tf32
            with self.torch.no_grad():
                call()

        return [Side(f"torch {self.device}", run, self.timer)]


class BackendPeer:
    """Another backend of portadnn's, which shows what a kernel dialect costs on one device."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.busy = other_work(handle)

    @property
    def title(self) -> str:
        """What tables and plots call it."""
        return f"portadnn {self.handle.backend}"

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""
        return {"name": self.title, "device": self.handle.info.name, "driver": self.handle.info.driver}

    def sides(self, problem: Problem, numbers: Mapping[str, float]) -> Sequence[Side]:
        """Return the same call on the other backend."""
        call = portadnn_call(self.handle, problem, dict(numbers))
        return [Side(self.title, call, self.handle.device.time, self.busy)]

    def product(self, spec: TensorSpec, tf32: bool) -> Side | None:
        """Return None: its own convolutions are no ceiling."""
        return None


def _call(torch: Any, problem: Problem, t: dict[str, Any]) -> Callable[[], Any] | None:
    """Return PyTorch's operator, as the torch backend uses it, for what takes it no more than that one."""
    if problem.op.startswith("rnn"):
        return rnn(torch, problem, t)
    if problem.op == "dropout_forward":
        p: Any = problem
        return lambda: torch.ops.aten.native_dropout(t["x"], p.dropout, True)
    call = _tensor_operation(torch, problem, t) or _layer_operation(torch, problem, t)
    if call is not None:
        return call
    try:
        call = get_backend("torch").operator(_plainest(problem), problem.scalars, t)
        with torch.no_grad():
            call()
    except (NotSupported, RuntimeError):  # such as local response normalisation of halves on CPUs
        return None
    return call


def _plainest(problem: Problem) -> Problem:
    """Return the problem with the options that PyTorch's operators have by themselves."""
    natural = {"nan_propagation": NanPropagation.PROPAGATE_NAN, "algorithm": SoftmaxAlgorithm.ACCURATE}
    if getattr(problem, "algorithm", None) is SoftmaxAlgorithm.LOG:
        del natural["algorithm"]
    names = {field.name for field in fields(problem)}
    return replace(problem, **{name: value for name, value in natural.items() if name in names})


def _tensor_operation(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any] | None:
    if p.op == "add_tensor":
        return lambda: t["c"].add_(t["a"])
    if p.op == "transform_tensor":
        return lambda: t["y"].copy_(t["x"])
    if p.op == "set_tensor":
        return lambda: t["y"].fill_(0.5)
    if p.op == "scale_tensor":
        return lambda: t["y"].mul_(1.0)
    if p.op == "op_tensor":
        functions = {
            OpTensorOp.ADD: torch.add,
            OpTensorOp.MUL: torch.mul,
            OpTensorOp.MIN: torch.minimum,
            OpTensorOp.MAX: torch.maximum,
        }
        function = functions[p.operation]
        return lambda: function(t["a"], t["b"], out=t["c"])
    return None


def _layer_operation(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any] | None:
    """Return the operator of MIOpen's younger layers; PyTorch has rotary embeddings and Adam only of many operators."""
    aten = torch.ops.aten
    reduction = {"NONE": 0, "MEAN": 1, "SUM": 2}[p.reduction.name] if "margin_loss" in p.op else 0
    calls: dict[str, Callable[[], Any]] = {
        "glu_forward": lambda: aten.glu(t["x"], p.dim),
        "glu_backward": lambda: aten.glu_backward(t["dy"], t["x"], p.dim),
        "prelu_backward": lambda: aten._prelu_kernel_backward(t["dy"], t["x"], t["weight"]),
        "soft_margin_loss_forward": lambda: aten.soft_margin_loss(t["x"], t["target"], reduction),
        "soft_margin_loss_backward": lambda: aten.soft_margin_loss_backward(t["dloss"], t["x"], t["target"], reduction),
        "multi_margin_loss_forward": lambda: aten.multi_margin_loss(
            t["x"], t["target"], p.p, 1.0, t["weight"], reduction
        ),
        "cat_forward": lambda: torch.cat([t[name] for name in p.inputs if name in t], p.dim),
        "kthvalue_forward": lambda: torch.kthvalue(t["x"], p.k, p.dim),
    }
    return calls.get(p.op)
