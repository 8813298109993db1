"""What a captured step costs: made call by call, replayed, and beside its kernels' own times.

- calls: seconds of a step among others whose calls are made one by one; the slower of host and device counts;
- replay: the same of ``step.replay()``;
- host: what the host takes to enqueue a step either way;
- kernels: the sum of its launches' own times. The own time of a launch is that of one among many of itself, back to
  back on the device with the same arguments: in a CUDA graph of nothing else on CUDA, enqueued one after the other
  elsewhere. So it has the way from one launch to the next, as far as the device does not hide it, and finds its
  inputs in the cache if they fit there, as it does after the launch that wrote them. On CPUs the launches of a call
  are repeated together: the first of them may reset the counter by which the next one's threads share out the work;
- apart: the same, where launches begin early, without that. In the other figures a launch's start is hidden behind the
  end of the one before; here each waits for that end, as the times of profilers do.

A step that replays in as much time as its kernels take costs nothing else.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

import portadnn as dnn
from portadnn.examples.lenet import CLASSES, LeNet
from portadnn.examples.resnet50 import ResNet
from portadnn.handle import Handle

from .timing import Side, alternate, repeated

WITHIN = 1.2  # times the kernels' own times
_ROUND = 1e-3  # seconds of one launch's repetitions
_MOST = 500  # of them
_FEW = 10  # for an estimate


@dataclass(frozen=True)
class OwnTime:
    """A launch of the step, or on CPUs all of a call, with its own seconds.

    Attributes
    ----------
    launches : tuple of (str, tuple of int, tuple of int)
        Kernel, work-groups and work-items.
    apart : float or None
        Its seconds without early launches; None where there are none.
    """

    launches: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    seconds: float
    apart: float | None = None


@dataclass(frozen=True)
class CaptureRow:
    """One network: medians of seconds a step; `kernels` is empty where calls compute outside of kernels."""

    network: str
    images: int
    calls: int
    mode: str
    reason: str
    called: float
    replayed: float
    called_host: float
    replayed_host: float
    kernels: tuple[OwnTime, ...]

    @property
    def own(self) -> float | None:
        """The sum of the kernels' own times."""
        return sum(kernel.seconds for kernel in self.kernels) or None

    @property
    def apart(self) -> float | None:
        """The same sum without early launches."""
        found = [kernel.apart for kernel in self.kernels if kernel.apart is not None]
        return sum(found) if found else None

    @property
    def ratio(self) -> float | None:
        """A replay's time over the kernels' own times."""
        return self.replayed / self.own if self.own else None


def lenet(handle: Handle, images: int) -> Callable[[], Any]:
    """Return LeNet's training step on images of 28x28 pixels."""
    rng = np.random.default_rng(0)
    net = LeNet(handle, 28, 28, seed=0)
    x = handle.asarray(rng.random((images, 1, 28, 28), np.float32))
    target = handle.asarray(np.eye(CLASSES, dtype=np.float32)[np.arange(images) % CLASSES][:, :, None, None])
    return lambda: net.learn(x, target)


def resnet50(handle: Handle, images: int) -> Callable[[], Any]:
    """Return ResNet-50's forward pass on images of 224x224 pixels: float16 and NHWC on GPUs, float32 on CPUs."""
    net = ResNet(handle, *(("float16", "nhwc") if handle.info.kind == "gpu" else ("float32", "nchw")))
    x = net.array(np.random.default_rng(0).random((images, 3, 224, 224), np.float32))
    return lambda: net.forward(x)


NETWORKS = {"lenet": lenet, "resnet50": resnet50}
IMAGES = {"gpu": {"lenet": (64, 256), "resnet50": (1, 32)}, "cpu": {"lenet": (64,), "resnet50": (1,)}}


