"""Drawing a case, making its call three times, and looking at every byte of the arena afterwards."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import portadnn as dnn

from .arena import GUARD, SUB_BUFFER, Arena, Layout, Place
from .items import ITEMS
from .operations import OPERATIONS, Given, Operand, Operation

DRAWN = OPERATIONS | ITEMS
VARIANTS = 6  # cases of one operation and one layout, so that its kernels are compiled once
REPEATS = 3  # the third call is one that was bound to its arguments
ARENA = 1 << 17
TOLERANCES = {"float16": 0.02, "float32": 2e-4, "float64": 1e-9}
WORKSPACES = ("none", "exact", "larger", "short", "half", "zero", "misaligned", "said more")
FAULTS = ("outside", "negative", "short memory", "read-only", "misaligned")


def kinds_of(handle: dnn.Handle) -> tuple[str, ...]:
    """Return the kinds of arenas that calls on a handle may have here."""
    own = ("buffer", "part", "pool") if handle.backend == "opencl" else ()
    torch = ("torch",) if importlib.util.find_spec("torch") else ()
    return (*own, "numpy", *torch) if handle.device.host_memory else own


@dataclass
class Outcome:
    """What came of a case: "computed" or the name of the error, and what was wrong."""

    number: int
    what: str
    ended: str
    faults: list[str] = field(default_factory=list)
    interleaved: int = 0
    fault: str = ""
    named: bool = False
    workspace: str = ""
    kind: str = ""


@dataclass
class Scenario:
    """An operation with the layout of its operands and their values."""

    operation: Operation
    dtype: str
    places: dict[str, Place]
    values: dict[str, np.ndarray[Any, Any]]
    interleaved: int
    want: dict[str, np.ndarray[Any, Any]] | None


def _values(rng: np.random.Generator, operand: Operand, place: Place) -> np.ndarray[Any, Any]:
    if place.dtype.kind != "f":
        return rng.integers(0, operand.below, place.dims).astype(place.dtype)
    drawn = rng.uniform(operand.low, 1.0, place.dims).astype(place.dtype)
    first = tuple(slice(0, 1) if s == 0 else slice(None) for s in place.strides)
    return np.broadcast_to(drawn[first], place.dims)


@functools.lru_cache(1)
def scenario(seed: int, number: int, only: str = "") -> Scenario:
    """Draw an operation and where its operands lie."""
    rng = np.random.default_rng([seed, number])
    names = [name for name in DRAWN if name.startswith(only)]
    operation = DRAWN[names[number % len(names)]](rng)
    dtype = str(rng.choice(operation.types))
    layout = Layout(rng, ARENA)
    places = {}
    for name in sorted(map(str, rng.permutation(list(operation.operands))), key=lambda n: operation.operands[n].like):
        operand = operation.operands[name]
        strides = places[operand.like].strides if operand.like else None
        places[name] = layout.draw(operand, operand.dtype or dtype, strides)
    places = {name: places[name] for name in operation.operands}
    values = {n: _values(rng, operand, places[n]) for n, operand in operation.operands.items()}
    return Scenario(operation, dtype, places, values, layout.interleaved, _wanted(operation, values))


def _wanted(operation: Operation, values: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]] | None:
    """Return what the reference computes on packed copies; None for what it refuses."""
    with dnn.Handle("reference") as handle:
        tensors = {name: np.array(array, order="C") for name, array in values.items()}
        try:
            operation.unified(Given(handle, tensors, plain=True, layouts=_layouts(tensors)))
        except dnn.NotSupported:
            return None
        return tensors


def _layouts(tensors: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    return {n: (a.shape, tuple(s // a.itemsize for s in a.strides), a.dtype) for n, a in tensors.items()}


class Case:
    """One call on views of an arena."""

    def __init__(self, handle: dnn.Handle, seed: int, number: int, only: str = "") -> None:
        self.handle, self.number = handle, number
        self.scene = scenario(seed, number // VARIANTS, only)
        self.rng = np.random.default_rng([seed, number, 1])
        self.places = dict(self.scene.places)
        self.kind = str(self.rng.choice(kinds_of(handle)))
        named = self.scene.operation.named is not None
        self.named = named and self.rng.integers(3) == 0
        self.fault = str(self.rng.choice(FAULTS)) if self.rng.integers(4) == 0 else ""
        self.arena = Arena(handle, self.kind, self._content())
        self.broken = self._break()
        if self.broken and self.fault == "misaligned":
            self.arena.bytes = self._content()
            self.arena.reset()
        self.workspace, self.allowed_workspace, self.size, self.workspace_kind = None, slice(0, 0), 0, "none"

    def _content(self) -> np.ndarray[Any, Any]:
        content = np.frombuffer(self.rng.bytes(ARENA), np.uint8).copy()
        for name, operand in self.scene.operation.operands.items():
            if operand.read and not operand.written:
                self.places[name].of(content)[...] = self.scene.values[name]
        return content

    def _break(self) -> str:
        """Break one operand as `fault` says; return its name, or "" where that cannot be."""
        operands = self.scene.operation.operands
        name = str(self.rng.choice(list(operands)))
        place = self.places[name]
        size = place.dtype.itemsize
        if self.kind == "torch" and len(place.dims) < 3:  # no view has so few dims, and torch refuses the array
            return ""
        if self.fault == "outside" and not self.named:
            low, high = place.extent
            if self.kind == "numpy" and high - low <= self.arena.slack + 4 * size:  # it would begin outside
                return ""
            over = self.arena.end - high + size * int(self.rng.integers(1, 4)) + self.arena.slack
            offset = place.offset + -(-over // size) * size
            self.places[name] = Place(offset, place.dims, place.strides, place.dtype)
        elif self.fault == "negative" and not self.named:
            axes = [i for i, d in enumerate(place.dims) if d > 1 and place.strides[i] > 0]
            if not axes or self.kind == "torch":
                return ""
            axis = axes[int(self.rng.integers(len(axes)))]
            strides = tuple(-s if i == axis else s for i, s in enumerate(place.strides))
            offset = place.offset + (place.dims[axis] - 1) * place.strides[axis]
            self.places[name] = Place(offset, place.dims, strides, place.dtype)
        elif self.fault == "misaligned" and size > 1 and not self.named:
            if self.kind == "torch":
                return ""
            moved = Place(place.offset + 1, place.dims, place.strides, place.dtype)
            if self._meets(name, moved):
                return ""
            self.places[name] = moved
        elif self.fault == "read-only" and self.kind == "numpy":
            outputs = [n for n, operand in operands.items() if operand.written]
            name = str(self.rng.choice(outputs))
        elif not (self.fault == "short memory" and self.named):
            return ""
        return name

    def _meets(self, name: str, place: Place) -> bool:
        """Tell whether a place shares a byte with another operand's."""
        taken = np.zeros(ARENA, np.uint8)
        for other, there in self.places.items():
            if other != name:
                there.mask(taken)[...] = 1
        return bool(place.mask(taken).any())

    @property
    def must_fail(self) -> bool:
        """Whether the call has to be refused."""
        if not self.broken:
            return False
        if self.fault == "misaligned":
            return self.kind in ("buffer", "part", "pool")
        return True

    # what is passed

    def _tensor(self, name: str) -> Any:
        place = self.places[name]
        plain = self.broken == name and self.fault in ("negative", "misaligned")
        if self.kind == "torch" and self.broken == name:  # torch itself refuses the others
            return self.arena.view(place)
        if len(place.dims) > 2 and not plain and self.rng.integers(3) == 0:
            return self._locked(name, self.arena.view(place))
        return self._locked(name, self.arena.tensor(place))

    def _locked(self, name: str, tensor: Any) -> Any:
        if not (self.fault == "read-only" and self.broken == name):
            return tensor
        if isinstance(tensor, dnn.TensorView):
            base = tensor.base.view()
            base.flags.writeable = False
            return dnn.TensorView(tensor.spec, base, tensor.offset)
        tensor.flags.writeable = False
        return tensor

    def _memory(self, name: str) -> Any:
        """Return what a C name takes for a tensor: bytes, or numbers, from its first one on."""
        place = self.places[name]
        nbytes = place.extent[1] - place.extent[0]
        short = self.fault == "short memory" and self.broken == name
        kind = np.uint8 if self.rng.integers(2) or self.kind == "torch" else place.dtype
        size = np.dtype(kind).itemsize
        return self._locked(name, self.arena.flat(place.offset, nbytes - size * short, kind))

    def given(self) -> Given:
        """Return the arguments of the call."""
        layouts = {
            n: (p.dims, tuple(s // p.dtype.itemsize for s in p.strides), p.dtype) for n, p in self.places.items()
        }
        tensors = {name: self._tensor(name) for name in self.places}
        memory = {name: self._memory(name) for name in self.places} if self.named else {}
        given = Given(self.handle, tensors, None, 0, memory, layouts)
        if self.scene.operation.size is not None:
            self._draw_workspace(given)
        given.workspace, given.size = self.workspace, self.size
        return given

    def _draw_workspace(self, given: Given) -> None:
        """Place a workspace behind the operands, or none."""
        kind = str(self.rng.choice(WORKSPACES))
        if kind == "none" and not self.named:
            return
        needed = int(self.scene.operation.size(given))  # type: ignore[misc]
        room = {"larger": needed + 4096, "short": needed - 1, "half": needed // 2, "zero": 0}.get(kind, needed)
        room = max(room, 0)
        start = max([GUARD, *(place.extent[1] for place in self.scene.places.values())])
        start = -(-start // SUB_BUFFER) * SUB_BUFFER
        if start + room + GUARD > self.arena.end:
            return
        form = str(self.rng.choice(["flat", "numbers", "region"]))
        if kind == "misaligned":
            start += 4
        if form == "region" and kind != "misaligned" and room and self.kind != "pool":
            self.workspace = self.arena.region(start, room)
        elif form == "numbers" and room % 4 == 0:
            self.workspace = self.arena.flat(start, room, np.float32)
        else:
            self.workspace = self.arena.flat(start, room)
        self.size = room + 256 if kind == "said more" else room
        self.allowed_workspace, self.workspace_kind = slice(start, start + room), kind

    # what came of it

    def run(self) -> Outcome:
        """Make the call three times, each time on the same bytes."""
        scene = self.scene
        outcome = Outcome(self.number, self._words(), "computed", interleaved=scene.interleaved, kind=self.kind)
        outcome.fault, outcome.named = self.fault if self.broken else "", self.named
        try:
            given = self.given()
        except dnn.DnnError as error:  # of a descriptor or a size query
            outcome.ended = type(error).__name__
            self._judge(outcome)
            return outcome
        outcome.workspace, outcome.what = self.workspace_kind, self._words()
        call = scene.operation.named if self.named else scene.operation.unified
        for _ in range(REPEATS):
            self.arena.reset()
            try:
                call(given)  # type: ignore[misc]
                outcome.ended = "computed"
            except dnn.DnnError as error:
                outcome.ended = f"{type(error).__name__}: {error}"
            self._judge(outcome)
            if outcome.faults:
                break
        return outcome

    def _words(self) -> str:
        fault = f", {self.broken} {self.fault}" if self.broken else ""
        names = "C names" if self.named else "unified"
        return (
            f"{self.scene.operation.name} {self.scene.dtype} on {self.kind}, {names}, "
            f"workspace {self.workspace_kind}{fault}"
        )

    def _judge(self, outcome: Outcome) -> None:
        found, done = self.arena.read(), outcome.ended == "computed"
        if done and self.must_fail:
            outcome.faults.append("it was not refused")
        free = np.zeros(ARENA, np.uint8)
        if done or self.scene.operation.steps > 1:
            free[self.allowed_workspace] = 1
            for name, operand in self.scene.operation.operands.items():
                if operand.written and not (name == self.broken and self.must_fail):
                    self.places[name].mask(free)[...] = 1
        changed = np.flatnonzero((found != self.arena.bytes) & (free == 0))
        if changed.size:
            where = f"bytes {changed[0]} to {changed[-1]} ({changed.size} of them)"
            outcome.faults.append(f"{where} were written outside of what was given")
        if done and self.scene.want is not None and not self.must_fail:
            self._compare(found, outcome)

    def _compare(self, found: np.ndarray[Any, Any], outcome: Outcome) -> None:
        for name, operand in self.scene.operation.operands.items():
            if not (operand.written and operand.compared):
                continue
            got, want = self.places[name].of(found), self.scene.want[name]  # type: ignore[index]
            if got.dtype.kind != "f":
                same = np.array_equal(got, want)
            else:
                wide = want.astype(np.float64)
                bound = TOLERANCES[self.scene.dtype] * (1 + np.abs(wide).max(initial=0.0))
                same = bool((np.abs(got.astype(np.float64) - wide) <= bound).all())
            if not same:
                outcome.faults.append(f"{name} is wrong")
