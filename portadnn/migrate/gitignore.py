"""Which files a repository ignores, by the .gitignore files of all levels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from .._io.outside import read_text
from ..errors import BadParam
from .selection import check_patterns

LARGEST = 4 << 20  # bytes of a file of patterns


@dataclass(frozen=True)
class _Level:
    folder: Path
    spec: GitIgnoreSpec


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
        spec = _read(folder / ".gitignore")
        return self if spec is None else Ignored((*self.levels, _Level(folder.absolute(), spec)))

    def ignores(self, path: Path, is_folder: bool) -> bool:
        """Tell whether a file or folder is ignored; the nearest .gitignore that speaks of it decides."""
        whole = path.absolute()
        for level in reversed(self.levels):
            name = whole.relative_to(level.folder).as_posix() + ("/" if is_folder else "")
            said = level.spec.check_file(name).include
            if said is not None:
                return said
        return False


def _read(file: Path) -> GitIgnoreSpec | None:
    try:
        lines = read_text(file, ".gitignore", LARGEST, errors="replace").splitlines()
    except (OSError, BadParam):  # none, or no regular file
        return None
    good = []
    for line in lines:
        try:
            check_patterns([line], ".gitignore")
        except BadParam:  # git warns of such a pattern and goes on
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
