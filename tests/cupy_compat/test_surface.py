"""The names, parameters and constants that CuPy 13 had, listed from its sources."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portadnn.cupy_compat import cudnn, libcudnn


def _section(name: str) -> list[list[str]]:
    text = Path(__file__).with_name("cupy13.txt").read_text()
    lines = text.partition(f"[{name}]\n")[2].partition("[")[0].splitlines()
    return [line.split() for line in lines]


BINDINGS, HIGH_LEVEL, CONSTANTS = _section("bindings"), _section("cupyx"), _section("constants")


def test_lists_are_whole() -> None:
    assert (len(BINDINGS), len(HIGH_LEVEL), len(CONSTANTS)) == (145, 54, 195)


@pytest.mark.parametrize("name, parameters", [(row[0], row[1:]) for row in BINDINGS], ids=[row[0] for row in BINDINGS])
def test_binding(name: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(libcudnn, name)).parameters) == parameters


@pytest.mark.parametrize("row", HIGH_LEVEL, ids=[row[0] for row in HIGH_LEVEL])
def test_high_level(row: list[str]) -> None:
    function = getattr(cudnn, row[0])
    told = inspect.signature(function).parameters.values()
    found, keyword_only = [], False
    for parameter in told:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            found.append("*")
            keyword_only = True
        found.append(parameter.name + ("=" if parameter.default is not parameter.empty else ""))
    assert found == row[1:]


def test_constants() -> None:
    assert {name: getattr(libcudnn, name, None) for name, _ in CONSTANTS} == {n: int(v) for n, v in CONSTANTS}


def test_every_name_is_exported() -> None:
    assert {row[0] for row in BINDINGS + CONSTANTS} | {"CuDNNError", "available"} <= set(libcudnn.__all__)
    assert {row[0] for row in HIGH_LEVEL} | {"Descriptor", "DropoutStates"} <= set(cudnn.__all__)


def test_version_is_one_that_cupy_13_knows() -> None:
    assert libcudnn.available
    assert 8000 <= libcudnn.getVersion() == libcudnn.get_build_version() < 9000


def test_error_is_picklable_and_says_its_status() -> None:
    error = libcudnn.CuDNNError(3)
    again = pickle.loads(pickle.dumps(error))
    assert (again.status, str(again)) == (3, str(error)) == (3, "cuDNN Error: CUDNN_STATUS_BAD_PARAM")
    error.add_infos(["one", "two"])
    assert str(error).endswith("BAD_PARAM\n  one\n  two")


@pytest.mark.parametrize("value", [None, "1", 1.5])
def test_what_is_no_integer_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError):
        libcudnn.destroyTensorDescriptor(value)


def test_destroyed_descriptor_is_refused() -> None:
    desc = libcudnn.createTensorDescriptor()
    libcudnn.destroyTensorDescriptor(desc)
    with pytest.raises(libcudnn.CuDNNError) as caught:
        libcudnn.setTensor4dDescriptor(desc, 0, 0, 1, 1, 1, 1)
    assert caught.value.status == 3


def test_keywords_and_results_are_plain_integers() -> None:
    desc = libcudnn.createTensorDescriptor()
    libcudnn.setTensor4dDescriptor(tensorDesc=desc, format=1, dataType=1, n=2, c=3, h=4, w=5)
    found = libcudnn.getTensor4dDescriptor(desc)
    assert found == (1, 2, 3, 4, 5, 60, 1, 15, 3)
    assert {type(value) for value in found} == {int}
    libcudnn.destroyTensorDescriptor(desc)


def test_lists_lie_behind_addresses() -> None:
    desc, dims = libcudnn.createFilterDescriptor(), np.array([8, 4, 3, 3, 3], np.int32)
    libcudnn.setFilterNdDescriptor_v4(desc, 0, 0, 5, dims.ctypes.data)
    assert libcudnn.getFilterNdDescriptor(desc, 5) == (0, 0, 5, (8, 4, 3, 3, 3))
    libcudnn.destroyFilterDescriptor(desc)
