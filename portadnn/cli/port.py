"""``portadnn port``: cuDNN code becomes MIOpen code where that is certain."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .._io.files import write_whole
from ..errors import BadParam, shown
from ..migrate.files import discover
from ..migrate.port import files
from ..migrate.port.following import of_files
from .garbage import rarely_collected

DONE, MARKED, USAGE = 0, 1, 2
TARGETS = ("miopen-3", "miopen-1", "cudnn-9")


@rarely_collected()
def port(
    paths: Sequence[Path],
    target: str = "miopen-3",
    *,
    in_place: bool = False,
    output: Path | None = None,
    exclude: Sequence[str] = (),
    strict: bool = False,
) -> int:
    """Port files and folders, print or write the result, and return the exit code.

    Raises
    ------
    DnnError, OSError
        Something that was asked for cannot be.
    """
    if target not in TARGETS:
        raise BadParam(argument="--target", expected=", ".join(TARGETS), got=shown(target))
    if output is not None and not output.parent.is_dir():
        raise BadParam(argument="--output", expected="a path in a folder that is there", got=shown(str(output)))
    found = discover.sources([str(path) for path in paths], exclude=exclude)
    sources = [one for one in found.found if one.kind == "c++" and one.path is not None]
    ported = files.port({one.shown: one.read() for one in sources}, target, of_files(sources))
    ported.skipped += [(skipped.file, skipped.reason) for skipped in found.skipped]
    others = [one for one in found.found if one.kind != "c++" and one.path in paths]
    ported.skipped += [(one.shown, "only C, C++ and CUDA can be ported") for one in others]
    if in_place:
        files.write(ported)
    elif output is not None:
        write_whole(output, files.patch(ported))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(files.patch(ported))
        sys.stdout.flush()
    print("\n".join(files.summary(ported)), file=sys.stderr)
    return MARKED if strict and ported.marked else DONE
