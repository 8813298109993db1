"""``execute(..., check="reference")``: every node beside its definition, and the first one that is off."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...descriptors import TensorView
from ...tolerance import FEW, GROWTH
from ..data_types import data_type
from ..engine import GraphEngine, GraphPlan
from ..enums import rng_distribution
from ..errors import GraphError
from ..fallback.host import by_definition
from ..memory import coded, ragged
from ..memory import host as memory
from ..memory.fp8 import E4M3, E5M2
from ..operation_graph import Operation, OperationGraph, TensorInfo
from ..pack import works_on_host
from ..pointwise_modes import MODES
from ..rules import fail
from .finalize import finalized_sizes

if TYPE_CHECKING:
    from ...handle import Handle

Numbers = npt.NDArray[Any]
SLACK = 4.0  # times portadnn.tolerance's bound: several sums and functions make up a node
FUNCTIONS = 16.0  # roundings of some functions one after the other
TOGETHER = 8.0  # times as much for results of a whole graph, whose errors travel from node to node
_SUMS = ("matmul", "conv_fprop", "conv_dgrad", "conv_wgrad", "genstats")
_SAVED = (*(f"{kind}norm_backward" for kind in ("batch", "instance", "layer", "adalayer", "rms")), "dbn_weight")
_SUMMED = ("DSCALE", "DBIAS", "Dscale", "Dbias")  # of these, linear in what they add up
_WITH_MEANS = ("batchnorm", "instancenorm", "layernorm", "adalayernorm")
_MEANS = ("MEAN", "NEXT_RUNNING_MEAN")  # of these, sums in which numbers may cancel
_GRADIENTS = ("sdpa_backward", "sdpa_fp8_backward")
_LINEAR = ("ADD", "SUB", "MUL", "ADD_SQUARE")
_MOVING = ("slice", "transpose", "reshape", "concatenate")


@dataclass(frozen=True)
class Off:
    """Where a tensor is off, at its worst place."""

    place: tuple[int, ...]
    got: float
    want: float
    bound: float
    count: int

    def __str__(self) -> str:
        apart = abs(self.got - self.want)
        where = f"at {list(self.place)} {self.got:.9g} for {self.want:.9g}"
        return f"{where}: {apart:.3g} apart, {self.count} places in all"


def difference(got: Numbers, want: Numbers, bound: Numbers) -> Off | None:
    """Return the worst place at which numbers are farther apart than they may be, if there is one; NaN equals NaN."""
    with np.errstate(all="ignore"):
        apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    excess = np.where(same, 0.0, np.where(np.isfinite(apart), apart / np.maximum(bound, 1e-300), np.inf))
    if not (excess > 1.0).any():
        return None
    place = np.unravel_index(int(excess.argmax()), excess.shape)
    at = tuple(int(i) for i in place)
    return Off(at, float(got[place]), float(want[place]), float(bound[place]), int((excess > 1.0).sum()))


def bound(
    graph: OperationGraph, operation: Operation, info: TensorInfo, want: Numbers, terms: Numbers | None
) -> Numbers:
    """Return how far each number of a node's result may be from the definition, of the same inputs.

    As :func:`portadnn.tolerance.tolerance` has it, with the sums of absolute terms where the node is a sum, and
    otherwise the largest number of the result in their place. Integers may be off by one, where floats are rounded to
    them; copies and comparisons are exact.
    """
    kind = info.data_type
    floats = operation.kind == "rng" or any(graph.by_uid[uid].data_type.is_float for _, uid in operation.inputs)
    if operation.kind in _MOVING or kind is data_type.BOOLEAN or not (kind.is_float or floats):
        return np.zeros(want.shape)
    if not kind.is_float:
        return np.ones(want.shape)
    if operation.kind == "rng":
        near: Numbers = step(kind) * np.abs(want) + _smallest(kind)
        near += np.finfo("f8" if kind is data_type.DOUBLE else "f4").eps * _added(operation, want)
        return near
    double = operation.compute_type is data_type.DOUBLE
    unit = SLACK * (FEW + GROWTH * math.sqrt(graph.length_of(operation))) * np.finfo("f8" if double else "f4").eps
    largest = _largest(want)
    attention = operation.kind.startswith("sdpa")
    inner = 2.0**-4 if operation.kind.startswith("sdpa_fp8") else 0.0  # probabilities are FP8 inside
    if attention:  # and of the data's type on tensor cores
        kinds = {kind, *(graph.at(operation, port).data_type for port in ("Q", "K", "V"))}
        inner += 4 * max((step(one) for one in kinds & {data_type.HALF, data_type.BFLOAT16}), default=0.0)
    if terms is None or attention or _is_gradient(operation):  # terms tell how large the whole may be
        size = np.full(want.shape, largest if terms is None else max(largest, _largest(terms)))
    else:
        size = np.abs(terms)
    with np.errstate(all="ignore"):
        found: Numbers = unit * size + step(kind) * np.abs(want) + _smallest(kind)
        if attention:
            found = found + inner * size
    return found


def _added(operation: Operation, want: Numbers) -> Numbers:
    """Return what random numbers are sums of, with the roundings of that."""
    if operation["distribution"] is rng_distribution.NORMAL:  # products of a logarithm's root and a sine
        mean, spread = abs(operation["mean"]), abs(operation["standard_deviation"])
        sizes: Numbers = np.abs(want - operation["mean"]) + spread  # angles are rounded even where sines are small
        sizes = FUNCTIONS * sizes + mean
        return sizes
    ends = max(abs(operation["minimum"]), abs(operation["maximum"]))  # whose difference is added to one of them
    return np.full(want.shape, ends * (operation["minimum"] != 0))


def _is_gradient(operation: Operation) -> bool:
    """Tell whether a node is the gradient of a pointwise mode."""
    mode = operation.values.get("mode")
    return operation.kind == "pointwise" and mode is not None and MODES[mode].backward


def _largest(values: Numbers) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def step(kind: data_type) -> float:
    """Return the largest relative step between neighbours of a float type."""
    known = kind.problem_type
    if known is not None:
        return float(known.limits.eps)
    return {data_type.FP8_E4M3: 2.0**-3, data_type.FP8_E8M0: 1.0}.get(kind, 2.0**-2 if kind.bits == 8 else 0.5)


def _smallest(kind: data_type) -> float:
    known = kind.problem_type
    if known is not None:
        return float(known.limits.smallest_normal)
    known_ones = {data_type.FP8_E4M3: 2.0**-9, data_type.FP8_E5M2: 2.0**-16, data_type.FP4_E2M1: 0.5}
    return known_ones.get(kind, 2.0**-127)


def _saturated(info: TensorInfo, want: Numbers) -> Numbers:
    """Return numbers within what a type of 8 bits holds, as they are stored."""
    form = {data_type.FP8_E4M3: E4M3, data_type.FP8_E5M2: E5M2}.get(info.data_type)
    return want if form is None else np.clip(want, -form.largest, form.largest)


def _overflown(info: TensorInfo, want: Numbers, limit: Numbers, got: Numbers) -> Numbers:
    """Return numbers with infinity where it is right: they may lie beyond what the type holds, and infinity came."""
    kind = info.data_type.problem_type
    if kind is None or not info.data_type.is_float:
        return want
    with np.errstate(all="ignore"):
        beyond = np.isinf(got) & (np.sign(got) == np.sign(want)) & (np.abs(want) + limit > -kind.limits.lowest)
    return np.where(beyond, got, want)


def exposed(graph: OperationGraph) -> OperationGraph:
    """Return a graph with all tensors in memory."""
    return replace(graph, infos=tuple(replace(info, virtual=False) for info in graph.infos))


def _unrounded(graph: OperationGraph, operation: Operation) -> OperationGraph:
    """Return a node's graph, whose floating-point results are float64."""
    results = {uid for _, uid in operation.outputs}
    found = []
    for uid in dict.fromkeys(operation.uids.values()):
        info = replace(graph.by_uid[uid], virtual=False)
        wide = uid in results and info.data_type.is_float and operation.kind != "block_scale_quantize"
        info = replace(info, ragged_offset=None)  # in all their dims, rows that there are not are 0
        found.append(replace(info, data_type=data_type.DOUBLE) if wide else info)
    return OperationGraph(operation.name, (operation,), tuple(found))


