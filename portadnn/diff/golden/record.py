"""Recording a golden file: the cases on one target, and what came of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from ...handle import Handle
from ..cases import Case
from ..inputs import drawn_buffers, make_buffers
from ..results import environment, facts_of, now
from ..running import run
from .file import Entry, Golden, Output
from .reading import check_size


def inputs_digest(case: Case) -> str:
    """Return the SHA-256 of all tensors of a case as they are drawn, before anything is computed from them."""
    hashed = hashlib.sha256()
    for name, buffer in drawn_buffers(case).items():
        hashed.update(name.encode())
        hashed.update(buffer.memory.tobytes())
    return hashed.hexdigest()


def record(handle: Handle, cases: Iterable[Case], advance: Callable[[], None] = lambda: None) -> Golden:
    """Run cases on a handle and return what a golden file keeps of them. `advance` is told after each.

    Calls that fail are kept with their status; outputs that an engine may fill as it likes are left out.

    Raises
    ------
    BadParam
        A case's tensors are too large for a golden file.
    """
    entries = []
    for case in cases:
        check_size(case.problem, "golden file")
        buffers = make_buffers(case)
        ran = run(handle, case, buffers)
        problem = case.problem
        names = [name for name in ran.outputs if name not in problem.raw] if ran.status == "SUCCESS" else []
        outputs = {name: Output.of(ran.outputs[name], buffers[name].spec.dtype, name) for name in names}
        entries.append(Entry(str(case), ran.status, inputs_digest(case), ran.message[:300], ran.engine, outputs))
        advance()
    return Golden(facts_of(handle), environment(), now(), tuple(entries))
