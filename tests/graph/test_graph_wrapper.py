"""``cudnn.Graph``: arrays where operations take tensors, built by a ``with``, called with arrays or a dict."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import portadnn.graph as cudnn

FLOAT = cudnn.data_type.FLOAT
TYPES = {"io_data_type": FLOAT, "intermediate_data_type": FLOAT, "compute_data_type": FLOAT}
rng = np.random.default_rng(5)
A, B, D = rng.random((2, 3, 4), np.float32), rng.random((2, 4, 5), np.float32), rng.random((1, 3, 5), np.float32)
WANT = np.maximum(A.astype(float) @ B.astype(float) + D - 1.5, 0)


@pytest.fixture
def handle():
    made = cudnn.create_handle("reference")
    yield made
    cudnn.destroy_handle(made)


def described(handle, **options):
    """Return a graph of relu(A B + D - 1.5), with the product by position, the rest by name."""
    with cudnn.Graph(handle=handle, **TYPES, **options) as graph:
        product = graph.matmul(A, B)
        total = graph.bias(input=product, bias=D, name="add_bias")
        graph.relu(graph.sub(total, 1.5), name="act").set_output(True)
    return graph


IN, OUT = ["matmul.0::0", "matmul.0::B", "add_bias::bias"], ["act::OUT_0"]


OTHERS = ["matmul.0::A", "matmul.0::1", "add_bias::bias"]


@pytest.mark.parametrize("inputs", [IN, OTHERS, [A, B, D]], ids=["names", "others", "arrays"])
def test_positions(handle, inputs):
    graph = described(handle)
    graph.set_io_tuples(inputs, OUT)
    for factor in (1, 2):
        np.testing.assert_allclose(graph(A / factor, B * factor, D), WANT, rtol=1e-5, atol=1e-5)


def test_positions_given_at_once(handle):
    y = described(handle, inputs=IN[::-1], outputs=OUT)(D, B, A)
    np.testing.assert_allclose(y, WANT, rtol=1e-5, atol=1e-5)


def test_a_dict_is_filled(handle):
    graph = described(handle)
    pack = {"matmul.0::A": A, "matmul.0::B": B, "add_bias::bias": D}
    assert graph(pack) is pack
    np.testing.assert_allclose(pack["act::OUT_0"], WANT, rtol=1e-5, atol=1e-5)
    y = np.zeros_like(pack["act::OUT_0"])
    graph({**pack, "act::OUT_0": y})
    np.testing.assert_array_equal(y, pack["act::OUT_0"])


def test_tensors_names_and_uids_are_keys(handle):
    with cudnn.Graph(handle=handle, **TYPES) as graph:
        x = graph.tensor(dim=[2, 3], stride=[3, 1], name="x", uid=7)
        y, z = graph.neg(x), graph.abs(x)
        y.set_output(True).set_name("minus")
        z.set_output(True).set_stride([1, 2])
    values = np.float32([[1, -2, 3], [-4, 5, -6]])
    graph.set_io_tuples([7], ["minus", z])
    minus, size = graph(values)
    np.testing.assert_array_equal(minus, -values)
    np.testing.assert_array_equal(size, abs(values))
    assert size.strides == (4, 8)
    for key in ("x", x, 7):
        np.testing.assert_array_equal(graph({key: values})["neg.0::OUT_0"], -values)


def test_tuples_hold_arrays(handle):
    q = rng.random((1, 2, 3, 4), np.float32)
    seed, offset = np.full((1, 1, 1, 1), 3, np.int64), np.zeros((1, 1, 1, 1), np.int64)
    with cudnn.Graph(handle=handle, **TYPES) as graph:
        o, _ = graph.sdpa(q, q, q, generate_stats=False, dropout=(0.0, seed, offset), name="attention")
        o.set_output(True)
    graph.set_io_tuples(["attention::q", "attention::dropout::1", "attention::dropout::2"], [o])
    scores = np.exp(q.astype(float) @ q.swapaxes(2, 3))
    want = scores / scores.sum(-1, keepdims=True) @ q
    np.testing.assert_allclose(graph(q, seed, offset), want, rtol=1e-5)


def test_torch_in_torch_out(handle):
    torch = pytest.importorskip("torch")
    x = torch.randn(2, 3, 4, 4, dtype=torch.float64).to(memory_format=torch.channels_last).requires_grad_()
    with cudnn.Graph(handle=handle, io_data_type=torch.float64, compute_data_type=torch.float64) as graph:
        graph.relu(x, name="r").set_output(True)
    graph.set_io_tuples([x], ["r::OUT_0"])
    y = graph(x)
    assert isinstance(y, torch.Tensor) and y.stride() == x.stride()
    torch.testing.assert_close(y, torch.relu(x).detach(), rtol=0, atol=0)


def test_torch_is_not_needed():
    program = """
