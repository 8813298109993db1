"""Convolutions as matrix products: sizes, strides and taps as the kernels of conv/gemm.cl want to know them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from portadnn.enums import DataType
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import TensorSpec

_OF_TILES = ("CHANNEL_LAST", "LANES_ALONG_K", "STORE_ROWS", "STORE_COLUMNS")


@dataclass(frozen=True)
class Geometry:
    """A direction of a convolution as a matrix product, without its tile.

    Attributes
    ----------
    m, n, k : int
        The product's sizes; for a data gradient, those of its largest phase.
    groups, phases : int
        Independent products.
    packs : bool
        Whether the rows are a filter, which is packed before; else they are dy.
    defines : dict
        What the kernel has to know.
    """

    m: int
    n: int
    k: int
    groups: int
    phases: int
    packs: bool
    defines: dict[str, int]

    @property
    def places(self) -> dict[str, int]:
        """Where elements lie: the defines without those of how conv/gemm.cl's tiles are loaded and stored."""
        return {name: value for name, value in self.defines.items() if name not in _OF_TILES}


def _strides(spec: TensorSpec) -> tuple[int, int, int, int, int]:
    """Return the strides as (n, c, d, h, w); that of a dimension of one does not matter."""
    strides = [s if d > 1 else 0 for d, s in zip(spec.dims, spec.strides, strict=True)]
    return (strides[0], strides[1], *(0,) * (5 - len(strides)), *strides[2:])  # type: ignore[return-value]


def _spatial(dims: tuple[int, ...], fill: int = 1) -> tuple[int, int, int]:
    """Return spatial sizes as (d, h, w)."""
    return (*(fill,) * (3 - len(dims)), *dims)  # type: ignore[return-value]


def axes(prefix: str, values: tuple[int, ...]) -> dict[str, int]:
    """Name one number per spatial dimension."""
    return {f"{prefix}_{axis}": value for axis, value in zip("DHW", values, strict=True)}


