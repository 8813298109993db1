"""Types, dims and strides of tensors, their text form, and the checks that hold for every tensor."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .enums import FLOATS, DataType, TensorFormat
from .errors import BadParam, NotSupported, shown

ALIGNMENT = 16  # bytes: what vector loads need
MAX_DIMS = 8  # CUDNN_DIM_MAX
MAX_SPAN = 2**48  # elements of one tensor with its gaps: no address space holds more
MAX_WORD = 500  # characters of a value in a problem line

_TENSOR = re.compile(
    r"(?P<dtype>[a-z]+\d+):(?P<dims>\d+(?:x\d+)*)(?::(?P<format>nhwc)|/(?P<strides>\d+(?:,\d+)*))?(?:@(?P<alignment>\d+))?"
)


_INTEGERS = frozenset((int,))


@functools.lru_cache(4096)
def packed_strides(dims: tuple[int, ...], format: TensorFormat = TensorFormat.NCHW) -> tuple[int, ...]:
    """Return the strides, in elements, of a gapless tensor with `dims` in logical (n, c, ...) order."""
    order = list(range(len(dims)))
    if format is TensorFormat.NHWC and len(dims) > 2:
        order = [0, *range(2, len(dims)), 1]
    return strides_in(dims, order)


def strides_in(dims: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a gapless tensor whose axes lie in `order`, the slowest first."""
    strides = [0] * len(dims)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(dims[axis], 1)
    return tuple(strides)


