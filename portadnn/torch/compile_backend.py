"""A backend of torch.compile that gives convolutions and products, with the pointwise steps behind them, to graphs.

``torch.compile(model, backend="portadnn")``. What is no such region is run by PyTorch as it was traced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend
from torch._functorch.aot_autograd import make_boxed_func

import portadnn.graph as graphs
from portadnn.errors import DnnError

from .affine import Affine
from .folded import FoldedConvolution
from .ops.handles import check_backend, handle_for
from .ops.layout import memory_format
from .regions import Found, eager_part, find, value_of

_log = logging.getLogger("portadnn")
_MOST_LAYOUTS = 64  # of a region's tensors, for which graphs are kept
_TYPES = {
    torch.float16: graphs.data_type.HALF,
    torch.bfloat16: graphs.data_type.BFLOAT16,
    torch.float32: graphs.data_type.FLOAT,
    torch.float64: graphs.data_type.DOUBLE,
}


class Region(torch.nn.Module):
    """One graph in place of several nodes.

    Attributes
    ----------
    reason : str
        Why the last layout that no graph takes was left to PyTorch; "" if none was.
    """

    def __init__(self, found: Found, backend: str) -> None:
        super().__init__()
        self.reason = ""
        self._steps = found.steps
        self._backend = backend
        self._outside = eager_part(found)
        self._eager = _submodule(found, self._outside)
        place = {node: i for i, node in enumerate(self._outside)}
        self._inputs = [_Input.of(found, i, place) for i in range(len(found.inputs))]
        self._graphs: dict[Any, Any] = {}
        out = value_of(found.nodes[-1])
        assert out is not None
        static = all(isinstance(n, int) for n in (*out.shape, *out.stride()))
        self._strides = (tuple(out.shape), tuple(out.stride())) if static else None
        self._batched = found.steps[0].method != "matmul" or out.dim() == 3
        self._rank = out.dim() if self._batched else 3
        self._folded = FoldedConvolution.of(found, place)

    def forward(self, *outside: torch.Tensor) -> torch.Tensor:
        if self._folded is not None:
            tensors = [one(outside) for one in self._inputs[:2]]
            dims = self._dims(tensors)
            y = torch.empty_strided(dims, self._strides_of(dims, tensors), dtype=tensors[0].dtype)
            try:
                self._folded(outside, y, self._backend)
                return y
            except DnnError as error:
                self._folded = None
                _log.info("torch.compile: a region becomes a graph: %s", error)
        tensors = [self._laid_out(one(outside)) for one in self._inputs]
        key = tuple((t.shape, t.stride(), t.dtype, t.device) for t in tensors)
        known = self._graphs.get(key, self)
        if known is self:
            known = self._made(tensors)
            while len(self._graphs) >= _MOST_LAYOUTS:
                del self._graphs[next(iter(self._graphs))]
            self._graphs[key] = known
        if known is None:
            return self._eager(*outside)
        graph, described, dims, strides = known
        y = torch.empty_strided(dims, strides, dtype=tensors[0].dtype, device=tensors[0].device)
        given = [t.detach() if t.requires_grad else t for t in tensors]
        graph.execute(dict(zip(described, (*given, y), strict=True)), handle=handle_for(y, self._backend))
        return y if self._batched else y.squeeze(0)

    def _laid_out(self, t: torch.Tensor) -> torch.Tensor:
        """Return a tensor with as many dims as the result: ones before its own."""
        return t[(None,) * (self._rank - t.dim())] if t.dim() < self._rank else t

    def _made(self, tensors: Sequence[torch.Tensor]) -> Any:
        """Return a graph for tensors of these layouts, its tensors and the result's layout; None if there is none."""
        try:
            return self._graph(tensors)
        except (DnnError, TypeError, ValueError) as error:
            self.reason = str(error)
            _log.info("torch.compile: a region is left to PyTorch: %s", error)
            return None

    def _graph(self, tensors: Sequence[torch.Tensor]) -> Any:
        first = tensors[0]
        compute = graphs.data_type.DOUBLE if first.dtype is torch.float64 else graphs.data_type.FLOAT
        handle = handle_for(first, self._backend)
        graph = graphs.pygraph(
            io_data_type=_TYPES[first.dtype], intermediate_data_type=compute, compute_data_type=compute, handle=handle
        )
        given = [graph.tensor(dim=list(t.shape), stride=list(t.stride()), data_type=_TYPES[t.dtype]) for t in tensors]
        results: list[Any] = []
        for step in self._steps:
            operands = [_operand(one, given, results) for one in step.operands]
            results.append(getattr(graph, step.method)(*operands, **step.options))
        dims = self._dims(tensors)
        strides = self._strides_of(dims, tensors)
        results[-1].set_output(True).set_dim(list(dims)).set_stride(list(strides)).set_data_type(_TYPES[first.dtype])
        graph.build([graphs.heur_mode.A, graphs.heur_mode.FALLBACK])
        return graph, [*given, results[-1]], dims, strides

    def _dims(self, tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
        a, b = tensors[:2]
        begin = self._steps[0]
        if begin.method == "matmul":
            return (a.shape[0], a.shape[1], b.shape[2])
        how = zip(a.shape[2:], b.shape[2:], *(begin.options[k] for k in ("stride", "padding", "dilation")), strict=True)
        return (a.shape[0], b.shape[0], *((h + 2 * p - d * (r - 1) - 1) // s + 1 for h, r, s, p, d in how))

    def _strides_of(self, dims: tuple[int, ...], tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
        """Return the traced result's strides, or those that PyTorch gives to such a result."""
        own = dims if self._batched else dims[1:]
        if self._strides is not None and self._strides[0] == own:
            return self._strides[1] if self._batched else (self._strides[1][0] * dims[1], *self._strides[1])
        format = torch.contiguous_format
        if self._steps[0].method != "matmul":
            format = memory_format(*tensors[:2])
        return tuple(torch.empty(dims, device="meta", memory_format=format).stride())


class _Input:
    """A tensor that a region's graph takes, out of the arguments of the region."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __call__(self, outside: Sequence[torch.Tensor]) -> torch.Tensor:
        return outside[self._place]

    @staticmethod
    def of(found: Found, index: int, place: Mapping[fx.Node, int]) -> Any:
        """Return input number `index` of a region."""
        node = found.inputs[index]
        if node in found.norms and index in found.norms[node]:
            return Affine(node, found.norms[node].index(index), place, _rank(found))
        if found.steps[1].method == "bias" and found.steps[1].operands[1] == ("input", index):
            return _Bias(place[node], _rank(found))
        return _Input(place[node])


def _rank(found: Found) -> int:
    value = value_of(found.nodes[0])
    assert value is not None
    return int(value.dim())


class _Bias(_Input):
    """The bias of a convolution, as (1, k, 1, ...)."""

    def __init__(self, place: int, rank: int) -> None:
        super().__init__(place)
        self._shape = (1, -1, *[1] * (rank - 2))

    def __call__(self, outside: Sequence[torch.Tensor]) -> torch.Tensor:
        return outside[self._place].reshape(self._shape)


def _operand(one: Any, given: Sequence[Any], results: Sequence[Any]) -> Any:
    if isinstance(one, tuple):
        kind, index = one
        return given[index] if kind == "input" else results[index]
    return one


def _submodule(found: Found, outside: Sequence[fx.Node]) -> fx.GraphModule:
    """Return a module of a region's own nodes, for PyTorch to run."""
    graph = fx.Graph()
    copies = {node: graph.placeholder(f"input_{i}") for i, node in enumerate(outside)}
    for node in found.nodes:
        copies[node] = graph.node_copy(node, lambda one: copies[one])
    graph.output(copies[found.nodes[-1]])
    return fx.GraphModule(torch.nn.Module(), graph)


def rewrite(module: fx.GraphModule, backend: str = "auto") -> list[Region]:
    """Replace the regions of a traced program by graphs; return them."""
    made = []
    replaced: dict[fx.Node, fx.Node] = {}  # the last nodes of earlier regions
    for i, found in enumerate(find(module.graph)):
        found.inputs = [replaced.get(node, node) for node in found.inputs]
        region = Region(found, backend)
        name = f"portadnn_region_{i}"
        module.add_submodule(name, region)
        last = found.nodes[-1]
        with module.graph.inserting_after(last):
            node = module.graph.call_module(name, tuple(region._outside))
        node.meta = dict(last.meta)
        last.replace_all_uses_with(node)
        replaced[last] = node
        for old in reversed(found.nodes):
            module.graph.erase_node(old)
        made.append(region)
    module.graph.lint()
    module.recompile()
    return made


def portadnn(
    module: fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compile a program for torch.compile: ``torch.compile(model, backend="portadnn")``.

    Parameters
    ----------
    module, example_inputs
        As torch.compile gives them.
    options
        ``torch.compile(..., options={"backend": "reference"})`` chooses what computes the graphs.

    Raises
    ------
    BadParam
        An unknown backend.
    ValueError
        Another option.
    """
    given = dict(options or {})
    backend = check_backend(given.pop("backend", "auto"))
    if given:
        raise ValueError(f"options: expected backend, got {', '.join(given)}")

    def compiled(traced: fx.GraphModule, _: Sequence[Any]) -> Any:
        regions = rewrite(traced, backend)
        _log.info("torch.compile: %d regions are portadnn's", len(regions))
        return make_boxed_func(traced.forward)

    return aot_autograd(fw_compiler=compiled)(module, example_inputs)


if not any(point.name == "portadnn" for point in entry_points(group="torch_dynamo_backends")):
    register_backend(portadnn, name="portadnn")  # where an entry point names it PyTorch does so itself, and only once
