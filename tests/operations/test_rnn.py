"""Recurrent networks on every backend against the reference: every pass, and whole training steps."""

from __future__ import annotations

import cases_rnn
import helper
import numpy as np

from portadnn.ops.rnn.problems import RNNBackwardData, RNNBackwardWeights, RNNForwardInference, RNNForwardTraining
from portadnn.problem import parse_line
from portadnn_backends.reference.outcomes import outcomes

FORWARD = cases_rnn.cases(RNNForwardInference, 8) + cases_rnn.projected(RNNForwardInference)
TRAINING = cases_rnn.cases(RNNForwardTraining, 5) + cases_rnn.projected(RNNForwardTraining)
BACKWARD = cases_rnn.cases(RNNBackwardData, 8) + cases_rnn.projected(RNNBackwardData)
WEIGHTS = cases_rnn.cases(RNNBackwardWeights, 6) + cases_rnn.projected(RNNBackwardWeights)


@helper.over(FORWARD)
def test_forward_inference(handle, case):
    helper.check(handle, case)


@helper.over(TRAINING)
def test_forward_training(handle, case):
    helper.check(handle, case, oracle=cases_rnn.without_reserve)
    if handle.backend not in helper.vendor.BACKENDS:  # which keep what they like
        check_reserve(handle, case)


@helper.over(BACKWARD)
def test_backward_data(handle, case):
    helper.check(handle, case, oracle=cases_rnn.without_reserve)
    if handle.backend not in helper.vendor.BACKENDS:  # which keep what they like
        check_reserve(handle, case)


@helper.over(WEIGHTS)
def test_backward_weights(handle, case):
    helper.check(handle, case)


def check_reserve(handle, case):
    """Compare what a pass leaves in the reserve space, which is laid out alike on every backend."""
    problem, _ = parse_line(case.line)
    buffers = helper.make_buffers(case)
    want = outcomes(problem, [buffers[name].array.copy() for name in problem.names], ())["reserve"]
    memory = helper.run_once(handle, helper.diff_case(case), buffers)["reserve"]
    got = buffers["reserve"].after(memory).array
    stored, summed = problem.dtype, problem.dtype.accumulator
    unit = (
        1e4 * summed.limits.eps if stored is summed else 8 * stored.limits.eps
    )  # what passes between steps may be rounded
    found, wanted = cases_rnn.contents(problem, got), cases_rnn.contents(problem, want)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=unit, atol=unit, err_msg=name)
