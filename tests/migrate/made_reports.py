"""Reports made by hand: what the writers of reports are tried on, without reading or judging anything."""

from __future__ import annotations

from portadnn.migrate.events import Argument, Event, Place
from portadnn.migrate.findings import Finding
from portadnn.migrate.program import Skipped
from portadnn.migrate.report import Call, Checked, Report, Silenced
from portadnn.migrate.texts import Sources
from portadnn.migrate.values import UNKNOWN

SOURCE = """#include <cudnn.h>
void forward(cudnnHandle_t handle) {
    cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_TANH, CUDNN_PROPAGATE_NAN, 0.0);
\tcudnnPoolingForward(handle, pool, &one, xDesc, x,
                        &zero, yDesc, y);
    cudnnFrobnicate(handle);  // größer
}
"""
HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "comment": "--> <!-- ]]> <![CDATA[",
    "terminal": "\x1b[31mred\x1b[0m \x07 \x9b2J",
    "controls": "\x00\x01\x08\x0b\x0c\x1f\x7f\x85\u2028\ufffe\uffff",
    "bytes": "caf\udce9.cu",
    "markup": "`a` ```b``` [x](javascript:alert(1)) | *c* _d_ # e [bold]f[/bold] [/]",
    "direction": "\u202egnp.exe\u2066",
    "entities": "&amp; &#0; \" ' < >",
    "long": "x" * 5000,
}


def place(line: int, column: int, end_line: int, end_column: int, file: str = "src/a.cu", start: int = 10) -> Place:
    return Place(file, line, column, end_line, end_column, start, start + 20)


def event(function: str, where: Place, text: str, within: str = "forward") -> Event:
    return Event(1, function, (Argument("handle", UNKNOWN),), where, text=text, within=within)


TANH = event(
    "cudnnSetActivationDescriptor",
    place(3, 5, 3, 88),
    "cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_TANH, CUDNN_PROPAGATE_NAN, 0.0)",
)
POOL = event(
    "cudnnPoolingForward",
    place(4, 2, 5, 41),
    "cudnnPoolingForward(handle, pool, &one, xDesc, x,\n                        &zero, yDesc, y)",
)
SILENT = Finding(
    "V10",
    "W!",
    "proven",
    place(3, 39, 3, 60),
    "MIOpen computes beta * tanh(alpha * x): with coef = 0.0 everything becomes 0",
    "miopenSetActivationDescriptor(act, miopenActivationTANH, 1.0, 1.0, 0.0)",
    "cudnnSetActivationDescriptor",
    TANH,
)
BROKEN = Finding(
    "S04",
    "E",
    "possible",
    POOL.place,
    "the workspace is never asked for",
    "size_t size;\nmiopenPoolingGetWorkSpaceSize(yDesc, &size);",
    "cudnnPoolingForward",
    POOL,
    related=((place(2, 1, 2, 5), "set here"),),
)
NOTED = Finding("V57", "I", "proven", POOL.place, "other rounding", "", "cudnnPoolingForward", POOL)


def report(**changes: object) -> Report:
    """Return a report with an alarm of most severities, a silenced one, calls of all kinds."""
    made = Report("miopen-3", "7.6", files=2, lines=2000, seconds=1.25, sources=Sources({"src/a.cu": SOURCE}))
    made.findings = [SILENT, BROKEN, NOTED]
    made.silenced = [Silenced(Finding("V14", "W", "proven", TANH.place, "NaN", "", TANH.function, TANH), "comment")]
    becomes = "miopenSetActivationDescriptor(act, miopenActivationTANH, 1.0, 1.0, 0.0)"
    made.calls = [
        Call(TANH.function, TANH.place, TANH.text, "forward", "moves", becomes, "", True),
        Call(
            POOL.function, POOL.place, POOL.text, "forward", "recipe", "miopenPoolingForward(...)", "two more", False, 3
        ),
        Call("cudnnFrobnicate", place(6, 5, 6, 28), "cudnnFrobnicate(handle)", "forward"),
    ]
    made.checked = [Checked("src/a.cu", "c++", 7, 4)]
    made.skipped = [Skipped("src/broken.cu", "no permission"), Skipped("src/a.cu", "unbalanced braces", 12)]
    made.unused = [("src/a.cu", 6, ("S01",))]
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def hostile(text: str) -> Report:
    """Return a report that has a text everywhere a program can put one."""
    where = Place(f"src/{text}.cu", 1, 1, 1, 8, 0, 7)
    call = event(f"cudnn{text}", where, f"cudnn{text}({text})", text)
    finding = Finding("V10", "E", "proven", where, text, text, call.function, call, related=((where, text),))
    return Report(
        "miopen-3",
        findings=[finding],
        calls=[Call(call.function, where, call.text, text, "moves", text, text, True)],
        checked=[Checked(where.file, "c++", 1, 1)],
        skipped=[Skipped(where.file, text, 3)],
        silenced=[Silenced(finding, "baseline")],
        files=1,
        lines=1,
        sources=Sources({where.file: f"{text} int x; {text}\n"}),
    )
