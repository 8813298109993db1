"""Which format a file has, and the way from and to each."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

from ..._io.outside import integer_of_64_bits, parse_json
from ...errors import DnnError, shown
from ..errors import GraphError
from ..rules import fail
from . import cudnn_frontend, flatbuffer, hipdnn, hipdnn_json, ubjson

_EXPECTED = "a graph of hipDNN (FlatBuffers or JSON) or of cudnn-frontend (JSON, or a serialized plan)"
_IDENTIFIER = b"HDGP"  # of a graph with a plan
FORMATS: dict[str, Callable[[Mapping[str, Any]], str | bytes]] = {
    "hipdnn": lambda data: flatbuffer.write("Graph", hipdnn.write(data)),
    "hipdnn-json": lambda data: hipdnn_json.write(hipdnn.write(data)),
    "cudnn-frontend": cudnn_frontend.write,
}


def write(data: Mapping[str, Any], format: str) -> bytes:
    """Return a graph in a format of :data:`FORMATS`.

    Parameters
    ----------
    data
        What :func:`portadnn.graph.files.as_data` returns.

    Raises
    ------
    InvalidValue
        There is no such format (PG-NODE-004).
    cudnnGraphNotSupportedError
        The format lacks something (PG-FILE-004), or needs a package (PG-FILE-005).
    """
    if not isinstance(format, str) or format not in FORMATS:
        raise fail("PG-NODE-004", argument="format", expected=", ".join(FORMATS), got=shown(format))
    written = FORMATS[format](data)
    return written.encode() if isinstance(written, str) else written


def read(content: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Return a graph as plain data, which :func:`portadnn.graph.files.graph_of` takes.

    Parameters
    ----------
    content
        Of a file, or of JSON that was parsed.

    Raises
    ------
    InvalidValue
        It is no graph of a known format (PG-FILE-001).
    cudnnGraphNotSupportedError
        Nodes or types have no counterpart here; all of them are listed (PG-FILE-003).
    """
    try:
        return _of_bytes(content) if isinstance(content, bytes) else _of_json(content)
    except GraphError:
        raise
    except (
        DnnError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        OverflowError,
        struct.error,
    ) as error:
        raise fail("PG-FILE-001", argument="data", expected=_EXPECTED, got=shown(error)) from None


def _of_json(data: Mapping[str, Any]) -> dict[str, Any]:
    if hipdnn_json.is_graph(data):
        return hipdnn.read(hipdnn_json.read(data))
    if cudnn_frontend.is_graph(data):
        return cudnn_frontend.read(data)
    raise ValueError("JSON of something else")


def _of_bytes(content: bytes) -> dict[str, Any]:
    if is_json(content):
        return _of_json(parse_json(content, "data", integer_of_64_bits))
    if content[:1] == b"{":
        return _of_json(ubjson.read(content))
    if content[4:8] == _IDENTIFIER:
        content = bytes(flatbuffer.read(content, "SerializedGraphAndPlan")["graph_blob"] or b"")
    return hipdnn.read(flatbuffer.read(content, "Graph"))


def is_json(content: bytes) -> bool:
    """Tell whether a file is text of an object; in UBJSON a name's length follows the brace."""
    return re.match(rb"\s*\{\s*[\"}]", content) is not None
