"""Assemble kernel sources: defines, the dialect's header, then a kernel file with its includes."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

FOLDERS = ("shared", "cuda", "hip", "opencl")
_SEARCHED = {"cuda": ("cuda", "shared"), "hip": ("hip", "cuda", "shared"), "opencl": ("opencl", "shared")}  # by dialect
GENERATED = "generated.h"  # stands for text that is written at run time, in files that ask for it
_INCLUDE = re.compile(r'^[ \t]*#include "([^"]+)"[ \t]*$', re.MULTILINE)


@functools.cache
def read(file: str) -> str:
    """Return the text of a kernel file, such as ``"shared/conv/gemm.cl"``."""
    folder, _, name = file.partition("/")
    if folder not in FOLDERS or not name:
        raise ValueError(f"no kernel file {file!r}")
    return files(f"portadnn_backends.kernels_{folder}").joinpath(name).read_text(encoding="utf-8")


def kernel_files() -> list[str]:
    """List all kernel files, for tests that compile every one."""
    roots = {folder: Path(str(files(f"portadnn_backends.kernels_{folder}"))) for folder in FOLDERS}
    return sorted(
        f"{folder}/{file.relative_to(root).as_posix()}"
        for folder, root in roots.items()
        for file in root.rglob("*.c[lu]")
    )


@functools.cache
def _expand(file: str, dialect: str, seen: frozenset[str] = frozenset()) -> str:
    """Return the text with includes expanded: paths in the dialect's folders, or else in shared."""

    def include(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return ""
        if name == GENERATED:
            return match[0]
        for folder in _SEARCHED[dialect]:
            if files(f"portadnn_backends.kernels_{folder}").joinpath(name).is_file():
                line = text[: match.start()].count("\n") + 2
                inner = _expand(f"{folder}/{name}", dialect, seen | {name})
                return f'#line 1 "{name}"\n{inner}\n#line {line} "{file}"'
        raise ValueError(f"{file} includes {name!r}, which kernels_{' and kernels_'.join(_SEARCHED[dialect])} lack")

    text = read(file)
    return _INCLUDE.sub(include, text)


def expanded(file: str, dialect: str) -> str:
    """Return a file's text with everything that it includes, without the dialect's header, for tests."""
    return _expand(file, dialect)


def assemble(file: str, dialect: str, defines: Mapping[str, int | float | str], text: str = "") -> str:
    """Return a whole translation unit for the dialect ``"cuda"``, ``"hip"`` or ``"opencl"``.

    A kernel file includes ``common/types.h`` itself when it needs the storage types. Every file is included where it
    is first asked for, with ``#line`` marks, so compiler messages name the file in the repository. `text` comes last;
    the define GENERATED is no define but text that takes the place of ``#include "generated.h"``.
    """
    lines = [f"#define {name} {_literal(value)}" for name, value in sorted(defines.items()) if name != "GENERATED"]
    body = _expand(file, dialect)
    if "GENERATED" in defines:
        body = body.replace(f'#include "{GENERATED}"', f'#line 1 "generated"\n{defines["GENERATED"]}')
    return "\n".join(
        [
            *lines,
            '#line 1 "dialect.h"',
            _expand(f"{dialect}/dialect.h", dialect),
            f'#line 1 "{file}"',
            body,
            *(['#line 1 "generated"', text] if text else []),
            "",
        ]
    )


def _literal(value: int | float | str) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"({value!r})"
    return f"({value})" if isinstance(value, int) and value < 0 else str(value)
