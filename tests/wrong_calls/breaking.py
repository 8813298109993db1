"""From a number to a wrong call: a right one with one to three arguments replaced."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn as cudnn_names
from portadnn import graph
from portadnn import miopen as miopen_names

from . import cudnn, graph_values, graphs, miopen, native, values
from .almost import almost
from .scene import Call, Scene, digest
from .values import Pool

VOCABULARIES: dict[str, dict[str, Callable[[Scene], Call]]] = {
    "native": native.calls(),
    "cudnn": cudnn.calls(),
    "miopen": miopen.calls(),
    "graph": graphs.calls(),
}
DESCRIPTORS = {
    "native": values.NATIVE,
    "cudnn": values.descriptors(cudnn.DESCRIPTORS, cudnn_names),
    "miopen": values.descriptors(miopen.DESCRIPTORS, miopen_names),
    "graph": graph_values.POOL,
}
SLOW = ("find_", "Find", "Handle", "cudnnDestroy", "cudnnSetStream", "CreateWithStream", "miopenCreate")
SLOW += ("create_handle", "destroy_handle", "set_stream", "create_device_properties")


CHANGING = {  # calls that change the handle that they are given
    "Handle.set_stream",
    "cudnnDestroy",
    "cudnnSetStream",
    "destroy_handle",
    "set_stream",
    *(f"miopen{name}" for name in ("Destroy", "SetStream", "EnableProfiling", "SetTuningPolicy", "SetAllocator")),
}


def _turns() -> list[tuple[str, str]]:
    """Return the functions in the order in which cases call them: those that compute more often than others."""
    parts = []
    for vocabulary, calls in VOCABULARIES.items():
        module = {"cudnn": cudnn_names, "miopen": miopen_names}.get(vocabulary)
        names = []
        for name in calls:
            function = getattr(module, name, None)
            refused = "Not supported" in (getattr(function, "__doc__", None) or "")
            plain = function is not None and not inspect.signature(function).parameters
            slow = any(word in name for word in SLOW) and "." not in name and "Descriptor" not in name
            names += [name] * (1 if refused or slow or plain else 4)
        random.Random(1).shuffle(names)
        parts.append([(vocabulary, name) for name in names])
    longest = max(map(len, parts))
    return [part[i % len(part)] for i in range(longest) for part in parts]


TURNS = _turns()


@dataclass
class Case:
    """A wrong call, ready to be made."""

    number: int
    vocabulary: str
    scene: Scene
    call: Call
    changes: list[str]
    warm: bool  # the right call comes first

    def __str__(self) -> str:
        first = " after the right call" if self.warm else ""
        return f"{self.call.name}({', '.join(self.changes)}){first}"


def _weighted(right: Any, vocabulary: str) -> list[tuple[int, Pool]]:
    """Return pools of wrong values and how often they are drawn from, for what is right."""
    v = values
    enums = graph_values.ENUMS if vocabulary == "graph" else v.ENUMS
    own, other = DESCRIPTORS[vocabulary], DESCRIPTORS["cudnn" if vocabulary != "cudnn" else "miopen"]
    rest: list[tuple[int, Pool]] = [(4, v.OBJECTS), (4, v.NUMBERS), (4, v.LISTS), (6, v.HOSTILES), (2, own), (1, other)]
    rest += [
        (1, v.ENUMS if vocabulary != "graph" else graph_values.ENUMS),
        (1, v.HANDLES),
        (2, v.ARRAYS),
        (1, v.BUFFERS),
        (1, v.NATIVE),
    ]
    if isinstance(right, graph.tensor):
        return [(30, graph_values.TENSORS), *rest]
    if isinstance(right, dict):
        return [(60, graph_values.PACKS), *rest]
    if isinstance(right, dnn.Handle):
        return [(20, v.HANDLES), *rest]
    if isinstance(right, (bool, int, float)):
        return [(30, v.NUMBERS), (10, enums), *rest]
    if isinstance(right, str):
        return [(10, enums), (10, v.OBJECTS), *rest]
    if isinstance(right, (tuple, list)):
        return [(30, v.LISTS), *rest]
    if _is_array(right):
        return [(60, v.ARRAYS), (10, v.BUFFERS), *rest]
    if right is None:
        return [(10, v.ARRAYS), (5, v.BUFFERS), (10, enums), (10, v.NUMBERS), *rest]
    return [(25, own), (10, other), *rest]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or type(value).__module__ == "pyopencl.array"


def case(number: int, seed: int, handles: dict[str, dnn.Handle], only: str = "") -> Case:
    """Return the case of a number."""
    turns = [turn for turn in TURNS if only in turn] if only else TURNS
    vocabulary, name = turns[number % len(turns)]
    draw = random.Random(digest(seed, number))
    scene = Scene(handles, digest(seed, number, "memory") % 2**32)
    call = VOCABULARIES[vocabulary][name](scene)
    warm = draw.random() < 0.1
    if warm and not any(word in name for word in ("Destroy", "Set", "Execute")):
        try:
            call()
        except dnn.DnnError:
            warm = False
    else:
        warm = False
    changes: list[str] = []
    parameters = [name for name in call.arguments if name != "self"]
    for _ in range(draw.choice((1, 1, 1, 1, 2, 2, 3))):
        if not parameters and changes:
            break
        if not parameters or draw.random() < 0.02:
            changes.append(_structure(call, draw))
            break
        parameter = draw.choice(parameters)
        parameters.remove(parameter)
        changes.append(_replace(call, parameter, draw, scene, vocabulary))
    scene.forget()  # making arguments may have written states
    return Case(number, vocabulary, scene, call, changes, warm)


def directed(name: str, parameter: str, value: str, handles: dict[str, dnn.Handle]) -> Case:
    """Return the right call of a function with one argument replaced by a wrong value, which is given by its name."""
    vocabulary = next(vocabulary for vocabulary, calls in VOCABULARIES.items() if name in calls)
    scene = Scene(handles)
    call = VOCABULARIES[vocabulary][name](scene)
    pools = (
        values.ARRAYS,
        values.BUFFERS,
        values.HOSTILES,
        values.NUMBERS,
        values.OBJECTS,
        values.LISTS,
        values.ENUMS,
        values.HANDLES,
        graph_values.PACKS,
        graph_values.ENUMS,
    )
    make = next(make for pool in (*pools, *DESCRIPTORS.values()) for known, make in pool if known == value)
    call.arguments[parameter] = make(scene, call.arguments[parameter])
    scene.forget()
    return Case(-1, vocabulary, scene, call, [f"{parameter}={value}"], False)


def _structure(call: Call, draw: random.Random) -> str:
    """Leave an argument out, or give one too many."""
    names = [name for name in call.arguments if name != "self"]
    if names and draw.random() < 0.5:
        name = draw.choice(names)
        del call.arguments[name]
        call.keywords = call.keywords - {name}
        return f"without {name}"
    if draw.random() < 0.5:
        call.arguments["sideways"] = 1
        call.keywords = call.keywords | {"sideways"}
        return "sideways=1"
    call.extra = [None] * draw.choice((1, 2, 9))
    return f"{len(call.extra)} more"


def _replace(call: Call, parameter: str, draw: random.Random, scene: Scene, vocabulary: str) -> str:
    right = call.arguments[parameter]
    if draw.random() < 0.12 and len(call.arguments) > 1:
        other = draw.choice([name for name in call.arguments if name != parameter])
        value = call.arguments[other]
        if draw.random() < 0.3 and _is_array(value):
            call.arguments[parameter] = dnn.TensorDescriptor((1, 1, 2, 2)).view(value, draw.choice((0, 1, 4)))
            return f"{parameter}=a part of {other}"
        call.arguments[parameter] = value
        return f"{parameter}={other}"
    near = almost(right, draw, scene, vocabulary) if draw.random() < 0.3 else None
    if near is not None:
        call.arguments[parameter] = near[1]
        return f"{parameter}={near[0]}"
    weighted = _weighted(right, vocabulary)
    pool = draw.choices([p for _, p in weighted], [w for w, _ in weighted])[0]
    name, make = draw.choice(pool)
    value = make(scene, right)
    if call.name in CHANGING and isinstance(value, dnn.Handle) and value is not scene.handles["closed"]:
        value = scene.new_handle()  # the others are needed by other cases
    call.arguments[parameter] = value
    return f"{parameter}={name}"
