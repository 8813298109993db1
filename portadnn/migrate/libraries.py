"""Which names are functions of cuDNN and MIOpen, and which files are worth a look."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from .. import mapping

_NAME = r"(?:cudnn|miopen)[A-Z]\w*"  # what begins as their functions do
WORD = re.compile(rb"cudnn|miopen|hipdnn|CUDNN|MIOPEN|portadnn|fe::graph::", re.ASCII)
_LIBRARY = re.compile(rf"{_NAME}\Z", re.ASCII)
# What programs call their own helpers: cudnnErrCheck, cudnnSafeCall, cudnnAssert, miopenCheckStatus.
_HELPER = re.compile(
    r"(?:cudnn|miopen)(?:Safe|Err|Error|Check|Assert|Call|Status|Try|Throw|Ensure|Verify|Success)+\w*\Z"
)


def named(*others: bytes) -> re.Pattern[bytes]:
    """Return a pattern of what is named as the libraries' functions are, or has one of some other names."""
    return re.compile(rb"(?<![\w$])(" + b"|".join([_NAME.encode(), *map(re.escape, others)]) + rb")(?![\w$])", re.ASCII)


def called(*others: bytes) -> re.Pattern[bytes]:
    """Return a pattern of calls of what `named` is about; its group is the name."""
    return re.compile(named(*others).pattern + rb"\s*\(", re.ASCII)


CALLED = called()


@functools.lru_cache(maxsize=65536)
def is_library(name: str) -> bool:
    """Tell whether a name is, by all that is known, a function of cuDNN or MIOpen."""
    if not _LIBRARY.match(name) or name.endswith("_t"):  # cudnnTensorFormat_t(x) converts
        return False
    return name in mapping.table().functions or not _HELPER.match(name)


def returns_status(name: str) -> bool:
    """Tell whether a name is a library's function that returns a status."""
    declared = mapping.table().functions.get(name)
    return is_library(name) and (declared is None or declared.returns is None)


def interesting(raw: bytes, names: Collection[bytes] = ()) -> bool:
    """Tell whether a file names the libraries, or something that is bound to them elsewhere."""
    if WORD.search(raw):
        return True
    return bool(names) and not set(re.findall(rb"[A-Za-z_]\w{3,}", raw)).isdisjoint(names)
