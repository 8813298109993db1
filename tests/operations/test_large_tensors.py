"""Tensors of more than 2 Gi elements: 64-bit places, on small tensors anywhere, on large ones where they fit."""

import numpy as np
import pytest
from helper import Case, check, everywhere, over, targets

import portadnn as dnn
from portadnn.dispatch.choice import candidates
from portadnn.problem import TensorSpec, parse_line
from portadnn_backends import engine as engine_base

# every kernel of an engine that takes large tensors, by layout and schedule
WIDE = [
    Case("scale_tensor y=f32:2x3x37x41 alpha=0.5"),
    Case("add_tensor a=f16:1x3x1x1 c=f16:2x3x5x7"),
    Case("op_tensor a=f32:2x3x5x8 b=f32:1x3x1x1 c=f32:2x3x5x8 operation=max beta=1"),
    Case("activation_backward x=f64:2x3x5x8/200,40,8,1 mode=relu"),
    Case("transform_tensor x=f32:2x5x9x11 y=f32:2x5x9x11:nhwc beta=2"),
    Case("softmax_forward x=f32:2x5x3x8"),
    Case("softmax_backward y=f32:2x10x5x6:nhwc mode=instance"),
    Case("softmax_forward x=f16:1x1x181x184 mode=instance"),  # two launches, or a cluster
    Case("softmax_forward x=f32:3x1x183x185 mode=instance"),
    Case("softmax_backward y=f32:1x1x181x184 mode=instance"),
    Case("pooling_forward x=f32:2x3x9x8 mode=max window=3,3 padding=1,1 stride=2,2"),
    Case("pooling_backward x=f32:2x3x9x8 mode=max window=3,3 padding=1,1 stride=2,2 beta=1"),
    Case("pooling_backward x=f32:2x8x7x8:nhwc mode=average_count_include_padding window=3,3 padding=1,1 stride=2,2"),
    Case("pooling_backward x=f32:1x3x5x6x7 mode=max window=3,2,3 padding=1,1,1 stride=2,1,2"),
    Case("convolution_backward_bias dy=f32:3x5x7x9"),
    Case("convolution_backward_bias dy=f32:40x300x1x1 beta=1"),
    Case("spatial_tf_grid_generator_forward theta=f32:2x2x3 dims=2,1,3,4"),
    Case("spatial_tf_grid_generator_backward dgrid=f32:2x3x5x2"),
    Case("spatial_tf_sampler_forward x=f32:2x9x4x5 grid=f32:2x3x7x2 beta=1"),
    Case("spatial_tf_sampler_forward x=f32:2x4x5x6:nhwc grid=f32:2x1x2x2"),
    Case("spatial_tf_sampler_backward x=f32:2x9x4x5 dy=f32:2x9x3x7/1,2,126,18 grid=f32:2x3x7x2 beta=1"),
    Case("spatial_tf_sampler_backward x=f32:1x2x95x95 grid=f32:1x3x7x2"),
]


@over(WIDE)
def test_wide_places(handle, case, monkeypatch):
    """With the limit lowered, every engine that stays compiles its kernels with 64-bit places, and is right."""
    monkeypatch.setattr(engine_base, "NARROW_SPAN", 4)
    problem, _ = parse_line(case.line)
    takers = candidates(handle.engines_for(problem), problem, handle.info)
    for engine in takers:
        plan = engine.prepare(problem, handle.device)
        assert plan.launches
        assert all("#define WIDE_PLACES 1" in launch.kernel.source for launch in plan.launches)
        check(handle, case, engine=engine)


@everywhere()
def test_engines_of_narrow_places_say_so(handle, monkeypatch):
    monkeypatch.setattr(engine_base, "NARROW_SPAN", 4)
    problem = dnn.parse("convolution_forward x=f32:1x1x3x3 w=f32:1x1x3x3")
    if handle.backend == "reference":
        assert candidates(handle.engines_for(problem), problem, handle.info)
        return
    with pytest.raises(dnn.NotSupported, match="more than 2 Gi elements"):
        candidates(handle.engines_for(problem), problem, handle.info)


def test_limit():
    small, large = (dnn.parse(f"scale_tensor y=f16:{n}x1x1") for n in (2**31, 2**31 + 1))
    assert not engine_base.needs_wide_places(small)
    assert engine_base.needs_wide_places(large)
    repeated = dnn.parse("convolution_backward_bias dy=f32:2147483649x1x1/0,0,0")
    assert engine_base.needs_wide_places(repeated), "one element in memory, but as many terms to count"


# 8.6 GB of float16, so that 32-bit places would wrap around

IMAGE = (1, 64, 56, 56)
IMAGES = 21402
SAMPLES = (0, 10699, 10700, 21399, IMAGES - 1)  # elements 2**31 and 2**32 lie in 10699 and 21399
NEEDED = 40 << 30
PERIOD = 1_000_003


