"""The calls that are made on random views: each with its operands, by the unified functions and by cuDNN's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn


@dataclass(frozen=True)
class Operand:
    """A tensor of a call. `packed` ones have no strides of their own; `compared` outputs equal the reference's."""

    dims: tuple[int, ...]
    written: bool = False
    read: bool = True
    packed: bool = False
    compared: bool = True
    broadcast: bool = True
    dtype: str = ""  # that of the call
    low: float = -1.0  # numbers are drawn from there to 1
    below: int = 1  # integers are drawn from 0 to less than that
    like: str = ""  # the operand whose strides it must have


@dataclass
class Given:
    """What a call is made with: tensors by name, and for C names descriptors and memory as well."""

    handle: dnn.Handle
    tensors: Mapping[str, Any]
    workspace: Any = None
    size: int = 0
    memory: Mapping[str, Any] = field(default_factory=dict)
    layouts: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], np.dtype[Any]]] = field(default_factory=dict)
    plain: bool = False  # whether any algorithm will do

    def __getitem__(self, name: str) -> Any:
        return self.tensors[name]

    def pair(self, name: str) -> tuple[Any, Any]:
        """Return descriptor and memory, as the C names take them."""
        dims, steps, dtype = self.layouts[name]
        descriptor = cudnn.cudnnCreateTensorDescriptor()
        kind = int(dnn.DataType.of(dtype))
        cudnn.cudnnSetTensorNdDescriptor(descriptor, kind, len(dims), dims, steps)
        return descriptor, self.memory[name]

    def filter(self, name: str) -> tuple[Any, Any]:
        """Return the same of a filter, which is packed."""
        dims, _, dtype = self.layouts[name]
        descriptor = cudnn.cudnnCreateFilterDescriptor()
        cudnn.cudnnSetFilterNdDescriptor(descriptor, int(dnn.DataType.of(dtype)), 0, len(dims), dims)
        return descriptor, self.memory[name]


Call = Callable[[Given], Any]


@dataclass(frozen=True)
class Operation:
    """A call, or several in a row (`steps`); `size` asks for the workspace, where there is one."""

    name: str
    operands: Mapping[str, Operand]
    unified: Call
    named: Call | None = None
    size: Call | None = None
    types: tuple[str, ...] = ("float32", "float32", "float16", "float64")
    steps: int = 2


IN = Operand
Draw = Callable[[np.random.Generator], Operation]


def _out(*dims: int, **more: Any) -> Operand:
    return Operand(dims, written=True, broadcast=False, **more)


def _image(rng: np.random.Generator) -> tuple[int, ...]:
    return (int(rng.integers(1, 4)), int(rng.integers(1, 6)), int(rng.integers(3, 8)), int(rng.integers(3, 8)))


def _forward_and_backward(x: tuple[int, ...], y: tuple[int, ...]) -> dict[str, Operand]:
    """Return the operands of an operation and its gradient, whose strides have to be those of what they belong to."""
    inputs = {"x": IN(x, broadcast=False), "dy": IN(y, like="y")}
    return inputs | {"y": _out(*y), "dx": _out(*x, like="x")}


