"""Reductions with indices of every size and of mixed types, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from helper import everywhere
from integer_layouts import bits, logical, tensor_descriptor, upload

import portadnn as dnn
from portadnn import cudnn

RNG = np.random.default_rng(3)
SIZES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
TYPES = {"FLOAT": np.float32, "HALF": np.float16, "INT8": np.int8}


def descriptor(op, indices=0, size=32):
    desc = cudnn.cudnnCreateReduceTensorDescriptor()
    kind = getattr(cudnn, f"CUDNN_{size}BIT_INDICES")
    settings = (getattr(cudnn, f"CUDNN_REDUCE_TENSOR_{op}"), cudnn.CUDNN_DATA_FLOAT, 0, indices, kind)
    cudnn.cudnnSetReduceTensorDescriptor(desc, *settings)
    assert cudnn.cudnnGetReduceTensorDescriptor(desc) == settings
    return desc


@everywhere()
@pytest.mark.parametrize("size", SIZES)
def test_indices_of_every_size(handle, size):
    a = RNG.standard_normal((2, 3, 5, 7)).astype(np.float32)
    desc, a_desc, c_desc = (
        descriptor("MAX", 1, size),
        tensor_descriptor("FLOAT", a.shape),
        tensor_descriptor("FLOAT", (1, 3, 1, 1)),
    )
    nbytes = cudnn.cudnnGetReductionIndicesSize(handle, desc, a_desc, c_desc)
    assert nbytes == 3 * size // 8
    space = cudnn.cudnnGetReductionWorkspaceSize(handle, desc, a_desc, c_desc)
    indices = upload(handle, np.full(nbytes + 8, 255, np.uint8))
    c, workspace = handle.empty((1, 3, 1, 1)), handle.empty_bytes(max(space, 1))
    for _ in range(3):
        cudnn.cudnnReduceTensor(
            handle, desc, indices, nbytes, workspace, space, 1, a_desc, handle.asarray(a), 0, c_desc, c
        )
    flat = a.transpose(1, 0, 2, 3).reshape(3, -1)
    np.testing.assert_array_equal(handle.to_numpy(c).ravel(), flat.max(1))
    got = handle.to_numpy(indices)
    assert got[:nbytes].view(SIZES[size]).tolist() == flat.argmax(1).tolist()
    assert (got[nbytes:] == 255).all()


def test_indices_that_do_not_fit_are_refused(reference):
    a, c = tensor_descriptor("FLOAT", (1, 1, 1, 257)), tensor_descriptor("FLOAT", (1, 1, 1, 1))
    memory = np.zeros(257, np.float32), np.zeros(1, np.float32)
    with pytest.raises(dnn.NotSupported, match="257 numbers"):
        indices = np.zeros(1, np.uint8)
        cudnn.cudnnReduceTensor(
            reference, descriptor("MIN", 1, 8), indices, 1, None, 0, 1, a, memory[0], 0, c, memory[1]
        )
    with pytest.raises(dnn.BadParam, match="indices"):
        indices = np.zeros(1, np.uint8)
        cudnn.cudnnReduceTensor(
            reference, descriptor("MIN", 1, 64), indices, 1, None, 0, 1, a, memory[0], 0, c, memory[1]
        )


PAIRS = [("HALF", "FLOAT"), ("FLOAT", "HALF"), ("INT8", "FLOAT"), ("INT8", "INT8"), ("FLOAT", "INT8")]


@everywhere()
@pytest.mark.parametrize(("source", "dest"), PAIRS)
@pytest.mark.parametrize("op", ["ADD", "AMAX"])
def test_mixed_types(handle, source, dest, op):
    a = RNG.integers(-20, 20, (2, 3, 4, 5)).astype(TYPES[source])
    c = RNG.integers(-9, 9, (2, 1, 4, 1)).astype(TYPES[dest])
    memory = upload(handle, bits(a, source)), upload(handle, bits(c, dest))
    first = (handle, descriptor(op), None, 0, None, 0, 0.5, tensor_descriptor(source, a.shape), memory[0])
    cudnn.cudnnReduceTensor(*first, 2, tensor_descriptor(dest, c.shape), memory[1])
    exact = a.astype(float)
    exact = exact.sum((1, 3), keepdims=True) if op == "ADD" else abs(exact).max((1, 3), keepdims=True)
    wanted = exact / 2 + 2 * c.astype(float)
    wanted = np.clip(np.rint(wanted), -128, 127) if dest == "INT8" else wanted
    np.testing.assert_array_equal(logical(handle, memory[1], dest, c.shape, c.dtype), wanted)


def test_types_that_do_not_mix_are_refused(reference):
    a, c = tensor_descriptor("DOUBLE", (1, 1, 1, 4)), tensor_descriptor("FLOAT", (1, 1, 1, 1))
    with pytest.raises(dnn.BadParam, match="mixed types"):
        memory = np.zeros(4), np.zeros(1, np.float32)
        cudnn.cudnnReduceTensor(reference, descriptor("ADD"), None, 0, None, 0, 1, a, memory[0], 0, c, memory[1])
