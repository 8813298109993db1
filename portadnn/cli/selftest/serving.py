"""What the processes of a self-test do beside cases and graphs: tell what is here, train LeNet, measure times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...diff.campaign.process import STARTING, Channel
from ...diff.campaign.serving import Answer, Order, Setup, is_well, open_target, open_targets
from ...diff.verdict import Judgement, Verdict
from ...environment import chosen_device
from ...errors import DnnError
from ...handle import Handle
from ..info import collect

LENET, SPEED = "lenet", "speed"
IMAGES, PIXELS, BATCH, EPOCHS = 640, 8, 64, 4
ROUNDS = 7


@dataclass(frozen=True)
class Task:
    """Something to measure: `kind` is LENET or SPEED, `line` the problem whose time is wanted."""

    kind: str
    line: str = ""


@dataclass
class Measured(Judgement):
    """What came of a task: `facts` are as the report has them."""

    facts: Mapping[str, Any] = field(default_factory=dict)


def serve_info(channel: Channel, backend: str, device: int | None) -> None:
    """Tell the "info" of this machine, and then the "device" that is meant, or the "reason" why it cannot be used."""
    channel.receive()
    channel.begins("drivers", STARTING)
    channel.says("info", collect())
    try:
        name, number = chosen_device(backend, device)
        word = f"{name}:{number}"
        channel.begins(word, STARTING)
        with open_target(word) as handle:
            channel.says("device", {"target": word, **asdict(handle.info), "features": sorted(handle.info.features)})
    except DnnError as error:
        channel.says("reason", str(error))


def serve_tasks(channel: Channel, setup: Setup) -> None:
    """Do tasks as they come, in lists of orders of :class:`Task`; each gives an answer of one :class:`Measured`."""
    handles = open_targets(channel, setup)
    if handles is None:
        return
    while True:
        for order in channel.receive():
            channel.begins((order.number, order.targets[0]))
            answer = Answer(order.number, [_measured(order, handles[order.targets[0]])], {})
            channel.says("answers", answer)
            if answer.judgements[0].verdict is Verdict.ERROR and not is_well(handles[order.targets[0]]):
                channel.lost(f"{order.targets[0]} does not compute any more")


def _measured(order: Order, handle: Handle) -> Measured:
    (word,), task = order.targets, order.case
    try:
        wrong, facts = _lenet(handle) if task.kind == LENET else ("", _speed(handle, task.line))
    except Exception as error:  # whatever a driver answers
        return Measured(word, Verdict.ERROR, f"{type(error).__name__}: {error}")
    return Measured(word, Verdict.FAILED if wrong else Verdict.PASSED, wrong, facts=facts)


def images() -> tuple[Any, Any]:
    """Return images of ten patterns under noise, and which pattern each has; scikit-learn's digits may be missing."""
    rng = np.random.default_rng(0)
    labels = np.arange(IMAGES) % 10
    noise = rng.normal(0, 0.3, (IMAGES, 1, PIXELS, PIXELS))
    return (rng.random((10, 1, PIXELS, PIXELS))[labels] + noise).astype(np.float32), labels


def _lenet(handle: Handle) -> tuple[str, dict[str, Any]]:
    """Train LeNet on the device and on the reference; return what is wrong, and both loss curves."""
    from portadnn.examples import report
    from portadnn.examples.lenet import LeNet

    data, labels = images()
    runs = []
    with Handle("reference", profile="") as exact:
        for where in (handle, exact):
            began = time.perf_counter()
            net = LeNet(where, PIXELS, PIXELS, seed=1)
            run = report.Run(where.info, 0)
            for losses in net.train(data, labels, EPOCHS, BATCH, 1):
                run.losses += losses
            run.seconds = time.perf_counter() - began
            runs.append(run)
    report.compare(runs)
    found, due = runs
    if found.is_reference:
        found.difference = 0.0
    wrong = report.judge([found], full=False)
    facts = {
        "losses": found.losses,
        "reference": due.losses,
        "difference": found.difference,
        "allowed": report.TOLERANCE,
        "images": len(found.losses) * BATCH,
        "seconds_of_device": found.seconds,
    }
    return "; ".join(wrong), facts


def _speed(handle: Handle, line: str) -> dict[str, Any]:
    """Return the median time of a problem, with what it moves and computes in that time."""
    from portadnn.benchmarks.runner import Bench

    (row,) = Bench(handle, None, None, ROUNDS).measure(line)
    return {
        "line": line,
        "engine": row.engine,
        "median_seconds": row.seconds,
        "rounds": row.rounds,
        "bytes": row.bytes,
        "flops": row.flops,
        "gigabytes_per_second": row.bytes / row.seconds / 1e9,
        "teraflops_per_second": row.flops / row.seconds / 1e12,
    }
