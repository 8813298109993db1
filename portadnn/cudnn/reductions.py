"""Reductions (cuDNN 6)."""

from __future__ import annotations

import portadnn as dnn

from ..enums import ReduceTensorIndices, ReduceTensorIndicesType, ReduceTensorOp
from .calls import Choice
from .descriptors import ReduceTensorDescriptor, made
from .memory import raw
from .tensors import data_type, nan_option

reduce_op = Choice("cudnnReduceTensorOp_t", ReduceTensorOp)
reduce_indices = Choice("cudnnReduceTensorIndices_t", ReduceTensorIndices)
indices_type = Choice("cudnnIndicesType_t", ReduceTensorIndicesType)


def cudnnSetReduceTensorDescriptor(
    reduceTensorDesc,
    reduceTensorOp,
    reduceTensorCompType,
    reduceTensorNanOpt,
    reduceTensorIndices,
    reduceTensorIndicesType,
):
    made(reduceTensorDesc, ReduceTensorDescriptor, "reduceTensorDesc")
    reduceTensorDesc.value = dnn.ReduceTensorDescriptor(
        reduce_op(reduceTensorOp, "reduceTensorOp"),
        data_type(reduceTensorCompType, "reduceTensorCompType"),
        nan_option(reduceTensorNanOpt, "reduceTensorNanOpt"),
        reduce_indices(reduceTensorIndices, "reduceTensorIndices"),
        indices_type(reduceTensorIndicesType, "reduceTensorIndicesType"),
    )


def cudnnGetReduceTensorDescriptor(reduceTensor):
    return (
        reduce_op.c(reduceTensor.op),
        data_type.c(reduceTensor.compute_type),
        nan_option.c(reduceTensor.nan_propagation),
        reduce_indices.c(reduceTensor.indices),
        indices_type.c(reduceTensor.indices_type),
    )


def cudnnReduceTensor(handle, reduceTensor, A, C, indices, indicesSizeInBytes, workspace, alpha, beta):
    given = raw(handle, indices, indicesSizeInBytes, "indices") if reduceTensor.gives_indices else None
    dnn.reduce_tensor(handle, reduceTensor, A, C, indices=given, workspace=workspace, alpha=alpha, beta=beta)
