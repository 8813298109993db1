"""tree-sitter, with a limit on its time."""

from __future__ import annotations

import functools
import time

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

_CHUNK = 1 << 14


@functools.cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cpp.language()))


class OutOfTime(Exception):
    """Parsing took longer than it may."""


def parse(code: bytes, deadline: float) -> Node:
    """Return the root of a text's tree.

    Parameters
    ----------
    code : bytes
    deadline : float
        When to give up, by ``time.thread_time()``: the rest is then handed over as empty, and the tree thrown away.

    Raises
    ------
    OutOfTime
    """
    late = False

    def read(offset: int, _: object) -> bytes:
        nonlocal late
        late = late or time.thread_time() > deadline
        return b"" if late else code[offset : offset + _CHUNK]

    tree = _parser().parse(read)
    if late or tree is None:
        raise OutOfTime
    return tree.root_node
