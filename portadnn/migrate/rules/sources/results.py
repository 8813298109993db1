"""What types expressions have by declarations alone, where Find's results are among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...program import (
    Cast,
    Class,
    Declare,
    Function,
    Index,
    Invocation,
    Lambda,
    Loop,
    Member,
    Name,
    Operation,
    Unit,
)
from ..walking import plain

RESULT = re.compile(r"\bcudnnConvolution(Fwd|BwdData|BwdFilter)AlgoPerf(?:_t|Struct)\b")
_FINDS = re.compile(r"cudnn(?:Find|Get(?=.*_v7))Convolution(Forward|BackwardData|BackwardFilter)Algorithm(?:Ex|_v7)?")
_RESULTS = {"Forward": "Fwd", "BackwardData": "BwdData", "BackwardFilter": "BwdFilter"}  # of Python, which returns them
_AUTO = re.compile(r"\bauto\b")
_WORD = re.compile(r"\w+")
_PARAMETER = re.compile(
    r"\btypename\b|\bauto\b|(?:^|[<\s])T\w{0,5}(?:$|[>\s*&\[])|^(?:const\s+)?(?i:perf_?(?:t|type)?|\w*perf_t)\b"
)
_MOST_BASES = 8
_DEEPEST = 24
_FIRST = frozenset({"*x", "&x", "+", "-", "=", "++", "--"})  # operators that give what their first operand is


class Types:
    """The types of what a function names; variables count from their declarations on."""

    def __init__(self, unit: Unit, function: Function) -> None:
        self._unit = unit
        self._python = unit.language == "python"
        mine = list(self._lineage(unit, function.owner)) if function.owner else []
        self._members = {m.name: _of(m) for class_ in reversed(mine) for m in class_.members}
        others = unit.classes if not mine else ()
        self._others = {m.name: _of(m) for class_ in others for m in class_.members}
        self._variables = {v.name: _of(v) for v in unit.variables}
        self._local = {parameter.name: parameter.type for parameter in function.parameters}
        templates = (*function.template, *(text for class_ in mine for text in class_.template))
        self._open = frozenset(text.split()[-1] for text in templates if text)
        self._elements: dict[str, str] = {}  # what the standard library's algorithms call an element of results

    def declare(self, node: Any) -> None:
        """Note what a node of the function declares."""
        if isinstance(node, Declare):
            type_ = _of(node)
            if _AUTO.search(type_):
                type_ = (self._elements.get(node.name) if node.value is None else self.of(node.value)) or type_
            self._local |= dict.fromkeys(_WORD.findall(node.name), type_)  # of [a, b] each
        elif isinstance(node, Loop) and node.start is not None:  # its body comes before it in a walk
            for started in node.start.statements:
                self.declare(started)
        elif isinstance(node, Loop) and node.variable and node.values is not None:
            self._local |= dict.fromkeys(_WORD.findall(node.variable), self.of(node.values))
        elif isinstance(node, Invocation):
            for name, over in _parameters(node):
                if type_ := self.of(over):
                    self._elements[name] = type_
            if self._python and (type_ := _found(node)):  # found = cudnnFind...(...), read as what it writes to
                targets = (one.operands[0] for one in node.arguments if isinstance(one, Operation) and one.operands)
                self._local |= {target.name: type_ for target in targets if isinstance(target, Name)}

    def result(self, node: Any) -> re.Match[str] | None:
        """Return which results an expression is, or holds."""
        return self.named(self.of(node))

    def named(self, type_: str) -> re.Match[str] | None:
        """Return which results a type holds, also under another name that the program gives it."""
        found = RESULT.search(type_)
        if found is None and type_:
            others = (self._alias(word) for word in _WORD.findall(type_))
            found = next((match for other in others if (match := RESULT.search(other))), None)
        return found

    def has(self, type_: str, member: str) -> bool:
        """Whether a type is a class of the program's, or a template of one, with a member of that name."""
        outer = plain(type_.partition("<")[0].strip(" *&")).rpartition(" ")[2]
        if RESULT.search(outer) or outer not in self._unit.around.classes:
            return False
        return any(m.name == member for class_ in self._lineage(self._unit, outer) for m in class_.members)

    def element(self, name: str) -> str:
        """Return the type that an algorithm of the standard library gives its function's parameter."""
        return self._elements.get(name, "")

    def open(self, type_: str) -> bool:
        """Whether a type is, or depends on, a template's parameter, or is not known."""
        return not type_ or _PARAMETER.search(type_) is not None or not self._open.isdisjoint(_WORD.findall(type_))

    def of(self, node: Any, depth: int = 0) -> str:
        """Return the type of an expression, or that of what holds it; "" where declarations do not tell."""
        if depth > _DEEPEST:
            return ""
        if isinstance(node, Name):
            return self._named(node.name)
        if isinstance(node, Member):
            return self._of_member(node, depth)
        if isinstance(node, Index):
            return self.of(node.base, depth + 1)
        if isinstance(node, Cast):
            return node.type if self.named(node.type) else self.of(node.value, depth + 1) or node.type
        if isinstance(node, Operation) and node.operands:
            if node.operator == "?:":
                return self.of(node.operands[1], depth + 1) or self.of(node.operands[2], depth + 1)
            return self.of(node.operands[0], depth + 1) if node.operator in _FIRST else ""
        return self._of_call(node, depth) if isinstance(node, Invocation) else ""

    def _named(self, name: str) -> str:
        short = plain(name)
        for known in (self._local, self._members, self._variables, self._others):
            if short in known:
                return known[short]
        return self._unit.around.variables.get(short, "")

    def _of_member(self, node: Member, depth: int) -> str:
        if isinstance(node.base, Name) and node.base.name == "this":
            return self._members.get(node.name, "")
        base = self.of(node.base, depth + 1)
        if node.name in ("first", "second") and self.named(base):
            return base
        known = False
        for class_ in self._classes_in(base):
            known = True
            for owner in self._lineage(self._unit, class_):
                for member in owner.members:
                    if member.name == node.name:
                        return _of(member)
        if known or (base and not _AUTO.search(base)):
            return base if node.name in ("first", "second") else ""
        return self._members.get(node.name) or self._others.get(node.name, "")

    def _of_call(self, call: Invocation, depth: int) -> str:
        made = call.text.partition("(")[0]
        if self._python and (type_ := _found(call)):
            return type_
        if found := RESULT.search(made):  # std::make_unique<...Perf_t[]>(n)
            return found[0]
        if isinstance(call.callee, Member):
            short = plain(call.callee.name)
            base = self.of(call.callee.base, depth + 1)
            returned = self._unit.around.returned.get(short, "")
            return returned if returned and not self.named(base) else base
        if not isinstance(call.callee, Name):
            return ""
        short = plain(call.callee.name)
        given = self._unit.around.returned.get(short, "")
        parameters = self._unit.around.templates.get(short, frozenset())
        if given and not (parameters & set(_WORD.findall(given)) or _AUTO.search(given)):
            return given
        types = (self.of(argument, depth + 1) for argument in call.arguments)
        return next((type_ for type_ in types if self.named(type_)), "")

    def _alias(self, word: str) -> str:
        if word in self._unit.aliases:
            return self._unit.aliases[word]
        others = self._unit.around.aliases.get(word)
        near = () if others is None else others.of(self._unit.file)
        return " | ".join(sorted({type_ for _, type_ in near}))

    def _classes_in(self, type_: str) -> Iterator[str]:
        """Yield the program's classes that a type names, the innermost of a template last."""
        for word in reversed(_WORD.findall(type_)):
            name = word if word in self._unit.around.classes else plain(self._alias(word)).rstrip(" *&")
            if name in self._unit.around.classes:
                yield name

    @staticmethod
    def _lineage(unit: Unit, owner: str) -> Iterator[Class]:
        """Yield a class and its bases."""
        seen: set[str] = set()
        waiting = [plain(owner)]
        while waiting and len(seen) < _MOST_BASES:
            name = waiting.pop()
            own = next((c for c in unit.classes if plain(c.name) == name and c.members), None)
            class_ = own or unit.around.classes.get(name)
            if class_ is not None and name not in seen:
                seen.add(name)
                yield class_
                waiting += [plain(base) for base in class_.bases]


def _found(call: Invocation) -> str:
    """Return the type of the results that a call of Find, or of a heuristic with results, returns in Python."""
    asked = _FINDS.fullmatch(plain(call.text.partition("(")[0]).rpartition(".")[2])
    return f"cudnnConvolution{_RESULTS[asked[1]]}AlgoPerf_t[]" if asked else ""


def _of(declared: Declare) -> str:
    return declared.type + "[]" * len(declared.array)


def _parameters(call: Invocation) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of functions that ``std::sort(v.begin(), v.end(), f)`` is given, each with what holds it."""
    lambdas = [argument for argument in call.arguments if isinstance(argument, Lambda)]
    if not lambdas or isinstance(call.arguments[0], Lambda):
        return
    for one in lambdas:
        declared: Sequence[Any] = one.body.statements[: one.parameters]
        for parameter in declared:
            if isinstance(parameter, Declare):
                yield parameter.name, call.arguments[0]
