"""Recurrent networks: sizes, parameters and the four passes (guide sections 4.102 to 4.110)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import portadnn as dnn

from ...arguments import as_integer, as_items
from ...c_names.objects import Layout
from ...errors import BadParam, shown
from ...handle import Handle
from ...ops.rnn.calls import checked_batches
from ...problem import TensorSpec
from ..descriptors import FilterDescriptor, TensorDescriptor, made, value_of
from ..memory import view
from ..tensors import data_type


def steps(descriptors: Any, length: Any, name: str) -> list[dnn.TensorDescriptor]:
    """Return the descriptors of the steps from C's array of at least `length`."""
    count = as_integer(length, "seqLength", 1)
    expected = f"a sequence of {count} tensor descriptors, one for each step"
    if not isinstance(descriptors, Sequence):
        raise BadParam(argument=name, expected=expected, got=shown(descriptors))
    descriptors = as_items(descriptors, name, expected)
    if len(descriptors) < count:
        raise BadParam(argument=name, expected=expected, got=len(descriptors))
    first = descriptors[0]
    value = value_of(first, TensorDescriptor, f"{name}[0]")
    found = [
        value if step is first else value_of(step, TensorDescriptor, f"{name}[{t}]")
        for t, step in enumerate(descriptors[:count])
    ]
    for t, step in enumerate(found):
        if step is not value and step.dtype is not value.dtype:
            raise BadParam(argument=f"{name}[{t}]", expected=f"{value.dtype} as the first step", got=str(step.dtype))
    return found


def sequence(
    handle: Handle, descriptors: Any, length: Any, memory: Any, name: str
) -> tuple[Any, tuple[int, ...] | None]:
    """Return all steps' memory as one array, and the numbers of sequences where they differ."""
    try:  # the descriptors of an earlier call, with an array that has their layout
        found = descriptors[0].sequences[length]
        if found.stamp == Layout.stamp and descriptors[:length] == found.steps:
            if memory.shape == found.dims and memory.dtype is found.storage and memory.strides == found.strides:
                return memory, found.batches
        else:
            found = None
    except Exception:  # seen for the first time, or wrong
        found = None
    found = found or _examine(descriptors, length, name)
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {found.dims}", got="NULL")
    return view(handle, descriptors[0].views, memory, found.spec, name, found.dims), found.batches


class _Steps(NamedTuple):
    """What the descriptors of some steps say together, as long as no descriptor is set again."""

    stamp: int
    steps: Any  # a copy of the list
    dims: tuple[int, ...]
    storage: Any
    strides: tuple[int, ...]
    batches: tuple[int, ...] | None  # None where all are as many
    spec: TensorSpec


def _examine(descriptors: Any, length: Any, name: str) -> _Steps:
    stamp = Layout.stamp
    values = steps(descriptors, length, f"{name}Desc")
    first = values[0]
    if all(value is first for value in values):
        batches: tuple[int, ...] = (first.dims[0],) * len(values)
        checked_batches(values[:1])
    else:
        batches = checked_batches(values)
    if len(first.dims) != 3 or first.dims[2] != 1 or not first.spec.is_packed():
        raise BadParam(argument=f"{name}Desc[0]", expected="packed steps of dims (n, features, 1)", got=shown(first))
    uneven = any(n != batches[0] for n in batches)
    dims = (sum(batches), first.dims[1], 1) if uneven else (len(values), first.dims[0], first.dims[1])
    spec = TensorSpec.packed(first.dtype, dims)
    strides = tuple(stride * spec.dtype.itemsize for stride in spec.strides)
    listed = descriptors[: len(values)]
    found = _Steps(stamp, listed, dims, spec.dtype.storage, strides, batches if uneven else None, spec)
    if type(listed) in (list, tuple):
        descriptors[0].sequences[len(values)] = found
    return found


def together(x: tuple[int, ...] | None, y: tuple[int, ...] | None, name: str) -> tuple[int, ...] | None:
    """Demand that two sequences have the same numbers of sequences at each step."""
    if x != y:
        raise BadParam(argument=name, expected=f"steps of {x} sequences", got=f"steps of {y}")
    return x


def cudnnGetRNNWorkspaceSize(handle, rnn, seqLength, xDesc):
    return dnn.get_rnn_workspace_size(handle, rnn, steps(xDesc, seqLength, "xDesc"))


