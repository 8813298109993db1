"""What a front end has beside the table: implementations by the names of C, opaque objects, choices of enumerations."""

from __future__ import annotations

import ctypes
import functools
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

from ...mapping import Function, Library, Parameter, table
from ..objects import Descriptor

# Results that their types do not show as such: host memory that is filled, in place of device memory; and what MIOpen's
# porting guide calls an input.
_RETURNED = {
    ("cudnnBackendGetAttribute", "arrayOfElements"),
    ("cudnnGetFusedOpsConstParamPackAttribute", "param"),
    ("cudnnGetFusedOpsVariantParamPackAttribute", "ptr"),
    ("cudnnGetRNNDataDescriptor", "paddingFill"),
    ("cudnnGetSeqDataDescriptor", "paddingFill"),
    ("miopenFindConvolutionForwardAlgorithm", "perfResults"),
    ("miopenGetRNNDataSeqTensorDescriptor", "paddingMarker"),
}
_INTEGERS = {"int", "size_t", "unsigned", "int32_t", "uint32_t", "int64_t", "uint64_t", "unsigned long long"}
_SIMPLE = {**dict.fromkeys(_INTEGERS, "int"), "double": "float", "float": "float", "bool": "bool", "void": "None"}
_ARRAYS = {"cudnnAlgorithmPerformance_t"}  # objects that C makes and fills by the array
Place = tuple[str, str]  # a module, relative to the front end's package, and a name in it


def returned(function: str, parameter: Parameter) -> bool:
    """Tell whether a call returns what C writes through that pointer.

    Device memory and descriptors that exist already are arguments in C and stay arguments.
    """
    if (function, parameter.name) in _RETURNED:
        return True
    if parameter.direction != "out":
        return False
    return not (parameter.type.replace("const ", "") == "void *" or parameter.type.endswith("Descriptor_t"))


@dataclass
class Signature:
    """A function of C as Python has it.

    Attributes
    ----------
    parameters, results : list of Parameter
        What it takes and what it returns, in C's order.
    """

    function: Function
    parameters: list[Parameter] = field(init=False)
    results: list[Parameter] = field(init=False)

    def __post_init__(self) -> None:
        self.results = [p for p in self.function.parameters if returned(self.function.name, p)]
        self.parameters = [p for p in self.function.parameters if p not in self.results]


@dataclass
class FrontEnd:
    """A library's front end, as its modules show it.

    Attributes
    ----------
    implementations : dict of str to (Place, function)
        Functions that have the names of C's.
    classes, choices, structures, records : dict of str to Place
        Opaque objects, choices of an enumeration's values, named tuples that come by the list, and structures of
        ctypes, by their types in C.
    enumerations : dict of str to str
        The enumerations of the table, and the topic of each.
    """

    library: Library
    implementations: dict[str, tuple[Place, Callable[..., Any]]] = field(default_factory=dict)
    classes: dict[str, Place] = field(default_factory=dict)
    choices: dict[str, Place] = field(default_factory=dict)
    structures: dict[str, Place] = field(default_factory=dict)
    records: dict[str, Place] = field(default_factory=dict)
    enumerations: dict[str, str] = field(default_factory=dict)

    @property
    def package(self) -> str:
        """The package's name."""
        return f"portadnn.{self.library}"

    def annotation(self, c_type: str, name: str = "") -> tuple[str, Place | None]:
        """Return the Python type of a parameter, and where it is imported from."""
        base = c_type.replace("const ", "")
        if base == f"{self.library}Handle_t":
            return "Handle", ("...handle", "Handle")
        if base in self.classes:
            return self.classes[base][1], self.classes[base]
        if base in self.enumerations:
            return "int", None
        if base == "void *" and name.lower().startswith(("alpha", "beta", "valueptr")):
            return "float", None
        return _SIMPLE.get(base, "Any"), None

    def result(self, c_type: str) -> tuple[str, Place | None]:
        """Return the Python type of a result, and where it is imported from."""
        base = c_type.removesuffix("[]").removesuffix("*").strip()
        if c_type == "char[]":
            return "bytes", None
        if c_type.endswith("[]"):
            return ("tuple[int, ...]" if base in _INTEGERS else "tuple[Any, ...]"), None
        if base in self.structures:
            return f"list[{base}]", self.structures[base]
        if base in self.records:
            return base, self.records[base]
        if base in _ARRAYS:
            return f"list[{self.classes[base][1]}]", self.classes[base]
        if base in self.enumerations:
            return base, (f".enums{self.enumerations[base]}", base)
        if base.endswith("char"):
            return "str", None
        return ("Any", None) if base == "void" else self.annotation(base)


def _modules(package: str) -> Iterator[ModuleType]:
    root = import_module(package)
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not info.name.startswith(f"{package}.generated"):
            yield import_module(info.name)


def _is_structure(value: Any) -> bool:
    return isinstance(value, type) and value.__name__.endswith(("Perf_t", "Solution_t", "Argument_t"))


@functools.cache
def front_end(library: Library) -> FrontEnd:
    """Return what a front end has."""
    found, known = FrontEnd(library), table()
    for enumeration in known.enumerations:
        name = enumeration.cudnn if library == "cudnn" else enumeration.miopen
        if name:
            found.enumerations[name] = f".{enumeration.topic}" if library == "cudnn" else ""
    for module in _modules(found.package):
        place = module.__name__.removeprefix(found.package)
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if own and name in known.functions and inspect.isfunction(value):
                found.implementations[name] = (f".{place}", name), value
            elif isinstance(value, type) and issubclass(value, Descriptor) and own and value.made_by:
                c_name = f"cudnn{name}_t" if library == "cudnn" else name
                found.classes[c_name] = f".{place}", name
            elif own and isinstance(value, type) and issubclass(value, ctypes.Structure) and name.endswith("_t"):
                found.records[name] = f".{place}", name
            elif _is_structure(value):
                found.structures.setdefault(name, (f".{place}", name))
            elif type(value).__name__ == "Choice":
                found.choices.setdefault(value.c_name, (f".{place}", name))
    return found
