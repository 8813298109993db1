"""The demo: LeNet learns digits on every device of this machine, and all of them must learn the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import portadnn as dnn
from portadnn.registry import default_backend_names, get_backend

from . import digits, report
from .lenet import LeNet
from .report import Run

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo

ORDER = ("cuda", "opencl", "reference")  # as Handle("auto") prefers them; other backends come last


@dataclass(frozen=True)
class Settings:
    """What to run and where to write it; see ``portadnn demo --help``."""

    backends: tuple[str, ...] = ()
    devices: tuple[int, ...] = ()
    epochs: int | None = None
    batch: int = 64
    seed: int = 1
    data: Path | None = None
    output: Path = Path("portadnn-demo.png")
    json: Path | None = None


def find_devices(backends: Sequence[str], devices: Sequence[int]) -> tuple[list[tuple[int, DeviceInfo]], list[str]]:
    """Return the devices to run on with their numbers, and a line for each backend that is not there.

    Raises
    ------
    BadParam, NotSupported
        A backend or device that was asked for is not there.
    """
    found: list[tuple[int, DeviceInfo]] = []
    absent = []
    names = backends or sorted(default_backend_names(), key=lambda n: ORDER.index(n) if n in ORDER else len(ORDER))
    for name in dict.fromkeys(names):
        backend = get_backend(name)
        reason = backend.why_unavailable()
        if reason is not None:
            absent.append(f"{name} is not available: {reason}" + (f"; try: {backend.install}" * bool(backend.install)))
            if backends:
                raise dnn.NotSupported(absent[-1])
            continue
        chosen = [(i, info) for i, info in enumerate(backend.devices()) if not devices or i in devices]
        if backends and not chosen:
            raise dnn.BadParam(
                argument="--device", expected=f"0 to {len(backend.devices()) - 1} for {name}", got=list(devices)
            )
        found += chosen
    if not found:
        raise dnn.BadParam(argument="--device", expected="the number of a device here", got=list(devices))
    return found, absent


def learn(run: Run, data: digits.Digits, settings: Settings, epochs: int, advance: Callable[[float], None]) -> None:
    """Train and test on one device; `advance` is told the loss after every epoch."""
    started = time.perf_counter()
    with dnn.Handle(run.info.backend, device=run.index) as handle:
        net = LeNet(handle, *data.train_images.shape[2:], seed=settings.seed)
        rates = []
        before = time.perf_counter()
        for losses in net.train(data.train_images, data.train_labels, epochs, settings.batch, settings.seed):
            rates.append(len(losses) * settings.batch / (time.perf_counter() - before))
            run.losses += losses
            advance(float(np.mean(losses)))
            before = time.perf_counter()
        run.predictions = net.classify(data.test_images)
    run.accuracy = float(np.mean(run.predictions == data.test_labels))
    run.rate = float(np.median(rates[1:] or rates))
    run.seconds = time.perf_counter() - started


def learn_everywhere(
    runs: Sequence[Run], data: digits.Digits, settings: Settings, epochs: int, console: Console
) -> None:
    """Train and test on one device after the other, with a progress bar for each."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[loss]}"),
    )
    with Progress(*columns, console=console) as progress:
        for run in runs:
            task = progress.add_task(run.label, total=epochs, loss="")

            def advance(loss: float, task=task) -> None:
                progress.update(task, advance=1, loss=f"loss {loss:.4f}")

            try:
                learn(run, data, settings, epochs, advance)
            except dnn.DnnError as error:
                run.error = str(error)
            progress.stop_task(task)


def main(settings: Settings, console: Console | None = None) -> int:
    """Run the demo and return the exit code: 0, or 1 when a device failed or learned too little or something else.

    Raises
    ------
    DataError, DnnError
        Digits, a module, a backend or a device are missing.
    """
    console = console or Console()
    report.check_plotting()
    devices, absent = find_devices(settings.backends, settings.devices)
    data = digits.load(settings.data)
    if settings.batch > len(data.train_images):
        raise dnn.BadParam(
            argument="--batch", expected=f"at most the {len(data.train_images)} images", got=settings.batch
        )
    epochs = settings.epochs or data.epochs

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, markup=False, highlight=False)

    say(
        f"LeNet learns the {data.source}: {len(data.train_images)} to learn from, {len(data.test_images)} held out, "
        f"{epochs} epochs in batches of {settings.batch}."
    )
    runs = [Run(info, index) for index, info in devices]
    learn_everywhere(runs, data, settings, epochs, console)
    report.compare(runs)
    wrong = report.judge(runs, full=epochs >= data.epochs)
    console.print(report.table(runs))
    for line in absent:
        say(line, "dim")
    finished = [run for run in runs if not run.error]
    if finished:
        report.picture(settings.output, finished, data)
        say(f"Loss curves and digits: {settings.output}")
    if settings.json is not None:
        facts = {"data": data.source, "epochs": epochs, "batch": settings.batch, "seed": settings.seed}
        report.record(settings.json, runs, facts, wrong)
        say(f"Record: {settings.json}")
    for line in wrong:
        say(line, "red")
    return 1 if wrong else 0
