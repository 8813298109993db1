"""Kernels that are written for graphs, on every kernel backend and both schedules, against the float64 definitions."""

from __future__ import annotations

import helper
import numpy as np
import pytest
from graphs import D, demand_right, frozen, given, new, numbers, run
from test_graph_fallback import CASES as NODES
from test_nvrtc import compile_recorded, recorder_of

import portadnn.graph as cudnn
from portadnn.diff.generate.graphs import JOINED
from portadnn.graph.api.nodes.pointwise import pointwise
from portadnn.graph.pointwise_modes import MODES
from portadnn_backends.base import DeviceInfo
from portadnn_backends.fusion.engine import FusionEngine
from portadnn_backends.fusion.prepare import Prepared

M, R, mode = cudnn.norm_forward_phase, cudnn.reduction_mode, cudnn.pointwise_mode
PAIRS = [
    f"{kind}{way}"
    for kind in ("batchnorm", "layernorm", "adalayernorm", "rmsnorm", "instancenorm")
    for way in ("", "_backward")
]
FUSED = {"pointwise", "reduction", "genstats", "softmax", "bn_finalize", "dbn_weight", "batchnorm_inference", *PAIRS}


def _takes(build):
    """Tell whether all nodes of a graph are of those that kernels are written for."""
    g = new()
    build(g)
    return {node.kind.name for node in g._graph.nodes} <= FUSED


PLAIN_NODES = [name for name, build in NODES.items() if _takes(build)]


def on_all(names=("",)):
    """Parametrise a test with kernel backends and schedules, and with names; a missing backend is skipped once.

    Slow targets take every other name, and the others those between; the rest are ``long``. For every eighth name
    kernels for CPUs are compiled with the optimiser.
    """
    targets = helper.targets()
    shared = len(names) > 1 and len({target.slow for target in targets}) == 2
    params = []
    for target in targets:
        for at, name in enumerate(names[:1] if target.missing else names):
            marks = [pytest.mark.long] * (shared and at % 2 != target.slow)
            which = target if marks or at % 8 else helper.optimised(target)
            params.append(pytest.param(which, name, id=f"{target.name}-{name}", marks=marks))
    return pytest.mark.parametrize(("handle", "name"), params, indirect=["handle"])


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


def evaluate(handle, build, *types, feeds=None):
    """Return a graph, on the fusion engine where it is not the reference's, and its results."""
    g = new(handle, *types)
    inputs, outs = build(g)
    outs = [one for one in outs if one is not None]
    if handle != "reference":
        g.deselect_engines(["fallback", "regions"])
    values = feeds or [numbers(one.get_dim(), 7 + i, low=0.5 if i > 1 else None) for i, one in enumerate(inputs)]
    got = run(g, dict(zip(inputs, values, strict=True)), outs)
    if handle != "reference":
        assert g.get_plan_name() == "eng_fusion"
    return g, got


def check(handle, build, *types, feeds=None, rtol=4e-6, atol=2e-6, names=None):
    """Compare a graph's results with the definitions'; returns the number of kernels."""
    g, got = evaluate(handle, build, *types, feeds=feeds)
    _, want = evaluate("reference", build, *types, feeds=feeds)
    for number, (one, other) in enumerate(zip(got, want, strict=True)):
        what = str(names[number]) if names else f"result {number}"
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol, err_msg=what)
    return g.get_plan_source().count("KERNEL ")


# pointwise nodes

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.625, 2.5, -2.5, 6.0, -30.0, 100.0, np.inf, -np.inf, np.nan]
PARAMETERS = {"elu_alpha": 1.25, "softplus_beta": 1.5, "swish_beta": 0.75}
PARAMETERS |= {"relu_lower_clip_slope": 0.125, "relu_upper_clip": 2.25, "axis": 1}
KINDS = {  # modes whose operands have to be positive, gradients, and the others by their operands
    "of positive numbers": [mode.SQRT, mode.RSQRT, mode.LOG, mode.POW],
    "gradients": [one for one in MODES if MODES[one].backward],
}
_LISTED = {one for ones in KINDS.values() for one in ones}
for _count in (1, 2, 3):
    KINDS[f"{_count} operands"] = [one for one in MODES if MODES[one].operands == _count and one not in _LISTED]


def _operands(kind):
    return max(MODES[one].operands for one in KINDS[kind])


