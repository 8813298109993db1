"""Pooling: descriptors, workspaces, forward and backward.

Maximum pooling with ``do_backward=True`` needs a workspace, which MIOpen fills with the places of the maxima and the
backward call reads. portadnn finds the maxima again in x; it asks for the workspace all the same, and the backward
call demands the one that the forward call of the same problem was given last.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from typing import Any

from ..enums import NanPropagation, PoolingMode
from ..errors import BadParam
from ..handle import Handle
from ..layer_descriptors import PoolingDescriptor
from ..ops.pooling import pooling_backward, pooling_forward
from ..problem import TensorSpec
from ..shapes import pooling_output_dims
from .descriptors import (
    Opaque,
    creator,
    destroy,
    made,
    miopenTensorDescriptor_t,
    spec_of,
    tensor,
    value_of,
)
from .enums import miopenIndexType_t, miopenPoolingMode_t, miopenPoolingWorkspaceIndexMode_t
from .names import boolean, function, integer, integers, one_and_zero, parse, refuse
from .workspaces import demand_filled, fill, given_workspace

_MODES = {
    miopenPoolingMode_t.miopenPoolingMax: PoolingMode.MAX,
    miopenPoolingMode_t.miopenPoolingAverage: PoolingMode.AVERAGE_COUNT_EXCLUDE_PADDING,
    miopenPoolingMode_t.miopenPoolingAverageInclusive: PoolingMode.AVERAGE_COUNT_INCLUDE_PADDING,
}
_MASK, _IMAGE = (
    miopenPoolingWorkspaceIndexMode_t.miopenPoolingWorkspaceIndexMask,
    miopenPoolingWorkspaceIndexMode_t.miopenPoolingWorkspaceIndexImage,
)


@dataclass(frozen=True)
class PoolingSettings:
    """What a pooling descriptor was set to; `index_type` and `index_mode` are MIOpen's."""

    pool: PoolingDescriptor
    mode: miopenPoolingMode_t
    index_type: miopenIndexType_t = miopenIndexType_t.miopenIndexUint8
    index_mode: miopenPoolingWorkspaceIndexMode_t = field(default=_MASK)

    @property
    def index_bytes(self) -> int:
        """Bytes of an index."""
        return 1 << int(self.index_type)

    @functools.cached_property
    def _last(self) -> list[Any]:
        """The last tensors that were found to do, and the bytes for them."""
        return [None, None, 0]

    def kept(self, x: TensorSpec, y: TensorSpec) -> int:
        """Return the bytes that a forward pass keeps, once its indices are known to fit their type."""
        last = self._last
        if last[0] is not x or last[1] is not y:
            _check_range(self, x)
            last[:] = x, y, _needed(self, y)
        return last[2]  # type: ignore[no-any-return]


class miopenPoolingDescriptor_t(Opaque):
    """Mode, window, padding and strides of a pooling, and the type of its indices."""


def _settings(poolDesc: Any) -> PoolingSettings:
    return value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc")  # type: ignore[no-any-return]


def _set(poolDesc: Any, mode: Any, window: Any, padding: Any, stride: Any) -> None:
    desc = made(poolDesc, miopenPoolingDescriptor_t, "poolDesc")
    named = parse(miopenPoolingMode_t, mode, "mode")
    pool = PoolingDescriptor(_MODES[named], window, padding, stride, NanPropagation.NOT_PROPAGATE_NAN)
    desc.value = PoolingSettings(pool, named, index_mode=_IMAGE if len(pool.window) == 3 else _MASK)


miopenCreatePoolingDescriptor = creator("miopenCreatePoolingDescriptor", miopenPoolingDescriptor_t)


@function
def miopenSet2dPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t,
    mode: Any,
    windowHeight: int,
    windowWidth: int,
    pad_h: int,
    pad_w: int,
    u: int,
    v: int,
) -> None:
    """Describe a 2-D pooling with strides u, v. miopenPoolingAverage leaves the padding out of the mean.

    The type of the indices becomes miopenIndexUint8.
    """
    _set(poolDesc, mode, (windowHeight, windowWidth), (pad_h, pad_w), (u, v))


@function
def miopenGet2dPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t,
) -> tuple[miopenPoolingMode_t, int, int, int, int, int, int]:
    """Return (mode, windowHeight, windowWidth, pad_h, pad_w, u, v)."""
    settings = _settings(poolDesc)
    if len(settings.pool.window) != 2:
        raise BadParam(argument="poolDesc", expected="2 spatial dims", got=len(settings.pool.window))
    return settings.mode, *settings.pool.get_2d()[2:]


@function
def miopenSetNdPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t, mode: Any, nbDims: int, windowDimA: Any, padA: Any, stridesA: Any
) -> None:
    """Describe a pooling of `nbDims` spatial dims."""
    count = integer(nbDims, "nbDims", 1)
    window, stride = integers(windowDimA, "windowDimA", 1, count), integers(stridesA, "stridesA", 1, count)
    _set(poolDesc, mode, window, integers(padA, "padA", 0, count), stride)


