"""Named sets of problem lines."""

from __future__ import annotations

# the layers of common networks: filter size, stride, channels in and out, image size
LAYERS = (
    ("1x1_64_256_56", 1, 1, 64, 256, 56),
    ("3x3_64_64_56", 3, 1, 64, 64, 56),
    ("3x3_128_128_28", 3, 1, 128, 128, 28),
    ("3x3_256_256_14", 3, 1, 256, 256, 14),
    ("3x3_512_512_7", 3, 1, 512, 512, 7),
    ("7x7s2_3_64_224", 7, 2, 3, 64, 224),
    ("1x1_1024_256_14", 1, 1, 1024, 256, 14),
)


def _layer(op: str, batch: int, size: int, stride: int, c: int, k: int, h: int, dtype: str) -> str:
    p = 1 + (h + 2 * (size // 2) - size) // stride
    x, w, y = f"{dtype}:{batch}x{c}x{h}x{h}", f"{dtype}:{k}x{c}x{size}x{size}", f"{dtype}:{batch}x{k}x{p}x{p}"
    names = {
        "forward": ("x", "w", "y"),
        "backward_data": ("dx", "w", "dy"),
        "backward_filter": ("x", "dw", "dy"),
    }
    words = " ".join(f"{n}={t}" for n, t in zip(names[op], (x, w, y), strict=True))
    return f"convolution_{op} {words} padding={size // 2},{size // 2} stride={stride},{stride}"


def convolutions(op: str, batch: int, dtype: str = "f32") -> tuple[str, ...]:
    """Return the layers as problem lines; `op` is forward, backward_data or backward_filter."""
    return tuple(_layer(op, batch, *layer[1:], dtype) for layer in LAYERS)


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


# what a call costs the host: tensors so small that the device is never the limit
HOST = (
    "activation_forward x=f32:1x1x4x4 mode=relu",
    "add_tensor a=f32:1x4x1x1 c=f32:1x4x4x4",
    "convolution_forward x=f32:1x4x4x4 w=f32:4x4x3x3 padding=1,1",
)

SETS: dict[str, tuple[str, ...]] = {
    "conv-forward-64": convolutions("forward", 64),
    "conv-backward-data-64": convolutions("backward_data", 64),
    "conv-backward-filter-64": convolutions("backward_filter", 64),
    "conv-forward-8": convolutions("forward", 8),
    "conv-backward-data-8": convolutions("backward_data", 8),
    "conv-backward-filter-8": convolutions("backward_filter", 8),
    "memory-256": memory_bound(256),
    "memory-32": memory_bound(32),
    "host": HOST,
}
GPU_SETS = ("conv-forward-64", "conv-backward-data-64", "conv-backward-filter-64", "memory-256")
CPU_SETS = ("conv-forward-8", "conv-backward-data-8", "conv-backward-filter-8", "memory-32")
