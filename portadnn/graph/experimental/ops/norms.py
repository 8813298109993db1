"""Normalisations of rows for PyTorch: functions of ``cudnn.experimental.ops`` and ``cudnn.ops.norm`` in 1.32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...api.pygraph import pygraph
from ...enums import norm_forward_phase
from ...tensor import tensor
from ..needs_torch import torch
from ..running import Cache, demand_one_device, refuse, run

_cache: Cache = {}
_TRAINING = norm_forward_phase.TRAINING


def rms_norm(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """Return ``weight * input / sqrt(mean(input**2) + eps) + bias`` over the last dim, with gradients.

    Parameters
    ----------
    input
        (..., n), with at least one row.
    weight, bias
        (n,), of the input's type.

    Raises
    ------
    ValueError
        Other dims or types, or tensors on two devices.
    """
    rows = _rows("rms_norm", input, (("weight", weight), ("bias", bias)), (input.dtype,))
    out: torch.Tensor = torch.ops.portadnn.row_norm(rows, _line(weight), _line(bias), float(eps), False)[0]
    return out.reshape(input.shape)


def layer_norm(
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Return ``weight * (input - mean) / sqrt(variance + eps) + bias`` over the last dim, with gradients.

    Parameters
    ----------
    input
        (..., n), with at least one row.
    normalized_shape
        ``(n,)``.
    weight, bias
        (n,), both of the input's type or of float32; ones and zeros by default.

    Raises
    ------
    NotImplementedError
        `normalized_shape` has more dims than one.
    ValueError
        Other dims or types, or tensors on two devices.
    """
    shape = tuple(normalized_shape)
    if len(shape) != 1:
        raise NotImplementedError(f"layer_norm: normalized_shape of one dim is supported, got {shape}")
    kinds = (input.dtype, torch.float32) if input.dtype in {torch.float16, torch.bfloat16} else (input.dtype,)
    rows = _rows("layer_norm", input, (("weight", weight), ("bias", bias)), kinds)
    if input.shape[-1] != shape[0]:
        raise refuse("layer_norm", "last dim of input", str(shape[0]), input.shape[-1])
    wide = torch.float64 if input.dtype is torch.float64 else torch.float32
    ones = rows.new_ones(shape, dtype=wide) if weight is None else weight.to(wide)
    zeros = rows.new_zeros(shape, dtype=wide) if bias is None else bias.to(wide)
    out: torch.Tensor = torch.ops.portadnn.row_norm(rows, _line(ones), _line(zeros), float(eps), True)[0]
    return out.reshape(input.shape)


def _rows(name: str, input: Any, parameters: Any, kinds: Sequence[Any]) -> Any:
    """Check the arguments; return the input as (rows, n, 1, 1)."""
    if input.dim() == 0 or input.numel() == 0:
        raise refuse(name, "input", "(..., n) with at least one row", tuple(input.shape))
    size = input.shape[-1]
    for label, one in parameters:
        if one is None and name == "layer_norm":
            continue
        if one is None and label == "bias":
            continue
        if tuple(one.shape) != (size,):
            raise refuse(name, label, f"({size},)", tuple(one.shape))
        if one.dtype not in kinds:
            raise refuse(name, f"type of {label}", " or ".join(map(str, kinds)), one.dtype)
    demand_one_device(name, input=input, **dict(parameters))
    return input.reshape(-1, size, 1, 1).contiguous()


def _line(one: Any) -> Any:
    return None if one is None else one.reshape(1, -1, 1, 1).contiguous()


@torch.library.custom_op(
    "portadnn::row_norm",
    mutates_args=(),
    schema="(Tensor rows, Tensor weight, Tensor? bias, float eps, bool centred) -> (Tensor, Tensor, Tensor)",
)
def _norm(rows: Any, weight: Any, bias: Any, eps: float, centred: bool) -> Any:
    out, mean, inverse = _results(rows, weight, centred)
    inputs = {"x": rows, "weight": weight, "bias": bias}
    outputs = {"y": out, "mean": mean, "inverse": inverse} if centred else {"y": out, "inverse": inverse}
    run(_forward, _cache, inputs, outputs, eps=eps, centred=centred)
    return out, mean, inverse


@_norm.register_fake
def _norm_fake(rows: Any, weight: Any, bias: Any, eps: float, centred: bool) -> Any:
    return _results(rows, weight, centred)


def _results(rows: Any, weight: Any, centred: bool) -> tuple[Any, Any, Any]:
    kind = torch.float64 if rows.dtype is torch.float64 else torch.float32
    mean = rows.new_empty((len(rows) if centred else 0, 1, 1, 1), dtype=kind)
    return torch.empty_like(rows), mean, rows.new_empty((len(rows), 1, 1, 1), dtype=kind)


@torch.library.custom_op(
    "portadnn::row_norm_backward",
    mutates_args=(),
    schema="(Tensor grad, Tensor rows, Tensor weight, Tensor mean, Tensor inverse, bool centred, bool has_bias)"
    " -> (Tensor, Tensor, Tensor)",
)
def _norm_backward(grad: Any, rows: Any, weight: Any, mean: Any, inverse: Any, centred: bool, has_bias: bool) -> Any:
    made = _gradient_results(rows, weight, has_bias)
    inputs = {"dy": grad, "x": rows, "weight": weight, "mean": mean if centred else None, "inverse": inverse}
    outputs = dict(zip(("dx", "dweight", "dbias"), made, strict=True))
    if not has_bias:
        del outputs["dbias"]
    run(_backward, _cache, inputs, outputs, centred=centred, has_bias=has_bias)
    return made


@_norm_backward.register_fake
def _norm_backward_fake(
    grad: Any, rows: Any, weight: Any, mean: Any, inverse: Any, centred: bool, has_bias: bool
) -> Any:
    return _gradient_results(rows, weight, has_bias)


def _gradient_results(rows: Any, weight: Any, has_bias: bool) -> tuple[Any, Any, Any]:
    bias = torch.empty_like(weight) if has_bias else weight.new_empty((0,))
    return torch.empty_like(rows), torch.empty_like(weight), bias


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    rows, weight, bias, _, ctx.centred = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(rows, weight, output[1], output[2])
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, grad: Any, *others: Any) -> Any:
    if grad is None:
        return (None,) * 5
    options = (ctx.centred, ctx.has_bias)
    made = torch.ops.portadnn.row_norm_backward(grad.contiguous(), *ctx.saved_tensors, *options)
    return (made[0], made[1], made[2] if ctx.has_bias else None, None, None)


_norm.register_autograd(_gradients, setup_context=_save)


def _forward(graph: pygraph, known: dict[str, tensor], eps: float, centred: bool) -> dict[str, tensor]:
    how: Any = {"scale": known["weight"], "bias": known.get("bias"), "epsilon": eps, "norm_forward_phase": _TRAINING}
    made: Any = (graph.layernorm if centred else graph.rmsnorm)(input=known["x"], **how)
    return dict(zip(("y", "mean", "inverse") if centred else ("y", "inverse"), made, strict=True))


def _backward(graph: pygraph, known: dict[str, tensor], centred: bool, has_bias: bool) -> dict[str, tensor]:
    how: Any = {"grad": known["dy"], "input": known["x"], "scale": known["weight"], "inv_variance": known["inverse"]}
    made: Any = None
    if centred:
        made = graph.layernorm_backward(**how, mean=known["mean"])
    else:
        made = graph.rmsnorm_backward(**how, has_dbias=has_bias)
    return {name: one for name, one in zip(("dx", "dweight", "dbias"), made, strict=True) if one is not None}
