"""Records: what was measured, on what, against what; written as JSON by the runner, never by hand."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from portadnn import __version__
from portadnn.handle import Handle


def commit() -> str | None:
    """Return the commit of the checkout that runs, marked when it has changes.

    ``PORTADNN_COMMIT`` names it for a copy without its history; None where nothing does.
    """
    named = os.environ.get("PORTADNN_COMMIT")
    if named:
        return named
    folder = Path(__file__).resolve().parent
    try:
        revision = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
        changes = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return revision + ("+changes" if changes else "")


def environment() -> dict[str, Any]:
    """Return what every record begins with."""
    return {
        "portadnn": __version__,
        "commit": commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def device(handle: Handle) -> dict[str, Any]:
    """Return what a record says of a device."""
    info = dataclasses.asdict(handle.info)
    info["features"] = sorted(info["features"])
    return info


def write(path: Path, record: dict[str, Any]) -> None:
    """Write a record, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)
