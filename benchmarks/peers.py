"""The peer: what PyTorch does for the same problem, on the CPU (oneDNN) or on CUDA (cuDNN).

TF32 is allowed where a problem permits it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from portadnn.enums import ActivationMode, DataType, MathType, OpTensorOp, PoolingMode, SoftmaxAlgorithm, SoftmaxMode
from portadnn.handle import Handle
from portadnn.problem import Problem, TensorSpec

from .call import portadnn_call, random_values, tensor_values
from .peer import NoEquivalent
from .peers_norm import batch_norm, sample_norm
from .peers_rnn import rnn
from .timing import Side, wall


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

    @property
    def title(self) -> str:
        """What tables and plots call it."""
        return f"portadnn {self.handle.backend}"

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""
        return {"name": self.title, "device": self.handle.info.name, "driver": self.handle.info.driver}

    def sides(self, problem: Problem, numbers: Mapping[str, float]) -> Sequence[Side]:
        """Return the same call on the other backend."""
        return [Side(self.title, portadnn_call(self.handle, problem, dict(numbers)), self.handle.device.time)]

    def product(self, spec: TensorSpec, tf32: bool) -> Side | None:
        """Return None: its own convolutions are no ceiling."""
        return None


def _call(torch: Any, problem: Problem, t: dict[str, Any]) -> Callable[[], Any] | None:
    p: Any = problem
    functional = torch.nn.functional
    aten = torch.ops.aten
    spatial = len(problem.tensors[0].dims) - 2
    if problem.op == "convolution_forward":
        conv = functional.conv2d if spatial == 2 else functional.conv3d
        return lambda: conv(t["x"], t["w"], None, p.stride, p.padding, p.dilation, p.groups)
    if problem.op == "convolution_bias_activation_forward":  # without z, as alpha2 = 0 is
        conv, activate = functional.conv2d if spatial == 2 else functional.conv3d, _activation(torch, p.activation, p)
        bias = t["bias"].flatten()
        return lambda: activate(conv(t["x"], t["w"], bias, p.stride, p.padding, p.dilation, p.groups))
    if problem.op in ("convolution_backward_data", "convolution_backward_filter"):
        data = problem.op == "convolution_backward_data"
        x = t["dx"] if data else t["x"]
        w = t["w"] if data else t["dw"]
        mask = [data, not data, False]
        zeros = [0] * spatial
        return lambda: aten.convolution_backward(
            t["dy"], x, w, None, p.stride, p.padding, p.dilation, False, zeros, p.groups, mask
        )
    if problem.op == "convolution_backward_bias":
        return lambda: t["dy"].sum(dim=[0, *range(2, spatial + 2)])
    if problem.op == "activation_forward":
        function = _activation(torch, p.mode, p)
        return lambda: function(t["x"])
    if problem.op == "activation_backward":
        gradients = {
            ActivationMode.RELU: lambda: aten.threshold_backward(t["dy"], t["x"], 0),
            ActivationMode.SIGMOID: lambda: aten.sigmoid_backward(t["dy"], t["y"]),
            ActivationMode.TANH: lambda: aten.tanh_backward(t["dy"], t["y"]),
            ActivationMode.ELU: lambda: aten.elu_backward(t["dy"], p.coef, 1, 1, True, t["y"]),
        }
        return gradients.get(p.mode)
    if problem.op in ("softmax_forward", "softmax_backward"):
        return _softmax(aten, p, t)
    if problem.op == "reduce_tensor":
        return _reduction(torch, p, t)
    if problem.op == "dropout_forward":
        return lambda: aten.native_dropout(t["x"], p.dropout, True)
    if problem.op == "dropout_backward":
        mask = t["dy"] > 0
        return lambda: aten.native_dropout_backward(t["dy"], mask, 1 / (1 - p.dropout))
    if problem.op.startswith("batch_normalization"):
        return batch_norm(torch, p, t)
    if problem.op.startswith("normalization"):
        return sample_norm(torch, p, t)
    if problem.op.startswith("rnn"):
        return rnn(torch, p, t)
    if problem.op.startswith("pooling"):
        return _pooling(torch, p, t, spatial)
    if problem.op.startswith("spatial_tf"):
        return _spatial_transformer(torch, p, t)
    if problem.op.startswith("lrn"):
        return _lrn(torch, p, t)
    return _tensor_operation(torch, p, t)


def _activation(torch: Any, mode: ActivationMode, p: Any) -> Callable[[Any], Any]:
    functions: dict[ActivationMode, Callable[[Any], Any]] = {
        ActivationMode.RELU: torch.relu,
        ActivationMode.SIGMOID: torch.sigmoid,
        ActivationMode.TANH: torch.tanh,
        ActivationMode.CLIPPED_RELU: lambda x: torch.clamp(x, 0.0, p.ceiling),
        ActivationMode.IDENTITY: lambda x: x,
        ActivationMode.ELU: lambda x: torch.nn.functional.elu(x, p.coef),
        ActivationMode.SWISH: lambda x: x * torch.sigmoid(p.coef * x) if p.coef != 1 else torch.nn.functional.silu(x),
    }
    return functions[mode]


def _reduction(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any] | None:
    """Return torch's reduction; where indices are wanted, of one dim."""
    a, dims, name = t["a"], p.reduced, p.operation.name
    if p.indices is not None:
        find = {"MIN": torch.min, "MAX": torch.max}.get(name)
        if find is None or len(dims) != 1:
            return None
        return lambda: find(a, dims[0], keepdim=True)
    norms = {"NORM1": 1, "NORM2": 2, "AMAX": float("inf")}
    if name in norms:
        return lambda: torch.linalg.vector_norm(a, norms[name], dims, keepdim=True)
    functions = {"ADD": torch.sum, "AVG": torch.mean, "MIN": torch.amin, "MAX": torch.amax}
    function = functions.get(name)
    return None if function is None else lambda: function(a, dims, keepdim=True)


