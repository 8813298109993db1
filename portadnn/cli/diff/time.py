"""Times as options of ``portadnn diff`` give them."""

from __future__ import annotations

import typer

LONGEST = 10**7  # seconds: what waiting for processes takes


def finite(seconds: float | None) -> float | None:
    """Return the seconds of an option; typer.Option(callback=finite) refuses what is no number or never ends."""
    if seconds is not None and not 0 < seconds <= LONGEST:
        raise typer.BadParameter(f"seconds are expected, {LONGEST:,} at most, not {seconds}")
    return seconds


def seconds_of(text: str | None) -> float | None:
    """Return the seconds of "90", "90s", "5m" or "2h"."""
    if text is None:
        return None
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("s", "m", "h") else (text, "s")
    try:
        seconds = float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 100 * LONGEST:
        raise typer.BadParameter(f"a time such as 90s, 5m or 2h is expected, not {text}", param_hint="--time")
    return seconds
