"""What finalizing makes of each kind of descriptor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...c_names.graph_descriptors import PARAMETERS
from ...c_names.graph_operations import OPERATIONS
from . import execution, planning
from .objects import BackendDescriptor
from .operations import finalize_operation, finalize_parameters
from .tensors import finalize_tensor


def _knob_choice(descriptor: BackendDescriptor) -> tuple[Any, int]:
    return descriptor.one("KNOB_CHOICE_KNOB_TYPE"), descriptor.one("KNOB_CHOICE_KNOB_VALUE")


FINALIZERS: dict[str, Callable[[BackendDescriptor], Any]] = {
    "TENSOR": finalize_tensor,
    **{kind.name: finalize_parameters for kind in PARAMETERS},
    **{kind.name: finalize_operation for kind in OPERATIONS},
    "OPERATIONGRAPH": planning.finalize_graph,
    "ENGINE": planning.finalize_engine,
    "ENGINECFG": planning.finalize_choice,
    "ENGINEHEUR": planning.finalize_heuristics,
    "EXECUTION_PLAN": planning.finalize_plan,
    "KNOB_CHOICE": _knob_choice,
    "VARIANT_PACK": execution.finalize_pack,
    "DEVICEPROP": planning.finalize_properties,
}
