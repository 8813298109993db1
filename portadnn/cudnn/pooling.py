"""Pooling (guide sections 4.59 to 4.76)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..enums import NanPropagation, PoolingMode, plain_number
from ..errors import BadParam
from .calls import Choice
from .descriptors import PoolingDescriptor, fixed, integers, made
from .enumerations import enumeration
from .tensors import nan_option

pooling_mode = Choice("cudnnPoolingMode_t", PoolingMode, {3: PoolingMode.MAX})  # MAX_DETERMINISTIC: ours always is

_NOT_PROPAGATE = int(NanPropagation.NOT_PROPAGATE_NAN)  # as before version 4


def _set(descriptor: Any, mode: Any, nan: Any, window: Any, padding: Any, stride: Any) -> None:
    made(descriptor, PoolingDescriptor, "poolingDesc")
    how, option = pooling_mode(mode, "mode"), nan_option(nan, "maxpoolingNanOpt")
    descriptor.value = dnn.PoolingDescriptor.set_nd(how, option, window, padding, stride)
    number = int(how) if isinstance(mode, PoolingMode) else plain_number(mode, pooling_mode.c_name)
    assert number is not None  # pooling_mode took it
    descriptor.mode = enumeration(pooling_mode.c_name)(number)


def cudnnSetPooling2dDescriptor(poolingDesc, mode, maxpoolingNanOpt, *sizes):
    _set(poolingDesc, mode, maxpoolingNanOpt, sizes[:2], sizes[2:4], sizes[4:])


def cudnnSetPooling2dDescriptor_v3(poolingDesc, mode, *sizes):
    cudnnSetPooling2dDescriptor(poolingDesc, mode, _NOT_PROPAGATE, *sizes)


def cudnnSetPoolingNdDescriptor(poolingDesc, mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA):
    arrays = (("windowDimA", windowDimA), ("paddingA", paddingA), ("strideA", strideA))
    _set(poolingDesc, mode, maxpoolingNanOpt, *(integers(array, nbDims, name) for name, array in arrays))


def cudnnSetPoolingNdDescriptor_v3(poolingDesc, mode, *arrays):
    cudnnSetPoolingNdDescriptor(poolingDesc, mode, _NOT_PROPAGATE, *arrays)


def cudnnGetPooling2dDescriptor(pooling, poolingDesc):
    _, nan, _, *arrays = pooling.get_nd(2)
    return (poolingDesc.mode, nan_option.c(nan), *(n for sizes in arrays for n in fixed(sizes, 2)))


def cudnnGetPooling2dDescriptor_v3(pooling, poolingDesc):
    mode, _, *sizes = cudnnGetPooling2dDescriptor(pooling, poolingDesc)
    return (mode, *sizes)


def cudnnGetPoolingNdDescriptor(pooling, poolingDesc, nbDimsRequested):
    _, nan, *sizes = pooling.get_nd(as_integer(nbDimsRequested, "nbDimsRequested", 0))
    return (poolingDesc.mode, nan_option.c(nan), *sizes)


def cudnnGetPoolingNdDescriptor_v3(pooling, poolingDesc, nbDimsRequested):
    mode, _, *sizes = cudnnGetPoolingNdDescriptor(pooling, poolingDesc, nbDimsRequested)
    return (mode, *sizes)


cudnnSetPooling2dDescriptor_v4 = cudnnSetPooling2dDescriptor
cudnnSetPoolingNdDescriptor_v4 = cudnnSetPoolingNdDescriptor
cudnnGetPooling2dDescriptor_v4 = cudnnGetPooling2dDescriptor
cudnnGetPoolingNdDescriptor_v4 = cudnnGetPoolingNdDescriptor


def cudnnGetPooling2dForwardOutputDim(pooling, inputTensor):
    return dnn.get_pooling_2d_forward_output_dim(pooling, inputTensor)


def cudnnGetPoolingNdForwardOutputDim(pooling, inputTensor, nbDims):
    dims = dnn.get_pooling_nd_forward_output_dim(pooling, inputTensor)
    if as_integer(nbDims, "nbDims", 1) != len(dims):
        raise BadParam(argument="nbDims", expected=str(len(dims)), got=nbDims)
    return dims
