"""The methods of :class:`~portadnn.graph.api.pygraph` for products, reductions, resampling and what moves elements.

Outputs are virtual until ``set_output(True)``. ``compute_data_type`` is the type to compute in, by default the graph's.
Arguments that cudnn-frontend's Python module has are named and ordered as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...enums import (
    convolution_mode,
    padding_mode,
    reduction_mode,
    resample_mode,
    reshape_mode,
    rng_distribution,
)
from ...rules import fail
from ...tensor import tensor
from ..arguments import listed, text
from ..builder import NOT_SET, Builder
from . import groups

Sizes = Sequence[int]
_CROSS = convolution_mode.CROSS_CORRELATION


def _geometry(
    padding: Sizes | None, pre: Sizes | None, post: Sizes | None, stride: Sizes, dilation: Sizes, mode: convolution_mode
) -> dict[str, Any]:
    """Return a convolution's attributes, both paddings from one for both ends or from two.

    By position cudnn-frontend takes padding, stride and dilation, or pre_padding, post_padding, stride and dilation.
    """
    if isinstance(mode, list | tuple) and pre is post is None:
        padding, pre, post, stride, dilation, mode = None, padding, stride, dilation, mode, _CROSS
    if padding is not None and (pre is not None or post is not None):
        raise fail("PG-NODE-005", argument="padding", expected="padding, or pre_padding and post_padding", got="both")
    return {
        "pre_padding": next((given for given in (padding, pre) if given is not None), ()),
        "post_padding": next((given for given in (padding, post) if given is not None), ()),
        "stride": stride,
        "dilation": dilation,
        "convolution_mode": mode,
    }


def conv_fprop(
    self: Builder,
    image: tensor,
    weight: tensor,
    padding: Sizes | None = None,
    stride: Sizes = (),
    dilation: Sizes = (),
    convolution_mode: convolution_mode = _CROSS,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    *,
    pre_padding: Sizes | None = None,
    post_padding: Sizes | None = None,
) -> tensor:
    """Return the convolution, (n, k, [o,] p, q) and NHWC unless set.

    Parameters
    ----------
    image, weight
        (n, c, [d,] h, w) and (k, c / groups, [t,] r, s).
    padding
        For both ends, or `pre_padding` and `post_padding` instead.
    stride, dilation
        One value for each spatial dim, 1 by default.
    """
    how = _geometry(padding, pre_padding, post_padding, stride, dilation, convolution_mode)
    return self._add("conv_fprop", {"X": image, "W": weight}, compute_data_type, name, **how)["Y"]


def conv_dgrad(
    self: Builder,
    loss: tensor,
    filter: tensor,
    padding: Sizes | None = None,
    stride: Sizes = (),
    dilation: Sizes = (),
    convolution_mode: convolution_mode = _CROSS,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    *,
    pre_padding: Sizes | None = None,
    post_padding: Sizes | None = None,
) -> tensor:
    """Return the gradient with respect to the image; its dims have to be set."""
    how = _geometry(padding, pre_padding, post_padding, stride, dilation, convolution_mode)
    return self._add("conv_dgrad", {"DY": loss, "W": filter}, compute_data_type, name, **how)["DX"]


def conv_wgrad(
    self: Builder,
    image: tensor,
    loss: tensor,
    padding: Sizes | None = None,
    stride: Sizes = (),
    dilation: Sizes = (),
    convolution_mode: convolution_mode = _CROSS,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    *,
    pre_padding: Sizes | None = None,
    post_padding: Sizes | None = None,
) -> tensor:
    """Return the gradient with respect to the filter; its dims have to be set."""
    how = _geometry(padding, pre_padding, post_padding, stride, dilation, convolution_mode)
    return self._add("conv_wgrad", {"X": image, "DY": loss}, compute_data_type, name, **how)["DW"]


def matmul(
    self: Builder, A: tensor, B: tensor, compute_data_type: Any = NOT_SET, padding: float = 0.0, name: str = ""
) -> tensor:
    """Return A @ B, [batch, m, n], with batch dims broadcast; `padding` is kept and has no effect."""
    return self._add("matmul", {"A": A, "B": B}, compute_data_type, name, padding=padding)["C"]


def reduction(
    self: Builder,
    input: tensor,
    mode: reduction_mode,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    group_offset: tensor | None = None,
) -> tensor:
    """Return the reduction over the axes along which the output's dims, which have to be set, are 1.

    With `group_offset`, (groups, 1, 1), rows of `input`, (1, rows, columns), from ``group_offset[g]`` on are group g's,
    and each group is reduced by itself, to (groups, 1, columns) or (groups, 1, 1). It is several nodes then.
    """
    if group_offset is not None:
        return groups.reduction(self, input, mode, compute_data_type, text(name, "name"), group_offset)
    return self._add("reduction", {"X": input}, compute_data_type, name, mode=mode)["Y"]


def genstats(self: Builder, input: tensor, compute_data_type: Any = NOT_SET, name: str = "") -> tuple[tensor, tensor]:
    """Return each channel's sum and sum of squares, (1, c, 1, ...)."""
    out = self._add("genstats", {"X": input}, compute_data_type, name)
    return out["SUM"], out["SQ_SUM"]


