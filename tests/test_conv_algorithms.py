"""Convolution engines that the estimates seldom choose: every one of them on problems with corners."""

from __future__ import annotations

from cases import Turns
from cases_convolution import CONVOLUTIONS, EMPTY_CONVOLUTIONS, convolution
from helper import Case, check, over

from portadnn.problem import parse
from portadnn_backends.engines import conv_im2col

IM2COL = conv_im2col.ENGINES[0]


def cases(direction, step=1, start=0):
    """Yield every step-th geometry with the types, layouts and numbers in turn."""
    turn = Turns()
    for number, geometry in enumerate((*CONVOLUTIONS, *EMPTY_CONVOLUTIONS)):
        dtype, layout, numbers = turn(direction)
        often = number % (2 * step) == start
        if number % step == start:
            yield Case(convolution(direction, geometry, dtype, layout, numbers), everywhere=often)


@over(tuple(cases("forward", 2)))
def test_im2col(handle, case):
    check(handle, case, engine=IM2COL)


def test_the_matrix_of_im2col_has_a_block_for_every_tap():
    problem = parse("convolution_forward x=f16:2x6x9x8 w=f16:4x3x3x2 groups=2 stride=2,1 padding=1,0")
    assert problem.y.dims == (2, 4, 5, 7)
    product = conv_im2col.spelt_out(problem)
    product.validate()
    assert product.x.dims == (2, 6, 3 * 5, 2 * 7)
    assert (product.w, product.y) == (problem.w, problem.y)
