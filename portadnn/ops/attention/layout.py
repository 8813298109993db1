"""Multi-head attention: its modes, and how parameters and the reserve space are laid out."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ...enums import DataType, DnnEnum

__all__ = ["AttnQueryMap", "MultiHeadAttnWeightKind"]


class AttnQueryMap(DnnEnum):
    """Which keys and values a beam's queries meet: those of the one beam that there is, or those of the same beam."""

    ALL_TO_ONE = 0
    ONE_TO_ONE = 1

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_ATTN_QUERYMAP_{self.name}"


class MultiHeadAttnWeightKind(DnnEnum):
    """A group of parameters (cudnnMultiHeadAttnWeightKind_t)."""

    Q_WEIGHTS = 0
    K_WEIGHTS = 1
    V_WEIGHTS = 2
    O_WEIGHTS = 3
    Q_BIASES = 4
    K_BIASES = 5
    V_BIASES = 6
    O_BIASES = 7

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_MH_ATTN_{self.name}"


ALIGN = 256  # bytes: sections of a reserve space start at multiples of them


@dataclass(frozen=True)
class Heads:
    """The sizes of vectors, and where the parameters of each projection lie.

    First the matrices of queries, keys and values, each [head][projected][original]; then that of the outputs,
    [output][head][value]; then, if there are biases, those of the four in the same order, [head][projected] and
    [output]. A projection of size 0 is left out, with its bias: every head has the whole vector.
    """

    heads: int
    sizes: tuple[int, int, int]  # of a query, a key, a value
    projections: tuple[int, int, int, int]  # of queries, keys, values and outputs, or 0
    biases: bool

    def head(self, which: int) -> int:
        """Return the numbers of a head's query, key or value."""
        return self.projections[which] or self.sizes[which]

    @property
    def merged(self) -> int:
        """Numbers of all heads' results side by side."""
        return self.heads * self.head(2)

    @property
    def out(self) -> int:
        """Numbers of an output vector."""
        return self.projections[3] or self.merged

    def shape(self, which: int) -> tuple[int, int]:
        """Return a projection's matrix as rows and columns; no rows where there is none."""
        if which == 3:
            return self.projections[3], self.merged
        return self.heads * self.projections[which], self.sizes[which]

    def matrix(self, which: int) -> int:
        """Return where a projection's matrix starts."""
        return sum(rows * columns for rows, columns in map(self.shape, range(which)))

    def bias(self, which: int) -> int:
        """Return where a projection's bias starts."""
        return self.matrix(4) + sum(self.shape(before)[0] for before in range(which))

    def has_bias(self, which: int) -> bool:
        """Tell whether a projection has a bias."""
        return self.biases and self.projections[which] > 0

    @functools.cached_property
    def size(self) -> int:
        """Number of parameters."""
        return self.bias(4) if self.biases else self.matrix(4)


@dataclass(frozen=True)
class Reserve:
    """What training keeps, as sections of bytes.

    Sequences are counted beam by beam within each of the batch. `part(0..2)`: queries, keys and values
    [sequence][step][head][number] as the projections gave them, or [sequence][step][number] where there is none.
    `statistics`: the logarithm of each query's sum of powers [group][head][row], -inf without a key. `merged`:
    [sequence][step][head][value], the heads' results. Backward data adds the gradients `gradient(0..2)` of what the
    projections gave, as the parts. All are of the tensors' type, but statistics of the accumulator's. `draw`: seeds and
    draws of both dropouts, four words of 32 bits each.

    A group is what meets the same keys: one sequence of queries, or the sequences of all beams one after another. Its
    rows are their steps.
    """

    heads: Heads
    rows: tuple[int, int]  # steps of all sequences of queries, and of keys and values
    dtype: DataType

    def width(self, which: int) -> int:
        """Return the numbers of a row of queries (0), keys (1) or values (2)."""
        return self.heads.shape(which)[0] or self.heads.sizes[which]

    @functools.cached_property
    def _starts(self) -> tuple[int, ...]:
        item, (queries, keys) = self.dtype.itemsize, self.rows
        parts = [rows * self.width(which) * item for which, rows in enumerate((queries, keys, keys))]
        statistics = queries * self.heads.heads * self.dtype.accumulator.itemsize
        sizes = [*parts, statistics, queries * self.heads.merged * item, *parts, 32]
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + -(-size // ALIGN) * ALIGN)
        return tuple(starts)

    def part(self, which: int) -> int:
        """Return where the queries, keys or values start."""
        return self._starts[which]

    @property
    def statistics(self) -> int:
        """Where the softmax's statistics start."""
        return self._starts[3]

    @property
    def merged(self) -> int:
        """Where the heads' results start."""
        return self._starts[4]

    def gradient(self, which: int) -> int:
        """Return where the gradients of a projection's results start: of queries, keys or values."""
        return self._starts[5 + which]

    @property
    def draw(self) -> int:
        """Where seeds and draws are."""
        return self._starts[8]

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        return self._starts[9]
