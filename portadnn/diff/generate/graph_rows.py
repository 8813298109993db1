"""Nodes of random graphs for rows of tokens: rotary embeddings, experts, pages and scales of blocks."""

from __future__ import annotations

import math

from ...graph.enums import moe_grouped_matmul_mode
from ...graph.layout import row_major
from .graph_draw import Drawing, Value
from .graph_products import LARGE

QUANTISED = ("FP8_E4M3", "FP8_E5M2", "FP4_E2M1")
SCALES = ("FP8_E8M0", "FP8_E4M3")


class RowNodes(Drawing):
    """What is computed of rows of tokens."""

    def rope(self) -> None:
        """Turn pairs of elements of rows, or turn them back."""
        x = self.any(4, floats=True)
        if x.dims[3] < 2:
            x = self.input((*self.dims(3, 9), 2 * self.draws.few(17)), self.between)
        count = 2 * self.draws.integers(1, x.dims[3] // 2 + 1)
        positions, angles = x.dims[2] + self.draws.integers(3), count // 2 + self.draws.integers(3)
        table = self.input((positions, 1, 1, angles), self.wide, apart=True)
        whole = count == x.dims[3] and self.draws.one_in(2)
        scale = self.draws.choice((1.0, 1.0, 0.5, 1.5))
        how = {"output_scale": scale, "rope_dim": None if whole else count}
        kind, port = self.draws.choice((("rope", "X"), ("rope_bwd", "DY")))
        self.node(kind, {port: x, "FREQS": table}, how, size=2 * x.size)

    def experts(self) -> None:
        """Multiply rows by the matrices of their experts, or return these matrices' gradient."""
        count, rows, width, out = (self.draws.few(most) for most in (6, 33, 17, 17))
        offsets = self._whole((count, 1, 1))
        token = self.fit((1, rows, width))
        if self.draws.one_in(3):
            inputs = {"DOUTPUT": self.fit((1, rows, out)), "TOKEN": token, "FIRST_TOKEN_OFFSET": offsets}
            self.node("moe_grouped_matmul_bwd", inputs, size=LARGE)
            return
        weight = self.fit((count, width, out))
        inputs = {"TOKEN": token, "WEIGHT": weight, "FIRST_TOKEN_OFFSET": offsets}
        mode = self.draws.choice(("NONE", "NONE", "GATHER", "SCATTER"))
        top_k = 0
        if mode == "GATHER":
            inputs["TOKEN_INDEX"] = self._whole((1, self.draws.few(33), 1))
        if mode == "SCATTER":
            inputs["TOKEN_INDEX"] = self._whole((1, rows, 1))
            if self.draws.one_in(2):
                top_k = self.draws.choice([each for each in (1, 2, 3) if rows % each == 0])
                inputs["TOKEN_KS"] = self._whole((1, rows, 1))
        how = {"mode": moe_grouped_matmul_mode[mode], "top_k": top_k}
        self.node("moe_grouped_matmul", inputs, how, size=token.size * weight.size * math.sqrt(width))

    def _whole(self, dims: tuple[int, ...]) -> Value:
        return self.input(dims, "INT32", apart=True)

    def pages(self) -> None:
        """Load keys or values from pages."""
        container = self.any(4)
        batch, count = self.draws.few(3), self.draws.few(5)
        most = count * container.dims[2]
        length = most - self.draws.integers(container.dims[2]) if self.draws.one_in(2) else most
        table = self._whole((batch, 1, count, 1))
        inputs = {"CONTAINER": container, "PAGE_TABLE": table}
        how = {"max_seq_len": length}
        self.node("paged_cache_load", inputs, how, exact=container.exact, size=container.size)

    def blocks(self) -> None:
        """Scale blocks of elements, each by its own scale, and back; or only back."""
        x = self.any(self.draws.choice((2, 3, 4)), exact=True, floats=True)
        rank = len(x.dims)
        axis = self.draws.integers(rank)
        size = self.draws.choice([each for each in (1, 2, 3, 4, 8, 16, 32) if x.dims[axis] % each == 0])
        kind, scale = self.draws.choice(QUANTISED), self.draws.choice(SCALES)
        if self.draws.one_in(3):
            made = {"Y": self.input(x.dims, kind, apart=True)}
            made["Y"].tensor.set_stride(row_major(x.dims))
            scales = (*x.dims[:axis], x.dims[axis] // size, *x.dims[axis + 1 :])
            made["SCALE"] = self.input(scales, scale, apart=True)
            made["SCALE"].tensor.set_stride(row_major(scales))
        else:
            how = {"block_size": size, "axis": axis, "transpose": self.draws.one_in(4)}
            types = {"Y": kind, "SCALE": scale}
            made = self.node("block_scale_quantize", {"X": x}, how, types=types, hidden=("Y", "SCALE"))
        if not made or self.draws.one_in(4):
            return
        sizes = [size, *[1] * (rank - 1 - axis)]
        inputs = {"X": made["Y"], "SCALE": made["SCALE"]}
        back = self.node("block_scale_dequantize", inputs, {"block_size": sizes}, hidden=("Y",), size=30.0)
        if back:
            self.node("pointwise", {"IN_0": back["Y"]}, {"mode": "IDENTITY"}, size=30.0)
            back["Y"].tensor.set_output(False)
