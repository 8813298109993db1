"""Batch normalisation whose statistics several ranks share, against float64 on all their batches together."""

from __future__ import annotations

import types

import numpy as np
import pytest
from peer_ranks import EPSILON, MOMENTUM, D, Ranks, arrived, graph_of
from where import BACKENDS, among, open_handle

import portadnn as dnn
import portadnn.graph as cudnn
from portadnn.ops.batch_norm import BatchNormalizationBackward, BatchNormalizationForwardTraining
from portadnn.problem import TensorSpec
from portadnn.tolerance import tolerance
from portadnn_backends.cuda import peers as cuda_peers

KINDS = (D.FLOAT, D.HALF, D.DOUBLE, D.BFLOAT16)
SHAPES = (  # rows, columns, slices; 5 dims; a single channel or image
    *((2, 3, 5, 4), (1, 8, 6, 6), (3, 1, 7, 1), (2, 5, 2, 3, 4), (1, 4, 61, 67), (4, 33, 1, 1)),
    *((2, 16, 9, 8), (5, 2, 3, 3)),
)


@pytest.fixture(scope="module", params=among("reference", "opencl", "cuda"))
def backend(request):
    open_handle(request.param).close()
    return request.param


@pytest.fixture(scope="module", params=[2, 4])
def ranks(request, backend):
    with Ranks(backend, request.param) as found:
        yield found


def drawn(count, seed):
    """Return a drawn case: shape, options, and what each rank is given forward and backward."""
    rng = np.random.default_rng(seed % 24)  # so many graphs, whose kernels compile once
    shape = SHAPES[rng.integers(len(SHAPES))]
    kind = KINDS[rng.integers(len(KINDS))]
    options = {"kind": kind, "nhwc": bool(rng.integers(2)), "running": bool(rng.integers(2))}
    rng = np.random.default_rng(seed)
    real = np.float64 if kind is D.DOUBLE else np.float32
    c = shape[1]
    p = (1, c, *(1,) * (len(shape) - 2))
    shift, spread = rng.standard_normal(p), rng.uniform(0.5, 2, p)
    scale, bias = rng.standard_normal((2, *p)).astype(real)
    old = {"old_mean": rng.standard_normal(p).astype(real), "old_variance": rng.uniform(0.5, 2, p).astype(real)}
    forward, gradients = [], []
    for rank in range(count):
        x = kind.stored(shift + spread * (rng.standard_normal(shape) + rank / 4))
        forward.append({"x": x, "scale": scale, "bias": bias, **(old if options["running"] else {})})
        gradients.append(kind.stored(rng.standard_normal(shape)))
    return shape, options, forward, gradients


def problem_of(kind, shape, backward):
    """Return the Problem of the whole batch, for its tolerance."""
    x = TensorSpec.packed(kind.problem_type, shape)
    p = TensorSpec.packed(x.dtype.accumulator, (1, shape[1], *(1,) * (len(shape) - 2)))
    if backward:
        return BatchNormalizationBackward(x, x, x, p, p, p, p, p)
    return BatchNormalizationForwardTraining(x, x, p, p, p, p, p, p)


def close(problem, name, got, want, terms):
    """Demand that numbers are as near as the tolerance function allows."""
    bound = tolerance(problem, want, np.broadcast_to(terms, want.shape), name)
    off = np.abs(got.astype(np.float64) - want) - bound
    assert (off <= 0).all(), f"{name} is off by {off.max()} more than {bound.flat[off.argmax()]}"


def whole(values, name="x"):
    return np.concatenate([one[name].astype(np.float64) for one in values])


def check_forward(shape, kind, forward, runs, same=True):
    x = whole(forward)
    axes = (0, *range(2, len(shape)))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + EPSILON)
    scale, bias = (forward[0][name].astype(np.float64) for name in ("scale", "bias"))
    problem = problem_of(kind, x.shape, False)
    y = (x - mean) * inverse * scale + bias
    size = np.abs(scale) * inverse * (np.abs(x - mean) + np.abs(mean) + np.sqrt(variance)) + np.abs(bias)
    for got in runs:
        close(problem, "y", whole(got, "y"), y, size)
        for one in got:
            close(problem, "saved_mean", one["mean"], mean, np.abs(mean) + np.sqrt(variance))
            close(problem, "saved_inv_variance", one["inverse"], inverse, inverse)
            assert not same or one["mean"].tobytes() == got[0]["mean"].tobytes()
            if "new_mean" in one:
                old, rest = forward[0], 1 - MOMENTUM
                unbiased = variance * x.size / (x.size - mean.size)
                want = rest * old["old_mean"] + MOMENTUM * mean
                close(problem, "running_mean", one["new_mean"], want, np.abs(want) + np.abs(mean) + np.sqrt(variance))
                want = rest * old["old_variance"] + MOMENTUM * unbiased
                close(problem, "running_variance", one["new_variance"], want, want)
    return mean, inverse