import sys, numpy as np, portadnn.graph as cudnn
x = np.float32([[1, -2]])
with cudnn.Graph(handle=cudnn.create_handle("reference"), io_data_type="FLOAT", compute_data_type="FLOAT") as graph:
    graph.neg(x).set_output(True)
graph.set_io_tuples([x], ["neg.0::OUT_0"])
print(graph(x).tolist(), "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[0] == "[[-1.0, 2.0]] False", done.stderr


def test_an_error_inside_leaves_no_graph(handle):
    graph = cudnn.Graph(handle=handle, **TYPES)
    with pytest.raises(ZeroDivisionError), graph:
        graph.relu(A)
        raise ZeroDivisionError
    with pytest.raises(ValueError, match="PG-WRAP-002"):
        graph(A)


MISTAKES = {
    "no list": ("PG-WRAP-001", lambda g: g.set_io_tuples("matmul.0::A", OUT)),
    "a second with": ("PG-WRAP-002", lambda g: g.__enter__()),
    "an operation too late": ("PG-WRAP-002", lambda g: g.relu(A)),
    "what the graph does itself": ("PG-WRAP-003", lambda g: g.execute({})),
    "an unknown name": ("PG-WRAP-004", lambda g: g.set_io_tuples(["conv::X", *IN[1:]], OUT)),
    "an unknown array": ("PG-WRAP-004", lambda g: g.set_io_tuples([A.copy(), B, D], OUT)),
    "a virtual tensor": ("PG-WRAP-004", lambda g: g.set_io_tuples([*IN, "add_bias::input"], OUT)),
    "one twice": ("PG-WRAP-004", lambda g: g.set_io_tuples([*IN, IN[0]], OUT)),
    "one left out": ("PG-WRAP-004", lambda g: g.set_io_tuples(IN[1:], OUT)),
    "no result": ("PG-WRAP-004", lambda g: g.set_io_tuples(IN, [])),
    "no order": ("PG-WRAP-005", lambda g: g(A, B, D)),
    "a missing array": ("PG-PACK-001", lambda g: g({"matmul.0::A": A, "matmul.0::B": B})),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(handle, mistake):
    rule, call = MISTAKES[mistake]
    graph = described(handle)
    with pytest.raises(ValueError, match=rule):
        call(graph)


def test_too_few_arrays_and_two_nodes_of_a_name(handle):
    graph = described(handle, inputs=IN, outputs=OUT)
    with pytest.raises(RuntimeError, match=r"PG-WRAP-005.*3 arrays.*got 2"):
        graph(A, B)
    with pytest.raises(ValueError, match="PG-GRAPH-002"), cudnn.Graph(handle=handle, **TYPES) as other:
        other.neg(other.neg(A, name="n"), name="n").set_output(True)


def test_a_call_before_the_end(handle):
    with pytest.raises(ValueError, match="PG-WRAP-002"), cudnn.Graph(handle=handle, **TYPES) as graph:
        graph({"x": graph.neg(A).set_output(True)})