def _all_of(kind, dims):
    """Return what builds one graph of all modes of a kind, and of both ways to clip."""

    def build(g):
        inputs = [x(g, *dims) for _ in range(_operands(kind))]
        outs = []
        for one in KINDS[kind]:
            known = {name: PARAMETERS[name] for name in MODES[one].parameters if name in PARAMETERS}
            outs.append(pointwise(g, one.name, tuple(inputs[: MODES[one].operands]), D.NOT_SET, "", **known))
        if kind == "1 operands":
            outs.append(g.relu(inputs[0], lower_clip=-0.5, upper_clip=2.0))
        return inputs, outs

    return build


@on_all(list(KINDS))
def test_modes(handle, name):
    """Each mode on ordinary numbers, with a part of a vector at the end: one kernel for all."""
    dims = (3, len(SPECIAL) ** 2)
    feeds = [3 * numbers(dims, 5 + i, 0.01 if "positive" in name else None) for i in range(_operands(name))]
    launches = check(handle, _all_of(name, dims), feeds=feeds, names=[*KINDS[name], "relu"])
    assert launches == 1


@on_all(list(KINDS))
def test_special_numbers(handle, name):
    """Infinities, NaN and zeros, every pair of them."""
    count = len(SPECIAL)
    pairs = [np.repeat(SPECIAL, count), np.tile(SPECIAL, count), np.arange(count * count) % 2]
    if name == "gradients":  # an infinite one times what float32 rounds to zero is NaN
        pairs[0] = np.nan_to_num(pairs[0], posinf=8, neginf=-8)
    feeds = [np.stack([one, one[::-1], -one]) for one in pairs[: _operands(name)]]
    check(handle, _all_of(name, (3, count * count)), feeds=feeds, atol=2e-7, names=[*KINDS[name], "relu"])


# types

TYPES = [D.FLOAT, D.DOUBLE, D.HALF, D.BFLOAT16, D.INT8, D.UINT8, D.BOOLEAN, D.INT32, D.INT64, D.FP8_E4M3, D.FP8_E5M2]
EDGES = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 100.4, 127.5, -128.6, 255.5, 300.0, 447.9, 465.0, 6e4, 7e4, 3e9, -3e9, 1e19]
EDGES += [-1e19, 2.0**-9, 3 * 2.0**-11, 2.0**-14, 2.0**-16, 1.5 * 2.0**-17, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 1e-40]
EDGES += [np.inf, -np.inf, np.nan]


@on_all([D.FLOAT, D.DOUBLE, D.INT64])
def test_conversions(handle, name):
    """From a type to every other, by way of virtual tensors, which are rounded, and straight into memory."""
    values = name.rounded(np.concatenate([EDGES, 40 * numbers((70,))]))

    def build(g):
        a = x(g, values.size, data_type=name)
        outs = [g.identity(a).set_data_type(target) for target in TYPES]
        virtual = [g.identity(a).set_data_type(target) for target in TYPES]
        return [a], [*outs, *(g.add(one, 0.25).set_data_type(D.DOUBLE) for one in virtual)]

    check(handle, build, feeds=[values], rtol=1e-7, atol=0, names=[*TYPES, *(f"virtual {one}" for one in TYPES)])


@on_all()
def test_all_types_are_read(handle, name):
    feeds = [kind.rounded(np.concatenate([EDGES, 40 * numbers((70,))])) for kind in TYPES]

    def build(g):
        inputs = [x(g, feeds[0].size, data_type=kind) for kind in TYPES]
        return inputs, [g.identity(one).set_data_type(D.FLOAT) for one in inputs]

    check(handle, build, feeds=feeds, rtol=0, atol=0, names=TYPES)


def _integers(kind):
    def build(g):
        a, b = x(g, 4, 9, data_type=kind), x(g, 4, 9, data_type=kind)
        total = g.add(g.mul(a, b), g.max(a, g.neg(b)))
        sums = g.reduction(a, R.ADD).set_dim([4, 1])
        return [a, b], [total, g.cmp_lt(a, b).set_data_type(D.BOOLEAN), g.div(a, b), sums]

    return build


@on_all([D.INT32, D.INT64])
def test_integers(handle, name):
    """Whole numbers stay exact beyond what float32 holds, and quotients are cut."""
    high = 2**14 if name is D.INT32 else 2**31
    rng = np.random.default_rng(3)
    feeds = [rng.integers(-high, high, (4, 9)) | 1 for _ in range(2)]
    check(handle, _integers(name), name, name, name, feeds=feeds, rtol=0, atol=0)


