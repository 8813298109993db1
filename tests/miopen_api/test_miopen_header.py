"""portadnn.miopen has every function and value of miopen.h 3.6.1.

The sets of what is missing only shrink: a name that is there must leave them.
"""

from __future__ import annotations

from pathlib import Path

from portadnn import miopen

HERE = Path(__file__).parent
MISSING_PLANS: set[str] = set()  # fusion plans, problems and solutions
MISSING_LAYERS = {  # layers of the beta interface
    "miopenGetGetitemWorkspaceSize",
    "miopenGetitemBackward",
}
MISSING_PLAN_TYPES = {  # enumerations of fusion plans, problems and flags
    "miopenF8RoundingMode_t",
}
MISSING_LAYER_TYPES = {  # enumerations of layers
    "miopenRNNGEMMalgoMode_t",
}


def listed(name):
    """Return the rows of a list, without its comments."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def test_every_function_is_there():
    names = {name for name, _ in listed("header_functions.txt")}
    assert len(names) == 272
    there = {name for name in names if callable(getattr(miopen, name, None)) and name in miopen.__all__}
    assert names - there == MISSING_PLANS | MISSING_LAYERS


def test_every_value_is_there():
    wanted: dict[str, dict[str, int]] = {}
    for enumeration, name, number, _ in listed("header_values.txt"):
        wanted.setdefault(enumeration, {})[name] = int(number)
    assert len(wanted) == 49
    there = {name for name in wanted if hasattr(miopen, name)}
    assert set(wanted) - there == MISSING_PLAN_TYPES | MISSING_LAYER_TYPES
    for enumeration in there:
        members = {name: int(value) for name, value in getattr(miopen, enumeration).__members__.items()}
        assert wanted[enumeration].items() <= members.items(), enumeration
        for name, number in wanted[enumeration].items():
            assert getattr(miopen, name) == number
