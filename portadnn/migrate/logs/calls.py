"""Calls from the records of a log: arguments in the order of the signature, descriptors as things."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping

from ... import mapping
from ..events import Argument, Event, Place
from ..model.fields import completed
from ..model.kinds import kind_of, library_of
from ..model.state import State, Thing
from ..values import UNKNOWN, Value, known, thing
from .records import Logged, Record

# Versions call tensors otherwise: the names of the mapping table may be either
_TENSORS = {"src": "x", "filter": "w", "dest": "y", "diff": "dy", "grad": "dx", "bottom": "x", "top": "y"}
_FORMATS = {"cudnn": ("CUDNN_TENSOR_NCHW", "CUDNN_TENSOR_NHWC"), "miopen": ("miopenTensorNCHW", "miopenTensorNHWC")}


def to_event(record: Record, number: int, place: Place, state: State, origin: str = "log") -> Event:
    """Return the call that a record tells of; its descriptors are entered in `state`."""
    names = _paired(record.function, tuple((name, logged.type) for name, logged in record.arguments.items()))
    found = {names[name]: logged for name, logged in record.arguments.items() if name in names}
    function = mapping.table().functions.get(record.function)
    parameters = () if function is None else _signature(record.function, frozenset(found))
    arguments = tuple(
        _argument(p.name, found[p.name], p.type, state) if p.name in found else Argument(p.name, UNKNOWN)
        for p in parameters
    )
    others = {
        name: _argument(name, logged, logged.type, state)
        for name, logged in record.arguments.items()
        if name not in names
    }
    return Event(
        number=number,
        function=record.function,
        arguments=arguments or tuple(others.values()),
        place=place,
        text=_text(record),
        status=record.status or "unknown",
        thread=record.thread,
        version=record.version,
        origin="driver" if record.driver else "recording" if origin == "recording" else "log",
        named=others or None,
    )


@functools.cache
def _signature(name: str, given: frozenset[str]) -> tuple[mapping.Parameter, ...]:
    """Return the signature that has the most of the arguments, the newest of those."""
    signatures = mapping.table().functions[name].signatures
    return max(reversed(signatures), key=lambda parameters: len(given & {p.name for p in parameters}))


@functools.lru_cache(maxsize=4096)
def _paired(function: str, given: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Return the signature's names of the arguments that a log names: the same, another version's, or of the type."""
    declared = mapping.table().functions.get(function)
    if declared is None:
        return {}
    types = {p.name: p.type for parameters in declared.signatures for p in parameters}
    folded = {_folded(name): name for name in types}
    pairs: dict[str, str] = {}
    for name, _ in given:
        target = name if name in types else folded.get(_folded(name))
        if target is not None and target not in pairs.values():
            pairs[name] = target
    for name, type_ in given:
        if name not in pairs and type_:
            free = [p for p, t in types.items() if p not in pairs.values() and t.split()[-1].strip("*") == type_]
            if len(free) == 1:
                pairs[name] = free[0]
    return pairs


def _folded(name: str) -> str:
    base, suffix = name, ""
    match = re.match(r"(.*?)(Desc|Data|_data)?\Z", name)
    if match:
        base, suffix = match[1], "desc" if match[2] == "Desc" else ""
    return _TENSORS.get(base, base).lower().replace("_", "") + suffix


def _argument(name: str, logged: Logged, type_: str, state: State) -> Argument:
    text = _written(name, logged, type_)
    if logged.fields or (logged.type.startswith("CUDNN_BACKEND_") and logged.value.kind == "unknown"):
        return Argument(text, _described(logged, type_, state))
    kind = kind_of(type_)
    if kind and logged.value.kind == "unknown" and logged.value.data:
        return Argument(text, _at_address(logged.value.data, kind, type_, state))
    if logged.value.kind == "items":
        return Argument(text, logged.value, logged.value)
    if logged.type.startswith("CUDNN_DATA_"):  # alpha and beta: the type is the tensor's
        scalar = "double" if logged.type == "CUDNN_DATA_DOUBLE" else "float"
        return Argument(text, logged.value.typed(scalar), logged.value.typed(scalar))
    return Argument(text, logged.value if logged.type else logged.value.typed(type_))


def _written(name: str, logged: Logged, type_: str) -> str:
    """Return how a program writes an argument: numbers and names of values as they are, else the parameter's name.

    An address, a descriptor's fields or the number that a pointer leads to say nothing in code.
    """
    value = logged.value
    if logged.fields or "*" in type_ or value.kind != "known" or kind_of(type_):
        return "NULL" if value.kind == "known" and value.data is None else name
    return logged.text.partition(" (")[0]


def _at_address(address: str, kind: str, type_: str, state: State) -> Value:
    if address not in state.things:
        state.things[address] = Thing(address, kind, address, library_of(type_))
    return thing(address, type_)


def _described(logged: Logged, type_: str, state: State) -> Value:
    """Return the thing with these fields. Logs do not say which descriptor it is: equal ones are one."""
    kind = kind_of(type_) or kind_of(logged.type)
    if kind == "handle":
        stream = logged.fields.get("streamId")
        return _at_address(f"handle of stream {stream.text if stream else ''}", kind, type_, state)
    library = library_of(type_) or library_of(logged.type)
    key = f"{logged.type or type_}|" + "|".join(f"{name}={field.text}" for name, field in logged.fields.items())
    name = f"{kind or 'descriptor'}:{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}"
    if name not in state.things:
        fields = {name: field.value for name, field in logged.fields.items()}
        if logged.type.startswith("CUDNN_BACKEND_"):
            fields["descriptorType"] = known(logged.type)
        fields = completed(kind, _with_format(kind, library or "cudnn", fields))
        state.things[name] = Thing(name, kind, _words(kind, fields), library, fields, set_by=(0,))
    return thing(name, type_)


def _with_format(kind: str, library: str, fields: dict[str, Value]) -> dict[str, Value]:
    """Add the format of a tensor with four dimensions that is packed in one of the two orders."""
    dims, strides = (_numbers(fields.get(name)) for name in ("dimA", "strideA"))
    if kind == "tensor" and "format" not in fields and len(dims) == len(strides) == 4:
        _, c, h, w = dims
        for text, packed in zip(_FORMATS[library], ((c * h * w, h * w, w, 1), (h * w * c, 1, w * c, c)), strict=True):
            if all(size == 1 or have == want for size, have, want in zip(dims, strides, packed, strict=True)):
                return {**fields, "format": known(text)}
    return fields


def _numbers(value: Value | None) -> tuple[int, ...]:
    if value is None or value.kind != "items":
        return ()
    return tuple(v.data for v in value.data if v.kind == "known" and isinstance(v.data, int))


def _words(kind: str, fields: Mapping[str, Value]) -> str:
    dims = _numbers(fields.get("dimA") or fields.get("filterDimA"))
    return f"the {kind} {'x'.join(map(str, dims))}" if dims else f"the {kind}"


def _text(record: Record) -> str:
    given = ", ".join(f"{name}={_short(logged)}" for name, logged in record.arguments.items() if name != "handle")
    return f"{record.function}({given})"


def _short(logged: Logged) -> str:
    if not logged.fields:
        return logged.text.partition(" (")[0]
    dims = logged.fields.get("dimA")
    listed = ", ".join(f"{name}={_short(one)}" for name, one in logged.fields.items() if not one.fields)
    return dims.text if dims else f"{{{listed}}}"
