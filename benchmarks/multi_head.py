"""How fast multi-head attention is: ``python -m portadnn.benchmarks.multi_head [--backend NAME] [--output FILE]``.

Each shape is timed forward, as training has it, and backward (data and weights), in turn with

- graph: the same by graphs, each bound: products for the projections, with their biases, and one node of attention;
- torch: linear layers and ``scaled_dot_product_attention`` on the same kind of device.

Sequences lie batch first; heads have size / heads numbers. Rates count two operations for each product that is summed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import portadnn as dnn
import portadnn.graph as cudnn
from portadnn.graph.data_types import data_type

from . import beside, record
from .attention import torch_timer
from .call import normal_values
from .peers.backends import torch_module
from .timing import Side, alternate, keep_pages

SHAPES = ("2x128x256x4", "1x512x512x8", "1x512x512x8 causal", "4x197x768x12")
ON_GPUS = (
    "8x512x1024x16",
    "8x512x1024x16 causal",
    "4x2048x1024x16",
    "4x2048x1024x16 causal",
    "2x2048x4096x32",
    "32x197x768x12",
    "64x128x512x8",
    "32x1x1024x16",
)
TYPES = ("FLOAT", "HALF", "BFLOAT16")


@dataclass(frozen=True)
class Shape:
    """Batch, steps, numbers of a vector, and heads."""

    n: int
    steps: int
    size: int
    heads: int
    causal: bool
    kind: data_type

    @classmethod
    def parse(cls, text: str, kind: data_type) -> Shape:
        """Read ``NxSTEPSxSIZExHEADS [causal]``."""
        sizes, _, rest = text.partition(" ")
        return cls(*map(int, sizes.split("x")), causal=rest == "causal", kind=kind)

    @property
    def head(self) -> int:
        """Numbers of a head."""
        return self.size // self.heads

    def operations(self, backward: bool) -> float:
        """Return what the rates count."""
        rows = self.n * self.steps
        attention = rows * self.steps * self.size * (0.5 if self.causal else 1.0)
        return (16 * rows * self.size**2 + 10 * attention) if backward else 8 * rows * self.size**2 + 4 * attention

    def __str__(self) -> str:
        return f"{self.n}x{self.steps}x{self.size}x{self.heads} {self.kind.name}" + (" causal" if self.causal else "")


def _array(handle: dnn.Handle, shape: Shape, dims: Sequence[int], seed: int, scale: float = 1.0) -> Any:
    values = normal_values(shape.kind.stored, int(np.prod(dims)), seed, deviation=scale)
    return handle.device.asarray(values.reshape(dims))


class Ours:
    """Multi-head attention's calls on memory of their own."""

    def __init__(self, handle: dnn.Handle, shape: Shape) -> None:
        self.handle, self.shape = handle, shape
        e, head = shape.size, shape.head
        self.attn = dnn.AttnDescriptor(shape.heads, head**-0.5, head, head, head, e, True)
        dims = (shape.steps, shape.n, 1, e)
        strides = (e, shape.steps * e, e, 1)
        dtype = shape.kind.problem_type
        described = dnn.TensorDescriptor(dims, dtype, strides=strides)
        memory = [_array(handle, shape, (shape.n * shape.steps * e,), seed) for seed in range(8)]
        arrays = (handle.device.wrap(described.view(one), "q") for one in memory)
        self.q, self.k, self.v, self.out, self.dout, self.dq, self.dk, self.dv = arrays
        self.w = _array(handle, shape, (4 * e * e + 4 * e,), 9, e**-0.5)
        self.dw = _array(handle, shape, (4 * e * e + 4 * e,), 10, 0.0)
        self.reserve = handle.empty_bytes(dnn.get_multi_head_attn_buffers(handle, self.attn, self.q, self.k, self.v)[2])
        rows = np.arange(shape.steps, dtype=np.int32)
        windows = np.stack([0 * rows, rows + 1])
        self.options = {"windows": handle.device.asarray(windows)} if shape.causal else {}

    def forward(self) -> None:
        """Enqueue the forward pass."""
        tensors = (self.q, self.k, self.v, self.w, self.attn)
        dnn.multi_head_attn_forward(self.handle, *tensors, out=self.out, reserve=self.reserve, **self.options)

    def backward(self) -> None:
        """Enqueue both backward passes."""
        tensors, results = (self.q, self.k, self.v), {"dq": self.dq, "dk": self.dk, "dv": self.dv}
        dnn.multi_head_attn_backward_data(
            self.handle, self.dout, *tensors, self.w, self.attn, reserve=self.reserve, **results, **self.options
        )
        dnn.multi_head_attn_backward_weights(self.handle, *tensors, self.dout, self.reserve, self.attn, self.dw)


