"""The specification's named patterns on every backend, against float64 definitions by torch."""

from __future__ import annotations

import helper
import numpy as np
import pytest
from graphs import D, buffer, new, numbers

import portadnn.graph as cudnn
from portadnn.graph.patterns import PATTERNS

torch = pytest.importorskip("torch")

from pattern_definitions import DEFINITIONS  # noqa: E402  (it needs torch)

TOLERANCE = {D.HALF: 1e-3, D.FLOAT: 3e-4, D.INT8: 0.0, D.BOOLEAN: 0.0, D.FP8_E4M3: 0.07, D.FP8_E5M2: 0.13}


def everywhere(names):
    """Parametrise a test with patterns on the reference and on every backend with kernels."""
    targets = [helper.Target("reference", "reference"), *(t for t in helper.targets() if not t.slow)]
    params = [
        pytest.param(target, name, id=f"{target.name}-{name}")
        for target in targets
        for name in (names[:1] if target.missing else names)
    ]
    return pytest.mark.parametrize(("handle", "name"), params, indirect=["handle"])


def values_of(name, inputs):
    """Return data for the inputs, as numbers that their types hold."""
    found = {}
    for i, (port, one) in enumerate(inputs.items()):
        dims, kind = one.get_dim(), one.get_data_type()
        some = numbers(dims, 11 + i)
        if kind is D.BOOLEAN or port == "mask":
            some = (some > 0).astype(np.float64)
        elif kind is D.INT8:
            some = np.rint(8 * some)
        elif port in ("running_var", "inv_variance", "inv_std"):
            some = 0.5 + numbers(dims, 11 + i, low=0.0)
        elif port.startswith("alpha"):
            some = some / 64
        elif "FP8" in name and port != "stats":
            some = 16 * some
        found[port] = kind.rounded(some)
    return {**found, **_what_follows(name, found)}


def _what_follows(name, found):
    """Return the inputs that the forward pass made of others."""
    if name == "MhaBprop":
        return {"P": D.HALF.rounded(torch.softmax(torch.tensor(found["P"]), 3).numpy())}
    forward = {
        "flash attention bprop": "flash attention fprop",
        "FP8 flash attention bprop": "FP8 flash attention fprop",
    }
    if name not in forward:
        return {}
    made = DEFINITIONS[forward[name]](*(torch.tensor(found[port]) for port in "QKV"))
    o = D.FP8_E4M3 if "FP8" in name else D.HALF
    return {"O": o.rounded(made["O"].numpy()), "stats": D.FLOAT.rounded(made["stats"].numpy())}


def computed(pattern, values, g):
    """Run a built graph on poisoned outputs; returns numbers by name."""
    pack, views = {}, {}
    for port, one in pattern.inputs.items():
        pack[one] = buffer(one, values[port])[0]
    for port, one in pattern.outputs.items():
        pack[one], views[port] = buffer(one)
    g.execute(pack)
    return {port: one.get_data_type().loaded(views[port]) for port, one in pattern.outputs.items()}


@everywhere(list(PATTERNS))
def test_patterns(handle, name):
    g = new(handle, io=D.HALF)
    pattern = PATTERNS[name](g)
    g.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    values = values_of(name, pattern.inputs)
    got = computed(pattern, values, g)
    given = {port: torch.tensor(value) for port, value in values.items()}
    if "mask" in got and name == "MhaFprop":
        given["mask"] = torch.tensor(got["mask"])
    want = DEFINITIONS[name](**given)
    assert set(want) == set(got)
    for port, one in pattern.outputs.items():
        exact = want[port].detach().numpy().reshape(one.get_dim())
        kind = one.get_data_type()
        scale = np.abs(exact) if kind in (D.FP8_E4M3, D.FP8_E5M2) else np.abs(exact).max()
        limit = TOLERANCE[kind] * scale + (1e-2 if "FP8" in name and kind is not D.FLOAT else 0)
        assert (np.abs(exact) > 0).mean() > 0.2, f"{port} says little"
        assert (np.abs(got[port] - exact) <= limit).all(), port


@everywhere(["MhaFprop"])
def test_what_is_drawn_is_drawn_well(handle, name):
    """Three of four are kept, and the same ones everywhere."""
    masks = []
    for where in (handle, "reference"):
        g = new(where, io=D.HALF)
        pattern = PATTERNS[name](g, q=(2, 4, 32, 8))
        g.build()
        masks.append(computed(pattern, values_of(name, pattern.inputs), g)["mask"])
    assert set(np.unique(masks[0])) == {0.0, 1.0}
    assert abs(masks[0].mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / masks[0].size)
    np.testing.assert_array_equal(*masks)


def test_the_gradient_is_put_together():
    """dBNApply on what DgradDreluBNBwdWeight found is the gradient that torch finds of the whole."""
    g = new(io=D.FLOAT)
    first = PATTERNS["DgradDreluBNBwdWeight"](g)
    g.build()
    values = values_of("DgradDreluBNBwdWeight", first.inputs)
    x = torch.tensor(values["X"], requires_grad=True)
    var, mean = torch.var_mean(x, (0, 2, 3), correction=0, keepdim=True)
    inverse = (var + 1e-3).rsqrt()
    values.update(mean=mean.detach().numpy(), inv_std=inverse.detach().numpy())
    found = computed(first, values, g)
    y = torch.relu((x - mean) * inverse * torch.tensor(values["scale"]) + torch.tensor(values["bias"]))
    torch.nn.functional.conv2d(y, torch.tensor(values["W"]), padding=1).backward(torch.tensor(values["dY"]))
    second = new(io=D.FLOAT)
    apply = PATTERNS["dBNApply"](second)
    second.build()
    names = {"dY": found["dY_bn"], "X": values["X"], **{name: found[name] for name in "ABC"}}
    dx = computed(apply, names, second)["dX"]
    np.testing.assert_allclose(dx, x.grad.numpy(), atol=1e-5 * np.abs(dx).max())
