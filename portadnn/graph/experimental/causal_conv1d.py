"""Causal convolutions over sequences for PyTorch: functions of ``cudnn.ops`` in cudnn-frontend 1.32."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..api.pygraph import pygraph
from ..enums import reduction_mode
from ..tensor import tensor
from .needs_torch import torch
from .running import Cache, demand_one_device, refuse, run

_cache: Cache = {}
_ACTIVATIONS = {None: "identity", "identity": "identity", "silu": "silu", "swish": "silu"}
_KINDS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def causal_conv1d(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str | None = None,
    *,
    seq_idx: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    initial_states: torch.Tensor | None = None,
    return_final_states: bool = False,
    final_states_out: torch.Tensor | None = None,
) -> Any:
    """Return ``activation(sum over j of weight[:, j] * x[:, :, t - (w - 1) + j] + bias)``, with gradients.

    Parameters
    ----------
    x
        (b, d, t), float16, bfloat16, float32 or float64; any layout, which the result has as well.
    weight, bias
        (d, w) and (d,), of x's type. Zeros are added without a bias.
    activation
        "silu", "swish" (the same), "identity" or None.
    seq_idx
        None: cudnn-frontend reserves it.
    cu_seqlens
        (sequences + 1,): where packed sequences begin, and the end, of a batch of 1. Each is convolved by itself.
    initial_states
        (b or sequences, d, w - 1): what came before the first elements, instead of zeros.
    return_final_states, final_states_out
        Whether to return the last w - 1 elements of each sequence with what came before, as ``(result, states)``, and
        memory for them.

    Raises
    ------
    NotImplementedError
        `seq_idx`.
    ValueError
        Other dims or types, an unknown activation, tensors on two devices, or both `seq_idx` and `cu_seqlens`.
    """
    name = "causal_conv1d"
    kind = _activation(name, activation)
    if seq_idx is not None and cu_seqlens is not None:
        raise ValueError(f"{name}: seq_idx and cu_seqlens exclude each other")
    if seq_idx is not None:
        raise NotImplementedError(f"{name}: seq_idx is not supported; cu_seqlens says where sequences begin")
    _check(name, x, weight, bias, ("b", "d", "t"))
    ends = _ends(name, x, cu_seqlens)
    history = weight.shape[1] - 1
    states = (len(ends) if cu_seqlens is not None else len(x), x.shape[1], history)
    for label, one in (("initial_states", initial_states), ("final_states_out", final_states_out)):
        if one is not None and (tuple(one.shape) != states or one.dtype is not x.dtype or one.device != x.device):
            raise refuse(name, label, f"{states} of {x.dtype} on {x.device}", f"{tuple(one.shape)} of {one.dtype}")
    results, lasts = [], []
    for number, (begin, end) in enumerate(ends):
        piece = x if cu_seqlens is None else x[:, :, begin:end]
        first = initial_states
        if first is not None and cu_seqlens is not None:
            first = first[number : number + 1]
        results.append(_convolved(piece, weight, bias, kind, first))
        before = piece.new_zeros((len(piece), *states[1:])) if first is None else first
        lasts.append(torch.cat((before, piece), 2)[:, :, end - begin :])
    out = results[0] if cu_seqlens is None else torch.cat(results, 2)
    if final_states_out is not None:
        with torch.no_grad():
            final_states_out.copy_(torch.cat(lasts))
    if not return_final_states:
        return out
    return out, torch.cat(lasts) if final_states_out is None else final_states_out


def causal_conv1d_nwh(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, activation: str = "identity"
) -> torch.Tensor:
    """Return :func:`causal_conv1d` of x (b, t, d) and weight (w, d), (b, t, d)."""
    name = "causal_conv1d_nwh"
    kind = _activation(name, activation)
    if x.dim() != 3 or weight.dim() != 2:
        shapes = f"{tuple(x.shape)} and {tuple(weight.shape)}"
        raise refuse(name, "x and weight", "(b, t, d) and (w, d)", shapes)
    turned = x.transpose(1, 2)
    _check(name, turned, weight.t(), bias, ("b", "d", "t"))
    return _convolved(turned, weight.t(), bias, kind, None).transpose(1, 2)


def b2b_causal_conv1d(
    x: torch.Tensor, weights_proj: torch.Tensor, weights_mixer: torch.Tensor, skip_bias: torch.Tensor
) -> torch.Tensor:
    """Return a block of Hyena, (b, d, t): two causal convolutions with gates before, between and after.

    With ``p = causal_conv1d(x, weights_proj)`` and ``g = p[:, 1::3] * p[:, 2::3]`` it is
    ``(causal_conv1d(g, weights_mixer) + skip_bias * g) * p[:, 0::3]``.

    Parameters
    ----------
    x
        (b, 3 * d, t).
    weights_proj, weights_mixer, skip_bias
        (3 * d, w), (d, v) and (d,), of x's type.
    """
    if x.dim() != 3 or x.shape[1] % 3 or tuple(skip_bias.shape) != (x.shape[1] // 3,):
        raise refuse("b2b_causal_conv1d", "x and skip_bias", "(b, 3 * d, t) and (d,)", f"{tuple(x.shape)} and so on")
    first = causal_conv1d(x, weights_proj)
    gated = first[:, 1::3] * first[:, 2::3]
    second = causal_conv1d(gated, weights_mixer) + skip_bias[:, None] * gated
    out: torch.Tensor = second * first[:, 0::3]
    return out


def fft_causal_conv1d(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return ``sum over j of weight[:, j] * x[:, :, t - j]``, (b, d, t): filters the other way round, of any length.

    The result is that of :func:`causal_conv1d`; nothing is transformed.
    """
    _check("fft_causal_conv1d", x, weight, None, ("b", "d", "t"))
    return _convolved(x, weight.flip(1), None, "identity", None)


