"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnSeqDataAxis_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_SEQDATA_TIME_DIM = 0
    CUDNN_SEQDATA_BATCH_DIM = 1
    CUDNN_SEQDATA_BEAM_DIM = 2
    CUDNN_SEQDATA_VECT_DIM = 3


CUDNN_SEQDATA_TIME_DIM = cudnnSeqDataAxis_t.CUDNN_SEQDATA_TIME_DIM
CUDNN_SEQDATA_BATCH_DIM = cudnnSeqDataAxis_t.CUDNN_SEQDATA_BATCH_DIM
CUDNN_SEQDATA_BEAM_DIM = cudnnSeqDataAxis_t.CUDNN_SEQDATA_BEAM_DIM
CUDNN_SEQDATA_VECT_DIM = cudnnSeqDataAxis_t.CUDNN_SEQDATA_VECT_DIM


class cudnnAttnQueryMap_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_ATTN_QUERYMAP_ALL_TO_ONE = 0
    CUDNN_ATTN_QUERYMAP_ONE_TO_ONE = 1


CUDNN_ATTN_QUERYMAP_ALL_TO_ONE = cudnnAttnQueryMap_t.CUDNN_ATTN_QUERYMAP_ALL_TO_ONE
CUDNN_ATTN_QUERYMAP_ONE_TO_ONE = cudnnAttnQueryMap_t.CUDNN_ATTN_QUERYMAP_ONE_TO_ONE


class cudnnMultiHeadAttnWeightKind_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_MH_ATTN_Q_WEIGHTS = 0
    CUDNN_MH_ATTN_K_WEIGHTS = 1
    CUDNN_MH_ATTN_V_WEIGHTS = 2
    CUDNN_MH_ATTN_O_WEIGHTS = 3
    CUDNN_MH_ATTN_Q_BIASES = 4
    CUDNN_MH_ATTN_K_BIASES = 5
    CUDNN_MH_ATTN_V_BIASES = 6
    CUDNN_MH_ATTN_O_BIASES = 7


CUDNN_MH_ATTN_Q_WEIGHTS = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_Q_WEIGHTS
CUDNN_MH_ATTN_K_WEIGHTS = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_K_WEIGHTS
CUDNN_MH_ATTN_V_WEIGHTS = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_V_WEIGHTS
CUDNN_MH_ATTN_O_WEIGHTS = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_O_WEIGHTS
CUDNN_MH_ATTN_Q_BIASES = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_Q_BIASES
CUDNN_MH_ATTN_K_BIASES = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_K_BIASES
CUDNN_MH_ATTN_V_BIASES = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_V_BIASES
CUDNN_MH_ATTN_O_BIASES = cudnnMultiHeadAttnWeightKind_t.CUDNN_MH_ATTN_O_BIASES
