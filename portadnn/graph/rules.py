"""Rules of graphs: the stable ids of errors, with class and meaning. An id never changes its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import (
    AttributeNotSet,
    GraphCheckFailed,
    GraphError,
    InvalidTensorName,
    InvalidValue,
    InvalidVariantPack,
    ShapeDeductionFailed,
    cudnnGraphNotSupportedError,
)


@dataclass(frozen=True)
class Rule:
    """What can go wrong."""

    id: str
    error: type[GraphError]
    meaning: str


_TABLE: tuple[tuple[str, type[GraphError], str], ...] = (
    # tensors
    ("PG-TENSOR-001", AttributeNotSet, "the dims of a tensor that comes from outside are not set"),
    ("PG-TENSOR-002", InvalidValue, "dims, strides, uids and alignments are integers"),
    ("PG-TENSOR-003", AttributeNotSet, "the strides of a tensor that comes from outside are not set"),
    ("PG-TENSOR-004", InvalidValue, "a dim is not positive"),
    ("PG-TENSOR-005", InvalidValue, "a stride is negative"),
    ("PG-TENSOR-006", InvalidValue, "a tensor cannot be virtual and passed by value"),
    ("PG-TENSOR-007", InvalidValue, "a virtual tensor is read, but no node writes it"),
    ("PG-TENSOR-008", InvalidValue, "a tensor that is passed by value has more than one element"),
    ("PG-TENSOR-009", InvalidValue, "elements of an output share memory"),
    ("PG-TENSOR-010", InvalidValue, "dims and strides differ in number"),
    ("PG-TENSOR-011", cudnnGraphNotSupportedError, "a tensor has too many dims"),
    ("PG-TENSOR-012", InvalidValue, "ragged offsets have a wrong type"),
    ("PG-TENSOR-013", InvalidValue, "ragged offsets have wrong dims"),
    ("PG-TENSOR-014", InvalidValue, "a scalar is no finite number"),
    ("PG-TENSOR-015", InvalidValue, "the output of a node cannot be passed by value"),
    ("PG-TENSOR-016", InvalidValue, "the alignment cannot be"),
    ("PG-TENSOR-017", InvalidValue, "an operation takes tensors of the graph"),
    ("PG-TENSOR-018", cudnnGraphNotSupportedError, "special orders of elements are not supported"),
    ("PG-TENSOR-019", InvalidValue, "a tensor cannot be made like this"),
    ("PG-TENSOR-020", InvalidTensorName, "two tensors have one name"),
    ("PG-TENSOR-021", InvalidTensorName, "two tensors have one uid"),
    ("PG-TENSOR-022", InvalidTensorName, "the graph has no tensor of this uid"),
    ("PG-TENSOR-023", cudnnGraphNotSupportedError, "ragged offsets are for attention"),
    # types
    ("PG-TYPE-001", AttributeNotSet, "the type of a tensor is not set, and the graph has no default"),
    ("PG-TYPE-002", AttributeNotSet, "the compute type is not set"),
    ("PG-TYPE-003", cudnnGraphNotSupportedError, "tensors of this type are not supported"),
    ("PG-TYPE-004", InvalidValue, "the Graph API has no such type"),
    ("PG-TYPE-005", InvalidValue, "the types of input and output differ"),
    # nodes
    ("PG-NODE-001", InvalidValue, "there is no such kind of operation"),
    ("PG-NODE-002", AttributeNotSet, "a tensor is missing"),
    ("PG-NODE-003", AttributeNotSet, "an attribute is missing"),
    ("PG-NODE-004", InvalidValue, "an attribute has a wrong value"),
    ("PG-NODE-005", InvalidValue, "the operation has no such port or attribute"),
    ("PG-NODE-006", ShapeDeductionFailed, "a tensor has a wrong number of dims"),
    ("PG-NODE-007", ShapeDeductionFailed, "the dims of an input do not fit"),
    ("PG-NODE-008", ShapeDeductionFailed, "the dims that were set for an output do not follow from the inputs"),
    ("PG-NODE-009", cudnnGraphNotSupportedError, "the operation is a kernel in CuTe DSL for GPUs of NVIDIA alone"),
    # the graph
    ("PG-GRAPH-001", AttributeNotSet, "the graph has no operations"),
    ("PG-GRAPH-002", InvalidTensorName, "two nodes have one name"),
    ("PG-GRAPH-003", InvalidValue, "two nodes write one tensor"),
    ("PG-GRAPH-004", InvalidValue, "nodes need each other's results"),
    ("PG-GRAPH-005", InvalidValue, "a node of several works in place"),
    ("PG-GRAPH-006", InvalidValue, "a tensor is not used"),
    ("PG-GRAPH-007", InvalidValue, "the results of a node go nowhere"),
    # pointwise
    ("PG-POINTWISE-001", AttributeNotSet, "the number of operands is wrong"),
    ("PG-POINTWISE-002", ShapeDeductionFailed, "the operands do not broadcast"),
    ("PG-POINTWISE-003", InvalidValue, "the axis of gen_index cannot be"),
    ("PG-POINTWISE-004", InvalidValue, "the mode does not heed the parameter"),
    ("PG-POINTWISE-005", ShapeDeductionFailed, "the output has other dims than the operands, broadcast"),
    ("PG-POINTWISE-006", InvalidValue, "the lower clip is above the upper one"),
    # matmul
    ("PG-MATMUL-001", ShapeDeductionFailed, "the inner dims differ"),
    ("PG-MATMUL-002", ShapeDeductionFailed, "the operands differ in their number of dims"),
    ("PG-MATMUL-003", ShapeDeductionFailed, "the batch dims do not broadcast"),
    # convolution
    ("PG-CONV-001", InvalidValue, "an attribute has a wrong number of values"),
    ("PG-CONV-002", InvalidValue, "an attribute has a value that is too small"),
    ("PG-CONV-003", ShapeDeductionFailed, "image and filter differ in their number of dims"),
    ("PG-CONV-004", ShapeDeductionFailed, "the filter's channels do not divide the image's"),
    ("PG-CONV-005", ShapeDeductionFailed, "the filters do not divide into the groups"),
    ("PG-CONV-006", ShapeDeductionFailed, "the filter is larger than the padded image"),
    ("PG-CONV-007", AttributeNotSet, "the dims of the image's gradient do not follow"),
    ("PG-CONV-008", AttributeNotSet, "the dims of the filter's gradient do not follow"),
    # reduction
    ("PG-REDUCE-001", ShapeDeductionFailed, "input and output differ in their number of dims"),
    ("PG-REDUCE-002", ShapeDeductionFailed, "a dim is neither kept nor reduced to 1"),
    ("PG-REDUCE-003", cudnnGraphNotSupportedError, "groups of rows are not reduced in this mode"),
    # normalisation
    ("PG-NORM-001", InvalidValue, "epsilon, momentum and counts are scalars"),
    ("PG-NORM-002", ShapeDeductionFailed, "scale does not say what is normalised"),
    ("PG-NORM-003", AttributeNotSet, "running statistics come together"),
    ("PG-NORM-004", cudnnGraphNotSupportedError, "peer buffers do not fit"),
    ("PG-NORM-005", AttributeNotSet, "saved statistics come together"),
    # resampling
    ("PG-RESAMPLE-001", InvalidValue, "an attribute has a wrong number of values"),
    ("PG-RESAMPLE-002", InvalidValue, "window, padding or stride is too small"),
    ("PG-RESAMPLE-003", InvalidValue, "pooling moves by whole elements"),
    ("PG-RESAMPLE-004", InvalidValue, "the padding mode does not go with the mode"),
    ("PG-RESAMPLE-005", ShapeDeductionFailed, "the window is larger than the padded image"),
    ("PG-RESAMPLE-006", InvalidValue, "the mode has no indices"),
    ("PG-RESAMPLE-007", InvalidValue, "indices are integers"),
    ("PG-RESAMPLE-008", cudnnGraphNotSupportedError, "the mode has no gradient"),
    ("PG-RESAMPLE-009", AttributeNotSet, "where the maxima were does not follow"),
    ("PG-RESAMPLE-010", AttributeNotSet, "the dims of the image's gradient do not follow"),
    # moving elements
    ("PG-SHAPE-001", InvalidValue, "there are more slices than dims"),
    ("PG-SHAPE-002", InvalidValue, "a step is not positive"),
    ("PG-SHAPE-003", InvalidValue, "a slice is empty"),
    ("PG-SHAPE-004", AttributeNotSet, "the dims of a reshaped tensor do not follow"),
    ("PG-SHAPE-005", ShapeDeductionFailed, "a reshape changes the number of elements"),
    ("PG-SHAPE-006", InvalidValue, "the permutation is none"),
    ("PG-SHAPE-007", AttributeNotSet, "there is nothing to concatenate"),
    ("PG-SHAPE-008", InvalidValue, "the axis cannot be"),
    ("PG-SHAPE-009", InvalidValue, "there is no such input to work in place with"),
    # random numbers and softmax
    ("PG-RNG-001", AttributeNotSet, "the dims of random numbers do not follow"),
    ("PG-RNG-002", AttributeNotSet, "the seed is missing or stated twice"),
    ("PG-RNG-003", InvalidValue, "a probability lies outside of 0 to 1"),
    ("PG-RNG-004", InvalidValue, "the range is empty"),
    ("PG-RNG-005", InvalidValue, "a seed or an offset is no integer"),
    ("PG-SOFTMAX-001", InvalidValue, "the axis cannot be"),
    # attention
    ("PG-SDPA-001", ShapeDeductionFailed, "queries, keys and values do not fit"),
    ("PG-SDPA-002", ShapeDeductionFailed, "the heads of keys or values do not divide those of queries"),
    ("PG-SDPA-003", InvalidValue, "two arguments contradict each other"),
    ("PG-SDPA-004", AttributeNotSet, "padding and the lengths of sequences come together"),
    ("PG-SDPA-005", InvalidValue, "a tensor of attention has a wrong type"),
    ("PG-SDPA-006", ShapeDeductionFailed, "a tensor does not broadcast to the scores"),
    ("PG-SDPA-007", InvalidValue, "the dropout is none"),
    (
        "PG-SDPA-008",
        cudnnGraphNotSupportedError,
        "scores are changed by a function alone, without options",
    ),
    ("PG-SDPA-009", AttributeNotSet, "ragged offsets need the lengths of sequences"),
    ("PG-SDPA-010", AttributeNotSet, "no random numbers are drawn that could be returned"),
    ("PG-SDPA-011", InvalidValue, "a bound of the band is too small"),
    ("PG-SDPA-012", AttributeNotSet, "pages and the lengths of sequences come together"),
    ("PG-SDPA-013", AttributeNotSet, "there is nothing that this is the gradient of"),
    (
        "PG-SDPA-015",
        cudnnGraphNotSupportedError,
        "queries outnumber keys in a band from the left or from the end, so that some see no key",
    ),
    # rows of tokens
    ("PG-SCALE-001", InvalidValue, "a tensor of block scaling has a wrong type"),
    ("PG-SCALE-002", ShapeDeductionFailed, "there is not one scale for each block"),
    ("PG-SCALE-003", InvalidValue, "the blocks cannot be"),
    ("PG-SCALE-004", InvalidValue, "what is scaled back stays inside the graph"),
    ("PG-ROPE-001", InvalidValue, "the elements to be turned are no pairs of a row"),
    ("PG-ROPE-002", ShapeDeductionFailed, "the table of angles does not cover positions and pairs"),
    ("PG-MOE-001", InvalidValue, "offsets and indices of tokens are integers of 32 bits"),
    ("PG-MOE-002", ShapeDeductionFailed, "rows of tokens come in one batch"),
    ("PG-MOE-003", cudnnGraphNotSupportedError, "results of several experts cannot be combined like this"),
    ("PG-MOE-004", InvalidValue, "the mode and the indices of tokens contradict each other"),
    # variant packs
    ("PG-PACK-001", InvalidVariantPack, "tensors are missing"),
    ("PG-PACK-002", InvalidVariantPack, "a key is no tensor of the graph"),
    ("PG-PACK-003", InvalidVariantPack, "a virtual tensor has no buffer"),
    ("PG-PACK-004", InvalidVariantPack, "a buffer is too short"),
    ("PG-PACK-005", InvalidVariantPack, "a buffer has another type"),
    ("PG-PACK-006", InvalidVariantPack, "a value is no buffer"),
    ("PG-PACK-007", InvalidVariantPack, "an output cannot be written"),
    ("PG-PACK-008", InvalidVariantPack, "two keys stand for one tensor"),
    ("PG-PACK-009", InvalidVariantPack, "the value of a constant cannot be changed"),
    ("PG-PACK-010", InvalidVariantPack, "an output shares memory with another tensor"),
    ("PG-PACK-012", InvalidVariantPack, "ragged offsets lead nowhere"),
    ("PG-PACK-013", InvalidVariantPack, "a tensor requires grad, and autograd knows nothing of the graph"),
    ("PG-PACK-014", InvalidVariantPack, "a BOOLEAN tensor's buffer has a bit for each element, which are copied"),
    ("PG-PACK-011", InvalidVariantPack, "the workspace is too small"),
    # life cycle
    ("PG-PLAN-001", InvalidValue, "a step of the life cycle was left out"),
    ("PG-PLAN-002", InvalidValue, "there is no plan of this number"),
    ("PG-PLAN-003", InvalidValue, "the handle is none"),
    ("PG-PLAN-004", InvalidValue, "heuristics modes come as a list"),
    ("PG-PLAN-005", cudnnGraphNotSupportedError, "the graph was not made for other dims and strides"),
    ("PG-PLAN-006", InvalidValue, "there is no engine or knob like this"),
    ("PG-PLAN-007", InvalidValue, "other dims and strides do not fit the graph's tensors"),
    ("PG-PLAN-008", cudnnGraphNotSupportedError, "the plan cannot become part of a CUDA graph"),
    ("PG-PLAN-009", InvalidValue, "the CUDA graph is none, or has other nodes"),
    # answers
    ("PG-PICTURE-001", cudnnGraphNotSupportedError, "the picture cannot be laid out"),
    ("PG-CHECK-001", GraphCheckFailed, "the result of a node is not what its definition says"),
    ("PG-CHECK-002", GraphCheckFailed, "each node alone is right, and the result of all together is not"),
    # the class Graph
    ("PG-WRAP-001", InvalidValue, "this is no list"),
    ("PG-WRAP-002", InvalidValue, "the graph is described inside a `with` and called after it"),
    ("PG-WRAP-003", InvalidValue, "the graph does this itself"),
    ("PG-WRAP-004", InvalidValue, "what a call takes and returns does not fit the graph"),
    ("PG-WRAP-005", InvalidValue, "the graph cannot be called like this"),
    # other libraries
    ("PG-SURFACE-001", InvalidValue, "there is no such library"),
    ("PG-SURFACE-002", InvalidValue, "the compute capability is none"),
    # files
    ("PG-FILE-001", InvalidValue, "the text is of another format"),
    ("PG-FILE-002", cudnnGraphNotSupportedError, "the plan's engine does not exist here"),
    ("PG-FILE-003", cudnnGraphNotSupportedError, "the file has what does not exist here"),
    ("PG-FILE-004", cudnnGraphNotSupportedError, "the format has no words for it"),
    ("PG-FILE-005", cudnnGraphNotSupportedError, "the package that writes the format is not installed"),
    # engines
    ("PG-ENGINE-001", cudnnGraphNotSupportedError, "no engine takes the graph"),
    ("PG-ENGINE-002", cudnnGraphNotSupportedError, "the engine has no kernel for the operation"),
    ("PG-ENGINE-003", cudnnGraphNotSupportedError, "the engine has no kernel for the type"),
    ("PG-ENGINE-004", cudnnGraphNotSupportedError, "the engine has no kernel for the attribute or the layout"),
    ("PG-ENGINE-005", cudnnGraphNotSupportedError, "the device's kernels do not take a step of the operation"),
    ("PG-FUSION-001", cudnnGraphNotSupportedError, "kernels are not written for the operation"),
    ("PG-FUSION-002", cudnnGraphNotSupportedError, "the device has no numbers of 64 bits"),
    ("PG-FUSION-003", cudnnGraphNotSupportedError, "what is moved does not lie in memory"),
    ("PG-PRODUCT-001", cudnnGraphNotSupportedError, "the graph is not one product with pointwise nodes around it"),
    ("PG-PRODUCT-002", cudnnGraphNotSupportedError, "text around products is for numbers of at most 32 bits"),
    ("PG-PRODUCT-003", cudnnGraphNotSupportedError, "an output does not lie as the product's result can"),
    ("PG-PRODUCT-004", cudnnGraphNotSupportedError, "no engine for the product takes text for what is around it"),
    ("PG-PRODUCT-005", cudnnGraphNotSupportedError, "a tensor before the product is needed elsewhere as well"),
    ("PG-PRODUCT-006", cudnnGraphNotSupportedError, "sums after a product are not of its result alone, or not last"),
    ("PG-REGION-001", cudnnGraphNotSupportedError, "no two nodes of the graph can be computed together"),
    ("PG-ENGINE-006", cudnnGraphNotSupportedError, "a filter of the program excludes the engine"),
    ("PG-ENGINE-007", cudnnGraphNotSupportedError, "the engine is for graphs that another one does not take"),
    ("PG-ENGINE-008", cudnnGraphNotSupportedError, "a node is computed by its definition on the host, with copies"),
)

RULES: dict[str, Rule] = {row[0]: Rule(*row) for row in _TABLE}


def fail(id: str, **facts: Any) -> GraphError:
    """Return the error of a rule, of the rule's class and with its meaning.

    Parameters
    ----------
    id
        Of the rule, see :data:`RULES`.
    facts
        What :class:`GraphError` takes by keyword.
    """
    rule = RULES[id]
    return rule.error(id, rule.meaning, **facts)
