"""The user's own program on several targets, compared call by call; see :func:`run` and :func:`compare`."""

from .compare import Divergence, ProgramReport, compare
from .run import run

__all__ = ["Divergence", "ProgramReport", "compare", "run"]
