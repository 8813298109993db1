"""What the tables of mistakes share: how a mistake is declared and checked."""

from __future__ import annotations

import pytest
from graphs import given

import portadnn.graph as cudnn
from portadnn import BadParam, NotSupported

NOT_SUPPORTED = cudnn.cudnnGraphNotSupportedError
SHAPE, UNSET, NAME, VALUE, PACK = (
    cudnn.ShapeDeductionFailed,
    cudnn.AttributeNotSet,
    cudnn.InvalidTensorName,
    cudnn.InvalidValue,
    cudnn.InvalidVariantPack,
)
CASES = []


def wrong(id, error, *words):
    """Declare that build() of the graph that a function builds, or the building, fails like this.

    `words` have to be in the message: names, numbers, the fix.
    """

    def add(function):
        CASES.append(pytest.param(function, id, error, words, id=f"{id}-{function.__name__.strip('_')}"))
        return function

    return add


def x(g, *dims, **kwargs):
    return given(g, dims, **kwargs)


def out(one):
    return one.set_output(True)


def check(found, id, error, words):
    """Demand the class, the id, the words, and the classes that programs catch."""
    assert type(found) is error
    assert found.id == id
    text = str(found)
    assert f"[{id}]" in text
    for word in words:
        assert word in text, text
    assert found.as_dict()["id"] == id
    assert isinstance(found, NotSupported if error is NOT_SUPPORTED else BadParam)
    assert isinstance(found, RuntimeError if error in (NOT_SUPPORTED, VALUE) else ValueError)
