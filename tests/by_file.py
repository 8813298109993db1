"""Distribution of tests by pytest-xdist: the tests of a file run one after another in one worker.

What a module sets up, and the kernels that its tests share in memory, are then made once and not by each worker.
pytest-xdist counts the units that it has given out after each test: with 19,000 of them that took half a minute.
"""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling

SINGLY = ("tests/amd_isa/",)  # a few files, each of which takes minutes


class ByFile(LoadGroupScheduling):
    """Gives files to workers, in the order of collection; groups of tests and those of `SINGLY` as ``loadgroup`` does.

    Files that come last are small, so that workers end at about the same time.
    """

    def _split_scope(self, nodeid):
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid and not nodeid.startswith(SINGLY) else scope