def large_targets():
    params = []
    for target in targets():
        reason = target.missing
        if reason is None:
            handle = dnn.Handle(target.backend, target.device)
            if handle.info.kind != "gpu" or handle.info.global_memory < NEEDED:
                reason = f"{handle.info.name} is no GPU with {NEEDED >> 30} GB"
            handle.close()
        skipped = [] if reason is None else [pytest.mark.skip(reason=f"{target.name}: {reason}")]
        params.append(pytest.param(target, id=target.name, marks=skipped))
    return params


class Large:
    """A packed float16 tensor of many images on a device; single images of it are read and written."""

    def __init__(self, handle, image=IMAGE):
        self.handle, self.image = handle, image
        self.spec = TensorSpec.packed(dnn.DataType.HALF, (IMAGES, *image[1:]))
        rows = TensorSpec.packed(dnn.DataType.HALF, (-(-self.spec.size // PERIOD), 1, PERIOD))
        self.memory = handle.device.empty(rows)
        self.array = handle.device.wrap(dnn.TensorView(self.spec, self.memory), "x")

    def fill(self):
        """Repeat known values; return what they are."""
        values = np.random.default_rng(1).integers(-9, 10, PERIOD).astype(np.float16)
        dnn.add_tensor(self.handle, self.handle.asarray(values.reshape(1, 1, -1)), self.memory, beta=0)
        return values

    def part(self, first, spec):
        return self.handle.device.wrap(dnn.TensorView(spec, self.memory, first), "part")

    def sample(self, number):
        spec = TensorSpec.packed(dnn.DataType.HALF, self.image)
        return self.handle.to_numpy(self.part(number * spec.size, spec))


RELU = dnn.ActivationDescriptor("relu")
POOL = dnn.PoolingDescriptor("max", (3, 3), (1, 1), (2, 2))
MEAN = dnn.PoolingDescriptor("average_count_include_padding", (3, 3), (1, 1), (2, 2))
LARGE = {
    "relu": lambda h, x: dnn.activation_forward(h, x, RELU),
    "bias": lambda h, x: dnn.add_tensor(h, h.asarray(np.arange(64, dtype=np.float16).reshape(1, 64, 1, 1)), x),
    "softmax over channels": lambda h, x: dnn.softmax_forward(h, x),
    "softmax over images": lambda h, x: dnn.softmax_forward(h, x, mode="instance", algorithm="log"),
    "softmax gradient": lambda h, x: dnn.softmax_backward(h, x, x),
    "max pooling": lambda h, x: dnn.pooling_forward(h, x, POOL),
    "max pooling gradient": lambda h, x: _gradient(h, x, POOL),
    "average pooling gradient": lambda h, x: _gradient(h, x, MEAN),
}


def _gradient(handle, x, pool):
    y = dnn.pooling_forward(handle, x, pool)
    return dnn.pooling_backward(handle, y, y, x, pool)


@pytest.mark.parametrize("target", large_targets())
def test_large(target):
    """Images before, at and behind 2**31 and 2**32 elements are what the reference makes of each alone."""
    with dnn.Handle(target.backend, target.device) as handle, dnn.Handle("reference") as reference:
        x = Large(handle)
        values = x.fill()
        images = {n: x.sample(n) for n in SAMPLES}
        size = int(np.prod(IMAGE))
        for n, image in images.items():
            np.testing.assert_array_equal(image.ravel(), values[(np.arange(size) + n * size) % PERIOD])
        for name, function in LARGE.items():
            result = function(handle, x.array)
            shape = (1, *result.shape[1:])
            for n, image in images.items():
                want = function(reference, image.copy())
                spec = TensorSpec.packed(dnn.DataType.HALF, shape)
                got = handle.to_numpy(handle.device.wrap(dnn.TensorView(spec, result, n * spec.size), name))
                np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3, err_msg=f"{name}, image {n}")
            if name == "bias":
                x.fill()
            del result
        turned = handle.device.empty(TensorSpec.packed(dnn.DataType.HALF, x.spec.dims, dnn.TensorFormat.NHWC))
        dnn.transform_tensor(handle, x.array, turned)
        for n, image in images.items():
            spec = TensorSpec.packed(dnn.DataType.HALF, IMAGE, dnn.TensorFormat.NHWC)
            got = handle.to_numpy(handle.device.wrap(dnn.TensorView(spec, turned, n * size), "turned"))
            np.testing.assert_array_equal(got, image)
        del turned
        dnn.set_tensor(handle, x.array, 0)
        one = TensorSpec(dnn.DataType.HALF, (1, 1, 1), (1, 1, 1), 2)
        want = np.zeros(64)
        for place in (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, x.spec.size - 1):
            dnn.set_tensor(handle, x.part(place, one), 1)
            want[place // 3136 % 64] += 1
        np.testing.assert_array_equal(handle.to_numpy(dnn.convolution_backward_bias(handle, x.array)).ravel(), want)
