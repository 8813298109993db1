"""The functions of cuDNN that recorded calls stand for, and the arguments that they would have had.

The mapping table says which function it is and how its parameters are called; what they were follows from the problem
that was computed, or from the arguments of a call that only asked something.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..enums import DataType
from ..errors import DnnError
from ..mapping import Function, Parameter, table
from ..ops.convolution.calls import ConvolutionForward
from ..problem import Problem, TensorSpec, parse
from .decode import Undecodable, decode, spec_of_json
from .reader import Event, Step

_TENSORS = {  # C's names in lower case, without Desc and Data, of what problems call otherwise
    "bnscale": ("scale",),
    "bnbias": ("bias",),
    "bnscalebiasmeanvar": ("scale",),
    "dbnscalebias": ("scale",),
    "dbnscaleresult": ("dscale",),
    "dbnbiasresult": ("dbias",),
    "resultrunningmean": ("running_mean",),
    "resultrunningvariance": ("running_variance",),
    "resultsavemean": ("saved_mean",),
    "resultsaveinvvariance": ("saved_inv_variance",),
    "estimatedmean": ("estimated_mean",),
    "estimatedvariance": ("estimated_variance",),
    "savedmean": ("saved_mean",),
    "savedinvvariance": ("saved_inv_variance",),
    "reservespace": ("reserve", "reserve_space"),
    "dxdmeans": ("dx",),
    "inputtensor": ("x",),
    "filter": ("w",),
    "src": ("x",),
    "dest": ("y",),
    "diff": ("dy",),
    "grad": ("dx", "dw"),
}
_SET = {  # where the youngest Set function does not fit
    "DropoutDescriptor": "",
    "RNNDescriptor": "cudnnSetRNNDescriptor_v6",
}
_FIELDS = {  # C's parameters of Set functions, and the members of what is printed of a descriptor; see _by_type
    "padA": ("padding",),
    "paddingA": ("padding",),
    "strideA": ("strides", "stride"),
    "filterStrideA": ("stride",),
    "dilationA": ("dilation",),
    "windowDimA": ("window",),
    "dimA": ("dims",),
    "filterDimA": ("dims",),
    "groupCount": ("groups",),
    "dataType": ("dtype", "compute_type"),
    "computeType": ("compute_type",),
    "compType": ("compute_type",),
    "opTensorCompType": ("compute_type",),
    "reduceTensorCompType": ("compute_type",),
    "lrnN": ("lrn_n", "n"),
    "lrnAlpha": ("lrn_alpha", "alpha"),
    "lrnBeta": ("lrn_beta", "beta"),
    "lrnK": ("lrn_k", "k"),
    "format": ("format",),
    "hiddenSize": ("hidden_size",),
    "numLayers": ("num_layers",),
    "algo": ("algo", "algorithm"),
}


def snake(name: str) -> str:
    """Return a name of C in the spelling of Python."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def value_of(source: Any, name: str, kind: str) -> Any:
    """Return what a problem or a descriptor has for a name of C, of that type; None where it has nothing."""
    found = _by_type(getattr(source, "__dict__", {}), kind)
    for field_name in (*_FIELDS.get(name, ()), snake(name)):
        found = getattr(source, field_name, None) if found is None else found
    return found


def _by_type(values: Mapping[str, Any], kind: str) -> Any:
    """Return the value that is a member of an enumeration of C; None where there is none, or more than one."""
    known = table().by_type.get(kind.removeprefix("const "))
    found = [value for value in values.values() if known and type(value).__name__ == known.portadnn]
    return found[0] if len(found) == 1 else None


@dataclass
class Subject:
    """What a recorded call was about.

    Attributes
    ----------
    event : Event
        The call.
    function : Function
        cuDNN's.
    problem : Problem or None
        What was computed.
    tensors : dict
        Spec and address by name; the address is None where only a descriptor was given.
    scalars : dict
        Run-time numbers by name.
    arguments : dict
        The other arguments, by the names of whoever was called.
    """

    event: Event
    function: Function
    problem: Problem | None = None
    tensors: dict[str, tuple[TensorSpec, int | None]] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the signature that was called, or of the newest one for calls of other libraries."""
        given = self.event.arguments.keys()
        signatures = (self.function.latest, *(c.parameters for c in self.function.changes), self.function.parameters)
        return max(signatures, key=lambda parameters: sum(p.name in given for p in parameters))

    @property
    def data_type(self) -> DataType:
        """The type of the tensors, which is that of alpha and beta where it is float64."""
        floats = [spec.dtype for spec, _ in self.tensors.values() if spec.dtype.is_float]
        return floats[0] if floats else DataType.FLOAT

    def tensor(self, name: str) -> tuple[TensorSpec, int | None] | None:
        """Return the tensor that a parameter or its descriptor is about."""
        base = re.sub(r"(Desc|desc|Data)$", "", name).lower()
        for candidate in (base, *_TENSORS.get(base, ())):
            if candidate in self.tensors:
                return self.tensors[candidate]
        return None

    def descriptor(self, kind: str) -> Any:
        """Return the argument that is a descriptor of that class, or the problem, which has the same values."""
        return next((value for value in self.arguments.values() if type(value).__name__ == kind), self.problem)

    def value(self, parameter: Parameter) -> Any:
        """Return a number, member or list for a parameter; None where the recording has none."""
        for source in (self.arguments, self.scalars):
            for name in (parameter.name, *_FIELDS.get(parameter.name, ()), snake(parameter.name)):
                if source.get(name) is not None:
                    return source[name]
        found = _by_type(self.arguments, parameter.type)
        if found is not None:
            return found
        if self.problem is not None:
            return value_of(self.problem, parameter.name, parameter.type)
        made = next(iter(self.arguments.values()), None) if made_by(self.event.function) else None
        return value_of(made, parameter.name, parameter.type)


@functools.cache
def made_by(name: str) -> tuple[str, ...]:
    """Return the C functions that make a handle or a descriptor of portadnn; none for other names."""
    known = table().functions
    kind = name.removesuffix("Descriptor")
    if name == "Handle" or f"cudnnCreate{name}" not in known or kind == name:
        return ("cudnnCreate",) if name == "Handle" else ()
    newest = known["cudnnCreate"].headers[1]
    setters = [f for f in known if re.fullmatch(rf"cudnnSet{kind}(Nd)?Descriptor(_v\d+)?", f)]
    alive = [f for f in setters if known[f].headers[1] == newest]  # in the order in which they came
    return tuple(filter(None, (f"cudnnCreate{name}", _SET.get(name, alive[-1] if alive else ""))))


@functools.lru_cache(4096)
def problem_of(line: str) -> Problem:
    """Return the problem of a line, which is parsed once."""
    return parse(line)


@functools.cache
def _functions() -> dict[str, Function]:
    """Return cuDNN's function for each name of portadnn: the one that is called alike, or the first of its rows."""
    found: dict[str, Function] = {}
    for row in table().rows:
        for name in row.portadnn:
            if row.cudnn is not None:
                alike = snake(row.cudnn.name.removeprefix("cudnn")).replace("_", "")
                if name not in found or alike == name.replace("_", ""):
                    found[name] = row.cudnn
    return found


