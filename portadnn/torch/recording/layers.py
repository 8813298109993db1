"""Activations, softmax, CTC loss, and sampling of images as problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ...enums import ActivationMode, DataType, NanPropagation, SoftmaxAlgorithm
from ...ops.activation import ActivationBackward, ActivationForward
from ...ops.ctc_loss import CTCLoss
from ...ops.softmax import SoftmaxBackward, SoftmaxForward
from ...ops.spatial_sampler import SpatialTfSamplerBackward, SpatialTfSamplerForward
from ...problem import TensorSpec
from .computation import (
    Apart,
    Arguments,
    Computation,
    LeftOut,
    Operand,
    Tensor,
    aten,
    data_type,
    is_tensor,
    packed,
    pose,
    scratch,
)

# activations


def _flat(*tensors: Tensor) -> list[Tensor]:
    """Return views of 3 to 8 dims: of tensors without gaps in their order rows of 64 numbers where that goes."""
    if all(tensor.is_contiguous() for tensor in tensors) and not 3 <= tensors[0].dim() <= 8:
        return [tensor.view(1, -1, 1) for tensor in tensors]
    found = list(tensors)
    while found[0].dim() < 3:
        found = [tensor.unsqueeze(-1) for tensor in found]
    return found


def _activate(mode: ActivationMode, x: Tensor, y: Tensor, **options: Any) -> list[Computation]:
    x, y = _flat(x, y)
    keeps = NanPropagation.PROPAGATE_NAN
    return [pose(ActivationForward, {"x": x, "y": y}, mode=mode, nan_propagation=keeps, **options)]


_MODES = {
    "relu": ActivationMode.RELU,
    "sigmoid": ActivationMode.SIGMOID,
    "tanh": ActivationMode.TANH,
    "silu": ActivationMode.SWISH,
}


def _simple(mode: ActivationMode, idempotent: bool, in_place: bool) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        if compared and in_place and not idempotent:
            return []  # its input is no more
        return _activate(mode, a["self"], out)

    return translate


for _name, _mode in _MODES.items():
    for _mark in ("", "_"):
        aten("activation", f"{_name}{_mark}.default")(_simple(_mode, _name == "relu", _mark == "_"))


@aten("activation", "hardtanh.default", "hardtanh_.default")
def _hardtanh(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    if a["min_val"] != 0 or a["max_val"] <= 0:
        raise LeftOut("a clipped activation that does not begin at 0")
    return _activate(ActivationMode.CLIPPED_RELU, a["self"], out, ceiling=float(a["max_val"]))


@aten("activation", "elu.default")
def _elu(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    if a["scale"] != 1 or a["input_scale"] != 1:
        raise LeftOut("an ELU with scales")
    return _activate(ActivationMode.ELU, a["self"], out, coef=float(a["alpha"]))


def _reshaped(make: Callable[[], Tensor], dims: tuple[int, ...]) -> Callable[[], Tensor]:
    return lambda: make().reshape(dims)


def _gradient(mode: ActivationMode, y: Operand, dy: Tensor, x: Operand, dx: Tensor) -> list[Computation]:
    tensors: Mapping[str, Any] = {"y": y, "dy": dy, "x": x, "dx": dx}
    flat = _flat(*(one for one in tensors.values() if is_tensor(one)))
    found = {name: one for name, one in tensors.items() if is_tensor(one)}
    dims = tuple(flat[0].shape)
    given: dict[str, Operand] = dict(zip(found, flat, strict=True))
    for name in ("y", "dy", "x"):
        other = tensors[name]
        if isinstance(other, Apart) or given[name].stride() != given["dy"].stride():
            source = other.make if isinstance(other, Apart) else given[name].contiguous
            given[name] = scratch(data_type(dy), dims, None if source is None else _reshaped(source, dims))
    alike = all(is_tensor(one) and one.stride() == given["dy"].stride() for one in given.values())
    if not alike:  # copies, where a tensor is not packed
        for name, one in given.items():
            if is_tensor(one) and not one.is_contiguous():
                given[name] = scratch(data_type(dy), dims, one.contiguous)
    keeps = NanPropagation.PROPAGATE_NAN
    return [pose(ActivationBackward, given, mode=mode, nan_propagation=keeps)]


@aten("activation", "threshold_backward.default")
def _relu_gradient(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    if a["threshold"] != 0:
        raise LeftOut("a threshold other than 0")
    y = a["self"]  # what PyTorch keeps: relu's result, which is positive where its input is
    return _gradient(ActivationMode.RELU, y, a["grad_output"], y, out)


def _saturating(mode: ActivationMode) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        return _gradient(mode, a["output"], a["grad_output"], a["output"], out)

    return translate


aten("activation", "sigmoid_backward.default")(_saturating(ActivationMode.SIGMOID))
aten("activation", "tanh_backward.default")(_saturating(ActivationMode.TANH))


@aten("activation", "silu_backward.default")
def _silu_gradient(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    x = a["self"]
    y = scratch(data_type(x), tuple(x.shape), lambda: torch.nn.functional.silu(x).contiguous())
    return _gradient(ActivationMode.SWISH, y, a["grad_output"], x, out)


# softmax


def _rows(axis: int, *tensors: Tensor) -> list[Tensor]:
    """Return views in which axis 1 is summed: (outer, c, inner) of tensors without gaps, else with the axes moved."""
    first = tensors[0]
    if not first.dim():
        return [tensor.view(1, 1, 1) for tensor in tensors]
    axis %= first.dim()
    if all(tensor.is_contiguous() for tensor in tensors):
        outer, inner = math.prod(first.shape[:axis]), math.prod(first.shape[axis + 1 :])
        return [tensor.view(outer, first.shape[axis], inner) for tensor in tensors]
    found = list(tensors)
    if found[0].dim() == 1:
        found, axis = [tensor.unsqueeze(0) for tensor in found], 1
    while found[0].dim() < 3:
        found = [tensor.unsqueeze(-1) for tensor in found]
    return [tensor.movedim(axis, 1) for tensor in found]


def _softmax(algorithm: SoftmaxAlgorithm) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        if a["self"].dtype is not out.dtype:
            raise LeftOut("a softmax whose result has another type")
        x, y = _rows(a["dim"], a["self"], out)
        return [pose(SoftmaxForward, {"x": x, "y": y}, algorithm=algorithm)]

    return translate


def _softmax_gradient(algorithm: SoftmaxAlgorithm) -> Any:
    def translate(a: Arguments, out: Any, compared: bool) -> list[Computation]:
        y, dy = a["output"], a["grad_output"]
        if y.dtype is not out.dtype:
            raise LeftOut("a softmax's gradient of another type")
        if y.stride() != dy.stride() and compared:
            y, dy = y.contiguous(), dy.contiguous()
        elif y.stride() != dy.stride():  # cuDNN wants both alike: copies
            axis = a["dim"] % y.dim()
            shape = (math.prod(y.shape[:axis]), y.shape[axis], math.prod(y.shape[axis + 1 :]))
            found = {
                name: one.view(shape) if one.is_contiguous() else scratch(data_type(one), shape)
                for name, one in {"y": y, "dy": dy, "dx": out}.items()
            }
            return [pose(SoftmaxBackward, found, algorithm=algorithm)]
        y, dy, dx = _rows(a["dim"], y, dy, out)
        return [pose(SoftmaxBackward, {"y": y, "dy": dy, "dx": dx}, algorithm=algorithm)]

    return translate


aten("softmax", "_softmax.default", "_safe_softmax.default")(_softmax(SoftmaxAlgorithm.ACCURATE))
aten("softmax", "_log_softmax.default")(_softmax(SoftmaxAlgorithm.LOG))
aten("softmax", "_softmax_backward_data.default")(_softmax_gradient(SoftmaxAlgorithm.ACCURATE))
aten("softmax", "_log_softmax_backward_data.default")(_softmax_gradient(SoftmaxAlgorithm.LOG))


# CTC loss


def _integers(values: Any, dims: tuple[int, ...]) -> Apart:
    """Return labels or lengths as problems take them: int32."""
    spec = TensorSpec.packed(DataType.INT32, dims)
    return Apart(spec, lambda: torch.as_tensor(values).to(torch.int32).cpu().reshape(dims))


@aten("ctc", "_ctc_loss.default", "_ctc_loss.Tensor")
def _ctc_loss(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    return [_ctc(a, {"costs": out[0]})]


@aten("ctc", "_ctc_loss_backward.default", "_ctc_loss_backward.Tensor")
def _ctc_gradient(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    if compared:
        return []  # cuDNN's gradients are of the sum of the costs, PyTorch's are given factors
    probs = a["log_probs"]
    costs = scratch(data_type(probs), (probs.shape[1],))
    gradients = scratch(data_type(probs), tuple(probs.shape)) if out.stride() != probs.stride() else out
    return [_ctc(a, {"costs": costs, "gradients": gradients})]


def _ctc(a: Arguments, outputs: Mapping[str, Operand]) -> Computation:
    probs, targets = a["log_probs"], a["targets"]
    batch = probs.shape[1]
    tensors = {
        "probs": packed(probs),
        "labels": _integers(targets, tuple(targets.shape)),
        "label_lengths": _integers(a["target_lengths"], (batch,)),
        "input_lengths": _integers(a["input_lengths"], (batch,)),
        **outputs,
    }
    return pose(CTCLoss, tensors, blank=a["blank"])


# sampling


def _check_sampler(a: Arguments) -> None:
    if a["interpolation_mode"] != 0 or a["padding_mode"] != 0:
        raise LeftOut("a sampler other than bilinear with zeros around the image")
    if not a["align_corners"]:
        raise LeftOut("a sampler with align_corners=False: cuDNN's grid reaches the centres of the outermost pixels")


@aten("grid sample", "grid_sampler_2d.default", "cudnn_grid_sampler.default")
def _sample(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    if "interpolation_mode" in a:
        _check_sampler(a)
    x = a.get("input", a.get("self"))
    return [pose(SpatialTfSamplerForward, {"x": x, "grid": packed(a["grid"]), "y": out})]


@aten("grid sample", "grid_sampler_2d_backward.default")
def _sample_gradient(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    _check_sampler(a)
    x, (dx, dgrid) = a["input"], out
    tensors = {
        "x": x,
        "dy": packed(a["grad_output"]),
        "grid": packed(a["grid"]),
        "dx": scratch(data_type(x), tuple(x.shape)) if dx is None else dx,
        "dgrid": scratch(data_type(x), tuple(a["grid"].shape)) if dgrid is None else dgrid,
    }
    return [pose(SpatialTfSamplerBackward, tensors)]


@aten("grid sample", "grid_sampler_3d.default", "grid_sampler_3d_backward.default")
def _sample_3d(a: Arguments, out: Any, compared: bool) -> list[Computation]:
    raise LeftOut("a sampler of volumes: cuDNN samples images")
