"""The support table: every operation and named pattern, asked of the engines of every backend.

``python -m portadnn.graph.support > docs/graph-support.md`` writes it; no device is needed.
"""

from .table import table

__all__ = ["table"]
