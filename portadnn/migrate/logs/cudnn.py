"""The API logs of cuDNN 7, 8 and 9 (CUDNN_LOGINFO_DBG, CUDNN_LOGLEVEL_DBG, and what its callback gives)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from .. import versions
from ..values import NULL, UNKNOWN, items, known, unknown
from .records import Logged, Record, value_of

HEADER = re.compile(r"(?:([IWE])! ?)?[Cc]uDNN \(v(\d{4,6})(?: \d+)?\) function (\w+)\(\) called:")
# Functions that the library calls itself and logs as if the program did
INTERNAL = re.compile(r"Internal\Z|Visualize\Z|\AcudnnGetErrorString\Z|\AcudnnGraphLibraryConfig|\AcudnnGetVersion\Z")
# What may stand before a line: a process and "i! ", or the frame that Julia's logger draws, which loses the indentation
_PREFIX = re.compile(r"(?:\d+ )?(?:[iweIWE]!|│) ?")
_FLAT = frozenset(
    [
        "dataType",
        "vect",
        "nbDims",
        "dimA",
        "strideA",
        "format",
        "mode",
        "mathType",
        "reorderType",
        "arrayLength",
        "padA",
        "dilationA",
        "groupCount",
        "windowDimA",
        "paddingA",
        "maxpoolingNanOpt",
        "reluNanOpt",
        "coef",
        "opTensorOp",
        "opTensorCompType",
        "opTensorNanOpt",
        "lrnN",
        "lrnAlpha",
        "lrnBeta",
        "lrnK",
        "streamId",
        "deviceProp",
        "deviceName",
        "cudaDeviceId",
        "deviceVer",
        "multiProcessorCount",
        "driverVer",
        "totalGlobalMem",
    ]
)
_ARGUMENT = re.compile(r"( *)(\w+|\[\d+\]): ?(.*?);?\s*\Z")
_PROCESS = re.compile(r"Process[=:] ?(\w+)[;,] Thread[=:] ?(\w+)")
_FAILED = re.compile(r"(?:Warning|Error): (\w+); Reason")
_LIST_ENTRY = re.compile(r"\[(\d+)\]\Z")


class Reader:
    """Takes lines and gives a record whenever one has ended."""

    def __init__(self) -> None:
        self._record: Record | None = None
        self._internal = False  # whose arguments nobody reads
        self._frames: list[tuple[int, str, str, dict[str, Logged]]] = []  # open blocks: indent, name, type, fields
        self._known: dict[str, Logged] = {}

    def take(self, number: int, line: str) -> Iterator[Record]:
        """Read a line of the log, by its number in the file."""
        if "uDNN (v" in line:
            header = HEADER.search(line)
            if header:
                yield from self.end(complete=False)
                self._internal = INTERNAL.search(header[3]) is not None
                self._record = Record(
                    header[3],
                    number,
                    version=versions.dotted(versions.of_header(int(header[2]))),
                    level=header[1] or "I",
                )
                return
        record = self._record
        if record is None:
            return
        if not line.strip() and record.lines > 1:
            yield from self.end(complete=True)
            return
        record.lines = number - record.line + 1
        process = _PROCESS.search(line) if "Process" in line else None
        if process:
            record.thread = f"{process[1]}.{process[2]}"
            yield from self.end(complete=True)
        elif not self._internal and "Time: " not in line[:16]:
            self._argument(record, line)

    def end(self, complete: bool = False) -> Iterator[Record]:
        """Give the record that is being read, if any."""
        record, self._record = self._record, None
        if record is not None:
            self._close(record, -1)
            record.complete = complete
            yield record

    def _argument(self, record: Record, line: str) -> None:
        argument = _split(line)
        if argument is None:
            failed = _FAILED.search(line)
            if failed:
                record.status = failed[1]
            return
        indent, name, text = argument
        if not indent and self._frames and line[:1] == "│" and name in _FLAT:
            indent = self._frames[-1][0] + 1
        self._close(record, indent)
        if text.startswith("type=") and text.endswith(":"):
            self._frames.append((indent, name, text[5:-1], {}))
            return
        logged = self._known.get(text)
        if logged is None:
            logged = _logged(text)
            if len(self._known) < 10_000:
                self._known[text] = logged
        self._put(record, name, logged)

    def _put(self, record: Record, name: str, logged: Logged) -> None:
        fields = self._frames[-1][3] if self._frames else record.arguments
        if name == "status" and not self._frames and logged.type == "cudnnStatus_t" and not _takes_status(record):
            record.status = str(logged.value.data)
        elif _LIST_ENTRY.match(name) and fields:
            last, so_far = next(reversed(fields.items()))
            if last == "elementCount":  # of a backend descriptor's attribute, whose elements follow without a name
                last, so_far = "arrayOfElements", Logged("", items(()))
            values = so_far.value.data if so_far.value.kind == "items" else ()
            fields[last] = Logged(so_far.text, items((*values, logged.value), so_far.type), so_far.type, so_far.fields)
        else:
            fields.setdefault(name, logged)

    def _close(self, record: Record, indent: int) -> None:
        """End the blocks that a line of this indent does not belong to."""
        while self._frames and indent <= self._frames[-1][0]:
            _, name, type_, fields = self._frames.pop()
            self._put(record, name, Logged(type_, UNKNOWN.typed(type_), type_, fields))


@functools.lru_cache(maxsize=8192)
def _split(line: str) -> tuple[int, str, str] | None:
    """Return the indent, the name and the text of an argument's line: most lines of a log come again and again."""
    prefix = _PREFIX.match(line)
    body = line[prefix.end() :] if prefix else line
    argument = None if "; Reason" in body else _ARGUMENT.match(body)
    return None if argument is None else (len(argument[1]), argument[2], argument[3])


def _takes_status(record: Record) -> bool:
    return record.function == "cudnnGetErrorString"


def _logged(text: str) -> Logged:
    """Read what stands behind an argument's name."""
    parts = dict(part.split("=", 1) for part in text.split("; ") if "=" in part)
    type_ = parts.get("type", "")
    if "val" in parts:
        value = parts["val"].rstrip(";")
        if type_ == "string":
            return Logged(value, known(value.strip('"'), "char*"), type_)
        return Logged(value, value_of(value, type_), type_)
    address = parts.get("addr", parts.get("streamId", text)).rstrip(";").split(" ")[0]
    if value_of(address).is_null:
        return Logged("NULL", NULL.typed(type_), type_)
    return Logged(address, unknown(address, type_ or "void*"), type_ or "void*")
