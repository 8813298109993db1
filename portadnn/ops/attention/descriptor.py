"""The descriptor of multi-head attention (cuDNN 7.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...arguments import as_integer, as_real
from ...descriptors import Parameters, check_descriptor
from ...enums import DataType
from ...errors import BadParam, public, shown
from ..dropout import DropoutDescriptor
from .layout import AttnQueryMap, Heads

__all__ = ["AttnDescriptor"]


@dataclass(frozen=True)
class AttnDescriptor(Parameters):
    """What multi-head attention computes (cudnnSetAttnDescriptor of cuDNN 7.5).

    Parameters
    ----------
    heads
        Number of heads.
    scale
        What the products of queries and keys are multiplied by (C's smScaler), >= 0.
    q_proj, k_proj, v_proj, o_proj
        Numbers that each head's queries, keys and values are projected to, and the outputs; 0 leaves a projection out.
    biases
        Whether projections have biases.
    query_map
        ALL_TO_ONE: the queries of every beam meet the keys and values of one; ONE_TO_ONE: those of the same beam.
    attn_dropout, post_dropout
        :class:`DropoutDescriptor` of what the softmax gives, and of the outputs before residuals are added; None drops
        nothing.
    compute_type
        Type of the arithmetic; None takes the accumulator of the data type.

    Raises
    ------
    BadParam
        A size or number that is out of bounds, or an unknown mode.
    """

    heads: int
    scale: float = 1.0
    q_proj: int = 0
    k_proj: int = 0
    v_proj: int = 0
    o_proj: int = 0
    biases: bool = False
    query_map: AttnQueryMap = AttnQueryMap.ALL_TO_ONE
    attn_dropout: DropoutDescriptor | None = None
    post_dropout: DropoutDescriptor | None = None
    compute_type: DataType | None = None

    @public
    def __post_init__(self) -> None:
        scale = as_real(self.scale, "scale")
        if not 0 <= scale < float("inf"):
            raise BadParam(argument="scale", expected="a finite number >= 0", got=self.scale)
        if not isinstance(self.biases, bool):
            raise BadParam(argument="biases", expected="True or False", got=shown(self.biases))
        self._set(
            heads=as_integer(self.heads, "heads", 1),
            scale=scale,
            **{name: as_integer(getattr(self, name), name, 0) for name in ("q_proj", "k_proj", "v_proj", "o_proj")},
            query_map=AttnQueryMap.parse(self.query_map, "query_map"),
            **{
                name: None
                if getattr(self, name) is None
                else check_descriptor(getattr(self, name), DropoutDescriptor, name)
                for name in ("attn_dropout", "post_dropout")
            },
            compute_type=None if self.compute_type is None else DataType.of(self.compute_type, "compute_type"),
        )

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the Problems' fields."""
        sizes = (self.q_proj, self.k_proj, self.v_proj, self.o_proj)
        dropouts = [0.0 if d is None else d.dropout for d in (self.attn_dropout, self.post_dropout)]
        return (self.heads, self.scale, *sizes, int(self.biases), self.query_map, *dropouts, self.compute_type)

    def layout(self, sizes: tuple[int, int, int]) -> Heads:
        """Return where parameters lie, for queries, keys and values of these sizes."""
        return Heads(self.heads, sizes, (self.q_proj, self.k_proj, self.v_proj, self.o_proj), self.biases)
