"""Products with the matrices of experts for PyTorch: the function of ``cudnn.experimental.ops``."""

from __future__ import annotations

from typing import Any

from ...api.pygraph import pygraph
from ...enums import moe_grouped_matmul_mode
from ...tensor import tensor
from ..needs_torch import torch
from ..running import Cache, demand_one_device, refuse, run

_cache: Cache = {}
_MODES = {"none": (), "gather": ("token_index",), "scatter": ("token_index", "token_ks")}
_SCHEMA = (
    "(Tensor token, Tensor weight, Tensor first_token_offset, Tensor? token_index, Tensor? token_ks, str mode, "
    "int top_k) -> Tensor"
)


def moe_grouped_matmul(
    token: torch.Tensor,
    weight: torch.Tensor,
    first_token_offset: torch.Tensor,
    token_index: torch.Tensor | None = None,
    token_ks: torch.Tensor | None = None,
    mode: str = "none",
    top_k: int = 1,
) -> torch.Tensor:
    """Return each row of `token` times the matrix of its expert; it has no gradient, as in cudnn-frontend.

    Parameters
    ----------
    token
        (1, tokens, k).
    weight
        (experts, k, n).
    first_token_offset
        (experts, 1, 1), int32: the first row of each expert. A last entry more, for the end of the rows, is taken too.
    token_index, token_ks
        (1, rows, 1), int32, as the mode wants them.
    mode
        "none": row i is row i. "gather": row i is row ``token_index[i]`` of `token`. "scatter": row i becomes row
        ``token_index[i] * top_k + token_ks[i]`` of the result.
    top_k
        Experts for each token.

    Raises
    ------
    ValueError
        No such mode, what it wants is missing, other dims than these, or tensors on two devices.
    """
    name = "moe_grouped_matmul"
    if mode not in _MODES:
        raise refuse(name, "mode", "one of none, gather, scatter", repr(mode))
    given = {"token_index": token_index, "token_ks": token_ks}
    for wanted in _MODES[mode]:
        if given[wanted] is None:
            raise ValueError(f"{name}: mode {mode!r} requires {wanted}")
    if token.dim() != 3 or weight.dim() != 3:
        shapes = f"{tuple(token.shape)} and {tuple(weight.shape)}"
        raise refuse(name, "token and weight", "(1, tokens, k) and (experts, k, n)", shapes)
    if len(first_token_offset) not in {len(weight), len(weight) + 1}:
        expected = f"({len(weight)}, 1, 1): one for each expert"
        raise refuse(name, "first_token_offset", expected, tuple(first_token_offset.shape))
    demand_one_device(name, token=token, weight=weight, first_token_offset=first_token_offset, **given)
    offsets = first_token_offset[: len(weight)].reshape(-1, 1, 1)
    out: torch.Tensor = torch.ops.portadnn.moe_grouped_matmul(
        token, weight, offsets, *(given[one] if one in _MODES[mode] else None for one in given), mode, int(top_k)
    )
    return out


@torch.library.custom_op("portadnn::moe_grouped_matmul", mutates_args=(), schema=_SCHEMA)
def _moe(token: Any, weight: Any, offsets: Any, index: Any, ks: Any, mode: str, top_k: int) -> Any:
    out = _result(token, weight, index, mode)
    inputs = {"token": token, "weight": weight, "first_token_offset": offsets, "token_index": index, "token_ks": ks}
    run(_describe, _cache, inputs, {"out": out}, mode=mode, top_k=top_k)
    return out


@_moe.register_fake
def _moe_fake(token: Any, weight: Any, offsets: Any, index: Any, ks: Any, mode: str, top_k: int) -> Any:
    return _result(token, weight, index, mode)


def _result(token: Any, weight: Any, index: Any, mode: str) -> Any:
    rows = index.shape[1] if mode == "gather" else token.shape[1]
    return token.new_empty((1, rows, weight.shape[2]))


def _describe(graph: pygraph, known: dict[str, Any], mode: str, top_k: int) -> dict[str, tensor]:
    kind = moe_grouped_matmul_mode.parse(mode.upper(), "mode")
    return {"out": graph.moe_grouped_matmul(**known, mode=kind, top_k=top_k)}
