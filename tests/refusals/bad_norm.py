"""Wrong normalisations; see bad_calls."""

from __future__ import annotations

from typing import Any

from bad_calls import Env, Row, bad, unsupported

import portadnn as dnn

T = dnn.TensorDescriptor
X, P = (2, 3, 4, 5), (1, 3, 1, 1)
TRAINING, INFERENCE, BACKWARD = (
    "batch_normalization_forward_training",
    "batch_normalization_forward_inference",
    "batch_normalization_backward",
)


def training(e: Env, **given: Any) -> Any:
    """Make the right call unless told otherwise."""
    defaults = {"x": X, "scale": P, "bias": P, "y": X}
    return e._call(dnn.batch_normalization_forward_training, "x scale bias y", defaults, given)


def inference(e: Env, **given: Any) -> Any:
    defaults = {"x": X, "scale": P, "bias": P, "mean": P, "variance": P, "y": X}
    return e._call(dnn.batch_normalization_forward_inference, "x scale bias mean variance y", defaults, given)


def backward(e: Env, **given: Any) -> Any:
    defaults = {"x": X, "dy": X, "scale": P, "mean": P, "inverse": P, "dx": X, "dscale": P, "dbias": P}
    return e._call(dnn.batch_normalization_backward, " ".join(defaults), defaults, given)


