"""Operations for PyTorch on graphs, ``cudnn.ops`` and ``cudnn.experimental.ops``, against PyTorch's own in float64."""

from __future__ import annotations

import subprocess
import sys

import pytest

import portadnn.graph

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CLOSE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 6e-2}
KINDS = [torch.float32, torch.bfloat16]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def drawn(*dims, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(dims))
    return torch.randn(*dims, dtype=torch.float64, generator=generator).to(DEVICE, dtype)


def check(function, definition, *inputs):
    """Compare results and gradients, each relative to the largest number of the definition's."""
    own = [one.clone().requires_grad_() for one in inputs]
    exact = [one.double().requires_grad_() for one in inputs]
    results = [function(*own), definition(*exact)]
    grad = drawn(*results[0].shape, dtype=results[0].dtype, seed=9)
    for result in results:
        result.backward(grad.to(result.dtype))
    assert results[0].dtype is inputs[0].dtype
    for found, wanted in [results, *((a.grad, b.grad) for a, b in zip(own, exact, strict=True))]:
        error = (found.double() - wanted).abs().max() / wanted.abs().max()
        assert error < CLOSE[inputs[0].dtype]


def convolved(x, weight, bias=None, activation=None):
    y = functional.conv1d(functional.pad(x, (weight.shape[1] - 1, 0)), weight[:, None], bias, groups=len(weight))
    return functional.silu(y) if activation == "silu" else y


@pytest.mark.parametrize(
    ("dtype", "activation"),
    [(torch.float32, None), (torch.float64, "silu"), (torch.float16, None), (torch.bfloat16, "silu")],
    ids=str,
)
def test_causal_convolution(dtype, activation):
    from portadnn.graph.ops import causal_conv1d

    inputs = drawn(2, 3, 11, dtype=dtype), drawn(3, 4, dtype=dtype), drawn(3, dtype=dtype)
    check(
        lambda x, w, b: causal_conv1d(x, w, b, activation=activation),
        lambda x, w, b: convolved(x, w, b, activation),
        *inputs,
    )


def test_causal_convolution_of_channels_last():
    from portadnn.graph.ops import b2b_causal_conv1d, causal_conv1d, causal_conv1d_nwh, fft_causal_conv1d

    x, w = drawn(2, 9, 3).transpose(1, 2), drawn(3, 2)
    assert causal_conv1d(x, w).stride() == x.stride()
    check(causal_conv1d, convolved, x, w)
    check(
        lambda x, w: causal_conv1d_nwh(x, w, activation="silu"),
        lambda x, w: convolved(x.transpose(1, 2), w.t(), None, "silu").transpose(1, 2),
        x.transpose(1, 2).contiguous(),
        w.t().contiguous(),
    )
    check(fft_causal_conv1d, lambda x, w: convolved(x, w.flip(1)), x, w)

    def block(x, projection, mixer, skip):
        p = convolved(x, projection)
        gated = p[:, 1::3] * p[:, 2::3]
        return (convolved(gated, mixer) + skip[:, None] * gated) * p[:, 0::3]

    check(b2b_causal_conv1d, block, drawn(2, 6, 8), drawn(6, 3), drawn(2, 4), drawn(2))


