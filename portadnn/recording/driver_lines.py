"""Recordings as command lines of MIOpenDriver, which times each problem by itself on an AMD GPU.

What a line cannot say, such as strides, follows it as a comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import BadParam, DnnError
from ..miopen_driver.form import NoLine, Numbers
from ..operation import operations
from ..problem import Problem
from .c_calls import problem_of
from .reader import Recording

PROGRAM = "./bin/MIOpenDriver"


def driver_line(problem: Problem, numbers: Numbers) -> str:
    """Return the command line for a problem, or a comment that says why there is none."""
    record = operations().get(problem.op)
    driver = record.driver if record else None
    try:
        if driver is None:
            raise NoLine("the driver has no such operation")
        line = f"{PROGRAM} {driver.write(problem, numbers)}"
    except NoLine as error:
        return f"# {problem}: {error}"
    lost = []
    strided = [
        n for n, t in zip(problem.names, problem.tensors, strict=True) if n not in problem.raw and t.format is None
    ]
    if strided:
        lost.append(f"strides of {', '.join(strided)}")
    if not driver.blended:
        usual = problem.scalars
        lost += [f"{name}={value:g}" for name, value in numbers.items() if value != usual[name] and name != "epsilon"]
    return f"{line}  # without {', '.join(lost)}" if lost else line


def driver_lines(recording: Recording) -> Iterator[str]:
    """Yield the command lines of the problems that a recording's calls computed, in order.

    Raises
    ------
    BadParam
        A call's line is no problem.
    """
    for event in recording.events:
        if event.status == "SUCCESS" and not (event.inside and event.library == "portadnn"):
            for step in event.steps:
                try:
                    problem = problem_of(step.problem)
                except DnnError as error:
                    raise BadParam(f"call {event.number} of the recording: {error}") from None
                if problem.op != "set_dropout_descriptor":
                    yield driver_line(problem, dict(zip(problem.scalars, step.scalars, strict=False)))
