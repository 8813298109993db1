"""The records of operations: one of each Problem, whole, and loaded by tools only."""

from __future__ import annotations

import subprocess
import sys

import pytest

import portadnn as dnn
from portadnn import capability
from portadnn.mapping import table
from portadnn.operation import operations
from portadnn.problem import every_problem
from portadnn_backends.reference.outcomes import DEFINITIONS
from portadnn_backends.torch_engines.engine import WAYS
from portadnn_backends.vendor_cudnn.engines import MAKERS

PARTS = {f"batch_normalization_{way}{half}" for way in ("", "backward_") for half in ("statistics", "apply")}
ATTENTION = {f"multi_head_attn_{way}" for way in ("forward", "backward_data", "backward_weights")}
TRANSFORMERS = {f"spatial_tf_{name}_{way}" for name in ("grid_generator", "sampler") for way in ("forward", "backward")}
WITHOUT = {  # operations that have no such facet
    "driver": {
        "add_tensor",
        "convolution_backward_bias",
        "divisive_normalization_backward",
        "divisive_normalization_forward",
        "set_dropout_descriptor",
        "transform_tensor",
        *ATTENTION,
        *PARTS,
        *TRANSFORMERS,
    },
    "c_calls": {
        "adam",
        "cat_forward",
        "ctc_loss",
        "divisive_normalization_backward",
        "dropout_backward",
        "dropout_forward",
        "normalization_backward",
        "rnn_backward_data",
        "rnn_backward_weights",
        "rnn_forward_inference",
        "rnn_forward_training",
        "set_dropout_descriptor",
        *ATTENTION,
        *PARTS,
        *TRANSFORMERS,
    },
}
WITH_ALGORITHMS = {  # whose every algorithm is an engine of the backend cudnn
    "convolution_backward_data",
    "convolution_backward_filter",
    "convolution_bias_activation_forward",
    "convolution_forward",
}


def test_every_problem_has_a_record():
    assert list(operations()) == sorted(every_problem())


def test_a_record_names_its_public_function():
    for op, record in operations().items():
        assert record.problem.op == op
        assert record.function is getattr(dnn, op)


@pytest.mark.parametrize("op", operations())
def test_what_a_record_says_is_about_its_problem(op):
    record = operations()[op]
    kind = record.problem
    names = set(kind.tensor_names())
    assert set(record.drawing.numbers) <= set(kind.scalars)
    assert {*(record.data.special or ()), *record.data.moderate} <= names
    assert all(word.partition("=")[0] in kind.__dataclass_fields__ for word in record.wrong.right.split())
    assert dnn.parse(record.drawing.line(op, 0, 0)).op == op


def test_backends_have_every_operation_or_it_is_named_here():
    known = every_problem()
    assert set(DEFINITIONS) == set(known.values())
    assert {kind.op for kind in set(known.values()) - set(WAYS)} == set(filter(capability.table("torch").lacks, known))
    assert known.keys() - MAKERS.keys() == WITH_ALGORITHMS | ATTENTION | (known.keys() - table().of_cudnn)


@pytest.mark.parametrize("facet", WITHOUT)
def test_operations_have_a_facet_or_are_named_here(facet):
    assert {op for op, record in operations().items() if not getattr(record, facet)} == WITHOUT[facet]


def test_drivers_lines_are_read():
    assert not {record.driver.name for record in operations().values() if record.driver and not record.driver.read}


@pytest.mark.parametrize("op", operations())
def test_places_in_c_calls_are_those_of_tensors_and_parameters(op):
    kind = operations()[op].problem
    for call in operations()[op].c_calls:
        assert op in [name for row in table().find(call.function) for name in row.portadnn]
        assert {word.partition("/")[0] for word in call.tensors.split()} <= set(kind.tensor_names())
        assert set(call.needed) <= set(call.settings) <= set(kind.__dataclass_fields__)


def test_calls_load_no_records():
    code = (
        "import sys, numpy, portadnn\n"
        "with portadnn.Handle('reference') as handle:\n"
        "    portadnn.set_tensor(handle, numpy.ones((1, 2, 3), 'f'), 2)\n"
        "print([name for name in sys.modules if name.startswith(('portadnn.drawing', 'portadnn.operation'))])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