def _activation(name: str, activation: Any) -> str:
    if activation not in _ACTIVATIONS:
        raise ValueError(f"{name}: activation has to be 'identity' or 'silu', got {activation!r}")
    return _ACTIVATIONS[activation]


def _check(name: str, x: Any, weight: Any, bias: Any, dims: tuple[str, ...]) -> None:
    if x.dim() != 3 or x.numel() == 0:
        raise refuse(name, "x", f"({', '.join(dims)}), not empty", tuple(x.shape))
    if weight.dim() != 2 or weight.shape[0] != x.shape[1] or weight.shape[1] == 0:
        raise refuse(name, "weight", f"{x.shape[1]} channels of at least one element", tuple(weight.shape))
    if bias is not None and tuple(bias.shape) != (x.shape[1],):
        raise refuse(name, "bias", f"({x.shape[1]},)", tuple(bias.shape))
    if x.dtype not in _KINDS:
        raise refuse(name, "type of x", "float16, bfloat16, float32 or float64", x.dtype)
    for label, one in (("weight", weight), ("bias", bias)):
        if one is not None and one.dtype is not x.dtype:
            raise TypeError(f"{name}: {label} has to be of x's type {x.dtype}, got {one.dtype}")
    demand_one_device(name, x=x, weight=weight, bias=bias)


def _ends(name: str, x: Any, offsets: Any) -> list[tuple[int, int]]:
    """Return where sequences begin and end."""
    if offsets is None:
        return [(0, x.shape[2])]
    if len(x) != 1 or offsets.dim() != 1:
        raise refuse(name, "cu_seqlens", "(sequences + 1,), of a batch of 1", tuple(offsets.shape))
    places = [int(one) for one in offsets.tolist()]
    rising = all(a < b for a, b in pairwise(places))
    if len(places) < 2 or places[0] != 0 or places[-1] != x.shape[2] or not rising:
        raise refuse(name, "cu_seqlens", f"rising from 0 to {x.shape[2]}", places)
    return list(pairwise(places))


def _convolved(x: Any, weight: Any, bias: Any, kind: str, before: Any) -> Any:
    """Return the result for one sequence or a batch, after zeros or after what came before."""
    missing = weight.shape[1] - 1
    if before is not None:
        x, missing = torch.cat((before, x), 2), 0
    shift = weight.new_zeros(weight.shape[0]) if bias is None else bias
    operands = [one.contiguous() if 0 in one.stride() else one for one in (x, weight, shift)]
    return torch.ops.portadnn.causal_conv1d(*operands, kind, missing)


