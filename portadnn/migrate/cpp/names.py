"""Which names are functions of cuDNN and MIOpen, and which files are worth a look."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from ... import mapping

WORD = re.compile(rb"cudnn|miopen|CUDNN|MIOPEN|portadnn", re.ASCII)
CALLED = re.compile(rb"(?<![\w$])((?:cudnn|miopen)[A-Z]\w*)\s*\(", re.ASCII)
_LIBRARY = re.compile(r"(?:cudnn|miopen)[A-Z]\w*\Z", re.ASCII)
# What programs call their own helpers: cudnnErrCheck, cudnnSafeCall, cudnnAssert, miopenCheckStatus.
_HELPER = re.compile(
    r"(?:cudnn|miopen)(?:Safe|Err|Error|Check|Assert|Call|Status|Try|Throw|Ensure|Verify|Success)+\w*\Z"
)
# These return no status.
WITHOUT_STATUS = frozenset(
    (
        "cudnnGetErrorString",
        "miopenGetErrorString",
        "cudnnGetVersion",
        "cudnnGetMaxDeviceVersion",
        "cudnnGetCudartVersion",
    )
)


@functools.lru_cache(maxsize=65536)
def is_library(name: str) -> bool:
    """Tell whether a name is, by all that is known, a function of cuDNN or MIOpen."""
    if not _LIBRARY.match(name) or name.endswith("_t"):  # cudnnTensorFormat_t(x) converts
        return False
    return name in mapping.table().functions or not _HELPER.match(name)


def returns_status(name: str) -> bool:
    """Tell whether a name is a library's function that returns a status."""
    return is_library(name) and name not in WITHOUT_STATUS


def interesting(raw: bytes, names: Collection[bytes] = ()) -> bool:
    """Tell whether a file names the libraries, or something that is bound to them elsewhere."""
    if WORD.search(raw):
        return True
    return bool(names) and not set(re.findall(rb"[A-Za-z_]\w{3,}", raw)).isdisjoint(names)
