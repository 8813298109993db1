"""Files that are ported: read, rewritten together, and written as a patch or in place."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..._io.files import write_whole
from ..._io.text import count
from ..cpp.reader import LARGEST
from ..events import Place
from . import fields
from .calls import Call, find
from .following import Followed
from .program import HEADERS, Program
from .rewrite import Rewritten, rewrite
from .source import OPERATION, Source

_HIP = "cudaMalloc, kernels and cuBLAS are for hipify-perl; portadnn check judges the ported code"
_NEXT = {"miopen-3": _HIP, "miopen-1": _HIP, "cudnn-9": "portadnn check --target cudnn-9 judges what is left"}
Follow = Callable[[Mapping[str, bytes], str], Followed]
_NAMED = re.compile(rb"cudnn|CUDNN|miopen|portadnn_")
_INCLUDED = re.compile(rb"#[ \t]*(?:include|import)[ \t]*[<\"](?:[^<>\"\n]*/)?([^<>\"/\n]+)[>\"]")
Located = TypeVar("Located")


@dataclass
class Ported:
    """What became of all files.

    Attributes
    ----------
    files : list of Rewritten
        Those that name one of the libraries, in the order given; also those that stay as they are.
    target : str
    others : int
        How many name neither.
    headers : dict of str to bytes
        Files that are new.
    skipped : list of (str, str)
        Files that were not read, and why.
    """

    files: list[Rewritten] = field(default_factory=list)
    target: str = "miopen-3"
    others: int = 0
    headers: dict[str, bytes] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @property
    def marked(self) -> int:
        """How many places are left to the user."""
        return sum(mark.stays for file in self.files for mark in file.marked)


def port(texts: Mapping[str, bytes], target: str = "miopen-3", follow: Follow | None = None) -> Ported:
    """Rewrite sources, which belong together.

    Parameters
    ----------
    texts : mapping of str to bytes
        Sources by name.
    target : {"miopen-3", "miopen-1", "cudnn-9"}
    follow : callable, optional
        Tells what following the program gives: ``following.follow``.
    """
    result = Ported(target=target)
    sources: list[Source] = []
    for name, raw in texts.items():
        if _NAMED.search(raw) is None:
            result.others += 1
        elif len(raw) > LARGEST:
            result.skipped.append((name, f"larger than {LARGEST >> 20} MiB"))
        elif b"\0" in raw:
            result.skipped.append((name, "is no text of one byte a character"))
        else:
            sources.append(Source(name, raw))
    calls = {source.name: find(source) for source in sources}
    followed = Followed()
    if follow is not None and any(calls.values()):
        followed = follow({name: raw for name, raw in texts.items() if len(raw) <= LARGEST}, target)
    program = Program(
        target,
        frozenset(token.text for source in sources for token in source.tokens if token.text[:5] in ("cudnn", "miope"))
        | frozenset(token.text for source in sources for token in source.tokens if token.text.startswith("portadnn_")),
        _own(texts, calls),
        _defined(sources),
        Counter(match[1] for source in sources for match in OPERATION.finditer(source.code)),
        _by_place((event, event.place) for event in followed.events),
        _by_place((finding, finding.event.place) for finding in followed.findings if finding.event),
    )
    variables = fields.Variables({source.name: fields.declared(source) for source in sources})
    for source in sources:
        result.files.append(rewrite(source, program, variables))
    header = (Path(__file__).parent / HEADERS[target]).read_bytes()
    for file in result.files:
        beside = Path(file.source.name).parent / HEADERS[target]
        if file.header and not beside.exists():  # what is there is the user's
            result.headers[str(beside)] = header
    return result


def _own(texts: Mapping[str, bytes], calls: Mapping[str, Sequence[Call]]) -> dict[str, frozenset[str]]:
    """Return the functions with cuDNN's names that the program declares, by the sources that see a declaration."""
    said = {name: {call.name for call in calls.get(name, ()) if call.kind == "declaration"} for name in texts}
    if not any(said.values()):
        return {}
    by_base: dict[bytes, list[str]] = {}
    for name in said:
        by_base.setdefault(os.fsencode(name.rpartition("/")[2]), []).append(name)
    included = {
        name: {other for base in _INCLUDED.findall(text) for other in by_base.get(base, ())}
        for name, text in texts.items()
    }
    changed = True
    while changed:
        changed = False
        for name, others in included.items():
            seen = said[name].union(*(said[other] for other in others))
            changed |= len(seen) > len(said[name])
            said[name] = seen
    return {name: frozenset(names) for name, names in said.items() if names}


