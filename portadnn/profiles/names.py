"""Libraries with profiles, and how callers name them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from ..errors import BadParam, shown


@dataclass(frozen=True)
class Profile:
    """Library whose rules can be enforced.

    Attributes
    ----------
    name : str
        As the caller gives it; also the name of the library's capability table.
    library : {"cudnn", "miopen"}
        Whose names and functions it has.
    title : str
        As messages call it.
    fields : tuple of str
        What the results of Find tell, in portadnn's names.
    """

    name: str
    library: Literal["cudnn", "miopen"]
    title: str
    fields: tuple[str, ...]

    @property
    def major(self) -> int:
        """Major version."""
        return int(self.name.rpartition("-")[2])


_MIOPEN = ("algo", "time", "memory")
_CUDNN = ("algo", "status", "time", "memory")
PROFILES = {
    profile.name: profile
    for profile in (
        Profile("miopen-1", "miopen", "MIOpen 1", _MIOPEN),
        Profile("miopen-3", "miopen", "MIOpen 3", _MIOPEN),
        Profile("cudnn-5", "cudnn", "cuDNN 5", _CUDNN),
        Profile("cudnn-9", "cudnn", "cuDNN 9", (*_CUDNN, "deterministic", "math_type")),
    )
}
MODES = ("warn", "error")


def chosen_profile(profile: object) -> Profile | None:
    """Return a profile by name; None for that of ``PORTADNN_PROFILE``, "" for none.

    Raises
    ------
    BadParam
        There is none of that name; the message lists those that there are.
    """
    argument = "profile"
    if profile is None:
        profile = os.environ.get("PORTADNN_PROFILE", "")
        argument = "PORTADNN_PROFILE"
    if isinstance(profile, str):
        if not profile:
            return None
        if profile in PROFILES:
            return PROFILES[profile]
    raise BadParam(argument=argument, expected=f"one of {', '.join(PROFILES)}", got=shown(profile))


def chosen_mode(mode: object) -> str:
    """Return the mode: the caller's, else ``PORTADNN_PROFILE_MODE``, else "warn".

    Raises
    ------
    BadParam
        There is no such mode.
    """
    argument = "mode"
    if mode is None:
        mode = os.environ.get("PORTADNN_PROFILE_MODE") or MODES[0]
        argument = "PORTADNN_PROFILE_MODE"
    if isinstance(mode, str) and mode in MODES:
        return mode
    raise BadParam(argument=argument, expected=f"one of {', '.join(MODES)}", got=shown(mode))
