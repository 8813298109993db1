"""The opaque objects: what Create functions make, Set functions fill, Get functions read and Destroy functions end."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np

from ..arguments import as_integer, as_integers
from ..dispatch.bound_call import Versioned
from ..errors import BadParam, shown
from ..problem import TensorSpec

D = TypeVar("D", bound="Descriptor")


class Descriptor(Versioned):
    """Base of the opaque objects. `value` is what a Set function made of its arguments, None before and after."""

    what: ClassVar[str] = "descriptor"
    made_by: ClassVar[str] = ""
    value: Any = None
    destroyed = False

    def __repr__(self) -> str:
        state = "destroyed" if self.destroyed else "not set" if self.value is None else self.value
        return f"<{type(self).__name__}: {state}>"


class Layout(Descriptor):
    """What descriptors of tensors and of filters share: the layout that memory is read with.

    Attributes
    ----------
    dims, strides : tuple of int
        Of an array that has the layout; the strides are in bytes.
    storage : numpy.dtype or None
        Type of such an array.
    views : dict
        Arrays made of memory that was used with the layout; see ``memory.py``.
    sequences : dict
        What this and other descriptors, those of an RNN's steps, were found to say together; see both ``rnn.py``.
    stamp : int
        Another number whenever any layout was set or destroyed: what was found of several at once holds until then.
    """

    stamp: ClassVar[int] = 0

    def __init__(self) -> None:
        self.dims: tuple[int, ...] | None = None
        self.strides: tuple[int, ...] | None = None
        self.storage: np.dtype[Any] | None = None
        self.views: dict[Any, Any] = {}
        self.sequences: dict[Any, Any] = {}

    def set(self, value: Any) -> None:
        """Give it another layout: that of a descriptor with a `spec`."""
        self.value = value
        self.lay_out(value.spec)

    def set_unread(self, value: Any) -> None:
        """Give it a layout that no Problem has: no array looks like it."""
        Layout.stamp += 1
        self.value, self.dims, self.strides, self.storage = value, None, None, None
        self.views, self.sequences = {}, {}

    def lay_out(self, spec: TensorSpec) -> None:
        """Note what arrays are compared with."""
        Layout.stamp += 1
        size = spec.dtype.itemsize
        self.dims, self.strides = spec.dims, tuple(s * size for s in spec.strides)
        self.storage = spec.dtype.storage
        self.views, self.sequences = {}, {}

    @property
    def spec(self) -> TensorSpec:
        """The layout as problems have it."""
        return self.value.spec  # type: ignore[no-any-return]


def made(descriptor: Any, kind: type[D], argument: str) -> D:
    """Demand an opaque object of a kind, set or not, that was not destroyed."""
    article = "an" if kind.what.startswith(("a", "LRN", "RNN")) else "a"
    if type(descriptor) is not kind:
        got = "NULL" if descriptor is None else shown(descriptor)
        raise BadParam(argument=argument, expected=f"{article} {kind.what} ({kind.made_by})", got=got)
    if descriptor.destroyed:
        raise BadParam(argument=argument, expected=f"{article} {kind.what}", got="one that was destroyed")
    return descriptor


def value_of(descriptor: Any, kind: type[Descriptor], argument: str) -> Any:
    """Return what an opaque object was set to; it must be set."""
    if type(descriptor) is kind and descriptor.value is not None:
        return descriptor.value
    made(descriptor, kind, argument)
    raise BadParam(argument=argument, expected="one that was set", got="one that was only created")


def integers(
    values: Any, count: Any, argument: str, count_name: str = "nbDims", least: int = -(2**63)
) -> tuple[int, ...]:
    """Return the first `count` of an array of C, which may be any sequence of at least so many integers."""
    number = as_integer(count, count_name, 0)
    found = as_integers(values, argument, least)
    if len(found) < number:
        raise BadParam(argument=argument, expected=f"at least {number} values", got=found)
    return found[:number]


def destroy(descriptor: Any, kind: type[Descriptor], argument: str) -> None:
    """End an opaque object: whatever is called with it from now on is wrong. NULL is nothing to end, as in C."""
    if descriptor is None:
        return
    made(descriptor, kind, argument)
    descriptor.value = None
    descriptor.destroyed = True
    if isinstance(descriptor, Layout):
        descriptor.dims, descriptor.views, descriptor.sequences = None, {}, {}
        Layout.stamp += 1
