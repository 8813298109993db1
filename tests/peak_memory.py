"""The most memory that a process held.

Not ``ru_maxrss`` of a process that a test started: Linux counts there what the process held between fork and exec, too,
which is all that the test's own process holds.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_BETWEEN = """
import os, subprocess, sys
started = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(started.pid, 0)
open(sys.argv[1], "w").write(str(used.ru_maxrss))
os._exit(os.waitstatus_to_exitcode(status))
"""


def held() -> int:
    """Return the most bytes that this process held since it began or since ``forget``."""
    said = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(said.partition("VmHWM:")[2].split()[0]) << 10


def forget() -> None:
    """Count anew from what this process holds now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def of(command: Sequence[str], folder: Path) -> tuple[bytes, int]:
    """Run a command; return what it wrote to its output, and the most bytes that it or one that it waited for held.

    A small process lies between, so that nothing of this one is counted. ``folder`` is for the number.
    """
    peak = folder / "peak"
    started = [sys.executable, "-c", _BETWEEN, str(peak), *command]
    done = subprocess.run(started, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout, int(peak.read_text(encoding="ascii")) << 10