def check_backward(shape, kind, given, runs):
    x, dy = whole(given), whole(given, "dy")
    axes = (0, *range(2, len(shape)))
    mean, inverse, scale = (given[0][name].astype(np.float64) for name in ("mean", "inverse", "scale"))
    z = (x - mean) * inverse
    count = x.size // shape[1]
    dbias, dscale = dy.sum(axes, keepdims=True), (dy * z).sum(axes, keepdims=True)
    dx = scale * inverse * (dy - dbias / count - z * dscale / count)
    problem = problem_of(kind, x.shape, True)
    sizes, products = np.abs(dy).sum(axes, keepdims=True), (np.abs(dy) * (np.abs(z) + 1)).sum(axes, keepdims=True)
    size = np.abs(scale) * inverse * (np.abs(dy) + (sizes + products) / count * (1 + np.abs(z)))
    for got in runs:
        close(problem, "dx", whole(got, "dx"), dx, size)
        for one in got:
            close(problem, "dscale", one["dscale"], dscale, products)
            close(problem, "dbias", one["dbias"], dbias, sizes)


def same_bits(runs):
    """Demand that all runs have the bits of the first."""
    for got in runs[1:]:
        for one, first in zip(got, runs[0], strict=True):
            for name, values in one.items():
                assert values.tobytes() == first[name].tobytes(), name


def check_case(ranks, seed, times=2):
    """Run a drawn case forward and backward."""
    shape, options, forward, gradients = drawn(ranks.count, seed)
    runs = ranks.run(forward, shape, times=times, **options)
    mean, inverse = check_forward(shape, options["kind"], forward, runs)
    same_bits(runs)
    real = forward[0]["scale"].dtype
    saved = {"mean": mean.astype(real), "inverse": inverse.astype(real)}
    given = [
        {"x": one["x"], "scale": one["scale"], "dy": dy, **saved} for one, dy in zip(forward, gradients, strict=True)
    ]
    options = {"kind": options["kind"], "nhwc": options["nhwc"], "backward": True}
    runs = ranks.run(given, shape, times=times, **options)
    check_backward(shape, options["kind"], given, runs)
    same_bits(runs)


def test_ranks_agree_with_one_on_the_whole_batch(ranks):
    for seed in range(6 - ranks.count):
        check_case(ranks, seed)


@pytest.mark.long
def test_forty_drawn_cases(ranks):
    """Of two and of four ranks, twenty of each."""
    for seed in range(100, 120):
        check_case(ranks, seed, times=1)


def test_ten_runs_have_the_same_bits(ranks):
    check_case(ranks, 24, times=10)


def test_inputs_that_change_in_place_are_exchanged_again(backend):
    """Calls that are made again from the third on, with the same arrays."""
    with Ranks(backend, 2) as two:
        shape = (2, 3, 4, 4)
        made = [two._graph(rank, shape, {}) for rank in range(2)]
        arrays, packs = [], []
        for handle, (_, tensors, results, peers) in zip(two.handles, made, strict=True):
            values = {name: np.ones(one.get_dim(), np.float32) for name, one in {**tensors, **results}.items()}
            arrays.append({name: handle.asarray(value) for name, value in values.items()})
            pack = {one: arrays[-1][name] for name, one in {**tensors, **results}.items()}
            packs.append(pack | dict(zip(peers, two.peers(3, np.float32), strict=True)))
        rng = np.random.default_rng(3)
        for _ in range(5):
            x = rng.standard_normal((2, *shape)).astype(np.float32)
            for rank, handle in enumerate(two.handles):
                handle.device.write_bytes(arrays[rank]["x"], np.ascontiguousarray(x[rank]).view(np.uint8).reshape(-1))
            two.each(lambda rank: made[rank][0].execute(packs[rank], None, two.handles[rank]))
            for handle, known in zip(two.handles, arrays, strict=True):
                want = x.astype(np.float64).mean((0, 1, 3, 4))
                np.testing.assert_allclose(handle.to_numpy(known["mean"]).reshape(-1), want, atol=1e-6)


def alone(backend, rank=0, count=2, **options):
    """Return a handle with the graph of one rank, and a pack for it."""
    handle = open_handle(backend)
    g, tensors, results, peers = graph_of(handle, (2, 3, 4, 4), count, rank, **options)
    pack = {
        one: handle.asarray(np.ones(one.get_dim(), np.float32))
        for one in (*tensors.values(), *results.values(), *peers)
    }
    for one in peers:
        pack[one] = handle.asarray(np.zeros(one.get_dim(), np.float32))
    return handle, g, pack, results, peers


