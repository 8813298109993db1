"""The right calls of portadnn's own functions, classes and methods, by the names of their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import capability, mapping

from . import attention
from .scene import CHANNELS, FILTER, GRID, IMAGE, RESERVE, STATE, STEPS, THETA, WEIGHTS, WORKSPACE, Call, Scene

Word = Callable[[Scene], Any]

SOFTMAX = "softmax_forward x=f32:1x2x4x4 alpha=2"
NAMES: dict[str, Word] = {
    "handle": lambda s: s.handle,
    "conv": lambda s: dnn.ConvolutionDescriptor((1, 1)),
    "pooling": lambda s: dnn.PoolingDescriptor("max", (3, 3), (1, 1), (1, 1)),
    "activation": lambda s: dnn.ActivationDescriptor("relu"),
    "lrn": lambda s: dnn.LRNDescriptor(3),
    "op": lambda s: "add",
    "reduce": lambda s: dnn.ReduceTensorDescriptor("add"),
    "rnn": lambda s: dnn.RNNDescriptor(2),
    "transformer": lambda s: dnn.SpatialTransformerDescriptor(IMAGE),
    "dropout": lambda s: dnn.set_dropout_descriptor(s.handle, 0.5, s.buffer(64), 1),
    "value": lambda s: 1.5,
    "line": lambda s: SOFTMAX,
    "status": lambda s: 3,
    "layer": lambda s: 0,
    "lin_layer_id": lambda s: 1,
    "axis": lambda s: 1,
    "dim": lambda s: 1,
    "k": lambda s: 1,
    "p": lambda s: 2,
    "margin": lambda s: 0.5,
    "reduction": lambda s: "mean",
    "skip_nan": lambda s: False,
    "groups": lambda s: 1,
    "requested": lambda s: 2,
    "memory_limit": lambda s: 1000,
    "seed": lambda s: 3,
    "batch_sizes": lambda s: (2, 2),
    "epsilon": lambda s: 1e-3,
    "exponential_average_factor": lambda s: 0.5,
    "mode": lambda s: None,
    "preference": lambda s: None,
    "algo": lambda s: None,
}
IMAGES = "x y dx dy z a b c means dmeans dgrid"
ARRAYS = {
    **dict.fromkeys(IMAGES.split(), IMAGE),
    **dict.fromkeys(("w", "dw"), FILTER),
    **dict.fromkeys(("grid", "dgrid"), GRID),
    **dict.fromkeys(("theta", "dtheta"), THETA),
    **dict.fromkeys(
        [
            "bias",
            "db",
            "scale",
            "dscale",
            "dbias",
            "running_mean",
            "running_variance",
            "saved_mean",
            "saved_inv_variance",
            "mean",
            "variance",
            "estimated_mean",
            "estimated_variance",
        ],
        CHANNELS,
    ),
    **dict.fromkeys(["hx", "cx", "hy", "cy", "dhx", "dcx", "dhy", "dcy"], STATE),
}
RNN_ARRAYS = {**ARRAYS, **dict.fromkeys(["x", "y", "dx", "dy"], STEPS), **dict.fromkeys(("w", "dw"), WEIGHTS)}
NUMBERS = {"alpha": 1.0, "beta": 0.0}
# Optional arguments that right calls do give.
GIVEN = {"workspace", "states", "reserve_space", "reserve"} | set(ARRAYS)
LOGITS = (3, 2, 4)  # steps, sequences, classes
LABELS: dict[str, Word] = {
    "probs": lambda s: s.array(LOGITS),
    "labels": lambda s: s.array((2, 2), np.int32),
    **dict.fromkeys(("label_lengths", "input_lengths"), lambda s: s.array((2,), np.int32)),
}
HALF = (1, 1, 4, 4)
CHANNEL: dict[str, Word] = {"dim": lambda s: 1}
TABLES: dict[str, Word] = dict.fromkeys(("cos", "sin"), lambda s: s.array(HALF))
MARGIN: dict[str, Word] = {"target": lambda s: s.array(IMAGE), "dloss": lambda s: s.array(IMAGE)}
ADAM: dict[str, Word] = {
    **dict.fromkeys(("param", "grad", "exp_avg", "exp_avg_sq"), lambda s: s.array(IMAGE)),
    **dict.fromkeys(("param_out", "exp_avg_out", "exp_avg_sq_out"), lambda s: s.array(IMAGE)),
}
SPECIAL: dict[str, dict[str, Word]] = {
    "adam": ADAM,
    "cat_forward": {
        "xs": lambda s: [s.array(IMAGE), s.array(IMAGE)],
        "y": lambda s: s.array((1, 4, 4, 4)),
        **CHANNEL,
    },
    "getitem_backward": {
        "indices": lambda s: [s.array((1,), np.int64)],
        "error": lambda s: s.array((1,), np.int32),
        "dims": lambda s: (0,),
        "slices": lambda s: (),
        "offset": lambda s: 0,
        "add": lambda s: False,
    },
    "glu_forward": {"y": lambda s: s.array(HALF), **CHANNEL},
    "glu_backward": {"dy": lambda s: s.array(HALF), **CHANNEL},
    "prelu_backward": dict.fromkeys(("weight", "dweight"), lambda s: s.array(CHANNELS)),
    "rope_forward": TABLES,
    "rope_backward": TABLES,
    "soft_margin_loss_forward": {**MARGIN, "loss": lambda s: s.array((1, 1, 1, 1))},
    "soft_margin_loss_backward": MARGIN,
    "multi_margin_loss_forward": {
        "x": lambda s: s.array((3, 4)),
        "target": lambda s: s.array((3,), np.int64),
        "weight": lambda s: s.array((4,)),
        "loss": lambda s: s.array((1,)),
    },
    "kthvalue_forward": {
        "y": lambda s: s.array(HALF),
        "indices": lambda s: s.array(HALF, np.int64),
        **CHANNEL,
    },
    "ctc_loss": {**LABELS, "costs": lambda s: s.array((2,)), "gradients": lambda s: s.array(LOGITS)},
    "get_ctc_loss_workspace_size": LABELS,
    **attention.NATIVE,
    "lrn_cross_channel_forward": {"mode": lambda s: 0},
    "reduce_tensor": {"c": lambda s: s.array(CHANNELS)},
    "get_reduction_indices_size": {"c": lambda s: s.array(CHANNELS)},
    "get_reduction_workspace_size": {"c": lambda s: s.array(CHANNELS)},
    "add_tensor": {"a": lambda s: s.array(CHANNELS)},
    "op_tensor": {"b": lambda s: s.array(CHANNELS)},
    "derive_bn_tensor_descriptor": {"x": lambda s: dnn.TensorDescriptor(IMAGE)},
    "dropout_get_reserve_space_size": {"x": lambda s: dnn.TensorDescriptor(IMAGE)},
    "get_pooling_2d_forward_output_dim": {"x": lambda s: dnn.TensorDescriptor(IMAGE)},
    "get_pooling_nd_forward_output_dim": {"x": lambda s: IMAGE},
    "get_convolution_2d_forward_output_dim": {"x": lambda s: IMAGE, "w": lambda s: dnn.FilterDescriptor(FILTER)},
    "get_convolution_nd_forward_output_dim": {"x": lambda s: dnn.TensorDescriptor(IMAGE), "w": lambda s: FILTER},
    "set_dropout_descriptor": {"dropout": lambda s: 0.5},
    "restore_dropout_descriptor": {"dropout": lambda s: 0.5},
    "get_rnn_params_size": {"x": lambda s: dnn.TensorDescriptor((2, 2, 1))},
    "get_rnn_lin_layer_matrix_params": {"x": lambda s: dnn.TensorDescriptor((2, 2, 1))},
    "get_rnn_lin_layer_bias_params": {"x": lambda s: (2, 2, 1)},
}
LAYER_NORM = (1, 2, 4, 4)
GATHERED = {**dict.fromkeys(("means", "variances", "dscales", "dbiases"), CHANNELS), "counts": (1, 1, 1, 1)}


def word(scene: Scene, function: str, name: str, default: Any) -> Any:
    """Return the right value of a parameter of a public function."""
    special = SPECIAL.get(function, {})
    if name in special:
        return special[name](scene)
    if function.startswith("normalization") and name in ("scale", "bias", "dscale", "dbias"):
        return scene.array(LAYER_NORM)
    if function.startswith("normalization") and name in ("saved_mean", "saved_inv_variance"):
        return scene.array((1, 1, 1, 1))
    if function.startswith("batch_normalization") and name in GATHERED:
        return scene.array(GATHERED[name])
    if name in ("workspace",):
        return scene.buffer(WORKSPACE)
    if name in ("reserve", "reserve_space"):
        return scene.buffer(RESERVE)
    if name == "states":
        return scene.buffer(64)
    arrays = RNN_ARRAYS if "rnn" in function else ARRAYS
    if name in arrays:
        return scene.array(arrays[name])
    if default is not inspect.Parameter.empty and name not in ("groups", "axis", "dim"):
        return default
    if name in NAMES:
        return NAMES[name](scene)
    for prefix, number in NUMBERS.items():
        if name.startswith(prefix):
            return number
    raise KeyError(f"{function}: {name}")


def _of(function: str) -> Callable[[Scene], Call]:
    target = getattr(dnn, function)
    parameters = inspect.signature(target).parameters.values()
    keywords = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    def make(scene: Scene) -> Call:
        values = {p.name: word(scene, function, p.name, p.default) for p in parameters}
        return Call(function, target, values, keywords)

    return make


def _tensor(scene: Scene) -> dnn.TensorDescriptor:
    return dnn.TensorDescriptor(IMAGE)


def _filter(scene: Scene) -> dnn.FilterDescriptor:
    return dnn.FilterDescriptor(FILTER)


T, F = dnn.TensorDescriptor, dnn.FilterDescriptor
C, P = dnn.ConvolutionDescriptor, dnn.PoolingDescriptor
DIMS: dict[str, Any] = dict(zip("nchw", IMAGE, strict=True)) | dict(zip("kcrs", FILTER, strict=True))
OBJECTS: dict[str, Any] = {  # what is called, and with what; functions of the scene are called for their value
    "TensorDescriptor": (T, {"dims": IMAGE, "dtype": "float32", "format": 0, "strides": None}),
    "TensorDescriptor.set_4d": (T.set_4d, {"format": 0, "dtype": 0, "n": 1, "c": 2, "h": 4, "w": 4}),
    "TensorDescriptor.set_4d_ex": (
        T.set_4d_ex,
        {"dtype": 0, "n": 1, "c": 2, "h": 4, "w": 4, "n_stride": 32, "c_stride": 16, "h_stride": 4, "w_stride": 1},
    ),
    "TensorDescriptor.set_nd": (T.set_nd, {"dtype": 0, "dims": IMAGE, "strides": (32, 16, 4, 1)}),
    "TensorDescriptor.get_nd": (T.get_nd, {"self": _tensor, "requested": 4}),
    "TensorDescriptor.get_4d": (T.get_4d, {"self": _tensor}),
    "TensorDescriptor.view": (T.view, {"self": _tensor, "buffer": lambda s: s.array(IMAGE), "offset": 0}),
    "AttnDescriptor": (
        dnn.AttnDescriptor,
        {
            **{"heads": 2, "scale": 0.5, "q_proj": 2, "k_proj": 2, "v_proj": 2, "o_proj": 4, "biases": False},
            **{"query_map": 0, "attn_dropout": None, "post_dropout": None, "compute_type": None},
        },
    ),
    "FilterDescriptor": (F, {"dims": FILTER, "dtype": "float32", "format": 0}),
    "FilterDescriptor.set_4d": (F.set_4d, {"dtype": 0, "format": 0, "k": 2, "c": 2, "r": 3, "s": 3}),
    "FilterDescriptor.set_nd": (F.set_nd, {"dtype": 0, "format": 0, "dims": FILTER}),
    "FilterDescriptor.get_nd": (F.get_nd, {"self": _filter, "requested": 4}),
    "ConvolutionDescriptor": (
        C,
        {
            "padding": (1, 1),
            "stride": (1, 1),
            "dilation": (1, 1),
            "groups": 1,
            "mode": 1,
            "compute_type": None,
            "math": 0,
        },
    ),
    "ConvolutionDescriptor.set_2d": (
        C.set_2d,
        {
            "pad_h": 1,
            "pad_w": 1,
            "stride_h": 1,
            "stride_w": 1,
            "dilation_h": 1,
            "dilation_w": 1,
            "mode": 1,
            "compute_type": None,
        },
    ),
    "ConvolutionDescriptor.set_nd": (
        C.set_nd,
        {"padding": (1, 1), "stride": (1, 1), "dilation": (1, 1), "mode": 1, "compute_type": "float32"},
    ),
    "ConvolutionDescriptor.get_nd": (C.get_nd, {"self": lambda s: C((1, 1)), "requested": 2}),
    "PoolingDescriptor": (
        P,
        {"mode": "max", "window": (3, 3), "padding": (1, 1), "stride": (1, 1), "nan_propagation": 0},
    ),
    "PoolingDescriptor.set_2d": (
        P.set_2d,
        {
            "mode": 0,
            "nan_propagation": 0,
            "window_h": 3,
            "window_w": 3,
            "pad_h": 1,
            "pad_w": 1,
            "stride_h": 1,
            "stride_w": 1,
        },
    ),
    "PoolingDescriptor.set_nd": (
        P.set_nd,
        {"mode": 0, "nan_propagation": 0, "window": (3, 3), "padding": (1, 1), "stride": (1, 1)},
    ),
    "PoolingDescriptor.get_nd": (P.get_nd, {"self": lambda s: P("max", (3, 3)), "requested": 2}),
    "ActivationDescriptor": (
        dnn.ActivationDescriptor,
        {"mode": "clipped_relu", "nan_propagation": 0, "ceiling": 1.0, "coef": 1.0},
    ),
    "OpTensorDescriptor": (dnn.OpTensorDescriptor, {"op": "add", "compute_type": None, "nan_propagation": 0}),
    "CTCLossDescriptor": (
        dnn.CTCLossDescriptor,
        {"normalization": 1, "gradient_mode": 0, "max_label_length": 3, "blank": 1},
    ),
    "LRNDescriptor": (dnn.LRNDescriptor, {"n": 3, "alpha": 1.0, "beta": 0.75, "k": 2.0}),
    "DropoutDescriptor": (dnn.DropoutDescriptor, {"dropout": 0.5, "states": lambda s: s.buffer(64), "seed": 1}),
    "ReduceTensorDescriptor": (
        dnn.ReduceTensorDescriptor,
        {"op": "add", "compute_type": None, "nan_propagation": 0, "indices": 0, "indices_type": 0},
    ),
    "RNNDescriptor": (
        dnn.RNNDescriptor,
        {
            "hidden_size": 2,
            "num_layers": 1,
            "mode": "lstm",
            "direction": 0,
            "input_mode": 0,
            "dropout": None,
            "compute_type": None,
        },
    ),
    "SpatialTransformerDescriptor": (
        dnn.SpatialTransformerDescriptor,
        {"dims": IMAGE, "dtype": "float32", "sampler": 0},
    ),
    "SpatialTransformerDescriptor.set_nd": (
        dnn.SpatialTransformerDescriptor.set_nd,
        {"sampler": 0, "dtype": 0, "dims": IMAGE},
    ),
    "Handle": (
        dnn.Handle,
        {
            "backend": lambda s: s.backend,
            "device": 0,
            "stream": None,
            "find_db": None,
            "profile": None,
            "mode": None,
        },
    ),
    "Handle.asarray": (
        dnn.Handle.asarray,
        {"self": lambda s: s.handle, "array": lambda s: np.ones(IMAGE, np.float32), "dtype": "float32", "format": 0},
    ),
    "Handle.empty": (dnn.Handle.empty, {"self": lambda s: s.handle, "dims": IMAGE, "dtype": 0, "format": 0}),
    "Handle.zeros": (dnn.Handle.zeros, {"self": lambda s: s.handle, "dims": IMAGE, "dtype": 0, "format": 0}),
    "Handle.empty_bytes": (dnn.Handle.empty_bytes, {"self": lambda s: s.handle, "nbytes": 64}),
    "Handle.to_numpy": (dnn.Handle.to_numpy, {"self": lambda s: s.handle, "array": lambda s: s.array(IMAGE)}),
    "Handle.prepare": (dnn.Handle.prepare, {"self": lambda s: s.handle, "what": (SOFTMAX,)}),
    "Handle.set_stream": (dnn.Handle.set_stream, {"self": lambda s: s.new_handle(), "stream": None}),
    "Table.find": (mapping.table().find, {"name": "cudnnCreate"}),
    "Table.suggest": (mapping.table().suggest, {"name": "cudnnCreat", "count": 2}),
    "capability.table": (capability.table, {"name": "cudnn-5"}),
    "TensorView": (
        dnn.TensorView,
        {"spec": lambda s: dnn.TensorSpec.parse("f32:1x2x4x4"), "base": lambda s: s.array(IMAGE), "offset": 0},
    ),
    "TensorSpec": (dnn.TensorSpec, {"dtype": dnn.DataType.FLOAT, "dims": IMAGE, "strides": (32, 16, 4, 1)}),
    "Status.parse": (dnn.Status.parse, {"value": 1}),
    "PoolingMode.parse": (dnn.PoolingMode.parse, {"value": "max"}),
    "DataType.parse": (dnn.DataType.parse, {"value": "half"}),
    "DataType.of": (dnn.DataType.of, {"value": "float16"}),
    "TensorSpec.parse": (dnn.TensorSpec.parse, {"text": "f32:1x2x4x4"}),
}
OWN = {"Handle", "Handle.set_stream"}  # calls that change or make a handle: expensive


def _object(name: str) -> Callable[[Scene], Call]:
    target, values = OBJECTS[name]
    try:
        parameters = inspect.signature(target).parameters
        keywords = frozenset(n for n in values if parameters[n].kind is inspect.Parameter.KEYWORD_ONLY)
    except (KeyError, ValueError):
        keywords = frozenset()

    def make(scene: Scene) -> Call:
        given = {n: v(scene) if inspect.isfunction(v) else v for n, v in values.items()}
        return Call(name, target, given, keywords)

    return make


def calls() -> dict[str, Callable[[Scene], Call]]:
    """Return what makes the right call of each public function, by name."""
    functions = [n for n in dnn.__all__ if inspect.isfunction(getattr(dnn, n)) and n not in ("get_version", "trace")]
    return {n: _of(n) for n in functions} | {n: _object(n) for n in OBJECTS}
