"""Attention in tests: cases as data, graphs of them for any handle, and an oracle that goes another way.

The oracle asks for each score, by plain Python, whether it counts, and lets torch's autograd find the gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from graphs import D, buffer, given, new, numbers
from unpadded import Unpadded

SIZES = (2, 4, 2, 2, 5, 7, 8, 6)  # batch, heads of q, k and v, rows, columns, length of q and k, length of v


@dataclass(frozen=True)
class Case:
    """An attention; what is not said is left out.

    `lengths` are those of queries and keys, `bias` has the bias's dims, `dropout` is a probability or "mask", `ragged`
    names what lies without padding (and a row more than its sequences have).
    """

    sizes: tuple = SIZES
    options: dict = field(default_factory=dict)
    scale: float | None = 0.375
    lengths: tuple | None = None
    bias: tuple | None = None
    dropout: object = None
    sink: bool = False
    blocks: bool = False
    bshd: bool = False
    ragged: tuple = ()
    kind: D = D.DOUBLE
    seed: int = 0

    def values(self):
        """Return all inputs by name."""
        b, hq, hk, hv, sq, skv, d, dv = self.sizes
        shapes = {"q": (b, hq, sq, d), "k": (b, hk, skv, d), "v": (b, hv, skv, dv), "dO": (b, hq, sq, dv)}
        found = {name: numbers(shape, self.seed + i) for i, (name, shape) in enumerate(shapes.items())}
        if self.lengths:
            found["seq_len_q"], found["seq_len_kv"] = (np.reshape(one, (b, 1, 1, 1)) for one in self.lengths)
        if self.bias:
            found["bias"] = numbers(self.bias, self.seed + 4)
        if self.sink:
            found["sink_token"] = numbers((1, hq, 1, 1), self.seed + 5)
        rng = np.random.default_rng(self.seed + 6)
        if self.blocks:
            found["block_mask"] = rng.integers(0, 256, (b, hq, -(-sq // 128), -(-skv // 1024)))
        if self.dropout == "mask":
            found["mask"] = rng.integers(0, 2, (b, 1, sq, skv))
        return found

    @property
    def probability(self):
        return self.dropout if isinstance(self.dropout, float) else None


def counts(case, values, b, h, i, j):
    """Tell whether score (b, h, i, j) takes part."""
    options = case.options
    _, _, _, _, sq, skv, _, _ = case.sizes
    rows, columns = sq, skv
    if case.lengths:
        rows, columns = case.lengths[0][b], case.lengths[1][b]
    if i >= rows or j >= columns:
        return False
    bottom = options.get("use_causal_mask_bottom_right") or options.get("diagonal_alignment") == "BOTTOM_RIGHT"
    diagonal = i + (columns - rows if bottom else 0)
    last = 0 if options.get("use_causal_mask") or options.get("use_causal_mask_bottom_right") else None
    last = options.get("diagonal_band_right_bound", options.get("right_bound", last))
    if last is not None and j > diagonal + last:
        return False
    names = ("diagonal_band_left_bound", "left_bound", "sliding_window_length", "sliding_window")
    first = next((options[name] for name in names if name in options), None)
    if first is not None and j <= diagonal - first:
        return False
    if case.blocks:
        byte = values["block_mask"][b, h, i // 128, j // 1024]
        return bool(int(byte) >> (j // 128 % 8) & 1)
    return True


def slopes(heads):
    """The slopes of the paper for the powers of two; for others those of twice as many, every second one, beyond."""
    n = 2 ** math.floor(math.log2(heads))
    base = [2 ** (-8 * (h + 1) / n) for h in range(n)]
    return base + [2 ** (-8 * (h + 1) / (2 * n)) for h in range(0, 2 * n, 2)][: heads - n]


def oracle(case, values, kept=None):
    """Return outputs and gradients by name, in float64; `kept` is the mask that was drawn."""
    import torch

    t = {name: torch.tensor(np.asarray(value, np.float64)) for name, value in values.items()}
    leaves = [t[name].requires_grad_() for name in ("q", "k", "v", "bias", "sink_token") if name in t]
    b, hq, hk, hv, sq, skv, _, _ = case.sizes
    k, v = (torch.repeat_interleave(t[name], hq // heads, 1) for name, heads in (("k", hk), ("v", hv)))
    s = torch.einsum("bhid,bhjd->bhij", t["q"], k) * (1.0 if case.scale is None else case.scale)
    if case.bias:
        s = s + t["bias"]
    if case.options.get("use_alibi_mask"):
        far = torch.arange(skv)[None, :] - torch.arange(sq)[:, None]
        s = s + torch.tensor(slopes(hq), dtype=torch.float64)[:, None, None] * far
    seen = torch.tensor([counts(case, values, *place) for place in np.ndindex(b, hq, sq, skv)]).reshape(s.shape)
    alive = seen.any(3, keepdim=True)
    if case.sink:
        rows = torch.tensor([case.lengths[0][n] if case.lengths else sq for n in range(b)])
        alive = (torch.arange(sq)[None, :] < rows[:, None])[:, None, :, None].expand(alive.shape)
    s = torch.where(seen, s, -torch.inf)
    every = torch.cat([s, t["sink_token"].expand(b, hq, sq, 1)], 3) if case.sink else s
    stats = torch.logsumexp(torch.where(alive, every, 0.0), 3, keepdim=True)
    p = torch.where(alive & seen, torch.exp(torch.where(seen, s, 0.0) - stats), 0.0)
    if case.dropout == "mask":
        p = p * t["mask"] * 1.25
    elif kept is not None:
        p = p * torch.tensor(kept) / (1 - case.dropout)
    o = p @ v
    found = torch.autograd.grad(o, leaves, t["dO"])
    names = [name for name in ("q", "k", "v", "bias", "sink_token") if name in t]
    top = every.max(3, keepdim=True).values
    top = torch.where(alive, top, -torch.inf)
    out = {"O": o, "STATS": torch.where(alive, stats, -torch.inf), "MAX": top}
    out["SUM_EXP"] = torch.where(alive, torch.exp(out["STATS"] - top), 0.0)
    out.update({f"d{name}": one for name, one in zip(names, found, strict=True)})
    return {name: one.detach().numpy() for name, one in out.items()}


SEED, OFFSET = 2**33 + 5, 7
ROWS_OF_KEYS = {"k", "v", "dk", "dv"}
RAGGED = ("q", "O", "dO", "STATS", "MAX", "dq", *sorted(ROWS_OF_KEYS))
WITHOUT_COLUMNS = {"STATS": -np.inf, "MAX": -np.inf}  # what a row has that is beyond its sequence, if not 0


def near(got, want, kind=D.FLOAT, factor=40):
    """Demand numbers within some roundings of a type; 0 and infinity are exact."""
    eps = {D.FLOAT: 2.0**-23, D.HALF: 2.0**-10, D.BFLOAT16: 2.0**-7, D.DOUBLE: 2.0**-46}[kind]
    want = want.reshape(got.shape)
    largest = np.abs(want[np.isfinite(want)]).max(initial=0)
    np.testing.assert_allclose(got, want, rtol=factor * eps, atol=factor * eps * largest)


class Built:
    """A forward and a backward graph of a case on a handle; ``run`` returns all outputs by the oracle's names."""

    def __init__(self, case, handle="reference", **types):
        self.case, self.handle = case, handle
        self.types = types or {"io": case.kind, "intermediate": case.kind, "compute": case.kind}

    def _graph(self):
        return new(self.handle, **self.types)

    def _inputs(self, g, values, names):
        made = {}
        for name in names:
            value = np.asarray(values[name])
            kind = {"block_mask": D.UINT8, "seq_len_q": D.INT32, "seq_len_kv": D.INT32}.get(name, D.NOT_SET)
            if name == "STATS" or (name == "sink_token" and self.types["compute"] is D.FLOAT):
                kind = D.DOUBLE if self.types["compute"] is D.DOUBLE else D.FLOAT
            dims = value.shape
            made[name] = given(g, dims, kind)
            if self.case.bshd and name in ("q", "k", "v", "dO", "O"):
                _, h, s, d = dims
                made[name].set_stride([s * h * d, d, h * d, 1])
        return made

    def unpad(self, g, made):
        """Take the padding out of those tensors that the case says, by name; returns what has none, by tensor."""
        found = {}
        for place, name in enumerate(name for name in self.case.ragged if name in made):
            lengths = self.case.lengths[name in ROWS_OF_KEYS]
            found[made[name]] = Unpadded(g, made[name], [length + 1 for length in lengths], place % 2 == 0)
        return found

    def _options(self, g, made, backward):
        case = self.case
        options = dict(case.options)
        options.update({n: made[n] for n in ("bias", "seq_len_q", "seq_len_kv", "sink_token") if n in made})
        if case.scale is not None:
            options["attn_scale"] = case.scale
        if case.lengths:
            options["use_padding_mask"] = True
        if case.dropout == "mask":
            options["dropout"] = (made["mask"], 1.25, 0.8) if backward else (made["mask"], 1.25)
        elif case.dropout is not None:
            options["dropout"] = (case.dropout, SEED, OFFSET)
            options["rng_dump"] = given(g, self.scores).set_output(True)
        return options

    @property
    def scores(self):
        b, hq, _, _, sq, skv, _, _ = self.case.sizes
        return (b, hq, sq, skv)

    def forward(self, values, extras=True):
        case, g = self.case, self._graph()
        made = self._inputs(g, values, [name for name in values if name != "dO"])
        options = self._options(g, made, False)
        if case.blocks:
            options["block_mask"] = made["block_mask"]
        outs = {}
        if extras:
            rows = (*self.scores[:3], 1)
            outs = {"MAX": given(g, rows), "SUM_EXP": given(g, rows)}
            options.update(score_max=outs["MAX"], score_sum_exp=outs["SUM_EXP"])
        o, stats = g.sdpa(made["q"], made["k"], made["v"], generate_stats=True, **options)
        outs = {"O": o, "STATS": stats, **outs}
        if "rng_dump" in options:
            outs["kept"] = options["rng_dump"]
        return self.run(g, made, values, outs)

    def backward(self, values, of=("bias", "sink_token")):
        """Return the gradients, of those in `of` where the case has them."""
        g = self._graph()
        made = self._inputs(g, values, values)
        options = self._options(g, made, True)
        outs = {}
        for name, argument in (("bias", "dBias"), ("sink_token", "dSink_token")):
            if name in made and name in of:
                one = options[argument] = given(g, np.shape(values[name]), made[name].get_data_type())
                outs[f"d{name}"] = one
        grads = g.sdpa_backward(
            *(made[name] for name in ("q", "k", "v")), *(made[name] for name in ("O", "dO", "STATS")), **options
        )
        outs.update(dict(zip(("dq", "dk", "dv"), grads, strict=True)))
        if "rng_dump" in options:
            outs["kept"] = options["rng_dump"]
        return self.run(g, made, values, outs)

    def run(self, g, made, values, outs):
        """Run a graph with inputs `made` and results `outs`, both by name; returns these."""
        for one in outs.values():
            one.set_output(True)
        g.validate()
        unpadded = self.unpad(g, {**made, **outs})
        self.build(g)
        pack = {
            whole.offsets: np.asarray(whole.given, whole.offsets.get_data_type().storage) for whole in unpadded.values()
        }
        for name, one in made.items():
            pack[one] = unpadded[one].memory(values[name]) if one in unpadded else buffer(one, values[name])[0]
        views = {}
        for name, one in outs.items():
            pack[one], views[name] = (unpadded[one].memory(), None) if one in unpadded else buffer(one)
        self.execute(g, pack)
        return {
            name: one.get_data_type().loaded(views[name])
            if one not in unpadded
            else unpadded[one].loaded(pack[one], WITHOUT_COLUMNS.get(name, 0.0))
            for name, one in outs.items()
        }

    def build(self, g):
        """Build the graph."""
        g.build()
        self.plan = g.get_plan_name_at_index(0)

    def execute(self, g, pack):
        """Run the graph on flat host arrays by tensor."""
        g.execute(pack)
