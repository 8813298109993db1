"""Campaigns: many cases in processes of their own, with a journal that a later run goes on with.

:mod:`~portadnn.diff.campaign.process` (processes that may die), :mod:`~portadnn.diff.campaign.serving` (what they do
with cases), :mod:`~portadnn.diff.campaign.pool` (cases on this machine's processes),
:mod:`~portadnn.diff.campaign.many` (on many machines),
:mod:`~portadnn.diff.campaign.journal`, :mod:`~portadnn.diff.campaign.cache` (exact results on disk) and
:mod:`~portadnn.diff.campaign.campaign`, which brings them together::

    setup = Setup(("opencl", "reference"))
    with closing(LocalRunner(setup, jobs=2)) as runner, Journal(Path("found")) as journal:
        report = run_campaign(cases, runner, journal=journal)
"""

from .cache import ExactResults
from .campaign import Budget, Interrupted, Signals, run_campaign
from .journal import Journal
from .many import DistributedRunner
from .pool import LocalRunner, Runner
from .process import Died, Worker, quiet_environment
from .serving import Setup
from .smallest import find_smallest

__all__ = [
    "Budget",
    "Died",
    "DistributedRunner",
    "ExactResults",
    "Interrupted",
    "Journal",
    "LocalRunner",
    "Runner",
    "Setup",
    "Signals",
    "Worker",
    "find_smallest",
    "quiet_environment",
    "run_campaign",
]
