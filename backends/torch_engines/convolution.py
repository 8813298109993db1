"""Convolutions: conv2d, conv3d and aten's convolution_backward (oneDNN and ATen on CPUs, cuDNN on CUDA)."""

from __future__ import annotations

from typing import Any

from portadnn.enums import ConvolutionMode, DataType
from portadnn.ops.convolution.calls import (
    ConvolutionBackwardBias,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward

from ..base import DeviceInfo
from .activation import activation, why_not_activation
from .way import CPU, GPU, Bound, Numbers, Tensors, Way, Ways, blended, every


def _why_not(problem: Any, info: DeviceInfo) -> str | None:
    if not (problem.image.dims[1] and problem.result.dims[1]):
        return "PyTorch convolves no images without channels"
    return None


def _why_not_fused(problem: Any, info: DeviceInfo) -> str | None:
    return _why_not(problem, info) or why_not_activation(problem, info)


def _turned(problem: Any, w: Any) -> Any:
    """Return the filter as a cross-correlation takes it: CONVOLUTION turns it around."""
    return w.flip(tuple(range(2, w.dim()))) if problem.mode is ConvolutionMode.CONVOLUTION else w


def _convolve(torch: Any, p: Any, x: Any, w: Any, bias: Any = None) -> Any:
    functional = torch.nn.functional
    conv = functional.conv2d if x.dim() == 4 else functional.conv3d
    return conv(x, w, bias, p.stride, p.padding, p.dilation, p.groups)


def _forward(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, w = t["x"], _turned(p, t["w"])
    return lambda: {"y": _convolve(torch, p, x, w)}


def _fused(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, w, bias = t["x"], _turned(p, t["w"]), t["bias"].flatten()
    function = activation(torch, p.activation, p)
    alpha1, alpha2 = numbers["alpha1"], numbers["alpha2"]
    if alpha1 == 1 and alpha2 == 0:
        return lambda: {"y": function(_convolve(torch, p, x, w, bias))}

    def run() -> Tensors:
        total = alpha1 * _convolve(torch, p, x, w) + t["bias"]
        return {"y": function(total + alpha2 * t["z"] if alpha2 != 0 else total)}

    return run


def _gradients(torch: Any, p: Any, dy: Any, x: Any, w: Any, data: bool) -> Any:
    return torch.ops.aten.convolution_backward(
        dy, x, w, None, p.stride, p.padding, p.dilation, False, [0] * len(p.stride), p.groups, [data, not data, False]
    )[0 if data else 1]


def _data(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    dy, w = t["dy"], _turned(p, t["w"])
    x = torch.empty_like(t["dx"], dtype=w.dtype)  # whose dims are read, not its numbers
    return lambda: {"dx": _gradients(torch, p, dy, x, w, True)}


def _filter(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x, dy = t["x"], t["dy"]
    w = torch.empty_like(t["dw"], dtype=x.dtype)
    return lambda: {"dw": _turned(p, _gradients(torch, p, dy, x, w, False))}


def _bias(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    dy = t["dy"]
    return lambda: {"db": dy.sum((0, *range(2, dy.dim())), keepdim=True)}


_BACKWARD = every(GPU) | {(CPU, DataType.BFLOAT16)}  # float16 on CPUs is rounded between partial sums

WAYS: Ways = {
    ConvolutionForward: Way(_forward, _why_not, short=every(CPU, GPU), blends=blended("y")),
    ConvolutionBiasActivationForward: Way(_fused, _why_not_fused),
    ConvolutionBackwardData: Way(_data, _why_not, short=_BACKWARD, blends=blended("dx")),
    ConvolutionBackwardFilter: Way(_filter, _why_not, short=_BACKWARD, blends=blended("dw")),
    ConvolutionBackwardBias: Way(_bias, short=every(CPU, GPU), blends=blended("db")),
}
