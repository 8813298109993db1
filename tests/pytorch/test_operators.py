"""The operators of torch.library: opcheck, transforms, autocast, compiled calls, layouts and refusals."""

from __future__ import annotations

import doctest
import importlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import functions  # noqa: E402
from places import PLACES  # noqa: E402
from torch.nn import functional  # noqa: E402

import portadnn as dnn  # noqa: E402
from portadnn.torch import ops  # noqa: E402
from portadnn.torch.ops import library  # noqa: E402
from portadnn.torch.ops.updating import Updating  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Using padding='same'"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),  # opcheck's own, in 2.14
]
MORE = (
    lambda x: ops.dropout(x, 0.5, backend="reference"),
    lambda x: ops.scaled_dot_product_attention(x, x, x, dropout_p=0.3, backend="reference"),
    lambda x: ops.rnn(x[0], None, None, weights_of(3, 5), "GRU", layers=2, dropout=0.5, backend="reference")[0],
)


def weights_of(features, hidden, layers=2):
    sizes = [(15, features if i == 0 else hidden) for i in range(layers)]
    each = [[s, (15, hidden), (15,), (15,)] for s in sizes]
    return [torch.linspace(-1, 1, torch.Size(s).numel(), requires_grad=True).view(s) for one in each for s in one]


@pytest.fixture(scope="module")
def seen():
    """One call of each operator, as the functions make them, with all tensors that could have gradients."""
    found, call, known, new = {}, library.Operator.__call__, Updating.known, Updating.new

    def noted(operator, *args):
        found.setdefault(operator.op, args)
        return call(operator, *args)

    library.Operator.__call__ = noted
    Updating.known = Updating.new = lambda *_: None  # what somebody watches is made of operators alone
    try:
        runs = [(case.ours, case.tensors(torch.float32), {"backend": "reference"}) for case in functions.CASES]
        runs += [(run, [torch.randn(2, 2, 5, 3, requires_grad=True)], {}) for run in MORE]
        for run, tensors, options in runs:
            outcome = run(*tensors, **options)
            parts = outcome if isinstance(outcome, tuple) else (outcome,)
            sum(part.sum() for part in parts).backward()
    finally:
        library.Operator.__call__, Updating.known, Updating.new = call, known, new
    return found


def test_opcheck(seen):
    """Every operator has a right schema, autograd, a fake kernel with the results' layouts, and can be traced."""
    names = {op.name().partition("::")[2].partition(".")[0] for op in seen}
    assert len(names) > 25 and names >= set(library.NAMES) - {"rnn_inference"}
    for op, args in seen.items():
        fresh = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
        backward = "backward" in op.name()
        tests = (
            ("test_schema", "test_faketensor")
            if backward
            else ("test_schema", "test_faketensor", "test_aot_dispatch_static", "test_autograd_registration")
        )
        torch.library.opcheck(op, tuple(fresh), test_utils=tests)


