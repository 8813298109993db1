"""Enumerations of the Graph API, with the names and values of cudnn-frontend's Python module.

The names are lower case, because programs say ``cudnn.data_type.HALF``. ``parse`` takes a member, its number or its
name.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from ..errors import shown
from .rules import fail

E = TypeVar("E", bound="GraphEnum")


class GraphEnum(Enum):
    """An enumeration of the Graph API: no integers, as in cudnn-frontend; ``int()`` returns a member's number."""

    @classmethod
    def parse(cls: type[E], value: Any, argument: str = "value") -> E:
        """Return the member that `value` (a member, its number or its name) stands for.

        Raises
        ------
        InvalidValue
            It stands for none (PG-NODE-004).
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and str.__str__(value) in cls.__members__:
            return cls[str.__str__(value)]
        if type(value) is int and value in cls._value2member_map_:
            return cls(value)
        raise fail(
            "PG-NODE-004",
            argument=argument,
            expected=f"a {cls.__name__} ({', '.join(cls.__members__)})",
            got=shown(value),
            fix=f"pass {cls.__name__}.{next(m.name for m in cls if m.name != 'NOT_SET')} or another member",
        )

    def __str__(self) -> str:
        return self.name

    def __int__(self) -> int:
        return int(self.value)


class heur_mode(GraphEnum):
    """How execution plans are ranked: estimated, measured, or anything that works."""

    A = 0
    B = 1
    FALLBACK = 2
    OPENSOURCE = 3


class build_plan_policy(GraphEnum):
    """Whether ``build_plans`` stops at the first plan."""

    HEURISTICS_CHOICE = 0
    ALL = 1


class numerical_note(GraphEnum):
    """What an engine does to numbers."""

    TENSOR_CORE = 1
    DOWN_CONVERT_INPUTS = 2
    REDUCED_PRECISION_REDUCTION = 3
    FFT = 4
    NONDETERMINISTIC = 5
    WINOGRAD = 6
    WINOGRAD_TILE_4x4 = 7
    WINOGRAD_TILE_6x6 = 8
    WINOGRAD_TILE_13x13 = 9
    STRICT_NAN_PROP = 10


class behavior_note(GraphEnum):
    """What else is to be known of an engine."""

    RUNTIME_COMPILATION = 1
    REQUIRES_FILTER_INT8x32_REORDER = 2
    REQUIRES_BIAS_INT8x32_REORDER = 3
    SUPPORTS_CUDA_GRAPH_NATIVE_API = 4
    CUBLASLT_DEPENDENCY = 5
    HOST_COMPUTATION = 1000  # portadnn's own: nodes are computed on the host, with copies there and back


class norm_forward_phase(GraphEnum):
    """Whether a normalisation returns its statistics."""

    NOT_SET = 0
    INFERENCE = 1
    TRAINING = 2


class reduction_mode(GraphEnum):
    """What a reduction computes."""

    NOT_SET = 0
    ADD = 1
    MUL = 2
    MIN = 3
    MAX = 4
    AMAX = 5
    AVG = 6
    NORM1 = 7
    NORM2 = 8
    MUL_NO_ZEROS = 9


class convolution_mode(GraphEnum):
    """Whether the filter is flipped."""

    NOT_SET = 0
    CONVOLUTION = 1
    CROSS_CORRELATION = 2


class tensor_reordering(GraphEnum):
    """Special orders of a tensor's elements in memory."""

    NONE = 0
    INT8x32 = 1
    F16x16 = 2
    F8_128x4 = 3


class scalar_type(GraphEnum):
    """Whether a scalar can change from one execution to the next."""

    RUNTIME_PARAM = 0
    COMPILE_TIME_CONST = 1


class reshape_mode(GraphEnum):
    """Whether a reshape keeps the memory as it lies, or the logical (row-major) order of the elements."""

    NOT_SET = 0
    VIEW_ONLY = 1
    LOGICAL = 2


class resample_mode(GraphEnum):
    """What a resampling does with its window."""

    NOT_SET = 0
    AVGPOOL_EXCLUDE_PADDING = 1
    AVGPOOL_INCLUDE_PADDING = 2
    BILINEAR = 3
    NEAREST = 4
    MAXPOOL = 5


class padding_mode(GraphEnum):
    """What lies around the image of a resampling."""

    NOT_SET = 0
    EDGE_VAL_PAD = 1
    NEG_INF_PAD = 2
    ZERO_PAD = 3


class rng_distribution(GraphEnum):
    """Distribution of random numbers."""

    NOT_SET = 0
    BERNOULLI = 1
    UNIFORM = 2
    NORMAL = 3


class diagonal_alignment(GraphEnum):
    """Which corner the diagonal of an attention mask starts from."""

    TOP_LEFT = 0
    BOTTOM_RIGHT = 1


class attention_implementation(GraphEnum):
    """How attention is built in cuDNN; here there is one way."""

    AUTO = 0
    COMPOSITE = 1
    UNIFIED = 2


class moe_grouped_matmul_mode(GraphEnum):
    """Whether a mixture's product gathers the rows of tokens, or scatters those of the result."""

    NONE = 1
    GATHER = 2
    SCATTER = 3
    COMBINE = 4


class cuda_graph_retention(GraphEnum):
    """Whether the process, or the graph that filled it, keeps alive what a CUDA graph needs."""

    PER_GRAPH = 0
    NONE = 1