def _convolution(direction: str, rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    k, r = int(rng.integers(1, 7)), int(rng.choice([1, 3]))
    conv = dnn.ConvolutionDescriptor((r // 2, r // 2))
    x, f, y = (n, c, h, w), (k, c, r, r), (n, k, h, w)
    order = {"forward": ("x", "w", "y"), "backward_data": ("w", "dy", "dx"), "backward_filter": ("x", "dy", "dw")}
    a, b, out = order[direction]
    dims = {"x": x, "dx": x, "w": f, "dw": f, "y": y, "dy": y}
    algorithms = {"forward": 8, "backward_data": 6, "backward_filter": 7}
    algo = int(rng.integers(algorithms[direction]))
    free = rng.integers(2)  # half of them choose their own algorithm
    operands = {name: IN(dims[name], packed=name in ("w", "dw")) for name in (a, b)}
    operands[out] = _out(*dims[out], packed=out == "dw")
    run = getattr(dnn, f"convolution_{direction}")
    query = getattr(dnn, f"get_convolution_{direction}_workspace_size")

    def chosen(g: Given) -> dict[str, Any]:
        return {} if free or g.plain else {"algo": algo}

    def named(g: Given) -> None:
        c_conv = cudnn.cudnnCreateConvolutionDescriptor()
        cudnn.cudnnSetConvolution2dDescriptor(c_conv, r // 2, r // 2, 1, 1, 1, 1, 1)
        first, second, last = ((g.filter if name in ("w", "dw") else g.pair)(name) for name in (a, b, out))
        call = getattr(cudnn, f"cudnnConvolution{direction.title().replace('_', '')}")
        call(g.handle, 1.0, *first, *second, c_conv, algo, g.workspace, g.size, 0.0, *last)

    return Operation(
        f"convolution_{direction} algo={'any' if free else algo}",
        operands,
        lambda g: run(g.handle, g[a], g[b], conv, g[out], workspace=g.workspace, **chosen(g)),
        named,
        lambda g: query(g.handle, g[a], g[b], conv, g[out], **chosen(g)),
        steps=1,
    )


def _bias(rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    return Operation(
        "convolution_backward_bias",
        {"dy": IN((n, c, h, w)), "db": _out(1, c, 1, 1)},
        lambda g: dnn.convolution_backward_bias(g.handle, g["dy"], g["db"]),
        lambda g: cudnn.cudnnConvolutionBackwardBias(g.handle, 1.0, *g.pair("dy"), 0.0, *g.pair("db")),
        steps=1,
    )


def _fused(rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    k = int(rng.integers(1, 7))
    conv, relu = dnn.ConvolutionDescriptor((1, 1)), dnn.ActivationDescriptor("relu")
    y = (n, k, h, w)
    operands = {"x": IN((n, c, h, w)), "w": IN((k, c, 3, 3)), "bias": IN((1, k, 1, 1)), "z": IN(y), "y": _out(*y)}

    def arguments(g: Given) -> tuple[Any, ...]:
        return g.handle, g["x"], g["w"], conv, g["bias"], relu, g["y"]

    return Operation(
        "convolution_bias_activation_forward",
        operands,
        lambda g: dnn.convolution_bias_activation_forward(*arguments(g), z=g["z"], alpha2=0.5, workspace=g.workspace),
        None,
        lambda g: dnn.get_convolution_bias_activation_forward_workspace_size(*arguments(g), z=g["z"]),
        ("float32",),
        1,
    )


def _pooling(rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    mode = int(rng.integers(3))
    pooling = dnn.PoolingDescriptor(mode, (2, 2), (0, 0), (2, 2))
    descriptor = cudnn.cudnnCreatePoolingDescriptor()
    cudnn.cudnnSetPooling2dDescriptor(descriptor, mode, 0, 2, 2, 0, 0, 2, 2)
    x, y = (n, c, h, w), (n, c, h // 2, w // 2)
    operands = _forward_and_backward(x, y)

    def unified(g: Given) -> None:
        dnn.pooling_forward(g.handle, g["x"], pooling, g["y"])
        dnn.pooling_backward(g.handle, g["y"], g["dy"], g["x"], pooling, g["dx"])

    def named(g: Given) -> None:
        x, y, dy, dx = map(g.pair, ("x", "y", "dy", "dx"))
        cudnn.cudnnPoolingForward(g.handle, descriptor, 1.0, *x, 0.0, *y)
        cudnn.cudnnPoolingBackward(g.handle, descriptor, 1.0, *y, *dy, *x, 0.0, *dx)

    return Operation(f"pooling {mode}", operands, unified, named)


def _activation(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    mode = int(rng.integers(3))
    activation = dnn.ActivationDescriptor(mode)
    descriptor = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(descriptor, mode, 0, 0.0)
    operands = _forward_and_backward(dims, dims)

    def unified(g: Given) -> None:
        dnn.activation_forward(g.handle, g["x"], activation, g["y"])
        dnn.activation_backward(g.handle, g["y"], g["dy"], g["x"], activation, g["dx"])

    def named(g: Given) -> None:
        x, y, dy, dx = map(g.pair, ("x", "y", "dy", "dx"))
        cudnn.cudnnActivationForward(g.handle, descriptor, 1.0, *x, 0.0, *y)
        cudnn.cudnnActivationBackward(g.handle, descriptor, 1.0, *y, *dy, *x, 0.0, *dx)

    return Operation(f"activation {mode}", operands, unified, named)


def _softmax(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    algorithm, mode = int(rng.integers(3)), int(rng.integers(2))
    how = {"algorithm": dnn.SoftmaxAlgorithm(algorithm), "mode": dnn.SoftmaxMode(mode)}
    operands = _forward_and_backward(dims, dims)

    def unified(g: Given) -> None:
        dnn.softmax_forward(g.handle, g["x"], g["y"], **how)
        dnn.softmax_backward(g.handle, g["y"], g["dy"], g["dx"], **how)

    def named(g: Given) -> None:
        x, y, dy, dx = map(g.pair, ("x", "y", "dy", "dx"))
        cudnn.cudnnSoftmaxForward(g.handle, algorithm, mode, 1.0, *x, 0.0, *y)
        cudnn.cudnnSoftmaxBackward(g.handle, algorithm, mode, 1.0, *y, *dy, 0.0, *dx)

    return Operation(f"softmax {algorithm} {mode}", operands, unified, named)


def _lrn(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    lrn, descriptor = dnn.LRNDescriptor(3), cudnn.cudnnCreateLRNDescriptor()
    cudnn.cudnnSetLRNDescriptor(descriptor, 3, lrn.alpha, lrn.beta, lrn.k)
    operands = _forward_and_backward(dims, dims)

    def unified(g: Given) -> None:
        dnn.lrn_cross_channel_forward(g.handle, g["x"], lrn, g["y"])
        dnn.lrn_cross_channel_backward(g.handle, g["y"], g["dy"], g["x"], lrn, g["dx"])

    def named(g: Given) -> None:
        x, y, dy, dx = map(g.pair, ("x", "y", "dy", "dx"))
        cudnn.cudnnLRNCrossChannelForward(g.handle, descriptor, 0, 1.0, *x, 0.0, *y)
        cudnn.cudnnLRNCrossChannelBackward(g.handle, descriptor, 0, 1.0, *y, *dy, *x, 0.0, *dx)

    return Operation("lrn_cross_channel", operands, unified, named)


def _divisive(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    lrn = dnn.LRNDescriptor(3)
    operands = {"x": IN(dims), "means": IN(dims, low=0.5), "dy": IN(dims)}
    operands |= {"y": _out(*dims), "dx": _out(*dims), "dmeans": _out(*dims)}

    def unified(g: Given) -> None:
        dnn.divisive_normalization_forward(g.handle, g["x"], g["means"], lrn, g["y"], workspace=g.workspace)
        dnn.divisive_normalization_backward(
            g.handle, g["x"], g["means"], g["dy"], lrn, g["dx"], g["dmeans"], workspace=g.workspace
        )

    return Operation("divisive_normalization", operands, unified)


def _tensor_ops(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    bias = tuple(1 if rng.integers(2) else d for d in dims)
    descriptor = cudnn.cudnnCreateOpTensorDescriptor()
    cudnn.cudnnSetOpTensorDescriptor(descriptor, 0, 0, 0)
    operands = {"a": IN(dims), "b": IN(bias), "c": _out(*dims), "y": _out(*dims)}

    def unified(g: Given) -> None:
        dnn.op_tensor(g.handle, "add", g["a"], g["b"], g["c"])
        dnn.transform_tensor(g.handle, g["c"], g["y"])
        dnn.add_tensor(g.handle, g["b"], g["y"])
        dnn.scale_tensor(g.handle, g["y"], 0.5)

    def named(g: Given) -> None:
        a, b, c, y = map(g.pair, operands)
        cudnn.cudnnOpTensor(g.handle, descriptor, 1.0, *a, 1.0, *b, 0.0, *c)
        cudnn.cudnnTransformTensor(g.handle, 1.0, *c, 0.0, *y)
        cudnn.cudnnAddTensor(g.handle, 1.0, *b, 1.0, *y)
        cudnn.cudnnScaleTensor(g.handle, *y, 0.5)

    return Operation("op, transform, add and scale_tensor", operands, unified, named, types=("float32", "float64"))


def _ctc_loss(rng: np.random.Generator) -> Operation:
    steps, batch, classes = (int(rng.integers(low, 9)) for low in (6, 1, 2))
    lengths = [int(n) for n in rng.integers(0, 4, batch)]
    labels = [int(c) for c in rng.integers(0, classes, sum(lengths))]
    used = [int(n) for n in rng.integers(6, steps + 1, batch)]  # enough for any label: costs are finite
    given = labels, lengths, used
    dims = (steps, batch, classes)
    operands = {"probs": IN(dims, broadcast=False), "costs": _out(batch), "gradients": _out(*dims)}

    def unified(g: Given) -> None:
        outputs = {"costs": g["costs"], "gradients": g["gradients"]}
        dnn.ctc_loss(g.handle, g["probs"], *given, **outputs, workspace=g.workspace)

    def size(g: Given) -> int:
        return dnn.get_ctc_loss_workspace_size(g.handle, g["probs"], *(_integers(v) for v in given))

    return Operation("ctc_loss", operands, unified, size=size, steps=1)


def _integers(values: list[int]) -> dnn.TensorSpec:
    return dnn.TensorSpec.packed(dnn.DataType.INT32, (max(len(values), 1),))


def _set_tensor(rng: np.random.Generator) -> Operation:
    return Operation(
        "set_tensor",
        {"y": _out(*_image(rng))},
        lambda g: dnn.set_tensor(g.handle, g["y"], 2.5),
        lambda g: cudnn.cudnnSetTensor(g.handle, *g.pair("y"), 2.5),
        steps=1,
    )


def _reduce(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    small = tuple(1 if rng.integers(3) else d for d in dims)
    operation = int(rng.choice([0, 2, 3, 5]))
    indices = operation in (2, 3) and small != dims and bool(rng.integers(2))
    reduce = dnn.ReduceTensorDescriptor(operation, indices=int(indices))
    descriptor = cudnn.cudnnCreateReduceTensorDescriptor()
    cudnn.cudnnSetReduceTensorDescriptor(descriptor, operation, 0, 0, int(indices), 0)
    operands = {"a": IN(dims, broadcast=False), "c": _out(*small)}
    if indices:
        operands["i"] = _out(*small, packed=True, dtype="int32")

    def unified(g: Given) -> None:
        given = g["i"] if indices else None
        dnn.reduce_tensor(g.handle, reduce, g["a"], g["c"], indices=given, workspace=g.workspace)

    def named(g: Given) -> None:
        given, nbytes = (g.memory["i"], 4 * int(np.prod(small))) if indices else (None, 0)
        pairs = *g.pair("a"), 0.0, *g.pair("c")
        cudnn.cudnnReduceTensor(g.handle, descriptor, given, nbytes, g.workspace, g.size, 1.0, *pairs)

    return Operation(
        f"reduce_tensor {operation}{' with indices' * indices}",
        operands,
        unified,
        named,
        lambda g: dnn.get_reduction_workspace_size(g.handle, reduce, g["a"], g["c"]),
        steps=1,
    )


def _batch_norm(rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    n += 1  # a variance of one element has nothing to say
    p = (1, c, 1, 1)
    operands = {"x": IN((n, c, h, w), broadcast=False), "dy": IN((n, c, h, w))}
    operands |= {name: IN(p, packed=True) for name in ("scale", "bias")}
    operands |= {name: _out(n, c, h, w) for name in ("y", "dx")}
    operands |= {name: _out(*p, packed=True) for name in ("mean", "variance", "saved", "inverse", "dscale", "dbias")}

    def unified(g: Given) -> None:
        names = ("x", "scale", "bias", "y", "mean", "variance", "saved", "inverse")
        dnn.batch_normalization_forward_training(g.handle, *map(g.tensors.get, names))
        names = ("x", "dy", "scale", "saved", "inverse", "dx", "dscale", "dbias")
        dnn.batch_normalization_backward(g.handle, *map(g.tensors.get, names))

    def named(g: Given) -> None:
        m, parameters = g.memory, g.pair("scale")[0]
        x, y, dy, dx = g.pair("x"), g.pair("y"), g.pair("dy"), g.pair("dx")
        cudnn.cudnnBatchNormalizationForwardTraining(
            *(g.handle, 1, 1.0, 0.0, *x, *y, parameters, m["scale"], m["bias"], 1.0, m["mean"], m["variance"], 1e-5),
            *(m["saved"], m["inverse"]),
        )
        cudnn.cudnnBatchNormalizationBackward(
            *(g.handle, 1, 1.0, 0.0, 1.0, 0.0, *x, *dy, *dx, parameters, m["scale"], m["dscale"], m["dbias"], 1e-5),
            *(m["saved"], m["inverse"]),
        )

    return Operation("batch_normalization", operands, unified, named, types=("float32", "float64"))


def _batch_norm_parts(rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    n, ranks = n + 1, int(rng.integers(1, 4))
    p, gathered = (1, c, 1, 1), (ranks, c, 1, 1)
    operands = {"x": IN((n, c, h, w), broadcast=False), "dy": IN((n, c, h, w))}
    operands |= {name: IN(p, packed=True) for name in ("scale", "bias", "saved", "inverse")}
    operands |= {name: IN(gathered) for name in ("means", "dscales", "dbiases")}
    operands |= {"variances": IN(gathered, low=0.5), "counts": IN((ranks, 1, 1, 1), low=0.5)}
    operands |= {name: _out(n, c, h, w) for name in ("y", "dx")}
    names = ("mean", "variance", "running", "spread", "new_saved", "new_inverse", "share", "shift", "dscale", "dbias")
    operands |= {name: _out(*p) for name in names}

    def unified(g: Given) -> None:
        t = g.tensors
        dnn.batch_normalization_statistics(g.handle, t["x"], t["mean"], t["variance"])
        names = ("x", "scale", "bias", "means", "variances", "counts", "y", "running", "spread", "new_saved")
        dnn.batch_normalization_apply(g.handle, *map(t.get, names), t["new_inverse"])
        names = ("x", "dy", "saved", "inverse", "share", "shift")
        dnn.batch_normalization_backward_statistics(g.handle, *map(t.get, names))
        names = ("x", "dy", "scale", "saved", "inverse", "dscales", "dbiases", "counts", "dx", "dscale", "dbias")
        dnn.batch_normalization_backward_apply(g.handle, *map(t.get, names))

    return Operation("batch_normalization halves", operands, unified, types=("float32", "float64"))


def _layer_norm(rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    p, s = (1, c, h, w), (n, 1, 1, 1)
    operands = {"x": IN((n, c, h, w), broadcast=False), "scale": IN(p, packed=True), "bias": IN(p, packed=True)}
    operands |= {"dy": IN((n, c, h, w)), "y": _out(n, c, h, w), "dx": _out(n, c, h, w)}
    operands |= {"mean": _out(*s, packed=True), "inverse": _out(*s, packed=True)}
    operands |= {"dscale": _out(*p, packed=True), "dbias": _out(*p, packed=True)}

    def unified(g: Given) -> None:
        names = ("x", "scale", "bias", "y", "mean", "inverse")
        dnn.normalization_forward(g.handle, *map(g.tensors.get, names))
        names = ("x", "dy", "scale", "mean", "inverse", "dx", "dscale", "dbias")
        dnn.normalization_backward(g.handle, *map(g.tensors.get, names))

    return Operation("layer normalization", operands, unified, types=("float32", "float64"))


def _dropout(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    states, reserve = 64, dnn.dropout_get_reserve_space_size(dims)
    operands = {"x": IN(dims), "y": _out(*dims), "dx": _out(*dims)}
    raw = {"packed": True, "dtype": "uint8", "compared": False}
    operands |= {"states": _out(states, **raw), "reserve": _out(reserve, **raw)}

    def unified(g: Given) -> None:
        dropout = dnn.set_dropout_descriptor(g.handle, 0.5, g["states"], 7)
        dnn.dropout_forward(g.handle, g["x"], dropout, g["y"], g["reserve"])
        dnn.dropout_backward(g.handle, g["x"], dropout, g["reserve"], g["dx"])

    def named(g: Given) -> None:
        dropout, m = cudnn.cudnnCreateDropoutDescriptor(), g.memory
        cudnn.cudnnSetDropoutDescriptor(dropout, g.handle, 0.5, m["states"], states, 7)
        x, y, dx = g.pair("x"), g.pair("y"), g.pair("dx")
        cudnn.cudnnDropoutForward(g.handle, dropout, *x, *y, m["reserve"], reserve)
        cudnn.cudnnDropoutBackward(g.handle, dropout, *x, *dx, m["reserve"], reserve)

    return Operation("dropout", operands, unified, named)


def _spatial(rng: np.random.Generator) -> Operation:
    n, c, h, w = _image(rng)
    transformer = dnn.SpatialTransformerDescriptor((n, c, h, w))
    operands = {"theta": IN((n, 2, 3), packed=True), "x": IN((n, c, h, w)), "dy": IN((n, c, h, w))}
    operands |= {"grid": _out(n, h, w, 2, packed=True), "y": _out(n, c, h, w), "dx": _out(n, c, h, w)}
    operands |= {"dgrid": _out(n, h, w, 2, packed=True), "dtheta": _out(n, 2, 3, packed=True)}

    def unified(g: Given) -> None:
        dnn.spatial_tf_grid_generator_forward(g.handle, g["theta"], transformer, g["grid"])
        dnn.spatial_tf_sampler_forward(g.handle, g["x"], g["grid"], transformer, g["y"])
        dnn.spatial_tf_sampler_backward(g.handle, g["x"], g["dy"], g["grid"], transformer, g["dx"], g["dgrid"])
        dnn.spatial_tf_grid_generator_backward(g.handle, g["dgrid"], transformer, g["dtheta"])

    return Operation("spatial transformer", operands, unified, types=("float32",))


def _rnn(rng: np.random.Generator) -> Operation:
    steps, batch, inputs, hidden = (int(rng.integers(1, 5)) for _ in range(4))
    mode = ("relu", "tanh", "lstm", "gru")[int(rng.integers(4))]
    rnn = dnn.RNNDescriptor(hidden, 1, mode={"relu": 0, "tanh": 1, "lstm": 2, "gru": 3}[mode])
    with dnn.Handle("reference") as handle:
        size = dnn.get_rnn_params_size(handle, rnn, (batch, inputs, 1), "float32") // 4
    x, y, state = (steps, batch, inputs), (steps, batch, hidden), (1, batch, hidden)
    lstm = mode == "lstm"
    operands = {"x": IN(x, packed=True), "w": IN((size, 1, 1), packed=True), "hx": IN(state, packed=True)}
    operands |= {"dy": IN(y, packed=True), "y": _out(*y, packed=True), "hy": _out(*state, packed=True)}
    operands |= {"dx": _out(*x, packed=True), "dhx": _out(*state, packed=True), "dw": _out(size, 1, 1, packed=True)}
    operands["reserve"] = _out(4096, packed=True, dtype="uint8", compared=False)
    if lstm:
        operands |= {"cx": IN(state, packed=True), "cy": _out(*state, packed=True), "dcx": _out(*state, packed=True)}

    def unified(g: Given) -> None:
        t, scratch = g.tensors.get, {"workspace": g.workspace}
        dnn.rnn_forward_training(
            *(g.handle, t("x"), t("hx"), t("cx"), t("w"), rnn, t("y"), t("hy"), t("cy"), t("reserve")), **scratch
        )
        dnn.rnn_backward_data(
            *(g.handle, t("y"), t("dy"), None, None, t("w"), t("hx"), t("cx"), rnn, t("dx"), t("dhx"), t("dcx")),
            *(t("reserve"),),
            **scratch,
        )
        dnn.set_tensor(g.handle, t("dw"), 0.0)
        dnn.rnn_backward_weights(g.handle, t("x"), t("hx"), t("y"), t("reserve"), rnn, t("dw"), **scratch)

    return Operation(
        f"rnn {mode}",
        operands,
        unified,
        None,
        lambda g: dnn.get_rnn_workspace_size(g.handle, rnn, g["x"]),
        ("float32",),
    )


def _attention(rng: np.random.Generator) -> Operation:
    steps, keys, batch, beams, size, value, heads = (int(rng.integers(1, 4)) for _ in range(7))
    projections = tuple(int(n) for n in rng.integers(1, 4, 2))
    attn = dnn.AttnDescriptor(heads, 0.5, projections[0], projections[0], projections[1], 5, True)
    shapes = {"q": (steps, batch, beams, size), "k": (keys, batch, 1, size), "v": (keys, batch, 1, value)}
    specs = [dnn.TensorSpec.packed(dnn.DataType.FLOAT, dims) for dims in shapes.values()]
    with dnn.Handle("reference") as handle:
        parameters, _, kept = dnn.get_multi_head_attn_buffers(handle, attn, *specs)
    out = (steps, batch, beams, 5)
    operands = {name: IN(dims, broadcast=False) for name, dims in {**shapes, "dout": out}.items()}
    operands |= {f"d{name}": _out(*dims) for name, dims in shapes.items()}
    operands |= {"w": IN((parameters // 4,), packed=True), "out": _out(*out)}
    operands |= {"dw": _out(parameters // 4, packed=True)}
    operands["reserve"] = _out(kept, packed=True, dtype="uint8", compared=False)
    lengths = {"lengths_q": [int(n) for n in rng.integers(0, steps + 1, batch * beams)]}
    lengths["lengths_kv"] = [int(n) for n in rng.integers(0, keys + 1, batch)]

    def unified(g: Given) -> None:
        given, rest = [g[name] for name in "qkv"], {"reserve": g["reserve"], "workspace": g.workspace, **lengths}
        dnn.multi_head_attn_forward(g.handle, *given, g["w"], attn, out=g["out"], **rest)
        gradients = {f"d{name}": g[f"d{name}"] for name in "qkv"}
        dnn.multi_head_attn_backward_data(g.handle, g["dout"], *given, g["w"], attn, **gradients, **rest)
        dnn.set_tensor(g.handle, dnn.TensorDescriptor((1, 1, parameters // 4)).view(g["dw"]), 0.0)
        kept = rest.pop("reserve")
        dnn.multi_head_attn_backward_weights(g.handle, *given, g["dout"], kept, attn, g["dw"], **rest)

    def size_of(g: Given) -> int:
        return dnn.get_multi_head_attn_buffers(g.handle, attn, *(g[name] for name in "qkv"))[1]

    return Operation("multi-head attention", operands, unified, None, size_of, ("float32",))


def _graph(rng: np.random.Generator) -> Operation:
    import portadnn.graph as graphs

    n, c, h, w = _image(rng)
    k = int(rng.integers(1, 6))
    with_conv = bool(rng.integers(2))
    y = (n, k if with_conv else c, h, w)
    operands = {"x": IN((n, c, h, w), broadcast=False), "b": IN((1, y[1], 1, 1)), "y": _out(*y), "z": _out(*y)}
    if with_conv:
        operands["w"] = IN((k, c, 3, 3), broadcast=False)
    kinds = {"float32": graphs.data_type.FLOAT, "float64": graphs.data_type.DOUBLE, "float16": graphs.data_type.HALF}

    def built(g: Given) -> tuple[Any, dict[str, Any]]:
        kind = kinds[g.layouts["x"][2].name]
        graph = graphs.pygraph(
            io_data_type=kind, intermediate_data_type=kind, compute_data_type=graphs.data_type.FLOAT, handle=g.handle
        )
        t: dict[str, Any] = {}
        for name, (dims, steps, _) in g.layouts.items():
            if not operands[name].written:
                t[name] = graph.tensor(dim=list(dims), stride=list(steps), data_type=kind, name=name)
        first = graph.conv_fprop(t["x"], t["w"], padding=[1, 1]) if with_conv else graph.tanh(t["x"])
        t["y"] = graph.add(first, t["b"])
        t["z"] = graph.relu(t["y"])
        for name in ("y", "z"):
            dims, steps, _ = g.layouts[name]
            t[name].set_output(True).set_dim(list(dims)).set_stride(list(steps)).set_data_type(kind)
        graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
        return graph, t

    made: dict[Any, Any] = {}

    def graph_of(g: Given) -> Any:
        key = (g.handle.serial, tuple(sorted((name, where[:2]) for name, where in g.layouts.items())))
        if key not in made:
            made[key] = built(g)
        return made[key]

    def unified(g: Given) -> None:
        graph, tensors = graph_of(g)
        graph.execute({tensors[name]: g[name] for name in operands}, g.workspace)

    return Operation(
        f"graph of {'a convolution' if with_conv else 'pointwise nodes'}",
        operands,
        unified,
        None,
        lambda g: graph_of(g)[0].get_workspace_size(),
        ("float32", "float64"),
        1,
    )


OPERATIONS: dict[str, Draw] = {
    "convolution_forward": lambda rng: _convolution("forward", rng),
    "convolution_backward_data": lambda rng: _convolution("backward_data", rng),
    "convolution_backward_filter": lambda rng: _convolution("backward_filter", rng),
    "bias": _bias,
    "fused": _fused,
    "pooling": _pooling,
    "activation": _activation,
    "softmax": _softmax,
    "lrn": _lrn,
    "divisive": _divisive,
    "tensor_ops": _tensor_ops,
    "ctc_loss": _ctc_loss,
    "attention": _attention,
    "set_tensor": _set_tensor,
    "reduce": _reduce,
    "batch_norm": _batch_norm,
    "batch_norm_parts": _batch_norm_parts,
    "layer_norm": _layer_norm,
    "dropout": _dropout,
    "spatial": _spatial,
    "rnn": _rnn,
    "graph": _graph,
}
