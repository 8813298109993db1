"""The distinct convolution layers of well-known networks, each once, from their papers and public lists."""

from __future__ import annotations

from typing import NamedTuple


class Layer(NamedTuple):
    """A convolution without its batch. Padding, stride and dilation hold for both axes; c counts all groups."""

    name: str
    c: int
    h: int
    w: int
    k: int
    r: int
    s: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    @property
    def output(self) -> tuple[int, int]:
        """Height and width of the result."""
        p, q = (
            1 + (size + 2 * self.padding - (taps - 1) * self.dilation - 1) // self.stride
            for size, taps in ((self.h, self.r), (self.w, self.s))
        )
        return p, q


def _layer(
    taps: int | tuple[int, int],
    c: int,
    k: int,
    size: int | tuple[int, int],
    stride: int = 1,
    padding: int | None = None,
    groups: int = 1,
    dilation: int = 1,
) -> Layer:
    """Return a layer with its name, such as 3x3s2_64_128_56; the padding is half the filter where none is given."""
    r, s = (taps, taps) if isinstance(taps, int) else taps
    h, w = (size, size) if isinstance(size, int) else size
    padding = r // 2 * dilation if padding is None else padding
    step = f"s{stride}" if stride > 1 else ""
    kind = "" if groups == 1 else "dw" if groups == c else f"g{groups}"
    place = f"{h}" if h == w else f"{h}x{w}"
    border = "" if padding == r // 2 * dilation else f"p{padding}"
    apart = f"d{dilation}" if dilation > 1 else ""
    name = f"{r}x{s}{step}{apart}{border}{kind}_{c}_{k}_{place}"
    return Layer(name, c, h, w, k, r, s, stride, padding, dilation, groups)


def _depthwise(c: int, size: int, stride: int = 1, taps: int = 3) -> Layer:
    return _layer(taps, c, c, size, stride, groups=c)


# He et al. 2015, table 1; strides as in the common 1.5 version, on the 3x3 of a block
_RESNET50 = (
    _layer(7, 3, 64, 224, 2),
    _layer(1, 64, 64, 56),
    _layer(3, 64, 64, 56),
    _layer(1, 64, 256, 56),
    _layer(1, 256, 64, 56),
    _layer(1, 256, 128, 56),
    _layer(3, 128, 128, 56, 2),
    _layer(1, 128, 512, 28),
    _layer(1, 256, 512, 56, 2),
    _layer(1, 512, 128, 28),
    _layer(3, 128, 128, 28),
    _layer(1, 512, 256, 28),
    _layer(3, 256, 256, 28, 2),
    _layer(1, 256, 1024, 14),
    _layer(1, 512, 1024, 28, 2),
    _layer(1, 1024, 256, 14),
    _layer(3, 256, 256, 14),
    _layer(1, 1024, 512, 14),
    _layer(3, 512, 512, 14, 2),
    _layer(1, 512, 2048, 7),
    _layer(1, 1024, 2048, 14, 2),
    _layer(1, 2048, 512, 7),
    _layer(3, 512, 512, 7),
)

# Simonyan and Zisserman 2014, table 1, configuration D
_VGG16 = tuple(
    _layer(3, c, k, size)
    for c, k, size in (
        (3, 64, 224),
        (64, 64, 224),
        (64, 128, 112),
        (128, 128, 112),
        (128, 256, 56),
        (256, 256, 56),
        (256, 512, 28),
        (512, 512, 28),
        (512, 512, 14),
    )
)

# Ronneberger et al. 2015, figure 1: unpadded; the 2x2 with stride 2 are the up-convolutions, whose forward pass is the
# layer's backward data
_UNET = (
    *(
        _layer(3, c, k, size, padding=0)
        for c, k, size in (
            (1, 64, 572),
            (64, 64, 570),
            (64, 128, 284),
            (128, 128, 282),
            (128, 256, 140),
            (256, 256, 138),
            (256, 512, 68),
            (512, 512, 66),
            (512, 1024, 32),
            (1024, 1024, 30),
            (1024, 512, 56),
            (512, 512, 54),
            (512, 256, 104),
            (256, 256, 102),
            (256, 128, 200),
            (128, 128, 198),
            (128, 64, 392),
            (64, 64, 390),
        )
    ),
    *(_layer(2, c, 2 * c, size, 2, 0) for c, size in ((512, 56), (256, 104), (128, 200), (64, 392))),
    _layer(1, 64, 2, 388),
)

