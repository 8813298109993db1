"""Problems of portadnn that calls of cuDNN pose, as far as descriptors and arguments are known."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from ...enums import DataType, DnnEnum
from ...errors import BadParam, NotSupported
from ...operation import CCall, operations
from ...problem import Problem, read_line
from ..names import values_of_both
from ..values import Value
from .shapes import Shape, enumerator, number, numbers, packed, shape
from .situation import Situation

_TYPES = {dtype.name: dtype.code for dtype in DataType}
_MIOPEN_TYPES = {"miopenFloat": "f32", "miopenDouble": "f64", "miopenHalf": "f16", "miopenBFloat16": "bf16"}


@functools.cache
def posed(library: str) -> Mapping[str, tuple[str, CCall]]:
    """Return the functions of a library that pose problems, each with its operation and the places of its words."""
    calls = ((op, call) for op, record in operations().items() for call in record.c_calls)
    return {call.function: (op, call) for op, call in calls if call.function.startswith(library)}


def problem_of(situation: Situation, library: str = "cudnn") -> tuple[Problem, dict[str, float], DnnEnum | None] | None:
    """Return the problem that a call poses, with its run-time numbers and algorithm; None where too little is known."""
    op, call = posed(library).get(situation.event.function, ("", None))
    if call is None:
        return None
    words = [op]
    for name, _, other in (word.partition("/") for word in call.tensors.split()):
        descriptors = (f"{name}Desc", other) if other else (f"{name}Desc",)
        text = next(filter(None, (_text(shape(situation, descriptor)) for descriptor in descriptors)), None)
        if text is None:
            return None
        words.append(f"{name}={text}")
    for name, places in call.settings.items():
        told = next(filter(None, (_setting(situation.field(where)) for where in places.split())), None)
        if told is not None:
            words.append(f"{name}={told}")
        elif name in call.needed:
            return None
    try:
        problem = read_line(" ".join(words), valid=False)[0]
    except (BadParam, NotSupported, ValueError, IndexError, KeyError):
        return None
    return problem, _scalars(situation, problem), _algo(situation, problem)


def _text(found: Shape) -> str | None:
    """Return a tensor as problem lines have it; without strides, as MIOpen's logs may be, it is packed."""
    dtype = found.dtype or ""
    code = _TYPES.get(dtype.removeprefix("CUDNN_DATA_")) or _MIOPEN_TYPES.get(dtype)
    strides = found.strides
    if found.dims is not None and strides is None and dtype in _MIOPEN_TYPES:
        strides = packed(found.dims, "nchw")
    if code is None or found.dims is None or strides is None:
        return None
    text = f"{code}:{'x'.join(map(str, found.dims))}"
    return text if strides == packed(found.dims, "nchw") else f"{text}/{','.join(map(str, strides))}"


def _in_portadnn(name: str | None) -> str | None:
    """Return portadnn's name of an enumerator of a library's."""
    known = [value.portadnn for value in values_of_both().get(name or "", ()) if value.portadnn]
    return known[0].lower() if known else None


def _setting(value: Value) -> str | None:
    name = enumerator(value)
    if name is not None:
        return _in_portadnn(name)
    several = numbers(value)
    if several is not None:
        return ",".join(map(str, several))
    single = number(value)
    return None if single is None else f"{single:g}"


_SPELLED = {"alpha_data_diff": "alphaDataDiff", "beta_data_diff": "betaDataDiff"}
_SPELLED |= {"alpha_param_diff": "alphaParamDiff", "beta_param_diff": "betaParamDiff"}


def _scalars(situation: Situation, problem: Problem) -> dict[str, float]:
    known = {name: number(situation.value(_SPELLED.get(name, name))) for name in problem.scalars}
    return {name: value for name, value in known.items() if value is not None}


def _algo(situation: Situation, problem: Problem) -> DnnEnum | None:
    name = _in_portadnn(enumerator(situation.value("algo")))
    kind = problem.algorithms
    if name is None or kind is None:
        return None
    try:
        return kind.parse(name)
    except BadParam:
        return None
