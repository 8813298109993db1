"""Sixteen threads on one handle: repeated calls of all kinds, while scratch memory grows and caches are emptied.

``python tests/thread_storm.py BACKEND SECONDS`` prints as JSON what was done, and every error; with one it exits with
1. All data are small integers, so that every result is exact, and NumPy says beforehand what it is.
PORTADNN_NO_POOL=1 gives each CUDA array an allocation of its own, in which compute-sanitizer sees overruns.
"""

from __future__ import annotations

import collections
import contextlib
import faulthandler
import gc
import json
import os
import random
import sys
import threading
import time
import traceback
from dataclasses import dataclass

import numpy as np

import portadnn as dnn
from portadnn import cudnn, graph
from portadnn.dispatch.choice import PLAN_HOOKS

THREADS = 16
POISON = 77.0
SIZES = ((1, 2, 6, 6, 3), (2, 4, 9, 9, 4), (2, 8, 13, 13, 8), (2, 8, 21, 21, 16))  # n, c, h, w and filters: they grow
RELU = dnn.ActivationDescriptor("relu")
SAME = dnn.ConvolutionDescriptor(padding=(1, 1))
ADD = dnn.OpTensorDescriptor("add")


@dataclass
class Job:
    """A call that is made again and again, the arrays that it writes, and what they hold then."""

    name: str
    call: object
    outputs: tuple
    wanted: tuple


def integers(shape, seed):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def convolved(x, w):
    """Return the convolution that keeps the image's size, from its definition."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("nchwrs,kcrs->nkhw", np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)), w)


class World:
    """What all threads share: the handle, inputs with what is to become of them, and graphs."""

    def __init__(self, handle):
        self.handle = handle
        self.algo = None if handle.backend == "reference" else "gemm"
        self.x = [integers((n, c, h, w), 1) for n, c, h, w, _ in SIZES]
        self.w = [integers((k, c, 3, 3), 2) for _, c, _, _, k in SIZES]
        self.y = [convolved(x, w) for x, w in zip(self.x, self.w, strict=True)]
        self.device_x, self.device_w = ([handle.asarray(a) for a in arrays] for arrays in (self.x, self.w))
        self.shared = handle.asarray(np.maximum(self.x[1], 0))
        self.graph, self.ports = self._graph(1)
        handle.synchronize()

    def _graph(self, size):
        """Return a graph of two layers, which has a workspace for what lies between them, and its tensors."""
        x, w, y = self.x[size], self.w[size], self.y[size]
        types = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"), graph.data_type.FLOAT)
        made = graph.pygraph(handle=self.handle, **types)
        image, weight, second = (
            made.tensor(name=name, dim=a.shape, stride=[s // 4 for s in a.strides])
            for name, a in (("x", x), ("w", w), ("w2", w))
        )
        assert x.shape[1] == y.shape[1], "the second layer takes what the first one gives"
        middle = made.relu(made.conv_fprop(image, weight, padding=[1, 1], stride=[1, 1], dilation=[1, 1]))
        out = made.conv_fprop(middle, second, padding=[1, 1], stride=[1, 1], dilation=[1, 1])
        out.set_output(True).set_dim(y.shape).set_stride([s // 4 for s in y.strides])
        made.build([graph.heur_mode.A, graph.heur_mode.FALLBACK])
        return made, (image, weight, second, out)

    def workspace_sizes(self):
        return [
            dnn.get_convolution_forward_workspace_size(self.handle, x, w, SAME, self.handle.empty(y.shape), self.algo)
            for x, w, y in zip(self.device_x, self.device_w, self.y, strict=True)
        ]

    def empty(self, shape):
        return self.handle.asarray(np.full(shape, POISON, np.float32))


# what threads do


def unified_jobs(world):
    handle, (x, other) = world.handle, (world.device_x[1], world.handle.asarray(world.x[1]))
    y, total = world.empty(world.x[1].shape), world.empty(world.x[1].shape)
    image, sums = world.device_x[3], world.empty((1, world.x[3].shape[1], 1, 1))
    yield Job("relu", lambda: dnn.activation_forward(handle, x, RELU, y), (y,), (np.maximum(world.x[1], 0),))
    yield Job("add", lambda: dnn.op_tensor(handle, ADD, x, other, total), (total,), (2 * world.x[1],))
    yield Job(
        "bias gradient",
        lambda: dnn.convolution_backward_bias(handle, image, sums),
        (sums,),
        (world.x[3].sum((0, 2, 3)).reshape(1, -1, 1, 1),),
    )


def convolution_jobs(world):
    """Convolutions on the handle's scratch memory, each size of them."""
    handle = world.handle
    for x, w, wanted in zip(world.device_x, world.device_w, world.y, strict=True):
        y = world.empty(wanted.shape)

        def call(x=x, w=w, y=y):
            dnn.convolution_forward(handle, x, w, SAME, y, algo=world.algo)

        yield Job("convolution", call, (y,), (wanted,))


