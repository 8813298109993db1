"""Multi-head attention on NVIDIA's tensor cores, on the host, beside its definition: windows, lengths, beams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from host_cuda_device import COMPILER, HostCuda

from portadnn.problem import parse
from portadnn_backends.attention import gpu_wgmma
from portadnn_backends.engines.gemm import by_convolution
from portadnn_backends.engines.multi_head import attend
from portadnn_backends.engines.multi_head.engine import MultiHeadAttention
from portadnn_backends.reference.outcomes import outcomes

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++")

WINDOWS = "windows=i32:2x{steps}"
LENGTHS = "lengths_q=i32:{many} lengths_kv=i32:{own}"
CASES = {
    "windows of beams": ((30, 70, 2, 3), False, f"{WINDOWS} {LENGTHS} heads=2 scale=0.3"),
    "one query of beams": ((1, 90, 2, 3), False, f"{WINDOWS} {LENGTHS} heads=2 scale=0.3"),
    "beams of their own": ((70, 80, 1, 2), True, f"{WINDOWS} heads=1 scale=0.3"),
    "growing windows": ((70, 300, 1, 1), False, f"{WINDOWS} heads=1 scale=0.3"),
    "dropout": ((40, 50, 1, 2), False, f"{LENGTHS} heads=2 scale=0.2 attn_dropout=0.25"),
}
NUMBERS = 24
# by warpgroups, heads of 64 numbers: windows that grow, with lengths, and windows in no order, some without keys
HOPPER = {
    "growing windows": ((140, 300, 1, 1), False, f"{WINDOWS} heads=1 scale=0.1"),
    "windows of beams": ((70, 130, 2, 2), False, f"{WINDOWS} {LENGTHS} heads=1 scale=0.1"),
}
PROJECTED = "heads=2 q_proj=8 k_proj=8 v_proj=8 o_proj=16 biases=1 scale=0.3"


def line(op, case, numbers=NUMBERS):
    """Return a problem's line: without projections, heads share a vector."""
    (steps, keys, batch, beams), own, rest = case
    key_beams = beams if own else 1
    tensors = [f"q=f16:{steps}x{batch}x{beams}x{numbers}"]
    tensors += [f"{one}=f16:{keys}x{batch}x{key_beams}x{numbers}" for one in "kv"]
    rest = rest.format(steps=steps, many=batch * beams, own=batch * key_beams)
    return " ".join([op, *tensors, rest, "query_map=one_to_one" if own else ""])


def arrays_of(problem, seed, growing=False):
    """Return a tensor for each name: normal numbers, lengths and windows that cut, some of them without keys."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        if name.startswith("lengths"):
            most = problem.steps[name == "lengths_kv"]
            found[name] = rng.integers(0, most + 2, spec.dims, np.int32)
            found[name][0] = most
        elif name == "windows" and growing:
            steps = np.arange(spec.dims[1])
            found[name] = np.stack([steps // 3, 220 + steps]).astype(np.int32)
        elif name == "windows":
            first = rng.integers(-2, problem.steps[1], spec.dims[1])
            found[name] = np.stack([first, first + rng.integers(-1, 40, spec.dims[1])]).astype(np.int32)
        elif spec.dtype.is_float:
            found[name] = rng.standard_normal(spec.dims).astype(np.float16)
        else:
            found[name] = rng.integers(0, 256, spec.dims, np.uint8)
    return found


def run(problem, arrays, device):
    """Return what the engine leaves of a problem's arrays."""
    plan = MultiHeadAttention().prepare(problem, device)
    got = {name: array.copy() for name, array in arrays.items()}
    plan.run([got[name] for name in problem.names], [], np.full(plan.workspace_size, 0xA5, np.uint8))
    return got, {launch.kernel.name for launch in plan.launches}


def wanted(problem, arrays):
    return outcomes(problem, [arrays[name] for name in problem.names], {})


def parameters():
    """Yield names; the host takes some ten seconds for most."""
    yield "one query of beams"
    yield from (pytest.param(name, marks=pytest.mark.long) for name in CASES if name != "one query of beams")


def passes(case, numbers, growing, device, kernels):
    """Compare a case's passes with their definition; some of `kernels` have to be among theirs."""
    forward = line("multi_head_attn_forward", case, numbers)
    plain = parse(forward)
    states = " attn_states=u8:32" if plain.attn_dropout else ""
    problem = parse(f"{forward} reserve=u8:{plain.kept.size}{states}")
    arrays = arrays_of(problem, 3, growing)
    got, found = run(problem, arrays, device)
    assert found & kernels["forward"]
    want = wanted(problem, arrays)
    np.testing.assert_allclose(got["out"], want["out"], rtol=4e-3, atol=4e-3)
    problem = parse(f"{line('multi_head_attn_backward_data', case, numbers)} reserve=u8:{plain.kept.size}")
    shared = {one: arrays[one] for one in problem.names if one in arrays}
    given = {**arrays_of(problem, 4), **shared, "reserve": want["reserve"].astype(np.uint8)}
    got, found = run(problem, given, device)
    assert found & kernels["backward"]
    want = wanted(problem, given)
    for gradient in ("dq", "dk", "dv"):
        top = np.abs(want[gradient]).max() or 1.0
        np.testing.assert_allclose(got[gradient] / top, want[gradient] / top, rtol=1e-2, atol=4e-3)


