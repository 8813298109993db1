"""What a check is asked for, and where it is written down: ``[tool.portadnn.check]``, ``.portadnn.toml``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .._io.outside import parse_toml, read_text
from ..errors import BadParam, shown
from .rules.targets import TARGETS
from .selection import check_patterns, check_severity, one_of

FILE = ".portadnn.toml"
PROJECT = "pyproject.toml"
LARGEST = 4 << 20  # bytes of a file of settings


@dataclass(frozen=True)
class Config:
    """Settings of a check; in files their names have dashes.

    Attributes
    ----------
    target : str
        Where the program is to go, one of ``rules.targets.TARGETS``.
    cudnn_version : str or None
        The version of cuDNN that the program is written for, such as ``"8.9"``: chooses branches of the preprocessor
        and the rules that hold for it. None: all branches are followed.
    fail_on : str
        The least grave severity for which the command ends with 1; ``"never"`` for none.
    select, ignore : tuple of str
        Rules by pattern: ``"S01"``, ``"S"``, ``"V1*"``.
    exclude : tuple of str
        Paths to leave out, as in .gitignore, relative to `root`.
    baseline : Path or None
        A file of known findings; one that a file of settings names lies below its folder or repository.
    root : Path or None
        The folder that names of files in baselines are relative to: that of the file of settings.
    incomplete : str
        Whether the command ends with 2 where calls may have been missed: ``"fail"`` or ``"pass"``.
    """

    target: str = "miopen-3"
    cudnn_version: str | None = None
    fail_on: str = "E"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: Path | None = None
    root: Path | None = None
    incomplete: str = "fail"

    def __post_init__(self) -> None:
        """Check what can be checked without the rules."""
        one_of(self.target, TARGETS, "target")
        one_of(self.incomplete, ("fail", "pass"), "incomplete")
        check_patterns(self.exclude, "exclude")
        object.__setattr__(self, "fail_on", check_severity(self.fail_on, "fail-on"))
        if self.cudnn_version is not None and not re.fullmatch(r"\d{1,2}(\.\d{1,3}){0,3}", self.cudnn_version):
            raise BadParam(argument="cudnn-version", expected="a version such as 8.9", got=shown(self.cudnn_version))

    def with_options(self, **given: Any) -> Config:
        """Return the settings with those of a command line, which win; None leaves what is there."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})


KEYS = {field.name.replace("_", "-"): field.name for field in fields(Config) if field.name != "root"}
_LISTS = ("select", "ignore", "exclude")


def find(start: Path) -> Path | None:
    """Return the file of settings that holds for a path: the nearest one in its folder or above."""
    folder = start.absolute()
    for parent in (folder, *folder.parents):
        own, project = parent / FILE, parent / PROJECT
        if own.is_file():
            return own
        if project.is_file() and _section(project, _load(project)) is not None:
            return project
    return None


def read(path: Path) -> Config:
    """Return the settings of a file.

    Raises
    ------
    BadParam
        It cannot be read, is no TOML, or has a key or a value that is not known.
    """
    section = _section(path, _load(path))
    if section is None:
        raise BadParam(argument="config", expected="a table [tool.portadnn.check]", got=str(path))
    return from_table(section, path)


def from_table(section: Mapping[str, Any], path: Path) -> Config:
    """Return the settings of a table; errors name the file.

    Raises
    ------
    BadParam
        A key or a value is not known.
    """
    root = path.absolute().parent
    values: dict[str, Any] = {"root": root}
    for key, value in section.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key.replace("_", "-"), KEYS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadParam(f"{path}: unknown key{hint}", expected=f"one of {', '.join(KEYS)}", got=shown(key))
        values[KEYS[key]] = _value(key, value, path)
    if "baseline" in values:
        values["baseline"] = _inside(root / values["baseline"], root, path)
    try:
        return Config(**values)
    except BadParam as error:
        raise BadParam(f"{path}: {error}") from None


def _inside(file: Path, root: Path, path: Path) -> Path:
    """Return a file that settings name, which is to lie below their folder or, in a repository, below its root.

    Settings come with what is checked: they may not have any file of the machine read.
    """
    tree = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    try:
        inside = file.resolve().is_relative_to(tree.resolve())
    except (OSError, RuntimeError, ValueError):  # a circle of links; a NUL
        inside = False
    if not inside:
        raise BadParam(f"{path}: baseline", expected=f"a file below {tree}", got=shown(str(file)))
    return file


def _value(key: str, value: Any, path: Path) -> Any:
    if key in _LISTS:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise BadParam(f"{path}: {key}", expected="a list of strings", got=shown(value))
        return tuple(value)
    if not isinstance(value, str):
        quoted = f' (did you mean {key} = "{value}"?)' if key == "cudnn-version" else ""
        raise BadParam(f"{path}: {key}", expected=f"a string{quoted}", got=shown(value))
    return value


def _load(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(read_text(path, "config", LARGEST), "config")
    except OSError as error:
        raise BadParam(argument="config", expected="a file", got=f"{path}: {error.strerror}") from None
    except BadParam as error:
        if path.name == PROJECT:  # another tool's business
            return {}
        raise BadParam(argument="config", expected=error.expected, got=f"{path}: {error.got}") from None


def _section(path: Path, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    above: Sequence[str] = ("tool", "portadnn") if path.name == PROJECT else ()
    names = (*above, "check")
    ours: Any = data
    for name in above:
        ours = ours.get(name) if isinstance(ours, Mapping) else None
    for key in ours if isinstance(ours, Mapping) else ():
        if key != "check":
            wanted, got = (f"[{'.'.join((*above, last))}]" for last in ("check", key))
            raise BadParam(f"{path}: unknown table", expected=wanted, got=got)
    found: Any = data
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            return {} if path.name == FILE else None
    if not isinstance(found, Mapping):
        raise BadParam(f"{path}: {'.'.join(names)}", expected="a table", got=shown(found))
    return found