BATCH: list[Row] = [
    bad("4.95", INFERENCE, lambda e: inference(e, x=None), "x", "a tensor", "None"),
    bad("4.95", INFERENCE, lambda e: inference(e, scale=None), "scale", "a tensor", "None"),
    bad("4.95", INFERENCE, lambda e: inference(e, bias=None), "bias", "a tensor", "None"),
    bad("4.95", INFERENCE, lambda e: inference(e, mean=None), "estimated_mean", "a tensor", "None"),
    bad("4.95", INFERENCE, lambda e: inference(e, variance=None), "estimated_variance", "a tensor", "None"),
    bad("4.95", INFERENCE, lambda e: inference(e, x=(2, 3, 4), y=(2, 3, 4)), "x.dims", "4 or 5 dims", "(2, 3, 4)"),
    bad(
        "4.95",
        INFERENCE,
        lambda e: inference(e, x=(2, 3, 4, 5, 1, 1), y=(2, 3, 4, 5, 1, 1)),
        "x.dims",
        "4 or 5",
        "1, 1",
    ),
    bad("4.95", INFERENCE, lambda e: inference(e, scale=(1, 4, 1, 1)), "scale.dims", "(1, 3, 1, 1)", "(1, 4, 1, 1)"),
    bad("4.95", INFERENCE, lambda e: inference(e, mode="per_activation"), "scale.dims", "(1, 3, 4, 5)", "(1, 3, 1, 1)"),
    bad(
        "4.95",
        INFERENCE,
        lambda e: inference(e, variance=(1, 3, 4, 5)),
        "estimated_variance.dims",
        "(1, 3, 1, 1)",
        "4, 5",
    ),
    bad("4.95", INFERENCE, lambda e: inference(e, mean=e.t(P, "double")), "estimated_mean.dtype", "FLOAT", "DOUBLE"),
    bad(
        "4.95",
        INFERENCE,
        lambda e: inference(e, x=e.t(X, "half"), y=e.t(X, "half"), bias=e.t(P, "half")),
        "bias.dtype",
        "FLOAT because x is HALF",
    ),
    bad("4.95", INFERENCE, lambda e: inference(e, epsilon=-9e-6), "epsilon", ">= 0", "-9e-06"),
    bad("4.95", INFERENCE, lambda e: inference(e, epsilon=float("nan")), "epsilon", "finite", "nan"),
    bad("4.95", INFERENCE, lambda e: inference(e, epsilon="small"), "epsilon", "a number", "'small'"),
    bad("4.95", INFERENCE, lambda e: inference(e, y=(2, 3, 5, 4)), "y.dims", "(2, 3, 4, 5) as x", "(2, 3, 5, 4)"),
    bad("4.95", INFERENCE, lambda e: inference(e, y=e.t(X, "half")), "y.dtype", "FLOAT as x", "HALF"),
    bad("4.95", INFERENCE, lambda e: inference(e, mode=3), "mode", "BatchNormMode", "3"),
    bad("4.95", INFERENCE, lambda e: inference(e, alpha="1"), "alpha", "a number", "'1'"),
    bad("4.95", INFERENCE, lambda e: inference(e, x=e.raw("int32")), "x.dtype", "float32", "int32"),
    unsupported("4.95", INFERENCE, lambda e: inference(e, y=e.view(X, (60, 20, 5, 0))), "y", "without overlap"),
    bad("4.96", TRAINING, lambda e: training(e, x=None), "x", "a tensor", "None"),
    bad("4.96", TRAINING, lambda e: training(e, bias=None), "bias", "a tensor", "None"),
    bad("4.96", TRAINING, lambda e: training(e, bias=(1, 3, 1)), "bias.dims", "(1, 3, 1, 1)", "(1, 3, 1)"),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, running_mean=P),
        "running_variance",
        "because running_mean is one",
        "None",
    ),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, running_variance=P),
        "running_mean",
        "because running_variance is one",
        "None",
    ),
    bad(
        "4.96", TRAINING, lambda e: training(e, saved_mean=P), "saved_inv_variance", "because saved_mean is one", "None"
    ),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, saved_inv_variance=P),
        "saved_mean",
        "because saved_inv_variance is one",
        "None",
    ),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, saved_mean=P, saved_inv_variance=X),
        "saved_inv_variance.dims",
        "(1, 3, 1, 1)",
        "(2, 3, 4, 5)",
    ),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, running_mean=e.t(P, "half"), running_variance=P),
        "running_mean.dtype",
        "FLOAT",
        "HALF",
    ),
    bad("4.96", TRAINING, lambda e: training(e, epsilon=-1), "epsilon", ">= 0", "-1"),
    bad("4.96", TRAINING, lambda e: training(e, epsilon=True), "epsilon", "a number", "True"),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, exponential_average_factor=None),
        "exponential_average_factor",
        "a number",
        "None",
    ),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, exponential_average_factor=1e39),
        "exponential_average_factor",
        "float32",
        "1e+39",
    ),
    bad("4.96", TRAINING, lambda e: training(e, mode="instance"), "mode", "PER_ACTIVATION, SPATIAL", "'instance'"),
    bad(
        "4.96",
        TRAINING,
        lambda e: training(e, scale=(s := e.t(P)), saved_mean=s, saved_inv_variance=P),
        "saved_mean",
        "apart from scale",
        "shared",
    ),
    bad("4.97", BACKWARD, lambda e: backward(e, dy=None), "dy", "a tensor", "None"),
    bad("4.97", BACKWARD, lambda e: backward(e, scale=None), "scale", "a tensor", "None"),
    bad("4.97", BACKWARD, lambda e: backward(e, dy=(2, 3, 4, 6)), "dy.dims", "as x", "(2, 3, 4, 6)"),
    bad("4.97", BACKWARD, lambda e: backward(e, dx=e.t(X, "double")), "dx.dtype", "FLOAT as x", "DOUBLE"),
    bad("4.97", BACKWARD, lambda e: backward(e, x=(2, 3), dy=(2, 3), dx=(2, 3)), "x.dims", "3 to 8 dims", "(2, 3)"),
    bad("4.97", BACKWARD, lambda e: backward(e, mean=None), "saved_mean", "because saved_inv_variance is one", "None"),
    bad(
        "4.97", BACKWARD, lambda e: backward(e, inverse=None), "saved_inv_variance", "because saved_mean is one", "None"
    ),
    bad("4.97", BACKWARD, lambda e: backward(e, dscale=(1, 1, 1, 3)), "dscale.dims", "(1, 3, 1, 1)", "(1, 1, 1, 3)"),
    bad(
        "4.97", BACKWARD, lambda e: backward(e, dbias=e.t(P, "half")), "dbias.dtype", "FLOAT because x is FLOAT", "HALF"
    ),
    bad("4.97", BACKWARD, lambda e: backward(e, epsilon=-1e-6), "epsilon", ">= 0", "-1e-06"),
    bad("4.97", BACKWARD, lambda e: backward(e, beta_param_diff="0"), "beta_param_diff", "a number", "'0'"),
    bad("4.97", BACKWARD, lambda e: backward(e, dscale=(s := e.t(P)), dbias=s), "dbias", "apart from dscale", "shared"),
    bad(
        "4.98",
        "derive_bn_tensor_descriptor",
        lambda e: dnn.derive_bn_tensor_descriptor(X),
        "x",
        "TensorDescriptor",
        "(2, 3",
    ),
    bad(
        "4.98",
        "derive_bn_tensor_descriptor",
        lambda e: dnn.derive_bn_tensor_descriptor(T(X), "batch"),
        "mode",
        "SPATIAL",
        "'batch'",
    ),
    unsupported(
        "4.98",
        "derive_bn_tensor_descriptor",
        lambda e: dnn.derive_bn_tensor_descriptor(T((2, 3, 4))),
        "x.dims",
        "4 or 5 dims",
        "(2, 3, 4)",
    ),
]


def forward(e: Env, **given: Any) -> Any:
    defaults = {"x": X, "scale": (1, 3, 4, 5), "bias": (1, 3, 4, 5), "y": X}
    return e._call(dnn.normalization_forward, "x scale bias y", defaults, given)


def gradient(e: Env, **given: Any) -> Any:
    defaults = {"x": X, "dy": X, "scale": (1, 3, 4, 5), "mean": (2, 1, 1, 1), "inverse": (2, 1, 1, 1), "dx": X}
    return e._call(dnn.normalization_backward, " ".join(defaults), defaults, given)


