"""Tensors of bytes as cuDNN stores them, written by NumPy: what tests of integers pass and read."""

from __future__ import annotations

import numpy as np

from portadnn import cudnn

LANES = {"INT8x4": 4, "UINT8x4": 4, "INT8x32": 32}


def tensor_descriptor(kind, dims, layout=None):
    """Return a descriptor: vectors in NCHW_VECT_C, others NCHW unless said."""
    desc = cudnn.cudnnCreateTensorDescriptor()
    layout = layout if layout is not None else 2 if kind in LANES else 0
    cudnn.cudnnSetTensorNdDescriptorEx(desc, layout, getattr(cudnn, f"CUDNN_DATA_{kind}"), len(dims), dims)
    return desc


def filter_descriptor(kind, dims, layout=None):
    desc = cudnn.cudnnCreateFilterDescriptor()
    layout = layout if layout is not None else 2 if kind in LANES else 0
    cudnn.cudnnSetFilterNdDescriptor(desc, getattr(cudnn, f"CUDNN_DATA_{kind}"), layout, len(dims), dims)
    return desc


def bits(array, kind, layout=0):
    """Return an array's bytes in a layout."""
    lanes = LANES.get(kind, 1)
    if lanes > 1:
        n, c, *spatial = array.shape
        array = np.moveaxis(array.reshape(n, c // lanes, lanes, *spatial), 2, -1)
    elif layout == 1:
        array = np.moveaxis(array, 1, -1)
    return np.ascontiguousarray(array).ravel().view(np.uint8)


def logical(handle, memory, kind, dims, dtype, layout=0):
    """Return memory's numbers in logical order."""
    flat = np.ascontiguousarray(handle.to_numpy(memory)).ravel().view(np.uint8).view(dtype)
    lanes, (n, c, *spatial) = LANES.get(kind, 1), dims
    if lanes > 1:
        return np.moveaxis(flat.reshape(n, c // lanes, *spatial, lanes), -1, 2).reshape(dims)
    return np.moveaxis(flat.reshape(n, *spatial, c), -1, 1) if layout == 1 else flat.reshape(dims)


def upload(handle, array):
    """Return bytes on the device."""
    return handle.device.asarray(np.ascontiguousarray(array).ravel().view(np.uint8).copy())
