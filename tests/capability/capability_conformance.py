"""Whether a backend's table tells the truth: every choice and pair of choices of every operation, put to the engines.

``faults`` returns what is wrong with a table, without running anything. What engines and problems say does not depend
on the table and is asked once, so that the tests can afford a table with each of its lines deleted.
"""

import functools
import itertools

import portadnn as dnn
from portadnn.capability.features import Feature, axes, features, line
from portadnn.capability.rules import Query
from portadnn.capability.tables import decide
from portadnn.dispatch.choice import check_type
from portadnn.operation import operation, operations
from portadnn.registry import get_backend
from portadnn_backends.base import DeviceInfo

_GPU = {
    "kind": "gpu",
    "schedule": "gpu",
    "compute_units": 60,
    "simd_width": 32,
    "max_work_group": 256,
    "local_memory": 64 << 10,
    "max_allocation": 16 << 30,
}
_NAMES = {"name": "", "vendor": "", "driver": "", "version": ""}
MADE_UP = {  # devices as there are, and devices that lack what a table speaks of
    "reference": (DeviceInfo("reference", **_NAMES, kind="cpu"),),
    "opencl": (
        DeviceInfo("opencl", **_NAMES, **_GPU, fp64=False),
        DeviceInfo("opencl", **_NAMES, **_GPU),
        DeviceInfo(
            "opencl", **_NAMES, kind="cpu", compute_units=2, simd_width=8, max_work_group=4096, max_allocation=16 << 30,
            features=frozenset({"atomic64"}),
        ),
    ),
    "cuda": (
        DeviceInfo(
            "cuda", **_NAMES, **_GPU, arch="sm_80", features=frozenset({"atomic64", "mma", "shuffle", "grid_fence"})
        ),
    ),
    "hip": (DeviceInfo("hip", **_NAMES, **_GPU, arch="gfx1100", features=frozenset({"atomic64", "shuffle"})),),
    "torch": (DeviceInfo("torch", **_NAMES, kind="cpu"), DeviceInfo("torch", **_NAMES, **_GPU)),
}  # fmt: skip


PAIRED = ("dtype", "rank", "layout", "size", "algo", "stride", "dilation", "filter", "groups", "image", "math", "mode")


@functools.cache
def cells(op):
    """Return the features of an operation, and those of two choices that shape tensors or the way of computing."""
    found = {(feature.line, feature.algo): feature for feature in features(op)}
    chosen = {axis: values for axis, values in axes(op).items() if axis in PAIRED}
    for a, b in itertools.combinations(chosen, 2):
        for u, v in itertools.product(chosen[a], chosen[b]):
            choices = {a: u, b: v}
            algo = choices.pop("algo", None)
            text = line(op, **choices)
            member = None if algo is None else operation(op).algorithms.parse(algo)
            found.setdefault((text, member), Feature(op, f"{a}+{b}", f"{u}+{v}", text, member))
    return tuple(found.values())


@functools.cache
def queries(op, backend):
    """Return what is asked of an operation on each of a backend's devices, with the truth."""
    found = []
    for cell, info in itertools.product(cells(op), MADE_UP[backend]):
        why = truth(cell.problem, cell.algo, info)
        if why is not dnn.BadParam:
            found.append((cell, Query(cell.problem, cell.scalars, cell.algo, info), why))
    return found


@functools.cache
def truth(problem, algo, info):
    """Return None where some engine takes a problem on a device, else why not; BadParam where it is no problem."""
    try:
        problem.validate()
        check_type(problem, info)
    except dnn.BadParam:
        return dnn.BadParam
    except dnn.DnnError as error:
        return str(error)
    for engine in get_backend(info.backend).engines():
        if not isinstance(problem, engine.problems) or not engine.serves(problem, algo):
            continue
        if engine.refusal(problem, info) is None:
            return None
    return "no engine takes it"


def faults(table, backend, known=None):
    """Yield what is wrong with a table; only what differs from a table that is `known` to be right, if there is one."""
    if not table.runnable:
        yield "it is not runnable"
    if any(map(table.lacks, operations())) and table.otherwise[1].split(" ")[0] not in table.sources:
        yield "no source for what it lacks"
    for rule in table.rules:
        for source in filter(None, rule.source.split("; ")):
            if source.split()[0] not in table.sources:
                yield f"{rule.feature}: source {source}"
        if rule.answer == "limits" and not rule.beyond:
            yield f"{rule.feature}: limits of a backend say what lies beyond them"
    changed = None if known is None else {*table.rules} ^ {*known.rules}
    met = set()
    for op in operations():
        rules = table.rules_of(op)
        touched = None if changed is None else [rule for rule in changed if rule.names(op)]
        if table.lacks(op):
            taken = (cell for cell, _, why in queries(op, backend) if why is None)
            yield from (f"{cell.line}: an engine takes what the table lacks" for cell in taken)
            continue
        for cell, query, why in queries(op, backend) if touched != [] else ():
            if touched is None or any(rule.says(query) for rule in touched):
                verdict = decide((rule, rule.says(query)) for rule in rules)
                met.update((rule, verdict.answer) for rule in verdict.rules)
                yield from _wrong(cell, verdict, why)
    for rule in table.rules if known is None else ():
        if rule.answer != "yes" and (rule, "no") not in met:
            yield f"{rule.feature}: no problem is refused by it"
        if rule.beyond and (rule, "limits") not in met:
            yield f"{rule.feature}: no problem keeps to it"


def _wrong(cell, verdict, why):
    if verdict.answer != "no":
        return [] if why is None else [f"{cell.line} {cell.algo or ''}: {verdict.answer}, but: {why}"]
    if why is None:
        return [f"{cell.line} {cell.algo or ''}: taken, but: {verdict.reason}"]
    if not verdict.rules:
        return [f"{cell.line} {cell.algo or ''}: {verdict.reason}"]
    if why != "no engine takes it" and not any((rule.message or rule.reason) in why for rule in verdict.rules):
        return [f"{cell.line}: {verdict.reason}, where the error is: {why}"]
    return []
