"""Captured calls of every kind: every operation, C names, graphs, recurrent networks, dropout."""

from __future__ import annotations

from typing import Any

import brute_rnn
import numpy as np
import pytest
from captures import convolved, expect, fill, numbers, relu
from helper import compare, everywhere

import portadnn as dnn
import portadnn.graph as pg
from portadnn import cudnn, miopen
from portadnn.benchmarks.call import DEFAULTS, random_values
from portadnn.examples.three_ways import data, lenet_cudnn
from portadnn.problem import Problem, parse_line
from portadnn.tolerance import tolerance
from portadnn_backends.reference.outcomes import outcomes, terms

LINES = (
    "activation_backward x=f32:2x3x4x5 mode=tanh",
    "op_tensor a=f32:2x3x4x5 b=f32:2x3x4x5 operation=max",
    "set_tensor y=f32:2x3x4x5",
    "softmax_backward y=f32:2x3x4x5",
    "lrn_cross_channel_forward x=f32:2x3x4x5",
    "reduce_tensor a=f32:2x3x4x5 c=f32:2x1x4x5 operation=add",
    "batch_normalization_forward_training x=f32:2x3x4x5",
    "batch_normalization_backward x=f32:2x3x4x5",
    "normalization_forward x=f32:2x3x4x5 scale=f32:1x3x4x5 bias=f32:1x3x4x5",
    "pooling_backward x=f32:2x3x4x6 mode=max window=2,2 stride=2,2",
    "convolution_backward_data dx=f32:2x3x4x5 w=f32:4x3x3x3 dy=f32:2x4x4x5 padding=1,1",
    "convolution_backward_filter x=f32:2x3x4x5 dw=f32:4x3x3x3 dy=f32:2x4x4x5 padding=1,1",
    "convolution_bias_activation_forward x=f32:2x3x4x5 w=f32:4x3x3x3 padding=1,1 activation=relu",
    "spatial_tf_sampler_backward x=f32:2x3x4x5 dims=2,3,6,7",
    "rnn_forward_inference x=f32:3x2x4 w=f32:220x1x1 hidden_size=5",
)


def _refill(handle: Any, problem: Problem, arrays: dict[str, Any], seed: int) -> None:
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        values = random_values(spec, seed + problem.index(name))
        handle.device.write_bytes(arrays[name], values.view(np.uint8))


@everywhere()
@pytest.mark.parametrize("line", LINES)
def test_every_operation_replays_on_what_its_tensors_hold_then(handle: Any, line: str) -> None:
    problem, _ = parse_line(line)
    arrays = {name: handle.device.empty(spec) for name, spec in zip(problem.names, problem.tensors, strict=True)}
    _refill(handle, problem, arrays, 0)
    positional, keywords = problem.call_arguments(arrays)
    with handle.capture() as step:
        getattr(dnn, problem.op)(handle, *positional, **DEFAULTS.get(problem.op, {}), **keywords)
    scalars = tuple({**problem.scalars, **DEFAULTS.get(problem.op, {})}.values())
    for seed in (50, 100):
        _refill(handle, problem, arrays, seed)
        before = [handle.to_numpy(arrays[name]) for name in problem.names]
        step.replay()
        sums = terms(problem, before, scalars)
        for name, want in outcomes(problem, before, scalars).items():
            bound = tolerance(problem, want, sums[name], name)
            compare(handle.to_numpy(arrays[name]), want, bound, f"{line}: {name}")


# C names


def _layers(handle: Any) -> tuple[Any, list[Any]]:
    """Return what LeNet's layers by cuDNN's names share, and the layers, on a handle of ours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cudnn, "cudnnCreate", lambda backend: handle)
        shared = lenet_cudnn.Shared("")
    dims: tuple[int, ...] = (data.BATCH, 1, data.SIDE, data.SIDE)
    layers = []
    for number, (w, bias) in enumerate(data.lenet_filters()):
        layers.append(lenet_cudnn.Layer(shared, number, dims, w, bias))
        dims = layers[-1].dims
    return shared, layers


@everywhere()
def test_cudnns_names_train_as_without_a_capture(handle: Any) -> None:
    """The gradient is the target's, so that each step is one of forward, backward and moving the weights."""
    found = []
    for capture in (False, True):
        _, layers = _layers(handle)
        x, dy = (handle.empty(dims) for dims in (data.lenet_batches()[0][0].shape, (data.BATCH, 10, 1, 1)))

        def run(x: Any = x, dy: Any = dy, layers: Any = layers) -> None:
            for layer in layers:
                x = layer.forward(x)
            for layer in reversed(layers):
                dy = layer.backward(dy)

        step = None
        for images, targets in data.lenet_batches():
            fill(handle, x, images)
            fill(handle, dy, targets)
            if step is not None:
                step.replay()
            elif capture:
                with handle.capture() as step:
                    run()
            else:
                run()
        found.append([handle.to_numpy(layer.w) for layer in layers])
    for layer, (once, again) in enumerate(zip(*found, strict=True)):
        assert once.tobytes() == again.tobytes()
        assert not np.allclose(once, data.lenet_filters()[layer][0])  # it did learn


