"""oclgrind reports a fault of each kind in portadnn's own kernels: each text is right until it is changed.

Usage, by run.sh: python faults.py LOG, where LOG is the file that oclgrind writes its reports to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oclgrind.compiler import optimise
from small_problems import run

import portadnn as dnn

TRANSPOSE = "transform_tensor x=f32:1x37x5x13:nhwc y=f32:1x37x5x13"
GEMM = "rnn_backward_weights x=f32:2x3x4 y=f32:2x3x5 dw=f32:60x1x1 hidden_size=5"
SOFTMAX = "softmax_forward x=f32:2x300x1x1 algorithm=accurate mode=instance"
READ, WRITE, RACE = "Invalid read", "Invalid write", "data race"
FAULTS = {  # line, pattern and what takes its place in a text, what is reported
    "missing barrier of a tile": (TRANSPOSE, r"\n    BARRIER\(\);", "", RACE),
    "missing barriers of a reduction": (SOFTMAX, r"BARRIER\(\);(\s*\\\n)", r"\1", RACE),
    "read out of bounds": (TRANSPOSE, r"first_a \+ j < SIZE_A && b < SIZE_B\)\n(\s*tile)", r"b < SIZE_B)\n\1", READ),
    "write out of bounds": (TRANSPOSE, r"first_b \+ j < SIZE_B && a < SIZE_A", "a < SIZE_A", WRITE),
    "write behind local memory": (TRANSPOSE, r"real tile\[TILE \* \(TILE \+ 1\)\]", "real tile[TILE * TILE]", WRITE),
}


class Changed:
    """A compiler whose texts have a fault."""

    def __init__(self, compiler, pattern, text):
        self.compiler, self.options, self.pattern, self.text, self.count = compiler, compiler.options, pattern, text, 0

    def build(self, source):
        source, count = re.subn(self.pattern, self.text, source)
        self.count += count
        return self.compiler.build(source)


def main(log: Path) -> int:
    missed = 0
    for name, (line, pattern, text, report) in FAULTS.items():
        with optimise(dnn.Handle("opencl")) as handle:
            handle.device.compiler = changed = Changed(handle.device.compiler, pattern, text)
            before = len(log.read_bytes()) if log.exists() else 0
            run(handle, line)
        found = report in log.read_bytes()[before:].decode() if log.exists() else False
        print(f"{'found' if found and changed.count else 'NOT FOUND'}: {name}", flush=True)
        missed += not (found and changed.count)
    return missed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
