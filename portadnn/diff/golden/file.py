"""The golden file: a ZIP archive of a header, a line for each case, and compressed outputs, under one SHA-256.

::

    header.json    format, data formula, digest of the other members, facts of backend, device, driver and library
    cases.jsonl    a line for each case: its text, status, digest of its inputs; aggregates and place of each output
    outputs.bin    the outputs' bytes in logical order, each compressed by itself
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._io.files import write_whole
from ...bfloat16 import as_float64
from ...enums import DataType
from ..data import FORMULA, places

FORMAT = 2
KEPT = 1024  # elements of an output that are kept; of a larger one a sample of so many
HEADER, CASES, OUTPUTS = "header.json", "cases.jsonl", "outputs.bin"
MAGIC = "portadnn golden file"
_DATE = (1980, 1, 1, 0, 0, 0)  # of the archive's members, so that equal contents are equal files


@dataclass(frozen=True)
class Output:
    """What is known of one output.

    Attributes
    ----------
    dtype : str
        Name of the storage type, such as ``"HALF"``.
    dims : tuple of int
    digest : str
        SHA-256 of all its bytes in logical order.
    aggregates : dict of str to float
        ``sum``, ``absolute`` (sum of magnitudes) and ``largest`` (magnitude) of the finite numbers, and how many are
        ``nan`` and ``infinite``.
    values : numpy.ndarray
        The numbers as stored, one-dimensional: all of them, or a sample of `KEPT`.
    """

    dtype: str
    dims: tuple[int, ...]
    digest: str
    aggregates: dict[str, float]
    values: npt.NDArray[Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, array: npt.NDArray[Any], dtype: DataType, name: str) -> Output:
        """Return what a golden file keeps of an output."""
        flat = np.ascontiguousarray(array).reshape(-1)
        return cls(
            dtype.name,
            array.shape,
            hashlib.sha256(flat.tobytes()).hexdigest(),
            aggregates(flat),
            flat[sample(name, flat.size)],
        )


@dataclass(frozen=True)
class Entry:
    """A case and what came of it.

    Attributes
    ----------
    case : str
        Its line.
    status, message, engine : str
        How the call ended, and what computed it.
    inputs : str
        SHA-256 of all tensors before the call, gaps and guards included.
    outputs : dict of str to Output
        Empty where the call failed.
    """

    case: str
    status: str
    inputs: str
    message: str = ""
    engine: str = ""
    outputs: dict[str, Output] = field(default_factory=dict)


@dataclass(frozen=True)
class Golden:
    """A golden file's contents.

    Attributes
    ----------
    target : dict of str to object
        Facts of the device and its library; see :func:`portadnn.diff.results.facts_of`.
    environment : dict of str to str
        Versions.
    created : str
        UTC, ISO 8601.
    entries : tuple of Entry
    """

    target: dict[str, Any]
    environment: dict[str, str]
    created: str
    entries: tuple[Entry, ...]


def sample(name: str, size: int) -> npt.NDArray[np.intp]:
    """Return the places of the elements of an output of `size` that are kept, in order; the last is among them."""
    return places(name, size, KEPT)


def aggregates(values: npt.NDArray[Any]) -> dict[str, float]:
    """Return the aggregates of an output's numbers."""
    numbers = as_float64(values)
    finite = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):  # the sums of the largest numbers are infinite, and compare so
        sums = float(finite.sum()), float(np.abs(finite).sum())
    return {
        "sum": sums[0],
        "absolute": sums[1],
        "largest": float(np.abs(finite).max(initial=0.0)),
        "nan": int(np.isnan(numbers).sum()),
        "infinite": int(np.isinf(numbers).sum()),
    }


# writing


def write(golden: Golden, path: Path) -> None:
    """Write a golden file; one that was there before stays whole until the new one is.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    outputs = io.BytesIO()
    lines = []
    for entry in golden.entries:
        line = dataclasses.asdict(entry)
        line["outputs"] = {name: _place(output, outputs) for name, output in entry.outputs.items()}
        lines.append(json.dumps(line, separators=(",", ":")))
    members = {CASES: "\n".join(lines).encode(), OUTPUTS: outputs.getvalue()}
    header = {
        "magic": MAGIC,
        "format": FORMAT,
        "formula": FORMULA,
        "created": golden.created,
        "target": golden.target,
        "environment": golden.environment,
        "cases": len(golden.entries),
    }
    header["digest"] = digest_of(header, members)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, _DATE), json.dumps(header, indent=1))
        archive.writestr(zipfile.ZipInfo(CASES, _DATE), members[CASES], zipfile.ZIP_LZMA)
        archive.writestr(zipfile.ZipInfo(OUTPUTS, _DATE), members[OUTPUTS])
    write_whole(path, whole.getvalue())


def _place(output: Output, into: io.BytesIO) -> dict[str, Any]:
    """Append an output's numbers and return its line."""
    packed = zlib.compress(_planes(output.values), 9)
    start = into.tell()
    into.write(packed)
    found = {name: getattr(output, name) for name in ("dtype", "dims", "digest", "aggregates")}
    return {**found, "at": start, "bytes": len(packed)}


def _planes(values: npt.NDArray[Any]) -> bytes:
    """Return an array's bytes with equal places of all elements side by side: exponents repeat, mantissas do not."""
    raw = np.frombuffer(values.tobytes(), np.uint8).reshape(-1, values.dtype.itemsize)
    planes: bytes = raw.T.tobytes()
    return planes


def digest_of(header: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of everything but itself."""
    hashed = hashlib.sha256(json.dumps({k: v for k, v in header.items() if k != "digest"}, sort_keys=True).encode())
    for name in (CASES, OUTPUTS):
        hashed.update(hashlib.sha256(members[name]).digest())
    return hashed.hexdigest()
