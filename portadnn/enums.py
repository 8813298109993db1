"""Enumerations of the cuDNN guide (chapter 3), with cuDNN's numeric values.

Every enumeration is an ``IntEnum``: members compare equal to the integers of the C headers, so values read
from logs or C sources can be used as they are. ``parse`` turns a member, its number or its name (in any case,
with or without cuDNN's prefix or a part of it) into the member and raises
:class:`~portadnn.errors.BadParam` otherwise.
"""

from __future__ import annotations

from .data_type import FLOATS, DataType, Limits
from .enumeration import DnnEnum, named, plain_number
from .errors import public

__all__ = [
    "FLOATS",
    "ActivationMode",
    "BatchNormMode",
    "ConvolutionBwdDataAlgo",
    "ConvolutionBwdDataPreference",
    "ConvolutionBwdFilterAlgo",
    "ConvolutionBwdFilterPreference",
    "ConvolutionFwdAlgo",
    "ConvolutionFwdPreference",
    "ConvolutionMode",
    "DataType",
    "DivNormMode",
    "DnnEnum",
    "LRNMode",
    "Limits",
    "MathType",
    "NanPropagation",
    "OpTensorOp",
    "PoolingMode",
    "ReduceTensorIndices",
    "ReduceTensorIndicesType",
    "ReduceTensorOp",
    "SamplerType",
    "SoftmaxAlgorithm",
    "SoftmaxMode",
    "Status",
    "TensorFormat",
    "get_error_string",
    "named",
    "plain_number",
]


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

    DEFAULT and TENSOR_OP may put half data on tensor cores, whose sums are float32. float32 data keep float32's
    accuracy: tensor cores may take each number as the sum of two rounded ones.
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


_STRINGS = {
    0: "success",
    1: "the library was not initialised",
    2: "resource allocation failed",
    3: "an incorrect value or parameter was passed",
    4: "an internal operation failed",
    5: "invalid value",
    6: "the device lacks a required feature",
    7: "access to device memory failed",
    8: "the device program failed to execute",
    9: "the requested functionality is not supported",
    10: "a licence is required",
}


@public
def get_error_string(status: int) -> str:
    """Return the name and meaning of a status number (guide section 4.2).

    Raises
    ------
    BadParam
        `status` is none of the numbers of guide section 3.2.
    """
    member = Status.parse(status, "status")
    return f"{member.name}: {_STRINGS[int(member)]}"
