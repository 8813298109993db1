"""Reading many sources: in processes where they are many, and so that no single one stops the rest."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import PurePath

from .. import cpp
from ..cpp.expansion import PASTES, Foreign, Template, defined, keeping, taking_apart
from ..cpp.text import UTF16, count_lines
from ..frontend.methods import GRAPH_TYPE
from ..libraries import is_library
from ..limits import HARD, KEPT, LEAST, MEMORY, NONE, Limits, end_beyond
from ..program import Skipped, Unit
from .bases import bases_of, defining, externs, giving, making, normalising, owners_of, scaled
from .copies import copied
from .discover import Found
from .embedded import code
from .included import with_lists

SMALL = 2**13  # bytes of a source that is read in this process: parsing it takes 400 MB at most
FEW = 2**20  # bytes that one process reads before a second one has started
BATCH = 2**20  # bytes of a task
MANY = 100  # sources, in which short names such as Make or Context are met everywhere
_DEEPEST_BASE = 3  # classes between one that calls a library and the last base that is looked for
LIMIT = 120.0  # seconds for one source
_TELLING = re.compile(r"\d|^(?=.{8})(?:.*[a-z][A-Z]|.*_[A-Za-z])")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)(?=\s*(?:<[\w:, *]*>)?\s*\()")
_RESULTS = re.compile(r"\bcudnnConvolution\w+AlgoPerf(?:_t|Struct)\b")
_LATE = f"not read within {LIMIT:.0f} seconds"
_LINE = re.compile(rb"(?<![A-Za-z0-9_])(?:cudnn|CUDNN|miopen)[A-Za-z0-9_]*[^\n]*")
_COMMENT = re.compile(rb"\s*(?://|\*|/\*|#(?!\s*(?:if|el|define|include)))")


@dataclass
class Look:
    """What reading a source gave: no unit where it does not name a library; which library's header it is a copy of."""

    name: str
    kind: str
    lines: int = 0
    touched: int = 0
    unit: Unit | None = None
    templates: tuple[Template, ...] = ()
    skipped: list[Skipped] = field(default_factory=list)
    copy_of: str = ""

    @property
    def starved(self) -> bool:
        """Whether it took more memory to read than it was given."""
        return self.unit is not None and any(one.reason == cpp.STARVED for one in self.unit.skipped)


@dataclass(frozen=True)
class Bound:
    """What makes a source worth reading that does not name a library.

    Attributes
    ----------
    names : frozenset of bytes
        Functions and classes that call one.
    files : frozenset of str
        Files that such sources include.
    templates : tuple of (str, Template)
        Macros that take calls apart, each with its file.
    pointers : dict of str to str
        Variables and members that point to a library's function.
    helpers : frozenset of bytes
        Functions that are called in the arguments of a library's functions.
    """

    names: frozenset[bytes] = frozenset()
    files: frozenset[str] = frozenset()
    templates: tuple[tuple[str, Template], ...] = ()
    pointers: Mapping[str, str] = field(default_factory=dict)
    helpers: frozenset[bytes] = frozenset()
    _foreign: dict[PurePath, Foreign] = field(default_factory=dict, repr=False, compare=False)  # by folder

    def foreign(self, file: str) -> Foreign:
        """Return the macros as a file sees them, those of the nearest files first."""
        folder = PurePath(file).parent
        if folder not in self._foreign:
            far = {other: -_shared(folder.parts, PurePath(other).parts) for other, _ in self.templates}
            nearest = sorted(self.templates, key=lambda pair: far[pair[0]])
            self._foreign[folder] = Foreign(template for _, template in nearest)
        return self._foreign[folder]


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many parts two paths have in common at their beginnings."""
    return next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


NOTHING = Bound()


def bound_by(units: Iterable[Unit], many: bool = False, macros: Iterable[tuple[str, Template]] = ()) -> Bound:
    """Return what is bound to a library by these sources; of `many`, common names do not count."""
    units = list(units)
    macros = list(macros)
    names: set[str] = set()
    files: set[str] = set()
    for unit in units:
        if not unit.mentions:
            continue
        files.update(PurePath(name.strip('"<>')).name for name in unit.includes)
        names.update(
            function.owner.rpartition("::")[2] or function.name
            for function in unit.functions
            if any(called.startswith(("cudnn", "miopen")) for called in function.calls)
        )
    names.update(_holding_results(units), _holding_graphs(units))
    pointers = _pointers(units)
    names.update(pointers, *(unit.handed for unit in units))
    apart = taking_apart(template for _, template in macros)
    kept = keeping(template for _, template in macros)
    macros = [
        (file, template)
        for file, template in macros
        if template in apart.get(template.name, ()) or template.name in kept
    ]
    names.update(template.name for _, template in macros if PASTES.search(template.body))
    telling = (name for name in names if len(name) > 3 and name != "main" and (not many or _TELLING.search(name)))
    helpers = {name for unit in units for _, _, text in unit.mentions for name in _CALLED.findall(text)}
    helping = frozenset(name.encode() for name in helpers if not is_library(name))
    return Bound(frozenset(name.encode() for name in telling), frozenset(files), tuple(macros), pointers, helping)


def _holding_results(units: Iterable[Unit]) -> set[str]:
    """Return the classes and other names for types that have a search's results in them."""
    types = {name: type_ for unit in units for name, type_ in unit.aliases.items()}
    for class_ in (class_ for unit in units for class_ in unit.classes):
        types[class_.name.rpartition("::")[2]] = " ".join(member.type for member in class_.members)
    found = {name for name, type_ in types.items() if _RESULTS.search(type_)}
    return found | {name for name, type_ in types.items() if not found.isdisjoint(re.findall(r"\w+", type_))}


