"""Algorithm descriptors, their measurements, and their bytes in host memory (cuDNN 7.1 to 8)."""

from __future__ import annotations

import ctypes
import struct
import zlib
from typing import Any

import numpy as np

from ..arguments import as_integer, as_real
from ..dispatch.problems import check_handle
from ..enums import named, plain_number
from ..errors import BadParam, NotSupported
from ..host_arrays import check_host, host_flat
from ..mapping import table
from .calls import c_value
from .descriptors import Descriptor, made, value_of
from .handles import VERSION

# The members of C's union, which share their 32 bits, and the enumeration of each.
_KINDS = {found.member: found.cudnn for found in table().enumerations if found.member and found.cudnn}
_SAVED = struct.Struct("<4sIiI")  # a mark, the version, the algorithm, and a check sum of these
_MARK = b"pdna"
_LARGEST = 2**31 - 1


class _Union(ctypes.Union):
    _fields_ = [(name, ctypes.c_int) for name in _KINDS]


class cudnnAlgorithm_t(ctypes.Structure):
    """C's structure: a union `algo`, with a member for each operation that has algorithms, such as convFwdAlgo."""

    _fields_ = [("algo", _Union)]

    @property
    def value(self) -> int:
        """The union's number, which recordings hold."""
        return int(self.algo.RNNAlgo)

    def __repr__(self) -> str:
        return f"cudnnAlgorithm_t({self.value})"


class AlgorithmDescriptor(Descriptor):
    """A ``cudnnAlgorithmDescriptor_t``; its value is the algorithm's number."""

    what = "algorithm descriptor"
    made_by = "cudnnCreateAlgorithmDescriptor"


class AlgorithmPerformance(Descriptor):
    """A ``cudnnAlgorithmPerformance_t``; its value is a descriptor, a status, milliseconds and bytes."""

    what = "algorithm performance"
    made_by = "cudnnCreateAlgorithmPerformance"


def _number(value: Any) -> int:
    if type(value) is cudnnAlgorithm_t:
        return value.value
    found = (plain_number(value, kind) for kind in _KINDS.values())
    number = next((number for number in found if number is not None), None)
    if number is None or not 0 <= number <= _LARGEST:
        raise BadParam(
            argument="algorithm",
            expected=f"a cudnnAlgorithm_t, or a value of {', '.join(_KINDS.values())}",
            got=named(value),
        )
    return number


def cudnnSetAlgorithmDescriptor(algoDesc, algorithm):
    made(algoDesc, AlgorithmDescriptor, "algoDesc").value = _number(algorithm)


def cudnnGetAlgorithmDescriptor(algoDesc):
    found = cudnnAlgorithm_t()
    found.algo.RNNAlgo = value_of(algoDesc, AlgorithmDescriptor, "algoDesc")
    return found


def cudnnCopyAlgorithmDescriptor(src, dest):
    value = value_of(src, AlgorithmDescriptor, "src")
    made(dest, AlgorithmDescriptor, "dest").value = value


def cudnnCreateAlgorithmPerformance(numberToCreate):
    count = as_integer(numberToCreate, "numberToCreate", 1)
    if count > 1 << 20:
        raise BadParam(argument="numberToCreate", expected=f"at most {1 << 20}", got=count)
    return [AlgorithmPerformance() for _ in range(count)]


def cudnnSetAlgorithmPerformance(algoPerf, algoDesc, status, time, memory):
    made(algoPerf, AlgorithmPerformance, "algoPerf")
    made(algoDesc, AlgorithmDescriptor, "algoDesc")
    what = c_value("cudnnStatus_t", status, "status")
    algoPerf.value = algoDesc, what, as_real(time, "time"), as_integer(memory, "memory", 0)


def cudnnGetAlgorithmPerformance(algoPerf):
    return value_of(algoPerf, AlgorithmPerformance, "algoPerf")


def cudnnDestroyAlgorithmPerformance(algoPerf, numberToDestroy):
    count = as_integer(numberToDestroy, "numberToDestroy", 0)
    if not isinstance(algoPerf, (list, tuple)) or len(algoPerf) < count:
        raise BadParam(argument="algoPerf", expected=f"a list of {count} algorithm performances", got=named(algoPerf))
    ending = [made(one, AlgorithmPerformance, f"algoPerf[{i}]") for i, one in enumerate(algoPerf[:count])]
    for one in ending:
        one.value, one.destroyed = None, True


def cudnnGetAlgorithmSpaceSize(handle, algoDesc):
    check_handle(handle)
    value_of(algoDesc, AlgorithmDescriptor, "algoDesc")
    return _SAVED.size


def _space(memory: Any, size: Any, written: bool) -> np.ndarray[Any, Any]:
    """Return the bytes of the caller's host memory."""
    given = as_integer(size, "algoSpaceSizeInBytes", 0)
    if given < _SAVED.size:
        raise BadParam(argument="algoSpaceSizeInBytes", expected=f"at least {_SAVED.size}", got=given)
    array = host_flat(memory, "algoSpace", "an array or a buffer in host memory")
    if not array.flags.c_contiguous or array.nbytes < _SAVED.size:
        raise BadParam(argument="algoSpace", expected=f"{_SAVED.size} bytes without gaps", got=f"{array.nbytes}")
    if written and not array.flags.writeable:
        raise BadParam(argument="algoSpace", expected="writable memory", got="read-only memory")
    check_host(array, "algoSpace")
    return array.reshape(-1).view(np.uint8)[: _SAVED.size]


def _packed(number: int, version: int = VERSION) -> bytes:
    body = _SAVED.pack(_MARK, version, number, 0)[:-4]
    return body + struct.pack("<I", zlib.crc32(body))


def cudnnSaveAlgorithm(handle, algoDesc, algoSpace, algoSpaceSizeInBytes):
    check_handle(handle)
    number = value_of(algoDesc, AlgorithmDescriptor, "algoDesc")
    _space(algoSpace, algoSpaceSizeInBytes, True)[:] = np.frombuffer(_packed(number), np.uint8)


def cudnnRestoreAlgorithm(handle, algoSpace, algoSpaceSizeInBytes, algoDesc):
    check_handle(handle)
    made(algoDesc, AlgorithmDescriptor, "algoDesc")
    data = _space(algoSpace, algoSpaceSizeInBytes, False).tobytes()
    mark, version, number, _ = _SAVED.unpack(data)
    if mark != _MARK or number < 0 or data != _packed(number, version):
        raise BadParam(argument="algoSpace", expected="what cudnnSaveAlgorithm wrote", got="other bytes")
    if version != VERSION:
        raise NotSupported(argument="algoSpace", expected=f"an algorithm of version {VERSION}", got=version)
    algoDesc.value = number
