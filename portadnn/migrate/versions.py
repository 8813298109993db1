"""Versions of the libraries: compared, as cuDNN's headers number them, and as the preprocessor's conditions ask for."""

from __future__ import annotations

import re

Version = tuple[int, int, int]
_TESTED = re.compile(r"CUDNN_(?:VERSION|MAJOR)\s*(>=|>|<=|<|==)\s*(\d+)")
_AT_LEAST = re.compile(r"(!\s*)?CUDNN_VERSION_MIN\w*\s*\(\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_OPPOSITE = {">=": "<", ">": "<=", "<": ">=", "<=": ">", "==": "<"}
_MAJORS = 100  # smaller numbers are those of CUDNN_MAJOR


def numbers(text: str) -> tuple[int, ...]:
    """Return a version's numbers, without zeros at the end, so that versions can be compared."""
    found = [int(number) for number in re.findall(r"\d+", text)]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def whole(text: str) -> Version:
    """Return the three numbers of a version such as ``"7.6"``."""
    major, minor, patch = (*numbers(text), 0, 0, 0)[:3]
    return major, minor, patch


def of_header(number: int) -> Version:
    """Return the version behind a number of ``CUDNN_VERSION``: 7102 is 7.1.2, 90600 is 9.6.0."""
    unit = 10_000 if number >= 10_000 else 1_000  # version 9 and later count otherwise
    return number // unit, number % unit // 100, number % 100


def header_number(version: Version) -> int:
    """Return a version's ``CUDNN_VERSION``."""
    major, minor, patch = version
    return major * (10_000 if major >= 9 else 1_000) + minor * 100 + patch


def dotted(version: tuple[int, ...]) -> str:
    """Return a version as it is written."""
    return ".".join(map(str, version))


def demanded(condition: str) -> str | None:
    """Return a version of cuDNN for which a condition of the preprocessor holds; None where it does not ask for one."""
    negated = condition.startswith("!(")
    found = _AT_LEAST.search(condition)
    if found is not None:
        version = int(found[2]), int(found[3]), int(found[4] or 0)
        return _before(version) if negated != bool(found[1]) else dotted(version)
    found = _TESTED.search(condition)
    if found is None:
        return None
    number = int(found[2])
    is_major = number < _MAJORS
    version = (number, 0, 0) if is_major else of_header(number)
    sign = _OPPOSITE[found[1]] if negated else found[1]
    if sign == "<":
        return _before(version)
    if sign == ">":
        version = (number + 1, 0, 0) if is_major else (*version[:2], version[2] + 1)
    return dotted(version)


def _before(version: Version) -> str:
    major, minor, patch = version
    if patch:
        return dotted((major, minor, patch - 1))
    return dotted((major, minor - 1, 99) if minor else (major - 1, 9))
