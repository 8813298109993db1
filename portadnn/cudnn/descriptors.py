"""The opaque objects: what Create functions make, Set functions fill, Get functions read and Destroy functions end."""

from __future__ import annotations

from typing import Any

from ..c_names.objects import Descriptor, Layout, destroy, integers, made, value_of
from ..enums import MathType
from ..ops import lrn

__all__ = [
    "ActivationDescriptor",
    "ConvolutionDescriptor",
    "Descriptor",
    "DropoutDescriptor",
    "FilterDescriptor",
    "LRNDescriptor",
    "Layout",
    "OpTensorDescriptor",
    "PoolingDescriptor",
    "ReduceTensorDescriptor",
    "SpatialTransformerDescriptor",
    "TensorDescriptor",
    "destroy",
    "fixed",
    "integers",
    "made",
    "value_of",
]


def fixed(values: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the first `count` values, 0 where there are fewer: what Get functions of 2-D and 4-D tell of others."""
    return values[:count] + (0,) * (count - len(values))


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
    indices_type: Any = None


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
    """A ``cudnnLRNDescriptor_t``, which is set from the start: to the guide's defaults (section 4.88)."""

    what = "LRN descriptor"
    made_by = "cudnnCreateLRNDescriptor"

    def __init__(self) -> None:
        self.value = lrn.LRNDescriptor()


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
