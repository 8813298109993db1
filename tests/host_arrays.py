"""Arrays of other libraries, and calls on them, for tests of backends that compute in host memory."""

from __future__ import annotations

import numpy as np
import pytest
from where import among, open_handle

import portadnn as dnn
import portadnn.graph as graphs
from portadnn import cudnn

DIMS = (2, 3, 5, 4)
RELU = dnn.ActivationDescriptor("relu")
CONV = dnn.ConvolutionDescriptor((1, 1))


class Exporter:
    """An array of a library that has DLPack, and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Interface:
    """An array of a library that has NumPy's array interface, and nothing else."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


def of_torch(array):
    return pytest.importorskip("torch").from_numpy(array)


LIBRARIES = {"numpy": lambda array: array, "torch": of_torch, "dlpack": Exporter, "interface": Interface}
libraries = pytest.mark.parametrize("library", LIBRARIES)


@pytest.fixture(scope="module", params=among("reference", "opencl"))
def host_handle(request):
    """A handle on each backend that computes in host memory."""
    with open_handle(request.param) as opened:
        if not opened.device.host_memory:
            pytest.skip(f"{opened.info.name} does not compute in host memory")
        yield opened


def numbers(dims=DIMS, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(0.25, 1.0, dims).astype(dtype)


def own(handle, array):
    """Return a copy as the backend's own array."""
    return handle.device.asarray(array)


def same(handle, got, want):
    np.testing.assert_allclose(got, handle.to_numpy(want), rtol=1e-5, atol=1e-6)


def four_times(call, inputs, check):
    """Call again with new contents in the same memory: looked at, bound, and launched again."""
    for turn in range(4):
        for array in inputs:
            array += 0.125 * turn
        call()
        check()


def descriptor(array):
    made = cudnn.cudnnCreateTensorDescriptor()
    steps = [s // array.itemsize for s in array.strides]
    cudnn.cudnnSetTensorNdDescriptor(made, cudnn.CUDNN_DATA_FLOAT, array.ndim, array.shape, steps)
    return made


def built(handle, dims=DIMS):
    """Return a graph with its tensors: relu(x) * 2 and its negative, and a convolution before them."""
    graph = graphs.pygraph(
        io_data_type=graphs.data_type.FLOAT,
        intermediate_data_type=graphs.data_type.FLOAT,
        compute_data_type=graphs.data_type.FLOAT,
        handle=handle,
    )
    x = graph.tensor(dim=list(dims), stride=[60, 20, 4, 1], name="x")
    w = graph.tensor(dim=[3, 3, 3, 3], stride=[27, 9, 3, 1], name="w")
    y = graph.relu(graph.conv_fprop(x, w, padding=[1, 1]))
    z = graph.neg(y)
    for out in (y, z):
        out.set_output(True).set_dim(list(dims)).set_stride([60, 20, 4, 1])
    graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
    return graph, (x, w, y, z)