@dataclass(frozen=True)
class TensorSpec:
    """Type, dims and strides (in elements) of a tensor, and the alignment of its first element in bytes.

    Dims and strides are in logical order (n, c, [d,] h, w) whatever the layout; filters (k, c, [t,] r, s).
    """

    dtype: DataType
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int = ALIGNMENT

    def __post_init__(self) -> None:
        if type(self.dtype) is not DataType:
            raise BadParam(argument="dtype", expected="a DataType", got=shown(self.dtype), call="TensorSpec")
        for name, values in (("dims", self.dims), ("strides", self.strides), ("alignment", (self.alignment,))):
            if type(values) is not tuple or not _INTEGERS.issuperset(map(type, values)):
                raise BadParam(argument=name, expected="integers", got=shown(values), call="TensorSpec")

    @classmethod
    def packed(cls, dtype: DataType, dims: tuple[int, ...], format: TensorFormat = TensorFormat.NCHW) -> TensorSpec:
        """Return the gapless tensor of this type and shape."""
        return cls(dtype, dims, packed_strides(dims, format))

    @functools.cached_property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.dims)

    @functools.cached_property
    def span(self) -> int:
        """Elements from the first to the last one, gaps included; 0 for an empty tensor."""
        if self.size == 0:
            return 0
        return 1 + sum((d - 1) * s for d, s in zip(self.dims, self.strides, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take, without gaps."""
        return self.size * self.dtype.itemsize

    def same_strides(self, other: TensorSpec) -> bool:
        """Tell whether both lay their elements out alike; the stride of a dimension of one does not count."""
        return self.dims == other.dims and all(
            a == b or d <= 1 for d, a, b in zip(self.dims, self.strides, other.strides, strict=True)
        )

    def is_packed(self, format: TensorFormat = TensorFormat.NCHW) -> bool:
        """Tell whether the tensor is gapless in `format`."""
        return self.size == 0 or self.same_strides(TensorSpec(self.dtype, self.dims, packed_strides(self.dims, format)))

    @functools.cached_property
    def format(self) -> TensorFormat | None:
        """The packed format the tensor has (NCHW where both fit), or None for a strided one."""
        for format in TensorFormat:
            if self.is_packed(format):
                return format
        return None

    @functools.cached_property
    def overlapping(self) -> bool:
        """Tell whether two different indices share an address (guide section 2.3.7).

        Exact, where the guide's rule of sorted strides is not: interleaved dimensions may be free of overlap.
        """
        if self.size == 0:
            return False
        axes = sorted(((s, d - 1) for d, s in zip(self.dims, self.strides, strict=True) if d > 1), reverse=True)
        return _meets_itself(axes)

    def like(self, dims: tuple[int, ...]) -> TensorSpec:
        """Return the packed tensor of other `dims` with this one's type and, where it has one, format."""
        return TensorSpec.packed(self.dtype, dims, self.format or TensorFormat.NCHW)

    def __str__(self) -> str:
        text = f"{self.dtype.code}:{'x'.join(map(str, self.dims))}"
        if self.strides != packed_strides(self.dims):
            if self.strides == packed_strides(self.dims, TensorFormat.NHWC):
                text += ":nhwc"
            else:
                text += "/" + ",".join(map(str, self.strides))
        if self.alignment != ALIGNMENT:
            text += f"@{self.alignment}"
        return text

    @classmethod
    def parse(cls, text: str, argument: str = "tensor") -> TensorSpec:
        """Read the text form back.

        Raises
        ------
        BadParam
            `text` is not a tensor's text form.
        """
        match = _TENSOR.fullmatch(text) if isinstance(text, str) and len(text) < MAX_WORD else None
        dtype = DataType.of_code(match["dtype"]) if match else None
        if match is None or dtype is None:
            raise BadParam(argument=argument, expected="a tensor such as f32:8x64x56x56:nhwc", got=shown(text))
        dims = tuple(map(int, match["dims"].split("x")))
        alignment = int(match["alignment"] or ALIGNMENT)
        if alignment not in (1, 2, 4, 8, 16) or alignment < dtype.itemsize:
            raise BadParam(argument=argument, expected="an alignment of the element's bytes up to 16", got=shown(text))
        strides = packed_strides(dims, TensorFormat.NHWC if match["format"] else TensorFormat.NCHW)
        if match["strides"]:
            strides = tuple(map(int, match["strides"].split(",")))
            if len(strides) != len(dims):
                raise BadParam(argument=argument, expected=f"{len(dims)} strides", got=shown(text))
        return cls(dtype, dims, strides, alignment)


def _meets_itself(axes: list[tuple[int, int]]) -> bool:
    """Tell whether a combination of steps leads back to where it began.

    `axes` lists (stride, largest step), longest stride first. Two indices share an address when the steps
    between them, not all 0, add up to 0. Most layouts are settled without search: there each stride is longer
    than all steps along the shorter strides together.
    """
    reach = [0] * (len(axes) + 1)  # reach[k]: farthest that the axes from k on lead
    divisor = [0] * (len(axes) + 1)
    for k in range(len(axes) - 1, -1, -1):
        stride, most = axes[k]
        reach[k] = reach[k + 1] + stride * most
        divisor[k] = math.gcd(divisor[k + 1], stride)
    if all(stride > reach[k + 1] for k, (stride, _) in enumerate(axes)):
        return False
    budget = 10_000

    def search(k: int, rest: int, moved: bool) -> bool:
        """Tell whether the axes from k on can add up to -rest; `moved` when an earlier one took a step."""
        nonlocal budget
        budget -= 1
        if budget < 0:
            return True  # undecided: refused, as the guide's rule would
        if k == len(axes):
            return moved and rest == 0
        stride, most = axes[k]
        if abs(rest) > reach[k] or (rest % divisor[k] if divisor[k] else rest):
            return False
        if stride == 0:
            return rest == 0  # this axis moves without leading anywhere
        # by symmetry the first step taken is forward
        least = max(-most if moved else 0, -((rest + reach[k + 1]) // stride))
        greatest = min(most, (reach[k + 1] - rest) // stride)
        steps = itertools.chain(range(max(least, 0), greatest + 1), range(min(greatest, -1), least - 1, -1))
        return any(search(k + 1, rest + step * stride, moved or step != 0) for step in steps)

    return search(0, 0, False)


FLOAT_TYPES = tuple(dtype for dtype in DataType if dtype.is_float)
IMAGE_RANKS = (3, MAX_DIMS)  # numbers of dims


def check_spec(
    spec: TensorSpec,
    name: str,
    *,
    output: bool = False,
    types: tuple[DataType, ...] = FLOAT_TYPES,
    ranks: tuple[int, int] = IMAGE_RANKS,
) -> None:
    """Check what holds for every tensor, of which there are `ranks` as the least and the largest numbers of dims.

    Raises
    ------
    BadParam
        A type other than `types`, wrong number of dims or strides, or a negative dim.
    NotSupported
        More than 8 dims, negative strides, more than 2**48 elements, or an output that overlaps itself.
    """
    if spec.dtype not in types:
        wanted = FLOATS if types == FLOAT_TYPES else " or ".join(dtype.type_name for dtype in types)
        raise BadParam(argument=f"{name}.dtype", expected=wanted, got=spec.dtype.type_name)
    if len(spec.dims) != len(spec.strides):
        raise BadParam(argument=f"{name}.strides", expected=f"{len(spec.dims)} strides", got=spec.strides)
    least, most = ranks
    if len(spec.dims) < least or len(spec.dims) > most < MAX_DIMS:
        expected = f"{least} to {most} dims" if least < most else f"{least} dims"
        raise BadParam(argument=f"{name}.dims", expected=expected, got=f"{len(spec.dims)}: {spec.dims}")
    if len(spec.dims) > MAX_DIMS:
        raise NotSupported(argument=f"{name}.dims", expected=f"at most {MAX_DIMS} dims", got=spec.dims)
    if min(spec.dims) < 0:
        raise BadParam(argument=f"{name}.dims", expected="dims >= 0", got=spec.dims)
    if min(spec.strides) < 0:
        raise NotSupported(
            "negative strides are not supported; copy the tensor first",
            argument=f"{name}.strides",
            expected="strides >= 0",
            got=spec.strides,
        )
    if spec.span > MAX_SPAN:
        raise NotSupported(argument=name, expected="at most 2**48 elements with gaps", got=spec.span)
    if output and spec.overlapping:
        raise NotSupported(
            "an output must not overlap itself", argument=name, expected="strides without overlap", got=spec
        )


def check_raw(spec: TensorSpec, name: str, least: int = 0) -> None:
    """Check a byte buffer, of which at least that many bytes are needed.

    Raises
    ------
    BadParam
        Not bytes, not packed in one dim, not aligned to 16 bytes, or too small.
    """
    if spec.dtype is not DataType.UINT8:
        raise BadParam(argument=f"{name}.dtype", expected="uint8", got=spec.dtype.type_name)
    if len(spec.dims) != 1 or (spec.dims[0] > 1 and spec.strides != (1,)):
        raise BadParam(
            argument=name, expected="packed bytes in one dim", got=f"{spec.dims} with strides {spec.strides}"
        )
    if spec.alignment != ALIGNMENT:
        raise BadParam(argument=name, expected=f"an address that is a multiple of {ALIGNMENT} bytes", got=spec)
    if spec.size < least:
        raise BadParam(argument=name, expected=f"at least {least} bytes", got=f"{spec.size} bytes")


def check_same(
    a: TensorSpec,
    name_a: str,
    b: TensorSpec,
    name_b: str,
    *,
    strides: bool = False,
    error: type[BadParam] | type[NotSupported] = BadParam,
) -> None:
    """Demand the same type and dims (and strides) of two tensors; raise `error` otherwise."""
    if a.dtype is not b.dtype:
        raise error(argument=f"{name_b}.dtype", expected=f"{a.dtype} as {name_a}", got=b.dtype)
    if a.dims != b.dims:
        raise error(argument=f"{name_b}.dims", expected=f"{a.dims} as {name_a}", got=b.dims)
    if strides and not a.same_strides(b):
        raise error(argument=f"{name_b}.strides", expected=f"{a.strides} as {name_a}", got=b.strides)