class Graphs:
    """The same by graphs."""

    def __init__(self, handle: dnn.Handle, shape: Shape) -> None:
        self.handle, self.shape = handle, shape
        e, rows = shape.size, (1, shape.n * shape.steps, shape.size)
        names = ("q", "k", "v", "a", "b", "c", "o", "out", "dout", "do", "da", "db", "dc", "dq", "dk", "dv")
        self.memory = {name: _array(handle, shape, rows, seed) for seed, name in enumerate(names)}
        self.w = [_array(handle, shape, (1, e, e), 20 + i, e**-0.5) for i in range(4)]
        self.dw = [_array(handle, shape, (1, e, e), 30 + i, 0.0) for i in range(4)]
        self.bias = [_array(handle, shape, (1, 1, e), 40 + i, e**-0.5) for i in range(4)]
        self.dbias = [_array(handle, shape, (1, 1, e), 50 + i, 0.0) for i in range(4)]
        count = shape.n * shape.heads * shape.steps
        self.stats = handle.device.asarray(normal_values(np.float32, count, 60, 8.0))

    def _graph(self) -> Any:
        kinds = {"io_data_type": self.shape.kind, "intermediate_data_type": data_type.FLOAT}
        return cudnn.pygraph(**kinds, compute_data_type=data_type.FLOAT, handle=self.handle)

    def _bound(self, graph: Any, pack: dict[Any, Any]) -> Callable[[], None]:
        graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        call: Callable[[], None] = graph.bind(pack)
        return call

    def _tensor(self, graph: Any, dims: Sequence[int], turned: bool = False) -> Any:
        b, m, n = dims
        kind, packed = self.shape.kind, [m * n, n, 1]
        if turned:
            return graph.tensor(dim=[b, n, m], stride=[m * n, 1, n], data_type=kind)
        return graph.tensor(dim=[b, m, n], stride=packed, data_type=kind)

    def _product(self, a: Any, b: Any, c: Any, turned: tuple[bool, bool], added: Any = None) -> Callable[[], None]:
        graph = self._graph()
        one, two = (self._tensor(graph, x.shape, t) for x, t in zip((a, b), turned, strict=True))
        pack = {one: a, two: b}
        out = graph.matmul(one, two)
        if added is not None:
            more = self._tensor(graph, added.shape)
            out, pack[more] = graph.add(out, more), added
        out.set_output(True).set_data_type(self.shape.kind)
        pack[out] = c
        return self._bound(graph, pack)

    def _sum(self, x: Any, total: Any) -> Callable[[], None]:
        graph = self._graph()
        given = self._tensor(graph, x.shape)
        out = graph.reduction(given, mode=cudnn.reduction_mode.ADD)
        out.set_dim([1, 1, x.shape[2]]).set_output(True).set_data_type(self.shape.kind)
        return self._bound(graph, {given: x, out: total})

    def _heads(self, graph: Any) -> Any:
        s = self.shape
        dims, strides = [s.n, s.heads, s.steps, s.head], [s.steps * s.size, s.head, s.size, 1]
        return graph.tensor(dim=dims, stride=strides, data_type=s.kind)

    def _attention(self, backward: bool) -> Callable[[], None]:
        s, m, graph = self.shape, self.memory, self._graph()
        q, k, v = (self._heads(graph) for _ in range(3))
        pack = {q: m["a"], k: m["b"], v: m["c"]}
        options = {"attn_scale": s.head**-0.5, "use_causal_mask": s.causal}
        if not backward:
            o, stats = graph.sdpa(q, k, v, generate_stats=True, **options)
            stats.set_output(True).set_data_type(data_type.FLOAT)
            results, memory = [o], [m["o"]]
            pack[stats] = self.stats
        else:
            o, do = self._heads(graph), self._heads(graph)
            count = s.heads * s.steps
            stats = graph.tensor(
                dim=[s.n, s.heads, s.steps, 1], stride=[count, s.steps, 1, 1], data_type=data_type.FLOAT
            )
            pack |= {o: m["o"], do: m["do"], stats: self.stats}
            results = list(graph.sdpa_backward(q, k, v, o, do, stats, **options))
            memory = [m["da"], m["db"], m["dc"]]
        for one, place in zip(results, memory, strict=True):
            strides = [s.steps * s.size, s.head, s.size, 1]
            one.set_output(True).set_data_type(s.kind).set_stride(strides)
            pack[one] = place
        return self._bound(graph, pack)

    def forward(self) -> Callable[[], None]:
        """Return what enqueues the forward pass."""
        m, turned = self.memory, (False, True)
        calls = [
            self._product(m[x], w, m[y], turned, b)
            for x, w, y, b in zip("qkv", self.w[:3], "abc", self.bias[:3], strict=True)
        ]
        calls.append(self._attention(False))
        calls.append(self._product(m["o"], self.w[3], m["out"], turned, self.bias[3]))
        return lambda: [call() for call in calls] and None

    def backward(self) -> Callable[[], None]:
        """Return what enqueues the gradients of everything."""
        m, plain = self.memory, (False, False)
        calls = [self._product(m["dout"], self.w[3], m["do"], plain), self._attention(True)]
        places = [("da", "dq", "q"), ("db", "dk", "k"), ("dc", "dv", "v")]
        for i, (inner, outer, _) in enumerate(places):
            calls.append(self._product(m[inner], self.w[i], m[outer], plain))
        for i, (inner, given) in enumerate([*((p[0], p[2]) for p in places), ("dout", "o")]):
            calls.append(self._product(m[inner], m[given], self.dw[i], (True, False)))
            calls.append(self._sum(m[inner], self.dbias[i]))
        return lambda: [call() for call in calls] and None