@everywhere()
def test_miopens_names(handle: Any) -> None:
    x, y, pooled = handle.asarray(numbers(0, 2, 3, 4, 6)), handle.empty((2, 3, 4, 6)), handle.empty((2, 3, 2, 3))
    large, small = miopen.miopenCreateTensorDescriptor(), miopen.miopenCreateTensorDescriptor()
    miopen.miopenSet4dTensorDescriptor(large, miopen.miopenFloat, 2, 3, 4, 6)
    miopen.miopenSet4dTensorDescriptor(small, miopen.miopenFloat, 2, 3, 2, 3)
    relu_desc, pool = miopen.miopenCreateActivationDescriptor(), miopen.miopenCreatePoolingDescriptor()
    miopen.miopenSetActivationDescriptor(relu_desc, miopen.miopenActivationRELU, 0.0, 0.0, 0.0)
    miopen.miopenSet2dPoolingDescriptor(pool, miopen.miopenPoolingAverage, 2, 2, 0, 0, 2, 2)
    with handle.capture() as step:
        miopen.miopenActivationForward(handle, relu_desc, 1, large, x, 0, large, y)
        miopen.miopenPoolingForward(handle, pool, 1, large, y, 0, small, pooled, False, None, 0)
    for seed in (1, 2):
        fill(handle, x, numbers(seed, 2, 3, 4, 6))
        step.replay()
        expect(handle, pooled, relu(numbers(seed, 2, 3, 4, 6)).reshape(2, 3, 2, 2, 3, 2).mean((3, 5)))


# graphs


def _graph(handle: Any, mode: Any) -> tuple[Any, dict[str, Any]]:
    """Return relu(conv(x, w) + bias) * alpha as a built graph, and its tensors."""
    graph = pg.pygraph(
        handle=handle,
        io_data_type=pg.data_type.FLOAT,
        intermediate_data_type=pg.data_type.FLOAT,
        compute_data_type=pg.data_type.FLOAT,
    )

    def given(*dims: int) -> Any:
        return graph.tensor(dim=list(dims), stride=[int(np.prod(dims[i + 1 :])) for i in range(4)])

    tensors = {"x": given(2, 3, 6, 8), "w": given(4, 3, 3, 3), "bias": given(1, 4, 1, 1)}
    tensors["alpha"] = graph.tensor_scalar(2.0, pg.scalar_type.RUNTIME_PARAM)
    y = graph.conv_fprop(tensors["x"], tensors["w"], padding=[1, 1], stride=[1, 1], dilation=[1, 1])
    y = graph.relu(graph.bias(y, tensors["bias"]))
    tensors["y"] = graph.mul(y, tensors["alpha"]).set_output(True).set_dim([2, 4, 6, 8]).set_stride([192, 48, 8, 1])
    graph.build([mode])
    return graph, tensors


@everywhere()
@pytest.mark.parametrize("bound", [False, True], ids=["new", "bound before"])
@pytest.mark.parametrize("mode", ["A", "FALLBACK"])
def test_graphs_fused_and_node_by_node(handle: Any, mode: str, bound: bool) -> None:
    graph, tensors = _graph(handle, getattr(pg.heur_mode, mode))
    host = {"x": numbers(0, 2, 3, 6, 8), "w": numbers(1, 4, 3, 3, 3), "bias": numbers(2, 1, 4, 1, 1)}
    arrays = {name: handle.asarray(values) for name, values in host.items()}
    y = handle.empty((2, 4, 6, 8))
    pack = {**{tensors[name]: array for name, array in arrays.items()}, tensors["y"]: y, tensors["alpha"]: 3.0}
    if bound:
        call = graph.bind(pack)
        for _ in range(3):
            call()
    with handle.capture() as step:
        if bound:
            call()
        else:
            graph.execute(pack)
    del graph
    for seed in (10, 20):
        host = {name: numbers(seed + i, *values.shape) for i, (name, values) in enumerate(host.items())}
        for name, values in host.items():
            fill(handle, arrays[name], values)
        fill(handle, y, np.full((2, 4, 6, 8), np.nan, np.float32))
        step.replay()
        expect(handle, y, 3 * relu(convolved(host["x"], host["w"], 1) + host["bias"]))


