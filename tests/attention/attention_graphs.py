"""Graphs of attention: the cases of the tests, pages of keys and values, and what compilers are to see."""

from __future__ import annotations

import numpy as np
from attention_cases import RAGGED, Built, Case
from graphs import D, given, new

LENGTHS = ([5, 3], [4, 7])
LONGER = (2, 2, 1, 2, 7, 4, 4, 3)  # more rows than columns: the first rows of a lower right triangle are empty

CASES = {
    "plain": Case(),
    "no scale": Case(scale=None),
    "one head": Case(sizes=(1, 1, 1, 1, 1, 1, 1, 1)),
    "one head of keys for all": Case(sizes=(2, 4, 1, 1, 5, 7, 8, 6)),
    "other heads of values": Case(sizes=(2, 4, 1, 4, 5, 7, 8, 6)),
    "heads inside": Case(bshd=True),
    "causal": Case(options={"use_causal_mask": True}),
    "causal from the bottom": Case(options={"use_causal_mask_bottom_right": True}),
    "rows without columns": Case(
        sizes=LONGER, lengths=([7, 7], [4, 4]), options={"use_causal_mask_bottom_right": True}
    ),
    "right bound": Case(options={"diagonal_band_right_bound": 2}),
    "right bound from the bottom": Case(options={"diagonal_alignment": "BOTTOM_RIGHT", "right_bound": 1}),
    "window": Case(options={"sliding_window_length": 3}),
    "causal window": Case(options={"use_causal_mask": True, "sliding_window": 2}),
    "band": Case(options={"diagonal_band_left_bound": 2, "diagonal_band_right_bound": 1}),
    "band from the bottom": Case(options={"diagonal_alignment": "BOTTOM_RIGHT", "left_bound": 2, "right_bound": 1}),
    "padding": Case(lengths=LENGTHS),
    "an empty sequence": Case(lengths=([0, 5], [3, 0])),
    "padding, from the bottom": Case(lengths=LENGTHS, options={"use_causal_mask_bottom_right": True}),
    "without padding": Case(lengths=LENGTHS, ragged=RAGGED),
    "without padding, an empty sequence": Case(lengths=([0, 5], [3, 0]), ragged=RAGGED),
    "keys without padding": Case(
        lengths=LENGTHS, ragged=("k", "v", "dk"), options={"use_causal_mask_bottom_right": True}
    ),
    "alibi": Case(options={"use_alibi_mask": True, "use_causal_mask": True}),
    "alibi of six heads": Case(sizes=(1, 6, 3, 2, 4, 4, 4, 4), options={"use_alibi_mask": True}),
    "bias": Case(bias=(2, 4, 5, 7)),
    "bias for all": Case(bias=(1, 4, 5, 7)),
    "bias of columns": Case(bias=(2, 1, 1, 7), options={"use_causal_mask": True}),
    "dropout": Case(dropout=0.375),
    "dropout with a mask": Case(dropout="mask"),
    "sink": Case(sink=True),
    "sink, padding, causal": Case(sink=True, lengths=LENGTHS, options={"use_causal_mask": True}),
    "everything": Case(
        sink=True,
        lengths=LENGTHS,
        bias=(1, 4, 5, 7),
        dropout=0.25,
        bshd=True,
        ragged=("q", "O", "dO", "dq", "dv", "MAX"),
        options={"use_alibi_mask": True, "diagonal_alignment": "BOTTOM_RIGHT", "left_bound": 4, "right_bound": 1},
    ),
}
IN_PAGES = Case(lengths=([5, 3], [4, 7]), options={"use_causal_mask_bottom_right": True})
LONG = Case(sizes=(1, 2, 1, 1, 300, 300, 128, 128), options={"use_causal_mask": True})
FEW = Case(sizes=(1, 8, 2, 2, 3, 9000, 128, 128), sink=True)  # in slices
UNPADDED = Case(sizes=(2, 2, 2, 2, 100, 90, 64, 64), lengths=([100, 3], [90, 40]), ragged=RAGGED)
TABLE = (
    (D.FLOAT, CASES["everything"]),
    (D.HALF, CASES["dropout with a mask"]),
    (D.BFLOAT16, LONG),
    (D.HALF, FEW),
    (D.HALF, UNPADDED),
)


