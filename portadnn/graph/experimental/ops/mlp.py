"""A gated layer of two products for PyTorch: the function of ``cudnn.experimental.ops`` in cudnn-frontend 1.32."""

from __future__ import annotations

from typing import Any

from ...api.pygraph import pygraph
from ...tensor import tensor
from ..needs_torch import torch
from ..running import Cache, demand_one_device, refuse, run

_cache: Cache = {}


def swiglu_mlp(x: torch.Tensor, Wg: torch.Tensor, Wu: torch.Tensor, Wd: torch.Tensor) -> torch.Tensor:
    """Return ``(silu(x @ Wg.T) * (x @ Wu.T)) @ Wd.T``, (..., h), with gradients to all four.

    Parameters
    ----------
    x
        (..., h), of at least two dims.
    Wg, Wu
        (i, h), of x's type.
    Wd
        (h, i), of x's type.

    Raises
    ------
    ValueError
        Other dims, other types, or tensors on two devices.
    """
    given = {"x": x, "Wg": Wg, "Wu": Wu, "Wd": Wd}
    width = x.shape[-1] if x.dim() else 0
    inner = Wg.shape[0] if Wg.dim() else 0
    wanted = {"Wg": (inner, width), "Wu": (inner, width), "Wd": (width, inner)}
    if x.dim() < 2 or x.numel() == 0:
        raise refuse("swiglu_mlp", "x", "(..., h) of at least two dims, not empty", tuple(x.shape))
    for name, one in given.items():
        if one.dtype is not x.dtype:
            raise refuse("swiglu_mlp", f"type of {name}", str(x.dtype), one.dtype)
        if name in wanted and tuple(one.shape) != wanted[name]:
            raise refuse("swiglu_mlp", name, str(wanted[name]), tuple(one.shape))
    demand_one_device("swiglu_mlp", **given)
    out: torch.Tensor = _Gated.apply(x.reshape(-1, width), Wg, Wu, Wd)
    return out.reshape(x.shape)


class _Gated(torch.autograd.Function):  # type: ignore[misc]  # torch is not there when types are checked
    """The layer, and its gradients by four products and a pointwise graph."""

    @staticmethod
    def forward(ctx: Any, x: Any, gate: Any, up: Any, down: Any) -> Any:
        """Keep both products of the first half."""
        made = [x.new_empty((1, len(x), len(gate))) for _ in range(3)]
        inputs = {"x": x[None], "gate": gate.t()[None], "up": up.t()[None]}
        run(_first, _cache, inputs, dict(zip(("h", "a", "b"), made, strict=True)))
        hidden, a, b = (one[0] for one in made)
        ctx.save_for_backward(x, gate, up, down, hidden, a, b)
        return _product(hidden, down.t())

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Return the four gradients."""
        x, gate, up, down, hidden, a, b = ctx.saved_tensors
        grad = grad.contiguous()
        made = [torch.empty_like(a)[None] for _ in range(2)]
        inputs = {"dh": _product(grad, down)[None], "a": a[None], "b": b[None]}
        run(_gates, _cache, inputs, dict(zip(("da", "db"), made, strict=True)))
        da, db = (one[0] for one in made)
        dx = x.new_empty((1, *x.shape))
        run(_sum, _cache, {"da": da[None], "db": db[None], "gate": gate[None], "up": up[None]}, {"dx": dx})
        return dx[0], _product(da.t(), x), _product(db.t(), x), _product(grad.t(), hidden)


def _product(a: Any, b: Any) -> Any:
    out = a.new_empty((1, a.shape[0], b.shape[1]))
    run(_matmul, _cache, {"a": a[None], "b": b[None]}, {"c": out})
    return out[0]


def _matmul(graph: pygraph, known: dict[str, tensor]) -> dict[str, tensor]:
    return {"c": graph.matmul(known["a"], known["b"])}


def _first(graph: pygraph, known: dict[str, tensor]) -> dict[str, tensor]:
    a, b = (graph.matmul(known["x"], known[name]) for name in ("gate", "up"))
    return {"h": graph.mul(graph.swish(a), b), "a": a, "b": b}


def _gates(graph: pygraph, known: dict[str, tensor]) -> dict[str, tensor]:
    da = graph.swish_backward(graph.mul(known["dh"], known["b"]), known["a"])
    return {"da": da, "db": graph.mul(known["dh"], graph.swish(known["a"]))}


def _sum(graph: pygraph, known: dict[str, tensor]) -> dict[str, tensor]:
    parts = (graph.matmul(known["da"], known["gate"]), graph.matmul(known["db"], known["up"]))
    return {"dx": graph.add(*parts)}
