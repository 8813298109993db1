"""Multi-head attention on NVIDIA's tensor cores, on the host, beside its definition: windows, lengths, beams."""

from __future__ import annotations

import numpy as np
import pytest
from host_cuda_device import COMPILER, HostCuda

from portadnn.problem import parse
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


def line(op, name):
    """Return a problem's line: without projections, heads share a vector."""
    (steps, keys, batch, beams), own, rest = CASES[name]
    key_beams = beams if own else 1
    tensors = [f"q=f16:{steps}x{batch}x{beams}x{NUMBERS}"]
    tensors += [f"{one}=f16:{keys}x{batch}x{key_beams}x{NUMBERS}" for one in "kv"]
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


def run(problem, arrays, folder):
    """Return what the engine leaves of a problem's arrays."""
    plan = MultiHeadAttention().prepare(problem, HostCuda(folder))
    got = {name: array.copy() for name, array in arrays.items()}
    plan.run([got[name] for name in problem.names], [], np.full(plan.workspace_size, 0xA5, np.uint8))
    return got, {launch.kernel.name for launch in plan.launches}


def wanted(problem, arrays):
    return outcomes(problem, [arrays[name] for name in problem.names], {})


def parameters():
    """Yield names; the host takes some ten seconds for most."""
    yield "one query of beams"
    yield from (pytest.param(name, marks=pytest.mark.long) for name in CASES if name != "one query of beams")


@pytest.mark.parametrize("name", list(parameters()))
def test_passes_are_the_definition(name, tmp_path):
    forward = line("multi_head_attn_forward", name)
    plain = parse(forward)
    states = " attn_states=u8:32" if plain.attn_dropout else ""
    problem = parse(f"{forward} reserve=u8:{plain.kept.size}{states}")
    arrays = arrays_of(problem, 3, "growing" in name)
    got, kernels = run(problem, arrays, tmp_path)
    assert kernels & {"attention_forward_mma", "attention_few_mma"}
    want = wanted(problem, arrays)
    np.testing.assert_allclose(got["out"], want["out"], rtol=4e-3, atol=4e-3)
    problem = parse(f"{line('multi_head_attn_backward_data', name)} reserve=u8:{plain.kept.size}")
    shared = {one: arrays[one] for one in problem.names if one in arrays}
    given = {**arrays_of(problem, 4), **shared, "reserve": want["reserve"].astype(np.uint8)}
    got, kernels = run(problem, given, tmp_path)
    assert "attention_backward_mma" in kernels
    want = wanted(problem, given)
    for gradient in ("dq", "dk", "dv"):
        top = np.abs(want[gradient]).max() or 1.0
        np.testing.assert_allclose(got[gradient] / top, want[gradient] / top, rtol=1e-2, atol=4e-3)
