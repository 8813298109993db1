"""The kernels with a main loop on matrix cores: their texts for problems that fill tiles, and what is asked of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import cases_rnn
from graphs import D, frozen, given, new
from source_recorder import SourceRecorder

import portadnn as dnn
from amd_isa import clang, stand_in
from amd_isa.device import open_handle
from amd_isa.rates import turn
from amd_isa.resources import resources
from portadnn.enums import DataType
from portadnn.graph import reduction_mode
from portadnn.ops.rnn.layout import RNNMode
from portadnn.ops.rnn.problems import RNNForwardInference
from portadnn.problem import parse
from portadnn_backends.attention import gpu
from portadnn_backends.attention.operands import Operands
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines import kernel_engines
from portadnn_backends.engines.conv import tensor_core, tensor_core_choice
from portadnn_backends.engines.conv.matrix_units import unit_of_target
from portadnn_backends.engines.conv.tensor_core_tiles import Choice, Product, Tile
from portadnn_backends.fusion.product.engine import ProductEngine

OPS = {
    "forward": ("convolution_forward", ("x", "w", "y")),
    "data": ("convolution_backward_data", ("dx", "w", "dy")),
    "filter": ("convolution_backward_filter", ("x", "dw", "dy")),
}
ENGINES = dict(zip(OPS, tensor_core.ENGINES[:3], strict=True))
LARGE = "{x}={t}:32x256x28x28:nhwc {w}={t}:256x256x3x3:nhwc {y}={t}:32x256x28x28:nhwc padding=1,1"


def line(direction: str, shape: str, dtype: str, layout: str) -> str:
    """Return a convolution's line."""
    op, (x, w, y) = OPS[direction]
    return f"{op} {shape.format(x=x, w=w, y=y, t=dtype, f=layout)}"


def info_of(target: str, backend: str) -> DeviceInfo:
    """Return what a GPU with matrix cores says of itself."""
    unit = unit_of_target(target)
    assert unit is not None
    return DeviceInfo(
        backend, target, "AMD", "gpu", "", "", schedule="gpu", compute_units=60, simd_width=unit.wave,
        max_work_group=256, local_memory=64 << 10, global_memory=1 << 36, max_allocation=1 << 36,
        arch=target, features=frozenset({unit.feature}),
    )  # fmt: skip


def tiles_of(target: str, direction: str) -> tuple[Tile, ...]:
    """Return the tiles that a direction has kernels for."""
    unit = unit_of_target(target)
    assert unit is not None
    return Product(1, 1, 1, 1, 2, 0, 0, direction == "filter", unit).tiles


def convolution(target: str, direction: str, dtype: str, tile: Tile, backend: str = "opencl") -> str:
    """Return the text of a convolution's product."""
    recorder = SourceRecorder(info_of(target, backend))
    with mock.patch.object(tensor_core_choice, "best_choice", lambda product, *_, **__: Choice(product, tile, 1)):
        ENGINES[direction].prepare(parse(line(direction, LARGE, dtype, "")), recorder)
    return _text_of(recorder, "conv_matrix")


def _text_of(recorder: SourceRecorder, kernel: str) -> str:
    return next(source for source, (_, name, _) in recorder.sources.items() if name == kernel)


def _bias_and_gelu(g: Any) -> list[Any]:
    a, b, bias = given(g, (4096, 4096)), given(g, (4096, 4096)), given(g, (1, 4096))
    return [g.gelu(g.add(g.matmul(a, b), bias))]


def _computed(g: Any) -> list[Any]:
    a, b, scale = given(g, (4096, 4096)), given(g, (4096, 4096)), given(g, (4096, 1))
    return [g.matmul(g.mul(a, scale), b)]


def _summed(g: Any) -> list[Any]:
    a, b = given(g, (4096, 4096)), given(g, (4096, 4096))
    return [g.reduction(g.relu(g.matmul(a, b)), reduction_mode.ADD).set_dim([1, 4096])]


PRODUCTS = {"bias and gelu": _bias_and_gelu, "a computed operand": _computed, "sums of columns": _summed}


def product(target: str, name: str, kind: D, backend: str = "opencl") -> str:
    """Return the text of a graph's product."""
    recorder = SourceRecorder(info_of(target, backend))
    graph = frozen(g := new("reference", kind, kind), PRODUCTS[name](g))
    assert not ProductEngine().reasons(graph, recorder.info)
    ProductEngine().prepare(graph, recorder)
    return _text_of(recorder, "conv_matrix")


def reaches(source: str, target: str, kernel: str, registers: int = 320) -> None:
    """Demand 60 percent of the matrix units' peak by count or more, no spills, so many registers at most on CDNA."""
    clang.require()
    elf = clang.compile(source, target)
    need = resources(elf)[kernel]
    assert need.vgpr_spills == need.scratch == 0 and need.local_memory <= 64 << 10
    assert need.vgprs + need.agprs <= (registers if need.agprs else 256)
    assert turn(clang.listing(elf), target, kernel).share >= 0.6


@contextmanager
def gpu_of(target: str, dialect: str = "opencl") -> Iterator[dnn.Handle]:
    """Yield a handle on a GPU with matrix cores that the executor stands for."""
    clang.require()
    if dialect == "hip":
        with stand_in.installed(target), dnn.Handle("hip", profile=None) as handle:
            yield handle
        return
    unit = unit_of_target(target)
    assert unit is not None
    with open_handle(target) as handle:
        handle.device.info = replace(handle.info, features=handle.info.features | {unit.feature})
        yield handle


def attention(target: str, kind: D, length: int, backend: str = "opencl") -> str:
    """Return the text of attention with heads of `length` numbers, causal."""
    recorder = SourceRecorder(info_of(target, backend))
    g = new("reference", kind, D.FLOAT)
    q, k, v = (given(g, (2, 8, 2048, length)) for _ in range(3))
    o, _ = g.sdpa(q, k, v, attn_scale=0.125, use_causal_mask=True, generate_stats=False)
    gpu.built(Operands(frozen(g, [o])), recorder, {})
    return _text_of(recorder, "attention_forward_matrix")


def attention_gradients(target: str, kind: D, length: int, backend: str = "opencl") -> dict[str, tuple[str, str]]:
    """Return texts and kernels of the gradients of causal attention, by what they are of: "DQ", "DK", "DK, DV" ..."""
    recorder = SourceRecorder(info_of(target, backend))
    g = new("reference", kind, D.FLOAT)
    tensors = (given(g, (2, 8, 2048, length)) for _ in range(5))
    stats = given(g, (2, 8, 2048, 1), D.FLOAT)
    gradients = g.sdpa_backward(*tensors, stats, attn_scale=0.125, use_causal_mask=True)
    gpu.built(Operands(frozen(g, list(gradients))), recorder, {})
    sources = ((source, name) for source, (_, name, _) in recorder.sources.items())
    found = ((re.findall(r"#define (D[QKV])_T ", source), source, name) for source, name in sources)
    return {", ".join(of): (source, name) for of, source, name in found if name.startswith("attention_backward_")}


def recurrent(target: str, dtype: str, backend: str = "opencl") -> str:
    """Return the text of the product of an LSTM's input, of all steps."""
    recorder = SourceRecorder(info_of(target, backend))
    words = cases_rnn.words(RNNMode.LSTM, DataType[dtype], ((64, 64), 512, 512, 1))
    problem = parse(cases_rnn.line(RNNForwardInference, words))
    engine = next(
        one for one in kernel_engines() if type(problem) in one.problems and not one.why_not(problem, recorder.info)
    )
    engine.prepare(problem, recorder)
    return _text_of(recorder, "gemm_matrix")
