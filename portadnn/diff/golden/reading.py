"""Reading golden files, which may come from anywhere: every size is checked before memory is taken for it."""

from __future__ import annotations

import json
import lzma
import math
import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..._io.outside import Fields, open_regular, parse_json
from ...enums import DataType, Status
from ...errors import BadParam, DnnError
from ...problem import MAX_DIMS, MAX_SPAN, Problem, TensorSpec
from ..cases import Case
from ..data import FORMULA
from .file import CASES, FORMAT, HEADER, MAGIC, OUTPUTS, Entry, Golden, Output, digest_of, sample

MOST_BYTES = 1 << 30  # of a golden file
MOST_TENSORS = 1 << 30  # bytes of a case's tensors with their gaps, which checking it allocates
_MOST = {HEADER: 1 << 20, CASES: 64 << 20, OUTPUTS: MOST_BYTES}  # bytes of each member, unpacked
_PIECE = 4096  # bytes that are unpacked at once: LZMA makes up to 7,000 of one
_DICTIONARY = 16 << 20  # bytes that unpacking LZMA may take; what Python writes takes 8 MiB
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError, KeyError, struct.error)
_AGGREGATES = ("sum", "absolute", "largest", "nan", "infinite")


def _refuse(path: Path, why: object) -> BadParam:
    return BadParam(f"{path} cannot be used: {why}", argument="golden file")


def read(path: Path) -> Golden:
    """Read a golden file.

    Raises
    ------
    BadParam
        It is none, of another format or data formula, or damaged; the message says which, and names line and field.
    OSError
        The file cannot be read.
    """
    with open_regular(path, "golden file") as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise _refuse(path, f"it is larger than {MOST_BYTES:,} bytes")
        try:
            with zipfile.ZipFile(file) as archive:
                header = _header(path, _member(path, archive, file, HEADER))
                members = {name: _member(path, archive, file, name) for name in (CASES, OUTPUTS)}
        except BadParam:
            raise
        except zipfile.BadZipFile as error:
            raise _refuse(path, f"it is no whole archive ({error}): cut off, or not a golden file") from None
        except (*_DAMAGE, OSError, MemoryError, OverflowError) as error:  # OSError: a place before the file's start
            raise _refuse(path, f"it is damaged: {error}") from None
    if digest_of(header, members) != header.get("digest"):
        raise _refuse(path, "its SHA-256 is not that of its contents: it was changed or damaged after it was written")
    try:
        facts = Fields(header, HEADER)
        lines = members[CASES].splitlines()
        if len(lines) != facts.integer("cases"):
            raise _refuse(path, f"it has {len(lines)} cases, and says {header['cases']}")
        target, environment = (_texts(facts, name) for name in ("target", "environment"))
        entries = tuple(_entry(number, line, members[OUTPUTS]) for number, line in enumerate(lines, 1))
        return Golden(target, environment, facts.text("created"), entries)
    except DnnError as error:
        raise error if error.argument == "golden file" else _refuse(path, error) from None


def _header(path: Path, data: bytes) -> dict[str, Any]:
    try:
        header = Fields(parse_json(data, HEADER), HEADER).values
        json.dumps(header, sort_keys=True).encode()
    except (BadParam, ValueError) as error:
        raise _refuse(path, f"it is damaged: {error}") from None
    if header.get("magic") != MAGIC:
        raise _refuse(path, "it is no golden file of portadnn")
    for name, known in (("format", FORMAT), ("formula", FORMULA)):
        if header.get(name) != known:
            got = str(header.get(name))[:40]
            raise _refuse(path, f"its {name} is {got}, this portadnn knows {known}; record it again")
    return header


def _member(path: Path, archive: zipfile.ZipFile, file: BinaryIO, name: str) -> bytes:
    """Return a member, unpacked in pieces up to its limit."""
    info, most = archive.getinfo(name), _MOST[name]
    if info.compress_type not in _METHODS:
        raise _refuse(path, f"it is damaged: {name} is packed by method {info.compress_type}")
    if info.file_size > most:
        raise _refuse(path, f"{name} has {info.file_size:,} bytes unpacked, of {most:,} at most")
    if info.compress_type == zipfile.ZIP_LZMA:
        _check_dictionary(path, file, info)
    parts, size = [], 0
    piece = 1 << 20 if info.compress_type == zipfile.ZIP_STORED else _PIECE
    with archive.open(info) as stream:
        while part := stream.read(piece):
            size += len(part)
            if size > most:
                raise _refuse(path, f"{name} has more than {most:,} bytes unpacked")
            parts.append(part)
    return b"".join(parts)


