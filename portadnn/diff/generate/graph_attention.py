"""Nodes of random graphs that are attention, of any floats and of FP8, with masks, pages and ragged tensors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ...graph.api.attention.options import number
from ...graph.data_types import data_type
from ...graph.enums import diagonal_alignment
from ...graph.layout import Dims
from ...graph.ops.attention import BLOCK, Sizes
from ...graph.tensor import tensor
from .graph_draw import ELEMENTS, Drawing, Value
from .graph_products import LARGE

SCORES = 4 * ELEMENTS
LONG = (150, 300)  # rows and columns of more than one block
FP8 = ("FP8_E4M3", "FP8_E5M2")
ONE = (1, 1, 1, 1)
BACKWARD_FACTORS = ("DESCALE_O", "DESCALE_DO", "DESCALE_DP", "SCALE_DQ", "SCALE_DK", "SCALE_DV", "SCALE_DP")


@dataclass
class Drawn:
    """An attention under construction.

    Attributes
    ----------
    inputs, how : dict
        Ports and attributes that forward and backward share.
    forward, forward_how : dict
        Those of forward alone.
    ragged : bool
        Whether some tensors have no padding.
    """

    sizes: Sizes
    fp8: bool
    inputs: dict[str, Any] = field(default_factory=dict)
    how: dict[str, Any] = field(default_factory=dict)
    forward: dict[str, Any] = field(default_factory=dict)
    forward_how: dict[str, Any] = field(default_factory=dict)
    ragged: bool = False

    @property
    def kind(self) -> str:
        """Name of the forward node."""
        return "sdpa_fp8" if self.fp8 else "sdpa"


class AttentionNodes(Drawing):
    """Attention, small."""

    def attention(self) -> None:
        """Add attention, and its gradients now and then."""
        self._attention(fp8=False)

    def fp8_attention(self) -> None:
        """Add attention of FP8 tensors, and its gradients now and then."""
        self._attention(fp8=not self.plain)

    def _attention(self, *, fp8: bool) -> None:
        at = Drawn(self._sizes(), fp8)
        if self.draws.one_in(8):
            self._blocks(at)
        if self.draws.one_in(3):
            self._lengths(at)
        self._operands(at)
        self._scores(at)
        self._dropout(at)
        if fp8:
            at.inputs |= {port: self._factor() for port in ("DESCALE_Q", "DESCALE_K", "DESCALE_V")}
            at.inputs |= self._stored()
            at.forward["SCALE_O"] = self._factor()
        made = self._forward(at)
        if "STATS" in made and not at.forward.keys() - {"SCALE_O"} and not self.draws.one_in(3):
            self._backward(at, made)

    # what it is of

    def _sizes(self) -> Sizes:
        heads = self.draws.choice((1, 1, 2, 2, 3, 4, 6))
        shared = [count for count in (1, 2, 3, 4, 6) if heads % count == 0]
        hk = self.draws.choice(shared)
        d = self.draws.choice((1, 4, 8, 16, 24, 32, self.draws.few(65)))
        dv = d if self.draws.one_in(2) else self.draws.choice((4, 8, 16, self.draws.few(65)))
        found = Sizes(
            b=self.draws.few(3),
            hq=heads,
            hk=hk,
            hv=hk if self.draws.one_in(2) else self.draws.choice(shared),
            sq=self.draws.few(65),
            skv=self.draws.few(65),
            d=d,
            dv=dv,
        )
        while found.b * found.hq * found.sq * max(found.skv, d, dv) > SCORES:
            found = replace(found, b=1, sq=-(-found.sq // 2))
        return found

    def _blocks(self, at: Drawn) -> None:
        """Make it long, and let some blocks of scores not count."""
        rows, columns = self.draws.integers(1, LONG[0]), self.draws.integers(1, LONG[1])
        n = at.sizes = replace(at.sizes, b=1, hq=2, hk=2, hv=2, sq=rows, skv=columns, d=4, dv=4)
        blocks = (n.b, n.hq, -(-n.sq // BLOCK), -(-n.skv // (8 * BLOCK)))
        at.forward["BLOCK_MASK"] = self.input(blocks, "UINT8", apart=True)

    def _lengths(self, at: Drawn) -> None:
        """Give sequences lengths, and leave their padding out of some tensors, or put keys and values into pages."""
        kind = self.draws.choice(("INT32", "INT64"))
        summed = self.draws.one_in(4)  # which forward nodes take alone
        for port in ("SEQ_LEN_Q", "SEQ_LEN_KV"):
            if summed and not self.draws.one_in(4):
                at.forward[f"CU_{port}"] = found = self.input((at.sizes.b + 1, *ONE[1:]), kind, apart=True)
            else:
                to = at.forward if summed else at.inputs
                to[port] = found = self.input((at.sizes.b, *ONE[1:]), kind, apart=True)
            if not self.draws.one_in(8):
                found.tensor.set_stride(ONE)
        at.how["use_padding_mask"] = True
        at.ragged = self.draws.one_in(3)
        if not at.ragged and self.draws.one_in(2):
            for port in self.draws.choice(("KV", "KV", "K", "V")):
                pages = (at.sizes.b, 1, -(-at.sizes.skv // self._page(at)), 1)
                at.forward[f"PAGE_TABLE_{port}"] = table = self.input(pages, kind, apart=True)
                if self.draws.one_in(6):
                    self._unpad(table.tensor)

    def _page(self, at: Drawn) -> int:
        """Return the rows of a page, the same for keys and values."""
        return (1, 4, 8, 16)[at.sizes.skv % 4]

    def _operands(self, at: Drawn) -> None:
        n = at.sizes
        at.inputs["Q"] = self._operand(at, "Q", (n.b, n.hq, n.sq, n.d))
        for port, dims in (("K", (n.b, n.hk, n.skv, n.d)), ("V", (n.b, n.hv, n.skv, n.dv))):
            if f"PAGE_TABLE_{port}" in at.forward:
                container = (self.draws.integers(1, 9), dims[1], self._page(at), dims[3])
                at.forward[port] = self.input(container, self._kind(at), apart=True)
            else:
                at.inputs[port] = self._operand(at, port, dims)
        if {"PAGE_TABLE_K", "PAGE_TABLE_V"} <= at.forward.keys():
            at.forward_how["max_seq_len_kv"] = n.skv

    def _kind(self, at: Drawn) -> str:
        if at.fp8:
            return str(self.draws.choice(FP8))
        mixed = self.io == "mixed" and self.draws.one_in(3)
        return str(self.draws.choice(("FLOAT", "HALF", "BFLOAT16"))) if mixed else self.between

    def _operand(self, at: Drawn, port: str, dims: Dims) -> Value:
        """Return a tensor of these dims, without padding now and then, or one that is there already."""
        kind = self._kind(at)
        if at.ragged and not self.draws.one_in(4):
            found = self.input(dims, kind, apart=True)
            self._unpad(found.tensor)
            return found
        known = [value for value in self.values if (value.dims, value.kind) == (dims, kind) and value.size <= 10]
        return self.draws.choice(known) if known and self.draws.one_in(2) else self.input(dims, kind)

    def _unpad(self, one: tensor) -> None:
        """Give a tensor ragged offsets, of elements or of rows."""
        b, h, s, d = one.dims
        row = h * d + (self.draws.integers(3) if self.draws.one_in(3) else 0)
        one.set_stride((s * row, d, row, 1))
        offsets = self.input((b + 1, *ONE[1:]), self.draws.choice(("INT32", "INT64")), apart=True).tensor
        one.set_ragged_offset(offsets.set_stride(ONE))
        one.set_ragged_offset_multiplier(self.draws.choice((1, row)))

    # what becomes of the scores

    def _scores(self, at: Drawn) -> None:
        n = at.sizes
        if not self.draws.one_in(8):
            at.inputs["ATTN_SCALE"] = n.d**-0.5
        if self.draws.one_in(4):
            dims = tuple(1 if self.draws.one_in(3) else size for size in n.scores)
            at.inputs["BIAS"] = self.input(dims, self.draws.choice((self.wide, self.between)))
        if self.draws.one_in(6):
            at.inputs["SINK_TOKEN"] = self.statistic((1, n.hq, 1, 1))
        if self.draws.one_in(3):
            at.how |= {"right_bound": self.draws.integers(3), "diagonal_alignment": self.pick(diagonal_alignment)}
        if self.draws.one_in(4):
            at.how["left_bound"] = self.draws.integers(1, 9)
        if n.sq > n.skv and "use_padding_mask" not in at.how:  # where rows without a key are refused
            at.how.pop("left_bound", None)
            at.how.pop("diagonal_alignment", None)
        if self.draws.one_in(6):
            at.how["use_alibi_mask"] = True

    def _dropout(self, at: Drawn) -> None:
        """Drop some probabilities, drawn or by a mask."""
        if self.draws.one_in(6):
            at.how["dropout_probability"] = self.draws.choice((0.1, 0.25, 0.5))
            at.inputs |= {port: self._word() for port in ("SEED", "OFFSET")}
        elif self.draws.one_in(10):
            dims = tuple(1 if self.draws.one_in(4) else size for size in at.sizes.scores)
            kind = self.wide if self.plain else self.draws.choice(("BOOLEAN", "UINT8", self.wide))
            at.inputs |= {"DROPOUT_MASK": self.input(dims, kind), "DROPOUT_SCALE": number(2.0, data_type.DOUBLE)}

    def _word(self) -> Any:
        """Return a number of a generator, or a tensor of one."""
        if self.draws.one_in(2):
            return self.input(ONE, "INT64", apart=True)
        return number(self.draws.integers(1 << 40), data_type.INT64)

    def _factor(self) -> Any:
        """Return a factor of FP8 tensors, a number or a tensor of one."""
        if self.draws.one_in(3):
            return self.input(ONE, "FLOAT", apart=True)
        return self.draws.choice((0.25, 0.75, 1.0, 1.0, 1.5))

    def _stored(self) -> dict[str, Any]:
        """Return the factors by which probabilities become FP8 and true again, numbers or tensors of one."""
        if self.draws.one_in(3):
            return {port: self.input(ONE, "FLOAT", apart=True) for port in ("SCALE_S", "DESCALE_S")}
        scale = self.draws.choice((1.0, 16.0, 100.0, 256.0))
        return {"SCALE_S": scale, "DESCALE_S": self.draws.choice((1.0, 0.75)) / scale}

    # nodes

    def _forward(self, at: Drawn) -> dict[str, Value]:
        """Add the node and return its results."""
        at.forward_how["generate_stats"] = stats = self.draws.one_in(2)
        if stats and at.forward.keys() - {"SCALE_O"} and self.draws.one_in(3):
            at.forward_how["stats_use_log2"] = True
        asked = [port for port in ("MAX", "SUM_EXP") if self.draws.one_in(6)]
        kind = self._kind(at)
        if at.fp8 and not stats and self.draws.one_in(2):
            kind = self.draws.choice(("HALF", "BFLOAT16", "FLOAT"))
        how, inputs = {**at.how, **at.forward_how}, {**at.inputs, **at.forward}
        return self._node(at, at.kind, inputs, how, {"O": kind}, [*asked, *self._dump(at)], "O")

    def _dump(self, at: Drawn) -> list[str]:
        return ["RNG_DUMP"] if "SEED" in at.inputs and self.draws.one_in(3) else []

    def _backward(self, at: Drawn, made: dict[str, Value]) -> None:
        """Add the gradients."""
        out = made["O"]
        do = self._operand(at, "DO", out.dims)
        inputs = {**at.inputs, "O": out, "STATS": made["STATS"], "DO": do}
        if "DROPOUT_MASK" in inputs:
            inputs["DROPOUT_SCALE_INV"] = number(0.5, data_type.DOUBLE)
        if at.fp8:
            inputs |= {port: self._factor() for port in BACKWARD_FACTORS}
        pairs = (("BIAS", "DBIAS"), ("SINK_TOKEN", "DSINK_TOKEN"))
        asked = [result for port, result in pairs if port in inputs and self.draws.one_in(2)]
        types = {port: self._kind(at) for port in ("DQ", "DK", "DV")}
        self._node(at, f"{at.kind}_backward", inputs, at.how, types, [*asked, *self._dump(at)], *types)

    def _node(
        self,
        at: Drawn,
        kind: str,
        inputs: dict[str, Any],
        how: dict[str, Any],
        types: dict[str, str],
        asked: list[str],
        *main: str,
    ) -> dict[str, Value]:
        """Add a node; leave the padding out of its main results now and then, which are for nothing else then."""
        unpadded = [port for port in main if at.ragged and not self.draws.one_in(4)]
        hidden = ("STATS", "MAX", "SUM_EXP", "RNG_DUMP", *unpadded)
        size = LARGE if "DQ" in main else 20.0 if at.fp8 else 10.0
        made = self.node(kind, inputs, how, types=types, hidden=hidden, asked=tuple(asked), size=size)
        for port in unpadded if made else ():
            made[port].tensor.set_output(True)
            self._unpad(made[port].tensor)
        return made
