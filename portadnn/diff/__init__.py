"""Backend diff testing: one problem on several backends, compared with the exact result and with each other.

The parts, in the order in which a case goes through them: :mod:`~portadnn.diff.cases` (what to compute, on which data),
:mod:`~portadnn.diff.data` (inputs by formula), :mod:`~portadnn.diff.targets` (where), :mod:`~portadnn.diff.running`
(guarded buffers, two runs, contract), :mod:`~portadnn.diff.compare` (numbers), :mod:`~portadnn.diff.verdict` (the
verdict of each target, and the vote).
"""

from .cases import Case
from .compare import Difference
from .targets import Target
from .verdict import CaseResult, Judgement, Verdict, examine

__all__ = ["Case", "CaseResult", "Difference", "Judgement", "Target", "Verdict", "examine"]
