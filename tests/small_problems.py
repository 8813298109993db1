"""Small problems that together reach every kernel, for checks that are too slow for more.

Used under oclgrind, under compute-sanitizer and by the NVRTC test. A new engine is covered once a line here reaches
it; ``uncovered`` tells which kernels no line reaches. Sizes are odd, so that every tile and vector has a rest.

Simulators and compilers need not see a branch of a kernel twice: ``branches`` is what two sources have in common. Where
an engine has nothing new it is left out, so that a line here costs little unless it reaches what others do not.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import numpy as np

import portadnn as dnn
from portadnn.dispatch.choice import prepare
from portadnn.ops.rnn.layout import Network, RNNMode
from portadnn.problem import ALIGNMENT, TensorSpec, parse_line
from portadnn_backends import kernel_text
from portadnn_backends.base import DeviceInfo

NO_PROBLEMS = (
    "shared/common/mma_probe.cl",  # compiled by the backend opencl; tests/amd_isa/test_matrix.py has it
    "shared/gemm/matrix.cl",  # of larger problems on AMD: tests/amd_isa/test_matrix_rnn.py has it
    "cuda/norm/exchange.cu",  # of graphs with peer_stats: tests/graph/test_peer_stats_nvrtc.py has it
    "shared/common/fma_chain.cl",  # run by benchmarks, not by engines; tests/command_line/test_roofline.py has it
    *(f"{folder}/attention/" for folder in kernel_text.FOLDERS),  # tests/attention/test_graph_attention_nvrtc.py has it
    "shared/tensor/random_numbers.cl",  # of graphs, too: tests/fusion/test_graph_random.py has it
    "shared/nodes/",  # tests/graph/test_graph_nodes_nvrtc.py has them
    "shared/tensor/resample.cl",  # tests/graph/test_graph_resample.py has it
)
_KERNEL = re.compile(r'^(?:KERNEL|extern "C" __global__)\b[^{]*?\b([a-z]\w*)\(', re.MULTILINE)  # macros are in capitals
# Kernels of kernels_shared/ for CPUs, kernels for devices with a feature, and kernels that devices with one need for
# large problems at most
_FOR_CPUS = {"shared/tensor/bias_gradient.cl bias_panel"}
_FEATURES = {
    "cuda/rnn/forward_mma.cu rnn_forward_steps_mma": "cooperative",
    "cuda/rnn/backward_mma.cu rnn_backward_steps_mma": "cooperative",
    "cuda/softmax/cluster.cu softmax_cluster": "clusters",
    "opencl/conv/bytes_cpu.cl conv_bytes": "vnni",
    "opencl/conv/bytes_cpu.cl conv_bytes_image": "vnni",
    "opencl/conv/bytes_cpu.cl conv_bytes_pack": "vnni",
    "cuda/conv/mma_image_planes.cu conv_mma_image_planes": "wgmma",
    "cuda/conv/mma_filter_planes.cu conv_mma_filter_planes": "wgmma",
    "shared/conv/mma_pack_filter.cl pack_filter": "mma",
    "shared/conv/mma_pack_image.cl pack_image": "mma",
    "shared/conv/mma_reduce.cl conv_mma_reduce": "mma",
    "shared/conv/matrix.cl conv_matrix": "mfma",  # tests/amd_isa/test_matrix.py has it
    "shared/norm/joint.cl norm_joint": "grid_fence",
    "shared/norm/backward_joint.cl norm_backward_joint": "grid_fence",
}
_ITEMS = {"shared/softmax/rows.cl softmax_rows": 1024}  # work-items of a group, where all are needed
_SUBSTITUTES = {
    "shared/conv/mma_pack_filter.cl pack_filter": "grid_fence",
    "shared/conv/gemm.cl pack_filter": "grid_fence",
    "shared/conv/gemm.cl reduce_splits": "grid_fence",
    "shared/tensor/dropout.cl dropout_advance": "grid_fence",
    "shared/tensor/bias_gradient.cl bias_finish": "grid_fence",
    "shared/grid/affine_finish.cl affine_theta_finish": "grid_fence",
    "shared/norm/apply.cl norm_apply": "grid_fence",
    "shared/norm/backward_apply.cl norm_backward_apply": "grid_fence",
    "shared/norm/backward_partial.cl norm_backward_partial": "grid_fence",
    "shared/winograd/convolve.cl winograd_filter": "grid_fence",
    "shared/winograd/gradient.cl winograd_gradient_sum": "grid_fence",
}
_START = '#line 1 "dialect.h"'  # behind the defines
_FILE = re.compile(r'#line 1 "(\w+(?:/\w+)+\.c[lu])"\n')  # without ^, which would be tried at every character
_INTEGERS = {"labels": 1, "label_lengths": 1, "input_lengths": 3}  # a label that fits, so that paths are followed
_NUMBER = re.compile(r"(?<![A-Za-z_\d.])\d[\w.]*")
_TYPES = ("f32", "f16", "f64", "bf16")
_ACTIVATIONS = ("mode=sigmoid", "mode=tanh", "mode=relu", "mode=clipped_relu ceiling=0.5")
_POOLS = ("max", "average_count_include_padding", "average_count_exclude_padding")
_NAN = " nan_propagation=propagate_nan"


def _tensor_ops():
    for t in _TYPES:
        yield f"set_tensor y={t}:2x3x5x7 value=2"
        yield f"scale_tensor y={t}:2x3x37x41 alpha=0.5"
        yield f"transform_tensor x={t}:2x5x9x11 y={t}:2x5x9x11:nhwc"
        yield f"transform_tensor x={t}:1x37x5x13:nhwc y={t}:1x37x5x13 alpha=2 beta=1"
        yield f"transform_tensor x={t}:2x19x5x9 y={t}:2x19x5x9:nhwc alpha=2 beta=0.5"
        yield f"transform_tensor x={t}:2x3x5x7/300,64,8,1 y={t}:2x3x5x7/1,2,6,30"
        yield f"add_tensor a={t}:1x3x1x1 c={t}:2x3x5x7"
        yield f"add_tensor a={t}:1x8x1x1 c={t}:2x8x4x8:nhwc beta=0"
        yield f"add_tensor a={t}:1x1x5x1x7 c={t}:2x3x5x2x7"
        for op in ("add", "mul", "min", "max", "sqrt", "not"):
            yield f"op_tensor a={t}:2x3x5x7 b={t}:1x3x1x1 c={t}:2x3x5x7 operation={op}"
    yield "scale_tensor y=f32:2x3x5x8/200,40,8,1 alpha=2"
    yield "set_tensor y=f32:2x3x5x8@4 value=1"
    yield "add_tensor a=f32:2x3x5x7@4 c=f32:2x3x5x7@4"
    yield "add_tensor a=f32:1x1x1x7 c=f32:2x3x5x7:nhwc"
    yield "op_tensor a=f32:2x3x5x7 b=f32:2x3x5x7 c=f32:2x3x5x7 operation=min beta=1" + _NAN
    yield "op_tensor a=f32:2x3x5x7:nhwc b=f32:2x3x5x7 c=f32:2x3x5x7 operation=max" + _NAN


def _ctc_losses():
    lengths = "label_lengths=i32:2 input_lengths=i32:2"
    for t in _TYPES:
        words = f"ctc_loss probs={t}:9x2x5 labels=i32:2x3 {lengths} costs={t}:2"
        yield f"{words} gradients={t}:9x2x5"
        yield f"{words} normalization=none"
    lengths = "label_lengths=i32:1 input_lengths=i32:1"
    for steps in (515, 1030):  # more states than 32 KB of local memory hold, and more than any does
        words = f"ctc_loss probs=f64:{steps}x1x5 labels=i32:{steps} {lengths} costs=f64:1"
        yield f"{words} gradients=f64:{steps}x1x5 gradient_mode=skip_oob_gradients"
        yield words


def _attentions():
    for t in _TYPES:
        tensors = f"q={t}:3x2x2x4 k={t}:5x2x1x4 v={t}:5x2x1x4"
        rest = "lengths_q=i32:4 lengths_kv=i32:2 heads=2 q_proj=2 k_proj=2 v_proj=2 o_proj=4 biases=1 attn_dropout=0.5"
        yield f"multi_head_attn_forward {tensors} w={t}:80 windows=i32:2x3 residuals={t}:3x2x2x4 {rest}"
        yield f"multi_head_attn_backward_data {tensors} w={t}:80 dout={t}:3x2x2x4 windows=i32:2x3 {rest}"
        yield f"multi_head_attn_backward_weights {tensors} dw={t}:80 dout={t}:3x2x2x4 {rest}"
    yield "multi_head_attn_forward q=f32:3x2x1x4 k=f32:5x2x1x4 v=f32:5x2x1x4 heads=2"
    rows = "q=f16:300x2x1x16 k=f16:300x2x1x16 v=f16:300x2x1x16 dout=f16:300x2x1x16"
    yield f"multi_head_attn_backward_weights {rows} dw=f16:1088 heads=2 q_proj=8 k_proj=8 v_proj=8 o_proj=16 biases=1"
    for last in (504, 2600):  # heads that 32 KB of local memory do not hold, and that none does
        tensors = f"q=f32:2x1x1x{last} k=f32:3x1x1x{last} v=f32:3x1x1x{last}"
        yield f"multi_head_attn_forward {tensors} heads=1"
        yield f"multi_head_attn_backward_data {tensors} dout=f32:2x1x1x{last} heads=1"


def _activations():
    for i, mode in enumerate(_ACTIVATIONS):
        t, nan = _TYPES[i], _NAN if i % 2 else ""
        yield f"activation_forward x={t}:2x3x5x7 {mode}{nan}"
        yield f"activation_forward x={t}:2x3x7x5:nhwc y={t}:2x3x7x5 {mode} beta=1"
        yield f"activation_backward x={t}:2x3x5x7 {mode}{nan}"
        yield f"activation_backward x={t}:2x3x5x8/200,40,8,1 {mode} beta=0.5"
    yield "activation_forward x=f16:1x3x5x8@2 mode=relu"
    for mode in ("elu", "swish", "identity"):
        yield f"activation_forward x=f32:2x3x5x7 mode={mode} coef=0.5"
        yield f"activation_backward x=bf16:2x3x5x7 mode={mode} coef=0.5"


def _softmax():
    shapes = ("2x5x3x7", "3x300x1x1", "2x10x5x6:nhwc", "2x3x40x9")
    i = 0
    for algorithm in ("fast", "accurate", "log"):
        for mode in ("instance", "channel"):
            for shape in shapes:
                t, i = _TYPES[i % 4], i + 1
                beta = " beta=1" if i % 5 == 0 else ""
                yield f"softmax_forward x={t}:{shape} algorithm={algorithm} mode={mode}{beta}"
                yield f"softmax_backward y={t}:{shape} algorithm={algorithm} mode={mode}{beta}"
    yield "softmax_forward x=f32:2x5x3x7/210,42,14,2 y=f32:2x5x3x7/1,2,10,30"
    for t, algorithm in zip(_TYPES, ("accurate", "log", "fast", "accurate"), strict=True):
        yield f"softmax_forward x={t}:1x1x181x184 algorithm={algorithm} mode=instance"  # too long for a work-group
        yield f"softmax_forward x={t}:1x1x181x185 algorithm={algorithm} mode=instance"  # no whole vectors
        yield f"softmax_backward y={t}:1x1x91x184 algorithm={algorithm} mode=instance beta=1"


def _dropout():
    yield "set_dropout_descriptor seed=5"
    for i, t in enumerate(_TYPES):
        for tensors in ("2x3x5x7", "1x2x67x77", "2x8x3x4:nhwc", "2x3x5x7/300,64,8,1"):
            yield f"dropout_forward x={t}:{tensors} dropout=0.5"
            yield f"dropout_backward dy={t}:{tensors} dropout=0.5"
        yield f"dropout_forward x={t}:1x2x3x7 dropout={i % 2}.0"
    yield "dropout_forward x=f32:1x3x5x8@4 dropout=0.25"


def _reductions():
    shapes = ("2x3x5x8", "2x3x5x1"), ("9x2x5x7", "1x2x5x7"), ("1x2x37x111", "1x1x1x1"), ("300x3x1x8:nhwc", "1x3x1x1")
    operations = ("add", "mul", "min", "max", "amax", "avg", "norm1", "norm2", "mul_no_zeros")
    for i, operation in enumerate(operations):
        a, c = shapes[i % 4]
        yield f"reduce_tensor a={_TYPES[i % 4]}:{a} c={_TYPES[i % 4]}:{c} operation={operation}{_NAN if i % 2 else ''}"
    for i, (a, c) in enumerate(shapes):
        t, operation = _TYPES[i], operations[2 + i % 3]
        yield f"reduce_tensor a={t}:{a} c={t}:{c} indices=i32:{c} operation={operation} beta=1{'' if i % 2 else _NAN}"
    yield "reduce_tensor a=f32:3x4x5x6/200,50,8,1 c=f32:3x1x5x1/40,40,8,7 operation=add"


def _windows():
    for i, mode in enumerate(_POOLS):
        t = _TYPES[i]
        for rest in (
            f"x={t}:2x3x9x7 mode={mode} window=2,2 stride=2,2",
            f"x={t}:2x5x7x8:nhwc mode={mode} window=3,3 padding=1,1 stride=2,2 beta=1",
            f"x={t}:1x3x5x6x7 mode={mode} window=3,2,3 padding=1,1,1 stride=2,1,2{_NAN}",
        ):
            yield f"pooling_forward {rest}"
            yield f"pooling_backward {rest}"
    for line in ("x=bf16:2x5x7x8:nhwc mode=max window=3,3 stride=2,2", "x=bf16:2x3x9x7 mode=max window=2,2 beta=1"):
        yield f"pooling_forward {line}"
        yield f"pooling_backward {line}"
    yield "pooling_forward x=f32:2x3x9x7/1000,100,8,1 mode=max window=9,7"
    for t in _TYPES:
        yield f"convolution_backward_bias dy={t}:3x5x7x9"
        yield f"convolution_backward_bias dy={t}:3x37x7x5:nhwc beta=1"
    yield "convolution_backward_bias dy=f32:2x3x4x5x6"
    yield "convolution_backward_bias dy=f32:40x300x1x1"
    yield "convolution_backward_bias dy=f32:1x1x251x141 beta=1"  # too long for a work-group
    yield "convolution_backward_bias dy=f32:3x8x31x33:nhwc beta=1"  # on every GPU, even of one multiprocessor


_CONVOLUTIONS = (  # image, filter, the rest
    ("2x4x7x6", "6x2x3x3", "groups=2 padding=1,1"),
    ("1x8x6x6", "17x8x3x3", "padding=1,1"),
    ("2x8x7x7", "9x8x1x1", ""),
    ("1x33x4x4:nhwc", "9x33x3x3:nhwc", "padding=1,1"),
    ("2x4x9x9", "6x2x3x3", "groups=2 stride=2,2 padding=1,1"),
    ("1x5x8x8", "5x1x3x3", "groups=5 padding=1,1"),
    ("2x33x6x6:nhwc", "33x1x3x3", "groups=33 padding=1,1"),
    ("1x3x11x10", "4x3x3x2", "dilation=2,3 mode=convolution"),
    ("1x3x4x5x6", "4x3x2x3x3", "padding=1,1,1 stride=1,2,1"),
    ("1x3x12x12", "7x3x5x5", "stride=2,2 padding=2,2 mode=convolution"),
    ("2x3x6x7/400,50,8,1", "4x3x3x3/1,4,12,36", ""),
    ("1x1x3x70", "1x1x3x5", ""),  # a Fourier transform in global memory
)


def _convolutions():
    for i, (x, w, rest) in enumerate(_CONVOLUTIONS):
        types = _TYPES if i == 0 else (_TYPES[i % 4], "f32") if i > 3 and i % 4 else ("f32",)
        for t in types:
            line = f"convolution_forward x={t}:{x} w={t}:{w} {rest}"
            y = dnn.parse(line).y
            blend = " alpha=2 beta=1" if i % 2 else ""
            yield line + blend
            yield f"convolution_backward_data w={t}:{w} dy={y} dx={t}:{x} {rest}{blend}"
            yield f"convolution_backward_filter x={t}:{x} dy={y} dw={t}:{w} {rest}{blend}"


_FUSED = "convolution_bias_activation_forward"


def _fused():
    for i, activation in enumerate((*_ACTIVATIONS, "mode=identity")):
        t = _TYPES[i % 3]
        rest = activation.replace("mode", "activation") + (_NAN if i % 2 else "")
        yield f"{_FUSED} x={t}:2x5x7x4 w={t}:9x5x3x3 padding=1,1 alpha2={i % 3 - 1} {rest}"
    yield f"{_FUSED} x=f16:1x16x5x4:nhwc w=f16:24x16x3x3:nhwc padding=1,1 activation=relu alpha2=1"
    yield f"{_FUSED} x=f16:2x16x8x8 w=f16:24x16x1x1 activation=sigmoid alpha2=1"
    yield f"{_FUSED} x=f32:1x8x5x4:nhwc w=f32:12x8x1x1:nhwc activation=relu alpha2=1"
    yield f"{_FUSED} x=f32:1x8x5x4 w=f32:12x8x1x1 z=f32:1x12x5x4:nhwc activation=relu alpha2=1"
    yield f"{_FUSED} x=f32:1x3x4x5x6 w=f32:4x3x2x3x3 padding=1,1,1 activation=tanh"


_SAMPLES = (  # mode, dims of parameters and of statistics for 3x4x2x5
    ("layer_norm", "1x4x2x5", "3x1x1x1"),
    ("rms_norm axis=-1", "1x1x1x5", ""),
    ("group_norm groups=2", "1x4x1x1", "3x2x1x1"),
    ("instance_norm", "1x4x1x1", "3x4x1x1"),
    ("instance_norm", "1x4x1x1", "3x4x1x1"),
)


def _normalisations():
    for t, mode in (("f32", "spatial"), ("f16", "spatial"), ("f64", "per_activation"), ("bf16", "spatial")):
        p = f"{'f64' if t == 'f64' else 'f32'}:1x5x{'2x3' if mode == 'per_activation' else '1x1'}"
        saved = f"saved_mean={p} saved_inv_variance={p}"
        running = f"running_mean={p} running_variance={p}"
        x = f"x={t}:3x5x2x3"
        yield f"batch_normalization_forward_training {x} {running} {saved} mode={mode} beta=1"
        yield f"batch_normalization_forward_inference {x} mode={mode}"
        yield f"batch_normalization_backward {x} {saved} mode={mode} beta_param_diff=1"
        yield f"batch_normalization_statistics {x} mode={mode}"
        gathered, real = p.replace(":1x", ":3x"), p.partition(":")[0]
        rest = f"counts={real}:3x1x1x1 mode={mode}"
        parts = f"means={gathered} variances={gathered}"
        yield f"batch_normalization_apply {x} {running} {saved} {parts} {rest}"
        yield f"batch_normalization_backward_statistics {x} mode={mode}"
        parts = f"dscale={p} dbias={p} dscales={gathered} dbiases={gathered}"
        yield f"batch_normalization_backward_apply {x} {parts} {rest}"
    yield "batch_normalization_backward x=f32:3x4x2x4 beta_data_diff=1"
    yield "batch_normalization_statistics x=f32:0x4x2x4"  # zeros
    yield "batch_normalization_statistics x=f32:3x4x2x4"
    yield "batch_normalization_apply x=f32:3x4x2x4 means=f32:1x4x1x1"
    yield "batch_normalization_backward_apply x=f32:3x4x2x4 dscales=f32:1x4x1x1"
    for i, (mode, p, s) in enumerate(_SAMPLES):
        t = _TYPES[i % 4]
        real = "f64" if t == "f64" else "f32"
        saved = "" if i % 2 else f" saved_mean={real}:{s} saved_inv_variance={real}:{s}"
        bias = "" if "rms" in mode else f" bias={real}:{p}"
        yield f"normalization_forward x={t}:3x4x2x5 mode={mode} scale={real}:{p}{bias}{saved}"
        yield f"normalization_backward x={t}:3x4x2x5 mode={mode} scale={real}:{p}{saved}"
    yield "normalization_forward x=f32:2x6x2x3:nhwc mode=group_norm groups=3 scale=f32:1x6x1x1"
    yield "normalization_backward x=f32:70x1x8 mode=layer_norm axis=2 scale=f32:1x1x8"  # parts of parameters' gradients
    for long in ("3x4x9x11:nhwc", "1x5x65x66:nhwc", "1x1x181x184"):  # more than one slice, on GPUs and on CPUs
        yield f"batch_normalization_forward_training x=f32:{long}"
        yield f"batch_normalization_backward x=f32:{long}"


def _recurrent():
    for i, mode in enumerate(RNNMode):
        t, skip = _TYPES[i], mode is RNNMode.RNN_TANH
        layers = 1 if mode is RNNMode.GRU else 2  # the others' have the kernels between layers
        size = Network(mode, 5, layers, 2, 5, skip).size
        rest = f"hidden_size=5 num_layers={layers} mode={mode.name.lower()} direction=bidirectional batch_sizes=2,1"
        rest += " input_mode=skip_input" * skip
        x, y, state = f"x={t}:3x5x1", f"y={t}:3x10x1", f"{t}:{2 * layers}x2x5"
        yield f"rnn_forward_training {x} w={t}:{size}x1x1 hx={state} hy={state} dropout=0.5 {rest}"
        yield f"rnn_backward_data {y} w={t}:{size}x1x1 hx={state} dhy={state} dhx={state} dropout=0.5 {rest}"
        yield f"rnn_backward_weights {x} {y} dw={t}:{size}x1x1 dropout=0.5 {rest}"
    cells = "cx=f32:1x2x5 cy=f32:1x2x5"
    yield f"rnn_forward_inference x=f32:2x2x3 w=f32:200x1x1 hidden_size=5 {cells}"
    yield "rnn_forward_inference x=f16:4x4x3 w=f16:200x1x1 hidden_size=5"  # a product of 16 rows, for matrix cores
    yield "rnn_backward_data y=f16:4x4x5 w=f16:200x1x1 dx=f16:4x4x3 hidden_size=5"
    states = "hidden_size=5 proj_size=2"  # rows of states are copied, and added
    yield f"rnn_forward_inference x=f16:2x2x3 w=f16:150x1x1 hx=f16:1x2x2 hy=f16:1x2x2 {states}"
    yield f"rnn_backward_data y=f16:2x2x2 w=f16:150x1x1 dx=f16:2x2x3 dhy=f16:1x2x2 dhx=f16:1x2x2 {states}"
    yield "rnn_backward_weights x=f32:64x3x2 y=f32:64x3x2 dw=f32:48x1x1 hidden_size=2"  # a sum that is split
    yield "rnn_backward_weights x=f32:515x1x2 y=f32:515x1x2 dw=f32:48x1x1 hidden_size=2"  # biases' sums in parts


def _tensor_cores():
    """TF32 where permitted, in layouts that are packed and that are not; half is among the convolutions above."""
    for f in ("", ":nhwc"):
        dims = f"2x8x7x8{f}", f"24x8x3x3{f}", f"2x24x7x8{f}"
        x, w, y = (f"f32:{d}" for d in dims)
        yield f"convolution_forward x={x} w={w} y={y} padding=1,1 math=tf32"
        yield f"convolution_backward_data w={w} dy={y} dx={x} padding=1,1 math=tf32 alpha=2 beta=1"
        yield f"convolution_backward_filter x={x} dy={y} dw={w} padding=1,1 math=tf32"
    yield "convolution_backward_filter x=f32:3x8x4x5 dy=f32:3x12x4x5 dw=f32:12x8x1x1 math=tf32"  # planes
    for t, x, w, rest in (  # groups of few channels
        ("f16", "2x32x5x7:nhwc", "16x8x3x2:nhwc", "groups=4 padding=1,1 mode=convolution"),
        ("bf16", "1x24x7x6:nhwc", "24x4x3x3", "groups=6 padding=1,1 stride=2,2"),
        ("f16", "1x48x4x5:nhwc", "48x24x1x3:nhwc", "groups=2"),
    ):
        line = f"convolution_forward x={t}:{x} w={t}:{w} {rest}"
        y = dnn.parse(line).y
        yield line
        yield f"convolution_backward_data w={t}:{w} dy={y} dx={t}:{x} {rest} alpha=2 beta=1"
        yield f"convolution_backward_filter x={t}:{x} dy={y} dw={t}:{w} {rest} beta=1"


def _spatial_transformers():
    for t in _TYPES:
        yield f"spatial_tf_grid_generator_forward theta={t}:2x2x3 dims=2,1,3,4"
        yield f"spatial_tf_grid_generator_backward dgrid={t}:2x3x3x2"
        yield f"spatial_tf_sampler_forward x={t}:2x3x3x5 grid={t}:2x2x3x2 beta=1"
        yield f"spatial_tf_sampler_backward x={t}:2x3x3x5 grid={t}:2x2x3x2 beta_dgrid=1"
    yield "spatial_tf_grid_generator_forward theta=f32:1x2x3 dims=1,1,3,3"
    yield "spatial_tf_grid_generator_backward dgrid=f32:1x17x241x2"  # two slices
    yield "spatial_tf_sampler_backward x=f32:1x16x2x3:nhwc grid=f32:1x2x3x2"
    for rest in ("x=f32:1x8x3x2:nhwc grid=f32:1x3x3x2", "x=f32:1x1x2x2 grid=f32:1x11x37x2"):  # the last: full cells
        yield f"spatial_tf_sampler_forward {rest}"
        yield f"spatial_tf_sampler_backward {rest}"
    yield "spatial_tf_sampler_backward x=f32:1x1x1x4200 grid=f32:1x1x7x2"  # more cells than local memory has counters
    for rest in ("x=f32:1x3x5x6 grid=f32:1x1x2x2", "x=f32:1x4x5x6:nhwc grid=f32:1x1x2x2"):  # few points: none copies x
        yield f"spatial_tf_sampler_forward {rest}"
        yield f"spatial_tf_sampler_backward {rest}"


def _responses():
    shapes = ("2x7x3x5", "2x8x1x3:nhwc", "1x2x5x6"), ("1x16x2x4", "1x5x2x2:nhwc", "1x4x3x5:nhwc")
    for i, window in enumerate(("lrn_n=5", "lrn_n=4 lrn_beta=0.6", "lrn_n=1", "lrn_n=2")):
        t, (columns, rows, image) = _TYPES[i], shapes[i % 2]
        for dims in (columns, rows):
            yield f"lrn_cross_channel_forward x={t}:{dims} {window} beta={i % 2}"
            yield f"lrn_cross_channel_backward x={t}:{dims} {window} beta={i % 2}"
        x, means = f"x={t}:{image}", f"means={t}:{image}" if i % 3 else ""
        yield f"divisive_normalization_forward {x} {means} {window} beta={i % 2}"
        yield f"divisive_normalization_backward {x} {means} dmeans={t}:{image} {window}"
    yield "lrn_cross_channel_backward x=f32:1x9x2x2 lrn_n=16"
    yield "divisive_normalization_backward x=f32:1x1x2x3x3 lrn_n=3"


def _items():
    for t in _TYPES:
        words = " ".join(f"{name}={t}:2x3x4" for name in ("param", "grad", "exp_avg", "exp_avg_sq"))
        yield f"adam {words}"
        yield f"adam {words} transformers=yes"
        yield f"adam {words} max_exp_avg_sq={t}:2x3x4 amsgrad=yes param_half=f16:2x3x4 maximize=yes adamw=yes"
        yield f"adam {words} found_inf=u8:1 grad_scale=i32:1 state_step=i32:1"
        yield f"glu_forward x={t}:2x6x5 dim=1"
        yield f"glu_backward x={t}:2x6x5 dy={t}:2x3x5 dim=1"
        yield f"prelu_backward x={t}:9x7x60 weight={t}:1x1x1 dy={t}:9x7x60 dx={t}:9x7x60 dweight={t}:1x1x1"
        yield f"rope_forward x={t}:2x3x4x6 cos={t}:1x1x4x6 sin={t}:1x1x4x6"
        yield f"rope_backward dy={t}:2x3x4x6 cos={t}:1x1x4x6 sin={t}:1x1x4x6"
        yield f"soft_margin_loss_forward x={t}:2x3x4x5 target={t}:2x3x4x5 reduction=none"
        yield f"soft_margin_loss_forward x={t}:2x3x4x500 target={t}:2x3x4x500 reduction=mean"
        yield f"soft_margin_loss_backward x={t}:2x3x4x5 target={t}:2x3x4x5 dloss={t}:2x3x4x5 reduction=sum"
        for how in ("none", "mean"):
            yield f"multi_margin_loss_forward x={t}:7x5 target=i64:7 weight={t}:5 p=2 reduction={how}"
        yield f"cat_forward x0={t}:2x3x4 x1={t}:2x1x4 dim=1"
        yield f"kthvalue_forward x={t}:2x70x4 k=3 dim=1"
        yield f"getitem_backward dy={t}:2x2x5 dx={t}:4x2x9 slices=2,0,9,2 offset=1"
        for count in range(1, 6):
            places = " ".join(f"index{i}={'i32' if count % 2 else 'i64'}:7" for i in range(count))
            dims = ",".join(map(str, range(count)))
            add = ("no", "yes")[count % 2]
            yield f"getitem_backward dy={t}:7x3 dx={t}:{'2x' * count}3 {places} dims={dims} add={add}"


LINES = (
    *_tensor_ops(),
    *_items(),
    *_attentions(),
    *_ctc_losses(),
    *_activations(),
    *_softmax(),
    *_normalisations(),
    *_responses(),
    *_dropout(),
    *_reductions(),
    *_windows(),
    *_recurrent(),
    *_convolutions(),
    *_fused(),
    *_tensor_cores(),
    *_spatial_transformers(),
)


def branches(source: str, types: bool = False) -> str:
    """Return a source without the numbers of its defines, which are mostly sizes, and without types unless wanted."""
    defines, start, text = source.partition(_START)
    return _NUMBER.sub("#", defines if types else re.sub(r"DTYPE_\w+", "DTYPE", defines)) + start + text


@functools.cache
def defines(source: str) -> AbstractSet[str]:
    """Return a source's defines, types among them, without their numbers; and what stands behind them."""
    heads, _, text = source.partition(_START)
    return frozenset((*_NUMBER.sub("#", heads).splitlines(), text))


