"""Messages about calls, as cuDNN sends them to a program's callback (cudnnSetCallback of cuDNN 7.1)."""

from __future__ import annotations

import os
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from ..arguments import as_integer
from ..c_names.enumerations import CEnum
from ..dispatch.problems import check_handle
from ..enums import named, plain_number
from ..errors import BadParam, DnnError, last_error
from ..handle import Handle
from ..hooks import CALL_HOOKS, Call
from .calls import c_value
from .descriptors import ConvolutionDescriptor, Descriptor, FilterDescriptor, TensorDescriptor
from .enumerations import enumeration
from .handles import VERSION

ERROR, WARNING, INFO = 1, 2, 3  # cudnnSeverity_t; bits of the mask
_MARKS = {ERROR: "E", WARNING: "W", INFO: "I"}
_BEGIN = time.time()

# What a callback is given beside the message (cudnnDebug_t).
cudnnDebug_t = namedtuple(
    "cudnnDebug_t",
    "cudnn_version cudnnStatus time_sec time_usec time_delta handle stream pid tid cudaDeviceId",
)


class Messages:
    """The callback of a process, told of every call by cuDNN's names."""

    nested = False

    def __init__(self) -> None:
        self.mask = 0
        self.udata: Any = None
        self.function: Any = None

    def before(self, call: Call) -> None:
        """Wait for what comes of the call."""

    def after(self, call: Call) -> None:
        """Send what the mask asks for."""
        if call.library != "cudnn":
            return
        arguments = dict(call.arguments)
        if self.mask >> INFO & 1:
            lines = [f"function {call.function}() called:", *_arguments(call.function, arguments)]
            self._send(INFO, call, arguments, lines)
        if isinstance(call.error, DnnError) and self.mask >> ERROR & 1:
            name = _status(call.error)
            self._send(ERROR, call, arguments, [f"Error: {name.name}; Reason: {call.function}: {call.error}"])

    def _send(self, severity: int, call: Call, arguments: dict[str, Any], lines: list[str]) -> None:
        now = time.time()
        handle = next((one for one in arguments.values() if isinstance(one, Handle)), None)
        facts = cudnnDebug_t(
            VERSION,
            enumeration("cudnnStatus_t")(0) if call.error is None else _status(call.error),
            int(now),
            int(now % 1 * 1e6),
            int((now - _BEGIN) * 1e3),
            handle,
            None,
            os.getpid(),
            threading.get_ident(),
            0,
        )
        mark = _MARKS[severity]
        first, *rest = lines
        text = "\n".join([f"{mark}! CuDNN (v{VERSION}) {first}", *(f"{mark.lower()}!     {line}" for line in rest)])
        self.function(enumeration("cudnnSeverity_t")(severity), self.udata, facts, text)


_MESSAGES = Messages()


def cudnnSetCallback(mask, udata, fptr):
    bits = as_integer(mask, "mask", 0)
    if fptr is not None and not callable(fptr):
        raise BadParam(argument="fptr", expected="a function of (sev, udata, dbg, msg), or NULL", got=named(fptr))
    _MESSAGES.mask, _MESSAGES.udata, _MESSAGES.function = bits, udata, fptr
    wanted = fptr is not None and bits & (1 << ERROR | 1 << WARNING | 1 << INFO)
    if wanted and _MESSAGES not in CALL_HOOKS:
        CALL_HOOKS.append(_MESSAGES)
    elif not wanted and _MESSAGES in CALL_HOOKS:
        CALL_HOOKS.remove(_MESSAGES)


def cudnnGetCallback():
    return _MESSAGES.mask, _MESSAGES.udata, _MESSAGES.function


def cudnnQueryRuntimeError(handle, mode):
    how = int(c_value("cudnnErrQueryMode_t", mode, "mode"))
    check_handle(handle)
    if how == 2:  # CUDNN_ERRQUERY_BLOCKING
        try:
            handle.synchronize()
        except DnnError as error:
            return _status(error), None
    return enumeration("cudnnStatus_t")(0), None


def cudnnGetLastErrorString(max_size):
    size = as_integer(max_size, "max_size", 0)
    return last_error()[: max(size - 1, 0)]


def cudnnGetMaxDeviceVersion():
    return 900  # Hopper's, 9.0: the last for which kernels are compiled and measured


def _status(error: BaseException | None) -> CEnum:
    known = enumeration("cudnnStatus_t")
    number = getattr(error, "status", 4)
    return known(number) if number in known._value2member_map_ else known(4)  # CUDNN_STATUS_INTERNAL_ERROR


def _arguments(function: str, arguments: dict[str, Any]) -> Iterator[str]:
    from ..mapping import table  # which takes a moment to read

    for parameter in table().functions[function].parameters:
        if parameter.name in arguments:
            kind = parameter.type.replace("const ", "")
            yield from _shown(parameter.name, kind, arguments[parameter.name])


def _shown(name: str, kind: str, value: Any) -> Iterator[str]:
    """Yield the lines of an argument, in the form of cuDNN's logs."""
    if value is None:
        yield f"{name}: location=host; addr=NULL_PTR;"
    elif isinstance(value, (TensorDescriptor, FilterDescriptor)) and value.value is not None:
        layout = value.value
        yield f"{name}: type={kind}:"
        yield f"    dataType: type=cudnnDataType_t; val={_enumerator('cudnnDataType_t', layout.dtype)};"
        yield f"    nbDims: type=int; val={len(layout.dims)};"
        yield f"    dimA: type=int; val={_list(layout.dims)};"
        if isinstance(value, TensorDescriptor):
            yield f"    strideA: type=int; val={_list(layout.strides)};"
        else:
            yield f"    format: type=cudnnTensorFormat_t; val={_enumerator('cudnnTensorFormat_t', layout.format)};"
    elif isinstance(value, ConvolutionDescriptor) and value.value is not None:
        conv = value.value
        yield f"{name}: type={kind}:"
        yield f"    mode: type=cudnnConvolutionMode_t; val={_enumerator('cudnnConvolutionMode_t', conv.mode)};"
        yield f"    arrayLength: type=int; val={len(conv.padding)};"
        for word, sizes in (("padA", conv.padding), ("strideA", conv.stride), ("dilationA", conv.dilation)):
            yield f"    {word}: type=int; val={_list(sizes)};"
        yield f"    groupCount: type=int; val={conv.groups};"
    elif isinstance(value, (Descriptor, Handle)) or kind.endswith("*"):
        if isinstance(value, (int, float)) and name.lower().startswith(("alpha", "beta")):
            yield f"{name}: type=CUDNN_DATA_FLOAT; val={float(value):.6f};"
        else:
            place = "host" if isinstance(value, (Descriptor, Handle)) else "dev"
            address = value if isinstance(value, int) else id(value)
            yield f"{name}: location={place}; addr={address:#x};"
    else:
        shown = _enumerator(kind, value) if kind.startswith("cudnn") else _list(value)
        yield f"{name}: type={kind}; val={shown};"


def _enumerator(kind: str, value: Any) -> str:
    try:
        number = plain_number(value, kind)
        member = enumeration(kind)(int(value) if number is None else number)
    except (KeyError, ValueError, TypeError):
        return str(value)
    return f"{member.name} ({int(member)})"


def _list(value: Any) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, (tuple, list)) else str(value)
