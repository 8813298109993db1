"""Operands of a matrix product: where they lie, and integers as kernels take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portadnn.problem import ALIGNMENT

from ...base import ConstantArg, TensorArg, WorkspaceArg


@dataclass(frozen=True)
class Matrix:
    """Where a matrix (or several, `batch` elements apart) lies.

    Attributes
    ----------
    arg : TensorArg or WorkspaceArg
        Its memory.
    first : int
        Elements of the memory before it.
    rows, columns : int
        Elements from one row, and from one column, to the next; one of them is 1.
    batch : int
        Elements from one matrix to the next.
    stored : bool
        It holds the storage type, else the accumulator's.
    aligned : bool
        Its memory begins at a multiple of 16 bytes.
    """

    arg: TensorArg | WorkspaceArg
    first: int
    rows: int
    columns: int = 1
    batch: int = 0
    stored: bool = False
    aligned: bool = True

    @property
    def turned(self) -> Matrix:
        """The same matrix with rows and columns exchanged."""
        return Matrix(self.arg, self.first, self.columns, self.rows, self.batch, self.stored, self.aligned)

    def vectors(self, line: int) -> bool:
        """Tell whether four neighbours are aligned, when `line` elements lie side by side."""
        return not self.stored and self.whole(line, 4)

    def whole(self, line: int, count: int) -> bool:
        """Tell whether all groups of `count` neighbours of a line are whole and aligned."""
        far = self.rows if self.columns == 1 else self.columns
        return self.aligned and all(v % count == 0 for v in (line, far, self.first, self.batch))


def int32(value: int) -> ConstantArg:
    """Return a kernel argument of type int."""
    return ConstantArg(np.int32(value))


def int64(value: int) -> ConstantArg:
    """Return a kernel argument of type i64."""
    return ConstantArg(np.int64(value))


def aligned(alignment: int) -> bool:
    """Tell whether a tensor's memory begins at a multiple of 16 bytes."""
    return alignment >= ALIGNMENT