def zero_one_more(source: str) -> set[tuple[str, int]]:
    """Return a source's defines that are whole numbers, each with 0, 1, or 2 where it is more."""
    found = re.findall(r"^#define (\w+) (\d+)$", source.partition(_START)[0], re.MULTILINE)
    return {(name, min(int(value), 2)) for name, value in found}


def run(handle: dnn.Handle, line: str, only: set[tuple[str, str]] | None = None) -> set[tuple[str, str]]:
    """Run a problem on every engine of the handle that takes it, in buffers of exactly the size needed.

    Outputs stay uninitialised where beta is 0, because they must not be read then.

    Parameters
    ----------
    only : set of (str, str), optional
        Lines and names of the engines to run.

    Returns
    -------
    set of (str, str)
        Name and source of the kernels that ran.
    """
    problem, scalars = parse_line(line)
    numbers = {**problem.scalars, **scalars}
    device, ran = handle.device, set()
    engines = [e for e in handle.engines_for(problem) if e.why_not(problem, device.info) is None]
    if not engines:
        prepare(handle, problem)  # raises and says why
    for engine in engines:
        if only is not None and (line, engine.name) not in only:
            continue
        plan = engine.prepare(problem, device)
        arrays = []
        for name, spec in zip(problem.names, problem.tensors, strict=True):
            skip = 0 if spec.alignment == ALIGNMENT else spec.alignment // spec.dtype.itemsize
            if name in problem.unread(numbers):
                base = device.empty(TensorSpec(spec.dtype, (spec.span + skip,), (1,)))
            else:
                values = np.random.default_rng(len(arrays)).standard_normal(spec.span + skip)
                if not spec.dtype.is_float:
                    values = np.full(values.shape, _INTEGERS.get(name, 0))
                base = device.asarray(spec.dtype.stored(values))
            arrays.append(device.wrap(dnn.TensorView(spec, base, skip), name))
        workspace = device.workspace(plan.workspace_size) if plan.workspace_size else None
        plan.run(arrays, list(numbers.values()), workspace)
        handle.synchronize()
        ran |= {(launch.kernel.name, launch.kernel.source) for launch in plan.launches}
    return ran


def uncovered(ran: Iterable[tuple[str, str]], info: DeviceInfo) -> list[str]:
    """Return the kernels made for such a device that are not among the names and kernel_text."""
    if info.schedule == "cpu":
        folders = ("opencl",)
    else:  # OpenCL's own folder is for CPUs
        folders = ("shared",) if info.backend == "opencl" else ("shared", info.backend)
    needed = [f for f in kernel_text.kernel_files() if f.partition("/")[0] in folders and not f.startswith(NO_PROBLEMS)]
    kernels = {file: _KERNEL.findall(kernel_text.read(file)) for file in needed}
    assert all(kernels.values()), "a file without kernels"
    missed = {f"{file} {name}" for file, names in kernels.items() for name in names}
    missed = missed | _FOR_CPUS if info.schedule == "cpu" else missed - _FOR_CPUS
    missed -= {f"{file} {name}" for name, source in set(ran) for file in _FILE.findall(source)}
    missed -= {kernel for kernel, items in _ITEMS.items() if info.max_work_group < items}
    missed -= {kernel for kernel, feature in _FEATURES.items() if feature not in info.features}
    missed -= {kernel for kernel, feature in _SUBSTITUTES.items() if feature in info.features}
    return sorted(missed)
