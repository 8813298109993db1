"""The benchmark of drawn convolutions: which layers there are, and what its summary says."""

from __future__ import annotations

import pytest

import portadnn as dnn
from portadnn.benchmarks import drawn
from portadnn.benchmarks.sets.layers import problem_line


def test_layers_are_the_same_each_time_and_all_kinds_are_among_the_first():
    found = drawn.layers(10, seed=3)
    assert found == drawn.layers(10, seed=3) != drawn.layers(10, seed=4)
    assert [one.kind for one in found].count("drawn") == 10
    assert {one.kind for one in found[:7]} == {"drawn", "grouped", "pointwise"}


@pytest.mark.parametrize("device", drawn.LIMITS)
@pytest.mark.parametrize("direction", drawn.DIRECTIONS)
def test_layers_are_valid_problems_of_limited_size(direction, device):
    most, _ = drawn.LIMITS[device]
    for one in drawn.layers(20, kind=device):
        problem = dnn.parse(problem_line(one.layer, direction, one.batch, "f16", "nhwc"))
        assert one.kind == "pointwise" or max(problem.image.size, problem.result.size) <= most
        assert problem.groups == one.layer.groups


def test_networks_are_their_distinct_layers_with_a_batch():
    found = drawn.of_networks("resnet50:8,vgg16:1")
    assert [(one.kind, one.batch) for one in found] == [("resnet50", 8)] * 23 + [("vgg16", 1)] * 9
    for words in ("resnet:8", "resnet50", "vgg16:x"):
        with pytest.raises(ValueError, match="resnet50:32"):
            drawn.of_networks(words)


def test_summary_has_means_lowest_and_wrong_ones():
    row = {"type": "fp16", "kind": "drawn", "line": "convolution_forward x=...", "error": 1e-3, "of_found": None}
    rows = [{**row, "ratio": 0.5}, {**row, "ratio": 2.0, "error": float("nan")}]
    (found,) = drawn.summary(rows)
    assert found["geometric_mean"] == pytest.approx(1.0)
    assert (found["lowest"], found["below_0.6"], found["wrong"], found["calls"]) == (0.5, 1, 1, 2)
    assert "of_found" not in found