@on_all([D.INT32, D.INT64])
def test_remainders_by_zero(handle, name):
    """Arithmetic is that of the compute type: in floats, nothing is left of a division by zero, whatever is divided."""
    values = [[7, -7, 0, 5], [3, 0, 0, -3]]

    def build(g):
        a, b = (x(g, 4, data_type=name) for _ in range(2))
        return [a, b], [g.mod(a, b).set_data_type(D.FLOAT)]

    check(handle, build, feeds=values, rtol=0, atol=0)
    g = new("reference")
    inputs, outs = build(g)
    (got,) = run(g, dict(zip(inputs, values, strict=True)), outs)
    np.testing.assert_array_equal(got, [1, np.nan, np.nan, 2])


def _mixed(g):
    a, b = x(g, 3, 40, data_type=D.HALF), x(g, 1, 40, data_type=D.BFLOAT16)
    y = g.relu(g.add(g.mul(a, 0.75).set_data_type(D.HALF), b).set_data_type(D.BFLOAT16))
    flags = g.cmp_gt(y, 0.5).set_data_type(D.BOOLEAN)
    return [a, b], [y.set_data_type(D.HALF), flags, g.binary_select(y, b, flags).set_data_type(D.FP8_E4M3)]


@on_all([D.FLOAT, D.DOUBLE])
def test_mixed_types(handle, name):
    """Virtual tensors are rounded to their own types on the way."""
    feeds = [D.HALF.rounded(numbers((3, 40))), D.BFLOAT16.rounded(numbers((1, 40), 1))]
    check(handle, _mixed, D.FLOAT, D.FLOAT, name, feeds=feeds, rtol=0, atol=0)


# graphs


@on_all(PLAIN_NODES)
def test_single_nodes(handle, name):
    """What the nodes' own kernels compute, computed by a written one."""
    check(handle, NODES[name], rtol=2e-5, atol=2e-5)


def _sums(dims, kept, *, nhwc=False, second=False, number=False):
    """Return what builds a graph of a scaled tensor, its sums and extremes; with `second` what needs the sums, too.

    With `number` it is scaled by one that is passed by value as well.
    """

    def build(g):
        a = x(g, *dims, nhwc=nhwc)
        s = x(g, *kept)
        y, more = g.relu(g.mul(a, s)), []
        if number:
            more = [g.tensor(dim=[1] * len(dims), stride=[1] * len(dims), is_pass_by_value=True)]
            y = g.mul(y, more[0])
        outs = [y, *(g.reduction(y, how).set_dim(list(kept)) for how in (R.AVG, R.MAX))]
        if second:
            centred = g.sub(y, outs[1])
            outs += [centred, g.reduction(centred, R.NORM2).set_dim(list(kept))]
        return [a, s, *more], outs

    return build


SUMS = {  # and the number of kernels on CPUs, where it does not depend on the number of cores
    "one result of neighbours": (_sums((3, 30011), (1, 1)), None),
    "one result, then another": (_sums((3, 30011), (1, 1), second=True), None),
    "rows": (_sums((300, 133), (300, 1)), 1),
    "rows, then what needs them": (_sums((40, 1030), (40, 1), second=True), 1),
    "short rows": (_sums((900, 5), (900, 1)), 1),
    "columns": (_sums((150, 300), (1, 300)), 1),
    "few columns": (_sums((20011, 3), (1, 3)), None),
    "channels": (_sums((4, 21, 9, 8), (1, 21, 1, 1), second=True), 1),
    "channels last": (_sums((4, 45, 9, 8), (1, 45, 1, 1), nhwc=True, second=True), 1),
    "middle": (_sums((7, 30, 50), (7, 1, 50), second=True), 1),
    "all but the middle": (_sums((7, 30, 50), (1, 30, 1)), 1),
    "long columns": (_sums((9001, 40), (1, 40)), None),
    "long channels last": (_sums((40, 36, 15, 16), (1, 36, 1, 1), nhwc=True), None),
    "long rows": (_sums((3, 9004), (3, 1), second=True), None),
    "long columns, a number": (_sums((9001, 40), (1, 40), number=True), None),
    "one result, a number": (_sums((3, 30011), (1, 1), number=True, second=True), None),
    "long odd columns": (_sums((8200, 43), (1, 43)), None),
    "nothing": (_sums((7, 30), (7, 30)), None),
}


