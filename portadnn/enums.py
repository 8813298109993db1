"""Enumerations of the cuDNN guide (chapter 3), with cuDNN's numeric values.

Every enumeration is an ``IntEnum``: members compare equal to the integers of the C headers, so values read
from logs or C sources can be used as they are. ``parse`` turns a member, its number or its name (in any case,
with or without cuDNN's prefix or a part of it) into the member and raises
:class:`~portadnn.errors.BadParam` otherwise.
"""

from __future__ import annotations

import contextlib
import operator
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from . import bfloat16
from .errors import BadParam, shown

if TYPE_CHECKING:
    import numpy.typing as npt

E = TypeVar("E", bound="DnnEnum")


def plain_number(value: Any, c_name: str = "") -> int | None:
    """Return a plain integer, or the number of a member of the enumeration called `c_name`; None for anything else.

    Members of another enumeration are integers to Python, but their numbers mean something else here.
    """
    kind = type(value)
    if kind is bool or (hasattr(kind, "__members__") and kind.__name__ != c_name):  # C++ bindings' have it, too
        return None
    try:
        return int.__index__(operator.index(value))
    except Exception:  # a user's __index__ may raise anything
        return None


def named(value: Any) -> str:
    """Return a value as messages show it, a member of an enumeration with the enumeration's name."""
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else shown(value)


