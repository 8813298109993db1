"""Programs of the fused operators of version 7.6, and of what the library says of itself."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from portadnn import cudnn

from .layouts import laid
from .sides import Memory, Side

NHWC = 1
UNKNOWN = (99, 6000, 9999)
STATUSES = (0, 1001, 1002, 1003, 1004, 1005, 1007, 2000, 2002, 2003, 2011, 3000, 3001, 4000, 4001, 5000, 5001, *UNKNOWN)


class Plan:
    """The packs and the plan of one operator."""

    def __init__(self, side: Side, ops: str) -> None:
        self.side, number = side, getattr(cudnn, f"CUDNN_FUSED_{ops}")
        self.const = side.call("cudnnCreateFusedOpsConstParamPack", number)
        self.variant = side.call("cudnnCreateFusedOpsVariantParamPack", number)
        self.plan = side.call("cudnnCreateFusedOpsPlan", number)
        self.memory: dict[str, Memory] = {}

    def const_value(self, name: str, value: Any, number: bool = False) -> None:
        label = getattr(cudnn, f"CUDNN_PARAM_{name}")
        given = self.side.host(value, "int32") if number else value
        self.side.call("cudnnSetFusedOpsConstParamPackAttribute", self.const, label, given)

    def pointer(self, name: str, array: Any, output: bool = False) -> None:
        content = laid(array, "", NHWC) if array.ndim == 4 else array
        self.memory[name] = self.side.put(content, name, output=output)
        self.const_value(f"{name}_PLACEHOLDER", int(cudnn.CUDNN_PTR_16B_ALIGNED), number=True)
        label = getattr(cudnn, f"CUDNN_PTR_{name}")
        self.side.call("cudnnSetFusedOpsVariantParamPackAttribute", self.variant, label, self.memory[name])

    def scalar(self, name: str, value: Any, kind: str) -> None:
        label = getattr(cudnn, f"CUDNN_SCALAR_{name}")
        given = self.side.host(value, kind)
        self.side.call("cudnnSetFusedOpsVariantParamPackAttribute", self.variant, label, given)

    def run(self) -> None:
        size = self.side.call("cudnnMakeFusedOpsPlan", self.side.handle, self.plan, self.const)
        # without a workspace of its own, NULL and 0, so that the calls are the same on both sides
        room, label = self.side.room(size, "workspace"), cudnn.CUDNN_PTR_WORKSPACE
        self.side.call("cudnnSetFusedOpsVariantParamPackAttribute", self.variant, label, room)
        self.scalar("SIZE_T_WORKSPACE_SIZE_IN_BYTES", size, "uint64")
        self.side.call("cudnnFusedOpsExecute", self.side.handle, self.plan, self.variant)


def _halves(side: Side, *dims: int) -> Any:
    return (side.rng.integers(-8, 9, dims) / 4).astype(np.float16)


def _relu(side: Side) -> Any:
    return side.descriptor("Activation", "cudnnSetActivationDescriptor", 1, 0, 0.0)


def _setting(side: Side) -> tuple[tuple[int, ...], int, Any]:
    draw = side.draw
    dims = draw.randint(1, 4), draw.choice((8, 16, 32)), draw.choice((4, 8)), draw.choice((4, 8))
    desc = side.descriptor("Convolution", "cudnnSetConvolution2dDescriptor", 1, 1, 1, 1, 1, 1, 1, 0)
    side.call("cudnnSetConvolutionMathType", desc, 1)
    return dims, draw.choice((8, 16, 32)), desc


def statistics(side: Side) -> None:
    """Scale, bias, activation, convolution and sums of its results."""
    (n, c, h, w), k, conv = _setting(side)
    x, scale, bias, filters = (_halves(side, *d) for d in ((n, c, h, w), (1, c, 1, 1), (1, c, 1, 1), (k, c, 3, 3)))
    side.tag("fused operator")
    plan = Plan(side, "SCALE_BIAS_ACTIVATION_CONV_BNSTATS")
    plan.const_value("XDESC", side.tensor("HALF", x.shape, NHWC))
    plan.const_value("BN_MODE", int(cudnn.CUDNN_BATCHNORM_SPATIAL_PERSISTENT), number=True)
    plan.const_value("BN_EQSCALEBIAS_DESC", side.tensor("HALF", scale.shape, NHWC))
    plan.const_value("ACTIVATION_DESC", _relu(side))
    plan.const_value("CONV_DESC", conv)
    plan.const_value("WDESC", side.filter("HALF", filters.shape, NHWC))
    plan.const_value("YDESC", side.tensor("HALF", (n, k, h, w), NHWC))
    plan.const_value("YSTATS_DESC", side.tensor("FLOAT", (1, k, 1, 1), NHWC))
    for name, array in (("XDATA", x), ("BN_EQSCALE", scale), ("BN_EQBIAS", bias), ("WDATA", filters)):
        plan.pointer(name, array)
    plan.pointer("YDATA", np.zeros((n, k, h, w), np.float16), output=True)
    for name in ("YSUM", "YSQSUM"):
        plan.pointer(name, np.zeros((1, k, 1, 1), np.float32), output=True)
    plan.run()
    largest = 9.0 * c * 8
    side.output("y", side.read(plan.memory["YDATA"], np.float16), length=9 * c, terms=largest)
    sums, count = {"YSUM": largest, "YSQSUM": largest**2 / 8}, n * h * w
    for name, most in sums.items():  # of numbers that were rounded to HALF, or of those before
        terms = most * count * 2.0**-11 / 2.0**-22
        side.output(name, side.read(plan.memory[name], np.float32), length=count, terms=terms)


def gradient(side: Side) -> None:
    """Scale, bias, activation and the gradient of the filters."""
    (n, c, h, w), k, conv = _setting(side)
    x, scale, bias, dy = (_halves(side, *d) for d in ((n, c, h, w), (1, c, 1, 1), (1, c, 1, 1), (n, k, h, w)))
    plan = Plan(side, "SCALE_BIAS_ACTIVATION_WGRAD")
    plan.const_value("XDESC", side.tensor("HALF", x.shape, NHWC))
    plan.const_value("BN_MODE", int(cudnn.CUDNN_BATCHNORM_SPATIAL_PERSISTENT), number=True)
    plan.const_value("BN_EQSCALEBIAS_DESC", side.tensor("HALF", scale.shape, NHWC))
    plan.const_value("ACTIVATION_DESC", _relu(side))
    plan.const_value("CONV_DESC", conv)
    plan.const_value("DWDESC", side.filter("HALF", (k, c, 3, 3), NHWC))
    plan.const_value("DYDESC", side.tensor("HALF", dy.shape, NHWC))
    for name, array in (("XDATA", x), ("BN_EQSCALE", scale), ("BN_EQBIAS", bias), ("DYDATA", dy)):
        plan.pointer(name, array)
    plan.pointer("DWDATA", np.zeros((k, c, 3, 3), np.float16), output=True)
    plan.run()
    count = n * h * w
    side.output("dw", side.read(plan.memory["DWDATA"], np.float16), length=count, terms=8.0 * count)


def finalized(side: Side) -> None:
    """Batch norm's statistics from sums, in training and in inference."""
    draw, rng = side.draw, side.rng
    k, training = draw.choice((8, 16, 64)), draw.random() < 0.6
    count, factor, epsilon = draw.choice((32, 100)), draw.choice((0.25, 1.0, 0.1)), 1e-3
    mean, variance = rng.standard_normal(k), rng.random(k) + 0.5
    parameters = side.tensor("FLOAT", (1, k, 1, 1), NHWC)
    plan = Plan(side, f"BN_FINALIZE_STATISTICS_{'TRAINING' if training else 'INFERENCE'}")
    plan.const_value("BN_MODE", int(cudnn.CUDNN_BATCHNORM_SPATIAL_PERSISTENT), number=True)
    plan.const_value("BN_SCALEBIAS_MEANVAR_DESC", parameters)
    plan.const_value("BN_EQSCALEBIAS_DESC", side.tensor("HALF", (1, k, 1, 1), NHWC))
    inputs = {"BN_SCALE": rng.random(k) + 0.5, "BN_BIAS": rng.standard_normal(k)}
    outputs = {"BN_EQSCALE": np.float16, "BN_EQBIAS": np.float16}
    running = {"BN_RUNNING_MEAN": rng.standard_normal(k), "BN_RUNNING_VAR": rng.random(k) + 0.5}
    if training:
        plan.const_value("YSTATS_DESC", parameters)
        inputs |= {"YSUM": mean * count, "YSQSUM": (variance + mean**2) * count}
        outputs |= dict.fromkeys(("BN_SAVED_MEAN", "BN_SAVED_INVSTD"), np.float32)
    for name, values in inputs.items():
        plan.pointer(name, values.astype(np.float32))
    for name, values in running.items():
        plan.pointer(name, values.astype(np.float32), output=training)
    for name, dtype in outputs.items():
        plan.pointer(name, np.full(k, 3, dtype), output=True)
    if training:
        plan.scalar("INT64_T_BN_ACCUMULATION_COUNT", count, "int64")
        plan.scalar("DOUBLE_BN_EXP_AVG_FACTOR", factor, "float64")
    plan.scalar("DOUBLE_BN_EPSILON", epsilon, "float64")
    plan.run()
    for name, dtype in outputs.items():
        side.output(name, side.read(plan.memory[name], dtype), length=8, terms=16.0)
    for name in running if training else ():
        side.output(name, side.read(plan.memory[name], np.float32), length=8, terms=16.0)