def _vector_columns(spec: TensorSpec) -> bool:
    """Tell whether any four neighbouring pixels, counted from a multiple of four, are an aligned vector."""
    n, c, d, h, w = _strides(spec)
    sizes = _spatial(spec.dims[2:])
    step = 1
    for size, stride in zip(reversed(sizes), (w, h, d), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return step % 4 == 0 and n % 4 == 0 and c % 4 == 0 and _aligned(spec)


def vector_channels(spec: TensorSpec, channels: int) -> bool:
    """Tell whether any four neighbouring channels of a group, from a multiple of four, are an aligned vector."""
    n, c, d, h, w = _strides(spec)
    return c == 1 and channels % 4 == 0 and not any(s % 4 for s in (n, d, h, w)) and _aligned(spec)


def _aligned(spec: TensorSpec) -> bool:
    return spec.alignment >= min(16, 4 * spec.dtype.itemsize)


def filter_vectors(problem: Convolution, geometry: Geometry) -> str:
    """Tell along which side ("K", "M") of the product any four elements of a filter are an aligned vector; else ""."""
    defines = geometry.defines
    if problem.filter.dtype is not DataType.FLOAT or not geometry.packs or not _aligned(problem.filter):
        return ""
    taps = [defines[f"FILTER_{axis}"] for axis in "GDHW"]
    for side, size, other in (("M", geometry.m, "C"), ("K", defines["CHANNELS"], "M")):
        step = defines["FILTER_M" if side == "M" else "FILTER_C"]
        if step == 1 and not any(number % 4 for number in (size, defines[f"FILTER_{other}"], *taps)):
            return side
    return ""


def _image_defines(spec: TensorSpec, pixels: tuple[int, int, int]) -> dict[str, int]:
    n, c, d, h, w = _strides(spec)
    return {
        "IN_N": n,
        "IN_C": c,
        **axes("IN", (d, h, w)),
        **axes("EXTENT", _spatial(spec.dims[2:])),
        **axes("PIXELS", tuple(max(size, 1) for size in pixels)),
    }


def _columns_defines(sizes: tuple[int, ...], strides: tuple[int, ...], row_stride: int) -> dict[str, int]:
    defines = {"OUT_M": row_stride}
    for i, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        defines |= {f"COLUMNS_{i}": max(size, 1), f"OUT_{i}": stride}
    return defines


def checks(problem: Convolution, tail: bool) -> dict[str, int]:
    """Say in which dimensions a tap can fall outside of the image; `tail`: some columns are no pixels."""
    outside = [pad > 0 for pad in _spatial(problem.padding, 0)]
    outside[1] |= tail
    return axes("CHECK", tuple(map(int, outside)))


def forward(problem: Convolution) -> Geometry:
    """Describe y: filters by pixels, summed over channels and taps."""
    x, w, y = problem.image, problem.filter, problem.result
    groups = problem.groups
    k, c = w.dims[0] // groups, w.dims[1]
    pixels = _spatial(y.dims[2:])
    taps = _spatial(w.dims[2:])
    ys, ws = _strides(y), _strides(w)
    defines = {
        **_image_defines(x, pixels),
        **axes("STEP", _spatial(problem.stride)),
        **axes("START", tuple(-p for p in _spatial(problem.padding, 0))),
        **axes("TAP", _spatial(problem.dilation)),
        **axes("HOP", (1, 1, 1)),
        **axes("SIZE", taps),
        **_columns_defines((y.dims[0], *pixels), (ys[0], *ys[2:]), ys[1]),
        "CHANNELS": c,
        "FILTER_M": ws[0],
        "FILTER_C": ws[1],
        "FILTER_G": ws[0] * k,
        **axes("FILTER", ws[2:]),
    }
    if _vector_columns(y):
        defines["STORE_COLUMNS"] = 1
    elif vector_channels(y, k):
        defines["STORE_ROWS"] = 1
    return Geometry(k, y.dims[0] * math.prod(pixels), c * math.prod(taps), groups, 1, True, defines)


def z_like_y(problem: ConvolutionBiasActivationForward) -> bool:
    """Tell whether the vectors of y are vectors of z, too."""
    return problem.z.same_strides(problem.y) and problem.z.alignment >= problem.y.alignment


def z_defines(problem: ConvolutionBiasActivationForward) -> dict[str, int]:
    """Tell a forward product where z lies, if not where y does."""
    if problem.z.same_strides(problem.y):
        return {}
    strides = _strides(problem.z)
    return {"Z_M": strides[1], "Z_0": strides[0], **{f"Z_{i}": step for i, step in enumerate(strides[2:], 1)}}


def data_gradient(problem: Convolution) -> Geometry:
    """Describe dx: channels by pixels, summed over filters and taps."""
    dx, w, dy = problem.image, problem.filter, problem.result
    groups = problem.groups
    k, c = w.dims[0] // groups, w.dims[1]
    strides = _spatial(problem.stride)
    dilation = _spatial(problem.dilation)
    size = _spatial(dx.dims[2:])
    taps = _spatial(w.dims[2:])
    hops = tuple(s // math.gcd(s, d) for s, d in zip(strides, dilation, strict=True))
    most_taps = math.prod(-(-r // hop) for r, hop in zip(taps, hops, strict=True))
    pixels: tuple[int, int, int] = tuple(-(-e // s) for e, s in zip(size, strides, strict=True))  # type: ignore[assignment]
    xs, ws = _strides(dx), _strides(w)
    phases = math.prod(strides)
    defines = {
        "DATA_GRADIENT": 1,
        **_image_defines(dy, pixels),
        **axes("STEP", (1, 1, 1)),
        **axes("TAP", tuple(-d // math.gcd(s, d) for s, d in zip(strides, dilation, strict=True))),
        **axes("HOP", hops),
        **axes("SIZE", taps),
        **axes("PADDING", _spatial(problem.padding, 0)),
        **axes("DILATION", dilation),
        **axes("PHASES", strides),
        **axes("OUT", size),
        **_columns_defines((dx.dims[0], *pixels), (xs[0], *xs[2:]), xs[1]),
        "CHANNELS": k,
        "FILTER_M": ws[1],
        "FILTER_C": ws[0],
        "FILTER_G": ws[0] * k,
        **axes("FILTER", ws[2:]),
    }
    if phases == 1 and _vector_columns(dx):
        defines["STORE_COLUMNS"] = 1
    elif vector_channels(dx, c):
        defines["STORE_ROWS"] = 1
    return Geometry(c, dx.dims[0] * math.prod(pixels), k * most_taps, groups, phases, True, defines)


def filter_gradient(problem: Convolution) -> Geometry:
    """Describe dw: filters by channels and taps, summed over the pixels of all images."""
    x, dw, dy = problem.image, problem.filter, problem.result
    groups = problem.groups
    k, c = dw.dims[0] // groups, dw.dims[1]
    pixels = _spatial(dy.dims[2:])
    taps = _spatial(dw.dims[2:])
    ws, ys = _strides(dw), _strides(dy)
    channel_last = _strides(x)[1] == 1 and x.dims[1] > 1
    columns = (*taps, c) if channel_last else (c, *taps)
    column_strides = (*ws[2:], ws[1]) if channel_last else ws[1:]
    defines = {
        "FILTER_GRADIENT": 1,
        **_image_defines(x, pixels),
        **axes("STEP", _spatial(problem.stride)),
        **axes("START", tuple(-p for p in _spatial(problem.padding, 0))),
        **axes("TAP", _spatial(problem.dilation)),
        **axes("SIZE", taps),
        **_columns_defines(columns, column_strides, ws[0]),
        "CHANNELS": c,
        "DY_N": ys[0],
        "DY_K": ys[1],
        **axes("DY", ys[2:]),
        "CHANNEL_LAST" if channel_last else "LANES_ALONG_K": 1,
    }
    count = dy.dims[0] * math.prod(pixels)
    return Geometry(k, c * math.prod(taps), count, groups, 1, False, defines)


def image_sum(problem: Convolution) -> Geometry:
    """Describe y or dx, with the output's phases and sizes and the hops of taps named in both directions."""
    if isinstance(problem, ConvolutionBackwardData):
        return data_gradient(problem)
    found = forward(problem)
    sizes = {f"OUT_{axis}": found.defines[f"PIXELS_{axis}"] for axis in "DHW"}
    return replace(found, defines={**found.defines, **axes("PHASES", (1, 1, 1)), **sizes})
