"""torch tensors on a GPU as arrays of the backend cuda: operands, workspaces, states and packs, on torch's streams."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from where import BACKENDS, open_handle

import portadnn as dnn
import portadnn.graph as graphs
from portadnn import cudnn

DIMS = (2, 3, 5, 4)
CONV = dnn.ConvolutionDescriptor((1, 1))
RELU = dnn.ActivationDescriptor("relu")


@pytest.fixture(scope="module")
def torch() -> Any:
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return found


@pytest.fixture
def handle(torch: Any) -> Iterator[Any]:
    if "cuda" not in BACKENDS:
        pytest.skip("the backend cuda is not among those to be tested")
    with open_handle("cuda", stream="torch") as opened:
        yield opened


def _randn(torch: Any, *dims: int, **options: Any) -> Any:
    return torch.randn(*dims, device="cuda", **options)


def _close(torch: Any, got: Any, want: Any) -> None:
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "slice"])
def test_operands(handle: Any, torch: Any, layout: str) -> None:
    def make(*dims: int) -> Any:
        if layout == "slice":
            return _randn(torch, dims[0], dims[1] + 2, *dims[2:])[:, 1:-1]
        form = torch.channels_last if layout == "channels last" else torch.contiguous_format
        return _randn(torch, *dims).contiguous(memory_format=form)

    x, w, y = make(*DIMS), make(4, 3, 3, 3), make(2, 4, 5, 4)
    for _ in range(4):
        x.copy_(_randn(torch, *DIMS))
        assert dnn.convolution_forward(handle, x, w, CONV, y) is y
        with torch.backends.cudnn.flags(allow_tf32=False):
            _close(torch, y, torch.nn.functional.conv2d(x, w, padding=1))
    assert handle.cache_info().calls == 1


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_types(handle: Any, torch: Any, name: str) -> None:
    x = _randn(torch, *DIMS, dtype=getattr(torch, name))
    y = torch.empty_like(x)
    for _ in range(3):
        dnn.activation_forward(handle, x, RELU, y)
        assert torch.equal(y, x.relu())


def test_batch_normalization(handle: Any, torch: Any) -> None:
    x, y = _randn(torch, *DIMS), torch.empty(DIMS, device="cuda")
    p = [_randn(torch, 1, 3, 1, 1) for _ in range(2)] + [torch.zeros(1, 3, 1, 1, device="cuda") for _ in range(2)]
    want = torch.nn.BatchNorm2d(3, momentum=0.5).cuda()
    with torch.no_grad():
        want.weight.copy_(p[0].flatten()), want.bias.copy_(p[1].flatten()), want.running_var.zero_()
        for _ in range(4):
            x.copy_(_randn(torch, *DIMS))
            dnn.batch_normalization_forward_training(
                handle, x, *p[:2], y, *p[2:], exponential_average_factor=0.5, epsilon=1e-5
            )
            _close(torch, y, want(x))
    _close(torch, p[2].flatten(), want.running_mean)
    _close(torch, p[3].flatten(), want.running_var)


def test_workspaces(handle: Any, torch: Any) -> None:
    """A slice of a torch arena, of which nothing else is written; one byte less is refused."""
    x, w, y = _randn(torch, 2, 16, 14, 14), _randn(torch, 32, 16, 3, 3), torch.empty(2, 32, 14, 14, device="cuda")
    algo = "GEMM"
    size = dnn.get_convolution_forward_workspace_size(handle, x, w, CONV, y, algo)
    assert size > 0
    arena = torch.full((size + 1024,), 0xA5, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        dnn.convolution_forward(handle, x, w, CONV, y, algo=algo, workspace=arena[512 : 512 + size])
    with torch.backends.cudnn.flags(allow_tf32=False):
        _close(torch, y, torch.nn.functional.conv2d(x, w, padding=1))
    assert bool((arena[:512] == 0xA5).all()) and bool((arena[512 + size :] == 0xA5).all())
    with pytest.raises(dnn.BadParam, match=f"at least {size} bytes, got {size - 1} bytes"):
        dnn.convolution_forward(handle, x, w, CONV, y, algo=algo, workspace=arena[512 : 511 + size])


def test_c_names(handle: Any, torch: Any) -> None:
    x, y = _randn(torch, *DIMS), torch.empty(DIMS, device="cuda")
    desc, tanh = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, *DIMS)
    cudnn.cudnnSetActivationDescriptor(tanh, cudnn.CUDNN_ACTIVATION_TANH, 0, 0.0)
    for memory in (lambda t: t, lambda t: t.view(-1), lambda t: t.data_ptr()):
        given = memory(x), memory(y)
        for _ in range(3):
            y.zero_()
            cudnn.cudnnActivationForward(handle, tanh, 1.0, desc, given[0], 0.0, desc, given[1])
            _close(torch, y, x.tanh())


def test_graphs(handle: Any, torch: Any) -> None:
    types = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"), graphs.data_type.FLOAT)
    graph = graphs.pygraph(handle=handle, **types)
    x, w = (graph.tensor(dim=list(t), stride=s) for t, s in ((DIMS, [60, 20, 4, 1]), ((3, 3, 3, 3), [27, 9, 3, 1])))
    y = graph.relu(graph.conv_fprop(x, w, padding=[1, 1])).set_output(True)
    y.set_dim(list(DIMS)).set_stride([60, 20, 4, 1])  # which would be channels last
    graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
    given = {x: _randn(torch, *DIMS), w: _randn(torch, 3, 3, 3, 3), y: torch.empty(DIMS, device="cuda")}
    for workspace in (torch.empty(graph.get_workspace_size(), dtype=torch.uint8, device="cuda"), None):
        for _ in range(3):
            given[x].copy_(_randn(torch, *DIMS))
            graph.execute(given, workspace)
            with torch.backends.cudnn.flags(allow_tf32=False):
                _close(torch, given[y], torch.nn.functional.conv2d(given[x], given[w], padding=1).relu())
    before = handle.cache_info().calls
    graph.execute({**given}, None)
    assert handle.cache_info().calls == before, "the same tensors in another dict are the same call"


@pytest.mark.parametrize(("name", "kind"), [("float8_e4m3fn", "FP8_E4M3"), ("float8_e5m2", "FP8_E5M2")])
def test_graphs_of_float8(handle: Any, torch: Any, name: str, kind: str) -> None:
    """NumPy's arrays have no such types: the tensors are taken as memory."""
    types = dict.fromkeys(("intermediate_data_type", "compute_data_type"), graphs.data_type.FLOAT)
    graph = graphs.pygraph(handle=handle, io_data_type=graphs.data_type[kind], **types)
    x = graph.tensor(dim=list(DIMS), stride=[60, 20, 4, 1])
    y = graph.relu(x).set_output(True).set_dim(list(DIMS)).set_stride([60, 20, 4, 1])
    graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
    given = _randn(torch, *DIMS).to(getattr(torch, name))
    found = torch.zeros_like(given)
    graph.execute({x: given, y: found}, None)
    assert torch.equal(found.float(), given.float().relu())
    other = torch.float8_e5m2 if name == "float8_e4m3fn" else torch.float8_e4m3fn
    with pytest.raises(graphs.InvalidVariantPack, match="PG-PACK-005"):
        graph.execute({x: given.to(other), y: found}, None)


