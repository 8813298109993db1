"""Signatures of cuDNN before version 5, where the mapping table begins, by how many arguments a call has."""

from __future__ import annotations

import functools

from .. import mapping
from ..mapping import Parameter

# Version 2 and 3, by NVIDIA's release notes of versions 3 to 5 and the _v3 functions that header 5.0 still declares.
_WITHOUT = {
    "cudnnConvolutionBackwardData": ("algo", "workSpace", "workSpaceSizeInBytes"),
    "cudnnConvolutionBackwardFilter": ("algo", "workSpace", "workSpaceSizeInBytes"),
    "cudnnSetConvolutionNdDescriptor": ("computeType",),
    "cudnnSetFilter4dDescriptor": ("format",),
    "cudnnSetFilterNdDescriptor": ("format",),
    "cudnnGetFilter4dDescriptor": ("format",),
    "cudnnGetFilterNdDescriptor": ("format",),
    "cudnnSetPooling2dDescriptor": ("maxpoolingNanOpt",),
    "cudnnSetPoolingNdDescriptor": ("maxpoolingNanOpt",),
    "cudnnGetPooling2dDescriptor": ("maxpoolingNanOpt",),
    "cudnnGetPoolingNdDescriptor": ("maxpoolingNanOpt",),
}
_BEHIND_HANDLE = {"cudnnAddTensor": Parameter("mode", "cudnnAddMode_t", "in")}
_BY_MODE = {
    "cudnnActivationForward": "cudnnActivationForward_v3",
    "cudnnActivationBackward": "cudnnActivationBackward_v3",
}


@functools.cache
def older(function: str, count: int) -> tuple[Parameter, ...]:
    """Return the signature with so many parameters that a function had before version 5; () where it had none."""
    declared = mapping.table().functions.get(function)
    if declared is None:
        return ()
    if function in _WITHOUT:
        left = tuple(p for p in declared.latest if p.name not in _WITHOUT[function])
        return left if len(left) == count else ()
    if function in _BEHIND_HANDLE and count == len(declared.latest) + 1:
        return (declared.latest[0], _BEHIND_HANDLE[function], *declared.latest[1:])
    return ()


@functools.cache
def of_version(function: str) -> str:
    """Return a function's name in the table where one is called that a header had beside it, as cudnnAddTensor_v3."""
    known = mapping.table().functions
    named, version, number = function.rpartition("_v")
    return named if version and number.isdigit() and named in known and function not in known else function


def takes_mode(function: str) -> bool:
    """Whether a function took, before version 4, a mode where it takes a descriptor now."""
    return function in _BY_MODE


def by_mode(function: str) -> str:
    """Return the name under which the function that takes a mode is known."""
    return _BY_MODE[function]
