"""Convolution layers beside what the device can reach: the roofline [1]_.

.. [1] S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
   architectures", Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from portadnn.dispatch.choice import choose
from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    DnnEnum,
    MathType,
    Status,
)
from portadnn.errors import AllocFailed, DnnError, NotSupported
from portadnn.finding.find import plain_search
from portadnn.handle import Handle
from portadnn.problem import parse

from ..peers.peer import Peer
from ..runner import Bench, Row, as_dict, geometric_mean
from ..sets.layers import NETWORKS, problem_line
from .ceilings import Ceilings

DIRECTIONS = {"forward": "forward", "data": "backward_data", "filter": "backward_filter"}
TITLES = {"forward": "forward", "data": "backward data", "filter": "backward filter"}
_ALGOS: dict[str, type[DnnEnum]] = {
    "forward": ConvolutionFwdAlgo,
    "data": ConvolutionBwdDataAlgo,
    "filter": ConvolutionBwdFilterAlgo,
}


@dataclass(frozen=True)
class Plot:
    """Where a layer lies under its roof.

    Attributes
    ----------
    intensity : float
        Operations per byte of the definition: every tensor is moved once.
    rate, attainable : float
        Operations per second that were measured, and those that the ceilings allow.
    """

    intensity: float
    rate: float
    attainable: float


@dataclass(frozen=True)
class Measured:
    """A layer in one direction; `row` is None where it could not run, and `note` then says why."""

    network: str
    layer: str
    direction: str
    line: str
    algo: str = ""
    row: Row | None = None
    note: str = ""

    def plot(self, ceilings: Ceilings) -> Plot | None:
        """Return its place in the plot."""
        if self.row is None:
            return None
        intensity = self.row.flops / self.row.bytes
        return Plot(intensity, self.row.flops / self.row.seconds, ceilings.attainable(intensity))


def lines(networks: Sequence[str], direction: str, n: int, dtype: str, layout: str, math: MathType) -> list[Measured]:
    """Return the layers to measure: each network's in the direction, or in all three."""
    directions = tuple(DIRECTIONS) if direction == "all" else (direction,)
    suffix = "" if math is MathType.DEFAULT else f" math={math.name.lower()}"
    return [
        Measured(network, layer.name, d, problem_line(layer, DIRECTIONS[d], n, dtype, layout) + suffix)
        for network in networks
        for d in directions
        for layer in NETWORKS[network]
    ]


def algo_to_ask_for(handle: Handle, layer: Measured, wanted: str) -> DnnEnum | None:
    """Return none in particular for "default", the fastest that Find measures for "find", or the one of that name."""
    if wanted == "default":
        return None
    if wanted != "find":
        return _ALGOS[layer.direction].parse(wanted, "--algo")
    problem = parse(layer.line)
    trials = [trial for trial in plain_search(handle, problem) if trial.status is Status.SUCCESS]
    best = min(trials, key=lambda trial: trial.seconds, default=None)
    return None if best is None else best.engine.algo(problem)


def run(handle: Handle, todo: Sequence[Measured], peer: Peer | None, wanted: str, rounds: int) -> Iterator[Measured]:
    """Measure one layer after the other, alternating with the peer; what is not supported says so in its note."""
    for layer in todo:
        try:
            asked, problem = algo_to_ask_for(handle, layer, wanted), parse(layer.line)
            algo = choose(handle, problem, asked).algo(problem)
            row, note = _measure(handle, layer.line, peer, rounds, asked)
        except (NotSupported, AllocFailed) as error:
            yield replace(layer, note=str(error))
        else:
            yield replace(layer, algo=str(algo), row=row, note=note)


def _measure(handle: Handle, line: str, peer: Peer | None, rounds: int, algo: DnnEnum | None) -> tuple[Row, str]:
    try:
        return Bench(handle, peer, None, rounds).measure(line, algo)[0], ""
    except DnnError:
        raise
    except RuntimeError as error:  # torch has no such convolution, or no memory for it
        if peer is None:
            raise
        return Bench(handle, None, None, rounds).measure(line, algo)[0], f"torch: {error}".splitlines()[0]


def summary(done: Sequence[Measured], ceilings: Ceilings) -> dict[str, dict[str, float]]:
    """Return, for each direction, geometric means of the share of the roof and of the ratio to the peer."""
    result: dict[str, dict[str, float]] = {}
    for direction in dict.fromkeys(layer.direction for layer in done):
        layers = [layer for layer in done if layer.direction == direction and layer.row]
        plots = [plot for layer in layers if (plot := layer.plot(ceilings))]
        ratios = [layer.row.ratio for layer in layers if layer.row and layer.row.ratio]
        means = {}
        if plots:
            means["share_of_attainable"] = geometric_mean([plot.rate / plot.attainable for plot in plots])
        if ratios:
            means["ratio_to_peer"] = geometric_mean(ratios)
        result[direction] = means
    return result


def as_record(done: Sequence[Measured], ceilings: Ceilings) -> dict[str, Any]:
    """Return everything measured for the record."""
    rows = []
    for layer in done:
        entry: dict[str, Any] = {"network": layer.network, "layer": layer.layer, "direction": layer.direction}
        plot = layer.plot(ceilings)
        if layer.row and plot:
            entry |= as_dict(layer.row) | {
                "algo": layer.algo,
                "flops_per_byte": plot.intensity,
                "share_of_attainable": plot.rate / plot.attainable,
            }
            del entry["copy_fraction"]
        entry |= {"line": layer.line, **({"note": layer.note} if layer.note else {})}
        rows.append(entry)
    return {
        "ceilings": {
            "bytes_per_second": ceilings.bandwidth,
            "flops_per_second": ceilings.flops,
            "flops_per_second_by_source": ceilings.sources,
        },
        "summary": summary(done, ceilings),
        "rows": rows,
    }
