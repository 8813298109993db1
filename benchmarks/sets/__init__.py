"""Named sets of problem lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from portadnn.mapping import table
from portadnn.operation import operations

from .layers import NETWORKS, SEVEN, Layer, problem_line

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo

DIRECTIONS = ("forward", "backward_data", "backward_filter")


def convolutions(
    direction: str, batch: int, dtype: str = "f32", layout: str = "nchw", network: Sequence[Layer] = SEVEN
) -> tuple[str, ...]:
    """Return layers as problem lines; `direction` is forward, backward_data or backward_filter."""
    return tuple(problem_line(layer, direction, batch, dtype, layout) for layer in network)


def memory_bound(n: int) -> tuple[str, ...]:
    """Return the bandwidth-bound calls at (n, 64, 56, 56), and softmax over rows."""
    t = f"f32:{n}x64x56x56"
    half = f"f32:{n}x64x28x28"
    return (
        f"activation_forward x={t} mode=relu",
        f"activation_forward x={t} mode=sigmoid",
        f"activation_backward x={t} mode=relu",
        f"add_tensor a=f32:1x64x1x1 c={t}",
        f"add_tensor a={t} c={t}",
        f"op_tensor a={t} b={t} c={t} operation=add",
        f"scale_tensor y={t}",
        f"transform_tensor x={t} y={t}:nhwc",
        f"softmax_forward x={t} mode=channel",
        f"softmax_forward x={t} mode=instance",
        f"softmax_forward x=f32:{32 * n}x4096x1x1 mode=channel",
        f"softmax_backward y={t} mode=channel",
        f"pooling_forward x={t} y={half} mode=max window=3,3 padding=1,1 stride=2,2",
        f"pooling_forward x={t} y={half} mode=average_count_include_padding window=3,3 padding=1,1 stride=2,2",
        f"pooling_backward y={half} dy={half} x={t} dx={t} mode=max window=3,3 padding=1,1 stride=2,2",
        f"convolution_backward_bias dy={t}",
    )


def _pooled(shape: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Return the output of windows of 3 with stride 2 and padding 1."""
    n, c, h, w = shape
    return (n, c, (h + 1) // 2, (w + 1) // 2)


def calls(
    shape: tuple[int, int, int, int], rows: tuple[int, int] = (1, 1), layout: str = "nchw", ops: str = "*"
) -> tuple[str, ...]:
    """Return the lines that records have for tensors of one shape: all calls beside convolutions, once."""
    suffix, other = ("", ":nhwc") if layout == "nchw" else (":nhwc", "")
    dims = "x".join(map(str, shape))
    words = {
        "t": f"f32:{dims}{suffix}",
        "turned": f"f32:{dims}{other}",
        "pooled": f"f32:{'x'.join(map(str, _pooled(shape)))}{suffix}",
        "c": f"f32:1x{shape[1]}x1x1",
        "rows": f"f32:{rows[0]}x{rows[1]}x1x1",
    }
    known = operations().items()
    return tuple(f"{op} {line.format(**words)}" for op, r in known if fnmatch(op, ops) for line in r.benchmarks)


def beside(lines: Iterable[str], peer: str) -> tuple[str, ...]:
    """Return the lines whose operations a peer has: cuDNN's legacy interface lacks some."""
    return tuple(line for line in lines if peer != "cudnn" or line.split()[0] in table().of_cudnn)


def batch_norms(shape: tuple[int, int, int, int], layout: str = "nchw") -> tuple[str, ...]:
    """Return the calls of batch normalisation, with all that networks ask of them."""
    return calls(shape, layout=layout, ops="batch_normalization_*")


def sample_norms(images: int, tokens: int) -> tuple[str, ...]:
    """Return layer, RMS, group and instance normalisation as transformers and networks of images have them."""
    n, c = f"{images}x128x56x56", "f32:1x128x1x1"
    rows, wide = f"{tokens}x1x1024", f"{tokens}x1x4096"
    layer, rms = "mode=layer_norm axis=2 scale=f32:1x1x1024", "mode=rms_norm axis=2 scale=f32:1x1x4096"
    group, instance = f"mode=group_norm groups=32 scale={c}", f"mode=instance_norm scale={c}"
    s, g, i = f"f32:{tokens}x1x1", f"f32:{images}x32x1x1", f"f32:{images}x128x1x1"
    return (
        f"normalization_forward x=f32:{rows} {layer} bias=f32:1x1x1024",
        f"normalization_backward x=f32:{rows} {layer} saved_mean={s} saved_inv_variance={s}",
        f"normalization_forward x=f32:{wide} {rms}",
        f"normalization_backward x=f32:{wide} {rms} saved_inv_variance={s}",
        f"normalization_forward x=f32:{n} {group} bias={c}",
        f"normalization_backward x=f32:{n} {group} saved_mean={g} saved_inv_variance={g}",
        f"normalization_forward x=f32:{n}:nhwc {group} bias={c}",
        f"normalization_backward x=f32:{n}:nhwc {group} saved_mean={g} saved_inv_variance={g}",
        f"normalization_forward x=f32:{n} {instance} bias={c}",
        f"normalization_backward x=f32:{n} {instance} saved_mean={i} saved_inv_variance={i}",
    )


_NORMS = (
    *batch_norms((32, 64, 56, 56)),
    *batch_norms((32, 64, 56, 56), "nhwc"),
    *batch_norms((16, 64, 14, 14)),
    *batch_norms((32, 512, 7, 7)),
    *batch_norms((31, 67, 53, 51)),
    *batch_norms((31, 67, 53, 51), "nhwc"),
    *batch_norms((256, 1000, 1, 1)),
    *sample_norms(8, 2048),
)


def spatial_transformer(x: tuple[int, int, int, int], places: tuple[int, int], layout: str = "nchw") -> tuple[str, ...]:
    """Return the four calls of a spatial transformer that reads images x at a grid of (h, w) places."""
    suffix = "" if layout == "nchw" else ":nhwc"
    dims, (h, w) = "x".join(map(str, x)), places
    images = f"x=f32:{dims}{suffix} dims={x[0]},{x[1]},{h},{w}"
    return (
        f"spatial_tf_grid_generator_forward theta=f32:{x[0]}x2x3 grid=f32:{x[0]}x{h}x{w}x2",
        f"spatial_tf_grid_generator_backward dgrid=f32:{x[0]}x{h}x{w}x2",
        f"spatial_tf_sampler_forward {images}",
        f"spatial_tf_sampler_backward {images}",
    )


def growing(n: int) -> tuple[str, ...]:
    """Return calls that read and write tensors of n * 784 KB: their time should grow as n does."""
    t, half = f"f32:{n}x64x56x56", f"f32:{n}x64x28x28"
    return (
        f"activation_forward x={t} mode=relu",
        f"add_tensor a=f32:1x64x1x1 c={t}",
        f"transform_tensor x={t} y={t}:nhwc",
        f"softmax_forward x={t} mode=channel",
        f"pooling_forward x={t} y={half} mode=max window=3,3 padding=1,1 stride=2,2",
        f"convolution_backward_bias dy={t}",
    )


def dropout(n: int) -> tuple[str, ...]:
    """Return dropout at (n, 64, 56, 56), in other types and layouts, at odd sizes and small ones."""
    shapes = (f"f32:{n}x64x56x56", f"f32:{n}x64x56x56:nhwc", f"f16:{n}x64x56x56", f"f32:{n}x37x53x51", "f32:8x512x1x1")
    return tuple(
        f"dropout_{direction}={shape} dropout=0.5" for direction in ("forward x", "backward dy") for shape in shapes
    )


def lrn(n: int) -> tuple[str, ...]:
    """Return local response normalisation at (n, 64, 56, 56), and small, NHWC, odd and wide ones, both ways."""
    shapes = (
        f"f32:{n}x64x56x56",
        f"f32:{n}x64x56x56:nhwc",
        f"f16:{n}x64x56x56",
        "f32:1x96x55x55",
        "f32:4x64x14x14",
        f"f32:{n // 2}x65x35x33",
        f"f32:{n}x33x17x19:nhwc",
        f"f32:{n}x512x7x7",
    )
    lines = [f"x={x} lrn_n=5" for x in shapes]
    lines += [f"x={shapes[0]} lrn_n=16", f"x={shapes[0]} lrn_n=5 lrn_beta=0.6"]
    return tuple(f"lrn_cross_channel_{direction} {line}" for line in lines for direction in ("forward", "backward"))


def reductions(n: int) -> tuple[str, ...]:
    """Return reductions of (n, 64, 56, 56) over outer, middle, inner and all dims, of odd sizes, and with indices."""
    t = f"f32:{n}x64x56x56"
    return (
        f"reduce_tensor a={t} c=f32:1x1x1x1 operation=add",
        f"reduce_tensor a={t} c=f32:{n}x64x1x1 operation=avg",
        f"reduce_tensor a={t} c=f32:{n}x64x56x1 operation=norm2",
        f"reduce_tensor a={t} c=f32:1x64x56x56 operation=add",
        f"reduce_tensor a={t} c=f32:{n}x1x56x56 operation=max",
        f"reduce_tensor a={t} c=f32:1x64x1x1 operation=add",
        f"reduce_tensor a={t}:nhwc c=f32:{n}x64x1x1 operation=avg",
        f"reduce_tensor a=f16:{n}x64x56x56 c=f16:{n}x64x1x1 operation=avg",
        f"reduce_tensor a=f32:{n}x37x53x51 c=f32:{n}x37x1x1 operation=norm1",
        f"reduce_tensor a={t} c=f32:{n}x1x56x56 indices=i32:{n}x1x56x56 operation=max",
        f"reduce_tensor a=f32:{32 * n}x4096x1x1 c=f32:{32 * n}x1x1x1 indices=i32:{32 * n}x1x1x1 operation=max",
        "reduce_tensor a=f32:8x512x7x7 c=f32:8x512x1x1 operation=avg",
    )


def selftest(n: int) -> tuple[str, ...]:
    """Return a dozen calls that tell how fast a device is: six that move n * 784 KB, and products of each kind."""
    t, c = f"f32:{n}x64x56x56", "f32:1x64x1x1"
    layer = f"x=f32:{n}x64x56x56 w=f32:64x64x3x3 padding=1,1"
    return (
        f"transform_tensor x={t} y={t}",
        f"activation_forward x={t} mode=relu",
        f"batch_normalization_forward_training x={t} saved_mean={c} saved_inv_variance={c}",
        f"softmax_forward x={t} mode=channel",
        f"pooling_forward x={t} y=f32:{n}x64x28x28 mode=max window=3,3 padding=1,1 stride=2,2",
        f"reduce_tensor a={t} c=f32:{n}x64x1x1 operation=avg",
        f"convolution_forward {layer}",
        f"convolution_forward x=f16:{n}x64x56x56:nhwc w=f16:64x64x3x3:nhwc padding=1,1",
        f"convolution_forward x=f32:{n}x256x14x14 w=f32:1024x256x1x1",
        f"convolution_backward_data w=f32:64x64x3x3 dy={t} dx={t} padding=1,1",
        f"convolution_backward_filter x={t} dy={t} dw=f32:64x64x3x3 padding=1,1",
        f"rnn_forward_training x=f32:{n // 2}x64x512 w=f32:{8 * 512 * 513}x1x1 hidden_size=512 num_layers=1",
    )


# what a call costs the host: tensors so small that the device is never the limit
HOST = (
    "activation_forward x=f32:1x1x4x4 mode=relu",
    "add_tensor a=f32:1x4x1x1 c=f32:1x4x4x4",
    "pooling_forward x=f32:1x4x8x8 mode=max window=2,2 padding=0,0 stride=2,2",
    "softmax_forward x=f32:1x4x4x4 algorithm=accurate mode=channel",
    "batch_normalization_forward_training x=f32:4x8x4x4 running_mean=f32:1x8x1x1 running_variance=f32:1x8x1x1 "
    "saved_mean=f32:1x8x1x1 saved_inv_variance=f32:1x8x1x1",
    "convolution_backward_bias dy=f32:1x4x4x4",
    "convolution_forward x=f32:1x4x4x4 w=f32:4x4x3x3 padding=1,1",
    "convolution_forward x=f32:2x64x28x28 w=f32:64x64x3x3 padding=1,1",
    "convolution_backward_data w=f32:64x64x3x3 dy=f32:2x64x28x28 dx=f32:2x64x28x28 padding=1,1",
    "convolution_backward_filter x=f32:2x64x28x28 dy=f32:2x64x28x28 dw=f32:64x64x3x3 padding=1,1",
    "convolution_forward x=f32:8x512x7x7 w=f32:512x512x3x3 padding=1,1",
)


def _sets(prefix: str, batch: int, network: Sequence[Layer], layout: str = "nchw") -> dict[str, tuple[str, ...]]:
    """Return one set for each direction, such as conv-backward-data-64."""
    return {
        f"{prefix}-{direction.replace('_', '-')}-{batch}": convolutions(direction, batch, "f32", layout, network)
        for direction in DIRECTIONS
    }


def _tensor_cores(dtype: str, layout: str, rest: str = "") -> tuple[str, ...]:
    """Return the seven layers in all directions, batch 64."""
    return tuple(line + rest for d in DIRECTIONS for line in convolutions(d, 64, dtype, layout))


_GPU_CONVOLUTIONS = _sets("conv", 64, SEVEN)
_GPU_TENSOR_CORES = {
    "gpu-tf32": _tensor_cores("f32", "nchw", " math=tf32"),
    "gpu-fp16": _tensor_cores("f16", "nhwc"),
}
_CPU_CONVOLUTIONS = {
    **_sets("resnet50", 1, NETWORKS["resnet50"]),
    **_sets("resnet50", 8, NETWORKS["resnet50"]),
    **_sets("resnet50-nhwc", 8, NETWORKS["resnet50"], "nhwc"),
}
_CALLS = {
    "calls": calls((256, 64, 56, 56), (8192, 4096)),
    "calls-small": calls((64, 64, 28, 28), (4096, 1000)),
    "calls-nhwc": calls((128, 64, 56, 56), (8192, 2048), "nhwc"),
    "calls-odd": calls((127, 67, 53, 51), (8191, 4093)),
}
_TRANSFORMERS = {
    "spatial": spatial_transformer((64, 64, 56, 56), (56, 56)),
    "spatial-small": spatial_transformer((64, 1, 28, 28), (28, 28)),
    "spatial-large": spatial_transformer((16, 3, 512, 512), (512, 512)),
    "spatial-nhwc": spatial_transformer((64, 64, 56, 56), (56, 56), "nhwc"),
    "spatial-odd": spatial_transformer((13, 37, 53, 61), (47, 51)),
}


def lstm(steps: int, n: int, size: int, layers: int) -> tuple[str, ...]:
    """Return inference and the three passes of a training step of an LSTM whose inputs are as wide as its state."""
    x, w = f"f32:{steps}x{n}x{size}", f"f32:{layers * 8 * size * (size + 1)}x1x1"
    rest = f"hidden_size={size} num_layers={layers}"
    return (
        f"rnn_forward_inference x={x} w={w} {rest}",
        f"rnn_forward_training x={x} w={w} {rest}",
        f"rnn_backward_data y={x} dx={x} w={w} {rest}",
        f"rnn_backward_weights x={x} y={x} dw={w} {rest}",
    )


_RECURRENT = {"lstm": (*lstm(100, 64, 512, 2), *lstm(50, 128, 1024, 1)), "lstm-32": lstm(20, 32, 256, 1)}
_TINY = {"calls-tiny": calls((16, 64, 14, 14), (1024, 1000))}  # what counts there is the host's time
_GROWING = {f"growing-{n * 49 // 64}": growing(n) for n in (21, 84, 336, 1344, 5376)}  # megabytes
SETS: dict[str, tuple[str, ...]] = {
    **_GPU_CONVOLUTIONS,
    **_GPU_TENSOR_CORES,
    **_sets("conv", 8, SEVEN),
    **_CPU_CONVOLUTIONS,
    "memory-256": memory_bound(256),
    "memory-32": memory_bound(32),
    "norms-32": _NORMS,
    "norms-256": sample_norms(128, 32768),
    "dropout-256": dropout(256),
    "dropout-32": dropout(32),
    "reduce-256": reductions(256),
    "reduce-32": reductions(32),
    **_CALLS,
    **_TINY,
    **_RECURRENT,
    **_TRANSFORMERS,
    **_GROWING,
    "lrn-256": lrn(256),
    "lrn-32": lrn(32),
    "host": HOST,
    "selftest-gpu": selftest(64),
    "selftest-cpu": selftest(4),
}


def for_device(info: DeviceInfo, peer: str) -> tuple[str, ...]:
    """Return the names of the sets that a record of the device beside that peer holds."""
    if peer != "torch" and info.kind == "gpu":
        return (*_CALLS, *_TRANSFORMERS, "lstm", *_GROWING)
    if info.kind == "cpu":
        return (*_CPU_CONVOLUTIONS, "memory-32", "norms-32", "lrn-32", "dropout-32", "reduce-32", *_TRANSFORMERS)
    return (
        *_GPU_CONVOLUTIONS,
        *(_GPU_TENSOR_CORES if "mma" in info.features else ()),
        "memory-256",
        "lrn-256",
        "dropout-256",
        "reduce-256",
        *_TRANSFORMERS,
    )
