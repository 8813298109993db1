"""All rules of the Graph API by id, with the class of the error and what it says. Ids never change their meaning."""

from __future__ import annotations

from dataclasses import dataclass

from . import errors as e


@dataclass(frozen=True)
class Rule:
    """What can go wrong."""

    id: str
    error: type[e.GraphError]
    meaning: str


_TABLE: tuple[tuple[str, type[e.GraphError], str], ...] = (
    # tensors
    ("PG-TENSOR-001", e.AttributeNotSet, "the dims of a tensor that comes from outside are not set"),
    ("PG-TENSOR-002", e.InvalidValue, "dims, strides, uids and alignments are integers"),
    ("PG-TENSOR-003", e.AttributeNotSet, "the strides of a tensor that comes from outside are not set"),
    ("PG-TENSOR-004", e.InvalidValue, "a dim is not positive"),
    ("PG-TENSOR-005", e.InvalidValue, "a stride is negative"),
    ("PG-TENSOR-006", e.InvalidValue, "a tensor cannot be virtual and passed by value"),
    ("PG-TENSOR-007", e.InvalidValue, "a virtual tensor is read, but no node writes it"),
    ("PG-TENSOR-008", e.InvalidValue, "a tensor that is passed by value has more than one element"),
    ("PG-TENSOR-009", e.InvalidValue, "elements of an output share memory"),
    ("PG-TENSOR-010", e.InvalidValue, "dims and strides differ in number"),
    ("PG-TENSOR-011", e.cudnnGraphNotSupportedError, "a tensor has too many dims"),
    ("PG-TENSOR-012", e.InvalidValue, "ragged offsets have a wrong type"),
    ("PG-TENSOR-013", e.InvalidValue, "ragged offsets have wrong dims"),
    ("PG-TENSOR-014", e.InvalidValue, "a scalar is no finite number"),
    ("PG-TENSOR-015", e.InvalidValue, "the output of a node cannot be passed by value"),
    ("PG-TENSOR-016", e.InvalidValue, "the alignment cannot be"),
    ("PG-TENSOR-017", e.InvalidValue, "an operation takes tensors of the graph"),
    ("PG-TENSOR-018", e.cudnnGraphNotSupportedError, "special orders of elements are not supported"),
    ("PG-TENSOR-019", e.InvalidValue, "a tensor cannot be made like this"),
    ("PG-TENSOR-020", e.InvalidTensorName, "two tensors have one name"),
    ("PG-TENSOR-021", e.InvalidTensorName, "two tensors have one uid"),
    ("PG-TENSOR-022", e.InvalidTensorName, "the graph has no tensor of this uid"),
    ("PG-TENSOR-023", e.cudnnGraphNotSupportedError, "ragged offsets are for attention"),
    # types
    ("PG-TYPE-001", e.AttributeNotSet, "the type of a tensor is not set, and the graph has no default"),
    ("PG-TYPE-002", e.AttributeNotSet, "the compute type is not set"),
    ("PG-TYPE-003", e.cudnnGraphNotSupportedError, "tensors of this type are not supported"),
    ("PG-TYPE-004", e.InvalidValue, "the Graph API has no such type"),
    ("PG-TYPE-005", e.InvalidValue, "the types of input and output differ"),
    # nodes
    ("PG-NODE-001", e.InvalidValue, "there is no such kind of operation"),
    ("PG-NODE-002", e.AttributeNotSet, "a tensor is missing"),
    ("PG-NODE-003", e.AttributeNotSet, "an attribute is missing"),
    ("PG-NODE-004", e.InvalidValue, "an attribute has a wrong value"),
    ("PG-NODE-005", e.InvalidValue, "the operation has no such port or attribute"),
    ("PG-NODE-006", e.ShapeDeductionFailed, "a tensor has a wrong number of dims"),
    ("PG-NODE-007", e.ShapeDeductionFailed, "the dims of an input do not fit"),
    ("PG-NODE-008", e.ShapeDeductionFailed, "the dims that were set for an output do not follow from the inputs"),
    # the graph
    ("PG-GRAPH-001", e.AttributeNotSet, "the graph has no operations"),
    ("PG-GRAPH-002", e.InvalidTensorName, "two nodes have one name"),
    ("PG-GRAPH-003", e.InvalidValue, "two nodes write one tensor"),
    ("PG-GRAPH-004", e.InvalidValue, "nodes need each other's results"),
    ("PG-GRAPH-005", e.InvalidValue, "a node of several works in place"),
    ("PG-GRAPH-006", e.InvalidValue, "a tensor is not used"),
    ("PG-GRAPH-007", e.InvalidValue, "the results of a node go nowhere"),
    # pointwise
    ("PG-POINTWISE-001", e.AttributeNotSet, "the number of operands is wrong"),
    ("PG-POINTWISE-002", e.ShapeDeductionFailed, "the operands do not broadcast"),
    ("PG-POINTWISE-003", e.InvalidValue, "the axis of gen_index cannot be"),
    ("PG-POINTWISE-004", e.InvalidValue, "the mode does not heed the parameter"),
    ("PG-POINTWISE-005", e.ShapeDeductionFailed, "the output has other dims than the operands, broadcast"),
    ("PG-POINTWISE-006", e.InvalidValue, "the lower clip is above the upper one"),
    # matmul
    ("PG-MATMUL-001", e.ShapeDeductionFailed, "the inner dims differ"),
    ("PG-MATMUL-002", e.ShapeDeductionFailed, "the operands differ in their number of dims"),
    ("PG-MATMUL-003", e.ShapeDeductionFailed, "the batch dims do not broadcast"),
    # convolution
    ("PG-CONV-001", e.InvalidValue, "an attribute has a wrong number of values"),
    ("PG-CONV-002", e.InvalidValue, "an attribute has a value that is too small"),
    ("PG-CONV-003", e.ShapeDeductionFailed, "image and filter differ in their number of dims"),
    ("PG-CONV-004", e.ShapeDeductionFailed, "the filter's channels do not divide the image's"),
    ("PG-CONV-005", e.ShapeDeductionFailed, "the filters do not divide into the groups"),
    ("PG-CONV-006", e.ShapeDeductionFailed, "the filter is larger than the padded image"),
    ("PG-CONV-007", e.AttributeNotSet, "the dims of the image's gradient do not follow"),
    ("PG-CONV-008", e.AttributeNotSet, "the dims of the filter's gradient do not follow"),
    # reduction
    ("PG-REDUCE-001", e.ShapeDeductionFailed, "input and output differ in their number of dims"),
    ("PG-REDUCE-002", e.ShapeDeductionFailed, "a dim is neither kept nor reduced to 1"),
    # normalisation
    ("PG-NORM-001", e.InvalidValue, "epsilon, momentum and counts are scalars"),
    ("PG-NORM-002", e.ShapeDeductionFailed, "scale does not say what is normalised"),
    ("PG-NORM-003", e.AttributeNotSet, "running statistics come together"),
    ("PG-NORM-004", e.cudnnGraphNotSupportedError, "statistics of several devices are not supported"),
    ("PG-NORM-005", e.AttributeNotSet, "saved statistics come together"),
    # resampling
    ("PG-RESAMPLE-001", e.InvalidValue, "an attribute has a wrong number of values"),
    ("PG-RESAMPLE-002", e.InvalidValue, "window, padding or stride is too small"),
    ("PG-RESAMPLE-003", e.InvalidValue, "pooling moves by whole elements"),
    ("PG-RESAMPLE-004", e.InvalidValue, "the padding mode does not go with the mode"),
    ("PG-RESAMPLE-005", e.ShapeDeductionFailed, "the window is larger than the padded image"),
    ("PG-RESAMPLE-006", e.InvalidValue, "the mode has no indices"),
    ("PG-RESAMPLE-007", e.InvalidValue, "indices are integers"),
    ("PG-RESAMPLE-008", e.cudnnGraphNotSupportedError, "the mode has no gradient"),
    ("PG-RESAMPLE-009", e.AttributeNotSet, "where the maxima were does not follow"),
    ("PG-RESAMPLE-010", e.AttributeNotSet, "the dims of the image's gradient do not follow"),
    # moving elements
    ("PG-SHAPE-001", e.InvalidValue, "there are more slices than dims"),
    ("PG-SHAPE-002", e.InvalidValue, "a step is not positive"),
    ("PG-SHAPE-003", e.InvalidValue, "a slice is empty"),
    ("PG-SHAPE-004", e.AttributeNotSet, "the dims of a reshaped tensor do not follow"),
    ("PG-SHAPE-005", e.ShapeDeductionFailed, "a reshape changes the number of elements"),
    ("PG-SHAPE-006", e.InvalidValue, "the permutation is none"),
    ("PG-SHAPE-007", e.AttributeNotSet, "there is nothing to concatenate"),
    ("PG-SHAPE-008", e.InvalidValue, "the axis cannot be"),
    ("PG-SHAPE-009", e.InvalidValue, "there is no such input to work in place with"),
    # random numbers and softmax
    ("PG-RNG-001", e.AttributeNotSet, "the dims of random numbers do not follow"),
    ("PG-RNG-002", e.AttributeNotSet, "the seed is missing or stated twice"),
    ("PG-RNG-003", e.InvalidValue, "a probability lies outside of 0 to 1"),
    ("PG-RNG-004", e.InvalidValue, "the range is empty"),
    ("PG-RNG-005", e.InvalidValue, "a seed or an offset is no integer"),
    ("PG-SOFTMAX-001", e.InvalidValue, "the axis cannot be"),
    # attention
    ("PG-SDPA-001", e.ShapeDeductionFailed, "queries, keys and values do not fit"),
    ("PG-SDPA-002", e.ShapeDeductionFailed, "the heads of keys or values do not divide those of queries"),
    ("PG-SDPA-003", e.InvalidValue, "two arguments contradict each other"),
    ("PG-SDPA-004", e.AttributeNotSet, "padding and the lengths of sequences come together"),
    ("PG-SDPA-005", e.InvalidValue, "a tensor of attention has a wrong type"),
    ("PG-SDPA-006", e.ShapeDeductionFailed, "a tensor does not broadcast to the scores"),
    ("PG-SDPA-007", e.InvalidValue, "the dropout is none"),
    ("PG-SDPA-008", e.cudnnGraphNotSupportedError, "functions that change the scores are not supported"),
    ("PG-SDPA-009", e.AttributeNotSet, "ragged offsets need the lengths of sequences"),
    ("PG-SDPA-010", e.AttributeNotSet, "no random numbers are drawn that could be returned"),
    ("PG-SDPA-011", e.InvalidValue, "a bound of the band is too small"),
    ("PG-SDPA-012", e.AttributeNotSet, "pages and the lengths of sequences come together"),
    ("PG-SDPA-013", e.AttributeNotSet, "there is nothing that this is the gradient of"),
    ("PG-SDPA-014", e.cudnnGraphNotSupportedError, "block scaling is not supported"),
    # variant packs
    ("PG-PACK-001", e.InvalidVariantPack, "tensors are missing"),
    ("PG-PACK-002", e.InvalidVariantPack, "a key is no tensor of the graph"),
    ("PG-PACK-003", e.InvalidVariantPack, "a virtual tensor has no buffer"),
    ("PG-PACK-004", e.InvalidVariantPack, "a buffer is too short"),
    ("PG-PACK-005", e.InvalidVariantPack, "a buffer has another type"),
    ("PG-PACK-006", e.InvalidVariantPack, "a value is no buffer"),
    ("PG-PACK-007", e.InvalidVariantPack, "an output cannot be written"),
    ("PG-PACK-008", e.InvalidVariantPack, "two keys stand for one tensor"),
    ("PG-PACK-009", e.InvalidVariantPack, "the value of a constant cannot be changed"),
    ("PG-PACK-010", e.InvalidVariantPack, "an output shares memory with another tensor"),
    ("PG-PACK-012", e.InvalidVariantPack, "ragged offsets lead nowhere"),
    ("PG-PACK-011", e.InvalidVariantPack, "the workspace is too small"),
    # life cycle
    ("PG-PLAN-001", e.InvalidValue, "a step of the life cycle was left out"),
    ("PG-PLAN-002", e.InvalidValue, "there is no plan of this number"),
    ("PG-PLAN-003", e.InvalidValue, "the handle is none"),
    ("PG-PLAN-004", e.InvalidValue, "heuristics modes come as a list"),
    ("PG-PLAN-005", e.cudnnGraphNotSupportedError, "this part of the interface does not exist yet"),
    ("PG-PLAN-006", e.InvalidValue, "there is no engine or knob like this"),
    # answers
    ("PG-PICTURE-001", e.cudnnGraphNotSupportedError, "the picture cannot be laid out"),
    ("PG-CHECK-001", e.GraphCheckFailed, "the result of a node is not what its definition says"),
    ("PG-CHECK-002", e.GraphCheckFailed, "each node alone is right, and the result of all together is not"),
    # the class Graph
    ("PG-WRAP-001", e.InvalidValue, "this is no list"),
    ("PG-WRAP-002", e.InvalidValue, "the graph is described inside a `with` and called after it"),
    ("PG-WRAP-003", e.InvalidValue, "the graph does this itself"),
    ("PG-WRAP-004", e.InvalidValue, "what a call takes and returns does not fit the graph"),
    ("PG-WRAP-005", e.InvalidValue, "the graph cannot be called like this"),
    # other libraries
    ("PG-SURFACE-001", e.InvalidValue, "there is no such library"),
    ("PG-SURFACE-002", e.InvalidValue, "the compute capability is none"),
    # files
    ("PG-FILE-001", e.InvalidValue, "the text is of another format"),
    ("PG-FILE-002", e.cudnnGraphNotSupportedError, "the plan's engine does not exist here"),
    # engines
    ("PG-ENGINE-001", e.cudnnGraphNotSupportedError, "no engine takes the graph"),
    ("PG-ENGINE-002", e.cudnnGraphNotSupportedError, "the engine has no kernel for the operation"),
    ("PG-ENGINE-003", e.cudnnGraphNotSupportedError, "the engine has no kernel for the type"),
    ("PG-ENGINE-004", e.cudnnGraphNotSupportedError, "the engine has no kernel for the attribute or the layout"),
    ("PG-ENGINE-005", e.cudnnGraphNotSupportedError, "the device's kernels do not take a step of the operation"),
    ("PG-FUSION-001", e.cudnnGraphNotSupportedError, "kernels are not written for the operation"),
    ("PG-FUSION-002", e.cudnnGraphNotSupportedError, "the device has no numbers of 64 bits"),
    ("PG-FUSION-003", e.cudnnGraphNotSupportedError, "what is moved does not lie in memory"),
    ("PG-PRODUCT-001", e.cudnnGraphNotSupportedError, "the graph is not one product with pointwise nodes around it"),
    ("PG-PRODUCT-002", e.cudnnGraphNotSupportedError, "text around products is for numbers of at most 32 bits"),
    ("PG-PRODUCT-003", e.cudnnGraphNotSupportedError, "an output does not lie as the product's result can"),
    ("PG-PRODUCT-004", e.cudnnGraphNotSupportedError, "no engine for the product takes text for what is around it"),
    ("PG-PRODUCT-005", e.cudnnGraphNotSupportedError, "a tensor before the product is needed elsewhere as well"),
    ("PG-PRODUCT-006", e.cudnnGraphNotSupportedError, "sums after a product are not of its result alone, or not last"),
    ("PG-REGION-001", e.cudnnGraphNotSupportedError, "no two nodes of the graph can be computed together"),
    ("PG-ENGINE-006", e.cudnnGraphNotSupportedError, "a filter of the program excludes the engine"),
    ("PG-ENGINE-007", e.cudnnGraphNotSupportedError, "the engine is for graphs that another one does not take"),
    ("PG-ENGINE-008", e.cudnnGraphNotSupportedError, "a node is computed by its definition on the host, with copies"),
)

RULES: dict[str, Rule] = {row[0]: Rule(*row) for row in _TABLE}
