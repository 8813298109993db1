"""Products and convolutions with what follows them in one step: bias, residual and activation where sums are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...enums import ActivationMode
from ...ops.convolution.calls import ConvolutionForward
from ...ops.convolution.fused import ConvolutionBiasActivationForward
from ...ops.tensor import SetTensor
from ...problem import TensorSpec
from ..data_types import data_type
from ..enums import pointwise_mode as mode
from ..errors import GraphError
from ..operation_graph import Operation, OperationGraph, TensorInfo
from . import lower
from .pointwise import NAN, activation_of
from .products import by_columns, turned
from .steps import Lowering, Step, View

PRODUCTS = ("conv_fprop", "matmul")


@dataclass
class Chain:
    """A product and what follows it, one operation after the other.

    Attributes
    ----------
    kind : data_type
        Of the operands and of the last result.
    others : dict of str to TensorInfo
        What is added: "bias", with one number for each filter or column, and "z", of the result's dims.
    """

    product: Operation
    result: TensorInfo
    kind: data_type
    operations: list[Operation] = field(default_factory=list)
    others: dict[str, TensorInfo] = field(default_factory=dict)
    activation: tuple[ActivationMode, float, float] | None = None

    @property
    def out(self) -> int:
        """Uid of the last result."""
        return (self.operations or [self.product])[-1].outputs[0][1]


def chain_of(graph: OperationGraph, product: Operation, following: Sequence[Operation]) -> Chain | None:
    """Return the longest beginning of `following` that a step computes with a product; None where there is none.

    What lies between is virtual, read once, and of the type in which sums are kept, so that nothing is rounded.

    Parameters
    ----------
    following
        Operations in order. What they read is there before them, but for the product's result and what they write.
    """
    if product.kind not in PRODUCTS:
        return None
    kind, result = graph.by_uid[product.inputs[0][1]].data_type, graph.by_uid[product.outputs[0][1]]
    if kind.problem_type is None or not kind.problem_type.is_float:
        return None
    made, best = Chain(product, result, kind), None
    readers = Counter(uid for operation in graph.operations for _, uid in operation.inputs)
    written = {uid for operation in following for _, uid in operation.outputs}
    while made.activation is None:
        last = graph.by_uid[made.out]
        reader = next((one for one in following if last.uid in [uid for _, uid in one.inputs]), None)
        if reader is None or not last.virtual or readers[last.uid] != 1:
            break
        if last.data_type.problem_type is not kind.problem_type.accumulator or not _taken(graph, made, reader, written):
            break
        made.operations.append(reader)
        if graph.by_uid[made.out].data_type is kind:
            best = replace(made, operations=made.operations[:], others=dict(made.others))
    return best


def _taken(graph: OperationGraph, made: Chain, operation: Operation, written: set[int]) -> bool:
    """Tell whether an operation can follow, and note what it adds."""
    if operation.kind != "pointwise" or operation.compute_type is not made.product.compute_type:
        return False
    if graph.at(operation, "OUT_0").dims != made.result.dims:
        return False
    if operation["mode"] is not mode.ADD:
        made.activation = activation_of(graph, operation)
        return made.activation is not None
    (uid,) = [uid for _, uid in operation.inputs if uid != made.out]
    info, dims = graph.by_uid[uid], made.result.dims
    axis = len(dims) - 1 if made.product.kind == "matmul" else 1
    each = tuple(size if i == axis else 1 for i, size in enumerate(dims))
    name = "z" if info.dims == dims else "bias" if info.dims == each else ""
    if not name or name in made.others or uid in written or info.by_value or info.data_type is not made.kind:
        return False
    made.others[name] = info
    return True


def lowered(graph: OperationGraph, chain: Chain) -> Lowering | None:
    """Return a product's steps with the chain in the last one; None where that is no convolution."""
    port, _ = chain.product.outputs[0]
    product = replace(chain.product, outputs=((port, chain.out),))
    try:
        low = Lowering(graph, product) if product.kind == "matmul" else lower(graph, product)
        if product.kind == "matmul" and not by_columns(low):
            return None
    except GraphError:
        return None
    last = low.steps.pop()
    if not isinstance(last, Step) or last.kind is not ConvolutionForward:
        return None
    if any(step.kind is ConvolutionForward for step in low.problems):
        return None
    image, filters, y = last.tensors
    assert y is not None
    z = chain.others.get("z")
    addend = None if z is None else _seen(chain, z, y)
    function = chain.activation or (ActivationMode.IDENTITY, 0.0, 1.0)
    params = (*last.params, function[0], NAN, *function[1:])
    tensors = (image, filters, addend, _bias(low, chain, y), y)
    low.steps.append(Step(ConvolutionBiasActivationForward, tensors, params, (1.0, 0.0 if addend is None else 1.0)))
    return low


def _seen(chain: Chain, z: TensorInfo, y: View) -> View:
    """Return the residual in the dims that the convolution has for its result."""
    view = View(z.uid, TensorSpec(y.spec.dtype, z.dims, z.strides)).of_rank(3)
    if chain.product.kind == "matmul":
        view = turned(view)
    if len(view.dims) == len(y.dims):
        return view
    (n, c, w), (batch, step, inner) = view.dims, view.strides  # one spatial dim: another of one in front
    return view.seen_as((n, c, 1, w), (batch, step, max(view.spec.span, 1), inner))


def _bias(low: Lowering, chain: Chain, y: View) -> View:
    ones = (1,) * (len(y.dims) - 2)
    info = chain.others.get("bias")
    if info is None:
        zeros = low.temporary((1, y.dims[1], *ones), y.spec.dtype)
        low.emit(SetTensor, (zeros,), (), (0.0,))
        return zeros
    stride = info.strides[-1 if chain.product.kind == "matmul" else 1]
    return View(info.uid, TensorSpec(y.spec.dtype, (1, y.dims[1], *ones), (y.dims[1], stride, *ones)))
