"""The rules that a call may break: for each operation a right call, and changes each of which makes it a wrong one.

In lines ``{t}`` is the type of the data, ``{o}`` another one and ``{p}`` that of parameters (float64 for float64 data,
else float32). A change replaces words of the line by name; ``in_place=y:x`` asks for shared memory, ``reserve=<`` for a
byte less than is needed. Rules are broken by the least amount wherever there is one, so that checks that are off by one
are seen, and with all else in order: a filter one larger than its image comes with the empty result that the formula
gives. Sections are those of the guide for version 5; what is younger follows the documentation of its version.
"""

from __future__ import annotations

from ...operation import BAD, UNSUPPORTED, operations
from ...operation import Wrong as Rules
from .broken_kinds import one_off
from .broken_networks import NETWORKS

_CONVOLUTION = (
    "stride=0,1",
    "dilation=1,0",
    "padding=1",
    "stride=1,1,1",
    "groups=2",
    "groups=0",
    "padding=0,0",  # the result is then smaller
)
_FUSED = "x={t}:2x3x8x7 w={t}:4x3x3x3 z={t}:2x4x8x7 bias={t}:1x4x1x1 y={t}:2x4x8x7 padding=1,1 activation=relu"
_BATCH = (
    "x={o}:2x3x4x5",
    "scale={p}:1x4x1x1",
    "scale={p}:1x2x1x1",
    "scale={p}:1x3x4x5",
    "scale={p}:1x3x1",
    "mode=per_activation",
    "scale={wrong}:1x3x1x1",
)

