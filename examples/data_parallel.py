"""LeNet with batch norm, learning digits on several devices at once: every rank has a share of each batch.

Nothing but the communicator knows what lies between the ranks. They exchange the statistics of batch norm, between its
two halves, and the weights' velocities:

    python examples/data_parallel.py                                        one process, to compare with
    mpiexec -n 2 python examples/data_parallel.py mpi                       MPI, through mpi4py; any backend
    python examples/data_parallel.py nccl --ranks 2                         NCCL, through CuPy; a GPU for each rank
    torchrun --nproc-per-node 2 examples/data_parallel.py torch             torch.distributed (NCCL)

All of them learn the same from the same batches, up to rounding.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn.examples import digits
from portadnn.examples.lenet import CHANNELS, CLASSES, LEARNING_RATE, MOMENTUM, Convolution, LeNet

EPSILON, AVERAGE = 1e-5, 0.1
BATCH = 32  # of all ranks together


class Alone:
    """A single rank, which has nobody to talk to."""

    rank, size = 0, 1

    def open(self, backend: str) -> dnn.Handle:
        """Return the rank's handle."""
        return dnn.Handle(backend)

    def close(self) -> None:
        """Leave the other ranks."""

    def gather(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the arrays of all ranks, one after another along the first dim."""
        return array

    def sum(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the sum over all ranks."""
        return array


class Mpi(Alone):
    """MPI, on what the host has: it works with every backend."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self.world = MPI.COMM_WORLD
        self.rank, self.size = self.world.rank, self.world.size

    def gather(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the arrays of all ranks, one after another along the first dim."""
        own = np.ascontiguousarray(handle.to_numpy(array))
        found = np.empty((self.size * own.shape[0], *own.shape[1:]), own.dtype)
        self.world.Allgather(own, found)
        return handle.asarray(found)

    def sum(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the sum over all ranks."""
        own = np.ascontiguousarray(handle.to_numpy(array))
        found = np.empty_like(own)
        self.world.Allreduce(own, found)
        return handle.asarray(found)


class Nccl(Alone):
    """NCCL through CuPy: arrays stay on the GPUs, and the host waits for nothing."""

    def __init__(self, rank: int, size: int) -> None:
        import cupy
        import cupyx.distributed

        cupy.cuda.Device(rank).use()
        self.cupy, self.rank, self.size = cupy, rank, size
        self.world = cupyx.distributed.init_process_group(size, rank)

    def open(self, backend: str) -> dnn.Handle:
        """Return a handle on the rank's GPU."""
        return dnn.Handle("cuda", self.rank)

    def gather(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the arrays of all ranks, one after another along the first dim."""
        found = self.cupy.empty((self.size * array.shape[0], *array.shape[1:]), array.dtype)
        self.world.all_gather(array, found, array.size)
        return found

    def sum(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the sum over all ranks."""
        found = self.cupy.empty_like(array)
        self.world.all_reduce(array, found)
        return found

    def close(self) -> None:
        """Leave the other ranks."""
        self.world.stop()


class Torch(Alone):
    """torch.distributed, on torch's own stream."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        torch.cuda.set_device(self.rank)
        torch.distributed.init_process_group("nccl")

    def open(self, backend: str) -> dnn.Handle:
        """Return a handle on the rank's GPU."""
        return dnn.Handle("cuda", self.rank, stream="torch")

    def gather(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the arrays of all ranks, one after another along the first dim."""
        own = self.torch.as_tensor(array, device="cuda")
        found = own.new_empty((self.size * own.shape[0], *own.shape[1:]))
        self.torch.distributed.all_gather_into_tensor(found, own)
        return found

    def sum(self, handle: dnn.Handle, array: Any) -> Any:
        """Return the sum over all ranks."""
        found = self.torch.as_tensor(array, device="cuda").clone()
        self.torch.distributed.all_reduce(found)
        return found

    def close(self) -> None:
        """Leave the other ranks."""
        self.torch.distributed.destroy_process_group()


class SyncBatchNorm:
    """Batch norm of all ranks' images, with scale, bias and their velocities."""

    def __init__(self, handle: dnn.Handle, world: Alone, c: int):
        self.handle, self.world = handle, world
        self.shape = (1, c, 1, 1)
        self.scale, self.bias = handle.asarray(np.ones(self.shape, np.float32)), handle.zeros(self.shape)
        self.running = [handle.zeros(self.shape), handle.asarray(np.ones(self.shape, np.float32))]
        self.velocities = [handle.zeros(self.shape), handle.zeros(self.shape)]

    def forward(self, x: Any) -> Any:
        """Return y, and keep what the way back needs."""
        handle, n = self.handle, x.shape[0] * x.shape[2] * x.shape[3]
        own = dnn.batch_normalization_statistics(handle, x)
        means, variances = (self.world.gather(handle, one) for one in own)
        self.x, self.counts = x, handle.asarray(np.full((self.world.size, 1, 1, 1), n, np.float32))
        self.saved = [handle.empty(self.shape), handle.empty(self.shape)]
        return dnn.batch_normalization_apply(
            *(handle, x, self.scale, self.bias, means, variances, self.counts, None, *self.running, *self.saved),
            exponential_average_factor=AVERAGE,
            epsilon=EPSILON,
        )

    def backward(self, dy: Any) -> Any:
        """Add the gradients of all ranks to the velocities and return dx."""
        handle = self.handle
        own = dnn.batch_normalization_backward_statistics(handle, self.x, dy, *self.saved)
        dscales, dbiases = (self.world.gather(handle, one) for one in own)
        totals = [handle.empty(self.shape), handle.empty(self.shape)]
        dx, *_ = dnn.batch_normalization_backward_apply(
            handle, self.x, dy, self.scale, *self.saved, dscales, dbiases, self.counts, None, *totals
        )
        for velocity, gradient in zip(self.velocities, totals, strict=True):
            dnn.add_tensor(handle, gradient, velocity, beta=MOMENTUM)
        return dx

    def step(self) -> None:
        """Move scale and bias by their velocities, which are the same on all ranks."""
        for velocity, parameter in zip(self.velocities, (self.scale, self.bias), strict=True):
            dnn.add_tensor(self.handle, velocity, parameter, alpha=-LEARNING_RATE)


class SharedConvolution(Convolution):
    """A convolution whose velocities each rank has a share of: what they add up to moves the weights."""

    world: Alone

    def step(self) -> None:
        """Move the weights by the sums of all ranks' velocities."""
        for velocity, parameter in ((self.w_velocity, self.w), (self.bias_velocity, self.bias)):
            total = self.world.sum(self.handle, velocity)
            dnn.add_tensor(self.handle, total, parameter, alpha=-LEARNING_RATE)


class DataParallelLeNet(LeNet):
    """LeNet with batch norm behind its convolutions, whose ranks learn together."""

    def __init__(self, handle: dnn.Handle, world: Alone, h: int, w: int, seed: int):
        super().__init__(handle, h, w, seed)
        self.world = world
        for layer in self.layers:
            if isinstance(layer, Convolution):
                layer.__class__, layer.world = SharedConvolution, world
        self.layers.insert(4, SyncBatchNorm(handle, world, CHANNELS[1]))
        self.layers.insert(1, SyncBatchNorm(handle, world, CHANNELS[0]))

    def learn(self, x: Any, target: Any) -> Any:
        """Take one step with this rank's share of a batch; return the cross-entropy of the whole batch before it."""
        handle, mean = self.handle, -1 / (x.shape[0] * self.world.size)
        log_p = self.forward(x)
        loss = dnn.convolution_backward_bias(handle, dnn.op_tensor(handle, "mul", log_p, target), alpha=mean)
        dy = dnn.softmax_backward(handle, log_p, target, algorithm="log", alpha=mean)
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        for layer in self.layers:
            if hasattr(layer, "step"):
                layer.step()
        return self.world.sum(handle, loss)

    def train(self, images: Any, labels: Any, epochs: int, batch: int, seed: int) -> Iterator[list[float]]:
        """Learn as LeNet does, from this rank's share of every batch."""
        rng, share = np.random.default_rng(seed), batch // self.world.size
        targets = np.eye(CLASSES, dtype=np.float32)[labels][:, :, None, None]
        first = self.world.rank * share
        for _ in range(epochs):
            order = rng.permutation(len(images))
            losses = []
            for start in range(0, len(images) - batch + 1, batch):
                chosen = order[start + first : start + first + share]
                losses.append(self.learn(self.handle.asarray(images[chosen]), self.handle.asarray(targets[chosen])))
            yield [float(np.asarray(self._host(loss)).sum()) for loss in losses]

    def _host(self, loss: Any) -> Any:
        return loss.cpu() if hasattr(loss, "cpu") else self.handle.to_numpy(loss)


def run(world: Alone, backend: str, epochs: int, output: str) -> None:
    """Train one rank; the first one prints, and writes all losses."""
    if BATCH % world.size:
        raise SystemExit(f"batches of {BATCH} have no equal shares for {world.size} ranks")
    data = digits.load()
    losses = []
    with world.open(backend) as handle:
        net = DataParallelLeNet(handle, world, *data.train_images.shape[2:], seed=0)
        for epoch, found in enumerate(net.train(data.train_images, data.train_labels, epochs, BATCH, seed=0)):
            losses += found
            if world.rank == 0:
                print(f"epoch {epoch + 1}: loss {np.mean(found):.4f} on {world.size} x {handle.info.name}", flush=True)
    world.close()
    if world.rank == 0 and output:
        Path(output).write_text(json.dumps(losses), encoding="utf-8")


def _nccl(rank: int, options: argparse.Namespace) -> None:
    run(Nccl(rank, options.ranks), options.backend, options.epochs, options.output)


def main(argv: Sequence[str] | None = None) -> None:
    """Train, on as many ranks as there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("communicator", nargs="?", default="alone", choices=("alone", "mpi", "nccl", "torch"))
    parser.add_argument("--backend", default="auto", help="where a rank computes, for mpi and alone")
    parser.add_argument("--ranks", type=int, default=2, help="of nccl, which starts its processes itself")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--output", default="", help="file for the loss of every step")
    options = parser.parse_args(argv)
    if options.communicator == "nccl":
        multiprocessing.set_start_method("fork", force=True)  # CuPy's store of addresses is a process, and has locks
        ranks = [multiprocessing.Process(target=_nccl, args=(rank, options)) for rank in range(options.ranks)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
        if any(rank.exitcode for rank in ranks):
            raise SystemExit("a rank failed")
        return
    world = {"alone": Alone, "mpi": Mpi, "torch": Torch}[options.communicator]()
    run(world, options.backend, options.epochs, options.output)


if __name__ == "__main__":
    main()