def test_states_and_packed_sequences():
    from portadnn.graph.ops import causal_conv1d

    x, w, before = drawn(1, 3, 10), drawn(3, 4), drawn(2, 3, 3)
    ends = torch.tensor([0, 4, 10], dtype=torch.int32)
    out, states = causal_conv1d(x, w, cu_seqlens=ends, initial_states=before, return_final_states=True)
    for number, (begin, end) in enumerate(((0, 4), (4, 10))):
        whole = torch.cat((before[number : number + 1], x[:, :, begin:end]), 2)
        wanted = functional.conv1d(whole, w[:, None], groups=3)
        torch.testing.assert_close(out[:, :, begin:end], wanted)
        torch.testing.assert_close(states[number], whole[0, :, -3:])
    memory = torch.empty_like(before)
    again = causal_conv1d(x, w, cu_seqlens=ends, initial_states=before, final_states_out=memory)
    torch.testing.assert_close(again, out)
    torch.testing.assert_close(memory, states)


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_norms_of_rows(dtype):
    from portadnn.graph.experimental.ops import layer_norm, rms_norm

    x, w, b = drawn(2, 3, 24, dtype=dtype), drawn(24, dtype=dtype, seed=1), drawn(24, dtype=dtype, seed=2)
    check(rms_norm, lambda x, w: functional.rms_norm(x, (24,), w, 1e-5), x, w)
    check(lambda x, w, b: rms_norm(x, w, b), lambda x, w, b: functional.rms_norm(x, (24,), w, 1e-5) + b, x, w, b)
    check(lambda x, w, b: layer_norm(x, (24,), w, b), lambda x, w, b: functional.layer_norm(x, (24,), w, b), x, w, b)
    check(lambda x: layer_norm(x, [24], eps=0.5), lambda x: functional.layer_norm(x, (24,), eps=0.5), x)


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_gated_layer(dtype):
    from portadnn.graph.experimental.ops import swiglu_mlp

    weights = drawn(24, 16, dtype=dtype) / 4, drawn(24, 16, dtype=dtype, seed=1) / 4, drawn(16, 24, dtype=dtype) / 4
    check(
        swiglu_mlp,
        lambda x, gate, up, down: (functional.silu(x @ gate.T) * (x @ up.T)) @ down.T,
        drawn(2, 3, 16, dtype=dtype),
        *weights,
    )


def attended(q, k, v, mask):
    k, v = (one.repeat_interleave(q.shape[1] // one.shape[1], 1) for one in (k, v))
    scores = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, 3).nan_to_num() @ v


@pytest.mark.parametrize(
    ("options", "aligned"),
    [({}, 0), ({"is_causal": True}, 1), ({"left_bound": 3, "right_bound": 1}, 0)],
    ids=str,
)
def test_attention(options, aligned):
    from portadnn.graph.experimental.ops import scaled_dot_product_attention

    q, k, v = drawn(2, 4, 6, 16), drawn(2, 2, 9, 16), drawn(2, 2, 9, 8)
    row, column = torch.arange(6)[:, None] + 3 * aligned, torch.arange(9)
    mask = torch.ones(6, 9, dtype=torch.bool)
    if options:
        mask = column <= row + options.get("right_bound", 0)
        mask &= column > row - options.get("left_bound", 99)
    check(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, enable_gqa=True, diagonal_alignment=aligned, **options),
        lambda q, k, v: attended(q, k, v, mask.to(DEVICE)),
        *(q, k, v),
    )


# How packed sequences lie, and the batch's stride in rows. PLAIN has a tensor for each of queries, keys and values; in
# MIXED a token's three are neighbours; SHARED has views that reach less far.
PLAIN, MIXED, SHARED = ("plain", 3), ("mixed", 3), ("plain", 0)


def _packed(layout, lengths, heads, width, of_values):
    """Return memory, its parts (t, h, width), their views (b, h, s, width), and the tokens where sequences begin."""
    way, rows = layout
    longest, total = max(lengths), sum(lengths)
    # a view of all dims has to be within the memory
    room = max(total, (len(lengths) - 1) * rows + longest)
    if way == "mixed":
        memory = [drawn(room, 3, heads, width).requires_grad_()]
        parts = [memory[0][:, one] for one in range(3)]
    else:
        widths = enumerate((width, width, of_values))
        parts = memory = [drawn(room, heads, one, seed=7 * place).requires_grad_() for place, one in widths]
    views = []
    for part in parts:
        token, head, _ = part.stride()
        dims = (len(lengths), heads, longest, part.shape[2])
        views.append(part.as_strided(dims, (rows * token, head, token, 1), part.storage_offset()))
    begins = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32).reshape(-1, 1, 1, 1)
    return memory, parts, views, begins.to(DEVICE)


