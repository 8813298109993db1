"""The generated files of a front end: a module of functions for each topic, enumerations, and where each name is."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...mapping import Enumeration, Function, Library, Row, Table, table
from .body import Body
from .front_end import FrontEnd, Place, Signature, front_end
from .text import NAMES, bracketed, docstring, documentation

_PORTADNN = Path(__file__).parents[2]
FOLDERS: dict[Library, Path] = {
    "cudnn": _PORTADNN / "cudnn" / "generated",
    "miopen": _PORTADNN / "miopen" / "generated",
}
_MARKS: dict[Library, Place] = {"cudnn": ("..calls", "c_function"), "miopen": ("..names", "function")}
_NOTE = "# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/."


def generate(library: Library) -> dict[str, str]:
    """Return the files' texts, by their names relative to the folder."""
    known, own = table(), front_end(library)
    files: dict[str, str] = {}
    places: dict[str, str] = {}
    for topic in known.titles:
        new: dict[str, tuple[Row, Function]] = {}
        for row in known.rows:
            for function in _functions(row, library) if row.topic == topic else ():
                if function.name not in places:
                    new.setdefault(function.name, (row, function))
        if new:
            files[f"{topic}.py"] = _module(known, own, known.titles[topic], new.values())
            places |= dict.fromkeys(new, topic)
    enumerations = [e for e in known.enumerations if (e.cudnn if library == "cudnn" else e.miopen)]
    if library == "cudnn":
        topics = list(dict.fromkeys(e.topic for e in enumerations))
        for topic in topics:
            files[f"enums/{topic}.py"] = _enums(library, [e for e in enumerations if e.topic == topic])
        files["enums/__init__.py"] = _enum_index(enumerations, topics)
    else:
        files["enums.py"] = _enums(library, enumerations)
    files["index.py"] = _index(own, places)
    files["__init__.py"] = f'"""Functions and enumerations of {NAMES[library]}, written from the mapping table."""\n'
    return files


def write(library: Library) -> None:
    """Write a front end's files anew."""
    files = generate(library)
    shutil.rmtree(FOLDERS[library])
    for name, text in files.items():
        path = FOLDERS[library] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _functions(row: Row, library: Library) -> tuple[Function, ...]:
    if library == "miopen":
        return row.miopen
    return (row.cudnn,) if row.cudnn else ()


def _module(known: Table, own: FrontEnd, title: str, functions: Iterable[tuple[Row, Function]]) -> str:
    mark = _MARKS[own.library]
    imports: set[tuple[Place, str]] = {(mark, mark[1])}
    blocks = []
    for row, function in functions:
        body = Body(own, Signature(function), row)
        blocks.append(_definition(known, own, mark[1], body))
        imports |= body.imports
    text = "\n\n\n".join(blocks)
    heads = ["from typing import Any", ""] if "Any" in text else []
    lines = [f'"""{title}: the functions of {NAMES[own.library]}."""', "", _NOTE, ""]
    lines += ["from __future__ import annotations", "", *heads, *_imports(imports), "", "", text]
    return "\n".join(lines) + "\n"


def _imports(imports: set[tuple[Place, str]]) -> Iterator[str]:
    modules: dict[str, list[str]] = {}
    for (module, name), called in sorted(imports):
        modules.setdefault(module, []).append(name if name == called else f"{name} as {called}")
    for module in sorted(modules, key=lambda m: (-len(m) + len(m.lstrip(".")), m)):
        items = modules[module]
        line = f"from {module} import {', '.join(items)}"
        if len(line) <= 120:
            yield line
        else:
            yield from (f"from {module} import (", *(f"    {item}," for item in items), ")")


