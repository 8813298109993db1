"""The methods of :class:`~portadnn.graph.api.pygraph` for rows of tokens: rotary embeddings, mixtures of experts."""

from __future__ import annotations

from typing import Any

from ...enums import moe_grouped_matmul_mode, reduction_mode, reshape_mode
from ...rules import fail
from ...tensor import tensor
from ..arguments import maybe_whole, text
from ..builder import NOT_SET, Builder
from . import pointwise, tensors

Maybe = tensor | None


def rope(
    self: Builder,
    input: tensor,
    freqs: tensor,
    output_scale: float = 1.0,
    rope_dim: int | None = 0,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return `input`, (B, H, S, D), with pairs of each row turned by the angles of its position, times `output_scale`.

    `freqs` has the angles, (positions, 1, 1, at least rope_dim / 2). Of a row's first `rope_dim` elements (0 is
    all), element i of the first half and of the second half are a pair; other elements are passed on.
    """
    attributes = {"output_scale": output_scale, "rope_dim": maybe_whole(rope_dim, "rope_dim") or None}
    return self._add("rope", {"X": input, "FREQS": freqs}, compute_data_type, name, **attributes)["Y"]


def rope_backward(
    self: Builder,
    dY: tensor,
    freqs: tensor,
    output_scale: float = 1.0,
    rope_dim: int | None = 0,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return the gradient to the input of :meth:`rope`: pairs turned back, times `output_scale`."""
    attributes = {"output_scale": output_scale, "rope_dim": maybe_whole(rope_dim, "rope_dim") or None}
    return self._add("rope_bwd", {"DY": dY, "FREQS": freqs}, compute_data_type, name, **attributes)["DX"]


def moe_grouped_matmul(
    self: Builder,
    token: tensor,
    weight: tensor,
    first_token_offset: tensor,
    token_index: Maybe = None,
    token_ks: Maybe = None,
    mode: Any = moe_grouped_matmul_mode.NONE,
    compute_data_type: Any = NOT_SET,
    top_k: int = 0,
    name: str = "",
    top_k_scores: Maybe = None,
) -> tensor:
    """Return each row of `token`, (1, T, H), times the matrix of its expert in `weight`, (E, H, N).

    Rows from ``first_token_offset[e]`` (E, 1, 1) on are expert e's. GATHER: row i is row ``token_index[i]`` of
    `token`. SCATTER: row i becomes row ``token_index[i]`` of the result, with `token_ks` row
    ``token_index[i] * top_k + token_ks[i]``; rows that nothing is written to are zeros. COMBINE adds up each token's
    rows of SCATTER, times `top_k_scores`, (1, tokens, top_k), and returns (1, tokens, N); it is several nodes.
    """
    how = moe_grouped_matmul_mode.parse(mode, "mode")
    if (how is moe_grouped_matmul_mode.COMBINE) != (top_k_scores is not None):
        expected = "top_k_scores with COMBINE, and with no other mode"
        raise fail("PG-MOE-004", argument="top_k_scores", expected=expected, got=str(how))
    if top_k_scores is not None:
        given = (token, weight, first_token_offset, token_index, token_ks)
        return _combined(self, given, top_k_scores, top_k, compute_data_type, text(name, "name"))
    inputs = {"TOKEN": token, "WEIGHT": weight, "FIRST_TOKEN_OFFSET": first_token_offset}
    inputs |= {port: one for port, one in (("TOKEN_INDEX", token_index), ("TOKEN_KS", token_ks)) if one is not None}
    return self._add("moe_grouped_matmul", inputs, compute_data_type, name, mode=mode, top_k=top_k)["OUTPUT"]


def _combined(self: Builder, given: tuple[Maybe, ...], scores: tensor, top_k: int, compute: Any, name: str) -> tensor:
    """Add the nodes of COMBINE: a product whose rows are scattered, times the scores, and sums for each token."""
    ranks = {"token": given[0], "weight": given[1], "top_k_scores": scores}
    for label, one in ranks.items():
        if not isinstance(one, tensor) or len(one.get_dim()) != 3:
            got = one.get_dim() if isinstance(one, tensor) else type(one).__name__
            raise fail("PG-MOE-003", argument=label, expected="a tensor whose 3 dims are set", got=got)
    _, tokens, each = scores.get_dim()
    rows, width = given[0].get_dim()[1], given[1].get_dim()[2]  # type: ignore[union-attr]
    if rows != tokens * each or top_k not in (0, each):
        expected = f"{rows} rows of tokens, [1, {rows} / top_k, top_k]"
        raise fail(
            "PG-MOE-003", argument="top_k_scores", expected=expected, got=f"[1, {tokens}, {each}], top_k {top_k}"
        )

    def step(label: str) -> str:
        return f"{name}::{label}" if name else ""

    def seen(x: tensor, dims: list[int], label: str) -> tensor:
        return tensors.reshape(self, x, name=step(label), reshape_mode=reshape_mode.LOGICAL).set_dim(dims)

    names = ("token", "weight", "first_token_offset", "token_index", "token_ks")
    how: Any = {**dict(zip(names, given, strict=True)), "mode": moe_grouped_matmul_mode.SCATTER, "top_k": each}
    spread = moe_grouped_matmul(self, **how, compute_data_type=compute, name=step("scattered"))
    parts = seen(spread.set_dim([1, rows, width]), [tokens, each, width], "by_token")
    weighed = pointwise.mul(self, parts, seen(scores, [tokens, each, 1], "scores"), compute, step("weighed"))
    total = tensors.reduction(self, weighed, reduction_mode.ADD, compute, name=step("sum")).set_dim([tokens, 1, width])
    return seen(total, [1, tokens, width], "combined")


def moe_grouped_matmul_bwd(
    self: Builder,
    doutput: tensor,
    token: tensor,
    first_token_offset: tensor,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return the gradient to the experts' matrices, (E, H, N), of :meth:`moe_grouped_matmul` without gathering."""
    inputs = {"DOUTPUT": doutput, "TOKEN": token, "FIRST_TOKEN_OFFSET": first_token_offset}
    return self._add("moe_grouped_matmul_bwd", inputs, compute_data_type, name)["DWEIGHT"]
