"""The opaque objects: what Create functions make, Set functions fill, Get functions read and Destroy functions end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np

from .. import descriptors as unified
from ..enums import MathType
from ..errors import BadParam
from ..problem import TensorSpec
from .calls import c_function

D = TypeVar("D", bound="Descriptor")


class Descriptor:
    """Base of the opaque objects. `value` is portadnn's own descriptor once the object is set."""

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
    """

    def __init__(self) -> None:
        self.dims: tuple[int, ...] | None = None
        self.strides: tuple[int, ...] | None = None
        self.storage: np.dtype[Any] | None = None
        self.views: dict[Any, Any] = {}

    def set(self, value: Any) -> None:
        """Give it another layout."""
        spec: TensorSpec = value.spec
        size = spec.dtype.itemsize
        self.value = value
        self.dims, self.strides = spec.dims, tuple(s * size for s in spec.strides)
        self.storage = spec.dtype.storage
        self.views = {}

    @property
    def spec(self) -> TensorSpec:
        """The layout as problems have it."""
        return self.value.spec  # type: ignore[no-any-return]


class TensorDescriptor(Layout):
    """A ``cudnnTensorDescriptor_t``."""

    what = "tensor descriptor"
    made_by = "cudnnCreateTensorDescriptor"


class FilterDescriptor(Layout):
    """A ``cudnnFilterDescriptor_t``."""

    what = "filter descriptor"
    made_by = "cudnnCreateFilterDescriptor"


class OpTensorDescriptor(Descriptor):
    """A ``cudnnOpTensorDescriptor_t``."""

    what = "descriptor of a tensor operation"
    made_by = "cudnnCreateOpTensorDescriptor"


class ReduceTensorDescriptor(Descriptor):
    """A ``cudnnReduceTensorDescriptor_t``."""

    what = "reduction descriptor"
    made_by = "cudnnCreateReduceTensorDescriptor"


class ConvolutionDescriptor(Descriptor):
    """A ``cudnnConvolutionDescriptor_t``: groups and math type are set on their own."""

    what = "convolution descriptor"
    made_by = "cudnnCreateConvolutionDescriptor"

    def __init__(self) -> None:
        self.groups = 1
        self.math = MathType.DEFAULT
        self.reorder = 0


class PoolingDescriptor(Descriptor):
    """A ``cudnnPoolingDescriptor_t``."""

    what = "pooling descriptor"
    made_by = "cudnnCreatePoolingDescriptor"

    def __init__(self) -> None:
        self.mode: Any = None  # as it was set: MAX_DETERMINISTIC is no mode of portadnn's


class ActivationDescriptor(Descriptor):
    """A ``cudnnActivationDescriptor_t``: `coef` is what Set was given, `swish_beta` is set on its own."""

    what = "activation descriptor"
    made_by = "cudnnCreateActivationDescriptor"

    def __init__(self) -> None:
        self.coef = 0.0
        self.swish_beta = 1.0


class LRNDescriptor(Descriptor):
    """A ``cudnnLRNDescriptor_t``."""

    what = "LRN descriptor"
    made_by = "cudnnCreateLRNDescriptor"


class DropoutDescriptor(Descriptor):
    """A ``cudnnDropoutDescriptor_t``."""

    what = "dropout descriptor"
    made_by = "cudnnCreateDropoutDescriptor"


class SpatialTransformerDescriptor(Descriptor):
    """A ``cudnnSpatialTransformerDescriptor_t``: it gives grids and matrices their layout."""

    what = "spatial transformer descriptor"
    made_by = "cudnnCreateSpatialTransformerDescriptor"

    def __init__(self) -> None:
        self.views: dict[Any, Any] = {}


def made(descriptor: Any, kind: type[D], argument: str) -> D:
    """Demand an opaque object of a kind, set or not, that was not destroyed."""
    article = "an" if kind.what.startswith(("a", "LRN", "RNN")) else "a"
    if type(descriptor) is not kind:
        got = "NULL" if descriptor is None else repr(descriptor)
        raise BadParam(argument=argument, expected=f"{article} {kind.what} ({kind.made_by})", got=got)
    if descriptor.destroyed:
        raise BadParam(argument=argument, expected=f"{article} {kind.what}", got="one that was destroyed")
    return descriptor


def value_of(descriptor: Any, kind: type[Descriptor], argument: str) -> Any:
    """Return portadnn's descriptor for an opaque object, which must be set."""
    if type(descriptor) is kind and descriptor.value is not None:
        return descriptor.value
    made(descriptor, kind, argument)
    raise BadParam(argument=argument, expected="one that was set", got="one that was only created")


def integers(values: Any, count: Any, argument: str, count_name: str = "nbDims") -> tuple[int, ...]:
    """Return the first `count` of an array of C, which may be any sequence of at least so many integers."""
    number = unified._integer(count, count_name, 0)
    found = unified._integers(values, argument, -(2**63))
    if len(found) < number:
        raise BadParam(argument=argument, expected=f"at least {number} values", got=found)
    return found[:number]


def creator(name: str, kind: type[D]) -> Callable[[], D]:
    """Return the Create function of a kind of descriptor."""

    def create() -> D:
        return kind()

    create.__name__ = create.__qualname__ = name
    return c_function(create)


def destroy(descriptor: Any, kind: type[Descriptor], argument: str) -> None:
    """End an opaque object: whatever is called with it from now on is wrong."""
    made(descriptor, kind, argument)
    descriptor.value = None
    descriptor.destroyed = True
    if isinstance(descriptor, Layout):
        descriptor.dims, descriptor.views = None, {}
