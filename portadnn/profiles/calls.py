"""Roles of functions in a convolution's sequence of calls, and their names in messages."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from .. import mapping
from ..enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DnnEnum
from ..handle import Handle
from ..hooks import Call
from ..problem import ALIGNMENT, Problem, TensorSpec, packed_strides
from .reports import root_of

Role = Literal["find", "find_ex", "get", "size", "max_count", ""]


@dataclass(frozen=True)
class Direction:
    """Direction of convolution: its tensors and function names."""

    tensors: str  # of portadnn's calls, in order
    out: str
    filter: str
    algos: type[DnnEnum]
    c_name: str  # in MIOpen's functions


DIRECTIONS = {
    "convolution_forward": Direction("x, w, conv, y", "y", "w", ConvolutionFwdAlgo, "Forward"),
    "convolution_backward_data": Direction("w, dy, conv, dx", "dx", "w", ConvolutionBwdDataAlgo, "BackwardData"),
    "convolution_backward_filter": Direction(
        "x, dy, conv, dw", "dw", "dw", ConvolutionBwdFilterAlgo, "BackwardWeights"
    ),
}


@functools.cache
def role_of(library: str, function: str) -> Role:
    """Return a function's role before a convolution: size, Find or Get; "" for others."""
    name = function.lower().replace("_", "").removeprefix(library)
    if name.startswith("findconvolution"):
        return "find_ex" if library == "miopen" or name.endswith("ex") else "find"
    if name.startswith(("getconvolution", "convolution")) and "workspacesize" in name and "activation" not in name:
        return "size"
    if re.fullmatch(r"getconvolution\w+algorithm(v7)?", name):
        return "get"
    return "max_count" if re.fullmatch(r"getconvolution\w+algorithmmaxcount", name) else ""


def handle_of(call: Call) -> Handle | None:
    """Return the handle of a call, or of the outer call."""
    at: Call | None = call
    while at is not None:
        first = at.args[0] if at.args else at.kwargs.get("handle")
        for handle in (first, getattr(first, "handle", None)):
            if isinstance(handle, Handle):
                return handle
        at = at.parent
    return None


def argument(call: Call, *names: str) -> Any:
    """Return an argument by any of its names, from the call or its outer call; None if omitted."""
    for at in (call, root_of(call)):
        given = at.arguments
        for name in names:
            if name in given:
                return given[name]
    return None


def plain(problem: Problem) -> Problem:
    """Return the problem without alignments and meaningless strides."""
    changed = {}
    for field in fields(problem):
        spec = getattr(problem, field.name)
        if isinstance(spec, TensorSpec):
            strides = packed_strides(spec.dims) if spec.is_packed() else spec.strides
            if spec.alignment != ALIGNMENT or strides != spec.strides:
                changed[field.name] = TensorSpec(spec.dtype, spec.dims, strides)
    return replace(problem, **changed) if changed else problem


def op_of(function: str) -> str:
    """Return the direction of convolution that a function's name stands for."""
    name = function.lower().replace("_", "")
    if "backwarddata" in name:
        return "convolution_backward_data"
    filters = "backwardfilter" in name or "backwardweights" in name
    return "convolution_backward_filter" if filters else "convolution_forward"


@functools.cache
def c_call(name: str) -> str:
    """Return a call of a C function with its arguments in order."""
    return f"{name}({', '.join(p.name for p in mapping.table().functions[name].parameters)})"


def words(op: str, problem: Problem | None = None) -> dict[str, str]:
    """Return the values of message placeholders for a direction of convolution."""
    direction = DIRECTIONS[op]
    return {
        "problem": str(problem or op),
        "find": f"find_{op}_algorithm_ex(handle, {direction.tensors}, workspace=workspace)",
        "size": f"get_{op}_find_workspace_size(handle, {direction.tensors})",
        "run": f"{op}(handle, {direction.tensors}, algo=perf[0].algo, workspace=workspace)",
        "c_find": c_call(f"miopenFindConvolution{direction.c_name}Algorithm"),
        "c_size": c_call(f"miopenConvolution{direction.c_name}GetWorkSpaceSize"),
        "c_run": c_call(f"miopenConvolution{direction.c_name}"),
    }
