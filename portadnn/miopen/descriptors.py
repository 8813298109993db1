"""MIOpen's opaque objects: what its Create functions return, its Set functions fill and its Destroy functions end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from ..descriptors import TensorView
from ..enums import DataType, TensorFormat
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..problem import TensorSpec, packed_strides
from .enums import miopenDataType_t, miopenTensorLayout_t
from .names import function, parse, unified

DATA_TYPES = {
    miopenDataType_t.miopenHalf: DataType.HALF,
    miopenDataType_t.miopenFloat: DataType.FLOAT,
    miopenDataType_t.miopenBFloat16: DataType.BFLOAT16,
    miopenDataType_t.miopenDouble: DataType.DOUBLE,
}
MIOPEN_TYPES = {ours: theirs for theirs, ours in DATA_TYPES.items()}
MAX_DIMS = 5

_LAYOUTS = {  # dims and format
    miopenTensorLayout_t.miopenTensorNCHW: (4, TensorFormat.NCHW),
    miopenTensorLayout_t.miopenTensorNHWC: (4, TensorFormat.NHWC),
    miopenTensorLayout_t.miopenTensorNCDHW: (5, TensorFormat.NCHW),
    miopenTensorLayout_t.miopenTensorNDHWC: (5, TensorFormat.NHWC),
}


class Opaque:
    """Base of the objects: `value` is what a Set function made of its arguments, None before and after Destroy."""

    what: ClassVar[str] = "descriptor"
    made_by: ClassVar[str] = ""

    def __init__(self) -> None:
        self.value: Any = None
        self.destroyed = False

    def __repr__(self) -> str:
        state = "destroyed" if self.destroyed else "not set" if self.value is None else self.value
        return f"<{type(self).__name__}: {state}>"


O = TypeVar("O", bound=Opaque)  # noqa: E741


def made(value: Any, kind: type[O], argument: str) -> O:
    """Demand an object of that kind that was not destroyed."""
    if not isinstance(value, kind):
        raise BadParam(argument=argument, expected=f"a {kind.__name__}", got=repr(value))
    if value.destroyed:
        raise BadParam(argument=argument, expected=f"a {kind.__name__}", got="one that was destroyed")
    return value


def value_of(value: Any, kind: type[Opaque], argument: str) -> Any:
    """Return what an object was set to."""
    if type(value) is kind and value.value is not None:
        return value.value
    if made(value, kind, argument).value is None:
        raise BadParam(argument=argument, expected=f"a {kind.__name__} that a Set function filled", got="a new one")
    return value.value


def creator(name: str, kind: type[O]) -> Callable[[], O]:
    """Return the Create function of a kind of object."""

    def create() -> O:
        """Return a new one, for a Set function to fill."""
        return kind()

    create.__name__ = create.__qualname__ = name
    return function(create)


def destroy(value: Any, kind: type[Opaque], argument: str) -> None:
    """End an object: whatever is called with it from now on is wrong."""
    made(value, kind, argument)
    value.value, value.destroyed = None, True


class miopenTensorDescriptor_t(Opaque):
    """Type, lengths and strides of a tensor or a filter, of 1 to 5 dims.

    Attributes
    ----------
    wide : TensorSpec
        With ones after the lengths where there are less than 3, because operations take 3 dims or more.
    """

    wide: TensorSpec

    def set(self, spec: TensorSpec) -> None:
        """Take a spec, and note what the data arguments are compared with."""
        self.value = spec
        missing = max(0, 3 - len(spec.dims))
        self.wide = TensorSpec(spec.dtype, spec.dims + (1,) * missing, spec.strides + (1,) * missing)
        self.dims, self.storage = self.wide.dims, spec.dtype.storage
        self.strides = tuple(stride * spec.dtype.itemsize for stride in self.wide.strides)


def spec_of(desc: Any, argument: str) -> TensorSpec:
    """Return what a tensor descriptor says."""
    return value_of(desc, miopenTensorDescriptor_t, argument)  # type: ignore[no-any-return]


def wide_of(desc: Any, argument: str) -> TensorSpec:
    """Return what a tensor descriptor says, with 3 dims or more."""
    value_of(desc, miopenTensorDescriptor_t, argument)
    return desc.wide  # type: ignore[no-any-return]


def tensor(handle: Handle, desc: Any, data: Any, name: str, argument: str = "") -> Any:
    """Return the data as the descriptor says it is laid out: the array itself where it is laid out so."""
    value_of(desc, miopenTensorDescriptor_t, argument or f"{name}Desc")
    try:
        if data.shape == desc.dims and data.strides == desc.strides and data.dtype == desc.storage:
            return data
    except AttributeError:
        pass
    return view(handle, desc.wide, data, name)


def view(handle: Handle, spec: TensorSpec, data: Any, name: str, offset: int = 0) -> TensorView:
    """Return data read with a layout."""
    if data is None:
        raise BadParam(argument=name, expected=f"memory of {spec.span} elements", got=None)
    return TensorView(spec, data, offset)


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
    dtype = unified(DATA_TYPES, kind, "dataType")
    if not 1 <= len(lengths) <= MAX_DIMS:
        raise NotSupported(argument="nbDims", expected=f"1 to {MAX_DIMS} dims", got=len(lengths))
    sizes = tuple(lengths)
    return TensorSpec(dtype, sizes, packed_strides(sizes) if strides is None else tuple(strides))


def layout_spec(data_type: Any, layout: Any, lengths: Sequence[int]) -> TensorSpec:
    """Return the spec of a packed tensor with one of MIOpen's layouts; lengths are in the order n, c, [d,] h, w."""
    named = parse(miopenTensorLayout_t, layout, "tensorLayout")
    known = _LAYOUTS.get(named)
    if known is None:
        raise NotSupported(
            "vectors of channels and CHWN are not supported",
            argument="tensorLayout",
            expected=", ".join(member.name for member in _LAYOUTS),
            got=named.name,
        )
    dims, format = known
    if len(lengths) != dims:
        raise BadParam(argument="num_lens", expected=f"{dims} for {named.name}", got=len(lengths))
    return make_spec(data_type, lengths, packed_strides(tuple(lengths), format))
