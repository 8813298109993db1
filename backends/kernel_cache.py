"""On-disk cache of compiled kernels.

An entry is one file named by the hash of its key (source, options, device, driver, portadnn's format). It
begins with the key's and the payload's digests, so a truncated, foreign or altered file is recognised and
rebuilt. Files are written beside their place and renamed, so concurrent processes see a whole entry or none.
``PORTADNN_CACHE_DIR`` moves the cache; an empty value turns it off. An unwritable folder is not an error:
kernels are then compiled every time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_MAGIC = b"portadnn kernel 1\n"
_DIGEST = hashlib.sha256().digest_size


def cache_dir() -> Path | None:
    """Return the cache's folder, or None when it is turned off."""
    text = os.environ.get("PORTADNN_CACHE_DIR")
    if text is not None:
        return Path(text) if text else None
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    return Path(base) / "portadnn" / "kernels"


def _digest(parts: tuple[str, ...]) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def load(key: tuple[str, ...]) -> bytes | None:
    """Return the payload stored under `key`, or None when there is none that can be trusted."""
    folder = cache_dir()
    if folder is None:
        return None
    digest = _digest(key)
    try:
        data = (folder / f"{digest.hex()}.bin").read_bytes()
    except OSError:
        return None
    head = _MAGIC + digest
    payload = data[len(head) + _DIGEST :]
    if not data.startswith(head) or data[len(head) : len(head) + _DIGEST] != hashlib.sha256(payload).digest():
        return None
    return payload


def store(key: tuple[str, ...], payload: bytes) -> None:
    """Store `payload` under `key`, replacing what was there."""
    folder = cache_dir()
    if folder is None:
        return
    digest = _digest(key)
    temporary = None
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix="new-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + digest + hashlib.sha256(payload).digest() + payload)
        Path(temporary).replace(folder / f"{digest.hex()}.bin")
        return
    if temporary is not None:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
