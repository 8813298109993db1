"""Checks for functions and arguments that the library lacks (K1, K6, K8, S04, S05, S13, V06, F01)."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np

from .. import mapping
from ..hooks import Call
from .calls import handle_of, op_of, role_of, words
from .checks import Check
from .names import Profile

# What a port leaves out without harm: portadnn's own, or descriptors and settings whose value is an argument there.
_DROPPED = re.compile(
    "get_error_string|get_version|.*(OpTensorDescriptor|MathType|ReorderType|GetVersion|GetProperty|ErrorString"
    "|CudartVersion|Callback|QueryRuntimeError|SizeInBytes|VersionCheck|MaxDeviceVersion).*"
)
_ND = re.compile(r"(.*[._])?nd(_.*)?|.*Nd(Descriptor|Forward|Tensor).*|.*TensorNd.*|.*FilterNd.*|.*PoolingNd.*")
_DIFFERENCE = re.compile("transformtensor|dropout|rnn|divisive")
_SUFFIX = re.compile(r"_v\d+$")


class Functions(Check):
    """Check of function names and arguments."""

    def before(self, call: Call) -> None:
        if self.profile.library == "miopen" and self._convolution(call):
            return
        found = missing(self.profile, call.library, call.function)
        if found is not None:
            rule, what, instead = found
            self.report(rule, call, what=what, instead=instead)
            self.watch.refused.add(call)
        elif self.profile.library == "miopen" and np.float64 in map(type, (*call.args, *call.kwargs.values())):
            for name, value in call.arguments.items():
                if name.startswith(("alpha", "beta")) and type(value) is np.float64 and handle_of(call) is not None:
                    self.report("V06", call, name=name, value=value.item())

    def _convolution(self, call: Call) -> bool:
        """Report functions outside MIOpen's order of calls; tell whether this was one."""
        role = role_of(call.library, call.function)
        if role not in ("get", "find", "max_count"):
            return False
        facts = words(op_of(call.function))
        given = call.arguments
        chooses = any(given.get(name) is not None for name in ("preference", "memory_limit", "memoryLimitInBytes"))
        if role == "get":
            self.report("K6" if chooses else "S04", call, **facts)
        else:
            self.report("S05" if role == "find" else "S13", call, **facts)
        self.watch.refused.add(call)
        return True


@functools.cache
def computes(library: str, function: str, op: str) -> bool:
    """Tell whether the mapping table has an operation for a function."""
    return any(op in row.portadnn for row in _rows(library, function))


def _rows(library: str, function: str) -> list[mapping.Row]:
    table = mapping.table()
    if library == "portadnn":
        return [row for row in table.rows if function in row.portadnn]
    return [row for row in table.rows if function in row.names]


def _has(profile: Profile, function: mapping.Function) -> bool:
    """Tell whether the profile's library has a function."""
    first, last = function.headers
    if profile.name == "miopen-1":
        return first == "1.0.0"
    if profile.name == "cudnn-5":
        return function.section is not None or first.startswith("5.")
    return last.startswith(("rocm", f"{profile.major}."))


@functools.cache
def missing(profile: Profile, library: str, function: str) -> tuple[str, str, str] | None:
    """Return rule, function and fix if the profile's library lacks a function, else None.

    Constructors of descriptors are not judged: what they describe is, when it is computed. Nor is what the mapping
    table knows no counterpart of: the capability table is asked, when it is computed.
    """
    if _DROPPED.fullmatch(function) or (library == "portadnn" and function[0].isupper() and "." not in function):
        return None
    if profile.name == "miopen-1" and _ND.fullmatch(function):
        return "K1", f"{function} is one", ""
    rows = _rows(library, function)
    found = [
        theirs for row in rows for theirs in (row.miopen if profile.library == "miopen" else (row.cudnn,)) if theirs
    ]
    if library == profile.library and function in mapping.table().functions:
        found = [mapping.table().functions[function]]
    lacks = bool(found) and not any(_has(profile, each) for each in found)
    if profile.name == "miopen-1" and _DIFFERENCE.search(function.lower().replace("_", "")) and (lacks or not found):
        return "K8", function, ""
    if not lacks:
        return None
    others = _successors(profile, rows, found)
    if library == "portadnn" and any(each.removed for each in found):
        others = [
            name for row in mapping.table().rows if row.cudnn and row.cudnn.name in others for name in row.portadnn
        ]
        if not others:
            return None  # the later function has another form, and portadnn has one for both
    names = ", ".join(dict.fromkeys(each.name for each in found))
    history = next((each.history for each in found if each.history), "")
    notes = " ".join(note.text for row in rows for note in row.notes) if profile.library == "miopen" else ""
    instead = f"use {', '.join(others)}" if others else notes or f"see portadnn map {function}"
    return "F01", f"{names}{f' ({history})' if history else ''}", instead


def _successors(profile: Profile, rows: Sequence[mapping.Row], functions: Sequence[mapping.Function]) -> list[str]:
    """Return the library's substitutes of functions: other versions, or the same name in portadnn."""
    bases = {_SUFFIX.sub("", function.name) for function in functions}
    table = mapping.table()
    found = [name for name, each in table.functions.items() if _SUFFIX.sub("", name) in bases and _has(profile, each)]
    ours = {name for row in rows for name in row.portadnn if not name[0].isupper()}
    if profile.library == "cudnn":
        others = [row.cudnn for row in table.rows if row.cudnn is not None and ours & set(row.portadnn)]
        found += [each.name for each in others if _has(profile, each)]
    return list(dict.fromkeys(found))
