"""Pointers to the libraries' functions: variables and members that are given one, by assignment or from a loader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ... import mapping
from ..program import Braces, Class, Declare, Expression, Name, Operation

_FUNCTION = rb"((?:cudnn|miopen)[A-Z]\w*)"
_VARIABLE = rb"(?:\w+\s*(?:\.|->)\s*)*([A-Za-z_]\w*)"
_WORD = re.compile(rb"(?:cudnn|miopen)[A-Z]")
_GIVEN = (  # what is assigned, from the sign on: most of these are others; and how that which gets it ends before it
    # create = cudnnCreate;  create[0] = &cudnnCreate,  create = (create_t)cudnnCreate;
    (
        re.compile(
            rb"=\s*(?:\([^()=;]{1,120}\)\s*|\w+_cast\s*<[^<>;]{1,120}>\s*\(\s*)?&?\s*(?:\w+::)*"
            + _FUNCTION
            + rb"\s*\)?\s*[;,}]"
        ),
        re.compile(rb"([A-Za-z_]\w*)\s*(?:\[\s*\w*\s*\]\s*)?\Z"),
    ),
    # create = (create_t)dlsym(library, "cudnnCreate");
    (re.compile(rb"=\s*[^;={}\"]{0,300}\"" + _FUNCTION + rb"\"\s*\)"), re.compile(rb"([A-Za-z_]\w*)\s*\Z")),
)
_LONGEST_BEFORE = 300
_PATTERNS = (  # the first group is the pointer, the second the function
    # cudnnStatus_t (*create)(cudnnHandle_t *) = cudnnCreate;
    re.compile(rb"\(\s*\*\s*([A-Za-z_]\w*)\s*\)\s*\([^;{}=]{0,2000}\)\s*=\s*&?\s*(?:\w+::)*" + _FUNCTION + rb"\s*[;,]"),
    # load(&create, "cudnnCreate")
    re.compile(rb"&\s*" + _VARIABLE + rb"\s*\)?\s*,\s*\"" + _FUNCTION + rb"\""),
)
_REVERSED = (  # the first group is the function
    # {"cudnnCreate", (void **)&create}
    re.compile(
        rb"\"" + _FUNCTION + rb"\"\s*,\s*(?:\([^()]{1,80}\)\s*|\w+_cast\s*<[^<>]{1,80}>\s*\(\s*)?&\s*" + _VARIABLE
    ),
    # decltype(&cudnnCreate) create;
    re.compile(rb"decltype\s*\(\s*&?\s*(?:::)?" + _FUNCTION + rb"\s*\)\s*\*?\s*(?:const\s+)?([A-Za-z_]\w*)\s*[;={,]"),
)
# p_cudnnCreate(...), cudnnCreate_ptr(...): how loaders of macros paste a pointer's name
_PASTED = re.compile(
    rb"(?<![\w\"])((?:[A-Za-z]\w*_|[A-Za-z]?_|p|pf|pfn|fp|fn)?(cudnn[A-Z]\w*?)(?:_+(?:ptr|fn|func|proc|p|f|t|dl)_?|_+|Ptr|Fn|Func|Proc)?)\s*\("
)
_DEFINED = rb"(?<!\w)%s\s*\([^;{}]*\)\s*(?:noexcept\s*)?\{"
_SHORTEST = 3


def pointed(code: bytes) -> dict[str, str]:
    """Return pointers that always point to the same function, each with the function's name.

    Parameters
    ----------
    code : bytes
        A source without comments.
    """
    if not _WORD.search(code):
        return {}
    found: dict[str, set[str]] = {}
    pairs: list[tuple[bytes, ...]] = list(_given(code))
    pairs += [match.groups() for pattern in _PATTERNS for match in pattern.finditer(code)]
    pairs += [match.groups()[::-1] for pattern in _REVERSED for match in pattern.finditer(code)]
    table = mapping.table().functions
    pairs += [pair for pair in _pasted(code) if pair[1].decode() in table]
    for variable, function in pairs:
        name, target = variable.decode(), function.decode()
        if target in table and name != target and len(name) >= _SHORTEST:
            found.setdefault(name, set()).add(target)
    return {name: targets.pop() for name, targets in found.items() if len(targets) == 1 and name not in table}


def _given(code: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield pointers that are assigned a function."""
    for pattern, before in _GIVEN:
        for match in pattern.finditer(code):
            pointer = before.search(code, max(0, match.start() - _LONGEST_BEFORE), match.start())
            if pointer:
                yield pointer[1], match[1]


def _pasted(code: bytes) -> list[tuple[bytes, bytes]]:
    """Return names that a function's name is pasted into and that are called, but not defined as functions."""
    found = {(match[1], match[2]) for match in _PASTED.finditer(code) if match[1] != match[2]}
    return [pair for pair in found if not re.search(_DEFINED % re.escape(pair[0]), code)]


def in_tables(classes: Iterable[Class], variables: Iterable[Declare]) -> list[tuple[str, str]]:
    """Return the members of structs that tables such as ``api_t api = {cudnnCreate, ...}`` let point to a function."""
    members = {class_.name.rpartition("::")[2]: class_.members for class_ in classes}
    found: dict[str, set[str]] = {}
    for variable in variables:
        if isinstance(variable.value, Braces):
            of = members.get(variable.type.removeprefix("const ").removeprefix("struct ").strip(), ())
            for member, value in zip(of, variable.value.values, strict=False):
                found.setdefault(member.name, set()).add(_function(value))
    return [(name, target) for name, targets in found.items() if len(targets) == 1 for target in targets if target]


def _function(value: Expression) -> str:
    if isinstance(value, Operation) and value.operator == "&x":
        value = value.operands[0]
    name = value.name.rpartition("::")[2] if isinstance(value, Name) else ""
    return name if name in mapping.table().functions else ""
