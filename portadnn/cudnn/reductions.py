"""Reductions (cuDNN 6)."""

from __future__ import annotations

import math

import portadnn as dnn

from ..enums import ReduceTensorIndices, ReduceTensorIndicesType, ReduceTensorOp
from ..errors import BadParam, NotSupported
from .calls import Choice
from .descriptors import ReduceTensorDescriptor, TensorDescriptor, made, value_of
from .memory import raw, tensor
from .storage import is_integer, stored, type_name
from .tensors import data_type, nan_option
from .transforms import converted, placed

reduce_op = Choice("cudnnReduceTensorOp_t", ReduceTensorOp)
reduce_indices = Choice("cudnnReduceTensorIndices_t", ReduceTensorIndices)
indices_type = Choice("cudnnIndicesType_t", ReduceTensorIndicesType)

_BYTES = {
    ReduceTensorIndicesType.INDICES_32BIT: 4,
    ReduceTensorIndicesType.INDICES_64BIT: 8,
    ReduceTensorIndicesType.INDICES_16BIT: 2,
    ReduceTensorIndicesType.INDICES_8BIT: 1,
}


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
    )
    reduceTensorDesc.indices_type = indices_type(reduceTensorIndicesType, "reduceTensorIndicesType")


def cudnnGetReduceTensorDescriptor(reduceTensor, reduceTensorDesc):
    return (
        reduce_op.c(reduceTensor.op),
        data_type.c(reduceTensor.compute_type),
        nan_option.c(reduceTensor.nan_propagation),
        reduce_indices.c(reduceTensor.indices),
        indices_type.c(reduceTensorDesc.indices_type),
    )


def cudnnGetReductionIndicesSize(handle, reduceTensor, a, c, reduceTensorDesc):
    words = dnn.get_reduction_indices_size(handle, reduceTensor, *_alike(a, c))
    return words // 4 * _BYTES[reduceTensorDesc.indices_type]


def cudnnGetReductionWorkspaceSize(handle, reduceTensor, a, c):
    return dnn.get_reduction_workspace_size(handle, reduceTensor, *_alike(a, c))


def cudnnReduceTensor(
    handle,
    reduceTensor,
    aDesc,
    raw_A,
    cDesc,
    raw_C,
    reduceTensorDesc,
    indices,
    indicesSizeInBytes,
    workspace,
    alpha,
    beta,
):
    a, c = value_of(aDesc, TensorDescriptor, "aDesc"), value_of(cDesc, TensorDescriptor, "cDesc")
    given = raw(handle, indices, indicesSizeInBytes, "indices") if reduceTensor.gives_indices else None
    size = _BYTES[reduceTensorDesc.indices_type]
    if (a.dtype is c.dtype and not is_integer(a)) and (given is None or size == 4):
        A, C = tensor(handle, aDesc, raw_A, "A", "aDesc"), tensor(handle, cDesc, raw_C, "C", "cDesc")
        dnn.reduce_tensor(handle, reduceTensor, A, C, indices=given, workspace=workspace, alpha=alpha, beta=beta)
        return
    like, out = _alike(a, c)
    count = math.prod(c.dims)
    if given is not None:
        reduced = math.prod(a.dims) // max(count, 1)
        if reduced > 256**size:
            got = f"{reduced} numbers behind each result"
            raise NotSupported(argument="reduceTensorIndicesType", expected=f"indices of {8 * size} bits", got=got)
        raw(handle, indices, size * count, "indices")
    if like is not a:
        A = handle.empty(a.dims, like.dtype)
        converted(handle, (stored(a), raw_A, "A"), (stored(like), A, "A"), 1.0, 0.0)
    else:
        A = tensor(handle, aDesc, raw_A, "A", "aDesc")
    C = handle.empty(c.dims, out.dtype) if out is not c else tensor(handle, cDesc, raw_C, "C", "cDesc")
    words = None if given is None else handle.empty_bytes(4 * count)
    own = (alpha, beta) if out is c else (alpha, 0.0)
    dnn.reduce_tensor(handle, reduceTensor, A, C, indices=words, workspace=None, alpha=own[0], beta=own[1])
    if out is not c:
        converted(handle, (stored(out), C, "C"), (stored(c), raw_C, "C"), 1.0, beta)
    if words is not None:
        _narrowed(handle, words, given, count, size)


def _alike(a, c):
    """Return the descriptors in whose types a reduction is computed: HALF, BFLOAT16 and INT8 mix with FLOAT."""
    if a.dtype is c.dtype and not is_integer(a):
        return a, c
    mixed = ("FLOAT", "HALF", "BFLOAT16", "INT8")
    for name, value in (("a", a), ("c", c)):
        if type_name(value) not in mixed:
            raise BadParam(argument=f"{name}Desc", expected=f"{', '.join(mixed)} in mixed types", got=type_name(value))
    return (
        a if type_name(a) == "FLOAT" else dnn.TensorDescriptor(a.dims),
        c if type_name(c) == "FLOAT" else dnn.TensorDescriptor(c.dims),
    )


def _narrowed(handle, words, indices, count, size):
    """Copy indices of 32 bits to those of other sizes: their low bytes, or with zeros behind them."""
    if size == 8:
        placed(
            handle,
            ("UINT8", (1, 1, 1, 8 * count), (8 * count, 8 * count, 8 * count, 1), indices, "indices"),
            ("UINT8", (1, 1, 1, 8 * count), (8 * count, 8 * count, 8 * count, 1), indices, "indices"),
            0.0,
            0.0,
        )
    both = min(size, 4)
    dims = (1, 1, count, both)
    placed(
        handle,
        ("UINT8", dims, (4 * count, 4 * count, 4, 1), words, "indices"),
        ("UINT8", dims, (size * count, size * count, size, 1), indices, "indices"),
        1.0,
        0.0,
    )
