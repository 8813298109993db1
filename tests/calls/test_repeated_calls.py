"""Calls made again, with the same memory or other, other numbers or streams: each sees what it was given."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from where import BACKENDS, open_handle, scratch

import portadnn as dnn
from portadnn.ops import activation
from portadnn_backends import guards

RELU = dnn.ActivationDescriptor("relu")
SHAPE = (2, 3, 5, 7)


@pytest.fixture(params=BACKENDS)
def handle(request: pytest.FixtureRequest) -> Iterator[Any]:
    with open_handle(request.param) as handle:
        yield handle


def _host(seed: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _fill(handle: Any, array: Any, values: np.ndarray[Any, Any]) -> None:
    dnn.transform_tensor(handle, handle.asarray(values), array)


def test_the_same_memory_with_new_contents(handle: Any) -> None:
    x, y = handle.zeros(SHAPE), handle.zeros(SHAPE)
    for seed in range(4):
        _fill(handle, x, _host(seed))
        assert dnn.activation_forward(handle, x, RELU, y) is y
        np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(seed), 0))


def test_other_numbers(handle: Any) -> None:
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    for alpha in (1.0, 2.0, 2.0, -0.5, 1.0):
        dnn.activation_forward(handle, x, RELU, y, alpha=alpha)
        np.testing.assert_array_equal(handle.to_numpy(y), np.float32(alpha) * np.maximum(_host(0), 0))


def test_zeros_of_both_signs_are_two_numbers(handle: Any) -> None:
    y = handle.zeros(SHAPE)
    for value in (0.0, -0.0, -0.0, 0.0):
        dnn.set_tensor(handle, y, value)
        np.testing.assert_array_equal(np.signbit(handle.to_numpy(y)), np.signbit(value))


def test_other_memory_of_the_same_shape(handle: Any) -> None:
    x = [handle.asarray(_host(seed)) for seed in range(3)]
    y = [handle.zeros(SHAPE) for _ in range(2)]
    for i, o in ((0, 0), (0, 0), (1, 0), (1, 1), (2, 1), (0, 0)):
        dnn.activation_forward(handle, x[i], RELU, y[o])
        np.testing.assert_array_equal(handle.to_numpy(y[o]), np.maximum(_host(i), 0))


@pytest.mark.parametrize("turns", [2, 4, 7])
def test_memory_that_takes_turns(handle: Any, turns: int) -> None:
    """As many pairs as a plan keeps bound, and more; other numbers, calls in place and new memory between them."""
    pairs = [(handle.asarray(_host(i)), handle.zeros(SHAPE)) for i in range(turns)]
    for alpha in (1.0, 1.0, 2.0, 1.0, 1.0):
        for i, (x, y) in enumerate(pairs):
            dnn.activation_forward(handle, x, RELU, y, alpha=alpha)
            np.testing.assert_array_equal(handle.to_numpy(y), np.float32(alpha) * np.maximum(_host(i), 0))
            _fill(handle, y, np.zeros(SHAPE, np.float32))
        pairs[0] = handle.asarray(_host(0)), handle.zeros(SHAPE)
        x = pairs[1][0]
        dnn.activation_forward(handle, x, RELU, x, beta=1.0)
        _fill(handle, x, _host(1))
    with pytest.raises(dnn.BadParam, match="alpha"):
        dnn.activation_forward(handle, pairs[-1][0], RELU, pairs[-1][1], alpha=1e300)
    for i, (x, y) in enumerate(pairs):
        assert dnn.activation_forward(handle, x, RELU, y) is y
        np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(i), 0))


def test_inputs_that_take_turns(handle: Any) -> None:
    """With the same first tensor and output: each is a call of its own."""
    a, *b = (handle.asarray(_host(seed)) for seed in range(4))
    c, add = handle.zeros(SHAPE), dnn.OpTensorDescriptor("add")
    for turn in range(60):
        dnn.op_tensor(handle, add, a, b[turn % 3], c)
        np.testing.assert_allclose(handle.to_numpy(c), _host(0) + _host(1 + turn % 3), rtol=1e-6, atol=1e-6)
    assert handle.cache_info().calls == (3 if handle.backend in ("cuda", "opencl") else 0)


def _bound(handle: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return what grows by one whenever launches are bound to arguments."""
    bound: list[int] = []
    bind = handle.device.bind
    monkeypatch.setattr(handle.device, "bind", lambda launches: bound.append(1) or bind(launches))
    return bound


