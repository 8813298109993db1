"""Local response normalisation, across channels and within them.

As with pooling, `do_backward` demands a workspace, and the backward call the one of the forward call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import BadParam, NotSupported, shown
from ..handle import log
from ..ops.divisive_norm import divisive_normalization_backward, divisive_normalization_forward
from ..ops.lrn import LRNDescriptor, lrn_cross_channel_backward, lrn_cross_channel_forward
from ..problem import TensorSpec
from .descriptors import Opaque, made, miopenTensorDescriptor_t
from .generated.enums import miopenLRNMode_t
from .names import boolean, equals, integer, number, parse, refuse
from .workspaces import demand, demand_filled, fill

_WITHIN = miopenLRNMode_t.miopenLRNWithinChannel


@dataclass(frozen=True)
class LRNSettings:
    """What an LRN descriptor was set to."""

    mode: miopenLRNMode_t
    n: int
    alpha: float
    beta: float
    k: float

    def checked(self) -> LRNDescriptor:
        """Return portadnn's descriptor; K = 0 is refused as MIOpen does, when it computes."""
        if self.k == 0:
            refuse("expect non-zero bias/K", argument="lrnDesc", expected="lrnK other than 0", got=self.k)
        return LRNDescriptor(self.n, self.alpha, self.beta, self.k)


class miopenLRNDescriptor_t(Opaque):
    """Mode, window and constants of a local response normalisation."""


def miopenSetLRNDescriptor(lrnDesc, mode, lrnN, lrnAlpha, lrnBeta, lrnK):
    desc = made(lrnDesc, miopenLRNDescriptor_t, "lrnDesc")
    named = parse(miopenLRNMode_t, mode, "mode")
    numbers = number(lrnAlpha, "lrnAlpha"), number(lrnBeta, "lrnBeta"), number(lrnK, "lrnK")
    desc.value = LRNSettings(named, integer(lrnN, "lrnN", 1), *numbers)


def miopenGetLRNDescriptor(lrn):
    return lrn.mode, lrn.n, lrn.alpha, lrn.beta, lrn.k


def miopenLRNGetWorkSpaceSize(y):
    return _needed(y)


def _needed(y: TensorSpec) -> int:
    return y.dims[0] * y.strides[0] * 4


def _warn(call: str, alpha: Any, beta: Any) -> None:
    if not equals(alpha, 1) or not equals(beta, 0):
        log.warning("%s: alpha=%s and beta=%s have no effect, as in MIOpen", call, shown(alpha), shown(beta))


def _packed(desc: miopenTensorDescriptor_t, argument: str) -> None:
    spec = desc.wide
    if len(spec.dims) != 4:
        raise BadParam(argument=argument, expected="4 dims", got=spec.dims)
    if spec.format is None:
        refuse("MIOpen supports packed tensors only", argument=argument, expected="a packed tensor", got=spec.strides)


def miopenLRNForward(handle, lrn, x, y, xDesc, yDesc, alpha, beta, do_backward, workspace):
    _packed(xDesc, "xDesc")
    _packed(yDesc, "yDesc")
    settings = lrn.checked()
    _warn("miopenLRNForward", alpha, beta)
    keep = boolean(do_backward, "do_backward")
    if keep:
        demand(handle, workspace, _needed(yDesc.wide), "workspace")
    if lrn.mode is _WITHIN:
        divisive_normalization_forward(handle, x, None, settings, y)
    else:
        lrn_cross_channel_forward(handle, x, settings, y)
    if keep:
        fill(handle, workspace, ("lrn", lrn, xDesc.wide, yDesc.wide))


def miopenLRNBackward(handle, lrn, y, dy, x, dx, xDesc, yDesc, dyDesc, dxDesc, alpha, beta, workspace):
    for desc, argument in ((xDesc, "xDesc"), (yDesc, "yDesc"), (dyDesc, "dyDesc"), (dxDesc, "dxDesc")):
        _packed(desc, argument)
    settings = lrn.checked()
    _warn("miopenLRNBackward", alpha, beta)
    demand_filled(handle, workspace, ("lrn", lrn, xDesc.wide, yDesc.wide), "miopenLRNForward")
    if lrn.mode is not _WITHIN:
        lrn_cross_channel_backward(handle, y, dy, x, settings, dx)
    elif lrn.n % 2:
        divisive_normalization_backward(handle, x, None, dy, settings, dx)
    else:
        raise NotSupported(
            "portadnn's gradient is exact for odd windows only", argument="lrnDesc", expected="an odd lrnN", got=lrn.n
        )
