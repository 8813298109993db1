"""Fused operations by ``cupyx.cudnn``'s names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from portadnn import cudnn

from .bindings import BINDINGS
from .descriptors import Descriptor, get_handle
from .errors import cudnn_errors
from .memory import address, as_number, native
from .objects import object_of, plain


def _created(kind: str, ops: int) -> Descriptor:
    return Descriptor(BINDINGS[f"createFusedOps{kind}"](ops), BINDINGS[f"destroyFusedOps{kind}"])


def create_fused_ops_plan(ops: int) -> Descriptor:
    """Return a plan of an operator."""
    return _created("Plan", ops)


def create_fused_ops_const_param_pack(ops: int, list_attr_param: Iterable[tuple[int, Any]]) -> Descriptor:
    """Return a pack with such descriptors, placeholders and modes by their labels."""
    pack = _created("ConstParamPack", ops)
    for label, value in list_attr_param:
        set_fused_ops_const_param_pack_attribute(pack, label, value)
    return pack


def create_fused_ops_variant_param_pack(ops: int, list_attr_param: Iterable[tuple[int, Any]]) -> Descriptor:
    """Return a pack with such arrays and numbers by their labels."""
    pack = _created("VariantParamPack", ops)
    for label, value in list_attr_param:
        set_fused_ops_variant_param_pack_attribute(pack, label, value)
    return pack


@cudnn_errors
def set_fused_ops_const_param_pack_attribute(const_pack: Descriptor, param_label: int, desc_or_scalar: Any) -> None:
    """Set a descriptor, a placeholder or a mode."""
    own = isinstance(desc_or_scalar, Descriptor)
    value = object_of(desc_or_scalar.value, "desc_or_scalar") if own else desc_or_scalar
    cudnn.cudnnSetFusedOpsConstParamPackAttribute(object_of(const_pack.value, "const_pack"), param_label, value)


@cudnn_errors
def set_fused_ops_variant_param_pack_attribute(var_pack: Descriptor, param_label: int, arr_or_scaler: Any) -> None:
    """Set an array or a number."""
    number = isinstance(arr_or_scaler, (int, float, np.number))
    value = arr_or_scaler if number else native(arr_or_scaler)
    cudnn.cudnnSetFusedOpsVariantParamPackAttribute(object_of(var_pack.value, "var_pack"), param_label, value)


@cudnn_errors
def get_fused_ops_const_param_pack_attribute(const_pack: Descriptor, param_label: int) -> tuple[int, int]:
    """Return a placeholder, a mode, or a new descriptor's integer, 0 if there is none; and whether there is none."""
    pack = object_of(const_pack.value, "const_pack")
    value, is_null = cudnn.cudnnGetFusedOpsConstParamPackAttribute(pack, param_label)
    return (0 if value is None else plain(value)), int(is_null)


@cudnn_errors
def get_fused_ops_variant_param_pack_attribute(var_pack: int, param_label: int) -> Any:
    """Return a number, or the address of an array, of a pack's integer; 0 where nothing was set."""
    value = cudnn.cudnnGetFusedOpsVariantParamPackAttribute(object_of(as_number(var_pack), "var_pack"), param_label)
    if value is None or isinstance(value, (int, float)):
        return value or 0
    return address(value)


def make_fused_ops_plan(plan: Descriptor, const_pack: Descriptor) -> int:
    """Make a plan for a pack; return the bytes of workspace that it needs."""
    return BINDINGS["makeFusedOpsPlan"](get_handle(), plan.value, const_pack.value)  # type: ignore[no-any-return]


def fused_ops_execute(plan: Descriptor, var_pack: Descriptor) -> None:
    """Compute with a pack's arrays."""
    BINDINGS["fusedOpsExecute"](get_handle(), plan.value, var_pack.value)


FUSED_OPS = {name: value for name, value in globals().items() if "fused_ops" in name}
