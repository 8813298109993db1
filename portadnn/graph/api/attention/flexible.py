"""Attention whose scores a function of the program changes: products, that function's nodes, and a softmax.

What ``sdpa`` and ``sdpa_backward`` add one node for is a graph of several here, so the function may add whatever nodes
it likes. Masks, biases and dropout are for the function to add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....errors import shown
from ...enums import reduction_mode, reshape_mode
from ...rules import fail
from ...tensor import tensor
from ..builder import NOT_SET, Builder
from ..nodes import pointwise, tensors

Function = Callable[..., Any]


def demand_tensors(**given: Any) -> None:
    """Demand tensors of the graph, of which nodes take dims before they are added."""
    for name, one in given.items():
        if not isinstance(one, tensor):
            raise fail("PG-TENSOR-017", argument=name, expected="a tensor of the graph", got=type(one).__name__)


def refuse_options(**options: Any) -> None:
    """Refuse what the function of the scores has to do itself.

    Raises
    ------
    cudnnGraphNotSupportedError
        An option that is set (PG-SDPA-008).
    """
    for name, value in options.items():
        if value is not None and value is not False:
            fix = "let score_mod do it, with gen_index, cmp_ge and binary_select"
            raise fail("PG-SDPA-008", argument=name, expected="not set, beside score_mod", got=shown(value), fix=fix)


def called(self: Builder, function: Any, name: str, scores: tensor) -> tensor:
    """Return what a function of the program makes of scores."""
    made = function(self, scores) if callable(function) else None
    if not isinstance(made, tensor):
        got = type(function if made is None else made).__name__
        raise fail("PG-SDPA-008", argument=name, expected="a function (graph, scores) that returns a tensor", got=got)
    return made


class _Flexible:
    """The nodes of one attention; heads that share keys are an axis of their own."""

    def __init__(self, graph: Builder, q: tensor, k: tensor, compute: Any, name: str) -> None:
        self.graph, self.compute, self.name = graph, compute, name
        known = (q.get_dim(), k.get_dim())
        self.group = known[0][1] // max(known[1][1], 1) if all(len(dims) == 4 for dims in known) else 1

    def named(self, step: str) -> str:
        """Return the name of a step's node; without a name of the attention's it is numbered."""
        return f"{self.name}::{step}" if self.name else ""

    def product(self, a: tensor, b: tensor, step: str) -> tensor:
        """Add a product."""
        return tensors.matmul(self.graph, a, b, self.compute, name=self.named(step))

    def turned(self, x: tensor, step: str, rank: int = 4) -> tensor:
        """Add an exchange of the last two axes."""
        order = [*range(rank - 2), rank - 1, rank - 2]
        return tensors.transpose(self.graph, x, order, name=self.named(step))

    def seen(self, x: tensor, dims: list[int], step: str) -> tensor:
        """Add a view of the same elements in other dims."""
        logical = reshape_mode.LOGICAL
        return tensors.reshape(self.graph, x, name=self.named(step), reshape_mode=logical).set_dim(dims)

    def repeated(self, x: tensor, step: str) -> tensor:
        """Return keys or values for each head of queries."""
        if self.group == 1:
            return x
        b, heads, s, d = x.get_dim()
        parts = [slice(0, b), slice(0, s), slice(0, d)]
        each: list[tensor] = []
        for head in range(heads):
            ranges = [parts[0], slice(head, head + 1), *parts[1:]]
            each += [tensors.slice(self.graph, x, ranges, name=self.named(f"{step}_{head}"))] * self.group
        return tensors.concatenate(self.graph, each, 1, name=self.named(f"{step}_all"))

    def summed(self, x: tensor, dims: list[int], step: str) -> tensor:
        """Return the sum over heads that share keys."""
        if self.group == 1:
            return x
        b, heads, s, d = dims
        apart = self.seen(x, [b, heads, self.group, s * d], f"{step}_apart")
        add = reduction_mode.ADD
        total = tensors.reduction(self.graph, apart, add, self.compute, name=self.named(f"{step}_sum"))
        return self.seen(total.set_dim([b, heads, 1, s * d]), dims, step)

    def scores(self, q: tensor, k: tensor, scale: Any, function: Any) -> tensor:
        """Return the scores as the softmax takes them."""
        found = self.product(q, self.turned(k, "K_turned"), "QK")
        if scale is not None:
            found = pointwise.mul(self.graph, found, scale, self.compute, self.named("scaled"))
        return found if function is None else called(self.graph, function, "score_mod", found)


def paged(self: Builder, container: tensor, table: tensor | None, length: int | None, name: str) -> tensor:
    """Return keys or values, of a container if there is a table of its pages."""
    if table is None:
        return container
    dims, pages = container.get_dim(), table.get_dim()
    if len(dims) != 4 or len(pages) != 4:
        raise fail("PG-SDPA-008", argument=name, expected="a container and a table of 4 dims", got=[dims, pages])
    rows = pages[2] * dims[2] if length is None else length
    inputs = {"CONTAINER": container, "PAGE_TABLE": table}
    loaded = self._add("paged_cache_load", inputs, NOT_SET, name, max_seq_len=rows)["Y"]
    return loaded.set_dim([pages[0], dims[1], rows, dims[3]])


def forward(
    self: Builder,
    qkv: tuple[tensor, tensor, tensor],
    scale: Any,
    function: Function,
    stats: bool,
    how: Mapping[str, Any],
) -> list[tensor | None]:
    """Return O and the logarithm of the sums of exponentials, or None."""
    q, k, v = qkv
    parts = _Flexible(self, q, k, **how)
    scores = parts.scores(q, parts.repeated(k, "K"), scale, function)
    p, logarithm = tensors.softmax(self, scores, -1, stats, how["compute"], parts.named("softmax"))
    assert p is not None
    return [parts.product(p, parts.repeated(v, "V"), "O"), logarithm]


def backward(
    self: Builder, given: Mapping[str, tensor], scale: Any, functions: tuple[Any, Any], how: Mapping[str, Any]
) -> list[tensor]:
    """Return the gradients to queries, keys and values; the second function turns the gradient of changed scores back.

    Raises
    ------
    cudnnGraphNotSupportedError
        One of both functions is missing, or dims of `dO`, `k` or `v` are not set (PG-SDPA-008).
    """
    q, k, v, o, do, stats = (given[name] for name in ("q", "k", "v", "o", "dO", "stats"))
    compute = how["compute"]
    if functions[1] is None:
        expected = "the function that turns the gradient back, beside score_mod"
        raise fail("PG-SDPA-008", argument="score_mod_bprop", expected=expected, got="None")
    for name in ("dO", "k", "v"):
        if len(given[name].get_dim()) != 4:
            raise fail("PG-SDPA-008", argument=name, expected="4 dims that are set", got=given[name].get_dim())
    parts = _Flexible(self, q, k, **how)
    keys, values = parts.repeated(k, "K"), parts.repeated(v, "V")
    shifted = pointwise.sub(self, parts.scores(q, keys, scale, functions[0]), stats, compute, parts.named("shifted"))
    p = pointwise.exp(self, shifted, compute, parts.named("P"))
    dv = parts.product(parts.turned(p, "P_turned"), do, "dV_all")
    dp = parts.product(do, parts.turned(values, "V_turned"), "dP")
    weighed = pointwise.mul(self, do, o, compute, parts.named("weighed"))
    total = tensors.reduction(self, weighed, reduction_mode.ADD, compute, name=parts.named("row_sum"))
    total.set_dim([*do.get_dim()[:3], 1])
    apart = pointwise.sub(self, dp, total, compute, parts.named("apart"))
    ds = called(self, functions[1], "score_mod_bprop", pointwise.mul(self, p, apart, compute, parts.named("dS")))
    if scale is not None:
        ds = pointwise.mul(self, ds, scale, compute, parts.named("dS_scaled"))
    dk = parts.product(parts.turned(ds, "dS_turned"), q, "dK_all")
    return [
        parts.product(ds, keys, "dQ"),
        parts.summed(dk, k.get_dim(), "dK"),
        parts.summed(dv, v.get_dim(), "dV"),
    ]