def _check_dictionary(path: Path, file: BinaryIO, info: zipfile.ZipInfo) -> None:
    """Refuse LZMA whose header asks for more memory than any golden file needs."""
    file.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, os.SEEK_CUR)
    _, size, _, dictionary = struct.unpack("<HHBI", file.read(9))  # version, length, lc/lp/pb, dictionary
    if size != 5 or dictionary > _DICTIONARY:
        raise _refuse(path, f"it is damaged: unpacking {info.filename} takes {dictionary:,} bytes")


def _entry(number: int, line: bytes, data: bytes) -> Entry:
    place = f"{CASES}, line {number}"
    facts = Fields(parse_json(line, place), place)
    texts = {name: facts.text(name) for name in ("case", "status", "inputs", "message", "engine")}
    if texts["status"] not in (*Status.__members__, "CRASHED") and not texts["status"].isidentifier():
        facts.refuse("status", "the name of a status", texts["status"])
    try:
        case = Case.parse(texts["case"])
        specs = dict(zip(case.problem.names, case.problem.tensors, strict=True))
    except DnnError as error:
        raise BadParam(f"{place}: case: {error}") from None
    check_size(case.problem, place)
    outputs = {}
    for name, found in facts.mapping("outputs").items():
        if name not in case.problem.written:
            facts.refuse("outputs", f"some of {', '.join(case.problem.written)}", name)
        outputs[name] = _output(name, Fields(found, f"{place}: outputs: {name}"), specs[name], data)
    return Entry(**texts, outputs=outputs)


def check_size(problem: Problem, place: str) -> None:
    """Refuse a case whose tensors are larger than golden files may ask for.

    Raises
    ------
    BadParam
        They are; `place` is named.
    """
    needed = sum(map(_extent, problem.tensors))
    if needed > MOST_TENSORS:
        expected = f"tensors of at most {MOST_TENSORS:,} bytes together"
        raise BadParam(argument=f"{place}: case", expected=expected, got=f"{needed:,} bytes")


def _extent(spec: TensorSpec) -> int:
    """Return the bytes of a tensor with its gaps; of one that is not valid at least those of its elements."""
    return (max(spec.span, spec.size) if min(spec.dims, default=0) >= 0 else 0) * spec.dtype.itemsize


def _output(name: str, facts: Fields, spec: TensorSpec, data: bytes) -> Output:
    word, dims = facts.text("dtype"), facts.integers("dims", most=MAX_SPAN, length=MAX_DIMS)
    if word != spec.dtype.name:
        facts.refuse("dtype", f"{spec.dtype.name}, as the case says", word)
    if dims != spec.dims:
        facts.refuse("dims", f"{spec.dims}, as the case says", dims)
    start, length = facts.integer("at", most=len(data)), facts.integer("bytes", most=len(data))
    if start + length > len(data):
        facts.refuse("bytes", f"a place in the {len(data)} bytes of {OUTPUTS}", start + length)
    kept = sample(name, math.prod(dims)).size
    values = _unpacked(facts, data[start : start + length], spec.dtype, kept)
    return Output(word, dims, facts.text("digest"), _aggregates(facts), values)


def _unpacked(facts: Fields, packed: bytes, dtype: DataType, count: int) -> npt.NDArray[Any]:
    """Return so many numbers, and refuse what unpacks to more or to less."""
    size = count * dtype.itemsize
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(packed, size + 1)
        if len(raw) == size and not unpacker.eof:  # the check sum is left
            raw += unpacker.decompress(unpacker.unconsumed_tail, 1)
    except zlib.error as error:
        facts.refuse("bytes", "packed numbers", str(error))
    if len(raw) != size or not unpacker.eof:
        facts.refuse("bytes", f"{count} numbers, as dims say", f"{len(raw)} bytes or more")
    planes = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1)
    return np.frombuffer(planes.T.tobytes(), dtype.storage)


def _texts(facts: Fields, name: str) -> dict[str, Any]:
    found = Fields(facts.mapping(name), f"{facts.place}: {name}")
    for key, value in found.values.items():
        if value is not None:
            found.text(key)
    return found.values


def _aggregates(facts: Fields) -> dict[str, float]:
    found = Fields(facts.mapping("aggregates"), f"{facts.place}: aggregates")
    for name in _AGGREGATES:
        found.number(name)
    return found.values


__all__ = ["check_size", "read"]
