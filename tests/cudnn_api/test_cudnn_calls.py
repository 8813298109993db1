"""Every function of the guide, called with the guide's arguments by position, on every backend, against the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from chapter4 import PLACES
from cudnn_calls import PROBLEMS, SCRIPTS
from cudnn_world import World, world_of
from helper import compare, everywhere

from portadnn import cudnn
from portadnn.diff.buffers import Buffer
from portadnn.hooks import CALL_HOOKS
from portadnn.tolerance import tolerance
from portadnn_backends.reference.outcomes import outcomes, terms

FIND = tuple(name for name in PROBLEMS if "Find" in name)
PARTS = ("cudnnGetRNNLinLayerMatrixParams", "cudnnGetRNNLinLayerBiasParams")


class _Heard:
    """Notes calls of the "cudnn" library."""

    def __init__(self):
        self.calls = []

    def before(self, call):
        if call.library == "cudnn":
            self.calls.append(call)

    def after(self, call):
        pass


@pytest.fixture
def heard():
    watcher = _Heard()
    CALL_HOOKS.append(watcher)
    yield watcher
    CALL_HOOKS.remove(watcher)


def test_every_function_has_a_row():
    assert SCRIPTS.keys() | PROBLEMS.keys() == {name for name, _ in PLACES}
    assert not SCRIPTS.keys() & PROBLEMS.keys()


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_described_comes_back(reference, name, heard):
    World(reference).run(SCRIPTS[name])
    call = next(call for call in heard.calls if call.function == name)
    assert not call.kwargs


@everywhere()
@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in (*FIND, *PARTS)])
def test_what_is_computed_is_the_oracles(handle, name, heard):
    world = world_of(handle, name)
    problem, numbers = world.problem, world.numbers
    tensors = [world.buffers[n].array.copy() for n in problem.names]
    wanted = outcomes(problem, tensors, tuple(numbers.values()))
    sums = terms(problem, tensors, tuple(numbers.values()))
    assert getattr(cudnn, name)(*world.arguments(name)) is None
    call = next(call for call in heard.calls if call.function == name)
    assert not call.kwargs
    assert call.problem is not None
    assert call.problem.op == problem.op
    wanted.pop("reserve", None)  # its floats are compared by tests/operations/test_rnn.py
    for output, want in wanted.items():
        buffer = world.buffers[output]
        after = Buffer(buffer.spec, handle.to_numpy(world.memory[output]), 0).array.astype(np.float64)
        if not buffer.spec.dtype.is_float:
            assert after.tobytes() == np.asarray(want, np.float64).tobytes(), output
            continue
        stored = buffer.spec.dtype.stored(want).astype(np.float64)
        bound = tolerance(problem, want, sums[output], output)
        compare(after, np.where(np.isinf(stored), stored, want), bound, f"{name}: {output}")
    for other in set(world.memory) - set(problem.written):
        before = world.buffers[other]
        after = handle.to_numpy(world.memory[other])
        assert after.tobytes() == before.memory[before.offset : before.offset + before.spec.span].tobytes(), other


@everywhere()
@pytest.mark.parametrize("name", FIND)
def test_find_returns_how_many_and_what(handle, name):
    world = world_of(handle, name)
    count, found = getattr(cudnn, name)(*world.arguments(name))
    assert 1 <= count == len(found) <= 3
    assert type(found[0]).__name__.endswith("AlgoPerf_t")
    assert found[0].status == cudnn.CUDNN_STATUS_SUCCESS
    assert found[0].time > 0
    assert type(found[0].algo).__name__ == type(found[0]).__name__.replace("AlgoPerf", "Algo")
    assert found[0].determinism in (cudnn.CUDNN_DETERMINISTIC, cudnn.CUDNN_NON_DETERMINISTIC)


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_parameters_lie_where_the_library_has_them(reference, name):
    """Matrix 6 of an LSTM multiplies the hidden state for the new memory: after W and two gates of R."""
    world = world_of(reference, name)
    part = getattr(cudnn, name)(*world.arguments(name))
    first = 4 * 5 * 4 + 2 * 25 if "Matrix" in name else 4 * 5 * 9 + 4 * 5 + 2 * 5
    want = world.memory["dw"][first : first + part.size]
    assert part.ravel().tolist() == want.tolist()
    assert cudnn.cudnnGetFilterNdDescriptor(world.word("f"), 3)[3] == part.shape
    part[...] = 7
    assert (world.memory["dw"][first : first + part.size] == 7).all()


@everywhere()
def test_estimates_and_sizes(handle):
    """The rows of the table only demand that these calls return; here is what they must be."""
    world = World(handle)

    def call(name):
        return getattr(cudnn, name)(*world.arguments(name))

    assert isinstance(call("cudnnGetConvolutionForwardAlgorithm"), cudnn.cudnnConvolutionFwdAlgo_t)
    assert isinstance(call("cudnnGetConvolutionBackwardDataAlgorithm"), cudnn.cudnnConvolutionBwdDataAlgo_t)
    assert isinstance(call("cudnnGetConvolutionBackwardFilterAlgorithm"), cudnn.cudnnConvolutionBwdFilterAlgo_t)
    reserve = call("cudnnGetRNNTrainingReserveSize")
    assert reserve >= 4 * 3 * 2 * 5 * 5  # gates and cells of 3 steps, 2 sequences, 5 hidden
    assert reserve % 4 == 0
    assert call("cudnnGetRNNWorkspaceSize") >= 0
    assert call("cudnnGetStream") is handle.get_stream()
    assert call("cudnnFindConvolutionForwardAlgorithm")[0] == 3 or handle.backend == "reference"
