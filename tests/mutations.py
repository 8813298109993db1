"""Seeded mutations of valid files and lines: of their bytes, of their JSON, of their words."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

NESTED: Any = []
for _ in range(90):
    NESTED = [NESTED]

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    12,
    2**31,
    2**63,
    10**400,
    -(10**30),
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "case",
    "\x00",
    "\ud800",
    "../../etc/passwd",
    "9" * 5000,
    "nan",
    [],
    [None],
    [1, -1, 2**62],
    {},
    {"float": "x"},
    {"tensor": None},
    {"descriptor": "Handle", "values": {"find_db": "/tmp/x"}},
    {"enum": "Handle", "name": "x"},
    {"of": "nobody"},
    NESTED,
)
WORDS = (
    "",
    "x",
    "0",
    "-1",
    "nan",
    "inf",
    "1e400",
    "9" * 400,
    "9" * 5000,
    "0x7",
    "f32",
    "f99:1x1",
    "=",
    ";",
    ":",
    "\x00",
)
WORDS += (
    "f32:99999999999999x9999999999x3",
    "f32:0x0x0",
    "f32:2x3/1",
    "f32:1x1x1@3",
    "1,2",
    ",",
    "[z-a]",
    "\u0664",
    "\ud800",
)


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of everything inside a JSON value."""
    stack = [value]
    while stack:
        one = stack.pop()
        pairs = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, item in pairs:
            yield one, key
            stack.append(item)


def mutated_json(value: Any, rng: random.Random) -> Any:
    """Return a copy with one or two nodes replaced, removed, renamed or repeated."""
    whole = [copy.deepcopy(value)]
    for _ in range(rng.choice((1, 1, 1, 2))):
        container, key = rng.choice(list(nodes(whole)))
        kind = rng.randrange(6)
        if kind == 0 and container is not whole:
            del container[key]
        elif kind == 1 and isinstance(container, dict):
            container[rng.choice(("x", "at", "case", "problem", "tensor", ""))] = container.pop(key)
        elif kind == 2 and isinstance(container, list) and container is not whole:
            container.append(copy.deepcopy(container[key]))
        elif kind == 3 and isinstance(container[key], (int, float)) and not isinstance(container[key], bool):
            container[key] = container[key] * rng.choice((-1, 2, 10**6, 0)) + rng.choice((0, 1))
        elif kind == 4 and isinstance(container[key], str):
            container[key] = mutated_text(container[key], rng)
        else:
            container[key] = copy.deepcopy(rng.choice(VALUES))
    return whole[0]


def mutated_text(text: str, rng: random.Random) -> str:
    """Return a line with a word, a number or a character changed."""
    kind = rng.randrange(5)
    words = text.split(" ")
    at = rng.randrange(len(words))
    if kind == 0:
        words[at] = rng.choice(WORDS)
    elif kind == 1:
        name, equals, _ = words[at].partition("=")
        words[at] = f"{name}{equals or '='}{rng.choice(WORDS)}"
    elif kind == 2:
        digits = [i for i, c in enumerate(text) if c.isdigit()]
        if digits:
            i = rng.choice(digits)
            return text[:i] + rng.choice(("0", "9", "-1", "99999999999", "1e9", "")) + text[i + 1 :]
    elif kind == 3:
        words.insert(at, rng.choice((*words, *WORDS)))
    elif text:
        i = rng.randrange(len(text))
        return (
            text[:i]
            + rng.choice((";", "=", ",", ":", "/", "@", "\n", "\x00", "x", '"', "["))
            + text[i + rng.randrange(2) :]
        )
    return " ".join(words)


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with some flipped, cut, repeated or put in."""
    kind, at = rng.randrange(5), rng.randrange(len(data) + 1)
    if kind == 0:
        return data[:at]
    if kind == 1:
        found = bytearray(data)
        for _ in range(rng.randrange(1, 6)):
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
        return bytes(found)
    if kind == 2:
        return data[:at] + rng.randbytes(rng.randrange(1, 40)) + data[at:]
    if kind == 3:
        return data[:at] + data[at + rng.randrange(1, 200) :]
    return data[:at] + data[max(0, at - 100) : at] * rng.randrange(1, 4) + data[at:]


def mutated_lines(text: str, rng: random.Random) -> bytes:
    """Return JSON lines of which one has another value, or other bytes."""
    lines = text.splitlines()
    if rng.randrange(5) == 0:
        return mutated_bytes(text.encode(), rng)
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(mutated_json(json.loads(lines[at]), rng))
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")
