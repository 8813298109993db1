"""Local response and divisive normalisation (guide sections 4.87 to 4.94)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..enums import DivNormMode, LRNMode
from ..errors import BadParam
from .calls import Choice
from .descriptors import LRNDescriptor, made

lrn_mode = Choice("cudnnLRNMode_t", LRNMode)
divisive_mode = Choice("cudnnDivNormMode_t", DivNormMode)


def cudnnSetLRNDescriptor(normDesc, lrnN, lrnAlpha, lrnBeta, lrnK):
    made(normDesc, LRNDescriptor, "normDesc")
    normDesc.value = dnn.LRNDescriptor(lrnN, lrnAlpha, lrnBeta, lrnK)


def cudnnGetLRNDescriptor(norm):
    return norm.get()


def _check_temporaries(temp: Any, temp2: Any) -> None:
    for name, memory in (("temp", temp), ("temp2", temp2)):
        if memory is None:
            raise BadParam(argument=name, expected="memory of xDesc's size", got="NULL")


def cudnnDivisiveNormalizationForward(handle, temp, temp2, x, means, norm, y, mode, alpha, beta):
    _check_temporaries(temp, temp2)
    how = divisive_mode(mode, "mode")
    dnn.divisive_normalization_forward(handle, x, means, norm, y, mode=how, alpha=alpha, beta=beta)


def cudnnDivisiveNormalizationBackward(handle, temp, temp2, x, means, dy, norm, dx, dMeans, mode, alpha, beta):
    _check_temporaries(temp, temp2)
    how = divisive_mode(mode, "mode")
    dnn.divisive_normalization_backward(handle, x, means, dy, norm, dx, dMeans, mode=how, alpha=alpha, beta=beta)
