"""What every run executes of AMD's machine code: enough cases, and kernels of every family, dialect and target."""

from __future__ import annotations

import pytest
from source_recorder import SourceRecorder

import portadnn as dnn
from amd_isa import hip_texts, test_execute, test_execute_graphs, test_execute_hip
from amd_isa.device import TARGETS, device_info
from portadnn_backends import kernel_text

pytestmark = pytest.mark.amd

FAMILIES = {file.split("/")[1] for file in kernel_text.kernel_files() if file.startswith("shared/")} - {"common"}
OPERATIONS = {"opencl": test_execute.CASES, "hip": test_execute_hip.CASES}


def sample(dialect, target):
    """Return engines and lines that `make amd` executes in a dialect on a target."""
    return [(engine, line) for arch, engine, line, sampled in OPERATIONS[dialect] if sampled and arch == target]


def families(dialect, target):
    """Return the folders of the kernels that these use."""
    recorder = SourceRecorder(device_info(target, "opencl") if dialect == "opencl" else hip_texts.persona(target))
    for engine, line in sample(dialect, target):
        engine.prepare(dnn.parse(line), recorder)
    return {file.split("/")[1] for file, *_ in recorder.sources.values()}


def test_is_large_enough():
    operations = {place: len(sample(*place)) for place in test_execute_graphs.PLACES}
    assert min(operations.values()) >= 30, operations
    assert sum(operations.values()) + len(operations) * len(test_execute_graphs.CASES) >= 120


@pytest.mark.parametrize("dialect", OPERATIONS)
def test_has_every_family(dialect):
    of_graphs = {name.split(":")[0] for name in test_execute_graphs.CASES}
    found = set.union(*(families(dialect, target) for target in TARGETS))
    assert "fusion" in of_graphs
    assert found | of_graphs >= FAMILIES, sorted(FAMILIES)
