"""Make reports of a real run in which a few results are spoilt: ``python tests/diff/make_report.py out.html [COUNT]``.

docs/diff-report.png is a picture of such a page. The faults stand for kernels that leave out a border, round too
coarsely, lose a NaN, write between elements, or break.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from portadnn.diff import Case, Target, examine, reports, verdict
from portadnn.diff.data import kinds_for
from portadnn.diff.reports import summary
from portadnn.diff.reproduce import program
from portadnn.diff.results import RunReport, environment, facts_of, now
from portadnn.diff.running import Violation
from portadnn.diff.shrink.shrink import shrink
from portadnn.registry import get_backend

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import small_problems

TARGETS = ("opencl-cpu", "opencl/gpu", "reference")
honest = verdict.run


def border(case, ran):
    """Lose the last column of an output."""
    for name, output in ran.outputs.items():
        if output.ndim > 3 and output.shape[-1] > 1:
            ran.outputs[name] = np.concatenate([output[..., :-1], np.zeros_like(output[..., :1])], -1)


def coarse(case, ran):
    """Round an output to 12 bits."""
    for name, output in ran.outputs.items():
        if output.dtype == np.float32:
            ran.outputs[name] = (output.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)


def no_nan(case, ran):
    """Take NaN for 0."""
    for name, output in ran.outputs.items():
        if output.dtype.kind == "f":
            ran.outputs[name] = np.nan_to_num(output)


def gaps(case, ran):
    """Write behind the output."""
    ran.violations.append(Violation("outside written", "y", "bytes between its elements were written"))


def breaks(case, ran):
    """Break."""
    ran.status, ran.message, ran.outputs = "EXECUTION_FAILED", "clWaitForEvents: OUT_OF_RESOURCES", {}


FAULTS = {
    ("convolution_backward_data", "opencl-cpu"): (border, 7),
    ("pooling_forward", "opencl/gpu"): (no_nan, 1),
    ("softmax_forward", "opencl-cpu"): (coarse, 3),
    ("transform_tensor", "opencl/gpu"): (gaps, 9),
    ("reduce_tensor", "opencl-cpu"): (breaks, 11),
}


def spoilt(handle, case, buffers, *, perf=False):
    """Run a case, and spoil what came of it where its data or its line say so."""
    ran = honest(handle, case, buffers, perf=perf)
    where = next(name for name, opened in handles.items() if opened is handle)
    fault, rarely = FAULTS.get((case.problem.op, where), (None, 1))
    chosen = case.data == "nan" if fault is no_nan else sum(case.problem.tensors[0].dims) % rarely in (0, 1)
    if fault is not None and chosen and ran.status == "SUCCESS":
        fault(case, ran)
    return ran


def cases(count):
    """Return cases of all operations with several kinds of data."""
    lines = [str(line) for line in small_problems.LINES]
    for i in range(count):
        line = lines[i * 7919 % len(lines)]
        kinds = ("exact", "random", *kinds_for(line.split()[0]))
        yield Case.parse(f"{line} ; data={kinds[i % len(kinds)]} seed={i}")


def run(count, *, perf=True):
    """Return the report of a run."""
    report = RunReport({name: facts_of(handle) for name, handle in handles.items()})
    report.settings = {"cases": count, "from": "tests/small_problems.py", "perf": perf, "spoilt": len(FAULTS)}
    report.environment, report.started, began = environment(), now(), time.monotonic()
    for case in cases(count):
        report.results.append(examine(case, handles, perf=perf))
    kinds = set()
    for result in summary.failures(report):
        kind = (summary.operation(result), result.blamed)
        if kind in kinds:
            continue
        kinds.add(kind)
        found = shrink(Case.parse(result.case), lambda case: examine(case, handles), budget=150)
        if found:
            script = program(found.smallest, found.failure.target, result=found.result)
            report.reproducers[result.case] = found.reproducer(script)
    report.seconds = time.monotonic() - began
    return report


if __name__ == "__main__":
    assert get_backend("opencl").why_unavailable() is None, "this needs an OpenCL device"
    handles = {name: Target.parse(name).open() for name in TARGETS}
    verdict.run = spoilt
    made = run(int(sys.argv[2]) if len(sys.argv) > 2 else 400)
    reports.save(made, Path(sys.argv[1]))
    reports.save(made, Path(sys.argv[1]).with_suffix(".json"))  # for tools, and for drawing it again
    print(reports.write(made, "terminal"))
