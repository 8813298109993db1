"""Attention on sequences without padding, beside each sequence by itself in NumPy."""

from __future__ import annotations

from itertools import pairwise

import helper
import numpy as np
import pytest
from graphs import D, given, new

import portadnn.graph as cudnn
from portadnn.graph.errors import GraphCheckFailed
from portadnn.graph.fallback.type_promotion import widened
from portadnn.graph.memory import ragged

H, DIM = 2, 4
LENGTHS_Q, LENGTHS_KV = [3, 1, 5], [4, 6, 2]
OFFSETS = {"q": np.cumsum([0, *LENGTHS_Q]), "kv": np.cumsum([0, *LENGTHS_KV])}
rng = np.random.default_rng(11)


def tokens(lengths):
    return rng.standard_normal((sum(lengths), H, DIM)).astype(np.float32)


def sequences(packed, which):
    """Return (h, rows, d) of each sequence, in float64."""
    ends = OFFSETS[which]
    return [packed[a:b].transpose(1, 0, 2).astype(float) for a, b in pairwise(ends)]


def probabilities(q, k):
    scores = np.exp(0.5 * q @ k.swapaxes(1, 2))
    return scores / scores.sum(-1, keepdims=True)


@pytest.fixture(params=[None, *helper.targets()], ids=lambda target: target.name if target else "definition")
def handle(request):
    return "reference" if request.param is None else helper.open_handle(request.param)