def test_many_equal_layers_are_bound_once_each(handle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if handle.backend not in ("cuda", "opencl"):
        pytest.skip("nothing is bound")
    pairs = [(handle.asarray(_host(i)), handle.zeros(SHAPE)) for i in range(12)]
    dnn.activation_forward(handle, *pairs[0][:1], RELU)
    bound = _bound(handle, monkeypatch)
    for turn in range(7):
        for i, (x, y) in enumerate(pairs):
            y.fill(0)
            dnn.activation_forward(handle, x, RELU, y)
            np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(i), 0))
        assert len(bound) == (12 if turn else 0)


@pytest.mark.parametrize("fresh", [False, True], ids=["kept", "made-anew"])
def test_equal_descriptors_are_bound_like_one(handle: Any, monkeypatch: pytest.MonkeyPatch, fresh: bool) -> None:
    """Layers with descriptors of their own, which are kept by the program or made anew for each call."""
    if handle.backend not in ("cuda", "opencl"):
        pytest.skip("nothing is bound")
    layers = [(handle.asarray(_host(i)), dnn.ActivationDescriptor("relu"), handle.zeros(SHAPE)) for i in range(5)]
    bound = _bound(handle, monkeypatch)
    for turn in range(6):
        for i, (x, relu, y) in enumerate(layers):
            y.fill(0)
            dnn.activation_forward(handle, x, dnn.ActivationDescriptor("relu") if fresh else relu, y)
            np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(i), 0))
        assert turn < 2 or len(bound) <= 6  # once each, and once for the plan
    assert handle.cache_info().calls == 5