class knob_type(GraphEnum):
    """What can be set of an engine."""

    NOT_SET = 0
    SWIZZLE = 1
    TILE_SIZE = 2
    EDGE = 3
    MULTIPLY = 4
    SPLIT_K_BUF = 5
    TILEK = 6
    STAGES = 7
    REDUCTION_MODE = 8
    SPLIT_K_SLC = 9
    IDX_MODE = 10
    SPECFILT = 11
    KERNEL_CFG = 12
    WORKSPACE = 13
    TILE_CGA_M = 14
    TILE_CGA_N = 15
    BLOCK_SIZE = 16
    OCCUPANCY = 17
    ARRAY_SIZE_PER_THREAD = 18
    SPLIT_COLS = 19
    TILE_ROWS = 20
    TILE_COLS = 21
    LOAD_SIZE = 22
    CTA_COUNT = 23
    STREAM_K = 24
    SPLIT_P_SLC = 25
    TILE_M = 26
    TILE_N = 27
    WARP_SPEC_CFG = 28
    SWAP_AB = 29
    INPUT_TMA_ENABLE = 30
    OUTPUT_TMA_ENABLE = 31
    TILE_CGA = 32
    SCHED_POLICY = 1000
    PACK_GQA = 1001
    SPLIT_KV = 1002
    PIPELINE_ARCH = 1003
    MMA_TILE_M = 1004
    MMA_TILE_N = 1005
    MMA_TILE_K = 1006
    CTA_GROUP = 1007
    WARPS_M = 1008
    WARPS_N = 1009


class pointwise_mode(GraphEnum):
    """What a pointwise node computes; :mod:`portadnn.graph.pointwise_modes` says how many operands each has."""

    NOT_SET = 0
    ADD = 1
    MUL = 2
    SQRT = 3
    MAX = 4
    MIN = 5
    RELU_FWD = 6
    TANH_FWD = 7
    SIGMOID_FWD = 8
    ELU_FWD = 9
    GELU_FWD = 10
    SOFTPLUS_FWD = 11
    SWISH_FWD = 12
    RELU_BWD = 13
    TANH_BWD = 14
    SIGMOID_BWD = 15
    ELU_BWD = 16
    GELU_BWD = 17
    SOFTPLUS_BWD = 18
    SWISH_BWD = 19
    ERF = 20
    IDENTITY = 21
    GELU_APPROX_TANH_BWD = 22
    GELU_APPROX_TANH_FWD = 23
    GEN_INDEX = 24
    BINARY_SELECT = 25
    EXP = 26
    LOG = 27
    NEG = 28
    MOD = 29
    POW = 30
    ABS = 31
    CEIL = 32
    COS = 33
    FLOOR = 34
    RSQRT = 35
    SIN = 36
    LOGICAL_NOT = 37
    TAN = 38
    SUB = 39
    ADD_SQUARE = 40
    DIV = 41
    CMP_EQ = 42
    CMP_NEQ = 43
    CMP_GT = 44
    CMP_GE = 45
    CMP_LT = 46
    CMP_LE = 47
    LOGICAL_AND = 48
    LOGICAL_OR = 49
    RECIPROCAL = 50


class NodeType(GraphEnum):
    """Kinds of nodes, as graphs show them; the last ones are portadnn's own."""

    COMPOSITE = 1
    CONV_FPROP = 2
    CONV_DGRAD = 3
    CONV_WGRAD = 4
    GENSTATS = 5
    RESHAPE = 6
    SLICE = 7
    CONCATENATE = 8
    TRANSPOSE = 9
    ROPE = 10
    ROPE_BWD = 11
    MOE_GROUPED_MATMUL_BWD = 12
    MATMUL = 13
    MATMUL_FP8 = 14
    POINTWISE = 15
    REDUCTION = 16
    RMSNORM = 17
    RMSNORM_BWD = 18
    LAYERNORM = 19
    LAYERNORM_BWD = 20
    ADALAYERNORM = 21
    ADALAYERNORM_BWD = 22
    INSTANCENORM = 23
    INSTANCENORM_BWD = 24
    BATCHNORM = 25
    BATCHNORM_INFERENCE = 26
    BATCHNORM_BWD = 27
    SDPA = 28
    SDPA_BWD = 29
    SDPA_FP8 = 30
    SDPA_FP8_BWD = 31
    SDPA_MXFP8 = 32
    SDPA_MXFP8_BWD = 33
    GDN = 34
    GDN_BWD = 35
    KDA = 36
    KDA_BWD = 37
    GDN2 = 38
    GDN2_BWD = 39
    MOE_GROUPED_MATMUL = 40
    BLOCK_SCALE_QUANTIZE = 41
    BLOCK_SCALE_DEQUANTIZE = 42
    GDP = 43
    GDP_BWD = 44
    GDN_SUMMARY = 45
    KDA_SUMMARY = 46
    GDN2_SUMMARY = 47
    GDP_SUMMARY = 48
    GDN_SUMMARY_BWD = 49
    KDA_SUMMARY_BWD = 50
    GDN2_SUMMARY_BWD = 51
    GDP_SUMMARY_BWD = 52
    MAMBA2 = 53
    MAMBA2_BWD = 54
    MAMBA2_SUMMARY = 55
    MAMBA2_SUMMARY_BWD = 56
    PAGED_CACHE_LOAD = 100
    BN_FINALIZE = 57
    DBN_WEIGHT = 58
    RESAMPLE = 59
    RESAMPLE_BWD = 60
    RNG = 61
    SOFTMAX = 62
