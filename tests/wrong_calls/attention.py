"""The words of right calls of multi-head attention: two heads, queries of 4 numbers, projections to 2 and to 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn

from .scene import WORKSPACE, Scene

Word = Callable[[Scene], Any]

QUERIES, KEYS, PARAMETERS = (2, 1, 1, 4), (3, 1, 1, 4), (64,)
SIZES = (2, 0.5, 0, 0, 0, None, None, 4, 4, 4, 2, 2, 2, 4, 2, 3, 1, 1)  # of cudnnSetAttnDescriptor, from nHeads on


def _array(dims: tuple[int, ...]) -> Word:
    return lambda s: s.array(dims)


def _ints(dims: tuple[int, ...]) -> Word:
    return lambda s: s.array(dims, np.int32)


_NATIVE: dict[str, Word] = {
    **dict.fromkeys(("q", "dq", "dout", "out", "residuals"), _array(QUERIES)),
    **dict.fromkeys(("k", "v", "dk", "dv"), _array(KEYS)),
    **dict.fromkeys(("w", "dw"), _array(PARAMETERS)),
    "attn": lambda s: dnn.AttnDescriptor(2, 0.5, 2, 2, 2, 4),
    "lengths_q": _ints((1,)),
    "lengths_kv": _ints((1,)),
    "windows": _ints((2, 2)),
    "sizes": lambda s: (4, 4, 4),
    "kind": lambda s: 0,
}
NATIVE = dict.fromkeys(
    (
        "multi_head_attn_forward",
        "multi_head_attn_backward_data",
        "multi_head_attn_backward_weights",
        "get_multi_head_attn_buffers",
        "get_multi_head_attn_weights",
    ),
    _NATIVE,
)


def attention(scene: Scene) -> Any:
    """Return an attention descriptor."""
    desc = cudnn.cudnnCreateAttnDescriptor()
    cudnn.cudnnSetAttnDescriptor(desc, 0, *SIZES)
    return desc


def _sequences(dims: tuple[int, ...]) -> Word:
    def make(scene: Scene) -> Any:
        desc = cudnn.cudnnCreateSeqDataDescriptor()
        cudnn.cudnnSetSeqDataDescriptor(desc, 0, 4, dims, (0, 1, 2, 3), 1, dims[:1], None)
        return desc

    return make


DESCRIPTORS: dict[str, Word] = {"cudnnAttnDescriptor_t": attention, "cudnnSeqDataDescriptor_t": _sequences(QUERIES)}

_CALL: dict[str, Word] = {
    "attnDesc": attention,
    **dict.fromkeys(("qDesc", "oDesc", "doDesc", "dqDesc"), _sequences(QUERIES)),
    **dict.fromkeys(("kDesc", "vDesc", "dkDesc", "dvDesc"), _sequences(KEYS)),
    **dict.fromkeys(("queries", "residuals", "out", "dout", "dqueries"), _array(QUERIES)),
    **dict.fromkeys(("keys", "values", "dkeys", "dvalues"), _array(KEYS)),
    **dict.fromkeys(("weights", "dweights"), _array(PARAMETERS)),
    **dict.fromkeys(("devSeqLengthsQO", "devSeqLengthsDQDO", "devSeqLengthsKV", "devSeqLengthsDKDV"), _ints((1,))),
    "loWinIdx": lambda s: (0, 0),
    "hiWinIdx": lambda s: (3, 2),
    "currIdx": lambda s: -1,
    "weightSizeInBytes": lambda s: 256,
    "workSpaceSizeInBytes": lambda s: WORKSPACE,
}
_NAMES = "nHeads smScaler dataType computePrec mathType attnDropoutDesc postDropoutDesc qSize kSize vSize"
_MORE = "qProjSize kProjSize vProjSize oProjSize qoMaxSeqLength kvMaxSeqLength maxBatchSize maxBeamSize"
_SET_ATTENTION = dict(zip([*_NAMES.split(), *_MORE.split()], SIZES, strict=True))
CUDNN: dict[str, dict[str, Word]] = {
    **dict.fromkeys(
        (
            "cudnnMultiHeadAttnForward",
            "cudnnMultiHeadAttnBackwardData",
            "cudnnMultiHeadAttnBackwardWeights",
            "cudnnGetMultiHeadAttnBuffers",
        ),
        _CALL,
    ),
    "cudnnGetMultiHeadAttnWeights": {**_CALL, "wDesc": lambda s: cudnn.cudnnCreateTensorDescriptor()},
    "cudnnSetAttnDescriptor": {
        "attnMode": lambda s: 0,
        **{name: (lambda s, v=value: v) for name, value in _SET_ATTENTION.items()},  # type: ignore[misc]
    },
    "cudnnSetSeqDataDescriptor": {
        "nbDims": lambda s: 4,
        "dimA": lambda s: QUERIES,
        "axes": lambda s: (0, 1, 2, 3),
        "seqLengthArraySize": lambda s: 1,
        "seqLengthArray": lambda s: (2,),
    },
    "cudnnGetSeqDataDescriptor": {"nbDimsRequested": lambda s: 4, "seqLengthSizeRequested": lambda s: 1},
}
