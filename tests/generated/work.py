"""One part of the work: some generated problems for one engine and direction, each checked; and the processes for it.

A worker is a process of its own, because a wrong kernel may end it or never return. It tells its parent which problem
it begins; the parent gives it a time limit, notes what it died of, and lets another one go on behind that problem.
"""

from __future__ import annotations

import dataclasses
import time
import traceback
import zlib
from dataclasses import dataclass, field

import helper
import pytest

from portadnn.diff.campaign import process
from portadnn.diff.campaign.serving import is_well
from portadnn.drawing.draws import Draws
from portadnn.ops.convolution.calls import Convolution
from portadnn.problem import parse_line

from . import draw

PART = 20  # problems of a part, each with its variants
PATIENCE = 1500  # refusals in a row after which an engine is thought to take nothing


@dataclass(frozen=True)
class Settings:
    """What decides which problems are drawn and how they are run."""

    backend: str
    device: int = 0
    schedule: str | None = None
    seed: int = 1
    variants: int = 4
    hopeless: int = 150  # refusals before the first problem after which an engine is thought to take nothing


@dataclass(frozen=True)
class Part:
    """Problems number ``PART * number`` and on, of an engine and a direction."""

    engine: str
    direction: str
    number: int


@dataclass
class Outcome:
    """What came of a part.

    Attributes
    ----------
    problems, geometries, exact : int
        Lines that were checked; those that differ in more than alpha and beta; those whose integers had to be exact.
    worst : dict
        For each data type the largest error of inexact data, 1 being the most that is allowed, and the line. That of
        narrow types is close to 1, because results are rounded.
    refused : dict
        How many problems were refused for which reason; digits are replaced by #.
    failures : list of dict
        Problem line, data, seed and message.
    """

    problems: int = 0
    geometries: int = 0
    exact: int = 0
    worst: dict[str, tuple[float, str]] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # check sums


def open_handle(settings):
    """Open a new handle, with the choices of a large GPU where GPU kernels run on a CPU."""
    target = helper.Target("generated", settings.backend, settings.device, settings.schedule)
    return helper.open_handle.__wrapped__(target)


def engines_of(handle):
    """Return (engine, direction) for every convolution engine."""
    return [
        (engine, kind.op.removeprefix("convolution_"))
        for engine in handle.engines
        for kind in engine.problems
        if issubclass(kind, Convolution) and kind.op.removeprefix("convolution_") in draw.ROLES
    ]


def problems_of(source, count, settings):
    """Yield the lines of `count` problems, each as a list of variants; fewer where the engine takes hardly any."""
    found = vain = 0
    while found < count and vain < (PATIENCE if found else settings.hopeless):
        line = source.next()
        vain = 0 if line else vain + 1
        if line:
            found += 1
            yield draw.lines(source.draws, line, settings.variants)


def check(handle, engine, line, data):
    """Return (error, message): the worst error, and None or what is wrong."""
    try:
        return helper.check(handle, helper.Case(line, data), engine=engine), None
    except (Exception, pytest.fail.Exception) as error:
        text = str(error) or type(error).__name__
        if not isinstance(error, pytest.fail.Exception | AssertionError):
            text = "".join(traceback.format_exception(error)[-2:])
        return 0.0, text[:2000]


class DeviceLost(Exception):
    """After a kernel's fault nothing works any more in this process."""


def do_on(handle, engine, part, settings, count=PART, tell=lambda line: None, skip=()):
    """Do a part; `tell` is called with each line before it is run, lines in `skip` are left out."""
    began, cpu = time.perf_counter(), time.process_time()
    key = settings.seed, part.engine, part.direction, part.number
    info = handle.info
    source = draw.Source(Draws(*key), part.direction, lambda problem: engine.why_not(problem, info))
    outcome = Outcome()
    for variants in problems_of(source, count, settings):
        outcome.geometries += 1
        for line, data in variants:
            if line in skip:
                continue
            tell(line)
            error, wrong = check(handle, engine, line, data)
            if wrong and not is_well(handle):
                raise DeviceLost(wrong)
            problem = parse_line(line)[0]
            outcome.problems += 1
            outcome.lines.append(zlib.crc32(f"{line} {data}".encode()))
            if data == "integer" and engine.error_factor(problem) == 1:
                outcome.exact += 1
            if error > outcome.worst.get(problem.dtype.name, (0.0, ""))[0]:
                outcome.worst[problem.dtype.name] = (error, line)
            if wrong:
                outcome.failures.append({"line": line, "data": data, "message": wrong})
    outcome.refused = dict(source.refused)
    outcome.silent = source.silent[:5]
    outcome.seconds, outcome.cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    return outcome


def do(settings, part, tell, skip):
    """Do a part on a handle of its own."""
    with open_handle(settings) as handle:
        engine = next(e for e, d in engines_of(handle) if (e.name, d) == (part.engine, part.direction))
        return do_on(handle, engine, part, settings, tell=tell, skip=skip)


# processes


def serve(channel, settings):
    """Do parts as they come."""
    while True:
        part, skip = channel.receive()
        try:
            outcome = do(settings, part, channel.begins, skip)
            channel.says("done", dataclasses.asdict(outcome))
        except DeviceLost as error:
            channel.lost(str(error))
        except Exception:
            channel.says("broken", traceback.format_exc()[-2000:])


class Worker:
    """Does parts in a process, one at a time; behind a problem that ends it, another process goes on."""

    def __init__(self, settings, serve=serve):
        self.process = process.Worker(serve, settings)
        self.part = None
        self.lost = []  # failures of this part that ended a process

    def start(self, part):
        """Begin a part."""
        self.part, self.lost = part, []
        self._send()

    def _send(self):
        self.process.start((self.part, tuple(failure["line"] for failure in self.lost)))

    def poll(self, limit):
        """Return the part's outcome as a dict once it is done, else None."""
        said = self.process.poll(limit)
        if said is None:
            return None
        if isinstance(said, process.Died):
            self.lost.append({"line": said.begun or "", "data": "", "message": said.why})
            if said.begun is not None and len(self.lost) <= 5:
                self._send()
                return None
            outcome = dataclasses.asdict(Outcome(failures=self.lost))  # it cannot even begin
        else:
            what, outcome = said
            if what == "broken":
                failure = {"line": self.process.begun or "", "data": "", "message": outcome}
                outcome = dataclasses.asdict(Outcome(failures=[failure]))
            outcome["failures"] += self.lost
            outcome["problems"] += len(self.lost)
        self.part = None
        return outcome

    def stop(self):
        """End the process."""
        self.process.stop()
