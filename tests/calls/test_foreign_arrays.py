"""Arrays of other libraries where backends compute in host memory: operands, workspaces, states and reserve spaces.

Unified calls, C names and graphs take them where they lie; every call is repeated, so that the bound path is taken.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from host_arrays import (
    CONV,
    DIMS,
    LIBRARIES,
    RELU,
    built,
    descriptor,
    four_times,
    host_handle,
    libraries,
    numbers,
    own,
    same,
)

import portadnn as dnn
from portadnn import cudnn

handle = host_handle


@libraries
def test_operands(handle, library):
    make = LIBRARIES[library]
    x, y = numbers(), np.zeros(DIMS, np.float32)
    given, result = make(x), make(y)

    def check():
        same(handle, y, dnn.softmax_forward(handle, own(handle, x)))

    four_times(lambda: dnn.softmax_forward(handle, given, result), [x], check)
    assert dnn.softmax_forward(handle, given, result) is result


@libraries
def test_workspaces_and_size_queries(handle, library):
    make, algo = LIBRARIES[library], "GEMM" if handle.backend == "opencl" else None
    x, w, y = numbers(), numbers((4, 3, 3, 3), 1), np.zeros((2, 4, 5, 4), np.float32)
    given = [make(array) for array in (x, w)]
    size = dnn.get_convolution_forward_workspace_size(
        handle, *given, CONV, make(y), "GEMM" if handle.backend == "opencl" else None
    )
    assert size > 0 or handle.backend == "reference"
    arena = np.full(size + 512, 0xA5, np.uint8)
    first = -arena.ctypes.data % 64 + 64
    workspace, result = make(arena[first : first + size]), make(y)

    def check():
        same(handle, y, dnn.convolution_forward(handle, own(handle, x), own(handle, w), CONV))

    four_times(
        lambda: dnn.convolution_forward(handle, *given, CONV, result, algo=algo, workspace=workspace), [x, w], check
    )
    assert (arena[:first] == 0xA5).all() and (arena[first + size :] == 0xA5).all()
    if size:
        with pytest.raises(dnn.BadParam, match=f"workspace: expected at least {size} bytes"):
            dnn.convolution_forward(handle, *given, CONV, result, algo=algo, workspace=make(arena[: size - 1]))


@libraries
def test_statistics(handle, library):
    """Running statistics are read and written by each call."""
    make = LIBRARIES[library]
    x, y = numbers(), np.zeros(DIMS, np.float32)
    p = [numbers((1, 3, 1, 1), i) for i in range(4)]  # scale, bias, running mean and variance
    theirs = [own(handle, array) for array in p]
    given = [make(array) for array in (x, *p[:2], y, *p[2:])]

    def call():
        dnn.batch_normalization_forward_training(handle, *given, exponential_average_factor=0.5)

    def check():
        want = dnn.batch_normalization_forward_training(
            handle, own(handle, x), *theirs[:2], None, *theirs[2:], exponential_average_factor=0.5
        )
        for got, due in zip((y, *p[2:]), (want, *theirs[2:]), strict=True):
            same(handle, got, due)

    four_times(call, [x], check)


@libraries
def test_states_and_reserve_spaces_of_dropout(handle, library):
    make = LIBRARIES[library]
    x, y, dx = numbers(), np.zeros(DIMS, np.float32), np.zeros(DIMS, np.float32)
    states = np.zeros(dnn.dropout_get_states_size(handle), np.uint8)
    shaped = make(x) if hasattr(make(x), "shape") else DIMS  # the query knows no handle, which could look at others
    reserve = np.zeros(dnn.dropout_get_reserve_space_size(shaped), np.uint8)
    dropout = dnn.set_dropout_descriptor(handle, 0.5, make(states), 3)
    there = dnn.set_dropout_descriptor(handle, 0.5, own(handle, states), 3)
    assert states.any()
    given = make(x), make(y), make(reserve), make(dx)

    def call():
        dnn.dropout_forward(handle, given[0], dropout, given[1], given[2])
        dnn.dropout_backward(handle, given[0], dropout, given[2], given[3])

    def check():
        want, mask = dnn.dropout_forward(handle, own(handle, x), there)
        same(handle, y, want)
        np.testing.assert_array_equal(reserve, handle.to_numpy(mask))
        np.testing.assert_array_equal(dx, y)

    four_times(call, [x], check)


@libraries
def test_networks(handle, library):
    make = LIBRARIES[library]
    rnn, size = dnn.RNNDescriptor(4), (3, 2, 5)
    x, hx = numbers(size), numbers((1, 2, 4), 1)
    count = dnn.get_rnn_params_size(handle, rnn, (2, 5, 1), "float32") // 4
    w, y = numbers((count, 1, 1), 2) - 0.5, np.zeros((3, 2, 4), np.float32)
    hy, dx, dw = np.zeros((1, 2, 4), np.float32), np.zeros(size, np.float32), np.zeros((count, 1, 1), np.float32)
    space = np.zeros(dnn.get_rnn_training_reserve_size(handle, rnn, make(x)) + 64, np.uint8)
    reserve = space[-space.ctypes.data % 64 :]
    work = np.zeros(dnn.get_rnn_workspace_size(handle, rnn, make(x)) + 64, np.uint8)
    work = work[-work.ctypes.data % 64 :]
    arrays = {"x": x, "hx": hx, "w": w, "y": y, "hy": hy, "dx": dx, "dw": dw, "reserve": reserve, "work": work}
    mine = {name: make(array) for name, array in arrays.items()}

    def steps(t):
        scratch = {"workspace": t.get("work")}
        dnn.rnn_forward_training(
            *(handle, t["x"], t["hx"], None, t["w"], rnn, t["y"], t["hy"], None, t["reserve"]), **scratch
        )
        dnn.rnn_backward_data(
            *(handle, t["y"], t["y"], None, None, t["w"], t["hx"], None, rnn, t["dx"], None, None, t["reserve"]),
            **scratch,
        )
        dnn.set_tensor(handle, t["dw"], 0.0)
        dnn.rnn_backward_weights(handle, t["x"], t["hx"], t["y"], t["reserve"], rnn, t["dw"], **scratch)

    def check():
        theirs = {name: own(handle, array) for name, array in arrays.items() if name != "work"}
        steps(theirs)
        for name in ("y", "hy", "dx", "dw"):
            same(handle, arrays[name], theirs[name])

    four_times(lambda: steps(mine), [x, w], check)


@libraries
def test_c_names(handle, library):
    """Memory is given by arrays of any dims, also of bytes; the descriptor alone says how it is read."""
    make = LIBRARIES[library]
    x, y = numbers(), np.zeros(DIMS, np.float32)
    desc, relu = descriptor(x), cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(relu, cudnn.CUDNN_ACTIVATION_TANH, 0, 0.0)
    for memory, result in ((x, y), (x.reshape(-1), y.reshape(-1)), (x.reshape(-1).view(np.uint8), y.view(np.uint8))):
        given = make(memory), make(result)
        y[...] = 0

        def call(given=given):
            cudnn.cudnnActivationForward(handle, relu, 1.0, desc, given[0], 0.0, desc, given[1])

        four_times(call, [x], lambda: np.testing.assert_allclose(y, np.tanh(x), rtol=1e-5))
    with pytest.raises(dnn.BadParam, match=r"y: expected a buffer of at least 480 bytes, got 476 bytes"):
        cudnn.cudnnActivationForward(handle, relu, 1.0, desc, make(x), 0.0, desc, make(y.reshape(-1)[1:]))


@libraries
def test_graphs(handle, library):
    make = LIBRARIES[library]
    graph, tensors = built(handle)
    x, w = numbers(), numbers((3, 3, 3, 3), 1)
    y, z = np.zeros(DIMS, np.float32), np.zeros(DIMS, np.float32)
    pack = dict(zip(tensors, map(make, (x, w, y, z)), strict=True))
    space = np.zeros(graph.get_workspace_size() + 64, np.uint8)
    workspace = make(space[-space.ctypes.data % 64 :])

    def check():
        want = dnn.convolution_forward(handle, own(handle, x), own(handle, w), CONV)
        same(handle, y, dnn.activation_forward(handle, want, RELU))
        np.testing.assert_array_equal(z, -y)

    four_times(lambda: graph.execute(pack, workspace), [x, w], check)


def test_repeated_packs_in_host_memory_are_bound(handle):
    """On CPUs of OpenCL they cost no copies: nothing but launches is done again."""
    if handle.backend != "opencl":
        pytest.skip("the reference has no launches to bind")
    graph, tensors = built(handle)
    pack = dict(zip(tensors, (numbers(), numbers((3, 3, 3, 3)), numbers(), numbers()), strict=True))
    before = handle.cache_info().calls
    for _ in range(3):
        graph.execute(pack)
    assert handle.cache_info().calls == before + 1


@libraries
def test_matrices(handle, library):
    make = LIBRARIES[library]
    x, y, dx = numbers((6, 10)), np.zeros((6, 10), np.float32), np.zeros((6, 10), np.float32)
    row = numbers((1, 10), 3)
    mx, my, mdx, mrow = map(make, (x, y, dx, row))

    def softmax():
        dnn.softmax_forward(handle, mx, my)
        dnn.softmax_backward(handle, my, mx, mdx)

    def check_softmax():
        e = np.exp(x - x.max(1, keepdims=True))
        due = e / e.sum(1, keepdims=True)
        np.testing.assert_allclose(y, due, rtol=1e-5)
        np.testing.assert_allclose(dx, due * (x - (x * due).sum(1, keepdims=True)), rtol=1e-3, atol=1e-6)

    four_times(softmax, [x], check_softmax)
    tanh = dnn.ActivationDescriptor("tanh")
    four_times(
        lambda: dnn.activation_forward(handle, mx, tanh, my),
        [x],
        lambda: np.testing.assert_allclose(y, np.tanh(x), rtol=1e-5),
    )
    four_times(
        lambda: dnn.op_tensor(handle, "add", mx, mrow, my),
        [x],
        lambda: np.testing.assert_allclose(y, x + row, rtol=1e-6),
    )
    dropout = dnn.set_dropout_descriptor(handle, 0.5, seed=3)
    out, _ = dnn.dropout_forward(handle, mx, dropout, my)
    assert out is my and set(np.unique(np.round(y / x, 4))) == {0.0, 2.0}


def test_jax(handle):
    """JAX's arrays go in through DLPack; they cannot be written."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_device", jax.devices("cpu")[0])  # where it has a GPU, it puts arrays there
    x, y = jnp.asarray(numbers()), np.zeros(DIMS, np.float32)
    for _ in range(4):
        dnn.activation_forward(handle, x, RELU, y)
        np.testing.assert_array_equal(y, np.asarray(x))
    with pytest.raises(dnn.BadParam):
        dnn.activation_forward(handle, y, RELU, x)
    graph, tensors = built(handle)
    z = np.zeros(DIMS, np.float32)
    graph.execute(
        dict(zip(tensors, (x, jnp.asarray(numbers((3, 3, 3, 3)))), strict=False)) | {tensors[2]: y, tensors[3]: z}
    )
    np.testing.assert_array_equal(z, -y)
