"""Attention of FP8 tensors: what is stored is the true number times a scale, and multiplied by a descale when read.

What lies between the two products is stored so too, in the type of Q: exponentials with ``scale_s``, the scores'
gradient with ``scale_dP``. Each amax is the largest magnitude of true numbers.
"""

from __future__ import annotations

from ..data_types import data_type
from ..node import Kind, Node, Port, register
from .attention import (
    ATTRIBUTES,
    FORWARD_ATTRIBUTES,
    FORWARD_OPTIONS,
    GRADIENTS,
    OF_ROWS,
    OPTIONS,
    QKV,
    check_attention,
    check_gradients,
    optional,
    settle_float,
    settle_output,
)
from .batch_norm import demand_scalars

_FP8 = (data_type.FP8_E4M3, data_type.FP8_E5M2)
_HALVES = (data_type.HALF, data_type.BFLOAT16)  # that O may have, which a forward pass may have written so
_ONE = (1, 1, 1, 1)


def _settle_scaled(node: Node, *outputs: str) -> None:
    """Check types and factors, and settle each largest magnitude."""
    for port in ("Q", "K", "V", "O", "DO"):
        types = (*_FP8, *_HALVES) if port == "O" else _FP8
        if port in node.inputs and node.inputs[port].get_data_type() not in types:
            raise node.fail(
                "PG-SDPA-005",
                port,
                expected=" or ".join(member.name for member in types),
                got=node.inputs[port].get_data_type(),
                fix="use sdpa for other types",
            )
    demand_scalars(node, *(port for port in node.inputs if "SCALE_" in port))
    for port in outputs:
        settle_float(node, port, _ONE, "one number")


def _forward(node: Node) -> None:
    settle_output(node, check_attention(node))
    _settle_scaled(node, "AMAX_S", "AMAX_O")


def _backward(node: Node) -> None:
    check_gradients(node)
    _settle_scaled(node, "AMAX_DQ", "AMAX_DK", "AMAX_DV", "AMAX_DP")


def _factors(*names: str) -> tuple[Port, ...]:
    return tuple(Port(name, scalar=True) for name in names)


register(
    Kind(
        "sdpa_fp8",
        (
            *QKV,
            *_factors("DESCALE_Q", "DESCALE_K", "DESCALE_V", "DESCALE_S", "SCALE_S", "SCALE_O"),
            *OPTIONS,
            *FORWARD_OPTIONS,
        ),
        (Port("O"), *OF_ROWS, Port("AMAX_S"), Port("AMAX_O")),
        _forward,
        FORWARD_ATTRIBUTES,
        ragged=True,
    )
)
register(
    Kind(
        "sdpa_fp8_backward",
        (
            *QKV,
            Port("O"),
            Port("DO"),
            Port("STATS"),
            *_factors("DESCALE_Q", "DESCALE_K", "DESCALE_V", "DESCALE_O", "DESCALE_DO", "DESCALE_S", "DESCALE_DP"),
            *_factors("SCALE_S", "SCALE_DQ", "SCALE_DK", "SCALE_DV", "SCALE_DP"),
            *OPTIONS,
            *optional("DROPOUT_SCALE_INV", scalar=True),
        ),
        (*(Port(name) for name in ("DQ", "DK", "DV", "AMAX_DQ", "AMAX_DK", "AMAX_DV", "AMAX_DP")), *GRADIENTS),
        _backward,
        ATTRIBUTES,
        ragged=True,
    )
)
