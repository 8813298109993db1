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

from ..._files import write_whole
from ...bfloat16 import as_float64
from ...enums import DataType
from ...errors import BadParam
from ..data import FORMULA, places

FORMAT = 2
KEPT = 1024  # elements of an output that are kept; of a larger one a sample of so many
_HEADER, _CASES, _OUTPUTS = "header.json", "cases.jsonl", "outputs.bin"
_MAGIC = "portadnn golden file"
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
    members = {_CASES: "\n".join(lines).encode(), _OUTPUTS: outputs.getvalue()}
    header = {
        "magic": _MAGIC,
        "format": FORMAT,
        "formula": FORMULA,
        "created": golden.created,
        "target": golden.target,
        "environment": golden.environment,
        "cases": len(golden.entries),
    }
    header["digest"] = _digest(header, members)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), json.dumps(header, indent=1))
        archive.writestr(zipfile.ZipInfo(_CASES, _DATE), members[_CASES], zipfile.ZIP_LZMA)
        archive.writestr(zipfile.ZipInfo(_OUTPUTS, _DATE), members[_OUTPUTS])
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


def _digest(header: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    hashed = hashlib.sha256(json.dumps({k: v for k, v in header.items() if k != "digest"}, sort_keys=True).encode())
    for name in (_CASES, _OUTPUTS):
        hashed.update(hashlib.sha256(members[name]).digest())
    return hashed.hexdigest()


# reading


def _refuse(path: Path, why: str) -> BadParam:
    return BadParam(f"{path} cannot be used: {why}", argument="golden file")


def read(path: Path) -> Golden:
    """Read a golden file.

    Raises
    ------
    BadParam
        It is none, of another format or data formula, or damaged; the message says which.
    OSError
        The file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(_HEADER))
            if header.get("magic") != _MAGIC:
                raise _refuse(path, "it is no golden file of portadnn")
            for name, known in (("format", FORMAT), ("formula", FORMULA)):
                if header.get(name) != known:
                    raise _refuse(
                        path, f"its {name} is {header.get(name)!r}, this portadnn knows {known}; record it again"
                    )
            members = {name: archive.read(name) for name in (_CASES, _OUTPUTS)}
    except zipfile.BadZipFile as error:
        raise _refuse(path, f"it is no whole archive ({error}): cut off, or not a golden file") from None
    except (KeyError, EOFError, zlib.error, ValueError, NotImplementedError, AttributeError) as error:
        raise _refuse(path, f"it is damaged: {error}") from None
    except Exception as error:
        if isinstance(error, (BadParam, OSError)):
            raise
        raise _refuse(path, f"it is damaged: {error}") from None  # lzma has errors of its own
    if _digest(header, members) != header.get("digest"):
        raise _refuse(path, "its SHA-256 is not that of its contents: it was changed or damaged after it was written")
    try:
        entries = tuple(_entry(json.loads(line), members[_OUTPUTS]) for line in members[_CASES].decode().splitlines())
        if len(entries) != header["cases"]:
            raise _refuse(path, f"it has {len(entries)} cases, and says {header['cases']}")
        return Golden(header["target"], header["environment"], header["created"], entries)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        if isinstance(error, BadParam):
            raise
        raise _refuse(path, f"a case cannot be read: {error!r}") from None


def _entry(line: Mapping[str, Any], data: bytes) -> Entry:
    outputs = {}
    for name, found in line["outputs"].items():
        dtype, dims = DataType[found["dtype"]], tuple(found["dims"])
        raw = zlib.decompress(data[found["at"] : found["at"] + found["bytes"]])
        planes = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1)
        values = np.frombuffer(planes.T.tobytes(), dtype.storage)
        if values.size != sample(name, int(np.prod(dims, dtype=np.int64))).size:
            raise ValueError(f"{name} of {line['case']} has {values.size} numbers")
        outputs[name] = Output(found["dtype"], dims, found["digest"], found["aggregates"], values)
    texts = {name: line[name] for name in ("case", "status", "inputs", "message", "engine")}
    return Entry(**texts, outputs=outputs)