class Ragged:
    """A graph under construction whose tensors lie token by token, and its buffers."""

    def __init__(self, handle, multiplier):
        self.graph, self.handle, self.multiplier = new(handle=handle), handle, multiplier
        self.pack = {}
        self.offsets = {}

    def integers(self, values):
        made = self.graph.tensor(dim=[len(values), 1, 1, 1], stride=[1, 1, 1, 1], data_type=D.INT32)
        self.pack[made] = np.int32(values)
        return made

    def shaped(self, made, which, buffer):
        s = max(LENGTHS_Q if which == "q" else LENGTHS_KV)
        made.set_dim([3, H, s, DIM]).set_stride([s * H * DIM, DIM, H * DIM, 1]).set_data_type(D.FLOAT)
        if which not in self.offsets:
            self.offsets[which] = self.integers(OFFSETS[which] * (H * DIM // self.multiplier))
        made.set_ragged_offset(self.offsets[which]).set_ragged_offset_multiplier(self.multiplier)
        self.pack[made] = buffer
        return made

    def given(self, which, buffer):
        return self.shaped(self.graph.tensor(dim=[1], stride=[1]), which, buffer)

    def run(self):
        self.graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        wanted = "eng_definition" if self.handle == "reference" else "eng_flash_attention"
        assert self.graph.get_plan_name_at_index(0) == wanted
        self.execute()

    def execute(self, pack=None, **options):
        handle = None if self.handle == "reference" else self.handle
        self.graph.execute(pack or self.pack, handle=handle, **options)


def padded(made):
    lengths = {"seq_len_q": LENGTHS_Q, "seq_len_kv": LENGTHS_KV}
    return {"attn_scale": 0.5, "use_padding_mask": True, **{n: made.integers(v) for n, v in lengths.items()}}


@pytest.mark.parametrize("multiplier", [1, H * DIM])
def test_forward(handle, multiplier):
    q, k, v = tokens(LENGTHS_Q), tokens(LENGTHS_KV), tokens(LENGTHS_KV)
    result = np.full((sum(LENGTHS_Q) + 1, H, DIM), 7, np.float32)
    made = Ragged(handle, multiplier)
    inputs = made.given("q", q), made.given("kv", k), made.given("kv", v)
    o, _ = made.graph.sdpa(*inputs, generate_stats=False, **padded(made))
    made.shaped(o.set_output(True), "q", result)
    made.run()
    parts = zip(sequences(q, "q"), sequences(k, "kv"), sequences(v, "kv"), strict=True)
    want = np.concatenate([(probabilities(a, b) @ c).transpose(1, 0, 2) for a, b, c in parts])
    np.testing.assert_allclose(result[:-1], want, rtol=1e-5, atol=1e-6)
    assert (result[-1] == 7).all()
    if handle == "reference":
        return
    again = cudnn.pygraph(handle=handle)
    again.deserialize(made.graph.serialize())
    result[:] = 0
    again.execute({one.get_uid(): buffer for one, buffer in made.pack.items()}, handle=handle)
    np.testing.assert_allclose(result[:-1], want, rtol=1e-5, atol=1e-6)


def test_backward(handle):
    q, k, v, do = tokens(LENGTHS_Q), tokens(LENGTHS_KV), tokens(LENGTHS_KV), tokens(LENGTHS_Q)
    wants, outs, stats = ([], [], []), [], np.zeros((3, H, max(LENGTHS_Q), 1), np.float32)
    every = zip(sequences(q, "q"), sequences(k, "kv"), sequences(v, "kv"), sequences(do, "q"), strict=True)
    for i, (a, b, c, g) in enumerate(every):
        p = probabilities(a, b)
        dp = g @ c.swapaxes(1, 2)
        ds = 0.5 * p * (dp - (dp * p).sum(-1, keepdims=True))
        for want, part in zip(wants, (ds @ b, ds.swapaxes(1, 2) @ a, p.swapaxes(1, 2) @ g), strict=True):
            want.append(part.transpose(1, 0, 2))
        outs.append((p @ c).transpose(1, 0, 2))
        stats[i, :, : a.shape[1], 0] = np.log(np.exp(0.5 * a @ b.swapaxes(1, 2)).sum(-1))
    made = Ragged(handle, 1)
    inputs = [made.given("q", q), made.given("kv", k), made.given("kv", v)]
    inputs += [made.given("q", np.concatenate(outs).astype(np.float32, order="C")), made.given("q", do)]
    statistics = made.graph.tensor(dim=stats.shape, stride=[H * 5, 5, 1, 1], data_type=D.FLOAT)
    made.pack[statistics] = stats
    gradients = made.graph.sdpa_backward(*inputs, statistics, **padded(made))
    results = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for gradient, which, result in zip(gradients, ("q", "kv", "kv"), results, strict=True):
        made.shaped(gradient.set_output(True), which, result)
    made.run()
    for result, want in zip(results, wants, strict=True):
        np.testing.assert_allclose(result, np.concatenate(want), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [D.FLOAT, D.HALF], ids=lambda kind: kind.name)
def test_tables_of_pages_one_behind_the_other(handle, kind):
    q, k, v = (kind.rounded(tokens(lengths)) for lengths in ([1] * 3, LENGTHS_KV, LENGTHS_KV))
    page, pages = 2, [2, 3, 1]
    order = rng.permutation(sum(pages))
    containers = [np.zeros((sum(pages), H, page, DIM), kind.storage) for _ in "kv"]
    place = 0
    for i, count in enumerate(pages):
        for container, packed in zip(containers, (k, v), strict=True):
            rows = sequences(packed, "kv")[i]
            for j in range(count):
                container[order[place + j]] = rows[:, page * j : page * (j + 1)]
        place += count
    made = Ragged(handle, 1)
    table = made.graph.tensor(dim=[3, 1, 3, 1], stride=[3, 3, 1, 1], data_type=D.INT32)
    table.set_ragged_offset(made.integers(np.cumsum([0, *pages])))
    made.pack[table] = np.int32(order)
    tensors = [made.graph.tensor(dim=[3, H, 1, DIM], stride=[H * DIM, DIM, H * DIM, 1], data_type=kind)]
    made.pack[tensors[0]] = q.astype(kind.storage)
    for container in containers:
        tensors.append(made.graph.tensor_like(container))
        made.pack[tensors[-1]] = container
    o, _ = made.graph.sdpa(
        *tensors,
        generate_stats=False,
        attn_scale=0.5,
        use_padding_mask=True,
        seq_len_q=made.integers([1] * 3),
        seq_len_kv=made.integers(LENGTHS_KV),
        paged_attention_k_table=table,
        paged_attention_v_table=table,
        paged_attention_max_seq_len_kv=6,
    )
    made.pack[o.set_output(True).set_data_type(D.FLOAT)] = result = np.empty((3, H, 1, DIM), np.float32)
    made.run()
    parts = zip(q, sequences(k, "kv"), sequences(v, "kv"), strict=True)
    want = np.stack([probabilities(a[:, None].astype(float), b) @ c for a, b, c in parts])
    np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-3 if kind is D.HALF else 1e-6)  # as probabilities are


@pytest.mark.parametrize("offsets", [[0, 3, 2, 9], [0, 3, 5, 10], [-1, 3, 4, 9]], ids=str)
def test_offsets_that_lead_nowhere(handle, offsets):
    q, k = tokens(LENGTHS_Q), tokens(LENGTHS_KV)
    made = Ragged(handle, 1)
    inputs = made.given("q", q), made.given("kv", k), made.given("kv", k)
    o, _ = made.graph.sdpa(*inputs, generate_stats=False, **padded(made))
    result = np.zeros_like(q)
    made.shaped(o.set_output(True), "q", result)
    made.pack[made.offsets["q"]] = np.int32(offsets) * H * DIM
    with pytest.raises(ValueError, match="PG-PACK-012"):
        made.run()
    assert (result == 0).all()


def attention(handle, rows_of=LENGTHS_Q, columns_of=LENGTHS_KV):
    """Return a graph of attention whose sequences are said to be of these lengths, its inputs and its result."""
    q, k, v = tokens(LENGTHS_Q), tokens(LENGTHS_KV), tokens(LENGTHS_KV)
    made = Ragged(handle, 1)
    inputs = made.given("q", q), made.given("kv", k), made.given("kv", v)
    lengths = {"seq_len_q": made.integers(rows_of), "seq_len_kv": made.integers(columns_of)}
    options = {"attn_scale": 0.5, "use_padding_mask": True, "diagonal_alignment": "BOTTOM_RIGHT", **lengths}
    o, _ = made.graph.sdpa(*inputs, generate_stats=False, diagonal_band_right_bound=9, **options, name="packed")
    result = np.full_like(q, 7)
    made.shaped(o.set_output(True), "q", result)
    return made, (q, k, v), result


def test_lengths_beyond_the_rows(handle):
    """Sequences are as long as what there is of them."""
    made, (q, k, v), result = attention(handle, [5] * 3, [6] * 3)
    made.run()
    parts = zip(sequences(q, "q"), sequences(k, "kv"), sequences(v, "kv"), strict=True)
    want = np.concatenate([(probabilities(a, b) @ c).transpose(1, 0, 2) for a, b, c in parts])
    np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-6)
    if handle != "reference":
        made.execute(check="reference")


