"""Outputs between other tensors' elements, and arrays of PyOpenCL whose offset or extent leaves their buffer."""

from __future__ import annotations

import numpy as np
import pytest
from host_arrays import CONV, DIMS, RELU, built, descriptor, host_handle, numbers
from where import BACKENDS, open_handle

import portadnn as dnn
import portadnn.graph as graphs
from portadnn import cudnn
from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.graph.fallback.host import DefinitionOnHost
from portadnn.problem import TensorSpec

handle = host_handle

# outputs between each other's elements


def pointwise(handle, dims, steps):
    """Return a graph of x with the outputs relu(x) and -x of those strides."""
    kind = graphs.data_type.FLOAT
    graph = graphs.pygraph(io_data_type=kind, intermediate_data_type=kind, compute_data_type=kind, handle=handle)
    x = graph.tensor(dim=list(dims), stride=[dims[1], 1], name="x")
    outs = [graph.relu(x), graph.neg(x)]
    for out in outs:
        out.set_output(True).set_dim(list(dims)).set_stride(list(steps)).set_data_type(kind)
    graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
    return graph, x, outs


def check_interleaved(memory, x, gaps):
    """The first two of three floats are the outputs' and the third is nobody's."""
    np.testing.assert_array_equal(memory[0::3].reshape(x.shape), np.maximum(x, 0))
    np.testing.assert_array_equal(memory[1::3].reshape(x.shape), -x)
    np.testing.assert_array_equal(memory[2::3], gaps)


@pytest.mark.parametrize("way", ["where it lies", "copied", "misaligned"])
def test_outputs_that_interleave_in_host_memory(handle, way, monkeypatch):
    """Two outputs and what lies between them in one buffer; also where graphs copy it to the device, as on GPUs."""
    if way == "copied":
        monkeypatch.setattr(handle.device, "host_memory", False)
    dims = (4, 6)
    x = np.random.default_rng(0).standard_normal(dims).astype(np.float32)
    graph, tensor, outs = pointwise(handle, dims, (18, 3))
    room = np.zeros(3 * 24 * 4 + 64, np.uint8)
    first = -room.ctypes.data % 16 + 16 + (way == "misaligned")
    memory = np.ndarray(3 * 24, np.float32, room, first)
    gaps = memory[2::3].copy()
    for turn in range(4):
        memory[...] = 100 + turn
        gaps[...] = 100 + turn
        graph.execute({tensor: x, outs[0]: memory, outs[1]: memory[1:]})
        check_interleaved(memory, x, gaps)
        x += 0.25


@pytest.mark.parametrize("number", [0, 1])
def test_the_other_output_is_not_written_back(handle, number, monkeypatch):
    """One output lies between elements of an array that another thread might write: they keep their bits."""
    monkeypatch.setattr(handle.device, "host_memory", False)
    graph, tensor, outs = pointwise(handle, (4, 6), (18, 3))
    x = np.ones((4, 6), np.float32)
    memory, alone = np.zeros(72, np.float32), np.zeros(72, np.float32)
    execute = handle.device.read_bytes

    def meanwhile(array):
        memory[2::3] = 7.0
        return execute(array)

    if handle.backend == "opencl":
        monkeypatch.setattr(handle.device, "read_bytes", meanwhile)
    pack = {tensor: x, outs[number]: memory, outs[1 - number]: alone}
    graph.execute(pack)
    assert (memory[2::3] == (7.0 if handle.backend == "opencl" else 0.0)).all()
    assert (memory[0::3] == (1.0, -1.0)[number]).all()


