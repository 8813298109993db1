"""Ranks of synchronised batch normalisation: handles with streams or queues of their own, which run one graph each."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import numpy as np

import portadnn as dnn
import portadnn.graph as cudnn
from portadnn.graph.layout import channels_last, row_major
from portadnn.registry import get_backend

D = cudnn.data_type
EPSILON, MOMENTUM = 2.0**-10, 0.25


def graph_of(handle, shape, ranks, rank=None, *, kind=D.FLOAT, nhwc=False, running=False, backward=False):
    """Return a built graph of one rank and its tensors by name; forward, or the gradients."""
    real = D.DOUBLE if kind is D.DOUBLE else D.FLOAT
    g = cudnn.pygraph(handle=handle, io_data_type=kind, intermediate_data_type=real, compute_data_type=real)

    def given(dims, data_type=real):
        strides = channels_last(dims) if nhwc and data_type is kind else row_major(dims)
        return g.tensor(dim=list(dims), stride=list(strides), data_type=data_type)

    c = shape[1]
    p = (1, c, *(1,) * (len(shape) - 2))
    t = {"x": given(shape, kind), "scale": given(p)}
    peers = [given((ranks, 4 * c, 1, 1)) for _ in range(ranks)]
    if backward:
        t |= {"dy": given(shape, kind), "mean": given(p), "inverse": given(p)}
        order = (t["dy"], t["x"], t["scale"], t["mean"], t["inverse"])
        results = dict(zip(("dx", "dscale", "dbias"), g.batchnorm_backward(*order, peers, peer_rank=rank), strict=True))
    else:
        t["bias"] = given(p)
        before = {name: given(p) for name in ("old_mean", "old_variance")} if running else {}
        made = g.batchnorm(
            *(t["x"], t["scale"], t["bias"], before.get("old_mean"), before.get("old_variance")),
            epsilon=EPSILON,
            momentum=MOMENTUM if running else None,
            peer_stats=peers,
            peer_rank=rank,
        )
        results = dict(zip(("y", "mean", "inverse", "new_mean", "new_variance"), made, strict=True))
        results = {name: one for name, one in results.items() if one is not None}
        t |= before
    for name, one in results.items():
        one.set_output(True).set_data_type(kind if name in ("y", "dx") else real)
        if name in ("y", "dx"):
            one.set_stride(list(channels_last(shape) if nhwc else row_major(shape)))
    g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    return g, t, results, peers


class Ranks:
    """So many ranks on a backend: on one device, each with a stream or queue of its own, or on several devices."""

    def __init__(self, backend, count, devices=None):
        self.backend, self.count = backend, count
        self.stack = ExitStack()
        self.handles = []
        for rank in range(count):
            stream, device = None, None if devices is None else devices[rank]
            if backend == "opencl" and self.handles:
                import pyopencl as cl

                queue = self.handles[0].device.stream
                stream = cl.CommandQueue(queue.context, queue.device)
            if backend == "cuda":
                import cupy

                with cupy.cuda.Device(device or 0):
                    stream = cupy.cuda.Stream(non_blocking=True)
                    with stream:  # for CuPy's pool: new memory is mapped on peers, and waits for what runs there
                        cupy.empty(1 << 26, np.uint8)
            self.handles.append(self.stack.enter_context(dnn.Handle(backend, device, stream=stream)))
        self.waits_on_device = "peer_memory" in get_backend(backend).devices()[0].features
        self.graphs = {}
        self.buffers = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stack.close()

    def each(self, function):
        """Call a function of the rank in a thread of its own for each, and return what came; the first error is raised.

        Ranks that wait on the device need no threads: one after another, they are only enqueued.
        """
        found, errors = [None] * self.count, []

        def call(rank):
            try:
                found[rank] = function(rank)
            except BaseException as error:  # to be raised in the test's thread
                errors.append(error)

        if self.waits_on_device:
            for rank in range(self.count):
                call(rank)
        else:
            threads = [threading.Thread(target=call, args=(rank,)) for rank in range(self.count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        return found

    def peers(self, c, dtype, one_rank=False):
        """Return zeros for the ranks' buffers; the same ones again for the same sizes."""
        key = (c, np.dtype(dtype), one_rank)
        if key not in self.buffers:
            empty = np.zeros((self.count, 4 * c, 1, 1), dtype)
            self.buffers[key] = [handle.asarray(empty) for handle in self.handles]
            for handle in self.handles:
                handle.synchronize()
        return self.buffers[key]

    def run(self, given, shape, *, times=1, **options):
        """Run a graph on every rank with its own inputs, and return the results by run and rank."""
        graphs = [self._graph(rank, shape, options) for rank in range(self.count)]
        packs, outputs = [], []
        for handle, (_, tensors, results, peers), inputs in zip(self.handles, graphs, given, strict=True):
            real = peers[0].get_data_type().storage
            pack = {tensors[name]: on(handle, name, values, options) for name, values in inputs.items()}
            outs = {}
            for name, one in results.items():
                empty = np.full(one.get_dim(), np.nan, one.get_data_type().storage)
                outs[name] = on(handle, name, empty, options)
            pack |= {results[name]: array for name, array in outs.items()}
            pack |= dict(zip(peers, self.peers(shape[1], real), strict=True))
            packs.append(pack)
            outputs.append(outs)
        for handle in self.handles:
            handle.synchronize()
        runs = []
        for _ in range(times):
            self.each(lambda rank: graphs[rank][0].execute(packs[rank], None, self.handles[rank]))
            got = [
                {name: np.array(handle.to_numpy(array)) for name, array in outs.items()}
                for handle, outs in zip(self.handles, outputs, strict=True)
            ]
            runs.append(got)
        return runs

    def _graph(self, rank, shape, options):
        key = (rank, shape, *sorted(options.items()))
        if key not in self.graphs:
            made = graph_of(self.handles[rank], shape, self.count, rank, **options)
            self.graphs[key] = made
            if self.waits_on_device:
                self._warm(rank, made, shape, options)
        return self.graphs[key]

    def _warm(self, rank, made, shape, options):
        """Run a rank alone, with buffers in which the others have come already: loading a kernel waits for others.

        The driver may load one when it is first launched, and waits for all kernels of the device then.
        """
        g, tensors, results, peers = made
        handle, real = self.handles[rank], peers[0].get_data_type().storage
        buffers = arrived(handle, rank, self.count, shape[1], real)
        pack = dict(zip(peers, buffers, strict=True))
        for name, one in {**tensors, **results}.items():
            pack[one] = on(handle, name, np.ones(one.get_dim(), one.get_data_type().storage), options)
        g.execute(pack, None, handle)
        handle.synchronize()


def on(handle, name, values, options):
    """Return an array of the handle's, laid out as the graph has that tensor."""
    if options.get("nhwc") and name in ("x", "dy", "y", "dx"):
        return handle.asarray(values, format="nhwc")
    return handle.asarray(values)


def arrived(handle, rank, count, c, dtype, values=None):
    """Return peer buffers in which all other ranks' numbers stand already, as their kernels would have left them.

    `values` are pairs of arrays of c numbers by rank.
    """
    word = np.uint32 if np.dtype(dtype).itemsize == 4 else np.uint64
    own = np.zeros((count, 2, c, 2), dtype)
    for other in range(count):
        if other != rank:
            own[other, ..., 0] = 1 if values is None else values[other]
            own[other, ..., 1] = np.array(1, word).view(dtype)
    buffers = [np.zeros((count, 4 * c, 1, 1), dtype) for _ in range(count)]
    buffers[rank] = own.reshape(count, 4 * c, 1, 1)
    return [handle.asarray(one) for one in buffers]
