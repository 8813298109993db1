"""Objects whose special methods raise or lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Hostile(Exception):
    """What hostile objects raise: no error that code might expect."""


def _raises(*_: Any, **__: Any) -> Any:
    raise Hostile


def _kind(name: str, base: type = object, **members: Any) -> type:
    return type(name, (base,), members)


def _method(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def _interface(**changes: Any) -> dict[str, Any]:
    return {"shape": (1, 2, 4, 4), "typestr": "<f4", "data": (0, False), "version": 3} | changes


_METHODS = ("index", "int", "float", "len", "array", "eq", "iter", "bool", "getattr", "getitem", "repr")
HOSTILE: dict[str, Callable[[], Any]] = {
    f"__{name}__": _kind("Raising", **{f"__{name}__": _raises})
    for name in (*_METHODS, "hash", "array_interface", "dlpack", "contains")
}
_SHAPED = {"shape": (1, 2, 4, 4), "dtype": np.dtype("f4"), "strides": (128, 64, 16, 4), "offset": 0}
HOSTILE |= {
    "index and repr": _kind("Both", __index__=_raises, __repr__=_raises),
    "iter and repr": _kind("Both", __iter__=_raises, __repr__=_raises),
    "everything": _kind(
        "Everything",
        **{f"__{n}__": _raises for n in (*_METHODS, "str", "contains", "add", "lt", "gt", "le", "ge")},
        __hash__=_method(1),
    ),
    "huge index": _kind("Huge", __index__=_method(10**400)),
    "text index": _kind("Text", __index__=_method("1")),
    "text float": _kind("Text", __float__=_method("1")),
    "len -1": _kind("Short", __len__=_method(-1), __getitem__=_method(1)),
    "endless": _kind("Endless", __getitem__=_method(1)),
    "array of text": _kind("Array", __array__=lambda *_, **__: "text"),
    "interface of text": _kind("Interface", __array_interface__="text"),
    "interface without address": _kind("Interface", __array_interface__=_interface()),
    "interface of wrong shape": _kind("Interface", __array_interface__=_interface(shape=(-1, "x"))),
    "interface of wrong type": _kind("Interface", __array_interface__=_interface(typestr="?!")),
    "interface of huge dims": _kind("Interface", __array_interface__=_interface(shape=(10**30, 2, 4, 4))),
    "cuda interface": _kind("Cuda", __cuda_array_interface__=_interface()),
    "dlpack of text": _kind("Dlpack", __dlpack__=_method("text"), __dlpack_device__=_method((1, 0))),
    "dlpack that raises": _kind("Dlpack", __dlpack__=_raises, __dlpack_device__=_method((1, 0))),
    "shape only": _kind("Shaped", shape=(1, 2, 4, 4)),
    "shape of text": _kind("Shaped", shape="text", dtype="text", strides=None),
    "array attributes": _kind("Shaped", **_SHAPED),
    "array attributes that compare": _kind("Shaped", **_SHAPED, __eq__=_raises, __hash__=None),
    "base of text": _kind("Shaped", **_SHAPED, base_data="text"),
    "raising shape": _kind("Shaped", shape=property(_raises), dtype=property(_raises)),
    "params": _kind("Params", params=("x", _raises)),
    "subclass of int": lambda: _kind("Int", int, __index__=_raises, __int__=_raises, __float__=_raises)(3),
    "int that compares": lambda: _kind("Int", int, __eq__=_raises, __lt__=_raises, __hash__=_raises)(3),
    "subclass of float": lambda: _kind("Float", float, __float__=_raises, __lt__=_raises, __eq__=_raises)(3.0),
    "subclass of str": lambda: _kind("Str", str, upper=_raises, __eq__=_raises, __hash__=_raises)("relu"),
    "subclass of tuple": lambda: _kind("Tuple", tuple, __iter__=_raises, __len__=_raises)((1, 1)),
    "subclass of list": lambda: _kind("List", list, __iter__=_raises, __getitem__=_raises)([1, 1]),
    "subclass of ndarray": lambda: np.ones((1, 2, 4, 4), np.float32).view(
        _kind("Array", np.ndarray, __eq__=_raises, __getitem__=_raises, __array_finalize__=_method(None))
    ),
}