def torch_side(shape: Shape, backward: bool, cuda: bool) -> Side | None:
    """Return torch's layers on the same kind of device, if there is torch."""
    torch = torch_module()
    if torch is None:
        return None
    kind = {"FLOAT": torch.float32, "HALF": torch.float16, "BFLOAT16": torch.bfloat16}[shape.kind.name]
    where = {"dtype": kind, "device": "cuda" if cuda else "cpu"}
    layers = [torch.nn.Linear(shape.size, shape.size, **where) for _ in range(4)]
    dims = (shape.n, shape.steps, shape.size)
    tensors = [torch.randn(dims, requires_grad=True, **where) for _ in range(3)]
    above = torch.randn(dims, **where)

    def forward() -> Any:
        heads = (
            layer(x).view(shape.n, shape.steps, shape.heads, -1) for layer, x in zip(layers[:3], tensors, strict=True)
        )
        q, k, v = (one.transpose(1, 2) for one in heads)
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=shape.causal)
        return layers[3](o.transpose(1, 2).reshape(dims))

    kept = forward() if backward else None
    wanted = [*tensors, *(p for layer in layers for p in layer.parameters())]

    def differentiate() -> None:
        torch.autograd.grad(kept, wanted, above, retain_graph=True)

    return Side("torch", differentiate if backward else forward, torch_timer(cuda))


def sides(handle: dnn.Handle, shape: Shape, backward: bool, failed: dict[str, str]) -> Iterator[Side]:
    """Yield this library's call first, then the others that there are; `failed` gets why one has none."""
    device, ours = handle.device, Ours(handle, shape)
    ours.forward()
    yield Side("portadnn", ours.backward if backward else ours.forward, device.time)

    def graph() -> Side:
        made = Graphs(handle, shape)
        return Side("graph", made.backward() if backward else made.forward(), device.time)

    cuda = handle.info.kind == "gpu"
    yield from beside.running({"graph": graph, "torch": lambda: torch_side(shape, backward, cuda)}, failed)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, and write the record so far after each row."""
    parser = argparse.ArgumentParser(prog="python -m portadnn.benchmarks.multi_head", description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--shapes", nargs="*", help="NxSTEPSxSIZExHEADS, with ' causal' for windows up to each query")
    parser.add_argument("--types", nargs="*", choices=TYPES, help="default: FLOAT, on GPUs HALF and FLOAT")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    asked = parser.parse_args(words)
    keep_pages()
    handle = dnn.Handle(asked.backend)
    gpu = handle.info.kind == "gpu"
    types = asked.types or (("HALF", "FLOAT") if gpu else ("FLOAT",))
    rows: list[dict[str, Any]] = []
    facts = {**record.environment(), "device": record.device(handle)}
    for name in types:
        for text in asked.shapes or (ON_GPUS if gpu else SHAPES):
            shape = Shape.parse(text, data_type[name])
            for backward in (False, True):
                failed: dict[str, str] = {}
                timings = alternate(list(sides(handle, shape, backward, failed)), asked.rounds)
                way = "backward" if backward else "forward"
                figures = beside.row(shape, way, shape.operations(backward), timings, not gpu, failed)
                rows.append({"shape": str(shape), **figures})
                if asked.output:
                    record.write(asked.output, {**facts, "rows": rows})
    beside.print_means(rows)


if __name__ == "__main__":
    main()