def paged(g, case, values, pages=(2, 3)):
    """Return the output of attention whose keys and values lie in pages anywhere, and what it is fed."""
    tables, containers = {}, {}
    for seed, name in enumerate("kv"):
        b, h, s, d = values[name].shape
        page, count = pages[seed], -(-s // pages[seed])
        order = np.random.default_rng(seed).permutation(b * count + 1)[: b * count].reshape(b, count)
        padded = np.zeros((b, h, count * page, d))
        padded[:, :, :s] = values[name]
        container = np.full((b * count + 1, h, page, d), np.nan)
        for n, i in np.ndindex(b, count):
            container[order[n, i]] = padded[n, :, i * page : (i + 1) * page]
        tables[name], containers[name] = order.reshape(b, 1, count, 1), container
    q = given(g, values["q"].shape)
    k, v = (given(g, containers[name].shape) for name in "kv")
    tk, tv = (given(g, tables[name].shape, D.INT32) for name in "kv")
    lq, lk = (given(g, (b, 1, 1, 1), D.INT32) for _ in range(2))
    o, _ = g.scaled_dot_product_flash_attention(
        q,
        k,
        v,
        attn_scale=case.scale,
        use_padding_mask=True,
        seq_len_q=lq,
        seq_len_kv=lk,
        use_causal_mask_bottom_right=True,
        paged_attention_k_table=tk,
        paged_attention_v_table=tv,
        paged_attention_max_seq_len_kv=s,
    )
    feeds = {q: values["q"], k: containers["k"], v: containers["v"], tk: tables["k"], tv: tables["v"]}
    return o, {**feeds, lq: values["seq_len_q"], lk: values["seq_len_kv"]}


def summed(g, ragged):
    """Return the outputs of attention with sums of lengths and statistics to the base of 2."""
    b, h, s, d = 2, 2, 100, 64
    q, k, v = (given(g, (b, h, s, d), D.HALF) for _ in range(3))
    sums = given(g, (b + 1, 1, 1, 1), D.INT32)
    if ragged:
        for one in (q, k, v):
            one.set_stride([s * h * d, d, h * d, 1]).set_ragged_offset(sums).set_ragged_offset_multiplier(h * d)
    o, stats = g.sdpa(
        *(q, k, v),
        use_padding_mask=True,
        cu_seq_len_q=sums,
        cu_seq_len_kv=sums,
        generate_stats=True,
        stats_use_log2=True,
    )
    return {"O": o.set_data_type(D.HALF), "STATS": stats}


def graphs(monkeypatch):
    """Yield frozen graphs of attention."""
    made = []

    def run(self, g, inputs, values, outs):
        for one in outs.values():
            one.set_output(True)
        g.validate()
        self.unpad(g, {**inputs, **outs})
        made.append((g, outs))

    monkeypatch.setattr(Built, "run", run)
    for kind, case in TABLE:
        one, values = Built(case, io=kind, intermediate=D.FLOAT, compute=D.FLOAT), case.values()
        one.forward(values)
        b, hq, _, _, sq, _, _, dv = case.sizes
        one.backward({**values, "O": np.zeros((b, hq, sq, dv)), "STATS": np.zeros((b, hq, sq, 1))})
    g = new()
    made.append((g, {"O": paged(g, IN_PAGES, IN_PAGES.values())[0]}))
    for ragged in (False, True):
        g = new()
        made.append((g, summed(g, ragged)))
    for g, outs in made:
        for one in outs.values():
            one.set_output(True)
        g.validate()
        g.build_operation_graph()
        yield g._graph_frozen()