class Check:
    """The inputs of one execution, and the judgement of what came of them.

    Parameters
    ----------
    plan
        What was run.
    engines
        Those of the handle, in order of preference.
    arrays
        Arrays and numbers by uid, made before it.
    """

    def __init__(
        self, plan: GraphPlan, handle: Handle, engines: Sequence[GraphEngine], arrays: Mapping[int, Any]
    ) -> None:
        self.plan, self.handle, self.engines = plan, handle, engines
        self.graph = plan.problem
        self.arrays = arrays
        self.numbers = {info.uid: arrays[info.uid] for info in self.graph.packed if info.by_value}
        self.before = {info.uid: self._read(info) for info in self._stored()}

    def _stored(self) -> list[TensorInfo]:
        return [info for info in self.graph.packed if not info.by_value]

    def _read(self, info: TensorInfo) -> npt.NDArray[np.uint8]:
        return self.handle.device.read_bytes(self.arrays[info.uid])

    def judge(self) -> None:
        """Raise where a result of the execution, which is finished, is off, naming the first node that is.

        Raises
        ------
        GraphCheckFailed
            PG-CHECK-001 a node, PG-CHECK-002 nodes together.
        """
        results = {info.uid: self._loaded(info, self._read(info)) for info in self._stored()}
        alone = self._all_tensors()
        for operation in self.graph.operations:
            for port, uid in operation.outputs:
                self._check_node(operation, port, self.graph.by_uid[uid], alone)
        self._check_results(results, alone)

    def _check_node(self, operation: Operation, port: str, info: TensorInfo, known: Mapping[int, Numbers]) -> None:
        want, terms = self._defined(operation, known)
        due = _saturated(info, want[port])
        limit = bound(self.graph, operation, info, due, terms.get(port))
        off = difference(known[info.uid], _overflown(info, due, limit, known[info.uid]), limit)
        if off is not None:
            raise self._error("PG-CHECK-001", operation, info, off)

    def _check_results(self, results: Mapping[int, Numbers], alone: Mapping[int, Numbers]) -> None:
        """Compare the execution with the nodes one by one and with the definition of the whole: one has to be near."""
        whole = self._whole()
        for operation in self.graph.operations:
            for _, uid in operation.outputs:
                info = self.graph.by_uid[uid]
                if info.virtual:
                    continue
                offs = []
                for want in (alone[uid], whole[uid]):
                    limit = TOGETHER * bound(self.graph, operation, info, want, None)
                    limit = limit + math.sqrt(self._coarsest()) * 2.0**-5 * np.abs(want).max(initial=0.0)
                    offs.append(difference(results[uid], want, limit))
                if all(off is not None for off in offs):
                    assert offs[0] is not None
                    raise self._error("PG-CHECK-002", operation, info, offs[0])

    def _coarsest(self) -> float:
        """Return the step of the coarsest type that numbers are rounded to on their way."""
        kinds = [info.data_type for info in self.graph.infos if info.data_type.is_float]
        return max(map(step, kinds), default=0.0)

    def _error(self, id: str, operation: Operation, info: TensorInfo, off: Off) -> GraphError:
        parts = [part for part in self.plan.parts if operation.name in part]
        together = f"; computed together with {', '.join(parts[0])}" if parts and id == "PG-CHECK-002" else ""
        return fail(
            id,
            node=operation.label,
            tensor=info.describe(),
            argument=f"engine {self.plan.engine.name} on {self.handle.backend}{together}",
            expected=f"at most {off.bound:.3g} from the definition",
            got=str(off),
            fix="graph.reproducer() writes a script that shows it",
        )

    # numbers

    def _loaded(self, info: TensorInfo, content: npt.NDArray[np.uint8]) -> Numbers:
        array = memory.view(content, info, output=False)
        if info.coded:
            return coded.loaded(info, array)
        if info.ragged_offset is not None:
            return ragged.loaded(info, array, self._offsets(info.ragged_offset))
        return np.array(info.data_type.loaded(array))

    def _offsets(self, uid: int) -> Numbers:
        """Return the offsets of ragged tensors."""
        return self._loaded(self.graph.by_uid[uid], self.before[uid])

    def _there(self, uid: int, numbers: Numbers) -> Numbers:
        """Return numbers of a tensor with 0 in rows that it does not have."""
        info = self.graph.by_uid[uid]
        if info.ragged_offset is None:
            return numbers
        _, there = ragged.places(info, self._offsets(info.ragged_offset), sys.maxsize)
        return np.where(there, numbers, 0)

    def _all_tensors(self) -> dict[int, Numbers]:
        """Run the graph with all its tensors in memory, by the same engine if it takes that, and return them all."""
        shown, device = exposed(self.graph), self.handle.device
        engines = [self.plan.engine, *self.engines]
        engine = next(one for one in engines if not one.reasons(shown, self.handle.info))
        plan = engine.prepare(shown, device)
        arrays: dict[int, Any] = dict(self.numbers)
        for info in shown.packed:
            if not info.by_value:
                content = self.before.get(info.uid, np.zeros(info.extent, np.uint8))
                arrays[info.uid] = self._array(info, content)
        scratch = device.workspace(plan.workspace_size) if plan.workspace_size else None
        plan.run(*shown.arguments(arrays), scratch)
        return {
            info.uid: self._number(info) if info.by_value else self._loaded(info, device.read_bytes(arrays[info.uid]))
            for info in shown.infos
        }

    def _array(self, info: TensorInfo, content: npt.NDArray[np.uint8]) -> Any:
        """Return a tensor's bytes as a new array of the device."""
        device = self.handle.device
        if works_on_host(device):
            return memory.view(content.copy(), info, output=True)
        flat = device.asarray(content)
        if info.ragged_offset is not None:
            return flat
        spec = info.spec
        return device.wrap(TensorView(spec, flat), info.name)

    def _number(self, info: TensorInfo) -> Numbers:
        return np.full(info.dims, info.value if info.constant else self.numbers[info.uid], np.float64)

    def _define(self, graph: OperationGraph, host: Mapping[int, Any]) -> None:
        """Compute a graph by definition, on host arrays by uid."""
        device = self.handle.device
        plan = by_definition(graph, device.info).prepare(graph, device)
        plan.run(*graph.arguments(host), None)

    def _whole(self) -> dict[int, Numbers]:
        """Return the results of the graph by definition, by uid."""
        host: dict[int, Any] = dict(self.numbers)
        for info in self._stored():
            host[info.uid] = memory.view(self.before[info.uid].copy(), info, output=True)
        self._define(self.graph, host)
        return {info.uid: self._loaded(info, host[info.uid]) for info in self._stored()}

    def _defined(
        self, operation: Operation, known: Mapping[int, Numbers]
    ) -> tuple[dict[str, Numbers], dict[str, Numbers]]:
        """Return a node's results by definition, of the device's inputs, and for sums their absolute terms."""
        alone = _unrounded(self.graph, operation)
        known = {**known, **ragged.lengths(self.graph, operation, known, self._offsets)}
        want = self._evaluated(alone, operation, known)
        mode = operation.values.get("mode")
        name = getattr(mode, "name", "")
        linear = operation.kind in _SUMS or (operation.kind == "pointwise" and name in _LINEAR)
        saved = operation.kind in _SAVED and "INV_VARIANCE" in operation.uids
        if _is_gradient(operation):  # of slopes that are rounded as differences of numbers near 1
            return want, {"OUT_0": known[operation.uids["IN_0"]]}
        if operation.kind in _GRADIENTS:
            return want, self._evaluated(alone, operation, self._uncancelled(operation, known))
        if operation.kind == "bn_finalize":
            return want, finalized_sizes(operation, known)
        sizes = {uid: np.abs(values) for uid, values in known.items()}
        if operation.kind in _WITH_MEANS:
            found = self._evaluated(alone, operation, sizes)
            return want, {port: found[port] for port in _MEANS if port in found}
        if not (linear or saved or (operation.kind == "reduction" and name in ("ADD", "AVG", "NORM1"))):
            return want, {}
        less = operation.uids.get("IN_1" if name == "SUB" else "MEAN")
        if less is not None and (saved or name == "SUB"):
            sizes[less] = -sizes[less]
        found = self._evaluated(alone, operation, sizes)
        return want, {port: terms for port, terms in found.items() if not saved or port in _SUMMED}

    def _uncancelled(self, operation: Operation, known: Mapping[int, Numbers]) -> dict[int, Numbers]:
        """Return inputs of a gradient of attention for which nothing cancels in the gradient to the scores."""
        sizes = dict(known)
        for port, sign in (("V", 1), ("DO", 1), ("O", -1)):
            sizes[operation.uids[port]] = sign * np.abs(known[operation.uids[port]])
        return sizes

    def _evaluated(
        self, alone: OperationGraph, operation: Operation, known: Mapping[int, Numbers]
    ) -> dict[str, Numbers]:
        read = {uid for _, uid in operation.inputs}
        host: dict[int, Any] = {}
        for info in alone.infos:
            if info.by_value:
                host[info.uid] = float(known[info.uid].reshape(-1)[0])
                continue
            view = memory.view(np.zeros(info.extent, np.uint8), info, output=True)
            if info.uid in read and info.coded:
                coded.store(info, view, known[info.uid])
            elif info.uid in read:
                view[...] = info.data_type.stored(known[info.uid])
            host[info.uid] = view
        self._define(alone, host)
        made = {port: (alone.by_uid[uid], host[uid]) for port, uid in operation.outputs}
        found = {
            port: coded.loaded(info, array) if info.coded else info.data_type.loaded(array)
            for port, (info, array) in made.items()
        }
        return {port: self._there(uid, found[port]) for port, uid in operation.outputs}