# Howard et al. 2017, table 1 (the last depthwise layer with stride 1, or its sizes do not fit), then what Sandler
# et al. 2018, table 2, adds
_MOBILENET = (
    _layer(3, 3, 32, 224, 2),
    *(
        _depthwise(*which)
        for which in (
            (32, 112),
            (64, 112, 2),
            (128, 56),
            (128, 56, 2),
            (256, 28),
            (256, 28, 2),
            (512, 14),
            (512, 14, 2),
            (1024, 7),
            (96, 112, 2),
            (144, 56),
            (144, 56, 2),
            (192, 28),
            (192, 28, 2),
            (384, 14),
            (576, 14),
            (576, 14, 2),
            (960, 7),
        )
    ),
    *(
        _layer(1, *which)
        for which in (
            (32, 64, 112),
            (64, 128, 56),
            (128, 128, 56),
            (128, 256, 28),
            (256, 256, 28),
            (256, 512, 14),
            (512, 512, 14),
            (512, 1024, 7),
            (1024, 1024, 7),
            (32, 16, 112),
            (16, 96, 112),
            (96, 24, 56),
            (24, 144, 56),
            (144, 24, 56),
            (144, 32, 28),
            (32, 192, 28),
            (192, 32, 28),
            (192, 64, 14),
            (64, 384, 14),
            (384, 64, 14),
            (384, 96, 14),
            (96, 576, 14),
            (576, 96, 14),
            (576, 160, 7),
            (160, 960, 7),
            (960, 160, 7),
            (960, 320, 7),
            (320, 1280, 7),
        )
    ),
)

