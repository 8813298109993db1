"""NVIDIA's library with the signatures of ``portadnn.cudnn``: results are returned, statuses raised as errors."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from typing import Any

from portadnn.c_names.generate.front_end import Signature
from portadnn.mapping import Parameter, table
from portadnn_backends.vendor_cudnn.library import Library
from portadnn_backends.vendor_cudnn.signatures import argument_type
from portadnn_backends.vendor_cudnn.statuses import error_of

MOST = 64  # elements of an array that a call fills


def _base(kind: str) -> str:
    return re.sub(r"\bconst\b|[*\[\]]", "", kind).strip()


def _element(kind: str) -> Any:
    """Return the type of ctypes of what a pointer or an array of C has."""
    base = _base(kind)
    if (
        base == "void"
        or base.endswith(("Descriptor_t", "Handle_t", "Pack_t", "Plan_t", "Tag_t", "Callback_t"))
        or "*" in kind[:-1]
    ):
        return ctypes.c_void_p
    return argument_type(base)


def _opaque(kind: str) -> bool:
    return bool(re.search(r"[*\[]|(Descriptor|Handle|Pack|Plan|Callback)_t", kind))


def _argument(parameter: Parameter, value: Any) -> Any:
    """Return an argument as ctypes takes it; what is kept alive is the argument itself."""
    if isinstance(value, (list, tuple)):
        return (_element(parameter.type) * len(value))(*value)
    if parameter.type == "float" or parameter.type == "double":
        return float(value)
    return value


class Function:
    """One function of the library: called as the one of ``portadnn.cudnn`` is."""

    def __init__(self, library: Library, name: str) -> None:
        known = table().functions[name]
        self.name, self.function = name, library.function(name)
        self.signature, self.parameters = Signature(known), known.changes[-1].parameters if known.changes else ()
        self.parameters = self.parameters or known.parameters
        kinds = [ctypes.c_void_p if _opaque(p.type) else argument_type(p.type) for p in self.parameters]
        self.function.argtypes, self.function.restype = kinds, ctypes.c_int
        self.null: tuple[str, ...] = ()  # results that are not asked for
        self.results = {p.name for p in self.signature.results}
        if name.startswith("cudnnGet"):  # later versions have other names, or more, for what is returned
            self.results |= {
                p.name
                for p in self.parameters
                if re.fullmatch(r"(int|float|double|cudnn\w+_t)( ?\*|\[\])", p.type) and not _opaque(_base(p.type))
            }

    def __call__(self, *values: Any) -> Any:
        """Make the call.

        Raises
        ------
        DnnError
            The status was another than success.
        """
        given, words, found = list(values), [], {}
        for parameter in self.parameters:
            if parameter.name in self.results:
                array = parameter.type.endswith("[]")
                found[parameter.name] = (_element(parameter.type) * (MOST if array else 1))()
                words.append(None if parameter.name in self.null else found[parameter.name])
            else:
                words.append(_argument(parameter, given.pop(0)))
        if given:
            raise TypeError(f"{self.name} takes {len(words) - len(found)} arguments, not {len(values)}")
        status = self.function(*words)
        if status:
            raise error_of(status)(f"{self.name}: {status}")
        asked = [w for p, w in zip(self.parameters, words, strict=True) if p.name.endswith("Requested")]
        return self._returned(found, asked[0] if asked else MOST)

    def _returned(self, found: dict[str, Any], asked: int) -> Any:
        count = min(found["nbDims"][0], asked) if "nbDims" in found else MOST
        lists = {p.name for p in self.parameters if p.type.endswith("[]")}
        values = [tuple(array[:count]) if name in lists else array[0] for name, array in found.items()]
        return values[0] if len(values) == 1 else tuple(values) if values else None


def functions(library: Library) -> Callable[[str], Function]:
    """Return what gives the functions of a library by name."""
    return functools.cache(lambda name: Function(library, name))
