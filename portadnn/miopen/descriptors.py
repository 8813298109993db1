"""MIOpen's opaque objects: what its Create functions return, its Set functions fill and its Destroy functions end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..c_names import memory
from ..c_names.objects import Descriptor, Layout, destroy, made, value_of
from ..descriptors import TensorView
from ..enums import DataType, TensorFormat
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..problem import TensorSpec, packed_strides
from .generated.enums import miopenDataType_t, miopenTensorLayout_t
from .names import parse, unified
from .narrow import NARROW, NarrowSpec, plain
from .vectors import VECTORS, VectorSpec, vector_spec

__all__ = [
    "DATA_TYPES",
    "MAX_DIMS",
    "MIOPEN_TYPES",
    "Opaque",
    "descriptor_of",
    "destroy",
    "layout_of",
    "layout_spec",
    "made",
    "make_spec",
    "miopenTensorDescriptor_t",
    "of_any_layout",
    "optional",
    "spec_of",
    "tensor",
    "type_of",
    "value_of",
    "view",
    "wide_of",
]


DATA_TYPES = {
    miopenDataType_t.miopenHalf: DataType.HALF,
    miopenDataType_t.miopenFloat: DataType.FLOAT,
    miopenDataType_t.miopenBFloat16: DataType.BFLOAT16,
    miopenDataType_t.miopenDouble: DataType.DOUBLE,
}
INDEX_TYPES = {miopenDataType_t.miopenInt32: DataType.INT32, miopenDataType_t.miopenInt64: DataType.INT64}
_BYTES = {miopenDataType_t.miopenInt8: DataType.INT8}
_NARROW = dict.fromkeys(NARROW, DataType.UINT8)
MIOPEN_TYPES = {ours: theirs for theirs, ours in (DATA_TYPES | INDEX_TYPES | _BYTES).items()}
MAX_DIMS = 5

_LAYOUTS = {  # dims and format
    miopenTensorLayout_t.miopenTensorNCHW: (4, TensorFormat.NCHW),
    miopenTensorLayout_t.miopenTensorNHWC: (4, TensorFormat.NHWC),
    miopenTensorLayout_t.miopenTensorNCDHW: (5, TensorFormat.NCHW),
    miopenTensorLayout_t.miopenTensorNDHWC: (5, TensorFormat.NHWC),
}


class Opaque(Descriptor):
    """Base of the objects, which are called as in C."""

    def __init_subclass__(cls) -> None:
        cls.what = cls.__name__
        cls.made_by = cls.__dict__.get("made_by", f"miopenCreate{cls.__name__[6:-2]}")


class miopenTensorDescriptor_t(Layout):
    """Type, lengths and strides of a tensor or a filter, of 1 to 5 dims.

    Attributes
    ----------
    wide : TensorSpec
        With ones after the lengths where there are less than 3, because operations take 3 dims or more.
    plain : TensorSpec
        The same without what convolutions of 8-bit floats know.
    """

    what, made_by = "miopenTensorDescriptor_t", "miopenCreateTensorDescriptor"
    wide: TensorSpec
    plain: TensorSpec

    def set(self, value: TensorSpec) -> None:
        """Give it another layout; vectors of channels have no array of so many dims."""
        if isinstance(value, VectorSpec):
            self.set_unread(value)
            self.__dict__.pop("wide", None)
            self.__dict__.pop("plain", None)
            return
        self.value = value
        missing = max(0, 3 - len(value.dims))
        self.wide = replace(value, dims=value.dims + (1,) * missing, strides=value.strides + (1,) * missing)
        self.plain = plain(self.wide)
        self.lay_out(self.wide)

    @property
    def spec(self) -> TensorSpec:
        """The layout as problems and arrays have it."""
        return self.plain

    def __getattr__(self, name: str) -> Any:
        if name in ("wide", "plain") and isinstance(self.value, VectorSpec):
            known = "miopenTensorNCHW or miopenTensorNHWC: vectors of channels are for forward convolutions"
            raise NotSupported(argument="tensorDesc", expected=known, got=self.value.layout.name)
        raise AttributeError(name)


tensor = memory.reader(miopenTensorDescriptor_t)


def of_any_layout(handle: Handle, desc: Any, data: Any, name: str, argument: str = "") -> Any:
    """Return memory as :func:`tensor` does, or vectors of channels as :attr:`VectorSpec.unfolded` says."""
    value = desc.value if type(desc) is miopenTensorDescriptor_t else None
    if not isinstance(value, VectorSpec) or data is None:
        return tensor(handle, desc, data, name, argument)
    return memory.view(handle, desc.views, data, value.unfolded, name)


def descriptor_of(spec: TensorSpec) -> miopenTensorDescriptor_t:
    """Return a new descriptor that says what a spec says."""
    desc = miopenTensorDescriptor_t()
    desc.set(spec)
    return desc


def spec_of(desc: Any, argument: str) -> TensorSpec:
    """Return what a tensor descriptor says."""
    return value_of(desc, miopenTensorDescriptor_t, argument)


def wide_of(desc: Any, argument: str, vectors: bool = False) -> TensorSpec:
    """Return what a tensor descriptor says, with 3 dims or more; `vectors` of channels where they are known."""
    value = value_of(desc, miopenTensorDescriptor_t, argument)
    return value if vectors and isinstance(value, VectorSpec) else desc.wide


def view(handle: Handle, spec: TensorSpec, data: Any, name: str, offset: int = 0) -> TensorView:
    """Return data read with a layout."""
    if data is None:
        raise BadParam(argument=name, expected=f"memory of {spec.span} elements", got=None)
    return TensorView(plain(spec), data, offset)


def optional(handle: Handle, desc: Any, data: Any, name: str, argument: str = "") -> Any:
    """Return the data as :func:`tensor` does, or None for C's null pointer."""
    return None if data is None else tensor(handle, desc, data, name, argument)


