"""The methods of :class:`~portadnn.graph.api.pygraph` that fill a program's CUDA graph with a plan's launches."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import NotSupported
from ...handle import Handle
from ..enums import cuda_graph_retention
from ..errors import GraphError
from ..pack import bind
from ..rules import fail
from .arguments import pairs, whole
from .builder import method
from .handles import handle_of
from .planned import Planned

if TYPE_CHECKING:
    from portadnn_backends.base import BoundLaunches, LaunchRun

_RETAINED: dict[int, Any] = {}  # what graphs of the driver need, by their addresses, where they are to keep it


@method
def populate_cuda_graph(
    self: Planned, handle: Any, variant_pack: Mapping[Any, Any], workspace: Any, cuda_graph: int
) -> None:
    """Add the plan's launches to an empty CUDA graph, as one child node; nothing is launched.

    Parameters
    ----------
    handle
        Of a device of CUDA; None is the graph's.
    variant_pack
        Buffers of that device by tensor or uid, as ``execute`` takes them; arrays in host memory are refused.
    workspace
        As ``execute`` takes it; an address counts as none, and the plan has memory of its own then.
    cuda_graph
        The address of the program's ``cudaGraph_t``. Kernels and memory of the plan's own are kept as long as the
        process lives, or, with ``cuda_graph_retention.NONE``, as long as this graph.

    Raises
    ------
    cudnnGraphNotSupportedError
        The device has no CUDA graphs, or the plan does more than launch kernels on it (PG-PLAN-008).
    InvalidValue
        The CUDA graph is none, or has nodes (PG-PLAN-009).
    """
    _fill(self, handle, variant_pack, workspace, cuda_graph, update=False)


@method
def update_cuda_graph(
    self: Planned, handle: Any, variant_pack: Mapping[Any, Any], workspace: Any, cuda_graph: int
) -> None:
    """Let a CUDA graph that :func:`populate_cuda_graph` filled launch with other buffers.

    The nodes are made anew, in the same order, so that ``cudaGraphExecUpdate`` updates an instance of the old ones.
    Arguments and errors are those of :func:`populate_cuda_graph`, which has to have filled the CUDA graph.
    """
    _fill(self, handle, variant_pack, workspace, cuda_graph, update=True)


def get_cuda_graph_retention(self: Planned) -> cuda_graph_retention:
    """Return what the graph was made with, else what ``CUDNN_CUDA_GRAPH_RETENTION`` says, else PER_GRAPH."""
    if self._retention is not None:
        return self._retention
    said = os.environ.get("CUDNN_CUDA_GRAPH_RETENTION") or "PER_GRAPH"
    return cuda_graph_retention.parse(said.upper(), "CUDNN_CUDA_GRAPH_RETENTION")


class _Noted:
    """A recorder that notes launches instead of making them."""

    def __init__(self, handle: Handle) -> None:
        self.thread = threading.get_ident()
        self.calls: list[BoundLaunches] = []
        self.kept: list[Any] = []
        self._handle = handle

    def launch(self, run: LaunchRun, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        """Note the launches."""
        self.calls.append((run.launches, list(arrays), scalars, workspace))

    def allocated(self, memory: Any) -> None:
        """Keep the memory."""
        self.kept.append(memory)

    def scratch(self, handle: Handle, nbytes: int) -> Any:
        """Return memory of the plan's own."""
        return handle.device.workspace(nbytes)

    def host_access(self, what: str) -> None:
        """Refuse what a CUDA graph of kernels does not do."""
        raise _refused(self._handle, f"the call {what}", "buffers of the device")

    def opaque(self, run: Callable[..., None], *args: Any) -> None:
        """Refuse a plan that computes outside of kernels."""
        raise _refused(self._handle, "the plan computes outside of kernels", "another plan, or execute()")


def _refused(handle: Handle, got: str, fix: str) -> GraphError:
    name = f"{handle.backend} ({handle.info.name})"
    return fail("PG-PLAN-008", expected=f"a plan of kernels on a device of CUDA, not {name}", got=got, fix=fix)


def _fill(self: Planned, handle: Any, pack: Any, workspace: Any, cuda_graph: Any, *, update: bool) -> None:
    address = whole(cuda_graph, "cuda_graph", "PG-PLAN-009")
    if address <= 0:
        raise fail("PG-PLAN-009", argument="cuda_graph", expected="the address of a cudaGraph_t", got=address)
    if self._frozen is None or self._chosen is None:
        raise fail("PG-PLAN-001", expected="a built graph", got="no plan", fix="graph.build()")
    values = pairs(pack, "variant pack", "PG-PACK-006", "a dict of buffers by tensor or uid")
    opened = handle_of(self._handle if handle is None else handle)
    device, plans = opened.device, self._plans_on(opened)
    if not device.populates:
        raise _refused(opened, "no CUDA graphs", "execute(), or handle.capture()")
    plan = plans.plan(self._index(plans))
    with opened.lock:
        if device.recorder is not None:
            raise _refused(opened, "a capture that goes on", "leave its with block first")
        noted = _Noted(opened)
        device.recorder = noted
        try:
            bound = bind(self._frozen, device, values, self._known())
            scratch = _workspace(opened, plan.workspace_size, workspace)
            if not plan.run.recordable:
                noted.opaque(plan.run)
            plan.run(*plan.problem.arguments(bound.arrays), scratch)
        finally:
            device.recorder = None
        try:
            kept = device.populate(address, noted.calls, update=update)
        except NotSupported as error:
            raise _refused(opened, error.message, "execute() in a capture of the stream") from error
        except ValueError as error:
            got = str(error)
            raise fail("PG-PLAN-009", argument="cuda_graph", expected=_EXPECTED[update], got=got) from error
    keeping = (kept, noted.kept, scratch, noted.calls)
    if get_cuda_graph_retention(self) is cuda_graph_retention.NONE:
        self._cuda_graphs[address] = keeping
    else:
        _RETAINED[address] = keeping


_EXPECTED = {False: "a graph without nodes", True: "a graph that populate_cuda_graph() filled"}


def _workspace(handle: Handle, needed: int, given: Any) -> Any:
    """Return the program's workspace, or memory where that is none, or too small."""
    device = handle.device
    if needed == 0:
        return None
    if given is not None and not isinstance(given, int):
        native = device.native_workspace(given)
        if native is not None and device.workspace_size(native) >= needed:
            return native
    return device.workspace(needed)
