"""Connectionist temporal classification: descriptors only; portadnn does not compute the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from ..dispatch.problems import check_handle
from ..errors import NotSupported
from ..handle import Handle
from .descriptors import Opaque, creator, destroy, made, miopenTensorDescriptor_t, spec_of, value_of
from .enums import miopenCTCLossAlgo_t, miopenDataType_t
from .names import boolean, function, integer, parse

Desc = miopenTensorDescriptor_t


@dataclass(frozen=True)
class CTCLossSettings:
    """What a CTC loss descriptor was set to."""

    data_type: miopenDataType_t
    blank: int
    softmax: bool


class miopenCTCLossDescriptor_t(Opaque):
    """Type, blank label and softmax of a CTC loss."""


miopenCreateCTCLossDescriptor = creator("miopenCreateCTCLossDescriptor", miopenCTCLossDescriptor_t)


@function
def miopenSetCTCLossDescriptor(
    ctcLossDesc: miopenCTCLossDescriptor_t, dataType: Any, blank_label_id: int, apply_softmax_layer: bool
) -> None:
    """Set a descriptor."""
    desc = made(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc")
    desc.value = CTCLossSettings(
        parse(miopenDataType_t, dataType, "dataType"),
        integer(blank_label_id, "blank_label_id"),
        boolean(apply_softmax_layer, "apply_softmax_layer"),
    )


@function
def miopenGetCTCLossDescriptor(ctcLossDesc: miopenCTCLossDescriptor_t) -> tuple[miopenDataType_t, int, bool]:
    """Return (dataType, blank_label_id, apply_softmax_layer)."""
    value = value_of(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc")
    return value.data_type, value.blank, value.softmax


@function
def miopenDestroyCTCLossDescriptor(ctcLossDesc: miopenCTCLossDescriptor_t) -> None:
    """Destroy a descriptor."""
    destroy(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc")


def _refuse(handle: Handle, probsDesc: Any, algo: Any, ctcLossDesc: Any) -> NoReturn:
    _ = check_handle(handle).device
    spec_of(probsDesc, "probsDesc")
    parse(miopenCTCLossAlgo_t, algo, "algo")
    value_of(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc")
    raise NotSupported(
        "portadnn does not compute the CTC loss; miopenSoftmaxForward_V2 with MIOPEN_SOFTMAX_LOG gives the "
        "probabilities that a loss on the host starts from"
    )


@function
def miopenGetCTCLossWorkspaceSize(
    handle: Handle,
    probsDesc: Desc,
    gradientsDesc: Desc,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    algo: Any,
    ctcLossDesc: miopenCTCLossDescriptor_t,
) -> int:
    """Refuse: the loss is not computed."""
    _refuse(handle, probsDesc, algo, ctcLossDesc)


@function
def miopenCTCLoss(
    handle: Handle,
    probsDesc: Desc,
    probs: Any,
    labels: Any,
    labelLengths: Any,
    inputLengths: Any,
    losses: Any,
    gradientsDesc: Desc,
    gradients: Any,
    algo: Any,
    ctcLossDesc: miopenCTCLossDescriptor_t,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Refuse: the loss is not computed."""
    _refuse(handle, probsDesc, algo, ctcLossDesc)
