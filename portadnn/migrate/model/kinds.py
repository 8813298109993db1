"""Which kind of thing a C type stands for, and which function destroys what another creates."""

from __future__ import annotations

import functools
import re

from ...mapping import table
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


@functools.cache
def destroyer_of(creator: str) -> str:
    """Return the function that destroys what a Create function makes; "" if there is none.

    An operator of a fusion plan lives as long as its plan. MIOpen has no function that destroys the descriptors of
    attention and of softmax (miopen.h up to rocm-7.13).
    """
    destroyer = creator.replace("Create", "Destroy", 1).removesuffix("WithStream")
    for of_one, of_all in _SHARED_DESTROYERS.items():
        if re.fullmatch(of_one, destroyer):
            destroyer = of_all
    return destroyer if destroyer in table().functions else ""


_SHARED_DESTROYERS = {
    r"miopenDestroy\w+Problem": "miopenDestroyProblem",
    r"miopenDestroyOp[A-Z]\w+": "miopenDestroyFusionPlan",
}
