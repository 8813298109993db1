"""Recordings in the format of cuDNN's own API log (CUDNN_LOGINFO_DBG, CUDNN_LOGLEVEL_DBG), of versions 7, 8 and 9."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..enums import DataType, DnnEnum
from ..errors import BadParam
from ..mapping import Parameter, table
from ..problem import TensorSpec
from .c_calls import Subject, c_calls, value_of
from .reader import Event, Recording

VERSIONS = {7: "7605", 8: "8907", 9: "91900 0"}  # as the log's header spells them
_DATA = {7: {"x": "src", "w": "filter", "y": "dest"}}  # what versions call tensors
_DEFAULT_ALGO = {  # where no algorithm was asked for; portadnn then chooses an engine
    "cudnnConvolutionFwdAlgo_t": 1,
    "cudnnConvolutionBwdDataAlgo_t": 1,
    "cudnnConvolutionBwdFilterAlgo_t": 1,
}
_BLOCKS = {  # a descriptor's lines: name and type; the first four are as genuine logs have them
    "cudnnConvolutionDescriptor_t": (
        ("mode", "cudnnConvolutionMode_t"),
        ("dataType", "cudnnDataType_t"),
        ("mathType", "cudnnMathType_t"),
        ("reorderType", "int"),
        ("arrayLength", "int"),
        ("padA", "int"),
        ("strideA", "int"),
        ("dilationA", "int"),
        ("groupCount", "int"),
    ),
    "cudnnPoolingDescriptor_t": (
        ("mode", "cudnnPoolingMode_t"),
        ("nbDims", "int"),
        ("maxpoolingNanOpt", "cudnnNanPropagation_t"),
        ("windowDimA", "int"),
        ("paddingA", "int"),
        ("strideA", "int"),
    ),
    "cudnnActivationDescriptor_t": (
        ("coef", "double"),
        ("mode", "cudnnActivationMode_t"),
        ("reluNanOpt", "cudnnNanPropagation_t"),
    ),
    "cudnnOpTensorDescriptor_t": (
        ("op", "cudnnOpTensorOp_t"),
        ("compType", "cudnnDataType_t"),
        ("nanOpt", "cudnnNanPropagation_t"),
    ),
    "cudnnReduceTensorDescriptor_t": (
        ("reduceTensorOp", "cudnnReduceTensorOp_t"),
        ("compType", "cudnnDataType_t"),
        ("nanOpt", "cudnnNanPropagation_t"),
    ),
    "cudnnLRNDescriptor_t": (("lrnN", "unsigned"), ("lrnAlpha", "double"), ("lrnBeta", "double"), ("lrnK", "double")),
    "cudnnDropoutDescriptor_t": (("dropout", "float"),),
    "cudnnRNNDescriptor_t": (
        ("hiddenSize", "int"),
        ("numLayers", "int"),
        ("inputMode", "cudnnRNNInputMode_t"),
        ("direction", "cudnnDirectionMode_t"),
        ("mode", "cudnnRNNMode_t"),
        ("dataType", "cudnnDataType_t"),
    ),
    "cudnnSpatialTransformerDescriptor_t": (
        ("samplerType", "cudnnSamplerType_t"),
        ("dataType", "cudnnDataType_t"),
        ("nbDims", "int"),
        ("dimA", "int"),
    ),
}
Lines = list[str]


@functools.cache
def _names(c_type: str) -> dict[int, str]:
    """Return the names of an enumeration's numbers."""
    for enumeration in table().enumerations:
        if enumeration.cudnn == c_type:
            return {v.number: v.cudnn for v in reversed(enumeration.values) if v.cudnn and v.number is not None}
    return {}


def _text(c_type: str, value: Any) -> str:
    """Return a value as the log prints it."""
    names = _names(c_type)
    if names:
        number = int(value)
        return f"{names.get(number, getattr(value, 'c_name', 'UNKNOWN'))} ({number})"
    if isinstance(value, (tuple, list)):
        return f"[{','.join(str(int(v)) for v in value)}]"
    return f"{float(value):f}" if c_type in ("double", "float") else str(int(value))


def _line(name: str, c_type: str, value: Any) -> str:
    return f"{name}: type={c_type}; val={_text(c_type, value)};"


def _indented(lines: Iterable[str]) -> Lines:
    return [f"    {line}" for line in lines]


def _tensor(spec: TensorSpec) -> Lines:
    facts = (("nbDims", len(spec.dims)), ("dimA", spec.dims), ("strideA", spec.strides))
    return [_line("dataType", "cudnnDataType_t", spec.dtype), *(_line(name, "int", value) for name, value in facts)]


def _filter(spec: TensorSpec) -> Lines:
    return [
        _line("dataType", "cudnnDataType_t", spec.dtype),
        _line("vect", "int", 0),
        _line("nbDims", "int", len(spec.dims)),
        _line("dimA", "int", spec.dims),
        _line("format", "cudnnTensorFormat_t", 0 if spec.format is None else spec.format),
    ]


