"""Registration of profiles with handles, for ``Handle(profile=...)``."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..handle import Handle, Judge, judge_handles_by
from .names import chosen_mode, chosen_profile


def choose(profile: str | None, mode: str | None) -> Callable[[Handle], Judge] | None:
    """Return the function that attaches a profile to a handle; None without a profile."""
    if profile is None and mode is None and not os.environ.get("PORTADNN_PROFILE"):
        return None
    library, what = chosen_profile(profile), chosen_mode(mode)
    if library is None:
        return None

    def start(handle: Handle) -> Judge:
        from .watch import watch_handle

        return watch_handle(handle, library, what)

    return start


judge_handles_by(choose)
