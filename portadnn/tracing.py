"""Beginning a recording: ``with portadnn.trace(file)``, or ``PORTADNN_TRACE``. Until then no recorder is imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import BadParam, shown

if TYPE_CHECKING:
    from .recording.recorder import Recorder


def trace(path: str | os.PathLike[str], *, nested: bool = False) -> Recorder:
    """Record every public call of this process to a file (docs/recordings.md).

    Parameters
    ----------
    path
        The file, one JSON object a line. ``%p`` stands for the process; other processes of the same program, which
        inherit the recording, put their number before the suffix.
    nested
        Also record the public calls that portadnn makes inside of others, as `portadnn.cudnn` does.

    Returns
    -------
    Recorder
        A context manager that records while it is entered; or call its ``start()`` and ``stop()``. ``path`` is the
        file that this process writes.

    Raises
    ------
    BadParam
        `path` is no path, or (also when it starts) the file cannot be made. Later failures end the recording with a
        warning, never a call.

    Examples
    --------
    >>> import os, tempfile
    >>> import portadnn as dnn
    >>> file = os.path.join(tempfile.mkdtemp(), "run.jsonl")
    >>> with dnn.trace(file):
    ...     text = dnn.get_error_string(0)
    >>> from portadnn.recording import read
    >>> [event.function for event in read(file).events]
    ['get_error_string']
    """
    from .recording.recorder import Recorder

    try:
        there = Path(os.fspath(path).replace("%p", str(os.getpid()))).parent.is_dir()
    except (TypeError, ValueError, AttributeError):  # bytes are no path here either
        raise BadParam(argument="path", expected="a path", got=shown(path)) from None
    if not there:
        raise BadParam(argument="path", expected="a file in a folder that is there", got=shown(os.fspath(path)))
    return Recorder(path, nested=nested)


def trace_as_asked() -> None:
    """Record the whole process where ``PORTADNN_TRACE`` names a file, and look at every result for ``portadnn diff``.

    A file that cannot be made is only reported.
    """
    path = os.environ.get("PORTADNN_TRACE")
    if path:
        try:
            trace(path, nested=os.environ.get("PORTADNN_TRACE_NESTED") == "1").start()
        except (OSError, BadParam) as error:
            from .handle import log

            log.warning("nothing is recorded: PORTADNN_TRACE=%s: %s", path, error)
    if os.environ.get("PORTADNN_DIFF_CALLS"):
        from .diff.programs.tap import tap_as_asked

        tap_as_asked()