class DnnEnum(IntEnum):
    """An enumeration whose members can be given by member, number or name."""

    @classmethod
    def parse(cls: type[E], value: Any, argument: str = "value") -> E:
        """Return the member that `value` stands for.

        Raises
        ------
        BadParam
            `value` is no member, member number or member name of this enumeration. A member of another one is none,
            except of the same enumeration under its name in C.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            member = cls._named(value)
            if member is not None:
                return member
        else:
            number = plain_number(value, cls.c_enumeration())
            if number is not None and number in cls._value2member_map_:
                return cls(number)
        names = ", ".join(member.name for member in cls)
        raise BadParam(argument=argument, expected=f"a {cls.__name__} ({names})", got=named(value))

    @classmethod
    def c_enumeration(cls) -> str:
        """Return the enumeration's name in cuDNN's header, such as ``cudnnPoolingMode_t``."""
        return _C_ENUMERATIONS.get(cls.__name__, f"cudnn{cls.__name__}_t")

    @classmethod
    def _named(cls: type[E], text: str) -> E | None:
        """Return the member with that name, which may begin with words of cuDNN's prefix."""
        name = str.upper(text)
        for member in cls:
            if name == member.name:
                return member
        for member in cls:
            if name.endswith("_" + member.name) and ("_" + member.c_name).endswith("_" + name):
                return member
        return None

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header, such as ``CUDNN_POOLING_MAX``."""
        prefix = _C_PREFIXES[type(self).__name__]
        return prefix + (self.name.removeprefix("ALGO_") if prefix.endswith("_ALGO_") else self.name)

    def __str__(self) -> str:
        return self.name

    __hash__ = int.__hash__  # in C: enumerations are part of every plan lookup


_C_PREFIXES = {
    "DataType": "CUDNN_DATA_",
    "TensorFormat": "CUDNN_TENSOR_",
    "ConvolutionMode": "CUDNN_",
    "NanPropagation": "CUDNN_",
    "OpTensorOp": "CUDNN_OP_TENSOR_",
    "ReduceTensorOp": "CUDNN_REDUCE_TENSOR_",
    "ReduceTensorIndices": "CUDNN_REDUCE_TENSOR_",
    "ActivationMode": "CUDNN_ACTIVATION_",
    "PoolingMode": "CUDNN_POOLING_",
    "SoftmaxAlgorithm": "CUDNN_SOFTMAX_",
    "SoftmaxMode": "CUDNN_SOFTMAX_MODE_",
    "BatchNormMode": "CUDNN_BATCHNORM_",
    "LRNMode": "CUDNN_LRN_",
    "DivNormMode": "CUDNN_DIVNORM_",
    "NormMode": "CUDNN_",
    "MathType": "CUDNN_",
    "ConvolutionFwdAlgo": "CUDNN_CONVOLUTION_FWD_ALGO_",
    "ConvolutionBwdDataAlgo": "CUDNN_CONVOLUTION_BWD_DATA_ALGO_",
    "ConvolutionBwdFilterAlgo": "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_",
    "ConvolutionFwdPreference": "CUDNN_CONVOLUTION_FWD_",
    "ConvolutionBwdDataPreference": "CUDNN_CONVOLUTION_BWD_DATA_",
    "ConvolutionBwdFilterPreference": "CUDNN_CONVOLUTION_BWD_FILTER_",
    "SamplerType": "CUDNN_SAMPLER_",
    "Status": "CUDNN_STATUS_",
}


_C_ENUMERATIONS = {  # of which C's names are not made of ours
    "ReduceTensorIndicesType": "cudnnIndicesType_t",
    "NormMode": "cudnnBackendNormMode_t",
}


FLOATS = "float16, bfloat16, float32 or float64"  # as messages name the types that operations compute in


class Limits(NamedTuple):
    """What numbers of a type can be: as ``numpy.finfo``, which does not know all of them.

    Attributes
    ----------
    eps : float
        From 1 to the next number.
    lowest : float
        The lowest finite number.
    smallest_normal, smallest_subnormal : float
        The smallest positive numbers, with all digits and with one.
    """

    eps: float
    lowest: float
    smallest_normal: float
    smallest_subnormal: float


class DataType(DnnEnum):
    """Storage type of a tensor or filter (guide section 3.11; BFLOAT16 is of cuDNN 8).

    The integer types (of cuDNN 6) are those of indices and of byte buffers; operations compute in the others.
    """

    FLOAT = 0
    DOUBLE = 1
    HALF = 2
    INT32 = 4
    UINT8 = 6
    BFLOAT16 = 9

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with the same storage; that of BFLOAT16 is ``ml_dtypes.bfloat16``.

        Raises
        ------
        NotSupported
            BFLOAT16, and ml_dtypes is not installed.
        """
        return bfloat16.numpy_dtype() if self is DataType.BFLOAT16 else _NUMPY_OF[self]

    @property
    def storage(self) -> np.dtype[Any]:
        """The dtype of arrays on devices: `numpy`, or two plain bytes for BFLOAT16 where ml_dtypes is missing."""
        return bfloat16.storage_dtype() if self is DataType.BFLOAT16 else _NUMPY_OF[self]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return 2 if self is DataType.BFLOAT16 else _NUMPY_OF[self].itemsize

    @property
    def type_name(self) -> str:
        """The name of the NumPy dtype, such as ``"float32"``."""
        return "bfloat16" if self is DataType.BFLOAT16 else _NUMPY_OF[self].name

    @property
    def code(self) -> str:
        """The name in problem lines and capability tables, such as ``"f32"``."""
        return _CODES[self]

    @classmethod
    def of_code(cls, code: str) -> DataType | None:
        """Return the data type with that name in problem lines, or None."""
        return _OF_CODE.get(code)

    @property
    def is_float(self) -> bool:
        """Whether operations compute in this type."""
        return self not in (DataType.INT32, DataType.UINT8)

    @property
    def limits(self) -> Limits:
        """The type's precision and range."""
        if self is DataType.BFLOAT16:
            return Limits(2.0**-7, -(2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-133)
        info: np.finfo[Any] = np.finfo(_NUMPY_OF[self])
        return Limits(*map(float, (info.eps, info.min, info.smallest_normal, info.smallest_subnormal)))

    @property
    def accumulator(self) -> DataType:
        """The type in which sums are kept: float32 for the types of 16 bits, the type itself otherwise."""
        return DataType.FLOAT if self in (DataType.HALF, DataType.BFLOAT16) else self

    def stored(self, values: npt.ArrayLike) -> np.ndarray[Any, Any]:
        """Return numbers rounded to this type, as an array of the dtype `storage`."""
        if self is DataType.BFLOAT16:
            return bfloat16.rounded(values).view(self.storage)
        return np.asarray(values).astype(self.storage, copy=False)

    @classmethod
    def of(cls, dtype: npt.DTypeLike | DataType | int, argument: str = "dtype") -> DataType:
        """Return the data type of a NumPy dtype, a name such as ``"float16"``, or a member's name or number.

        Raises
        ------
        BadParam
            The dtype is none that portadnn computes in.
        """
        if isinstance(dtype, cls):
            found: DataType | None = dtype
        elif isinstance(dtype, int):
            number = plain_number(dtype, cls.c_enumeration())
            found = next((member for member in cls if member == number), None)
        else:
            found = cls._stored_as(dtype)
        if found is None or not found.is_float:
            expected = f"{FLOATS}, as a DataType or NumPy's" if isinstance(dtype, Enum) else FLOATS
            raise BadParam(argument=argument, expected=expected, got=named(dtype))
        return found

    @classmethod
    def of_array(cls, dtype: np.dtype[Any], argument: str) -> DataType:
        """Return the data type of an array, which may hold indices or bytes.

        Raises
        ------
        BadParam
            The dtype is none that portadnn stores.
        """
        found = cls._stored_as(dtype)
        if found is None:
            raise BadParam(argument=argument, expected=FLOATS, got=shown(dtype))
        return found

    @classmethod
    def _stored_as(cls, dtype: Any) -> DataType | None:
        found = cls._named(dtype) if isinstance(dtype, str) else None
        if found is None and dtype is not None:  # None is float64 to NumPy
            with contextlib.suppress(Exception):  # NumPy asks objects for an attribute
                kind = np.dtype(dtype)
                found = cls.BFLOAT16 if bfloat16.is_bfloat16(kind) else _DATA_TYPE_OF.get(kind)
        return found


_NUMPY_OF: dict[DataType, np.dtype[Any]] = {
    DataType.FLOAT: np.dtype(np.float32),
    DataType.DOUBLE: np.dtype(np.float64),
    DataType.HALF: np.dtype(np.float16),
    DataType.INT32: np.dtype(np.int32),
    DataType.UINT8: np.dtype(np.uint8),
}
_CODES = {
    DataType.FLOAT: "f32",
    DataType.DOUBLE: "f64",
    DataType.HALF: "f16",
    DataType.BFLOAT16: "bf16",
    DataType.INT32: "i32",
    DataType.UINT8: "u8",
}
_OF_CODE = {code: dtype for dtype, code in _CODES.items()}
_DATA_TYPE_OF: dict[np.dtype[Any], DataType] = {dtype: member for member, dtype in _NUMPY_OF.items()}


class TensorFormat(DnnEnum):
    """Order of the dimensions in memory (guide section 3.12)."""

    NCHW = 0
    NHWC = 1


class ConvolutionMode(DnnEnum):
    """Whether the filter is flipped (guide section 3.13)."""

    CONVOLUTION = 0
    CROSS_CORRELATION = 1


class MathType(DnnEnum):
    """Which units and roundings a convolution may use (cudnnMathType_t of cuDNN 7 and later).

    DEFAULT and TENSOR_OP keep float32 data exact and may put half data on tensor cores, whose sums are float32.
    TENSOR_OP_ALLOW_CONVERSION, alias ``"tf32"``, also permits to round float32 data to TF32: 11 significant bits.
    FMA forbids tensor cores. ``"fp32"`` is an alias of DEFAULT.
    """

    DEFAULT = 0
    TENSOR_OP = 1
    TENSOR_OP_ALLOW_CONVERSION = 2
    FMA = 3

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header, such as ``CUDNN_TENSOR_OP_MATH``."""
        words = self.name.partition("_ALLOW")
        return f"CUDNN_{words[0]}_MATH{words[1]}{words[2]}"

    @classmethod
    def _named(cls, text: str) -> MathType | None:
        name = str.upper(text)
        alias = {"FP32": cls.DEFAULT, "TF32": cls.TENSOR_OP_ALLOW_CONVERSION}.get(name)
        if alias is not None:
            return alias
        for member in cls:
            if name in (member.name, member.c_name, member.c_name.removeprefix("CUDNN_")):
                return member
        return None


class NanPropagation(DnnEnum):
    """Whether NaN passes through maxima and clipping (guide section 3.6)."""

    NOT_PROPAGATE_NAN = 0
    PROPAGATE_NAN = 1


class OpTensorOp(DnnEnum):
    """The operation of :func:`~portadnn.op_tensor` (guide section 3.9; SQRT and NOT came with cuDNN 6 and 7)."""

    ADD = 0
    MUL = 1
    MIN = 2
    MAX = 3
    SQRT = 4
    NOT = 5

    @property
    def unary(self) -> bool:
        """Whether the operation has one operand: `b` and `alpha2` are not read."""
        return self in (OpTensorOp.SQRT, OpTensorOp.NOT)


class ReduceTensorOp(DnnEnum):
    """The operation of :func:`~portadnn.reduce_tensor` (cudnnReduceTensorOp_t of cuDNN 6)."""

    ADD = 0
    MUL = 1
    MIN = 2
    MAX = 3
    AMAX = 4
    AVG = 5
    NORM1 = 6
    NORM2 = 7
    MUL_NO_ZEROS = 8


class ReduceTensorIndices(DnnEnum):
    """Whether :func:`~portadnn.reduce_tensor` says where extremes are (cudnnReduceTensorIndices_t)."""

    NO_INDICES = 0
    FLATTENED_INDICES = 1


class ReduceTensorIndicesType(DnnEnum):
    """Type of such indices (cudnnIndicesType_t)."""

    INDICES_32BIT = 0
    INDICES_64BIT = 1
    INDICES_16BIT = 2
    INDICES_8BIT = 3

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header, such as ``CUDNN_32BIT_INDICES``: one that Python would not take."""
        return f"CUDNN_{self.name.removeprefix('INDICES_')}_INDICES"

    @classmethod
    def _named(cls, text: str) -> ReduceTensorIndicesType | None:
        names = text.upper(), f"CUDNN_{text.upper()}"
        return next((member for member in cls if member.name in names or member.c_name in names), None)


class ActivationMode(DnnEnum):
    """The activation function (guide section 3.26).

    ELU, IDENTITY and SWISH are of later versions of cuDNN (6, 7 and 8).
    """

    SIGMOID = 0
    RELU = 1
    TANH = 2
    CLIPPED_RELU = 3
    ELU = 4
    IDENTITY = 5
    SWISH = 6


class PoolingMode(DnnEnum):
    """The pooling method (guide section 3.25)."""

    MAX = 0
    AVERAGE_COUNT_INCLUDE_PADDING = 1
    AVERAGE_COUNT_EXCLUDE_PADDING = 2


class SoftmaxAlgorithm(DnnEnum):
    """The softmax formula (guide section 3.23)."""

    FAST = 0
    ACCURATE = 1
    LOG = 2


class SoftmaxMode(DnnEnum):
    """What a softmax sums over: c, h, w of an image, or c at one place (guide section 3.24)."""

    INSTANCE = 0
    CHANNEL = 1


class BatchNormMode(DnnEnum):
    """What a batch normalisation normalises together (guide section 3.29; SPATIAL_PERSISTENT is of cuDNN 7)."""

    PER_ACTIVATION = 0
    SPATIAL = 1
    SPATIAL_PERSISTENT = 2  # computes what SPATIAL does


class LRNMode(DnnEnum):
    """What local response normalisation runs along: the channels (guide section 3.27)."""

    CROSS_CHANNEL_DIM1 = 0


class DivNormMode(DnnEnum):
    """Where divisive normalisation has its means from: the caller (guide section 3.28)."""

    PRECOMPUTED_MEANS = 0


class NormMode(DnnEnum):
    """What a normalisation normalises together (cudnnBackendNormMode_t of cuDNN 8 and 9)."""

    LAYER_NORM = 0
    INSTANCE_NORM = 1
    GROUP_NORM = 3
    RMS_NORM = 4


class ConvolutionFwdAlgo(DnnEnum):
    """Forward convolution algorithms (guide section 3.15)."""

    IMPLICIT_GEMM = 0
    IMPLICIT_PRECOMP_GEMM = 1
    GEMM = 2
    DIRECT = 3
    FFT = 4
    FFT_TILING = 5
    WINOGRAD = 6
    WINOGRAD_NONFUSED = 7


class ConvolutionBwdDataAlgo(DnnEnum):
    """Backward-data convolution algorithms (guide section 3.21)."""

    ALGO_0 = 0
    ALGO_1 = 1
    FFT = 2
    FFT_TILING = 3
    WINOGRAD = 4
    WINOGRAD_NONFUSED = 5


class ConvolutionBwdFilterAlgo(DnnEnum):
    """Backward-filter convolution algorithms (guide section 3.18)."""

    ALGO_0 = 0
    ALGO_1 = 1
    FFT = 2
    ALGO_3 = 3
    WINOGRAD = 4
    WINOGRAD_NONFUSED = 5
    FFT_TILING = 6


class ConvolutionFwdPreference(DnnEnum):
    """How much workspace an algorithm may need (guide section 3.14)."""

    NO_WORKSPACE = 0
    PREFER_FASTEST = 1
    SPECIFY_WORKSPACE_LIMIT = 2


class ConvolutionBwdDataPreference(DnnEnum):
    """How much workspace an algorithm may need (guide section 3.20)."""

    NO_WORKSPACE = 0
    PREFER_FASTEST = 1
    SPECIFY_WORKSPACE_LIMIT = 2


class ConvolutionBwdFilterPreference(DnnEnum):
    """How much workspace an algorithm may need (guide section 3.17)."""

    NO_WORKSPACE = 0
    PREFER_FASTEST = 1
    SPECIFY_WORKSPACE_LIMIT = 2


class SamplerType(DnnEnum):
    """How a spatial transformer reads between pixels (guide section 3.36)."""

    BILINEAR = 0


class Status(DnnEnum):
    """Return statuses of cuDNN v5 (guide section 3.2), carried by every :class:`~portadnn.DnnError`."""

    SUCCESS = 0
    NOT_INITIALIZED = 1
    ALLOC_FAILED = 2
    BAD_PARAM = 3
    INTERNAL_ERROR = 4
    INVALID_VALUE = 5
    ARCH_MISMATCH = 6
    MAPPING_ERROR = 7
    EXECUTION_FAILED = 8
    NOT_SUPPORTED = 9
    LICENSE_ERROR = 10
