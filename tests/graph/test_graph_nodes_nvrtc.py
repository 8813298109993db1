"""The kernels of single nodes, compiled by NVRTC for each kind of GPU."""

import pytest
from test_nvrtc import EACH, compile_recorded, recorder_of

from portadnn.graph.fallback.parts import alone
from portadnn.graph.support.cases import cases
from portadnn_backends.engines.nodes.engine import KERNELS, NodesEngine, described

TYPES = (("HALF", "FLOAT", "rows"), ("FLOAT", "FLOAT", "gaps"), ("DOUBLE", "DOUBLE", "rows"))


def graphs():
    """Yield small graphs of one node for each kernel, with and without gaps, in several types."""
    for case in cases():
        if case.kind in KERNELS:
            for kind, compute, layout in TYPES:
                if not (case.kind == "block_scale_quantize" and kind == "DOUBLE"):
                    graph = case.graph(kind, layout, compute)
                    yield alone(graph, graph.operations[0])


def test_every_kernel_is_asked_for():
    assert {graph.operations[0].kind for graph in graphs()} == set(KERNELS)


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("arch", EACH)
def test_compiles_for_cuda(arch):
    recorder = recorder_of(arch)
    for graph in graphs():
        assert not NodesEngine().reasons(graph, recorder.info)
        described(graph, recorder)
    compile_recorded(recorder)
