"""What a matrix product is, whichever way it is computed."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.enums import DataType

from .operands import Matrix

_MOST_SPLITS = 32


@dataclass(frozen=True)
class Terms:
    """c = a b, or c += a b: (m, k) times (k, n), `batches` of them.

    Attributes
    ----------
    dtype : DataType
        The storage type; sums are kept in its accumulator.
    """

    dtype: DataType
    m: int
    n: int
    k: int
    a: Matrix
    b: Matrix
    c: Matrix
    batches: int = 1
    accumulate: bool = False

    def defines(self) -> dict[str, int | float | str]:
        """Return what both kernels know of the operands."""
        stored = {
            f"{name}_STORED": 1 for name, side in zip("ABC", (self.a, self.b, self.c), strict=True) if side.stored
        }
        along = {"A_ALONG_K": int(self.a.columns == 1), "B_ALONG_K": int(self.b.columns != 1)}
        return {f"DTYPE_{self.dtype.name}": 1, **stored, **along}


def split_choices(most: int) -> list[int]:
    """Return the numbers of parts to try for a sum of so many slices."""
    return [splits for splits in (1, 2, 3, 4, 6, 8, 12, 16, 24, _MOST_SPLITS) if splits == 1 or splits <= most // 8]