def test_memory_that_never_comes_again_is_not_bound(handle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a call with new arrays that have the identities of those before."""
    x = handle.asarray(_host(0))
    dnn.activation_forward(handle, x, RELU, handle.zeros(SHAPE))
    bound = _bound(handle, monkeypatch)
    kept = [dnn.activation_forward(handle, x, RELU, handle.zeros(SHAPE)) for _ in range(20)]
    for _ in range(20):
        y = dnn.activation_forward(handle, x, RELU, handle.zeros(SHAPE))
        np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(0), 0))
    for y in kept:
        np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(0), 0))
    assert not bound


def test_more_calls_than_there_is_room_for(handle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handle.calls.most = 16
    pairs = [(handle.asarray(_host(i)), handle.zeros(SHAPE)) for i in range(40)]
    dnn.activation_forward(handle, pairs[0][0], RELU)
    bound = _bound(handle, monkeypatch)
    for turn in range(20):
        for i, (x, y) in enumerate(pairs):
            dnn.activation_forward(handle, x, RELU, y)
            if turn in (0, 5, 19):
                np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(i), 0))
        assert len(handle.calls) <= 16
    assert len(bound) < 80  # of 800 calls


def test_dead_arrays_leave_nothing_in_the_cache(handle: Any) -> None:
    for seed in range(30):
        x, y = handle.asarray(_host(seed)), handle.zeros(SHAPE)
        for _ in range(3):
            dnn.activation_forward(handle, x, RELU, y)
        assert handle.cache_info().calls == (1 if handle.backend in ("cuda", "opencl") else 0)
        handle.synchronize()
        del x, y
        gc.collect()
        assert handle.cache_info().calls == 0


def test_equal_layers_of_several_launches_take_turns(handle: Any) -> None:
    """Convolutions with a workspace, which all share, and one that is refused between them."""
    conv, algo = dnn.ConvolutionDescriptor(padding=(1, 1)), None if handle.backend == "reference" else "gemm"
    layers = [
        [handle.asarray(_host(3 * i + j, dims)) for j, dims in enumerate(((2, 4, 9, 9), (4, 4, 3, 3)))]
        for i in range(3)
    ]
    y = [handle.zeros((2, 4, 9, 9)) for _ in layers]
    with dnn.Handle("reference") as oracle:
        want = [dnn.convolution_forward(oracle, *map(handle.to_numpy, layer), conv) for layer in layers]
    for _ in range(3):
        for layer, out, right in zip(layers, y, want, strict=True):
            _fill(handle, out, np.zeros((2, 4, 9, 9), np.float32))
            dnn.convolution_forward(handle, *layer, conv, out, algo=algo)
            np.testing.assert_allclose(handle.to_numpy(out), right, rtol=1e-4, atol=1e-4)
        with pytest.raises(dnn.BadParam, match="shared memory"):
            dnn.convolution_forward(handle, *layers[0], conv, layers[0][0], algo=algo)


def test_outputs_left_out_are_new_each_time(handle: Any) -> None:
    x = handle.asarray(_host(0))
    first, second = (dnn.activation_forward(handle, x, RELU) for _ in range(2))
    _fill(handle, second, np.zeros(SHAPE, np.float32))
    np.testing.assert_array_equal(handle.to_numpy(first), np.maximum(_host(0), 0))


def test_a_refused_call_changes_nothing_for_the_next(handle: Any) -> None:
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    dnn.activation_forward(handle, x, RELU, y)
    with pytest.raises(dnn.BadParam, match="alpha"):
        dnn.activation_forward(handle, x, RELU, y, alpha=1e300)
    _fill(handle, x, _host(1))
    dnn.activation_forward(handle, x, RELU, y)
    np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(1), 0))


def test_workspaces_come_and_grow(handle: Any) -> None:
    """A convolution whose algorithm wants scratch memory: the handle's, then a larger one of it, then the caller's."""
    conv = dnn.ConvolutionDescriptor(padding=(1, 1))
    small, large = ((2, 4, 9, 9), (4, 3, 3, 3)), ((4, 8, 21, 21), (16, 8, 3, 3))
    w = {dims: handle.asarray(_host(7, (dims[1][0], dims[0][1], 3, 3))) for dims in (small, large)}
    x = {dims: handle.asarray(_host(8, dims[0])) for dims in (small, large)}
    want = {}
    with dnn.Handle("reference") as oracle:
        for dims in (small, large):
            host = (oracle.asarray(handle.to_numpy(a)) for a in (x[dims], w[dims]))
            want[dims] = oracle.to_numpy(dnn.convolution_forward(oracle, *host, conv))
    y = {dims: handle.zeros(want[dims].shape) for dims in (small, large)}
    algo = None if handle.backend == "reference" else "gemm"
    for dims in (small, small, large, small, small, large):
        _fill(handle, y[dims], np.zeros(want[dims].shape, np.float32))
        dnn.convolution_forward(handle, x[dims], w[dims], conv, y[dims], algo=algo)
        np.testing.assert_allclose(handle.to_numpy(y[dims]), want[dims], rtol=1e-4, atol=1e-4)
        own = scratch(handle, 1 << 23)
        _fill(handle, y[dims], np.zeros(want[dims].shape, np.float32))
        for sign in (1, -1, -1):
            _fill(handle, x[dims], sign * _host(8, dims[0]))
            dnn.convolution_forward(handle, x[dims], w[dims], conv, y[dims], workspace=own)
            np.testing.assert_allclose(handle.to_numpy(y[dims]), sign * want[dims], rtol=1e-4, atol=1e-4)
        _fill(handle, x[dims], _host(8, dims[0]))
    with pytest.raises(dnn.BadParam, match="workspace"):
        dnn.convolution_forward(handle, x[dims], w[dims], conv, y[dims], workspace="none")


def test_the_workspace_of_another_stream_is_another(handle: Any) -> None:
    """What a change of streams freed is not used again by a call that is otherwise the one before."""
    if handle.backend == "reference":
        pytest.skip("the reference needs no workspace")
    conv, algo = dnn.ConvolutionDescriptor(padding=(1, 1)), "gemm"
    x, w = handle.asarray(_host(0, (2, 4, 9, 9))), handle.asarray(_host(1, (4, 4, 3, 3)))
    y = handle.empty((2, 4, 9, 9))
    sizes = [dnn.get_convolution_forward_workspace_size(handle, x, w, conv, y, algo)]
    for _ in range(3):
        dnn.convolution_forward(handle, x, w, conv, y, algo=algo)
    want = handle.to_numpy(y)
    handle.set_stream(handle.get_stream())
    asked = []
    workspace = handle.device.workspace
    handle.device.workspace = lambda size: (asked.append(size), workspace(size))[1]
    for _ in range(3):
        dnn.convolution_forward(handle, x, w, conv, y, algo=algo)
        np.testing.assert_array_equal(handle.to_numpy(y), want)
    assert asked == sizes


def test_another_stream(handle: Any) -> None:
    """Sums that count finished work-groups: each stream counts by itself."""
    dy = _host(3, (8, 6, 24, 24))
    want = dy.sum((0, 2, 3), dtype=np.float64)
    first = handle.get_stream()
    dy, db = handle.asarray(dy), handle.zeros((1, 6, 1, 1))
    if handle.backend == "cuda":
        import cupy

        streams = [first, cupy.cuda.Stream(non_blocking=True)]
    elif handle.backend == "opencl":
        import pyopencl as cl

        streams = [first, cl.CommandQueue(first.context, first.device)]
    else:
        streams = [None, None]
    handle.synchronize()
    for i in (0, 0, 1, 1, 0):
        handle.set_stream(streams[i])
        dnn.convolution_backward_bias(handle, dy, db)
        np.testing.assert_allclose(handle.to_numpy(db).ravel(), want, rtol=1e-4)


def test_equal_numbers_that_are_no_numbers(handle: Any) -> None:
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y, alpha=1.0)
    with pytest.raises(dnn.BadParam, match="alpha"):
        dnn.activation_forward(handle, x, RELU, y, alpha=True)


def test_other_parameters_and_inputs_for_the_same_output(handle: Any) -> None:
    x, y = [handle.asarray(_host(seed)) for seed in range(2)], handle.zeros(SHAPE)
    modes = {"relu": lambda v: np.maximum(v, 0), "clipped_relu": lambda v: np.clip(v, 0, 0.5)}
    for mode, i in [("relu", 0)] * 4 + [("clipped_relu", 0)] * 4 + [("relu", 0), ("relu", 1)] + [("relu", 1)] * 4:
        activation = dnn.ActivationDescriptor(mode, ceiling=0.5)
        _fill(handle, y, np.full(SHAPE, np.nan, np.float32))
        assert dnn.activation_forward(handle, x[i], activation, y) is y
        np.testing.assert_array_equal(handle.to_numpy(y), modes[mode](_host(i)))
    with pytest.raises(dnn.BadParam):
        dnn.activation_forward(handle, None, RELU, y)


def test_several_outputs_each_time(handle: Any) -> None:
    scale, bias, mean, variance = (handle.asarray(np.ones((1, 3, 1, 1), np.float32)) for _ in range(4))
    x, y, dx = handle.asarray(_host(0)), handle.asarray(_host(1)), handle.zeros(SHAPE)
    for _ in range(4):
        results = dnn.batch_normalization_backward(handle, x, y, scale, dx=dx, dscale=mean, dbias=bias)
        assert [result is wanted for result, wanted in zip(results, (dx, mean, bias), strict=True)] == 3 * [True]
    for _ in range(4):
        assert dnn.batch_normalization_forward_inference(handle, x, scale, bias, mean, variance, y) is y


def test_a_bound_call_is_not_looked_at(handle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y, beta=0.0)
    _fill(handle, x, _host(1))
    if handle.backend in ("cuda", "opencl"):
        monkeypatch.setattr(activation, "execute", None)
    assert dnn.activation_forward(handle, x, RELU, y, beta=0.0) is y
    np.testing.assert_array_equal(handle.to_numpy(y), np.maximum(_host(1), 0))


def test_the_same_tensors_given_otherwise(handle: Any) -> None:
    """By position and by name, with other modes and numbers, more arguments and fewer."""
    special = pytest.importorskip("scipy.special", reason="scipy is not installed")
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    axes = {"instance": (1, 2, 3), "channel": (1,)}
    calls = [
        (
            {"mode": mode, "algorithm": algorithm, **numbers},
            special.log_softmax if algorithm == "log" else special.softmax,
        )
        for mode in axes
        for algorithm in ("log", "accurate")
        for numbers in ({}, {"alpha": 2.0}, {"alpha": -1.0})
    ]
    for count in (1, 3):
        for words, function in calls:
            want = words.get("alpha", 1.0) * function(_host(0), axes[words["mode"]])
            for _ in range(count):
                _fill(handle, y, np.zeros(SHAPE, np.float32))
                assert dnn.softmax_forward(handle, x, y, **words) is y
                np.testing.assert_allclose(handle.to_numpy(y), want, rtol=1e-5, atol=1e-6)
            assert dnn.softmax_forward(handle, x=x, y=y, **words) is y
            assert dnn.softmax_forward(handle=handle, x=x, y=y, **words) is y
            np.testing.assert_allclose(handle.to_numpy(y), want, rtol=1e-5, atol=1e-6)


def test_arrays_are_not_kept_alive(handle: Any) -> None:
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    known = weakref.ref(x), weakref.ref(y)
    del x, y
    gc.collect()
    assert [ref() for ref in known] == [None, None]


def test_an_input_that_is_gone_and_left_out(handle: Any) -> None:
    x, y, scale = handle.asarray(_host(0)), handle.zeros(SHAPE), handle.asarray(np.ones((1, *SHAPE[1:]), np.float32))
    bias = handle.asarray(np.full((1, *SHAPE[1:]), 3, np.float32))
    for _ in range(4):
        dnn.normalization_forward(handle, x, scale, bias, y, mode="layer_norm")
    np.testing.assert_allclose(handle.to_numpy(y).mean((1, 2, 3)), 3, atol=1e-5)
    del bias
    gc.collect()
    for _ in range(4):
        dnn.normalization_forward(handle, x, scale, None, y, mode="layer_norm")
        np.testing.assert_allclose(handle.to_numpy(y).mean((1, 2, 3)), 0, atol=1e-5)


class Stand:
    """As much of a CuPy array as its guard looks at."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_guard_of_cupys_arrays(count: int) -> None:
    arrays = [Stand((2, 3)) for _ in range(count)]
    holds = guards.guard([weakref.ref(array) for array in arrays], Stand, guards.holds_shape)
    assert holds is not None and holds()
    for array in arrays:
        array.shape = (3, 2)
        assert not holds()
        array.shape = (2, 3)
    assert holds()
    del array
    arrays.pop()
    with pytest.raises(AttributeError):  # which a bound call takes for no
        holds()


def test_the_guard_of_numpys_arrays() -> None:
    x, y = np.zeros((2, 3), np.float32), np.zeros(6, np.float32)
    holds = guards.guard([weakref.ref(x), weakref.ref(y)], Stand, guards.holds_shape)
    assert holds is not None and holds()
    for change, back in (
        (lambda: setattr(x, "shape", (3, 2)), lambda: setattr(x, "shape", (2, 3))),
        (lambda: setattr(x, "dtype", np.int32), lambda: setattr(x, "dtype", np.float32)),
        (lambda: setattr(y.flags, "writeable", False), lambda: setattr(y.flags, "writeable", True)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            change()
            assert not holds()
            back()
        assert holds()
    with pytest.raises(ValueError, match="resize"):  # so that its memory stays where it is
        y.resize(600, refcheck=False)


def test_arrays_that_cannot_be_guarded() -> None:
    class Other:
        pass

    assert guards.guard([weakref.ref(other := Other())], Stand, guards.holds_shape) is None, other


@pytest.mark.parametrize("backend", BACKENDS)
def test_handles_do_not_refer_to_themselves(backend: str) -> None:
    handle = open_handle(backend)
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    handle.synchronize()
    gc.collect()
    gc.disable()
    try:
        known = weakref.ref(handle)
        del handle
        assert known() is None
    finally:
        gc.enable()


def test_a_shape_that_was_set_since(handle: Any) -> None:
    if handle.backend != "cuda":
        pytest.skip("only CuPy's arrays are known again without a look at their strides")
    x, y = handle.asarray(_host(0)), handle.zeros(SHAPE)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
    y.shape = (3, 2, 5, 7)
    with pytest.raises(dnn.BadParam, match="dims"):
        dnn.activation_forward(handle, x, RELU, y)
