"""How fast attention is: ``python -m portadnn.benchmarks.attention [--backend NAME] [--output FILE]``.

Each shape is timed forward and backward, in turn with

- torch: ``scaled_dot_product_attention`` on the same kind of device (its own choice of kernel);
- cudnn: the same graph by cudnn-frontend, where a GPU is; without its module torch's call on cuDNN's kernel;
- unfused: the same by separate nodes on portadnn's kernels: a product, the scale, softmax, another product.

Rates count four operations for each score and number of a head forward, ten backward; half of them in a triangle.
"""

from __future__ import annotations

import argparse
import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import portadnn as dnn
import portadnn.graph as cudnn
from portadnn.graph.data_types import data_type

from . import beside, record
from .call import normal_values
from .peers.backends import torch_module
from .runner import brief
from .timing import Side, Timer, Timing, alternate, keep_pages, wall

SHAPES = (
    "1x8x8x1024x1024x64",
    "1x8x8x1024x1024x64 causal",
    "1x8x2x1024x1024x128 causal",
    "4x12x12x197x197x64",
    "2x8x8x512x512x256",
    "1x8x8x777x777x80 causal",
    "8x8x8x1x2048x64",
)
ON_GPUS = (
    "4x16x16x4096x4096x64",
    "4x16x16x4096x4096x64 causal",
    "8x16x16x2048x2048x128",
    "8x16x16x2048x2048x128 causal",
    "4x32x8x4096x4096x128 causal",
    "16x16x16x512x512x64",
    "32x32x8x1x8192x128",
    "1x32x8x1x32768x128",
    "8x64x8x4x8192x64",
)
# heads of 64 and 128, 2k to 16k rows, causal and not, 16k rows by 2048 numbers in all
SWEEP = tuple(
    f"{16384 // rows}x{2048 // d}x{2048 // d}x{rows}x{rows}x{d}{end}"
    for d in (64, 128)
    for rows in (2048, 4096, 8192, 16384)
    for end in ("", " causal")
)
TYPES = ("FLOAT", "HALF", "BFLOAT16")
TYPES_ON_GPUS = ("HALF", "BFLOAT16")  # what cuDNN takes


@dataclass(frozen=True)
class Shape:
    """Batch, heads of queries and of keys, rows, columns, and the length of a head."""

    b: int
    heads: int
    key_heads: int
    rows: int
    columns: int
    d: int
    causal: bool
    kind: data_type

    @classmethod
    def parse(cls, text: str, kind: data_type) -> Shape:
        """Read ``BxHxHKVxSQxSKVxD [causal]``."""
        sizes, _, rest = text.partition(" ")
        return cls(*map(int, sizes.split("x")), causal=rest == "causal", kind=kind)

    def dims(self) -> dict[str, tuple[int, int, int, int]]:
        """Return the dims of queries, keys, values and the output's gradient."""
        q, k = (self.b, self.heads, self.rows, self.d), (self.b, self.key_heads, self.columns, self.d)
        return {"q": q, "k": k, "v": k, "dO": q}

    def operations(self, backward: bool) -> float:
        """Return what the rates count."""
        scores = self.b * self.heads * self.rows * self.columns * (0.5 if self.causal else 1.0)
        return (10 if backward else 4) * scores * self.d

    def __str__(self) -> str:
        sizes = (self.b, self.heads, self.key_heads, self.rows, self.columns, self.d)
        return "x".join(map(str, sizes)) + f" {self.kind.name}" + (" causal" if self.causal else "")


def _tensor(graph: Any, dims: Sequence[int], kind: Any, module: Any = cudnn) -> Any:
    strides = [int(np.prod(dims[i + 1 :])) for i in range(len(dims))]
    return graph.tensor(dim=list(dims), stride=strides, data_type=getattr(module.data_type, kind.name))


def fused(module: Any, handle: Any, shape: Shape, backward: bool) -> tuple[Any, dict[str, Any], list[Any]]:
    """Return a graph of one node, its inputs by name, and its outputs; for portadnn's module and cudnn-frontend's."""
    io, single = getattr(module.data_type, shape.kind.name), module.data_type.FLOAT
    graph = module.pygraph(io_data_type=io, intermediate_data_type=single, compute_data_type=single, handle=handle)
    made = {name: _tensor(graph, dims, shape.kind, module) for name, dims in shape.dims().items() if name != "dO"}
    options = {"attn_scale": shape.d**-0.5, "use_causal_mask": shape.causal}
    if not backward:
        o, _ = graph.sdpa(made["q"], made["k"], made["v"], is_inference=True, **options)
        outs = [o]
    else:
        dims = shape.dims()["q"]
        made.update({name: _tensor(graph, dims, shape.kind, module) for name in ("o", "dO")})
        made["stats"] = _tensor(graph, (*dims[:3], 1), data_type.FLOAT, module)
        outs = list(graph.sdpa_backward(*(made[n] for n in ("q", "k", "v", "o", "dO", "stats")), **options))
    for one in outs:
        one.set_output(True).set_data_type(io)
    return graph, made, outs


