"""``python -m portadnn.cupy_compat [--numpy] program.py [arguments]`` or ``... -m module [arguments]``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from . import install

USAGE = "usage: python -m portadnn.cupy_compat [--numpy] (program.py | -m module) [arguments]"


def main(arguments: list[str]) -> int:
    """Run a program with CuPy's cuDNN modules."""
    numpy = arguments[:1] == ["--numpy"]
    rest = arguments[numpy:]
    as_module = rest[:1] == ["-m"]
    program = rest[as_module:]
    if not program or (program[0].startswith("-") and not as_module):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        install(numpy=numpy)
    except ImportError as error:
        hint = "" if numpy else "; with --numpy the program gets a stand-in of NumPy's arrays"
        print(f"portadnn.cupy_compat: CuPy cannot be imported: {error}{hint}", file=sys.stderr)
        return 1
    sys.argv = program
    if as_module:
        sys.path.insert(0, "")
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(program[0]).resolve().parent))
        runpy.run_path(program[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