@pytest.mark.parametrize("name", ["conv2d", "max_pool2d", "softmax", "batch_norm of 4 dims"])
def test_dynamic_shapes(name):
    case = next(case for case in functions.CASES if case.name == name)
    compiled = torch.compile(
        lambda *t: case.ours(*t, backend="reference"), backend="aot_eager", dynamic=True, fullgraph=True
    )
    first, *rest = case.tensors(grad=False)
    for x in (first, torch.cat([first, first])):
        torch.testing.assert_close(compiled(x, *rest), case.theirs(x, *rest))


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d", "avg_pool2d", "layer_norm", "GRU of 2 layers"])
def test_compiled(name):
    """A compiled call and its gradients are the plain call's."""
    case = next(case for case in functions.CASES if case.name == name)
    compiled = torch.compile(lambda *t: case.ours(*t, backend="reference"), backend="aot_eager", fullgraph=True)
    tensors, plain = case.tensors(), case.tensors()
    for run, given in ((compiled, tensors), (case.theirs, plain)):
        outcome = run(*given)
        sum(y.square().sum() for y in (outcome if isinstance(outcome, tuple) else (outcome,))).backward()
    for ours, theirs in zip(tensors, plain, strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("in_dims", [(0, None, None), (1, None, None), (0, 0, 0), (None, 2, None), (None, None, 0)])
def test_vmap_of_convolutions(in_dims):
    sizes = {0: (2, 4, 5, 6), 1: (6, 2, 3, 3), 2: (6,)}
    given = [
        torch.randn([*sizes[i][:d], 3, *sizes[i][d:]] if d is not None else sizes[i]) for i, d in enumerate(in_dims)
    ]

    def each(call):
        return torch.func.vmap(call, in_dims)(*given)

    ours = each(lambda x, w, b: ops.conv2d(x, w, b, padding=1, groups=2, backend="reference"))
    torch.testing.assert_close(ours, each(lambda x, w, b: functional.conv2d(x, w, b, padding=1, groups=2)))


@pytest.mark.parametrize(
    "name", ["conv2d", "max_pool2d", "relu", "softmax", "layer_norm", "scaled_dot_product_attention"]
)
def test_gradients_of_each_sample(name):
    """torch.func.vmap over torch.func.grad gives each sample's gradients."""
    case = next(case for case in functions.CASES if case.name == name)
    first, *rest = [t.detach() for t in case.tensors()]
    batch = torch.stack([first, first * 0.5 + 0.01, first - 0.3])

    def each(call):
        return torch.func.vmap(torch.func.grad(lambda x: call(x, *rest).square().sum()))(batch)

    torch.testing.assert_close(each(lambda *t: case.ours(*t, backend="reference")), each(case.theirs))


def test_gradients_by_weights_of_each_sample():
    x, w = torch.randn(3, 2, 5, 5, dtype=torch.float64), torch.randn(4, 2, 3, 3, dtype=torch.float64)

    def each(conv):
        return torch.func.vmap(torch.func.grad(lambda w, x: conv(x[None], w).square().sum()), (None, 0))(w, x)

    ours = each(lambda x, w: ops.conv2d(x, w, backend="reference"))
    torch.testing.assert_close(ours, each(functional.conv2d))


@PLACES
def test_autocast(backend, device):
    """Under autocast convolutions take its type, and softmax the type of PyTorch's own."""
    x, w = torch.randn(2, 3, 6, 6, device=device), torch.randn(4, 3, 3, 3, device=device, requires_grad=True)
    with torch.autocast(device, torch.bfloat16):
        y = ops.conv2d(x, w, backend=backend)
        assert y.dtype is torch.bfloat16
        for name, more in (("softmax", (1,)), ("layer_norm", ((4,),)), ("group_norm", (2,)), ("avg_pool2d", (2,))):
            given = (y, *more)
            ours, theirs = getattr(ops, name)(*given, backend=backend), getattr(functional, name)(*given)
            assert ours.dtype is theirs.dtype, name
    y.float().sum().backward()
    assert w.grad.dtype is torch.float32
    want = torch.nn.grad.conv2d_weight(x, w.shape, torch.ones(2, 4, 4, 4, device=device))
    torch.testing.assert_close(w.grad, want, rtol=2e-2, atol=0.3)


@PLACES
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_types_of_16_bits(dtype, backend, device):
    """Results are those of the same numbers in float64, to the type's precision."""
    x, w = torch.randn(2, 8, 6, 5, device=device).to(dtype), (torch.randn(4, 8, 3, 3, device=device) / 9).to(dtype)
    try:
        y = ops.conv2d(x, w, padding=1, backend=backend)
    except dnn.DnnError as error:
        if backend != "opencl":
            raise
        pytest.skip(str(error))
    want = functional.conv2d(x.double(), w.double(), padding=1)
    assert y.dtype is dtype
    torch.testing.assert_close(y.double(), want, rtol=2e-2, atol=2e-2)
    norm = ops.batch_norm(y, None, None, torch.ones(4, device=device, dtype=dtype), None, True, backend=backend)
    want = functional.batch_norm(y.double(), None, None, None, None, True)
    torch.testing.assert_close(norm.double(), want, rtol=2e-2, atol=2e-2)


@PLACES
def test_channels_last(backend, device):
    """Results and gradients are channels-last where PyTorch's are."""
    format = torch.channels_last
    x = torch.randn(2, 4, 6, 5, device=device).to(memory_format=format).requires_grad_()
    w = torch.randn(6, 4, 3, 3, device=device).to(memory_format=format).requires_grad_()
    y = ops.conv2d(x, w, backend=backend)
    chain = ops.max_pool2d(
        ops.relu(ops.batch_norm(y, None, None, None, None, True, backend=backend), backend=backend),
        2,
        1,
        backend=backend,
    )
    chain.sum().backward()
    theirs = [t.detach().double().requires_grad_() for t in (x, w)]
    want = functional.conv2d(*theirs)
    functional.max_pool2d(
        functional.relu(functional.batch_norm(want, None, None, None, None, True)), 2, 1
    ).sum().backward()
    torch.testing.assert_close(y.double(), want, rtol=1e-4, atol=1e-4)
    for one in (y, chain, x.grad, w.grad):
        assert one.is_contiguous(memory_format=format)
    for ours, other in zip((x, w), theirs, strict=True):
        torch.testing.assert_close(ours.grad.double(), other.grad, rtol=1e-3, atol=1e-3)


@PLACES
def test_tensors_with_gaps(backend, device):
    """Slices, transposed and expanded tensors are read as they lie."""
    base = torch.randn(4, 12, 9, 7, device=device)
    for x in (base[::2, ::3, 1:, :5], base.transpose(2, 3)[:, :4], base[:1, :4].expand(3, -1, -1, -1)):
        w = torch.randn(8, 4, 3, 3, device=device)[::2]
        torch.testing.assert_close(ops.conv2d(x, w, backend=backend), functional.conv2d(x, w), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(ops.relu(x, backend=backend), functional.relu(x))
        torch.testing.assert_close(ops.softmax(x, 2, backend=backend), functional.softmax(x, 2))
        torch.testing.assert_close(ops.max_pool2d(x, 2, backend=backend), functional.max_pool2d(x, 2))


@PLACES
def test_dropout(backend, device):
    """Kept elements are divided by their share, the gradient has the same mask, and a seed gives it again."""
    x = torch.rand(50, 40, device=device).add_(1).requires_grad_()
    torch.manual_seed(7)
    y = ops.dropout(x, 0.25, backend=backend)
    kept = y != 0
    assert 0.7 < kept.float().mean() < 0.8
    torch.testing.assert_close(y[kept], x[kept] / 0.75)
    y.sum().backward()
    torch.testing.assert_close(x.grad, kept.float() / 0.75)
    again = ops.dropout(x, 0.25, backend=backend)
    torch.manual_seed(7)
    assert torch.equal(ops.dropout(x, 0.25, backend=backend), y) and not torch.equal(again, y)
    assert ops.dropout(x, 0.5, training=False, backend=backend) is x


@PLACES
def test_running_statistics(backend, device):
    x = torch.randn(4, 3, 5, device=device)
    ours, theirs = ([torch.zeros(3, device=device), torch.ones(3, device=device)] for _ in range(2))
    for _ in range(3):
        ops.batch_norm(x, *ours, training=True, momentum=0.3, backend=backend)
        functional.batch_norm(x, *theirs, training=True, momentum=0.3)
    torch.testing.assert_close(ours, theirs)
    ops.instance_norm(x, *ours, momentum=0.2, backend=backend)
    functional.instance_norm(x, *theirs, momentum=0.2)
    torch.testing.assert_close(ours, theirs)


def test_attention_drops_weights():
    """The mean of many dropped attentions is the attention."""
    q, k, v = (torch.randn(1, 1, 4, 8) for _ in range(3))
    many = [t.expand(400, -1, -1, -1) for t in (q, k, v)]
    dropped = ops.scaled_dot_product_attention(*many, dropout_p=0.2, backend="reference")
    assert not torch.equal(dropped[0], dropped[1])
    want = functional.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(dropped.mean(0, keepdim=True), want, rtol=0.2, atol=0.15)


OVERWRITTEN = {
    "max_pool2d": {"kernel_size": 3, "stride": 2, "padding": 1},
    "avg_pool2d": {"kernel_size": 2},
    "adaptive_max_pool2d": {"output_size": 2},
    "relu6": {},
    "elu": {"alpha": 0.5},
    "silu": {},
    "local_response_norm": {"size": 3},
}


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("name", OVERWRITTEN)
def test_results_may_be_written_over(name, seen):
    """As by an activation in place or a sum behind them: PyTorch's own gradients do not read these results, either."""
    x = torch.randn(2, 4, 6, 6, generator=torch.Generator().manual_seed(0)).mul_(5).requires_grad_()
    found = []
    for function, backend in ((getattr(functional, name), {}), (getattr(ops, name), {"backend": "reference"})):
        with torch.autograd.profiler.profile(enabled=seen):  # which the dispatcher has to see
            y = function(x, **OVERWRITTEN[name], **backend)
        torch.relu_(y.add_(0.5))
        found.append(torch.autograd.grad(y.square().sum(), x)[0])
    torch.testing.assert_close(*found)


def test_empty_batches():
    x = torch.zeros(0, 3, 8, 8, requires_grad=True)
    w = torch.randn(4, 3, 3, 3, requires_grad=True)
    y = ops.max_pool2d(ops.relu(ops.conv2d(x, w, backend="reference"), backend="reference"), 2, backend="reference")
    assert y.shape == (0, 4, 3, 3)
    y.sum().backward()
    assert x.grad.shape == x.shape and not w.grad.any()


@pytest.mark.parametrize(
    "name", ["layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm", "batch_norm in training"]
)
def test_norms_of_nothing_have_gradients(name):
    """A batch without samples says nothing about parameters: zeros, as PyTorch's."""
    x, p = torch.zeros(0, 4, 4, 4, requires_grad=True), torch.ones(4, requires_grad=True)
    given = {"layer_norm": ((4,), p, p), "rms_norm": ((4,), p), "group_norm": (2, p, p)}.get(name.split()[0])
    if given is None:
        given = (torch.zeros(4), torch.ones(4), p, p, name != "batch_norm")  # use_input_stats, training
    y = getattr(ops, name.split()[0])(x, *given, backend="reference")
    y.sum().backward()
    assert y.shape == x.grad.shape == x.shape
    assert torch.equal(p.grad, torch.zeros(4))


def nested(x):
    return torch.nested.nested_tensor(list(x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: ops.conv2d(x, w[:, :2]), r"x.shape\[1\]: expected 2 \(w.shape\[1\] \* groups\), got 3"),
        (lambda x, w: ops.conv2d(x, w.double()), "w.dtype: expected torch.float32 as x"),
        (lambda x, w: ops.conv2d(x, w, backend="opengl"), "backend: expected auto or one of"),
        (lambda x, w: ops.conv2d(x, w, padding="full"), "padding: expected numbers, 'valid' or 'same'"),
        (lambda x, w: ops.conv2d(x[0, 0], w), "x: expected 3 or 4 dims"),
        (lambda x, w: ops.conv2d(x.numpy(), w), "x: expected a torch.Tensor, got ndarray"),
        (lambda x, w: ops.conv2d(x.to_sparse(), w), "x: expected a dense tensor, got one of layout sparse_coo"),
        (lambda x, w: ops.max_pool2d(nested(x), 2), "x: expected a dense tensor, got a nested one"),
        (lambda x, w: ops.conv2d(x[..., :2, :], w), r"room for a window in each dimension, got \(2, 3, 2, 5\)"),
        (lambda x, w: ops.conv_transpose2d(x, w[:3], padding=4), r"which makes outputs of \(-1, -1\)"),
        (lambda x, w: ops.max_pool2d(x[..., :1], 2), r"which makes outputs of \(2, 0\)"),
        (lambda x, w: ops.max_pool2d(x, 2, dilation=2), "dilation: expected 1"),
        (lambda x, w: ops.max_pool2d(x, 2, padding=2), "padding: expected at most half of kernel_size"),
        (lambda x, w: ops.batch_norm(x, None, None), "running_mean: expected statistics, without training"),
        (lambda x, w: ops.batch_norm(x[:1, :, :1, :1], None, None, training=True), "more than 1 value per channel"),
        (lambda x, w: ops.group_norm(x, 2), "num_groups: expected a divisor"),
        (lambda x, w: ops.layer_norm(x, 7), "normalized_shape: expected the last of"),
        (lambda x, w: ops.softmax(x, 4), "dim: expected a dimension"),
        (lambda x, w: ops.dropout(x, 2.0), "p: expected a probability"),
        (lambda x, w: ops.grid_sample(x, x[..., :2], mode="nearest"), "mode: expected bilinear with zeros"),
        (lambda x, w: ops.scaled_dot_product_attention(x, x[:, :1], x[:, :1]), "key: expected 3 heads"),
        (lambda x, w: ops.conv2d(x.to("meta"), w.to("meta"), backend="auto").shape == (2, 4, 3, 3) or 1 / 0, None),
    ],
)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_refusals(call, message):
    x, w = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
    if message is None:
        assert call(x, w)
        return
    with pytest.raises(dnn.DnnError, match=message):
        call(x, w)


@pytest.mark.parametrize("module", ["portadnn.torch.ops", "portadnn.torch.substitution"])
def test_examples_of_docstrings(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0
