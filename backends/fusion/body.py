"""What the texts for CPUs and GPUs share: statements of values, names, parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from portadnn.graph.enums import pointwise_mode

from . import expressions as c
from .geometry import Place, Space
from .launches import Stage
from .values import STORAGE, Node, Value

INDENT = "    "


@dataclass
class Text:
    """Lines of C under construction."""

    lines: list[str] = field(default_factory=list)
    depth: int = 1

    def add(self, line: str) -> None:
        """Add a line."""
        self.lines.append(INDENT * self.depth + line if line else "")

    def open(self, line: str) -> None:
        """Begin a block."""
        self.add(f"{line} {{".lstrip())
        self.depth += 1

    def close(self) -> None:
        """End a block."""
        self.depth -= 1
        self.add("}")


@dataclass(frozen=True)
class Written:
    """A kernel's text and how it is launched.

    Attributes
    ----------
    name : str
        Of the function.
    text : str
        The function; ``fusion/fused.h`` goes before it.
    memory : tuple of Value
        Its tensors, in order.
    numbers : tuple of Value
        Numbers that are passed by value at run time, in order.
    scratch : tuple of (str, int)
        Registers and numbers of the partial sums, which lie in the workspace one array after another, in order.
    """

    name: str
    text: str
    memory: tuple[Value, ...]
    numbers: tuple[Value, ...]
    scratch: tuple[tuple[str, int], ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]


def comment(text: str) -> str:
    """Return names as they may stand in a comment: in one line, which does not go on in the next."""
    return re.sub(r"[^ -\[\]-~]", "?", text)


class Body:
    """The statements of one launch.

    Parameters
    ----------
    load
        Returns the text of the register that a place's memory gives.
    """

    def __init__(self, stage: Stage, space: Space, load: Callable[[Place], str]) -> None:
        self.stage, self.space, self.load = stage, space, load
        self.place = {id(place.value): place for place in space.places if place.memory}
        self.stored = {id(value): space.places[len(stage.loads) + i] for i, value in enumerate(stage.stores)}
        self.counters = {id(place.value): place for place in space.places if not place.memory}
        self.loaded = {id(value): space.places[i] for i, value in enumerate(stage.loads)}
        self.cone = stage.cone([*stage.stores, *(node.inputs[0] for node in stage.reductions)])
        self.numbers = [v for v in self.cone if v.info is not None and v.info.by_value and not v.info.constant]
        self.names = {id(value): f"v{i}" for i, value in enumerate(v for v in self.cone if not is_number(v))}
        self.read = {id(one) for value in self.cone if value.node is not None for one in value.node.inputs}
        self.done: set[int] = set()  # row by row
        self.kept: dict[int, int] = {}  # values that later passes find in an array, with the pass that leaves them
        self.current, self.slot = 0, ""  # the pass that is written, and the place in these arrays

    # which values are needed where

    def roots(self, number: int) -> tuple[list[Node], list[Value]]:
        """Return the reductions of a pass, and what is stored place by place in it."""
        stage = self.stage
        reductions = [node for node in stage.reductions if stage.passes[node] == number]
        stores = [v for v in stage.stores if stage.inner(v) and stage.pass_of(v) == number]
        return reductions, stores

    def row_values(self, roots: Iterable[Value]) -> list[Value]:
        """Return what is needed for some values and is one for each result, without what is there already."""
        found = []
        for value in self.stage.cone(roots):
            if not self.stage.inner(value) and id(value) not in self.done and not is_number(value):
                if value.node is not None and value.node in self.stage.passes:
                    continue  # made by its pass
                self.done.add(id(value))
                found.append(value)
        return found

    def inner_values(self, roots: Iterable[Value]) -> list[Value]:
        """Return what is needed for some values and differs from place to place."""
        needed = self._near(roots)
        return [value for value in self.cone if id(value) in needed]

    def keep(self) -> list[Value]:
        """Choose what passes leave for later ones: what these compute first of what earlier ones have computed."""
        before: dict[int, int] = {}
        chosen: dict[int, Value] = {}
        for number in range(1, self.stage.last_pass + 1):
            reductions, stores = self.roots(number)
            stack = [*stores, *(node.inputs[0] for node in reductions if not node.samples)]
            near = self._near(stack)
            while stack:
                value = stack.pop()
                if not self.stage.inner(value) or not self.stage.computes(value) or value.node is None:
                    continue
                if id(value) in before:
                    chosen[id(value)] = value
                else:
                    stack.extend(value.node.inputs)
            before.update({one: number for one in near if one not in before})
        self.kept = {one: before[one] for one in chosen}
        return list(chosen.values())

    def _found(self, value: Value) -> bool:
        """Tell whether an earlier pass has left a value."""
        return self.current > self.kept.get(id(value), self.current)

    def _near(self, roots: Iterable[Value]) -> set[int]:
        found: set[int] = set()
        stack = list(roots)
        while stack:
            value = stack.pop()
            if id(value) in found or not self.stage.inner(value):
                continue
            found.add(id(value))
            if self.stage.computes(value) and value.node is not None and not self._found(value):
                stack.extend(value.node.inputs)
        return found

    # statements

    def operand(self, value: Value, register: str) -> str:
        """Return the text of a value in a register."""
        if is_number(value):
            assert value.info is not None
            if value.info.constant:
                assert value.info.value is not None
                number = value.info.data_type.rounded(value.info.value).item() if value.info.uid else value.info.value
                return c.splat(number, register)
            return f"({register})({'s' + str(self.numbers.index(value))})"
        return c.converted(self.names[id(value)], value.register, register)

    def state(self, text: Text, values: Sequence[Value]) -> None:
        """Write the statements that give values their names."""
        for value in values:
            name, register = self.names[id(value)], value.register
            if not self.stage.computes(value):
                text.add(f"const {register} {name} = {self.load(self.loaded[id(value)])};  // {comment(value.name)}")
                continue
            if self._found(value):
                text.add(f"const {register} {name} = kept_{name}[{self.slot}];")
                continue
            node = value.node
            assert node is not None
            text.add(f"const {register} {name} = {self._result(value, node)};  // {comment(self._told(value, node))}")
            if self.kept.get(id(value)) == self.current:
                text.add(f"kept_{name}[{self.slot}] = {name};")

    def _told(self, value: Value, node: Node) -> str:
        kind = f", {value.kind}" if value.info is not None else ""
        return f"{node.mode} of {node.label}{kind}"

    def _result(self, value: Value, node: Node) -> str:
        if node.mode is pointwise_mode.GEN_INDEX:
            source, result = "I", self.load(self.counters[id(value)])
        elif node.mode is pointwise_mode.IDENTITY:
            source = node.inputs[0].register
            result = self.operand(node.inputs[0], source)
        else:
            source = node.arithmetic
            result = c.pointwise(node, [self.operand(one, source) for one in node.inputs])
        if value.kind is None:
            return c.converted(result, source, value.register)
        if id(value) in self.stored and id(value) not in self.read and source == value.register:
            return result  # rounded where it is stored
        return c.rounded(result, source, value.kind)

    def finish(self, text: Text, node: Node, total: str) -> None:
        """Write the statement that gives a reduction's result its name."""
        value = node.out
        result = c.rounded(c.finished(node, total), node.arithmetic, value.kind)
        if value.kind is None:
            result = c.converted(result, node.arithmetic, value.register)
        self.done.add(id(value))
        note = comment(f"{node.mode} of {node.label}")
        text.add(f"const {value.register} {self.names[id(value)]} = {result};  // {note}")

    # parameters

    def tensors(self) -> list[tuple[str, str]]:
        """Return the types and names of a kernel's tensors."""
        listed = []
        for place in self.space.places:
            if place.memory:
                kind = f"{STORAGE[place.value.memory_type]}_s"
                written = self.stored.get(id(place.value)) is place
                listed.append((kind if written else f"const {kind}", f"p{place.number}"))
        return listed

    def scalars(self) -> list[tuple[str, str]]:
        """Return the types and names of a kernel's numbers."""
        return [(f"const {'float' if v.register == 'F' else 'double'}", f"s{i}") for i, v in enumerate(self.numbers)]

    def parameters(self) -> tuple[list[str], list[str]]:
        """Return a kernel's parameters, and the statements that bind them."""
        tensors = self.tensors()
        listed = [f"TENSOR({kind}, {name})" for kind, name in tensors]
        bound = [f"BIND({kind}, {name});" for kind, name in tensors]
        return listed + [f"{kind} {name}" for kind, name in self.scalars()], bound


def is_number(value: Value) -> bool:
    """Tell whether a value is a number of the host's."""
    return value.info is not None and value.info.by_value


def signature(name: str, size: int, listed: Sequence[str]) -> str:
    """Return a kernel's first line."""
    return f"KERNEL WG_SIZE({size}, 1, 1) {name}({', '.join(listed)}) {{"
