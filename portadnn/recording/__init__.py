"""Recordings of calls: made by :func:`portadnn.trace`, read by :func:`read` (docs/recordings.md)."""

from .reader import Event, Recording, Step, read
from .writer import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "Event", "Recording", "Step", "read"]