@torch.library.custom_op(
    "portadnn::causal_conv1d",
    mutates_args=(),
    schema="(Tensor x, Tensor weight, Tensor bias, str activation, int missing) -> Tensor",
)
def _conv(x: Any, weight: Any, bias: Any, activation: str, missing: int) -> Any:
    out = _result(x, weight, missing)
    inputs = {"x": x[:, :, None], "w": weight[:, None, None], "b": bias[None, :, None, None]}
    run(_forward, _cache, inputs, {"y": out[:, :, None]}, activation=activation, missing=missing)
    return out


@_conv.register_fake
def _conv_fake(x: Any, weight: Any, bias: Any, activation: str, missing: int) -> Any:
    return _result(x, weight, missing)


def _result(x: Any, weight: Any, missing: int) -> Any:
    """Return memory for the result, laid out as x where it has x's dims."""
    if missing == weight.shape[1] - 1:
        return torch.empty_like(x)
    return x.new_empty((*x.shape[:2], x.shape[2] + missing - weight.shape[1] + 1))


@torch.library.custom_op(
    "portadnn::causal_conv1d_backward",
    mutates_args=(),
    schema="(Tensor grad, Tensor x, Tensor weight, Tensor bias, str activation, int missing)"
    " -> (Tensor, Tensor, Tensor)",
)
def _conv_backward(grad: Any, x: Any, weight: Any, bias: Any, activation: str, missing: int) -> Any:
    wide = torch.float64 if x.dtype is torch.float64 else torch.float32
    inner = grad  # the gradient to the sums, in float32
    inputs = {"x": x[:, :, None], "w": weight[:, None, None], "b": bias[None, :, None, None]}
    if activation != "identity" or grad.dtype is not wide:
        inner = torch.empty(grad.shape, dtype=wide, device=grad.device)
        before = {**inputs, "dy": grad[:, :, None]}
        run(_before, _cache, before, {"dz": inner[:, :, None]}, activation=activation, missing=missing)
    made = dx, dw, db = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)
    outputs = {"dx": dx[:, :, None], "dw": dw[:, None, None], "db": db[None, :, None, None]}
    operands = {"dz": inner[:, :, None], "x": inputs["x"].to(wide), "w": inputs["w"].to(wide)}
    run(_backward, _cache, operands, outputs, missing=missing)
    return made


@_conv_backward.register_fake
def _conv_backward_fake(grad: Any, x: Any, weight: Any, bias: Any, activation: str, missing: int) -> Any:
    return torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.options = inputs[3:]


def _gradients(ctx: Any, grad: Any) -> Any:
    made = torch.ops.portadnn.causal_conv1d_backward(grad.contiguous(), *ctx.saved_tensors, *ctx.options)
    return (*made, None, None)


_conv.register_autograd(_gradients, setup_context=_save)


def _geometry(missing: int) -> dict[str, Any]:
    return {"pre_padding": [0, missing], "post_padding": [0, 0], "stride": [1, 1], "dilation": [1, 1]}


def _sums(graph: pygraph, known: dict[str, tensor], missing: int) -> tensor:
    return graph.bias(graph.conv_fprop(known["x"], known["w"], **_geometry(missing)), known["b"])


def _forward(graph: pygraph, known: dict[str, tensor], activation: str, missing: int) -> dict[str, tensor]:
    sums = _sums(graph, known, missing)
    return {"y": graph.swish(sums) if activation == "silu" else sums}


def _before(graph: pygraph, known: dict[str, tensor], activation: str, missing: int) -> dict[str, tensor]:
    """Return the gradient to the sums, which are computed again."""
    if activation == "identity":
        return {"dz": graph.identity(known["dy"])}
    return {"dz": graph.swish_backward(known["dy"], _sums(graph, known, missing))}


def _backward(graph: pygraph, known: dict[str, tensor], missing: int) -> dict[str, tensor]:
    dx = graph.conv_dgrad(known["dz"], known["w"], **_geometry(missing)).set_dim(known["x"].get_dim())
    dw = graph.conv_wgrad(known["x"], known["dz"], **_geometry(missing)).set_dim(known["w"].get_dim())
    db = graph.reduction(known["dz"], mode=reduction_mode.ADD).set_dim([1, known["w"].get_dim()[0], 1, 1])
    return {"dx": dx, "dw": dw, "db": db}
