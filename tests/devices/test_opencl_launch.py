"""OpenCL launches that go to the driver without an event, as on GPUs: tried on any device whose driver allows it."""

import ctypes

import numpy as np
import pytest
from where import BACKENDS

import portadnn as dnn

opencl_launch = pytest.importorskip("portadnn_backends.opencl.launch")
RELU = dnn.ActivationDescriptor("relu")


@pytest.fixture
def direct():
    """Return an OpenCL handle that enqueues without events."""
    if "opencl" not in BACKENDS:
        pytest.skip("opencl is not among the backends to test")
    with dnn.Handle("opencl") as handle:
        device = handle.device
        device._enqueue = opencl_launch.direct_enqueue(device._device, device._queue)
        if device._enqueue is None:
            pytest.skip("this driver's objects carry no table of functions (cl_khr_icd)")
        yield handle


def test_launches_see_the_arguments_of_each_call(direct):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((2, 3, 5, 7)).astype(np.float32) for _ in range(2))
    x, y = direct.asarray(a), direct.asarray(b)
    outs = [
        dnn.scale_tensor(direct, direct.asarray(a), 2.0),
        dnn.scale_tensor(direct, direct.asarray(b), -3.0),
        dnn.activation_forward(direct, x, RELU),
        dnn.activation_forward(direct, y, RELU, alpha=2.0),
    ]
    wanted = [2 * a, -3 * b, np.maximum(a, 0), 2 * np.maximum(b, 0)]
    for out, right in zip(outs, wanted, strict=True):
        np.testing.assert_array_equal(direct.to_numpy(out), right)


def test_outputs_left_out_are_arrays_as_pyopencl_makes_them(direct):
    import pyopencl as cl

    values = np.random.default_rng(0).standard_normal((2, 3, 5, 7)).astype(np.float32)
    first = direct.get_stream()
    for queue in (first, cl.CommandQueue(first.context, first.device), first):
        direct.set_stream(queue)
        for host in (values, np.ascontiguousarray(values.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2), values[:0]):
            x = direct.asarray(host)
            found = [dnn.activation_forward(direct, x, RELU) for _ in range(2)]
            for made in found:
                like = cl.array.Array(queue, made.shape, made.dtype, strides=made.strides, data=made.base_data)
                own, right = vars(made).copy(), vars(like).copy()
                for words in (own, right):
                    for word in ("seen", "serial", "buffer"):
                        words.pop(f"_portadnn_{word}", None)
                assert own == right
                assert made.flags.forc == like.flags.forc
                np.testing.assert_array_equal(direct.to_numpy(made), np.maximum(host, 0))
                assert direct.device.look([made])[0] == direct.device.look([like])[0]
                assert direct.device.address(made) == direct.device.address(like)
            assert found[0].events is not found[1].events
    with pytest.raises(dnn.AllocFailed):
        direct.empty((1 << 20, 1 << 20, 1 << 6))


def test_a_refused_launch_raises(direct):
    x = direct.zeros((1, 1, 4, 4))
    dnn.activation_forward(direct, x, RELU)
    function = direct.device._enqueue

    def with_a_wrong_block(queue, step):
        kernel, _, *rest = step.words
        step.words = (kernel, ctypes.c_uint32(0), *rest)  # a grid without dimensions
        return function(queue, step)

    direct.device._enqueue = with_a_wrong_block
    direct.clear_cache()
    with pytest.raises(dnn.ExecutionFailed, match="status -53"):  # CL_INVALID_WORK_DIMENSION
        dnn.activation_forward(direct, x, RELU)