@on_all(list(SUMS))
def test_sums(handle, name):
    """Sums along memory and across it, shared by work-groups where results are few."""
    build, kernels = SUMS[name]
    made = check(handle, build, rtol=2e-5, atol=2e-5)
    if handle.info.schedule == "cpu" and kernels is not None:
        assert made == kernels


BLOCKS = {
    "bias, gelu": lambda g: ((i := [x(g, 70, 96), x(g, 1, 96)]), [g.gelu(g.bias(*i))]),
    "scale, mask, softmax": lambda g: (
        (i := [x(g, 2, 3, 17, 40), x(g, 1, 1, 17, 40)]),
        [g.softmax(g.add(g.mul(i[0], 0.125), i[1]))[0]],
    ),
    "residual, layer norm": lambda g: (
        (i := [x(g, 50, 96), x(g, 50, 96), x(g, 1, 96), x(g, 1, 96)]),
        [g.layernorm(M.INFERENCE, s := g.add(i[0], i[1]), i[2], i[3], 1e-5)[0], s],
    ),
    "rms norm, gate": lambda g: (
        (i := [x(g, 50, 96), x(g, 1, 96), x(g, 50, 96)]),
        [g.mul(g.rmsnorm(M.INFERENCE, i[0], i[1], epsilon=1e-5)[0], g.swish(i[2]))],
    ),
    "batch norm, add, relu": lambda g: (
        (i := [x(g, 4, 16, 9, 9), *(x(g, 1, 16, 1, 1) for _ in range(4)), x(g, 4, 16, 9, 9)]),
        [g.relu(g.add(g.batchnorm_inference(*i[:5]), i[5]))],
    ),
    "group statistics": lambda g: (
        (i := [x(g, 4, 16, 9, 9, nhwc=True), x(g, 1, 16, 1, 1)]),
        g.genstats(g.relu(g.add(i[0], i[1]))),
    ),
}


@on_all(list(BLOCKS))
def test_blocks_are_one_kernel(handle, name):
    """Parts of networks: one launch, whatever is between their nodes stays out of memory."""
    assert check(handle, BLOCKS[name], rtol=2e-5, atol=2e-5) == 1


@on_all()
def test_large_tensors_and_gaps(handle, name):
    """Several work-groups, pieces of rows, strides that no two axes share."""

    def build(g):
        a = g.tensor(dim=[9, 5, 5003], stride=[5 * 5100 + 3, 5100, 1])
        b = g.tensor(dim=[9, 5, 5003], stride=[1, 9, 45])
        return [a, b], [g.tanh(g.mul(a, b)), g.add(g.gen_index(a, 2), g.abs(b))]

    check(handle, build)


def _beginning_at(handle, place, values):
    """Return an array on the device, `place` elements behind where memory was allocated."""
    flat = np.concatenate([np.zeros(place, values.dtype), values.ravel()])
    return handle.asarray(flat.reshape(1, 1, -1))[:, :, place:]


