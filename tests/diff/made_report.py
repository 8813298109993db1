"""Reports made by hand, with every kind of result, for the tests of what writes them."""

from __future__ import annotations

from portadnn.diff.compare import Difference
from portadnn.diff.results import Reproducer, RunReport
from portadnn.diff.running import Violation
from portadnn.diff.verdict import CaseResult, Judgement, Verdict

POOL = "pooling_forward x=f32:2x3x8x200 mode=max window=2,2 stride=2,2"
RELU = "activation_forward x=f32:2x3x5x7 mode=relu"
BAD = f"{POOL} ; data=nan seed=3"
GAPS = f"{RELU} ; in_place=y:x"
CRASH = f"{RELU} ; seed=9"
SMALLEST = "pooling_forward x=f32:1x1x1x1 mode=max window=1,1 ; data=nan"
SCRIPT = "import portadnn as dnn  # <script>\nassert 1 & 1 < 2\n"

AGREES = Difference(
    "tolerance", 0, 210, 0, 0.25, 1e-7, 1e-7, 0.5, 1e-8, 1e-8, (), (0, 0, 0, 0), 1.0, 1.0, (200, 10, *[0] * 6)
)
WRONG = Difference(
    decided="NaN",
    wrong=4,
    size=2400,
    excess=float("inf"),
    absolute=0.125,
    relative=0.0625,
    ulp=7.5,
    rms=0.003,
    l2=0.004,
    first=(0, 1, 2, 3),
    worst=(1, 2, 3, 99),
    got=0.0,
    want=float("nan"),
    histogram=(2000, 300, 50, 0, 46, 0, 0, 0),
    profile=((0.25, 1e30), (0.0, 0.4, 1e30), (0.0, 0.0, 0.0, 1e30), (*[0.5] * 63, 1e30)),
)


def judged(target, verdict, reason="", **more):
    """Return a judgement."""
    return Judgement(target, verdict, reason, "engine_of_" + target, **more)


def report(*, seconds=None, **changes):
    """Return a report of two targets: passes, a wrong number, a broken promise, a crash, and what proves nothing."""
    passed = [
        CaseResult(
            f"{RELU} ; seed={i}",
            Verdict.PASSED,
            judgements=[
                judged("cuda", Verdict.PASSED, differences={"y": AGREES}, seconds=seconds),
                judged("opencl", Verdict.PASSED, differences={"y": AGREES}, seconds=seconds and 2 * seconds),
            ],
        )
        for i in range(3)
    ]
    failed = CaseResult(
        BAD,
        Verdict.FAILED,
        ("opencl",),
        f"opencl: y: {WRONG}",
        [
            judged("cuda", Verdict.PASSED, differences={"y": AGREES}),
            judged("opencl", Verdict.FAILED, f"y: {WRONG}", differences={"y": WRONG}),
        ],
    )
    wrote = Violation("outside written", "y", "bytes between its elements were written")
    gaps = CaseResult(
        GAPS,
        Verdict.FAILED,
        ("cuda",),
        "cuda: outside written",
        [
            judged("cuda", Verdict.FAILED, "outside written: y: bytes", differences={"y": AGREES}, violations=[wrote]),
            judged("opencl", Verdict.PASSED, differences={"y": AGREES}),
        ],
    )
    crash = CaseResult(
        CRASH,
        Verdict.ERROR,
        ("opencl",),
        "opencl: the process died",
        [judged("opencl", Verdict.ERROR, "the process died", status="CRASHED")],
    )
    nothing = [
        CaseResult(f"{POOL} ; seed={i}", verdict, (), reason, [judged("opencl", verdict, reason)])
        for i, (verdict, reason) in enumerate(
            [
                (Verdict.MISTRUSTED, "y: all zeros"),
                (Verdict.UNSUPPORTED, "windows of 17 elements; at most 16"),
                (Verdict.UNSUPPORTED, "windows of 20 elements; at most 16"),
                (Verdict.SKIPPED, "no engine 'gather'"),
            ]
        )
    ]
    found = RunReport(
        targets={"cuda": {"backend": "cuda", "name": "H200"}, "opencl": {"backend": "opencl", "name": "PoCL"}},
        settings={"seed": 7},
        results=[*passed, failed, gaps, crash, *nothing],
        reproducers={BAD: Reproducer(BAD, SMALLEST, SCRIPT, 42)},
        started="2026-01-02T03:04:05+00:00",
        seconds=12.5,
        environment={"portadnn": "0.1.0"},
    )
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def hostile(text):
    """Return a report in which whatever a user or a driver names is `text`."""
    found = report()
    found.targets = {text: {"name": text}}
    found.settings = {text: text}
    found.environment = {text: text}
    for result in found.results:
        result.reason = text
        result.blamed = (text,) if result.blamed else ()
        for judgement in result.judgements:
            judgement.target, judgement.reason, judgement.engine = text, text, text
    found.reproducers = {BAD: Reproducer(BAD, f"relu {text}", text, 1)}
    return found
