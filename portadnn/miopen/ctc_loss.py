"""CTC loss: labels in host memory, activations that a softmax is applied to."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import portadnn as dnn

from ..c_names.memory import raw
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam, NotSupported
from ..ops.ctc_loss import HostLabels
from ..specs import TensorSpec
from .descriptors import Opaque, made, spec_of, view
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


def _loss(blank, softmax, longest, classes):
    """Return how activations are read; a blank that is no class is the nearest one, as in MIOpen."""
    if not softmax:
        raise NotSupported(
            "MIOpen then takes logarithms and gives gradients with respect to probabilities",
            argument="ctcLossDesc",
            expected="apply_softmax_layer = true",
            got="false",
        )
    return dnn.CTCLossDescriptor(max_label_length=longest, blank=min(max(blank, 0), classes - 1))


def _labels(spec, labels, lengths, used, ctcLoss):
    """Return the labels, of which each has to fit into its steps, and the loss."""
    if spec.dtype not in (DataType.FLOAT, DataType.HALF):
        raise BadParam(argument="probsDesc", expected="miopenFloat or miopenHalf", got=spec.dtype)
    known = HostLabels(spec.dims, labels, lengths, used)
    start = 0
    for length, steps in zip(known.label_lengths, known.input_lengths, strict=True):
        label = known.labels[start : start + length]
        start += length
        least = length + sum(a == b for a, b in itertools.pairwise(label))
        if least > steps:
            raise BadParam(argument="inputLengths", expected=f"{least} steps for a label", got=steps)
    return known, _loss(ctcLoss.blank, ctcLoss.softmax, known.longest, spec.dims[2])


def miopenGetCTCLossWorkspaceSize(handle, probs, gradients, labels, labelLengths, inputLengths, algo, ctcLoss):
    parse(miopenCTCLossAlgo_t, algo, "algo")
    if gradients.dims != probs.dims:
        raise BadParam(argument="gradientsDesc", expected=f"dims {probs.dims} as probsDesc", got=gradients.dims)
    known, loss = _labels(probs, labels, labelLengths, inputLengths, ctcLoss)
    labels, lengths, used = known.specs
    return dnn.get_ctc_loss_workspace_size(handle, probs, labels, lengths, used, loss)


def miopenCTCLoss(
    handle,
    probsDesc,
    probs,
    labels,
    labelLengths,
    inputLengths,
    losses,
    gradients,
    algo,
    ctcLoss,
    workSpace,
    workSpaceSize,
):
    parse(miopenCTCLossAlgo_t, algo, "algo")
    spec = spec_of(probsDesc, "probsDesc")
    known, loss = _labels(spec, labels, labelLengths, inputLengths, ctcLoss)
    costs = view(handle, TensorSpec.packed(spec.dtype, spec.dims[1:2]), losses, "losses")
    flat, lengths, used = known.on_device(check_handle(handle).device)
    work = None if workSpace is None else raw(handle, workSpace, workSpaceSize, "workSpace", "workSpaceSize")
    dnn.ctc_loss(handle, probs, flat, lengths, used, loss, costs=costs, gradients=gradients, workspace=work)
