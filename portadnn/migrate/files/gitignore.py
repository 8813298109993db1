"""Which files a repository ignores, by the .gitignore files of all levels."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from ..._io.outside import read_text
from ...errors import BadParam
from ..selection import check_patterns
from ..wildcards import spec_of

LARGEST = 4 << 20  # bytes of a file of patterns
_MANY_STARS = re.compile(r"(^!?|/)\*{3,}(?=/|\s*$)")  # a name of stars alone, which git takes as two


@dataclass(frozen=True)
class _Pattern:
    """A line of a .gitignore, which speaks of entries one by one: what lies in a folder is asked of when that is read.

    A spec of the library's speaks of a whole path at once, and also of what lies in a folder that fits.
    """

    specs: tuple[GitIgnoreSpec, GitIgnoreSpec]  # of the path, or of the name alone, and of the name
    ignores: bool
    folders: bool  # that it is about folders alone
    whole: bool  # that it is about paths, not names
    parts: int  # names of a path that fits; 0 where any number may

    @classmethod
    def read(cls, line: str) -> _Pattern | None:
        """Return the pattern of a line; None where there is none."""
        line = _MANY_STARS.sub(r"\1**", line)
        included = [pattern.include for pattern in spec_of([line]).patterns]
        if included not in ([True], [False]):
            return None
        text = line.rstrip()
        if (len(text) - len(text.rstrip("\\"))) % 2:
            text += line[len(text) :][:1]  # a blank that is escaped
        text = text.removeprefix("!")
        path = text.rstrip("/")
        while path.startswith("**/"):
            path = path[3:]
        whole = "/" in path
        if whole:
            path = text.rstrip("/")
        last = path.rpartition("/")[2]
        specs = spec_of([path]), spec_of(["*" if last == "**" else last])
        parts = 0 if "**" in path else path.strip("/").count("/") + 1
        return cls(specs, included == [True], text.endswith("/"), whole, parts)

    def fits(self, path: str, name: str, is_folder: bool) -> bool:
        """Tell whether an entry fits, by its path from the folder of the .gitignore and its name."""
        if self.folders and not is_folder:
            return False
        if not self.whole:
            return self.specs[0].match_file(name)
        if self.parts and path.count("/") + 1 != self.parts:
            return False
        return self.specs[0].match_file(path) and self.specs[1].match_file(name)


@dataclass(frozen=True)
class _Level:
    folder: Path
    patterns: tuple[_Pattern, ...]

    def says(self, path: Path, is_folder: bool) -> bool | None:
        """Tell whether an entry is ignored; None where no pattern speaks of it. The last one decides."""
        name = path.relative_to(self.folder).as_posix()
        for pattern in reversed(self.patterns):
            if pattern.fits(name, path.name, is_folder):
                return pattern.ignores
        return None


@dataclass(frozen=True)
class Ignored:
    """The rules that hold in a folder: its own and those of the folders above, as far as the repository goes."""

    levels: tuple[_Level, ...] = ()

    @classmethod
    def above(cls, folder: Path) -> Ignored:
        """Return what the folders above a folder say of it, from its repository's root on; none outside of one."""
        folder = folder.absolute()
        above: list[Path] = []
        current = folder
        while not (current / ".git").exists():
            if current.parent == current:
                return cls()
            current = current.parent
            above.append(current)
        result = cls()
        exclude = _read(current / ".git" / "info" / "exclude")
        if exclude is not None:
            result = cls((_Level(current, exclude),))
        for one in reversed(above):
            result = result.within(one)
        return result

    def within(self, folder: Path) -> Ignored:
        """Return the rules that hold inside a folder."""
        patterns = _read(folder / ".gitignore")
        return self if patterns is None else Ignored((*self.levels, _Level(folder.absolute(), patterns)))

    def ignores(self, path: Path, is_folder: bool) -> bool:
        """Tell whether a file or folder is ignored; the nearest .gitignore that speaks of it decides."""
        whole = path.absolute()
        for level in reversed(self.levels):
            said = level.says(whole, is_folder)
            if said is not None:
                return said
        return False


def _read(file: Path) -> tuple[_Pattern, ...] | None:
    try:
        lines = read_text(file, ".gitignore", LARGEST, errors="replace").splitlines()
    except (OSError, BadParam):  # none, or no regular file
        return None
    good = []
    for line in lines:
        with contextlib.suppress(BadParam, ValueError):  # git warns of such a pattern and goes on
            check_patterns([line], ".gitignore")
            good.append(_Pattern.read(line))
    return tuple(filter(None, good))