def _softmax(aten: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any]:
    log = p.algorithm is SoftmaxAlgorithm.LOG
    instance = p.mode is SoftmaxMode.INSTANCE
    rows = {name: (v.flatten(1) if instance else v) for name, v in t.items()}
    if p.op == "softmax_forward":
        forward = aten._log_softmax if log else aten._softmax
        return lambda: forward(rows["x"], 1, False)
    backward = aten._log_softmax_backward_data if log else aten._softmax_backward_data
    return lambda: backward(rows["dy"], rows["y"], 1, rows["y"].dtype)


def _lrn(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any] | None:
    x = t["x"].requires_grad_(p.op == "lrn_cross_channel_backward")

    def forward() -> Any:
        return torch.nn.functional.local_response_norm(x, p.lrn_n, p.lrn_alpha, p.lrn_beta, p.lrn_k)

    try:
        y = forward()
    except RuntimeError:  # channels last, and half on CPUs
        return None
    return (lambda: torch.autograd.grad(y, x, t["dy"], retain_graph=True)) if x.requires_grad else forward


def _pooling(torch: Any, p: Any, t: dict[str, Any], spatial: int) -> Callable[[], Any] | None:
    functional, aten = torch.nn.functional, torch.ops.aten
    include = p.mode is PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING
    if p.op == "pooling_forward":
        if p.mode is PoolingMode.MAX:
            pool = functional.max_pool2d if spatial == 2 else functional.max_pool3d
            return lambda: pool(t["x"], p.window, p.stride, p.padding)
        average = functional.avg_pool2d if spatial == 2 else functional.avg_pool3d
        return lambda: average(t["x"], p.window, p.stride, p.padding, False, include)
    if spatial != 2:
        return None
    if p.mode is PoolingMode.MAX:
        _, indices = functional.max_pool2d(t["x"], p.window, p.stride, p.padding, return_indices=True)
        return lambda: aten.max_pool2d_with_indices_backward(
            t["dy"], t["x"], p.window, p.stride, p.padding, [1, 1], False, indices
        )
    return lambda: aten.avg_pool2d_backward(t["dy"], t["x"], p.window, p.stride, p.padding, False, include, None)


def _spatial_transformer(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any]:
    aten = torch.ops.aten
    n, h, w, _ = p.grid_spec.dims
    if p.op == "spatial_tf_grid_generator_forward":
        return lambda: torch.nn.functional.affine_grid(t["theta"], [n, 1, h, w], align_corners=True)
    if p.op == "spatial_tf_grid_generator_backward":
        return lambda: aten.affine_grid_generator_backward(t["dgrid"], [n, 1, h, w], True)
    if p.op == "spatial_tf_sampler_forward":
        return lambda: aten.grid_sampler_2d(t["x"], t["grid"], 0, 0, True)
    return lambda: aten.grid_sampler_2d_backward(t["dy"], t["x"], t["grid"], 0, 0, True, [True, True])


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
