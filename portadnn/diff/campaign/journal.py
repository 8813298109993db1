"""The journal of a campaign: a file that grows by a line for each finished case, so that what is done is never lost.

The first line says what was asked for and where; each other one holds a case's number and result. Only the last line
can be torn, by a process that was killed or a full disk; it is cut off when the campaign goes on.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..._io.outside import Fields, open_regular, parse_json
from ...errors import BadParam
from ..results import environment, now, result_as_json, result_from_json
from ..verdict import CaseResult
from .pool import Facts

FORMAT = 1
NAME = "journal.jsonl"
LOCK = "campaign.lock"
_LONGEST = 16 << 20  # bytes of a line
_SYNC = 5.0  # seconds between two writes to the disk itself; a killed process loses nothing that was written


class Lock:
    """One campaign at a time in a folder; the lock ends with the process that has it, however that ends.

    Parameters
    ----------
    folder
        Made where it is missing.

    Raises
    ------
    BadParam
        Another campaign is running there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / LOCK).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            owner = self._file.read().strip() or "another process"
            self._file.close()
            raise BadParam(
                argument="output",
                expected="a folder without a running campaign",
                got=f"{folder}, where {owner} runs one",
            ) from None
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {os.uname().nodename}\n")
        self._file.flush()

    def release(self) -> None:
        """Let others in."""
        self._file.close()


class Journal:
    """The journal in a folder, locked for as long as it is open.

    Parameters
    ----------
    folder
        Made where it is missing.
    resume
        Go on with the journal that is there; else there has to be none.

    Attributes
    ----------
    results : dict of int to CaseResult
        What is finished, by number.

    Raises
    ------
    BadParam
        Another campaign runs in the folder, there is a journal and `resume` is false, or it is damaged before its last
        line.
    """

    def __init__(self, folder: Path, *, resume: bool = False) -> None:
        self.path = folder / NAME
        self._lock = Lock(folder)
        self.results: dict[int, CaseResult] = {}
        self._header: dict[str, Any] | None = None
        self._file: IO[str] | None = None
        self._synced = time.monotonic()
        try:
            if self.path.exists() and not resume and self.path.stat().st_size:
                raise BadParam(
                    argument="output",
                    expected="a folder without a journal, or --resume to go on with it",
                    got=str(self.path),
                )
            if self.path.exists():
                self._load()
        except BaseException:
            self._lock.release()
            raise

    def _load(self) -> None:
        whole = number = 0
        with open_regular(self.path, "journal") as file:
            while line := file.readline(_LONGEST + 1):
                number += 1
                if not line.endswith(b"\n") and len(line) <= _LONGEST:
                    break  # torn
                place = f"line {number} of {self.path}"
                if len(line) > _LONGEST:
                    raise BadParam(argument="journal", expected=f"at most {_LONGEST:,} bytes in {place}", got="more")
                try:
                    facts = Fields(parse_json(line, place), place)
                    if number > 1:
                        result = result_from_json(facts.mapping("result"), f"{place}: result")
                        self.results[facts.integer("number")] = result
                except BadParam as error:
                    if not file.read(1):
                        break  # the last line, torn by a full disk
                    raise BadParam(
                        argument="journal", expected=f"a result in {place}", got=f"damage: {error}"
                    ) from None
                if number == 1:
                    self._header = _header(facts)
                whole += len(line)
        os.truncate(self.path, whole)
        if whole == 0:
            self._header = None

    @property
    def begun(self) -> bool:
        """Whether there is a campaign to go on with."""
        return self._header is not None

    @property
    def started(self) -> str:
        """When the campaign began; UTC, ISO 8601."""
        return str((self._header or {}).get("started", ""))

    def begin(self, settings: Mapping[str, Any], targets: Facts) -> None:
        """Write the first line, or compare it with what is asked for now.

        Raises
        ------
        BadParam
            Settings or targets differ from the journal's.
        """
        header = {
            "format": FORMAT,
            "kind": "portadnn diff",
            "settings": json.loads(json.dumps(settings)),
            "targets": json.loads(json.dumps(targets)),
            "environment": environment(),
            "started": now(),
        }
        self._file = self.path.open("a")
        if self._header is None:
            self._header = header
            self._write(header)
            return
        for part in ("settings", "targets", "environment"):
            for name, before, after in _changes(self._header[part], header[part]):
                raise BadParam(argument="resume", expected=f"{name} as in {self.path}, {before}", got=after)

    def add(self, number: int, result: CaseResult) -> None:
        """Write a finished case.

        Raises
        ------
        OSError
            The disk is full.
        """
        self.results[number] = result
        self._write({"number": number, "result": result_as_json(result)})

    def _write(self, values: Mapping[str, Any]) -> None:
        assert self._file is not None, "begin() comes first"
        self._file.write(json.dumps(values, separators=(",", ":")) + "\n")
        self._file.flush()
        if time.monotonic() - self._synced > _SYNC:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def close(self) -> None:
        """Bring everything to the disk and let others into the folder."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
        self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _header(facts: Fields) -> dict[str, Any]:
    if facts.values.get("kind") != "portadnn diff":
        raise BadParam(argument="journal", expected="a journal of portadnn diff", got=str(facts.values)[:60])
    if facts.values.get("format") != FORMAT:
        raise BadParam(argument="journal", expected=f"format {FORMAT}", got=str(facts.values.get("format"))[:40])
    for name in ("settings", "targets", "environment"):
        facts.mapping(name)
    facts.text("started")
    return facts.values


def _changes(before: Any, after: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield what differs between two JSON values, by its path."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{name}.{key}" if name else key
            yield from _changes(before.get(key, "nothing"), after.get(key, "nothing"), inner)
    elif before != after:
        yield name, json.dumps(before), json.dumps(after)