def unfused(handle: dnn.Handle, shape: Shape) -> tuple[Any, dict[str, Any], list[Any]]:
    """Return the forward graph of separate nodes; without a mask, and for as many heads of keys as of queries."""
    io, single = shape.kind, data_type.FLOAT
    graph = cudnn.pygraph(io_data_type=io, intermediate_data_type=io, compute_data_type=single, handle=handle)
    q, k, v, _ = shape.dims().values()
    made = {"q": _tensor(graph, q, io), "v": _tensor(graph, v, io)}
    b, h, s, d = k
    made["k"] = graph.tensor(dim=[b, h, d, s], stride=[h * s * d, s * d, 1, d], data_type=io)
    scores = graph.mul(graph.matmul(made["q"], made["k"]), shape.d**-0.5)
    out = graph.matmul(graph.softmax(scores)[0], made["v"]).set_output(True)
    return graph, made, [out]


def bound(handle: dnn.Handle, built: tuple[Any, dict[str, Any], list[Any]]) -> Callable[[], None]:
    """Build a graph of portadnn's, and return what runs it on memory of its own."""
    graph, made, outs = built
    graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    device = handle.device
    pack = {}
    for seed, (name, one) in enumerate(made.items()):
        size, mean = int(np.prod(one.get_dim())), 8.0 if name == "stats" else 0.0
        pack[one] = device.asarray(normal_values(one.get_data_type().stored, size, seed, mean))
    for one in outs:
        pack[one] = device.asarray(np.zeros(int(np.prod(one.get_dim())), one.get_data_type().storage))
    call: Callable[[], None] = graph.bind(pack)
    return call


def torch_timer(cuda: bool) -> Timer:
    """Return a timer of what torch's current stream runs, or of the CPU."""
    torch = torch_module()

    def timed(function: Callable[[], None]) -> float:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        function()
        last.record()
        last.synchronize()
        return 1e-3 * float(first.elapsed_time(last))

    return timed if cuda else wall


def _on_cudnn() -> Any:
    """Return the context in which torch takes cuDNN's attention."""
    attention = importlib.import_module("torch.nn.attention")
    return attention.sdpa_kernel(attention.SDPBackend.CUDNN_ATTENTION)


def torch_side(shape: Shape, backward: bool, cuda: bool, by_cudnn: bool = False) -> Side | None:
    """Return torch's call on the same kind of device, if there is one; on cuDNN's kernel or that of its own choice."""
    torch = torch_module()
    if torch is None:
        return None
    where = "cuda" if cuda else "cpu"
    kind = {"FLOAT": torch.float32, "HALF": torch.float16, "BFLOAT16": torch.bfloat16}[shape.kind.name]
    made = {n: torch.randn(d, dtype=kind, device=where, requires_grad=backward) for n, d in shape.dims().items()}
    attend, shares = torch.nn.functional.scaled_dot_product_attention, shape.heads != shape.key_heads

    def forward() -> Any:
        with _on_cudnn() if by_cudnn else nullcontext():
            return attend(made["q"], made["k"], made["v"], is_causal=shape.causal, enable_gqa=shares)

    def infer() -> None:
        with torch.no_grad():
            forward()

    inputs, gradient = [made[n] for n in ("q", "k", "v")], made["dO"].detach()
    kept = forward() if backward else None

    def differentiate() -> None:
        torch.autograd.grad(kept, inputs, gradient, retain_graph=True)

    return Side("cudnn" if by_cudnn else "torch", differentiate if backward else infer, torch_timer(cuda))


@functools.cache
def _frontend_handle(frontend: Any) -> Any:
    """Return cuDNN's handle of the run, on the default stream."""
    return frontend.create_handle()