@pytest.mark.parametrize("seconds", ["0.2"])
def test_a_rank_that_does_not_come_ends_the_wait(backend, seconds, monkeypatch):
    monkeypatch.setenv("PORTADNN_PEER_SECONDS", seconds)
    handle, g, pack, results, _ = alone(backend)
    with handle:
        if "peer_memory" in handle.info.features:
            g.execute(pack, None, handle)
            assert np.isnan(handle.to_numpy(pack[results["mean"]])).all()
            return
        with pytest.raises(dnn.ExecutionFailed, match=r"rank 0 of 2 .*PORTADNN_PEER_SECONDS.* ranks \[1\]"):
            g.execute(pack, None, handle)


def test_wrong_seconds(backend, monkeypatch):
    monkeypatch.setenv("PORTADNN_PEER_SECONDS", "soon")
    handle, g, pack, _, _ = alone(backend)
    with handle, pytest.raises(dnn.BadParam, match="PORTADNN_PEER_SECONDS"):
        g.execute(pack, None, handle)


def test_one_buffer_for_two_ranks(backend):
    handle, g, pack, _, peers = alone(backend)
    with handle, pytest.raises(dnn.BadParam, match="a buffer for each rank"):
        g.execute({**pack, peers[1]: pack[peers[0]]}, None, handle)


def test_what_is_no_buffer_or_too_small(backend):
    handle, g, pack, _, peers = alone(backend)
    with handle:
        for wrong in (1.5, handle.asarray(np.zeros((2, 3, 1, 1), np.float32))):
            with pytest.raises(cudnn.GraphError, match="PG-PACK-006"):
                g.execute({**pack, peers[1]: wrong}, None, handle)


def test_a_rank_that_nothing_says(backend):
    """Memory of one device does not say which rank it is, but for queues of OpenCL."""
    handle, g, pack, _, _ = alone(backend, rank=None, count=3)
    with handle, pytest.raises(dnn.BadParam, match="peer_rank"):
        g.execute(pack, None, handle)


def test_checks_need_all_ranks(backend):
    handle, g, pack, _, _ = alone(backend)
    with handle, pytest.raises(cudnn.GraphError, match=r"PG-NODE-004.*peer_stats"):
        g.execute(pack, None, handle, check="reference")


@pytest.mark.parametrize("format", ["hipdnn", "hipdnn-json", "cudnn-frontend"])
@pytest.mark.parametrize("backward", [False, True])
def test_files_keep_peer_buffers(format, backward):
    if format == "hipdnn":
        pytest.importorskip("flatbuffers")
    with open_handle("reference") as handle:
        g, *_ = graph_of(handle, (2, 3, 4, 5), 2, backward=backward)
        again = cudnn.pygraph(handle=handle)
        again.deserialize(g.serialize_as(format))
        again.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        assert str(again._graph_frozen().canonical()) == str(g._graph_frozen().canonical())
        assert g.check_against("hipdnn").answer == "unknown"
        named, *_ = graph_of(handle, (2, 3, 4, 5), 2, 1, backward=backward)
        with pytest.raises(cudnn.GraphError, match="peer_rank"):  # that is portadnn's own
            named.serialize_as(format)


def test_ranks_of_different_sizes_are_told_so():
    """Over the host; on a GPU nobody sees it."""
    with Ranks("reference", 2) as two:
        buffers = two.peers(3, np.float32)
        made = [graph_of(two.handles[rank], (2 + rank, 3, 4, 4), 2, rank) for rank in range(2)]

        def run(rank):
            g, tensors, results, peers = made[rank]
            pack = {one: np.ones(one.get_dim(), np.float32) for one in (*tensors.values(), *results.values())}
            with pytest.raises(dnn.BadParam, match="the same sizes on all ranks"):
                g.execute(pack | dict(zip(peers, buffers, strict=True)), None, two.handles[rank])

        two.each(run)


def test_two_ranks_of_one_number(monkeypatch):
    monkeypatch.setenv("PORTADNN_PEER_SECONDS", "2")
    with Ranks("reference", 2) as two:
        buffers = two.peers(3, np.float32)
        made = [graph_of(two.handles[rank], (2, 3, 4, 4), 2, 0) for rank in range(2)]

        def run(rank):
            g, tensors, results, peers = made[rank]
            pack = {one: np.ones(one.get_dim(), np.float32) for one in (*tensors.values(), *results.values())}
            with pytest.raises((dnn.BadParam, dnn.ExecutionFailed)) as error:
                g.execute(pack | dict(zip(peers, buffers, strict=True)), None, two.handles[rank])
            return type(error.value)

        assert set(two.each(run)) == {dnn.BadParam, dnn.ExecutionFailed}


