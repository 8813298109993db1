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

from ..descriptors.layers import PoolingDescriptor
from ..enums import NanPropagation, PoolingMode
from ..errors import BadParam
from ..ops.pooling import pooling_backward, pooling_forward
from ..problem import TensorSpec
from ..shapes import pooling_output_dims
from .descriptors import (
    Opaque,
    made,
)
from .generated.enums import (
    miopenIndexType_t,
    miopenPaddingMode_t,
    miopenPoolingMode_t,
    miopenPoolingWorkspaceIndexMode_t,
)
from .names import boolean, integer, integers, one_and_zero, parse, refuse
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
        return last[2]


class miopenPoolingDescriptor_t(Opaque):
    """Mode, window, padding and strides of a pooling, and the type of its indices."""


def _set(poolDesc: Any, mode: Any, window: Any, padding: Any, stride: Any) -> None:
    desc = made(poolDesc, miopenPoolingDescriptor_t, "poolDesc")
    named = parse(miopenPoolingMode_t, mode, "mode")
    pool = PoolingDescriptor(_MODES[named], window, padding, stride, NanPropagation.NOT_PROPAGATE_NAN)
    desc.value = PoolingSettings(pool, named, index_mode=_IMAGE if len(pool.window) == 3 else _MASK)


def miopenSet2dPoolingDescriptor(poolDesc, mode, *sizes):
    _set(poolDesc, mode, sizes[:2], sizes[2:4], sizes[4:])


def miopenGet2dPoolingDescriptor(pool):
    if len(pool.pool.window) != 2:
        raise BadParam(argument="poolDesc", expected="2 spatial dims", got=len(pool.pool.window))
    return pool.mode, *pool.pool.get_2d()[2:]


def miopenSetNdPoolingDescriptor(poolDesc, mode, nbDims, windowDimA, padA, stridesA):
    count = integer(nbDims, "nbDims", 1)
    window, stride = integers(windowDimA, "windowDimA", 1, count), integers(stridesA, "stridesA", 1, count)
    _set(poolDesc, mode, window, integers(padA, "padA", 0, count), stride)


def miopenGetNdPoolingDescriptor(pool, nbDimsRequested):
    return pool.mode, *pool.pool.get_nd(integer(nbDimsRequested, "nbDimsRequested", 1))[2:]


def miopenSetPoolingIndexType(poolDesc, index_type):
    _change(poolDesc, index_type=parse(miopenIndexType_t, index_type, "index_type"))


def _change(poolDesc: Any, **changes: Any) -> None:
    """Change a descriptor; one that is only created takes it, too, and forgets it when it is set, as in MIOpen."""
    desc = made(poolDesc, miopenPoolingDescriptor_t, "poolDesc")
    if desc.value is not None:
        desc.value = replace(desc.value, **changes)


def miopenGetPoolingIndexType(pool):
    return pool.index_type


def miopenSetPoolingWorkSpaceIndexMode(poolDesc, workspace_index):
    _change(poolDesc, index_mode=parse(miopenPoolingWorkspaceIndexMode_t, workspace_index, "workspace_index"))


def miopenGetPoolingPaddingMode(pool):
    return miopenPaddingMode_t.miopenPaddingDefault


def miopenGetPoolingWorkSpaceIndexMode(pool):
    return pool.index_mode


def _output_dims(pool: PoolingDescriptor, spec: TensorSpec) -> tuple[int, ...]:
    assert pool.padding is not None and pool.stride is not None
    return pooling_output_dims(spec.dims, pool.window, pool.padding, pool.stride)


def miopenGetPoolingForwardOutputDim(pool, tensor):
    dims = _output_dims(pool.pool, tensor)
    if len(dims) != 4:
        raise BadParam(argument="tensorDesc", expected="4 dims", got=len(dims))
    return dims


def miopenGetPoolingNdForwardOutputDim(pool, tensor, dims):
    sizes = _output_dims(pool.pool, tensor)
    if integer(dims, "dims", 1) != len(sizes):
        raise BadParam(argument="dims", expected=f"{len(sizes)}, the dims of the tensor", got=dims)
    return sizes


def miopenPoolingGetWorkSpaceSize(y):
    return y.size


def miopenPoolingGetWorkSpaceSizeV2(pool, y):
    return _needed(pool, y)


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


def miopenPoolingForward(handle, pool, x, y, alpha, beta, do_backward, xDesc, yDesc, workSpace, workSpaceSize):
    one_and_zero(alpha, beta)
    keep = boolean(do_backward, "do_backward") and pool.pool.mode is PoolingMode.MAX
    needed = pool.kept(xDesc.wide, yDesc.wide) if keep else 0
    given_workspace(handle, workSpace, workSpaceSize, needed)
    pooling_forward(handle, x, pool.pool, y)
    if keep:
        fill(handle, workSpace, ("pooling", pool, xDesc.wide, yDesc.wide))


def miopenPoolingBackward(handle, pool, y, dy, x, dx, alpha, beta, xDesc, yDesc, workspace):
    one_and_zero(alpha, beta)
    if pool.pool.mode is PoolingMode.MAX:
        demand_filled(handle, workspace, ("pooling", pool, xDesc.wide, yDesc.wide), "miopenPoolingForward")
    pooling_backward(handle, y, dy, x, pool.pool, dx)
