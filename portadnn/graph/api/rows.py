"""The methods of :class:`~portadnn.graph.api.pygraph` for rows of tokens: rotary embeddings, mixtures of experts."""

from __future__ import annotations

from typing import Any

from ..enums import moe_grouped_matmul_mode
from ..tensor import tensor
from .arguments import maybe_whole
from .builder import NOT_SET, Builder

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
    return self._add("rope_backward", {"DY": dY, "FREQS": freqs}, compute_data_type, name, **attributes)["DX"]


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
    ``token_index[i] * top_k + token_ks[i]``; rows that nothing is written to are zeros. COMBINE is refused.
    """
    if top_k_scores is not None:
        mode = moe_grouped_matmul_mode.COMBINE  # the only one that reads them, which is refused
    inputs = {"TOKEN": token, "WEIGHT": weight, "FIRST_TOKEN_OFFSET": first_token_offset}
    inputs |= {port: one for port, one in (("TOKEN_INDEX", token_index), ("TOKEN_KS", token_ks)) if one is not None}
    return self._add("moe_grouped_matmul", inputs, compute_data_type, name, mode=mode, top_k=top_k)["OUTPUT"]


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
