"""tree-sitter, within limits on its time and memory."""

from __future__ import annotations

import functools

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from ..limits import Exhausted, Limits

_CHUNK = 1 << 14


@functools.cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cpp.language()))


def parse(code: bytes, limits: Limits) -> Node:
    """Return the root of a text's tree.

    Parameters
    ----------
    code : bytes
    limits : Limits
        When they are exceeded, the rest is handed over as empty, and the tree thrown away.

    Raises
    ------
    Exhausted
    """
    exceeded = ""

    def read(offset: int, _: object) -> bytes:
        nonlocal exceeded
        exceeded = exceeded or limits.exceeded(memory=offset >= _CHUNK)
        return b"" if exceeded else code[offset : offset + _CHUNK]

    tree = _parser().parse(read)
    if exceeded or tree is None:
        raise Exhausted(exceeded)
    return tree.root_node
