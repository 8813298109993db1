"""A call beside others that compute the same: which of them run, a row of figures, and their means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .runner import brief, geometric_mean
from .timing import Side, Timing, processor_ratio, ratio


def running(makers: Mapping[str, Callable[[], Side | None]], failed: dict[str, str]) -> Iterator[Side]:
    """Yield the sides that can be made and run once; `failed` gets why another cannot. A maker may return None."""
    for name, make in makers.items():
        try:
            side = make()
            if side is not None:
                side.timer(side.call)
                yield side
        except Exception as error:  # whatever a side meets, the others are measured
            failed[name] = brief(error)


def row(
    shape: object, direction: str, operations: float, timings: Sequence[Timing], shared: bool, failed: dict[str, str]
) -> dict[str, Any]:
    """Return and print the figures of one row, the first timing's beside the others'.

    Comparisons on a `shared` processor are of the time it was busy. Without timings only `failed` is told.
    """
    said = "  ".join(f"{name}: {why}" for name, why in failed.items())
    seconds = {one.name: one.median for one in timings}
    times: dict[str, float] = {}
    text = ""
    if timings:
        ours, *others = timings
        faster = processor_ratio if shared else ratio
        times = {one.name: faster(ours, one) for one in others}
        told = (f"{one.name} {1e3 * one.median:9.3f} ms ({times[one.name]:5.2f} x)" for one in others)
        text = f"{1e3 * ours.median:9.3f} ms {1e-9 * operations / ours.median:8.1f} Gop/s  {'  '.join(told)}"
    print(f"{shape!s:38} {direction:8} {text}  {said}", flush=True)
    return {"direction": direction, "failed": failed, "seconds": seconds, "times_as_fast_as": times}


def means(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the geometric mean of how many times as fast as each other side, forward and backward."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in rows:
        for peer, times in one["times_as_fast_as"].items():
            found.setdefault(one["direction"], {}).setdefault(peer, []).append(times)
    return {way: {peer: geometric_mean(all_) for peer, all_ in peers.items()} for way, peers in found.items()}


def print_means(rows: Sequence[dict[str, Any]]) -> None:
    """Print the means of all rows, a line for each direction."""
    for direction, peers in means(rows).items():
        print(direction, "  ".join(f"{peer}: {times:.2f} x" for peer, times in peers.items()))
