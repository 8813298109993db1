"""Generated cases of every operation, the same on every machine.

:func:`cases` is the stream, :func:`campaign` its default use. A problem is drawn from strata (types, layouts, modes,
sizes, borders), whose every combination is met before one comes again (:mod:`portadnn.drawing.strata`); each
operation's are in its record.
"""

from .stream import SIZES, Mix, campaign, cases

__all__ = ["SIZES", "Mix", "campaign", "cases"]
