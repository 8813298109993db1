"""Tensors (b, h, s, d) of tests without padding: one sequence behind the other, with a gap after each row."""

from __future__ import annotations

import numpy as np
from graphs import D, given

GAP = 3
POISON = 0xA5


class Unpadded:
    """A tensor of a graph with ragged offsets, and where its rows lie: `rooms` of them for each sequence.

    Offsets count elements, or (`by_rows`) rows.
    """

    def __init__(self, g, one, rooms, by_rows=False):
        b, h, s, d = self.dims = tuple(one.get_dim())
        self.one, self.rooms = one, [min(room, s) for room in rooms]
        self.row = h * d + GAP
        one.set_stride([s * self.row, d, self.row, 1])
        self.begins = np.cumsum([0, *self.rooms]) * self.row + (0 if by_rows else 5)
        self.offsets = given(g, (b + 1, 1, 1, 1), D.INT32 if by_rows else D.INT64)
        each = self.row if by_rows else 1
        one.set_ragged_offset(self.offsets).set_ragged_offset_multiplier(each)
        self.given = (self.begins // each).reshape(-1, 1, 1, 1)

    def places(self):
        """Yield each sequence's number and where its elements lie, (h, rows, d)."""
        _, h, _, d = self.dims
        for n, room in enumerate(self.rooms):
            head, row, k = np.ogrid[:h, :room, :d]
            yield n, self.begins[n] + head * d + row * self.row + k

    def memory(self, values=None):
        """Return memory that ends with the last row's last element, with these values or poisoned."""
        kind = self.one.get_data_type()
        flat = np.full((self.begins[-1] - GAP) * kind.storage.itemsize, POISON, np.uint8).view(kind.storage)
        if values is not None:
            stored = kind.stored(np.asarray(values).reshape(self.dims))
            for n, where in self.places():
                flat[where] = stored[n, :, : where.shape[1]]
        return flat

    def loaded(self, flat, missing=0.0):
        """Return what lies in memory, rows that are not there `missing`; nothing may be written between rows."""
        kind, found = self.one.get_data_type(), np.full(self.dims, missing)
        untouched = np.ones(flat.size, bool)
        for n, where in self.places():
            found[n, :, : where.shape[1]] = kind.loaded(flat[where])
            untouched[where] = False
        gaps = np.repeat(untouched, flat.itemsize)
        assert (flat.view(np.uint8)[gaps] == POISON).all()
        return found
