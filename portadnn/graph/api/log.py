"""cudnn-frontend's log of graphs: a line of JSON for each that is built."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .core import Graph


def log(graph: Graph) -> None:
    """Write a graph to ``CUDNN_FRONTEND_LOG_FILE``, a path, stdout or stderr, if ``CUDNN_FRONTEND_LOG_INFO`` is 1."""
    target = os.environ.get("CUDNN_FRONTEND_LOG_FILE")
    if not target or os.environ.get("CUDNN_FRONTEND_LOG_INFO") != "1":
        return
    if target in ("stdout", "stderr"):
        print(graph, file=getattr(sys, target))
        return
    with Path(target).open("a", encoding="utf-8") as file:
        print(graph, file=file)