def test_sequences_shorter_than_their_rows(handle):
    """What is left of the rows becomes 0."""
    made, (q, k, v), result = attention(handle, [2, 0, 5], [1, 6, 2])
    made.run()
    parts = zip(sequences(q, "q"), sequences(k, "kv"), sequences(v, "kv"), [2, 0, 5], [1, 6, 2], strict=True)
    wants = []
    for a, b, c, rows, columns in parts:
        p = probabilities(a[:, :rows], b[:, :columns])
        wants.append(np.concatenate([p @ c[:, :columns], 0 * a[:, rows:]], 1).transpose(1, 0, 2))
    np.testing.assert_allclose(result, np.concatenate(wants), rtol=1e-5, atol=1e-6)


WILD = [[0, 3, 2, 9], [0, 3, 5, 10**6], [-(2**30), 3, 4, 9], [2**30, 2**30, 2**30, 2**30]]


@pytest.mark.parametrize("offsets", WILD, ids=str)
@pytest.mark.parametrize("target", helper.targets(), ids=lambda target: target.name)
def test_offsets_in_a_devices_memory_that_lead_nowhere(target, offsets):
    """Nobody looks at them beforehand; what they lead to outside the memory is neither read nor written."""
    handle = helper.open_handle(target)
    made, _, result = attention(handle)
    made.graph.build([cudnn.heur_mode.A])
    device = handle.device
    room = np.full(4096 + result.size + 4096, 7, np.float32)
    pack = {one: device.asarray(np.ascontiguousarray(value).ravel()) for one, value in made.pack.items()}
    pack[made.offsets["q"]] = device.asarray(np.minimum(np.int64(offsets) * H * DIM, 2**31 - 1).astype(np.int32))
    whole = device.asarray(room)
    (o,) = (one for one, value in made.pack.items() if value is result)
    pack[o] = whole[4096 : 4096 + result.size]
    made.execute(pack)
    got = device.to_numpy(whole)
    assert (got[:4096] == 7).all() and (got[-4096:] == 7).all()


def test_a_check_by_nodes_that_passes(handle):
    made, _, _ = attention(handle)
    made.run()
    made.execute(check="reference")


def test_a_check_by_nodes(monkeypatch):
    handle = "reference"
    made = Ragged(handle, 1)
    inputs = made.given("q", tokens(LENGTHS_Q)), *(made.given("kv", tokens(LENGTHS_KV)) for _ in "kv")
    o, _ = made.graph.sdpa(*inputs, generate_stats=False, **padded(made), name="packed")
    made.shaped(o.set_output(True), "q", tokens(LENGTHS_Q))
    made.run()
    made.execute(check="reference")

    def wrong(info, array, offsets, numbers, right=ragged.store):
        numbers = numbers.copy()
        numbers[1, 0, 0, 0] += 0.5  # of the one row of the second sequence
        right(info, array, offsets, numbers)

    monkeypatch.setattr(ragged, "store", wrong)
    with pytest.raises(GraphCheckFailed, match=r"PG-CHECK-001.*sdpa 'packed'.*at \[1, 0, 0, 0\]"):
        made.execute(check="reference")


def test_no_conversions_of_what_has_no_padding():
    """They would read and write it as if it had some. Lengths of INT32 are of another type than the rest."""
    found = []
    for unpadded in (True, False):
        made = Ragged("reference", 1)
        if unpadded:
            inputs = made.given("q", tokens(LENGTHS_Q)), *(made.given("kv", tokens(LENGTHS_KV)) for _ in "kv")
        else:
            inputs = [given(made.graph, (3, H, 6, DIM)) for _ in "qkv"]
        o, _ = made.graph.sdpa(*inputs, generate_stats=False, **padded(made))
        o.set_output(True)
        made.graph.validate()
        made.graph.build_operation_graph()
        frozen = made.graph._graph_frozen()
        found.append(widened(frozen, frozen.operations[0], 1000))
    assert found[0] is None and found[1] is not None
