"""Which files of a tree are no work of its port: copies of the libraries' own headers, and other projects' code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

_HEADERS = frozenset((".h", ".hpp", ".hh", ".hxx", ".cuh", ".inc"))
_OTHERS = frozenset(
    ("third_party", "third-party", "thirdparty", "3rdparty", "3rd_party", "3rd-party", "external", "externals",
     "vendor", "vendored", "submodules", "subprojects", "_deps", "contrib_libs", "bundled", "dependencies")
)  # fmt: skip
_FRONTEND = re.compile(r"cudnn[-_]frontend")
_OF_FRONTEND = re.compile(rb"namespace\s+cudnn_frontend\b|\bNVIDIA CORPORATION\b")
_LIBRARIES = (
    ("cuDNN's header", re.compile(rb"\bCUDNNWINAPI\s+cudnn\w+\s*\([^;{}]*\)\s*;")),
    ("cuDNN's header", re.compile(rb"#[ \t]*define[ \t]+CUDNN_(?:\w+_)?MAJOR[ \t]+\d")),
    ("MIOpen's header", re.compile(rb"\bMIOPEN_EXPORT\s+miopenStatus_t\s+miopen\w+\s*\(")),
    ("hipDNN's header", re.compile(rb"\bHIPDNN_(?:\w+_)?EXPORT\s+hipdnnStatus_t\s+\w+\s*\(")),
)
_WORDS = (b"CUDNNWINAPI", b"_MAJOR", b"MIOPEN_EXPORT", b"HIPDNN_", b"frontend")


def copied(name: str, text: bytes) -> str:
    """Tell which library a header is a copy of a part of; "" for the program's own files.

    Parameters
    ----------
    name : str
        Its name below what is checked.
    text : bytes
        The source.
    """
    path = PurePath(name)
    if path.suffix.lower() not in _HEADERS:
        return ""
    if any(_FRONTEND.match(part) for part in path.parts) and _OF_FRONTEND.search(text):
        return "cudnn-frontend"
    if not any(word in text for word in _WORDS):
        return ""
    return next((title for title, pattern in _LIBRARIES if pattern.search(text)), "")


def of_another_project(name: str) -> str:
    """Return the folder of other projects' code that a file lies in, by its usual names; "" where it lies in none.

    Parameters
    ----------
    name : str
        The file's name below what is checked: what a user names is the user's.
    """
    folders = PurePath(name).parts[:-1]
    place = next((i for i, part in enumerate(folders) if part.lower() in _OTHERS), None)
    return "" if place is None else "/".join(folders[: place + 2])


def below(name: str, given: Iterable[str]) -> str:
    """Return a file's name below the folder that was given, the longest of those that hold it."""
    path = PurePath(name)
    folders = [PurePath(one) for one in given]
    around = [folder for folder in folders if path.parts[: len(folder.parts)] == folder.parts and folder != path]
    return str(PurePath(*path.parts[max(len(folder.parts) for folder in around) :])) if around else path.name