@function
def miopenGetNdPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t, nbDimsRequested: int
) -> tuple[miopenPoolingMode_t, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return (mode, nbDims, windowDimA, padA, stridesA), of the arrays the first `nbDimsRequested` values."""
    settings = _settings(poolDesc)
    _, _, count, window, padding, stride = settings.pool.get_nd(integer(nbDimsRequested, "nbDimsRequested", 1))
    return settings.mode, count, window, padding, stride


@function
def miopenDestroyPoolingDescriptor(poolDesc: miopenPoolingDescriptor_t) -> None:
    """Destroy a descriptor."""
    destroy(poolDesc, miopenPoolingDescriptor_t, "poolDesc")


@function
def miopenSetPoolingIndexType(poolDesc: miopenPoolingDescriptor_t, index_type: Any) -> None:
    """Choose the type of the indices: one that counts the cells of a window, or of an image."""
    settings = _settings(poolDesc)
    poolDesc.value = replace(settings, index_type=parse(miopenIndexType_t, index_type, "index_type"))


@function
def miopenGetPoolingIndexType(poolDesc: miopenPoolingDescriptor_t) -> miopenIndexType_t:
    """Return the type of the indices."""
    return _settings(poolDesc).index_type


@function
def miopenSetPoolingWorkSpaceIndexMode(poolDesc: miopenPoolingDescriptor_t, workspace_index: Any) -> None:
    """Choose whether an index counts the cells of the window (mask) or of the image."""
    settings = _settings(poolDesc)
    mode = parse(miopenPoolingWorkspaceIndexMode_t, workspace_index, "workspace_index")
    poolDesc.value = replace(settings, index_mode=mode)


@function
def miopenGetPoolingWorkSpaceIndexMode(poolDesc: miopenPoolingDescriptor_t) -> miopenPoolingWorkspaceIndexMode_t:
    """Return whether an index counts the cells of the window or of the image."""
    return _settings(poolDesc).index_mode


def _output_dims(poolDesc: Any, tensorDesc: Any) -> tuple[int, ...]:
    pool = _settings(poolDesc).pool
    spec = spec_of(tensorDesc, "tensorDesc")
    assert pool.padding is not None and pool.stride is not None
    return pooling_output_dims(spec.dims, pool.window, pool.padding, pool.stride)


@function
def miopenGetPoolingForwardOutputDim(
    poolDesc: miopenPoolingDescriptor_t, tensorDesc: miopenTensorDescriptor_t
) -> tuple[int, int, int, int]:
    """Return (n, c, h, w) of a 2-D pooling's output."""
    dims = _output_dims(poolDesc, tensorDesc)
    if len(dims) != 4:
        raise BadParam(argument="tensorDesc", expected="4 dims", got=len(dims))
    return dims


@function
def miopenGetPoolingNdForwardOutputDim(
    poolDesc: miopenPoolingDescriptor_t, tensorDesc: miopenTensorDescriptor_t, dims: int
) -> tuple[int, ...]:
    """Return the `dims` sizes of a pooling's output."""
    sizes = _output_dims(poolDesc, tensorDesc)
    if integer(dims, "dims", 1) != len(sizes):
        raise BadParam(argument="dims", expected=f"{len(sizes)}, the dims of the tensor", got=dims)
    return sizes


@function
def miopenPoolingGetWorkSpaceSize(yDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes of workspace for indices of type miopenIndexUint8: one for each element of y."""
    return spec_of(yDesc, "yDesc").size


@function
def miopenPoolingGetWorkSpaceSizeV2(poolDesc: miopenPoolingDescriptor_t, yDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes of workspace for indices of the descriptor's type; 0 for averages."""
    return _needed(_settings(poolDesc), spec_of(yDesc, "yDesc"))


def _needed(settings: PoolingSettings, y: TensorSpec) -> int:
    return y.size * settings.index_bytes if settings.pool.mode is PoolingMode.MAX else 0


def _check_range(settings: PoolingSettings, x: TensorSpec) -> None:
    """Refuse what MIOpen refuses: indices that the type cannot hold (migration rule V17)."""
    cells = math.prod(settings.pool.window if settings.index_mode is _MASK else x.dims[2:])
    most = (1 << 8 * settings.index_bytes) - 1
    if cells >= most:
        what = "window" if settings.index_mode is _MASK else "image"
        refuse(
            "the range of the indices does not do for the backward pass",
            argument="poolDesc",
            expected=f"a larger index type (miopenSetPoolingIndexType) for the {cells} cells of the {what}",
            got=settings.index_type.name,
        )


@function
def miopenPoolingForward(
    handle: Handle,
    poolDesc: miopenPoolingDescriptor_t,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    do_backward: bool,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Pool: ``y = pool(x)``, with alpha = 1 and beta = 0. NaN does not propagate through maxima.

    With `do_backward` maximum pooling takes a workspace of miopenPoolingGetWorkSpaceSizeV2 bytes, for the backward
    call.
    """
    settings = _settings(poolDesc)
    given = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    one_and_zero(alpha, beta)
    keep = boolean(do_backward, "do_backward") and settings.pool.mode is PoolingMode.MAX
    needed = settings.kept(xDesc.wide, yDesc.wide) if keep else 0
    given_workspace(handle, workSpace, workSpaceSize, needed)
    pooling_forward(handle, given[0], settings.pool, given[1])
    if keep:
        fill(handle, workSpace, ("pooling", settings, xDesc.wide, yDesc.wide))


@function
def miopenPoolingBackward(
    handle: Handle,
    poolDesc: miopenPoolingDescriptor_t,
    alpha: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    workspace: Any,
) -> None:
    """Compute the gradient of a pooling, with alpha = 1 and beta = 0.

    Raises
    ------
    BadParam
        Maximum pooling, and the workspace is not the one that the forward call of this problem filled last.
    """
    settings = _settings(poolDesc)
    given = tensor(handle, yDesc, y, "y"), tensor(handle, dyDesc, dy, "dy"), tensor(handle, xDesc, x, "x")
    out = tensor(handle, dxDesc, dx, "dx")
    one_and_zero(alpha, beta)
    if settings.pool.mode is PoolingMode.MAX:
        what = ("pooling", settings, xDesc.wide, yDesc.wide)
        demand_filled(handle, workspace, what, "miopenPoolingForward")
    pooling_backward(handle, *given, settings.pool, out)