@pytest.mark.parametrize("name", list(parameters()))
def test_passes_are_the_definition(name, tmp_path, monkeypatch):
    monkeypatch.setattr(attend, "_ROWS_OF_GROUP", 32)  # windows of several work-groups
    kernels = {"forward": {"attention_forward_mma", "attention_few_mma"}, "backward": {"attention_backward_mma"}}
    passes(CASES[name], NUMBERS, "growing" in name, HostCuda(tmp_path), kernels)


@pytest.mark.long
@pytest.mark.parametrize("name", list(HOPPER))
def test_passes_by_warpgroups_are_the_definition(name, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_wgmma, "measured", lambda operands: True)
    kernels = {"forward": {"attention_forward_wgmma"}, "backward": {"attention_backward_wgmma"}}
    passes(HOPPER[name], 64, "growing" in name, HostCuda(tmp_path, ("wgmma",)), kernels)


@pytest.mark.parametrize("keys", [100, 112])
@pytest.mark.parametrize("features", [(), ("wgmma",)])
def test_projections_of_one_kind_share_a_launch(keys, features, tmp_path):
    """All three where there are as many queries as keys, else those of keys and values; and their gradients."""
    tensors = f"q=f16:100x1x1x128 k=f16:{keys}x1x1x128 v=f16:{keys}x1x1x128 w=f16:66048"
    rest = "heads=2 q_proj=64 k_proj=64 v_proj=64 o_proj=128 biases=1 scale=0.1"
    kept = parse(f"multi_head_attn_forward {tensors} {rest}").kept.size
    device, products = HostCuda(tmp_path, features), 2 if keys == 100 else 3
    problem = parse(f"multi_head_attn_forward {tensors} reserve=u8:{kept} {rest}")
    given = arrays_of(problem, 7)
    given["w"] = (given["w"] * 0.1).astype(np.float16)
    for op, results in (("multi_head_attn_forward", ("out",)), ("multi_head_attn_backward_data", ("dq", "dk", "dv"))):
        problem = parse(f"{op} {tensors} reserve=u8:{kept} {rest}")
        arrays = {**arrays_of(problem, 8), **{one: given[one] for one in problem.names if one in given}}
        plan = MultiHeadAttention().prepare(problem, device)
        assert [launch.kernel.name for launch in plan.launches].count("conv_mma") == products
        got, _ = run(problem, arrays, device)
        want = wanted(problem, arrays)
        for one in results:
            np.testing.assert_allclose(got[one], want[one], rtol=1e-2, atol=1e-2 * np.abs(want[one]).max())
        given["reserve"] = want["reserve"].astype(np.uint8)


@pytest.mark.parametrize("features", [(), ("grid_fence",), ("grid_fence", "wgmma")])
def test_weights_are_the_definition(features, tmp_path, monkeypatch):
    """Sums of columns in parts: rows of queries and of keys, joined by the last work-group or a launch of its own."""
    monkeypatch.setattr(by_convolution, "_FEWEST", 0)
    tensors = "q=f16:150x2x1x16 k=f16:90x2x1x16 v=f16:90x2x1x16"
    problem = parse(f"multi_head_attn_backward_weights {tensors} dw=f16:1088 {PROJECTED}")
    arrays = arrays_of(problem, 5)
    arrays["reserve"][...] = 0
    for which, rows in enumerate((300, 180, 180)):
        first = problem.kept.gradient(which)
        values = np.random.default_rng(6 + which).standard_normal(rows * 16).astype(np.float16)
        arrays["reserve"][first : first + 2 * rows * 16] = values.view(np.uint8)
    device = HostCuda(tmp_path, features)
    device.info = replace(device.info, compute_units=4, max_allocation=1 << 30)
    got, kernels = run(problem, arrays, device)
    assert "mha_bias_sums" in kernels
    assert ("conv_mma_filter" in kernels) == ("wgmma" in features)
    assert ("mha_bias_gradient" in kernels) == (not features)
    want = wanted(problem, arrays)["dw"]
    np.testing.assert_allclose(got["dw"], want, rtol=2e-3, atol=2e-2)