RULES: dict[str, Rules] = {
    "transform_tensor": Rules(
        "4.14",
        "x={t}:2x3x4x5 y={t}:2x3x4x5",
        {BAD: ("y={t}:2x3x4x6", "y={t}:2x3x20", "y={o}:2x3x4x5", "x={t}:1x3x4x5", "in_place=y:x")},
    ),
    "add_tensor": Rules(
        "4.15",
        "a={t}:1x3x1x1 c={t}:2x3x4x5",
        {
            BAD: (
                "a={t}:1x2x1x1",
                "a={t}:1x4x1x1",
                "a={t}:2x3x4x6",
                "a={o}:1x3x1x1",
                "a={t}:1x3x1",
                "a={t}:2x3x4x5 in_place=c:a",
            ),
            UNSUPPORTED: ("a={t}:1x3x1x1x1x1 c={t}:2x3x4x5x1x1",),
        },
    ),
    "op_tensor": Rules(
        "4.16",
        "a={t}:2x3x4x5 b={t}:1x3x1x1 c={t}:2x3x4x5 operation=add",
        {
            BAD: ("a={t}:1x3x1x1", "b={t}:2x2x1x1", "b={t}:1x4x1x1", "c={t}:2x3x4x6", "b={o}:1x3x1x1", "b={t}:1x3x1"),
            UNSUPPORTED: ("a={t}:2x3x4x5x1x1 b={t}:1x3x1x1x1x1 c={t}:2x3x4x5x1x1", "compute_type={wrong}"),
        },
    ),
    "set_tensor": Rules("4.17", "y={t}:2x3x4x5", {BAD: ("y=i32:2x3x4x5", "y={t}:2x3")}),
    "scale_tensor": Rules("4.18", "y={t}:2x3x4x5", {BAD: ("y=u8:2x3x4x5", "y={t}:60")}),
    "convolution_forward": Rules(
        "4.43",
        "x={t}:2x3x8x7 w={t}:4x3x3x3 y={t}:2x4x8x7 padding=1,1",
        {
            BAD: (
                *one_off("x", "w", "y"),
                "w={o}:4x3x3x3",
                "y={t}:2x4x8x8",
                "y={t}:2x5x8x7",
                "y={t}:1x4x8x7",
                "y={o}:2x4x8x7",
                "w={t}:4x3x3",
                *_CONVOLUTION,
            ),
            UNSUPPORTED: (
                "compute_type={wrong}",
                "x={t}:2x3x8x7x1x1 w={t}:4x3x3x3x1x1 y={t}:2x4x8x7x1x1 padding=1,1,0,0",
                "x={t}:2x3x8 w={t}:4x3x3 y={t}:2x4x8 padding=1",
            ),
        },
    ),
    "convolution_backward_data": Rules(
        "4.58",
        "w={t}:4x3x3x3 dy={t}:2x4x8x7 dx={t}:2x3x8x7 padding=1,1",
        {
            BAD: (
                *one_off("dx", "w", "dy"),
                "dy={o}:2x4x8x7",
                "dx={t}:2x3x8x8",
                "dx={t}:2x2x8x7",
                "dy={t}:3x4x8x7",
                *_CONVOLUTION,
            ),
            UNSUPPORTED: ("compute_type={wrong}",),
        },
    ),
    "convolution_backward_filter": Rules(
        "4.52",
        "x={t}:2x3x8x7 dy={t}:2x4x8x7 dw={t}:4x3x3x3 padding=1,1",
        {
            BAD: (
                *one_off("x", "dw", "dy"),
                "dw={t}:4x3x3x2",
                "dw={t}:5x3x3x3",
                "dw={o}:4x3x3x3",
                "dy={t}:2x4x7x7",
                "x={t}:2x4x8x7",
                *_CONVOLUTION,
            ),
            UNSUPPORTED: ("compute_type={wrong}",),
        },
    ),
    "convolution_backward_bias": Rules(
        "4.47",
        "dy={t}:2x4x8x7 db={t}:1x4x1x1",
        {
            BAD: (
                "db={t}:1x3x1x1",
                "db={t}:1x5x1x1",
                "db={t}:2x4x1x1",
                "db={o}:1x4x1x1",
                "db={t}:1x4x1",
                "db={t}:1x4x8x7",
            )
        },
    ),
    "convolution_bias_activation_forward": Rules(
        "8.0, cudnnConvolutionBiasActivationForward",
        _FUSED,
        {
            BAD: (
                *one_off("x", "w", "z", "y"),
                "z={t}:2x4x8x8",
                "z={o}:2x4x8x7",
                "bias={t}:1x3x1x1",
                "bias={o}:1x4x1x1",
                "activation=clipped_relu ceiling=-1",
                "activation=elu coef=nan",
                *_CONVOLUTION,
            ),
            UNSUPPORTED: ("compute_type={wrong}",),
        },
    ),
    "softmax_forward": Rules(
        "4.69",
        "x={t}:2x3x4x5 y={t}:2x3x4x5",
        {BAD: ("y={t}:2x3x4x6", "y={t}:2x3x5x4", "y={o}:2x3x4x5", "y={t}:2x3x20", "x={t}:2x3")},
    ),
    "softmax_backward": Rules(
        "4.70",
        "y={t}:2x3x4x5 dy={t}:2x3x4x5 dx={t}:2x3x4x5",
        {BAD: ("dy={t}:2x3x5x4", "dy={t}:2x3x4x5:nhwc", "dx={o}:2x3x4x5", "dx={t}:2x3x4x6", "in_place=dx:y")},
    ),
    "activation_forward": Rules(
        "4.84",
        "x={t}:2x3x4x5 y={t}:2x3x4x5 mode=clipped_relu ceiling=1",
        {BAD: ("y={t}:2x3x4x6", "y={o}:2x3x4x5", "ceiling=-1", "ceiling=nan", "ceiling=inf", "mode=elu coef=inf")},
    ),
    "activation_backward": Rules(
        "4.85",
        "y={t}:2x3x4x5 dy={t}:2x3x4x5 x={t}:2x3x4x5 dx={t}:2x3x4x5 mode=relu",
        {
            BAD: ("mode=clipped_relu ceiling=-2", "in_place=dx:x"),
            UNSUPPORTED: (
                "dy={t}:2x3x4x6",
                "dy={t}:2x3x4x5:nhwc",
                "x={o}:2x3x4x5 dx={o}:2x3x4x5",
                "dx={t}:2x3x4x5:nhwc",
                "y={t}:2x3x5x4 dy={t}:2x3x5x4",
            ),
        },
    ),
    "batch_normalization_forward_inference": Rules(
        "4.95",
        "x={t}:2x3x4x5 y={t}:2x3x4x5 scale={p}:1x3x1x1 bias={p}:1x3x1x1 estimated_mean={p}:1x3x1x1 "
        "estimated_variance={p}:1x3x1x1 mode=spatial",
        {BAD: (*_BATCH, "y={t}:2x3x5x4", "estimated_mean={wrong}:1x3x1x1", "estimated_variance={p}:1x3x4x5")},
    ),
    "batch_normalization_forward_training": Rules(
        "4.96",
        "x={t}:2x3x4x5 y={t}:2x3x4x5 scale={p}:1x3x1x1 bias={p}:1x3x1x1 running_mean={p}:1x3x1x1 "
        "running_variance={p}:1x3x1x1 saved_mean={p}:1x3x1x1 saved_inv_variance={p}:1x3x1x1 mode=spatial",
        {
            BAD: (
                *_BATCH,
                "y={t}:2x3x5x4",
                "running_mean={p}:1x4x1x1",
                "saved_mean=",
                "running_variance=",
                "bias={p}:1x3x1",
            )
        },
    ),
    "batch_normalization_backward": Rules(
        "4.97",
        "x={t}:2x3x4x5 dy={t}:2x3x4x5 dx={t}:2x3x4x5 scale={p}:1x3x1x1 dscale={p}:1x3x1x1 dbias={p}:1x3x1x1 "
        "saved_mean={p}:1x3x1x1 saved_inv_variance={p}:1x3x1x1 mode=spatial",
        {
            BAD: (
                *_BATCH,
                "dy={t}:2x3x5x4",
                "dx={o}:2x3x4x5",
                "dbias={p}:1x4x1x1",
                "saved_inv_variance=",
                "in_place=dx:x",
            )
        },
    ),
    "normalization_forward": Rules(
        "graph API, NormalizationForward",
        "x={t}:2x6x4x5 y={t}:2x6x4x5 scale={p}:1x6x1x1 bias={p}:1x6x1x1 mode=group_norm groups=3",
        {
            BAD: (
                "groups=4",
                "groups=0",
                "groups=7",
                "groups=12",
                "axis=2",
                "scale={p}:1x3x1x1",
                "scale={wrong}:1x6x1x1",
                "bias={p}:1x5x1x1",
                "scale=",
                "mode=instance_norm",
                "y={t}:2x6x5x4",
                "mode=layer_norm groups=1 axis=4",
                "saved_mean={p}:2x3x1x1",
            )
        },
    ),
    "normalization_backward": Rules(
        "graph API, NormalizationBackward",
        "x={t}:2x6x4x5 dy={t}:2x6x4x5 dx={t}:2x6x4x5 scale={p}:1x6x1x1 dscale={p}:1x6x1x1 dbias={p}:1x6x1x1 "
        "mode=group_norm groups=2",
        {
            BAD: (
                "groups=5",
                "dy={t}:2x6x5x4",
                "dx={o}:2x6x4x5",
                "dscale={p}:1x5x1x1",
                "dbias={wrong}:1x6x1x1",
                "saved_inv_variance={p}:2x2x1x1",
                "mode=rms_norm groups=1 axis=-5",
                "in_place=dx:x",
            )
        },
    ),
    "reduce_tensor": Rules(
        "6.0, cudnnReduceTensor",
        "a={t}:2x3x4x5 c={t}:2x1x4x1 operation=max",
        {
            BAD: (
                "c={t}:2x1x4",
                "c={t}:2x3x4x4",
                "c={t}:2x1x3x1",
                "c={t}:2x3x2x5",
                "a={t}:0x3x4x5 c={t}:1x3x4x5",
                "indices=i32:2x3x4x5",
                "indices=f32:2x1x4x1",
                "operation=add indices=i32:2x1x4x1",
                "a={t}:3x5 c={t}:3x1",
                "c={t}:2x3x4x5 in_place=c:a",
            ),
            UNSUPPORTED: ("c={o}:2x1x4x1", "compute_type={wrong}"),
        },
    ),
    **NETWORKS,
    **{op: record.wrong for op, record in operations().items()},
}