def make_spec(data_type: Any, lengths: Sequence[int], strides: Sequence[int] | None = None) -> TensorSpec:
    """Return the spec of a tensor as MIOpen's Set functions take it.

    Raises
    ------
    BadParam
        A length or stride below 1, or an unknown type.
    NotSupported
        More than 5 dims, or a type that portadnn does not compute in.
    """
    kind = parse(miopenDataType_t, data_type, "dataType")
    dtype = unified(DATA_TYPES | INDEX_TYPES | _BYTES | _NARROW, kind, "dataType")
    if not 1 <= len(lengths) <= MAX_DIMS:
        raise NotSupported(argument="nbDims", expected=f"1 to {MAX_DIMS} dims", got=len(lengths))
    sizes = tuple(lengths)
    steps = packed_strides(sizes) if strides is None else tuple(strides)
    if kind in NARROW:
        return NarrowSpec(dtype, sizes, steps, kind=kind)
    return TensorSpec(dtype, sizes, steps)


def type_of(spec: TensorSpec) -> miopenDataType_t:
    """Return MIOpen's type of a tensor's elements."""
    return spec.kind if isinstance(spec, NarrowSpec) else MIOPEN_TYPES[spec.dtype]


def layout_of(spec: TensorSpec) -> miopenTensorLayout_t:
    """Return MIOpen's layout whose packed strides a tensor has; NCHW where several have the same."""
    if isinstance(spec, VectorSpec):
        return spec.layout
    for named, (dims, format) in _LAYOUTS.items():
        if dims == len(spec.dims) and spec.strides == packed_strides(spec.dims, format):
            return named
    expected = "packed strides of " + ", ".join(member.name for member in _LAYOUTS)
    raise NotSupported(argument="tensorDesc", expected=expected, got=(spec.dims, spec.strides))


def layout_spec(data_type: Any, layout: Any, lengths: Sequence[int]) -> TensorSpec:
    """Return the spec of a packed tensor with one of MIOpen's layouts; lengths are in the order n, c, [d,] h, w."""
    named = parse(miopenTensorLayout_t, layout, "tensorLayout")
    if named in VECTORS:
        plain_one = make_spec(data_type, lengths)
        if isinstance(plain_one, NarrowSpec):
            expected = "a type of 16 bits or more, or miopenInt8, for vectors of channels"
            raise NotSupported(argument="dataType", expected=expected, got=plain_one.kind.name)
        return vector_spec(plain_one.dtype, named, lengths)
    known = _LAYOUTS.get(named)
    if known is None:
        raise NotSupported(
            "CHWN is not supported, nor by MIOpen",
            argument="tensorLayout",
            expected=", ".join(member.name for member in (*_LAYOUTS, *VECTORS)),
            got=named.name,
        )
    dims, format = known
    if len(lengths) != dims:
        raise BadParam(argument="num_lens", expected=f"{dims} for {named.name}", got=len(lengths))
    return make_spec(data_type, lengths, packed_strides(tuple(lengths), format))