def itself(side: Side) -> None:
    """Callbacks, properties, errors of the device, names of statuses: without a computation."""
    draw = side.draw
    which = draw.randrange(5)
    if which == 4:
        side.output("words", list(side.words(draw.choice(STATUSES)).encode()))
    elif which == 0:
        side.call("cudnnGetProperty", draw.choice((0, 1, 2, 7)))
    elif which == 1:
        found = side.runtime_error(draw.choice((0, 1, 2, 9)))
        side.output("status", [int(found[0])])
    elif which == 2:
        side.tag("no callback")
        side.call("cudnnSetCallback", 0, None, None)
        found = side.call("cudnnGetCallback")
        side.output("callback", [int(found[0]), int(bool(found[1])), int(bool(found[2]))])
    else:
        pack = side.call("cudnnCreateFusedOpsConstParamPack", draw.randrange(7))
        names = [name for name in dir(cudnn) if re.fullmatch(r"CUDNN_PARAM_\w+_PLACEHOLDER", name)]
        label, value = getattr(cudnn, draw.choice(sorted(names))), draw.choice((0, 1, 2))
        side.call("cudnnSetFusedOpsConstParamPackAttribute", pack, label, side.host(value, "int32"))


PROGRAMS = {
    "cudnnFusedOps* CONV_BNSTATS": statistics,
    "cudnnFusedOps* WGRAD": gradient,
    "cudnnFusedOps* BN_FINALIZE": finalized,
    "callbacks and properties": itself,
}
