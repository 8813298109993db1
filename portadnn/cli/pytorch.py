"""What commands about PyTorch programs share."""

from __future__ import annotations

import importlib
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import BadParam, NotSupported

SHOWN = 12  # reasons


def recording() -> Any:
    """Return the module that sees PyTorch's calls.

    Raises
    ------
    NotSupported
        PyTorch is not installed.
    """
    try:
        return importlib.import_module("portadnn.torch.recording")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise NotSupported('PyTorch is not installed; try: pip install "portadnn[torch]"') from None


def run_program(words: Sequence[str]) -> int:
    """Run ``file.py arguments``, ``-m module arguments`` or ``-c code`` in this process, and return its exit status.

    Parameters
    ----------
    words
        The program; a leading ``python`` is passed over.

    Raises
    ------
    BadParam
        It is no Python program.
    """
    given = list(words)
    if given and Path(given[0]).name in ("python", "python3", Path(sys.executable).name):
        del given[0]
    if not given:
        raise BadParam(argument="program", expected="a Python program", got="none")
    before, path = sys.argv, list(sys.path)
    try:
        if given[0] == "-m" and len(given) > 1:
            sys.argv = given[1:]
            sys.path.insert(0, "")
            runpy.run_module(given[1], run_name="__main__", alter_sys=True)
        elif given[0] == "-c" and len(given) > 1:
            sys.argv = ["-c", *given[2:]]
            sys.path.insert(0, "")
            exec(compile(given[1], "<string>", "exec"), {"__name__": "__main__"})
        elif Path(given[0]).is_file():
            sys.argv = given
            sys.path.insert(0, str(Path(given[0]).resolve().parent))
            runpy.run_path(given[0], run_name="__main__")
        else:
            raise BadParam(argument="program", expected="a Python file, -m module or -c code", got=given[0])
    except BadParam:
        raise
    except Exception:  # of the program, which ends as Python would end it
        traceback.print_exc()
        return 1
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    finally:
        sys.argv, sys.path[:] = before, path
    return 0


def summary(watch: Any) -> str:
    """Return how many calls became problems, by kind, and why others did not."""
    posed, calls = watch.posed.total(), watch.counts.total()
    lines = [f"{posed} of {calls} calls became problems{f': {watch.path}' if hasattr(watch, 'path') else ''}"]
    lines += [f"  {kind}: {watch.posed[kind]} of {count}" for kind, count in sorted(watch.counts.items())]
    for (_, function, reason), count in watch.left.most_common(SHOWN):
        lines.append(f"  left out {count}: {function}: {reason}")
    if len(watch.left) > SHOWN:
        lines.append(f"  and {len(watch.left) - SHOWN} more reasons")
    return "\n".join(lines)
