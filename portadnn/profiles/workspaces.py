"""Checks of pooling's and LRN's workspaces and of group counts (S16 to S19)."""

from __future__ import annotations

from typing import Any

from ..enums import PoolingMode
from ..errors import DnnError
from ..hooks import Call
from .calls import handle_of
from .checks import Check, Event, Recent, Watch
from .reports import root_of

_BACKWARD = {"pooling_forward": "pooling_backward", "lrn_cross_channel_forward": "lrn_cross_channel_backward"}
_MIOPEN = {"miopenPoolingBackward": "pooling_backward", "miopenLRNBackward": "lrn_cross_channel_backward"}
_MIOPEN_FORWARD = {"miopenPoolingForward": "pooling_forward", "miopenLRNForward": "lrn_cross_channel_forward"}
_WORKSPACES = ("workSpace", "workspace")
_FLAGS = ("do_backward", "doBackward")


class Workspaces(Check):
    """Forward calls of pooling and LRN, and the workspaces they wrote."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._made: Recent[tuple[str, str, int], bool] = Recent()  # by backward operation, "x" or "y", and its address
        self._filled: Recent[int, tuple[str, int, int]] = Recent()  # by workspace: backward operation, x and y
        self._unfilled: Recent[tuple[str, int, int], str] = Recent()  # forward calls that filled none, and why
        self._groups: dict[int, tuple[Any, int]] = {}  # by descriptor, which is kept: its count of groups

    def before(self, call: Call) -> None:
        if call.library == "portadnn" or not call.args:
            return
        self._count_groups(call)
        op = _MIOPEN.get(call.function)
        if op is not None and handle_of(call) is self.watch.handle and _keeps(call):
            x, y = (_address(call, name) for name in ("x", "y"))
            if x is not None and y is not None:
                self._judge(call, op, x, y)

    def _count_groups(self, call: Call) -> None:
        name = call.function.removeprefix(call.library)
        conv = call.args[0]
        if name == "SetConvolutionGroupCount" and len(call.args) > 1:
            self._groups[id(conv)] = conv, call.args[1]
        elif name.startswith(("SetConvolution2dDescriptor", "SetConvolutionNdDescriptor", "InitConvolution")):
            _, groups = self._groups.pop(id(conv), (None, 1))
            if groups != 1:
                self.report("S16", call, groups=groups)
        elif name == "DestroyConvolutionDescriptor":
            self._groups.pop(id(conv), None)

    def computing(self, event: Event) -> None:
        op, places = event.problem.op, event.addresses
        if not event.scalars:
            return
        forward = _MIOPEN_FORWARD.get(root_of(event.call).function, op)  # portadnn may compute it by another operation
        if forward in _BACKWARD:
            self._note(event, _BACKWARD[forward])
        elif op in _BACKWARD.values() and event.mine and root_of(event.call).library != "miopen":
            maxima = getattr(event.problem, "mode", None) is PoolingMode.MAX
            if maxima or op == "lrn_cross_channel_backward":
                self._judge(event.call, op, places["x"], places["y"])

    def _note(self, event: Event, backward: str) -> None:
        x, y = event.addresses["x"], event.addresses["y"]
        self._made[backward, "x", x] = self._made[backward, "y", y] = True
        root = root_of(event.call)
        if root.library != "miopen":
            return
        key = (backward, x, y)
        given = root.arguments
        workspace = _address(root, *_WORKSPACES)
        self._unfilled.pop(key, None)
        if not any(given.get(flag) for flag in _FLAGS):
            self._unfilled[key] = "its forward call had do_backward=False"
        elif workspace is None:
            self._unfilled[key] = "its forward call had no workspace"
        else:
            self._filled[workspace] = key

    def _judge(self, call: Call, op: str, x: int, y: int) -> None:
        pooling = op == "pooling_backward"
        rule = "S17" if pooling else "S19"
        if (op, "x", x) not in self._made and (op, "y", y) not in self._made:
            if pooling:
                self.report("S18", call)
            else:
                self.report(rule, call, what="no forward LRN made y of x")
            return
        root = root_of(call)
        if root.library != "miopen":  # the others have no workspaces there
            return
        workspace = _address(root, *_WORKSPACES)
        filled = None if workspace is None else self._filled.get(workspace)
        what = self._unfilled.get((op, x, y))
        if what is None and filled != (op, x, y):
            if workspace is None:
                what = "it is given no workspace"
            elif filled is None:
                what = "its workspace is not the one that the forward call filled"
            else:
                what = "another forward call has overwritten its workspace since"
        if what is not None:
            self.report(rule, call, what=what)


def _keeps(call: Call) -> bool:
    """Tell whether a backward call of MIOpen reads a workspace; averages do not."""
    pool = getattr(getattr(call.arguments.get("poolDesc"), "value", None), "pool", None)
    return call.function != "miopenPoolingBackward" or getattr(pool, "mode", None) is PoolingMode.MAX


def _address(call: Call, *names: str) -> int | None:
    """Return the address of an argument of a MIOpen call; None if unknown."""
    given, handle = call.arguments, handle_of(call)
    memory = next((given[name] for name in names if name in given), None)
    if memory is None or handle is None:
        return None
    try:
        return handle.device.address(memory)
    except (DnnError, AttributeError, TypeError):
        return None
