"""Convolutions of bytes on CPUs with products of bytes: exact sums, borders, few filters, turned filters."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from graphs import D
from helper import everywhere
from test_conv_bytes_host import graph_of, numbers, rows, sums

from portadnn import graph as api
from portadnn_backends.engines.conv.cpu import bytes as cpu
from portadnn_backends.fusion.product import choice
from portadnn_backends.opencl import byte_products

CASES = {  # type of x, x, w, stride, padding, type of the sums
    "one block of filters": (D.INT8, (2, 32, 5, 7), (16, 32, 3, 3), 1, 1, D.FLOAT),
    "no sign, few filters": (D.UINT8, (1, 16, 6, 6), (5, 16, 3, 2), 2, 1, D.FLOAT),
    "two blocks, the last one part": (D.INT8, (1, 48, 4, 5), (72, 48, 1, 1), 1, 0, D.FLOAT),
    "sums that FLOAT does not hold": (D.INT8, (1, 160, 9, 13), (20, 160, 3, 3), 1, 1, D.INT32),
    "many pixels": (D.UINT8, (2, 16, 15, 11), (16, 16, 2, 2), 1, 1, D.FLOAT),
}


@everywhere()
@pytest.mark.parametrize("name", CASES)
def test_sums_of_bytes_are_exact(handle, name):
    """Whatever engine a backend has for them."""
    kind, x_dims, w_dims, stride, padding, total = CASES[name]
    x, w = numbers(kind, x_dims), numbers(D.INT8, w_dims)
    wanted = sums(x, w, stride, padding)
    graph = api.pygraph(handle=handle, intermediate_data_type=D.FLOAT, compute_data_type=D.FLOAT)
    steps = [[dims[2] * dims[3] * dims[1], 1, dims[3] * dims[1], dims[1]] for dims in (x_dims, w_dims, wanted.shape)]
    image = graph.tensor(name="x", dim=list(x_dims), stride=steps[0], data_type=kind)
    weight = graph.tensor(name="w", dim=list(w_dims), stride=steps[1], data_type=D.INT8)
    window = {"padding": [padding] * 2, "stride": [stride] * 2, "dilation": [1, 1]}
    conv = graph.conv_fprop(image, weight, **window, compute_data_type=total).set_data_type(total)
    y = graph.identity(conv).set_output(True).set_data_type(D.FLOAT)
    y.set_dim(list(wanted.shape)).set_stride(steps[2])
    graph.build([api.heur_mode.A])
    given = [handle.device.asarray(rows(array).view(np.uint8).ravel()) for array in (x, w)]
    out = handle.device.asarray(np.zeros(4 * wanted.size, np.uint8))
    graph.execute({image: given[0], weight: given[1], y: out}, handle=handle)
    found = np.ascontiguousarray(handle.to_numpy(out)).view(np.float32).reshape(rows(wanted).shape)
    np.testing.assert_array_equal(found, rows(wanted).astype(np.float32))


def test_who_takes_bytes(reference):
    """CPUs whose compiler has the products; others convert."""
    info = replace(reference.info, backend="opencl", schedule="cpu", simd_width=16, max_allocation=1 << 30)
    graph = graph_of(reference, (1, 32, 4, 4), (8, 32, 3, 3), (1, 8, 4, 4), 1, 1, (D.INT8, D.FLOAT, D.INT8), 0.5)
    able = replace(info, features=frozenset({cpu.FEATURE}))
    assert choice.chosen_for(graph, able).engine is cpu.ENGINES[0]
    assert choice.chosen_for(graph, info).engine is not cpu.ENGINES[0]
    turned = choice.chosen_for(graph, able).problem
    assert "x".join(map(str, turned.image.dims)) == "1x16x4x4"  # pairs


@pytest.mark.parametrize(
    ("platform", "flags"), [("Intel(R) OpenCL", "avx512_vnni"), ("Portable Computing Language", "")]
)
def test_a_compiler_is_asked_only_where_it_can_be(platform, flags, monkeypatch):
    monkeypatch.setattr(byte_products, "processor_flags", lambda: set(flags.split()))
    device = SimpleNamespace(platform=SimpleNamespace(name=platform))
    assert byte_products.features(None, device, "") == frozenset()
