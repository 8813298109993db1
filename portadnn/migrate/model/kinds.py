"""Which kind of thing a C type stands for."""

from __future__ import annotations

import functools
import re

from ..events import Library

KINDS = {
    "Handle": "handle",
    "TensorDescriptor": "tensor",
    "FilterDescriptor": "filter",
    "ConvolutionDescriptor": "convolution",
    "PoolingDescriptor": "pooling",
    "ActivationDescriptor": "activation",
    "LRNDescriptor": "lrn",
    "DropoutDescriptor": "dropout",
    "RNNDescriptor": "rnn",
    "RNNDataDescriptor": "rnn data",
    "SeqTensorDescriptor": "rnn data",
    "SeqDataDescriptor": "sequence data",
    "OpTensorDescriptor": "op tensor",
    "ReduceTensorDescriptor": "reduce",
    "SpatialTransformerDescriptor": "spatial transformer",
    "CTCLossDescriptor": "ctc loss",
    "AttnDescriptor": "attention",
    "TensorTransformDescriptor": "tensor transform",
    "AlgorithmDescriptor": "algorithm",
    "AlgorithmPerformance": "algorithm performance",
    "PersistentRNNPlan": "rnn plan",
    "FusedOpsConstParamPack": "fusion",
    "FusedOpsVariantParamPack": "fusion",
    "FusedOpsPlan": "fusion",
    "FusionPlanDescriptor": "fusion",
    "FusionOpDescriptor": "fusion",
    "OperatorArgs": "fusion",
    "Problem": "problem",
    "FindOptions": "find options",
    "Solution": "solution",
    "MhaDescriptor": "attention",
    "SoftmaxDescriptor": "softmax",
    "BackendDescriptor": "backend",
}

_TYPE = re.compile(r"\b(cudnn|miopen)(\w+?)(?:_t|Struct|Context)\b")
_STRUCTS = {"": "Handle", "Tensor": "TensorDescriptor", "Filter": "FilterDescriptor", "RNNData": "RNNDataDescriptor"}


@functools.cache
def kind_of(type_: str) -> str:
    """Return the kind of thing that a type names: ``"tensor"`` for ``cudnnTensorDescriptor_t``; "" if none.

    Pointers, arrays and templates around the type's name do not count.
    """
    found = _TYPE.search(type_)
    if found is None:
        return ""
    name = found[2]
    if name not in KINDS:
        name = _STRUCTS.get(name, name + "Descriptor")
    return KINDS.get(name, "")


@functools.cache
def library_of(type_: str) -> Library | None:
    """Return whose type it is."""
    found = _TYPE.search(type_)
    return None if found is None else "miopen" if found[1] == "miopen" else "cudnn"