def _definition(known: Table, own: FrontEnd, mark: str, body: Body) -> str:
    signature, function = body.signature, body.signature.function
    statements = body.lines()
    parameters = []
    for p in signature.parameters:
        said, place = own.annotation(p.type, p.name)
        if place is not None:
            body.imports.add((place, place[1]))
        null = " | None" if p.name in function.null and said != "Any" else ""
        parameters.append(f"{p.name}: {said}{null}{body.defaults.get(p.name, '')}")
    head = bracketed(0, f"def {function.name}", [*parameters, *body.more], f" -> {_result(own, body)}:")
    text = documentation(known, body.row, signature)
    if statements[0].startswith("    raise NotSupported"):
        why = "".join(line.strip() for line in statements).split('"')[1]
        text = f"Not supported: {why}.\n\n{text.partition(chr(10) * 2)[2]}"
    return "\n".join([f"@{mark}", *head, *docstring(4, text), *statements])


def _result(own: FrontEnd, body: Body) -> str:
    signature, function = body.signature, body.signature.function
    if function.returns:
        return own.result(function.returns)[0]
    kinds = []
    for result in signature.results:
        said, place = own.result(result.type)
        if place is not None:
            body.imports.add((place, place[1]))
        kinds.append(said)
    return "None" if not kinds else kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def _members(library: Library, enumeration: Enumeration) -> dict[str, int]:
    if library == "cudnn":
        return {v.cudnn: v.number for v in enumeration.values if v.cudnn and v.number is not None}
    found = {v.miopen: v.miopen_number for v in enumeration.values if v.miopen and v.miopen_number is not None}
    return dict(sorted(found.items(), key=lambda item: item[1]))  # the table has cuDNN's order


def _enums(library: Library, enumerations: list[Enumeration]) -> str:
    base = "....c_names.enumerations" if library == "cudnn" else "...c_names.enumerations"
    blocks = []
    for enumeration in enumerations:
        name = str(enumeration.cudnn if library == "cudnn" else enumeration.miopen)
        other = enumeration.miopen if library == "cudnn" else enumeration.cudnn
        stands = f", which stands for {other}" if other else ""
        members = _members(library, enumeration)
        lines = [f"class {name}(_CEnum):", f'    """{NAMES[library]}\'s enumeration{stands}."""', ""]
        lines += [f"    {member} = {number}" for member, number in members.items()]
        lines += ["", "", *(f"{member} = {name}.{member}" for member in members)]
        blocks.append("\n".join(lines))
    head = [f'"""Enumerations of {NAMES[library]}, with its numbers."""', "", _NOTE, ""]
    head.append(f"from {base} import CEnum as _CEnum")
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join(blocks) + "\n"


def _dict(name: str, annotation: str, entries: dict[str, str]) -> list[str]:
    return [f"{name}: {annotation} = {{", *(f'    "{key}": "{value}",' for key, value in entries.items()), "}"]


def _stars(modules: Iterable[str]) -> list[str]:
    return ["if TYPE_CHECKING:", *(f"    from .{module} import *" for module in sorted(modules))]


def _enum_index(enumerations: list[Enumeration], topics: list[str]) -> str:
    kinds = {str(e.cudnn): e.topic for e in enumerations}
    values = {value: str(e.cudnn) for e in enumerations for value in _members("cudnn", e)}
    lines = ['"""Where each enumeration of cuDNN is, and each of its values."""', "", _NOTE, ""]
    lines += ["from typing import TYPE_CHECKING", "", *_stars(topics), ""]
    lines += [*_dict("TOPICS", "dict[str, str]", kinds), *_dict("CONSTANTS", "dict[str, str]", values)]
    return "\n".join(lines) + "\n"


def _index(own: FrontEnd, places: dict[str, str]) -> str:
    types = {name: place for name, place in (own.structures | own.records | own.classes).items() if place[1] == name}
    lines = [f'"""The functions and types of {NAMES[own.library]}, and where each is."""', "", _NOTE, ""]
    lines += ["from typing import TYPE_CHECKING", "", *_stars({*places.values(), "enums"})]
    lines += [f"    from {module} import {name} as {name}" for name, (module, _) in sorted(types.items())]
    modules = {name: module.removeprefix("..") for name, (module, _) in sorted(types.items())}
    lines += ["", *_dict("MODULES", "dict[str, str]", places), *_dict("TYPES", "dict[str, str]", modules)]
    return "\n".join(lines) + "\n"