def test_outputs_of_a_node_on_the_host_that_interleave():
    """A node that the host computes writes two outputs into one buffer of the device."""
    if "opencl" not in BACKENDS:
        pytest.skip("OpenCL is not among the backends")
    with open_handle("opencl") as handle:
        kind = graphs.data_type.FLOAT
        graph = graphs.pygraph(io_data_type=kind, intermediate_data_type=kind, compute_data_type=kind, handle=handle)
        x = graph.tensor(dim=[1, 2, 6, 6], stride=[72, 36, 6, 1], name="x")
        y, index = graph.resample(x, graphs.resample_mode.MAXPOOL, [2, 2], stride=[2, 2], generate_index=True)
        index.set_data_type(graphs.data_type.INT32)
        for out in (y, index):
            out.set_output(True).set_dim([1, 2, 3, 3]).set_stride([54, 27, 9, 3])
        graph.build([graphs.heur_mode.FALLBACK])
        frozen = graph._graph_frozen()
        plan = DefinitionOnHost().prepare(frozen, handle.device)
        values = np.random.default_rng(0).standard_normal((1, 2, 6, 6)).astype(np.float32)
        base = handle.device.asarray(np.full(4 * 54, 0xA5, np.uint8))
        specs = [TensorSpec(dtype, (1, 2, 3, 3), (54, 27, 9, 3)) for dtype in (DataType.FLOAT, DataType.INT32)]
        arrays = {x.get_uid(): handle.asarray(values)}
        for i, (out, spec) in enumerate(zip((y, index), specs, strict=True)):
            arrays[out.get_uid()] = handle.device.wrap(TensorView(spec, base, i), "out")
        plan.run(*frozen.arguments(arrays), None)
        after = handle.to_numpy(base).view(np.float32)
        windows = values.reshape(1, 2, 3, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(18, 4)
        np.testing.assert_array_equal(after[0::3], windows.max(1))
        assert (after[1::3].copy().view(np.uint8).reshape(18, 4) != 0xA5).all(1).all()  # indices
        assert (after[2::3].copy().view(np.uint8) == 0xA5).all()


# arrays that leave their buffer


@pytest.fixture(scope="module")
def opencl():
    if "opencl" not in BACKENDS:
        pytest.skip("OpenCL is not among the backends")
    with open_handle("opencl") as opened:
        yield opened


class Leaving:
    """Arrays on a buffer of 4096 bytes inside a larger one, whose bytes are known."""

    SIZE, GUARD = 4096, 1024

    def __init__(self, handle):
        import pyopencl as cl

        self.handle, self.queue = handle, handle.get_stream()
        self.known = np.full(self.SIZE + 2 * self.GUARD, 0xA5, np.uint8)
        self.whole = cl.Buffer(self.queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=self.known)
        self.buffer = self.whole.get_sub_region(self.GUARD, self.SIZE)

    def array(self, dims, dtype=np.float32, offset=None, strides=None):
        """Return an array that ends 16 bytes behind its buffer, unless it lies elsewhere."""
        import pyopencl.array as cl_array

        nbytes = int(np.prod(dims)) * np.dtype(dtype).itemsize
        offset = self.SIZE + 16 - nbytes if offset is None else offset
        return cl_array.Array(self.queue, dims, np.dtype(dtype), data=self.buffer, offset=offset, strides=strides)

    def untouched(self):
        import pyopencl as cl

        found = np.empty_like(self.known)
        cl.enqueue_copy(self.queue, found, self.whole)
        return np.array_equal(found, self.known)


def on(handle, dims, seed=0, dtype=np.float32):
    return handle.device.asarray(numbers(dims, seed, dtype))


def c_relu():
    made = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(made, cudnn.CUDNN_ACTIVATION_RELU, 0, 0.0)
    return made


RNN = dnn.RNNDescriptor(4)
LEAVING = {
    "input": lambda h, m: dnn.activation_forward(h, m.array(DIMS), RELU),
    "output": lambda h, m: dnn.activation_forward(h, on(h, DIMS), RELU, m.array(DIMS)),
    "output with gaps": lambda h, m: dnn.activation_forward(
        h, on(h, DIMS), RELU, m.array(DIMS, offset=256, strides=(2048, 640, 128, 32))
    ),
    "before its buffer": lambda h, m: dnn.activation_forward(h, on(h, DIMS), RELU, m.array(DIMS, offset=-16)),
    "negative strides": lambda h, m: dnn.activation_forward(
        h, on(h, DIMS), RELU, m.array(DIMS, offset=0, strides=(240, 80, 16, -4))
    ),
    "view of an array": lambda h, m: dnn.set_tensor(h, dnn.TensorDescriptor(DIMS).view(m.array(DIMS)), 1.0),
    "view of a shorter array": lambda h, m: dnn.set_tensor(
        h, dnn.TensorDescriptor(DIMS).view(m.array((100,), offset=0)), 1.0
    ),
    "view of a buffer": lambda h, m: dnn.set_tensor(h, dnn.TensorDescriptor(DIMS).view(m.buffer, 1020), 1.0),
    "view with gaps": lambda h, m: dnn.set_tensor(
        h, dnn.TensorDescriptor(DIMS, strides=(1000, 20, 4, 1)).view(m.buffer), 1.0
    ),
    "workspace": lambda h, m: dnn.convolution_forward(
        h, on(h, DIMS), on(h, (3, 3, 3, 3)), CONV, workspace=m.array((1 << 16,), np.uint8)
    ),
    "statistics": lambda h, m: dnn.batch_normalization_forward_training(
        *(h, on(h, DIMS), on(h, (1, 3, 1, 1)), on(h, (1, 3, 1, 1)), None),
        *(m.array((1, 3, 1, 1), offset=4088), on(h, (1, 3, 1, 1))),
    ),
    "states": lambda h, m: dnn.set_dropout_descriptor(h, 0.5, m.array((64,), np.uint8), 1),
    "restored states": lambda h, m: dnn.dropout_forward(
        h, on(h, DIMS), dnn.restore_dropout_descriptor(h, 0.5, m.array((64,), np.uint8))
    ),
    "reserve space": lambda h, m: dnn.dropout_forward(
        h, on(h, DIMS), dnn.set_dropout_descriptor(h, 0.5, seed=1), None, m.array((256,), np.uint8)
    ),
    "reserve space of a network": lambda h, m: dnn.rnn_forward_training(
        h, on(h, (2, 2, 4)), None, None, on(h, (40, 1, 1)), RNN, reserve=m.array((1024,), np.uint8)
    ),
    "part of parameters": lambda h, m: dnn.get_rnn_lin_layer_matrix_params(
        h, RNN, 0, (2, 4, 1), m.array((40, 1, 1)), 0
    ),
    "to_numpy": lambda h, m: h.to_numpy(m.array(DIMS)),
    "to_numpy of a view": lambda h, m: h.to_numpy(dnn.TensorDescriptor(DIMS).view(m.buffer, 1000)),
    "to_numpy backwards": lambda h, m: h.to_numpy(m.array((8, 4, 4), offset=0, strides=(64, 16, -4))),
    "size query": lambda h, m: dnn.get_convolution_forward_workspace_size(h, m.array(DIMS), on(h, (3, 3, 3, 3)), CONV),
    "C name": lambda h, m: cudnn.cudnnActivationForward(h, c_relu(), 1.0, DESC, on(h, DIMS), 0.0, DESC, m.array(DIMS)),
    "C name and bytes": lambda h, m: cudnn.cudnnActivationForward(
        h, c_relu(), 1.0, DESC, on(h, DIMS), 0.0, DESC, m.array((480,), np.uint8)
    ),
    "C name and a buffer": lambda h, m: cudnn.cudnnActivationForward(
        h, c_relu(), 1.0, DESC, on(h, DIMS), 0.0, DESC, m.whole.get_sub_region(m.GUARD, 479)
    ),
    "graph": lambda h, m: execute(h, 3, m.array(DIMS)),
    "graph and bytes": lambda h, m: execute(h, 3, m.array((480,), np.uint8)),
    "graph's workspace": lambda h, m: execute(h, workspace=m.array((1 << 16,), np.uint8)),
    "graph's input": lambda h, m: execute(h, 0, m.array(DIMS)),
}
DESC = descriptor(np.empty(DIMS, np.float32))


def execute(handle, place=None, array=None, workspace=None):
    """Run a graph with an array in place of its x, w, y or z."""
    graph, tensors = built(handle)
    pack = [on(handle, DIMS), on(handle, (3, 3, 3, 3)), on(handle, DIMS), on(handle, DIMS)]
    if place is not None:
        pack[place] = array
    elif not graph.get_workspace_size():
        pytest.skip("this graph needs no workspace")
    graph.execute(dict(zip(tensors, pack, strict=True)), workspace)


@pytest.mark.parametrize("path", LEAVING)
def test_arrays_that_leave_their_buffer(opencl, path):
    memory = Leaving(opencl)
    for _ in range(3):
        with pytest.raises(dnn.DnnError, match=r"buffer|strides"):
            LEAVING[path](opencl, memory)
    assert memory.untouched()


def test_the_message_names_the_argument_each_time(opencl):
    memory, x = Leaving(opencl), on(opencl, DIMS)
    y = memory.array(DIMS)
    for _ in range(4):
        with pytest.raises(
            dnn.BadParam, match="activation_forward: y: expected an array within its buffer of 4096 bytes"
        ):
            dnn.activation_forward(opencl, x, RELU, y)


def test_an_array_that_was_moved(opencl):
    """A bound call is not repeated with an array that leaves its buffer since."""
    memory, x = Leaving(opencl), on(opencl, DIMS)
    y = memory.array(DIMS, offset=0)
    for _ in range(4):
        dnn.activation_forward(opencl, x, RELU, y)
    y.offset = memory.SIZE - 64
    memory.known[memory.GUARD : memory.GUARD + 480] = opencl.to_numpy(x).reshape(-1).view(np.uint8)
    with pytest.raises(dnn.BadParam, match="within its buffer"):
        dnn.activation_forward(opencl, x, RELU, y)
    assert memory.untouched()


def test_views_of_c_names_follow_their_array(opencl):
    """What a C name made of an array is made again when the array was given another buffer or place."""
    x, old, new = on(opencl, DIMS), opencl.zeros((120, 1, 1)), opencl.zeros((240, 1, 1))
    relu, second = c_relu(), new[120:]
    for _ in range(4):
        cudnn.cudnnActivationForward(opencl, relu, 1.0, DESC, x, 0.0, DESC, old)
    kept = old.base_data
    old.base_data = new.base_data
    for _ in range(4):
        cudnn.cudnnActivationForward(opencl, relu, 1.0, DESC, x, 0.0, DESC, old)
    old.offset = 480
    cudnn.cudnnActivationForward(opencl, relu, 2.0, DESC, x, 0.0, DESC, old)
    want = opencl.to_numpy(x).reshape(-1)
    np.testing.assert_array_equal(opencl.to_numpy(new).reshape(-1)[:120], want)
    np.testing.assert_array_equal(opencl.to_numpy(second).reshape(-1), 2 * want)
    assert kept is not None


def test_workspaces_are_slices_of_arenas(opencl):
    """Arrays with an offset, sub-buffers and blocks of pools; 16 bytes of alignment are demanded of all."""
    from pyopencl.tools import ImmediateAllocator, MemoryPool

    queue = opencl.get_stream()
    x, w = on(opencl, DIMS), on(opencl, (4, 3, 3, 3))
    size = dnn.get_convolution_forward_workspace_size(opencl, x, w, CONV, algo="GEMM")
    arena = opencl.device.asarray(np.full(size + 4096, 0xA5, np.uint8))
    want = opencl.to_numpy(dnn.convolution_forward(opencl, x, w, CONV))
    pool = MemoryPool(ImmediateAllocator(queue))
    region = arena.base_data.get_sub_region(1024, size)
    block = pool.allocate(size)
    y = opencl.empty((2, 4, 5, 4))
    for workspace in (arena[16 : 16 + size], arena[1024 : 1024 + size], region, block):
        for _ in range(3):
            dnn.convolution_forward(opencl, x, w, CONV, y, algo="GEMM", workspace=workspace)
        np.testing.assert_allclose(opencl.to_numpy(y), want, rtol=1e-4)
    after = opencl.to_numpy(arena)
    assert (after[:16] == 0xA5).all() and (after[1024 + size :] == 0xA5).all()
    for workspace, words in (
        (arena[8 : 8 + size], "8 mod 16"),
        (arena[: size - 1], f"got {size - 1} bytes"),
        (arena[: 2 * size : 2], "contiguous"),
        (arena.base_data.get_sub_region(0, size - 1), f"got {size - 1} bytes"),
        (np.zeros(size, np.uint8)[::2], "contiguous" if opencl.device.host_memory else "got numpy.ndarray"),
    ):
        with pytest.raises(dnn.BadParam, match=words):
            dnn.convolution_forward(opencl, x, w, CONV, y, algo="GEMM", workspace=workspace)
