"""Attention with sums of lengths in the place of lengths, and statistics to the base of 2, beside NumPy by sequence."""

from __future__ import annotations

import helper
import numpy as np
import pytest
from graphs import D

import portadnn.graph as cudnn

B, HQ, HK, SQ, SK, DIM = 3, 4, 2, 9, 12, 8
ROWS, COLUMNS = np.array([9, 4, 0]), np.array([12, 5, 3])
SIDES = (("cu_seq_len_q", "cu_seq_len_kv"), ("cu_seq_len_q", "seq_len_kv"), ("seq_len_q", "cu_seq_len_kv"))


def expected(q, k, v, bottom_right):
    """Return the result and the natural logarithm of the sums of exponentials, 0 and -inf where there is nothing."""
    out, stats = np.zeros((B, HQ, SQ, DIM)), np.full((B, HQ, SQ, 1), -np.inf)
    for b in range(B):
        n, m = ROWS[b], COLUMNS[b]
        for h in range(HQ if n else 0):
            scores = 0.5 * q[b, h, :n] @ k[b, h // 2, :m].T
            if bottom_right:
                scores[np.arange(m) > np.arange(n)[:, None] + m - n] = -np.inf
            powers = np.exp(scores)
            total = powers.sum(1, keepdims=True)
            out[b, h, :n] = powers @ v[b, h // 2, :m] / np.where(total == 0, 1, total)
            with np.errstate(divide="ignore"):
                stats[b, h, :n] = np.log(total)
    return out, stats


def packed(x, lengths):
    """Return the rows that there are, (tokens, heads, size)."""
    rows = [one[:, :n].transpose(1, 0, 2) for one, n in zip(x, lengths, strict=True)]
    return np.ascontiguousarray(np.concatenate(rows))


class Drawing:
    """A graph of one attention, with the program's buffers."""

    def __init__(self, handle, ragged):
        self.graph = cudnn.pygraph("g", D.FLOAT, D.FLOAT, D.FLOAT, handle)
        self.ragged, self.pack = ragged, {}
        self.sums = {}

    def integers(self, values, name):
        made = self.graph.tensor(dim=[len(values), 1, 1, 1], data_type=D.INT32, name=name)
        self.pack[made] = np.int32(values)
        return made

    def sums_of(self, lengths):
        """Return the one tensor of sums that lengths and offsets of ragged tensors share, as programs have it."""
        key = "q" if lengths is ROWS else "kv"
        if key not in self.sums:
            self.sums[key] = self.integers([0, *np.cumsum(lengths)], key)
        return self.sums[key]

    def unpad(self, one, lengths):
        heads = one.get_dim()[1]
        one.set_stride([one.get_dim()[2] * heads * DIM, DIM, heads * DIM, 1])
        return one.set_ragged_offset(self.sums_of(lengths)).set_ragged_offset_multiplier(heads * DIM)

    def operand(self, x, lengths):
        made = self.graph.tensor(dim=x.shape)
        self.pack[made] = x
        if self.ragged:
            self.unpad(made, lengths)
            self.pack[made] = packed(x, lengths)
        return made


@pytest.mark.parametrize(
    "backend", [None, *helper.targets()], ids=lambda target: target.name if target else "definition"
)
@pytest.mark.parametrize("sides", SIDES, ids="+".join)
@pytest.mark.parametrize(("ragged", "bottom_right"), [(False, True), (True, False)], ids=["padded", "ragged"])
def test_sums_of_lengths(backend, sides, ragged, bottom_right):
    rng = np.random.default_rng(8)
    q, k, v = (rng.standard_normal((B, h, s, DIM)).astype(np.float32) for h, s in ((HQ, SQ), (HK, SK), (HK, SK)))
    handle = "reference" if backend is None else helper.open_handle(backend)
    handle = cudnn.create_handle(handle) if isinstance(handle, str) else handle
    made = Drawing(handle, ragged)
    lengths = {name: ROWS if name.endswith("q") else COLUMNS for name in sides}
    ports = {
        name: made.sums_of(of) if name.startswith("cu") else made.integers(of, name) for name, of in lengths.items()
    }
    o, stats = made.graph.sdpa(
        *(made.operand(x, of) for x, of in ((q, ROWS), (k, COLUMNS), (v, COLUMNS))),
        attn_scale=0.5,
        generate_stats=True,
        use_padding_mask=True,
        use_causal_mask_bottom_right=bottom_right,
        stats_use_log2=not bottom_right,
        **ports,
    )
    o.set_output(True).set_dim([B, HQ, SQ, DIM])
    stats.set_output(True)
    want, logarithms = expected(q, k, v, bottom_right)
    if ragged:
        made.unpad(o, ROWS)
        want = packed(want, ROWS)
    found, kept = np.full(want.shape, np.nan, np.float32), np.full(logarithms.shape, np.nan, np.float32)
    made.graph.build()
    made.graph.execute({**made.pack, o: found, stats: kept})
    np.testing.assert_allclose(found, want, atol=2e-6)
    unit = 1.0 if bottom_right else np.log(2)
    np.testing.assert_allclose(kept, logarithms / unit, atol=2e-6)


def test_offsets_that_fall_are_refused_by_the_sums():
    """Sequences of no rows may lead anywhere; those that have rows by the sums of lengths may not."""
    made = Drawing(cudnn.create_handle("reference"), ragged=True)
    x = np.ones((B, HQ, SQ, DIM), np.float32)
    q = made.operand(x, ROWS)
    wrong = made.integers([0, 9, 5, 5], "wrong")
    q.set_ragged_offset(wrong)
    lengths = {"cu_seq_len_q": made.sums_of(ROWS), "seq_len_kv": made.integers(COLUMNS, "kv")}
    k = made.graph.tensor(dim=[B, HK, SK, DIM])
    made.pack[k] = np.ones((B, HK, SK, DIM), np.float32)
    o, _ = made.graph.sdpa(q, k, k, generate_stats=False, use_padding_mask=True, **lengths)
    o.set_output(True)
    made.graph.build()
    with pytest.raises(cudnn.InvalidVariantPack, match="PG-PACK-012"):
        made.graph.execute({**made.pack, o: np.empty((B, HQ, SQ, DIM), np.float32)})


@pytest.mark.parametrize("backend", helper.targets())
def test_mxfp8_in_pages(backend):
    """Keys and values in pages of 32 rows, with scales along rows and along a page, beside NumPy by sequence."""
    rng, pages, each = np.random.default_rng(5), 5, 2
    table, columns = rng.permutation(pages)[: 2 * each].reshape(2, 1, each, 1), np.array([64, 41])
    shapes = {"q": (2, 2, 4, 32), "k": (pages, 1, 32, 32), "v": (pages, 1, 32, 32)}
    scales = {"q": (2, 2, 4, 1), "k": (pages, 1, 32, 1), "v": (pages, 1, 1, 32)}
    with helper.opened(backend) as handle:
        g = cudnn.pygraph("g", D.FP8_E4M3, D.FLOAT, D.FLOAT, handle)
        tensors, pack, true = {}, {}, {}
        for name, dims in shapes.items():
            small, powers = rng.integers(-8, 9, dims) / 4, rng.integers(-2, 3, scales[name])
            tensors[name] = g.tensor(dim=dims, data_type=D.FP8_E4M3)
            tensors[f"descale_{name}"] = g.tensor(dim=scales[name], data_type=D.FP8_E8M0)
            pack[tensors[name]] = D.FP8_E4M3.stored(small).view(np.uint8)
            pack[tensors[f"descale_{name}"]] = np.uint8(powers + 127)
            true[name] = small * 2.0**powers
        pages_of = g.tensor(dim=table.shape, data_type=D.INT32)
        rows = g.tensor(dim=[2, 1, 1, 1], data_type=D.INT32)
        sums = g.tensor(dim=[3, 1, 1, 1], data_type=D.INT32)
        how = {"use_padding_mask": True, "seq_len_q": rows, "cu_seq_len_kv": sums, "attn_scale": 0.25}
        how |= {"paged_attention_k_table": pages_of, "paged_attention_v_table": pages_of}
        o, _, largest = g.sdpa_mxfp8(**tensors, **how, paged_attention_max_seq_len_kv=64, generate_stats=False)
        o.set_output(True).set_data_type(D.FLOAT)
        largest.set_output(True).set_data_type(D.FLOAT)
        g.build()
        found, most = np.empty((2, 2, 4, 32), np.float32), np.empty((1, 1, 1, 1), np.float32)
        pack |= {pages_of: np.int32(table), rows: np.int32([4, 4]), sums: np.int32([0, *np.cumsum(columns)])}
        g.execute({**pack, o: found, largest: most})
    for b in range(2):
        k, v = (true[name][table[b, 0, :, 0], 0].reshape(64, 32)[: columns[b]] for name in ("k", "v"))
        powers = np.exp(0.25 * true["q"][b] @ k.T)
        np.testing.assert_allclose(found[b], powers @ v / powers.sum(-1, keepdims=True), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(most, abs(found).max(), rtol=1e-6)