def _defined(sources: Sequence[Source]) -> frozenset[str]:
    """Return the macros that sources define."""
    directives = (one for source in sources for one in source.directives if one.kind == "define")
    return frozenset(match[0] for one in directives if (match := re.match(r"\w+", one.rest)))


def _by_place(items: Iterable[tuple[Located, Place]]) -> dict[tuple[str, int], list[Located]]:
    found: dict[tuple[str, int], list[Located]] = {}
    for item, place in items:
        if place.start >= 0:
            found.setdefault((place.file, place.start), []).append(item)
    return found


# Writing ----------------------------------------------------------------------------------------------------------


def patch(ported: Ported, root: Path | None = None) -> bytes:
    """Return a unified diff of everything that is new, for ``patch -p1`` or ``git apply`` in a folder (here)."""
    folder = root or Path.cwd()
    pieces = [
        piece
        for file in ported.files
        if file.changed
        for piece in _diff(_shown(file.source.name, folder), file.source.text, file.text)
    ]
    for name, text in ported.headers.items():
        pieces += _diff(_shown(name, folder), None, text.decode("latin-1"))
    return "".join(pieces).encode("latin-1")


def _shown(name: str, folder: Path) -> str:
    relative = os.path.relpath(name, folder).replace(os.sep, "/")
    path = Path(name).resolve().as_posix().lstrip("/") if relative.startswith("../") else relative
    return path.encode("utf-8", "surrogateescape").decode("latin-1")


def _diff(name: str, old: str | None, new: str) -> Iterator[str]:
    before = "/dev/null" if old is None else f"a/{name}"
    lines = difflib.unified_diff(_lines(old or ""), _lines(new), before, f"b/{name}")
    if old is None:
        yield f"diff --git a/{name} b/{name}\nnew file mode 100644\n"
    for line in lines:
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def write(ported: Ported) -> list[str]:
    """Write everything that is new in place, each file as a whole or not at all; return the names of the files.

    Raises
    ------
    OSError
        A file cannot be written; it and those behind it are as they were.
    """
    new = ported.headers | {file.source.name: file.text.encode("latin-1") for file in ported.files if file.changed}
    for name, text in new.items():
        write_whole(Path(name), text)
    return list(new)


def summary(ported: Ported) -> list[str]:
    """Say what was done, file by file, and what is left."""
    lines = []
    for file in ported.files:
        if file.changed or file.marked:
            stays = [mark for mark in file.marked if mark.stays]
            told = {
                f"{count(file.calls, 'call')} ported": file.calls,
                f"{count(file.removed, 'call')} not needed any more": file.removed,
                f"{count(file.names, 'other name')} replaced": file.names,
                f"{count(len(stays), 'place')} left to you": len(stays),
            }
            lines.append(f"{file.source.name}: {', '.join(text for text, some in told.items() if some)}")
            lines += [
                f"  {mark.line}: {f'PD-{mark.rule}: ' if mark.rule else ''}{mark.name}: {mark.note}"
                for mark in sorted(file.marked, key=lambda mark: mark.line)
            ]
    lines += [f"{name}: written" for name in ported.headers]
    lines += [f"{name}: not read: {why}" for name, why in ported.skipped]
    changed = sum(file.changed for file in ported.files)
    calls = sum(file.calls + file.removed for file in ported.files)
    number = len(ported.files) + ported.others
    changes = f"{changed} of {count(number, 'file')} {'changes' if changed == 1 else 'change'}"
    lines.append(f"{changes}: {count(calls, 'call')} ported, {count(ported.marked, 'place')} left to you")
    if calls:
        lines.append(_NEXT[ported.target])
    return lines
