"""Variant packs, and running plans on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import BadParam, shown
from ...graph.api.execution import execute as run_graph
from ...handle import Handle
from ..descriptors import made
from .objects import BackendDescriptor
from .planning import PlannedGraph


@dataclass(frozen=True)
class Pack:
    """Buffers by uid, and a workspace."""

    buffers: Mapping[int, Any]
    workspace: Any


def finalize_pack(descriptor: BackendDescriptor) -> Pack:
    """Bring uids and pointers together.

    Raises
    ------
    BadParam
        They differ in number, or a uid is there twice.
    """
    uids, pointers = (descriptor.many(f"VARIANT_PACK_{name}") for name in ("UNIQUE_IDS", "DATA_POINTERS"))
    if len(uids) != len(pointers):
        raise BadParam(
            argument="CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS",
            expected=f"{len(uids)} pointers, as there are uids",
            got=len(pointers),
        )
    twice = sorted({uid for uid in uids if uids.count(uid) > 1})
    if twice:
        raise BadParam(argument="CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS", expected="each uid once", got=f"{twice} again")
    return Pack(dict(zip(uids, pointers, strict=True)), descriptor.one("VARIANT_PACK_WORKSPACE"))


def _finalized(descriptor: Any, name: str, argument: str) -> Any:
    made(descriptor, BackendDescriptor, argument)
    if descriptor.kind.name != name or descriptor.value is None:
        raise BadParam(
            argument=argument, expected=f"a finalized CUDNN_BACKEND_{name}_DESCRIPTOR", got=shown(descriptor)
        )
    return descriptor.value


def execute(handle: Handle, plan: Any, pack: Any) -> None:
    """Run a plan.

    Raises
    ------
    BadParam
        Descriptors that are none of a plan and a pack, or not finalized; buffers that are missing or do not fit; no
        workspace where the plan needs one.
    """
    planned: PlannedGraph = _finalized(plan, "EXECUTION_PLAN", "executionPlan")
    given: Pack = _finalized(pack, "VARIANT_PACK", "variantPack")
    if planned.needed and given.workspace is None:
        raise BadParam(
            argument="CUDNN_ATTR_VARIANT_PACK_WORKSPACE",
            expected=f"{planned.needed} bytes (CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)",
            got="NULL",
        )
    run_graph(planned, given.buffers, given.workspace, None if handle is planned.handle else handle)
