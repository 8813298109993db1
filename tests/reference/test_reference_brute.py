"""The reference backend against the one-element-at-a-time definitions of ``brute``, on the tables of all operations."""

from __future__ import annotations

import brute
import pairwise
import pytest
from cases_convolution import BIAS_CASES, CONVOLUTION_CASES
from cases_convolution_fused import FUSED_CASES
from cases_elementwise import ACTIVATION_CASES, TENSOR_CASES
from cases_windows import POOLING_CASES, SOFTMAX_CASES
from helper import check

from portadnn.problem import parse_line

TABLES = (ACTIVATION_CASES, BIAS_CASES, CONVOLUTION_CASES, FUSED_CASES, POOLING_CASES, SOFTMAX_CASES, TENSOR_CASES)
WORK = 100_000  # steps of the plain loops


def _small(case):
    problem, _ = parse_line(case.line)
    size = problem.flops() + problem.tensors[-1].size
    if problem.op == "softmax_backward":  # the whole Jacobian
        dims = problem.y.dims
        size *= dims[1] if problem.mode.name == "CHANNEL" else max(dims[1:])
    return size <= WORK


SMALL = [case for table in TABLES for case in table if _small(case)]
MARKS = pairwise.marks([pairwise.demands_of_line(case.line, data=case.data, alias=case.alias) for case in SMALL])


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=marks) for case, marks in zip(SMALL, MARKS, strict=True)], ids=str
)
def test_agrees_with_plain_loops(reference, case):
    check(reference, case, oracle=brute.evaluate)
