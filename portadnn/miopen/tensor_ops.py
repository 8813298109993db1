"""Operations on tensors: transform, combine, fill, scale, and the bias of a convolution."""

from __future__ import annotations

from typing import Any

from ..enums import DataType, OpTensorOp
from ..errors import BadParam, NotSupported
from ..ops.tensor import op_tensor, scale_tensor, set_tensor
from .descriptors import spec_of
from .generated.enums import miopenTensorOp_t
from .names import parse, unified

_OPS = {
    miopenTensorOp_t.miopenTensorOpAdd: OpTensorOp.ADD,
    miopenTensorOp_t.miopenTensorOpMul: OpTensorOp.MUL,
    miopenTensorOp_t.miopenTensorOpMin: OpTensorOp.MIN,
    miopenTensorOp_t.miopenTensorOpMax: OpTensorOp.MAX,
}


def miopenOpTensor(handle, tensorOp, A, B, C, alpha1, alpha2, beta):
    op = unified(_OPS, parse(miopenTensorOp_t, tensorOp, "tensorOp"), "tensorOp")
    op_tensor(handle, op, A, B, C, alpha1=alpha1, alpha2=alpha2, beta=beta)


def miopenConvolutionForwardBias(handle, bDesc, yDesc, y, b, alpha, beta):
    if DataType.BFLOAT16 in (spec_of(bDesc, "bDesc").dtype, spec_of(yDesc, "yDesc").dtype):
        raise NotSupported("miopenOpTensor takes them", argument="yDesc", expected="no miopenBFloat16", got="one")
    op_tensor(handle, OpTensorOp.ADD, y, b, y, alpha1=alpha, alpha2=alpha, beta=beta)


def miopenSetTensor(handle, y, alpha):
    set_tensor(handle, y, _given(alpha))


def miopenScaleTensor(handle, y, alpha):
    scale_tensor(handle, y, _given(alpha))


def _given(alpha: Any) -> Any:
    if alpha is None:
        raise BadParam(argument="alpha", expected="a number", got=None)
    return alpha