def function_of(name: str) -> Function | None:
    """Return cuDNN's function for a function of portadnn; None where it has none."""
    return _functions().get(name)


def _plain(value: Any) -> Any:
    """Return a recorded argument as Python has it; descriptors of C libraries by their value, tensors as None."""
    if isinstance(value, Mapping) and isinstance(value.get("values"), Mapping) and "value" in value["values"]:
        return _plain(value["values"]["value"])
    if isinstance(value, list):
        return tuple(map(_plain, value))
    try:
        return decode(value, lambda _: None, lambda _: None)
    except (DnnError, Undecodable, AttributeError, KeyError, TypeError):  # not what portadnn's own functions are given
        return None


def _arguments(event: Event, subject: Subject) -> None:
    """Take the arguments of a call: tensors apart from the rest."""
    for name, value in event.arguments.items():
        key = next(iter(value), "") if isinstance(value, Mapping) else ""
        if key == "of" and not event.steps:
            facts = event.tensors[value["of"]]
            subject.tensors.setdefault(name.lower(), (spec_of_json(facts), facts["at"]))
        if key in ("of", "scalar", "handle", "host"):
            continue
        if key == "tensor":
            try:
                subject.tensors.setdefault(name.lower(), (spec_of_json(value["tensor"]), value["tensor"].get("at")))
            except Undecodable:
                continue
        elif key == "workspace":
            subject.arguments["workspace"] = value["workspace"]
        else:
            plain = _plain(value)
            spec = getattr(plain, "spec", None)
            if isinstance(spec, TensorSpec) and name != "self":
                base = re.sub(r"(Desc|desc)$", "", name).lower()
                subject.tensors.setdefault(base, (spec, None))
            else:
                subject.arguments[name] = plain


def _computed(event: Event, function: Function, step: Step) -> Subject:
    problem = problem_of(step.problem)
    tensors = zip(problem.names, problem.tensors, step.addresses, strict=True)
    subject = Subject(event, function, problem)
    subject.tensors = {name: (spec, at) for name, spec, at in tensors}
    subject.scalars = dict(zip(problem.scalars, step.scalars, strict=False))
    return subject


def c_calls(event: Event) -> Iterator[Subject]:
    """Yield the calls of cuDNN that a recorded call stands for; none where cuDNN has no such function."""
    if event.library == "cudnn":
        function = table().functions.get(event.function)
        if function is not None:
            subject = _computed(event, function, event.steps[-1]) if event.steps else Subject(event, function)
            _arguments(event, subject)
            yield subject
        return
    if event.library in ("miopen", "torch"):
        for step in event.steps:
            function = function_of(problem_of(step.problem).op)
            if function is not None:
                yield _computed(event, function, step)
        return
    name = event.function
    if made_by(name):
        yield from _made(event, made_by(name))
        return
    function = function_of(name)
    if function is None or "." in name:
        return
    subject = _computed(event, function, event.steps[-1]) if event.steps else Subject(event, function)
    _arguments(event, subject)
    if not event.steps:
        _complete(subject)
    yield subject


def _complete(subject: Subject) -> None:
    """Add the output of a convolution that was asked about without one."""
    conv = subject.descriptor("ConvolutionDescriptor")
    if conv is not None and {"x", "w"} <= subject.tensors.keys() and "y" not in subject.tensors:
        values = {name: subject.tensors[name][0] for name in ("x", "w")}
        values |= {name: getattr(conv, name) for name in ("padding", "stride", "dilation", "groups")}
        try:
            ConvolutionForward.complete(values)
        except DnnError:  # a wrong call's
            return
        subject.tensors["y"] = (values["y"], None)


def _made(event: Event, names: Sequence[str]) -> Iterator[Subject]:
    """Yield the calls that make a descriptor."""
    if event.status != "SUCCESS":
        names = names[-1:]
    for name in names:
        subject = Subject(event, table().functions[name])
        _arguments(event, subject)
        yield subject
    made = _plain(event.arguments.get("self"))
    for name, member, usual in (("GroupCount", "groups", 1), ("MathType", "math", 0)):
        if event.function == "ConvolutionDescriptor" and getattr(made, member, usual) != usual:
            subject = Subject(event, table().functions[f"cudnnSetConvolution{name}"])
            _arguments(event, subject)
            yield subject
