"""Connectionist temporal classification: descriptors only; portadnn does not compute the loss."""

from __future__ import annotations

from dataclasses import dataclass

from ..dispatch.problems import check_handle
from ..errors import NotSupported
from .descriptors import Opaque, made, spec_of
from .generated.enums import miopenCTCLossAlgo_t, miopenDataType_t
from .names import boolean, integer, parse


@dataclass(frozen=True)
class CTCLossSettings:
    """What a CTC loss descriptor was set to."""

    data_type: miopenDataType_t
    blank: int
    softmax: bool


class miopenCTCLossDescriptor_t(Opaque):
    """Type, blank label and softmax of a CTC loss."""


def miopenSetCTCLossDescriptor(ctcLossDesc, dataType, blank_label_id, apply_softmax_layer):
    desc = made(ctcLossDesc, miopenCTCLossDescriptor_t, "ctcLossDesc")
    desc.value = CTCLossSettings(
        parse(miopenDataType_t, dataType, "dataType"),
        integer(blank_label_id, "blank_label_id"),
        boolean(apply_softmax_layer, "apply_softmax_layer"),
    )


def miopenGetCTCLossDescriptor(ctcLoss):
    return ctcLoss.data_type, ctcLoss.blank, ctcLoss.softmax


def miopenGetCTCLossWorkspaceSize(handle, probs, algo, ctcLoss):
    _ = check_handle(handle).device
    parse(miopenCTCLossAlgo_t, algo, "algo")
    raise NotSupported(
        "portadnn does not compute the CTC loss; miopenSoftmaxForward_V2 with MIOPEN_SOFTMAX_LOG gives the "
        "probabilities that a loss on the host starts from"
    )


def miopenCTCLoss(handle, probsDesc, algo, ctcLoss):
    miopenGetCTCLossWorkspaceSize(handle, spec_of(probsDesc, "probsDesc"), algo, ctcLoss)