def measure(handle: Handle, network: str, images: int, rounds: int = 11) -> CaptureRow:
    """Time a network's step in every way."""
    if handle.backend == "cuda":
        import cupy

        handle.set_stream(cupy.cuda.Stream(non_blocking=True))
    device, call = handle.device, NETWORKS[network](handle, images)
    for _ in range(3):  # plans, kernels, bound calls
        call()
    with handle.capture() as step:
        call()
    handle.synchronize()
    sides = [Side("calls", call, device.time), Side("replay", step.replay, device.time)]
    called, replayed = (timing.median for timing in alternate(sides, rounds, gpu=handle.info.kind == "gpu"))
    hosts = [_enqueued(handle, side.call, rounds) for side in sides]
    kernels = tuple(own_times(handle, step, rounds))
    return CaptureRow(network, images, len(step), step.mode, step.reason, called, replayed, *hosts, kernels)


def _enqueued(handle: Handle, call: Callable[[], Any], rounds: int) -> float:
    """Return the seconds that the host takes to enqueue a step on an idle device."""
    seconds = []
    for _ in range(rounds):
        handle.synchronize()
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    handle.synchronize()
    return statistics.median(seconds)


def own_times(handle: Handle, step: Any, rounds: int) -> Iterator[OwnTime]:
    """Yield the step's launches with their own times; what they compute is left in the arrays, many times over."""
    try:
        bound = step.bound_launches()
    except dnn.NotSupported:
        return
    for launches, *arguments in bound:
        for group in [launches] if handle.info.kind == "cpu" else [(launch,) for launch in launches]:
            names = tuple((launch.kernel.name, launch.grid, launch.block) for launch in group)
            own = _own_time(handle, group, arguments, rounds)
            yield OwnTime(names, own, _time_apart(handle, group, arguments, rounds))


def _own_time(handle: Handle, launches: Sequence[Any], arguments: Sequence[Any], rounds: int) -> float:
    def seconds(count: int, rounds: int) -> float:
        many = _repeated(handle, launches, arguments, count)
        many()
        return statistics.median(handle.device.time(many) for _ in range(rounds)) / count

    count = round(_ROUND / seconds(_FEW, 2))
    return seconds(max(_FEW, min(_MOST, count)), rounds)


def _time_apart(handle: Handle, launches: Sequence[Any], arguments: Sequence[Any], rounds: int) -> float | None:
    device, info = handle.device, handle.info
    if "early_launches" not in info.features:
        return None
    device.info = replace(info, features=info.features - {"early_launches"})
    try:
        return _own_time(handle, launches, arguments, rounds)
    finally:
        device.info = info


def _repeated(handle: Handle, launches: Sequence[Any], arguments: Sequence[Any], count: int) -> Callable[[], None]:
    """Return a function that enqueues launches so many times."""
    if handle.backend == "cuda":
        return handle.device.graph([(launches, *arguments)] * count)
    run = handle.device.bind(launches)
    run.call(*arguments)
    return repeated([run.relaunch], count)


def table(rows: Sequence[CaptureRow], title: str) -> Table:
    """Return the rows for people."""
    made = Table(title=title)
    for name in ("network", "images", "calls", "launches", "replayed as"):
        made.add_column(name)
    columns = ("calls, us", "replay, us", "kernels, us", "replay / kernels", "apart, us")
    for name in (*columns, "calls' host us", "replay's host us"):
        made.add_column(name, justify="right")

    def us(seconds: float | None) -> str:
        return "" if seconds is None else f"{seconds * 1e6:.1f}"

    for row in rows:
        ratio = f"{row.ratio:.2f}" if row.ratio else ""
        times = [us(row.called), us(row.replayed), us(row.own), ratio, us(row.apart)]
        counts = [str(row.images), str(row.calls), str(sum(len(own.launches) for own in row.kernels) or "")]
        made.add_row(row.network, *counts, row.mode, *times, us(row.called_host), us(row.replayed_host))
    return made


def as_record(rows: Sequence[CaptureRow]) -> dict[str, Any]:
    """Return what a record holds of the rows."""
    found = [{**asdict(row), "own": row.own, "apart": row.apart, "ratio": row.ratio} for row in rows]
    return {"within": WITHIN, "rows": found}
