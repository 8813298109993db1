"""The definitions of all operations, compared with torch or with numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graphs import D, close, double, given, new, numbers, run

import portadnn.graph as cudnn

torch = pytest.importorskip("torch")
F = torch.nn.functional


def t(values):
    return torch.tensor(np.asarray(values), dtype=torch.float64)


UNARY = {
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "abs": torch.abs,
    "ceil": torch.ceil,
    "floor": torch.floor,
    "neg": torch.neg,
    "exp": torch.exp,
    "log": torch.log,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "erf": torch.erf,
    "identity": lambda x: x,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": F.elu,
    "gelu": F.gelu,
    "gelu_approx_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus": lambda x: F.softplus(x, threshold=1000),
    "swish": F.silu,
    "relu": F.relu,
    "logical_not": lambda x: torch.logical_not(x).double(),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    g = double()
    x = given(g, (2, 3, 5))
    values = np.concatenate([numbers((28,)), [0.0, -0.0]])
    (got,) = run(g, {x: values}, [getattr(g, name)(x)])
    close(got, UNARY[name](t(values)))


BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "add_square": lambda a, b: a + b * b,
    "max": torch.maximum,
    "min": torch.minimum,
    "mod": torch.fmod,
    "bias": torch.add,
    "scale": torch.mul,
    "logical_and": lambda a, b: torch.logical_and(a, b).double(),
    "logical_or": lambda a, b: torch.logical_or(a, b).double(),
    "cmp_eq": lambda a, b: (a == b).double(),
    "cmp_neq": lambda a, b: (a != b).double(),
    "cmp_gt": lambda a, b: (a > b).double(),
    "cmp_ge": lambda a, b: (a >= b).double(),
    "cmp_lt": lambda a, b: (a < b).double(),
    "cmp_le": lambda a, b: (a <= b).double(),
}


@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (1, 3, 1)), ((2, 1, 4), (1, 3, 1))])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, shapes):
    g = double()
    a, b = (given(g, shape) for shape in shapes)
    va, vb = np.round(numbers(shapes[0], 1), 1), np.round(numbers(shapes[1], 2), 1) + 0.05 * (name in ("div", "mod"))
    va.flat[0], vb.flat[0] = 0.7, 0.7
    (got,) = run(g, {a: va, b: vb}, [getattr(g, name)(a, b)])
    close(got, BINARY[name](t(va), t(vb)))


def test_pow_select_and_index():
    g = double()
    a, b, m = given(g, (2, 3)), given(g, (2, 3)), given(g, (2, 1))
    va, vb = numbers((2, 3), low=0.5), numbers((2, 3), 2)
    outs = [g.pow(a, b), g.binary_select(a, b, m), g.gen_index(a, axis=1)]
    power, selected, index = run(g, {a: va, b: vb, m: [[0.0], [2.0]]}, outs)
    close(power, va**vb)
    close(selected, [vb[0], va[1]])
    close(index, [[0, 1, 2], [0, 1, 2]])


GRADIENTS = {
    "relu_backward": (F.relu, {}),
    "leaky_relu_backward": (lambda x: F.leaky_relu(x, 0.1), {"negative_slope": 0.1}),
    "tanh_backward": (torch.tanh, {}),
    "sigmoid_backward": (torch.sigmoid, {}),
    "elu_backward": (F.elu, {}),
    "gelu_backward": (F.gelu, {}),
    "gelu_approx_tanh_backward": (lambda x: F.gelu(x, approximate="tanh"), {}),
    "softplus_backward": (F.softplus, {}),
    "swish_backward": (lambda x: x * torch.sigmoid(1.7 * x), {"swish_beta": 1.7}),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_activations(name):
    function, options = GRADIENTS[name]
    g = double()
    dy, x = given(g, (3, 7)), given(g, (3, 7))
    vdy, vx = numbers((3, 7), 1), numbers((3, 7), 2)
    (got,) = run(g, {dy: vdy, x: vx}, [getattr(g, name)(dy, x, **options)])
    tx = t(vx).requires_grad_()
    function(tx).backward(t(vdy))
    close(got, tx.grad)


def test_relu_with_clips():
    g = double()
    x = given(g, (1, 6))
    values = [-4.0, -1.0, 0.0, 0.5, 3.0, 9.0]
    outs = [g.relu(x, upper_clip=6.0), g.relu(x, lower_clip=0.25), g.relu(x, 0.5, -1.0, 4.0), g.leaky_relu(x, 0.5)]
    outs.append(g.relu_backward(g.add(x, 10.0), x, upper_clip=3.0))
    six, low, all_three, leaky, grad = run(g, {x: values}, outs)
    assert six.tolist() == [[0, 0, 0, 0.5, 3, 6]]
    assert low.tolist() == [[0.25, 0.25, 0.25, 0.5, 3, 9]]
    assert all_three.tolist() == [[-1, -0.5, 0, 0.5, 3, 4]]
    assert leaky.tolist() == [[-2, -0.5, 0, 0.5, 3, 9]]
    assert grad.tolist() == [[0, 0, 0, 10.5, 13, 0]]


@pytest.mark.parametrize("shapes", [((4, 5), (5, 3)), ((2, 4, 5), (2, 5, 3)), ((2, 1, 4, 5), (1, 3, 5, 2))])
def test_matmul(shapes):
    g = double()
    a, b = (given(g, shape) for shape in shapes)
    va, vb = numbers(shapes[0]), numbers(shapes[1], 1)
    (got,) = run(g, {a: va, b: vb}, [g.matmul(a, b)])
    close(got, t(va) @ t(vb))


CONVOLUTIONS = [
    ((2, 4, 7, 6), (6, 4, 3, 2), {"padding": (1, 0), "stride": (2, 1), "dilation": (1, 2)}),
    ((1, 4, 8, 8), (6, 2, 3, 3), {"padding": (1, 1)}),
    ((2, 3, 9), (4, 3, 4), {"padding": (2,), "stride": (3,)}),
    ((1, 2, 5, 4, 6), (2, 1, 2, 3, 1), {"stride": (1, 1, 2)}),
]


@pytest.mark.parametrize(("image", "filter", "options"), CONVOLUTIONS)
def test_convolution_and_gradients(image, filter, options):
    conv = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(image)]
    vx, vw = t(numbers(image)).requires_grad_(), t(numbers(filter, 1)).requires_grad_()
    want = conv(vx, vw, groups=image[1] // filter[1], **options)
    vdy = t(numbers(tuple(want.shape), 2))
    want.backward(vdy)
    g = double()
    x, w, dy = given(g, image), given(g, filter), given(g, tuple(want.shape))
    y = g.conv_fprop(x, w, **options)
    dx = g.conv_dgrad(dy, w, **options).set_dim(image)
    dw = g.conv_wgrad(x, dy, **options).set_dim(filter)
    got = run(g, {x: vx.detach(), w: vw.detach(), dy: vdy}, [y, dx, dw])
    for one, other in zip(got, (want, vx.grad, vw.grad), strict=True):
        close(one, other, 1e-11)


def test_convolution_with_padding_at_one_end_and_flipped_filter():
    g = double()
    x, w, dy = given(g, (1, 1, 4, 4)), given(g, (1, 1, 2, 2)), given(g, (1, 1, 4, 4))
    vx, vw = t(numbers((1, 1, 4, 4))).requires_grad_(), t(numbers((1, 1, 2, 2), 1)).requires_grad_()
    vdy = t(numbers((1, 1, 4, 4), 2))
    options = {"pre_padding": [1, 0], "post_padding": [0, 1]}
    want = F.conv2d(F.pad(vx, (0, 1, 1, 0)), vw)
    want.backward(vdy)
    flipped = g.conv_fprop(x, w, convolution_mode=cudnn.convolution_mode.CONVOLUTION)
    outs = [
        g.conv_fprop(x, w, **options),
        g.conv_dgrad(dy, w, **options).set_dim([1, 1, 4, 4]),
        g.conv_wgrad(x, dy, **options).set_dim([1, 1, 2, 2]),
        flipped,
    ]
    y, dx, dw, f = run(g, {x: vx.detach(), w: vw.detach(), dy: vdy}, outs)
    for one, other in ((y, want), (dx, vx.grad), (dw, vw.grad), (f, F.conv2d(vx, vw.flip(2, 3)))):
        close(one, other)


REDUCTIONS = {
    "ADD": lambda x: x.sum((0, 2), keepdim=True),
    "MUL": lambda x: x.prod(0, True).prod(2, True),
    "MIN": lambda x: x.amin((0, 2), keepdim=True),
    "MAX": lambda x: x.amax((0, 2), keepdim=True),
    "AMAX": lambda x: x.abs().amax((0, 2), keepdim=True),
    "AVG": lambda x: x.mean((0, 2), keepdim=True),
    "NORM1": lambda x: x.abs().sum((0, 2), keepdim=True),
    "NORM2": lambda x: (x * x).sum((0, 2), keepdim=True).sqrt(),
    "MUL_NO_ZEROS": lambda x: torch.where(x == 0, 1.0, x).prod(0, True).prod(2, True),
}


@pytest.mark.parametrize("mode", REDUCTIONS)
def test_reduction(mode):
    g = double()
    x = given(g, (3, 4, 5))
    values = numbers((3, 4, 5))
    values[0, 0, 0] = 0
    (got,) = run(g, {x: values}, [g.reduction(x, cudnn.reduction_mode[mode]).set_dim([1, 4, 1])])
    close(got, REDUCTIONS[mode](t(values)))


def test_genstats():
    g = double()
    x = given(g, (2, 3, 4, 5), nhwc=True)
    values = numbers((2, 3, 4, 5))
    total, squares = run(g, {x: values}, list(g.genstats(x)))
    close(total, t(values).sum((0, 2, 3)))
    close(squares, (t(values) ** 2).sum((0, 2, 3)))


@pytest.mark.parametrize("mode", ["MAXPOOL", "AVGPOOL_INCLUDE_PADDING", "AVGPOOL_EXCLUDE_PADDING"])
def test_pooling_and_gradient(mode):
    vx = t(numbers((2, 3, 7, 6))).requires_grad_()
    if mode == "MAXPOOL":
        want, where = F.max_pool2d(vx, (3, 2), 2, (1, 1), return_indices=True)
    else:
        want = F.avg_pool2d(vx, (3, 2), 2, (1, 1), count_include_pad="INCLUDE" in mode)
    vdy = t(numbers(tuple(want.shape), 1))
    want.backward(vdy)
    g = double()
    x, dy = given(g, (2, 3, 7, 6)), given(g, tuple(want.shape))
    how = {"mode": cudnn.resample_mode[mode], "window": (3, 2), "stride": (2, 2)}
    how |= {"pre_padding": (1, 1), "post_padding": (1, 1)}
    y, index = g.resample(x, generate_index=mode == "MAXPOOL", **how)
    outs = [y, g.resample_backward(dy, input=x, **how)]
    if index is not None:
        outs += [index, g.resample_backward(dy, index=index, **how).set_dim([2, 3, 7, 6])]
    got = run(g, {x: vx.detach(), dy: vdy}, outs)
    close(got[0], want)
    close(got[1], vx.grad)
    if index is not None:
        close(got[3], vx.grad)
        p, q = np.indices((4, 4))
        assert got[2].shape == (2, 3, 4, 4)
        rows, columns = got[2] // 2 + 2 * p - 1, got[2] % 2 + 2 * q - 1
        close(rows * 6 + columns, where.numpy())


def test_the_first_of_equal_maxima():
    g = double()
    x = given(g, (1, 1, 2, 4))
    y, index = g.resample(x, cudnn.resample_mode.MAXPOOL, (2, 2), stride=(2, 2), generate_index=True)
    got = run(g, {x: [[1, 3, 2, 2], [3, 0, 2, 2]]}, [y, index])
    assert got[0].ravel().tolist() == [3, 2]
    assert got[1].ravel().tolist() == [1, 0]


def test_interpolation():
    """By hand: twice the size less one, halves between neighbours; and every cell twice."""
    g = double()
    x = given(g, (1, 1, 2, 3))
    bilinear, _ = g.resample(x, cudnn.resample_mode.BILINEAR, (2, 2), (0.5, 0.5), (1, 1), (0.5, 0.5))
    nearest, _ = g.resample(x, cudnn.resample_mode.NEAREST, (1, 1), (0.25, 0.25), (0.25, 0.25), (0.5, 0.5))
    got = run(g, {x: [[0, 2, 4], [8, 10, 12]]}, [bilinear, nearest])
    assert got[0][0, 0].tolist() == [
        [0, 1, 2, 3, 4, 4],
        [4, 5, 6, 7, 8, 8],
        [8, 9, 10, 11, 12, 12],
        [8, 9, 10, 11, 12, 12],
    ]
    assert got[1][0, 0].tolist() == [[0, 0, 2, 2, 4, 4]] * 2 + [[8, 8, 10, 10, 12, 12]] * 2


@pytest.mark.parametrize("axis", [-1, 1])
def test_softmax(axis):
    g = double()
    x = given(g, (2, 3, 4))
    values = numbers((2, 3, 4)) * 30
    p, stats = g.softmax(x, axis, use_stats=True)
    got = run(g, {x: values}, [p, stats])
    close(got[0], torch.softmax(t(values), axis))
    close(got[1], torch.logsumexp(t(values), axis))


def test_softmax_where_everything_is_masked():
    g = double()
    x = given(g, (1, 2))
    p, stats = g.softmax(x, use_stats=True)
    values = t([[-np.inf, -np.inf]])
    got = run(g, {x: values}, [p, stats])
    np.testing.assert_array_equal(got[0], torch.softmax(values, -1))
    np.testing.assert_array_equal(got[1], torch.logsumexp(values, -1, keepdim=True))


def test_moving_elements():
    g = new(io=D.INT64, intermediate=D.INT64)
    x, z = given(g, (2, 3, 4)), given(g, (2, 2, 4))
    values, more = np.arange(24).reshape(2, 3, 4) + 2**60, np.arange(16).reshape(2, 2, 4)
    part = g.slice(x, [slice(0, 2), slice(1, 3), slice(0, 4, 2)])
    outs = [
        part,
        g.transpose(x, [2, 0, 1]),
        g.reshape(x).set_dim([6, 4]),
        g.concatenate([x, z], axis=1),
        g.reshape(g.transpose(x, [1, 0, 2]), reshape_mode=cudnn.reshape_mode.LOGICAL).set_dim([6, 4]),
        g.reshape(g.transpose(x, [1, 0, 2])).set_dim([24]),
    ]
    got = run(g, {x: values, z: more}, outs)
    want = [
        values[:, 1:3, ::2],
        values.transpose(2, 0, 1),
        values.reshape(6, 4),
        np.concatenate([values, more], 1),
        values.transpose(1, 0, 2).reshape(6, 4),
        values.ravel(),  # as it lies
    ]
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_random_numbers():
    """Known answers of Philox4x32-10 for counter and key 0 (Salmon et al., Random123), and moments."""
    g = double()
    rng = cudnn.rng_distribution
    dims = [4, 5000]
    u = g.rng([4], rng.UNIFORM, seed=0)
    n = g.rng(dims, rng.NORMAL, seed=1, offset=7, mean=2.0, standard_deviation=3.0)
    b = g.rng(dims, rng.BERNOULLI, seed=1, bernoulli_probability=0.3)
    again = g.rng(dims, rng.NORMAL, seed=1, offset=8, mean=2.0, standard_deviation=3.0)
    got = run(g, {}, [u, n, b, again])
    close(got[0], np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]) / 2**32, 1e-15)
    assert abs(got[1].mean() - 2) < 5 * 3 / math.sqrt(20000)
    assert abs(got[1].std() - 3) < 5 * 3 / math.sqrt(40000)
    assert abs(got[2].mean() - 0.3) < 5 * math.sqrt(0.21 / 20000)
    assert set(np.unique(got[2])) == {0, 1}
    assert not np.array_equal(got[1], got[3])


def test_virtual_tensors_are_rounded():
    """1 + 2**-12 is no half: the difference is lost in a virtual tensor of HALF, not in one of FLOAT."""
    for kind, want in ((D.HALF, 0.0), (D.FLOAT, 2.0**-12)):
        g = new(intermediate=kind)
        x = given(g, (1,))
        (got,) = run(g, {x: [2.0**-12]}, [g.sub(g.add(x, 1.0), 1.0)])
        assert got.tolist() == [want]


def test_integers_multiply_and_saturate():
    g = new(io=D.INT8, intermediate=D.INT32, compute=D.INT32)
    a, b = given(g, (1, 2, 3)), given(g, (1, 3, 1))
    total = g.matmul(a, b)
    out = [g.identity(total), g.div(total, g.tensor_scalar(-1000))]
    got = run(g, {a: [[100, 100, 100], [1, 2, 3]], b: [100, 100, 100]}, out)
    assert got[0].ravel().tolist() == [127, 127]
    assert got[1].ravel().tolist() == [-30, 0]