class _Call:
    """One call of cuDNN, as lines."""

    def __init__(self, subject: Subject, version: int) -> None:
        self.subject = subject
        self.version = version
        self._last_tensor: str | None = None  # the name under which the descriptor before was printed

    def lines(self) -> Lines:
        """Return the lines of all arguments."""
        found: Lines = []
        for parameter in self.subject.parameters:
            found += self._argument(parameter)
        return found

    def _argument(self, parameter: Parameter) -> Lines:
        name, c_type = parameter.name, parameter.type.replace("const ", "").strip()
        last, self._last_tensor = self._last_tensor, None
        if c_type == "cudnnHandle_t":
            return self._handle(name)
        if c_type.rstrip("* ") in ("cudnnTensorDescriptor_t", "cudnnFilterDescriptor_t"):
            return self._layout(parameter, c_type)
        if c_type in _BLOCKS:
            return self._descriptor(parameter, c_type)
        if c_type == "void *":
            return self._memory(name, last)
        if name in ("returnedAlgoCount", "perfResults"):  # which genuine logs leave out
            return []
        if c_type.endswith("*") or parameter.direction == "out":
            return [f"{name}: location=host; addr=NULL_PTR;"]  # recordings hold no addresses of the host
        value = self._number(parameter, c_type)
        try:
            return [] if value is None else [_line(name, c_type.removesuffix("[]"), value)]
        except (TypeError, ValueError):  # a wrong call's
            return []

    def _handle(self, name: str) -> Lines:
        if self.subject.function.name in ("cudnnCreate", "cudnnDestroy"):
            return []
        stream = "streamId=(nil) (defaultStream);"
        if self.version < 9:
            return [f"{name}: type=cudnnHandle_t; {stream}"]
        return [f"{name}: type=cudnnHandle_t:", f"    streamId: type=cudaStream_t; {stream}"]

    def _renamed(self, base: str) -> str:
        return _DATA.get(self.version, {}).get(base, base)

    def _layout(self, parameter: Parameter, c_type: str) -> Lines:
        name = parameter.name
        found = self.subject.tensor(name)
        if parameter.direction != "in":  # what a Set or Get function fills
            return []
        base = name.removesuffix("Desc").removesuffix("desc")
        shown = name.replace(base, self._renamed(base), 1)
        if found is None:
            self._last_tensor = self._renamed(base)
            return [f"{shown}: location=host; addr=NULL_PTR;"]
        self._last_tensor = self._renamed(base)
        spec = found[0]
        if c_type.endswith("*"):  # one for each step of a sequence; the first is shown
            spec = self._step(spec)
            c_type = c_type.rstrip("* ")
        write = _tensor if c_type == "cudnnTensorDescriptor_t" else _filter
        return [f"{shown}: type={c_type}:", *_indented(write(spec))]

    def _step(self, spec: TensorSpec) -> TensorSpec:
        sizes = getattr(self.subject.problem, "batch_sizes", ())
        dims = (sizes[0], spec.dims[1], 1) if sizes else (*spec.dims[1:], 1)
        return TensorSpec.packed(spec.dtype, dims)

    def _descriptor(self, parameter: Parameter, c_type: str) -> Lines:
        source = self.subject.descriptor(c_type.removeprefix("cudnn").removesuffix("_t"))
        if parameter.direction != "in" or source is None:
            return []
        found: Lines = []
        for name, member_type in _BLOCKS[c_type]:
            value = self._member(source, name, member_type)
            if value is not None:
                found.append(_line(name, member_type, value))
        return [f"{parameter.name}: type={c_type}:", *_indented(found)]

    def _member(self, source: Any, name: str, kind: str) -> Any:
        if name == "reorderType":
            return 0 if self.version >= 8 else None
        if name == "arrayLength":
            return len(source.padding)
        if name == "nbDims":
            return len(source.window if hasattr(source, "window") else source.dims)
        if name in ("dataType", "compType"):
            return self._compute_type(source)
        if name == "coef":
            return source.ceiling or (source.coef if source.coef != 1 else 0.0)
        if name == "strideA":
            return source.stride
        return value_of(source, name, kind)

    def _compute_type(self, source: Any) -> DataType:
        given = getattr(source, "data_type", None) or getattr(source, "compute_type", None)
        return given if isinstance(given, DataType) else self.subject.data_type.accumulator

    def _memory(self, name: str, last: str | None) -> Lines:
        subject = self.subject
        number = "value" if name == "valuePtr" else name
        if number.startswith(("alpha", "beta", "value")):
            kind = "DOUBLE" if subject.data_type is DataType.DOUBLE else "FLOAT"
            value = subject.value(Parameter(number, "float", "in"))
            if not isinstance(value, (int, float)):  # left out, or wrong
                value = 1.0 if number.startswith("alpha") else 0.0
            return [f"{name}: type=CUDNN_DATA_{kind}; val={value:f};"]
        found = subject.tensor(name)
        at = None if found is None else found[1]
        shown = name
        if last is not None and self._renamed(name.lower()) == last.lower():
            shown = f"{last}Data"  # as logs call what follows its descriptor
        return [f"{shown}: location=dev; addr={'NULL_PTR' if at is None else hex(at)};"]

    def _number(self, parameter: Parameter, c_type: str) -> Any:
        subject, name = self.subject, parameter.name
        if name.lower() == "workspacesizeinbytes":
            return subject.arguments.get(name) or subject.arguments.get("workspace") or 0
        if c_type == "size_t":
            found = subject.tensor(name.replace("SizeInBytes", "")) or subject.tensor(
                name.replace("SizeInBytes", "s").replace("stateSize", "states")
            )
            value = subject.value(parameter) if found is None else found[0].nbytes
            return value if isinstance(value, int) else 0
        if name == "seqLength":
            sequence = getattr(subject.problem, "sequence", None)
            return None if sequence is None else len(sequence.batches)
        if name in ("nbDims", "arrayLength"):
            return self._count()
        if name == "requestedAlgoCount":
            return subject.value(parameter) or subject.value(Parameter("requested", "int", "in")) or 8
        if name in ("computeType", "opTensorCompType", "reduceTensorCompType") or c_type == "cudnnDataType_t":
            source = next(iter(subject.arguments.values()), None)
            return getattr(source, "dtype", None) or self._compute_type(source)
        if name in ("reluCeiling", "coef"):
            return self._member(next(iter(subject.arguments.values())), "coef", "double")
        value = subject.value(parameter)
        if value is None:
            return _DEFAULT_ALGO.get(c_type)
        return value if isinstance(value, (int, float, DnnEnum, tuple, list)) else None

    def _count(self) -> int | None:
        for source in (*self.subject.arguments.values(), *(spec for spec, _ in self.subject.tensors.values())):
            for name in ("window", "padding", "dims"):
                if getattr(source, name, None):
                    return len(getattr(source, name))
        return None