@pytest.mark.parametrize(
    ("layout", "lengths", "heads", "width", "of_values"),
    [
        pytest.param(PLAIN, (2, 3), 2, 8, 8, id="shorter-first"),
        pytest.param(PLAIN, (3, 1), 3, 8, 8, id="shorter-last"),
        pytest.param(MIXED, (2, 3, 1), 2, 8, 8, id="neighbours"),
        pytest.param(SHARED, (2, 3, 2), 2, 8, 8, id="no-stride-of-batch"),
        pytest.param(PLAIN, (2, 3), 1, 8, 8, id="one-head"),
    ],
)
def test_attention_of_packed_sequences(layout, lengths, heads, width, of_values):
    """All rows of all sequences and, where each element has a place of its own, their gradients."""
    from portadnn.graph.experimental.ops import scaled_dot_product_attention

    memory, parts, views, begins = _packed(layout, lengths, heads, width, of_values)
    token = views[0].stride(2)
    counts = torch.tensor(lengths, dtype=torch.int32, device=DEVICE).reshape(-1, 1, 1, 1)
    places = {"cumulative_seq_len_q": begins * token, "cumulative_seq_len_kv": begins * token}
    out = scaled_dot_product_attention(*views, seq_len_q=counts, seq_len_kv=counts, **places)
    total = sum(lengths)
    packed = out.as_strided((total, heads, of_values), (token, out.stride(1), 1))
    exact = [part[:total].detach().double().requires_grad_() for part in parts]
    wanted = []
    for begin, length in zip(begins.flatten().tolist(), lengths, strict=False):
        q, k, v = (one[begin : begin + length].transpose(0, 1) for one in exact)
        wanted.append(functional.scaled_dot_product_attention(q, k, v).transpose(0, 1))
    definition = torch.cat(wanted)
    torch.testing.assert_close(packed.double(), definition, atol=2e-5, rtol=2e-5)
    grad = drawn(*packed.shape, seed=9)
    if layout is SHARED:
        with pytest.raises(ValueError, match="query has to be of a batch stride of 48 at least, where gradients"):
            packed.backward(grad)
        return
    packed.backward(grad)
    definition.backward(grad.double())
    found = memory[0].grad.unbind(1) if layout is MIXED else [one.grad for one in memory]
    for one, of in zip(found, exact, strict=True):
        torch.testing.assert_close(one[:total].double(), of.grad, atol=5e-5, rtol=5e-5)
        assert not one[total:].any()


def test_packed_queries_leave_room_for_rows_of_values():
    from portadnn.graph.experimental.ops import scaled_dot_product_attention

    _, (query, key, _), begins = _packed(PLAIN, (2, 3), 2, 4, 8)[1:]
    value = drawn(2, 2, 3, 8)
    counts = torch.tensor([2, 3], dtype=torch.int32, device=DEVICE).reshape(2, 1, 1, 1)
    given = {"seq_len_q": counts, "seq_len_kv": counts, "cumulative_seq_len_q": begins * 8}
    with pytest.raises(ValueError, match=r"room for a row of value in each row of each head \(8 elements\)"):
        scaled_dot_product_attention(query, key, value, **given)


@pytest.mark.parametrize("mode", ["none", "gather", "scatter"])
def test_products_with_the_matrices_of_experts(mode):
    from portadnn.graph.experimental.ops import moe_grouped_matmul

    token, weight = drawn(1, 6, 8), drawn(3, 8, 4)
    offsets = torch.tensor([0, 1, 4], dtype=torch.int32, device=DEVICE).reshape(3, 1, 1)
    order = torch.tensor([5, 0, 3, 1, 2, 4], dtype=torch.int32, device=DEVICE).reshape(1, 6, 1)
    zeros = torch.zeros_like(order)
    rows = token[0][order.flatten().long()] if mode == "gather" else token[0]
    experts = [0, 1, 1, 1, 2, 2]
    wanted = torch.stack([row @ weight[one] for row, one in zip(rows, experts, strict=True)])
    if mode == "scatter":
        wanted = torch.empty_like(wanted).index_copy_(0, order.flatten().long(), wanted)
    found = moe_grouped_matmul(token, weight, offsets, order, zeros, mode=mode)
    torch.testing.assert_close(found[0], wanted)