FORWARD, GRADIENT = "normalization_forward", "normalization_backward"
SAMPLE: list[Row] = [
    bad("norm", FORWARD, lambda e: forward(e, x=None), "x", "a tensor", "None"),
    bad("norm", FORWARD, lambda e: forward(e, y=(2, 3, 5, 4)), "y.dims", "as x", "(2, 3, 5, 4)"),
    bad("norm", FORWARD, lambda e: forward(e, scale=(1, 3, 1, 1)), "scale.dims", "(1, 3, 4, 5)", "(1, 3, 1, 1)"),
    bad("norm", FORWARD, lambda e: forward(e, bias=(1, 3, 4, 1)), "bias.dims", "(1, 3, 4, 5)", "(1, 3, 4, 1)"),
    bad("norm", FORWARD, lambda e: forward(e, scale=None), "scale", "because bias is one", "None"),
    bad("norm", FORWARD, lambda e: forward(e, axis=4), "axis", "an axis of x, which has 4", "4"),
    bad("norm", FORWARD, lambda e: forward(e, axis=-5), "axis", "an axis of x", "-5"),
    bad("norm", FORWARD, lambda e: forward(e, axis="1"), "axis", "an integer", "'1'"),
    bad("norm", FORWARD, lambda e: forward(e, axis=2), "scale.dims", "(1, 1, 4, 5)", "(1, 3, 4, 5)"),
    bad("norm", FORWARD, lambda e: forward(e, mode="instance_norm", axis=2), "axis", "1 for INSTANCE_NORM", "2"),
    bad("norm", FORWARD, lambda e: forward(e, groups=3), "groups", "1 for LAYER_NORM", "3"),
    bad(
        "norm",
        FORWARD,
        lambda e: forward(e, mode="group_norm", groups=2, scale=P, bias=P),
        "groups",
        "a divisor of x.dims[1] (3)",
        "2",
    ),
    bad("norm", FORWARD, lambda e: forward(e, mode="group_norm", groups=0, scale=P, bias=P), "groups", ">= 1", "0"),
    bad("norm", FORWARD, lambda e: forward(e, mode="batch_norm"), "mode", "LAYER_NORM, INSTANCE_NORM", "'batch_norm'"),
    bad("norm", FORWARD, lambda e: forward(e, mode=2), "mode", "NormMode", "2"),
    bad("norm", FORWARD, lambda e: forward(e, epsilon=-1e-9), "epsilon", ">= 0", "-1e-09"),
    bad(
        "norm",
        FORWARD,
        lambda e: forward(e, saved_mean=(2, 1, 1, 1)),
        "saved_inv_variance",
        "because saved_mean is one",
        "None",
    ),
    bad(
        "norm",
        FORWARD,
        lambda e: forward(e, saved_mean=(2, 3, 1, 1), saved_inv_variance=(2, 1, 1, 1)),
        "saved_mean.dims",
        "(2, 1, 1, 1)",
        "(2, 3, 1, 1)",
    ),
    bad(
        "norm",
        FORWARD,
        lambda e: forward(e, mode="rms_norm", saved_mean=(2, 1, 1, 1), saved_inv_variance=(2, 1, 1, 1)),
        "saved_mean",
        "None for RMS_NORM",
    ),
    bad(
        "norm",
        FORWARD,
        lambda e: forward(e, x=e.t(X, "half"), y=e.t(X, "half"), scale=e.t((1, 3, 4, 5), "half")),
        "scale.dtype",
        "FLOAT because x is HALF",
        "HALF",
    ),
    bad("norm", GRADIENT, lambda e: gradient(e, dy=None), "dy", "a tensor", "None"),
    bad("norm", GRADIENT, lambda e: gradient(e, dx=(2, 3, 4, 6)), "dx.dims", "as x", "(2, 3, 4, 6)"),
    bad("norm", GRADIENT, lambda e: gradient(e, mean=None), "saved_mean", "because saved_inv_variance is one", "None"),
    bad("norm", GRADIENT, lambda e: gradient(e, dscale=(1, 3, 4, 6)), "dscale.dims", "(1, 3, 4, 5)", "(1, 3, 4, 6)"),
    bad(
        "norm",
        GRADIENT,
        lambda e: gradient(e, scale=None, dscale=(1, 3, 4, 5)),
        "scale",
        "because dscale is one",
        "None",
    ),
    bad("norm", GRADIENT, lambda e: gradient(e, epsilon=float("inf")), "epsilon", "finite", "inf"),
    bad("norm", GRADIENT, lambda e: gradient(e, alpha_data_diff=None), "alpha_data_diff", "a number", "None"),
]

ROWS = BATCH + SAMPLE
RIGHT = (training, inference, backward, forward, gradient)  # calls from which the wrong ones differ in one thing