@on_all([(300_011,), (700, 504), (701, 501)])
@pytest.mark.parametrize("kind", [D.HALF, D.FLOAT], ids=lambda kind: kind.name)
@pytest.mark.parametrize("place", [0, 1])
def test_words(handle, name, kind, place):
    """Neighbours are met in words where arrays begin with one; sizes are odd as well."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-20, 20, dims).astype(kind.storage) for dims in (name, (1,) * (len(name) - 1) + name[-1:]))
    g = new(handle, kind, D.FLOAT, D.FLOAT)
    of_a, of_b = (x(g, *one.shape) for one in (a, b))
    total = g.add(of_a, of_b)
    y = g.relu(total).set_output(True)
    rows = g.reduction(total, R.MAX).set_dim([*name[:-1], 1]).set_output(True).set_data_type(D.FLOAT)
    g.deselect_engines(["fallback", "regions"])
    g.build()
    out, most = _beginning_at(handle, place, np.zeros(name, kind.storage)), np.zeros((*name[:-1], 1), np.float32)
    g.execute({of_a: _beginning_at(handle, place, a), of_b: _beginning_at(handle, place, b), y: out, rows: most})
    want = a.astype(int) + b.astype(int)
    np.testing.assert_array_equal(handle.to_numpy(out).reshape(name), np.maximum(want, 0))
    np.testing.assert_array_equal(most, want.max(-1, keepdims=True))


@on_all(list(range(4)))
def test_random_graphs(handle, name):
    demand_right(handle, name, "fusion", JOINED)


# the life of a plan


@on_all()
def test_names_cannot_leave_their_comments(handle, name):
    """Names of nodes and tensors stand in the source, whatever is in them."""

    def build(g):
        a = g.tensor(dim=[4], stride=[1], name="a\\")
        return [a], [g.relu(a, name='*/ \\\nerror " ??/')]

    assert check(handle, build) == 1


@on_all()
def test_knobs_and_source(handle, name):
    """Every width gives the same numbers; the text says what it computes."""
    g = new(handle)
    a, b = x(g, 5, 67, name="image"), x(g, 1, 67)
    y = g.relu(g.add(a, b, name="shift"))
    y.set_output(True)
    g.validate()
    g.build_operation_graph()
    engine = next(i for i in range(g.get_engine_count()) if g._engine(i).name == "fusion")
    (width,) = g.get_knobs_for_engine(engine)
    values = [numbers((5, 67)).astype(np.float32), numbers((1, 67), 1).astype(np.float32)]
    texts = set()
    for value in width.values():
        g.create_execution_plan(engine, {width.type: value})
        g.check_support()
        g.build_plans()
        out = np.empty((5, 67), np.float32)
        g.execute({a: values[0], b: values[1], y: out})
        np.testing.assert_array_equal(out, np.maximum(values[0] + values[1], 0))
        texts.add(g.get_plan_source())
    text = texts.pop()
    assert "'shift'" in text
    assert "image" in text


@on_all()
def test_bound_and_repeated(handle, name):
    """A pack of the device's arrays and a number is run again as it is; other numbers count."""
    g = new(handle)
    a = x(g, 6, 50)
    factor = g.tensor_scalar(2.0, cudnn.scalar_type.RUNTIME_PARAM)
    y = g.sub(s := g.mul(a, factor), g.reduction(s, R.AVG).set_dim([1, 1])).set_output(True)
    g.deselect_engines(["fallback", "regions"])
    g.build()
    values = numbers((6, 50)).astype(np.float32)
    native, out = handle.asarray(values), handle.empty((1, 6, 50))
    for number in (2.0, 2.0, 2.0, -1.5, 2.0):
        g.execute({a: native, factor: number, y: out})
        want = values * number
        np.testing.assert_allclose(handle.to_numpy(out)[0], want - want.mean(), rtol=1e-5, atol=1e-5)
    call = g.bind({a: native, factor: 3.0, y: out})
    for _ in range(3):
        call()
    np.testing.assert_allclose(handle.to_numpy(out)[0], 3 * (values - values.mean()), rtol=1e-5, atol=1e-5)


# what it does not take


REFUSED = {
    "PG-FUSION-001": (lambda g: g.relu(g.matmul(x(g, 3, 4), x(g, 4, 5))), "matmul"),
    "PG-FUSION-002": (lambda g: g.relu(x(g, 4, data_type=D.DOUBLE)), "64 bits"),
    "PG-FUSION-003": (lambda g: g.slice(g.relu(x(g, 4, 4)), [slice(1, 3)]), "in memory"),
}


@pytest.mark.parametrize("id", REFUSED)
def test_refusals(id):
    small = DeviceInfo("opencl", "small", "", "gpu", "", "", schedule="gpu", fp64=False)

    build, word = REFUSED[id]
    g = new()
    build(g).set_output(True)
    g.validate()
    g.build_operation_graph()
    found = FusionEngine().reasons(g._graph_frozen(), small)
    assert [error.id for error in found if error.id == id]
    assert all(error.fix for error in found)
    assert word in str(found[0])


def texts():
    """Yield frozen graphs that together have every node, type and shape of sum in their text."""
    builds = [(_all_of(kind, (3, 21)), ()) for kind in KINDS]
    builds += [(_mixed, ()), (_integers(D.INT64), (D.INT64,) * 3), (SUMS["one result, then another"][0], ())]
    builds += [(BLOCKS[block], ()) for block in ("scale, mask, softmax", "residual, layer norm")]
    for build, types in builds:
        g = new("reference", *types)
        yield frozen(g, build(g)[1])


@pytest.mark.xdist_group("nvrtc")
def test_nvrtc():
    """The text for GPUs is CUDA C++ as well."""
    device = recorder_of("sm_90")
    prepared = [Prepared(graph, device) for graph in texts()]
    assert len(device.sources) == len(prepared)
    compile_recorded(device)