def _holding_graphs(units: Iterable[Unit]) -> set[str]:
    """Return the classes that have graphs of cudnn_frontend, whose methods need not name anything of it."""
    return {
        class_.name.rpartition("::")[2]
        for unit in units
        for class_ in unit.classes
        if any(GRAPH_TYPE.search(type_) for type_ in (*class_.bases, *(member.type for member in class_.members)))
    }


def _pointers(units: Iterable[Unit]) -> dict[str, str]:
    """Return the pointers to a library's functions that mean the same wherever they are named so."""
    found: dict[str, set[str]] = {}
    for unit in units:
        for name, target in unit.aliases.items():
            if is_library(target):
                found.setdefault(name, set()).add(target)
    return {name: targets.pop() for name, targets in found.items() if len(targets) == 1}


def read_all(
    sources: Sequence[Found],
    version: str | None = None,
    jobs: int | None = None,
    done: Callable[[int], None] = lambda count: None,
) -> list[Look]:
    """Read sources: first those that name a library, then those that use what these define.

    Parameters
    ----------
    sources : sequence of Found
        What to read.
    version : str, optional
        The version of cuDNN that they are written for.
    jobs : int, optional
        How many processes; by default as many as there are cores, one where there is little to read.
    done : callable
        Told how many sources were read since it was told last.
    """
    found = {one.name: one for one in looks(sources, version, jobs, done=done)}
    units = [one.unit for one in found.values() if one.unit is not None]
    macros = [(one.name, template) for one in found.values() for template in one.templates]
    bound = bound_by(units, len(sources) > MANY, macros)
    left = [source for source in sources if _is_bound(found[source.shown], bound)]
    if left and (bound.names or bound.files or bound.templates or bound.helpers):
        found |= {one.name: one for one in looks(left, version, jobs, bound)}
    for _ in range(_DEEPEST_BASE):
        units = _units(found)
        names = bases_of(units) | owners_of(units, bound.names) | normalising(units)
        unread = [s for s in sources if s.kind == "c++" and not _has_classes(found[s.shown])]
        headers = defining(unread, names)
        if not headers:
            break
        asked = Bound(frozenset(name.encode() for name in names))
        found |= {one.name: one for one in looks(headers, version, jobs, asked)}
    made = scaled(_units(found), bound.names)
    makers = making([s for s in sources if s.kind == "c++" and found[s.shown].unit is None], made)
    outside = externs(_units(found))
    makers += giving([s for s in sources if s.kind == "c++" and found[s.shown].unit is None], outside)
    if makers:
        asked = Bound(frozenset(name.encode() for name in made | outside))
        found |= {one.name: one for one in looks(makers, version, jobs, asked)}
    return list(found.values())