def test_the_current_stream_is_followed(handle: Any, torch: Any) -> None:
    """Calls come after what torch's stream still has to do, on whichever stream is current."""
    x, y = torch.zeros(1, 1, 512, 512, device="cuda"), torch.empty(1, 1, 512, 512, device="cuda")
    side = torch.cuda.Stream()
    large = _randn(torch, 4096, 4096)
    for turn in range(6):
        with torch.cuda.stream(side if turn % 2 else torch.cuda.current_stream()):
            for _ in range(4):
                large = torch.nn.functional.normalize(large @ large)
            x.fill_(float(turn))
            dnn.activation_forward(handle, x, RELU, y)
            z = y + 1
        torch.cuda.synchronize()
        assert bool((z == turn + 1).all())


def test_a_captured_step_and_new_tensors(handle: Any, torch: Any) -> None:
    x, y = _randn(torch, *DIMS), torch.empty(DIMS, device="cuda")
    with handle.capture() as step:
        dnn.activation_forward(handle, x, RELU, y)
        dnn.softmax_forward(handle, y, y)
    for _ in range(3):
        x.copy_(_randn(torch, *DIMS))
        step.replay()
        _close(torch, y, x.relu().softmax(1))
    assert step.mode == "cuda graph"
    other = _randn(torch, *DIMS)
    step.update(x, other)
    step.replay()
    _close(torch, y, other.relu().softmax(1))


def test_tensors_that_change(handle: Any, torch: Any) -> None:
    """Other memory, other strides, collected tensors: a repeated call never uses what it was bound to before."""
    x, y = _randn(torch, *DIMS), torch.empty(DIMS, device="cuda")
    for _ in range(3):
        dnn.activation_forward(handle, x, RELU, y)
    x.set_(_randn(torch, *DIMS))
    dnn.activation_forward(handle, x, RELU, y)
    assert torch.equal(y, x.relu())
    x.data = _randn(torch, 2, 3, 4, 5).transpose(2, 3)
    dnn.activation_forward(handle, x, RELU, y)
    assert torch.equal(y, x.relu())
    for _ in range(20):
        x = _randn(torch, *DIMS)
        for _ in range(3):
            dnn.activation_forward(handle, x, RELU, y)
        assert torch.equal(y, x.relu())
        del x
        gc.collect()
    assert handle.cache_info().calls == 0


def test_what_is_refused(handle: Any, torch: Any) -> None:
    x, y = _randn(torch, *DIMS), torch.empty(DIMS, device="cuda")
    with pytest.raises(dnn.BadParam, match=r"x: expected .*detach\(\)"):
        dnn.activation_forward(handle, _randn(torch, *DIMS, requires_grad=True), RELU, y)
    for _ in range(3):
        dnn.activation_forward(handle, x, RELU, y)
    x.requires_grad_()
    with pytest.raises(dnn.BadParam, match=r"detach\(\)"):
        dnn.activation_forward(handle, x, RELU, y)
    dnn.activation_forward(handle, x.detach(), RELU, y)
    for wrong in (torch.zeros(DIMS), np.zeros(DIMS, np.float32), _randn(torch, *DIMS, dtype=torch.complex64)):
        with pytest.raises(dnn.BadParam, match="x"):
            dnn.activation_forward(handle, wrong, RELU, y)
    with pytest.raises(dnn.BadParam, match=r"handle\.asarray"):
        dnn.activation_forward(handle, np.zeros(DIMS, np.float32), RELU, y)