def cudnnGetRNNTrainingReserveSize(handle, rnn, seqLength, xDesc):
    return dnn.get_rnn_training_reserve_size(handle, rnn, steps(xDesc, seqLength, "xDesc"))


def _packed(step: dnn.TensorDescriptor) -> dnn.TensorDescriptor:
    if not step.spec.is_packed():
        raise BadParam(argument="xDesc", expected="a packed step", got=shown(step))
    return step


def cudnnGetRNNParamsSize(handle, rnn, x, dataType):
    return dnn.get_rnn_params_size(handle, rnn, _packed(x), data_type(dataType, "dataType"))


def _set_part(handle: Handle, descriptor: FilterDescriptor, part: Any) -> Any:
    """Give a filter descriptor the dims of a part of the parameters: zeros where there is none."""
    dims = (0, 0, 0) if part is None else tuple(part.shape)
    dtype = dnn.DataType.FLOAT if part is None else handle.device.signature(part)[2]
    descriptor.set(dnn.FilterDescriptor(dims, dtype))
    return part


def cudnnGetRNNLinLayerMatrixParams(handle, rnn, layer, x, w, linLayerID, linLayerMatDesc):
    made(linLayerMatDesc, FilterDescriptor, "linLayerMatDesc")
    part = dnn.get_rnn_lin_layer_matrix_params(handle, rnn, layer, _packed(x), w, linLayerID)
    return _set_part(handle, linLayerMatDesc, part)


def cudnnGetRNNLinLayerBiasParams(handle, rnn, layer, x, w, linLayerID, linLayerBiasDesc):
    made(linLayerBiasDesc, FilterDescriptor, "linLayerBiasDesc")
    part = dnn.get_rnn_lin_layer_bias_params(handle, rnn, layer, _packed(x), w, linLayerID)
    return _set_part(handle, linLayerBiasDesc, part)


def cudnnRNNForwardInference(handle, rnn, seqLength, xDesc, x, yDesc, y, hx, cx, w, hy, cy, workspace):
    inputs, batches = sequence(handle, xDesc, seqLength, x, "x")
    outputs, batches_y = sequence(handle, yDesc, seqLength, y, "y")
    options = {"batch_sizes": together(batches, batches_y, "yDesc"), "workspace": workspace}
    dnn.rnn_forward_inference(handle, inputs, hx, cx, w, rnn, outputs, hy, cy, **options)


def cudnnRNNForwardTraining(handle, rnn, seqLength, xDesc, x, yDesc, y, hx, cx, w, hy, cy, reserveSpace, workspace):
    inputs, batches = sequence(handle, xDesc, seqLength, x, "x")
    outputs, batches_y = sequence(handle, yDesc, seqLength, y, "y")
    options = {"batch_sizes": together(batches, batches_y, "yDesc"), "workspace": workspace}
    dnn.rnn_forward_training(handle, inputs, hx, cx, w, rnn, outputs, hy, cy, reserveSpace, **options)


def cudnnRNNBackwardData(
    handle,
    rnn,
    seqLength,
    yDesc,
    y,
    dyDesc,
    dy,
    dxDesc,
    dx,
    dhy,
    dcy,
    w,
    hx,
    cx,
    dhx,
    dcx,
    reserveSpace,
    workspace,
):
    outputs, batches = sequence(handle, yDesc, seqLength, y, "y")
    gradients, batches_dy = sequence(handle, dyDesc, seqLength, dy, "dy")
    inputs, batches_dx = sequence(handle, dxDesc, seqLength, dx, "dx")
    together(batches, batches_dy, "dyDesc")
    given = (outputs, gradients, dhy, dcy, w, hx, cx, rnn, inputs, dhx, dcx, reserveSpace)
    dnn.rnn_backward_data(handle, *given, batch_sizes=together(batches, batches_dx, "dxDesc"), workspace=workspace)


def cudnnRNNBackwardWeights(handle, rnn, seqLength, xDesc, x, hx, yDesc, y, reserveSpace, dw, workspace):
    inputs, batches = sequence(handle, xDesc, seqLength, x, "x")
    outputs, batches_y = sequence(handle, yDesc, seqLength, y, "y")
    options = {"batch_sizes": together(batches, batches_y, "yDesc"), "workspace": workspace}
    dnn.rnn_backward_weights(handle, inputs, hx, outputs, reserveSpace, rnn, dw, **options)