def c_jobs(world):
    """The same by cuDNN's names, with a workspace of the thread's own."""
    handle, size = world.handle, 1
    x, w, wanted = world.device_x[size], world.device_w[size], world.y[size]
    y, z = world.empty(wanted.shape), world.empty(wanted.shape)
    x_desc, y_desc = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(x_desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, *world.x[size].shape)
    cudnn.cudnnSetTensor4dDescriptor(y_desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, *wanted.shape)
    w_desc, conv_desc = cudnn.cudnnCreateFilterDescriptor(), cudnn.cudnnCreateConvolutionDescriptor()
    cudnn.cudnnSetFilter4dDescriptor(w_desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_TENSOR_NCHW, *world.w[size].shape)
    cudnn.cudnnSetConvolution2dDescriptor(conv_desc, 1, 1, 1, 1, 1, 1, cudnn.CUDNN_CROSS_CORRELATION)
    relu = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(relu, cudnn.CUDNN_ACTIVATION_RELU, cudnn.CUDNN_NOT_PROPAGATE_NAN, 0.0)
    algo = cudnn.CUDNN_CONVOLUTION_FWD_ALGO_GEMM
    if world.algo is None:
        algo = cudnn.cudnnGetConvolutionForwardAlgorithm(handle, x_desc, w_desc, conv_desc, y_desc, 0, 0)
    need = cudnn.cudnnGetConvolutionForwardWorkspaceSize(handle, x_desc, w_desc, conv_desc, y_desc, algo)
    workspace = handle.empty_bytes(need) if need else None

    def convolve():
        cudnn.cudnnConvolutionForward(
            *(handle, 1.0, x_desc, x, w_desc, w, conv_desc, algo, workspace, need, 0.0, y_desc, y)
        )

    yield Job("cudnnConvolutionForward", convolve, (y,), (wanted,))
    yield Job(
        "cudnnActivationForward",
        lambda: cudnn.cudnnActivationForward(handle, relu, 1.0, x_desc, x, 0.0, x_desc, z),
        (z,),
        (np.maximum(world.x[size], 0),),
    )


def graph_jobs(world):
    """One graph for all threads, each with a pack of its own."""
    x, w, wanted = world.x[1], world.w[1], np.maximum(world.y[1], 0)
    y = world.empty(wanted.shape)
    values = (world.handle.asarray(x), world.device_w[1], world.handle.asarray(w), y)
    pack = dict(zip(world.ports, values, strict=True))
    yield Job("graph", lambda: world.graph.execute(pack), (y,), (convolved(wanted, w),))


JOBS = (unified_jobs, convolution_jobs, c_jobs, graph_jobs)


def jobs_of(world):
    return [job for make in JOBS for job in make(world)]


def shared_output(world):
    """Every thread writes the same numbers to the same place."""
    for _ in range(3):
        dnn.activation_forward(world.handle, world.device_x[1], RELU, world.shared)
    compare("shared output", world.handle.to_numpy(world.shared), np.maximum(world.x[1], 0))


def output_left_out(world):
    for _ in range(3):
        y = dnn.activation_forward(world.handle, world.device_x[1], RELU)
    compare("output left out", world.handle.to_numpy(y), np.maximum(world.x[1], 0))


def refused(world):
    for _ in range(3):
        with contextlib.suppress(dnn.BadParam):
            dnn.activation_forward(world.handle, world.device_x[1], RELU, world.shared, alpha=1e300)
            raise AssertionError("alpha=1e300 was taken")


# what disturbs them


class Growth:
    """Asks for more of the handle's scratch memory each time, and counts how often that is a new block."""

    STEP = 1 << 16

    def __init__(self):
        self.replaced = self._size = 0

    def grow(self, world):
        self._size = size = self._size + self.STEP
        self.replaced += world.handle.device.workspace_size(world.handle.scratch(size)) == size

    def clear(self, world):
        world.handle.clear_cache()
        self._size = 0


