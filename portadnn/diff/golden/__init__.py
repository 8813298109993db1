"""Golden files: what one machine computed, to be checked on another that need not have the same kind of device.

A file holds, for each case, its line (inputs follow by formula), how the call ended, aggregates of every output, and
the outputs themselves, compressed; larger ones as a sample of their elements. :func:`record` makes one of cases,
:func:`write` and :func:`read` keep it and refuse what is damaged, :func:`check` runs the cases on other targets and
compares.
"""

from .check import check
from .file import Entry, Golden, Output, write
from .reading import read
from .record import record

__all__ = ["Entry", "Golden", "Output", "check", "read", "record", "write"]
