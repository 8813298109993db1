"""Watchers are told of public calls, of those inside them, of what was computed and of what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import portadnn as dnn
from portadnn.hooks import CALL_HOOKS, Call


class _Notes:
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[Call] = []
        self.refused = ""

    def before(self, call: Call) -> None:
        self.begun.append(call.function)
        if call.function == self.refused:
            raise dnn.NotSupported("not in this library")
        dnn.get_error_string(0)  # what a watcher calls is not told

    def after(self, call: Call) -> None:
        self.ended.append(call)


@pytest.fixture
def notes() -> Iterator[_Notes]:
    watcher = _Notes()
    CALL_HOOKS.append(watcher)
    try:
        yield watcher
    finally:
        CALL_HOOKS.remove(watcher)


def test_a_call_is_told_with_its_arguments_its_problem_and_its_place(notes: _Notes) -> None:
    with dnn.Handle("reference") as handle:
        x = handle.asarray(np.ones((1, 2, 3, 4), np.float32))
        y = dnn.activation_forward(handle, x, dnn.ActivationDescriptor("relu"), alpha=3)
    call = next(c for c in notes.ended if c.function == "activation_forward")
    assert call.library == "portadnn"
    assert call.arguments["x"] is x
    assert call.arguments["alpha"] == 3
    assert "y" not in call.arguments
    assert call.result is y
    assert call.error is None
    assert call.seconds > 0
    assert call.problem is not None
    assert call.problem.op == "activation_forward"
    assert call.scalars == (3.0, 0.0)
    assert {"Handle", "Handle.asarray", "ActivationDescriptor"} <= set(notes.begun)


def test_the_place_is_the_callers(notes: _Notes) -> None:
    places: list[tuple[str, int]] = []
    notes.before = lambda call: places.append(call.site)  # type: ignore[method-assign]
    dnn.get_error_string(0)
    assert places == [(__file__, test_the_place_is_the_callers.__code__.co_firstlineno + 3)]


def test_calls_inside_calls_know_their_parent(notes: _Notes) -> None:
    with pytest.raises(dnn.BadParam):
        dnn.Handle("reference").zeros((1, 2, -3, 4))
    ended = {call.function: call for call in notes.ended}
    assert isinstance(ended["Handle.zeros"].error, dnn.BadParam)
    assert ended["Handle.zeros"].parent is None


def test_calls_inside_calls_are_told_to_those_who_want_to_know(notes: _Notes) -> None:
    with dnn.Handle("reference") as handle:
        for nested, told in ((False, ["Handle.zeros"]), (True, ["Handle.zeros", "Handle.asarray"])):
            notes.nested = nested  # type: ignore[attr-defined]
            notes.begun.clear()
            handle.zeros((1, 2, 3, 4))
            assert notes.begun == told


def test_a_watcher_can_refuse_a_call(notes: _Notes) -> None:
    notes.refused = "activation_forward"
    with dnn.Handle("reference") as handle:
        x = handle.asarray(np.ones((1, 2, 3, 4), np.float32))
        y = handle.zeros((1, 2, 3, 4))
        with pytest.raises(dnn.NotSupported, match="activation_forward: not in this library"):
            dnn.activation_forward(handle, x, dnn.ActivationDescriptor("relu"), y)
        assert not handle.to_numpy(y).any()


def test_a_watcher_learns_of_a_problem_before_it_is_computed_and_can_refuse_it(notes: _Notes) -> None:
    told: list[tuple[str, str, tuple[float, ...], tuple[int, ...]]] = []

    def computing(call: Call, problem: dnn.Problem, scalars: Sequence[float], addresses: Sequence[int]) -> None:
        told.append((call.function, problem.op, tuple(scalars), tuple(addresses)))
        if call.function == notes.refused:
            raise dnn.NotSupported("not in this library")

    notes.computing = computing  # type: ignore[attr-defined]
    conv = dnn.ConvolutionDescriptor()
    with dnn.Handle("reference") as handle:
        x, w = (handle.asarray(np.ones((1, 1, 3, 3), np.float32)) for _ in range(2))
        y = handle.zeros((1, 1, 1, 1))
        places = tuple(handle.device.address(a) for a in (x, w, y))
        dnn.get_convolution_forward_workspace_size(handle, x, w, conv, y)
        dnn.find_convolution_forward_algorithm_ex(handle, x, w, conv, y)
        dnn.convolution_forward(handle, x, w, conv, y, alpha=2)
        assert handle.to_numpy(y).sum() == 18
        op = "convolution_forward"
        assert told == [
            ("get_convolution_forward_workspace_size", op, (), ()),
            ("find_convolution_forward_algorithm_ex", op, (), places),
            (op, op, (2.0, 0.0), places),
        ]
        notes.refused = op
        with pytest.raises(dnn.NotSupported, match="convolution_forward: not in this library"):
            dnn.convolution_forward(handle, x, w, conv, y)
        assert handle.to_numpy(y).sum() == 18


def test_a_watcher_can_replace_a_result(notes: _Notes) -> None:
    def after(call: Call) -> None:
        call.result = f"<{call.result}>"

    notes.after = after  # type: ignore[method-assign]
    assert dnn.get_error_string(0) == "<SUCCESS: success>"