def cudnn_side(shape: Shape, backward: bool) -> Side | None:
    """Return cudnn-frontend's call, or torch's on cuDNN's kernel without that module, if a GPU is there.

    Raises
    ------
    Exception
        cuDNN refuses the graph.
    """
    try:
        import torch  # first: it loads the cuDNN that the other module looks for

        import cudnn as frontend  # isort: skip
    except ImportError:
        return None if shape.kind is data_type.FLOAT else torch_side(shape, backward, True, by_cudnn=True)
    if not torch.cuda.is_available() or shape.kind is data_type.FLOAT:
        return None
    graph, made, outs = fused(frontend, _frontend_handle(frontend), shape, backward)
    graph.build([frontend.heur_mode.A, frontend.heur_mode.FALLBACK])
    kind, pack = {data_type.HALF: torch.float16, data_type.BFLOAT16: torch.bfloat16}[shape.kind], {}
    for name, one in [*made.items(), *((f"out {i}", one) for i, one in enumerate(outs))]:
        memory = torch.empty(one.get_dim(), device="cuda", dtype=torch.float32 if name == "stats" else kind)
        pack[one.get_uid()] = memory.normal_(8.0 if name == "stats" else 0.0)
    workspace = torch.empty(max(graph.get_workspace_size(), 1), device="cuda", dtype=torch.uint8)
    return Side("cudnn", lambda: graph.execute(pack, workspace), torch_timer(True))


def versions() -> dict[str, Any]:
    """Return what peers on a GPU are."""
    torch = torch_module()
    found: dict[str, Any] = {"torch": torch and torch.__version__}
    try:
        import cudnn as frontend
    except ImportError:
        return found
    return {**found, "cudnn": frontend.backend_version(), "cudnn_frontend": frontend.__version__}


def sides(
    handle: dnn.Handle, shape: Shape, backward: bool, peers: Sequence[str], failed: dict[str, str]
) -> Iterator[Side]:
    """Yield this library's call first, then the others that there are; `failed` gets why a peer has none."""
    device, cuda = handle.device, handle.info.kind == "gpu"
    yield Side("portadnn", bound(handle, fused(cudnn, handle, shape, backward)), device.time)
    found = {
        "torch": lambda: torch_side(shape, backward, cuda),
        "cudnn": lambda: cudnn_side(shape, backward) if cuda else None,
        "unfused": lambda: (
            None
            if backward or shape.causal or shape.heads != shape.key_heads
            else Side("unfused", bound(handle, unfused(handle, shape)), device.time)
        ),
    }
    yield from beside.running({name: found[name] for name in peers}, failed)


def row(
    shape: Shape, backward: bool, timings: Sequence[Timing], shared: bool, failed: dict[str, str]
) -> dict[str, Any]:
    """Return and print one row; comparisons on a `shared` processor are of the time it was busy."""
    direction = "backward" if backward else "forward"
    facts = {key: value for key, value in asdict(shape).items() if key != "kind"}
    figures = beside.row(shape, direction, shape.operations(backward), timings, shared, failed)
    return {**facts, "type": shape.kind.name, **figures}


def attempt(
    handle: dnn.Handle, shape: Shape, backward: bool, peers: Sequence[str], rounds: int
) -> tuple[list[Timing], dict[str, str]]:
    """Return the timings, none where this library's call fails, and what failed by name."""
    failed: dict[str, str] = {}
    try:
        return alternate(list(sides(handle, shape, backward, peers, failed)), rounds), failed
    except Exception as error:  # one shape's failure does not end the run
        return [], {**failed, "portadnn": brief(error)}


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, and write the record so far after each row."""
    parser = argparse.ArgumentParser(prog="python -m portadnn.benchmarks.attention", description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--shapes", nargs="*", help="BxHxHKVxSQxSKVxD, with ' causal' for a triangle")
    parser.add_argument("--sweep", action="store_true", help="heads of 64 and 128, 2k to 16k rows, causal and not")
    parser.add_argument("--types", nargs="*", choices=TYPES, help="default: all, on GPUs HALF and BFLOAT16")
    parser.add_argument("--peers", nargs="*", default=("torch", "cudnn", "unfused"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    asked = parser.parse_args(words)
    keep_pages()
    handle = dnn.Handle(asked.backend)
    gpu = handle.info.kind == "gpu"
    kinds = [data_type[kind] for kind in asked.types or (TYPES_ON_GPUS if gpu else TYPES)]
    texts = asked.shapes or (SWEEP if asked.sweep else ON_GPUS if gpu else SHAPES)
    shapes = [Shape.parse(text, kind) for kind in kinds for text in texts]
    print(f"{handle.backend}: {handle.info.name}; in brackets how many times as fast portadnn is")
    rows: list[dict[str, Any]] = []
    facts = {**record.environment(), "device": record.device(handle), "peers": versions() if gpu else None}
    for shape in shapes:
        for backward in (False, True):
            timings, failed = attempt(handle, shape, backward, asked.peers, asked.rounds)
            rows.append(row(shape, backward, timings, handle.info.kind == "cpu", failed))
            if asked.output is not None:
                record.write(asked.output, {**facts, "geometric_means": beside.means(rows), "rows": rows})
    beside.print_means(rows)


if __name__ == "__main__":
    main()
