"""What a file is: a source, a log, a recording, or nothing that the checker reads."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal

from ..libraries import CALLED
from .embedded import CYTHON, HOLDING, name_inside

Kind = Literal["c++", "python", "log", "recording"]
CPP = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".c++",
        ".cp",
        ".cu",
        ".cuh",
        ".cuda",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".h++",
        ".inl",
        ".inc",
        ".ipp",
        ".tpp",
        ".tcc",
        ".txx",
        ".ixx",
        ".cppm",
        ".hip",
        ".mm",
        ".impl",
    ]
)
PYTHON = frozenset((".py", ".pyi", ".pyw"))
# Languages that call C libraries, and that are not read.
OTHERS = frozenset(
    (".lua", ".go", ".rs", ".java", ".scala", ".kt", ".cs", ".fs", ".vb", ".jl", ".pyx", ".pxd", ".pxi", ".swift",
     ".nim", ".zig", ".d", ".di", ".f90", ".f95", ".f03", ".f08", ".f", ".for", ".pas", ".hs", ".hsc", ".chs", ".ml",
     ".mli", ".rb", ".cr", ".v", ".m", ".clj", ".groovy", ".ex", ".exs", ".erl", ".js", ".ts", ".r", ".pl", ".php",
     ".dart", ".lisp", ".rkt", ".adb", ".ads", ".ipynb", ".odin", ".jai", ".vala", ".vapi")
)  # fmt: skip
MAYBE = frozenset(("", ".log", ".txt", ".out", ".err", ".jsonl", ".json", ".rec", ".recording", ".trace", ".dbg"))
HEAD = 1 << 16  # bytes that are looked at

_RECORDING = re.compile(rb'\s*\{[^\n]{0,200}?"portadnn_recording"')
_LOG = re.compile(
    rb"^[^\n]{0,120}?(?:[cC]uDNN \(v\d+[ \d]*\) function \w+\(\) called"
    rb"|MIOpen(?:\([A-Za-z]+\))?\s*[\d.]*:[^\n]{0,60}(?:miopenStatus_t miopen\w+\(|Command \[|MIOpenDriver|Info \[)"
    rb"|MIOpenDriver(?:\.exe)? [a-z]\w*|\bmiopenStatus_t miopen\w+\([^;\n]*\)\{\s*$"
    rb"|(?:\[ZLUDA|\bZLUDA)[^\n]{0,80}cudnn|^\s*(?:\[[^\]\n]*\]\s*)?cudnn[A-Z]\w+\([^;{}\n]*\)\s*->)",
    re.MULTILINE,
)
_CPP_TEXT = re.compile(
    rb"^[ \t]*#[ \t]*(?:include|define|if|pragma)\b|^[ \t]*(?:namespace|template|extern)\b|[;{}][ \t]*$", re.M
)
_PYTHON_TEXT = re.compile(
    rb"\A#![^\n]*python|^(?:import \w|from [\w.]+ import |def \w+\(.*:\s*$|class \w+.*:\s*$)", re.M
)


def kind_of(path: str, head: bytes) -> Kind | None:
    """Tell what a file is by its name, or, where that says nothing, by how it begins.

    Parameters
    ----------
    path : str
        Its name; ``"-"`` for standard input.
    head : bytes
        Its first bytes.
    """
    suffix = PurePath(name_inside(path)).suffix.lower()
    if suffix in CPP or suffix in HOLDING:
        return "c++"
    if suffix in PYTHON or suffix in CYTHON:
        return "python"
    if _RECORDING.match(head):
        return "recording"
    if _LOG.search(head):
        return "log"
    if b"\0" in head:
        return None
    if _PYTHON_TEXT.search(head) and not re.search(rb"^[ \t]*#[ \t]*include\b", head, re.MULTILINE):
        return "python"
    return "c++" if _CPP_TEXT.search(head) or CALLED.search(head) else None


def may_be_read(path: str) -> bool:
    """Tell whether a file of a folder is worth opening, by its name."""
    suffix = PurePath(name_inside(path)).suffix.lower()
    return suffix in CPP or suffix in PYTHON or suffix in MAYBE or is_embedding(path)


def is_embedding(path: str) -> bool:
    """Tell whether a source in another language is read in part, or as another."""
    suffix = PurePath(path).suffix.lower()
    return suffix in HOLDING or suffix in CYTHON


def is_other(path: str) -> bool:
    """Tell whether a file's name says that it is a source in a language that is not read."""
    return PurePath(path).suffix.lower() in OTHERS


def names_a_function(text: bytes) -> bool:
    """Tell whether a source in some other language names a function of cuDNN or MIOpen."""
    return _FUNCTION.search(text) is not None


def mentions_a_library(text: bytes) -> bool:
    """Tell whether a text has the name of cuDNN or MIOpen in it, however it is written."""
    return _LIBRARY.search(text) is not None and b"\0" not in text


_FUNCTION = re.compile(rb"\b(?:cudnn|miopen)[A-Z]\w{4}")
_LIBRARY = re.compile(rb"cudnn|miopen", re.IGNORECASE)