def collect(_):
    gc.collect()


def compare(name, found, wanted):
    if not np.array_equal(found, wanted):
        raise AssertionError(f"{name}: {np.count_nonzero(found != wanted)} of {wanted.size} elements are wrong")


class Storm:
    """The threads, what they did, and what went wrong."""

    def __init__(self, world, seconds):
        self.world = world
        self.seconds = seconds
        self.counts = collections.Counter()
        self.errors = []
        self.bound = 0
        self.growth = Growth()
        self.start = threading.Barrier(THREADS + 1)
        self.stop = threading.Event()

    def work(self, number):
        """What one thread does."""
        try:
            with own_stream(self.world.handle, number):
                self.start.wait()
                self.repeat(random.Random(number))
        except BaseException:
            self.errors.append(traceback.format_exc())
            self.stop.set()

    def repeat(self, choose):
        counts, world = collections.Counter(), self.world
        jobs = jobs_of(world)
        others = (shared_output, output_left_out, refused)
        disturbing = (self.growth.clear, collect)
        while not self.stop.is_set():
            place = choose.randrange(len(jobs))
            job = jobs[place]
            make_again(world, job, choose.randrange(1, 8))
            counts[job.name] += 1
            chance = choose.random()
            if chance < 0.2:
                self.growth.grow(world)
            elif chance < 0.4:
                other = choose.choice(others)
                other(world)
                counts[other.__name__] += 1
            elif chance < 0.43:
                other = choose.choice(disturbing)
                other(world)
                counts[other.__name__] += 1
            elif chance < 0.46:  # new arrays, and the old ones go
                jobs[place] = next(new for new in jobs_of(world) if new.name == job.name)
            self.bound = max(self.bound, world.handle.cache_info().calls)
        self.counts.update(counts)

    def run(self):
        """Run all threads; for the first half of the time compiled kernels stay, so that plans come back quickly."""
        kept = []
        hook = keeping(kept)
        PLAN_HOOKS.append(hook)
        threads = [threading.Thread(target=self.work, args=(number,), daemon=True) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        self.start.wait()
        self.stop.wait(self.seconds / 2)
        PLAN_HOOKS.remove(hook)
        kept.clear()
        self.stop.wait(self.seconds / 2)
        self.stop.set()
        for thread in threads:
            thread.join()


def make_again(world, job, times):
    """Make a job's call so often, and see what it wrote."""
    for output in job.outputs:
        dnn.set_tensor(world.handle, output, POISON)
    for _ in range(times):
        job.call()
    for output, wanted in zip(job.outputs, job.wanted, strict=True):
        compare(job.name, world.handle.to_numpy(output), wanted)


def keeping(kept):
    def hook(handle, plan):
        kept.append(plan)
        return plan

    return hook


@contextlib.contextmanager
def own_stream(handle, number):
    """On CUDA every other thread works on a stream of its own."""
    if handle.backend != "cuda" or number % 2:
        yield
        return
    import cupy

    with cupy.cuda.Stream(non_blocking=True) as stream:
        yield
        stream.synchronize()


def room_for_most(backend):
    """Return how many bytes all plans but one take, so that one has to go again and again."""
    with dnn.Handle(backend) as handle:
        world = World(handle)
        for job in jobs_of(world):
            make_again(world, job, 1)
        return handle.cache_info().nbytes - 1


def main():
    backend, seconds = sys.argv[1], float(sys.argv[2])
    if backend == "cuda" and os.environ.get("PORTADNN_NO_POOL") == "1":
        import cupy

        cupy.cuda.set_allocator(None)
    faulthandler.enable()
    faulthandler.dump_traceback_later(seconds + 120, exit=True)
    room = room_for_most(backend)
    with dnn.Handle(backend, cache_bytes=room) as handle:
        world = World(handle)
        for job in jobs_of(world):
            make_again(world, job, 2)
        storm, interval = Storm(world, seconds), sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            started = time.monotonic()
            storm.run()
        finally:
            sys.setswitchinterval(interval)
        done = {
            "seconds": round(time.monotonic() - started, 1),
            "counts": dict(storm.counts),
            "bound": storm.bound,
            "replaced": storm.growth.replaced,
            "evicted": handle.cache_info().evicted,
            "workspaces": world.workspace_sizes(),
            "errors": storm.errors,
        }
    print(json.dumps(done))
    sys.exit(1 if storm.errors else 0)


if __name__ == "__main__":
    main()