@everywhere()
def test_graphs_on_host_memory(handle: Any) -> None:
    """They are captured where the device computes in it."""
    graph, tensors = _graph(handle, pg.heur_mode.A)
    x, w, bias, y = (numbers(i, *tensors[name].get_dim()) for i, name in enumerate(("x", "w", "bias", "y")))
    pack = dict(zip((tensors[name] for name in ("x", "w", "bias", "y", "alpha")), (x, w, bias, y, 1.0), strict=True))
    with handle.capture() as step:
        if not handle.device.host_memory:
            with pytest.raises(dnn.NotSupported, match="copies an array from the host"):
                graph.execute(pack)
            return
        graph.execute(pack)
    for seed in (10, 20):
        x[...], w[...] = numbers(seed, *x.shape), numbers(seed + 1, *w.shape)
        step.replay()
        np.testing.assert_allclose(y, relu(convolved(x, w, 1) + bias), rtol=1e-5, atol=1e-4)


@everywhere()
def test_measurements_are_refused(handle: Any) -> None:
    graph, tensors = _graph(handle, pg.heur_mode.A)
    pack = {tensors[n]: handle.zeros(tensors[n].get_dim()) for n in ("x", "w", "bias", "y")}
    with handle.capture(), pytest.raises(dnn.NotSupported, match="measures plans"):
        graph.autotune({**pack, tensors["alpha"]: 1.0})


# recurrent networks and dropout


@everywhere()
def test_recurrent_networks(handle: Any) -> None:
    rnn, steps, batch, features, hidden = dnn.RNNDescriptor(4, 2, "lstm", "bidirectional"), 3, 2, 3, 4
    with dnn.Handle("reference") as host:
        size = dnn.get_rnn_params_size(host, rnn, (1, features, 1)) // 4
        w = numbers(1, size, 1, 1)
        arrays = [numbers(2, steps, batch, features), numbers(3, 4, batch, hidden), numbers(4, 4, batch, hidden)]
        x, hx, cx, parameters = map(handle.asarray, (*arrays, w))
        y, hy, cy = handle.empty((steps, batch, 2 * hidden)), handle.empty((4, batch, hidden)), None
        with handle.capture() as step:
            dnn.rnn_forward_inference(handle, x, hx, cx, parameters, rnn, y, hy, cy)
        for seed in (10, 20):
            arrays = [numbers(seed + i, *a.shape) for i, a in enumerate(arrays)]
            for array, values in zip((x, hx, cx), arrays, strict=True):
                fill(handle, array, values)
            step.replay()
            sequences = list(arrays[0].astype(np.float64).transpose(1, 0, 2))
            want, last, _ = brute_rnn.run(host, rnn, "lstm", sequences, *arrays[1:], w)
            expect(handle, y, np.stack(want, 1), 1e-4)
            expect(handle, hy, last, 1e-4)


@everywhere()
def test_dropout_draws_new_masks_as_its_calls_would(handle: Any) -> None:
    x = handle.asarray(np.ones((2, 3, 20, 10), np.float32))
    masks: list[list[Any]] = []
    for capture in (False, True):
        dropout = dnn.set_dropout_descriptor(handle, 0.5, None, 7)
        reserve = handle.empty_bytes(dnn.dropout_get_reserve_space_size(x.shape))
        dx, step = handle.empty(x.shape), None
        masks.append([])
        for _ in range(4):
            if step is not None:
                step.replay()
            elif capture:
                with handle.capture() as step:
                    dnn.dropout_forward(handle, x, dropout, None, reserve)
                    dnn.dropout_backward(handle, x, dropout, reserve, dx)
            else:
                dnn.dropout_forward(handle, x, dropout, None, reserve)
                dnn.dropout_backward(handle, x, dropout, reserve, dx)
            masks[-1].append(handle.to_numpy(dx))
    for called, replayed in zip(*masks, strict=True):
        np.testing.assert_array_equal(called, replayed)
        assert set(np.unique(replayed)) == {0.0, 2.0}
    assert len({mask.tobytes() for mask in masks[1]}) == 4
