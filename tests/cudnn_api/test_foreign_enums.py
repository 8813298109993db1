"""A member of another enumeration, of another library's above all, is refused; plain integers are taken."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import portadnn as dnn
from portadnn import cudnn, graph, miopen
from portadnn.cudnn.calls import Choice, c_value
from portadnn.cudnn.enumerations import enumeration
from portadnn.enums import DnnEnum
from portadnn.mapping import table
from portadnn.miopen.names import parse


class Own(enum.IntEnum):
    """A program's own enumeration."""

    ZERO = 0
    ONE = 1


C_NAMES = sorted(e.cudnn for e in table().enumerations if e.cudnn)
CUDNNS = [enumeration(name) for name in C_NAMES]
MIOPENS = [getattr(miopen, e.miopen) for e in table().enumerations if e.miopen]
GRAPHS = [kind for _, kind in inspect.getmembers(graph, inspect.isclass) if issubclass(kind, enum.Enum)]
UNIFIED = [kind for kind in DnnEnum.__subclasses__() if kind.__module__.startswith("portadnn")]
MODULES = [importlib.import_module(module.name) for module in pkgutil.walk_packages(cudnn.__path__, "portadnn.cudnn.")]
CHOICES = {
    choice.c_name: choice for module in MODULES for choice in vars(module).values() if isinstance(choice, Choice)
}


def foreign(own):
    """Return a member of each other enumeration, with numbers that the own one has as far as possible."""
    known = {member.value for member in own}
    for kind in (*CUDNNS, *MIOPENS, *GRAPHS, *UNIFIED, Own):
        if kind is not own and kind.__name__ != own.__name__:
            yield next((member for member in kind if member.value in known), next(iter(kind)))


def refused(read, value, name):
    """Demand that a member is refused, in words that name both enumerations."""
    with pytest.raises(dnn.BadParam) as caught:
        read(value, "argument")
    text = str(caught.value)
    assert name in text
    assert f"{type(value).__name__}.{value.name}" in text


def test_there_are_enumerations():
    assert len(CUDNNS) > 30
    assert len(MIOPENS) > 30
    assert len(GRAPHS) > 10
    assert len(UNIFIED) > 25
    assert len(CHOICES) > 20


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_cudnns_choices(name):
    choice = CHOICES[name]
    for value in foreign(enumeration(name)):
        if type(value) is not choice._class:
            refused(choice, value, name)
    for number, member in choice._members.items():
        own = enumeration(name)(number)
        assert choice(number, "x") is choice(np.int32(number), "x") is choice(own, "x") is member


@pytest.mark.parametrize("name", C_NAMES)
def test_cudnns_other_values(name):
    for value in foreign(enumeration(name)):
        refused(lambda v, argument: c_value(name, v, argument), value, name)
    for member in enumeration(name):
        assert c_value(name, int(member), "x") is c_value(name, member, "x") is member


@pytest.mark.parametrize("kind", MIOPENS, ids=lambda kind: kind.__name__)
def test_miopens(kind):
    for value in foreign(kind):
        refused(lambda v, argument: parse(kind, v, argument), value, kind.__name__)
    for member in kind:
        assert parse(kind, int(member), "x") is parse(kind, member, "x") is member


@pytest.mark.parametrize("kind", UNIFIED, ids=lambda kind: kind.__name__)
def test_unified(kind):
    own = kind.c_enumeration()
    for value in foreign(kind):
        if type(value).__name__ != own:
            refused(kind.parse, value, kind.__name__)
    for member in kind:
        assert kind.parse(int(member)) is kind.parse(np.int64(member)) is kind.parse(member.name) is member
        assert own in C_NAMES or own.startswith("miopen"), own
        values = enumeration(own) if own in C_NAMES else getattr(miopen, own)
        if int(member) in {int(c) for c in values}:
            assert kind.parse(values(int(member))) is member


def test_data_types():
    for value in (*map(enumeration("cudnnDataType_t"), (0, 1, 2, 9)), 0, 1, 2, 9):
        assert dnn.DataType.of(value) is dnn.DataType(int(value))
    for value in foreign(dnn.DataType):
        if type(value).__name__ != "cudnnDataType_t":
            refused(dnn.DataType.of, value, "DataType")
    with pytest.raises(dnn.BadParam):
        dnn.DataType.of(True)


@pytest.mark.parametrize("kind", GRAPHS, ids=lambda kind: kind.__name__)
def test_graphs(kind):
    for value in foreign(kind):
        if isinstance(value, dnn.DataType) and kind.__name__ == "data_type":
            continue  # which stands for the same
        with pytest.raises(dnn.DnnError):
            kind.parse(value, "argument")


def test_in_calls():
    desc = cudnn.cudnnCreateTensorDescriptor()
    with pytest.raises(dnn.BadParam, match=r"dataType: expected a cudnnDataType_t .*got miopenDataType_t.miopenFloat"):
        cudnn.cudnnSetTensor4dDescriptor(desc, 0, miopen.miopenFloat, 1, 1, 1, 1)
    with pytest.raises(dnn.BadParam, match="format"):
        cudnn.cudnnSetTensor4dDescriptor(desc, miopen.miopenTensorNCHW, 0, 1, 1, 1, 1)
    with pytest.raises(dnn.BadParam, match="only created"):
        cudnn.cudnnGetTensor4dDescriptor(desc)
    other = miopen.miopenCreateTensorDescriptor()
    with pytest.raises(dnn.BadParam, match=r"dataType: expected a miopenDataType_t .*cudnnDataType_t.CUDNN_DATA_FLOAT"):
        miopen.miopenSet4dTensorDescriptor(other, cudnn.CUDNN_DATA_FLOAT, 1, 1, 1, 1)
    with pytest.raises(dnn.BadParam, match="mode: expected a PoolingMode"):
        dnn.PoolingDescriptor(miopen.miopenPoolingAverage, (2, 2))
    with pytest.raises(dnn.BadParam, match=r"miopenDataType_t\.miopenFloat"):
        dnn.TensorDescriptor((1, 1, 1, 1), miopen.miopenFloat)
    with pytest.raises(dnn.BadParam, match="status"):
        cudnn.cudnnGetErrorString(miopen.miopenStatusBadParm)
    with pytest.raises(dnn.BadParam, match="type"):
        cudnn.cudnnGetProperty(dnn.SoftmaxAlgorithm.LOG)
    assert cudnn.cudnnGetErrorString(3) == cudnn.cudnnGetErrorString(cudnn.CUDNN_STATUS_BAD_PARAM)


def test_members_of_enumerations_of_c_bindings():
    """Enumerations of C++ bindings, which are no Python enumerations, are recognised by their members."""
    bound = type("data_type", (), {"__members__": {"HALF": 3}, "__index__": lambda self: 2})()
    with pytest.raises(dnn.BadParam):
        dnn.PoolingMode.parse(bound)
    number = type("number", (), {"__index__": lambda self: 2})()
    assert dnn.PoolingMode.parse(number) is dnn.PoolingMode.AVERAGE_COUNT_EXCLUDE_PADDING
