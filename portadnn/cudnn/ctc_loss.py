"""CTC loss (cuDNN 7 and later)."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..ops.ctc_loss import CTCGradMode, HostLabels, LossNormalizationMode
from ..problem import TensorSpec
from .calls import Choice, c_value
from .descriptors import Descriptor, made
from .memory import view
from .tensors import data_type, nan_option

normalization_mode = Choice("cudnnLossNormalizationMode_t", LossNormalizationMode)
gradient_mode = Choice("cudnnCTCGradMode_t", CTCGradMode)


class CTCLossDescriptor(Descriptor):
    """A ``cudnnCTCLossDescriptor_t``."""

    what = "CTC loss descriptor"
    made_by = "cudnnCreateCTCLossDescriptor"


@dataclass(frozen=True)
class Settings:
    """What such a descriptor was set to; functions before version 8 set no longest label."""

    compute_type: DataType
    normalization: LossNormalizationMode
    gradients: CTCGradMode
    longest: int | None

    def loss(self, probs: TensorSpec, longest: int | None) -> dnn.CTCLossDescriptor:
        """Return how such probabilities are read."""
        if self.compute_type is not probs.dtype.accumulator:
            expected = f"{probs.dtype.accumulator} for {probs.dtype}"
            raise NotSupported(argument="ctcLossDesc", expected=expected, got=self.compute_type)
        return dnn.CTCLossDescriptor(self.normalization, self.gradients, longest)


def _set(desc: Any, dtype: Any, mode: Any, gradients: Any, longest: Any = None) -> None:
    made(desc, CTCLossDescriptor, "ctcLossDesc")
    normalization = normalization_mode(mode, "normMode")
    most = None if longest is None else as_integer(longest, "maxLabelLength", 0)
    desc.value = Settings(data_type(dtype, "compType"), normalization, gradients, most)


def _of_nan_option(option: Any) -> CTCGradMode:
    """Return what cuDNN 7 and 8 say by a NaN option: PROPAGATE_NAN leaves such gradients as they are."""
    return CTCGradMode(int(nan_option(option, "gradMode")))


def cudnnSetCTCLossDescriptor(ctcLossDesc, compType):
    _set(ctcLossDesc, compType, LossNormalizationMode.NONE, CTCGradMode.ZERO_OOB_GRADIENTS)


def cudnnSetCTCLossDescriptorEx(ctcLossDesc, compType, normMode, gradMode):
    _set(ctcLossDesc, compType, normMode, _of_nan_option(gradMode))


def cudnnSetCTCLossDescriptor_v8(ctcLossDesc, compType, normMode, gradMode, maxLabelLength):
    _set(ctcLossDesc, compType, normMode, _of_nan_option(gradMode), maxLabelLength)


def cudnnSetCTCLossDescriptor_v9(ctcLossDesc, compType, normMode, ctcGradMode, maxLabelLength):
    _set(ctcLossDesc, compType, normMode, gradient_mode(ctcGradMode, "ctcGradMode"), maxLabelLength)


def cudnnGetCTCLossDescriptor(ctcLoss):
    return data_type.c(ctcLoss.compute_type)


def cudnnGetCTCLossDescriptorEx(ctcLoss):
    kept = nan_option.c(int(ctcLoss.gradients))
    return cudnnGetCTCLossDescriptor(ctcLoss), normalization_mode.c(ctcLoss.normalization), kept


def cudnnGetCTCLossDescriptor_v8(ctcLoss):
    return *cudnnGetCTCLossDescriptorEx(ctcLoss), ctcLoss.longest or 0


def cudnnGetCTCLossDescriptor_v9(ctcLoss):
    kinds = cudnnGetCTCLossDescriptor(ctcLoss), normalization_mode.c(ctcLoss.normalization)
    return *kinds, gradient_mode.c(ctcLoss.gradients), ctcLoss.longest or 0


def _longest(settings: Settings) -> int:
    if settings.longest is None:
        raise BadParam(argument="ctcLossDesc", expected="one that was set with maxLabelLength", got="one without")
    return settings.longest


def cudnnGetCTCLossWorkspaceSize(handle, probs, gradients, labels, labelLengths, inputLengths, algo, ctcLoss):
    c_value("cudnnCTCLossAlgo_t", algo, "algo")
    known = HostLabels(probs.spec.dims, labels, labelLengths, inputLengths)
    return _size(handle, probs, gradients, known.specs, ctcLoss.loss(probs.spec, known.longest))


def cudnnGetCTCLossWorkspaceSize_v8(handle, algo, ctcLoss, probs, gradients):
    c_value("cudnnCTCLossAlgo_t", algo, "algo")
    longest = _longest(ctcLoss)
    counts = (max(probs.spec.dims[1] * longest, 1), probs.spec.dims[1], probs.spec.dims[1])
    specs = [TensorSpec.packed(DataType.INT32, (count,)) for count in counts]
    return _size(handle, probs, gradients, specs, ctcLoss.loss(probs.spec, longest))


def _size(handle: Handle, probs: Any, gradients: Any, integers: Sequence[TensorSpec], loss: Any) -> int:
    if gradients.spec.dims != probs.spec.dims:
        raise BadParam(
            argument="gradientsDesc", expected=f"dims {probs.spec.dims} as probsDesc", got=gradients.spec.dims
        )
    labels, label_lengths, input_lengths = integers
    return dnn.get_ctc_loss_workspace_size(handle, probs, labels, label_lengths, input_lengths, loss)


def cudnnCTCLoss(
    handle, probsDesc, probs, labels, labelLengths, inputLengths, costs, gradients, algo, ctcLoss, workspace
):
    c_value("cudnnCTCLossAlgo_t", algo, "algo")
    known = HostLabels(probsDesc.spec.dims, labels, labelLengths, inputLengths)
    loss = ctcLoss.loss(probsDesc.spec, known.longest)
    _compute(handle, probsDesc, probs, known.on_device(check_handle(handle).device), loss, costs, gradients, workspace)


def cudnnCTCLoss_v8(
    handle, algo, ctcLoss, probsDesc, probs, labels, labelLengths, inputLengths, costs, gradients, workspace
):
    c_value("cudnnCTCLossAlgo_t", algo, "algo")
    longest = _longest(ctcLoss)
    batch = probsDesc.spec.dims[1]
    integers = [
        _integers(handle, labels, batch * longest, "labels", exact=False),
        _integers(handle, labelLengths, batch, "labelLengths"),
        _integers(handle, inputLengths, batch, "inputLengths"),
    ]
    _compute(handle, probsDesc, probs, integers, ctcLoss.loss(probsDesc.spec, longest), costs, gradients, workspace)


def _integers(handle: Handle, memory: Any, count: int, name: str, *, exact: bool = True) -> Any:
    """Return device memory as int32: so many, or unless that is exact as many as there are."""
    if not exact and not isinstance(memory, (int, ctypes.c_void_p)):
        with contextlib.suppress(Exception):  # no memory of the device, as the view says then
            room = getattr(memory, "nbytes", None) or check_handle(handle).device.room(memory)
            count = min(count, room // DataType.INT32.itemsize)
    return view(handle, {}, memory, TensorSpec.packed(DataType.INT32, (max(count, 1),)), name)


def _compute(
    handle: Handle, probsDesc: Any, probs: Any, integers: Any, loss: Any, costs: Any, gradients: Any, workspace: Any
) -> None:
    spec = TensorSpec.packed(probsDesc.spec.dtype, probsDesc.spec.dims[1:2])
    if costs is None:
        raise BadParam(argument="costs", expected=f"memory of {spec.span} elements", got="NULL")
    labels, label_lengths, input_lengths = integers
    dnn.ctc_loss(
        handle,
        probs,
        labels,
        label_lengths,
        input_lengths,
        loss,
        costs=view(handle, {}, costs, spec, "costs"),
        gradients=gradients,
        costs_only=gradients is None,
        workspace=workspace,
    )