def _trailer(mark: str, recording: Recording, event: Event, handle: bool) -> Lines:
    started = datetime.datetime.fromisoformat(recording.header["started"])
    now = (started + datetime.timedelta(seconds=event.start)).replace(tzinfo=None)
    rest, seconds = divmod(int(event.start), 60)
    rest, minutes = divmod(rest, 60)
    days, hours = divmod(rest, 24)
    passed = f"{days}d+{hours}h+{minutes}m+{seconds}s since start"
    where = "GPU=NULL; Handle=NULL; StreamId=NULL."
    if handle:
        where = f"GPU=0; Handle={event.handle or 0:#x}; StreamId=(nil) (defaultStream)."
    return [
        f"{mark} Time: {now.isoformat(timespec='microseconds')} ({passed})",
        f"{mark} Process={recording.header['process']}; Thread={event.thread}; {where}",
    ]


def _reason(event: Event) -> Lines:
    """Return what cuDNN 9 adds for a call that failed."""
    status = event.status if event.status.isupper() else "INTERNAL_ERROR"
    told = " ".join(event.message.split())
    word = "Warning" if status == "NOT_SUPPORTED" else "Error"
    return ["    Info: Traceback contains 1 message(s)", f"        {word}: CUDNN_STATUS_{status}; Reason: {told}"]


def cudnn_log(recording: Recording, version: int = 9) -> Iterator[str]:
    """Yield the lines of cuDNN's log of the calls that a recording's calls stand for.

    Parameters
    ----------
    recording
        What :func:`portadnn.recording.read` returned.
    version
        7, 8 or 9: whose spelling.

    Raises
    ------
    BadParam
        A call has values that no such call can have.
    """
    for event in recording.events:
        try:
            lines = list(_calls(recording, event, version))
        except Exception as error:  # whatever a value of another kind meets
            expected = f"a call of {event.function} with its descriptors and tensors"
            got = f"others: {type(error).__name__}: {error}"
            raise BadParam(argument=f"call {event.number}", expected=expected, got=got) from None
        yield from lines


def _calls(recording: Recording, event: Event, version: int) -> Iterator[str]:
    for subject in c_calls(event):
        name = subject.function.name
        handle = any(p.type == "cudnnHandle_t" for p in subject.function.latest) and name != "cudnnCreate"
        yield from _record("I", name, version, _Call(subject, version).lines(), recording, event, handle)
        if event.status != "SUCCESS" and version == 9:
            mark = "W" if event.status == "NOT_SUPPORTED" else "E"
            yield from _record(mark, name, version, _reason(event), recording, event, False)


def _record(
    mark: str, name: str, version: int, lines: Sequence[str], recording: Recording, event: Event, handle: bool
) -> Iterator[str]:
    yield f"{mark}! CuDNN (v{VERSIONS[version]}) function {name}() called:"
    small = f"{mark.lower()}!"
    for line in lines:
        yield f"{small}     {line}"
    yield from _trailer(small, recording, event, handle)
    yield ""
    yield ""