# Tan and Le 2019, table 1 (B0): expansion, depthwise and projection of each stage's blocks; without the squeezes, whose
# images have one pixel
_EFFICIENTNET = tuple(
    dict.fromkeys(
        (
            _layer(3, 3, 32, 224, 2),
            _depthwise(32, 112),
            _layer(1, 32, 16, 112),
            *(
                layer
                for taps, stride, before, c, size in (
                    (3, 2, 16, 24, 112),
                    (3, 1, 24, 24, 56),
                    (5, 2, 24, 40, 56),
                    (5, 1, 40, 40, 28),
                    (3, 2, 40, 80, 28),
                    (3, 1, 80, 80, 14),
                    (5, 1, 80, 112, 14),
                    (5, 1, 112, 112, 14),
                    (5, 2, 112, 192, 14),
                    (5, 1, 192, 192, 7),
                    (3, 1, 192, 320, 7),
                )
                for layer in (
                    _layer(1, before, 6 * before, size),
                    _depthwise(6 * before, size, stride, taps),
                    _layer(1, 6 * before, c, size // stride),
                )
            ),
            _layer(1, 320, 1280, 7),
        )
    )
)

# Howard et al. 2019, table 1 (MobileNet-V3-Large): filter, input, expansion, output, size and stride of each block;
# without the squeezes, whose images have one pixel
_MOBILENET_V3 = tuple(
    dict.fromkeys(
        (
            _layer(3, 3, 16, 224, 2),
            *(
                layer
                for taps, before, expanded, c, size, stride in (
                    (3, 16, 16, 16, 112, 1),
                    (3, 16, 64, 24, 112, 2),
                    (3, 24, 72, 24, 56, 1),
                    (5, 24, 72, 40, 56, 2),
                    (5, 40, 120, 40, 28, 1),
                    (3, 40, 240, 80, 28, 2),
                    (3, 80, 200, 80, 14, 1),
                    (3, 80, 184, 80, 14, 1),
                    (3, 80, 480, 112, 14, 1),
                    (3, 112, 672, 112, 14, 1),
                    (5, 112, 672, 160, 14, 2),
                    (5, 160, 960, 160, 7, 1),
                )
                for layer in (
                    *((_layer(1, before, expanded, size),) if expanded > before else ()),
                    _depthwise(expanded, size, stride, taps),
                    _layer(1, expanded, c, size // stride),
                )
            ),
            _layer(1, 160, 960, 7),
        )
    )
)

# Liu et al. 2022, section 2 (ConvNeXt-T)
_CONVNEXT = (
    _layer(4, 3, 96, 224, 4, 0),
    *(
        layer
        for c, size in ((96, 56), (192, 28), (384, 14), (768, 7))
        for layer in (_depthwise(c, size, 1, 7), _layer(1, c, 4 * c, size), _layer(1, 4 * c, c, size))
    ),
    *(_layer(2, c, 2 * c, size, 2, 0) for c, size in ((96, 56), (192, 28), (384, 14))),
)

# Chen et al. 2017, section 3.3: the pyramid on ResNet's last block at an eighth of 513 x 513, and dilated layers before
_DEEPLAB = (
    _layer(1, 2048, 256, 65),
    *(_layer(3, 2048, 256, 65, dilation=rate) for rate in (12, 24, 36)),
    _layer(1, 1280, 256, 65),
    _layer(3, 256, 256, 65, dilation=2),
    _layer(3, 512, 512, 65, dilation=4),
)

# Baidu's DeepBench, convolutions for training (speech, faces, VGG, GoogLeNet and ResNets), without those above that
# only differ in their batch
_DEEPBENCH = (
    _layer((5, 20), 1, 32, (161, 700), 2, 0),
    _layer((5, 10), 32, 32, (79, 341), 2, 0),
    _layer(3, 1, 16, (48, 480)),
    _layer(3, 16, 32, (24, 240)),
    _layer(3, 32, 64, (12, 120)),
    _layer(3, 64, 128, (6, 60)),
    _layer(3, 3, 64, 108, 2),
    _layer(3, 64, 64, 54),
    _layer(3, 128, 128, 27),
    _layer(3, 128, 256, 14),
    _layer(3, 256, 512, 7),
    *_VGG16[::2],
    _layer(3, 512, 512, 7),
    _layer(7, 3, 64, 224, 2),
    _layer(5, 192, 32, 28),
    _layer(1, 192, 64, 28),
    _layer(5, 512, 48, 14),
    _layer(1, 512, 192, 14),
    _layer(1, 832, 256, 7),
    _layer(5, 832, 128, 7),
    _layer(3, 64, 64, 56),
    _layer(1, 64, 256, 56, 2),
    _layer(3, 128, 128, 28),
    _layer(1, 128, 512, 28, 2),
    _layer(1, 256, 256, 14),
    _layer(3, 256, 256, 14),
    _layer(1, 256, 1024, 14, 2),
    _layer(1, 512, 512, 7),
    _layer(1, 2048, 512, 7, 2, 3),
    _layer(5, 1, 64, (161, 700), 2, 1),
    _layer(3, 64, 64, (80, 350)),
    _layer(5, 64, 128, (80, 350), 2, 1),
    _layer(3, 128, 128, (40, 175)),
    _layer(5, 128, 256, (40, 175), 2, 1),
    _layer(3, 256, 256, (20, 84)),
    _layer(5, 256, 512, (20, 84), 2, 1),
    _layer(3, 512, 512, (10, 42)),
    _layer(1, 64, 64, 112),
    _layer(1, 64, 256, 56),
    _layer(1, 256, 64, 56),
    _layer(1, 256, 128, 56, 2),
    _layer(1, 128, 512, 28),
    _layer(1, 512, 128, 28),
    _layer(1, 512, 256, 28, 2),
    _layer(1, 256, 1024, 14),
    _layer(1, 512, 1024, 28, 2),
    _layer(1, 1024, 256, 14),
    _layer(1, 1024, 512, 14, 2),
    _layer(1, 512, 2048, 7),
    _layer(1, 1024, 2048, 14, 2),
    _layer(1, 2048, 512, 7),
)

NETWORKS: dict[str, tuple[Layer, ...]] = {
    "resnet50": _RESNET50,
    "vgg16": _VGG16,
    "unet": _UNET,
    "mobilenet": _MOBILENET,
    "mobilenet-v3": _MOBILENET_V3,
    "efficientnet": _EFFICIENTNET,
    "convnext": _CONVNEXT,
    "deeplab": _DEEPLAB,
    "deepbench": _DEEPBENCH,
}

# one of each kind, for quick comparisons
_NAMES = "1x1_64_256_56 3x3_64_64_56 3x3_128_128_28 3x3_256_256_14 3x3_512_512_7 7x7s2_3_64_224 1x1_1024_256_14"
SEVEN = tuple(layer for name in _NAMES.split() for layer in _RESNET50 if layer.name == name)

_TENSORS = {"forward": "x w y", "backward_data": "dx w dy", "backward_filter": "x dw dy"}


def problem_line(layer: Layer, direction: str, n: int, dtype: str = "f32", layout: str = "nchw") -> str:
    """Return a layer as a problem line.

    Parameters
    ----------
    direction
        ``"forward"``, ``"backward_data"`` or ``"backward_filter"``.
    n
        Batch.
    layout
        ``"nchw"``, or ``"nhwc"`` for all three tensors.
    """
    p, q = layer.output
    shapes = (
        f"{n}x{layer.c}x{layer.h}x{layer.w}",
        f"{layer.k}x{layer.c // layer.groups}x{layer.r}x{layer.s}",
        f"{n}x{layer.k}x{p}x{q}",
    )
    suffix = "" if layout == "nchw" else f":{layout}"
    names = _TENSORS[direction].split()
    words = [f"{name}={dtype}:{shape}{suffix}" for name, shape in zip(names, shapes, strict=True)]
    words += [f"padding={layer.padding},{layer.padding}", f"stride={layer.stride},{layer.stride}"]
    if layer.dilation > 1:
        words.append(f"dilation={layer.dilation},{layer.dilation}")
    if layer.groups > 1:
        words.append(f"groups={layer.groups}")
    return f"convolution_{direction} {' '.join(words)}"
