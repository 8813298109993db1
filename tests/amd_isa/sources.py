"""The OpenCL sources that an AMD GPU can reach: of small problems, and of graphs with kernels of their own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace

import attention_graphs
import cases_rnn
import pytest
import test_graph_before
import test_graph_fusion
import test_graph_nodes_nvrtc
import test_graph_product
import test_graph_product_filters
import test_graph_product_sums
import test_graph_random
import test_graph_resample
from graphs import D, frozen, new
from small_problems import LINES
from source_recorder import SourceRecorder

from amd_isa.clang import CDNA
from portadnn.diff.generate.graphs import JOINED, MOVING, random_graph
from portadnn.enums import DataType
from portadnn.graph.operation_graph import OperationGraph
from portadnn.ops.rnn.layout import RNNMode
from portadnn.ops.rnn.problems import RNNBackwardData, RNNBackwardWeights, RNNForwardInference, RNNForwardTraining
from portadnn.problem import parse
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines.conv.matrix_units import features_of_target, unit_of_target
from portadnn_backends.engines.softmax import rows
from portadnn_backends.opencl.backend import BACKEND

DRAWN = 60  # random graphs, of pointwise nodes, sums, norms and moves
_PRODUCTS = (test_graph_product, test_graph_before, test_graph_product_filters, test_graph_product_sums)


def networks() -> Iterator[str]:
    """Yield recurrent networks whose products of all steps are large enough for matrix cores."""
    sizes = ((21, 10), 40, 72, 2)
    for kind in ("HALF", "BFLOAT16", "FLOAT"):
        words = cases_rnn.words(RNNMode.LSTM, DataType[kind], sizes)
        yield from (cases_rnn.line(one, words) for one in (RNNForwardInference, RNNForwardTraining))
    yield from (cases_rnn.line(one, words) for one in (RNNBackwardData, RNNBackwardWeights))


def persona(target: str) -> DeviceInfo:
    """Return an AMD GPU as its OpenCL driver describes it."""
    wave = 64 if target in CDNA else 32
    return DeviceInfo(
        backend="opencl",
        name=target,
        vendor="Advanced Micro Devices, Inc.",
        kind="gpu",
        driver="",
        version="",
        schedule="gpu",
        compute_units=104 if wave == 64 else 48,
        simd_width=wave,
        max_work_group=256,
        local_memory=64 << 10,
        global_memory=16 << 30,
        max_allocation=8 << 30,
        features=frozenset({"atomic64"}) | features_of_target(target),
    )


def graphs() -> Iterator[tuple[str, OperationGraph]]:
    """Yield frozen graphs, and what each is for."""
    with pytest.MonkeyPatch.context() as patch:
        for graph in attention_graphs.graphs(patch):
            yield "attention", graph
    for name, made in (
        ("random numbers", test_graph_random.graphs()),
        ("resample", test_graph_resample.graphs()),
        ("nodes", test_graph_nodes_nvrtc.graphs()),
        ("fusion", test_graph_fusion.texts()),
    ):
        for graph in made:
            yield name, graph
    for module in _PRODUCTS:
        for name, build in module.LARGE.items():
            build, kind = (build[0], build[1]) if isinstance(build, tuple) else (build, D.FLOAT)
            g = new("reference", kind, D.FLOAT)
            yield f"{module.__name__}: {name}", frozen(g, build(g)[1])
    for number in range(DRAWN):
        yield f"random graph {number}", random_graph(number, kinds=(*JOINED, *MOVING), most=6).graph.freeze()


@functools.cache
def recorded(target: str) -> SourceRecorder:
    """Return a recorder with everything that the kernels' engines ask an AMD GPU to compile."""
    info = persona(target)
    recorder = SourceRecorder(info).record(LINES)
    if unit_of_target(target) is not None:
        recorder.record(networks())
    plain = replace(info, features=info.features - features_of_target(target))  # of a compiler without the builtins
    variants = ((info, line, graph) for line, graph in graphs())
    without = ((plain, line, graph) for line, graph in graphs() if line == "attention") if plain != info else ()
    for recorder.info, recorder.line, graph in itertools.chain(variants, without):
        takers = [engine for engine in BACKEND.graph_engines() if not engine.reasons(graph, recorder.info)]
        if not takers and not recorder.line.startswith("random graph"):
            recorder.refused.append(recorder.line)
        for engine in takers:
            plan = engine.prepare(graph, recorder)
            recorder.kernels |= {(launch.kernel.name, launch.kernel.source) for launch in plan.launches}
    recorder.info = replace(info, max_work_group=1024)  # as Mesa's driver says; AMD's says 256
    return recorder.record(line for line in LINES if _needs_large_groups(line, recorder.info))


def _needs_large_groups(line: str, info: DeviceInfo) -> bool:
    problem = parse(line)
    return any(isinstance(problem, engine.problems) and not engine.why_not(problem, info) for engine in rows.ENGINES)
