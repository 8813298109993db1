"""Every name of cuDNN's headers, of versions 5 to 9, is in portadnn.cudnn, and what it refuses has a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from portadnn import cudnn
from portadnn.c_names.refused import reason
from portadnn.mapping import table

HERE = Path(__file__).parent
MOST_REFUSED = 15  # what is to be left: names without a definition outside of NVIDIA's library
LEFT = {
    "cudnnBackendPopulateCudaGraph",
    "cudnnBackendUpdateCudaGraph",
    "cudnnGetFoldedConvBackwardDataDescriptors",
}


def rows(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


FUNCTIONS = [name for name, *_ in rows("header_functions.txt")]
CONSTANTS = [(name, number) for name, number, *_ in rows("header_constants.txt")]
REFUSED = {name for name in FUNCTIONS if "Not supported" in (getattr(cudnn, name).__doc__ or "")}


def test_every_function_is_there():
    known = {name for name, f in table().functions.items() if f.library == "cudnn"}
    assert not set(FUNCTIONS) - known
    assert all(callable(getattr(cudnn, name)) for name in FUNCTIONS)


def test_what_is_refused_is_known_and_has_a_reason():
    assert REFUSED == LEFT
    assert len(REFUSED) <= MOST_REFUSED
    assert all(reason(name) != "portadnn has nothing like it" for name in REFUSED)


def test_every_constant_is_there_with_its_number():
    assert not [name for name, _ in CONSTANTS if not hasattr(cudnn, name)]


@pytest.mark.parametrize(("name", "number"), [(n, v) for n, v in CONSTANTS if v != "?" and hasattr(cudnn, n)])
def test_numbers_of_constants_are_the_headers(name, number):
    assert getattr(cudnn, name) == int(number)
