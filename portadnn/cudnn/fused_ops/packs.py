"""Parameter packs and plans of fused operators (cuDNN 7.6 to 9): what they hold, and which labels each operator has."""

from __future__ import annotations

import copy
from typing import Any

from ...arguments import as_integer, as_real
from ...dispatch.problems import check_handle
from ...errors import BadParam, NotInitialized
from ..calls import c_value
from ..descriptors import Descriptor, made
from ..enumerations import enumeration
from . import sequences

_CONST, _VARIANT = "CUDNN_PARAM_", "CUDNN_"
_SCALARS = (
    "SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES",
    "SCALAR_INT64_T_BN_ACCUMULATION_COUNT",
    "SCALAR_DOUBLE_BN_EXP_AVG_FACTOR",
    "SCALAR_DOUBLE_BN_EPSILON",
)


class _Pack(Descriptor):
    """A pack of one operator; `values` by the labels' names."""

    def __init__(self) -> None:
        self.ops = 0
        self.value: dict[str, Any] = {}


class FusedOpsConstParamPack(_Pack):
    """A ``cudnnFusedOpsConstParamPack_t``."""

    what = "pack of constant parameters"
    made_by = "cudnnCreateFusedOpsConstParamPack"


class FusedOpsVariantParamPack(_Pack):
    """A ``cudnnFusedOpsVariantParamPack_t``."""

    what = "pack of variant parameters"
    made_by = "cudnnCreateFusedOpsVariantParamPack"


class FusedOpsPlan(Descriptor):
    """A ``cudnnFusedOpsPlan_t``; its value is the sequence that it was made for."""

    what = "plan of fused operators"
    made_by = "cudnnCreateFusedOpsPlan"

    def __init__(self) -> None:
        self.ops = 0


def _of(kind: type[Any], ops: Any) -> Any:
    new = kind()
    new.ops = int(c_value("cudnnFusedOps_t", ops, "ops"))
    return new


def cudnnCreateFusedOpsConstParamPack(ops):
    return _of(FusedOpsConstParamPack, ops)


def cudnnCreateFusedOpsVariantParamPack(ops):
    return _of(FusedOpsVariantParamPack, ops)


def cudnnCreateFusedOpsPlan(ops):
    return _of(FusedOpsPlan, ops)


def _label(pack: Any, kind: str, prefix: str, label: Any) -> str:
    """Return a label's name without its prefix; the pack's operator must have it."""
    name = c_value(kind, label, "paramLabel").name.removeprefix(prefix)
    known = sequences.LABELS[pack.ops]
    if prefix == _CONST:
        there = name in known
    elif name in _SCALARS:
        there = name in (_SCALARS[0], *sequences.SCALARS.get(pack.ops, ()))
    else:
        there = name == "PTR_WORKSPACE" or f"{name.removeprefix('PTR_')}_PLACEHOLDER" in known
    if not there:
        operator = enumeration("cudnnFusedOps_t")(pack.ops).name
        raise BadParam(argument="paramLabel", expected=f"one of {operator}", got=f"{prefix}{name}")
    return name


def cudnnSetFusedOpsConstParamPackAttribute(constPack, paramLabel, param):
    made(constPack, FusedOpsConstParamPack, "constPack")
    name = _label(constPack, "cudnnFusedOpsConstParamLabel_t", _CONST, paramLabel)
    if name.endswith("_PLACEHOLDER"):
        value: Any = int(c_value("cudnnFusedOpsPointerPlaceHolder_t", param, "param"))
    elif name == "BN_MODE":
        value = int(c_value("cudnnBatchNormMode_t", param, "param"))
    else:
        value = _held(param, name)
    constPack.value = {**constPack.value, name: value}


def _held(param: Any, name: str) -> Any:
    """Return a copy of a descriptor that was set; NULL stays."""
    if param is None:
        return None
    kind = sequences.KINDS.get(name, sequences.TENSOR)
    made(param, kind, "param")
    if param.value is None:
        raise BadParam(argument="param", expected="a descriptor that was set", got="one that was only created")
    return copy.copy(param)


def cudnnGetFusedOpsConstParamPackAttribute(constPack, paramLabel):
    made(constPack, FusedOpsConstParamPack, "constPack")
    name = _label(constPack, "cudnnFusedOpsConstParamLabel_t", _CONST, paramLabel)
    value = constPack.value.get(name)
    if value is None:
        return None, 1
    if name.endswith("_PLACEHOLDER"):
        return enumeration("cudnnFusedOpsPointerPlaceHolder_t")(value), 0
    return (enumeration("cudnnBatchNormMode_t")(value) if name == "BN_MODE" else copy.copy(value)), 0


def cudnnSetFusedOpsVariantParamPackAttribute(varPack, paramLabel, ptr):
    made(varPack, FusedOpsVariantParamPack, "varPack")
    name = _label(varPack, "cudnnFusedOpsVariantParamLabel_t", _VARIANT, paramLabel)
    if name in _SCALARS[:2]:
        ptr = as_integer(ptr, "ptr", 0)
    elif name in _SCALARS:
        ptr = as_real(ptr, "ptr")
    varPack.value = {**varPack.value, name: ptr}


def cudnnGetFusedOpsVariantParamPackAttribute(varPack, paramLabel):
    made(varPack, FusedOpsVariantParamPack, "varPack")
    return varPack.value.get(_label(varPack, "cudnnFusedOpsVariantParamLabel_t", _VARIANT, paramLabel))


def cudnnMakeFusedOpsPlan(handle, plan, constPack):
    check_handle(handle)
    made(plan, FusedOpsPlan, "plan")
    made(constPack, FusedOpsConstParamPack, "constPack")
    if plan.ops != constPack.ops:
        names = [enumeration("cudnnFusedOps_t")(one).name for one in (plan.ops, constPack.ops)]
        raise BadParam(argument="constPack", expected=f"a pack of {names[0]}", got=f"one of {names[1]}")
    sequence = sequences.Sequence(plan.ops, dict(constPack.value))
    sequence.planned(handle)
    plan.value = sequence
    return 0


def cudnnFusedOpsExecute(handle, plan, varPack):
    check_handle(handle)
    made(plan, FusedOpsPlan, "plan")
    made(varPack, FusedOpsVariantParamPack, "varPack")
    if plan.value is None:
        raise NotInitialized("a plan that was not made (cudnnMakeFusedOpsPlan)", argument="plan")
    if plan.ops != varPack.ops:
        raise BadParam(argument="varPack", expected="a pack of the plan's operator", got="one of another operator")
    plan.value.run(handle, varPack.value)