def test_wrong_arguments_are_named():
    from portadnn.graph.experimental import ops
    from portadnn.graph.ops import causal_conv1d

    x, w = drawn(1, 2, 5), drawn(2, 3)
    for call, words in (
        (lambda: causal_conv1d(x, drawn(3, 3)), "weight has to be 2 channels"),
        (lambda: causal_conv1d(x, w, activation="relu"), "'identity' or 'silu', got 'relu'"),
        (lambda: causal_conv1d(x, w, drawn(3)), r"bias has to be \(2,\)"),
        (lambda: causal_conv1d(x, w, cu_seqlens=torch.tensor([0, 4])), "rising from 0 to 5"),
        (lambda: causal_conv1d(x, w, initial_states=drawn(1, 2, 3)), "initial_states has to be"),
        (lambda: ops.rms_norm(x, drawn(4)), r"weight has to be \(5,\)"),
        (lambda: ops.layer_norm(x, (4,)), "last dim of input has to be 4"),
        (lambda: ops.moe_grouped_matmul(x, drawn(1, 5, 2), torch.zeros(1), mode="sum"), "one of none, gather"),
        (lambda: ops.moe_grouped_matmul(x, drawn(1, 5, 2), torch.zeros(1), mode="gather"), "requires token_index"),
        (lambda: ops.scaled_dot_product_attention(x, x, x), "query has to be"),
        (lambda: ops.swiglu_mlp(x, drawn(3, 4), drawn(3, 5), drawn(5, 3)), r"Wg has to be \(3, 5\)"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="weight has to be of x's type"):
        causal_conv1d(x, w.double())
    with pytest.raises(NotImplementedError, match="seq_idx"):
        causal_conv1d(x, w, seq_idx=torch.zeros(1))


def test_names_below_cudnn_are_the_modules_that_exist(monkeypatch):
    monkeypatch.setitem(sys.modules, "cudnn", portadnn.graph)
    import cudnn.experimental.ops.sdpa as found

    own = sys.modules["portadnn.graph.experimental.ops.sdpa"]
    assert found is own
    assert own.__spec__.name == "portadnn.graph.experimental.ops.sdpa"
    import cudnn.datatypes
    from cudnn.wrapper import Graph

    assert Graph is portadnn.graph.Graph
    assert cudnn.datatypes is portadnn.graph.datatypes
    with pytest.raises(ModuleNotFoundError, match=r"experimental\.nothing"):
        __import__("cudnn.experimental.nothing")
    with pytest.raises(ImportError, match="CuTe DSL"):
        portadnn.graph.ops.qsa_forward  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        portadnn.graph.ops.nothing  # noqa: B018
    for name in [one for one in sys.modules if one.startswith("cudnn.")]:
        monkeypatch.delitem(sys.modules, name)


def test_types_of_torch_and_of_graphs():
    """The functions that programs take from cudnn.datatypes."""
    types, kinds = portadnn.graph.datatypes, portadnn.graph.data_type
    assert types.is_torch_available()
    for one, kind in (
        (torch.half, "HALF"),
        (torch.bfloat16, "BFLOAT16"),
        (torch.bool, "BOOLEAN"),
        (torch.int32, "INT32"),
    ):
        assert types._torch_to_cudnn_data_type(one) is kinds[kind] is types._library_type(one)
        assert types._cudnn_to_torch_data_type(kinds[kind]) is one
    assert types._torch_to_cudnn_data_type(torch.complex64) is types._torch_to_cudnn_data_type("HALF") is None
    assert types._cudnn_to_torch_data_type(kinds.NOT_SET) is None
    assert types._is_torch_tensor(torch.ones(1))
    assert not types._is_torch_tensor([1])


def test_without_torch_only_these_operations_are_missing():
    program = (
        "import sys; sys.modules['torch'] = None; import portadnn.graph as cudnn; cudnn.pygraph()\n"
        "try: cudnn.ops.causal_conv1d\n"
        "except ImportError as error: assert 'pip install torch' in str(error), error\n"
        "else: raise SystemExit('taken')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
