"""The base of all enumerations: members are given by member, number or name, and know their names in C."""

from __future__ import annotations

import operator
from enum import Enum, IntEnum
from typing import Any, TypeVar

from .errors import BadParam, shown

E = TypeVar("E", bound="DnnEnum")


def plain_number(value: Any, c_name: str = "") -> int | None:
    """Return a plain integer, or the number of a member of the enumeration called `c_name`; None for anything else.

    Members of another enumeration are integers to Python, but their numbers mean something else here.
    """
    kind = type(value)
    if kind is bool or (hasattr(kind, "__members__") and kind.__name__ != c_name):  # C++ bindings' have it, too
        return None
    try:
        return int.__index__(operator.index(value))
    except Exception:  # a user's __index__ may raise anything
        return None


def named(value: Any) -> str:
    """Return a value as messages show it, a member of an enumeration with the enumeration's name."""
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else shown(value)


class DnnEnum(IntEnum):
    """An enumeration whose members can be given by member, number or name."""

    @classmethod
    def parse(cls: type[E], value: Any, argument: str = "value") -> E:
        """Return the member that `value` stands for.

        Raises
        ------
        BadParam
            `value` is no member, member number or member name of this enumeration. A member of another one is none,
            except of the same enumeration under its name in C.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            member = cls._named(value)
            if member is not None:
                return member
        else:
            number = plain_number(value, cls.c_enumeration())
            if number is not None and number in cls._value2member_map_:
                return cls(number)
        names = ", ".join(member.name for member in cls)
        raise BadParam(argument=argument, expected=f"a {cls.__name__} ({names})", got=named(value))

    @classmethod
    def c_enumeration(cls) -> str:
        """Return the enumeration's name in cuDNN's header, such as ``cudnnPoolingMode_t``."""
        return _C_ENUMERATIONS.get(cls.__name__, f"cudnn{cls.__name__}_t")

    @classmethod
    def _named(cls: type[E], text: str) -> E | None:
        """Return the member with that name, which may begin with words of cuDNN's prefix."""
        name = str.upper(text)
        for member in cls:
            if name == member.name:
                return member
        for member in cls:
            if name.endswith("_" + member.name) and ("_" + member.c_name).endswith("_" + name):
                return member
        return None

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header, such as ``CUDNN_POOLING_MAX``."""
        prefix = _C_PREFIXES[type(self).__name__]
        return prefix + (self.name.removeprefix("ALGO_") if prefix.endswith("_ALGO_") else self.name)

    def __str__(self) -> str:
        return self.name

    __hash__ = int.__hash__  # in C: enumerations are part of every plan lookup


_C_PREFIXES = {
    "DataType": "CUDNN_DATA_",
    "TensorFormat": "CUDNN_TENSOR_",
    "ConvolutionMode": "CUDNN_",
    "NanPropagation": "CUDNN_",
    "OpTensorOp": "CUDNN_OP_TENSOR_",
    "ReduceTensorOp": "CUDNN_REDUCE_TENSOR_",
    "ReduceTensorIndices": "CUDNN_REDUCE_TENSOR_",
    "ActivationMode": "CUDNN_ACTIVATION_",
    "PoolingMode": "CUDNN_POOLING_",
    "SoftmaxAlgorithm": "CUDNN_SOFTMAX_",
    "SoftmaxMode": "CUDNN_SOFTMAX_MODE_",
    "BatchNormMode": "CUDNN_BATCHNORM_",
    "LRNMode": "CUDNN_LRN_",
    "DivNormMode": "CUDNN_DIVNORM_",
    "MathType": "CUDNN_",
    "ConvolutionFwdAlgo": "CUDNN_CONVOLUTION_FWD_ALGO_",
    "ConvolutionBwdDataAlgo": "CUDNN_CONVOLUTION_BWD_DATA_ALGO_",
    "ConvolutionBwdFilterAlgo": "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_",
    "ConvolutionFwdPreference": "CUDNN_CONVOLUTION_FWD_",
    "ConvolutionBwdDataPreference": "CUDNN_CONVOLUTION_BWD_DATA_",
    "ConvolutionBwdFilterPreference": "CUDNN_CONVOLUTION_BWD_FILTER_",
    "SamplerType": "CUDNN_SAMPLER_",
    "Status": "CUDNN_STATUS_",
}


_C_ENUMERATIONS = {  # of which C's names are not made of ours
    "ReduceTensorIndicesType": "cudnnIndicesType_t",
}
