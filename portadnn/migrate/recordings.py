"""Recordings of portadnn (``portadnn record``) as calls of cuDNN: those that the recorded calls stand for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..recording.cudnn_log import cudnn_log
from ..recording.reader import Recording, read
from .events import Place
from .logs import Summary, follow
from .model.listener import Listener


def follow_recording(path: str | os.PathLike[str], file: str, listeners: Sequence[Listener]) -> Summary:
    """Read a recording and tell the listeners of every call that the program made, at the place where it made it.

    Raises
    ------
    BadParam
        The file is no recording, or of a newer version.
    OSError
        It cannot be read.
    """
    sites: list[Place] = []
    lines = _lines(read(path), file, sites)
    return follow(lines, file, listeners, origin="recording", place=lambda line: sites[line - 1])


def _lines(recording: Recording, file: str, sites: list[Place]) -> Iterator[str]:
    for event in recording.events:
        name, line = event.site
        site = Place(name or file, line) if line else Place(file, 1)
        for text in cudnn_log(replace(recording, events=[event])):
            for part in text.split("\n"):
                sites.append(site)
                yield part
