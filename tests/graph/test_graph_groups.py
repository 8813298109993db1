"""Reductions of each group of rows by itself, beside NumPy's of the groups' slices."""

import helper
import numpy as np
import pytest
from graphs import D

import portadnn.graph as cudnn

ROWS, COLUMNS = 20, 6
LARGEST = np.finfo(np.float32).max
MODES = {
    "ADD": lambda rows: rows.sum(0),
    "MUL": lambda rows: rows.prod(0),
    "MIN": lambda rows: rows.min(0, initial=LARGEST),
    "MAX": lambda rows: rows.max(0, initial=-LARGEST),
    "AMAX": lambda rows: abs(rows).max(0, initial=0),
    "NORM1": lambda rows: abs(rows).sum(0),
    "NORM2": lambda rows: np.sqrt((rows**2).sum(0)),
}
OFFSETS = ([0, 5, 5, 12], [0], [3, 20], [0, 0, 20])  # empty groups, one group, rows before the first


@pytest.mark.parametrize("backend", helper.targets())
@pytest.mark.parametrize("mode", MODES)
def test_groups_of_rows(backend, mode):
    numbers = np.random.default_rng(4).standard_normal((1, ROWS, COLUMNS)).astype(np.float32)
    with helper.opened(backend) as handle:
        for offsets in OFFSETS if mode == "ADD" else OFFSETS[:1]:
            for width in (COLUMNS, 1) if mode in ("ADD", "AMAX") else (COLUMNS,):
                g = cudnn.pygraph("g", D.FLOAT, D.FLOAT, D.FLOAT, handle)
                x = g.tensor(dim=numbers.shape)
                begins = g.tensor(dim=[len(offsets), 1, 1], data_type=D.INT32)
                inner = g.identity(x)  # of dims that are not known before the graph is whole
                y = g.reduction(inner, cudnn.reduction_mode[mode], name="r", group_offset=begins).set_output(True)
                y.set_dim([len(offsets), 1, width])
                g.build()
                found = np.full((len(offsets), 1, width), np.nan, np.float32)
                g.execute({x: numbers, begins: np.int32(offsets).reshape(-1, 1, 1), y: found})
                for place, (first, end) in enumerate(zip(offsets, [*offsets[1:], ROWS], strict=True)):
                    rows = numbers[0, first:end]
                    wanted = MODES[mode](rows if width > 1 else rows.reshape(-1, 1))
                    np.testing.assert_allclose(found[place, 0], wanted, rtol=1e-4, atol=1e-5)
