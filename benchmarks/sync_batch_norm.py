"""Synchronised batch norm of the GPUs of one node: ``python -m portadnn.benchmarks.sync_batch_norm [--output FILE]``.

A process for each GPU; every shape is timed forward and backward, in turn with

- torch: ``torch.nn.SyncBatchNorm`` over NCCL, and ``torch.nn.BatchNorm2d``, which exchanges nothing;
- halves: portadnn's two halves with one ``all_gather_into_tensor`` of torch.distributed (NCCL) between them;
- peer_stats: portadnn's graphs with peer_stats, whose ranks write into each other's memory (CUDA IPC).

A round has so many passes that the GPU is busy for 20 ms. Seconds are those between CUDA events around it, for one
pass, on the slower rank; the record has the median of the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import portadnn as dnn
import portadnn.graph as cudnn

from . import record
from .runner import geometric_mean

SHAPES = (
    (32, 64, 112, 112),
    (32, 256, 56, 56),
    (32, 512, 28, 28),
    (32, 1024, 14, 14),
    (32, 2048, 7, 7),
    (8, 64, 56, 56),
)
TYPES = ("float32", "float16")
ROUNDS = 5
EPSILON = 1e-5
_KINDS = {"float32": cudnn.data_type.FLOAT, "float16": cudnn.data_type.HALF}
Pass = Callable[[], Any]


class _Rank:
    """A process of the measurement with its GPU."""

    def __init__(self, rank: int, ranks: int) -> None:
        import cupy
        import torch

        self.torch, self.cupy, self.rank, self.ranks = torch, cupy, rank, ranks
        torch.cuda.set_device(rank)
        cupy.cuda.Device(rank).use()
        torch.cuda.set_stream(torch.cuda.Stream())
        self.handle = dnn.Handle("cuda", rank, stream="torch")
        self.module: Any = torch.distributed
        self.off: dict[str, float] = {}  # how far the last shape's results were from float64

    def peers(self, c: int) -> list[Any]:
        """Return the peer buffers of all ranks: memory that processes share by handles."""
        runtime, size = self.cupy.cuda.runtime, self.ranks * 4 * c * 4
        own = runtime.malloc(size)
        runtime.memset(own, 0, size)
        runtime.deviceSynchronize()
        handles: list[Any] = [None] * self.ranks
        self.module.all_gather_object(handles, bytes(runtime.ipcGetMemHandle(own)))
        addresses = [own if r == self.rank else runtime.ipcOpenMemHandle(h) for r, h in enumerate(handles)]
        self.module.barrier()
        return [self._array(address, size, (self.ranks, 4 * c, 1, 1)) for address in addresses]

    def _array(self, address: int, size: int, dims: tuple[int, ...]) -> Any:
        memory = self.cupy.cuda.UnownedMemory(address, size, None, self.rank)
        return self.cupy.ndarray(dims, np.float32, self.cupy.cuda.MemoryPointer(memory, 0))

    def sides(self, shape: tuple[int, ...], dtype: str) -> dict[str, tuple[Pass, Pass]]:
        """Return forward and backward passes by name, after a check that they agree."""
        torch = self.torch
        generator = torch.Generator("cuda").manual_seed(1 + self.rank)
        kind = getattr(torch, dtype)
        x, dy = (torch.randn(shape, device="cuda", generator=generator).to(kind) + self.rank for _ in range(2))
        made = {
            "torch": self._module(torch.nn.SyncBatchNorm(shape[1], eps=EPSILON).cuda(), x, dy),
            "torch_local": self._module(torch.nn.BatchNorm2d(shape[1], eps=EPSILON).cuda(), x, dy),
            "halves": self._halves(x, dy),
            "peer_stats": self._graphs(x, dy, dtype),
        }
        want = self._exact(x, dy)
        self.off = {}
        for name in ("torch", "halves", "peer_stats"):
            for way, passes, expected in zip(("forward", "backward"), made[name], want, strict=True):
                off = float((passes().double() - expected).abs().max())
                self.off[f"{name}_{way}"] = off
                if name != "torch" and not off < (2e-2 if dtype == "float16" else 2e-4):
                    raise SystemExit(f"{name} is off by {off} {way} at {shape} in {dtype}; so far {self.off}")
        return made

    def _exact(self, x: Any, dy: Any) -> tuple[Any, Any]:
        """Return y and dx in float64, whose sums are added up over the ranks."""
        x, dy, axes = x.double(), dy.double(), (0, 2, 3)
        count = self.ranks * x.numel() / x.shape[1]

        def mean(values: Any) -> Any:
            total = values.sum(axes, keepdim=True)
            self.module.all_reduce(total)
            return total / count

        centred = x - mean(x)
        inverse = (mean(centred.square()) + EPSILON).rsqrt()
        y = centred * inverse
        return y, inverse * (dy - mean(dy) - y * mean(dy * y))

    def _module(self, module: Any, x: Any, dy: Any) -> tuple[Pass, Pass]:
        torch, leaf = self.torch, x.detach().clone().requires_grad_()
        latest: list[Any] = []

        def forward() -> Any:
            latest[:] = [module(leaf)]
            return latest[0].detach()

        def backward() -> Any:
            return torch.autograd.grad(latest[0], [leaf, *module.parameters()], dy, retain_graph=True)[0]

        return forward, backward

    def _halves(self, x: Any, dy: Any) -> tuple[Pass, Pass]:
        torch, handle, c = self.torch, self.handle, x.shape[1]
        p = (1, c, 1, 1)
        scale, bias = torch.ones(p, device="cuda"), torch.zeros(p, device="cuda")
        saved = [torch.empty(p, device="cuda") for _ in range(2)]
        own = torch.empty((2, c), device="cuda")
        parts = [own[i].view(p) for i in range(2)]
        gathered = torch.empty((self.ranks, 2, c), device="cuda")
        everything = [gathered[:, i].unsqueeze(-1).unsqueeze(-1) for i in range(2)]
        counts = torch.full((self.ranks, 1, 1, 1), x.numel() / c, device="cuda")
        y, dx = torch.empty_like(x), torch.empty_like(x)
        totals = [torch.empty(p, device="cuda") for _ in range(2)]

        def gather() -> None:
            self.module.all_gather_into_tensor(gathered, own)

        def forward() -> Any:
            dnn.batch_normalization_statistics(handle, x, *parts)
            gather()
            dnn.batch_normalization_apply(
                handle, x, scale, bias, *everything, counts, y, None, None, *saved, epsilon=EPSILON
            )
            return y

        def backward() -> Any:
            dnn.batch_normalization_backward_statistics(handle, x, dy, *saved, *parts)
            gather()
            dnn.batch_normalization_backward_apply(handle, x, dy, scale, *saved, *everything, counts, dx, *totals)
            return dx

        return forward, backward

    def _graphs(self, x: Any, dy: Any, dtype: str) -> tuple[Pass, Pass]:
        torch, c, dims = self.torch, x.shape[1], list(x.shape)
        p = [1, c, 1, 1]
        kind, real = _KINDS[dtype], cudnn.data_type.FLOAT
        g, b = (
            cudnn.pygraph(handle=self.handle, io_data_type=kind, intermediate_data_type=real, compute_data_type=real)
            for _ in range(2)
        )

        def given(graph: Any, sizes: Sequence[int], data_type: Any = real) -> Any:
            strides = [int(np.prod(sizes[i + 1 :])) for i in range(len(sizes))]
            return graph.tensor(dim=list(sizes), stride=strides, data_type=data_type)

        buffers = [self.peers(c) for _ in range(2)]
        ends = [[given(graph, (self.ranks, 4 * c, 1, 1)) for _ in range(self.ranks)] for graph in (g, b)]
        gx, gs, gb = given(g, dims, kind), given(g, p), given(g, p)
        y, mean, inverse, _, _ = g.batchnorm(gx, gs, gb, epsilon=EPSILON, peer_stats=ends[0], peer_rank=self.rank)
        bx, bdy, bs, bm, bi = given(b, dims, kind), given(b, dims, kind), given(b, p), given(b, p), given(b, p)
        dx, ds, db = b.batchnorm_backward(bdy, bx, bs, bm, bi, ends[1], peer_rank=self.rank)
        dx.set_stride(bx.get_stride())
        for graph, outs in ((g, (y, mean, inverse)), (b, (dx, ds, db))):
            for one in outs:
                one.set_output(True).set_data_type(kind if one in (y, dx) else real)
            graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        results = [torch.empty_like(x) for _ in range(2)]
        small = [torch.ones(p, device="cuda") for _ in range(5)]
        zero = torch.zeros(p, device="cuda")
        pack = {gx: x, gs: small[0], gb: zero, y: results[0], mean: small[1], inverse: small[2]}
        pack |= dict(zip(ends[0], buffers[0], strict=True))
        back = {bx: x, bdy: dy, bs: small[0], bm: small[1], bi: small[2], dx: results[1], ds: small[3], db: small[4]}
        back |= dict(zip(ends[1], buffers[1], strict=True))

        def forward() -> Any:
            g.execute(pack)
            return results[0]

        def backward() -> Any:
            b.execute(back)
            return results[1]

        return forward, backward

    def seconds(self, function: Pass, least: float = 0.02) -> float:
        """Return the seconds of a pass, of about `least` seconds of them: the same number on all ranks."""
        torch = self.torch
        times = self._timed(function, 5)
        wanted = torch.tensor([max(5.0, min(2000.0, least / times))], device="cuda")
        self.module.all_reduce(wanted, self.module.ReduceOp.MIN)
        torch.cuda.synchronize()
        found = torch.tensor([self._timed(function, int(wanted.item()))], device="cuda")
        self.module.all_reduce(found, self.module.ReduceOp.MAX)
        return float(found.item())

    def _timed(self, function: Pass, count: int) -> float:
        torch = self.torch
        self.module.barrier()
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            function()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e-3 / count


def _measure(rank: int, ranks: int, types: Sequence[str], output: str) -> None:
    import torch

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", NCCL_NVLS_ENABLE="0")
    torch.distributed.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    own, rows = _Rank(rank, ranks), []
    for dtype in types:
        for shape in SHAPES:
            sides = own.sides(shape, dtype)
            times: dict[str, list[list[float]]] = {name: [[], []] for name in sides}
            for _ in range(ROUNDS):
                for name, passes in sides.items():
                    for which, one in enumerate(passes):
                        passes[0]()
                        times[name][which].append(own.seconds(one))
            best = {name: [statistics.median(values) for values in both] for name, both in times.items()}
            row: dict[str, Any] = {"shape": list(shape), "dtype": dtype, "off": dict(own.off)}
            for which, way in enumerate(("forward", "backward")):
                row[way] = {f"{name}_seconds": values[which] for name, values in best.items()}
                row[way]["times_torch"] = best["torch"][which] / best["peer_stats"][which]
            rows.append(row)
            if rank == 0:
                for way in ("forward", "backward"):
                    says = (f"{name} {1e6 * row[way][f'{name}_seconds']:.0f}" for name in times)
                    print(f"{dtype} {'x'.join(map(str, shape))} {way}, us: {', '.join(says)}", flush=True)
    if rank == 0 and output:
        ratios = [row[way]["times_torch"] for row in rows for way in ("forward", "backward")]
        record.write(
            Path(output),
            {
                **record.environment(),
                "what": "synchronised batch norm of the GPUs of one node, a process for each",
                "device": record.device(own.handle),
                "devices": ranks,
                "torch": torch.__version__,
                "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                "geometric_mean_times_torch": geometric_mean(ratios),
                "least_times_torch": min(ratios),
                "rows": rows,
            },
        )
    own.module.barrier()
    own.module.destroy_process_group()


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="GPUs, by default 2")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES, help="types of the data, by default both")
    parser.add_argument("--output", default="", help="where the record goes")
    options = parser.parse_args(argv)
    import torch

    if torch.cuda.device_count() < options.ranks:
        raise SystemExit(f"{options.ranks} GPUs are needed, and there are {torch.cuda.device_count()}")
    torch.multiprocessing.spawn(_measure, (options.ranks, options.types, options.output), options.ranks)


if __name__ == "__main__":
    main()
