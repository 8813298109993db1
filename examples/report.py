"""What became of the demo's runs: the comparison, the table, the picture, the JSON record."""

from __future__ import annotations

import importlib.util
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import portadnn as dnn

from .digits import DataError, Digits

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo

LEAST_ACCURACY = 0.97
# How far a device's loss may be from the reference's, when both are averaged over SMOOTHING steps. The float32 rounding
# of a device leaves 1e-7 in most runs, and up to 1e-3 when a maximum or a relu tips over; a wrong gradient leaves 0.1
# and more.
TOLERANCE = 1e-2
SMOOTHING = 10
GALLERY = (5, 8)  # rows and columns of digits


@dataclass
class Run:
    """What one device did.

    Attributes
    ----------
    losses : list of float
        Cross-entropy of every step.
    rate : float
        Images learned from per second; the median of the epochs, without the first, which compiles the kernels.
    seconds : float
        Of training and testing, with everything.
    difference : float or None
        The largest one of the averaged losses from the reference's; None where that was not run.
    error : str
        Why it stopped, else empty.
    """

    info: DeviceInfo
    index: int
    losses: list[float] = field(default_factory=list)
    predictions: Any = None
    accuracy: float = 0.0
    rate: float = 0.0
    seconds: float = 0.0
    difference: float | None = None
    error: str = ""

    @property
    def is_reference(self) -> bool:
        """Whether the others are compared with this one."""
        return self.info.backend == "reference"

    @property
    def label(self) -> str:
        """Backend and device, short."""
        return "reference" if self.is_reference else f"{self.info.backend}: {self.info.name}"


def smooth(losses: Sequence[float]) -> Any:
    """Return the moving average of a loss curve over SMOOTHING steps."""
    width = min(SMOOTHING, len(losses))
    return np.convolve(losses, np.full(width, 1 / width), mode="valid")


def compare(runs: Sequence[Run]) -> None:
    """Fill in how far each loss curve is from the reference's, where that was run to the end."""
    finished = [run for run in runs if not run.error]
    reference = next((run for run in finished if run.is_reference), None)
    for run in finished:
        if reference is not None:
            run.difference = float(np.max(np.abs(smooth(run.losses) - smooth(reference.losses))))


def judge(runs: Sequence[Run], full: bool) -> list[str]:
    """Return what is wrong, one sentence each; accuracy counts for `full` runs only."""
    wrong = []
    for run in runs:
        if run.error:
            wrong.append(f"{run.label} stopped: {run.error}")
            continue
        if not np.isfinite(run.losses).all():
            wrong.append(f"{run.label}: the loss is no finite number any more")
        elif run.difference is not None and not run.difference <= TOLERANCE:
            wrong.append(f"{run.label}: its loss is {run.difference:.2g} off the reference's; {TOLERANCE:g} is allowed")
        if full and run.accuracy < LEAST_ACCURACY:
            wrong.append(f"{run.label}: {run.accuracy:.1%} of the digits are right; {LEAST_ACCURACY:.0%} is expected")
    return wrong


def table(runs: Sequence[Run]) -> Table:
    """Return the table of all devices."""
    result = Table(
        caption=f"difference: the largest one of the loss, averaged over {SMOOTHING} steps, from the reference's "
        f"(allowed: {TOLERANCE:g})",
        caption_justify="left",
    )
    result.add_column("backend", no_wrap=True)
    result.add_column("device", overflow="fold")
    for heading in ("images/s", "accuracy", "difference", "seconds"):
        result.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        cells = ["failed", "", "", ""]
        if not run.error:
            difference = "-" if run.is_reference or run.difference is None else f"{run.difference:.1e}"
            cells = [f"{run.rate:,.0f}", f"{run.accuracy:.1%}", difference, f"{run.seconds:.1f}"]
        result.add_row(run.info.backend, run.info.name, *cells)
    return result


def check_plotting() -> None:
    """Raise DataError when matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DataError('the picture is drawn by matplotlib: pip install "portadnn[demo]"')


def picture(path: Path, runs: Sequence[Run], data: Digits) -> None:
    """Draw the loss curves of all devices, and digits with what the first device takes them for."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subfigures(1, 2, width_ratios=(1.2, 1))
    _draw_losses(left.subplots(), runs)
    _draw_gallery(right, runs[0], data)
    figure.savefig(path, dpi=90, format="png")


def _draw_losses(axes: Any, runs: Sequence[Run]) -> None:
    for i, run in enumerate(runs):
        curve = smooth(run.losses)
        # Curves that agree lie on each other: the first is drawn widest, so that all can be seen.
        width = 1.2 + 2.5 * (len(runs) - 1 - i)
        axes.plot(np.arange(len(curve)), curve, linewidth=width, label=f"{run.label} ({run.accuracy:.1%})")
    axes.set(xlabel="step", ylabel="cross-entropy", yscale="log", title="One program, the same curve on every device")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _draw_gallery(figure: Any, run: Run, data: Digits) -> None:
    rows, columns = GALLERY
    figure.suptitle(f"Held-out digits as {run.info.backend} reads them", fontsize="large")
    correct = run.predictions == data.test_labels
    mistakes = np.flatnonzero(~correct)[:columns]  # the last row shows them
    chosen = [*np.flatnonzero(correct)[: rows * columns - len(mistakes)], *mistakes]
    grid = figure.subplots(rows, columns).flat
    for axes in grid:
        axes.axis("off")
    for axes, i in zip(figure.axes, chosen, strict=False):
        guess, label = run.predictions[i], data.test_labels[i]
        axes.imshow(data.test_images[i, 0], cmap="gray_r", interpolation="nearest")
        if guess == label:
            axes.set_title(f"{guess}", fontsize="medium", color="green", pad=2)
        else:
            axes.set_title(f"{guess}, is {label}", fontsize="small", color="red", pad=2)


def record(path: Path, runs: Sequence[Run], settings: Mapping[str, Any], wrong: Sequence[str]) -> None:
    """Write the table, with the versions and settings that it belongs to, as JSON."""
    content = {
        "program": "portadnn demo",
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {"portadnn": dnn.__version__, "python": platform.python_version(), "numpy": np.__version__},
        **settings,
        "tolerance": TOLERANCE,
        "wrong": list(wrong),
        "runs": [_entry(run) for run in runs],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _entry(run: Run) -> dict[str, Any]:
    names = ("backend", "name", "vendor", "kind", "platform", "driver", "version", "schedule", "compute_units")
    return {
        **{name: getattr(run.info, name) for name in names},
        "device": run.index,
        "images_per_second": round(run.rate, 1),
        "seconds": round(run.seconds, 2),
        "accuracy": round(run.accuracy, 5),
        "loss_difference": run.difference,
        "last_loss": run.losses[-1] if run.losses else None,
        "error": run.error,
    }