def _units(found: Mapping[str, Look]) -> list[Unit]:
    return [one.unit for one in found.values() if one.unit is not None]


def _has_classes(found: Look) -> bool:
    return found.unit is not None and bool(found.unit.classes)


def _is_bound(found: Look, bound: Bound) -> bool:
    """Tell whether a source, or a part of it that was left out, may use what others bind to a library."""
    if found.unit is None:
        return not found.skipped
    own = {template.name for template in found.templates}
    if any(template.name in found.unit.asked and template.name not in own for _, template in bound.templates):
        return True
    if any(name.encode() in bound.helpers for name in found.unit.unread):
        return True
    return any(name.encode() in bound.names for name in found.unit.left_out)


def look(
    source: Found,
    version: str | None = None,
    bound: Bound = NOTHING,
    memory: int = MEMORY,
) -> Look:
    """Read one source, if it names a library or what is bound to one; whatever goes wrong is told as skipped."""
    found = Look(source.shown, source.kind)
    starved = False
    try:
        text = with_lists(source.path, code(source.shown, source.read()))
        found.lines = count_lines(text)
        plain = text.replace(b"\0", b"") if text[:2] in UTF16 else text
        if PurePath(source.shown).name in bound.files or cpp.interesting(plain, bound.names):
            found.unit = _parse(text, source, version, bound, memory)
            found.touched = touched(text)
            found.copy_of = copied(source.shown, text)
        if source.kind != "python" and bound == NOTHING:  # what is bound is known once these are
            found.templates = tuple(defined(text))
    except TimeoutError:
        found.skipped.append(Skipped(source.shown, _LATE))
    except OSError as error:
        found.skipped.append(Skipped(source.shown, error.strerror or str(error)))
    except RecursionError:
        found.skipped.append(Skipped(source.shown, "nested too deeply"))
    except MemoryError:
        starved = memory != NONE and source.kind == "c++"
        if not starved:
            found.skipped.append(Skipped(source.shown, "too little memory to read it"))
    except Exception as error:  # the rest of the tree is to be checked in any case
        found.skipped.append(Skipped(source.shown, f"cannot be read: {type(error).__name__}: {error}"))
    return look(source, version, bound, NONE) if starved else found


def _parse(text: bytes, source: Found, version: str | None, bound: Bound, memory: int) -> Unit:
    if source.kind == "python":
        from ..python import source as python_source

        unit: Unit = python_source.read(text, source.shown, bound.names)
        return unit
    return cpp.read(
        text,
        source.shown,
        cudnn_version=version,
        defines=source.defines,
        names=bound.names,
        helpers=bound.helpers,
        templates=bound.foreign(source.shown),
        pointers=bound.pointers,
        memory=memory,
    )


def touched(text: bytes) -> int:
    """Return how many lines name cuDNN, or MIOpen where none does, comments aside."""
    lines: dict[bytes, set[int]] = {b"c": set(), b"m": set()}
    line, behind = 1, 0
    for match in _LINE.finditer(text):
        line += text.count(b"\n", behind, match.start())
        behind = match.start()
        begin = text.rfind(b"\n", 0, behind) + 1
        if not _COMMENT.match(text, begin, behind + 1) and b"//" not in text[begin:behind]:
            lines[text[behind : behind + 1].lower()].add(line)
    return len(lines[b"c"] or lines[b"m"])


_BOUND: list[Bound] = []  # of a process that reads: given once, not with each task


def _begin(bound: Bound, memory: int) -> None:
    """Begin a process that reads, and that the parser may end."""
    _BOUND.append(bound)
    faulthandler.disable()
    end_beyond(HARD * memory)


def _batch(sources: Sequence[Found], version: str | None, memory: int) -> list[Look]:
    return [_in_time(source, version, _BOUND[-1], memory) for source in sources]