def softmax(
    self: Builder,
    input: tensor,
    axis: int = -1,
    use_stats: bool = False,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[tensor | None]:
    """Return the softmax along an axis, and the logarithm of the sum of exponentials with `use_stats`, else None.

    Where all elements are -inf, the softmax is NaN and the logarithm -inf.
    """
    out = self._add("softmax", {"P": input}, compute_data_type, name, axis=axis, use_stats=use_stats)
    return [out["S"], out["STATS"] if use_stats else None]


def resample(
    self: Builder,
    input: tensor,
    mode: resample_mode,
    window: Sizes,
    pre_padding: Sequence[Any] = (),
    post_padding: Sequence[Any] = (),
    stride: Sequence[Any] = (),
    padding_mode: padding_mode = padding_mode.NOT_SET,
    generate_index: bool = False,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> list[tensor | None]:
    """Return the resampled image, and with `generate_index` where each maximum was in its window, else None.

    Indices count row-major from 0, the first of equal maxima wins. Strides and paddings of interpolations may be
    fractions.
    """
    attributes = {
        "mode": mode,
        "window": window,
        "pre_padding": pre_padding,
        "post_padding": post_padding,
        "stride": stride,
        "padding_mode": padding_mode,
    }
    out = self._add("resample", {"X": input}, compute_data_type, name, generate_index=generate_index, **attributes)
    return [out["Y"], out["INDEX"] if generate_index else None]


def resample_backward(
    self: Builder,
    loss: tensor,
    mode: resample_mode,
    window: Sizes,
    pre_padding: Sequence[Any] = (),
    post_padding: Sequence[Any] = (),
    stride: Sequence[Any] = (),
    padding_mode: padding_mode = padding_mode.NOT_SET,
    input: tensor | None = None,
    output: tensor | None = None,
    index: tensor | None = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
) -> tensor:
    """Return the gradient of a pooling. MAXPOOL needs the indices or the input; without an input set the dims."""
    attributes = {
        "mode": mode,
        "window": window,
        "pre_padding": pre_padding,
        "post_padding": post_padding,
        "stride": stride,
        "padding_mode": padding_mode,
    }
    inputs = {"DY": loss, "X": input, "Y": output, "INDEX": index}
    return self._add("resample_backward", inputs, compute_data_type, name, **attributes)["DX"]


def rng(
    self: Builder,
    dim: Sizes,
    distribution: rng_distribution,
    seed: Any,
    offset: Any = None,
    bernoulli_probability: float | None = None,
    minimum: float = 0.0,
    maximum: float = 1.0,
    mean: float = 0.0,
    standard_deviation: float = 1.0,
    name: str = "",
) -> tensor:
    """Return random numbers of Philox4x32-10, the same on every device for one `seed` and `offset`.

    `seed` is an int, or as `offset` a tensor of one element.
    """
    by_tensor = isinstance(seed, tensor)
    attributes = {
        "distribution": distribution,
        "seed": None if by_tensor else seed,
        "bernoulli_probability": bernoulli_probability,
        "minimum": minimum,
        "maximum": maximum,
        "mean": mean,
        "standard_deviation": standard_deviation,
    }
    inputs = {"SEED": seed if by_tensor else None, "OFFSET": offset}
    return self._add("rng", inputs, NOT_SET, name, **attributes)["Y"].set_dim(dim)


def slice(
    self: Builder, input: tensor, slices: Sequence[Any] = (), compute_data_type: Any = NOT_SET, name: str = ""
) -> tensor:
    """Return a part: one Python slice for each dim, with positive steps."""
    return self._add("slice", {"X": input}, compute_data_type, name, slices=slices)["Y"]


def reshape(
    self: Builder, input: tensor, name: str = "", reshape_mode: reshape_mode = reshape_mode.VIEW_ONLY
) -> tensor:
    """Return the elements in other dims, which have to be set: as they lie, or (LOGICAL) in row-major order."""
    return self._add("reshape", {"X": input}, NOT_SET, name, reshape_mode=reshape_mode)["Y"]


def transpose(
    self: Builder, input: tensor, permutation: Sizes, compute_data_type: Any = NOT_SET, name: str = ""
) -> tensor:
    """Return the elements with permuted dims, and as the strides are not set with permuted strides."""
    return self._add("transpose", {"X": input}, compute_data_type, name, permutation=permutation)["Y"]


def concatenate(
    self: Builder, inputs: Sequence[tensor], axis: int, in_place_index: int | None = None, name: str = ""
) -> tensor:
    """Return tensors one after another along an axis."""
    ports = {f"IN_{i}": one for i, one in enumerate(listed(inputs, "inputs", expected="a list of tensors"))}
    return self._add("concatenate", ports, NOT_SET, name, axis=axis, in_place_index=in_place_index)["Y"]
