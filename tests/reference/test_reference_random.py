"""The reference backend against plain loops on problems that hypothesis invents."""

from __future__ import annotations

import brute
import pytest
from cases import LAYOUTS, TYPES, tensor
from cases_convolution import convolution
from helper import Case, check
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

random_problems = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
blends = st.sampled_from([(1, 0), (0.5, 1), (-2, 0), (1, -1.5), (0, 1)]).map(
    lambda pair: f"alpha={pair[0]} beta={pair[1]}"
)


def joined(values):
    return ",".join(map(str, values))


@st.composite
def convolutions(draw):
    spatial = draw(st.integers(2, 3))
    window, stride, dilation, padding, size = [], [], [], [], []
    for _ in range(spatial):
        r, d, p = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(0, 2))
        least = max((r - 1) * d + 1 - 2 * p, 1)
        window.append(r)
        dilation.append(d)
        padding.append(p)
        stride.append(draw(st.integers(1, 3)))
        size.append(draw(st.integers(least, least + 3)))
    groups = draw(st.integers(1, 3))
    dims = (draw(st.integers(0, 2)), groups * draw(st.integers(1, 2)), *size)
    mode = draw(st.sampled_from(["convolution", "cross_correlation"]))
    parameters = (
        f"padding={joined(padding)} stride={joined(stride)} dilation={joined(dilation)} groups={groups} mode={mode}"
    )
    geometry = (dims, groups * draw(st.integers(1, 2)), tuple(window), parameters)
    direction = draw(st.sampled_from(["forward", "backward_data", "backward_filter"]))
    dtype, layout, others = (draw(st.sampled_from(values)) for values in (TYPES, LAYOUTS, LAYOUTS))
    return convolution(direction, geometry, dtype, layout, draw(blends), others)


@st.composite
def poolings(draw):
    spatial = draw(st.integers(2, 3))
    window, stride, padding, size, out = [], [], [], [], []
    for _ in range(spatial):
        r, p, s = draw(st.integers(1, 3)), draw(st.integers(0, 3)), draw(st.integers(1, 3))
        least = max(r - 2 * p, 1)
        window.append(r)
        padding.append(p)
        stride.append(s)
        size.append(draw(st.integers(least, least + 4)))
        out.append((size[-1] + 2 * p - r) // s + 1)
    dtype, layout, others = (draw(st.sampled_from(values)) for values in (TYPES, LAYOUTS, LAYOUTS))
    batch = (draw(st.integers(0, 2)), draw(st.integers(1, 3)))
    x, y = tensor(dtype, (*batch, *size), layout), tensor(dtype, (*batch, *out), others)
    mode = draw(st.sampled_from(["max", "average_count_include_padding", "average_count_exclude_padding"]))
    nan = draw(st.sampled_from(["propagate_nan", "not_propagate_nan"]))
    tensors, op = draw(st.sampled_from([(f"x={x} y={y}", "forward"), (f"y={y} dy={y} x={x} dx={x}", "backward")]))
    return (
        f"pooling_{op} {tensors} mode={mode} window={joined(window)} padding={joined(padding)} "
        f"stride={joined(stride)} nan_propagation={nan} {draw(blends)}"
    )


@random_problems
@given(line=convolutions())
def test_convolution(reference, line):
    check(reference, line, oracle=brute.evaluate)


@pytest.mark.parametrize("data", ["normal", "integer"])
@random_problems
@given(line=poolings())
@example(  # a window of padding only, whose maximum is the least float
    line="pooling_forward x=f32:1x1x1x1 y=f32:1x1x1x3 mode=max window=1,1 padding=0,1 stride=1,1 alpha=-2 beta=0"
)
def test_pooling(reference, data, line):
    if data == "integer":  # exact for maxima only
        line = line.replace("average_count_include_padding", "max").replace("average_count_exclude_padding", "max")
    check(reference, Case(line, data), oracle=brute.evaluate)