def _in_time(source: Found, version: str | None, bound: Bound, memory: int) -> Look:
    """Read a source in a process of its own, which may be interrupted."""
    if not hasattr(signal, "setitimer"):
        return look(source, version, bound, memory)
    before = signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        return look(source, version, bound, memory)
    except TimeoutError:  # between two steps of reading; within them it is told as skipped
        return Look(source.shown, source.kind, skipped=[Skipped(source.shown, _LATE)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _late(*_: object) -> None:
    raise TimeoutError(_LATE)


def looks(
    sources: Sequence[Found],
    version: str | None = None,
    jobs: int | None = None,
    bound: Bound = NOTHING,
    done: Callable[[int], None] = lambda count: None,
) -> Iterator[Look]:
    """Yield what reading each source gave, in any order."""
    sizes = [source.size for source in sources]
    kept = Limits(memory=KEPT)
    jobs = jobs or (1 if sum(sizes) < FEW else cores())
    if jobs == 1 and max(sizes, default=0) <= SMALL:
        for source in sources:
            yield _unread(source) if kept.exceeded() else look(source, version, bound)
            done(1)
        return
    batches = list(_batches(sources))
    again: list[list[Found]] = []  # one at a time
    jobs = min(jobs, len(batches))
    memory = max(LEAST, MEMORY // jobs)
    with _pool(jobs, bound, memory) as pool:
        futures = {pool.submit(_batch, batch, version, memory): batch for batch in batches}
        for future in as_completed(futures):
            batch = futures[future]
            found = [_unread(source) for source in batch] if future.cancelled() else _result(future)
            if found is None:  # this or another one ended its process
                again.append(batch)
                continue
            starved = {one.name for one in found if one.starved and memory < MEMORY}
            again += [[source] for source in batch if source.shown in starved]
            done(len(found) - len(starved))
            yield from (one for one in found if one.name not in starved)
            if kept.exceeded():
                for waiting in futures:
                    waiting.cancel()
    for batch in again:
        yield from map(_unread, batch) if kept.exceeded() else _apart(batch, version, bound, tried=len(batches) == 1)
        done(len(batch))


def _unread(source: Found) -> Look:
    """Return what is told of a source for which no memory is left."""
    return Look(source.shown, source.kind, skipped=[Skipped(source.shown, "not read: the others take all the memory")])


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool(jobs: int, bound: Bound, memory: int = MEMORY) -> ProcessPoolExecutor:
    # Forked processes have the modules and the rules already, and do not run a caller's script again.
    forks = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if forks else None)
    return ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(bound, memory))


def _result(future: Future[list[Look]]) -> list[Look] | None:
    """Return what a process read; None where it ended, or where that is nested too deeply to be handed over."""
    try:
        return future.result()
    except (BrokenProcessPool, RecursionError):
        return None


def _apart(batch: list[Found], version: str | None, bound: Bound, *, tried: bool = False) -> list[Look]:
    """Read sources one of which may end the process: halves of them, until it is found; `tried` of those that did."""
    for memory in (MEMORY, NONE)[tried : 1 + (len(batch) == 1)]:  # what cannot be parsed is searched for calls
        with _pool(1, bound) as pool:
            found = _result(pool.submit(_batch, batch, version, memory))
        if found is not None:
            return found
    if len(batch) == 1:
        reason = Skipped(batch[0].shown, "reading it ended the process: nested too deeply, or too large")
        return [Look(batch[0].shown, batch[0].kind, skipped=[reason])]
    half = len(batch) // 2
    return [*_apart(batch[:half], version, bound), *_apart(batch[half:], version, bound)]


def _batches(sources: Sequence[Found]) -> Iterator[list[Found]]:
    """Yield sources together, the largest first, so that no process waits long for another at the end."""
    batch: list[Found] = []
    size = 0
    sizes = {id(source): source.size for source in sources}
    for source in sorted(sources, key=lambda one: sizes[id(one)], reverse=True):
        batch.append(source)
        size += sizes[id(source)] + 4096
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
