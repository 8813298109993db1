"""portadnn.miopen has every function and value of miopen.h 3.6.1."""

from __future__ import annotations

from pathlib import Path

from portadnn import miopen

HERE = Path(__file__).parent


def listed(name):
    """Return the rows of a list, without its comments."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def test_every_function_is_there():
    names = {name for name, _ in listed("header_functions.txt")}
    assert len(names) == 272
    there = {name for name in names if callable(getattr(miopen, name, None)) and name in miopen.__all__}
    assert not names - there


def test_every_value_is_there():
    wanted: dict[str, dict[str, int]] = {}
    for enumeration, name, number, _ in listed("header_values.txt"):
        wanted.setdefault(enumeration, {})[name] = int(number)
    assert len(wanted) == 49
    there = {name for name in wanted if hasattr(miopen, name)}
    assert there == set(wanted)
    for enumeration in there:
        members = {name: int(value) for name, value in getattr(miopen, enumeration).__members__.items()}
        assert wanted[enumeration].items() <= members.items(), enumeration
        for name, number in wanted[enumeration].items():
            assert getattr(miopen, name) == number
