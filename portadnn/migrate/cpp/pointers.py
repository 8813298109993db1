"""Pointers to the libraries' functions: variables and members that are given one, by assignment or from a loader."""

from __future__ import annotations

import re

from ... import mapping

_FUNCTION = rb"((?:cudnn|miopen)[A-Z]\w*)"
_VARIABLE = rb"(?:\w+\s*(?:\.|->)\s*)*([A-Za-z_]\w*)"
_WORD = re.compile(rb"(?:cudnn|miopen)[A-Z]")
_PATTERNS = (  # the first group is the pointer, the second the function
    # create = cudnnCreate;  .create = &cudnnCreate,  create = (create_t)cudnnCreate;
    re.compile(
        rb"([A-Za-z_]\w*)\s*(?:\[\s*\w*\s*\]\s*)?=\s*(?:\([^()=;]{1,120}\)\s*|\w+_cast\s*<[^<>;]{1,120}>\s*\(\s*)?&?\s*"
        rb"(?:\w+::)*" + _FUNCTION + rb"\s*\)?\s*[;,}]"
    ),
    # cudnnStatus_t (*create)(cudnnHandle_t *) = cudnnCreate;
    re.compile(rb"\(\s*\*\s*([A-Za-z_]\w*)\s*\)\s*\([^;{}=]{0,2000}\)\s*=\s*&?\s*(?:\w+::)*" + _FUNCTION + rb"\s*[;,]"),
    # create = (create_t)dlsym(library, "cudnnCreate");
    re.compile(_VARIABLE + rb"\s*=\s*[^;={}\"]{0,300}\"" + _FUNCTION + rb"\"\s*\)"),
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
    pairs = [match.groups() for pattern in _PATTERNS for match in pattern.finditer(code)]
    pairs += [match.groups()[::-1] for pattern in _REVERSED for match in pattern.finditer(code)]
    table = mapping.table().functions
    for variable, function in pairs:
        name, target = variable.decode(), function.decode()
        if target in table and name != target and len(name) >= _SHORTEST:
            found.setdefault(name, set()).add(target)
    return {name: targets.pop() for name, targets in found.items() if len(targets) == 1 and name not in table}