def test_ranks_on_different_backends():
    """The host stands between devices that see nothing of each other."""
    if not {"reference", "opencl"} <= set(BACKENDS):
        pytest.skip("reference and opencl are not both to be tested")
    with Ranks("reference", 1) as first, Ranks("opencl", 1) as second:
        handles = [first.handles[0], second.handles[0]]
        mixed = Ranks("reference", 0)
        mixed.handles, mixed.count = handles, 2
        shape, options, forward, _ = drawn(2, 7)
        check_forward(shape, options["kind"], forward, mixed.run(forward, shape, **options), same=False)


# CUDA


@pytest.mark.parametrize("kind", [D.FLOAT, D.DOUBLE])
@pytest.mark.parametrize("backend", among("cuda"))
def test_ranks_that_have_come_already(backend, kind):
    """Nothing waits: tools that run kernels one at a time (compute-sanitizer) see every line of the exchange."""
    rng = np.random.default_rng(11)
    real, shape, count, rank = kind.storage, (3, 70, 5, 4), 3, 1
    x = rng.standard_normal((count, *shape)).astype(real)
    axes, c = (0, 2, 3), shape[1]
    values = [np.stack([one.mean(axes), one.var(axes)]) for one in x.astype(np.float64)]
    with open_handle(backend) as handle:
        g, tensors, results, peers = graph_of(handle, shape, count, rank, kind=kind)
        given = {"x": x[rank], "scale": np.ones((1, c, 1, 1), real), "bias": np.zeros((1, c, 1, 1), real)}
        pack = {tensors[name]: handle.asarray(value) for name, value in given.items()}
        pack |= {one: handle.asarray(np.zeros(one.get_dim(), real)) for one in results.values()}
        buffers = arrived(handle, rank, count, c, real, values)
        g.execute(pack | dict(zip(peers, buffers, strict=True)), None, handle)
        everything = x.transpose(0, 1, 3, 4, 2).reshape(-1, c).astype(np.float64)
        unit = 1e-5 if kind is D.FLOAT else 1e-12
        got = handle.to_numpy(pack[results["mean"]]).reshape(-1)
        np.testing.assert_allclose(got, everything.mean(0), atol=unit)
        want = 1 / np.sqrt(everything.var(0) + EPSILON)
        np.testing.assert_allclose(handle.to_numpy(pack[results["inverse"]]).reshape(-1), want, rtol=unit)
        assert not handle.to_numpy(buffers[rank]).any(), "what is read becomes zero again"
        sent = [handle.to_numpy(buffers[other]).reshape(count, 2, c, 2) for other in (0, 2)]
        for one in sent:
            np.testing.assert_allclose(one[rank, ..., 0], values[rank], atol=unit)
            assert not one[[0, 2]].any()


@pytest.mark.parametrize("backend", among("cuda"))
def test_two_devices(backend):
    """Peer memory between devices, which say themselves which rank they are."""
    import cupy

    open_handle(backend).close()
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one device")
    with Ranks(backend, 2, devices=(0, 1)) as two:
        for seed in range(40):
            check_case(two, seed)
        check_case(two, 1000, times=10)
        shape, options, forward, _ = drawn(2, 5)
        made = [graph_of(two.handles[rank], shape, 2, None, **options) for rank in range(2)]
        packs = []
        for rank, (_, tensors, results, peers) in enumerate(made):
            handle, real = two.handles[rank], peers[0].get_data_type().storage
            pack = {tensors[name]: handle.asarray(value) for name, value in forward[rank].items()}
            for one in results.values():
                array = handle.empty(one.get_dim(), one.get_data_type().storage)
                pack[one] = array
            packs.append(pack | dict(zip(peers, two.peers(shape[1], real), strict=True)))
        if not options["nhwc"]:
            two.each(lambda rank: made[rank][0].execute(packs[rank], None, two.handles[rank]))
            means = [two.handles[rank].to_numpy(packs[rank][made[rank][2]["mean"]]) for rank in range(2)]
            assert means[0].tobytes() == means[1].tobytes()


@pytest.mark.parametrize("backend", among("cuda"))
def test_host_memory_is_no_peer_buffer(backend):
    handle, g, pack, _, peers = alone(backend)
    with handle, pytest.raises(cudnn.GraphError, match=r"PG-PACK-006.*CUDA device"):
        g.execute({**pack, peers[1]: np.zeros((2, 12, 1, 1), np.float32)}, None, handle)


def test_devices_that_do_not_see_each_other_are_refused(monkeypatch):
    runtime = types.SimpleNamespace(deviceCanAccessPeer=lambda index, other: 0)
    fake = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    monkeypatch.setattr(cuda_peers, "cupy", lambda: fake)
    with pytest.raises(dnn.NotSupported, match="device 0 does not reach the memory of device 7"):
        cuda_peers.enable(0, 7)
