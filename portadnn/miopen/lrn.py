"""Local response normalisation, across channels and within them.

As with pooling, `do_backward` demands a workspace, and the backward call the one of the forward call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import BadParam, NotSupported, shown
from ..handle import Handle, log
from ..ops.divisive_norm import divisive_normalization_backward, divisive_normalization_forward
from ..ops.lrn import LRNDescriptor, lrn_cross_channel_backward, lrn_cross_channel_forward
from ..problem import TensorSpec
from .descriptors import Opaque, creator, destroy, made, miopenTensorDescriptor_t, spec_of, tensor, value_of
from .enums import miopenLRNMode_t
from .names import boolean, equals, function, integer, number, parse, refuse
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


miopenCreateLRNDescriptor = creator("miopenCreateLRNDescriptor", miopenLRNDescriptor_t)


@function
def miopenSetLRNDescriptor(
    lrnDesc: miopenLRNDescriptor_t, mode: Any, lrnN: int, lrnAlpha: float, lrnBeta: float, lrnK: float
) -> None:
    """Describe the normalisation ``x * (K + alpha / size * sum of squares) ** -beta``.

    Its window has lrnN channels (size lrnN), or lrnN x lrnN cells of one channel (size lrnN ** 2), clipped at the
    borders.
    """
    desc = made(lrnDesc, miopenLRNDescriptor_t, "lrnDesc")
    named = parse(miopenLRNMode_t, mode, "mode")
    numbers = number(lrnAlpha, "lrnAlpha"), number(lrnBeta, "lrnBeta"), number(lrnK, "lrnK")
    desc.value = LRNSettings(named, integer(lrnN, "lrnN", 1), *numbers)


@function
def miopenGetLRNDescriptor(lrnDesc: miopenLRNDescriptor_t) -> tuple[miopenLRNMode_t, int, float, float, float]:
    """Return (mode, lrnN, lrnAlpha, lrnBeta, lrnK)."""
    value = value_of(lrnDesc, miopenLRNDescriptor_t, "lrnDesc")
    return value.mode, value.n, value.alpha, value.beta, value.k


@function
def miopenDestroyLRNDescriptor(lrnDesc: miopenLRNDescriptor_t) -> None:
    """Destroy a descriptor."""
    destroy(lrnDesc, miopenLRNDescriptor_t, "lrnDesc")


@function
def miopenLRNGetWorkSpaceSize(yDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes of the workspace: a float for each element of y."""
    return _needed(spec_of(yDesc, "yDesc"))


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


@function
def miopenLRNForward(
    handle: Handle,
    lrnDesc: miopenLRNDescriptor_t,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    do_backward: bool,
    workspace: Any,
) -> None:
    """Normalise. As in MIOpen, alpha and beta have no effect: they count as 1 and 0, which is logged as a warning."""
    settings = value_of(lrnDesc, miopenLRNDescriptor_t, "lrnDesc")
    given = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    _packed(xDesc, "xDesc")
    _packed(yDesc, "yDesc")
    lrn = settings.checked()
    _warn("miopenLRNForward", alpha, beta)
    keep = boolean(do_backward, "do_backward")
    if keep:
        demand(handle, workspace, _needed(yDesc.wide), "workspace")
    if settings.mode is _WITHIN:
        divisive_normalization_forward(handle, given[0], None, lrn, given[1])
    else:
        lrn_cross_channel_forward(handle, given[0], lrn, given[1])
    if keep:
        fill(handle, workspace, ("lrn", settings, xDesc.wide, yDesc.wide))


@function
def miopenLRNBackward(
    handle: Handle,
    lrnDesc: miopenLRNDescriptor_t,
    alpha: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    workspace: Any,
) -> None:
    """Compute the gradient. As in MIOpen, alpha and beta have no effect.

    Raises
    ------
    BadParam
        The workspace is not the one that the forward call of this problem filled last.
    """
    settings = value_of(lrnDesc, miopenLRNDescriptor_t, "lrnDesc")
    given = tensor(handle, yDesc, y, "y"), tensor(handle, dyDesc, dy, "dy"), tensor(handle, xDesc, x, "x")
    out = tensor(handle, dxDesc, dx, "dx")
    for desc, argument in ((xDesc, "xDesc"), (yDesc, "yDesc"), (dyDesc, "dyDesc"), (dxDesc, "dxDesc")):
        _packed(desc, argument)
    lrn = settings.checked()
    _warn("miopenLRNBackward", alpha, beta)
    demand_filled(handle, workspace, ("lrn", settings, xDesc.wide, yDesc.wide), "miopenLRNForward")
    if settings.mode is _WITHIN:
        if settings.n % 2 == 0:
            raise NotSupported(
                "portadnn's gradient is exact for odd windows only",
                argument="lrnDesc",
                expected="an odd lrnN",
                got=lrn.n,
            )
        divisive_normalization_backward(handle, given[2], None, given[1], lrn, out)
    else:
        lrn_cross_channel_backward(handle, *given, lrn, out)
