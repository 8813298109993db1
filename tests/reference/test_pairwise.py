"""Rows that are left out, or to `make test-all`, bring no pair of values that the others lack."""

from __future__ import annotations

import itertools
import re

import pairwise
import pytest
from cases_convolution import CONVOLUTION_CASES
from cases_elementwise import ACTIVATION_CASES


def test_all_pairs_are_covered_by_few_rows():
    rows = [dict(zip("abc", values, strict=True)) for values in itertools.product(range(4), range(3), range(2))]
    demands = [pairwise.pairs(row) for row in rows]
    chosen = pairwise.cover(demands)
    found = {(x, y) for i in chosen for x, y in itertools.combinations(rows[i].items(), 2)}
    wanted = {
        ((p, u), (q, v))
        for (p, m), (q, n) in (("a4", "b3"), ("a4", "c2"), ("b3", "c2"))
        for u in range(int(m))
        for v in range(int(n))
    }
    assert found == wanted
    assert len(chosen) == 12  # no fewer rows have all pairs of a and b


def test_a_single_parameter_keeps_every_value():
    assert pairwise.cover([pairwise.pairs({"a": value}) for value in (1, 2, 1, 3, 2)]) == [0, 1, 3]


def test_what_only_one_row_has_is_chosen():
    assert pairwise.cover([{1, 2}, {2, 3}, {1, 2, 3}, {4}, set()]) == [2, 3]
    assert pairwise.cover([{1, 2}, {1}, {2}], costs=[10, 1, 1]) == [1, 2]


def test_every_other_row_is_left():
    rows = pairwise.every_other([(1, "a"), (2, "b"), (3, "c")])
    assert [(*row.values, bool(row.marks)) for row in rows] == [(1, "a", False), (2, "b", True), (3, "c", False)]
    assert [(*row.values, bool(row.marks)) for row in pairwise.every_other("xy", first=1)] == [
        ("x", True),
        ("y", False),
    ]


def test_a_product_marks_the_rows_that_repeat():
    rows = pairwise.product("ab", [1, 2], [None, True])
    assert [row.values for row in rows] == list(itertools.product("ab", [1, 2], [None, True]))
    assert [bool(row.marks) for row in rows].count(False) == 4


@pytest.mark.parametrize("table", [CONVOLUTION_CASES, ACTIVATION_CASES], ids=["convolution", "activation"])
def test_tables_keep_their_sizes_and_pairs_of_types_and_layouts(table):
    demands = [pairwise.demands_of_line(case.line, data=case.data) for case in table]
    chosen = [table[i].line for i in pairwise.cover(demands)]
    assert len(chosen) < 0.7 * len(table)

    def seen(lines):
        """Return operations with their sizes, and with the types and further words of each line, pair by pair."""
        found = set()
        for line in lines:
            op, *words = line.split()
            found.add((op, *(re.split("[/@]", word.split(":")[1])[0] for word in words if ":" in word)))
            kinds = [word.split(":")[0] for word in words if ":" in word] + [w for w in words if w.startswith("mode=")]
            found |= {(op, pair) for pair in itertools.combinations(kinds, 2)}
        return found

    assert seen(chosen) == seen(case.line for case in table)
