"""Softmax."""

from __future__ import annotations

from typing import Any

from ..enums import DataType, SoftmaxAlgorithm, SoftmaxMode
from ..errors import NotSupported
from ..ops.softmax import softmax_backward, softmax_forward
from .descriptors import spec_of
from .generated.enums import miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t
from .names import parse


def _no_bfloat16(desc: Any, argument: str) -> None:
    if spec_of(desc, argument).dtype is DataType.BFLOAT16:
        raise NotSupported("the form _V2 takes it", argument=argument, expected="no miopenBFloat16", got="one")


def _choice(algorithm: Any, mode: Any) -> tuple[SoftmaxAlgorithm, SoftmaxMode]:
    return (
        SoftmaxAlgorithm(parse(miopenSoftmaxAlgorithm_t, algorithm, "algorithm").value),
        SoftmaxMode(parse(miopenSoftmaxMode_t, mode, "mode").value),
    )


def miopenSoftmaxForward(handle, x, y, xDesc, alpha, beta):
    _no_bfloat16(xDesc, "xDesc")
    softmax_forward(handle, x, y, alpha=alpha, beta=beta)


def miopenSoftmaxForward_V2(handle, algorithm, mode, x, y, alpha, beta):
    how, over = _choice(algorithm, mode)
    softmax_forward(handle, x, y, algorithm=how, mode=over, alpha=alpha, beta=beta)


def miopenSoftmaxBackward(handle, y, dy, dx, yDesc, alpha, beta):
    _no_bfloat16(yDesc, "yDesc")
    softmax_backward(handle, y, dy, dx, alpha=alpha, beta=beta)


def miopenSoftmaxBackward_V2(handle, algorithm, mode, y, dy, dx, alpha, beta):
    how, over = _choice(algorithm, mode)
    softmax_backward(handle, y, dy, dx, algorithm=how, mode=over, alpha=alpha, beta=beta)
