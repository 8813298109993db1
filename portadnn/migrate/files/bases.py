"""Classes that matter to calls of a library, and who makes their objects, in files that do not name one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePath

from ..interpret.parts import declarations
from ..program import Unit
from .discover import Found

_HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp"))
_SCALAR = re.compile(r"^(?:const\s+)?(?:float|double)\b(?!\s*\*)")
_SHORTEST = 4  # of the names of classes that are looked for
_MOST_DEFINITIONS = 3  # of one name: more are of a name that is met everywhere


def _simple(name: str) -> str:
    return name.partition("<")[0].rpartition("::")[2].strip()


def bases_of(units: Iterable[Unit]) -> frozenset[str]:
    """Return the bases of classes that call a library or have its objects, which none of the units defines."""
    owners: set[str] = set()
    bases: dict[str, set[str]] = {}
    for unit in units:
        owners.update(
            _simple(function.owner)
            for function in unit.functions
            if function.owner and any(called.startswith(("cudnn", "miopen")) for called in function.calls)
        )
        for class_ in unit.classes:
            bases.setdefault(_simple(class_.name), set()).update(map(_simple, class_.bases))
            if any(member.type.startswith(("cudnn", "miopen")) for member in class_.members):
                owners.add(_simple(class_.name))
    waiting, done = list(owners), set(owners)
    while waiting:
        for base in bases.get(waiting.pop(), ()):
            if base and base not in done:
                done.add(base)
                waiting.append(base)
    return frozenset(done - owners - bases.keys())


def owners_of(units: Iterable[Unit], names: Collection[bytes]) -> frozenset[str]:
    """Return the classes whose methods call functions of some names, and which none of the units defines."""
    units = list(units)
    known = {_simple(class_.name) for unit in units for class_ in unit.classes}
    return frozenset(_calling(units, names) - known)


def normalising(units: Iterable[Unit]) -> frozenset[str]:
    """Return the classes of what functions have that call batch normalisation, and which none of the units defines.

    It asks whether their methods return pointers to constants.
    """
    units = list(units)
    classes = {_simple(class_.name): class_ for unit in units for class_ in unit.classes}
    types: set[str] = set()
    for function in (function for unit in units for function in unit.functions):
        if any(called.startswith("cudnnBatchNormalizationForward") for called in function.calls):
            owner = classes.get(_simple(function.owner))
            said = [parameter.type for parameter in function.parameters]
            said += [one.type for one in (*declarations(function.body), *(owner.members if owner else ()))]
            types.update(word for type_ in said for word in re.findall(r"\w+", type_))
    return frozenset(name for name in types - classes.keys() if len(name) >= _SHORTEST and name[0].isupper())


def scaled(units: Iterable[Unit], names: Collection[bytes]) -> frozenset[str]:
    """Return the classes whose constructors get scalars, and whose methods call a library or such names."""
    units = list(units)
    calling = _calling(units, names)
    return frozenset(
        _simple(function.owner)
        for unit in units
        for function in unit.functions
        if function.kind == "constructor"
        and any(_SCALAR.search(parameter.type) for parameter in function.parameters)
        and _simple(function.owner) in calling
        and len(_simple(function.owner)) >= _SHORTEST
    )


def _calling(units: Iterable[Unit], names: Collection[bytes]) -> set[str]:
    return {
        _simple(function.owner)
        for unit in units
        for function in unit.functions
        if function.owner
        and function.kind == "method"
        and any(called.startswith(("cudnn", "miopen")) or called.encode() in names for called in function.calls)
    }


def externs(units: Iterable[Unit]) -> frozenset[str]:
    """Return the scalars of files that are declared, and that none of the units gives a value."""
    units = list(units)
    given = {variable.name for unit in units for variable in unit.variables if variable.value is not None}
    return frozenset(
        variable.name
        for unit in units
        for variable in unit.variables
        if variable.value is None
        and not variable.array
        and _SCALAR.search(variable.type)
        and variable.name not in given
    )


def giving(sources: Sequence[Found], names: frozenset[str]) -> list[Found]:
    """Return the sources that give such scalars a value."""
    if not names:
        return []
    alternatives = b"|".join(re.escape(_simple(name).encode()) for name in sorted(names))
    pattern = re.compile(rb"\b(?:float|double)\b[^;(){}]{0,120}?\b(?:" + alternatives + rb")\s*[={]")
    return [source for source in sources if pattern.search(_text_of(source))]


def making(sources: Sequence[Found], names: frozenset[str]) -> list[Found]:
    """Return the sources that make objects of such classes by ``new``, or with a template that is given the class."""
    if not names:
        return []
    alternatives = b"|".join(re.escape(name.encode()) for name in sorted(names))
    pattern = re.compile(rb"(?:\bnew\s+|<)(?:\w+::)*(?:" + alternatives + rb")\s*[(>{]")
    return [source for source in sources if pattern.search(_text_of(source))]


def _text_of(source: Found) -> bytes:
    try:
        return b"" if source.path is None else source.path.read_bytes()
    except OSError:
        return b""


def defining(sources: Sequence[Found], names: frozenset[str]) -> list[Found]:
    """Return the headers that define a class of such a name, but of names that many define."""
    if not names:
        return []
    alternatives = b"|".join(re.escape(name.encode()) for name in sorted(names))
    pattern = re.compile(
        rb"\b(?:class|struct)\b[^;{}()=]{0,120}?\b(" + alternatives + rb")\s*(?:final\s*)?(?::[^:;]|\{)"
    )
    found: dict[bytes, list[Found]] = {}
    for source in sources:
        if source.path is None or PurePath(source.shown).suffix not in _HEADERS:
            continue
        for name in set(pattern.findall(_text_of(source))):
            found.setdefault(name, []).append(source)
    chosen = (source for several in found.values() if len(several) <= _MOST_DEFINITIONS for source in several)
    return list({source.shown: source for source in chosen}.values())
