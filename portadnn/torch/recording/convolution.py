"""Convolutions of PyTorch as problems: forward, transposed, and their gradients."""

from __future__ import annotations

from typing import Any

import torch

from ...enums import ActivationMode, MathType
from ...ops.convolution.calls import (
    ConvolutionBackwardBias,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from ...ops.convolution.fused import ConvolutionBiasActivationForward
from ...ops.tensor import AddTensor
from .computation import Apart, Arguments, Computation, Tensor, aten, images, pose, spec_of, tuple_of


def _geometry(a: Arguments, tensor: Tensor) -> dict[str, Any]:
    """Return the parameters of the problems; a convolution along one dim is one of images of height 1."""
    spatial = tensor.dim() - 2
    found = {
        "padding": tuple_of(a["padding"], spatial),
        "stride": tuple_of(a["stride"], spatial),
        "dilation": tuple_of(a["dilation"], spatial),
    }
    if spatial == 1:
        found = {name: (0 if name == "padding" else 1, *value) for name, value in found.items()}
    return {**found, "groups": a["groups"], **_math(tensor)}


def _math(tensor: Tensor) -> dict[str, Any]:
    """Return the math that PyTorch lets cuDNN use: float32 may be rounded to TF32, unless that was switched off."""
    backend = torch.backends.cudnn
    rounds = tensor.is_cuda and tensor.dtype is torch.float32 and backend.enabled and backend.allow_tf32
    return {"math": MathType.TENSOR_OP_ALLOW_CONVERSION} if rounds and torch.version.hip is None else {}


def _bias(bias: Tensor, like: Tensor) -> Tensor:
    """Return a view of a bias with the dims of images."""
    return bias.view(1, -1, *[1] * (like.dim() - 2))


@aten("convolution", "convolution.default", "_convolution.default", "convolution_overrideable.default")
def _forward(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    geometry = _geometry(a, a["input"])
    x, w, y, bias = images(a["input"]), images(a["weight"]), images(out), a["bias"]
    if a["transposed"]:
        conv = pose(ConvolutionBackwardData, {"w": w, "dy": x, "dx": y}, **geometry)
    elif bias is not None and compared:
        fused = {"x": x, "w": w, "z": y, "bias": _bias(bias, y), "y": y}
        return [pose(ConvolutionBiasActivationForward, fused, activation=ActivationMode.IDENTITY, **geometry)]
    else:
        conv = pose(ConvolutionForward, {"x": x, "w": w, "y": y}, **geometry)
    if bias is None:
        return [conv]
    if compared:
        conv = Computation(conv.problem, {**conv.tensors, "dx": _without(y, bias)}, conv.numbers)
        return [conv]
    return [conv, pose(AddTensor, {"a": _bias(bias, y), "c": y}, {"beta": 1.0})]


def _without(y: Tensor, bias: Tensor) -> Any:
    """Return a transposed convolution's result before the bias was added."""
    return Apart(spec_of(y), lambda: y - _bias(bias, y), added=lambda: _bias(bias, y))


@aten("convolution", "convolution_backward.default")
def _backward(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    geometry = _geometry(a, a["input"])
    dy, x, w = (images(a[name]) for name in ("grad_output", "input", "weight"))
    dx, dw, db = (None if gradient is None else gradient for gradient in out)
    found = []
    if dx is not None:
        kind = ConvolutionForward if a["transposed"] else ConvolutionBackwardData
        names = ("x", "w", "y") if a["transposed"] else ("dy", "w", "dx")
        found.append(pose(kind, dict(zip(names, (dy, w, images(dx)), strict=True)), **geometry))
    if dw is not None:
        given, gradient = (dy, x) if a["transposed"] else (x, dy)
        found.append(pose(ConvolutionBackwardFilter, {"x": given, "dy": gradient, "dw": images(dw)}, **geometry))
    if db is not None:
        found.append(pose(ConvolutionBackwardBias, {"dy": dy, "db": _bias(db, dy)}))
    return found


def _library(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    """Translate a vendor library's own convolution, whose bias is absent or given."""
    return _forward({"bias": None, "transposed": False, **a, "input": a.get("self", a.get("input"))}, out, compared)


aten("convolution", "cudnn_convolution.default", "miopen_convolution.default", "mkldnn_convolution.default")(_library)
